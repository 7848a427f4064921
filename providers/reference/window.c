// SPDX-License-Identifier: Apache-2.0
//
// Every number is bounded by LARGEST on entry, so that no sum or product below overflows.
#include "window.h"

#define LARGEST ((int64_t)1 << 30)
#define LARGEST_DIM ((int64_t)1 << 40)

static int32_t read_list(const ref_prepare *p, const char *name, int64_t count, int64_t least,
                         int64_t otherwise, int64_t *out) {
  const ref_attribute *attribute = ref_attr(p->kernel, name);
  if (attribute != NULL && attribute->count != count)
    return ref_refuse(p, "attribute %s: expected %lld entries, found %lld", name,
                      (long long)count, (long long)attribute->count);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = attribute != NULL ? attribute->ints[i] : otherwise;
    if (out[i] < least || out[i] > LARGEST)
      return ref_refuse(p, "attribute %s: entry %lld is %lld, expected %lld to %lld", name,
                        (long long)i, (long long)out[i], (long long)least, (long long)LARGEST);
  }
  return OPS_OK;
}

int32_t ref_window_read(const ref_prepare *p, int32_t rank, const int64_t *in,
                        const int64_t *weight_dims, ref_window *w) {
  int64_t pads[2 * OPS_MAX_RANK];
  w->rank = rank;
  if (weight_dims == NULL && ref_attr(p->kernel, "kernel_shape") == NULL)
    return ref_refuse(p, "attribute kernel_shape is missing");
  RETURN_IF_ERROR(read_list(p, "kernel_shape", rank, 0, 0, w->kernel));
  RETURN_IF_ERROR(read_list(p, "strides", rank, 1, 1, w->stride));
  RETURN_IF_ERROR(read_list(p, "dilations", rank, 1, 1, w->dilation));
  RETURN_IF_ERROR(read_list(p, "pads", 2 * (int64_t)rank, 0, 0, pads));
  for (int32_t i = 0; i < rank; ++i) {
    int given = ref_attr(p->kernel, "kernel_shape") != NULL;
    if (weight_dims != NULL && given && w->kernel[i] != weight_dims[i])
      return ref_refuse(p,
                        "attribute kernel_shape: entry %d is %lld, but the weights have %lld",
                        i, (long long)w->kernel[i], (long long)weight_dims[i]);
    if (weight_dims != NULL) w->kernel[i] = weight_dims[i];
    if (w->kernel[i] < 1 || w->kernel[i] > LARGEST)
      return ref_refuse(p, "the kernel's dimension %d is %lld, expected 1 to %lld", i,
                        (long long)w->kernel[i], (long long)LARGEST);
    w->in[i] = in[i];
    if (in[i] > LARGEST_DIM)
      return ref_refuse(p, "spatial dimension %d is %lld, expected at most %lld", i,
                        (long long)in[i], (long long)LARGEST_DIM);
    w->begin[i] = pads[i];
    w->end[i] = pads[rank + i];
  }
  return OPS_OK;
}

static int64_t extent(const ref_window *w, int32_t i) {
  return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

static void pad_same(ref_window *w, int upper) {
  for (int32_t i = 0; i < w->rank; ++i) {
    int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i];
    int64_t total = (out - 1) * w->stride[i] + extent(w, i) - w->in[i];
    if (total < 0) total = 0;
    w->begin[i] = upper ? total / 2 : total - total / 2;
    w->end[i] = total - w->begin[i];
  }
}

int32_t ref_window_slide(const ref_prepare *p, int ceil_mode, ref_window *w) {
  int upper = ref_attr_is(p->kernel, "auto_pad", "SAME_UPPER", "NOTSET");
  int same = upper || ref_attr_is(p->kernel, "auto_pad", "SAME_LOWER", "NOTSET");
  int valid = ref_attr_is(p->kernel, "auto_pad", "VALID", "NOTSET");
  if (!same && !valid && !ref_attr_is(p->kernel, "auto_pad", "NOTSET", "NOTSET"))
    return ref_refuse(p,
                      "attribute auto_pad: expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  if (same) pad_same(w, upper);
  for (int32_t i = 0; i < w->rank; ++i) {
    if (valid) w->begin[i] = w->end[i] = 0;
    int64_t room = w->in[i] + w->begin[i] + w->end[i] - extent(w, i);
    if (room < 0)
      return ref_refuse(p,
                        "spatial dimension %d: the window covers %lld, the padded input has "
                        "only %lld",
                        i, (long long)extent(w, i),
                        (long long)(w->in[i] + w->begin[i] + w->end[i]));
    int round_up = ceil_mode && !valid && !same;
    w->out[i] = (room + (round_up ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
    // A window that would start behind the input and its left pad has nothing to see.
    if (round_up && (w->out[i] - 1) * w->stride[i] >= w->in[i] + w->begin[i]) --w->out[i];
  }
  return OPS_OK;
}

void ref_window_range(const ref_window *w, int32_t d, int64_t k, int64_t *out_low,
                      int64_t *out_high) {
  int64_t first = k * w->dilation[d] - w->begin[d];  // input position of output 0
  int64_t stride = w->stride[d];
  *out_low = first >= 0 ? 0 : (-first + stride - 1) / stride;
  *out_high = w->in[d] <= first ? 0 : (w->in[d] - 1 - first) / stride + 1;
  if (*out_high > w->out[d]) *out_high = w->out[d];
  if (*out_low > *out_high) *out_low = *out_high;
}

int64_t ref_window_input_row(const ref_window *w, int64_t row, int64_t tap) {
  int64_t index = 0, scale = 1;
  for (int32_t d = w->rank - 2; d >= 0; --d) {
    int64_t at =
        row % w->out[d] * w->stride[d] + tap % w->kernel[d] * w->dilation[d] - w->begin[d];
    if (at < 0 || at >= w->in[d]) return -1;
    index += at * scale;
    scale *= w->in[d];
    row /= w->out[d];
    tap /= w->kernel[d];
  }
  return index;
}

int32_t ref_window_set_output(ref_prepare *p, int64_t batch, int64_t filters,
                              const ref_window *w) {
  int64_t dims[OPS_MAX_RANK] = {batch, filters};
  for (int32_t i = 0; i < w->rank; ++i) dims[2 + i] = w->out[i];
  return ref_set_shape(p, 0, w->rank + 2, dims);
}
