// SPDX-License-Identifier: Apache-2.0
//
// RNN, GRU and LSTM of float: attributes, shapes, the life of a kernel. See recurrent.h.
#include "recurrent.h"

#include <math.h>
#include <string.h>

#include "ops_table.h"

// ---- Attributes -----------------------------------------------------------------------------

// The default of GRU 1 in the official schemas is spelt "foward".
static int read_direction(const ops_node *node, cpu_recurrent *out) {
  const ops_str text = ops_node_string(node, "direction", (ops_str)OPS_STR("forward"));
  const int both = ops_str_equal(text, "bidirectional"),
            reverse = ops_str_equal(text, "reverse");
  out->directions = both ? 2 : 1;
  out->reverse[0] = reverse;
  out->reverse[1] = 1;
  return both || reverse || ops_str_equal(text, "forward") ||
         (node->opset < 3 && ops_str_equal(text, "foward"));
}

// The numbers of activation_alpha and activation_beta go in turn to the functions that take
// such a number. Returns the number of an unknown or missing name, or -1: all are known.
static int64_t read_activations(const ops_node *node, const cpu_cell *cell,
                                cpu_recurrent *out) {
  const ops_attribute *names = ops_node_attribute(node, "activations");
  uint64_t alpha_count, beta_count, alpha = 0, beta = 0;
  const float *alphas = ops_node_floats(node, "activation_alpha", &alpha_count);
  const float *betas = ops_node_floats(node, "activation_beta", &beta_count);
  if (names && names->kind != OPS_ATTRIBUTE_STRINGS) names = NULL;
  for (int32_t i = 0; i < out->directions * cell->activation_count; ++i) {
    const int32_t index = i % cell->activation_count;
    cpu_activation *activation = &out->activations[i / cell->activation_count][index];
    const char *usual = cell->activations[index];
    if (names && (uint64_t)i >= names->count) return i;
    const int32_t parameters =
        cpu_activation_find(names ? names->strings[i] : (ops_str){usual, strlen(usual)},
                            alpha < alpha_count ? &alphas[alpha] : NULL,
                            beta < beta_count ? &betas[beta] : NULL, activation);
    if (parameters < 0) return i;
    alpha += parameters > 0;
    beta += parameters > 1;
  }
  return -1;
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  cpu_recurrent read = {0};
  if (!read_direction(node, &read)) {
    const ops_str text = ops_node_string(node, "direction", (ops_str){"", 0});
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE,
               "direction must be forward, reverse or bidirectional, found '%.*s'",
               OPS_STR_FMT(text));
    return;
  }
  const int64_t unknown = read_activations(node, cpu_cell_find(def->op), &read);
  if (unknown >= 0)
    cpu_refuse(out_claim, OPS_REASON_ATTRIBUTE, "activation %lld is missing or unknown",
               (long long)unknown);
}

static const ops_constant *constant_of(const ops_node *node, uint64_t input) {
  const ops_operand *operand = ops_node_input(node, input);
  return ops_operand_contents(operand) ? operand->constant : NULL;
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  cpu_recurrent *own = (cpu_recurrent *)kernel;
  own->cell = cpu_cell_find(kernel->def->op);
  if (!read_direction(node, own) || read_activations(node, own->cell, own) >= 0)
    return cpu_invalid(kernel, error, "direction or activations are none that claim accepts");
  own->batch_first = ops_node_int(node, "layout", 0) != 0;
  own->flag = own->cell->flag && ops_node_int(node, own->cell->flag, 0) != 0;
  own->has_hidden_size = ops_node_attribute(node, "hidden_size") != NULL;
  own->hidden_size = ops_node_int(node, "hidden_size", 0);
  const float clip = ops_node_float(node, "clip", 0);
  own->clip = clip > 0 ? clip : INFINITY;
  own->w.constant = constant_of(node, CPU_RNN_W);
  own->r.constant = constant_of(node, CPU_RNN_R);
  pthread_mutex_init(&own->mutex, NULL);
  own->has_mutex = 1;
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  cpu_recurrent *own = (cpu_recurrent *)kernel;
  const ops_device *device = kernel->device;
  if (own->w.packed) device->api->packed_release(device->host, own->w.packed);
  if (own->r.packed) device->api->packed_release(device->host, own->r.packed);
  if (own->has_mutex) pthread_mutex_destroy(&own->mutex);
}

// ---- Shapes ---------------------------------------------------------------------------------

static int32_t need(const ops_kernel *kernel, const ops_prepare_request *request,
                    uint64_t input, const char *name, const cpu_shape *want, ops_error *error) {
  cpu_shape found;
  if (!ops_request_input(request, input)) return OPS_OK;
  cpu_input_shape(request, input, &found);
  if (found.rank != want->rank)
    return cpu_invalid(kernel, error, "%s must have rank %d, found %d", name, want->rank,
                       found.rank);
  for (int32_t i = 0; i < want->rank; ++i)
    if (found.dims[i] != want->dims[i])
      return cpu_invalid(kernel, error, "dimension %d of %s must be %lld, found %lld", i, name,
                         (long long)want->dims[i], (long long)found.dims[i]);
  return OPS_OK;
}

// Cuts a row of gates into parts.
static void cut_row(const cpu_recurrent *own, cpu_recurrent_prepared *sizes) {
  int32_t gate = 0;
  for (int32_t part = 0; part < CPU_RECURRENT_PARTS; ++part) {
    sizes->part_at[part] = sizes->row;
    sizes->part_rows[part] = own->cell->parts[part] * sizes->hidden;
    for (int32_t i = 0; i < own->cell->parts[part]; ++i)
      sizes->gate_at[gate++] = sizes->row + i * sizes->hidden;
    sizes->row += cpu_panels_padded(own->base.device, sizes->part_rows[part]);
  }
}

static int32_t read_sizes(const cpu_recurrent *own, const ops_prepare_request *request,
                          cpu_recurrent_prepared *out, ops_error *error) {
  const ops_kernel *kernel = &own->base;
  cpu_shape x, r;
  cpu_input_shape(request, CPU_RNN_X, &x);
  cpu_input_shape(request, CPU_RNN_R, &r);
  if (x.rank != 3 || r.rank != 3)
    return cpu_invalid(kernel, error, "X and R must have rank 3, found %d, %d", x.rank, r.rank);
  out->steps = x.dims[own->batch_first];
  out->batch = x.dims[!own->batch_first];
  out->inputs = x.dims[2];
  out->hidden = own->has_hidden_size ? own->hidden_size : r.dims[2];
  if (out->hidden < 1 || out->hidden > (int64_t)1 << 40)
    return cpu_invalid(kernel, error, "hidden_size must be at least 1, found %lld",
                       (long long)out->hidden);
  cut_row(own, out);
  const int64_t d = own->directions, h = out->hidden,
                rows = out->part_rows[0] + out->part_rows[1];
  cpu_shape state = {3, {d, out->batch, h}};
  if (own->batch_first) state = (cpu_shape){3, {out->batch, d, h}};
#define NEED(input, name, ...) \
  OPS_RETURN_IF_ERROR(need(kernel, request, input, name, &(const cpu_shape)__VA_ARGS__, error))
  NEED(CPU_RNN_W, "W", {3, {d, rows, out->inputs}});
  NEED(CPU_RNN_R, "R", {3, {d, rows, h}});
  NEED(CPU_RNN_B, "B", {2, {d, 2 * rows}});
  NEED(CPU_RNN_LENGTHS, "sequence_lens", {1, {out->batch}});
#undef NEED
  OPS_RETURN_IF_ERROR(need(kernel, request, CPU_RNN_H, "initial_h", &state, error));
  if (!own->cell->has_cell) return OPS_OK;
  OPS_RETURN_IF_ERROR(need(kernel, request, CPU_RNN_C, "initial_c", &state, error));
  return need(kernel, request, CPU_RNN_P, "P", &(const cpu_shape){2, {d, 3 * h}}, error);
}

static int32_t state_outputs(const cpu_recurrent *own, const cpu_recurrent_prepared *sizes,
                             ops_prepare_reply *reply, ops_error *error) {
  const int64_t d = own->directions, h = sizes->hidden;
  cpu_shape y = {4, {sizes->steps, d, sizes->batch, h}}, last = {3, {d, sizes->batch, h}};
  if (own->batch_first) {
    y = (cpu_shape){4, {sizes->batch, sizes->steps, d, h}};
    last = (cpu_shape){3, {sizes->batch, d, h}};
  }
  OPS_RETURN_IF_ERROR(cpu_set_output(&own->base, reply, CPU_RNN_Y, OPS_TYPE_FLOAT, &y, error));
  OPS_RETURN_IF_ERROR(
      cpu_set_output(&own->base, reply, CPU_RNN_Y_H, OPS_TYPE_FLOAT, &last, error));
  return cpu_set_output(&own->base, reply, CPU_RNN_Y_C, OPS_TYPE_FLOAT, &last, error);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  cpu_recurrent *own = (cpu_recurrent *)kernel;
  cpu_recurrent_prepared *sizes = (cpu_recurrent_prepared *)prepared;
  OPS_RETURN_IF_ERROR(read_sizes(own, request, sizes, error));
  OPS_RETURN_IF_ERROR(state_outputs(own, sizes, reply, error));
  OPS_RETURN_IF_ERROR(cpu_recurrent_lay_out(own, sizes, reply, error));
  return cpu_recurrent_pack(own, sizes, error);
}

const cpu_op cpu_recurrent_op = {.kernel_size = sizeof(cpu_recurrent),
                                 .prepared_size = sizeof(cpu_recurrent_prepared),
                                 .claim = claim,
                                 .create = create,
                                 .destroy = destroy,
                                 .prepare = prepare,
                                 .execute = cpu_recurrent_execute};
