// SPDX-License-Identifier: Apache-2.0
//
// Reading and placing windows. Every number is bounded on entry, so that no sum or product
// below overflows.
#include "window.h"

#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <string.h>

enum { kLargest = 1 << 30 };

void gpu_window_claim(const ops_node *node, ops_claim *claim) {
  uint64_t count;
  ops_node_ints(node, "kernel_shape", &count);
  if (count > kGpuWindowDims)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE,
                     "the window has %llu dimensions, at most %d are supported",
                     (unsigned long long)count, kGpuWindowDims);
}

// A list of `most` entries at most, each `least` or more. -1 after an error.
static int32_t read_list(const ops_node *node, const char *name, uint64_t most, int64_t least,
                         int64_t *out_values, ops_error *error) {
  uint64_t count;
  const int64_t *values = ops_node_ints(node, name, &count);
  int32_t fits = count <= most;
  for (uint64_t i = 0; fits && i < count; ++i) {
    fits = values[i] >= least && values[i] <= kLargest;
    out_values[i] = values[i];
  }
  if (fits) return (int32_t)count;
  ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                "%.*s: attribute %s: expected at most %llu entries from %lld to %d",
                OPS_STR_FMT(node->op), name, (unsigned long long)most, (long long)least,
                (int)kLargest);
  return -1;
}

static int32_t read_padding(const ops_node *node, gpu_window_attributes *a, ops_error *error) {
  const ops_str explicit_pads = OPS_STR("NOTSET");
  const ops_str mode = ops_node_string(node, "auto_pad", explicit_pads);
  a->same_upper = ops_str_equal(mode, "SAME_UPPER");
  a->same_lower = ops_str_equal(mode, "SAME_LOWER");
  a->valid = ops_str_equal(mode, "VALID");
  if (a->same_upper || a->same_lower || a->valid || ops_str_equal(mode, "NOTSET"))
    return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "%.*s: attribute auto_pad is '%.*s', expected NOTSET, SAME_UPPER, "
                       "SAME_LOWER or VALID",
                       OPS_STR_FMT(node->op), OPS_STR_FMT(mode));
}

int32_t gpu_window_read(const ops_node *node, gpu_window_attributes *a, ops_error *error) {
  a->ceil_mode = ops_node_int(node, "ceil_mode", 0) != 0;
  a->rank = read_list(node, "kernel_shape", kGpuWindowDims, 1, a->kernel, error);
  a->stride_count = read_list(node, "strides", kGpuWindowDims, 1, a->stride, error);
  a->dilation_count = read_list(node, "dilations", kGpuWindowDims, 1, a->dilation, error);
  a->pad_count = read_list(node, "pads", 2 * kGpuWindowDims, 0, a->pads, error);
  if (a->rank < 0 || a->stride_count < 0 || a->dilation_count < 0 || a->pad_count < 0)
    return OPS_ERROR_INVALID_ARGUMENT;
  return read_padding(node, a, error);
}

// ---- Placing ----

static int32_t check_count(gpu_plan *plan, const char *name, int32_t found, int32_t expected) {
  if (found == 0 || found == expected) return 1;
  gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "attribute %s: expected %d entries, found %d",
                name, expected, found);
  return 0;
}

static void pad_same(gpu_window *w, int32_t d, int32_t upper) {
  const int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1;
  const int64_t out = (w->in[d] + w->stride[d] - 1) / w->stride[d];
  int64_t total = (out - 1) * w->stride[d] + extent - w->in[d];
  if (total < 0) total = 0;
  w->begin[d] = upper ? total / 2 : total - total / 2;
  w->end[d] = total - w->begin[d];
}

static int32_t slide(gpu_plan *plan, gpu_window *w, int32_t d, int32_t round_up) {
  const int64_t extent = (w->kernel[d] - 1) * w->dilation[d] + 1;
  const int64_t padded = w->in[d] + w->begin[d] + w->end[d], room = padded - extent;
  if (room < 0) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "the window covers %lld elements, the padded input has only %lld",
                  (long long)extent, (long long)padded);
    return 0;
  }
  w->out[d] = (room + (round_up ? w->stride[d] - 1 : 0)) / w->stride[d] + 1;
  // A window that would start behind the input and its left pad has nothing to see.
  if (round_up && (w->out[d] - 1) * w->stride[d] >= w->in[d] + w->begin[d]) --w->out[d];
  return 1;
}

int32_t gpu_window_slide(gpu_plan *plan, const gpu_window_attributes *a, const ops_type_info *x,
                         gpu_window *w) {
  const int32_t rank = x->rank - 2, front = kGpuWindowDims - rank;
  if (rank < 1 || rank != a->rank) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "kernel_shape has %d entries, X has rank %d, expected 2 more", a->rank,
                  x->rank);
    return 0;
  }
  if (!check_count(plan, "strides", a->stride_count, rank) ||
      !check_count(plan, "dilations", a->dilation_count, rank) ||
      !check_count(plan, "pads", a->pad_count, 2 * rank))
    return 0;
  for (int32_t d = 0; d < kGpuWindowDims; ++d) {
    const int32_t i = d - front, real = i >= 0;
    w->in[d] = real ? x->dims[2 + i] : 1;
    w->kernel[d] = real ? a->kernel[i] : 1;
    w->stride[d] = real && a->stride_count ? a->stride[i] : 1;
    w->dilation[d] = real && a->dilation_count ? a->dilation[i] : 1;
    w->begin[d] = real && a->pad_count && !a->valid ? a->pads[i] : 0;
    w->end[d] = real && a->pad_count && !a->valid ? a->pads[rank + i] : 0;
    const int32_t same = a->same_upper || a->same_lower;
    if (w->in[d] > ((int64_t)1 << 40)) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "dimension %d of X is too large", 2 + i);
      return 0;
    }
    if (real && same) pad_same(w, d, a->same_upper);
    if (!slide(plan, w, d, real && a->ceil_mode && !a->valid && !same)) return 0;
  }
  return 1;
}
