// SPDX-License-Identifier: Apache-2.0
//
// Tokens that end runs, and what a run makes of its options.
#include <ops_support/error.h>
#include <stdlib.h>

#include "session/session.h"

struct opsrt_cancel {
  atomic_int requested;
};

int32_t opsrt_cancel_create(opsrt_cancel **out_cancel, ops_error *error) {
  *out_cancel = malloc(sizeof **out_cancel);
  if (!*out_cancel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a token");
  atomic_init(&(*out_cancel)->requested, 0);
  return OPS_OK;
}

void opsrt_cancel_destroy(opsrt_cancel *cancel) {
  free(cancel);
}

void opsrt_cancel_request(opsrt_cancel *cancel) {
  atomic_store(&cancel->requested, 1);
}

void opsrt_cancel_reset(opsrt_cancel *cancel) {
  atomic_store(&cancel->requested, 0);
}

const rt_interrupt *rt_session_interrupt(const opsrt_run_options *options,
                                         rt_interrupt *storage) {
  if (!options || (!options->cancel && !options->timeout_ns)) return NULL;
  *storage = (rt_interrupt){.cancelled = options->cancel ? &options->cancel->requested : NULL,
                            .limit_ns = options->timeout_ns};
  const uint64_t now = rt_interrupt_now();
  if (__builtin_add_overflow(now, options->timeout_ns, &storage->deadline_ns))
    storage->deadline_ns = UINT64_MAX;
  return storage;
}
