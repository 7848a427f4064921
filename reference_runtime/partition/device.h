// SPDX-License-Identifier: Apache-2.0
//
// A provider opened for work: its library, one instance, one device.
#ifndef RT_PARTITION_DEVICE_H_
#define RT_PARTITION_DEVICE_H_

#include <ops/ops.h>

#include "loader/host.h"
#include "loader/library.h"

// Providers that one session may use.
#define RT_MAX_DEVICES 16u

typedef struct rt_device_spec {
  const char *provider;  // name or path
  const ops_key_value *options;
  uint64_t option_count;
  uint64_t index;                      // of the device
  const char *provider_dir;            // NULL: the installed folder
  const ops_library_wrapper *wrapper;  // NULL: none
} rt_device_spec;

// Read-only after rt_device_open.
typedef struct rt_device {
  uint32_t number;   // place in the order of preference
  const char *name;  // the provider's own
  ops_library *library;
  const ops_provider *provider;
  ops_host *host;
  ops_instance *instance;
  ops_device *device;
  ops_device_info info;
  uint64_t device_count;  // of the instance
  char *name_storage;
} rt_device;

// `host` gives the callbacks of the instance. Errors begin with the provider's name.
int32_t rt_device_open(const rt_device_spec *spec, const ops_host_options *host,
                       uint32_t number, rt_device **out_device, ops_error *error);
// Every kernel, stream and allocation must be gone. Accepts NULL.
void rt_device_close(rt_device *device);

// The memory kind of arguments whose kernel has no definition (compiled groups): the device's
// own memory if it has any, else the host's.
int32_t rt_device_native_kind(const rt_device *device);
// 1 if the host may not touch memory of this kind.
int rt_memory_kind_is_opaque(int32_t memory_kind);

#endif  // RT_PARTITION_DEVICE_H_
