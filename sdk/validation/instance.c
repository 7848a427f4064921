// SPDX-License-Identifier: Apache-2.0
//
// Instances and devices: their life, and that a device says the same of itself each time.
#include <string.h>

#include "validation/layer.h"

int32_t val_instance_create(val_layer *layer, const ops_host_api *api, ops_host *host,
                            const ops_key_value *options, uint64_t option_count,
                            ops_instance **out_instance, ops_error *error) {
  // A host of another version is the provider's to judge.
  val_handle *wrapped =
      api && api->struct_size == sizeof *api ? val_host_create(layer, api, host) : NULL;
  ops_error own = OPS_ERROR_INIT;
  ops_error *record = error && error->struct_size >= sizeof own ? error : &own;
  val_call call = {.layer = layer,
                   .slot = "instance.create",
                   .error = record,
                   .code = record->code,
                   .message_size = record->message_size};
  void *object = NULL;
  int32_t status = layer->inner->instance->create(
      wrapped ? &wrapped->host.table : api, wrapped ? (ops_host *)wrapped : host, options,
      option_count, (ops_instance **)&object, record);
  status = val_adopt(&call, status, VAL_INSTANCE, NULL, &object);
  val_handle *instance = object;
  if (instance)
    instance->instance.host = wrapped;
  else if (wrapped)
    val_host_close(wrapped, "instance.create failed");
  if (out_instance) *out_instance = (ops_instance *)instance;
  return status;
}

// A parent goes while children live: the caller's fault, and the provider's if it lets it.
static void judge_close(val_handle *parent, const char *slot, int32_t status, int had_children,
                        const char *children) {
  char text[112];
  if (!had_children || status != OPS_OK) return;
  val_find(parent->layer, "LIFECYCLE-3",
           "%s: answered OPS_OK for %s that has %s alive; expected PRECONDITION and no change",
           slot, val_handle_text(parent, text), children);
}

static int look_for_children(val_handle *parent, const char *slot, char *children,
                             uint64_t size) {
  char text[112];
  if (!val_handle_children(parent, children, size)) return 0;
  val_find(parent->layer, "HOST-3",
           "%s: %s has %s alive; expected none: destroy children before their parents", slot,
           val_handle_text(parent, text), children);
  return 1;
}

static int32_t instance_destroy(ops_instance *object, ops_error *error) {
  static const char kSlot[] = "instance.destroy";
  if (!object) return OPS_OK;
  char children[160];
  val_call call;
  val_handle *instance = val_begin(&call, object, VAL_INSTANCE, kSlot, error);
  if (!instance) return call.refused;
  val_layer *layer = instance->layer;
  const int had = look_for_children(instance, kSlot, children, sizeof children);
  const int32_t status =
      val_end(&call, layer->inner->instance->destroy(instance->real, call.error));
  judge_close(instance, kSlot, status, had, children);
  if (status != OPS_OK) return status;
  val_handle_retire_children(instance);
  if (instance->instance.host) val_host_close(instance->instance.host, kSlot);
  val_handle_retire(instance);
  return status;
}

static int32_t device_count(ops_instance *object, uint64_t *out_count, ops_error *error) {
  val_call call;
  val_handle *instance = val_begin(&call, object, VAL_INSTANCE, "instance.device_count", error);
  if (!instance) return call.refused;
  return val_end(&call, instance->layer->inner->instance->device_count(instance->real,
                                                                       out_count, call.error));
}

static int32_t device_open(ops_instance *object, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  val_call call;
  val_handle *instance = val_begin(&call, object, VAL_INSTANCE, "instance.device_open", error);
  if (!instance) return call.refused;
  *out_device = NULL;
  const int32_t status = instance->layer->inner->instance->device_open(instance->real, index,
                                                                       out_device, call.error);
  return val_adopt(&call, status, VAL_DEVICE, instance, (void **)out_device);
}

static int32_t device_close(ops_device *object, ops_error *error) {
  static const char kSlot[] = "instance.device_close";
  if (!object) return OPS_OK;
  char children[160];
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, kSlot, error);
  if (!device) return call.refused;
  const int had = look_for_children(device, kSlot, children, sizeof children);
  const int32_t status =
      val_end(&call, device->layer->inner->instance->device_close(device->real, call.error));
  judge_close(device, kSlot, status, had, children);
  if (status != OPS_OK) return status;
  val_handle_retire_children(device);
  val_order *order = device->device.order;
  device->device.order = NULL;
  if (order) val_unmap(order, sizeof *order);
  val_handle_retire(device);
  return status;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, uint64_t size) {
  const unsigned char *bytes = data;
  for (uint64_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
  return hash;
}

// Of all that may not change while a device is open.
static uint64_t fingerprint(const ops_device_info *info) {
  const ops_str texts[] = {info->name, info->architecture, info->driver_version,
                           info->fingerprint};
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
    if (texts[i].data) hash = hash_bytes(hash, texts[i].data, texts[i].size);
  hash = hash_bytes(hash, &info->kind, sizeof info->kind);
  hash = hash_bytes(hash, &info->memory_kinds, sizeof info->memory_kinds);
  hash = hash_bytes(hash, &info->min_alignment, sizeof info->min_alignment);
  return hash ? hash : 1;
}

static int32_t device_info(ops_device *object, ops_device_info *out_info, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "instance.device_info", error);
  if (!device) return call.refused;
  const int32_t status = val_end(
      &call, device->layer->inner->instance->device_info(device->real, out_info, call.error));
  if (status != OPS_OK || out_info->struct_size < sizeof *out_info) return status;
  device->device.min_alignment = out_info->min_alignment;
  const uint64_t now = fingerprint(out_info);
  uint64_t before = 0;
  if (!atomic_compare_exchange_strong(&device->device.fingerprint, &before, now) &&
      before != now)
    val_find(device->layer, "LIFECYCLE-10",
             "instance.device_info: device %u says another name, architecture, driver, "
             "fingerprint, kind, memory or alignment than before; expected the same each time",
             device->number);
  return status;
}

static int32_t device_reset(ops_device *object, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "instance.device_reset", error);
  if (!device) return call.refused;
  const int32_t status =
      val_end(&call, device->layer->inner->instance->device_reset(device->real, call.error));
  if (status == OPS_OK) val_handle_retire_children(device);
  return status;
}

void val_fill_instance(val_layer *layer) {
  const ops_instance_api *inner = layer->inner->instance;
  layer->instance =
      (ops_instance_api){.struct_size = sizeof layer->instance,
                         .destroy = instance_destroy,
                         .device_count = device_count,
                         .device_open = device_open,
                         .device_close = device_close,
                         .device_info = device_info,
                         .device_reset = inner->device_reset ? device_reset : NULL};
  layer->provider.instance = &layer->instance;
}
