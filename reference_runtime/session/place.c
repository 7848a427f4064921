// SPDX-License-Identifier: Apache-2.0
//
// Placing, and expanding what nobody takes: a node that no provider claims, alone or in a
// group, and that ONNX defines as a function is replaced by the function's nodes; then
// everything is placed anew, since groups may form differently. Each round goes one level down
// into functions, so the rounds are bounded by how deep ONNX nests them.
#include <ops_support/error.h>
#include <stdlib.h>

#include "functions/functions.h"
#include "infer/infer.h"
#include "partition/custom.h"
#include "session/session.h"

static int32_t expand(const opsrt_session *session, rt_graph *graph,
                      const rt_unplaced *unplaced, ops_error *error) {
  for (uint32_t i = 0; i < unplaced->count; ++i)
    OPS_RETURN_IF_ERROR(rt_function_expand(unplaced->nodes[i], error));
  OPS_RETURN_IF_ERROR(rt_infer_graph(graph, NULL, error));
  return rt_custom_infer(graph, session->devices, session->device_count, error);
}

static int32_t place_round(const opsrt_session *session, rt_graph *graph, rt_unplaced *unplaced,
                           rt_partition **out_partition, ops_error *error) {
  unplaced->count = 0;
  OPS_RETURN_IF_ERROR(rt_partition_create(graph, session->devices, session->device_count,
                                          unplaced, out_partition, error));
  return unplaced->count ? expand(session, graph, unplaced, error) : OPS_OK;
}

int32_t rt_session_place(const opsrt_session *session, rt_graph *graph,
                         int32_t expand_functions, rt_partition **out_partition,
                         ops_error *error) {
  rt_unplaced unplaced = {.wanted = rt_function_exists};
  *out_partition = NULL;
  int32_t status = expand_functions ? rt_functions_expand_all(graph, error) : OPS_OK;
  for (uint32_t round = 0; status == OPS_OK && !*out_partition; ++round) {
    if (round > RT_FUNCTIONS_MAX_DEPTH)
      status = ops_error_set(error, OPS_ERROR_INTERNAL,
                             "functions are nested deeper than %u (RT_FUNCTIONS_MAX_DEPTH)",
                             RT_FUNCTIONS_MAX_DEPTH);
    else
      status = place_round(session, graph, &unplaced, out_partition, error);
  }
  free(unplaced.nodes);
  return status;
}
