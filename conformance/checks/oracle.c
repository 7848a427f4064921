// SPDX-License-Identifier: Apache-2.0
//
// Asking. The oracle runs in the same guarded memory as the candidate, so that a slip of its
// own is seen; its phase stays `oracle`, so that its death is not the candidate's.
#include "checks/oracle.h"

#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "checks/expected.h"
#include "ops_support/error.h"

static int32_t run_launch(oc_kernel *kernel, const oc_inputs *inputs, oc_array *outputs,
                          ops_error *error) {
  oc_launch *launch = calloc(1, sizeof *launch);
  if (!launch) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a run");
  int32_t status = oc_launch_init(launch, kernel, OC_PLACE_END, NULL, error);
  if (status == OPS_OK) status = oc_launch_load(launch, inputs, 0, error);
  if (status == OPS_OK) status = oc_launch_execute(launch, 0, error);
  for (size_t i = 0; i < kernel->output_count && status == OPS_OK; ++i) {
    status = oc_launch_read(launch, i, &outputs[i], error);
  }
  oc_launch_finish(launch);
  free(launch);
  return status;
}

int32_t oc_oracle_prepare(const oc_question *question, oc_kernel *kernel, ops_error *error) {
  const oc_node_options options = {
      .constants = oc_expected_constants(question->item, question->inputs),
      .absolute = question->absolute};
  if (question->beacon) oc_beacon_phase(question->beacon, OC_PHASE_ORACLE);
  int32_t status = oc_kernel_init(kernel, question->oracle, NULL, question->item,
                                  question->inputs, &options, error);
  if (status == OPS_OK) status = oc_kernel_claim(kernel, error);
  if (status == OPS_OK && kernel->claim.answer != OPS_CLAIM_SUPPORTED) {
    status = ops_error_set(error, OPS_ERROR_UNSUPPORTED, "the oracle does not claim it: %.200s",
                           kernel->claim.text);
  }
  if (status == OPS_OK) status = oc_kernel_create(kernel, error);
  if (status == OPS_OK) status = oc_kernel_prepare(kernel, NULL, 0, error);
  return status;
}

int32_t oc_oracle_run(const oc_question *question, oc_array *outputs, ops_error *error) {
  oc_kernel kernel;
  int32_t status = oc_oracle_prepare(question, &kernel, error);
  if (status == OPS_OK) status = run_launch(&kernel, question->inputs, outputs, error);
  oc_kernel_finish(&kernel);
  return status;
}

// ---- In a wider type ------------------------------------------------------------------------

static int32_t widen_array(oc_array *array, int32_t type, bool absolute, ops_error *error) {
  if (!array->present || !oc_element_format_of(array->type)) return OPS_OK;
  oc_array wide;
  OPS_RETURN_IF_ERROR(
      oc_array_init(&wide, type, array->rank, array->dims, "wide input", error));
  for (int64_t i = 0; i < array->count; ++i) {
    const double value = oc_element_load(array->type, array->data, (uint64_t)i);
    oc_element_store(type, wide.data, (uint64_t)i, value);
  }
  if (absolute) oc_element_absolute(type, wide.data, wide.count);
  oc_array_finish(array);
  *array = wide;
  return OPS_OK;
}

// Inputs of a fixed type keep it.
static int32_t widen_inputs(oc_inputs *inputs, const oc_question *question, ops_error *error) {
  const oc_contract *contract = question->item->contract;
  for (size_t i = 0; i < inputs->count; ++i) {
    if (contract->inputs[inputs->params[i]].type_var < 0) continue;
    OPS_RETURN_IF_ERROR(
        widen_array(&inputs->items[i], question->widen, question->absolute, error));
  }
  return OPS_OK;
}

static int32_t to_doubles(oc_array *outputs, size_t count, double **doubles, ops_error *error) {
  for (size_t i = 0; i < count; ++i) {
    const oc_array *array = &outputs[i];
    doubles[i] = calloc((size_t)array->count + 1, sizeof **doubles);
    if (!doubles[i])
      return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for wide outputs");
    for (int64_t k = 0; k < array->count; ++k) {
      doubles[i][k] = oc_element_load(array->type, array->data, (uint64_t)k);
    }
  }
  return OPS_OK;
}

// The case with every floating type variable set to the wide type.
static oc_case widen_case(const oc_question *question, int32_t *types) {
  const oc_case *item = question->item;
  oc_case wide = *item;
  for (size_t i = 0; i < item->contract->type_var_count; ++i) {
    types[i] = oc_element_format_of(item->types[i]) ? question->widen : item->types[i];
  }
  wide.types = types;
  return wide;
}

static int32_t run_widened(const oc_question *question, oc_inputs *copies, double **out_doubles,
                           ops_error *error) {
  int32_t types[OC_CONTRACT_MAX_PARAMS];
  oc_case wide = *question->item;
  oc_array outputs[OC_NODE_MAX_OUTPUTS];
  memset(outputs, 0, sizeof outputs);
  OPS_RETURN_IF_ERROR(oc_inputs_copy(copies, question->inputs, error));
  if (question->widen) {
    wide = widen_case(question, types);
    OPS_RETURN_IF_ERROR(widen_inputs(copies, question, error));
  }
  oc_question asked = *question;
  asked.item = &wide;
  asked.inputs = copies;
  int32_t status = oc_oracle_run(&asked, outputs, error);
  if (status == OPS_OK)
    status = to_doubles(outputs, wide.row->output_count, out_doubles, error);
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&outputs[i]);
  return status;
}

int32_t oc_oracle_run_wide(const oc_question *question, double **out_doubles,
                           ops_error *error) {
  oc_inputs *copies = calloc(1, sizeof *copies);
  if (!copies) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for inputs");
  const int32_t status = run_widened(question, copies, out_doubles, error);
  oc_inputs_finish(copies);
  free(copies);
  return status;
}

int32_t oc_oracle_open(oc_target *out_target, const oc_target *oracle, const char *what,
                       const ops_key_value *options, uint64_t count, ops_error *error) {
  const oc_target_options open = {
      .name = ops_library_path(oracle->library), .options = options, .option_count = count};
  if (oc_target_open(out_target, &open, error) == OPS_OK) return OPS_OK;
  ops_error_prefix(error, "%s opens the oracle with options of its own", what);
  return OPS_ERROR_UNSUPPORTED;
}
