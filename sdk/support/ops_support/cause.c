// SPDX-License-Identifier: Apache-2.0
#include <ops_support/cause.h>
#include <stddef.h>

static const ops_cause causes[] = {
#define X(constant, status, name, cause, find, fix) {constant, status, name, cause, find, fix},
    OPS_CAUSE_LIST(X)
#undef X
};

uint64_t ops_cause_count(void) {
  return sizeof causes / sizeof causes[0];
}

const ops_cause *ops_cause_at(uint64_t index) {
  return index < ops_cause_count() ? &causes[index] : NULL;
}

const ops_cause *ops_cause_find(int32_t number) {
  for (uint64_t i = 0; i < ops_cause_count(); ++i)
    if (causes[i].number == number) return &causes[i];
  return NULL;
}

// A provider that knows no causes leaves the one of an earlier error in the record.
static int fits(const ops_cause *cause, int32_t status) {
  return cause && (cause->status == status || cause->status == OPS_CAUSE_ANY_STATUS);
}

const ops_cause *ops_error_cause(const ops_error *error) {
  const int known = error->struct_size >= offsetof(ops_error, cause) + sizeof error->cause;
  const ops_cause *cause = known ? ops_cause_find(error->cause) : NULL;
  if (fits(cause, error->code)) return cause;
  cause = ops_cause_find(error->code);
  return cause ? cause : ops_cause_find(OPS_ERROR_INTERNAL);
}
