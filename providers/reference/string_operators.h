// SPDX-License-Identifier: Apache-2.0
//
// The operators on strings and on encoded images that table_strings.inc offers.
#ifndef REFERENCE_STRING_OPERATORS_H_
#define REFERENCE_STRING_OPERATORS_H_

#include "kernel.h"

extern const ref_op ref_string_concat, ref_string_split, ref_string_normalizer;
extern const ref_op ref_regex_full_match_op, ref_tf_idf_vectorizer;
extern const ref_op ref_image_decoder;

#endif  // REFERENCE_STRING_OPERATORS_H_
