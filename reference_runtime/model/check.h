// SPDX-License-Identifier: Apache-2.0
//
// Whether a decoded model obeys the ONNX specification as far as names and operators go; types
// and shapes of intermediate values are the business of inference.
#ifndef RT_MODEL_CHECK_H_
#define RT_MODEL_CHECK_H_

#include "model/model.h"

#define RT_CHECK_MAX_ATTRIBUTES 1024  // of one node
#define RT_CHECK_MAX_BINDINGS 4096    // of one list of training information

// Checks a model and stops at the first fault. What it guarantees afterwards:
//   - every graph, subgraph and function body is topologically sorted and acyclic;
//   - each name is defined once in its scope, does not hide a name of an outer scope, and is
//     defined before it is used; the outputs of the main graph are distinct;
//   - inputs of the main graph have types, and initializers that give an input its default
//   agree
//     with them;
//   - each domain in use is imported once, in a version that the schemas know;
//   - nodes of ONNX's own domains name an operator of that opset, with the right number of
//   inputs
//     and outputs, every required input, and known attributes of the right kind;
//   - nodes of a function of the model use its parameters only; functions do not call
//     themselves; references to attributes occur in functions only, and name one of theirs;
//   - bindings of training information name initializers and outputs that there are; the graphs
//     themselves, which the runtime does not execute, are not looked into.
// Nodes of other domains are left to the provider that brings their schema.
//
// The message names graph, node (its index, name and operator), what was expected, what was
// found, and what to do. Fails with INVALID_MODEL, with UNSUPPORTED if an opset is newer than
// the schemas, or with OUT_OF_MEMORY.
int32_t rt_model_check(const rt_model *model, ops_error *error);

#endif  // RT_MODEL_CHECK_H_
