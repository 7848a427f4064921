// SPDX-License-Identifier: Apache-2.0
//
// The instance of a provider with one device. See host_instance.h.
#include <ops_support/error.h>
#include <ops_support/host_instance.h>
#include <ops_support/provider.h>
#include <stdlib.h>

int32_t ops_host_instance_create(const ops_host_api *api, ops_host *host,
                                 const ops_key_value *options, uint64_t option_count,
                                 ops_instance **out_instance, ops_error *error) {
  *out_instance = NULL;
  OPS_RETURN_IF_ERROR(ops_table_check(api, sizeof *api, "host table", error));
  if (option_count)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_UNKNOWN_OPTION,
                               "option '%.*s': this provider takes no options",
                               OPS_STR_FMT(options[0].key));
  ops_instance *instance = calloc(1, sizeof *instance);
  if (!instance)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an instance");
  instance->api = api;
  instance->host = host;
  *out_instance = instance;
  return OPS_OK;
}

int32_t ops_host_instance_destroy(ops_instance *instance, ops_error *error) {
  const int32_t open =
      instance ? __atomic_load_n(&instance->open_devices, __ATOMIC_ACQUIRE) : 0;
  if (open)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "%d device(s) of the instance are still open; close them first", open);
  free(instance);
  return OPS_OK;
}

int32_t ops_host_instance_device_count(ops_instance *instance, uint64_t *out_count,
                                       ops_error *error) {
  (void)instance, (void)error;
  *out_count = 1;
  return OPS_OK;
}

int32_t ops_host_instance_add_device(ops_instance *instance, uint64_t index, ops_error *error) {
  if (index != 0)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "device %llu: this provider has device 0 only",
                         (unsigned long long)index);
  __atomic_fetch_add(&instance->open_devices, 1, __ATOMIC_RELAXED);
  return OPS_OK;
}

void ops_host_instance_remove_device(ops_instance *instance) {
  __atomic_fetch_sub(&instance->open_devices, 1, __ATOMIC_RELEASE);
}
