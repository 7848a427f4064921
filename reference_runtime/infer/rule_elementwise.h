// SPDX-License-Identifier: Apache-2.0
//
// The parameters of elementwise rules in the table. Private to this folder.
#ifndef RT_INFER_RULE_ELEMENTWISE_H_
#define RT_INFER_RULE_ELEMENTWISE_H_

// What is computed on contents.
#define RT_INFER_NOTHING 0
#define RT_INFER_ADD 1
#define RT_INFER_SUB 2
#define RT_INFER_MUL 3
#define RT_INFER_DIV 4
#define RT_INFER_MOD 5
#define RT_INFER_MIN 6
#define RT_INFER_MAX 7
#define RT_INFER_EQUAL 8
#define RT_INFER_NEG 9
#define RT_INFER_ABS 10
#define RT_INFER_ROUND 11  // floor, ceil, round: nothing changes on integers
#define RT_INFER_NOT 12
#define RT_INFER_LESS 13
#define RT_INFER_GREATER 14
#define RT_INFER_POW 15  // the second input may have a type of its own
#define RT_INFER_LESS_EQUAL 16
#define RT_INFER_GREATER_EQUAL 17
#define RT_INFER_AND 18
#define RT_INFER_OR 19
#define RT_INFER_XOR 20
#define RT_INFER_SIGN 21

#endif  // RT_INFER_RULE_ELEMENTWISE_H_
