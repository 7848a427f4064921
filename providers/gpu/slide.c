// SPDX-License-Identifier: Apache-2.0
//
// See slide.h; the formulas are those of ONNX's Conv.
#include "slide.h"

#include <ops_support/claim.h>
#include <ops_support/node.h>

static const char *const kAutoPads[] = {[kGpuPadExplicit] = "NOTSET",
                                        [kGpuPadValid] = "VALID",
                                        [kGpuPadSameUpper] = "SAME_UPPER",
                                        [kGpuPadSameLower] = "SAME_LOWER"};

static int32_t read_auto_pad(const ops_node *node) {
  const ops_str text = ops_node_string(node, "auto_pad", (ops_str)OPS_STR("NOTSET"));
  if (text.size == 0) return kGpuPadExplicit;
  for (int32_t i = 0; i < (int32_t)(sizeof kAutoPads / sizeof *kAutoPads); ++i)
    if (ops_str_equal(text, kAutoPads[i])) return i;
  return -1;
}

// Values are far from overflow in every formula of this folder.
static const int64_t kLargest = (int64_t)1 << 31;

static const struct {
  const char *name;
  int32_t per_axis;
  int64_t least;
} kLists[] = {{"kernel_shape", 1, 1},
              {"strides", 1, 1},
              {"dilations", 1, 1},
              {"pads", 2, 0},
              {"output_padding", 1, 0}};

static int32_t rank_of(const ops_node *node, uint64_t image, uint64_t weights) {
  const uint64_t inputs[] = {image, weights};
  for (int i = 0; i < 2; ++i) {
    const ops_operand *operand = ops_node_input(node, inputs[i]);
    if (operand && operand->type->rank >= 0) return operand->type->rank;
  }
  return -1;
}

void gpu_slide_claim(const ops_node *node, uint64_t image, uint64_t weights, ops_claim *claim) {
  const int32_t rank = rank_of(node, image, weights);
  if (rank < 3 || rank > 2 + kGpuMaxSpatial) {
    ops_claim_refuse(claim, OPS_REASON_SHAPE, "the rank must be known and 3, 4 or 5, found %d",
                     rank);
    return;
  }
  if (read_auto_pad(node) < 0)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE,
                     "auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  for (size_t i = 0; i < sizeof kLists / sizeof *kLists; ++i) {
    uint64_t count;
    const int64_t *values = ops_node_ints(node, kLists[i].name, &count);
    if (values && count != (uint64_t)((rank - 2) * kLists[i].per_axis))
      ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "%s must have %d values, found %llu",
                       kLists[i].name, (rank - 2) * kLists[i].per_axis,
                       (unsigned long long)count);
    for (uint64_t k = 0; values && k < count; ++k)
      if (values[k] < kLists[i].least || values[k] > kLargest)
        ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "%s must be in [%lld, 2^31], found %lld",
                         kLists[i].name, (long long)kLists[i].least, (long long)values[k]);
  }
}

// Entry `axis` of a list whose first entry is that of axis `lead`.
static int64_t entry(const int64_t *values, int32_t lead, int32_t axis, int64_t fallback) {
  return values && axis >= lead ? values[axis - lead] : fallback;
}

void gpu_slide_list(const ops_node *node, const char *name, int32_t spatial, int64_t fallback,
                    int64_t out[kGpuMaxSpatial]) {
  uint64_t count;
  const int64_t *values = ops_node_ints(node, name, &count);
  for (int32_t i = 0; i < kGpuMaxSpatial; ++i)
    out[i] = entry(values, kGpuMaxSpatial - spatial, i, fallback);
}

void gpu_slide_read(const ops_node *node, uint64_t image, uint64_t weights, gpu_slide *slide) {
  uint64_t count;
  const int32_t spatial = rank_of(node, image, weights) - 2;
  const int32_t lead = kGpuMaxSpatial - spatial;
  const int64_t *pads = ops_node_ints(node, "pads", &count);
  *slide = (gpu_slide){.spatial = spatial,
                       .auto_pad = read_auto_pad(node),
                       .has_kernel = ops_node_ints(node, "kernel_shape", &count) != NULL};
  gpu_slide_list(node, "kernel_shape", spatial, 1, slide->kernel);
  gpu_slide_list(node, "strides", spatial, 1, slide->stride);
  gpu_slide_list(node, "dilations", spatial, 1, slide->dilation);
  for (int32_t i = 0; i < kGpuMaxSpatial; ++i) {
    slide->begin[i] = entry(pads, lead, i, 0);
    slide->end[i] = entry(pads ? pads + spatial : NULL, lead, i, 0);
  }
}

void gpu_slide_sizes(const ops_type_info *type, int64_t out[kGpuMaxSpatial]) {
  const int32_t lead = kGpuMaxSpatial - (type->rank - 2);
  for (int32_t i = 0; i < kGpuMaxSpatial; ++i) out[i] = entry(type->dims + 2, lead, i, 1);
}

int32_t gpu_slide_kernel(gpu_plan *plan, const ops_type_info *weights, gpu_slide *slide) {
  int64_t sizes[kGpuMaxSpatial];
  gpu_slide_sizes(weights, sizes);
  for (int32_t i = 0; i < kGpuMaxSpatial; ++i) {
    if (slide->has_kernel && slide->kernel[i] != sizes[i]) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                    "attribute kernel_shape has %lld where the weights have %lld",
                    (long long)slide->kernel[i], (long long)sizes[i]);
      return 0;
    }
    slide->kernel[i] = sizes[i];
  }
  return 1;
}

static void resolve_padding(gpu_slide *slide, int32_t axis, int64_t in, int64_t extent) {
  const int64_t stride = slide->stride[axis];
  int64_t total = ((in + stride - 1) / stride - 1) * stride + extent - in;
  if (total < 0 || slide->auto_pad == kGpuPadValid) total = 0;
  const int32_t upper = slide->auto_pad == kGpuPadSameUpper;
  slide->begin[axis] = upper ? total / 2 : total - total / 2;
  slide->end[axis] = total - slide->begin[axis];
}

int32_t gpu_slide_resolve(gpu_plan *plan, const int64_t in[kGpuMaxSpatial], gpu_slide *slide,
                          int64_t out[kGpuMaxSpatial]) {
  for (int32_t i = 0; i < kGpuMaxSpatial; ++i) {
    const int64_t extent = (slide->kernel[i] - 1) * slide->dilation[i] + 1;
    if (slide->auto_pad != kGpuPadExplicit) resolve_padding(slide, i, in[i], extent);
    const int64_t room = in[i] + slide->begin[i] + slide->end[i] - extent;
    if (slide->kernel[i] < 1 || room < 0) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                    "a window of %lld does not fit into %lld padded elements",
                    (long long)extent, (long long)(room + extent));
      return 0;
    }
    out[i] = room / slide->stride[i] + 1;
  }
  return 1;
}
