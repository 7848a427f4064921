// SPDX-License-Identifier: Apache-2.0
//
// Building, cutting and running graphs of several nodes.
#include "checks/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/random.h"
#include "checks/check.h"
#include "checks/provider_case.h"
#include "ops_support/error.h"
#include "runner/block.h"

#define OPSET 17
#define ROWS 5
#define COLUMNS 7
#define LARGEST 3           // of the inputs, by magnitude
#define STREAM 0x6e65740au  // of random numbers
#define FOREIGN_DOMAIN "org.example.elsewhere"

static ops_str str_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

static bool is_op(const oc_net *net, int node, const char *op) {
  return strcmp(net->spec->rows[node].op, op) == 0;
}

bool oc_net_is_foreign(const oc_net *net, int node) {
  return is_op(net, node, OC_NET_FOREIGN);
}

uint32_t oc_net_all(const oc_net *net) {
  return ((uint32_t)1 << net->node_count) - 1;
}

// ---- Values ---------------------------------------------------------------------------------

static int64_t result_of(const oc_net *net, int node) {
  return net->spec->inputs + net->spec->constants + node;
}

static int32_t add_values(oc_net *net, ops_error *error) {
  static const int64_t dims[] = {ROWS, COLUMNS};
  const int count = net->spec->inputs + net->spec->constants;
  for (int i = 0; i < count; ++i) {
    int64_t value;
    OPS_RETURN_IF_ERROR(oc_scratch_add(&net->scratch, OPS_TYPE_FLOAT, 2, dims,
                                       i >= net->spec->inputs, &value, error));
    oc_array *array = &net->scratch.values[value];
    for (int64_t k = 0; k < array->count; ++k) {
      oc_random random = oc_random_at((uint64_t)i, STREAM, (uint64_t)k);
      ((float *)array->data)[k] =
          (float)((int)(oc_random_bits(&random) % (2 * LARGEST + 1)) - LARGEST);
    }
  }
  return OPS_OK;
}

// A value with its name, as nodes of the graph see it.
static ops_operand operand_of(oc_net *net, int64_t value) {
  ops_operand operand = oc_scratch_operand(&net->scratch, value);
  if (value >= 0) operand.name = str_of(net->names[value]);
  return operand;
}

// ---- Nodes ----------------------------------------------------------------------------------

static ops_node node_of(const char *op, const char *domain, ops_operand *inputs,
                        uint64_t input_count, ops_operand *output) {
  return (ops_node){.struct_size = sizeof(ops_node),
                    .name = str_of(op),
                    .domain = str_of(domain),
                    .op = str_of(op),
                    .opset = OPSET,
                    .inputs = inputs,
                    .input_count = input_count,
                    .input_stride = sizeof *inputs,
                    .outputs = output,
                    .output_count = 1,
                    .output_stride = sizeof *output};
}

// Runs the operator that gives the result of a row, and describes the row's node.
static int32_t add_node(oc_net *net, int node, ops_error *error) {
  const oc_net_row *row = &net->spec->rows[node];
  const bool foreign = oc_net_is_foreign(net, node), branches = is_op(net, node, OC_NET_IF);
  uint64_t count = 0;
  int64_t value;
  for (; count < OC_NET_MAX_INPUTS && row->inputs[count] >= 0; ++count) {
    net->inputs[node][count] = operand_of(net, row->inputs[count]);
  }
  const char *op = foreign ? "Neg" : branches ? "Relu" : row->op;
  net->nodes[node] = node_of(op, "", net->inputs[node], count, &net->outputs[node]);
  OPS_RETURN_IF_ERROR(oc_scratch_run(&net->scratch, &net->nodes[node], &value, error));
  net->outputs[node] = operand_of(net, value);
  if (!foreign && !branches) return OPS_OK;
  net->nodes[node] = node_of(row->op, foreign ? FOREIGN_DOMAIN : "", net->inputs[node], count,
                             &net->outputs[node]);
  return OPS_OK;
}

// One branch of the If: an operator on the captured value.
static void add_branch(oc_net *net, int node, int k) {
  static const char *const ops[] = {"Relu", "Neg"};
  static const char *const names[] = {"then_branch", "else_branch"};
  net->branch_inputs[k] = net->inputs[node][0];
  net->branch_outputs[k] = net->outputs[node];
  net->branch_outputs[k].value = OC_SCRATCH_MAX_VALUES + k;
  net->branch_outputs[k].name = str_of(ops[k]);
  net->branch_nodes[k] =
      node_of(ops[k], "", &net->branch_inputs[k], 1, &net->branch_outputs[k]);
  net->branches[k] = (ops_graph){.struct_size = sizeof(ops_graph),
                                 .name = str_of(names[k]),
                                 .nodes = &net->branch_nodes[k],
                                 .node_count = 1,
                                 .node_stride = sizeof(ops_node),
                                 .inputs = &net->branch_inputs[k],
                                 .input_count = 1,
                                 .input_stride = sizeof(ops_operand),
                                 .capture_count = 1,
                                 .outputs = &net->branch_outputs[k],
                                 .output_count = 1,
                                 .output_stride = sizeof(ops_operand)};
  net->branch_of[k] = &net->branches[k];
  net->attributes[k] = (ops_attribute){.struct_size = sizeof(ops_attribute),
                                       .name = str_of(names[k]),
                                       .kind = OPS_ATTRIBUTE_GRAPH,
                                       .count = 1,
                                       .graphs = &net->branch_of[k]};
}

// Gives the If its condition as only input, and its branches, which capture what was one.
static int32_t add_branches(oc_net *net, int node, ops_error *error) {
  OPS_RETURN_IF_ERROR(
      oc_scratch_add(&net->scratch, OPS_TYPE_BOOL, 0, NULL, false, &net->condition, error));
  *(unsigned char *)net->scratch.values[net->condition].data = 1;
  snprintf(net->names[net->condition], sizeof *net->names, "cond");
  for (int k = 0; k < 2; ++k) add_branch(net, node, k);
  net->inputs[node][0] = operand_of(net, net->condition);
  net->nodes[node].attributes = net->attributes;
  net->nodes[node].attribute_count = 2;
  net->nodes[node].attribute_stride = sizeof *net->attributes;
  return OPS_OK;
}

int32_t oc_net_init(oc_net *net, const oc_net_spec *spec, oc_trial *trial, oc_target *target,
                    ops_error *error) {
  memset(net, 0, sizeof *net);
  net->spec = spec;
  net->trial = trial;
  net->target = target;
  net->condition = -1;
  oc_scratch_init(&net->scratch, &trial->bench->oracle);
  for (int i = 0; i < OC_NET_MAX_VALUES; ++i) {
    snprintf(net->names[i], sizeof *net->names, "v%d", i);
  }
  OPS_RETURN_IF_ERROR(add_values(net, error));
  for (; spec->rows[net->node_count].op; ++net->node_count) {
    OPS_RETURN_IF_ERROR(add_node(net, net->node_count, error));
  }
  for (int i = 0; i < net->node_count; ++i) {
    if (is_op(net, i, OC_NET_IF)) OPS_RETURN_IF_ERROR(add_branches(net, i, error));
  }
  return OPS_OK;
}

void oc_net_finish(oc_net *net) {
  oc_scratch_finish(&net->scratch);
}

// ---- Parts ----------------------------------------------------------------------------------

// Bit i: node i gives one of the values that `node` reads or its branches capture.
static uint32_t sources_of(const oc_net *net, int node) {
  uint32_t mask = 0;
  for (int k = 0; k < OC_NET_MAX_INPUTS; ++k) {
    const int64_t from = net->spec->rows[node].inputs[k] - result_of(net, 0);
    if (net->spec->rows[node].inputs[k] >= 0 && from >= 0) mask |= (uint32_t)1 << from;
  }
  return mask;
}

static bool is_used_outside(const oc_net *net, uint32_t members, int node) {
  bool read = false;
  for (int i = 0; i < net->node_count; ++i) {
    if (!(sources_of(net, i) >> node & 1)) continue;
    if (!(members >> i & 1)) return true;
    read = true;
  }
  return !read || (net->spec->outputs >> node & 1);
}

static void add_input(oc_net *net, oc_net_part *part, int64_t value) {
  const int64_t from = value - result_of(net, 0);
  const bool inside = value != net->condition && from >= 0 && (part->members >> from & 1);
  if (value < 0 || net->scratch.constant[value] || inside) return;
  for (uint64_t i = 0; i < part->graph.input_count; ++i) {
    if (part->inputs[i].value == value) return;
  }
  part->inputs[part->graph.input_count++] = operand_of(net, value);
}

void oc_net_cut(oc_net *net, uint32_t members, oc_net_part *part) {
  *part = (oc_net_part){.members = members};
  part->graph = (ops_graph){.struct_size = sizeof(ops_graph),
                            .name = str_of(net->spec->name),
                            .nodes = part->nodes,
                            .node_stride = sizeof(ops_node),
                            .inputs = part->inputs,
                            .input_stride = sizeof(ops_operand),
                            .outputs = part->outputs,
                            .output_stride = sizeof(ops_operand)};
  for (int i = 0; i < net->node_count; ++i) {
    if (!(members >> i & 1)) continue;
    const ops_node *node = &net->nodes[i];
    part->nodes[part->graph.node_count++] = *node;
    for (uint64_t k = 0; k < node->input_count; ++k)
      add_input(net, part, node->inputs[k].value);
    if (!is_used_outside(net, members, i)) continue;
    part->outputs[part->graph.output_count++] = net->outputs[i];
  }
  const uint64_t plain = part->graph.input_count;
  for (int i = 0; i < net->node_count; ++i) {
    if (!(members >> i & 1) || !is_op(net, i, OC_NET_IF)) continue;
    add_input(net, part, net->spec->rows[i].inputs[0]);
  }
  part->graph.capture_count = part->graph.input_count - plain;
}

bool oc_net_closes_cycle(const oc_net *net, uint32_t members, uint32_t *out_first) {
  uint32_t below = 0;    // depends on a member by way of a node that is none
  uint32_t reached = 0;  // depends on a member
  for (int i = 0; i < net->node_count; ++i) {
    const uint32_t sources = sources_of(net, i), own = (uint32_t)1 << i;
    if (sources & (members | reached)) reached |= own;
    if (sources & (below | (reached & ~members))) below |= own;
  }
  *out_first = members & ~below;
  return (members & below) != 0;
}

void oc_net_print(const oc_net *net, uint32_t members, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "graph %s, group of", net->spec->name);
  const char *comma = " ";
  for (int i = 0; i < net->node_count && used < size; ++i) {
    if (!(members >> i & 1)) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s", comma, net->spec->rows[i].op);
    comma = ", ";
  }
}

// ---- Running --------------------------------------------------------------------------------

// The memory of one run of a part.
typedef struct run {
  oc_net *net;
  const oc_net_part *part;
  char what[120];
  ops_prepared *prepared;
  ops_output_info infos[OC_NET_MAX_NODES];
  ops_prepare_reply reply;
  oc_block inputs[OC_NET_MAX_VALUES], outputs[OC_NET_MAX_NODES], workspace;
  ops_arg input_args[OC_NET_MAX_VALUES], output_args[OC_NET_MAX_NODES];
} run;

static bool expect(run *run, const char *call, int32_t status, const ops_error *error) {
  return status == OPS_OK ||
         oc_provider_fails(run->net->trial, "%s: %s ends with %s: %.300s", run->what, call,
                           ops_status_name(status), error->message);
}

static bool prepare(run *run, ops_kernel *kernel, const ops_kernel_api *api) {
  ops_error error = OPS_ERROR_INIT;
  const ops_graph *graph = &run->part->graph;
  const ops_prepare_request request = {.struct_size = sizeof request,
                                       .inputs = graph->inputs,
                                       .input_count = graph->input_count,
                                       .input_stride = graph->input_stride};
  for (uint64_t i = 0; i < graph->output_count; ++i) {
    run->infos[i].struct_size = sizeof *run->infos;
  }
  run->reply = (ops_prepare_reply){.struct_size = sizeof run->reply,
                                   .outputs = run->infos,
                                   .output_count = graph->output_count,
                                   .output_stride = sizeof *run->infos};
  const int32_t status = api->prepare(kernel, &request, &run->reply, &error);
  run->prepared = status == OPS_OK ? run->reply.prepared : NULL;
  return expect(run, "prepare", status, &error);
}

static bool same_shape(const ops_output_info *info, const oc_array *array) {
  return info->mode == OPS_SHAPE_KNOWN && info->type == array->type &&
         info->rank == array->rank &&
         memcmp(info->dims, array->dims, (size_t)array->rank * sizeof *info->dims) == 0;
}

static bool check_shapes(run *run) {
  const ops_graph *graph = &run->part->graph;
  for (uint64_t i = 0; i < graph->output_count; ++i) {
    const ops_operand *output = &run->part->outputs[i];
    if (same_shape(&run->infos[i], &run->net->scratch.values[output->value])) continue;
    return oc_provider_fails(run->net->trial,
                             "%s: output %llu ('%.*s'): prepare states another type or shape "
                             "than float[%d, %d]",
                             run->what, (unsigned long long)i, OPS_STR_FMT(output->name), ROWS,
                             COLUMNS);
  }
  return true;
}

static int32_t native_kind(const oc_target *target) {
  const bool own = target->info.memory_kinds & OPS_MEMORY_BIT(OPS_MEMORY_DEVICE);
  return own ? OPS_MEMORY_DEVICE : OPS_MEMORY_HOST;
}

// Memory for one argument, in the kind that the device computes in.
static int32_t add_argument(run *run, const ops_operand *operand, oc_role role, int32_t index,
                            oc_block *block, ops_arg *arg, ops_error *error) {
  oc_scratch *scratch = &run->net->scratch;
  const oc_array *array = &scratch->values[operand->value];
  const oc_block_spec spec = {.memory_kind = native_kind(run->net->target),
                              .size = array->bytes,
                              .alignment = sizeof(float),
                              .place = OC_PLACE_END,
                              .role = role,
                              .index = index,
                              .usage = OPS_USAGE_IO};
  OPS_RETURN_IF_ERROR(oc_block_init(block, run->net->target, &spec, error));
  *arg = (ops_arg){.kind = OPS_ARG_TENSOR,
                   .memory_kind = spec.memory_kind,
                   .tensor = {.dims = array->dims,
                              .strides = scratch->strides[operand->value],
                              .memory = block->handle,
                              .byte_offset = block->offset,
                              .byte_size = array->bytes,
                              .type = array->type,
                              .rank = array->rank}};
  if (role == OC_ROLE_INPUT) {
    OPS_RETURN_IF_ERROR(oc_block_write(block, array->data, error));
    return oc_block_protect(block, OC_ACCESS_READ, error);
  }
  void *poison = malloc(array->bytes);
  if (!poison) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an output");
  oc_block_poison(poison, array->bytes, 0);
  const int32_t status = oc_block_write(block, poison, error);
  free(poison);
  return status;
}

static int32_t add_workspace(run *run, ops_error *error) {
  const ops_prepare_reply *reply = &run->reply;
  if (reply->workspace_size == 0) return OPS_OK;
  const oc_block_spec spec = {.memory_kind = reply->workspace_memory_kind,
                              .size = reply->workspace_size,
                              .alignment = reply->workspace_alignment
                                               ? reply->workspace_alignment
                                               : run->net->target->info.min_alignment,
                              .place = OC_PLACE_END,
                              .role = OC_ROLE_WORKSPACE,
                              .usage = OPS_USAGE_WORKSPACE};
  return oc_block_init(&run->workspace, run->net->target, &spec, error);
}

static bool add_memory(run *run) {
  ops_error error = OPS_ERROR_INIT;
  const ops_graph *graph = &run->part->graph;
  int32_t status = add_workspace(run, &error);
  for (uint64_t i = 0; i < graph->input_count && status == OPS_OK; ++i) {
    status = add_argument(run, &run->part->inputs[i], OC_ROLE_INPUT, (int32_t)i,
                          &run->inputs[i], &run->input_args[i], &error);
  }
  for (uint64_t i = 0; i < graph->output_count && status == OPS_OK; ++i) {
    status = add_argument(run, &run->part->outputs[i], OC_ROLE_OUTPUT, (int32_t)i,
                          &run->outputs[i], &run->output_args[i], &error);
  }
  return expect(run, "memory for the arguments", status, &error);
}

static bool execute(run *run, const ops_kernel_api *api) {
  ops_error error = OPS_ERROR_INIT;
  const oc_target *target = run->net->target;
  const ops_execute_request request = {.struct_size = sizeof request,
                                       .inputs = run->input_args,
                                       .input_count = run->part->graph.input_count,
                                       .outputs = run->output_args,
                                       .output_count = run->part->graph.output_count,
                                       .workspace = run->workspace.handle,
                                       .workspace_offset = run->workspace.offset,
                                       .workspace_size = run->workspace.size};
  ops_stream *stream = target->streams[0];
  int32_t status = api->execute(run->prepared, &request, stream, &error);
  if (!expect(run, "execute", status, &error)) return false;
  if (stream) status = target->provider->stream->synchronize(stream, &error);
  return expect(run, "synchronize", status, &error);
}

// Whole numbers: equal or not.
static bool compare(run *run, uint64_t index) {
  const ops_operand *output = &run->part->outputs[index];
  const oc_array *want = &run->net->scratch.values[output->value];
  ops_error error = OPS_ERROR_INIT;
  float got[ROWS * COLUMNS];
  bool intact = true;
  int64_t offset = 0;
  int32_t status = oc_block_read(&run->outputs[index], got, &error);
  if (status == OPS_OK)
    status = oc_block_intact(&run->outputs[index], &intact, &offset, &error);
  if (!expect(run, "reading the output", status, &error)) return false;
  if (!intact) {
    return oc_provider_fails(run->net->trial, "%s: memory around output %llu was written",
                             run->what, (unsigned long long)index);
  }
  for (int64_t i = 0; i < want->count; ++i) {
    const float wanted = ((const float *)want->data)[i];
    if (got[i] == wanted) continue;
    return oc_provider_fails(
        run->net->trial,
        "%s: output %llu ('%.*s'), element %lld: the nodes one by one give %g, found %g",
        run->what, (unsigned long long)index, OPS_STR_FMT(output->name), (long long)i,
        (double)wanted, (double)got[i]);
  }
  return true;
}

static void finish(run *run, const ops_kernel_api *api) {
  api->prepared_destroy(run->prepared);
  for (uint64_t i = 0; i < run->part->graph.input_count; ++i) oc_block_finish(&run->inputs[i]);
  for (uint64_t i = 0; i < run->part->graph.output_count; ++i)
    oc_block_finish(&run->outputs[i]);
  oc_block_finish(&run->workspace);
}

bool oc_net_run(oc_net *net, const oc_net_part *part, ops_kernel *kernel,
                const ops_kernel_api *api) {
  run run = {.net = net, .part = part};
  oc_net_print(net, part->members, run.what, sizeof run.what);
  bool good = prepare(&run, kernel, api) && check_shapes(&run) && add_memory(&run) &&
              execute(&run, api);
  for (uint64_t i = 0; i < part->graph.output_count && good; ++i) good = compare(&run, i);
  finish(&run, api);
  return good;
}
