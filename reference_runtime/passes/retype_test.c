// SPDX-License-Identifier: Apache-2.0
//
// Changes of type under providers that take less than all: made-up claims say who takes what.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"
#include "passes/passes.h"

#define NARROW 0  // place of a provider with the given limits
#define WIDE 1    // place of one that takes everything

static char notes[4000];

static void take_note(void *user, const rt_pass_info *pass, int32_t kind, const char *text) {
  const size_t used = strlen(notes);
  (void)user;
  snprintf(notes + used, sizeof notes - used, "%s %s: %s\n", kind == RT_PASS_HIT ? "+" : "-",
           pass->name, text);
}

static int32_t elem(const rt_node *node, uint32_t input) {
  const rt_value *value = rt_node_input(node, input);
  return value ? value->type.elem_type : OPS_TYPE_UNDEFINED;
}

// Kernels in float16 accumulate in float16, those in bfloat16 in float; Gemm does not exist in
// 16 bits.
static int32_t half_claims(void *user, const rt_node *node, uint32_t *out_place,
                           ops_error *error) {
  const int is_half = elem(node, 0) == OPS_TYPE_FLOAT16;
  const int is_brain = elem(node, 0) == OPS_TYPE_BFLOAT16;
  (void)user, (void)error;
  *out_place = NARROW;
  if (is_half && node->flags & RT_NODE_REQUIRE_FP32_ACCUMULATION) *out_place = RT_CLAIM_NOBODY;
  if ((is_half || is_brain) && rt_op_is(&node->op, "Gemm")) *out_place = RT_CLAIM_NOBODY;
  return OPS_OK;
}

// The preferred provider has Gather with int32 indices only.
static int32_t index_claims(void *user, const rt_node *node, uint32_t *out_place,
                            ops_error *error) {
  (void)user, (void)error;
  *out_place = rt_op_is(&node->op, "Gather") && elem(node, 1) == OPS_TYPE_INT32 ? NARROW : WIDE;
  return OPS_OK;
}

static rt_value *add_input(rt_graph *graph, const char *name, int32_t type, int32_t rank,
                           const int64_t *dims) {
  rt_dim shape[OPS_MAX_RANK];
  for (int32_t i = 0; i < rank; ++i)
    shape[i] = dims[i] < 0 ? rt_symbols_named(graph->symbols, "N") : rt_dim_const(dims[i]);
  const rt_type full = rt_type_tensor(type, rank, shape);
  rt_value *value = NULL;
  assert_int_equal(rt_graph_add_input(graph, name, &full, &value, NULL), OPS_OK);
  return value;
}

static rt_value *add(rt_graph *graph, const char *op, rt_value *a, rt_value *b) {
  rt_value *inputs[] = {a, b};
  const rt_node_desc desc = {.name = op,
                             .op = op,
                             .opset = 17,
                             .inputs = inputs,
                             .input_count = b ? 2 : 1,
                             .output_count = 1};
  rt_node *node = NULL;
  assert_int_equal(rt_graph_add_node(graph, &desc, NULL, &node, NULL), OPS_OK);
  return node->outputs[0];
}

static void finish(rt_graph *graph, rt_value *output) {
  assert_int_equal(rt_graph_add_output(graph, "y", output, NULL, NULL), OPS_OK);
  assert_int_equal(rt_infer_graph(graph, NULL, NULL), OPS_OK);
}

static void optimize(rt_graph *graph, rt_passes_options options) {
  ops_error error = OPS_ERROR_INIT;
  options.verify = 1;
  options.note = take_note;
  notes[0] = 0;
  if (rt_passes_run(graph, &options, NULL, NULL, &error) != OPS_OK)
    fail_msg("%s", error.message);
}

static const rt_node *find(const rt_graph *graph, const char *op) {
  for (const rt_node *node = graph->first; node; node = node->next)
    if (strcmp(node->op.name, op) == 0) return node;
  fail_msg("there is no %s", op);
  return NULL;
}

static void expect_note(const char *text) {
  if (!strstr(notes, text)) fail_msg("expected '%s' in:\n%s", text, notes);
}

static const int64_t two_by_two[2] = {2, 2}, two[1] = {2};

// ---- Precision ------------------------------------------------------------------------------

static rt_graph *product_and_sum(void) {
  rt_graph *graph = NULL;
  assert_int_equal(rt_graph_create("g", &graph, NULL), OPS_OK);
  rt_value *x = add_input(graph, "x", OPS_TYPE_FLOAT, 2, two_by_two);
  rt_value *w = add_input(graph, "w", OPS_TYPE_FLOAT, 2, two_by_two);
  rt_value *b = add_input(graph, "b", OPS_TYPE_FLOAT, 1, two);
  finish(graph, add(graph, "Add", add(graph, "MatMul", x, w), b));
  return graph;
}

static void kernels_that_accumulate_narrowly_are_refused(void **state) {
  (void)state;
  static const char *const disabled[] = {"matmul_add", "scale_folding"};
  rt_graph *graph = product_and_sum();
  const rt_passes_options options = {.level = 2,
                                     .precision = RT_PRECISION_FLOAT16,
                                     .disabled = disabled,
                                     .disabled_count = 2,
                                     .host.claim = half_claims};
  optimize(graph, options);
  assert_int_equal(elem(find(graph, "MatMul"), 0), OPS_TYPE_FLOAT);
  assert_int_equal(elem(find(graph, "Add"), 0), OPS_TYPE_FLOAT16);
  assert_int_equal(graph->outputs[0]->type.elem_type, OPS_TYPE_FLOAT);
  expect_note(
      "- precision: MatMul 'MatMul': stays in float, not in float16: no provider claims it");
  rt_graph_destroy(graph);
}

static void mixed_takes_the_type_that_is_taken(void **state) {
  (void)state;
  static const char *const disabled[] = {"matmul_add", "scale_folding"};
  rt_graph *graph = product_and_sum();
  const rt_passes_options options = {.level = 2,
                                     .precision = RT_PRECISION_MIXED,
                                     .disabled = disabled,
                                     .disabled_count = 2,
                                     .host.claim = half_claims};
  optimize(graph, options);
  const rt_node *product = find(graph, "MatMul");
  assert_int_equal(elem(product, 0), OPS_TYPE_BFLOAT16);
  assert_int_equal(product->flags, RT_NODE_REQUIRE_FP32_ACCUMULATION);
  // b is an input in float, so Add has nothing to follow but half of its operands.
  assert_int_equal(elem(find(graph, "Add"), 0), OPS_TYPE_FLOAT);
  rt_graph_destroy(graph);
}

static void fusions_keep_what_is_required(void **state) {
  (void)state;
  // In float16, with accumulation in float required: a fused Gemm that does not grant it is
  // refused.
  rt_graph *graph = NULL;
  assert_int_equal(rt_graph_create("g", &graph, NULL), OPS_OK);
  rt_value *x = add_input(graph, "x", OPS_TYPE_FLOAT16, 2, two_by_two);
  rt_value *w = add_input(graph, "w", OPS_TYPE_FLOAT16, 2, two_by_two);
  rt_value *b = add_input(graph, "b", OPS_TYPE_FLOAT16, 1, two);
  rt_value *product = add(graph, "MatMul", x, w);
  finish(graph, add(graph, "Add", product, b));
  const rt_passes_options options = {.level = 2, .host.claim = half_claims};
  optimize(graph, options);
  assert_non_null(find(graph, "MatMul"));
  expect_note("- matmul_add: ");
  rt_graph_destroy(graph);
}

static void a_precision_needs_level_2(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  rt_graph *graph = product_and_sum();
  const rt_passes_options options = {.level = 1, .precision = RT_PRECISION_MIXED};
  assert_int_equal(rt_passes_run(graph, &options, NULL, NULL, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "level 2"));
  rt_graph_destroy(graph);
}

// ---- Indices --------------------------------------------------------------------------------

// Gather(data, indices), where indices are what `make` builds of "i", int64[2], and x,
// float[2,2].
static rt_graph *gather(rt_value *(*make)(rt_graph *, rt_value *i, rt_value *x), int64_t rows) {
  const int64_t dims[2] = {rows, 2};
  rt_graph *graph = NULL;
  assert_int_equal(rt_graph_create("g", &graph, NULL), OPS_OK);
  rt_value *x = add_input(graph, "x", OPS_TYPE_FLOAT, 2, dims);
  rt_value *i = add_input(graph, "i", OPS_TYPE_INT64, 1, two);
  finish(graph, add(graph, "Gather", x, make(graph, i, x)));
  return graph;
}

static rt_value *given(rt_graph *graph, rt_value *i, rt_value *x) {
  (void)graph, (void)x;
  return i;
}

static rt_value *largest(rt_graph *graph, rt_value *i, rt_value *x) {
  (void)i;
  return add(graph, "Identity", add(graph, "ArgMax", x, NULL), NULL);
}

static rt_value *constant(rt_graph *graph, int64_t last) {
  const int64_t numbers[2] = {0, last};
  rt_constant *data = NULL;
  rt_value *value = NULL;
  assert_int_equal(rt_constant_create(OPS_TYPE_INT64, 1, two, numbers, &data, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_constant(graph, "c", data, &value, NULL), OPS_OK);
  rt_constant_release(data);
  return value;
}

static rt_value *small(rt_graph *graph, rt_value *i, rt_value *x) {
  (void)i, (void)x;
  return constant(graph, INT32_MAX);
}

static rt_value *too_large(rt_graph *graph, rt_value *i, rt_value *x) {
  (void)i, (void)x;
  return constant(graph, (int64_t)INT32_MAX + 1);
}

static rt_value *bounded(rt_graph *graph, rt_value *i, rt_value *x) {
  (void)x;
  return add(graph, "Min", i, constant(graph, 1));  // negative numbers may still not fit
}

static const rt_passes_options index_options = {.level = 1, .host.claim = index_claims};

static void expect_index(rt_graph *graph, int32_t type) {
  optimize(graph, index_options);
  assert_int_equal(elem(find(graph, "Gather"), 1), type);
  rt_graph_destroy(graph);
}

static void proven_indices_become_int32(void **state) {
  (void)state;
  expect_index(gather(largest, 2), OPS_TYPE_INT32);
  expect_note("+ index_casts: Gather 'Gather': indices are int32");
  expect_index(gather(small, 2), OPS_TYPE_INT32);
}

static void others_stay(void **state) {
  (void)state;
  expect_index(gather(given, 2), OPS_TYPE_INT64);
  expect_note(
      "- index_casts: Gather 'Gather': indices stay int64, 'i' is not proven to fit int32");
  expect_index(gather(too_large, 2), OPS_TYPE_INT64);
  expect_index(gather(bounded, 2), OPS_TYPE_INT64);
  expect_index(gather(largest, -1), OPS_TYPE_INT64);
  expect_index(gather(largest, (int64_t)1 << 32), OPS_TYPE_INT64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_that_accumulate_narrowly_are_refused),
      cmocka_unit_test(mixed_takes_the_type_that_is_taken),
      cmocka_unit_test(fusions_keep_what_is_required),
      cmocka_unit_test(a_precision_needs_level_2),
      cmocka_unit_test(proven_indices_become_int32),
      cmocka_unit_test(others_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
