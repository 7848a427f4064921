// SPDX-License-Identifier: Apache-2.0
//
// Rewrite rules. Their one function does not say which rule it is of, so each place of the
// table has a function of its own.
#include <string.h>

#include "validation/layer.h"

static int32_t apply(uint32_t place, ops_device *object, const ops_node *const *nodes,
                     uint64_t node_count, const ops_rewrite_api *api,
                     ops_rewrite_builder *builder, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "rewrite.apply", error);
  if (!device) return call.refused;
  const ops_provider *inner = device->layer->inner;
  const ops_rewrite *rule = OPS_AT(ops_rewrite, inner->rewrites, inner->rewrite_stride, place);
  return val_end(&call, rule->apply(device->real, nodes, node_count, api, builder, call.error));
}

// clang-format off
#define PLACES(X)                                             \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10)     \
  X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) \
  X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
// clang-format on

#define FUNCTION(place)                                                          \
  static int32_t apply_##place(ops_device *device, const ops_node *const *nodes, \
                               uint64_t node_count, const ops_rewrite_api *api,  \
                               ops_rewrite_builder *builder, ops_error *error) { \
    return apply(place, device, nodes, node_count, api, builder, error);         \
  }
PLACES(FUNCTION)
#undef FUNCTION

typedef int32_t (*apply_function)(ops_device *device, const ops_node *const *nodes,
                                  uint64_t node_count, const ops_rewrite_api *api,
                                  ops_rewrite_builder *builder, ops_error *error);
#define ROW(place) apply_##place,
static const apply_function kFunctions[VAL_REWRITES] = {PLACES(ROW)};
#undef ROW

int32_t val_fill_rewrites(val_layer *layer, ops_error *error) {
  const ops_provider *inner = layer->inner;
  if (!inner->rewrite_count) return OPS_OK;
  layer->rewrites = val_map(VAL_REWRITES * sizeof *layer->rewrites);
  if (!layer->rewrites)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a validation layer");
  uint64_t count = inner->rewrite_count;
  if (count > VAL_REWRITES) {
    val_find(layer, "",
             "%llu of %llu rewrite rules are hidden from the host: the layer passes on %u",
             (unsigned long long)(count - VAL_REWRITES), (unsigned long long)count,
             VAL_REWRITES);
    count = VAL_REWRITES;
  }
  for (uint64_t i = 0; i < count; ++i) {
    layer->rewrites[i] = *OPS_AT(ops_rewrite, inner->rewrites, inner->rewrite_stride, i);
    layer->rewrites[i].apply = kFunctions[i];
  }
  layer->provider.rewrites = layer->rewrites;
  layer->provider.rewrite_count = count;
  layer->provider.rewrite_stride = sizeof *layer->rewrites;
  return OPS_OK;
}
