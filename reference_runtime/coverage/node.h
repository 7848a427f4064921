// SPDX-License-Identifier: Apache-2.0
//
// The node that a combination of types is asked about. Private to this folder.
#ifndef RT_COVERAGE_NODE_H_
#define RT_COVERAGE_NODE_H_

#include "coverage/coverage.h"

#define RT_COVERAGE_ARGUMENTS 64
#define RT_COVERAGE_ATTRIBUTES 64

// An operand, its type, and the types inside that one.
typedef struct rt_coverage_operand {
  ops_type_info type, element, inner;
} rt_coverage_operand;

typedef struct rt_coverage_node {
  ops_node node;
  ops_operand inputs[RT_COVERAGE_ARGUMENTS], outputs[RT_COVERAGE_ARGUMENTS];
  rt_coverage_operand input_types[RT_COVERAGE_ARGUMENTS], output_types[RT_COVERAGE_ARGUMENTS];
  ops_attribute attributes[RT_COVERAGE_ATTRIBUTES];
  int64_t type_number;  // what attributes `to` and `dtype` say
  char type_name[16];   // what `to` says before opset 6
  ops_str type_text;
} rt_coverage_node;

// Fills *out, which holds pointers into itself: do not copy it. With `only_required` trailing
// arguments that may be absent are left away.
void rt_coverage_node_init(rt_coverage_node *out, const rt_coverage_case *found,
                           int only_required);

#endif  // RT_COVERAGE_NODE_H_
