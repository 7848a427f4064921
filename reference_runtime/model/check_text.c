// SPDX-License-Identifier: Apache-2.0
//
// Types as people read them, for the checker's messages.
#include <inttypes.h>
#include <stdio.h>

#include "model/check_internal.h"

char *rt_check_type_text(int32_t elem_type, int32_t rank, const int64_t *dims, char *out,
                         size_t room) {
  const char *name = elem_type ? rt_model_elem_type_name(elem_type) : "any type";
  size_t used = (size_t)snprintf(out, room, "%s%s", name, rank < 0 ? " of any shape" : "[");
  for (int32_t i = 0; i < rank && used + 24 < room; ++i) {
    used += (size_t)snprintf(out + used, room - used, "%s", i ? "," : "");
    if (dims[i] < 0)
      used += (size_t)snprintf(out + used, room - used, "?");
    else
      used += (size_t)snprintf(out + used, room - used, "%" PRId64, dims[i]);
  }
  if (rank >= 0 && used + 2 < room) snprintf(out + used, room - used, "]");
  return out;
}
