// SPDX-License-Identifier: Apache-2.0
//
// Two runs of the oracle, opened with the option each time.
#include "checks/ties.h"

#include "ops_support/error.h"

static int32_t ask(const oc_question *plain, ops_str direction, double **out, bool *out_known,
                   ops_error *error) {
  oc_target shifted;
  oc_question question = *plain;
  const ops_key_value option = {OPS_STR("tie_shift"), direction};
  *out_known = oc_oracle_open(&shifted, plain->oracle, "the judge `quantised`", &option, 1,
                              NULL) == OPS_OK;
  if (!*out_known) return OPS_OK;
  question.oracle = &shifted;
  const int32_t status = oc_oracle_run_wide(&question, out, error);
  oc_target_close(&shifted, NULL);
  return status;
}

static const ops_str kDown = {"down", 4}, kUp = {"up", 2};

int32_t oc_ties_ask(oc_expected *expected, const oc_question *plain, ops_error *error) {
  bool known;
  OPS_RETURN_IF_ERROR(ask(plain, kDown, expected->lower, &known, error));
  return known ? ask(plain, kUp, expected->upper, &known, error) : OPS_OK;
}
