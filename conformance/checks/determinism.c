// SPDX-License-Identifier: Apache-2.0
//
// Check `determinism`: runs at the same addresses must agree bit for bit if `run` is declared,
// runs at other addresses too if `bitwise` is.
#include <string.h>

#include "cases/element.h"
#include "checks/check.h"

int64_t oc_check_print_difference(oc_trial *trial, size_t index, const oc_array *want,
                                  const oc_array *got) {
  int64_t at = 0;
  while (at + 1 < want->count && oc_element_load_bits(want->type, want->data, (uint64_t)at) ==
                                     oc_element_load_bits(got->type, got->data, (uint64_t)at)) {
    ++at;
  }
  oc_result *result = trial->result;
  result->output = (int32_t)index;
  result->element = at;
  oc_element_print(want->type, want->data, (uint64_t)at, result->expected,
                   sizeof result->expected);
  oc_element_print(got->type, got->data, (uint64_t)at, result->got, sizeof result->got);
  return at;
}

static bool same_bits(oc_trial *trial, oc_run_kind other, const char *declared) {
  for (size_t i = 0; i < trial->expected.count; ++i) {
    const oc_array *first = &trial->got[OC_RUN_FIRST][i];
    const oc_array *second = &trial->got[other][i];
    if (!second->present || memcmp(first->data, second->data, first->bytes) == 0) continue;
    const int64_t at = oc_check_print_difference(trial, i, first, second);
    return oc_trial_end(trial, OC_STATUS_FAIL, "determinism",
                        "the definition declares determinism '%s', but the runs '%s' and '%s' "
                        "differ in output %zu, "
                        "element %lld",
                        declared, oc_run_name(OC_RUN_FIRST), oc_run_name(other), i,
                        (long long)at);
  }
  return true;
}

bool oc_check_determinism(oc_trial *trial) {
  const int32_t declared = trial->kernel.def->determinism;
  const char *name = declared >= OPS_DETERMINISM_BITWISE ? "bitwise" : "run";
  if (declared >= OPS_DETERMINISM_RUN && !same_bits(trial, OC_RUN_AGAIN, name)) return false;
  return declared < OPS_DETERMINISM_BITWISE || same_bits(trial, OC_RUN_MOVED, name);
}
