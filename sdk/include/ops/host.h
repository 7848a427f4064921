// SPDX-License-Identifier: Apache-2.0
//
// The services that the host lends to a provider. A provider links against no host symbol.
//
// The table and its handle live until the instance that received them is destroyed. Every slot
// is filled by the host, may be called from any thread, and is called with no lock of the host
// held.
#ifndef OPS_HOST_H_
#define OPS_HOST_H_

#include <ops/profile.h>
#include <ops/status.h>
#include <ops/tensor.h>
#include <ops/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ops_host ops_host;      // the host's side of one instance
typedef struct ops_call ops_call;      // one execute in progress
typedef struct ops_packed ops_packed;  // a prepacked constant that sessions share

#define OPS_LOG_DEBUG 0
#define OPS_LOG_INFO 1
#define OPS_LOG_WARNING 2
#define OPS_LOG_ERROR 3

// Runs items [begin, end) of a parallel loop. `worker` is in [0, worker_count): no two bodies
// run with the same number at once, so it may index scratch memory.
typedef void (*ops_parallel_body)(void *context, int64_t begin, int64_t end, int32_t worker);

typedef struct ops_host_api {
  uint64_t struct_size;
  uint32_t version;   // of the ABI, as negotiated
  uint32_t reserved;  // 0

  void (*log)(ops_host *host, int32_t severity, ops_str message);

  // Host memory. `alignment` is a power of two; NULL on exhaustion. free accepts NULL.
  void *(*allocate)(ops_host *host, uint64_t size, uint64_t alignment);
  void (*free)(ops_host *host, void *memory);

  // Splits [0, count) into pieces of at least `grain` items and runs them on the host's
  // workers; returns when all are done. Nested calls run on the calling thread.
  void (*parallel_for)(ops_host *host, int64_t count, int64_t grain, ops_parallel_body body,
                       void *context);
  int32_t (*worker_count)(ops_host *host);

  // Not 0 while a profile is being taken; a provider then calls `profile` once per span.
  int32_t (*profile_enabled)(ops_host *host);
  void (*profile)(ops_host *host, const ops_profile_record *record);

  // For outputs in mode OPS_SHAPE_HOST_SYNC, during execute and on its thread: fixes the shape
  // of output `index` and returns the argument to write to. `out_arg` lives until execute
  // returns.
  int32_t (*set_output_shape)(ops_host *host, ops_call *call, uint64_t index, int32_t rank,
                              const int64_t *dims, ops_arg *out_arg, ops_error *error);

  // Accessors for strings, sequences, optionals and maps.
  const ops_value_api *values;

  // A prepacked constant of numbers, found by the hash of its contents, the packing's name,
  // size and alignment. *out_fill is 1 for the caller that must fill it and then call
  // packed_commit, before it acquires another; others block until that has happened. Releasing
  // it unfilled passes the task to the next. Asking again for what one is filling is
  // PRECONDITION; a memory kind that the host does not keep is UNSUPPORTED. Released when the
  // kernel is destroyed.
  int32_t (*packed_acquire)(ops_host *host, const ops_constant *source, ops_str packing,
                            int32_t memory_kind, uint64_t size, uint64_t alignment,
                            ops_packed **out_packed, void **out_memory, int32_t *out_fill,
                            ops_error *error);
  void (*packed_commit)(ops_host *host, ops_packed *packed);
  void (*packed_release)(ops_host *host, ops_packed *packed);

  // An extension of the host by name and version; NULL if it has none.
  const void *(*get_extension)(ops_host *host, ops_str name, uint32_t version);

  // Not 0 once the run that this execute belongs to has been cancelled, or its deadline has
  // passed: a kernel that runs long asks now and then, and returns CANCELLED. Cheap, on any
  // thread, until execute returns. Work on a stream is ended by ops_stream_api.cancel.
  int32_t (*is_cancelled)(ops_host *host, const ops_call *call);
} ops_host_api;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_HOST_H_
