// SPDX-License-Identifier: Apache-2.0
//
// Private. The types that an operator's schema allows for its inputs.
#ifndef RT_INFER_CHECK_TYPES_H_
#define RT_INFER_CHECK_TYPES_H_

#include "infer/context.h"

// Fails if the type of an input is none that the operator's schema allows, or differs from that
// of another input with the same type parameter. What is not known is not judged, nor are
// operators without a schema.
int32_t rt_infer_check_types(const rt_infer_context *ctx);

#endif  // RT_INFER_CHECK_TYPES_H_
