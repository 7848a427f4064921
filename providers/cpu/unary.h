// SPDX-License-Identifier: Apache-2.0
//
// Elementwise functions of float by their operators: what unary.c computes alone, and chain.c
// behind a sum of products.
#ifndef CPU_UNARY_H_
#define CPU_UNARY_H_

#include "cpu.h"

typedef struct cpu_function {
  int32_t number;  // CPU_UNARY_…
  float p[2];      // its parameters
} cpu_function;

// The function that `op` is with the attributes of `node`. Returns 0 if it is none.
int cpu_function_read(ops_str op, const ops_node *node, cpu_function *out_function);

#endif  // CPU_UNARY_H_
