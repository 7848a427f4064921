// SPDX-License-Identifier: Apache-2.0
//
// The operators of this provider, each defined in the file of its name. definitions.c gives
// them to the host.
#ifndef CPU_OPS_TABLE_H_
#define CPU_OPS_TABLE_H_

#include "cpu.h"

#define CPU_OP_LIST(X) X(binary) X(clip) X(conv) X(gemm) X(matmul) X(unary)

#define X(name) extern const cpu_op cpu_##name##_op;
CPU_OP_LIST(X)
#undef X

#endif  // CPU_OPS_TABLE_H_
