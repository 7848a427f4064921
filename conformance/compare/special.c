// SPDX-License-Identifier: Apache-2.0
//
// What profiles say of NaN, infinities, zeros and denormals (CONFORMANCE.md: policies belong to
// profiles, never to vendors). `embedded` follows OpenCL's embedded profile, in which
// infinities, NaN and denormals are optional.
#include "compare/compare.h"

// nan_any, infinity_any, signed_zero_distinct, denormal_any
static const oc_special_rules profiles[OC_PROFILE_COUNT] = {
    [OC_PROFILE_STRICT] = {false, false, false, false},
    [OC_PROFILE_STANDARD] = {false, false, false, true},
    [OC_PROFILE_EMBEDDED] = {true, true, false, true},
};

oc_special_rules oc_special_resolve(oc_profile_id profile, const oc_precision *precision) {
  oc_special_rules rules = profiles[profile];
  if (precision->nan != OC_NAN_PROFILE) rules.nan_any = precision->nan == OC_NAN_ANY;
  if (precision->infinity != OC_INFINITY_PROFILE) {
    rules.infinity_any = precision->infinity == OC_INFINITY_ANY;
  }
  if (precision->denormal != OC_DENORMAL_PROFILE) {
    rules.denormal_any = precision->denormal == OC_DENORMAL_ANY;
  }
  rules.signed_zero_distinct = precision->signed_zero == OC_SIGNED_ZERO_DISTINCT;
  return rules;
}
