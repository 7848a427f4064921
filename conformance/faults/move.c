// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements of any type of whole bytes: Transpose (any strides), Gather,
// Concat, Pad, and Resize to the nearest element.
#include <float.h>
#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "faulty.h"

static void copy_element(const faulty_call *call, int64_t to, const faulty_view *source,
                         int64_t from) {
  const int64_t size = faulty_bytes(source->type);
  memcpy(call->out.data + to * size, source->data + from * size, (size_t)size);
}

// ---- Transpose ------------------------------------------------------------------------------

static int32_t prepare_transpose(ops_prepared *prepared, const ops_prepare_request *request,
                                 ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const faulty_list *perm = &prepared->attributes->perm;
  int64_t dims[kFaultyRank];
  int seen[kFaultyRank] = {0};
  for (int32_t i = 0; i < x->rank; ++i) {
    const int64_t from =
        perm->count > 0 && perm->count == x->rank ? perm->values[i] : x->rank - 1 - i;
    if ((perm->count > 0 && perm->count != x->rank) || from < 0 || from >= x->rank ||
        seen[from]) {
      return FAULTY_REFUSE(prepared, error, "Transpose: perm is no permutation of %d axes",
                           x->rank);
    }
    seen[from] = 1;
    dims[i] = x->dims[from];
  }
  faulty_state_output(prepared, reply, x->type, x->rank, dims);
  return OPS_OK;
}

// The stride of the input that belongs to each dimension of the output.
static void permuted_strides(const faulty_call *call, int64_t *strides) {
  const faulty_view *x = &call->in[0];
  const faulty_list *perm = &call->prepared->attributes->perm;
  int64_t own[kFaultyRank];
  memcpy(own, x->strides, sizeof own);
  if (FAULTY(call->prepared, transpose_strides_ignored))
    ops_strides_contiguous(x->rank, x->dims, own);
  for (int32_t i = 0; i < x->rank; ++i)
    strides[i] = own[perm->count > 0 ? perm->values[i] : x->rank - 1 - i];
}

static float spoilt(const ops_prepared *prepared, float value) {
  if (value == 0 && signbit(value) && FAULTY(prepared, transpose_drops_minus_zero)) return 0;
  if (value != 0 && fabsf(value) < FLT_MIN && FAULTY(prepared, transpose_flushes_denormals))
    return 0;
  return value;
}

static int32_t run_transpose(const faulty_call *call, ops_error *error) {
  (void)error;
  int64_t strides[kFaultyRank], index[kFaultyRank] = {0};
  permuted_strides(call, strides);
  for (int64_t i = 0; i < call->out.count; ++i) {
    const int64_t from = faulty_offset(call->out.rank, index, strides);
    copy_element(call, i, &call->in[0], from);
    if (call->out.type == OPS_TYPE_FLOAT) {
      float *y = (float *)call->out.data;
      y[i] = spoilt(call->prepared, y[i]);
    }
    faulty_next(call->out.rank, call->out.dims, index);
  }
  return OPS_OK;
}

const faulty_op faulty_transpose = {.prepare = prepare_transpose, .run = run_transpose};

// ---- Gather ---------------------------------------------------------------------------------

static int32_t prepare_gather(ops_prepared *prepared, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const ops_type_info *at = ops_request_input(request, 1)->type;
  const int64_t axis = faulty_axis(prepared->attributes->axis, x->rank);
  if (axis < 0 || x->rank + at->rank - 1 > kFaultyRank)
    return FAULTY_REFUSE(prepared, error, "Gather: axis out of range of rank %d", x->rank);
  int64_t dims[kFaultyRank];
  int32_t rank = 0;
  prepared->axis.outer = prepared->axis.inner = 1;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (i < axis) prepared->axis.outer *= x->dims[i];
    if (i > axis) prepared->axis.inner *= x->dims[i];
    if (i != axis) dims[rank++] = x->dims[i];
    for (int32_t k = 0; i == axis && k < at->rank; ++k) dims[rank++] = at->dims[k];
  }
  prepared->axis.n = x->dims[axis];
  faulty_state_output(prepared, reply, x->type, rank, dims);
  return OPS_OK;
}

static int64_t load_index(const faulty_call *call, int64_t i) {
  const faulty_view *view = &call->in[1];
  int64_t at = view->type == OPS_TYPE_INT32 ? ((const int32_t *)view->data)[i]
                                            : ((const int64_t *)view->data)[i];
  if (at < 0 && FAULTY(call->prepared, gather_negative_to_zero)) return 0;
  return at < 0 ? at + call->prepared->axis.n : at;
}

// Refuses before anything is written.
static int32_t check_indices(const faulty_call *call, ops_error *error) {
  for (int64_t i = 0; i < call->in[1].count; ++i) {
    const int64_t at = load_index(call, i);
    if (at >= 0 && at < call->prepared->axis.n) continue;
    if (FAULTY(call->prepared, gather_clamps_indices)) continue;
    if (call->out.count > 0 && FAULTY(call->prepared, refusal_writes_output))
      memset(call->out.data, 0, (size_t)faulty_bytes(call->out.type));
    return FAULTY_REFUSE(call->prepared, error, "Gather: index %lld is out of range of %lld",
                         (long long)at, (long long)call->prepared->axis.n);
  }
  return OPS_OK;
}

static int32_t run_gather(const faulty_call *call, ops_error *error) {
  const ops_prepared *prepared = call->prepared;
  const int64_t n = prepared->axis.n, inner = prepared->axis.inner, count = call->in[1].count;
  OPS_RETURN_IF_ERROR(check_indices(call, error));
  for (int64_t o = 0; o < prepared->axis.outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = load_index(call, i);
      at = at < 0 ? 0 : at >= n ? n - 1 : at;
      for (int64_t k = 0; k < inner; ++k)
        copy_element(call, (o * count + i) * inner + k, &call->in[0], (o * n + at) * inner + k);
    }
  }
  return OPS_OK;
}

const faulty_op faulty_gather = {.prepare = prepare_gather, .run = run_gather};

// ---- Concat ---------------------------------------------------------------------------------

static int32_t prepare_concat(ops_prepared *prepared, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const int64_t axis = faulty_axis(prepared->attributes->axis, x->rank);
  int64_t dims[kFaultyRank];
  if (axis < 0) return FAULTY_REFUSE(prepared, error, "Concat: axis out of range");
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  for (uint64_t k = 1; k < request->input_count; ++k) {
    const ops_type_info *next = ops_request_input(request, k)->type;
    for (int32_t i = 0; i < x->rank; ++i) {
      if (next->rank == x->rank && (i == axis || next->dims[i] == x->dims[i])) continue;
      return FAULTY_REFUSE(prepared, error, "Concat: input %d has another shape", (int)k);
    }
    dims[axis] += next->dims[axis];
  }
  prepared->axis.outer = prepared->axis.inner = 1;
  for (int32_t i = 0; i < x->rank; ++i) {
    if (i < axis) prepared->axis.outer *= x->dims[i];
    if (i > axis) prepared->axis.inner *= x->dims[i];
  }
  prepared->axis.n = axis;
  faulty_state_output(prepared, reply, x->type, x->rank, dims);
  return OPS_OK;
}

static int32_t run_concat(const faulty_call *call, ops_error *error) {
  (void)error;
  const ops_prepared *prepared = call->prepared;
  const int64_t size = faulty_bytes(call->out.type) * prepared->axis.inner;
  const int64_t row = call->out.dims[prepared->axis.n] * size;
  char *base = call->out.data;
  for (int32_t k = 0; k < call->input_count; ++k) {
    const faulty_view *x = &call->in[k];
    int64_t part = x->dims[prepared->axis.n] * size;
    if (call->out.count == 0 || x->count == 0) continue;
    const int64_t copied = k > 0 && part > size && FAULTY(prepared, concat_last_slice_missing)
                               ? part - size
                               : part;
    for (int64_t o = 0; o < prepared->axis.outer; ++o)
      memcpy(base + o * row, x->data + o * part, (size_t)copied);
    base += part;
  }
  return OPS_OK;
}

const faulty_op faulty_concat = {.prepare = prepare_concat, .run = run_concat};

// ---- Pad of opset 18 and later --------------------------------------------------------------

static int known_mode(const char *mode) {
  return !mode[0] || !strcmp(mode, "constant") || !strcmp(mode, "reflect") ||
         !strcmp(mode, "edge") || !strcmp(mode, "wrap");
}

static int32_t prepare_pad(ops_prepared *prepared, const ops_prepare_request *request,
                           ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  int64_t pads[2 * kFaultyRank], axes[kFaultyRank], dims[kFaultyRank];
  const int64_t given = ops_operand_ints(ops_request_input(request, 1), pads, 2 * kFaultyRank);
  int64_t count = ops_operand_ints(ops_request_input(request, 3), axes, kFaultyRank);
  if (count < 0) {
    count = x->rank;
    for (int64_t i = 0; i < count; ++i) axes[i] = i;
  }
  if (given != 2 * count || !known_mode(prepared->attributes->mode))
    return FAULTY_REFUSE(prepared, error, "Pad: expected two pads an axis and a known mode");
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = faulty_axis(axes[i], x->rank);
    if (axis < 0) return FAULTY_REFUSE(prepared, error, "Pad: axis out of range");
    prepared->pad.before[axis] = pads[i];
    dims[axis] += pads[i] + pads[i + count];
    if (dims[axis] < 0) return FAULTY_REFUSE(prepared, error, "Pad: less than nothing is left");
    if (pads[i] < 0 && FAULTY(prepared, pad_negative_ignored)) prepared->pad.before[axis] = 0;
  }
  faulty_state_output(prepared, reply, x->type, x->rank, dims);
  return OPS_OK;
}

// Where an index beyond [0, n) is found in mode `mode`; -1: nowhere.
static int64_t fold(const ops_prepared *prepared, int64_t i, int64_t n) {
  const char *mode = prepared->attributes->mode;
  if (i >= 0 && i < n) return i;
  if (n == 0 || mode[0] == '\0' || mode[0] == 'c') return -1;
  if (mode[0] == 'e') return i < 0 ? 0 : n - 1;
  if (mode[0] == 'w') return (i % n + n) % n;
  const int symmetric = FAULTY(prepared, pad_reflect_repeats_edge);
  const int64_t period = symmetric ? 2 * n : n > 1 ? 2 * (n - 1) : 1;
  const int64_t at = (i % period + period) % period;
  return at < n ? at : period - at - symmetric;
}

static void put_constant(const faulty_call *call, int64_t i) {
  const int64_t size = faulty_bytes(call->out.type);
  const faulty_view *value = &call->in[2];
  const int given = call->input_count > 2 && value->data;
  if (given && !FAULTY(call->prepared, pad_value_ignored))
    memcpy(call->out.data + i * size, value->data, (size_t)size);
  else
    memset(call->out.data + i * size, 0, (size_t)size);
}

static int32_t run_pad(const faulty_call *call, ops_error *error) {
  (void)error;
  const faulty_view *x = &call->in[0];
  int64_t index[kFaultyRank] = {0};
  for (int64_t i = 0; i < call->out.count; ++i) {
    int64_t from = 0;
    for (int32_t d = 0; d < x->rank && from >= 0; ++d) {
      const int64_t at =
          fold(call->prepared, index[d] - call->prepared->pad.before[d], x->dims[d]);
      from = at < 0 ? -1 : from + at * x->strides[d];
    }
    if (from < 0)
      put_constant(call, i);
    else
      copy_element(call, i, x, from);
    faulty_next(call->out.rank, call->out.dims, index);
  }
  return OPS_OK;
}

const faulty_op faulty_pad = {.prepare = prepare_pad, .run = run_pad};

// ---- Resize, mode nearest -------------------------------------------------------------------

static int32_t claim_resize(const ops_node *node, ops_claim *claim) {
  const ops_str none = {NULL, 0};
  const ops_str mode = ops_node_string(node, "mode", none);
  const ops_str policy = ops_node_string(node, "keep_aspect_ratio_policy", none);
  const ops_str place = ops_node_string(node, "coordinate_transformation_mode", none);
  const int plain = (place.size == 0 || ops_str_equal(place, "half_pixel") ||
                     ops_str_equal(place, "asymmetric")) &&
                    (policy.size == 0 || ops_str_equal(policy, "stretch"));
  uint64_t axes;
  ops_node_ints(node, "axes", &axes);
  const int known = ops_str_equal(mode, "linear") || ops_str_equal(mode, "cubic");
  if (known || !plain || axes || ops_node_int(node, "antialias", 0))
    return ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "only the plain nearest element");
  return OPS_OK;
}

static int read_scales(const ops_prepare_request *request, int32_t rank, const int64_t *dims,
                       double *scale, int64_t *out_dims) {
  const ops_tensor *scales = ops_operand_contents(ops_request_input(request, 2));
  if (scales && scales->rank == 1 && scales->dims[0] == rank) {
    for (int32_t i = 0; i < rank; ++i) {
      scale[i] = (double)((const float *)ops_tensor_data(scales))[i];
      if (!(scale[i] > 0)) return 0;
      out_dims[i] = (int64_t)floor((double)dims[i] * scale[i]);
    }
    return 1;
  }
  if (ops_operand_ints(ops_request_input(request, 3), out_dims, rank) != rank) return 0;
  for (int32_t i = 0; i < rank; ++i) scale[i] = (double)out_dims[i] / (double)dims[i];
  return 1;
}

static int32_t prepare_resize(ops_prepared *prepared, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  int64_t dims[kFaultyRank];
  const char *mode = prepared->attributes->mode;
  if ((mode[0] && strcmp(mode, "nearest") != 0) ||
      !read_scales(request, x->rank, x->dims, prepared->resize.scale, dims)) {
    return FAULTY_REFUSE(prepared, error,
                         "Resize: expected mode nearest and %d positive scales", x->rank);
  }
  faulty_state_output(prepared, reply, x->type, x->rank, dims);
  return OPS_OK;
}

static int64_t nearest(const ops_prepared *prepared, int64_t i, double scale, int64_t n) {
  const char *rounding = prepared->attributes->nearest_mode;
  const int half = strcmp(prepared->attributes->coordinates, "asymmetric") != 0;
  double at = ((double)i + 0.5) / scale - 0.5;
  if (!half || FAULTY(prepared, resize_half_pixel_ignored)) at = (double)i / scale;
  double whole = ceil(at - 0.5);  // round_prefer_floor
  if (strcmp(rounding, "round_prefer_ceil") == 0)
    whole = FAULTY(prepared, resize_ceil_as_floor) ? ceil(at - 0.5) : floor(at + 0.5);
  if (strcmp(rounding, "floor") == 0)
    whole = FAULTY(prepared, resize_floor_rounds) ? rint(at) : floor(at);
  if (strcmp(rounding, "ceil") == 0) whole = ceil(at);
  const int64_t found = (int64_t)whole;
  return found < 0 ? 0 : found >= n ? n - 1 : found;
}

static int32_t run_resize(const faulty_call *call, ops_error *error) {
  (void)error;
  const faulty_view *x = &call->in[0];
  int64_t index[kFaultyRank] = {0};
  for (int64_t i = 0; i < call->out.count; ++i) {
    int64_t from = 0;
    for (int32_t d = 0; d < x->rank; ++d) {
      from += nearest(call->prepared, index[d], call->prepared->resize.scale[d], x->dims[d]) *
              x->strides[d];
    }
    copy_element(call, i, x, from);
    faulty_next(call->out.rank, call->out.dims, index);
  }
  return OPS_OK;
}

const faulty_op faulty_resize = {
    .claim = claim_resize, .prepare = prepare_resize, .run = run_resize};
