// SPDX-License-Identifier: Apache-2.0
//
// Attention of float, opsets 23 and 24, with past keys and values. The output of scores is not
// offered: nothing keeps them whole.
#include <math.h>
#include <ops_support/checked.h>
#include <string.h>

#include "attend.h"
#include "nd.h"
#include "ops_table.h"

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, VALID };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };

typedef struct attention_kernel {
  ops_kernel base;
  int64_t q_heads, kv_heads;  // of inputs with three dimensions
  float scale, softcap;
  int64_t left, right;  // of the window
  int32_t has_scale;
} attention_kernel;

typedef struct attention_prepared {
  ops_prepared base;
  cpu_attend attend;
  int64_t past;  // keys
  int32_t has_past;
  cpu_heads new_k, new_v;  // heads of inputs K and V
  uint64_t joined[2];      // where in the workspace keys and values are joined, if no output
                           // takes them
} attention_prepared;

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  (void)def;
  if (ops_node_output(node, SCORES))
    cpu_refuse(out_claim, OPS_REASON_ARITY, "qk_matmul_output is not computed");
  if (ops_node_int(node, "softmax_precision", OPS_TYPE_FLOAT) == OPS_TYPE_DOUBLE)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "softmax_precision must not be double");
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  attention_kernel *own = (attention_kernel *)kernel;
  own->q_heads = ops_node_int(node, "q_num_heads", 0);
  own->kv_heads = ops_node_int(node, "kv_num_heads", 0);
  own->has_scale = ops_node_attribute(node, "scale") != NULL;
  own->scale = ops_node_float(node, "scale", 0);
  own->softcap = ops_node_float(node, "softcap", 0);
  own->left = ops_node_int(node, "left_window_size", -1);
  own->right = ops_node_int(node, "right_window_size", -1);
  if (own->left < -1 || own->right < -1)
    return cpu_invalid(kernel, error, "windows of %lld and %lld: expected -1 or more",
                       (long long)own->left, (long long)own->right);
  if (ops_node_int(node, "is_causal", 0) != 0) own->right = 0;
  return OPS_OK;
}

// ---- Shapes ---------------------------------------------------------------------------------

typedef struct operand {
  int64_t heads, length, size;
  cpu_heads strides;
} operand;

// [batch, heads, length, size], or [batch, length, heads * size].
static int32_t read_operand(const ops_kernel *kernel, const cpu_shape *shape, int64_t heads,
                            const char *name, operand *out, ops_error *error) {
  const int64_t *dims = shape->dims;
  if (shape->rank == 4) {
    *out = (operand){
        dims[1], dims[2], dims[3], {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3]}};
    return OPS_OK;
  }
  if (shape->rank != 3)
    return cpu_invalid(kernel, error, "%s must have rank 3 or 4, found %d", name, shape->rank);
  if (heads < 1 || dims[2] % heads != 0)
    return cpu_invalid(
        kernel, error,
        "%s: the number of heads, %lld, does not divide its last dimension, %lld", name,
        (long long)heads, (long long)dims[2]);
  *out =
      (operand){heads, dims[1], dims[2] / heads, {dims[1] * dims[2], dims[2] / heads, dims[2]}};
  return OPS_OK;
}

static int32_t check_operands(const ops_kernel *kernel, const operand *q, const operand *k,
                              const operand *v, ops_error *error) {
  if (k->size != q->size)
    return cpu_invalid(kernel, error, "heads of Q have %lld elements, those of K %lld",
                       (long long)q->size, (long long)k->size);
  if (k->heads != v->heads || k->length != v->length)
    return cpu_invalid(kernel, error, "K and V have %lld and %lld heads of %lld and %lld",
                       (long long)k->heads, (long long)v->heads, (long long)k->length,
                       (long long)v->length);
  if (k->heads < 1 || q->heads % k->heads != 0)
    return cpu_invalid(kernel, error, "%lld heads of Q are no multiple of %lld of K",
                       (long long)q->heads, (long long)k->heads);
  return OPS_OK;
}

static int32_t check_past(const ops_kernel *kernel, const ops_prepare_request *request,
                          uint64_t index, const int64_t *wanted, ops_error *error) {
  cpu_shape past;
  cpu_input_shape(request, index, &past);
  if (past.rank != 4 || memcmp(past.dims, wanted, 4 * sizeof *wanted) != 0)
    return cpu_invalid(kernel, error, "%s must be [%lld, %lld, %lld, %lld]",
                       index == PAST_KEY ? "past_key" : "past_value", (long long)wanted[0],
                       (long long)wanted[1], (long long)wanted[2], (long long)wanted[3]);
  return OPS_OK;
}

static int32_t read_past(const ops_kernel *kernel, const ops_prepare_request *request,
                         const operand *k, const operand *v, attention_prepared *own,
                         ops_error *error) {
  cpu_shape past;
  own->has_past = ops_request_input(request, PAST_KEY) != NULL;
  if (own->has_past != (ops_request_input(request, PAST_VALUE) != NULL))
    return cpu_invalid(kernel, error, "past_key and past_value are given both or not at all");
  if (!own->has_past) return OPS_OK;
  if (ops_request_input(request, VALID))
    return cpu_invalid(kernel, error, "nonpad_kv_seqlen cannot be combined with past_key");
  cpu_input_shape(request, PAST_KEY, &past);
  own->past = past.rank == 4 ? past.dims[2] : 0;
  const int64_t batch = own->attend.batch;
  const int64_t key[4] = {batch, k->heads, own->past, k->size};
  const int64_t value[4] = {batch, v->heads, own->past, v->size};
  OPS_RETURN_IF_ERROR(check_past(kernel, request, PAST_KEY, key, error));
  return check_past(kernel, request, PAST_VALUE, value, error);
}

// The mask broadcasts to [batch, heads, length, total], but for its last dimension, which may
// be short.
static int32_t read_mask(const ops_kernel *kernel, const ops_prepare_request *request,
                         cpu_attend *attend, ops_error *error) {
  const int64_t wanted[3] = {attend->batch, attend->heads, attend->length};
  cpu_shape mask;
  if (!ops_request_input(request, MASK)) return OPS_OK;
  cpu_input_shape(request, MASK, &mask);
  if (mask.rank < 1 || mask.rank > 4)
    return cpu_invalid(kernel, error, "attn_mask must have rank 1 to 4, found %d", mask.rank);
  attend->mask_type = cpu_input_type(request, MASK);
  attend->mask_length = mask.dims[mask.rank - 1];
  int fits = attend->mask_length <= attend->total;
  int64_t step = attend->mask_length;
  for (int32_t i = mask.rank - 2; i >= 0; --i) {
    const int32_t at = i + 4 - mask.rank;
    attend->mask_strides[at] = mask.dims[i] == 1 ? 0 : step;
    fits = fits && (mask.dims[i] == 1 || mask.dims[i] == wanted[at]);
    step *= mask.dims[i];
  }
  if (!fits)
    return cpu_invalid(kernel, error,
                       "attn_mask does not broadcast to [%lld, %lld, %lld, at most %lld]",
                       (long long)wanted[0], (long long)wanted[1], (long long)wanted[2],
                       (long long)attend->total);
  return OPS_OK;
}

static int32_t read_shapes(const attention_kernel *kernel, const ops_prepare_request *request,
                           attention_prepared *own, ops_error *error) {
  const ops_kernel *base = &kernel->base;
  cpu_shape shapes[3];
  operand q, k, v;
  for (uint64_t i = Q; i <= V; ++i) cpu_input_shape(request, i, &shapes[i]);
  OPS_RETURN_IF_ERROR(read_operand(base, &shapes[Q], kernel->q_heads, "Q", &q, error));
  OPS_RETURN_IF_ERROR(read_operand(base, &shapes[K], kernel->kv_heads, "K", &k, error));
  OPS_RETURN_IF_ERROR(read_operand(base, &shapes[V], kernel->kv_heads, "V", &v, error));
  OPS_RETURN_IF_ERROR(check_operands(base, &q, &k, &v, error));
  for (int i = K; i <= V; ++i)
    if (shapes[i].dims[0] != shapes[Q].dims[0] || shapes[i].rank != shapes[Q].rank)
      return cpu_invalid(base, error, "Q, K and V differ in batch or rank");
  own->attend = (cpu_attend){.batch = shapes[Q].dims[0],
                             .heads = q.heads,
                             .kv_heads = k.heads,
                             .length = q.length,
                             .size = q.size,
                             .v_size = v.size,
                             .q_heads = q.strides,
                             .scale = kernel->scale,
                             .softcap = kernel->softcap,
                             .left = kernel->left,
                             .right = kernel->right};
  own->new_k = own->attend.k_heads = k.strides;
  own->new_v = own->attend.v_heads = v.strides;
  OPS_RETURN_IF_ERROR(read_past(base, request, &k, &v, own, error));
  own->attend.before = own->past;
  if (__builtin_add_overflow(own->past, k.length, &own->attend.total))
    return cpu_invalid(base, error, "there are too many keys");
  if (!kernel->has_scale) own->attend.scale = (float)(1.0 / sqrt((double)q.size));
  return read_mask(base, request, &own->attend, error);
}

// ---- Prepare --------------------------------------------------------------------------------

static int32_t state_outputs(const ops_kernel *kernel, const ops_prepare_request *request,
                             attention_prepared *own, ops_prepare_reply *reply,
                             ops_error *error) {
  cpu_attend *a = &own->attend;
  cpu_shape q, y = {4, {a->batch, a->heads, a->length, a->v_size}};
  const cpu_shape key = {4, {a->batch, a->kv_heads, a->total, a->size}};
  const cpu_shape value = {4, {a->batch, a->kv_heads, a->total, a->v_size}};
  cpu_input_shape(request, Q, &q);
  a->y_heads = (cpu_heads){a->heads * a->length * a->v_size, a->length * a->v_size, a->v_size};
  if (q.rank == 3) {
    y = (cpu_shape){3, {a->batch, a->length, a->heads * a->v_size}};
    a->y_heads = (cpu_heads){a->length * a->heads * a->v_size, a->v_size, a->heads * a->v_size};
  }
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, Y, OPS_TYPE_FLOAT, &y, error));
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, PRESENT_KEY, OPS_TYPE_FLOAT, &key, error));
  return cpu_set_output(kernel, reply, PRESENT_VALUE, OPS_TYPE_FLOAT, &value, error);
}

// Joined keys and values lie in the outputs, or behind what the core needs.
static int32_t reserve(const ops_kernel *kernel, attention_prepared *own,
                       ops_prepare_reply *reply, ops_error *error) {
  cpu_attend *a = &own->attend;
  const int64_t sizes[2] = {a->size, a->v_size};
  OPS_RETURN_IF_ERROR(cpu_attend_workspace(kernel->device, a, &reply->workspace_size, error));
  reply->workspace_alignment = 64;
  if (!own->has_past) return OPS_OK;
  a->k_heads = (cpu_heads){a->kv_heads * a->total * a->size, a->total * a->size, a->size};
  a->v_heads = (cpu_heads){a->kv_heads * a->total * a->v_size, a->total * a->v_size, a->v_size};
  for (int i = 0; i < 2; ++i) {
    const uint64_t bytes =
        (uint64_t)(a->batch * a->kv_heads * a->total * sizes[i]) * sizeof(float);
    own->joined[i] = reply->workspace_size;
    if (!ops_checked_add(reply->workspace_size, bytes, &reply->workspace_size) ||
        !ops_checked_align(reply->workspace_size, 64, &reply->workspace_size))
      return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  }
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  attention_prepared *own = (attention_prepared *)prepared;
  OPS_RETURN_IF_ERROR(read_shapes((attention_kernel *)kernel, request, own, error));
  OPS_RETURN_IF_ERROR(state_outputs(kernel, request, own, reply, error));
  return reserve(kernel, own, reply, error);
}

// ---- Execute --------------------------------------------------------------------------------

typedef struct join {
  const float *past, *fresh;
  cpu_heads fresh_heads;
  float *to;
  int64_t heads, past_length, length, size;
} join;

// Earlier positions of heads [begin, end), and the new ones behind them.
static void join_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const join *j = context;
  const int64_t past = j->past_length * j->size;
  (void)worker;
  for (int64_t at = begin; at < end; ++at) {
    float *to = j->to + at * (past + j->length * j->size);
    const float *fresh =
        j->fresh + at / j->heads * j->fresh_heads.batch + at % j->heads * j->fresh_heads.head;
    if (j->past) memcpy(to, j->past + at * past, (size_t)past * sizeof *to);
    for (int64_t i = 0; i < j->length; ++i)
      memcpy(to + past + i * j->size, fresh + i * j->fresh_heads.position,
             (size_t)j->size * sizeof *to);
  }
}

// Keys (`is_value` 0) or values as the core reads them: joined with the past, and given out.
static const float *join_past(const attention_prepared *own, const ops_execute_request *request,
                              int is_value) {
  const cpu_attend *a = &own->attend;
  join join = {.past = cpu_in_data(request, PAST_KEY + (uint64_t)is_value),
               .fresh = cpu_in_data(request, K + (uint64_t)is_value),
               .fresh_heads = is_value ? own->new_v : own->new_k,
               .to = cpu_out_data(request, PRESENT_KEY + (uint64_t)is_value),
               .heads = a->kv_heads,
               .past_length = own->past,
               .length = a->total - own->past,
               .size = is_value ? a->v_size : a->size};
  if (!own->has_past && !join.to) return join.fresh;
  if (!join.to) join.to = (float *)((char *)cpu_workspace(request) + own->joined[is_value]);
  cpu_parallel(own->base.kernel->device, a->batch * a->kv_heads,
               cpu_grain(a->total * join.size / 4), join_range, &join);
  return own->has_past ? join.to : join.fresh;
}

static int32_t check_valid(const attention_prepared *own, const int64_t *valid,
                           ops_error *error) {
  for (int64_t b = 0; valid && b < own->attend.batch; ++b)
    if (valid[b] < 0 || valid[b] > own->attend.total)
      return cpu_invalid(own->base.kernel, error,
                         "nonpad_kv_seqlen: element %lld is %lld, expected 0 to %lld",
                         (long long)b, (long long)valid[b], (long long)own->attend.total);
  return OPS_OK;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const attention_prepared *own = (const attention_prepared *)prepared;
  const cpu_attend_args args = {.q = cpu_in_data(request, Q),
                                .k = join_past(own, request, 0),
                                .v = join_past(own, request, 1),
                                .mask = cpu_in_data(request, MASK),
                                .valid = cpu_in_data(request, VALID),
                                .y = cpu_out_data(request, Y),
                                .workspace = cpu_workspace(request)};
  OPS_RETURN_IF_ERROR(check_valid(own, args.valid, error));
  cpu_attend_run(prepared->kernel->device, &own->attend, &args);
  return OPS_OK;
}

const cpu_op cpu_attention_op = {.kernel_size = sizeof(attention_kernel),
                                 .prepared_size = sizeof(attention_prepared),
                                 .claim = claim,
                                 .create = create,
                                 .prepare = prepare,
                                 .execute = execute};
