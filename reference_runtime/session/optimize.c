// SPDX-License-Identifier: Apache-2.0
//
// The optimizer at work in a session: what it knows of providers it learns here. Constants are
// folded by a session in small, made of the same devices, so that the kernels are those that
// would have run the nodes.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"
#include "partition/claims.h"
#include "partition/custom.h"
#include "partition/rewrite.h"
#include "passes/passes.h"
#include "session/session.h"

// Sanitized and unoptimised builds prove the graph after every pass.
#ifndef RT_VERIFY_PASSES
#define RT_VERIFY_PASSES 0
#endif

// What the passes are lent.
typedef struct lent {
  const opsrt_session *session;
  rt_claims claims;
} lent;

// ---- Evaluating -----------------------------------------------------------------------------

static int32_t take_strings(rt_run_output *output, rt_constant **out_constant,
                            ops_error *error) {
  const ops_value_api *api = opsrt_value_api();
  const int64_t *dims = NULL;
  int32_t rank = 0;
  int64_t count = 1;
  OPS_RETURN_IF_ERROR(api->strings_shape(output->value, &rank, &dims, error));
  for (int32_t i = 0; i < rank; ++i) count *= dims[i];
  ops_str *strings = calloc((size_t)count + 1, sizeof *strings);
  int32_t status =
      strings ? OPS_OK : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "folding strings");
  for (int64_t i = 0; status == OPS_OK && i < count; ++i)
    status = api->string_get(output->value, (uint64_t)i, &strings[i], error);
  if (status == OPS_OK)
    status = rt_constant_create_strings(rank, dims, strings, out_constant, error);
  free(strings);
  return status;
}

static int32_t take_output(rt_run_output *output, rt_constant **out_constant,
                           ops_error *error) {
  if (output->kind == OPS_VALUE_STRINGS) return take_strings(output, out_constant, error);
  if (output->kind != OPS_VALUE_TENSOR)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "the result is no tensor");
  // Lent data belong to a constant of the graph that is evaluated, which ends soon.
  if (output->lent)
    return rt_constant_create(output->type, output->rank, output->dims, output->data,
                              out_constant, error);
  OPS_RETURN_IF_ERROR(rt_constant_borrow(output->type, output->rank, output->dims,
                                         output->size ? output->data : NULL, output->size, NULL,
                                         free, output->data, out_constant, error));
  output->data = NULL;
  return OPS_OK;
}

static int32_t run_graph(const opsrt_session *session, rt_graph *graph, rt_partition *partition,
                         rt_run_output *outputs, ops_error *error) {
  const rt_executor_options options = {.graph = graph,
                                       .partition = partition,
                                       .devices = session->devices,
                                       .device_count = session->device_count,
                                       .max_plans = 1};
  rt_executor *executor = NULL;
  OPS_RETURN_IF_ERROR(rt_executor_create(&options, &executor, error));
  const int32_t status =
      rt_executor_run(executor, &(rt_run_request){.outputs = outputs}, error);
  rt_executor_destroy(executor);
  return status;
}

static int32_t evaluate(void *user, rt_graph *graph, rt_constant **out_constants,
                        ops_error *error) {
  const opsrt_session *session = ((lent *)user)->session;
  rt_partition *partition = NULL;
  rt_run_output *outputs = calloc(graph->output_count + (size_t)1, sizeof *outputs);
  if (!outputs) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "folding constants");
  int32_t status = rt_infer_graph(graph, NULL, error);
  if (status == OPS_OK)
    status = rt_custom_infer(graph, session->devices, session->device_count, error);
  if (status == OPS_OK) status = rt_session_place(session, graph, 0, &partition, error);
  if (status == OPS_OK) status = run_graph(session, graph, partition, outputs, error);
  for (uint32_t i = 0; status == OPS_OK && i < graph->output_count; ++i)
    status = take_output(&outputs[i], &out_constants[i], error);
  for (uint32_t i = 0; i < graph->output_count; ++i) rt_run_output_finish(&outputs[i]);
  rt_partition_destroy(partition);
  free(outputs);
  return status;
}

// ---- Claims ---------------------------------------------------------------------------------

_Static_assert(RT_CLAIM_NOBODY == RT_CLAIMS_NOBODY, "the optimizer's nobody is the claims'");

static int32_t claim(void *user, const rt_node *node, uint32_t *out_place, ops_error *error) {
  return rt_claims_first(&((lent *)user)->claims, node, out_place, error);
}

// ---- Notes ----------------------------------------------------------------------------------

static void keep_note(opsrt_session *session, const char *pass, int is_hit, const char *text) {
  if (session->note_count == session->note_capacity) {
    const uint64_t capacity = 2 * session->note_capacity + 64;
    opsrt_pass_note *notes = realloc(session->notes, capacity * sizeof *notes);
    if (!notes) return;
    session->notes = notes;
    session->note_capacity = capacity;
  }
  const char *copy = rt_bump_format(&session->bump, "%s", text);
  const char *name = rt_bump_format(&session->bump, "%s", pass);
  if (!copy || !name) return;
  session->notes[session->note_count++] =
      (opsrt_pass_note){.pass = name, .hit = is_hit, .text = copy};
}

static void take_note(void *user, const rt_pass_info *pass, int32_t kind, const char *text) {
  keep_note(user, pass->name, kind == RT_PASS_HIT, text);
}

static void take_rewrite(void *user, int is_hit, const char *rule, const char *text) {
  keep_note(user, rule, is_hit, text);
}

// ---- Entry ----------------------------------------------------------------------------------

_Static_assert(OPSRT_PRECISION_MIXED == RT_PRECISION_MIXED, "precisions go on as they are");

static int32_t copy_overrides(opsrt_session *session, const opsrt_session_options *options,
                              rt_precision_override **out_overrides, ops_error *error) {
  const uint64_t count = options->precision_override_count;
  rt_precision_override *copies = rt_bump_new(&session->bump, count, sizeof *copies);
  if (!copies) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a session");
  for (uint64_t i = 0; i < count; ++i)
    copies[i] = (rt_precision_override){options->precision_overrides[i].name,
                                        options->precision_overrides[i].precision};
  *out_overrides = copies;
  return OPS_OK;
}

int32_t rt_session_optimize(opsrt_session *session, const opsrt_session_options *options,
                            int keep_opsets, ops_error *error) {
  rt_precision_override *overrides = NULL;
  OPS_RETURN_IF_ERROR(copy_overrides(session, options, &overrides, error));
  lent lent = {.session = session,
               .claims = {.devices = session->devices, .device_count = session->device_count}};
  const rt_passes_options passes = {
      .level = options->level,
      .disabled = options->disabled_passes,
      .disabled_count = options->disabled_pass_count,
      .freeze_initializers = options->freeze_initializers,
      .keep_opsets = keep_opsets,
      .precision = options->precision,
      .overrides = overrides,
      .override_count = options->precision_override_count,
      .verify = RT_VERIFY_PASSES || options->explain,
      .host = {.user = &lent, .evaluate = evaluate, .claim = claim},
      .note = options->explain ? take_note : NULL,
      .note_user = session};
  session->hits = calloc(rt_passes_count(), sizeof *session->hits);
  session->pass_ns = calloc(rt_passes_count(), sizeof *session->pass_ns);
  if (!session->hits || !session->pass_ns)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a session");
  const int32_t status =
      rt_passes_run(session->graph, &passes, session->hits, session->pass_ns, error);
  rt_claims_finish(&lent.claims);
  return status == OPS_OK ? OPS_OK : ops_error_prefix(error, "optimizing the model");
}

int32_t rt_session_rewrite(opsrt_session *session, const opsrt_session_options *options,
                           ops_error *error) {
  if (options->no_rewrites) return OPS_OK;
  return rt_partition_rewrite(session->graph, session->devices, session->device_count,
                              options->explain ? take_rewrite : NULL, session, error);
}

uint64_t opsrt_pass_count(void) {
  return rt_passes_count();
}

void opsrt_pass_at(uint64_t index, opsrt_pass *out_pass) {
  const rt_pass_info *info = rt_passes_info((uint32_t)index);
  *out_pass = (opsrt_pass){0};
  if (index < rt_passes_count())
    *out_pass = (opsrt_pass){.name = info->name, .level = info->level, .doc = info->doc};
}

uint64_t opsrt_session_pass_hits(const opsrt_session *session, uint64_t index) {
  return index < rt_passes_count() ? session->hits[index] : 0;
}

uint64_t opsrt_session_pass_ns(const opsrt_session *session, uint64_t index) {
  return index < rt_passes_count() ? session->pass_ns[index] : 0;
}

uint64_t opsrt_session_load_phase_count(const opsrt_session *session) {
  return session->clock.count;
}

const opsrt_load_phase *opsrt_session_load_phase(const opsrt_session *session, uint64_t index) {
  return index < session->clock.count ? &session->clock.phases[index] : NULL;
}

uint64_t opsrt_session_pass_note_count(const opsrt_session *session) {
  return session->note_count;
}

const opsrt_pass_note *opsrt_session_pass_note(const opsrt_session *session, uint64_t index) {
  return index < session->note_count ? &session->notes[index] : NULL;
}
