// SPDX-License-Identifier: Apache-2.0
//
// Ready slots for the instance of a provider with one device, the host's processor. The
// provider puts them into a table of its own, beside its device (or takes the whole of
// host_device.h).
#ifndef OPS_SUPPORT_HOST_INSTANCE_H_
#define OPS_SUPPORT_HOST_INSTANCE_H_

#include <ops/device.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ops_instance {
  const ops_host_api *api;
  ops_host *host;
  int32_t open_devices;  // atomic: counted by the two functions below
  const void *options;   // the provider's own reading of its options; NULL at first
};

// Refuses every option; a provider with options reads them, then calls this without.
int32_t ops_host_instance_create(const ops_host_api *api, ops_host *host,
                                 const ops_key_value *options, uint64_t option_count,
                                 ops_instance **out_instance, ops_error *error);
// PRECONDITION while a device is open.
int32_t ops_host_instance_destroy(ops_instance *instance, ops_error *error);
int32_t ops_host_instance_device_count(ops_instance *instance, uint64_t *out_count,
                                       ops_error *error);

// For device_open: refuses every index but 0, else counts the device.
int32_t ops_host_instance_add_device(ops_instance *instance, uint64_t index, ops_error *error);
// For device_close: what happened to the device happens before the instance is destroyed.
void ops_host_instance_remove_device(ops_instance *instance);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_HOST_INSTANCE_H_
