// SPDX-License-Identifier: Apache-2.0
//
// Packed weights. See conv_pack.h.
#include "conv_pack.h"

#include <ops_support/checked.h>

void cpu_conv_pack_init(cpu_conv_pack *pack) {
  pthread_mutex_init(&pack->mutex, NULL);
}

void cpu_conv_pack_finish(cpu_conv_pack *pack, const ops_device *device) {
  if (pack->packed) device->api->packed_release(device->host, pack->packed);
  pthread_mutex_destroy(&pack->mutex);
}

static int32_t make(cpu_conv_pack *pack, const ops_device *device, const ops_constant *weights,
                    const float *values, const cpu_conv_packing *packing, ops_error *error) {
  int64_t count;
  uint64_t bytes;
  void *memory = NULL;
  int32_t fill = 0;
  if (!ops_checked_count(packing->dims, packing->rank, &count) ||
      !ops_checked_mul((uint64_t)count, sizeof(float), &bytes))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: weights too large");
  OPS_RETURN_IF_ERROR(device->api->packed_acquire(device->host, weights, packing->name,
                                                  OPS_MEMORY_HOST, bytes, 64, &pack->packed,
                                                  &memory, &fill, error));
  if (fill) {
    packing->fill(device, packing->plan, values, memory);
    device->api->packed_commit(device->host, pack->packed);
  }
  pack->memory = memory;
  return OPS_OK;
}

int32_t cpu_conv_pack_find(cpu_conv_pack *pack, const ops_device *device,
                           const ops_constant *weights, const float *values,
                           const cpu_conv_packing *packing, ops_error *error) {
  int32_t status = OPS_OK;
  pthread_mutex_lock(&pack->mutex);
  if (!pack->memory) status = make(pack, device, weights, values, packing, error);
  pthread_mutex_unlock(&pack->mutex);
  return status;
}
