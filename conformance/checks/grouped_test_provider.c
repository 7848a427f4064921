// SPDX-License-Identifier: Apache-2.0
//
// A provider that computes only in groups: Relu, Neg, Add and Mul of float, for tests. The
// instance option `fault=NAME` spoils it:
//
//   alone      a group of one leaves its last element out
//   chain      a group of several forgets the last node
//   operand    a group of several takes the chain's operand for 0
//   never      no group is ever proposed
//   pairs      only groups of several are proposed
//   declines   compile declines
//   wavers     every other proposal is empty
#include <ops_support/error.h>
#include <ops_support/host_device.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES 4

static const char *const kFaults[] = {"none",  "alone", "chain",    "operand",
                                      "never", "pairs", "declines", "wavers"};
enum { NONE, ALONE, CHAIN, OPERAND, NEVER, PAIRS, DECLINES, WAVERS, FAULTS };

static const char *const kOps[] = {"Relu", "Neg", "Add", "Mul"};
enum { RELU, NEG, ADD, MUL, OPS };

// Where an operand of a step comes from.
typedef struct source {
  int64_t input;      // of the group; -1: not one
  int64_t step;       // an earlier step; -1: not one
  const float *data;  // a constant
} source;

typedef struct step {
  int op;
  source a, b;
} step;

struct ops_kernel {
  int fault;
  step steps[MOST_NODES];
  uint64_t count;
};

struct ops_prepared {
  const ops_kernel *kernel;
  int64_t elements;
};

// ---- Groups
// -----------------------------------------------------------------------------------

static int fault_of(const ops_device *device) {
  return (int)((const char *const *)device->instance->options - kFaults);
}

static int op_of(const ops_node *node) {
  for (int i = 0; i < OPS; ++i) {
    if (node->domain.size == 0 && ops_str_equal(node->op, kOps[i])) return i;
  }
  return -1;
}

static const ops_node *node_at(const ops_graph *graph, uint64_t i) {
  return OPS_AT(ops_node, graph->nodes, graph->node_stride, i);
}

// Everything of one shape and of float.
static int is_plain(const ops_node *node) {
  const ops_operand *y = ops_node_output(node, 0);
  for (uint64_t i = 0; i < node->input_count; ++i) {
    const ops_operand *x = ops_node_input(node, i);
    if (!x || x->type->type != OPS_TYPE_FLOAT || x->type->rank != y->type->rank) return 0;
    for (int32_t d = 0; d < x->type->rank; ++d) {
      if (x->type->dims[d] != y->type->dims[d]) return 0;
    }
  }
  return 1;
}

static int32_t claim_groups(ops_device *device, const ops_graph *graph, ops_group_claim *claims,
                            uint64_t count, uint64_t stride, ops_error *error) {
  (void)error;
  const int fault = fault_of(device);
  int taken = fault != NEVER && count <= MOST_NODES && !(fault == PAIRS && count == 1);
  if (fault == WAVERS) {
    static __thread unsigned calls;
    taken = calls++ % 2;
  }
  for (uint64_t i = 0; i < count; ++i) {
    taken = taken && op_of(node_at(graph, i)) >= 0 && is_plain(node_at(graph, i));
  }
  for (uint64_t i = 0; i < count && taken; ++i) {
    ((ops_group_claim *)((char *)claims + i * stride))->group = 0;
  }
  return OPS_OK;
}

static source source_of(const ops_graph *graph, const ops_operand *operand, uint64_t before) {
  source out = {-1, -1, NULL};
  if (operand->constant) {
    out.data = ops_tensor_data(&operand->constant->dense.tensor);
    return out;
  }
  for (uint64_t i = 0; i < before; ++i) {
    if (ops_node_output(node_at(graph, i), 0)->value == operand->value) out.step = (int64_t)i;
  }
  for (uint64_t i = 0; i < graph->input_count; ++i) {
    const ops_operand *input = OPS_AT(ops_operand, graph->inputs, graph->input_stride, i);
    if (input->value == operand->value) out.input = (int64_t)i;
  }
  return out;
}

static int32_t compile(ops_device *device, const ops_graph *group, ops_kernel **out_kernel,
                       const ops_kernel_api **out_api, ops_error *error);

static const ops_group_api kGroups = {
    .struct_size = sizeof(ops_group_api), .claim = claim_groups, .compile = compile};

// ---- Kernels
// ----------------------------------------------------------------------------------

static int32_t claim_node(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                          ops_claim *out_claim, ops_error *error) {
  (void)device, (void)def, (void)error;
  out_claim->answer = is_plain(node) ? OPS_CLAIM_ONLY_IN_GROUP : OPS_CLAIM_UNSUPPORTED;
  return OPS_OK;
}

static int32_t create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_kernel **out_kernel, ops_error *error) {
  (void)device, (void)def, (void)node, (void)out_kernel;
  return ops_error_set(error, OPS_ERROR_INTERNAL, "this provider has kernels of groups only");
}

static void destroy(ops_kernel *kernel) {
  free(kernel);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  const ops_operand *x = request->inputs;
  ops_output_info *info = reply->outputs;
  info->mode = OPS_SHAPE_KNOWN;
  info->type = OPS_TYPE_FLOAT;
  info->rank = x->type->rank;
  prepared->kernel = kernel;
  prepared->elements = 1;
  for (int32_t i = 0; i < info->rank; ++i) {
    prepared->elements *= info->dims[i] = x->type->dims[i];
  }
  reply->prepared = prepared;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  free(prepared);
}

static float value_of(const source *from, const ops_execute_request *request, const float *done,
                      int64_t i) {
  if (from->data) return from->data[i];
  if (from->step >= 0) return done[from->step];
  return ((const float *)ops_tensor_data(&request->inputs[from->input].tensor))[i];
}

static float compute(int op, float a, float b) {
  return op == RELU ? (a > 0 || a != a ? a : 0) : op == NEG ? -a : op == ADD ? a + b : a * b;
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  (void)stream, (void)error;
  const ops_kernel *k = prepared->kernel;
  const uint64_t count = k->count - (k->fault == CHAIN && k->count > 1);
  const int64_t left = k->fault == ALONE && k->count == 1;
  float *y = ops_tensor_data(&request->outputs[0].tensor);
  for (int64_t i = 0; i < prepared->elements - left; ++i) {
    float done[MOST_NODES];
    for (uint64_t s = 0; s < count; ++s) {
      const step *at = &k->steps[s];
      const int binary = at->op == ADD || at->op == MUL;
      float b = binary ? value_of(&at->b, request, done, i) : 0;
      if (k->fault == OPERAND && s > 0) b = 0;
      done[s] = compute(at->op, value_of(&at->a, request, done, i), b);
    }
    y[i] = done[count - 1];
  }
  return OPS_OK;
}

static const ops_kernel_api kKernels = {.struct_size = sizeof(ops_kernel_api),
                                        .claim = claim_node,
                                        .create = create,
                                        .destroy = destroy,
                                        .prepare = prepare,
                                        .prepared_destroy = prepared_destroy,
                                        .execute = execute};

static int32_t compile(ops_device *device, const ops_graph *group, ops_kernel **out_kernel,
                       const ops_kernel_api **out_api, ops_error *error) {
  if (fault_of(device) == DECLINES) {
    return ops_error_set(error, OPS_ERROR_DECLINED, "not worth it");
  }
  ops_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  kernel->fault = fault_of(device);
  kernel->count = group->node_count;
  for (uint64_t i = 0; i < kernel->count; ++i) {
    const ops_node *node = node_at(group, i);
    kernel->steps[i] =
        (step){.op = op_of(node), .a = source_of(group, ops_node_input(node, 0), i)};
    if (node->input_count > 1) {
      kernel->steps[i].b = source_of(group, ops_node_input(node, 1), i);
    }
  }
  *out_kernel = kernel;
  *out_api = &kKernels;
  return OPS_OK;
}

// ---- Tables
// -----------------------------------------------------------------------------------

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  const char *const *chosen = kFaults;
  for (uint64_t i = 0; i < option_count; ++i) {
    int found = 0;
    for (int k = 0; k < FAULTS; ++k) {
      if (!ops_str_equal(options[i].value, kFaults[k])) continue;
      chosen = &kFaults[k];
      found = 1;
    }
    if (found && ops_str_equal(options[i].key, "fault")) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "option '%.*s' is none",
                         OPS_STR_FMT(options[i].key));
  }
  OPS_RETURN_IF_ERROR(ops_host_instance_create(api, host, NULL, 0, out_instance, error));
  (*out_instance)->options = chosen;
  return OPS_OK;
}

static int32_t device_info(ops_device *device, ops_device_info *out_info, ops_error *error) {
  (void)device, (void)error;
  out_info->kind = OPS_DEVICE_CPU;
  out_info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST);
  const ops_str name = OPS_STR("grouped");
  out_info->name = out_info->architecture = out_info->fingerprint = name;
  out_info->min_alignment = sizeof(float);
  return OPS_OK;
}

static const ops_instance_api kInstance = {.struct_size = sizeof(ops_instance_api),
                                           .create = instance_create,
                                           .destroy = ops_host_instance_destroy,
                                           .device_count = ops_host_instance_device_count,
                                           .device_open = ops_host_device_open,
                                           .device_close = ops_host_device_close,
                                           .device_info = device_info};

#define FLOAT_ARG(arg_name)                                                                    \
  {                                                                                            \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(arg_name), .type_param = OPS_STR("T"), \
    .types = OPS_TYPE_BIT(OPS_TYPE_FLOAT)                                                      \
  }
static const ops_arg_def kOne[] = {FLOAT_ARG("X")};
static const ops_arg_def kTwo[] = {FLOAT_ARG("A"), FLOAT_ARG("B")};

#define DEF(op_name, first_opset, args)                                                       \
  {                                                                                           \
    .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(op_name), .since = first_opset,      \
    .name = OPS_STR("grouped_" op_name), .inputs = args,                                      \
    .input_count = sizeof args / sizeof *args, .input_stride = sizeof *args, .outputs = kOne, \
    .output_count = 1, .output_stride = sizeof *kOne, .dynamic_shape = OPS_DYNAMIC_FULL,      \
    .determinism = OPS_DETERMINISM_BITWISE, .api = &kKernels                                  \
  }
static const ops_kernel_def kDefs[] = {DEF("Relu", 6, kOne), DEF("Neg", 6, kOne),
                                       DEF("Add", 7, kTwo)};

static const ops_provider kProvider = {.struct_size = sizeof(ops_provider),
                                       .name = OPS_STR("grouped"),
                                       .vendor = OPS_STR("the conformance harness"),
                                       .version = OPS_STR("1.0.0"),
                                       .kernels = kDefs,
                                       .kernel_count = sizeof kDefs / sizeof *kDefs,
                                       .kernel_stride = sizeof *kDefs,
                                       .instance = &kInstance,
                                       .group = &kGroups};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(&kProvider, 0, 0, OPS_SANITIZER_BUILD, request, reply, error);
}
