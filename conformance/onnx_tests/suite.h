// SPDX-License-Identifier: Apache-2.0
//
// The official test directories of ONNX as a list of cases.
//
// A case is a folder that holds model.onnx and test_data_set_N/{input,output}_I.pb. The folder
// given may be a case, a suite (a folder of cases) or a folder of suites. The id of a case is
// "onnx/SUITE/CASE". Tolerances are those of the official loader: rtol 1e-3 and atol 1e-7, or
// what data.json beside the model says; its `reason` stands in the report.
#ifndef OC_ONNX_TESTS_SUITE_H_
#define OC_ONNX_TESTS_SUITE_H_

#include "cases/case.h"

#define OC_ONNX_MAX_CASES 100000
#define OC_ONNX_MAX_SUITES 1000
#define OC_ONNX_MAX_MEMORY (256u << 20)
#define OC_ONNX_MAX_JSON_BYTES 65536  // of one data.json

#define OC_ONNX_RTOL 1e-3
#define OC_ONNX_ATOL 1e-7

typedef struct oc_onnx_case {
  const char *folder;
  double rtol;
  double atol;
  const char *reason;  // for tolerances of its own; NULL: none is given
} oc_onnx_case;

// `cases` is what pool and report know: items with an id, grouped by a contract that stands for
// the suite and promises nothing. `items[i]` belongs to `cases.items[i]`. Sorted by id.
typedef struct oc_onnx_suite {
  oc_cases cases;
  oc_onnx_case *items;
  oc_arena *arena;
} oc_onnx_suite;

// IO for folders and files that cannot be read; INVALID_MODEL for no case at all, an id that is
// too long or given twice, a data.json that is none; OUT_OF_MEMORY.
int32_t oc_onnx_suite_open(const char *folder, oc_onnx_suite **out_suite, ops_error *error);
void oc_onnx_suite_close(oc_onnx_suite *suite);  // accepts NULL

#endif  // OC_ONNX_TESTS_SUITE_H_
