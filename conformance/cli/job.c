// SPDX-License-Identifier: Apache-2.0
//
// A worker's bench. This code runs in worker processes only.
#include "cli/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bake/bake.h"
#include "checks/trial.h"
#include "cli/operators.h"
#include "models/trial.h"
#include "onnx_tests/trial.h"
#include "ops_support/error.h"
#include "report/file.h"

static void copy_str(char *text, size_t size, ops_str source) {
  snprintf(text, size, "%.*s", OPS_STR_FMT(source));
}

void oc_job_identify(const oc_target *target, oc_identity *out) {
  const ops_provider *provider = target->provider;
  copy_str(out->name, sizeof out->name, provider->name);
  copy_str(out->vendor, sizeof out->vendor, provider->vendor);
  copy_str(out->version, sizeof out->version, provider->version);
  copy_str(out->device, sizeof out->device, target->info.name);
  copy_str(out->architecture, sizeof out->architecture, target->info.architecture);
  copy_str(out->driver, sizeof out->driver, target->info.driver_version);
  copy_str(out->fingerprint, sizeof out->fingerprint, target->info.fingerprint);
  snprintf(out->path, sizeof out->path, "%s", ops_library_path(target->library));
  out->kernels = provider->kernel_count;
  out->driver_threads = (target->info.flags & OPS_DEVICE_DRIVER_THREADS) != 0;
  out->abi = ops_library_version(target->library);
  for (uint64_t i = 0; i < provider->kernel_count; ++i) {
    const ops_kernel_def *def =
        (const ops_kernel_def *)((const char *)provider->kernels + i * provider->kernel_stride);
    for (size_t k = 0; k < def->input_count; ++k) {
      const ops_arg_def *arg = ops_kernel_def_input(def, k);
      if (arg && arg->memory_kind == OPS_MEMORY_DEVICE) out->device_memory = 1;
    }
  }
}

// A provider that is judged by itself is always right.
static int32_t refuse_self(const oc_target *candidate, const oc_target *oracle,
                           ops_error *error) {
  char a[65], b[65];
  const char *path = ops_library_path(candidate->library);
  OPS_RETURN_IF_ERROR(oc_file_hash(path, a, error));
  OPS_RETURN_IF_ERROR(oc_file_hash(ops_library_path(oracle->library), b, error));
  if (strcmp(a, b) != 0) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "'%s' is the oracle itself, which cannot judge itself; name another "
                       "provider, or another oracle with --oracle",
                       path);
}

void oc_job_split_options(const oc_options *options, ops_key_value pairs[OC_OPTIONS_MAX_LIST]) {
  for (size_t i = 0; i < options->option_count; ++i) {
    const char *text = options->options[i], *equals = strchr(text, '=');
    pairs[i] = (ops_key_value){.key = {text, (uint64_t)(equals - text)},
                               .value = {equals + 1, strlen(equals + 1)}};
  }
}

// `pairs` must live as long as the result is used.
static oc_target_options candidate_options(const oc_job *job,
                                           ops_key_value pairs[OC_OPTIONS_MAX_LIST]) {
  const oc_options *options = job->options;
  oc_job_split_options(options, pairs);
  return (oc_target_options){.name = job->provider,
                             .provider_dir = job->provider_dir,
                             .options = pairs,
                             .option_count = options->option_count};
}

// A bench and what its options point to.
typedef struct bench_state {
  oc_bench bench;
  ops_key_value options[OC_OPTIONS_MAX_LIST];
  oc_sample *samples;
} bench_state;

static int32_t open_bench(void *context, oc_beacon *beacon, void **out_state,
                          oc_hello *out_hello, ops_error *error) {
  const oc_job *job = context;
  bench_state *state = calloc(1, sizeof *state);
  if (!state) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a bench");
  oc_bench *bench = &state->bench;
  bench->beacon = beacon;
  bench->cases = job->cases;
  bench->profile = job->options->profile;
  bench->tier = job->options->tier;
  bench->candidate_options = candidate_options(job, state->options);
  bench->samples = state->samples = oc_sample_all(job->cases);
  oc_environment_take(&bench->environment);
  int32_t status = oc_target_open(&bench->candidate, &bench->candidate_options, error);
  const oc_target_options oracle = {.name = job->oracle, .provider_dir = job->provider_dir};
  if (status == OPS_OK) {
    status = oc_target_open(&bench->oracle, &oracle, error);
    if (status != OPS_OK) ops_error_prefix(error, "the oracle");
  }
  if (status == OPS_OK) status = refuse_self(&bench->candidate, &bench->oracle, error);
  if (status != OPS_OK) {
    oc_target_close(&bench->oracle, NULL);
    oc_target_close(&bench->candidate, NULL);
    free(state->samples);
    free(state);
    return status;
  }
  oc_job_identify(&bench->candidate, &out_hello->candidate);
  oc_job_identify(&bench->oracle, &out_hello->oracle);
  oc_operators_check_provider(bench->candidate.provider, out_hello->stray,
                              sizeof out_hello->stray, out_hello->foreign,
                              sizeof out_hello->foreign);
  *out_state = state;
  return OPS_OK;
}

static void run_trial(void *state, uint32_t index, oc_result *out_result) {
  bench_state *bench = state;
  oc_trial_run(&bench->bench, index, out_result);
}

static void run_claim(void *state, uint32_t index, oc_result *out_result) {
  bench_state *bench = state;
  oc_trial_claim(&bench->bench, index, out_result);
}

static int32_t close_bench(void *state, ops_error *error) {
  bench_state *open = state;
  const int32_t status = oc_target_close(&open->bench.candidate, error);
  oc_target_close(&open->bench.oracle, NULL);
  free(open->samples);
  free(open);
  return status;
}

static const char *name_case(void *context, uint32_t index) {
  const oc_job *job = context;
  return job->cases->items[index].id;
}

// ---- Storing --------------------------------------------------------------------------------

typedef struct oven {
  oc_bench bench;  // of which the oracle alone is open
  const char *folder;
} oven;

static int32_t open_oven(void *context, oc_beacon *beacon, void **out_state,
                         oc_hello *out_hello, ops_error *error) {
  const oc_job *job = context;
  const oc_target_options oracle = {.name = job->oracle, .provider_dir = job->provider_dir};
  oven *state = calloc(1, sizeof *state);
  if (!state) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a bench");
  state->folder = job->bake;
  state->bench.beacon = beacon;
  state->bench.cases = job->cases;
  state->bench.profile = job->options->profile;
  const int32_t status = oc_target_open(&state->bench.oracle, &oracle, error);
  if (status != OPS_OK) {
    free(state);
    return ops_error_prefix(error, "the oracle");
  }
  oc_job_identify(&state->bench.oracle, &out_hello->oracle);
  out_hello->candidate = out_hello->oracle;
  *out_state = state;
  return OPS_OK;
}

static void run_oven(void *state, uint32_t index, oc_result *out_result) {
  oven *baking = state;
  oc_bake_run(&baking->bench, baking->folder, index, out_result);
}

static int32_t close_oven(void *state, ops_error *error) {
  (void)error;
  oven *baking = state;
  oc_target_close(&baking->bench.oracle, NULL);
  free(baking);
  return OPS_OK;
}

// ---- Models ---------------------------------------------------------------------------------

// Providers belong to the sessions, one per case; the bench says which.
typedef struct model_bench {
  oc_onnx_bench onnx;
  ops_key_value options[OC_OPTIONS_MAX_LIST];
} model_bench;

// Opens both, notes who they are, and closes them again.
static int32_t look_at_providers(const oc_job *job, oc_hello *out_hello, bool *out_same,
                                 ops_error *error) {
  oc_target candidate = {0}, oracle = {0};
  const oc_target_options oracle_options = {.name = job->oracle,
                                            .provider_dir = job->provider_dir};
  ops_key_value pairs[OC_OPTIONS_MAX_LIST];
  const oc_target_options candidate_option = candidate_options(job, pairs);
  int32_t status = oc_target_open(&candidate, &candidate_option, error);
  if (status == OPS_OK) {
    status = oc_target_open(&oracle, &oracle_options, error);
    if (status != OPS_OK) ops_error_prefix(error, "the provider behind it");
  }
  if (status == OPS_OK) {
    oc_job_identify(&candidate, &out_hello->candidate);
    oc_job_identify(&oracle, &out_hello->oracle);
    *out_same = refuse_self(&candidate, &oracle, error) != OPS_OK;
  }
  oc_target_close(&oracle, NULL);
  oc_target_close(&candidate, NULL);
  return status;
}

static int32_t open_models(void *context, oc_beacon *beacon, void **out_state,
                           oc_hello *out_hello, ops_error *error) {
  const oc_job *job = context;
  bool same = job->bake != NULL;  // then there is no other than the oracle
  if (!job->bake) OPS_RETURN_IF_ERROR(look_at_providers(job, out_hello, &same, error));
  model_bench *bench = calloc(1, sizeof *bench);
  if (!bench) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a bench");
  oc_job_split_options(job->options, bench->options);
  bench->onnx = (oc_onnx_bench){.suite = job->suite,
                                .expand_functions = job->options->expand_functions,
                                .level = job->options->level,
                                .disabled_passes = job->options->disabled_passes,
                                .disabled_pass_count = job->options->disabled_pass_count,
                                .beacon = beacon,
                                .providers = {{.name = job->provider,
                                               .options = bench->options,
                                               .option_count = job->options->option_count},
                                              {.name = job->oracle}},
                                .store = job->bake,
                                .provider_count = same ? 1 : 2,
                                .provider_dir = job->provider_dir,
                                .nodes = job->nodes};
  if (job->bake) bench->onnx.providers[0] = bench->onnx.providers[1];
  *out_state = bench;
  return OPS_OK;
}

static void run_model(void *state, uint32_t index, oc_result *out_result) {
  const model_bench *bench = state;
  oc_onnx_trial_run(&bench->onnx, index, out_result);
}

static int32_t close_models(void *state, ops_error *error) {
  (void)error;
  free(state);
  return OPS_OK;
}

// ---- One model ------------------------------------------------------------------------------

typedef struct network_bench {
  oc_model_bench model;
  ops_key_value options[OC_OPTIONS_MAX_LIST];
} network_bench;

static int32_t open_network(void *context, oc_beacon *beacon, void **out_state,
                            oc_hello *out_hello, ops_error *error) {
  const oc_job *job = context;
  bool same;
  OPS_RETURN_IF_ERROR(look_at_providers(job, out_hello, &same, error));
  if (same) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "'%s' is the oracle itself, which cannot judge itself; name another "
                         "provider, or another oracle with --oracle",
                         job->options->provider);
  }
  network_bench *bench = calloc(1, sizeof *bench);
  if (!bench) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a bench");
  oc_job_split_options(job->options, bench->options);
  bench->model = (oc_model_bench){.list = job->models,
                                  .beacon = beacon,
                                  .oracle = {job->models->path, job->oracle, job->provider_dir},
                                  .providers = {{.name = job->provider,
                                                 .options = bench->options,
                                                 .option_count = job->options->option_count},
                                                {.name = job->oracle}},
                                  .profile = job->options->profile,
                                  .nodes = job->nodes};
  *out_state = bench;
  return OPS_OK;
}

static void run_network(void *state, uint32_t index, oc_result *out_result) {
  network_bench *bench = state;
  oc_model_trial_run(&bench->model, index, out_result);
}

static int32_t close_network(void *state, ops_error *error) {
  network_bench *bench = state;
  (void)error;
  oc_model_bench_finish(&bench->model);
  free(bench);
  return OPS_OK;
}

oc_worker_job oc_job_worker(const oc_job *job) {
  if (job->bake && !job->suite) {
    return (oc_worker_job){.context = (void *)(uintptr_t)job,
                           .open = open_oven,
                           .run = run_oven,
                           .close = close_oven};
  }
  if (job->models) {
    return (oc_worker_job){.context = (void *)(uintptr_t)job,
                           .open = open_network,
                           .run = run_network,
                           .close = close_network};
  }
  if (job->suite) {
    return (oc_worker_job){.context = (void *)(uintptr_t)job,
                           .open = open_models,
                           .run = run_model,
                           .close = close_models};
  }
  const bool claims = job->options->mode == OC_MODE_SUPPORT;
  return (oc_worker_job){.context = (void *)(uintptr_t)job,
                         .open = open_bench,
                         .run = claims ? run_claim : run_trial,
                         .close = close_bench,
                         .name = name_case};
}
