// SPDX-License-Identifier: Apache-2.0
//
// Inference takes every combination of types that the schemas allow, in every version, with
// shapes that are all unknown.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>
#include <ops_support/error.h>

#include "coverage/coverage.h"
#include "coverage/node.h"
#include "infer/infer.h"

#define MOST 64

typedef struct tally {
  int64_t asked, refused;
} tally;

// A type as the graph has it, what it holds beside it.
typedef struct nested {
  rt_type type, element, inner;
} nested;

static rt_type type_of(const ops_type_info *info, nested *out, int depth) {
  static const int32_t kinds[] = {[OPS_VALUE_TENSOR] = RT_TYPE_TENSOR,
                                  [OPS_VALUE_STRINGS] = RT_TYPE_TENSOR,
                                  [OPS_VALUE_SEQUENCE] = RT_TYPE_SEQUENCE,
                                  [OPS_VALUE_OPTIONAL] = RT_TYPE_OPTIONAL,
                                  [OPS_VALUE_MAP] = RT_TYPE_MAP};
  rt_type type = {.kind = kinds[info->kind], .elem_type = info->type, .rank = RT_RANK_UNKNOWN};
  if (info->element) {
    rt_type *inside = depth ? &out->inner : &out->element;
    *inside = type_of(info->element, out, depth + 1);
    type.element = inside;
  }
  return type;
}

static uint32_t make_attrs(const ops_node *node, rt_attr *out) {
  uint32_t count = 0;
  for (uint64_t i = 0; i < node->attribute_count && i < MOST; ++i) {
    const ops_attribute *from = &node->attributes[i];
    rt_attr *to = &out[count++];
    *to =
        (rt_attr){.name = from->name.data, .kind = from->kind, .count = (uint32_t)from->count};
    if (from->floats) to->floats = from->floats;
    if (from->ints) to->ints = from->ints;
    if (from->strings) to->strings = from->strings;
  }
  return count;
}

// The node alone in a graph.
static int32_t make_graph(const ops_node *node, const rt_schema *schema, rt_graph **out_graph,
                          rt_node **out_node, ops_error *error) {
  rt_value *inputs[MOST];
  rt_attr attrs[MOST];
  OPS_RETURN_IF_ERROR(rt_graph_create("g", out_graph, error));
  for (uint64_t i = 0; i < node->input_count; ++i) {
    nested types;
    const rt_type type = type_of(node->inputs[i].type, &types, 0);
    OPS_RETURN_IF_ERROR(rt_graph_add_input(*out_graph, "x", &type, &inputs[i], error));
  }
  const rt_node_desc desc = {.name = "n",
                             .op = schema->name,
                             .domain = schema->domain,
                             .opset = node->opset,
                             .inputs = inputs,
                             .input_count = (uint32_t)node->input_count,
                             .output_count = (uint32_t)node->output_count,
                             .attrs = attrs,
                             .attr_count = make_attrs(node, attrs)};
  return rt_graph_add_node(*out_graph, &desc, NULL, out_node, error);
}

static void tell(const rt_coverage_case *found, const char *what) {
  char text[RT_COVERAGE_TEXT];
  print_error("%s %s of opset %d:", found->schema->domain, found->schema->name, found->opset);
  for (int32_t i = 0; i < found->schema->constraint_count; ++i)
    print_error(" %s=%s", found->schema->constraints[i].name,
                rt_coverage_format(found->types[i], text));
  print_error(": %s\n", what);
}

static int32_t infer_one(void *context, const rt_coverage_case *found, ops_error *error) {
  tally *sum = context;
  rt_coverage_node node;
  rt_graph *graph = NULL;
  rt_node *made = NULL;
  ops_error own = OPS_ERROR_INIT;
  (void)error;
  rt_coverage_node_init(&node, found, 0);
  int32_t status = make_graph(&node.node, found->schema, &graph, &made, &own);
  if (status == OPS_OK) status = rt_infer_graph(graph, NULL, &own);
  ++sum->asked;
  if (status != OPS_OK) {
    ++sum->refused;
    tell(found, own.message);
  }
  rt_graph_destroy(graph);
  return OPS_OK;
}

// What onnxruntime defines; the optimizers of training, whose tensors come in groups.
static int is_left_out(const rt_schema *schema) {
  return strcmp(schema->domain, "com.microsoft") == 0 ||
         strcmp(schema->domain, "ai.onnx.preview.training") == 0 ||
         rt_coverage_needs_runtime(schema);
}

static void inference_takes_all_that_schemas_allow(void **state) {
  rt_coverage_provider *reference;
  ops_error error = OPS_ERROR_INIT;
  tally sum = {0};
  (void)state;
  if (rt_coverage_open(REFERENCE_PROVIDER, &reference, &error) != OPS_OK)
    fail_msg("%s", error.message);
  for (size_t i = 0; i < rt_schema_count(); ++i) {
    const rt_schema *schema = rt_schema_at(i);
    if (is_left_out(schema)) continue;
    if (rt_coverage_walk(reference, schema, schema->since, infer_one, &sum, &error) != OPS_OK)
      fail_msg("%s", error.message);
  }
  rt_coverage_close(reference);
  print_message("%lld combinations\n", (long long)sum.asked);
  assert_true(sum.asked > 20000);
  assert_int_equal(sum.refused, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inference_takes_all_that_schemas_allow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
