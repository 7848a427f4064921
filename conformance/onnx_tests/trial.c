// SPDX-License-Identifier: Apache-2.0
//
// Files belong to inputs by position, as in the official runner: input_0.pb is the first input
// of the model. Where a model lists its weights among its inputs and there are fewer files than
// inputs, they belong to those without a default.
#include "onnx_tests/trial.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bake/folder.h"
#include "onnx_tests/drawn.h"
#include "onnx_tests/receipts.h"
#include "ops_support/error.h"
#include "runner/clock.h"

#define DATA_SET "test_data_set_"
#define ID_HEAD "onnx/"  // of every id

// The values of one data set as they lie in files.
typedef struct file_values {
  opsrt_tensor *files[OC_ONNX_MAX_VALUES];
  opsrt_value values[OC_ONNX_MAX_VALUES];
  size_t count;
} file_values;

typedef struct trial {
  const oc_onnx_bench *bench;
  const oc_onnx_case *item;
  const oc_drawn *drawn;
  oc_result *result;
  opsrt_session *session;
  bool preferred;     // the provider on trial runs at least one node
  char data_set[64];  // "test_data_set_0"
  file_values inputs, expected;
  opsrt_result *outputs;
  ops_error error;
} trial;

static void enter(trial *trial, oc_phase phase) {
  trial->result->phase = phase;
  oc_beacon_phase(trial->bench->beacon, phase);
}

// Ends the case; false, for use as "return fail(…)".
#define fail(trial, check, ...) \
  (oc_result_end((trial)->result, OC_STATUS_FAIL, check, __VA_ARGS__) != 0)

static bool fail_call(trial *trial, const char *check, int32_t status) {
  return fail(trial, check, "%s%s%s: %s", trial->data_set, trial->data_set[0] ? ": " : "",
              ops_status_name(status), trial->error.message);
}

// ---- The session ----------------------------------------------------------------------------

static bool open_session(trial *trial, int32_t level, opsrt_session **out_session) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/model.onnx", trial->item->folder);
  const oc_onnx_bench *bench = trial->bench;
  const opsrt_session_options options = {.model = {.path = path},
                                         .providers = bench->providers,
                                         .provider_count = bench->provider_count,
                                         .provider_dir = bench->provider_dir,
                                         .no_fallback = 1,
                                         .workers = 1,
                                         .expand_functions = bench->expand_functions,
                                         .level = level,
                                         .disabled_passes = bench->disabled_passes,
                                         .disabled_pass_count = bench->disabled_pass_count};
  enter(trial, OC_PHASE_PREPARE);
  const int32_t status = opsrt_session_create(&options, out_session, &trial->error);
  return status == OPS_OK || fail_call(trial, OC_ONNX_CHECK_SESSION, status);
}

// Who runs which node, for the result and the list.
static bool note_nodes(trial *trial) {
  const int32_t status = oc_receipts_note(trial->session, trial->bench->nodes, trial->result,
                                          &trial->preferred, &trial->error);
  return status == OPS_OK || fail_call(trial, OC_ONNX_CHECK_SESSION, status);
}

// ---- Files ----------------------------------------------------------------------------------

static bool name_file(const trial *trial, const char *kind, size_t index, char *path,
                      size_t size) {
  const int used = snprintf(path, size, "%s/%s/%s_%zu.pb", trial->item->folder, trial->data_set,
                            kind, index);
  return used > 0 && (size_t)used < size;
}

// How many files there are, from number 0 on. False if there are too many.
static bool count_files(trial *trial, const char *kind, size_t *out_count) {
  char path[PATH_MAX];
  size_t count = 0;
  while (name_file(trial, kind, count, path, sizeof path) && access(path, F_OK) == 0) {
    if (count++ < OC_ONNX_MAX_VALUES) continue;
    return fail(trial, OC_ONNX_CHECK_FILES, "%s: expected at most %d files %s_I.pb",
                trial->data_set, OC_ONNX_MAX_VALUES, kind);
  }
  *out_count = count;
  return true;
}

static bool read_value(trial *trial, const char *kind, const opsrt_info *info,
                       file_values *values) {
  char path[PATH_MAX];
  opsrt_tensor **file = &values->files[values->count];
  if (!name_file(trial, kind, values->count, path, sizeof path)) {
    return fail(trial, OC_ONNX_CHECK_FILES, "'%s': the path is too long", trial->item->folder);
  }
  const int32_t status = opsrt_value_read(path, info->kind, file, &trial->error);
  if (status != OPS_OK) return fail_call(trial, OC_ONNX_CHECK_FILES, status);
  values->values[values->count] = *opsrt_tensor_value(*file);
  values->values[values->count++].name = info->name;
  return true;
}

static void release_values(file_values *values) {
  for (size_t i = 0; i < values->count; ++i) opsrt_tensor_destroy(values->files[i]);
  values->count = 0;
}

static bool read_inputs(trial *trial) {
  const uint64_t inputs = opsrt_session_input_count(trial->session);
  size_t files = 0;
  if (!count_files(trial, "input", &files)) return false;
  for (uint64_t i = 0; i < inputs && trial->inputs.count < files; ++i) {
    const opsrt_info *info = opsrt_session_input(trial->session, i);
    if (files != inputs && info->optional) continue;
    if (!read_value(trial, "input", info, &trial->inputs)) return false;
  }
  oc_allclose_describe_all(trial->inputs.values, trial->inputs.count, trial->result->inputs,
                           sizeof trial->result->inputs);
  if (trial->inputs.count == files) return true;
  return fail(trial, OC_ONNX_CHECK_FILES,
              "%s: the model has %zu inputs without a value of their own, found %zu files "
              "input_I.pb",
              trial->data_set, trial->inputs.count, files);
}

static bool read_outputs(trial *trial) {
  const uint64_t outputs = opsrt_session_output_count(trial->session);
  size_t files = 0;
  if (!count_files(trial, "output", &files)) return false;
  if (files != outputs) {
    return fail(trial, OC_ONNX_CHECK_FILES,
                "%s: the model has %llu outputs, found %zu files output_I.pb", trial->data_set,
                (unsigned long long)outputs, files);
  }
  for (uint64_t i = 0; i < outputs; ++i) {
    const opsrt_info *info = opsrt_session_output(trial->session, i);
    if (!read_value(trial, "output", info, &trial->expected)) return false;
  }
  return true;
}

// ---- Comparing ------------------------------------------------------------------------------

// The worst of all outputs stays in the result.
static void keep_difference(oc_result *result, const oc_difference *difference, int32_t output,
                            bool failed) {
  if (!failed && !(difference->measured && difference->error > result->error)) return;
  result->measured = difference->measured;
  result->error = difference->error;
  result->output = output;
  result->element = difference->measured ? difference->element : -1;
  snprintf(result->expected, sizeof result->expected, "%s", difference->expected);
  snprintf(result->got, sizeof result->got, "%s", difference->got);
}

static bool compare_outputs(trial *trial) {
  const oc_closeness tolerance = {trial->item->rtol, trial->item->atol};
  oc_result *result = trial->result;
  result->limit = 1;
  snprintf(result->metric, sizeof result->metric, "allclose");
  for (size_t i = 0; i < trial->expected.count; ++i) {
    oc_difference difference = {.element = -1};
    const opsrt_value *output = opsrt_result_output(trial->outputs, i);
    const bool close = oc_allclose(&trial->expected.values[i], output, tolerance, &difference);
    keep_difference(result, &difference, (int32_t)i, !close);
    if (!close) {
      return fail(trial, OC_ONNX_CHECK_VALUES, "%s, output '%s': %s", trial->data_set,
                  output->name, difference.message);
    }
  }
  return true;
}

static bool check_draws(trial *trial) {
  opsrt_value *outputs = calloc(trial->expected.count + 1, sizeof *outputs);
  if (!outputs) return fail(trial, OC_ONNX_CHECK_DRAWN, "no memory for the outputs");
  for (size_t i = 0; i < trial->expected.count; ++i) {
    outputs[i] = *opsrt_result_output(trial->outputs, i);
  }
  const oc_drawn_values values = {.inputs = trial->inputs.values,
                                  .input_count = trial->inputs.count,
                                  .expected = trial->expected.values,
                                  .outputs = outputs,
                                  .output_count = trial->expected.count};
  oc_difference difference = {.element = -1};
  const bool plausible = oc_drawn_check(trial->drawn, &values, &difference);
  free(outputs);
  if (plausible) return true;
  keep_difference(trial->result, &difference, -1, true);
  return fail(trial, OC_ONNX_CHECK_DRAWN, "%s: %s", trial->data_set, difference.message);
}

// ---- Exactness ------------------------------------------------------------------------------

static bool same_bits(const opsrt_value *a, const opsrt_value *b, oc_difference *difference) {
  if (a->kind == OPS_VALUE_TENSOR && b->kind == OPS_VALUE_TENSOR && a->size == b->size &&
      (a->size == 0 || memcmp(a->data, b->data, a->size) == 0)) {
    return a->type == b->type;
  }
  // Zeros of both signs are equal here, so a tensor that has the value and not the bits fails.
  const bool close = oc_allclose(a, b, (oc_closeness){0, 0}, difference);
  if (!close || a->kind != OPS_VALUE_TENSOR) return close;
  snprintf(difference->message, sizeof difference->message, "equal values of other bits");
  return false;
}

static bool compare_with_plain(trial *trial, const opsrt_result *plain) {
  for (size_t i = 0; i < trial->expected.count; ++i) {
    oc_difference difference = {.element = -1};
    const opsrt_value *before = opsrt_result_output(plain, i);
    const opsrt_value *after = opsrt_result_output(trial->outputs, i);
    if (!same_bits(before, after, &difference)) {
      return fail(trial, OC_ONNX_CHECK_EXACT, "%s, output '%s' at levels 0 and 1: %s",
                  trial->data_set, after->name, difference.message);
    }
  }
  return true;
}

// What the optimizer promises of level 1 where one provider runs everything.
static bool check_exact(trial *trial) {
  if (trial->bench->level != 1 || trial->bench->provider_count != 1 || trial->drawn)
    return true;
  opsrt_session *session = NULL;
  opsrt_result *plain = NULL;
  if (!open_session(trial, 0, &session)) return false;
  const int32_t status = opsrt_session_run(session, trial->inputs.values, trial->inputs.count,
                                           &plain, &trial->error);
  const bool good = status == OPS_OK ? compare_with_plain(trial, plain)
                                     : fail_call(trial, OC_ONNX_CHECK_RUN, status);
  opsrt_result_destroy(plain);
  opsrt_session_destroy(session);
  return good;
}

// ---- Storing --------------------------------------------------------------------------------

static bool store_outputs(trial *trial) {
  oc_bake_folder folder;
  char path[PATH_MAX];
  const char *id = trial->bench->suite->cases.items[trial->result->case_index].id;
  const unsigned number = (unsigned)atoi(trial->data_set + strlen(DATA_SET));
  int32_t status = oc_bake_folder_open(&folder, trial->bench->store, id + strlen(ID_HEAD),
                                       number, &trial->error);
  const uint64_t count = opsrt_result_count(trial->outputs);
  for (uint64_t i = 0; i < count && status == OPS_OK; ++i) {
    status = oc_bake_folder_data(&folder, "output", i, path, &trial->error);
    if (status == OPS_OK) {
      status = opsrt_value_write(path, opsrt_result_output(trial->outputs, i), &trial->error);
    }
  }
  return status == OPS_OK || fail_call(trial, OC_ONNX_CHECK_FILES, status);
}

// ---- Data sets ------------------------------------------------------------------------------

static bool judge_data_set(trial *trial) {
  enter(trial, OC_PHASE_INPUTS);
  if (!read_inputs(trial)) return false;
  if (!trial->bench->store && !read_outputs(trial)) return false;
  enter(trial, OC_PHASE_EXECUTE);
  const int32_t status = opsrt_session_run(trial->session, trial->inputs.values,
                                           trial->inputs.count, &trial->outputs, &trial->error);
  if (status != OPS_OK) return fail_call(trial, OC_ONNX_CHECK_RUN, status);
  enter(trial, OC_PHASE_COMPARE);
  if (trial->bench->store) return store_outputs(trial);
  if (!check_exact(trial)) return false;
  return trial->drawn ? check_draws(trial) : compare_outputs(trial);
}

static bool run_data_set(trial *trial, unsigned number) {
  snprintf(trial->data_set, sizeof trial->data_set, DATA_SET "%u", number);
  const bool passed = judge_data_set(trial);
  opsrt_result_destroy(trial->outputs);
  trial->outputs = NULL;
  release_values(&trial->inputs);
  release_values(&trial->expected);
  return passed;
}

static int compare_numbers(const void *a, const void *b) {
  const unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
  return (left > right) - (left < right);
}

// The numbers of the data sets, sorted. False if the folder cannot be read or has too many.
static bool list_data_sets(const trial *trial, unsigned *numbers, size_t *out_count) {
  DIR *stream = opendir(trial->item->folder);
  *out_count = 0;
  if (!stream) return false;
  const struct dirent *entry;
  bool fits = true;
  while (fits && (entry = readdir(stream))) {
    unsigned number;
    int end = 0;
    if (sscanf(entry->d_name, "test_data_set_%u%n", &number, &end) != 1) continue;
    if (entry->d_name[end]) continue;
    fits = *out_count < OC_ONNX_MAX_DATA_SETS;
    if (fits) numbers[(*out_count)++] = number;
  }
  closedir(stream);
  qsort(numbers, *out_count, sizeof *numbers, compare_numbers);
  return fits;
}

static bool run_data_sets(trial *trial) {
  unsigned numbers[OC_ONNX_MAX_DATA_SETS];
  size_t count = 0;
  if (!list_data_sets(trial, numbers, &count) || count == 0) {
    return fail(trial, OC_ONNX_CHECK_FILES,
                "'%s': expected 1 to %d folders test_data_set_N, found %zu that can be read",
                trial->item->folder, OC_ONNX_MAX_DATA_SETS, count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!run_data_set(trial, numbers[i])) return false;
  }
  return true;
}

// Right results of the provider behind the one on trial are no merit of the latter: fallback is
// said, not passed. Where nobody stands behind there is none.
static bool is_fallback(const trial *trial) {
  return trial->bench->provider_count > 1 && !trial->preferred;
}

// What a report should say of a case that passed: how its judgement differs from the usual.
static void pass(trial *trial) {
  const oc_onnx_case *item = trial->item;
  char text[sizeof trial->result->message] = "";
  if (trial->drawn) {
    snprintf(text, sizeof text, "random: %s. %s", trial->drawn->what, trial->drawn->reason);
  } else if (item->rtol != OC_ONNX_RTOL || item->atol != OC_ONNX_ATOL) {
    snprintf(text, sizeof text, "rtol %g, atol %g: %s", item->rtol, item->atol,
             item->reason ? item->reason : "as data.json says");
  }
  oc_result_end(trial->result, OC_STATUS_PASS, "", "%s", text);
}

void oc_onnx_trial_run(const oc_onnx_bench *bench, uint32_t index, oc_result *out_result) {
  const double start = oc_clock_seconds();
  *out_result = (oc_result){.case_index = index, .attempts = 1, .output = -1, .element = -1};
  trial *trial = calloc(1, sizeof *trial);
  if (!trial) {
    oc_result_end(out_result, OC_STATUS_NOT_RUN, OC_ONNX_CHECK_FILES, "no memory for a case");
    return;
  }
  trial->bench = bench;
  trial->item = &bench->suite->items[index];
  trial->drawn = oc_drawn_find(bench->suite->cases.items[index].id);
  trial->result = out_result;
  trial->error.struct_size = sizeof trial->error;
  if (open_session(trial, bench->level, &trial->session) && note_nodes(trial) &&
      run_data_sets(trial)) {
    if (is_fallback(trial)) {
      oc_result_end(out_result, OC_STATUS_UNSUPPORTED, "", "the provider takes no node: %s",
                    out_result->implementation);
    } else {
      pass(trial);
    }
  }
  oc_beacon_phase(bench->beacon, OC_PHASE_DESTROY);
  opsrt_session_destroy(trial->session);
  oc_beacon_phase(bench->beacon, OC_PHASE_IDLE);
  free(trial);
  out_result->seconds = oc_clock_seconds() - start;
}
