// SPDX-License-Identifier: Apache-2.0
//
// The optimizer at work in a session: what it knows of providers it learns here. Constants are
// folded by a session in small, made of the same devices, so that the kernels are those that
// would have run the nodes.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"
#include "partition/custom.h"
#include "passes/passes.h"
#include "session/session.h"

// Sanitized and unoptimised builds prove the graph after every pass.
#ifndef RT_VERIFY_PASSES
#define RT_VERIFY_PASSES 0
#endif

// What the passes are lent.
typedef struct claims {
  const opsrt_session *session;
  rt_views views;
  int open;
  uint32_t asked;  // since the views were opened
} claims;

typedef struct lent {
  const opsrt_session *session;
  claims claims;
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
  const int32_t status = rt_executor_run(executor, NULL, NULL, outputs, error);
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

static int32_t ask_devices(const opsrt_session *session, const ops_node *view,
                           uint32_t *out_place, ops_error *error) {
  *out_place = RT_CLAIM_NOBODY;
  for (uint32_t i = 0; i < session->device_count; ++i) {
    const rt_device *device = session->devices[i];
    const ops_kernel_def *def = NULL;
    ops_claim claim = {.struct_size = sizeof claim};
    OPS_RETURN_IF_ERROR(
        ops_library_claim(device->library, device->device, view, &def, &claim, error));
    if (!def || claim.answer != OPS_CLAIM_SUPPORTED) continue;
    *out_place = i;
    return OPS_OK;
  }
  return OPS_OK;
}

// The graph changes between questions, so the views of a node are made for its question alone;
// the arrays behind them, which are as large as the graph, serve many.
#define VIEW_ROOM 4096u

static int32_t open_views(claims *c, const rt_graph *root, ops_error *error) {
  if (c->open && rt_views_have_room(&c->views) && c->asked < VIEW_ROOM) return OPS_OK;
  if (c->open) rt_views_finish(&c->views);
  c->open = 1;
  c->asked = 0;
  OPS_RETURN_IF_ERROR(rt_views_init_room(&c->views, root, VIEW_ROOM, error));
  c->views.devices = c->session->devices;
  c->views.device_count = c->session->device_count;
  return OPS_OK;
}

static int32_t claim(void *user, const rt_node *node, uint32_t *out_place, ops_error *error) {
  claims *c = &((lent *)user)->claims;
  const ops_node *view = NULL;
  OPS_RETURN_IF_ERROR(open_views(c, node->graph->root, error));
  c->asked++;
  int32_t status = rt_views_node(&c->views, node, &view, error);
  if (status == OPS_OK) status = ask_devices(c->session, view, out_place, error);
  rt_views_forget(&c->views, node);
  return status;
}

// ---- Notes ----------------------------------------------------------------------------------

static void take_note(void *user, const rt_pass_info *pass, int32_t kind, const char *text) {
  opsrt_session *session = user;
  if (session->note_count == session->note_capacity) {
    const uint64_t capacity = 2 * session->note_capacity + 64;
    opsrt_pass_note *notes = realloc(session->notes, capacity * sizeof *notes);
    if (!notes) return;
    session->notes = notes;
    session->note_capacity = capacity;
  }
  const char *copy = rt_bump_format(&session->bump, "%s", text);
  if (!copy) return;
  session->notes[session->note_count++] =
      (opsrt_pass_note){.pass = pass->name, .hit = kind == RT_PASS_HIT, .text = copy};
}

// ---- Entry ----------------------------------------------------------------------------------

int32_t rt_session_optimize(opsrt_session *session, const opsrt_session_options *options,
                            int keep_opsets, ops_error *error) {
  lent lent = {.session = session, .claims = {.session = session}};
  const rt_passes_options passes = {
      .level = options->level,
      .disabled = options->disabled_passes,
      .disabled_count = options->disabled_pass_count,
      .freeze_initializers = options->freeze_initializers,
      .keep_opsets = keep_opsets,
      .verify = RT_VERIFY_PASSES || options->explain,
      .host = {.user = &lent, .evaluate = evaluate, .claim = claim},
      .note = options->explain ? take_note : NULL,
      .note_user = session};
  session->hits = calloc(rt_passes_count(), sizeof *session->hits);
  if (!session->hits) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a session");
  const int32_t status = rt_passes_run(session->graph, &passes, session->hits, error);
  if (lent.claims.open) rt_views_finish(&lent.claims.views);
  return status == OPS_OK ? OPS_OK : ops_error_prefix(error, "optimizing the model");
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

uint64_t opsrt_session_pass_note_count(const opsrt_session *session) {
  return session->note_count;
}

const opsrt_pass_note *opsrt_session_pass_note(const opsrt_session *session, uint64_t index) {
  return index < session->note_count ? &session->notes[index] : NULL;
}
