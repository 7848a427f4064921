// SPDX-License-Identifier: Apache-2.0
//
// The graph changes between questions, so the view of a node is made for its question alone;
// the arrays behind the views, which are as large as the graph, serve many.
#include "partition/claims.h"

#include <ops_support/error.h>

#define ROOM 4096u

static int32_t open_views(rt_claims *claims, const rt_graph *root, ops_error *error) {
  if (claims->is_open && rt_views_have_room(&claims->views) && claims->asked < ROOM)
    return OPS_OK;
  rt_claims_finish(claims);
  claims->is_open = 1;
  OPS_RETURN_IF_ERROR(rt_views_init_room(&claims->views, root, ROOM, error));
  claims->views.devices = claims->devices;
  claims->views.device_count = claims->device_count;
  return OPS_OK;
}

int32_t rt_claims_views(rt_claims *claims, const rt_node *const *nodes, uint32_t count,
                        const ops_node **out_views, ops_error *error) {
  int32_t status = open_views(claims, nodes[0]->graph->root, error);
  for (uint32_t i = 0; status == OPS_OK && i < count; ++i)
    status = rt_views_node(&claims->views, nodes[i], &out_views[i], error);
  for (uint32_t i = 0; status == OPS_OK && i < count; ++i)
    rt_views_forget(&claims->views, nodes[i]);
  claims->asked += count;
  return status;
}

int32_t rt_claims_first(rt_claims *claims, const rt_node *node, uint32_t *out_place,
                        ops_error *error) {
  const ops_node *view = NULL;
  *out_place = RT_CLAIMS_NOBODY;
  OPS_RETURN_IF_ERROR(rt_claims_views(claims, &node, 1, &view, error));
  for (uint32_t i = 0; i < claims->device_count && *out_place == RT_CLAIMS_NOBODY; ++i) {
    const rt_device *device = claims->devices[i];
    const ops_kernel_def *def = NULL;
    ops_claim claim = {.struct_size = sizeof claim};
    OPS_RETURN_IF_ERROR(
        ops_library_claim(device->library, device->device, view, &def, &claim, error));
    if (def && claim.answer == OPS_CLAIM_SUPPORTED) *out_place = i;
  }
  return OPS_OK;
}

void rt_claims_finish(rt_claims *claims) {
  if (claims->is_open) rt_views_finish(&claims->views);
  claims->is_open = 0;
  claims->asked = 0;
}
