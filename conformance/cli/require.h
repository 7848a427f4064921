// SPDX-License-Identifier: Apache-2.0
//
// What a release must support: a table operator x type, read from a file of lines
//
//   # a comment
//   opset 13                              meanings that ended before it are not required
//   Conv float float16
//   MaxPool float !*/indices*             but for cases whose id matches
//   com.microsoft.Gelu *                  every type of its contract
//   * *                                   every other operator, too
//
// A case is required if its main type (the first type variable's) is listed for its operator,
// and its other floating-point types are, too: `BatchNormalization float` asks for no mixture.
// A bare name stands for a file of contracts/profiles.
#ifndef OC_CLI_REQUIRE_H_
#define OC_CLI_REQUIRE_H_

#include "cases/case.h"

typedef struct oc_require oc_require;

// Where the table lies: `name` itself if it is a path (it holds a '/' or a '.') or a file here,
// else NAME.txt in the folder `profiles`. NOT_FOUND with the names there are.
int32_t oc_require_locate(const char *name, const char *profiles, char *out_path, size_t size,
                          ops_error *error);

// INVALID_MODEL with "file:line:" for an operator that no contract describes, a type that no
// contract of it has, a repeated operator, a line without types, a bad opset; IO.
int32_t oc_require_load(const char *path, const oc_contracts *contracts,
                        oc_require **out_require, ops_error *error);
void oc_require_destroy(oc_require *require);  // accepts NULL

// True if the case lies inside the table. NULL requires nothing.
bool oc_require_covers(const oc_require *require, const oc_case *item);

#endif  // OC_CLI_REQUIRE_H_
