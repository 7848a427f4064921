// SPDX-License-Identifier: Apache-2.0
//
// One node as a model in a file, so that any ONNX runtime can run it.
#ifndef RT_MODEL_NODE_FILE_H_
#define RT_MODEL_NODE_FILE_H_

#include <ops/node.h>

// Writes a ModelProto whose graph is `node` alone: operands without constant are inputs of the
// graph, those with one are initializers, both under their own names; a name that another value
// of the node has already gets its position behind it. Dimensions of unknown rank are left out.
// The IR version is the least that has the element types. A file of that name is replaced only
// when the new one is complete. UNSUPPORTED for values that are no tensors, for graphs, sparse
// constants and type attributes, and for chains of post-operations; IO; OUT_OF_MEMORY.
int32_t rt_node_file_write(const char *path, const ops_node *node, ops_error *error);

#endif  // RT_MODEL_NODE_FILE_H_
