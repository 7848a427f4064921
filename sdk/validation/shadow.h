// SPDX-License-Identifier: Apache-2.0
//
// Guarded outputs: a kernel that runs at once in host memory writes to copies of its outputs
// and to a workspace of the layer's own, each between guarded bytes.
#ifndef OPS_VALIDATION_SHADOW_H_
#define OPS_VALIDATION_SHADOW_H_

#include "validation/layer.h"

#define VAL_SHADOWS 32  // outputs of one call that are guarded; calls with more are not

typedef struct val_shadow {
  ops_execute_request request;  // to pass on
  ops_arg outputs[VAL_SHADOWS];
  char *data[VAL_SHADOWS];  // NULL: not guarded
  char *workspace;
  val_buffer buffer;
} val_shadow;

// 0: nothing to guard, or no memory for it; pass on the request as it is.
int val_shadow_begin(val_shadow *shadow, const val_handle *prepared,
                     const ops_execute_request *request);
// Looks at the guards, copies the outputs to their places.
void val_shadow_end(val_shadow *shadow, const val_handle *prepared,
                    const ops_execute_request *request);

#endif  // OPS_VALIDATION_SHADOW_H_
