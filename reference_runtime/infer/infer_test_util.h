// SPDX-License-Identifier: Apache-2.0
//
// Small graphs for tests: values with shapes written as text, nodes with attributes, and the
// inferred types as text.
#ifndef RT_INFER_INFER_TEST_UTIL_H_
#define RT_INFER_INFER_TEST_UTIL_H_

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"

static inline rt_graph *make_graph(void) {
  rt_graph *graph = NULL;
  assert_int_equal(rt_graph_create("g", &graph, NULL), OPS_OK);
  return graph;
}

// An input whose shape is text: "2,N,?" or "" for a scalar or "..." for an unknown rank.
static inline rt_value *input_of_type(rt_graph *graph, const char *name, int32_t elem,
                                      const char *shape) {
  rt_dim dims[OPS_MAX_RANK];
  int32_t rank = 0;
  char copy[128];
  rt_value *value = NULL;
  snprintf(copy, sizeof copy, "%s", shape);
  for (char *part = strtok(copy, ","); part; part = strtok(NULL, ",")) {
    char *end;
    const long number = strtol(part, &end, 10);
    dims[rank++] = *end == '\0'             ? rt_dim_const(number)
                   : strcmp(part, "?") == 0 ? rt_dim_unknown()
                                            : rt_symbols_named(graph->symbols, part);
  }
  if (strcmp(shape, "...") == 0) rank = RT_RANK_UNKNOWN;
  const rt_type type = rt_type_tensor(elem, rank, dims);
  assert_int_equal(rt_graph_add_input(graph, name, &type, &value, NULL), OPS_OK);
  return value;
}

static inline rt_value *input(rt_graph *graph, const char *name, const char *shape) {
  return input_of_type(graph, name, OPS_TYPE_FLOAT, shape);
}

// An int64 vector.
static inline rt_value *ints(rt_graph *graph, const int64_t *values, int64_t count) {
  rt_constant *constant;
  rt_value *value = NULL;
  assert_int_equal(rt_constant_create(OPS_TYPE_INT64, 1, &count, values, &constant, NULL),
                   OPS_OK);
  assert_int_equal(rt_graph_add_constant(graph, "c", constant, &value, NULL), OPS_OK);
  rt_constant_release(constant);
  return value;
}
#define INTS(graph, ...)                      \
  ints(graph, (const int64_t[]){__VA_ARGS__}, \
       sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static inline rt_value *floats(rt_graph *graph, const float *values, int64_t count) {
  rt_constant *constant;
  rt_value *value = NULL;
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 1, &count, values, &constant, NULL),
                   OPS_OK);
  assert_int_equal(rt_graph_add_constant(graph, "f", constant, &value, NULL), OPS_OK);
  rt_constant_release(constant);
  return value;
}

static inline rt_attr int_attr(const char *name, const int64_t *value) {
  return (rt_attr){.name = name, .kind = RT_ATTR_INT, .count = 1, .ints = value};
}
static inline rt_attr ints_attr(const char *name, const int64_t *values, uint32_t count) {
  return (rt_attr){.name = name, .kind = RT_ATTR_INTS, .count = count, .ints = values};
}
#define I(name, value) int_attr(name, (const int64_t[]){value})
#define IS(name, ...)                             \
  ints_attr(name, (const int64_t[]){__VA_ARGS__}, \
            sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

// Tests name only the fields of a node_spec that they need; the others are zero.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

typedef struct node_spec {
  const char *op;
  int32_t opset;
  rt_value *inputs[5];
  uint32_t input_count, output_count;  // 0: as many inputs as are not NULL; one output
  rt_attr attrs[6];
  const char *domain;  // NULL: ONNX's own
} node_spec;

static inline rt_node *add(rt_graph *graph, node_spec spec) {
  rt_node *node = NULL;
  uint32_t attrs = 0;
  while (attrs < 6 && spec.attrs[attrs].name) ++attrs;
  if (!spec.input_count) {
    while (spec.input_count < 5 && spec.inputs[spec.input_count]) ++spec.input_count;
  }
  const rt_node_desc desc = {.name = "n",
                             .op = spec.op,
                             .domain = spec.domain,
                             .opset = spec.opset,
                             .inputs = spec.inputs,
                             .input_count = spec.input_count,
                             .output_count = spec.output_count ? spec.output_count : 1,
                             .attrs = spec.attrs,
                             .attr_count = attrs};
  assert_int_equal(rt_graph_add_node(graph, &desc, NULL, &node, NULL), OPS_OK);
  return node;
}
#define ADD(graph, ...) add(graph, (node_spec){__VA_ARGS__})
#define OUT(graph, ...) ADD(graph, __VA_ARGS__)->outputs[0]

static inline void infer(rt_graph *graph) {
  ops_error error = OPS_ERROR_INIT;
  if (rt_infer_graph(graph, NULL, &error) != OPS_OK) fail_msg("%s", error.message);
  if (rt_graph_verify(graph, &error) != OPS_OK) fail_msg("%s", error.message);
}

static inline void assert_type(const rt_value *value, const char *expected) {
  char text[256];
  rt_type_format(value->graph->symbols, &value->type, text, sizeof text);
  if (strcmp(text, expected) != 0)
    fail_msg("%s: found %s, expected %s", value->name, text, expected);
}

// Inference must fail with all of the texts, separated by '|', in its message.
static inline void assert_refused(rt_graph *graph, const char *texts) {
  ops_error error = OPS_ERROR_INIT;
  char copy[512];
  assert_int_equal(rt_infer_graph(graph, NULL, &error), OPS_ERROR_INVALID_MODEL);
  snprintf(copy, sizeof copy, "%s", texts);
  for (char *part = strtok(copy, "|"); part; part = strtok(NULL, "|")) {
    if (!strstr(error.message, part)) fail_msg("no '%s' in: %s", part, error.message);
  }
  rt_graph_destroy(graph);
}

#endif  // RT_INFER_INFER_TEST_UTIL_H_
