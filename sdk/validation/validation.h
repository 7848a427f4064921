// SPDX-License-Identifier: Apache-2.0
//
// The validation layer: a provider that wraps a provider. The host uses the layer's table in
// place of the provider's; every call is checked on its way in and out, and each breach of the
// ABI is reported with the clause of contracts/provider that it breaks.
//
// It judges both sides: clauses HOST-… are about the caller, all others about the provider. It
// works over any provider, over itself too. All functions are thread-safe.
#ifndef OPS_VALIDATION_VALIDATION_H_
#define OPS_VALIDATION_VALIDATION_H_

#include <ops/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

// Layers that a process may hold at once: a table of functions has no place for a context where
// a call names no object, so each layer has functions of its own for these calls.
#define OPS_VALIDATION_MAX_LAYERS 16

// What a report is about.
#define OPS_VALIDATION_NOTE 0      // no fault: something that the layer does not look into
#define OPS_VALIDATION_HOST 1      // the caller broke a rule
#define OPS_VALIDATION_PROVIDER 2  // the provider did

typedef struct ops_validation ops_validation;

typedef struct ops_validation_sink {
  void *context;
  // From any thread, with no lock held. `clause` is "MEMORY-1", or "" of a note; `text` names
  // the provider, the call and the object, with what was expected and found and what to do.
  // Both are borrowed for the call. The same text is reported once.
  void (*report)(void *context, int32_t side, const char *clause, const char *text);
} ops_validation_sink;

// Wraps `inner`, which must outlive the layer. INVALID_ARGUMENT (and a finding for each fault)
// where a table lacks what the ABI requires; PRECONDITION where there are too many layers. The
// caller owns *out_layer until ops_validation_destroy.
int32_t ops_validation_create(const ops_provider *inner, const ops_validation_sink *sink,
                              ops_validation **out_layer, ops_error *error);

// Reports instances that are still alive. Nothing of the table may be in use. Accepts NULL.
void ops_validation_destroy(ops_validation *layer);

// The table to use in place of the provider's; lives as long as the layer.
const ops_provider *ops_validation_provider(const ops_validation *layer);

// Findings so far; notes are not counted.
uint64_t ops_validation_count(const ops_validation *layer);

// The two functions of a loader's wrapper (ops_library_wrapper); `sink` is an
// ops_validation_sink, which outlives the library.
int32_t ops_validation_wrap(void *sink, const ops_provider *inner, void **out_layer,
                            const ops_provider **out_provider, ops_error *error);
void ops_validation_unwrap(void *layer);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_VALIDATION_VALIDATION_H_
