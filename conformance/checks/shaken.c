// SPDX-License-Identifier: Apache-2.0
//
// The oracle is asked in double, so that its last rounding hides nothing; where it does not
// know the operator in double, in float. The seeds are fixed: a case's limits are always the
// same.
#include "checks/shaken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "ops_support/error.h"

#define FIRST_SEED 1

// The type that the results of the case are computed in: that of the first floating output.
static int32_t accumulation_of(const oc_expected *expected, const oc_case *item) {
  for (size_t i = 0; i < expected->count; ++i) {
    const int32_t type = expected->outputs[i].type;
    if (!oc_element_format_of(type)) continue;
    const int32_t named = item->contract->precision.accumulate[type];
    return named ? named : type;
  }
  return OPS_TYPE_FLOAT;
}

static int32_t open_shaken(oc_target *shaken, const oc_target *oracle, int run, int32_t type,
                           ops_error *error) {
  char seed[16];
  const int size = snprintf(seed, sizeof seed, "%d", FIRST_SEED + run);
  const char *name = oc_element_name(type);
  const ops_key_value pairs[] = {{OPS_STR("perturb"), {seed, (uint64_t)size}},
                                 {OPS_STR("perturb_to"), {name, strlen(name)}}};
  return oc_oracle_open(shaken, oracle, "the judge `conditioned`", pairs,
                        sizeof pairs / sizeof *pairs, error);
}

static void note_run(oc_expected *expected, double **shaken) {
  for (size_t i = 0; i < expected->count; ++i) {
    oc_condition_add(expected->deviation[i], expected->wide[i], shaken[i],
                     (size_t)expected->outputs[i].count);
  }
}

static void free_all(double **arrays) {
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) free(arrays[i]);
  memset(arrays, 0, OC_NODE_MAX_OUTPUTS * sizeof *arrays);
}

static int32_t run_shaken(oc_expected *expected, const oc_question *wide, int run, int32_t type,
                          ops_error *error) {
  oc_target target;
  double *shaken[OC_NODE_MAX_OUTPUTS] = {NULL};
  oc_question question = *wide;
  question.oracle = &target;
  OPS_RETURN_IF_ERROR(open_shaken(&target, wide->oracle, run, type, error));
  const int32_t status = oc_oracle_run_wide(&question, shaken, error);
  if (status == OPS_OK) note_run(expected, shaken);
  free_all(shaken);
  oc_target_close(&target, NULL);
  return status;
}

static int32_t make_room(oc_expected *expected, ops_error *error) {
  for (size_t i = 0; i < expected->count; ++i) {
    expected->deviation[i] = calloc((size_t)expected->outputs[i].count + 1, sizeof(double));
    if (!expected->deviation[i]) {
      return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for deviations");
    }
  }
  return OPS_OK;
}

static int32_t close_all(oc_expected *expected, ops_error *error) {
  for (size_t i = 0; i < expected->count; ++i) {
    if (!oc_condition_close(expected->deviation[i], expected->wide[i],
                            (size_t)expected->outputs[i].count)) {
      return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for deviations");
    }
  }
  return OPS_OK;
}

int32_t oc_shaken_ask(oc_expected *expected, const oc_question *plain, ops_error *error) {
  const int32_t type = accumulation_of(expected, plain->item);
  oc_question wide = *plain;
  wide.widen = OPS_TYPE_DOUBLE;
  int32_t status = oc_oracle_run_wide(&wide, expected->wide, error);
  if (status == OPS_ERROR_UNSUPPORTED) {
    wide.widen = OPS_TYPE_FLOAT;
    free_all(expected->wide);
    status = oc_oracle_run_wide(&wide, expected->wide, error);
  }
  if (status == OPS_OK) status = make_room(expected, error);
  for (int run = 0; run < OC_SHAKEN_RUNS && status == OPS_OK; ++run) {
    status = run_shaken(expected, &wide, run, type, error);
  }
  return status == OPS_OK ? close_all(expected, error) : status;
}
