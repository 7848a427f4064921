// SPDX-License-Identifier: Apache-2.0
//
// From the graph back to a model: the reverse of build.h.
#ifndef RT_GRAPH_SAVE_H_
#define RT_GRAPH_SAVE_H_

#include "graph/graph.h"
#include "model/model.h"

#define RT_SAVE_FUNCTION_DOMAIN "ops.chain"  // of the functions that stand for chains

// A graph as a model. `model` and all it points to live until rt_saved_model_destroy, and
// borrow the data of the graph's constants.
typedef struct rt_saved_model rt_saved_model;

// The model of the tree `graph` was built from `source`, whose IR version, producer, metadata
// and opset imports it keeps. Inputs and outputs keep their names; other names may get a
// suffix, so that each is unique in the whole model. A node with a chain of post-operations
// becomes the call of a model-local function. Fails with UNSUPPORTED where nodes need two
// opsets of one domain that differ for them (the message names the node), or OUT_OF_MEMORY.
int32_t rt_graph_to_model(const rt_graph *graph, const rt_model *source,
                          rt_saved_model **out_saved, ops_error *error);
const rt_model *rt_saved_model_get(const rt_saved_model *saved);
void rt_saved_model_destroy(rt_saved_model *saved);  // NULL is fine

// Writes that model to a file.
int32_t rt_graph_save(const rt_graph *graph, const rt_model *source, const char *path,
                      ops_error *error);

#endif  // RT_GRAPH_SAVE_H_
