// SPDX-License-Identifier: Apache-2.0
//
// What the provider does apart from values: refusals with a reason, outputs untouched by them,
// empty and rank-0 tensors, out of memory at every allocation, independence of the number of
// threads, negotiation, the order of destruction.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above.
#include <cmocka.h>

#include "run_test_util.h"
#include "table.h"

#define MAX_INPUTS 5

static ops_attribute int_attribute(const char *name, const int64_t *values, uint64_t count) {
  return (ops_attribute){.struct_size = sizeof(ops_attribute),
                         .name = {name, strlen(name)},
                         .kind = count == 0 ? OPS_ATTRIBUTE_INT : OPS_ATTRIBUTE_INTS,
                         .count = count == 0 ? 1 : count,
                         .ints = values};
}

// ---- Refusals
// ----------------------------------------------------------------------------------

typedef struct input {
  int32_t type, rank;
  int64_t dims[4];
  int64_t values[4];  // integers that the tensor begins with
} input;

typedef struct refusal {
  const char *op;
  int32_t opset;
  input inputs[MAX_INPUTS];  // up to the first with type 0
  const char *attribute;     // of ints, or NULL
  int64_t attribute_values[4];
  uint64_t attribute_count;  // 0: a single int
  const char *text;          // that the message must contain
} refusal;

#define F OPS_TYPE_FLOAT
#define I OPS_TYPE_INT64

static const refusal refusals[] = {
    {"Add",
     14,
     {{F, 1, {3}, {0}}, {F, 1, {4}, {0}}},
     NULL,
     {0},
     0,
     "input B: dimension 0 is 4"},
    {"PRelu", 16, {{F, 1, {1}, {0}}, {F, 1, {4}, {0}}}, NULL, {0}, 0, "input slope"},
    {"MatMul", 13, {{F, 2, {2, 3}, {0}}, {F, 2, {4, 5}, {0}}}, NULL, {0}, 0, "expected 3 rows"},
    {"Gemm",
     13,
     {{F, 1, {3}, {0}}, {F, 2, {3, 5}, {0}}},
     NULL,
     {0},
     0,
     "expected rank 2, found 1"},
    {"Conv",
     11,
     {{F, 4, {1, 3, 5, 5}, {0}}, {F, 4, {2, 4, 3, 3}, {0}}},
     NULL,
     {0},
     0,
     "input W: dimension 1 is 4, expected 3"},
    {"Conv",
     11,
     {{F, 4, {1, 3, 2, 2}, {0}}, {F, 4, {2, 3, 3, 3}, {0}}},
     NULL,
     {0},
     0,
     "the window covers 3"},
    {"Conv",
     11,
     {{F, 4, {1, 3, 5, 5}, {0}}, {F, 4, {2, 3, 3, 3}, {0}}},
     "strides",
     {0, 1},
     2,
     "attribute strides"},
    {"Reshape", 14, {{F, 2, {2, 3}, {0}}, {I, 1, {2}, {4, -1}}}, NULL, {0}, 0, "do not divide"},
    {"Reshape", 14, {{F, 2, {2, 3}, {0}}, {I, 1, {2}, {-1, -1}}}, NULL, {0}, 0, "given twice"},
    {"Squeeze",
     13,
     {{F, 2, {2, 3}, {0}}, {I, 1, {1}, {1}}},
     NULL,
     {0},
     0,
     "expected 1 to squeeze"},
    {"Unsqueeze", 13, {{F, 1, {3}, {0}}, {I, 1, {2}, {0, 0}}}, NULL, {0}, 0, "given twice"},
    {"Transpose", 13, {{F, 2, {2, 3}, {0}}}, "perm", {0, 0}, 2, "given twice"},
    {"Transpose", 13, {{F, 2, {2, 3}, {0}}}, "perm", {0, -1}, 2, "entry 1 is -1"},
    {"Concat", 13, {{F, 2, {2, 3}, {0}}, {F, 2, {3, 3}, {0}}}, "axis", {1}, 0, "expected 2"},
    {"Split", 13, {{F, 1, {5}, {0}}, {I, 1, {1}, {4}}}, NULL, {0}, 0, "expected 5"},
    {"Slice",
     13,
     {{F, 1, {5}, {0}}, {I, 1, {1}, {0}}, {I, 1, {2}, {1, 2}}},
     NULL,
     {0},
     0,
     "same number"},
    {"Gather",
     13,
     {{F, 1, {5}, {0}}, {I, 1, {2}, {1, 5}}},
     NULL,
     {0},
     0,
     "input indices: element 1 is 5"},
    {"GatherElements",
     13,
     {{F, 1, {5}, {0}}, {I, 1, {1}, {-6}}},
     NULL,
     {0},
     0,
     "element 0 is -6"},
    {"GatherND", 13, {{F, 1, {5}, {0}}, {I, 2, {1, 1}, {7}}}, NULL, {0}, 0, "points outside"},
    {"ScatterND",
     13,
     {{F, 1, {5}, {0}}, {I, 2, {1, 1}, {7}}, {F, 1, {1}, {0}}},
     NULL,
     {0},
     0,
     "points outside"},
    {"Expand", 13, {{F, 1, {3}, {0}}, {I, 1, {1}, {4}}}, NULL, {0}, 0, "expected 1 or 3"},
    {"Tile", 13, {{F, 1, {3}, {0}}, {I, 1, {1}, {-1}}}, NULL, {0}, 0, "entry 0 is -1"},
    {"TopK", 11, {{F, 1, {3}, {0}}, {I, 1, {1}, {4}}}, NULL, {0}, 0, "0 to 3"},
    {"Softmax", 13, {{F, 1, {3}, {0}}}, "axis", {2}, 0, "axis 2 is outside"},
    {"ReduceSum", 13, {{F, 1, {3}, {0}}, {I, 1, {1}, {1}}}, NULL, {0}, 0, "axis 1 is outside"},
    {"ConstantOfShape", 9, {{I, 1, {2}, {2, -3}}}, NULL, {0}, 0, "dimension 1 is -3"},
    {"DepthToSpace", 13, {{F, 4, {1, 3, 2, 2}, {0}}}, "blocksize", {2}, 0, "a multiple of 4"},
    {"MaxPool", 12, {{F, 3, {1, 1, 4}, {0}}}, "kernel_shape", {5}, 1, "covers 5"},
    {"Clip", 13, {{F, 1, {3}, {0}}, {F, 1, {2}, {0}}}, NULL, {0}, 0, "expected a scalar"},
    {"Range",
     11,
     {{I, 0, {0}, {1}}, {I, 0, {0}, {5}}, {I, 0, {0}, {0}}},
     NULL,
     {0},
     0,
     "other than 0"},
    {"BatchNormalization",
     15,
     {{F, 2, {2, 3}, {0}},
      {F, 1, {2}, {0}},
      {F, 1, {3}, {0}},
      {F, 1, {3}, {0}},
      {F, 1, {3}, {0}}},
     NULL,
     {0},
     0,
     "input scale"},
};

static void make_input(test_tensor *tensor, const input *from) {
  test_tensor_init(tensor, from->type, from->rank, from->dims, 0);
  memset(tensor->memory, 0, tensor->size);
  if (from->type != OPS_TYPE_INT64) return;
  for (int64_t i = 0; i < tensor->count; ++i) ((int64_t *)tensor->memory)[i] = from->values[i];
}

static int is_untouched(const test_tensor *tensor) {
  for (uint64_t i = 0; tensor->memory != NULL && i < tensor->size; ++i)
    if (((const unsigned char *)tensor->memory)[i] != 0xA5) return 0;
  return 1;
}

static void check_refusal(test_host *host, const refusal *r) {
  test_tensor inputs[MAX_INPUTS + 1] = {0}, outputs[2] = {{.present = 1}, {.present = 1}};
  ops_attribute attribute = int_attribute(r->attribute != NULL ? r->attribute : "",
                                          r->attribute_values, r->attribute_count);
  uint64_t count = 0;
  while (count < MAX_INPUTS && r->inputs[count].type != 0) {
    make_input(&inputs[count], &r->inputs[count]);
    ++count;
  }
  test_node node = {.op = r->op,
                    .opset = r->opset,
                    .attributes = &attribute,
                    .attribute_count = r->attribute != NULL,
                    .inputs = inputs,
                    .input_count = count,
                    .outputs = outputs,
                    .output_count = strcmp(r->op, "TopK") == 0 ? 2 : 1};
  ops_error error = {.struct_size = sizeof error};
  int32_t status = test_run(host, &node, &error);
  if (status != OPS_ERROR_INVALID_ARGUMENT || strstr(error.message, r->text) == NULL)
    fail_msg("%s: status %d, message '%s', expected '%s' in it", r->op, status, error.message,
             r->text);
  assert_int_equal(error.code, status);
  assert_int_equal(error.message_size, strlen(error.message));
  assert_non_null(strstr(error.message, r->op));
  assert_true(is_untouched(&outputs[0]));
  for (uint64_t i = 0; i < count; ++i) test_tensor_finish(&inputs[i]);
  test_tensor_finish(&outputs[0]);
  test_tensor_finish(&outputs[1]);
}

static void broken_rules_are_named(void **state) {
  (void)state;
  test_host host;
  test_host_open(&host);
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i)
    check_refusal(&host, &refusals[i]);
  test_host_close(&host);
}

// ---- Reductions along no axis ---------------------------------------------------------------

// ONNX on noop_with_empty_axes: "composite-reduction operators will still perform the
// non-reduction steps", so that ReduceSumSquare is a square. Values by hand.
static const struct {
  const char *op;
  float x[2], y[2];
} alone[] = {
    {"ReduceL1", {-1.5f, 2}, {1.5f, 2}},         {"ReduceL2", {-3, 0.5f}, {3, 0.5f}},
    {"ReduceSumSquare", {-1.5f, 2}, {2.25f, 4}}, {"ReduceLogSum", {1, 0.5f}, {0, -0.69314718f}},
    {"ReduceLogSumExp", {-1.5f, 2}, {-1.5f, 2}}, {"ReduceSum", {-1.5f, 2}, {-1.5f, 2}},
    {"ReduceMax", {-1.5f, 2}, {-1.5f, 2}},
};

static void reductions_along_no_axis_still_compute(void **state) {
  (void)state;
  test_host host;
  test_host_open(&host);
  for (size_t i = 0; i < sizeof alone / sizeof *alone; ++i) {
    ops_attribute noop = int_attribute("noop_with_empty_axes", (const int64_t[]){1}, 0);
    test_tensor x = {0}, y = {.present = 1};
    test_tensor_init(&x, OPS_TYPE_FLOAT, 1, (const int64_t[]){2}, 0);
    test_tensor_fill(&x, alone[i].x);
    test_node node = {.op = alone[i].op,
                      .opset = 18,
                      .attributes = &noop,
                      .attribute_count = 1,
                      .inputs = &x,
                      .input_count = 1,
                      .outputs = &y,
                      .output_count = 1};
    ops_error error = {.struct_size = sizeof error};
    if (test_run(&host, &node, &error) != OPS_OK) fail_msg("%s", error.message);
    for (int k = 0; k < 2; ++k)
      assert_float_equal(((const float *)y.memory)[k], alone[i].y[k], 1e-7f);
    test_tensor_finish(&x);
    test_tensor_finish(&y);
  }
  test_host_close(&host);
}

// ---- Every claimed type
// ------------------------------------------------------------------------

static int is_same(ops_str a, ops_str b) {
  return a.size == b.size && a.size > 0 && memcmp(a.data, b.data, a.size) == 0;
}

// Inputs of one shape: those that share the first one's type parameter have its type, others
// the first of their set. Shape inputs are vectors of zeros.
static uint64_t make_inputs(const ops_kernel_def *def, int32_t type, int32_t rank,
                            const int64_t *dims, test_tensor *inputs) {
  uint64_t count = 0;
  for (; count < def->input_count; ++count) {
    const ops_arg_def *arg = &def->inputs[count];
    if (count > 0 && (arg->flags & OPS_ARG_OPTIONAL)) break;
    int32_t own = count == 0 || is_same(arg->type_param, def->inputs[0].type_param)
                      ? type
                      : (int32_t)__builtin_ctzll(arg->types);
    int is_shape = (arg->flags & OPS_ARG_SHAPE_INPUT) != 0;
    const int64_t one[1] = {1};
    test_tensor_init(&inputs[count], own, is_shape ? 1 : rank, is_shape ? one : dims, 0);
    if (inputs[count].memory != NULL) memset(inputs[count].memory, 0, inputs[count].size);
  }
  return count;
}

static int run_type(test_host *host, const ops_kernel_def *def, int32_t type, int32_t rank,
                    const int64_t *dims) {
  static const int64_t two[2] = {1, 1};
  ops_attribute kernel_shape = int_attribute("kernel_shape", two, 2);
  ops_attribute to = int_attribute("to", (const int64_t[]){OPS_TYPE_FLOAT}, 0);
  ops_attribute attributes[2] = {kernel_shape, to};
  test_tensor inputs[8] = {0}, outputs[2] = {{.present = 1}, {.present = 1}};
  char op[64];
  snprintf(op, sizeof op, "%.*s", (int)def->op.size, def->op.data);
  test_node node = {.domain = def->domain,
                    .op = op,
                    .opset = def->until != 0 ? def->until : 28,
                    .attributes = attributes,
                    .attribute_count = 2,
                    .inputs = inputs,
                    .input_count = make_inputs(def, type, rank, dims, inputs),
                    .outputs = outputs,
                    .output_count = strcmp(op, "TopK") == 0 ? 2 : 1};
  const char *reason;
  int32_t status = OPS_ERROR_UNSUPPORTED;
  ops_error error = {.struct_size = sizeof error};
  if (test_find(host, &node, &reason) != NULL) {
    status = test_run(host, &node, &error);
    if (status != OPS_OK && status != OPS_ERROR_INVALID_ARGUMENT)
      fail_msg("%s of type %d: status %d: %s", op, type, status, error.message);
  }
  for (int k = 0; k < 8; ++k) test_tensor_finish(&inputs[k]);
  for (int k = 0; k < 2; ++k) test_tensor_finish(&outputs[k]);
  return status == OPS_OK;
}

// Every definition takes every type of its first input, in a plain, a scalar and an empty
// shape: it runs, or says why the shape does not suit it.
static void every_claimed_type_runs(void **state) {
  (void)state;
  test_host host;
  test_host_open(&host);
  int ran = 0;
  for (uint64_t i = 0; i < host.provider->kernel_count; ++i) {
    const ops_kernel_def *def = &host.provider->kernels[i];
    for (int32_t type = 1; def->input_count > 0 && type < OPS_TYPE_COUNT; ++type) {
      if (!(def->inputs[0].types >> type & 1)) continue;
      ran += run_type(&host, def, type, 4, (int64_t[]){1, 2, 2, 2});
      ran += run_type(&host, def, type, 2, (int64_t[]){2, 2});
      ran += run_type(&host, def, type, 0, NULL);
      ran += run_type(&host, def, type, 3, (int64_t[]){2, 0, 3});
      ran += run_type(&host, def, type, 4, (int64_t[]){0, 1, 1, 1});
    }
  }
  assert_true(ran > 3000);
  test_host_close(&host);
}

// ---- Memory
// -------------------------------------------------------------------------------------

typedef struct budget {
  int64_t left;  // allocations that still succeed
  int64_t live;
} budget;

static void *limited_allocate(void *context, uint64_t size, uint64_t alignment) {
  budget *b = context;
  if (b->left-- <= 0) return NULL;
  ++b->live;
  return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void limited_free(void *context, void *memory) {
  if (memory != NULL) --((budget *)context)->live;
  free(memory);
}

// create and prepare of one node with a budget of allocations; the status of what failed first.
static int32_t life_with_budget(const ops_node *node, const ops_kernel_def *def, budget *b) {
  ops_host_options options = {
      .context = b, .workers = 1, .allocate = limited_allocate, .free = limited_free};
  ops_host *host;
  ops_instance *instance = NULL;
  ops_device *device = NULL;
  ops_kernel *kernel = NULL;
  const ops_instance_api *api = ref_provider.instance;
  assert_int_equal(ops_host_create(&options, &host, NULL), OPS_OK);
  int32_t status = api->create(ops_host_api_table(), host, NULL, 0, &instance, NULL);
  if (status == OPS_OK) status = api->device_open(instance, 0, &device, NULL);
  if (status == OPS_OK) status = def->api->create(device, def, node, &kernel, NULL);
  if (status == OPS_OK) {
    ops_output_info output = {.struct_size = sizeof output};
    ops_prepare_request request = {.struct_size = sizeof request,
                                   .inputs = node->inputs,
                                   .input_count = node->input_count,
                                   .input_stride = node->input_stride};
    ops_prepare_reply reply = {.struct_size = sizeof reply,
                               .outputs = &output,
                               .output_count = 1,
                               .output_stride = sizeof output};
    status = def->api->prepare(kernel, &request, &reply, NULL);
    if (status == OPS_OK) def->api->prepared_destroy(reply.prepared);
  }
  def->api->destroy(kernel);
  assert_int_equal(api->device_close(device, NULL), OPS_OK);
  assert_int_equal(api->destroy(instance, NULL), OPS_OK);
  ops_host_destroy(host);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const ops_kernel_def *def = NULL;
  for (uint64_t i = 0; i < ref_provider.kernel_count; ++i)
    if (ref_provider.kernels[i].op.size == 9 &&
        memcmp(ref_provider.kernels[i].op.data, "Transpose", 9) == 0)
      def = &ref_provider.kernels[i];
  assert_non_null(def);
  const int64_t dims[2] = {2, 3}, perm[2] = {1, 0};
  ops_attribute attribute = int_attribute("perm", perm, 2);
  ops_type_info type = {.struct_size = sizeof type,
                        .kind = OPS_VALUE_TENSOR,
                        .type = OPS_TYPE_FLOAT,
                        .rank = 2,
                        .dims = dims};
  ops_operand operand = {.struct_size = sizeof operand, .type = &type};
  ops_node node = {.struct_size = sizeof node,
                   .name = OPS_STR("t"),
                   .op = OPS_STR("Transpose"),
                   .opset = 13,
                   .attributes = &attribute,
                   .attribute_count = 1,
                   .attribute_stride = sizeof attribute,
                   .inputs = &operand,
                   .input_count = 1,
                   .input_stride = sizeof operand,
                   .output_count = 1,
                   .output_stride = sizeof operand};
  int32_t status = OPS_ERROR_OUT_OF_MEMORY;
  int64_t allowed = 0;
  for (; status != OPS_OK && allowed < 100; ++allowed) {
    budget b = {.left = allowed};
    status = life_with_budget(&node, def, &b);
    assert_int_equal(b.live, 0);
    if (status != OPS_OK) assert_int_equal(status, OPS_ERROR_OUT_OF_MEMORY);
  }
  assert_int_equal(status, OPS_OK);
  assert_true(allowed > 5);
}

// ---- Threads
// ------------------------------------------------------------------------------------

static void run_conv(int32_t workers, float *out) {
  test_host host;
  test_host_open_with(&host, workers);
  test_tensor in[2], y = {.present = 1};
  test_tensor_init(&in[0], OPS_TYPE_FLOAT, 4, (int64_t[]){2, 3, 17, 19}, 0);
  test_tensor_init(&in[1], OPS_TYPE_FLOAT, 4, (int64_t[]){7, 3, 3, 3}, 0);
  for (int k = 0; k < 2; ++k)
    for (int64_t i = 0; i < in[k].count; ++i)
      ((float *)in[k].memory)[i] = (float)((i * 7919 + k) % 1000) / 997.0f;
  test_node node = {.op = "Conv",
                    .opset = 11,
                    .inputs = in,
                    .input_count = 2,
                    .outputs = &y,
                    .output_count = 1};
  assert_int_equal(test_run(&host, &node, NULL), OPS_OK);
  test_tensor_read(&y, out);
  for (int k = 0; k < 2; ++k) test_tensor_finish(&in[k]);
  test_tensor_finish(&y);
  test_host_close(&host);
}

static void results_do_not_depend_on_threads(void **state) {
  (void)state;
  enum { COUNT = 2 * 7 * 15 * 17 };
  static float one[COUNT], five[COUNT];
  run_conv(1, one);
  run_conv(5, five);
  assert_memory_equal(one, five, sizeof one);
}

// ---- Sparse constants ---------------------------------------------------------------------

static ops_tensor tensor_of(void *memory, uint64_t size, int32_t type, int32_t rank,
                            const int64_t *dims, const int64_t *strides) {
  return (ops_tensor){.dims = dims,
                      .strides = strides,
                      .memory = memory,
                      .byte_size = size,
                      .type = type,
                      .rank = rank};
}

// Values 1.5 and -2 in [2, 3], at positions (0, 1) and (1, 2) or as `indices` says.
static int32_t run_sparse(int64_t *indices, int32_t index_rank, float *out, ops_error *error) {
  float values[2] = {1.5f, -2};
  const int64_t dims[2] = {2, 3}, index_dims[2] = {2, 2};
  const int64_t index_strides[2] = {index_rank, 1}, one[1] = {1};
  const ops_constant constant = {
      .struct_size = sizeof constant,
      .format = OPS_CONSTANT_COO,
      .rank = 2,
      .dims = dims,
      .values = tensor_of(values, sizeof values, OPS_TYPE_FLOAT, 1, index_dims, one),
      .indices = tensor_of(indices, 16 * (uint64_t)index_rank, OPS_TYPE_INT64, index_rank,
                           index_dims, index_strides)};
  const ops_constant *const constants[] = {&constant};
  const ops_attribute attribute = {.struct_size = sizeof attribute,
                                   .name = OPS_STR("sparse_value"),
                                   .kind = OPS_ATTRIBUTE_SPARSE_TENSOR,
                                   .count = 1,
                                   .constants = constants};
  test_host host;
  test_host_open(&host);
  test_tensor y = {.present = 1};
  test_node node = {.op = "Constant",
                    .opset = 13,
                    .attributes = &attribute,
                    .attribute_count = 1,
                    .outputs = &y,
                    .output_count = 1};
  const int32_t status = test_run(&host, &node, error);
  if (status == OPS_OK) test_tensor_read(&y, out);
  test_tensor_finish(&y);
  test_host_close(&host);
  return status;
}

static void sparse_constants_are_written_out(void **state) {
  (void)state;
  const float expected[6] = {0, 1.5f, 0, 0, 0, -2};
  float found[6];
  ops_error error = {.struct_size = sizeof error};
  assert_int_equal(run_sparse((int64_t[]){0, 1, 1, 2}, 2, found, &error), OPS_OK);
  assert_memory_equal(found, expected, sizeof expected);
  assert_int_equal(run_sparse((int64_t[]){1, 5}, 1, found, &error), OPS_OK);
  assert_memory_equal(found, expected, sizeof expected);
  assert_int_equal(run_sparse((int64_t[]){1, 6}, 1, found, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "index 1 lies outside"));
  assert_int_equal(run_sparse((int64_t[]){0, 1, 2, 0}, 2, found, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
}

// ---- Negotiation and life
// -----------------------------------------------------------------------

static void negotiation_refuses_what_it_cannot_speak(void **state) {
  (void)state;
  ops_query_request request = {.struct_size = sizeof request,
                               .magic = OPS_QUERY_MAGIC,
                               .min_version = OPS_ABI_VERSION,
                               .max_version = OPS_ABI_VERSION};
  ops_query_reply reply = {.struct_size = sizeof reply};
  assert_int_equal(ops_provider_query(&request, &reply, NULL), OPS_OK);
  assert_ptr_equal(reply.provider, &ref_provider);
  request.min_version = request.max_version = OPS_MAKE_VERSION(9, 0);
  assert_int_equal(ops_provider_query(&request, &reply, NULL), OPS_ERROR_UNSUPPORTED_VERSION);
  assert_null(reply.provider);
  assert_int_equal(reply.max_version, OPS_ABI_VERSION);
  request.magic = 1;
  assert_int_equal(ops_provider_query(&request, &reply, NULL), OPS_ERROR_INVALID_ARGUMENT);
}

static void parents_outlive_children(void **state) {
  (void)state;
  test_host host;
  test_host_open(&host);
  ops_error error = {.struct_size = sizeof error};
  assert_int_equal(host.provider->instance->destroy(host.instance, &error),
                   OPS_ERROR_PRECONDITION);
  assert_non_null(strstr(error.message, "still open"));
  ops_device *second;
  assert_int_equal(host.provider->instance->device_open(host.instance, 1, &second, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  ops_key_value option = {OPS_STR("speed"), OPS_STR("high")};
  assert_int_equal(ref_provider.instance->create(host.api, host.host, &option, 1, NULL, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "speed"));
  test_host_close(&host);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(broken_rules_are_named),
      cmocka_unit_test(reductions_along_no_axis_still_compute),
      cmocka_unit_test(every_claimed_type_runs),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(results_do_not_depend_on_threads),
      cmocka_unit_test(sparse_constants_are_written_out),
      cmocka_unit_test(negotiation_refuses_what_it_cannot_speak),
      cmocka_unit_test(parents_outlive_children),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
