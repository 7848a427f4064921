// SPDX-License-Identifier: Apache-2.0
//
// Receipts: who runs which node of a session. Fallback is never silent.
#ifndef OC_ONNX_TESTS_RECEIPTS_H_
#define OC_ONNX_TESTS_RECEIPTS_H_

#include <opsrt/opsrt.h>
#include <stdbool.h>

#include "runner/result.h"

// Appends the placement of `session` to the list of nodes (report/nodes.h) under the result's
// case, and writes the sums into result->implementation: "mynpu: 3, reference: 1".
// *out_preferred: the first provider runs at least one node.
int32_t oc_receipts_note(const opsrt_session *session, int nodes, oc_result *result,
                         bool *out_preferred, ops_error *error);

#endif  // OC_ONNX_TESTS_RECEIPTS_H_
