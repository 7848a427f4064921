// SPDX-License-Identifier: Apache-2.0
//
// The layers of the process. The list is the one piece of process-wide state: handles are told
// by their addresses, and calls without any object by the function that was called.
#ifndef OPS_VALIDATION_LAYERS_H_
#define OPS_VALIDATION_LAYERS_H_

#include "validation/validation.h"

ops_validation *val_layer_at(uint32_t place);  // NULL: none
int val_layer_enter(ops_validation *layer);    // takes a place; 0 if there is none
void val_layer_leave(ops_validation *layer);

// The functions of the layer at `place`, for calls that name no object.
void val_layer_functions(uint32_t place, ops_provider *provider, ops_instance_api *instance);

#endif  // OPS_VALIDATION_LAYERS_H_
