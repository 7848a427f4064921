// SPDX-License-Identifier: Apache-2.0
//
// The provider's table of kernel definitions and what it is part of.
#ifndef REFERENCE_TABLE_H_
#define REFERENCE_TABLE_H_

#include <ops/ops.h>

extern const ops_provider ref_provider;
extern const ops_instance_api ref_instance_api;

#endif  // REFERENCE_TABLE_H_
