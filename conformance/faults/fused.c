// SPDX-License-Identifier: Apache-2.0
//
// Groups of elementwise nodes: Relu, Neg, Add, Sub, Mul of float tensors of one known shape. A
// group is a list of steps, computed element by element; values inside never touch memory. A
// saved group is a header, with a digest of the graph, and the steps.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "faulty.h"

enum { kSteps = 16, kOutputs = 16, kMagic = 0x64657366 };

typedef enum step_op { RELU, NEG, ADD, SUB, MUL, OP_COUNT } step_op;
static const char *const kOps[OP_COUNT] = {"Relu", "Neg", "Add", "Sub", "Mul"};

// Where an operand comes from: an earlier step, an input of the group, or a constant.
typedef struct source {
  int32_t step, input;  // -1: not so
  const float *data;    // of a constant
} source;

typedef struct step {
  int32_t op;
  source operands[2];
} step;

struct faulty_fused {
  step steps[kSteps];
  int32_t step_count, output_count;
  int32_t outputs[kOutputs];  // the step that gives each
  int32_t rank;
  int64_t dims[kFaultyRank];
};

typedef struct header {
  uint32_t magic, version;
  uint64_t digest, size;
} header;

static const ops_node *node_at(const ops_graph *graph, uint64_t i) {
  return OPS_AT(ops_node, graph->nodes, graph->node_stride, i);
}

static int op_of(const ops_node *node) {
  for (int i = 0; i < OP_COUNT; ++i) {
    if (node->domain.size == 0 && ops_str_equal(node->op, kOps[i])) return i;
  }
  return -1;
}

static int same_type(const ops_type_info *a, const ops_type_info *b) {
  if (a->kind != OPS_VALUE_TENSOR || a->type != OPS_TYPE_FLOAT || b->type != OPS_TYPE_FLOAT ||
      a->rank != b->rank || a->rank < 0 || a->rank > kFaultyRank)
    return 0;
  for (int32_t i = 0; i < a->rank; ++i) {
    if (a->dims[i] < 0 || a->dims[i] != b->dims[i]) return 0;
  }
  return 1;
}

int faulty_can_fuse(const ops_node *node) {
  const ops_operand *output = ops_node_output(node, 0);
  if (op_of(node) < 0 || !output || !output->type || node->input_count > 2) return 0;
  for (uint64_t i = 0; i < node->input_count; ++i) {
    const ops_operand *input = ops_node_input(node, i);
    if (!input || !same_type(input->type, output->type)) return 0;
  }
  return 1;
}

// ---- Reading a group ------------------------------------------------------------------------

static source source_of(const ops_graph *graph, const ops_operand *operand, uint64_t before) {
  source out = {-1, -1, NULL};
  if (operand->constant) {
    out.data = ops_tensor_data(&operand->constant->dense.tensor);
    return out;
  }
  for (uint64_t i = 0; i < before; ++i) {
    if (ops_node_output(node_at(graph, i), 0)->value == operand->value) out.step = (int32_t)i;
  }
  for (uint64_t i = 0; i < graph->input_count && out.step < 0; ++i) {
    const ops_operand *input = OPS_AT(ops_operand, graph->inputs, graph->input_stride, i);
    if (input->value == operand->value) out.input = (int32_t)i;
  }
  return out;
}

// Whether every operand and every output has a place.
static int read_steps(const ops_graph *graph, struct faulty_fused *fused) {
  fused->step_count = (int32_t)graph->node_count;
  fused->output_count = (int32_t)graph->output_count;
  for (uint64_t i = 0; i < graph->node_count; ++i) {
    const ops_node *node = node_at(graph, i);
    step *own = &fused->steps[i];
    if (!faulty_can_fuse(node)) return 0;
    own->op = op_of(node);
    for (uint64_t k = 0; k < node->input_count; ++k) {
      own->operands[k] = source_of(graph, ops_node_input(node, k), i);
      const source *from = &own->operands[k];
      if (from->step < 0 && from->input < 0 && !from->data) return 0;
    }
  }
  for (uint64_t o = 0; o < graph->output_count; ++o) {
    const ops_operand *output = OPS_AT(ops_operand, graph->outputs, graph->output_stride, o);
    fused->outputs[o] = -1;
    for (uint64_t i = 0; i < graph->node_count; ++i) {
      const ops_operand *made = ops_node_output(node_at(graph, i), 0);
      if (made->value == output->value) fused->outputs[o] = (int32_t)i;
    }
    if (fused->outputs[o] < 0) return 0;
  }
  return 1;
}

static int32_t make(ops_device *device, const ops_graph *graph, ops_kernel **out_kernel,
                    ops_error *error) {
  ops_kernel *kernel = calloc(1, sizeof *kernel);
  struct faulty_fused *fused = calloc(1, sizeof *fused);
  if (!kernel || !fused) {
    free(kernel);
    free(fused);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a group");
  }
  if (graph->node_count > kSteps || graph->output_count > kOutputs || graph->node_count == 0 ||
      !read_steps(graph, fused)) {
    free(kernel);
    free(fused);
    return ops_error_set(error, OPS_ERROR_DECLINED,
                         "a group of %llu nodes: expected at most %d elementwise ones",
                         (unsigned long long)graph->node_count, kSteps);
  }
  const ops_type_info *type = ops_node_output(node_at(graph, 0), 0)->type;
  fused->rank = type->rank;
  memcpy(fused->dims, type->dims, (size_t)type->rank * sizeof *type->dims);
  kernel->device = device;
  kernel->mode = device->mode;
  kernel->fused = fused;
  faulty_device_add(device, FAULTY_KERNELS, 1);
  *out_kernel = kernel;
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  if (!kernel) return;
  faulty_device_add(kernel->device, FAULTY_KERNELS, -1);
  free(kernel->fused);
  free(kernel);
}

// ---- Running --------------------------------------------------------------------------------

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  (void)request;
  const struct faulty_fused *fused = kernel->fused;
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  prepared->kernel = kernel;
  prepared->mode = kernel->mode;
  for (int32_t o = 0; o < fused->output_count; ++o) {
    ops_reply_set_output(reply, (uint64_t)o, OPS_TYPE_FLOAT, fused->rank, fused->dims);
  }
  prepared->out.count = 1;
  for (int32_t i = 0; i < fused->rank; ++i) prepared->out.count *= fused->dims[i];
  reply->prepared = prepared;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  free(prepared);
}

static float compute(int32_t op, float a, float b) {
  const float results[OP_COUNT] = {
      [RELU] = a < 0 ? 0 : a, [NEG] = -a, [ADD] = a + b, [SUB] = a - b, [MUL] = a * b};
  return results[op];
}

static float value_of(const source *from, float *const *inputs, const float *done, int64_t i) {
  if (from->data) return from->data[i];
  if (from->step >= 0) return done[from->step];
  return from->input >= 0 ? inputs[from->input][i] : 0;
}

// Fault group_writes_last_only: an output that a later step reads counts as used up.
static int is_read_inside(const struct faulty_fused *fused, int32_t step) {
  for (int32_t s = step + 1; s < fused->step_count; ++s) {
    for (int k = 0; k < 2; ++k) {
      const source *from = &fused->steps[s].operands[k];
      if ((fused->steps[s].op > NEG || k == 0) && !from->data && from->step == step) return 1;
    }
  }
  return 0;
}

static float *data_of(const ops_arg *arg) {
  return (float *)((char *)faulty_address(arg->memory_kind, arg->tensor.memory) +
                   arg->tensor.byte_offset);
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  const struct faulty_fused *fused = prepared->kernel->fused;
  float *inputs[kFaultyInputs] = {NULL}, *outputs[kOutputs];
  if (stream) OPS_RETURN_IF_ERROR(faulty_stream.synchronize(stream, error));
  for (uint64_t i = 0; i < request->input_count && i < kFaultyInputs; ++i) {
    inputs[i] = data_of(&request->inputs[i]);
  }
  for (int32_t o = 0; o < fused->output_count; ++o) {
    outputs[o] = data_of(&request->outputs[o]);
    if (is_read_inside(fused, fused->outputs[o]) && FAULTY(prepared, group_inner_output_lost))
      outputs[o] = NULL;
  }
  for (int64_t i = 0; i < prepared->out.count; ++i) {
    float done[kSteps];
    for (int32_t s = 0; s < fused->step_count; ++s) {
      const step *own = &fused->steps[s];
      done[s] = compute(own->op, value_of(&own->operands[0], inputs, done, i),
                        own->op > NEG ? value_of(&own->operands[1], inputs, done, i) : 0);
    }
    for (int32_t o = 0; o < fused->output_count; ++o) {
      if (outputs[o]) outputs[o][i] = done[fused->outputs[o]];
    }
  }
  return OPS_OK;
}

// ---- Saving and loading ---------------------------------------------------------------------

// Of operators and of where their operands come from; constants count by their contents.
static uint64_t digest_of(const struct faulty_fused *fused) {
  uint64_t digest = 0xcbf29ce484222325u;
  int64_t count = 1;
  for (int32_t i = 0; i < fused->rank; ++i) count *= fused->dims[i];
  for (int32_t s = 0; s < fused->step_count; ++s) {
    const step *own = &fused->steps[s];
    digest = (digest ^ (uint64_t)own->op) * 0x100000001b3u;
    for (int k = 0; k <= (own->op > NEG); ++k) {
      const source *from = &own->operands[k];
      digest = (digest ^ (uint64_t)(from->step * 64 + from->input)) * 0x100000001b3u;
      const unsigned char *bytes = (const unsigned char *)from->data;
      for (int64_t i = 0; bytes && i < count * (int64_t)sizeof(float); ++i)
        digest = (digest ^ bytes[i]) * 0x100000001b3u;
    }
  }
  return (digest ^ (uint64_t)count) * 0x100000001b3u;
}

static int32_t save(ops_kernel *kernel, ops_blob_writer write, void *context,
                    ops_error *error) {
  const struct faulty_fused *fused = kernel->fused;
  const uint64_t size = (uint64_t)fused->step_count * sizeof *fused->steps;
  const header head = {kMagic, 1, digest_of(fused), size};
  int32_t status = write(context, &head, sizeof head);
  if (status == OPS_OK) status = write(context, fused->steps, size);
  return status == OPS_OK ? OPS_OK : ops_error_set(error, status, "the blob is not written");
}

static const ops_kernel_api kFused = {.struct_size = sizeof(ops_kernel_api),
                                      .create = faulty_no_single_node,
                                      .destroy = destroy,
                                      .prepare = prepare,
                                      .prepared_destroy = prepared_destroy,
                                      .execute = execute,
                                      .save = save};

// The steps of the blob; constants are those of the graph.
static void restore(const ops_kernel *kernel, const step *saved) {
  struct faulty_fused *fused = kernel->fused;
  for (int32_t s = 0; s < fused->step_count; ++s) {
    step own = saved[s];
    if (own.op == SUB && FAULTY(kernel, blob_swaps_operands)) {
      const source first = own.operands[0];
      own.operands[0] = own.operands[1];
      own.operands[1] = first;
      fused->steps[s] = own;
      continue;
    }
    for (int k = 0; k < 2; ++k) own.operands[k].data = fused->steps[s].operands[k].data;
    fused->steps[s] = own;
  }
}

static int32_t check_blob(const ops_kernel *kernel, const void *blob, uint64_t size,
                          ops_error *error) {
  const struct faulty_fused *fused = kernel->fused;
  const uint64_t steps = (uint64_t)fused->step_count * sizeof *fused->steps;
  header head = {0};
  if (size >= sizeof head) memcpy(&head, blob, sizeof head);
  if (head.magic != kMagic || head.version != 1) {
    return ops_error_set(error, OPS_ERROR_INCOMPATIBLE, "%llu bytes: no saved group",
                         (unsigned long long)size);
  }
  if (head.digest != digest_of(fused) && !FAULTY(kernel, blob_of_another_group)) {
    return ops_error_set(error, OPS_ERROR_INCOMPATIBLE, "the blob is of another group");
  }
  if ((size != sizeof head + head.size || head.size != steps) &&
      !FAULTY(kernel, blob_cut_is_loaded)) {
    return ops_error_set(error, OPS_ERROR_RECOMPILE, "the blob has %llu bytes, expected %llu",
                         (unsigned long long)size, (unsigned long long)(sizeof head + steps));
  }
  return OPS_OK;
}

int32_t faulty_fused_load(ops_device *device, const ops_graph *group, const void *blob,
                          uint64_t size, ops_kernel **out_kernel,
                          const ops_kernel_api **out_api, ops_error *error) {
  step saved[kSteps];
  ops_kernel *kernel;
  OPS_RETURN_IF_ERROR(make(device, group, &kernel, error));
  const int32_t status = check_blob(kernel, blob, size, error);
  if (status != OPS_OK) {
    destroy(kernel);
    return status;
  }
  memset(saved, 0, sizeof saved);
  const uint64_t rest = size - sizeof(header);
  memcpy(saved, (const char *)blob + sizeof(header), rest < sizeof saved ? rest : sizeof saved);
  restore(kernel, saved);
  *out_kernel = kernel;
  *out_api = &kFused;
  return OPS_OK;
}

int32_t faulty_fused_compile(ops_device *device, const ops_graph *group,
                             ops_kernel **out_kernel, const ops_kernel_api **out_api,
                             ops_error *error) {
  OPS_RETURN_IF_ERROR(make(device, group, out_kernel, error));
  *out_api = &kFused;
  return OPS_OK;
}

int32_t faulty_no_single_node(ops_device *device, const ops_kernel_def *def,
                              const ops_node *node, ops_kernel **out_kernel, ops_error *error) {
  (void)device, (void)def, (void)node, (void)out_kernel;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "a compiled group makes no single nodes");
}
