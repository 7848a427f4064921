// SPDX-License-Identifier: Apache-2.0
//
// A provider to look at, without a model.
#include <ops_support/error.h>
#include <stdlib.h>

#include "session/session.h"

struct opsrt_provider {
  rt_device *device;
};

int32_t opsrt_provider_open(const opsrt_provider_spec *spec, const char *provider_dir,
                            opsrt_provider **out_provider, ops_error *error) {
  *out_provider = NULL;
  char buffer[4096];
  if (!provider_dir) provider_dir = rt_session_provider_dir(buffer, sizeof buffer);
  opsrt_provider *provider = calloc(1, sizeof *provider);
  if (!provider) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a provider");
  const ops_host_options host = {.log_threshold = OPS_LOG_WARNING};
  const rt_device_spec device = {.provider = spec->name,
                                 .options = spec->options,
                                 .option_count = spec->option_count,
                                 .index = spec->device,
                                 .provider_dir = provider_dir};
  const int32_t status = rt_device_open(&device, &host, 0, &provider->device, error);
  if (status != OPS_OK) {
    free(provider);
    return status;
  }
  *out_provider = provider;
  return OPS_OK;
}

void opsrt_provider_close(opsrt_provider *provider) {
  if (!provider) return;
  rt_device_close(provider->device);
  free(provider);
}

const ops_provider *opsrt_provider_table(const opsrt_provider *provider) {
  return provider->device->provider;
}

const char *opsrt_provider_path(const opsrt_provider *provider) {
  return ops_library_path(provider->device->library);
}

const ops_device_info *opsrt_provider_device(const opsrt_provider *provider) {
  return &provider->device->info;
}

uint64_t opsrt_provider_device_count(const opsrt_provider *provider) {
  return provider->device->device_count;
}
