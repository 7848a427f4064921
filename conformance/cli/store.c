// SPDX-License-Identifier: Apache-2.0
//
// Cases stored as models, by workers like those that judge.
#include <stdio.h>

#include "cli/job.h"
#include "cli/session.h"
#include "runner/pool.h"

static void on_oven_open(void *context, const oc_hello *hello) {
  (void)context;
  (void)hello;
}

static void on_oven_refused(void *context, const ops_error *error) {
  oc_stored *done = context;
  ++done->failed;
  fprintf(stderr, "opsconform: error: %s\n", error->message);
}

static void on_stored(void *context, const oc_result *result) {
  oc_stored *done = context;
  const bool known = result->case_index < done->session->cases->count;
  if (result->status == OC_STATUS_PASS) {
    ++done->stored;
    return;
  }
  ++done->failed;
  fprintf(stderr, "opsconform: error: %s is not stored: %s %s\n",
          known ? done->session->cases->items[result->case_index].id : "the oracle",
          oc_status_name(result->status), result->message);
}

int32_t oc_session_store(oc_session *session, const char *folder, const uint32_t *indices,
                         size_t count, oc_stored *out_stored, ops_error *error) {
  const oc_options *options = &session->options;
  const oc_job job = {.options = options,
                      .cases = session->cases,
                      .suite = session->suite,
                      .nodes = session->nodes_file,
                      .bake = folder,
                      .provider = options->provider ? session->provider_path : NULL,
                      .oracle = session->oracle_path,
                      .provider_dir = session->provider_dir};
  const oc_pool_options pool = {.jobs = options->jobs,
                                .timeout = options->timeout,
                                .open_timeout = OC_LEAST_OPEN_TIMEOUT,
                                .job = oc_job_worker(&job)};
  *out_stored = (oc_stored){.session = session};
  const oc_pool_events events = {.context = out_stored,
                                 .hello = on_oven_open,
                                 .refused = on_oven_refused,
                                 .result = on_stored};
  return oc_pool_run(&pool, &events, indices, count, error);
}
