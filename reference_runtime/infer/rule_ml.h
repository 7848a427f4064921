// SPDX-License-Identifier: Apache-2.0
//
// The parameters of the rule `regressor` in the table. Private to this folder.
#ifndef RT_INFER_RULE_ML_H_
#define RT_INFER_RULE_ML_H_

// Where the number of targets is.
#define RT_INFER_ONE_TARGET 0      // always 1
#define RT_INFER_TARGETS 1         // attribute targets
#define RT_INFER_N_TARGETS 2       // attribute n_targets
#define RT_INFER_N_TARGETS_SAME 3  // likewise, and the output has the type of the input

#endif  // RT_INFER_RULE_ML_H_
