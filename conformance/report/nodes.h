// SPDX-License-Identifier: Apache-2.0
//
// Which provider ran which node, for cases that are whole models. A result has a fixed size, so
// this crosses from the workers in a file that they share: each appends the record of a case in
// one write, and the harness reads the file at the end.
#ifndef OC_REPORT_NODES_H_
#define OC_REPORT_NODES_H_

#include <ops/status.h>
#include <stddef.h>
#include <stdint.h>

#define OC_NODES_MAX_BYTES (1u << 30)  // of the file
#define OC_NODES_MAX_PROVIDERS 16

typedef struct oc_node_run {
  uint32_t case_index;
  const char *node;  // its name in the model, may be empty
  const char *op;    // "Relu", "com.microsoft.Gelu"
  const char *provider;
  const char *reason;  // why no more preferred provider runs it; empty for the first choice
} oc_node_run;

typedef struct oc_nodes {
  oc_node_run *items;  // by case, in the order of the model
  size_t count;
  char *text;  // what the items point to
} oc_nodes;

// A file without a name, shared with forks. -1 if there is none to be had.
int oc_nodes_file(void);

// Appends the record of a case; the fields of the items but case_index are written.
int32_t oc_nodes_append(int file, uint32_t case_index, const oc_node_run *items, size_t count,
                        ops_error *error);

// Of a case that was run twice the last record stands. Texts are cleaned to printable UTF-8;
// lines that are no record are left out.
int32_t oc_nodes_read(int file, oc_nodes *out_nodes, ops_error *error);
void oc_nodes_finish(oc_nodes *nodes);  // accepts a zeroed one

// The nodes of one case; *out_count may be 0.
const oc_node_run *oc_nodes_of(const oc_nodes *nodes, uint32_t case_index, size_t *out_count);

// How many nodes each provider ran, in order of appearance. Returns how many providers, at most
// OC_NODES_MAX_PROVIDERS; further ones are not counted.
typedef struct oc_node_sum {
  const char *provider;
  uint64_t count;
} oc_node_sum;
size_t oc_nodes_sum(const oc_node_run *items, size_t count,
                    oc_node_sum sums[OC_NODES_MAX_PROVIDERS]);

#endif  // OC_REPORT_NODES_H_
