// SPDX-License-Identifier: Apache-2.0
//
// "probe": a provider for tests, whose kernels check what the host promises and exercise what
// no other provider has. Domain "probe", float tensors:
//
//   Pick         elements above 0; the shape comes by set_output_shape
//   PickBounded  the same with a bounded shape
//   Must         x + 1 in place of x: fails if output and input are not one memory
//   Solo         x * scale (2 by its schema's default), not re-entrant: fails if one prepared
//   object runs twice at once Strict       x, needs alignment 4096 and 64 readable bytes behind
//   the end, and reads them Packed       -x, only in a private layout (elements in reverse
//   order) Upper        strings in capital letters Rows, Count  a sequence of the rows of a
//   matrix; the length of a sequence Fail         claims, and fails when it runs
//   Wait         x, after waiting until the run is cancelled, at most a minute
//
// Besides it claims groups of ai.onnx.Add on equal shapes, all in one group, and declines to
// compile groups of more nodes than the option max_group says.
#include <ctype.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe_test_rules.h"

#define PACKED_LAYOUT 7u
#define MAX_GROUP 32

typedef struct probe_op probe_op;

struct ops_instance {
  const ops_host_api *api;
  ops_host *host;
  uint64_t max_group;
};

struct ops_device {
  ops_instance *instance;
};

// A compiled group: for each Add, where its operands are. Numbers below input_count are inputs
// of the group, the others results of earlier nodes.
typedef struct group_code {
  uint32_t node_count;
  uint32_t operand[MAX_GROUP][2];
  uint32_t input_count;
  uint32_t output_count;
  uint32_t output[MAX_GROUP];  // results that are outputs, by node
} group_code;

struct ops_kernel {
  ops_device *device;
  const probe_op *op;
  float scale;
  group_code group;
};

struct ops_prepared {
  const ops_kernel *kernel;
  int64_t count;    // elements of input 0
  int32_t running;  // atomic
};

struct probe_op {
  int32_t mode;  // OPS_SHAPE_… of the output
  int32_t (*run)(ops_prepared *prepared, const ops_execute_request *request, ops_error *error);
};

static float *floats(const ops_arg *arg) {
  return (float *)ops_tensor_data(&arg->tensor);
}

// ---- Kernels --------------------------------------------------------------------------------

static int64_t pick(const ops_prepared *prepared, const float *x, float *y) {
  int64_t count = 0;
  for (int64_t i = 0; i < prepared->count; ++i) {
    if (x[i] <= 0) continue;
    if (y) y[count] = x[i];
    count++;
  }
  return count;
}

static int32_t run_pick(ops_prepared *prepared, const ops_execute_request *request,
                        ops_error *error) {
  const ops_instance *instance = prepared->kernel->device->instance;
  const float *x = floats(&request->inputs[0]);
  const int64_t dims[1] = {pick(prepared, x, NULL)};
  ops_arg y;
  if (request->outputs[0].kind != OPS_ARG_ABSENT)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "output is there before its shape");
  OPS_RETURN_IF_ERROR(
      instance->api->set_output_shape(instance->host, request->call, 0, 1, dims, &y, error));
  pick(prepared, x, floats(&y));
  return OPS_OK;
}

static int32_t run_pick_bounded(ops_prepared *prepared, const ops_execute_request *request,
                                ops_error *error) {
  if (!request->output_dims || request->output_dims[0].kind != OPS_ARG_TENSOR)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "no vector for the shape");
  int64_t *dims = (int64_t *)ops_tensor_data(&request->output_dims[0].tensor);
  dims[0] = pick(prepared, floats(&request->inputs[0]), floats(&request->outputs[0]));
  return OPS_OK;
}

static int32_t run_must(ops_prepared *prepared, const ops_execute_request *request,
                        ops_error *error) {
  float *x = floats(&request->inputs[0]);
  if (x != floats(&request->outputs[0]))
    return ops_error_set(error, OPS_ERROR_INTERNAL, "the alias was not granted");
  for (int64_t i = 0; i < prepared->count; ++i) x[i] += 1;
  return OPS_OK;
}

static int32_t run_solo(ops_prepared *prepared, const ops_execute_request *request,
                        ops_error *error) {
  if (__atomic_fetch_add(&prepared->running, 1, __ATOMIC_ACQ_REL) != 0)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "one prepared object runs twice at once");
  nanosleep(&(struct timespec){0, 200000}, NULL);
  const float *x = floats(&request->inputs[0]);
  float *y = floats(&request->outputs[0]);
  for (int64_t i = 0; i < prepared->count; ++i) y[i] = prepared->kernel->scale * x[i];
  __atomic_fetch_sub(&prepared->running, 1, __ATOMIC_ACQ_REL);
  return OPS_OK;
}

static int32_t run_strict(ops_prepared *prepared, const ops_execute_request *request,
                          ops_error *error) {
  const float *x = floats(&request->inputs[0]);
  float *y = floats(&request->outputs[0]);
  volatile float sink = 0;
  if ((uintptr_t)x % 4096 != 0)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "the input is not aligned to 4096");
  for (int64_t i = prepared->count; i < prepared->count + 16; ++i) sink = sink + 0 * x[i];
  for (int64_t i = 0; i < prepared->count; ++i) y[i] = x[i];
  return OPS_OK;
}

static int32_t run_packed(ops_prepared *prepared, const ops_execute_request *request,
                          ops_error *error) {
  if (request->inputs[0].tensor.layout != PACKED_LAYOUT ||
      request->outputs[0].tensor.layout != PACKED_LAYOUT)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "not in the layout that was asked for");
  const float *x = floats(&request->inputs[0]);
  float *y = floats(&request->outputs[0]);
  for (int64_t i = 0; i < prepared->count; ++i) y[i] = -x[i];
  return OPS_OK;
}

static int32_t run_upper(ops_prepared *prepared, const ops_execute_request *request,
                         ops_error *error) {
  const ops_value_api *api = prepared->kernel->device->instance->api->values;
  const ops_value *x = request->inputs[0].value;
  ops_value *y = request->outputs[0].value;
  int32_t rank;
  const int64_t *dims;
  OPS_RETURN_IF_ERROR(api->strings_shape(x, &rank, &dims, error));
  OPS_RETURN_IF_ERROR(api->strings_resize(y, rank, dims, error));
  for (int64_t i = 0; i < prepared->count; ++i) {
    char text[64];
    ops_str element;
    OPS_RETURN_IF_ERROR(api->string_get(x, (uint64_t)i, &element, error));
    uint64_t size = element.size < sizeof text ? element.size : sizeof text;
    for (uint64_t k = 0; k < size; ++k) text[k] = (char)toupper((unsigned char)element.data[k]);
    OPS_RETURN_IF_ERROR(api->string_set(y, (uint64_t)i, (ops_str){text, size}, error));
  }
  return OPS_OK;
}

static int32_t run_rows(ops_prepared *prepared, const ops_execute_request *request,
                        ops_error *error) {
  const ops_value_api *api = prepared->kernel->device->instance->api->values;
  const int64_t rows = request->inputs[0].tensor.dims[0];
  const int64_t columns = request->inputs[0].tensor.dims[1], stride = 1;
  for (int64_t i = 0; i < rows; ++i) {
    const ops_arg row = {.kind = OPS_ARG_TENSOR,
                         .tensor = {.dims = &columns,
                                    .strides = &stride,
                                    .memory = floats(&request->inputs[0]) + i * columns,
                                    .byte_size = (uint64_t)columns * sizeof(float),
                                    .type = OPS_TYPE_FLOAT,
                                    .rank = 1}};
    OPS_RETURN_IF_ERROR(
        api->sequence_insert(request->outputs[0].value, (uint64_t)i, &row, error));
  }
  return OPS_OK;
}

static int32_t run_count(ops_prepared *prepared, const ops_execute_request *request,
                         ops_error *error) {
  const ops_value_api *api = prepared->kernel->device->instance->api->values;
  uint64_t size = 0;
  OPS_RETURN_IF_ERROR(api->sequence_size(request->inputs[0].value, &size, error));
  floats(&request->outputs[0])[0] = (float)size;
  return OPS_OK;
}

static int32_t run_fail(ops_prepared *prepared, const ops_execute_request *request,
                        ops_error *error) {
  (void)prepared, (void)request;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "index 9 is out of range");
}

static int32_t run_wait(ops_prepared *prepared, const ops_execute_request *request,
                        ops_error *error) {
  const ops_instance *instance = prepared->kernel->device->instance;
  for (int i = 0; i < 60000; ++i) {
    if (instance->api->is_cancelled(instance->host, request->call))
      return ops_error_set(error, OPS_ERROR_CANCELLED, "told to end");
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  memcpy(floats(&request->outputs[0]), floats(&request->inputs[0]),
         (size_t)prepared->count * sizeof(float));
  return OPS_OK;
}

static const probe_op op_pick = {OPS_SHAPE_HOST_SYNC, run_pick};
static const probe_op op_pick_bounded = {OPS_SHAPE_BOUNDED, run_pick_bounded};
static const probe_op op_must = {OPS_SHAPE_KNOWN, run_must};
static const probe_op op_solo = {OPS_SHAPE_KNOWN, run_solo};
static const probe_op op_strict = {OPS_SHAPE_KNOWN, run_strict};
static const probe_op op_packed = {OPS_SHAPE_KNOWN, run_packed};
static const probe_op op_upper = {OPS_SHAPE_KNOWN, run_upper};
static const probe_op op_rows = {OPS_SHAPE_KNOWN, run_rows};
static const probe_op op_count = {OPS_SHAPE_KNOWN, run_count};
static const probe_op op_fail = {OPS_SHAPE_KNOWN, run_fail};
static const probe_op op_wait = {OPS_SHAPE_KNOWN, run_wait};

// ---- Kernel life ----------------------------------------------------------------------------

static int32_t kernel_create(ops_device *device, const ops_kernel_def *def,
                             const ops_node *node, ops_kernel **out_kernel, ops_error *error) {
  *out_kernel = calloc(1, sizeof **out_kernel);
  if (!*out_kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a kernel");
  (*out_kernel)->device = device;
  (*out_kernel)->op = def->context;
  (*out_kernel)->scale = ops_node_float(node, "scale", 0);
  return OPS_OK;
}

static void kernel_destroy(ops_kernel *kernel) {
  free(kernel);
}

static ops_prepared *new_prepared(const ops_kernel *kernel, const ops_type_info *type,
                                  ops_prepare_reply *reply) {
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return NULL;
  prepared->kernel = kernel;
  prepared->count = 1;
  for (int32_t i = 0; i < type->rank; ++i) prepared->count *= type->dims[i];
  reply->prepared = prepared;
  return prepared;
}

static int32_t kernel_prepare(ops_kernel *kernel, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *type = ops_request_input(request, 0)->type;
  ops_prepared *prepared = new_prepared(kernel, type, reply);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a prepared object");
  const int sequence = type->kind == OPS_VALUE_SEQUENCE;
  ops_reply_set_output(reply, 0, sequence ? OPS_TYPE_FLOAT : type->type,
                       sequence ? 0 : type->rank, type->dims);
  reply->outputs[0].mode = kernel->op->mode;
  reply->outputs[0].layout = request->output_layouts ? request->output_layouts[0] : 0;
  if (kernel->op == &op_packed) reply->outputs[0].max_bytes = (uint64_t)prepared->count * 4;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  free(prepared);
}

static int32_t kernel_execute(ops_prepared *prepared, const ops_execute_request *request,
                              ops_stream *stream, ops_error *error) {
  (void)stream;
  return prepared->kernel->op->run(prepared, request, error);
}

static int32_t query_layouts(ops_kernel *kernel, const ops_prepare_request *request,
                             ops_layout_choice *choices, uint64_t capacity, uint64_t stride,
                             uint64_t *out_count, ops_error *error) {
  static const uint32_t packed[1] = {PACKED_LAYOUT};
  (void)request, (void)stride, (void)error;
  *out_count = kernel->op == &op_packed;
  if (*out_count && capacity)
    choices[0] = (ops_layout_choice){sizeof choices[0], 1.0, packed, packed};
  return OPS_OK;
}

static const ops_kernel_api kernel_api = {.struct_size = sizeof kernel_api,
                                          .create = kernel_create,
                                          .destroy = kernel_destroy,
                                          .query_layouts = query_layouts,
                                          .prepare = kernel_prepare,
                                          .prepared_destroy = prepared_destroy,
                                          .execute = kernel_execute};

// ---- Groups ---------------------------------------------------------------------------------

// Add of two equal shapes, neither of them a constant.
static int is_add(const ops_node *node) {
  if (!ops_str_equal(node->op, "Add") || node->domain.size) return 0;
  const ops_operand *a = ops_node_input(node, 0), *b = ops_node_input(node, 1);
  if (a->constant || b->constant || a->type->type != OPS_TYPE_FLOAT || a->type->rank < 0 ||
      a->type->rank != b->type->rank)
    return 0;
  for (int32_t i = 0; i < a->type->rank; ++i) {
    const ops_str *x = a->type->symbols, *y = b->type->symbols;
    const int named = x && y && x[i].size && x[i].size == y[i].size &&
                      memcmp(x[i].data, y[i].data, x[i].size) == 0;
    if (a->type->dims[i] != b->type->dims[i] || (a->type->dims[i] < 0 && !named)) return 0;
  }
  return 1;
}

static int32_t group_claim(ops_device *device, const ops_graph *graph, ops_group_claim *claims,
                           uint64_t claim_count, uint64_t claim_stride, ops_error *error) {
  (void)device, (void)error, (void)claim_stride;
  for (uint64_t i = 0; i < claim_count; ++i)
    claims[i].group =
        is_add(OPS_AT(ops_node, graph->nodes, graph->node_stride, i)) ? 0 : OPS_GROUP_NONE;
  return OPS_OK;
}

// The number by which the code of a group knows a value; UINT32_MAX if it does not.
static uint32_t operand_number(const ops_graph *graph, uint64_t nodes, int64_t value) {
  for (uint64_t i = 0; i < graph->input_count; ++i)
    if (OPS_AT(ops_operand, graph->inputs, graph->input_stride, i)->value == value)
      return (uint32_t)i;
  for (uint64_t i = 0; i < nodes; ++i) {
    const ops_node *node = OPS_AT(ops_node, graph->nodes, graph->node_stride, i);
    if (ops_node_output(node, 0)->value == value) return (uint32_t)(graph->input_count + i);
  }
  return UINT32_MAX;
}

static int32_t encode(const ops_graph *graph, group_code *code, ops_error *error) {
  code->node_count = (uint32_t)graph->node_count;
  code->input_count = (uint32_t)graph->input_count;
  code->output_count = (uint32_t)graph->output_count;
  for (uint64_t i = 0; i < graph->node_count; ++i) {
    const ops_node *node = OPS_AT(ops_node, graph->nodes, graph->node_stride, i);
    for (uint64_t k = 0; k < 2; ++k) {
      code->operand[i][k] = operand_number(graph, i, ops_node_input(node, k)->value);
      if (code->operand[i][k] == UINT32_MAX)
        return ops_error_set(error, OPS_ERROR_INTERNAL, "a value comes from nowhere");
    }
  }
  for (uint64_t i = 0; i < graph->output_count; ++i)
    code->output[i] =
        operand_number(graph, graph->node_count,
                       OPS_AT(ops_operand, graph->outputs, graph->output_stride, i)->value);
  return OPS_OK;
}

static int32_t group_prepare(ops_kernel *kernel, const ops_prepare_request *request,
                             ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *type = ops_request_input(request, 0)->type;
  if (!new_prepared(kernel, type, reply))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a prepared object");
  for (uint64_t i = 0; i < reply->output_count; ++i)
    ops_reply_set_output(reply, i, type->type, type->rank, type->dims);
  return OPS_OK;
}

static int32_t group_execute(ops_prepared *prepared, const ops_execute_request *request,
                             ops_stream *stream, ops_error *error) {
  (void)stream;
  const group_code *code = &prepared->kernel->group;
  float *results = malloc((size_t)prepared->count * code->node_count * sizeof *results + 1);
  if (!results) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "results of a group");
  for (uint32_t i = 0; i < code->node_count; ++i) {
    const float *operand[2];
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t number = code->operand[i][k];
      operand[k] = number < code->input_count
                       ? floats(&request->inputs[number])
                       : results + (number - code->input_count) * prepared->count;
    }
    for (int64_t e = 0; e < prepared->count; ++e)
      results[i * prepared->count + e] = operand[0][e] + operand[1][e];
  }
  for (uint32_t i = 0; i < code->output_count; ++i)
    memcpy(floats(&request->outputs[i]),
           results + (code->output[i] - code->input_count) * prepared->count,
           (size_t)prepared->count * sizeof *results);
  free(results);
  return OPS_OK;
}

static const ops_kernel_api group_kernel_api = {.struct_size = sizeof group_kernel_api,
                                                .create = kernel_create,
                                                .destroy = kernel_destroy,
                                                .prepare = group_prepare,
                                                .prepared_destroy = prepared_destroy,
                                                .execute = group_execute};

static int32_t group_compile(ops_device *device, const ops_graph *group,
                             ops_kernel **out_kernel, const ops_kernel_api **out_api,
                             ops_error *error) {
  if (group->node_count > device->instance->max_group)
    return ops_error_set(error, OPS_ERROR_DECLINED, "too many nodes");
  ops_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a kernel");
  kernel->device = device;
  const int32_t status = encode(group, &kernel->group, error);
  if (status != OPS_OK) {
    free(kernel);
    return status;
  }
  *out_kernel = kernel;
  *out_api = &group_kernel_api;
  return OPS_OK;
}

static const ops_group_api group_api = {
    .struct_size = sizeof group_api, .claim = group_claim, .compile = group_compile};

// ---- Memory: only the layout matters
// ----------------------------------------------------------

static int32_t allocate(ops_device *device, int32_t kind, uint64_t size, uint64_t alignment,
                        int32_t usage, void **out_memory, ops_error *error) {
  (void)device, (void)kind, (void)usage;
  if (alignment < sizeof(void *)) alignment = sizeof(void *);
  if (posix_memalign(out_memory, alignment, size) == 0) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "host memory");
}

static void free_memory(ops_device *device, int32_t kind, void *memory) {
  (void)device, (void)kind;
  free(memory);
}

static int32_t layout_size(ops_device *device, uint32_t layout, int32_t type, int32_t rank,
                           const int64_t *dims, uint64_t *out_bytes, ops_error *error) {
  (void)device, (void)type;
  if (layout != PACKED_LAYOUT)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "layout %u", layout);
  *out_bytes = sizeof(float);
  for (int32_t i = 0; i < rank; ++i) *out_bytes *= (uint64_t)dims[i];
  return OPS_OK;
}

static int32_t reorder(ops_device *device, ops_stream *stream, const ops_arg *source,
                       const ops_arg *target, ops_error *error) {
  (void)device, (void)stream;
  if ((source->tensor.layout == PACKED_LAYOUT) == (target->tensor.layout == PACKED_LAYOUT))
    return ops_error_set(error, OPS_ERROR_INTERNAL, "a reorder between equal layouts");
  const int64_t count = ops_tensor_count(&source->tensor);
  for (int64_t i = 0; i < count; ++i) floats(target)[i] = floats(source)[count - 1 - i];
  return OPS_OK;
}

static const ops_memory_api memory_api = {.struct_size = sizeof memory_api,
                                          .allocate = allocate,
                                          .free = free_memory,
                                          .layout_size = layout_size,
                                          .reorder = reorder};

// ---- Instance and table
// -----------------------------------------------------------------------

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  uint64_t max_group = MAX_GROUP;
  for (uint64_t i = 0; i < option_count; ++i) {
    if (!ops_str_equal(options[i].key, "max_group"))
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "unknown option '%.*s'",
                           OPS_STR_FMT(options[i].key));
    max_group = options[i].value.size ? (uint64_t)(options[i].value.data[0] - '0') : 0;
  }
  *out_instance = calloc(1, sizeof **out_instance);
  if (!*out_instance) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an instance");
  **out_instance = (ops_instance){api, host, max_group};
  return OPS_OK;
}

static int32_t instance_destroy(ops_instance *instance, ops_error *error) {
  (void)error;
  free(instance);
  return OPS_OK;
}

static int32_t device_count(ops_instance *instance, uint64_t *out_count, ops_error *error) {
  (void)instance, (void)error;
  *out_count = 1;
  return OPS_OK;
}

static int32_t device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  (void)index;
  *out_device = calloc(1, sizeof **out_device);
  if (!*out_device) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a device");
  (*out_device)->instance = instance;
  return OPS_OK;
}

static int32_t device_close(ops_device *device, ops_error *error) {
  (void)error;
  free(device);
  return OPS_OK;
}

static int32_t device_info(ops_device *device, ops_device_info *out_info, ops_error *error) {
  (void)device, (void)error;
  out_info->kind = OPS_DEVICE_CPU;
  out_info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST);
  out_info->name = (ops_str)OPS_STR("probe");
  out_info->architecture = (ops_str)OPS_STR("test");
  out_info->min_alignment = 16;
  return OPS_OK;
}

static const ops_instance_api instance_api = {.struct_size = sizeof instance_api,
                                              .create = instance_create,
                                              .destroy = instance_destroy,
                                              .device_count = device_count,
                                              .device_open = device_open,
                                              .device_close = device_close,
                                              .device_info = device_info};

#define ARG(arg_name, type_set, ...)                                                  \
  {                                                                                   \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(arg_name), .types = type_set, \
    __VA_ARGS__                                                                       \
  }
#define FLOATS OPS_TYPE_BIT(OPS_TYPE_FLOAT)
static const ops_arg_def x_float[] = {ARG("x", FLOATS, .flags = 0)};
static const ops_arg_def x_strict[] = {ARG("x", FLOATS, .alignment = 4096, .read_padding = 64)};
static const ops_arg_def x_strings[] = {ARG("x", OPS_TYPE_BIT(OPS_TYPE_STRING), .flags = 0)};
static const ops_arg_def x_value[] = {ARG("x", 0, .flags = 0)};
static const ops_alias_def must[] = {
    {.struct_size = sizeof(ops_alias_def), .flags = OPS_ALIAS_MUST}};

#define DEF(op_name, row, in, out, ...)                                                        \
  {                                                                                            \
    .struct_size = sizeof(ops_kernel_def), .domain = OPS_STR("probe"), .op = OPS_STR(op_name), \
    .since = 1, .name = OPS_STR("probe_" op_name), OPS_LIST(input, in), OPS_LIST(output, out), \
    .dynamic_shape = OPS_DYNAMIC_FULL, .api = &kernel_api, .context = &row, __VA_ARGS__        \
  }
#define REENTRANT .flags = OPS_KERNEL_REENTRANT

static const ops_kernel_def kernels[] = {
    DEF("Pick", op_pick, x_float, x_float, REENTRANT),
    DEF("PickBounded", op_pick_bounded, x_float, x_float, REENTRANT),
    DEF("Must", op_must, x_float, x_float, REENTRANT, .aliases = must, .alias_count = 1,
        .alias_stride = sizeof must[0]),
    DEF("Solo", op_solo, x_float, x_float, .flags = 0),
    DEF("Strict", op_strict, x_strict, x_float, REENTRANT),
    DEF("Packed", op_packed, x_float, x_float, REENTRANT),
    DEF("Upper", op_upper, x_strings, x_strings, REENTRANT),
    DEF("Rows", op_rows, x_float, x_value, REENTRANT),
    DEF("Count", op_count, x_value, x_float, REENTRANT),
    DEF("Fail", op_fail, x_float, x_float, REENTRANT),
    DEF("Wait", op_wait, x_float, x_float, REENTRANT),
};

// Outputs have the type and rank of x; Pick and PickBounded leave the length open.
static int32_t infer(const ops_node *node, ops_output_info *out_outputs, uint64_t output_count,
                     uint64_t output_stride, ops_error *error) {
  (void)output_stride, (void)error;
  const ops_type_info *x = ops_node_input(node, 0)->type;
  const int open = ops_str_equal(node->op, "Pick") || ops_str_equal(node->op, "PickBounded");
  if (output_count == 0 || x->rank < 0) return OPS_OK;
  out_outputs[0].type = x->type;
  out_outputs[0].rank = x->rank;
  for (int32_t i = 0; i < x->rank; ++i) out_outputs[0].dims[i] = open ? -1 : x->dims[i];
  return OPS_OK;
}

static const ops_param t_param[] = {{.struct_size = sizeof(ops_param),
                                     .name = OPS_STR("x"),
                                     .type_param = OPS_STR("T"),
                                     .types = FLOATS}};
static const float scale_default = 2;
static const ops_attribute scale_value = {.struct_size = sizeof scale_value,
                                          .name = OPS_STR("scale"),
                                          .kind = OPS_ATTRIBUTE_FLOAT,
                                          .count = 1,
                                          .floats = &scale_default};
static const ops_attribute_def scale_def[] = {{.struct_size = sizeof(ops_attribute_def),
                                               .name = OPS_STR("scale"),
                                               .kind = OPS_ATTRIBUTE_FLOAT,
                                               .default_value = &scale_value}};
#define SCHEMA(op_name, ...)                                                               \
  {                                                                                        \
    .struct_size = sizeof(ops_schema), .domain = OPS_STR("probe"), .op = OPS_STR(op_name), \
    .since = 1, .min_inputs = 1, OPS_LIST(input, t_param), OPS_LIST(output, t_param),      \
    __VA_ARGS__                                                                            \
  }
static const ops_schema schemas[] = {
    SCHEMA("Pick", .infer = infer),
    SCHEMA("PickBounded", .infer = infer),
    SCHEMA("Strict", .infer = infer),
    SCHEMA("Solo", .infer = NULL, OPS_LIST(attribute, scale_def)),
};

static const ops_provider provider = {.struct_size = sizeof provider,
                                      .name = OPS_STR("probe"),
                                      .vendor = OPS_STR("tests"),
                                      .version = OPS_STR("1.0.0"),
                                      OPS_LIST(kernel, kernels),
                                      OPS_LIST(schema, schemas),
                                      OPS_LIST(rewrite, probe_rules),
                                      .instance = &instance_api,
                                      .memory = &memory_api,
                                      .group = &group_api};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(
      &provider, OPS_FEATURE_GROUPS | OPS_FEATURE_PRIVATE_LAYOUTS | OPS_FEATURE_REWRITES, 0,
      OPS_SANITIZER_BUILD, request, reply, error);
}
