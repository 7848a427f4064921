// SPDX-License-Identifier: Apache-2.0
//
// The list of layers, and the calls of the ABI that name no object of their own: creating an
// instance and asking for an extension. Each place of the list has functions of its own.
#include "validation/layers.h"

#include <stdatomic.h>
#include <stddef.h>

#include "validation/layer.h"

static ops_validation *_Atomic layers[OPS_VALIDATION_MAX_LAYERS];

ops_validation *val_layer_at(uint32_t place) {
  return atomic_load_explicit(&layers[place], memory_order_acquire);
}

int val_layer_enter(ops_validation *layer) {
  for (uint32_t i = 0; i < OPS_VALIDATION_MAX_LAYERS; ++i) {
    ops_validation *none = NULL;
    layer->place = i;
    if (atomic_compare_exchange_strong(&layers[i], &none, layer)) return 1;
  }
  return 0;
}

void val_layer_leave(ops_validation *layer) {
  atomic_store(&layers[layer->place], NULL);
}

// No extension is known to the layer, which could not look into it: the host gets none.
static const void *hide_extension(uint32_t place, ops_str name, uint32_t version) {
  ops_validation *layer = val_layer_at(place);
  if (layer && layer->inner->get_extension(name, version))
    val_find(layer, "",
             "extension '%.*s' version %u is hidden from the host, since the layer cannot look "
             "into it; run without validation to use it",
             OPS_STR_FMT(name), version);
  return NULL;
}

static int32_t create_instance(uint32_t place, const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  ops_validation *layer = val_layer_at(place);
  if (!layer)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "instance.create: the validation layer is gone; keep it while its "
                         "table is in use");
  return val_instance_create(layer, api, host, options, option_count, out_instance, error);
}

#define PLACES(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#define FUNCTIONS(place)                                                                  \
  static const void *extension_##place(ops_str name, uint32_t version) {                  \
    return hide_extension(place, name, version);                                          \
  }                                                                                       \
  static int32_t create_##place(const ops_host_api *api, ops_host *host,                  \
                                const ops_key_value *options, uint64_t option_count,      \
                                ops_instance **out_instance, ops_error *error) {          \
    return create_instance(place, api, host, options, option_count, out_instance, error); \
  }
PLACES(FUNCTIONS)
#undef FUNCTIONS

typedef struct functions {
  const void *(*extension)(ops_str name, uint32_t version);
  int32_t (*create)(const ops_host_api *api, ops_host *host, const ops_key_value *options,
                    uint64_t option_count, ops_instance **out_instance, ops_error *error);
} functions;

#define ROW(place) {extension_##place, create_##place},
static const functions kFunctions[OPS_VALIDATION_MAX_LAYERS] = {PLACES(ROW)};
#undef ROW

void val_layer_functions(uint32_t place, ops_provider *provider, ops_instance_api *instance) {
  if (provider->get_extension) provider->get_extension = kFunctions[place].extension;
  instance->create = kFunctions[place].create;
}
