// SPDX-License-Identifier: Apache-2.0
//
// BitCast: the same bits under another type of the same width.
#include "operators.h"
#include "traverse.h"

static int32_t prepare(ref_prepare *p) {
  int64_t to = ref_attr_int(p->kernel, "to", 0);
  const ref_element *from = ref_element_of(p->inputs[0].type);
  const ref_element *element =
      to > 0 && to < OPS_TYPE_COUNT ? ref_element_of((int32_t)to) : NULL;
  if (element == NULL || from == NULL || element->bits != from->bits || from->bits == 0)
    return ref_refuse(p, "attribute to: expected a type of %d bits, found %s",
                      from == NULL ? 0 : from->bits, element == NULL ? "none" : element->name);
  p->outputs[0].type = (int32_t)to;
  return ref_same_shape(p, 0, 0);
}

static int32_t execute(ref_run *run) {
  const ref_view *y = &run->outputs[0];
  ref_view x = run->inputs[0];
  x.element = y->element;  // of the same width
  return ref_move_block((ref_block){y, 0, y->strides}, (ref_block){&x, 0, x.strides}, x.rank,
                        x.dims, run->error);
}

const ref_op ref_bit_cast = {0, prepare, execute, NULL, NULL};
