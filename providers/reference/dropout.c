// SPDX-License-Identifier: Apache-2.0
//
// Dropout: in inference the input, and a mask that is true everywhere. In training (by input
// training_mode from opset 12 on; by the absence of is_test before 7) each element
// is kept with probability 1 - ratio and scaled by 1 / (1 - ratio), or becomes 0; element i
// takes number i of the stream.

#include "operators.h"
#include "random.h"

static int32_t prepare(ref_prepare *p) {
  for (uint64_t i = 1; i <= 2; ++i)
    if (ref_has(p, i) && ref_count(p->inputs[i].dims, p->inputs[i].rank) != 1)
      return ref_refuse(p, "input %s: expected a scalar, found rank %d",
                        ref_input_name(p->kernel, i), p->inputs[i].rank);
  if (p->output_count > 1) {
    p->outputs[1].type = p->kernel->opset < 10 ? p->inputs[0].type : OPS_TYPE_BOOL;
    RETURN_IF_ERROR(ref_same_shape(p, 1, 0));
  }
  return ref_same_shape(p, 0, 0);
}

// The share that is dropped: 0 unless in training.
static double read_ratio(const ref_run *run) {
  if (run->kernel->opset < 7) {
    int is_test = ref_attr_int(run->kernel, "is_test", 0) != 0;
    return is_test ? 0 : ref_attr_float(run->kernel, "ratio", 0.5f);
  }
  int training =
      ref_given(run, 2) && run->inputs[2].count == 1 && ref_int_at(&run->inputs[2], 0) != 0;
  if (!training) return 0;
  return ref_given(run, 1) && run->inputs[1].count == 1 ? ref_at(&run->inputs[1], 0) : 0.5;
}

static void store_one(const ref_run *run, uint64_t output, int64_t i, double value) {
  const ref_view *view = &run->outputs[output];
  if (ref_wanted(run, output)) ref_store(view, ref_offset_of(view, i), 1, 1, &value);
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[0];
  double ratio = read_ratio(run);
  if (!(ratio >= 0 && ratio < 1))
    return ref_refuse(run, "ratio: expected a number in [0, 1), found %g", ratio);
  if (ratio == 0 && ref_wanted(run, 0))
    RETURN_IF_ERROR(ref_copy_elements(run, x, &run->outputs[0]));
  const ref_random random = ref_random_of(run->kernel);
  for (int64_t i = 0; i < x->count; ++i) {
    int keep = ratio == 0 || ref_random_uniform(&random, (uint64_t)i) >= ratio;
    store_one(run, 1, i, keep);
    if (ratio != 0)
      store_one(run, 0, i, keep ? ref_at(x, ref_offset_of(x, i)) / (1 - ratio) : 0);
  }
  return OPS_OK;
}

const ref_op ref_dropout = {0, prepare, execute, NULL, NULL};
