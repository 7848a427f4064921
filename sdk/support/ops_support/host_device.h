// SPDX-License-Identifier: Apache-2.0
//
// A ready instance for providers that compute in ordinary host memory, synchronously: one
// device, the host's processor, no options. A provider with a device of its own writes its own
// table.
#ifndef OPS_SUPPORT_HOST_DEVICE_H_
#define OPS_SUPPORT_HOST_DEVICE_H_

#include <ops/device.h>

#ifdef __cplusplus
extern "C" {
#endif

// What kernels find behind their device handle.
struct ops_instance {
  const ops_host_api *api;
  ops_host *host;
  int32_t open_devices;  // atomic
};
struct ops_device {
  ops_instance *instance;
};

// For ops_provider.instance.
extern const ops_instance_api ops_host_device_instance;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_HOST_DEVICE_H_
