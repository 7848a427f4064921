// SPDX-License-Identifier: Apache-2.0
//
// Single nodes on the provider library. See cpu_test_util.h.
#include "cpu_test_util.h"

#include <ops_support/tensor.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the five above first.
#include <cmocka.h>

static void must(int32_t status, const ops_error *error) {
  if (status != OPS_OK) fail_msg("status %d: %s", status, error->message);
}

void test_open(test_device *test, const ops_host_options *options) {
  test_open_library(test, OPS_CPU_LIBRARY, options);
}

void test_open_library(test_device *test, const char *path, const ops_host_options *options) {
  const ops_host_options two_workers = {.workers = 2};
  ops_error error = OPS_ERROR_INIT;
  memset(test, 0, sizeof *test);
  must(ops_library_open(path, NULL, &test->library, &error), &error);
  test->provider = ops_library_provider(test->library);
  must(ops_host_create(options ? options : &two_workers, &test->host, &error), &error);
  const ops_instance_api *api = test->provider->instance;
  must(api->create(ops_host_api_table(), test->host, NULL, 0, &test->instance, &error), &error);
  must(api->device_open(test->instance, 0, &test->device, &error), &error);
}

void test_close(test_device *test) {
  ops_error error = OPS_ERROR_INIT;
  must(test->provider->instance->device_close(test->device, &error), &error);
  must(test->provider->instance->destroy(test->instance, &error), &error);
  ops_host_destroy(test->host);
  ops_library_release(test->library);
}

int test_setup(void **state) {
  *state = malloc(sizeof(test_device));
  assert_non_null(*state);
  test_open(*state, NULL);
  return 0;
}

int test_teardown(void **state) {
  test_close(*state);
  free(*state);
  return 0;
}

test_tensor test_zeros(int32_t type, int32_t rank, const int64_t *dims) {
  test_tensor tensor = {.type = type, .rank = rank, .count = 1};
  for (int32_t i = 0; i < rank; ++i) {
    tensor.dims[i] = dims[i];
    tensor.count *= dims[i];
  }
  ops_strides_contiguous(rank, dims, tensor.strides);
  tensor.data = calloc((size_t)tensor.count, (size_t)ops_type_bits(type) / 8);
  if (!tensor.data) tensor.data = malloc(1);
  assert_non_null(tensor.data);
  return tensor;
}

test_tensor test_random(uint32_t seed, int exact, int32_t rank, const int64_t *dims) {
  test_tensor tensor = test_zeros(OPS_TYPE_FLOAT, rank, dims);
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < tensor.count; ++i) {
    state = state * 1664525u + 1013904223u;
    const float unit = (float)(state >> 8) / 8388608.0f - 1.0f;
    test_floats(&tensor)[i] = exact ? (float)((int)(state >> 20) % 9 - 4) : unit;
  }
  return tensor;
}

test_tensor test_int64s(int32_t rank, const int64_t *dims, const int64_t *values) {
  test_tensor tensor = test_zeros(OPS_TYPE_INT64, rank, dims);
  if (tensor.count > 0) memcpy(tensor.data, values, (size_t)tensor.count * sizeof *values);
  return tensor;
}

int64_t test_place_of_last(const test_tensor *tensor, int64_t index) {
  int64_t pixels = 1;
  for (int32_t i = 2; i < tensor->rank; ++i) pixels *= tensor->dims[i];
  const int64_t channels = tensor->dims[1];
  const int64_t image = index / (channels * pixels), rest = index % (channels * pixels);
  return (image * pixels + rest % pixels) * channels + rest / pixels;
}

test_tensor test_with_layout(const test_tensor *from, uint32_t layout) {
  const int64_t size = ops_type_bits(from->type) / 8;
  test_tensor to = test_zeros(from->type, from->rank, from->dims);
  to.constant = from->constant;
  to.layout = layout;
  for (int64_t i = 0; i < from->count; ++i) {
    const int64_t at = test_place_of_last(from, i);
    const int64_t source = from->layout == TEST_LAST ? at : i;
    memcpy((char *)to.data + (layout == TEST_LAST ? at : i) * size,
           (const char *)from->data + source * size, (size_t)size);
  }
  return to;
}

void test_drop(test_tensor *tensor) {
  free(tensor->data);
  tensor->data = NULL;
}

void test_drop_all(test_tensor *const *tensors, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) test_drop(tensors[i]);
}

void test_node_init(test_node *node, const char *op, int32_t opset) {
  memset(node, 0, sizeof *node);
  node->op = op;
  node->opset = opset;
}

static ops_attribute *add(test_node *node, const char *name, int32_t kind, uint64_t count) {
  assert_true(node->attribute_count < TEST_ATTRIBUTES);
  ops_attribute *attribute = &node->attributes[node->attribute_count++];
  *attribute = (ops_attribute){.struct_size = sizeof *attribute,
                               .name = {name, strlen(name)},
                               .kind = kind,
                               .count = count};
  return attribute;
}

void test_add_ints(test_node *node, const char *name, int32_t count, const int64_t *values) {
  int64_t *own = node->ints[node->attribute_count];
  assert_true(count <= TEST_INTS);
  add(node, name, OPS_ATTRIBUTE_INTS, (uint64_t)count)->ints = own;
  memcpy(own, values, (size_t)count * sizeof *values);
}

void test_add_int(test_node *node, const char *name, int64_t value) {
  int64_t *own = node->ints[node->attribute_count];
  add(node, name, OPS_ATTRIBUTE_INT, 1)->ints = own;
  *own = value;
}

void test_add_floats(test_node *node, const char *name, int32_t count, const float *values) {
  float *own = node->floats[node->attribute_count];
  assert_true(count <= TEST_INTS);
  add(node, name, OPS_ATTRIBUTE_FLOATS, (uint64_t)count)->floats = own;
  memcpy(own, values, (size_t)count * sizeof *values);
}

void test_add_float(test_node *node, const char *name, float value) {
  test_add_floats(node, name, 1, &value);
  node->attributes[node->attribute_count - 1].kind = OPS_ATTRIBUTE_FLOAT;
}

void test_add_strings(test_node *node, const char *name, int32_t count,
                      const char *const *values) {
  ops_str *own = node->strings[node->attribute_count];
  assert_true(count <= TEST_INTS);
  add(node, name, OPS_ATTRIBUTE_STRINGS, (uint64_t)count)->strings = own;
  for (int32_t i = 0; i < count; ++i) own[i] = (ops_str){values[i], strlen(values[i])};
}

void test_add_string(test_node *node, const char *name, const char *value) {
  test_add_strings(node, name, 1, &value);
  node->attributes[node->attribute_count - 1].kind = OPS_ATTRIBUTE_STRING;
}

static ops_arg make_arg(const test_tensor *tensor) {
  ops_arg arg = {.kind = OPS_ARG_ABSENT};
  if (!tensor) return arg;
  arg.kind = OPS_ARG_TENSOR;
  arg.tensor = (ops_tensor){
      .dims = tensor->dims,
      .strides = tensor->strides,
      .memory = tensor->data,
      .byte_size = (uint64_t)tensor->count * (uint64_t)ops_type_bits(tensor->type) / 8,
      .type = tensor->type,
      .rank = tensor->rank,
      .layout = tensor->layout};
  if (tensor->layout != OPS_LAYOUT_STRIDED) arg.tensor.strides = NULL;
  return arg;
}

// What a view of an operand points to.
typedef struct operand_parts {
  ops_type_info type;
  ops_constant constant;
} operand_parts;

static void make_operand(const test_tensor *tensor, int known, operand_parts *parts,
                         ops_operand *out) {
  *out = (ops_operand){.struct_size = sizeof *out, .value = -1};
  if (!tensor) return;
  parts->type = (ops_type_info){.struct_size = sizeof parts->type,
                                .kind = OPS_VALUE_TENSOR,
                                .type = tensor->type,
                                .rank = tensor->rank,
                                .dims = tensor->dims,
                                .layout = tensor->layout};
  parts->constant = (ops_constant){.struct_size = sizeof parts->constant,
                                   .format = OPS_CONSTANT_DENSE,
                                   .rank = tensor->rank,
                                   .dims = tensor->dims,
                                   .dense = make_arg(tensor)};
  out->value = 0;
  out->type = &parts->type;
  out->constant = known ? &parts->constant : NULL;
}

void test_add_post(test_node *node, const char *op, int32_t has_operand) {
  node->post_has_operand[node->post_count] = has_operand;
  node->posts[node->post_count++] = op;
}

typedef struct chain_parts {
  ops_post_op posts[TEST_POSTS];
  int32_t inputs[TEST_POSTS][2];
  uint64_t operand_count;
} chain_parts;

static void make_chain(const test_node *node, uint64_t input_count, chain_parts *out) {
  memset(out, 0, sizeof *out);
  for (uint64_t i = 0; i < node->post_count; ++i)
    out->operand_count += (uint64_t)node->post_has_operand[i];
  int32_t next = (int32_t)(input_count - out->operand_count);
  for (uint64_t i = 0; i < node->post_count; ++i) {
    out->inputs[i][0] = OPS_CHAIN_VALUE;
    if (node->post_has_operand[i]) out->inputs[i][1] = next++;
    out->posts[i] = (ops_post_op){.struct_size = sizeof out->posts[i],
                                  .op = {node->posts[i], strlen(node->posts[i])},
                                  .opset = node->opset,
                                  .input_count = 1 + node->post_has_operand[i],
                                  .inputs = out->inputs[i],
                                  .attribute_stride = sizeof(ops_attribute)};
  }
}

static int32_t prepare(test_run *run, const ops_operand *inputs, const int32_t *types,
                       ops_error *error) {
  ops_output_info infos[TEST_ARGUMENTS];
  for (uint64_t i = 0; i < run->output_count; ++i)
    infos[i] = (ops_output_info){.struct_size = sizeof infos[i]};
  const ops_alias alias = {
      .struct_size = sizeof alias, .input = run->in_place - 1, .flags = OPS_ALIAS_MAY};
  const ops_prepare_request request = {.struct_size = sizeof request,
                                       .inputs = inputs,
                                       .input_count = run->input_count,
                                       .input_stride = sizeof *inputs,
                                       .aliases = run->in_place ? &alias : NULL,
                                       .alias_count = run->in_place ? 1 : 0,
                                       .alias_stride = sizeof alias,
                                       .output_layouts = run->output_layouts};
  ops_prepare_reply reply = {.struct_size = sizeof reply,
                             .outputs = infos,
                             .output_count = run->output_count,
                             .output_stride = sizeof *infos};
  OPS_RETURN_IF_ERROR(run->def->api->prepare(run->kernel, &request, &reply, error));
  run->prepared = reply.prepared;
  run->workspace_size = reply.workspace_size;
  for (uint64_t i = 0; i < run->output_count; ++i) {
    assert_int_equal(infos[i].mode, OPS_SHAPE_KNOWN);
    assert_int_equal(infos[i].type, types[i]);
    run->outputs[i] = test_zeros(infos[i].type, infos[i].rank, infos[i].dims);
    run->outputs[i].layout = run->output_layouts ? run->output_layouts[i] : OPS_LAYOUT_STRIDED;
    assert_int_equal(infos[i].layout, run->outputs[i].layout);
  }
  return OPS_OK;
}

int32_t test_prepare(test_device *test, const test_node *node, const test_tensor *const *inputs,
                     uint64_t input_count, const int32_t *types, uint64_t output_count,
                     test_run *out_run, ops_claim *out_claim, ops_error *error) {
  operand_parts *parts = calloc(3 * TEST_ARGUMENTS, sizeof *parts);
  operand_parts *known_parts = parts + 2 * TEST_ARGUMENTS;
  ops_operand given[TEST_ARGUMENTS], known[TEST_ARGUMENTS], made[TEST_ARGUMENTS];
  memset(out_run, 0, sizeof *out_run);
  assert_non_null(parts);
  out_run->constants = parts;
  out_run->test = test;
  out_run->input_count = input_count;
  out_run->output_count = output_count;
  for (uint64_t i = 0; i < input_count; ++i) {
    out_run->inputs[i] = inputs[i];
    make_operand(inputs[i], inputs[i] && inputs[i]->constant, &parts[i], &given[i]);
    make_operand(inputs[i], 1, &known_parts[i], &known[i]);
  }
  test_tensor shapes[TEST_ARGUMENTS];
  for (uint64_t i = 0; i < output_count; ++i) {
    shapes[i] = (test_tensor){.type = types[i], .rank = -1};
    if (node->result) shapes[i] = *node->result;
    make_operand(&shapes[i], 0, &parts[TEST_ARGUMENTS + i], &made[i]);
  }
  chain_parts chain;
  make_chain(node, input_count, &chain);
  const ops_node view = {.struct_size = sizeof view,
                         .post_ops = chain.posts,
                         .post_op_count = node->post_count,
                         .post_op_stride = sizeof *chain.posts,
                         .chain_operand_count = chain.operand_count,
                         .name = OPS_STR("node"),
                         .domain = {node->domain, node->domain ? strlen(node->domain) : 0},
                         .op = {node->op, strlen(node->op)},
                         .opset = node->opset,
                         .attributes = node->attributes,
                         .attribute_count = node->attribute_count,
                         .attribute_stride = sizeof *node->attributes,
                         .inputs = given,
                         .input_count = input_count,
                         .input_stride = sizeof *given,
                         .outputs = made,
                         .output_count = output_count,
                         .output_stride = sizeof *made};
  out_claim->struct_size = sizeof *out_claim;
  must(ops_library_claim(test->library, test->device, &view, &out_run->def, out_claim, error),
       error);
  if (!out_run->def) {
    test_finish(out_run);
    return OPS_ERROR_UNSUPPORTED;
  }
  int32_t status =
      out_run->def->api->create(test->device, out_run->def, &view, &out_run->kernel, error);
  if (status == OPS_OK) status = prepare(out_run, known, types, error);
  if (status != OPS_OK) test_finish(out_run);
  return status;
}

static void make_operands(const test_run *run, operand_parts *parts, ops_operand *operands) {
  for (uint64_t i = 0; i < run->input_count; ++i)
    make_operand(run->inputs[i], 1, &parts[i], &operands[i]);
}

void test_prepare_again(test_run *run, const test_tensor *const *inputs,
                        const uint32_t *output_layouts) {
  operand_parts parts[TEST_ARGUMENTS];
  ops_operand operands[TEST_ARGUMENTS];
  int32_t types[TEST_ARGUMENTS];
  ops_error error = OPS_ERROR_INIT;
  for (uint64_t i = 0; i < run->input_count; ++i) run->inputs[i] = inputs[i];
  for (uint64_t i = 0; i < run->output_count; ++i) {
    types[i] = run->outputs[i].type;
    test_drop(&run->outputs[i]);
  }
  run->def->api->prepared_destroy(run->prepared);
  run->prepared = NULL;
  run->output_layouts = output_layouts;
  make_operands(run, parts, operands);
  must(prepare(run, operands, types, &error), &error);
}

uint64_t test_query_layouts(const test_run *run, ops_layout_choice *out_choices,
                            uint64_t capacity) {
  operand_parts parts[TEST_ARGUMENTS];
  ops_operand operands[TEST_ARGUMENTS];
  ops_error error = OPS_ERROR_INIT;
  uint64_t count = 0;
  make_operands(run, parts, operands);
  const ops_prepare_request request = {.struct_size = sizeof request,
                                       .inputs = operands,
                                       .input_count = run->input_count,
                                       .input_stride = sizeof *operands};
  for (uint64_t i = 0; i < capacity; ++i)
    out_choices[i] = (ops_layout_choice){.struct_size = sizeof out_choices[i]};
  must(run->def->api->query_layouts(run->kernel, &request, out_choices, capacity,
                                    sizeof *out_choices, &count, &error),
       &error);
  return count;
}

int32_t test_execute(const test_run *run, test_tensor *outputs, ops_error *error) {
  ops_arg in[TEST_ARGUMENTS], out[TEST_ARGUMENTS];
  void *workspace = NULL;
  for (uint64_t i = 0; i < run->input_count; ++i) in[i] = make_arg(run->inputs[i]);
  for (uint64_t i = 0; i < run->output_count; ++i) {
    out[i] = make_arg(&outputs[i]);
    memset(outputs[i].data, 0xa5, out[i].tensor.byte_size);
  }
  if (run->in_place) {
    ops_tensor *shared = &in[run->in_place - 1].tensor;
    assert_int_equal(shared->byte_size, out[0].tensor.byte_size);
    memcpy(outputs[0].data, shared->memory, shared->byte_size);
    shared->memory = outputs[0].data;
  }
  if (run->workspace_size > 0) {
    workspace = aligned_alloc(64, (run->workspace_size + 63) / 64 * 64);
    assert_non_null(workspace);
    memset(workspace, 0xa5, run->workspace_size);
  }
  const ops_execute_request request = {.struct_size = sizeof request,
                                       .inputs = in,
                                       .input_count = run->input_count,
                                       .outputs = out,
                                       .output_count = run->output_count,
                                       .workspace = workspace,
                                       .workspace_size = run->workspace_size};
  const int32_t status = run->def->api->execute(run->prepared, &request, NULL, error);
  free(workspace);
  return status;
}

void test_finish(test_run *run) {
  if (run->prepared) run->def->api->prepared_destroy(run->prepared);
  if (run->kernel) run->def->api->destroy(run->kernel);
  for (uint64_t i = 0; i < run->output_count; ++i) test_drop(&run->outputs[i]);
  free(run->constants);
  run->constants = NULL;
  run->prepared = NULL;
  run->kernel = NULL;
}

int32_t test_try(test_device *test, const test_node *node, const test_tensor *const *inputs,
                 uint64_t input_count, test_attempt *out_attempt) {
  const int32_t type = OPS_TYPE_FLOAT;
  out_attempt->error = (ops_error)OPS_ERROR_INIT;
  return test_prepare(test, node, inputs, input_count, &type, 1, &out_attempt->run,
                      &out_attempt->claim, &out_attempt->error);
}

void test_start(test_device *test, const test_node *node, const test_tensor *const *inputs,
                uint64_t input_count, const int32_t *types, uint64_t output_count,
                test_run *out_run) {
  ops_claim claim;
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = test_prepare(test, node, inputs, input_count, types, output_count,
                                      out_run, &claim, &error);
  if (status != OPS_OK && !out_run->def)
    fail_msg("%s is not claimed: %s", node->op, claim.text);
  must(status, &error);
  must(test_execute(out_run, out_run->outputs, &error), &error);
}

test_tensor test_compute(test_device *test, const test_node *node,
                         const test_tensor *const *inputs, uint64_t input_count, int32_t type) {
  test_run run;
  test_start(test, node, inputs, input_count, &type, 1, &run);
  const test_tensor result = run.outputs[0];
  run.outputs[0].data = NULL;
  test_finish(&run);
  return result;
}
