// SPDX-License-Identifier: Apache-2.0
//
// The value of a code of a floating-point type narrower than 32 bits. Encoding is in element.h.
#ifndef REFERENCE_MINIFLOAT_H_
#define REFERENCE_MINIFLOAT_H_

#include "element.h"

double ref_decode(int32_t type, uint32_t code);

#endif  // REFERENCE_MINIFLOAT_H_
