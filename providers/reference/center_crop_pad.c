// SPDX-License-Identifier: Apache-2.0
//
// CenterCropPad: along each axis the middle of a longer input is kept, a shorter one is put
// into the middle of zeros. Odd differences leave the extra element at the end of a pad, and
// start a crop at the smaller index.
#include "dense.h"
#include "operators.h"
#include "traverse.h"

static int32_t prepare(ref_prepare *p) {
  int64_t sizes[OPS_MAX_RANK], count, dims[OPS_MAX_RANK] = {0};
  int32_t axes[OPS_MAX_RANK], axis_count, rank = p->inputs[0].rank;
  int given;
  RETURN_IF_ERROR(ref_contents(p, 1, sizes, OPS_MAX_RANK, &count));
  RETURN_IF_ERROR(ref_axes(p, p->input_count, rank, axes, &axis_count, &given));
  if (!given) {
    axis_count = rank;
    for (int32_t i = 0; i < rank; ++i) axes[i] = i;
  }
  if (count != axis_count)
    return ref_refuse(p, "input shape: expected %d numbers, one per axis, found %lld",
                      axis_count, (long long)count);
  for (int32_t i = 0; i < rank; ++i) dims[i] = p->inputs[0].dims[i];
  for (int32_t i = 0; i < axis_count; ++i) {
    if (sizes[i] < 0)
      return ref_refuse(p, "input shape: element %d is %lld, expected at least 0", i,
                        (long long)sizes[i]);
    dims[axes[i]] = sizes[i];
  }
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t dims[OPS_MAX_RANK] = {0};
  ref_block from = {x, 0, x->strides}, to = {y, 0, y->strides};
  RETURN_IF_ERROR(ref_clear(y, run->error));
  for (int32_t i = 0; i < x->rank; ++i) {
    int64_t difference = x->dims[i] - y->dims[i];
    dims[i] = difference > 0 ? y->dims[i] : x->dims[i];
    if (difference > 0)
      from.offset += difference / 2 * x->strides[i];
    else
      to.offset += -difference / 2 * y->strides[i];
  }
  return ref_move_block(to, from, x->rank, dims, run->error);
}

const ref_op ref_center_crop_pad = {0, prepare, execute, NULL, NULL};
