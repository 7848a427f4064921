// SPDX-License-Identifier: Apache-2.0
//
// Making a layer: a copy of the provider's table, in which every slot that is filled leads
// through the layer, and every slot that is empty stays so.
#include "validation/layer.h"

#include <stdio.h>
#include <string.h>

#include "validation/layers.h"

static int32_t fill(val_layer *layer, ops_error *error) {
  OPS_RETURN_IF_ERROR(val_check_tables(layer, error));
  layer->provider = *layer->inner;
  layer->provider.struct_size = sizeof layer->provider;
  val_fill_instance(layer);
  val_fill_memory(layer);
  val_fill_streams(layer);
  val_fill_groups(layer);
  OPS_RETURN_IF_ERROR(val_fill_kernels(layer, error));
  OPS_RETURN_IF_ERROR(val_fill_rewrites(layer, error));
  val_layer_functions(layer->place, &layer->provider, &layer->instance);
  return OPS_OK;
}

static void unmap(val_layer *layer) {
  for (uint32_t i = 0; i < VAL_BUFFERS; ++i)
    val_unmap(layer->buffers[i].memory, layer->buffers[i].size);
  val_unmap(layer->defs, layer->inner->kernel_count * sizeof *layer->defs);
  val_unmap(layer->apis, layer->api_capacity * sizeof *layer->apis);
  val_unmap(layer->rewrites, VAL_REWRITES * sizeof *layer->rewrites);
  val_unmap(layer->handles, VAL_HANDLES * sizeof *layer->handles);
  pthread_mutex_destroy(&layer->lock);
  val_unmap(layer, sizeof *layer);
}

int32_t ops_validation_create(const ops_provider *inner, const ops_validation_sink *sink,
                              ops_validation **out_layer, ops_error *error) {
  *out_layer = NULL;
  val_layer *layer = val_map(sizeof *layer);
  if (!layer) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a validation layer");
  layer->inner = inner;
  if (sink) layer->sink = *sink;
  pthread_mutex_init(&layer->lock, NULL);
  layer->handles = val_map(VAL_HANDLES * sizeof *layer->handles);
  int32_t status = OPS_OK;
  if (!layer->handles)
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a validation layer");
  const int entered = status == OPS_OK && val_layer_enter(layer);
  if (status == OPS_OK && !entered)
    status = ops_error_set(error, OPS_ERROR_PRECONDITION,
                           "a validation layer: %d are in use; destroy one first",
                           OPS_VALIDATION_MAX_LAYERS);
  if (status == OPS_OK) status = fill(layer, error);
  if (status == OPS_OK) {
    *out_layer = layer;
    return OPS_OK;
  }
  if (entered) val_layer_leave(layer);
  unmap(layer);
  return status;
}

void ops_validation_destroy(ops_validation *layer) {
  if (!layer) return;
  for (uint32_t i = 1; i <= layer->handle_count; ++i) {
    val_handle *handle = &layer->handles[i];
    if (atomic_load(&handle->kind) == VAL_INSTANCE && !atomic_load(&handle->dead))
      val_find(layer, "HOST-3",
               "instance %u is alive when the layer is destroyed; expected instance.destroy "
               "before: call it",
               handle->number);
    if (atomic_load(&handle->kind) == VAL_DEVICE && handle->device.order)
      val_unmap(handle->device.order, sizeof *handle->device.order);
  }
  val_layer_leave(layer);
  unmap(layer);
}

const ops_provider *ops_validation_provider(const ops_validation *layer) {
  return &layer->provider;
}

int32_t ops_validation_wrap(void *sink, const ops_provider *inner, void **out_layer,
                            const ops_provider **out_provider, ops_error *error) {
  ops_validation *layer;
  OPS_RETURN_IF_ERROR(ops_validation_create(inner, sink, &layer, error));
  *out_layer = layer;
  *out_provider = &layer->provider;
  return OPS_OK;
}

void ops_validation_unwrap(void *layer) {
  ops_validation_destroy(layer);
}
