// SPDX-License-Identifier: Apache-2.0
//
// From bytes to a graph with types: load, check, build, infer.
#include <ops_support/error.h>

#include "graph/build.h"
#include "infer/infer.h"
#include "model/check.h"
#include "session/session.h"

static int32_t load_bytes(const opsrt_model_source *source, rt_model **out_model,
                          ops_error *error) {
  *out_model = NULL;
  if (source->path) return rt_model_load_file(source->path, NULL, out_model, error);
  if (!source->data)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "no model: give a path, or data and their size");
  return rt_model_load_bytes(source->data, source->size, source->base_dir, NULL, out_model,
                             error);
}

static int32_t build(rt_model *model, rt_load_clock *clock, rt_graph **out_graph,
                     ops_error *error) {
  OPS_RETURN_IF_ERROR(rt_model_check(model, error));
  rt_load_clock_lap(clock, "check");
  OPS_RETURN_IF_ERROR(rt_graph_from_model(model, NULL, out_graph, error));
  rt_load_clock_lap(clock, "build the graph");
  OPS_RETURN_IF_ERROR(rt_infer_graph(*out_graph, NULL, error));
  rt_load_clock_lap(clock, "infer shapes");
  return OPS_OK;
}

int32_t rt_session_load(const opsrt_model_source *source, rt_load_clock *clock,
                        rt_model **out_model, rt_graph **out_graph, ops_error *error) {
  rt_model *model = NULL;
  rt_graph *graph = NULL;
  *out_model = NULL;
  *out_graph = NULL;
  OPS_RETURN_IF_ERROR(load_bytes(source, &model, error));  // the error names the file
  rt_load_clock_lap(clock, "read");
  const int32_t status = build(model, clock, &graph, error);
  if (status != OPS_OK) {
    rt_graph_destroy(graph);
    rt_model_destroy(model);
    return source->path ? ops_error_prefix(error, "%s", source->path) : status;
  }
  *out_model = model;
  *out_graph = graph;
  return OPS_OK;
}

int32_t opsrt_model_check(const opsrt_model_source *source, ops_error *error) {
  rt_model *model = NULL;
  rt_graph *graph = NULL;
  rt_load_clock clock = {0};
  OPS_RETURN_IF_ERROR(rt_session_load(source, &clock, &model, &graph, error));
  rt_graph_destroy(graph);
  rt_model_destroy(model);
  return OPS_OK;
}
