// SPDX-License-Identifier: Apache-2.0
//
// Check `shape`: types and shapes that prepare states against those of the oracle's outputs.
#include <stdio.h>

#include "cases/element.h"
#include "checks/check.h"

static bool same_dims(const ops_output_info *info, const oc_array *expected) {
  if (info->rank != expected->rank) return false;
  for (int32_t i = 0; i < info->rank; ++i) {
    const bool fits = info->mode == OPS_SHAPE_BOUNDED ? info->dims[i] >= expected->dims[i]
                                                      : info->dims[i] == expected->dims[i];
    if (!fits) return false;
  }
  return true;
}

static bool check_output(oc_trial *trial, size_t index) {
  const ops_output_info *info = &trial->kernel.outputs[index];
  const oc_array *expected = &trial->expected.outputs[index];
  char want[256], have[256] = "of an impossible rank";
  if (info->mode < OPS_SHAPE_KNOWN || info->mode > OPS_SHAPE_HOST_SYNC) {
    return oc_trial_end(trial, OC_STATUS_FAIL, "shape", "output %zu: unknown shape mode %d",
                        index, info->mode);
  }
  const bool dims_fit = info->mode == OPS_SHAPE_HOST_SYNC || same_dims(info, expected);
  if (info->type == expected->type && info->layout == trial->kernel.output_layouts[index] &&
      dims_fit) {
    return true;
  }
  trial->result->output = (int32_t)index;
  oc_array_print_shape(expected->rank, expected->dims, want, sizeof want);
  if (info->rank >= 0 && info->rank <= OPS_MAX_RANK) {
    oc_array_print_shape(info->rank, info->dims, have, sizeof have);
  }
  return oc_trial_end(trial, OC_STATUS_FAIL, "shape",
                      "output %zu: expected %s%.200s, prepare states %s%.200s in layout %u",
                      index, oc_element_name(expected->type), want, oc_element_name(info->type),
                      have, info->layout);
}

static bool check_workspace(oc_trial *trial) {
  const ops_prepare_reply *reply = &trial->kernel.reply;
  const uint64_t alignment = reply->workspace_alignment;
  const int32_t kind = reply->workspace_memory_kind;
  const uint32_t served = trial->kernel.target->info.memory_kinds;
  if (reply->workspace_size == 0) return true;
  if (alignment & (alignment - 1)) {
    return oc_trial_end(trial, OC_STATUS_FAIL, "shape",
                        "workspace_alignment: expected 0 or a power of two, found %llu",
                        (unsigned long long)alignment);
  }
  if (kind >= 0 && kind < OPS_MEMORY_KIND_COUNT && (served & OPS_MEMORY_BIT(kind))) return true;
  return oc_trial_end(trial, OC_STATUS_FAIL, "shape",
                      "workspace_memory_kind: expected one that device_info lists (0x%x), "
                      "found %d",
                      served, kind);
}

bool oc_check_shape(oc_trial *trial) {
  if (!check_workspace(trial)) return false;
  for (size_t i = 0; i < trial->expected.count; ++i) {
    if (!check_output(trial, i)) return false;
  }
  return true;
}
