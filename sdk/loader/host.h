// SPDX-License-Identifier: Apache-2.0
//
// The services a host lends to a provider instance (ops_host_api), implemented once for every
// host of this project. A host configures sinks by callbacks; everything else has a default.
#ifndef OPS_LOADER_HOST_H_
#define OPS_LOADER_HOST_H_

#include <ops/ops.h>

#include "loader/packed.h"

#ifdef __cplusplus
extern "C" {
#endif

// Zero is a sensible value for every field. Callbacks may come from any thread.
typedef struct ops_host_options {
  void *context;          // handed to every callback
  int32_t workers;        // threads of parallel_for, the caller included; 0: one per core
  int32_t log_threshold;  // OPS_LOG_…: quieter messages are dropped
  void (*log)(void *context, int32_t severity, ops_str message);  // NULL: stderr
  void (*profile)(void *context,
                  const ops_profile_record *record);  // NULL: no profile is taken
  void *(*allocate)(void *context, uint64_t size, uint64_t alignment);  // both or neither
  void (*free)(void *context, void *memory);
  // Serves ops_host_api.set_output_shape. NULL: outputs in mode HOST_SYNC are refused.
  int32_t (*set_output_shape)(void *context, ops_call *call, uint64_t index, int32_t rank,
                              const int64_t *dims, ops_arg *out_arg, ops_error *error);
  // Serves ops_host_api.is_cancelled. NULL: nothing is ever cancelled.
  int32_t (*is_cancelled)(void *context, const ops_call *call);
  // Where packed constants are kept; give several hosts one store and they share. NULL: its
  // own.
  ops_packed_store *packed;
  ops_str
      owner;  // the provider, which gives meaning to the names of packings; outlives the host
} ops_host_options;

// One per provider instance; outlives it. The caller owns *out_host until ops_host_destroy.
int32_t ops_host_create(const ops_host_options *options, ops_host **out_host, ops_error *error);
void ops_host_destroy(ops_host *host);  // accepts NULL

// The table that goes with every ops_host. Static.
const ops_host_api *ops_host_api_table(void);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_LOADER_HOST_H_
