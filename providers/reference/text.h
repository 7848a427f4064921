// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text, in the forms that Cast names: plain and scientific notation, INF, NaN. The
// locale of the process has no influence.
#ifndef REFERENCE_TEXT_H_
#define REFERENCE_TEXT_H_

#include "view.h"

#define REF_TEXT_SIZE 400

// The element in plain notation, in the fewest digits that give it back when read into its
// type. The text lies in `buffer`.
ops_str ref_text_of(const ref_view *x, int64_t at, char buffer[REF_TEXT_SIZE]);

// Reads a number into an element; 0 if the text is none.
int ref_text_store(ops_str text, const ref_view *y, int64_t at);

#endif  // REFERENCE_TEXT_H_
