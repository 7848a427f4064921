// SPDX-License-Identifier: Apache-2.0
//
// Attention, opset 23 and later, with past keys and values. The output of scores is not
// offered: nothing keeps them whole.
#include "attention.h"

#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "lines.h"

enum { kQ, kK, kV, kMask, kPastKey, kPastValue, kValid };
enum { kY, kPresentKey, kPresentValue };
enum { kGroup = 64 };

typedef struct attention {
  int64_t q_heads, kv_heads;  // of inputs with three dimensions
  int64_t left, right;
  float scale, softcap;
  int32_t has_scale;
} attention;

// attend_t of kernels/attention.cl, in its order.
typedef struct attend {
  int64_t heads, shared;
  int64_t length, total, past, size, v_size;
  int64_t q[3], k[3], v[3], y[3];
  int64_t mask[3], mask_length;
  int64_t left, right;
} attend;

typedef struct operand {
  int64_t batch, heads, length, size;
  int64_t strides[3];
} operand;

// ---- The node ----

static void claim(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                  ops_claim *claim) {
  (void)device;
  (void)def;
  if (ops_node_int(node, "softmax_precision", OPS_TYPE_FLOAT) == OPS_TYPE_DOUBLE)
    ops_claim_refuse(claim, OPS_REASON_ATTRIBUTE, "softmax_precision must not be double");
}

static int32_t parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                     ops_error *error) {
  attention *own = attributes;
  (void)def;
  own->q_heads = ops_node_int(node, "q_num_heads", 0);
  own->kv_heads = ops_node_int(node, "kv_num_heads", 0);
  own->has_scale = ops_node_attribute(node, "scale") != NULL;
  own->scale = ops_node_float(node, "scale", 0);
  own->softcap = ops_node_float(node, "softcap", 0);
  own->left = ops_node_int(node, "left_window_size", -1);
  own->right = ops_node_int(node, "right_window_size", -1);
  if (own->left < -1 || own->right < -1)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "Attention: windows of %lld and %lld, expected -1 or more",
                         (long long)own->left, (long long)own->right);
  if (ops_node_int(node, "is_causal", 0) != 0) own->right = 0;
  return OPS_OK;
}

// ---- Shapes ----

// [batch, heads, length, size], or [batch, length, heads * size].
static operand read_operand(gpu_plan *plan, uint64_t input, int64_t heads) {
  const ops_type_info *type = gpu_input_type(plan, input);
  const int64_t *d = type->dims;
  if (type->rank == 4)
    return (operand){d[0], d[1], d[2], d[3], {d[1] * d[2] * d[3], d[2] * d[3], d[3]}};
  if (type->rank != 3)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "input %d has rank %d, expected 3 or 4",
                  (int)input, type->rank);
  else if (heads < 1 || d[2] % heads != 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input %d: the number of heads, %lld, does not divide its last dimension, "
                  "%lld",
                  (int)input, (long long)heads, (long long)d[2]);
  if (plan->status != OPS_OK) return (operand){0};
  return (operand){d[0], heads, d[1], d[2] / heads, {d[1] * d[2], d[2] / heads, d[2]}};
}

static void check_operands(gpu_plan *plan, const operand *q, const operand *k,
                           const operand *v) {
  const int32_t rank = gpu_input_type(plan, kQ)->rank;
  if (gpu_input_type(plan, kK)->rank != rank || gpu_input_type(plan, kV)->rank != rank ||
      k->batch != q->batch || v->batch != q->batch)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "Q, K and V differ in batch or rank");
  else if (k->size != q->size)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "heads of Q have %lld elements, those of K %lld", (long long)q->size,
                  (long long)k->size);
  else if (k->heads != v->heads || k->length != v->length)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "K and V have %lld and %lld heads of %lld and %lld positions",
                  (long long)k->heads, (long long)v->heads, (long long)k->length,
                  (long long)v->length);
  else if (k->heads < 1 || q->heads % k->heads != 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "%lld heads of Q are no multiple of %lld of K", (long long)q->heads,
                  (long long)k->heads);
}

static void check_past(gpu_plan *plan, uint64_t input, const operand *fresh, int64_t past) {
  const ops_type_info *type = gpu_input_type(plan, input);
  const int64_t wanted[4] = {fresh->batch, fresh->heads, past, fresh->size};
  if (type->rank != 4 || memcmp(type->dims, wanted, sizeof wanted) != 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "input %d must be [%lld, %lld, %lld, %lld]",
                  (int)input, (long long)wanted[0], (long long)wanted[1], (long long)wanted[2],
                  (long long)wanted[3]);
}

// Positions before those of K.
static int64_t read_past(gpu_plan *plan, const operand *k, const operand *v) {
  const ops_type_info *key = gpu_input_type(plan, kPastKey);
  if (plan->status != OPS_OK) return 0;
  if (!key != !gpu_input_type(plan, kPastValue))
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "past_key and past_value are given both or not at all");
  if (!key || plan->status != OPS_OK) return 0;
  if (gpu_input_type(plan, kValid))
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "nonpad_kv_seqlen cannot be combined with past_key");
  const int64_t past = key->rank == 4 ? key->dims[2] : 0;
  check_past(plan, kPastKey, k, past);
  check_past(plan, kPastValue, v, past);
  return past;
}

// The mask broadcasts to [batch, heads, length, total], but for its last dimension, which may
// be short.
static void read_mask(gpu_plan *plan, attend *a, int64_t batch) {
  const ops_type_info *mask = gpu_input_type(plan, kMask);
  const int64_t wanted[3] = {batch, a->heads, a->length};
  if (!mask || plan->status != OPS_OK) return;
  int32_t fits = mask->rank >= 1 && mask->rank <= 4;
  int64_t step = a->mask_length = fits ? mask->dims[mask->rank - 1] : 0;
  fits = fits && a->mask_length <= a->total;
  for (int32_t i = mask->rank - 2; fits && i >= 0; --i) {
    const int32_t at = i + 4 - mask->rank;
    a->mask[at] = mask->dims[i] == 1 ? 0 : step;
    fits = mask->dims[i] == 1 || mask->dims[i] == wanted[at];
    step *= mask->dims[i];
  }
  if (!fits)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "attn_mask does not broadcast to [%lld, %lld, %lld, at most %lld]",
                  (long long)wanted[0], (long long)wanted[1], (long long)wanted[2],
                  (long long)a->total);
}

static void state_outputs(gpu_plan *plan, attend *a, const operand *k) {
  const ops_type_info *q = gpu_input_type(plan, kQ);
  const int64_t batch = k->batch, width = a->heads * a->v_size;
  const int64_t key[4] = {batch, k->heads, a->total, a->size};
  const int64_t value[4] = {batch, k->heads, a->total, a->v_size};
  const int64_t four[4] = {batch, a->heads, a->length, a->v_size};
  const int64_t three[3] = {batch, a->length, width};
  a->y[0] = a->length * width;
  a->y[1] = q->rank == 4 ? a->length * a->v_size : a->v_size;
  a->y[2] = q->rank == 4 ? a->v_size : width;
  gpu_plan_output(plan, kY, q->type, q->rank, q->rank == 4 ? four : three);
  gpu_plan_output(plan, kPresentKey, q->type, 4, key);
  gpu_plan_output(plan, kPresentValue, gpu_input_type(plan, kV)->type, 4, value);
}

// ---- The launches ----

static void add_numbers(gpu_step *step, const int64_t *values, uint32_t count, int32_t wide) {
  int32_t narrow[sizeof(attend) / sizeof(int64_t)];
  for (uint32_t i = 0; i < count; ++i) narrow[i] = (int32_t)values[i];
  if (wide)
    gpu_arg_bytes(step, values, count * (uint32_t)sizeof *values);
  else
    gpu_arg_bytes(step, narrow, count * (uint32_t)sizeof *narrow);
}

static int32_t computes_double(const gpu_plan *plan) {
  return gpu_input_type(plan, kQ)->type == OPS_TYPE_DOUBLE ||
         gpu_input_type(plan, kV)->type == OPS_TYPE_DOUBLE;
}

static void define_all(gpu_step *step, gpu_plan *plan, const attend *a, int32_t wide,
                       int32_t first_type) {
  const ops_type_info *mask = gpu_input_type(plan, kMask);
  const int32_t q = gpu_input_type(plan, kQ)->type, v = gpu_input_type(plan, kV)->type;
  const int64_t group = gpu_group_items(plan->device, kGroup);
  gpu_define(step, "IDX", "%s", wide ? "long" : "int");
  gpu_define(step, "GROUP", "%d", (int)group);
  gpu_define(step, "VALUES", "%lld", (long long)((a->v_size + group - 1) / group + !a->v_size));
  gpu_define(step, "ACC", "%s", computes_double(plan) ? "double" : "float");
  gpu_define_type(step, "TQ", first_type);
  gpu_define_type(step, "TV", v);
  gpu_define_type(step, "MASK", mask ? mask->type : q);
  gpu_define(step, "HAS_MASK", "%d", mask != NULL);
  gpu_define(step, "IS_BOOL", "%d", mask && mask->type == OPS_TYPE_BOOL);
  gpu_define(step, "HAS_VALID", "%d", gpu_input_type(plan, kValid) != NULL);
}

static void add_attention(const attention *own, gpu_plan *plan, attend *a, int64_t batch,
                          int32_t wide) {
  const uint32_t items = gpu_group_items(plan->device, kGroup);
  gpu_step *step = gpu_plan_step(plan, &gpu_attention_source, "attention");
  define_all(step, plan, a, wide, gpu_input_type(plan, kQ)->type);
  for (uint64_t i = kQ; i <= kValid; ++i) gpu_arg_input(step, i);
  gpu_arg_output(step, kY);
  add_numbers(step, (const int64_t *)a, sizeof *a / sizeof(int64_t), wide);
  const double scale = own->has_scale ? (double)own->scale : 1 / sqrt((double)a->size);
  if (computes_double(plan))
    gpu_arg_bytes(step, &scale, sizeof scale);
  else
    gpu_arg_float(step, (float)scale);
  gpu_arg_float(step, own->softcap);
  gpu_grid_groups(step, a->v_size ? batch * a->heads * a->length : 0, 1, 1, items, 1);
}

// Output `output` holds what came before and what is new.
static void add_join(gpu_plan *plan, const attend *a, const operand *fresh, uint64_t output,
                     uint64_t past, uint64_t input, int32_t wide) {
  if (!((plan->kernel->wanted_outputs >> output) & 1)) return;
  const int64_t count = fresh->batch * fresh->heads * a->total * fresh->size;
  const int64_t numbers[8] = {
      count,       fresh->heads,      a->past,           a->total,
      fresh->size, fresh->strides[0], fresh->strides[1], fresh->strides[2]};
  gpu_step *step = gpu_plan_step(plan, &gpu_attention_source, "attention_join");
  define_all(step, plan, a, wide, gpu_input_type(plan, input)->type);
  gpu_arg_input(step, past);
  gpu_arg_input(step, input);
  gpu_arg_output(step, output);
  for (int32_t i = 0; i < 8; ++i) add_numbers(step, &numbers[i], 1, wide);
  gpu_grid_items(step, count);
}

static void plan_attention(const ops_kernel *kernel, gpu_plan *plan) {
  const attention *own = kernel->attributes;
  const operand q = read_operand(plan, kQ, own->q_heads);
  const operand k = read_operand(plan, kK, own->kv_heads);
  const operand v = read_operand(plan, kV, own->kv_heads);
  if (plan->status != OPS_OK) return;
  check_operands(plan, &q, &k, &v);
  attend a = {.heads = q.heads,
              .length = q.length,
              .size = q.size,
              .v_size = v.size,
              .left = own->left,
              .right = own->right,
              .past = read_past(plan, &k, &v)};
  if (plan->status != OPS_OK) return;
  a.shared = q.heads / k.heads;
  a.total = a.past + k.length;
  memcpy(a.q, q.strides, sizeof a.q);
  memcpy(a.k, k.strides, sizeof a.k);
  memcpy(a.v, v.strides, sizeof a.v);
  if (a.left > a.total + a.length) a.left = -1;
  if (a.right > a.total + a.length) a.right = -1;
  read_mask(plan, &a, q.batch);
  state_outputs(plan, &a, &k);
  if (plan->status != OPS_OK) return;
  const int64_t widest = a.size > a.v_size ? a.size : a.v_size;
  const int32_t wide = q.batch * q.heads * (a.total + a.length) * (widest + 1) > INT32_MAX / 2;
  add_attention(own, plan, &a, q.batch, wide);
  add_join(plan, &a, &k, kPresentKey, kPastKey, kK, wide);
  add_join(plan, &a, &v, kPresentValue, kPastValue, kV, wide);
}

const gpu_op gpu_attention = {.claim = claim,
                              .attribute_bytes = sizeof(attention),
                              .parse = parse,
                              .plan = plan_attention};
