// SPDX-License-Identifier: Apache-2.0
//
// The oracle's part of a trial. It runs in the same guarded memory as the candidate, so that a
// slip of its own is seen; its phase stays `oracle`, so that its death is not the candidate's.
#include "checks/expected.h"

#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
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

uint64_t oc_expected_constants(const oc_case *item, const oc_inputs *inputs) {
  uint64_t mask = 0;
  for (size_t i = 0; i < inputs->count; ++i) {
    const oc_value *contents = &item->inputs[inputs->params[i]].contents;
    if (contents->kind != OC_VALUE_NONE) mask |= (uint64_t)1 << i;
  }
  return mask;
}

// Claim to prepare on the oracle.
static int32_t prepare_oracle(oc_kernel *kernel, oc_bench *bench, const oc_case *item,
                              const oc_inputs *inputs, bool absolute, ops_error *error) {
  const oc_node_options options = {.constants = oc_expected_constants(item, inputs),
                                   .absolute = absolute};
  int32_t status = oc_kernel_init(kernel, &bench->oracle, NULL, item, inputs, &options, error);
  if (status == OPS_OK) status = oc_kernel_claim(kernel, error);
  if (status == OPS_OK && kernel->claim.answer != OPS_CLAIM_SUPPORTED) {
    status = ops_error_set(error, OPS_ERROR_UNSUPPORTED, "the oracle does not claim it: %.200s",
                           kernel->claim.text);
  }
  if (status == OPS_OK) status = oc_kernel_create(kernel, error);
  if (status == OPS_OK) status = oc_kernel_prepare(kernel, NULL, 0, error);
  return status;
}

int32_t oc_expected_shapes(oc_array *out_shapes, oc_bench *bench, const oc_case *item,
                           const oc_inputs *inputs, ops_error *error) {
  oc_kernel kernel;
  oc_beacon_phase(bench->beacon, OC_PHASE_ORACLE);
  int32_t status = prepare_oracle(&kernel, bench, item, inputs, false, error);
  for (size_t i = 0; i < kernel.output_count && status == OPS_OK; ++i) {
    const ops_output_info *info = &kernel.outputs[i];
    if (info->mode != OPS_SHAPE_KNOWN) continue;
    status = oc_array_init(&out_shapes[i], info->type, info->rank, info->dims, "output", error);
  }
  oc_kernel_finish(&kernel);
  return status;
}

// Claim to outputs on the oracle.
static int32_t ask_oracle(oc_bench *bench, const oc_case *item, const oc_inputs *inputs,
                          bool absolute, oc_array *outputs, ops_error *error) {
  oc_kernel kernel;
  int32_t status = prepare_oracle(&kernel, bench, item, inputs, absolute, error);
  if (status == OPS_OK) status = run_launch(&kernel, inputs, outputs, error);
  oc_kernel_finish(&kernel);
  return status;
}

// ---- In double ------------------------------------------------------------------------------

static int32_t widen_array(oc_array *array, bool absolute, ops_error *error) {
  if (!array->present || !oc_element_format_of(array->type)) return OPS_OK;
  oc_array wide;
  OPS_RETURN_IF_ERROR(
      oc_array_init(&wide, OPS_TYPE_DOUBLE, array->rank, array->dims, "wide input", error));
  for (int64_t i = 0; i < array->count; ++i) {
    const double value = oc_element_load(array->type, array->data, (uint64_t)i);
    oc_element_store(OPS_TYPE_DOUBLE, wide.data, (uint64_t)i, value);
  }
  if (absolute) oc_element_absolute(OPS_TYPE_DOUBLE, wide.data, wide.count);
  oc_array_finish(array);
  *array = wide;
  return OPS_OK;
}

// Inputs of a fixed type keep it.
static int32_t widen_inputs(oc_inputs *inputs, const oc_contract *contract, bool absolute,
                            ops_error *error) {
  for (size_t i = 0; i < inputs->count; ++i) {
    if (contract->inputs[inputs->params[i]].type_var < 0) continue;
    OPS_RETURN_IF_ERROR(widen_array(&inputs->items[i], absolute, error));
  }
  return OPS_OK;
}

static int32_t to_doubles(oc_array *outputs, size_t count, double **doubles, ops_error *error) {
  for (size_t i = 0; i < count; ++i) {
    const oc_array *array = &outputs[i];
    doubles[i] = calloc((size_t)array->count + 1, sizeof **doubles);
    if (!doubles[i]) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for b");
    for (int64_t k = 0; k < array->count; ++k) {
      doubles[i][k] = oc_element_load(array->type, array->data, (uint64_t)k);
    }
  }
  return OPS_OK;
}

// The case with every floating type variable set to double.
static oc_case widen_case(const oc_case *item, int32_t *types) {
  oc_case wide = *item;
  for (size_t i = 0; i < item->contract->type_var_count; ++i) {
    types[i] = oc_element_format_of(item->types[i]) ? OPS_TYPE_DOUBLE : item->types[i];
  }
  wide.types = types;
  return wide;
}

// Outputs of the oracle in double; integer operators stay in their types.
static int32_t ask_wide(oc_bench *bench, const oc_case *item, const oc_inputs *inputs,
                        bool absolute, double **doubles, ops_error *error) {
  int32_t types[OC_CONTRACT_MAX_PARAMS];
  const oc_case wide = widen_case(item, types);
  oc_array outputs[OC_NODE_MAX_OUTPUTS];
  memset(outputs, 0, sizeof outputs);
  oc_inputs *copies = calloc(1, sizeof *copies);
  if (!copies) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for b");
  int32_t status = oc_inputs_copy(copies, inputs, error);
  if (status == OPS_OK) status = widen_inputs(copies, item->contract, absolute, error);
  if (status == OPS_OK) status = ask_oracle(bench, &wide, copies, absolute, outputs, error);
  if (status == OPS_OK) status = to_doubles(outputs, item->row->output_count, doubles, error);
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&outputs[i]);
  oc_inputs_finish(copies);
  free(copies);
  return status;
}

// ---- Entry ----------------------------------------------------------------------------------

static bool same_counts(const oc_expected *expected) {
  for (size_t i = 0; i < expected->count; ++i) {
    if (!expected->outputs[i].present) return false;
  }
  return true;
}

int32_t oc_expected_init(oc_expected *expected, oc_bench *bench, const oc_case *item,
                         const oc_inputs *inputs, ops_error *error) {
  memset(expected, 0, sizeof *expected);
  expected->count = item->row->output_count;
  oc_beacon_phase(bench->beacon, OC_PHASE_ORACLE);
  int32_t status = ask_oracle(bench, item, inputs, false, expected->outputs, error);
  if (status == OPS_OK && !same_counts(expected)) {
    status = ops_error_set(error, OPS_ERROR_INTERNAL, "the oracle left an output out");
  }
  if (status == OPS_OK && item->contract->judge == OC_JUDGE_DOT) {
    status = ask_wide(bench, item, inputs, true, expected->magnitude, error);
    if (status == OPS_OK) {
      status = ask_wide(bench, item, inputs, false, expected->wide, error);
    }
  }
  if (status != OPS_OK) oc_expected_finish(expected);
  return status;
}

void oc_expected_finish(oc_expected *expected) {
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) {
    oc_array_finish(&expected->outputs[i]);
    free(expected->magnitude[i]);
    free(expected->wide[i]);
  }
  memset(expected, 0, sizeof *expected);
}
