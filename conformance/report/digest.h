// SPDX-License-Identifier: Apache-2.0
//
// A report added up by operator: what tables and plots show. Its size does not grow with the
// number of cases.
#ifndef OC_REPORT_DIGEST_H_
#define OC_REPORT_DIGEST_H_

#include "report/report.h"

#define OC_DIGEST_CHECKS 64  // bits of oc_result.checks

// The case of one element type that came nearest to its limit, or went farthest beyond it.
typedef struct oc_digest_worst {
  const oc_result *result;  // NULL: nothing was measured
  double share;             // error / limit; infinity where the limit is 0 and the error is not
} oc_digest_worst;

typedef struct oc_digest_op {
  char name[128];     // "Softmax", "com.microsoft.Gelu"; with --onnx-tests a suite
  size_t begin, end;  // of its results in the report
  uint64_t counts[OC_STATUS_COUNT];
  uint64_t asked[OC_DIGEST_CHECKS];   // cases put to the check
  uint64_t failed[OC_DIGEST_CHECKS];  // cases that it ended as a failure
  double seconds;
  oc_digest_worst worst[OPS_TYPE_COUNT];
  double share;  // the largest of `worst`, 0 if there is none
} oc_digest_op;

typedef struct oc_digest {
  oc_digest_op *ops;
  size_t count;
  uint64_t asked[OC_DIGEST_CHECKS];  // sums over the operators
  uint64_t failed[OC_DIGEST_CHECKS];
} oc_digest;

// Of a closed report, to which it points.
int32_t oc_digest_init(oc_digest *digest, const oc_report *report, ops_error *error);
void oc_digest_finish(oc_digest *digest);  // accepts a zeroed one

// Whether the provider claims any of the operator's cases.
bool oc_digest_is_claimed(const oc_digest_op *op);
uint64_t oc_digest_failures(const oc_digest_op *op);

// error / limit of a measured result; 0 for one that measured nothing.
double oc_digest_share(const oc_result *result);

// The performance of a case, NULL if there is none.
const oc_perf_point *oc_report_point(const oc_report *report, const oc_result *result);

#endif  // OC_REPORT_DIGEST_H_
