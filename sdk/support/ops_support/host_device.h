// SPDX-License-Identifier: Apache-2.0
//
// A ready instance for providers that compute in ordinary host memory, synchronously: one
// device, the host's processor, no options. A provider that describes its device otherwise, or
// has options, writes its own table from the functions here and in host_instance.h.
#ifndef OPS_SUPPORT_HOST_DEVICE_H_
#define OPS_SUPPORT_HOST_DEVICE_H_

#include <ops_support/host_instance.h>

#ifdef __cplusplus
extern "C" {
#endif

// What kernels find behind their device handle.
struct ops_device {
  ops_instance *instance;
  int32_t kernels;  // alive; atomic
};

// A kernel of the device is created (1) or destroyed (-1). A device with live kernels does not
// close.
void ops_host_device_count_kernel(ops_device *device, int32_t change);

int32_t ops_host_device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                             ops_error *error);
// PRECONDITION while a kernel that was counted is alive. Accepts NULL.
int32_t ops_host_device_close(ops_device *device, ops_error *error);

// For ops_provider.instance.
extern const ops_instance_api ops_host_device_instance;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_HOST_DEVICE_H_
