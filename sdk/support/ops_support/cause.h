// SPDX-License-Identifier: Apache-2.0
//
// Looking up the catalogue of <ops/cause.h>.
#ifndef OPS_SUPPORT_CAUSE_H_
#define OPS_SUPPORT_CAUSE_H_

#include <ops/cause.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ops_cause {
  int32_t number;
  int32_t status;  // beside which it may stand, or OPS_CAUSE_ANY_STATUS
  const char *name;
  const char *cause;
  const char *find;  // how to find where it comes from
  const char *fix;
} ops_cause;

// How many there are, and the one at `index`, by number; NULL beyond the last.
uint64_t ops_cause_count(void);
const ops_cause *ops_cause_at(uint64_t index);
// NULL: no such number.
const ops_cause *ops_cause_find(int32_t number);

// Of an error that a call filled: its cause, if it is known and fits the status, else the
// status (INTERNAL for one that is not known). Never NULL; OPS_OK has no cause and is taken for
// INTERNAL.
const ops_cause *ops_error_cause(const ops_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_CAUSE_H_
