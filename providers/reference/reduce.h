// SPDX-License-Identifier: Apache-2.0
//
// The Reduce family by number.
#ifndef REFERENCE_REDUCE_H_
#define REFERENCE_REDUCE_H_

#include "kernel.h"

enum {
  REF_REDUCE_SUM,
  REF_REDUCE_MEAN,
  REF_REDUCE_PROD,
  REF_REDUCE_MAX,
  REF_REDUCE_MIN,
  REF_REDUCE_L1,
  REF_REDUCE_L2,
  REF_REDUCE_LOG_SUM,
  REF_REDUCE_LOG_SUM_EXP,
  REF_REDUCE_SUM_SQUARE,
  REF_REDUCE_COUNT
};
extern const ref_op ref_reduce[REF_REDUCE_COUNT];

#endif  // REFERENCE_REDUCE_H_
