// SPDX-License-Identifier: Apache-2.0
//
// The operators of the domain com.microsoft that table.c offers. What they compute is on record
// in docs/operator_decisions.md, since their schemas say little.
#ifndef REFERENCE_MICROSOFT_OPERATORS_H_
#define REFERENCE_MICROSOFT_OPERATORS_H_

#include "kernel.h"

extern const ref_op ref_fused_conv, ref_fused_gemm, ref_fused_matmul;

#endif  // REFERENCE_MICROSOFT_OPERATORS_H_
