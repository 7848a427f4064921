// SPDX-License-Identifier: Apache-2.0
//
// The one exported symbol, version negotiation, and the table behind which everything lies.
#ifndef OPS_PROVIDER_H_
#define OPS_PROVIDER_H_

#include <ops/device.h>
#include <ops/group.h>
#include <ops/rewrite.h>
#include <ops/schema.h>
#include <ops/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

// "OPSABI01" in memory, read as a little-endian number.
#define OPS_QUERY_MAGIC UINT64_C(0x313049424153504f)

// Sanitizers a binary was built with. Mixing an instrumented provider with a host that is not
// (or the reverse) breaks in ways that look like provider bugs, so it is refused.
#define OPS_SANITIZER_NONE 0u
#define OPS_SANITIZER_ADDRESS 1u
#define OPS_SANITIZER_THREAD 2u
#define OPS_SANITIZER_MEMORY 4u

// Feature bits of the host and of the provider; each side states what it offers and needs.
#define OPS_FEATURE_STREAMS ((uint64_t)1 << 0)
#define OPS_FEATURE_GROUPS ((uint64_t)1 << 1)
#define OPS_FEATURE_REWRITES ((uint64_t)1 << 2)
#define OPS_FEATURE_VALUES ((uint64_t)1 << 3)  // sequence, optional, map and string arguments
#define OPS_FEATURE_CAPTURE ((uint64_t)1 << 4)
#define OPS_FEATURE_PRIVATE_LAYOUTS ((uint64_t)1 << 5)
#define OPS_FEATURE_EXTERNAL_MEMORY ((uint64_t)1 << 6)
#define OPS_FEATURE_SPARSE_CONSTANTS ((uint64_t)1 << 7)
#define OPS_FEATURE_POST_OPS ((uint64_t)1 << 8)

// Everything that a provider is. Static and constant: lives as long as the library is loaded.
typedef struct ops_provider {
  uint64_t struct_size;
  ops_str name;     // "cpu"
  ops_str vendor;   // "Example Corp."
  ops_str version;  // of the provider: "2.1.0"
  const ops_kernel_def *kernels;
  uint64_t kernel_count;
  uint64_t kernel_stride;
  const ops_schema *schemas;
  uint64_t schema_count;
  uint64_t schema_stride;
  const ops_rewrite *rewrites;
  uint64_t rewrite_count;
  uint64_t rewrite_stride;
  const ops_instance_api *instance;  // required
  const ops_memory_api *memory;      // NULL: host memory only
  const ops_stream_api *stream;      // NULL: synchronous
  const ops_group_api *group;        // NULL: single nodes only
  // Optional, thread-safe: an extension by name and version, or NULL. One that the host does
  // not know stays unused.
  const void *(*get_extension)(ops_str name, uint32_t version);
  int32_t unload_safe;  // 1: dlclose is safe once every instance is destroyed
  int32_t reserved;     // 0
} ops_provider;

// What the host says. Input struct.
typedef struct ops_query_request {
  uint64_t struct_size;
  uint64_t magic;        // OPS_QUERY_MAGIC
  uint32_t min_version;  // OPS_MAKE_VERSION, both inclusive
  uint32_t max_version;
  uint64_t offered_features;
  uint32_t sanitizer;  // set of OPS_SANITIZER_…
  uint32_t reserved;   // 0
} ops_query_request;

// What the provider answers. Output struct: the host sets struct_size, the provider writes no
// further than that.
typedef struct ops_query_reply {
  uint64_t struct_size;
  uint64_t magic;        // OPS_QUERY_MAGIC
  uint32_t version;      // that it will speak, in [min_version, max_version]
  uint32_t min_version;  // the versions that it could speak, also when it refuses
  uint32_t max_version;
  uint32_t sanitizer;
  uint64_t offered_features;
  uint64_t required_features;  // of the host
  const ops_provider *provider;
} ops_query_reply;

// The one exported symbol. Pure: starts no thread, touches no device, allocates nothing, needs
// only the baseline instruction set. UNSUPPORTED_VERSION if no version fits; the reply then
// still says what the provider needs.
OPS_EXPORT int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                                      ops_error *error);
typedef int32_t (*ops_provider_query_fn)(const ops_query_request *request,
                                         ops_query_reply *reply, ops_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_PROVIDER_H_
