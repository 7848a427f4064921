// SPDX-License-Identifier: Apache-2.0
//
// Operators with one input and one element for each of it: Relu, Neg (in memory of the device),
// Erf, Cast, QuantizeLinear.
#include <float.h>
#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/half.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "faulty.h"

#define SCRATCH_SIZE 4096  // fault static_scratch

static int32_t prepare_same(ops_prepared *prepared, const ops_prepare_request *request,
                            ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  if (x->rank == 3 && FAULTY(prepared, claim_then_unsupported)) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "rank 3 after all not");
  }
  faulty_state_output(prepared, reply, x->type, x->rank, x->dims);
  return OPS_OK;
}

// ---- Relu -----------------------------------------------------------------------------------

static float relu(const ops_prepared *prepared, float x) {
  if (isnan(x) && FAULTY(prepared, relu_nan_to_zero)) return 0;
  if (isinf(x) && x > 0 && FAULTY(prepared, relu_infinity_to_largest)) return FLT_MAX / 2;
  return x < 0 ? 0 : x;
}

static void relu_in_scratch(const ops_prepared *prepared, const float *x, float *y) {
  static float scratch[SCRATCH_SIZE];
  volatile float *shared = scratch;
  for (int64_t i = 0; i < prepared->out.count; ++i) shared[i] = x[i] < 0 ? 0 : x[i];
  for (int64_t i = 0; i < prepared->out.count; ++i) y[i] = shared[i];
}

typedef struct relu_part {
  const ops_prepared *prepared;
  const float *x;
  float *y;
  int64_t count;
} relu_part;

static void *run_part(void *context) {
  const relu_part *part = context;
  for (int64_t i = 0; i < part->count; ++i) part->y[i] = relu(part->prepared, part->x[i]);
  return NULL;
}

// Control thread_pool: one half on a thread of its own.
static void relu_on_threads(const ops_prepared *prepared, const float *x, float *y,
                            int64_t count) {
  const int64_t half = count / 2;
  relu_part first = {prepared, x, y, half};
  relu_part second = {prepared, x + half, y + half, count - half};
  pthread_t thread;
  const int started = pthread_create(&thread, NULL, run_part, &first) == 0;
  if (!started) run_part(&first);
  run_part(&second);
  if (started) pthread_join(thread, NULL);
}

static void read_padding(const float *x, int64_t count) {
  const volatile float *end = x + count;
  for (int64_t i = 0; i < kFaultyPadding / (int64_t)sizeof(float); ++i) (void)end[i];
}

static int32_t run_relu(const faulty_call *call, ops_error *error) {
  (void)error;
  const ops_prepared *prepared = call->prepared;
  const float *x = (const float *)call->in[0].data;
  float *y = (float *)call->out.data;
  int64_t count = call->out.count;
  faulty_spoil_process(call);
  if (count <= SCRATCH_SIZE && FAULTY(prepared, static_scratch)) {
    relu_in_scratch(prepared, x, y);
    return OPS_OK;
  }
  if (count > 0 && FAULTY(prepared, relu_drop_last)) --count;
  if (count > 0 && CONTROLLED(prepared, declared_read_padding)) read_padding(x, count);
  if (count > 1 && CONTROLLED(prepared, thread_pool)) {
    relu_on_threads(prepared, x, y, count);
    return OPS_OK;
  }
  for (int64_t i = 0; i < count; ++i) y[i] = relu(prepared, x[i]);
  if (FAULTY(prepared, write_past_output)) y[count] = 0;
  if (FAULTY(prepared, write_before_output)) y[-1] = 0;
  if (count > 0 && FAULTY(prepared, writes_input)) *(volatile float *)call->in[0].data = 1;
  if (FAULTY(prepared, read_after_run)) faulty_read_late(call);
  return OPS_OK;
}

const faulty_op faulty_relu = {.prepare = prepare_same, .run = run_relu};

// ---- Neg ------------------------------------------------------------------------------------

static int32_t run_neg(const faulty_call *call, ops_error *error) {
  (void)error;
  const float *x = (const float *)call->in[0].data;
  float *y = (float *)call->out.data;
  const int64_t begin = call->out.count > 8 && FAULTY(call->prepared, neg_head_skipped) ? 8 : 0;
  for (int64_t i = begin; i < call->out.count; ++i) y[i] = -x[i];
  if (FAULTY(call->prepared, device_write_past)) y[call->out.count] = 0;
  return OPS_OK;
}

const faulty_op faulty_neg = {.prepare = prepare_same, .run = run_neg};

// ---- Erf ------------------------------------------------------------------------------------

// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: off by 1.5e-7 at most,
// which is much for small results.
static float erf_coarse(float x) {
  static const double a[] = {0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429};
  const double t = 1 / (1 + 0.3275911 * fabs((double)x));
  double sum = 0;
  for (int i = 5; i-- > 0;) sum = (sum + a[i]) * t;
  return (float)copysign(1 - sum * exp(-(double)x * x), x);
}

// Fault previous_result_kept: what the first element was in the first run it stays.
static void keep_first(const faulty_call *call) {
  ops_prepared *prepared = (ops_prepared *)call->prepared;  // it should be immutable
  float *y = (float *)call->out.data;
  if (prepared->has_kept) *y = prepared->kept;
  prepared->kept = *y;
  prepared->has_kept = 1;
}

static int32_t run_erf(const faulty_call *call, ops_error *error) {
  (void)error;
  const float *x = (const float *)call->in[0].data;
  float *y = (float *)call->out.data;
  if ((uintptr_t)x % 16 && call->out.count % 4 == 0 &&
      FAULTY(call->prepared, alignment_assumed))
    x = (const float *)((uintptr_t)x / 16 * 16);
  for (int64_t i = 0; i < call->out.count; ++i) {
    y[i] = FAULTY(call->prepared, erf_coarse) ? erf_coarse(x[i]) : (float)erf((double)x[i]);
    if (fabsf(x[i]) > 4 && FAULTY(call->prepared, erf_beyond_one)) y[i] *= 1.000001f;
  }
  if (call->out.count > 0 && FAULTY(call->prepared, previous_result_kept)) keep_first(call);
  return OPS_OK;
}

const faulty_op faulty_erf = {.prepare = prepare_same, .run = run_erf};

// ---- Cast: float to float16, float, int32, int8 ---------------------------------------------

static int32_t prepare_cast(ops_prepared *prepared, const ops_prepare_request *request,
                            ops_prepare_reply *reply, ops_error *error) {
  (void)error;
  const ops_type_info *x = ops_request_input(request, 0)->type;
  faulty_state_output(prepared, reply, (int32_t)prepared->attributes->to, x->rank, x->dims);
  return OPS_OK;
}

static uint16_t to_half(const ops_prepared *prepared, float x) {
  uint16_t half = ops_half_from_float(x);
  if (FAULTY(prepared, cast_truncates_to_half)) {
    const float back = ops_half_to_float(half);
    if (isfinite(back) && fabsf(back) > fabsf(x)) --half;
  }
  if (isfinite(x) && (half & 0x7fff) == 0x7c00 && FAULTY(prepared, cast_half_saturates)) --half;
  return half;
}

static void cast_one(const ops_prepared *prepared, float x, int64_t i, char *y) {
  const float whole = FAULTY(prepared, cast_rounds_to_integer) ? rintf(x) : truncf(x);
  switch (prepared->out.type) {
    case OPS_TYPE_FLOAT16:
      ((uint16_t *)y)[i] = to_half(prepared, x);
      break;
    case OPS_TYPE_INT32:
      ((int32_t *)y)[i] = (int32_t)whole;
      break;
    case OPS_TYPE_INT8:
      ((int8_t *)y)[i] = (int8_t)whole;
      break;
    default:
      ((float *)y)[i] = x;
  }
}

static int32_t run_cast(const faulty_call *call, ops_error *error) {
  (void)error;
  const float *x = (const float *)call->in[0].data;
  for (int64_t i = 0; i < call->out.count; ++i)
    cast_one(call->prepared, x[i], i, call->out.data);
  return OPS_OK;
}

const faulty_op faulty_cast = {.prepare = prepare_cast, .run = run_cast};

// ---- QuantizeLinear of whole tensors and channels, to 8 bits --------------------------------

static int32_t claim_quantize(const ops_node *node, ops_claim *claim) {
  const int64_t type = ops_node_int(node, "output_dtype", 0);
  if (ops_node_int(node, "block_size", 0) != 0)
    return ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "no blocks");
  if (type != 0 && type != OPS_TYPE_UINT8 && type != OPS_TYPE_INT8)
    return ops_claim_refuse(claim, OPS_REASON_TYPE, "only to 8 bits");
  return OPS_OK;
}

static int32_t prepare_quantize(ops_prepared *prepared, const ops_prepare_request *request,
                                ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  const ops_type_info *scale = ops_request_input(request, 1)->type;
  const ops_operand *zero = ops_request_input(request, 2);
  faulty_view s, z;
  OPS_RETURN_IF_ERROR(faulty_view_of(scale, &s, error));
  const int64_t axis = faulty_axis(prepared->attributes->axis, x->rank);
  if (zero) OPS_RETURN_IF_ERROR(faulty_view_of(zero->type, &z, error));
  if ((s.count != 1 && (axis < 0 || s.rank != 1 || s.count != x->dims[axis])) ||
      (zero && (z.count != s.count || z.rank != s.rank))) {
    return FAULTY_REFUSE(prepared, error,
                         "QuantizeLinear: axis %lld of rank %d with %lld scales",
                         (long long)prepared->attributes->axis, x->rank, (long long)s.count);
  }
  prepared->axis.n = s.count;
  prepared->axis.inner = 1;
  for (int64_t i = axis + 1; s.count > 1 && i < x->rank; ++i)
    prepared->axis.inner *= x->dims[i];
  const int64_t type = prepared->attributes->output_dtype;
  faulty_state_output(prepared, reply,
                      zero   ? z.type
                      : type ? (int32_t)type
                             : OPS_TYPE_UINT8,
                      x->rank, x->dims);
  return OPS_OK;
}

static double load(const faulty_view *view, int64_t i) {
  if (view->type == OPS_TYPE_FLOAT16)
    return (double)ops_half_to_float(((const uint16_t *)view->data)[i]);
  return (double)((const float *)view->data)[i];
}

static int64_t zero_point(const faulty_view *view, int64_t i) {
  if (!view->data) return 0;
  return view->type == OPS_TYPE_INT8 ? ((const int8_t *)view->data)[i]
                                     : ((const uint8_t *)view->data)[i];
}

static double quotient(const faulty_call *call, double x, double scale) {
  const double q = x / scale;
  if (FAULTY(call->prepared, quantize_half_away)) return round(q);
  if (call->in[0].type == OPS_TYPE_FLOAT16 && FAULTY(call->prepared, quantize_half_truncates))
    return trunc(q);
  return rint(q);
}

static int32_t run_quantize(const faulty_call *call, ops_error *error) {
  (void)error;
  const ops_prepared *prepared = call->prepared;
  const int is_signed = call->out.type == OPS_TYPE_INT8;
  const double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  for (int64_t i = 0; i < call->out.count; ++i) {
    const int64_t c = i / prepared->axis.inner % prepared->axis.n;
    double q = quotient(call, load(&call->in[0], i), load(&call->in[1], c));
    if (!FAULTY(prepared, quantize_zero_point_ignored))
      q += (double)zero_point(&call->in[2], c);
    if ((q < low || q > high) && FAULTY(prepared, quantize_wraps))
      q = (double)(uint8_t)(int64_t)q + low;
    q = fmin(fmax(q, low), high);
    ((uint8_t *)call->out.data)[i] = (uint8_t)(int64_t)q;
  }
  return OPS_OK;
}

const faulty_op faulty_quantize = {
    .claim = claim_quantize, .prepare = prepare_quantize, .run = run_quantize};
