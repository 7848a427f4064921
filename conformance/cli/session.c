// SPDX-License-Identifier: Apache-2.0
//
// Places, cases and selection of a run.
#include "cli/session.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/provider_case.h"
#include "cli/journaling.h"
#include "cli/operators.h"
#include "loader/locate.h"
#include "ops_support/error.h"
#include "report/file.h"

#define ORACLE_FILE "libops_reference.so"

// ---- Places ---------------------------------------------------------------------------------

// `relative` to the folder of this program if that exists, else `installed`.
static void find_place(const char *relative, const char *installed, char *out, size_t size) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length > 0) {
    path[length] = 0;
    char *slash = strrchr(path, '/');
    if (slash) {
      *slash = 0;
      const int used = snprintf(out, size, "%s/%s", path, relative);
      if (used > 0 && (size_t)used < size && access(out, R_OK) == 0) return;
    }
  }
  snprintf(out, size, "%s", installed);
}

// The absolute path of a provider. A name that leads nowhere stays: opening it tells what was
// tried.
static void resolve(const char *name, const char *provider_dir, char out_path[PATH_MAX]) {
  ops_error error = OPS_ERROR_INIT;
  out_path[0] = 0;
  if (name && ops_library_locate(name, provider_dir, out_path, &error) != OPS_OK)
    snprintf(out_path, PATH_MAX, "%s", name);
}

static void find_places(oc_session *session) {
  const oc_options *options = &session->options;
  find_place(OPS_CONTRACTS_DIR_FROM_BIN, OPS_CONTRACTS_DIR, session->shipped_path,
             sizeof session->shipped_path);
  find_place(OPS_PROVIDER_DIR_FROM_BIN, OPS_PROVIDER_DIR, session->provider_dir,
             sizeof session->provider_dir);
  find_place(OPS_PROVIDER_DIR_FROM_BIN "/" ORACLE_FILE, OPS_PROVIDER_DIR "/" ORACLE_FILE,
             session->oracle_path, sizeof session->oracle_path);
  snprintf(session->contracts_path, sizeof session->contracts_path, "%s",
           options->contracts ? options->contracts : session->shipped_path);
  if (options->oracle)
    snprintf(session->oracle_path, sizeof session->oracle_path, "%s", options->oracle);
  resolve(options->provider, session->provider_dir, session->provider_path);
  char oracle[PATH_MAX];
  resolve(session->oracle_path, session->provider_dir, oracle);
  memcpy(session->oracle_path, oracle, sizeof oracle);
}

// ---- Cases ----------------------------------------------------------------------------------

static int32_t check_op(const oc_session *session, ops_error *error) {
  const char *wanted = session->options.op;
  for (size_t i = 0; wanted && i < session->contracts->count; ++i) {
    char name[128];
    oc_case_op_name(&session->contracts->items[i], name, sizeof name);
    if (strcmp(name, wanted) == 0) return OPS_OK;
  }
  if (!wanted) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "--op: no contract in '%s' describes '%s'; --mode list shows all cases",
                       session->contracts_path, wanted);
}

// The cases that match the filter, of these every N-th.
static int32_t select_cases(oc_session *session, ops_error *error) {
  const oc_options *options = &session->options;
  const size_t count = session->cases->count;
  session->matched = calloc(count + 1, sizeof *session->matched);
  session->selected = calloc(count + 1, sizeof *session->selected);
  if (!session->matched || !session->selected) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory");
  }
  for (size_t i = 0; i < count; ++i) {
    if (options->filter && fnmatch(options->filter, session->cases->items[i].id, 0) != 0)
      continue;
    session->matched[session->matched_count++] = (uint32_t)i;
  }
  for (size_t i = options->shard_index - 1; i < session->matched_count;
       i += options->shard_count) {
    session->selected[session->selected_count++] = session->matched[i];
  }
  return OPS_OK;
}

// The texts of what checks cite. A program without them reports ids alone.
static int32_t load_clauses(oc_session *session, ops_error *error) {
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/provider", session->shipped_path);
  const int32_t status = oc_clauses_load(path, &session->clauses, error);
  return status == OPS_ERROR_NOT_FOUND ? OPS_OK : status;
}

static int32_t load_require(oc_session *session, ops_error *error) {
  char profiles[PATH_MAX + 16];
  if (!session->options.require) return OPS_OK;
  snprintf(profiles, sizeof profiles, "%s/profiles", session->shipped_path);
  OPS_RETURN_IF_ERROR(oc_require_locate(session->options.require, profiles,
                                        session->require_path, sizeof session->require_path,
                                        error));
  return oc_require_load(session->require_path, session->contracts, &session->require, error);
}

// Cases are models.
static int32_t gather_models(oc_session *session, ops_error *error) {
  const oc_options *options = &session->options;
  const char *given = options->model ? options->model : options->onnx_tests;
  if (!realpath(given, session->models_path))  // opening it says what is wrong
    snprintf(session->models_path, sizeof session->models_path, "%s", given);
  if (options->model) {
    OPS_RETURN_IF_ERROR(
        oc_model_list_open(session->models_path, options->seed, &session->models, error));
    session->cases = &session->models->cases;
  } else {
    OPS_RETURN_IF_ERROR(oc_onnx_suite_open(session->models_path, &session->suite, error));
    session->cases = &session->suite->cases;
  }
  session->nodes_file = oc_nodes_file();
  if (session->nodes_file < 0) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no file for the list of nodes");
  }
  return select_cases(session, error);
}

// Cases about the provider as a whole belong to a run over all operators that asks whether it
// is right; with one operator alone it is not the provider that is asked about.
static bool wants_provider_cases(const oc_options *options) {
  const bool judges =
      options->mode == OC_MODE_CORRECTNESS || options->mode == OC_MODE_LIST_CASES;
  return judges && !options->op && !options->bake;
}

// Cases are what contracts want measured.
static int32_t gather_points(oc_session *session, ops_error *error) {
  const oc_options *options = &session->options;
  OPS_RETURN_IF_ERROR(oc_perf_points_create(session->contracts, options->op, options->seed,
                                            &session->points, error));
  session->cases = session->points->cases;
  return select_cases(session, error);
}

int32_t oc_session_gather(oc_session *session, ops_error *error) {
  const oc_options *options = &session->options;
  OPS_RETURN_IF_ERROR(oc_report_files_probe(&options->reports, error));
  find_places(session);
  OPS_RETURN_IF_ERROR(load_clauses(session, error));
  if (options->waivers) {
    OPS_RETURN_IF_ERROR(oc_waivers_load(options->waivers, &session->waivers, error));
  }
  if (options->onnx_tests || options->model) return gather_models(session, error);
  OPS_RETURN_IF_ERROR(oc_contracts_load(session->contracts_path, &session->contracts, error));
  OPS_RETURN_IF_ERROR(oc_operators_check_contracts(session->contracts, error));
  OPS_RETURN_IF_ERROR(check_op(session, error));
  OPS_RETURN_IF_ERROR(load_require(session, error));
  if (options->mode == OC_MODE_PERF) return gather_points(session, error);
  const oc_cases_options cases = {
      .seed = options->seed, .tier = options->tier, .op = options->op};
  OPS_RETURN_IF_ERROR(oc_cases_create(session->contracts, &cases, &session->made_cases, error));
  if (wants_provider_cases(options)) {
    OPS_RETURN_IF_ERROR(oc_provider_cases_append(session->made_cases, error));
  }
  session->cases = session->made_cases;
  return select_cases(session, error);
}

oc_report_setup oc_session_setup(const oc_session *session) {
  const oc_options *options = &session->options;
  return (oc_report_setup){.provider = options->provider,
                           .contracts = session->contracts_path,
                           .onnx_tests = options->onnx_tests,
                           .model = options->model,
                           .contracts_given = options->contracts != NULL,
                           .oracle = options->oracle,
                           .require = options->require,
                           .filter = options->filter,
                           .op = options->op,
                           .shard = options->shard,
                           .options = options->options,
                           .option_count = options->option_count,
                           .profile = options->profile,
                           .tier = options->tier,
                           .seed = options->seed,
                           .jobs = options->jobs,
                           .timeout = options->timeout,
                           .expand_functions = options->expand_functions,
                           .performance = options->mode == OC_MODE_PERF,
                           .level = options->level,
                           .disabled_passes = options->disabled_passes,
                           .disabled_pass_count = options->disabled_pass_count};
}

void oc_session_finish(oc_session *session) {
  oc_journaling_finish(&session->journaling);
  oc_report_finish(&session->report);
  free(session->selected);
  free(session->matched);
  oc_nodes_finish(&session->nodes);
  const bool on_models = session->suite || session->models;
  if (on_models && session->nodes_file >= 0) close(session->nodes_file);
  oc_onnx_suite_close(session->suite);
  oc_model_list_close(session->models);
  oc_cases_destroy(session->made_cases);
  oc_perf_points_destroy(session->points);
  oc_require_destroy(session->require);
  oc_waivers_destroy(session->waivers);
  oc_contracts_destroy(session->contracts);
  oc_clauses_destroy(session->clauses);
}
