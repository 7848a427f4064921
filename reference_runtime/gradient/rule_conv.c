// SPDX-License-Identifier: Apache-2.0
//
// Conv: Y[n,m,o] = sum over c, k of X[n,c,o s + k d - p] W[m,c,k] + B[m].
//   by X  the transposed convolution of G with W, which covers the padded input as far as the
//         kernel came; what is missing at the end is 0, and the pads are cut off
//   by W  the convolution of X with G where batch and channels change places, and strides and
//         dilations; positions beyond the kernel, where a stride did not fit, are cut off
//   by B  the sum of G over all but the channels
#include <ops_support/error.h>

#include "gradient/rules.h"

#define MAX_AXES (OPS_MAX_RANK - 2)

typedef struct conv {
  int32_t axes;  // spatial ones
  int64_t group;
  int64_t strides[MAX_AXES], dilations[MAX_AXES], begin[MAX_AXES], end[MAX_AXES];
} conv;

static void read_list(const rt_node *node, const char *name, uint32_t first, int64_t missing,
                      int32_t count, int64_t *out) {
  uint32_t given;
  const int64_t *list = rt_attrs_ints(&node->op.attrs, name, &given);
  for (int32_t i = 0; i < count; ++i)
    out[i] = list && first + (uint32_t)i < given ? list[first + (uint32_t)i] : missing;
}

static int32_t read_conv(const rt_node *node, conv *c, ops_error *error) {
  const rt_attrs *attrs = &node->op.attrs;
  const int32_t rank = rt_rule_rank(node, 1);
  if (rank < 3 || rank > OPS_MAX_RANK)
    return rt_rule_refuse(node, "the rank of its weights", error);
  const int has_pads = !rt_attrs_find(attrs, "auto_pad") ||
                       rt_attrs_string_is(attrs, "auto_pad", "NOTSET") ||
                       rt_attrs_string_is(attrs, "auto_pad", "VALID");
  if (!has_pads) return rt_rule_refuse(node, "explicit pads in place of auto_pad", error);
  c->axes = rank - 2;
  c->group = rt_attrs_int(attrs, "group", 1);
  read_list(node, "strides", 0, 1, c->axes, c->strides);
  read_list(node, "dilations", 0, 1, c->axes, c->dilations);
  read_list(node, "pads", 0, 0, c->axes, c->begin);
  read_list(node, "pads", (uint32_t)c->axes, 0, c->axes, c->end);
  return OPS_OK;
}

static void add_list(rt_text *text, const char *name, const int64_t *list, int32_t count) {
  rt_text_add(text, "%s: ints = [", name);
  for (int32_t i = 0; i < count; ++i)
    rt_text_add(text, "%s%lld", i ? ", " : "", (long long)list[i]);
  rt_text_add(text, "], ");
}

static void add_by_input(rt_text *text, const conv *c) {
  int64_t axes[MAX_AXES], zeros[MAX_AXES] = {0};
  for (int32_t i = 0; i < c->axes; ++i) axes[i] = i + 2;
  rt_text_ints(text, "axes", axes, (uint32_t)c->axes);
  rt_text_ints(text, "zeros", zeros, (uint32_t)c->axes);
  rt_text_ints(text, "begin", c->begin, (uint32_t)c->axes);
  rt_text_add(text, "full = ConvTranspose <group: int = %lld, ", (long long)c->group);
  add_list(text, "strides", c->strides, c->axes);
  add_list(text, "dilations", c->dilations, c->axes);
  rt_text_add(text,
              "> (G0, X1)\n"
              "have = Shape <start: int = 2> (full)\n"
              "x_size = Shape <start: int = 2> (X0)\n"
              "stop = Add (begin, x_size)\n"
              "open = Sub (stop, have)\n"
              "lack = Max (open, zeros)\n"
              "pads = Concat <axis: int = 0> (zeros, lack)\n"
              "padded = Pad (full, pads, , axes)\n"
              "a = Slice (padded, begin, stop, axes)\n");
}

// The axes (first, second, third, then the spatial ones) as a list.
static void add_perm(rt_text *text, int first, int second, int third, int32_t axes) {
  rt_text_add(text, "<perm: ints = [%d, %d, %d", first, second, third);
  for (int32_t i = 0; i < axes; ++i) rt_text_add(text, ", %d", i + 3);
  rt_text_add(text, "]>");
}

static void add_by_weight(rt_text *text, const conv *c) {
  int64_t pads[2 * MAX_AXES];
  for (int32_t i = 0; i < c->axes; ++i) {
    pads[i] = c->begin[i];
    pads[c->axes + i] = c->end[i];
  }
  rt_text_add(text,
              "group = Constant <value: tensor = int64[1] {%lld}> ()\n"
              "rest = Constant <value: tensor = int64[1] {-1}> ()\n"
              "n = Shape <start: int = 0, end: int = 1> (X0)\n"
              "m = Shape <start: int = 1, end: int = 2> (G0)\n"
              "g_size = Shape <start: int = 2> (G0)\n"
              "x_split = Concat <axis: int = 0> (n, group, rest, x_size)\n"
              "x_grouped = Reshape (X0, x_split)\n"
              "x_turned = Transpose ",
              (long long)c->group);
  add_perm(text, 2, 1, 0, c->axes);
  rt_text_add(text,
              " (x_grouped)\n"
              "batches = Mul (n, group)\n"
              "x_joined = Concat <axis: int = 0> (rest, batches, x_size)\n"
              "images = Reshape (x_turned, x_joined)\n"
              "g_split = Concat <axis: int = 0> (n, group, rest, g_size)\n"
              "g_grouped = Reshape (G0, g_split)\n"
              "g_turned = Transpose ");
  add_perm(text, 1, 2, 0, c->axes);
  rt_text_add(text,
              " (g_grouped)\n"
              "g_joined = Concat <axis: int = 0> (m, n, g_size)\n"
              "kernels = Reshape (g_turned, g_joined)\n"
              "wide = Conv <group: int = %lld, ",
              (long long)c->group);
  add_list(text, "strides", c->dilations, c->axes);
  add_list(text, "dilations", c->strides, c->axes);
  add_list(text, "pads", pads, 2 * c->axes);
  rt_text_add(text, "> (images, kernels)\nturned = Transpose <perm: ints = [1, 0");
  for (int32_t i = 0; i < c->axes; ++i) rt_text_add(text, ", %d", i + 2);
  rt_text_add(text,
              "]> (wide)\n"
              "w_size = Shape <start: int = 2> (X1)\n"
              "b = Slice (turned, zeros, w_size, axes)\n");
}

int32_t rt_rule_conv(const rt_node *node, rt_text *text, rt_text *derivatives,
                     ops_error *error) {
  conv c = {0};
  OPS_RETURN_IF_ERROR(read_conv(node, &c, error));
  add_by_input(text, &c);
  add_by_weight(text, &c);
  rt_text_add(derivatives, "a, b");
  if (node->input_count < 3) return OPS_OK;
  int64_t axes[OPS_MAX_RANK] = {0};
  for (int32_t i = 0; i < c.axes; ++i) axes[i + 1] = i + 2;
  rt_text_ints(text, "all_but_channels", axes, (uint32_t)c.axes + 1);
  rt_text_add(text, "c = ReduceSum <keepdims: int = 0> (G0, all_but_channels)\n");
  rt_text_add(derivatives, ", c");
  return OPS_OK;
}
