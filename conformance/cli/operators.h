// SPDX-License-Identifier: Apache-2.0
//
// Names of operators, held against the schemas of ONNX: a misspelt one would never be asked
// for.
#ifndef OC_CLI_OPERATORS_H_
#define OC_CLI_OPERATORS_H_

#include <ops/ops.h>

#include "contract/contract.h"

// The first contract whose operator does not exist: INVALID_MODEL with its place.
int32_t oc_operators_check_contracts(const oc_contracts *contracts, ops_error *error);

// Writes the kernels of `provider` that can never be asked for to `stray`, and those of domains
// that ONNX does not define to `foreign`; empty texts if there are none.
void oc_operators_check_provider(const ops_provider *provider, char *stray, size_t stray_size,
                                 char *foreign, size_t foreign_size);

#endif  // OC_CLI_OPERATORS_H_
