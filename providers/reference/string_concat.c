// SPDX-License-Identifier: Apache-2.0
//
// StringConcat: one text after the other, with broadcasting.
#include "string_operators.h"
#include "strings.h"

static int32_t prepare(ref_prepare *p) {
  return ref_broadcast(p, 0);
}

static int32_t join(ref_run *run, ref_buffer *buffer, int64_t left, int64_t right, int64_t to) {
  ops_str text[2];
  RETURN_IF_ERROR(ref_string_get(run, &run->inputs[0], left, &text[0]));
  RETURN_IF_ERROR(ref_string_get(run, &run->inputs[1], right, &text[1]));
  buffer->size = 0;
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(ref_buffer_add(buffer, text[i], run->error));
  return ref_string_set(run, &run->outputs[0], to, (ops_str){buffer->data, buffer->size});
}

static int32_t execute(ref_run *run) {
  const ref_view *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  ref_walk_operand at[3];
  ref_broadcast_strides(y, y->rank, at[0].strides);
  ref_broadcast_strides(&run->inputs[0], y->rank, at[1].strides);
  ref_broadcast_strides(&run->inputs[1], y->rank, at[2].strides);
  ref_walk walk;
  ref_walk_init(&walk, y->rank, y->dims, at, 3);
  ref_buffer buffer = {.kernel = run->kernel};
  int32_t status = OPS_OK;
  do {
    for (int64_t i = 0; i < walk.row && status == OPS_OK; ++i)
      status = join(run, &buffer, at[1].offset + i * ref_walk_step(&walk, 1),
                    at[2].offset + i * ref_walk_step(&walk, 2),
                    at[0].offset + i * ref_walk_step(&walk, 0));
  } while (status == OPS_OK && ref_walk_next(&walk));
  ref_buffer_free(&buffer);
  return status;
}

const ref_op ref_string_concat = {0, prepare, execute, NULL, NULL};
