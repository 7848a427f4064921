// SPDX-License-Identifier: Apache-2.0
//
// Which cases are put to the checks that are too dear for every case. They are chosen from the
// whole list of cases of a tier, evenly over the suitable cases of one operator and type, so
// that the choice depends on neither selection, shard nor order: a repeated case is put to the
// same checks again.
#ifndef OC_CHECKS_SAMPLE_H_
#define OC_CHECKS_SAMPLE_H_

#include "cases/case.h"

#define OC_SAMPLE_MAX_ELEMENTS 65536  // of all inputs of a suitable case together

// Suitable: a valid node whose inputs have elements, but not too many, and no special values.
bool oc_sample_suits(const oc_case *item);

// The place of a case among the suitable ones of its operator and type.
typedef struct oc_sample {
  uint32_t place;  // from 0
  uint32_t total;  // 0: not suitable
} oc_sample;

// One per case; the caller frees it. NULL when memory is exhausted.
oc_sample *oc_sample_all(const oc_cases *cases);

// Whether the case is one of `wanted` that are spread over the suitable ones.
bool oc_sample_takes(oc_sample sample, uint32_t wanted);

#endif  // OC_CHECKS_SAMPLE_H_
