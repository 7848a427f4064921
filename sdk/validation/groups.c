// SPDX-License-Identifier: Apache-2.0
//
// Groups: claims over graphs, asked twice as well, and kernels compiled of them.
#include <string.h>

#include "validation/layer.h"

static int32_t group_claim(ops_device *object, const ops_graph *graph, ops_group_claim *claims,
                           uint64_t claim_count, uint64_t claim_stride, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "group.claim", error);
  if (!device) return call.refused;
  if (claim_count != graph->node_count)
    val_find(device->layer, "HOST-9",
             "group.claim: %llu claims for a graph of %llu nodes; give one for each",
             (unsigned long long)claim_count, (unsigned long long)graph->node_count);
  const ops_group_api *inner = device->layer->inner->group;
  const int32_t status = val_end(
      &call, inner->claim(device->real, graph, claims, claim_count, claim_stride, call.error));
  const uint64_t size = claim_count * sizeof *claims;
  ops_group_claim *again = status == OPS_OK && size ? val_map(size) : NULL;
  if (!again) return status;
  for (uint64_t i = 0; i < claim_count; ++i)
    again[i] = (ops_group_claim){.struct_size = sizeof *again, .group = OPS_GROUP_NONE};
  uint64_t same = 0;
  if (inner->claim(device->real, graph, again, claim_count, sizeof *again, NULL) == OPS_OK)
    while (same < claim_count &&
           OPS_AT(ops_group_claim, claims, claim_stride, same)->group == again[same].group)
      ++same;
  if (same < claim_count)
    val_find(
        device->layer, "GROUPS-1",
        "group.claim: asked twice about one graph, node %llu is in another group; expected "
        "the same proposal",
        (unsigned long long)same);
  val_unmap(again, size);
  return status;
}

static int32_t adopt(val_call *call, int32_t status, val_handle *device, const ops_graph *group,
                     ops_kernel **out_kernel, const ops_kernel_api **out_api) {
  const ops_kernel_api *real = *out_api;
  const ops_kernel_api *wrapped =
      status == OPS_OK && real ? val_api_of(device->layer, real) : NULL;
  if (status == OPS_OK && !wrapped) {
    val_end(call, status);
    return ops_error_set(call->error, OPS_ERROR_INTERNAL,
                         "%s: no table of functions, or more tables than the validation layer "
                         "holds (%u)",
                         call->slot, VAL_GROUP_APIS);
  }
  *out_api = wrapped;
  const ops_str name = group->name.size ? group->name : (ops_str)OPS_STR("group");
  return val_adopt_kernel(call, status, device, name, real, NULL, group->input_count,
                          group->output_count, out_kernel);
}

static int32_t group_compile(ops_device *object, const ops_graph *group,
                             ops_kernel **out_kernel, const ops_kernel_api **out_api,
                             ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "group.compile", error);
  if (!device) return call.refused;
  call.allowed = VAL_AFTER_CLAIM | VAL_STATUS(OPS_ERROR_DECLINED);
  call.clause = "CLAIMS-2";
  *out_kernel = NULL;
  *out_api = NULL;
  const int32_t status = device->layer->inner->group->compile(device->real, group, out_kernel,
                                                              out_api, call.error);
  return adopt(&call, status, device, group, out_kernel, out_api);
}

static int32_t group_load(ops_device *object, const ops_graph *group, const void *blob,
                          uint64_t size, ops_kernel **out_kernel,
                          const ops_kernel_api **out_api, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "group.load", error);
  if (!device) return call.refused;
  *out_kernel = NULL;
  *out_api = NULL;
  const int32_t status = device->layer->inner->group->load(device->real, group, blob, size,
                                                           out_kernel, out_api, call.error);
  return adopt(&call, status, device, group, out_kernel, out_api);
}

void val_fill_groups(val_layer *layer) {
  const ops_group_api *inner = layer->inner->group;
  if (!inner) return;
  layer->group = (ops_group_api){.struct_size = sizeof layer->group,
                                 .claim = inner->claim ? group_claim : NULL,
                                 .compile = inner->compile ? group_compile : NULL,
                                 .load = inner->load ? group_load : NULL};
  layer->provider.group = &layer->group;
}
