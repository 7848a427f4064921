// SPDX-License-Identifier: Apache-2.0
//
// A graph of several nodes, for what concerns groups: built from a table, evaluated on the
// oracle node by node, and shown to a provider whole or in parts, as a host would. All values
// are whole numbers in float32, small enough that every order of operations is exact, so a
// group's results must equal those of the single nodes.
#ifndef OC_CHECKS_NET_H_
#define OC_CHECKS_NET_H_

#include "checks/scratch.h"

#define OC_NET_MAX_NODES 8
#define OC_NET_MAX_INPUTS 2
#define OC_NET_MAX_VALUES 24

// Operators besides those of ONNX: one that no provider knows, which stands for a node that
// another device runs, and an If whose branches capture the value that is its input here:
// Relu where the condition, an input of the graph, is true, else Neg.
#define OC_NET_FOREIGN "Foreign"
#define OC_NET_IF "If"

typedef struct oc_net_row {
  const char *op;                 // NULL ends the table
  int inputs[OC_NET_MAX_INPUTS];  // numbers of values; -1: none
} oc_net_row;

// Values are numbered: inputs, constants, then one result for each row.
typedef struct oc_net_spec {
  const char *name;
  int inputs, constants;
  oc_net_row rows[OC_NET_MAX_NODES + 1];
  uint32_t outputs;  // bit i: the result of row i is an output of the graph, whoever reads it
} oc_net_spec;

typedef struct oc_net {
  oc_trial *trial;
  oc_target *target;
  const oc_net_spec *spec;
  oc_scratch scratch;
  int node_count;
  int64_t condition;  // number of the value that decides an If; -1: there is none
  char names[OC_NET_MAX_VALUES][8];
  ops_node nodes[OC_NET_MAX_NODES];
  ops_operand inputs[OC_NET_MAX_NODES][OC_NET_MAX_INPUTS];
  ops_operand outputs[OC_NET_MAX_NODES];
  // The branches of an If.
  ops_node branch_nodes[2];
  ops_operand branch_inputs[2], branch_outputs[2];
  ops_graph branches[2];
  const ops_graph *branch_of[2];
  ops_attribute attributes[2];
} oc_net;

// A set of nodes as a graph of its own. Inputs that only branches read are captured, and last;
// outputs are the values used outside.
typedef struct oc_net_part {
  uint32_t members;  // bit i: node i
  ops_graph graph;
  ops_node nodes[OC_NET_MAX_NODES];
  ops_operand inputs[OC_NET_MAX_VALUES];
  ops_operand outputs[OC_NET_MAX_NODES];
} oc_net_part;

// Builds and evaluates the graph; borrows the spec, the trial and the target. A net must not
// move until finish, which accepts one that failed.
int32_t oc_net_init(oc_net *net, const oc_net_spec *spec, oc_trial *trial, oc_target *target,
                    ops_error *error);
void oc_net_finish(oc_net *net);

uint32_t oc_net_all(const oc_net *net);  // the set of all nodes
bool oc_net_is_foreign(const oc_net *net, int node);
void oc_net_cut(oc_net *net, uint32_t members, oc_net_part *out_part);
// Whether some node outside reads from the set and is read by it. *out_first: those members
// that do not depend on the set by way of such a node.
bool oc_net_closes_cycle(const oc_net *net, uint32_t members, uint32_t *out_first);

// "graph diamond, group of Add, Mul"
void oc_net_print(const oc_net *net, uint32_t members, char *text, size_t size);

// A kernel of a part: prepares and executes it on the values of the graph and compares its
// outputs. False: the trial has ended.
bool oc_net_run(oc_net *net, const oc_net_part *part, ops_kernel *kernel,
                const ops_kernel_api *api);

#endif  // OC_CHECKS_NET_H_
