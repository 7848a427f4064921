// SPDX-License-Identifier: Apache-2.0
//
// Building, inferring and editing when memory runs out: every allocation fails in turn. Each
// time the functions must report OUT_OF_MEMORY, or do without, and leave nothing behind (the
// address sanitizer looks). The linker redirects the allocators to the functions here.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>

#include "graph/build.h"
#include "infer/infer.h"

static int64_t allowed = INT64_MAX;  // allocations until one fails

static int may_allocate(void) {
  return allowed > 0 ? (--allowed, 1) : 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
  return may_allocate() ? __real_malloc(size) : NULL;
}
void *__wrap_calloc(size_t count, size_t size) {
  return may_allocate() ? __real_calloc(count, size) : NULL;
}
void *__wrap_realloc(void *old, size_t size) {
  return may_allocate() ? __real_realloc(old, size) : NULL;
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return may_allocate() ? __real_aligned_alloc(alignment, size) : NULL;
}

#define S(literal) OPS_STR(literal)
#define COUNT(array) (sizeof(array) / sizeof *(array))

// shape = Shape(x); c = [-1]; y = Reshape(local.F(x), c); F(a) = Concat(a, Relu(a)) on axis 0
static int32_t build_and_infer(ops_error *error) {
  static const ops_str x[] = {S("x")}, t[] = {S("t")}, y[] = {S("y")}, c[] = {S("c")};
  static const ops_str a[] = {S("a")}, r[] = {S("r")}, ar[] = {S("a"), S("r")}, q[] = {S("q")};
  static const ops_str tc[] = {S("t"), S("c")};
  static const int64_t minus[] = {-1}, zero[] = {0};
  static const rt_model_attribute axis = {
      .name = S("axis"), .kind = RT_MODEL_ATTRIBUTE_INT, .count = 1, .ints = zero};
  static const rt_model_attribute value = {
      .name = S("value_ints"), .kind = RT_MODEL_ATTRIBUTE_INTS, .count = 1, .ints = minus};
  static const rt_model_node body[] = {
      {.op_type = S("Relu"), .inputs = a, .input_count = 1, .outputs = r, .output_count = 1},
      {.op_type = S("Concat"),
       .inputs = ar,
       .input_count = 2,
       .outputs = q,
       .output_count = 1,
       .attributes = &axis,
       .attribute_count = 1}};
  static const rt_model_opset opsets[] = {{S(""), 13}, {S("local"), 1}};
  static const rt_model_function function = {.name = S("F"),
                                             .domain = S("local"),
                                             .inputs = a,
                                             .input_count = 1,
                                             .outputs = q,
                                             .output_count = 1,
                                             .nodes = body,
                                             .node_count = 2,
                                             .opsets = opsets,
                                             .opset_count = 1};
  static const rt_model_node nodes[] = {{.op_type = S("Constant"),
                                         .outputs = c,
                                         .output_count = 1,
                                         .attributes = &value,
                                         .attribute_count = 1},
                                        {.op_type = S("F"),
                                         .domain = S("local"),
                                         .inputs = x,
                                         .input_count = 1,
                                         .outputs = t,
                                         .output_count = 1},
                                        {.op_type = S("Reshape"),
                                         .inputs = tc,
                                         .input_count = 2,
                                         .outputs = y,
                                         .output_count = 1}};
  static const rt_model_dim dims[] = {{-1, S("N"), {0}}, {-1, {0}, {0}}};
  static const rt_model_value_info in = {
      .name = S("x"),
      .type = {RT_MODEL_TYPE_TENSOR, OPS_TYPE_FLOAT, 2, dims, NULL, {0}, {0}, {0}}};
  static const rt_model_value_info out = {.name = S("y"), .type = {.rank = -1}};
  static const rt_model model = {.ir_version = 8,
                                 .opsets = opsets,
                                 .opset_count = COUNT(opsets),
                                 .functions = &function,
                                 .function_count = 1,
                                 .graph = {.name = S("g"),
                                           .nodes = nodes,
                                           .node_count = 3,
                                           .inputs = &in,
                                           .input_count = 1,
                                           .outputs = &out,
                                           .output_count = 1}};
  rt_graph *graph = NULL;
  const rt_node_desc cast = {.op = "Cast", .opset = 13};
  int32_t status = rt_graph_from_model(&model, NULL, &graph, error);
  if (status == OPS_OK) status = rt_infer_graph(graph, NULL, error);
  if (status == OPS_OK) status = rt_graph_insert_on_output(graph, 0, &cast, NULL, error);
  if (status == OPS_OK) status = rt_node_set_attr_int(graph->last, "to", 1, error);
  if (status == OPS_OK) status = rt_graph_verify(graph, error);
  rt_graph_destroy(graph);
  return status;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  int64_t failures = 0;
  for (int64_t n = 0;; ++n) {
    ops_error error = OPS_ERROR_INIT;
    allowed = n;
    const int32_t status = build_and_infer(&error);
    const int was_enough = allowed > 0;
    allowed = INT64_MAX;
    if (status != OPS_OK) assert_int_equal(status, OPS_ERROR_OUT_OF_MEMORY);
    failures += status != OPS_OK;
    if (was_enough) break;
    assert_true(n < 10000);
  }
  assert_true(failures > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
