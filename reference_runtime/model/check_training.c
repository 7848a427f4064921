// SPDX-License-Identifier: Apache-2.0
//
// The bindings of training information: which initializer gets which output of a step, or of
// the start (TrainingInfoProto of onnx.proto).
#include <ops_support/error.h>

#include "model/check_internal.h"

static int has_initializer(const rt_model_graph *graph, ops_str name) {
  for (size_t i = 0; i < graph->initializer_count; ++i)
    if (rt_check_equal(graph->initializers[i].name, name)) return 1;
  for (size_t i = 0; i < graph->sparse_initializer_count; ++i)
    if (rt_check_equal(graph->sparse_initializers[i].values.name, name)) return 1;
  return 0;
}

static int has_output(const rt_model_graph *graph, ops_str name) {
  for (size_t i = 0; i < graph->output_count; ++i)
    if (rt_check_equal(graph->outputs[i].name, name)) return 1;
  return 0;
}

static int is_bound_before(const ops_key_value *bindings, size_t index) {
  for (size_t i = 0; i < index; ++i)
    if (rt_check_equal(bindings[i].key, bindings[index].key)) return 1;
  return 0;
}

// `kind` is the field of the bindings, `graph` computes what they bind.
static int32_t check_bindings(const rt_checker *checker, const rt_model_training *training,
                              const char *kind, const rt_model_graph *graph,
                              const ops_key_value *bindings, size_t count) {
  if (count > RT_CHECK_MAX_BINDINGS)
    return ops_error_set_cause(
        checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
        "%s has %zu entries; expected at most %d (RT_CHECK_MAX_BINDINGS)", kind, count,
        RT_CHECK_MAX_BINDINGS);
  for (size_t i = 0; i < count; ++i) {
    const ops_str key = bindings[i].key, value = bindings[i].value;
    if (!has_initializer(&checker->model->graph, key) &&
        !has_initializer(&training->algorithm, key))
      return ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_UNDEFINED_NAME,
          "%s binds '%.*s'; expected an initializer of the model's graph or of "
          "the algorithm",
          kind, OPS_STR_FMT(key));
    if (is_bound_before(bindings, i))
      return ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_DUPLICATE_NAME,
          "%s binds '%.*s' twice; expected each initializer once", kind, OPS_STR_FMT(key));
    if (!has_output(graph, value))
      return ops_error_set_cause(
          checker->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_UNDEFINED_NAME,
          "%s gives '%.*s' the value '%.*s'; expected an output of the graph "
          "'%.*s'",
          kind, OPS_STR_FMT(key), OPS_STR_FMT(value), OPS_STR_FMT(graph->name));
  }
  return OPS_OK;
}

int32_t rt_check_trainings(const rt_checker *checker) {
  for (size_t i = 0; i < checker->model->training_count; ++i) {
    const rt_model_training *t = &checker->model->trainings[i];
    int32_t status =
        check_bindings(checker, t, "initialization_binding", &t->initialization,
                       t->initialization_bindings, t->initialization_binding_count);
    if (status == OPS_OK)
      status = check_bindings(checker, t, "update_binding", &t->algorithm, t->update_bindings,
                              t->update_binding_count);
    if (status == OPS_OK) continue;
    ops_error_prefix(checker->error, "training_info %zu", i);
    return status;
  }
  return OPS_OK;
}
