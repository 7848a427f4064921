// SPDX-License-Identifier: Apache-2.0
//
// Pieces of the rows that say what the providers of this folder offer. A family states its rows
// in NAME_rows.h; a provider's table is rows.h, compiled with GPU_PROVIDER, its name as a
// string.
#ifndef GPU_DEFINITIONS_H_
#define GPU_DEFINITIONS_H_

#include "gpu.h"

#define BIT(name) OPS_TYPE_BIT(OPS_TYPE_##name)
#define F32 BIT(FLOAT)
#define F64 BIT(DOUBLE)
#define HALVES (BIT(FLOAT16) | BIT(BFLOAT16))
#define FLOATS (F32 | F64 | HALVES)
#define SIGNED (BIT(INT8) | BIT(INT16) | BIT(INT32) | BIT(INT64))
#define UNSIGNED (BIT(UINT8) | BIT(UINT16) | BIT(UINT32) | BIT(UINT64))
#define INTEGERS (SIGNED | UNSIGNED)
#define NUMBERS (FLOATS | INTEGERS)
#define BOOL BIT(BOOL)
#define INDEX (BIT(INT32) | BIT(INT64))
#define MOVED (NUMBERS | BOOL)  // whatever kernels move by its size

#define ARG(name_, param, types_, flags_)                                                     \
  {                                                                                           \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(name_), .type_param = OPS_STR(param), \
    .types = (types_), .memory_kind = OPS_MEMORY_DEVICE, .flags = (flags_)                    \
  }
#define IN(name, types) ARG(name, "T", types, 0)
#define OPTIONAL(name, types) ARG(name, "T", types, OPS_ARG_OPTIONAL)
#define MANY(name, types) ARG(name, "T", types, OPS_ARG_VARIADIC)
// Read when preparing, in host memory.
#define ON_HOST(name_, param, types_, flags_)                                                  \
  {                                                                                            \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(name_), .type_param = OPS_STR(param),  \
    .types = (types_), .memory_kind = OPS_MEMORY_HOST, .flags = OPS_ARG_SHAPE_INPUT | (flags_) \
  }
#define SHAPE(name) ON_HOST(name, "Tind", INDEX, 0)
#define SHAPE_OPTIONAL(name) ON_HOST(name, "Tind", INDEX, OPS_ARG_OPTIONAL)

#define LIST(field, count, type, ...)      \
  .field##s = (const type[]){__VA_ARGS__}, \
  .count = sizeof((const type[]){__VA_ARGS__}) / sizeof(type), .field##_stride = sizeof(type)
#define INPUTS(...) LIST(input, input_count, ops_arg_def, __VA_ARGS__)
#define OUTPUTS(...) LIST(output, output_count, ops_arg_def, __VA_ARGS__)
#define MAY_ALIAS(input_) \
  { sizeof(ops_alias_def), (input_), 0, OPS_ALIAS_MAY, 0 }
#define VIEW_OF(input_) \
  { sizeof(ops_alias_def), (input_), 0, OPS_ALIAS_MAY | OPS_ALIAS_VIEW, 0 }
#define IN_PLACE(...)                                                                  \
  .aliases = (const ops_alias_def[]){__VA_ARGS__},                                     \
  .alias_count = sizeof((const ops_alias_def[]){__VA_ARGS__}) / sizeof(ops_alias_def), \
  .alias_stride = sizeof(ops_alias_def)

// One row: `op` is a gpu_op. Every kernel here computes an output element by one work-item or
// one work-group in a fixed order, hence the same bits always.
#define ROW(op_, since_, until_, context_, ...)                                   \
  {                                                                               \
    .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(op_), .since = (since_), \
    .until = (until_), .name = OPS_STR(GPU_PROVIDER "/" op_),                     \
    .flags = OPS_KERNEL_REENTRANT | OPS_KERNEL_ASYNC | OPS_KERNEL_CAPTURABLE,     \
    .dynamic_shape = OPS_DYNAMIC_FULL, .determinism = OPS_DETERMINISM_BITWISE,    \
    .api = &gpu_kernel_api, .context = &(context_), __VA_ARGS__                   \
  }

#endif  // GPU_DEFINITIONS_H_
