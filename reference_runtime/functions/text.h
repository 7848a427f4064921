// SPDX-License-Identifier: Apache-2.0
//
// Functions written as text, in the part of ONNX's textual syntax that function bodies need:
//
//   (X, scale) => (Y) {
//     axes = Constant <value: tensor = int64[1] {-1}> ()
//     mean = ReduceMean <keepdims: int = @keepdims> (X, axes)
//     Y = If (c) <then_branch: graph = g () => (a) { a = Identity (X) }, …>
//   }
//
// An attribute states its kind: int, ints, float, floats, string, tensor, graph. "@name" as a
// value is the attribute of that name of the node that calls the function; as an operator,
// "@name (…)" stands for the nodes of the body that this node has as an attribute. Tensors are
// float, double, int64, int32 or bool, scalars or of one dimension. An input may be left empty.
// The texts are this project's own: a fault in one is an INTERNAL error that says where.
#ifndef RT_FUNCTIONS_TEXT_H_
#define RT_FUNCTIONS_TEXT_H_

#include "graph/build.h"

// A text that grows. Zero-initialise; finish frees it.
typedef struct rt_text {
  char *data;  // terminated; NULL if empty
  uint64_t size, capacity;
  int failed;  // memory was exhausted
} rt_text;

void rt_text_add(rt_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
// "name = Constant of `value` of the element type `type`", any type that holds fractions or
// integers.
void rt_text_constant(rt_text *text, const char *name, int32_t type, double value);
// "name = Constant of the one-dimensional int64 tensor `values`".
void rt_text_ints(rt_text *text, const char *name, const int64_t *values, uint32_t count);
// A copy in the memory of `graph`; NULL if that or the text's memory was exhausted.
const char *rt_text_keep(const rt_text *text, rt_graph *graph);
void rt_text_finish(rt_text *text);

// The function that `text` writes down for the operator `op`, its operators of ONNX's own
// domain in version `opset`. Where "@name" is an attribute that the calling node leaves away,
// it is the default in the schema of `op`. The function lives in the memory of `graph`, as must
// `text`; rt_text_keep puts one there. Fails with INTERNAL or OUT_OF_MEMORY.
int32_t rt_function_parse(rt_graph *graph, const rt_op *op, const char *text, int64_t opset,
                          rt_model_function **out_function, ops_error *error);

#endif  // RT_FUNCTIONS_TEXT_H_
