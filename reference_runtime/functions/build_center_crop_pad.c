// SPDX-License-Identifier: Apache-2.0
//
// CenterCropPad: along each axis the middle of what is too long, zeros around what is too
// short. An odd remainder falls to the end.
#include "functions/table.h"

int32_t rt_build_center_crop_pad(rt_text *text, const rt_node *node, ops_error *error) {
  (void)error;
  uint32_t count;
  const int64_t *axes = rt_attrs_ints(&node->op.attrs, "axes", &count);
  rt_text_add(text,
              "(input_data, shape) => (output_data) {\n"
              "whole = Shape (input_data)\n"
              "zero = Constant <value: tensor = int64 {0}> ()\n"
              "one = Constant <value: tensor = int64 {1}> ()\n"
              "two = Constant <value: tensor = int64 {2}> ()\n"
              "to = Cast <to: int = 7> (shape)\n");
  if (axes)
    rt_text_ints(text, "axes", axes, count);
  else
    rt_text_add(text, "rank = Size (whole)\naxes = Range (zero, rank, one)\n");
  rt_text_add(text,
              "from = Gather (whole, axes)\n"
              "excess = Sub (from, to)\n"
              "cut = Max (excess, zero)\n"
              "start = Div (cut, two)\n"
              "kept = Min (from, to)\n"
              "end = Add (start, kept)\n"
              "cropped = Slice (input_data, start, end, axes)\n"
              "lack = Neg (excess)\n"
              "added = Max (lack, zero)\n"
              "before = Div (added, two)\n"
              "after = Sub (added, before)\n"
              "pads = Concat <axis: int = 0> (before, after)\n"
              "output_data = Pad (cropped, pads, , axes)\n}");
  return OPS_OK;
}
