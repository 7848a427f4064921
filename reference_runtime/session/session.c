// SPDX-License-Identifier: Apache-2.0
//
// The facade: opens providers, takes a model through all stages, and runs it.
#include "session/session.h"

#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "gradient/gradient.h"
#include "graph/save.h"
#include "loader/packed.h"
#include "loader/value.h"
#include "partition/custom.h"

// ---- Providers ------------------------------------------------------------------------------

static void take_record(void *context, const ops_profile_record *record) {
  const rt_session_sink *sink = context;
  if (!atomic_load(&sink->session->measuring))
    rt_profile_add_device(sink->session->profile, sink->device, sink->name, record);
}

static int32_t open_device(opsrt_session *session, const opsrt_session_options *options,
                           const opsrt_provider_spec *spec, const char *provider_dir,
                           ops_error *error) {
  const uint32_t number = session->device_count;
  if (number == RT_MAX_DEVICES)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "more than %u providers; name fewer", RT_MAX_DEVICES);
  rt_session_sink *sink = &session->sinks[number];
  *sink = (rt_session_sink){session, (int32_t)number, ""};
  const ops_host_options host = {.context = sink,
                                 .workers = options->workers,
                                 .log_threshold = OPS_LOG_WARNING - options->verbosity,
                                 .profile = session->profile ? take_record : NULL,
                                 .set_output_shape = rt_call_set_output_shape,
                                 .is_cancelled = rt_call_is_cancelled,
                                 .packed = session->packed};
  const rt_device_spec device = {.provider = spec->name,
                                 .options = spec->options,
                                 .option_count = spec->option_count,
                                 .index = spec->device,
                                 .provider_dir = provider_dir,
                                 .wrapper = options->finding ? &session->wrapper : NULL};
  OPS_RETURN_IF_ERROR(rt_device_open(&device, &host, number, &session->devices[number], error));
  sink->name = session->devices[number]->name;
  session->device_count++;
  return OPS_OK;
}

// Puts a validation layer between the session and each of its providers.
static void validate(opsrt_session *session, const opsrt_session_options *options) {
  session->validation = (ops_validation_sink){options->finding_context, options->finding};
  session->wrapper =
      (ops_library_wrapper){&session->validation, ops_validation_wrap, ops_validation_unwrap};
}

static int has_fallback(const opsrt_session *session) {
  for (uint32_t i = 0; i < session->device_count; ++i)
    if (strcmp(session->devices[i]->name, OPSRT_FALLBACK_PROVIDER) == 0) return 1;
  return 0;
}

static int32_t open_devices(opsrt_session *session, const opsrt_session_options *options,
                            ops_error *error) {
  char buffer[4096];
  validate(session, options);
  const char *provider_dir = options->provider_dir;
  if (!provider_dir) provider_dir = rt_session_provider_dir(buffer, sizeof buffer);
  for (uint64_t i = 0; i < options->provider_count; ++i) {
    const opsrt_provider_spec *spec = &options->providers[i];
    if (!spec->name)
      return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "provider %llu has no name",
                           (unsigned long long)i);
    OPS_RETURN_IF_ERROR(open_device(session, options, spec, provider_dir, error));
  }
  const int wanted = options->provider_count == 0 || !options->no_fallback;
  if (!wanted || has_fallback(session)) return OPS_OK;
  const opsrt_provider_spec fallback = {.name = OPSRT_FALLBACK_PROVIDER};
  return open_device(session, options, &fallback, provider_dir, error);
}

// ---- Sessions -------------------------------------------------------------------------------

// Plans ahead where every input has a fixed shape, which also uploads the weights.
static int32_t warm_up_static(opsrt_session *session, ops_error *error) {
  const uint32_t count = session->graph->input_count;
  opsrt_value *values = calloc((size_t)count + 1, sizeof *values);
  if (!values) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a session");
  int fixed = 1;
  for (uint32_t i = 0; i < count; ++i) {
    const opsrt_info *info = &session->inputs[i];
    fixed = fixed && info->kind == OPS_VALUE_TENSOR && info->rank >= 0;
    for (int32_t k = 0; fixed && k < info->rank; ++k) fixed = info->dims[k] >= 0;
    values[i] = (opsrt_value){
        .name = info->name, .type = info->type, .rank = info->rank, .dims = info->dims};
  }
  const int32_t status = fixed ? opsrt_session_warm_up(session, values, count, error) : OPS_OK;
  free(values);
  return status;
}

// From the model to the graph that is to be placed.
static int32_t prepare(opsrt_session *session, const opsrt_session_options *options,
                       int keep_opsets, ops_error *error) {
  rt_load_clock *clock = &session->clock;
  rt_load_clock_start(clock);
  OPS_RETURN_IF_ERROR(
      rt_session_load(&options->model, clock, &session->model, &session->graph, error));
  if (options->profile) OPS_RETURN_IF_ERROR(rt_profile_create(&session->profile, error));
  session->packed = options->shared_weights
                        ? ops_packed_store_retain((ops_packed_store *)options->shared_weights)
                        : ops_packed_store_create();
  if (!session->packed) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a session");
  OPS_RETURN_IF_ERROR(open_devices(session, options, error));
  rt_load_clock_lap(clock, "open providers");
  OPS_RETURN_IF_ERROR(
      rt_custom_infer(session->graph, session->devices, session->device_count, error));
  OPS_RETURN_IF_ERROR(rt_gradient_expand(session->graph, error));
  OPS_RETURN_IF_ERROR(rt_session_optimize(session, options, keep_opsets, error));
  rt_load_clock_lap(clock, "optimize");
  return OPS_OK;
}

static int32_t check_options(const opsrt_session_options *options, ops_error *error) {
  if (options->arena_extend != OPSRT_ARENA_SAME_AS_REQUESTED &&
      options->arena_extend != OPSRT_ARENA_NEXT_POWER_OF_TWO)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "arena_extend is %d; expected OPSRT_ARENA_SAME_AS_REQUESTED or "
                         "OPSRT_ARENA_NEXT_POWER_OF_TWO",
                         options->arena_extend);
  return OPS_OK;
}

#define LEVEL_OF_LAYOUTS 3

static int32_t build(opsrt_session *session, const opsrt_session_options *options,
                     ops_error *error) {
  OPS_RETURN_IF_ERROR(check_options(options, error));
  OPS_RETURN_IF_ERROR(prepare(session, options, 0, error));
  OPS_RETURN_IF_ERROR(rt_session_rewrite(session, options, error));
  OPS_RETURN_IF_ERROR(rt_session_place(session, session->graph, options->expand_functions,
                                       &session->partition, error));
  rt_load_clock_lap(&session->clock, "place");
  const rt_executor_options executor = {
      .graph = session->graph,
      .partition = session->partition,
      .devices = session->devices,
      .device_count = session->device_count,
      .profile = session->profile,
      .no_reuse = options->no_memory_reuse,
      .branch_threads = options->branch_threads,
      .no_capture = options->no_capture,
      .max_plans = options->max_plans ? options->max_plans : OPSRT_DEFAULT_MAX_PLANS,
      .layouts = options->level >= LEVEL_OF_LAYOUTS,
      .memory = {.arena = {.extend = options->arena_extend, .initial = options->arena_initial},
                 .maximum = options->memory_maximum,
                 .shrink_after_run = options->shrink_after_run}};
  OPS_RETURN_IF_ERROR(rt_executor_create(&executor, &session->executor, error));
  OPS_RETURN_IF_ERROR(rt_session_describe(session, error));
  OPS_RETURN_IF_ERROR(warm_up_static(session, error));
  rt_load_clock_lap(&session->clock, "plan and prepare");
  return OPS_OK;
}

int32_t opsrt_session_create(const opsrt_session_options *options, opsrt_session **out_session,
                             ops_error *error) {
  *out_session = NULL;
  opsrt_session *session = calloc(1, sizeof *session);
  if (!session) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a session");
  const int32_t status = build(session, options, error);
  if (status != OPS_OK) {
    opsrt_session_destroy(session);
    return status;
  }
  *out_session = session;
  return OPS_OK;
}

int32_t opsrt_model_optimize(const opsrt_session_options *options, const char *path,
                             uint64_t *out_hits, ops_error *error) {
  opsrt_session *session = calloc(1, sizeof *session);
  if (!session) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a session");
  int32_t status = prepare(session, options, 1, error);
  if (status == OPS_OK) status = rt_graph_save(session->graph, session->model, path, error);
  for (uint64_t i = 0; status == OPS_OK && out_hits && i < opsrt_pass_count(); ++i)
    out_hits[i] = session->hits[i];
  opsrt_session_destroy(session);
  return status;
}

void opsrt_session_destroy(opsrt_session *session) {
  if (!session) return;
  rt_executor_destroy(session->executor);
  rt_partition_destroy(session->partition);
  for (uint32_t i = session->device_count; i-- > 0;) rt_device_close(session->devices[i]);
  ops_packed_store_release(session->packed);
  rt_profile_destroy(session->profile);
  rt_graph_destroy(session->graph);
  rt_model_destroy(session->model);
  rt_bump_finish(&session->bump);
  free(session->hits);
  free(session->pass_ns);
  free(session->notes);
  free(session);
}

int32_t opsrt_session_run_with(opsrt_session *session, const opsrt_value *inputs,
                               uint64_t input_count, const opsrt_run_options *options,
                               opsrt_result **out_result, ops_error *error) {
  *out_result = NULL;
  rt_session_inputs given;
  rt_interrupt storage;
  const rt_interrupt *interrupt = rt_session_interrupt(options, &storage);
  const uint32_t output_count = session->graph->output_count;
  rt_run_output *outputs = calloc((size_t)output_count + 1, sizeof *outputs);
  if (!outputs) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a run");
  int32_t status = rt_session_inputs_init(&given, session, inputs, input_count, 1, error);
  const rt_run_request request = {
      .inputs = given.items, .outputs = outputs, .interrupt = interrupt};
  if (status == OPS_OK) status = rt_executor_run(session->executor, &request, error);
  if (status == OPS_OK) status = rt_session_result(session, outputs, out_result, error);
  for (uint32_t i = 0; i < output_count; ++i) rt_run_output_finish(&outputs[i]);
  rt_session_inputs_finish(&given);
  free(outputs);
  return status;
}

int32_t opsrt_session_run(opsrt_session *session, const opsrt_value *inputs,
                          uint64_t input_count, opsrt_result **out_result, ops_error *error) {
  return opsrt_session_run_with(session, inputs, input_count, NULL, out_result, error);
}

int32_t opsrt_session_warm_up(opsrt_session *session, const opsrt_value *inputs,
                              uint64_t input_count, ops_error *error) {
  rt_session_inputs given;
  int32_t status = rt_session_inputs_init(&given, session, inputs, input_count, 0, error);
  if (status == OPS_OK) status = rt_executor_warm_up(session->executor, given.items, error);
  rt_session_inputs_finish(&given);
  return status;
}

// ---- Shared weights -------------------------------------------------------------------------

// The handle is the loader's store.
int32_t opsrt_shared_weights_create(opsrt_shared_weights **out_weights, ops_error *error) {
  *out_weights = (opsrt_shared_weights *)ops_packed_store_create();
  return *out_weights ? OPS_OK
                      : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "shared weights");
}

void opsrt_shared_weights_release(opsrt_shared_weights *weights) {
  ops_packed_store_release((ops_packed_store *)weights);
}

uint64_t opsrt_shared_weights_bytes(const opsrt_shared_weights *weights, uint64_t *out_count) {
  const ops_packed_stats stats = ops_packed_store_count((ops_packed_store *)weights);
  if (out_count) *out_count = stats.count;
  return stats.bytes;
}

const ops_value_api *opsrt_value_api(void) {
  return &ops_value_accessors;
}
