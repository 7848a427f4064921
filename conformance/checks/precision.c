// SPDX-License-Identifier: Apache-2.0
//
// Check `precision`: what a definition declares of its arithmetic lies within the contract, and
// where the node asks for float32 accumulation a claim means that the bounds of that hold, with
// every reduced mode off.
#include "cases/element.h"
#include "checks/check.h"
#include "checks/side.h"

static int32_t mantissa(int32_t type) {
  const oc_element_format *format = oc_element_format_of(type);
  return format ? format->mantissa_bits : -1;
}

// The contract's accumulation type for results of the case's main type; UNDEFINED: none.
static int32_t asked_type(const oc_trial *trial) {
  const int32_t type = oc_case_main_type(trial->item);
  const oc_precision *precision = &trial->item->contract->precision;
  if (mantissa(type) < 0) return OPS_TYPE_UNDEFINED;
  return precision->accumulate[type] ? precision->accumulate[type] : type;
}

static bool check_declared(oc_trial *trial, const char *what, int32_t declared) {
  const int32_t asked = asked_type(trial);
  if (declared == 0 || asked == OPS_TYPE_UNDEFINED || mantissa(declared) < 0) return true;
  if (mantissa(declared) >= mantissa(asked)) return true;
  return oc_trial_end(trial, OC_STATUS_FAIL, OC_CHECK_PRECISION,
                      "the definition declares %s '%s', the contract asks for '%s' or wider",
                      what, oc_element_name(declared), oc_element_name(asked));
}

bool oc_check_precision(oc_trial *trial) {
  const ops_kernel_def *def = trial->kernel.def;
  bool claimed = false;
  if (!check_declared(trial, "accumulation_type", def->accumulation_type)) return false;
  if (asked_type(trial) == OPS_TYPE_UNDEFINED) return true;
  const oc_node_options options = {.constants = trial->constants,
                                   .outputs = trial->shapes,
                                   .flags = OPS_NODE_REQUIRE_FP32_ACCUMULATION};
  oc_side *side = oc_side_create(trial, OC_RUN_STRICT, OC_CHECK_PRECISION);
  bool good = side && oc_side_claim(side, &options, &claimed);
  const ops_kernel_def *strict = good && claimed ? side->own.kernel.def : NULL;
  const int32_t declared = strict ? strict->accumulation_type : 0;
  if (good && strict && mantissa(declared) >= 0 &&
      mantissa(declared) < mantissa(OPS_TYPE_FLOAT)) {
    good = oc_side_end(side,
                       "the node asks for float32 accumulation and is claimed by a definition "
                       "that accumulates in '%s'",
                       oc_element_name(declared));
  }
  if (good && claimed) {
    good = oc_side_create_kernel(side) && oc_side_prepare(side) &&
           oc_side_open(side, OC_PLACE_END) && oc_side_run(side, 0, 0);
  }
  oc_side_destroy(side);
  return good;
}
