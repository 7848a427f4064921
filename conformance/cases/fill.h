// SPDX-License-Identifier: Apache-2.0
//
// What a fill writes into one input of a case. One function per fill, one table.
#ifndef OC_CASES_FILL_H_
#define OC_CASES_FILL_H_

#include "cases/array.h"

// Writes the elements of `array`, input `param` of the contract and tensor `stream` of the
// node.
int32_t oc_fill_array(const oc_case *item, size_t param, uint32_t stream, oc_array *array,
                      ops_error *error);

// True if the fill means something for the inputs that it would write: `every` wants 8 or 16
// bits, `strata` and the other floating fills a floating type. With no input to write only
// `uniform` does.
bool oc_fill_suits(const oc_case *item, oc_fill fill);

#endif  // OC_CASES_FILL_H_
