// SPDX-License-Identifier: Apache-2.0
//
// See node.h.
#include "node.h"

#include <ops_support/error.h>
#include <ops_support/half.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxAttributes = 5 };

struct bench_node {
  bench_rig *rig;
  const ops_kernel_def *def;
  ops_kernel *kernel;
  ops_prepared *prepared;
  ops_output_info output;
  uint64_t input_count, bytes, workspace_size;
  void *memory[kBenchInputs + 1], *workspace;
  ops_type_info types[kBenchInputs + 1];
  ops_operand inputs[kBenchInputs], result;
  int64_t numbers[kMaxAttributes][4];
  ops_attribute attributes[kMaxAttributes];
  ops_node node;
};

int32_t bench_rig_open(bench_rig *rig, const char *path, ops_error *error) {
  const ops_host_options options = {.workers = 1};
  OPS_RETURN_IF_ERROR(ops_library_open(path, NULL, &rig->library, error));
  rig->provider = ops_library_provider(rig->library);
  if (!rig->provider->stream || !rig->provider->memory)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "%s has no streams or memory of its own",
                         path);
  OPS_RETURN_IF_ERROR(ops_host_create(&options, &rig->host, error));
  const ops_instance_api *api = rig->provider->instance;
  OPS_RETURN_IF_ERROR(
      api->create(ops_host_api_table(), rig->host, NULL, 0, &rig->instance, error));
  OPS_RETURN_IF_ERROR(api->device_open(rig->instance, 0, &rig->device, error));
  return rig->provider->stream->create(rig->device, &rig->stream, error);
}

void bench_rig_close(bench_rig *rig) {
  if (rig->stream) rig->provider->stream->destroy(rig->stream);
  if (rig->device) rig->provider->instance->device_close(rig->device, NULL);
  if (rig->instance) rig->provider->instance->destroy(rig->instance, NULL);
  if (rig->host) ops_host_destroy(rig->host);
  if (rig->library) ops_library_release(rig->library);
}

uint64_t bench_type_bytes(int32_t type) {
  return type == OPS_TYPE_DOUBLE ? 8 : type == OPS_TYPE_FLOAT ? 4 : 2;
}

int32_t bench_rank(const int64_t dims[kBenchRank]) {
  int32_t rank = 0;
  while (rank < kBenchRank && dims[rank] > 0) ++rank;
  return rank;
}

int64_t bench_elements(const int64_t dims[kBenchRank]) {
  int64_t count = 1;
  for (int32_t i = 0; i < bench_rank(dims); ++i) count *= dims[i];
  return count;
}

static void put(int32_t type, void *base, int64_t at, float value) {
  if (type == OPS_TYPE_DOUBLE) ((double *)base)[at] = (double)value;
  if (type == OPS_TYPE_FLOAT) ((float *)base)[at] = value;
  if (type == OPS_TYPE_FLOAT16) ((uint16_t *)base)[at] = ops_half_from_float(value);
  if (type == OPS_TYPE_BFLOAT16) ((uint16_t *)base)[at] = ops_bfloat16_from_float(value);
}

void *bench_random(int32_t type, int64_t count) {
  uint64_t seed = 1;
  void *data = malloc((size_t)count * bench_type_bytes(type));
  for (int64_t i = 0; data && i < count; ++i) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    put(type, data, i, (float)(seed >> 40) * 0x1p-23f - 1);
  }
  return data;
}

// ---- The node ----

static void add_ints(bench_node *n, const char *name, int64_t value, uint64_t count) {
  const uint64_t at = n->node.attribute_count++;
  for (uint64_t i = 0; i < count; ++i) n->numbers[at][i] = value;
  n->attributes[at] = (ops_attribute){.struct_size = sizeof(ops_attribute),
                                      .name = {name, strlen(name)},
                                      .kind = OPS_ATTRIBUTE_INTS,
                                      .count = count,
                                      .ints = n->numbers[at]};
}

static void fill_attributes(bench_node *n, const bench_case *row) {
  n->node.attributes = n->attributes;
  n->node.attribute_stride = sizeof n->attributes[0];
  if (row->yardstick != kConv) return;
  add_ints(n, "kernel_shape", row->kernel, 2);
  add_ints(n, "pads", row->pad, 4);
  add_ints(n, "strides", row->stride, 2);
}

static void fill_type(ops_type_info *type, int32_t element, int32_t rank, const int64_t *dims) {
  *type = (ops_type_info){.struct_size = sizeof *type,
                          .kind = OPS_VALUE_TENSOR,
                          .type = element,
                          .rank = rank,
                          .dims = dims};
}

static void fill_node(bench_node *n, const bench_case *row) {
  ops_type_info *result = &n->types[kBenchInputs];
  while (n->input_count < kBenchInputs && row->inputs[n->input_count][0] > 0) {
    const uint64_t i = n->input_count++;
    fill_type(&n->types[i], row->type, bench_rank(row->inputs[i]), row->inputs[i]);
    n->inputs[i] = (ops_operand){
        .struct_size = sizeof(ops_operand), .value = (int64_t)i, .type = &n->types[i]};
  }
  fill_type(result, row->type, -1, NULL);
  n->result = (ops_operand){.struct_size = sizeof(ops_operand), .value = 9, .type = result};
  n->node = (ops_node){.struct_size = sizeof(ops_node),
                       .op = {row->op, strlen(row->op)},
                       .opset = row->opset,
                       .inputs = n->inputs,
                       .input_count = n->input_count,
                       .input_stride = sizeof n->inputs[0],
                       .outputs = &n->result,
                       .output_count = 1,
                       .output_stride = sizeof n->result};
  fill_attributes(n, row);
}

static int32_t prepare(bench_node *n, ops_error *error) {
  ops_claim claim = {.struct_size = sizeof claim};
  bench_rig *rig = n->rig;
  OPS_RETURN_IF_ERROR(
      ops_library_claim(rig->library, rig->device, &n->node, &n->def, &claim, error));
  if (!n->def)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "not claimed: %s", claim.text);
  OPS_RETURN_IF_ERROR(n->def->api->create(rig->device, n->def, &n->node, &n->kernel, error));
  const ops_prepare_request request = {.struct_size = sizeof request,
                                       .inputs = n->inputs,
                                       .input_count = n->input_count,
                                       .input_stride = sizeof n->inputs[0]};
  n->output.struct_size = sizeof n->output;
  ops_prepare_reply reply = {.struct_size = sizeof reply,
                             .outputs = &n->output,
                             .output_count = 1,
                             .output_stride = sizeof n->output};
  OPS_RETURN_IF_ERROR(n->def->api->prepare(n->kernel, &request, &reply, error));
  n->prepared = reply.prepared;
  n->workspace_size = reply.workspace_size;
  return OPS_OK;
}

// ---- Arguments ----

static int32_t allocate(bench_node *n, uint64_t size, void **out, ops_error *error) {
  if (size == 0) return OPS_OK;
  return n->rig->provider->memory->allocate(n->rig->device, OPS_MEMORY_DEVICE, size, 0,
                                            OPS_USAGE_ACTIVATION, out, error);
}

static int32_t upload(bench_node *n, uint64_t index, const bench_case *row, ops_error *error) {
  const int64_t count = bench_elements(row->inputs[index]);
  const uint64_t size = (uint64_t)count * bench_type_bytes(row->type);
  OPS_RETURN_IF_ERROR(allocate(n, size, &n->memory[index], error));
  void *data = bench_random(row->type, count);
  if (!data) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for inputs");
  const ops_copy copy = {.struct_size = sizeof copy,
                         .source = data,
                         .source_kind = OPS_MEMORY_HOST,
                         .target = n->memory[index],
                         .target_kind = OPS_MEMORY_DEVICE,
                         .size = size};
  const int32_t status = n->rig->provider->stream->copy(n->rig->device, NULL, &copy, error);
  free(data);
  n->bytes += size;
  return status;
}

static int32_t make_arguments(bench_node *n, const bench_case *row, ops_error *error) {
  for (uint64_t i = 0; i < n->input_count; ++i) OPS_RETURN_IF_ERROR(upload(n, i, row, error));
  uint64_t size = bench_type_bytes(row->type);
  for (int32_t i = 0; i < n->output.rank; ++i) size *= (uint64_t)n->output.dims[i];
  n->bytes += size;
  OPS_RETURN_IF_ERROR(allocate(n, size, &n->memory[kBenchInputs], error));
  return allocate(n, n->workspace_size, &n->workspace, error);
}

int32_t bench_node_create(bench_rig *rig, const bench_case *row, bench_node **out_node,
                          ops_error *error) {
  bench_node *n = calloc(1, sizeof *n);
  if (!n) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a node");
  n->rig = rig;
  fill_node(n, row);
  int32_t status = prepare(n, error);
  if (status == OPS_OK) status = make_arguments(n, row, error);
  if (status == OPS_OK)
    *out_node = n;
  else
    bench_node_destroy(n);
  return status;
}

void bench_node_destroy(bench_node *n) {
  if (!n) return;
  const ops_memory_api *memory = n->rig->provider->memory;
  n->rig->provider->stream->synchronize(n->rig->stream, NULL);
  if (n->prepared) n->def->api->prepared_destroy(n->prepared);
  if (n->kernel) n->def->api->destroy(n->kernel);
  for (int i = 0; i <= kBenchInputs; ++i)
    memory->free(n->rig->device, OPS_MEMORY_DEVICE, n->memory[i]);
  memory->free(n->rig->device, OPS_MEMORY_DEVICE, n->workspace);
  free(n);
}

static ops_arg argument(void *memory, const ops_type_info *type, int32_t rank,
                        const int64_t *dims) {
  ops_arg arg = {.kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_DEVICE};
  arg.tensor = (ops_tensor){.memory = memory, .type = type->type, .rank = rank, .dims = dims};
  return arg;
}

int32_t bench_node_run(bench_node *n, ops_error *error) {
  ops_arg inputs[kBenchInputs], output;
  for (uint64_t i = 0; i < n->input_count; ++i)
    inputs[i] = argument(n->memory[i], &n->types[i], n->types[i].rank, n->types[i].dims);
  output = argument(n->memory[kBenchInputs], &n->types[0], n->output.rank, n->output.dims);
  const ops_execute_request request = {.struct_size = sizeof request,
                                       .inputs = inputs,
                                       .input_count = n->input_count,
                                       .outputs = &output,
                                       .output_count = 1,
                                       .workspace = n->workspace,
                                       .workspace_size = n->workspace_size};
  return n->def->api->execute(n->prepared, &request, n->rig->stream, error);
}

int32_t bench_node_finish(bench_node *n, ops_error *error) {
  return n->rig->provider->stream->synchronize(n->rig->stream, error);
}

uint64_t bench_node_bytes(const bench_node *n) {
  return n->bytes;
}

const int64_t *bench_node_output(const bench_node *n) {
  return n->output.dims;
}
