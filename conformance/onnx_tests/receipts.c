// SPDX-License-Identifier: Apache-2.0
//
// The placement of a session as the report keeps it. See receipts.h.
#include "onnx_tests/receipts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "report/nodes.h"

typedef char op_text[160];

static const char *op_name(const opsrt_placement *node, op_text text) {
  const bool standard = !node->domain[0] || strcmp(node->domain, "ai.onnx") == 0;
  snprintf(text, sizeof(op_text), "%s%s%s", standard ? "" : node->domain, standard ? "" : ".",
           node->op);
  return text;
}

static void print_sums(const oc_node_run *runs, size_t count, char *text, size_t size) {
  oc_node_sum sums[OC_NODES_MAX_PROVIDERS];
  const size_t providers = oc_nodes_sum(runs, count, sums);
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < providers && used < size; ++i) {
    used += (size_t)snprintf(text + used, size - used, "%s%s: %llu", i ? ", " : "",
                             sums[i].provider, (unsigned long long)sums[i].count);
  }
}

int32_t oc_receipts_note(const opsrt_session *session, int nodes, oc_result *result,
                         bool *out_preferred, ops_error *error) {
  const size_t count = (size_t)opsrt_session_placement_count(session);
  oc_node_run *runs = calloc(count + 1, sizeof *runs);
  op_text *ops = calloc(count + 1, sizeof *ops);
  int32_t status = OPS_ERROR_OUT_OF_MEMORY;
  bool preferred = false;
  if (runs && ops) {
    for (size_t i = 0; i < count; ++i) {
      const opsrt_placement *node = opsrt_session_placement(session, i);
      runs[i] = (oc_node_run){.node = node->node,
                              .op = op_name(node, ops[i]),
                              .provider = node->provider,
                              .reason = node->reason};
      preferred = preferred || !node->reason[0];
    }
    print_sums(runs, count, result->implementation, sizeof result->implementation);
    status = oc_nodes_append(nodes, result->case_index, runs, count, error);
  } else {
    ops_error_set(error, status, "no memory for the list of nodes");
  }
  *out_preferred = preferred;
  free(runs);
  free(ops);
  return status;
}
