// SPDX-License-Identifier: Apache-2.0
//
// What a release must support: a table operator x type, read from a file of lines
//
//   # a comment
//   Conv float float16
//   com.microsoft.Gelu *
#ifndef OC_CLI_REQUIRE_H_
#define OC_CLI_REQUIRE_H_

#include "cases/case.h"

typedef struct oc_require oc_require;

// INVALID_MODEL with "file:line:" for an operator that no contract describes, a type that no
// contract of it has, a repeated operator, a line without types; IO.
int32_t oc_require_load(const char *path, const oc_contracts *contracts,
                        oc_require **out_require, ops_error *error);
void oc_require_destroy(oc_require *require);  // accepts NULL

// True if the case lies inside the table. NULL requires nothing.
bool oc_require_covers(const oc_require *require, const oc_case *item);

#endif  // OC_CLI_REQUIRE_H_
