// SPDX-License-Identifier: Apache-2.0
//
// The oracle's values of a case, then its files; the model is the last.
#include "bake/bake.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <opsrt/opsrt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bake/folder.h"
#include "cases/element.h"
#include "checks/check.h"
#include "checks/decided.h"
#include "checks/expected.h"
#include "checks/limits.h"
#include "ops_support/error.h"
#include "replay/case_file.h"
#include "report/file.h"

#define FORMAT 1

typedef struct baker {
  oc_bench *bench;
  const oc_case *item;
  oc_inputs inputs;
  oc_expected expected;  // empty for error cases
  oc_bake_folder folder;
} baker;

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a case");
}

// ---- Tensors --------------------------------------------------------------------------------

static int32_t write_tensor(const baker *job, const char *kind, size_t index, const char *name,
                            const oc_array *array, ops_error *error) {
  char path[PATH_MAX];
  OPS_RETURN_IF_ERROR(oc_bake_folder_data(&job->folder, kind, index, path, error));
  const opsrt_value value = {.name = name,
                             .kind = OPS_VALUE_TENSOR,
                             .type = array->type,
                             .rank = array->rank,
                             .dims = array->dims,
                             .data = array->data,
                             .size = array->bytes};
  return opsrt_tensor_write(path, &value, error);
}

// The inputs of the model in its order: those that are given and no initializers.
static int32_t write_inputs(const baker *job, ops_error *error) {
  const uint64_t constants = oc_expected_constants(job->item, &job->inputs);
  size_t index = 0;
  for (size_t i = 0; i < job->inputs.count; ++i) {
    if (!job->inputs.items[i].present || (constants >> i & 1)) continue;
    const char *name = job->item->contract->inputs[job->inputs.params[i]].name;
    OPS_RETURN_IF_ERROR(
        write_tensor(job, "input", index++, name, &job->inputs.items[i], error));
  }
  return OPS_OK;
}

static int32_t write_doubles(const baker *job, const char *kind, size_t index,
                             const double *values, ops_error *error) {
  if (!values) return OPS_OK;
  oc_array array = job->expected.outputs[index];
  array.type = OPS_TYPE_DOUBLE;
  array.data = (void *)(uintptr_t)values;
  array.bytes = (uint64_t)array.count * sizeof *values;
  return write_tensor(job, kind, index, kind, &array, error);
}

static const char *output_name(const baker *job, size_t index) {
  const oc_contract *contract = job->item->contract;
  const size_t last = contract->output_count - 1;
  return contract->outputs[index < last ? index : last].name;
}

static int32_t write_outputs(const baker *job, ops_error *error) {
  for (size_t i = 0; i < job->expected.count; ++i) {
    OPS_RETURN_IF_ERROR(
        write_tensor(job, "output", i, output_name(job, i), &job->expected.outputs[i], error));
    OPS_RETURN_IF_ERROR(write_doubles(job, "magnitude", i, job->expected.magnitude[i], error));
    OPS_RETURN_IF_ERROR(write_doubles(job, "wide", i, job->expected.wide[i], error));
    OPS_RETURN_IF_ERROR(write_doubles(job, "deviation", i, job->expected.deviation[i], error));
    OPS_RETURN_IF_ERROR(write_doubles(job, "lower", i, job->expected.lower[i], error));
    OPS_RETURN_IF_ERROR(write_doubles(job, "upper", i, job->expected.upper[i], error));
  }
  return OPS_OK;
}

static int32_t write_model(const baker *job, ops_error *error) {
  char path[PATH_MAX];
  const oc_node_options options = {
      .constants = oc_expected_constants(job->item, &job->inputs),
      .outputs = job->expected.count ? job->expected.outputs : NULL};
  oc_node_view *view = NULL;
  OPS_RETURN_IF_ERROR(oc_bake_folder_file(&job->folder, "model.onnx", path, error));
  OPS_RETURN_IF_ERROR(oc_node_view_create(job->item, &job->inputs, &options, &view, error));
  const int32_t status = opsrt_model_write_node(path, oc_node_view_node(view), error);
  oc_node_view_destroy(view);
  return status;
}

// ---- case.json ------------------------------------------------------------------------------

static bool add_number(cJSON *to, const char *name, double value) {
  return cJSON_AddNumberToObject(to, name, value) != NULL;
}

static bool add_text(cJSON *to, const char *name, const char *text) {
  return cJSON_AddStringToObject(to, name, text) != NULL;
}

static bool add_flag(cJSON *to, const char *name, bool flag) {
  return cJSON_AddBoolToObject(to, name, flag) != NULL;
}

static bool add_limits(cJSON *list, const char *name, const oc_compare_input *limits) {
  cJSON *to = cJSON_CreateObject();
  if (!to || !cJSON_AddItemToArray(list, to)) {
    cJSON_Delete(to);
    return false;
  }
  const oc_special_rules *special = &limits->special;
  return add_text(to, "name", name) && add_text(to, "type", oc_element_name(limits->type)) &&
         add_text(to, "accumulate", oc_element_name(limits->accumulate)) &&
         add_number(to, "ulp", limits->ulp) && add_number(to, "absolute", limits->absolute) &&
         add_number(to, "k", limits->k) && add_number(to, "cap", limits->cap) &&
         add_flag(to, "exact", limits->exact) &&
         add_flag(to, "random_fill", limits->random_fill) &&
         add_flag(to, "nan_any", special->nan_any) &&
         add_flag(to, "infinity_any", special->infinity_any) &&
         add_flag(to, "signed_zero_distinct", special->signed_zero_distinct) &&
         add_flag(to, "denormal_any", special->denormal_any);
}

static int32_t add_outputs(const baker *job, cJSON *root, ops_error *error) {
  cJSON *list = cJSON_AddArrayToObject(root, "outputs");
  if (!list) return no_memory(error);
  for (size_t i = 0; i < job->expected.count; ++i) {
    oc_compare_input limits;
    OPS_RETURN_IF_ERROR(
        oc_limits_of(&limits, job->item, &job->expected, job->bench->profile, i, error));
    if (!add_limits(list, output_name(job, i), &limits)) return no_memory(error);
  }
  return OPS_OK;
}

static bool add_head(const baker *job, cJSON *root) {
  const oc_contract *contract = job->item->contract;
  char seed[24];
  snprintf(seed, sizeof seed, "%" PRIu64, job->item->seed);
  return add_number(root, "format", FORMAT) && add_text(root, "id", job->item->id) &&
         add_text(root, "op", contract->op) && add_text(root, "domain", contract->domain) &&
         add_number(root, "opset", contract->since) && add_text(root, "seed", seed) &&
         add_text(root, "profile", oc_profile_name(job->bench->profile)) &&
         add_text(root, "judge", oc_judge_name(job->item->row->judge)) &&
         (!job->item->error ||
          add_text(root, "refused_with", ops_status_name(job->item->error->status)));
}

static int32_t write_about(const baker *job, ops_error *error) {
  char path[PATH_MAX], *text = NULL;
  OPS_RETURN_IF_ERROR(oc_bake_folder_file(&job->folder, "case.json", path, error));
  cJSON *root = cJSON_CreateObject();
  int32_t status = root && add_head(job, root) ? OPS_OK : no_memory(error);
  if (status == OPS_OK) status = add_outputs(job, root, error);
  if (status == OPS_OK) {
    text = cJSON_Print(root);
    status = text ? oc_file_write(path, text, strlen(text), error) : no_memory(error);
  }
  cJSON_free(text);
  cJSON_Delete(root);
  return status;
}

// ---- case.bin -------------------------------------------------------------------------------

// Borrows everything.
static int32_t describe_output(const baker *job, size_t i, oc_baked_output *out,
                               ops_error *error) {
  const oc_expected *expected = &job->expected;
  *out = (oc_baked_output){.name = output_name(job, i),
                           .expected = expected->outputs[i],
                           .wide = expected->wide[i],
                           .magnitude = expected->magnitude[i],
                           .deviation = expected->deviation[i],
                           .lower = expected->lower[i],
                           .upper = expected->upper[i],
                           .has_law = expected->has_law[i],
                           .law = expected->laws[i],
                           .law_numbers = expected->law_numbers[i],
                           .named = expected->named};
  return oc_limits_of(&out->limits, job->item, expected, job->bench->profile, i, error);
}

// For opsreplay, on targets that cannot host the harness. Error cases have none.
static int32_t write_replay(const baker *job, ops_error *error) {
  char path[PATH_MAX];
  unsigned char *bytes = NULL;
  size_t size = 0;
  if (job->item->error) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_bake_folder_file(&job->folder, "case.bin", path, error));
  oc_baked *baked = calloc(1, sizeof *baked);
  if (!baked) return no_memory(error);
  baked->item = *job->item;
  baked->inputs = job->inputs;
  baked->constants = oc_expected_constants(job->item, &job->inputs);
  baked->output_count = job->expected.count;
  int32_t status = OPS_OK;
  for (size_t i = 0; i < baked->output_count && status == OPS_OK; ++i) {
    status = describe_output(job, i, &baked->outputs[i], error);
  }
  if (status == OPS_OK) status = oc_case_file_make(baked, &bytes, &size, error);
  if (status == OPS_OK) status = oc_file_write(path, (const char *)bytes, size, error);
  free(bytes);
  free(baked);
  return status;
}

// ---- Entry ----------------------------------------------------------------------------------

// Takes the model of an earlier run away: the case counts as unfinished.
static int32_t clear_model(const baker *job, ops_error *error) {
  char path[PATH_MAX];
  OPS_RETURN_IF_ERROR(oc_bake_folder_file(&job->folder, "model.onnx", path, error));
  if (unlink(path) == 0 || errno == ENOENT) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_IO, "'%s' cannot be replaced: %s", path,
                       strerror(errno));
}

static int32_t write_case(baker *job, const char *folder, ops_error *error) {
  OPS_RETURN_IF_ERROR(oc_bake_folder_open(&job->folder, folder, job->item->id, 0, error));
  OPS_RETURN_IF_ERROR(clear_model(job, error));
  OPS_RETURN_IF_ERROR(write_inputs(job, error));
  OPS_RETURN_IF_ERROR(write_outputs(job, error));
  OPS_RETURN_IF_ERROR(write_about(job, error));
  OPS_RETURN_IF_ERROR(write_replay(job, error));
  return write_model(job, error);
}

static void bake(baker *job, const char *folder, oc_result *result) {
  ops_error error = OPS_ERROR_INIT;
  int32_t status = oc_decided_inputs(&job->inputs, job->bench, job->item, &error);
  if (status == OPS_OK && !job->item->error) {
    status = oc_expected_init(&job->expected, job->bench, job->item, &job->inputs, &error);
    if (status != OPS_OK) {
      oc_result_end(result, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE, "no expected value: %.600s",
                    error.message);
      return;
    }
  }
  if (status == OPS_OK) status = write_case(job, folder, &error);
  if (status == OPS_OK) {
    result->status = OC_STATUS_PASS;
  } else {
    oc_result_end(result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "%.600s", error.message);
  }
}

void oc_bake_run(oc_bench *bench, const char *folder, uint32_t index, oc_result *result) {
  *result = (oc_result){.case_index = index,
                        .status = OC_STATUS_NOT_RUN,
                        .attempts = 1,
                        .output = -1,
                        .element = -1};
  baker *job = calloc(1, sizeof *job);
  if (!job) {
    oc_result_end(result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory for a case");
    return;
  }
  job->bench = bench;
  job->item = &bench->cases->items[index];
  bake(job, folder, result);
  oc_expected_finish(&job->expected);
  oc_inputs_finish(&job->inputs);
  free(job);
  oc_beacon_phase(bench->beacon, OC_PHASE_IDLE);
}
