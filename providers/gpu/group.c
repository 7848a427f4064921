// SPDX-License-Identifier: Apache-2.0
//
// Groups of elementwise nodes become one kernel: values inside a group never touch memory. A
// node joins the group of a node that it reads if both have the same shape.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"

// ---- Claims ----

typedef struct draft {
  const ops_graph *graph;
  int32_t *groups;  // of each node; OPS_GROUP_NONE: not elementwise
  int32_t *sizes;   // terms of each group
  int32_t *inputs;  // an upper bound of each group's inputs
  int32_t group_count;
} draft;

static const ops_node *node_at(const ops_graph *graph, uint64_t i) {
  return OPS_AT(ops_node, graph->nodes, graph->node_stride, i);
}

static int32_t version_fits(const ops_kernel_def *def, const ops_node *node) {
  return def->since <= node->opset && (def->until == 0 || node->opset <= def->until);
}

static int32_t types_fit(const ops_kernel_def *def, const ops_node *node) {
  const uint64_t count = node->input_count;
  for (uint64_t i = 0; i < count; ++i) {
    const ops_operand *input = ops_node_input(node, i);
    const uint64_t at = i < def->input_count ? i : def->input_count - 1;
    if (!input) continue;
    if (input->type->kind != OPS_VALUE_TENSOR || input->type->layout != OPS_LAYOUT_STRIDED ||
        input->type->type < 0 || input->type->type >= OPS_TYPE_COUNT ||
        !(def->inputs[at].types & OPS_TYPE_BIT(input->type->type)))
      return 0;
  }
  return count >= 1;
}

// The elementwise row that runs a node, if the provider has one and claims the node.
static const gpu_elementwise *find_row(ops_device *device, const ops_node *node) {
  const ops_instance *instance = device->instance;
  for (uint64_t i = 0; i < instance->kernel_count; ++i) {
    const ops_kernel_def *def = &instance->kernels[i];
    const gpu_op *op = def->context;
    ops_claim claim = {.struct_size = sizeof claim};
    if (op->plan != gpu_elementwise_plan || node->domain.size || node->post_op_count ||
        def->op.size != node->op.size ||
        memcmp(def->op.data, node->op.data, def->op.size) != 0 || !version_fits(def, node) ||
        !types_fit(def, node))
      continue;
    if (def->api->claim(device, def, node, &claim, NULL) == OPS_OK && gpu_is_claimed(&claim))
      return (const gpu_elementwise *)op;
  }
  return NULL;
}

static int32_t same_dim(const ops_type_info *a, const ops_type_info *b, int32_t d) {
  if (a->dims[d] >= 0 || b->dims[d] >= 0) return a->dims[d] == b->dims[d];
  if (!a->symbols || !b->symbols || a->symbols[d].size == 0) return 0;
  return a->symbols[d].size == b->symbols[d].size &&
         memcmp(a->symbols[d].data, b->symbols[d].data, a->symbols[d].size) == 0;
}

static int32_t same_shape(const ops_type_info *a, const ops_type_info *b) {
  if (a->rank < 0 || a->rank != b->rank) return 0;
  for (int32_t d = 0; d < a->rank; ++d)
    if (!same_dim(a, b, d)) return 0;
  return 1;
}

// The number of the node that makes a value; -1 if none before `end` does.
static int64_t producer(const ops_graph *graph, int64_t value, uint64_t end) {
  for (uint64_t i = end; i-- > 0;) {
    const ops_operand *output = ops_node_output(node_at(graph, i), 0);
    if (output && output->value == value) return (int64_t)i;
  }
  return -1;
}

static int32_t joins(const draft *d, int32_t group, const ops_node *node) {
  return d->sizes[group] < kGpuMaxTerms &&
         d->inputs[group] + (int32_t)node->input_count - 1 <= kGpuMaxOperands;
}

static void place(draft *d, uint64_t index, const ops_node *node) {
  const ops_type_info *own = ops_node_output(node, 0)->type;
  for (uint64_t i = 0; i < node->input_count; ++i) {
    const ops_operand *input = ops_node_input(node, i);
    const int64_t from = input ? producer(d->graph, input->value, index) : -1;
    if (from < 0 || d->groups[from] == OPS_GROUP_NONE) continue;
    const int32_t group = d->groups[from];
    if (!same_shape(own, input->type) || !joins(d, group, node)) continue;
    d->groups[index] = group;
    d->sizes[group] += 1;
    d->inputs[group] += (int32_t)node->input_count - 1;
    return;
  }
  d->groups[index] = d->group_count;
  d->sizes[d->group_count] = 1;
  d->inputs[d->group_count++] = (int32_t)node->input_count;
}

static void write_claims(const draft *d, ops_group_claim *claims, uint64_t count,
                         uint64_t stride) {
  for (uint64_t i = 0; i < count; ++i) {
    ops_group_claim *claim = (ops_group_claim *)((char *)claims + i * stride);
    const int32_t group = d->groups[i];
    claim->group = group != OPS_GROUP_NONE && d->sizes[group] > 1 ? group : OPS_GROUP_NONE;
    claim->preference = 0;
  }
}

static int32_t group_claim(ops_device *device, const ops_graph *graph, ops_group_claim *claims,
                           uint64_t claim_count, uint64_t claim_stride, ops_error *error) {
  const uint64_t count = graph->node_count < claim_count ? graph->node_count : claim_count;
  int32_t *memory = calloc(3 * (size_t)count + 1, sizeof *memory);
  if (!memory)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to claim groups");
  draft d = {graph, memory, memory + count, memory + 2 * count, 0};
  for (uint64_t i = 0; i < count; ++i) {
    const ops_node *node = node_at(graph, i);
    d.groups[i] = OPS_GROUP_NONE;
    if (device->instance->fuses && node->output_count == 1 && ops_node_output(node, 0) &&
        find_row(device, node))
      place(&d, i, node);
  }
  write_claims(&d, claims, count, claim_stride);
  free(memory);
  return OPS_OK;
}

// ---- Compiling ----

static int64_t value_of(const ops_operand *operands, uint64_t stride, uint64_t i) {
  return OPS_AT(ops_operand, operands, stride, i)->value;
}

// The operand as gpu_term counts: an earlier term, or ~input; INT32_MIN if it is neither.
static int32_t find_operand(const ops_graph *group, int64_t value, uint64_t before) {
  const int64_t from = producer(group, value, before);
  if (from >= 0) return (int32_t)from;
  for (uint64_t i = 0; i < group->input_count; ++i)
    if (value_of(group->inputs, group->input_stride, i) == value) return ~(int32_t)i;
  return INT32_MIN;
}

static int32_t add_term(ops_device *device, const ops_graph *group, uint64_t index,
                        gpu_expression *e, ops_error *error) {
  const ops_node *node = node_at(group, index);
  const gpu_elementwise *row = find_row(device, node);
  gpu_term *term = &e->terms[index];
  if (!row)
    return ops_error_set(error, OPS_ERROR_DECLINED, "node %.*s is not elementwise",
                         OPS_STR_FMT(node->name));
  OPS_RETURN_IF_ERROR(gpu_term_read(row, node, term, error));
  for (uint64_t i = 0; i < node->input_count; ++i) {
    const ops_operand *input = ops_node_input(node, i);
    if (!input) continue;
    const int32_t operand = find_operand(group, input->value, index);
    if (operand == INT32_MIN)
      return ops_error_set(error, OPS_ERROR_DECLINED, "input %llu of %.*s comes from nowhere",
                           (unsigned long long)i, OPS_STR_FMT(node->name));
    term->operands[term->operand_count++] = operand;
  }
  return OPS_OK;
}

static int32_t read_group(ops_device *device, const ops_graph *group, gpu_expression *e,
                          ops_error *error) {
  if (group->node_count > kGpuMaxTerms || group->input_count > kGpuMaxOperands)
    return ops_error_set(error, OPS_ERROR_DECLINED,
                         "%llu nodes and %llu inputs, at most %d, %d",
                         (unsigned long long)group->node_count,
                         (unsigned long long)group->input_count, kGpuMaxTerms, kGpuMaxOperands);
  e->term_count = (int32_t)group->node_count;
  e->input_count = (int32_t)group->input_count;
  e->output_count = (int32_t)group->output_count;
  for (uint64_t i = 0; i < group->node_count; ++i)
    OPS_RETURN_IF_ERROR(add_term(device, group, i, e, error));
  for (uint64_t o = 0; o < group->output_count; ++o) {
    const int64_t value = value_of(group->outputs, group->output_stride, o);
    e->outputs[o] = (int32_t)producer(group, value, group->node_count);
    if (e->outputs[o] < 0)
      return ops_error_set(error, OPS_ERROR_DECLINED, "output %llu is made by no node",
                           (unsigned long long)o);
  }
  return OPS_OK;
}

static void release_group(void *attributes) {
  free(((gpu_expression *)attributes)->name);
}

static const gpu_op kGroup = {.release = release_group, .plan = gpu_elementwise_plan};

// "opencl/fused Mul+Add+Relu", for profiles.
static char *group_name(const ops_device *device, const gpu_expression *e) {
  gpu_text text = {0};
  gpu_text_add(&text, "%s/fused ", device->driver->name);
  for (int32_t t = 0; t < e->term_count; ++t)
    gpu_text_add(&text, "%s%s", t ? "+" : "", e->terms[t].row->name);
  return text.data;
}

static int32_t group_compile(ops_device *device, const ops_graph *group,
                             ops_kernel **out_kernel, const ops_kernel_api **out_api,
                             ops_error *error) {
  const ops_str unnamed = OPS_STR("fused");
  ops_kernel *kernel;
  OPS_RETURN_IF_ERROR(
      gpu_kernel_make(device, &kGroup, unnamed, sizeof(gpu_expression), &kernel, error));
  gpu_expression *e = kernel->attributes;
  const int32_t status = read_group(device, group, e, error);
  if (status != OPS_OK) {
    gpu_kernel_api.destroy(kernel);
    return status;
  }
  e->name = group_name(device, e);
  if (e->name) kernel->name = (ops_str){e->name, strlen(e->name)};
  kernel->input_count = group->input_count;
  kernel->output_count = group->output_count;
  kernel->wanted_outputs = UINT64_MAX;
  *out_kernel = kernel;
  *out_api = &gpu_kernel_api;
  return OPS_OK;
}

const ops_group_api gpu_group_api = {
    .struct_size = sizeof(ops_group_api), .claim = group_claim, .compile = group_compile};
