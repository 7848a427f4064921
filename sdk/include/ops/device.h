// SPDX-License-Identifier: Apache-2.0
//
// Instances of a provider, their devices, and device memory.
#ifndef OPS_DEVICE_H_
#define OPS_DEVICE_H_

#include <ops/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ops_instance ops_instance;

#define OPS_DEVICE_CPU 0
#define OPS_DEVICE_GPU 1
#define OPS_DEVICE_NPU 2
#define OPS_DEVICE_OTHER 3

// ops_device_info.flags
// The device's kernels need no alignment of what they read of a node's constant inputs: the
// contents of floating-point constants of 4 KiB and more may begin at any byte, and are read by
// memcpy or its like. Arguments of execute, attributes and smaller constants are aligned to
// their elements for everyone; without the flag the host copies where it must.
#define OPS_DEVICE_UNALIGNED_CONSTANTS ((uint32_t)1 << 0)
// A driver below the provider starts threads that it keeps for the life of the process, once:
// they are still there when the last instance is destroyed, and opening again adds none.
#define OPS_DEVICE_DRIVER_THREADS ((uint32_t)1 << 1)

// What a device is. Strings live as long as the device. Output struct.
typedef struct ops_device_info {
  uint64_t struct_size;
  int32_t kind;           // OPS_DEVICE_…
  uint32_t memory_kinds;  // set of OPS_MEMORY_BIT: kinds that `allocate` serves, HOST always
                          // included
  ops_str name;
  ops_str architecture;
  ops_str driver_version;
  ops_str fingerprint;        // equal for devices whose measurements may be compared
  uint64_t memory_bytes;      // of the device's own memory; 0: the host's
  uint64_t min_alignment;     // of every allocation, a power of two
  double peak_flops_float32;  // per second; 0: unknown
  double peak_flops_float16;
  double peak_ops_int8;
  double peak_bytes_per_second;
  const ops_str *features;  // hardware features, by the provider's names
  uint64_t feature_count;
  uint64_t max_streams;  // 0: no limit
  uint32_t flags;        // OPS_DEVICE_…
  uint32_t reserved;     // 0
} ops_device_info;

// One running copy of a provider: several may live in one process, none knows of the others.
// Slots are required and thread-safe unless they say otherwise.
typedef struct ops_instance_api {
  uint64_t struct_size;

  // `api` and `host` live until destroy returns. Unknown options are INVALID_ARGUMENT. The
  // caller owns *out_instance until destroy.
  int32_t (*create)(const ops_host_api *api, ops_host *host, const ops_key_value *options,
                    uint64_t option_count, ops_instance **out_instance, ops_error *error);

  // Joins all threads of the instance; calls no host function after it returns. PRECONDITION if
  // a device is still open. Accepts NULL.
  int32_t (*destroy)(ops_instance *instance, ops_error *error);

  int32_t (*device_count)(ops_instance *instance, uint64_t *out_count, ops_error *error);

  // Opens device `index`; each open is an object of its own.
  int32_t (*device_open)(ops_instance *instance, uint64_t index, ops_device **out_device,
                         ops_error *error);

  // PRECONDITION if a stream, event, kernel or allocation of it is alive. Accepts NULL.
  int32_t (*device_close)(ops_device *device, ops_error *error);

  int32_t (*device_info)(ops_device *device, ops_device_info *out_info, ops_error *error);

  // Optional. Brings a lost device back; every object on it is invalid afterwards.
  int32_t (*device_reset)(ops_device *device, ops_error *error);
} ops_instance_api;

// What an allocation is for.
#define OPS_USAGE_ACTIVATION 0
#define OPS_USAGE_WEIGHT 1
#define OPS_USAGE_WORKSPACE 2
#define OPS_USAGE_STAGING 3
#define OPS_USAGE_IO 4

// How much of one memory kind is in use. Output struct.
typedef struct ops_memory_stats {
  uint64_t struct_size;
  uint64_t bytes_in_use;
  uint64_t bytes_peak;
  uint64_t allocations;
  uint64_t bytes_total;
  uint64_t bytes_largest_free;  // 0: unknown
} ops_memory_stats;

// Handle types of external memory and semaphores.
#define OPS_EXTERNAL_HOST_POINTER 1
#define OPS_EXTERNAL_FILE_DESCRIPTOR 2
#define OPS_EXTERNAL_DMA_BUF 3

typedef struct ops_external {
  uint64_t struct_size;
  int32_t handle_type;  // OPS_EXTERNAL_…
  int32_t descriptor;   // FILE_DESCRIPTOR, DMA_BUF; a successful import takes it over
  void *pointer;        // HOST_POINTER
  uint64_t offset;
  uint64_t size;
  int32_t memory_kind;  // what the handle becomes, or was
  int32_t reserved;
} ops_external;

// Device memory and private layouts. The whole table may be NULL for a provider that works in
// ordinary host memory only: the host then allocates, and every handle is an address.
typedef struct ops_memory_api {
  uint64_t struct_size;

  // Required, thread-safe. OUT_OF_MEMORY on exhaustion; size 0 is INVALID_ARGUMENT. The
  // alignment is at least the device's min_alignment.
  int32_t (*allocate)(ops_device *device, int32_t memory_kind, uint64_t size,
                      uint64_t alignment, int32_t usage, void **out_memory, ops_error *error);

  // Required, thread-safe. No pending work may use the memory. Accepts NULL memory.
  void (*free)(ops_device *device, int32_t memory_kind, void *memory);

  // Optional, thread-safe.
  int32_t (*stats)(ops_device *device, int32_t memory_kind, ops_memory_stats *out_stats,
                   ops_error *error);

  // Optional: allocation and free in stream order; both or neither.
  int32_t (*allocate_async)(ops_stream *stream, int32_t memory_kind, uint64_t size,
                            uint64_t alignment, void **out_memory, ops_error *error);
  int32_t (*free_async)(ops_stream *stream, int32_t memory_kind, void *memory,
                        ops_error *error);

  // Required if the provider has private layouts. Bytes of a tensor of this type and shape.
  int32_t (*layout_size)(ops_device *device, uint32_t layout, int32_t type, int32_t rank,
                         const int64_t *dims, uint64_t *out_bytes, ops_error *error);

  // Required if the provider has private layouts. Converts between layouts, in memory of the
  // device or in host memory as the descriptors say, in stream order (stream NULL: at once).
  int32_t (*reorder)(ops_device *device, ops_stream *stream, const ops_arg *source,
                     const ops_arg *target, ops_error *error);

  // Optional. Import makes a handle of this device; free it as any other. Export lends one.
  int32_t (*import_external)(ops_device *device, const ops_external *external,
                             void **out_memory, ops_error *error);
  int32_t (*export_external)(ops_device *device, void *memory, int32_t handle_type,
                             ops_external *out_external, ops_error *error);
} ops_memory_api;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_DEVICE_H_
