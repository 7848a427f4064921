// SPDX-License-Identifier: Apache-2.0
//
// Answering a claim with no.
#ifndef OPS_SUPPORT_CLAIM_H_
#define OPS_SUPPORT_CLAIM_H_

#include <ops/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes `claim` a refusal with an OPS_REASON_… code and a formatted text, which is cut where
// the claim has no more room. Returns OPS_OK, so that a claim function may end with `return
// ops_claim_refuse(claim, OPS_REASON_SHAPE, "X has rank %d, expected 4", rank);`.
int32_t ops_claim_refuse(ops_claim *claim, int32_t reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_CLAIM_H_
