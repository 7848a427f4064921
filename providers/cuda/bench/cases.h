// SPDX-License-Identifier: Apache-2.0
//
// What cuda_bench measures: one row a node, with the yardstick that it is held against.
#ifndef PROVIDERS_CUDA_BENCH_CASES_H_
#define PROVIDERS_CUDA_BENCH_CASES_H_

#include <ops/types.h>
#include <stdint.h>

typedef enum yardstick {
  kCopy,    // bytes that the device's own copy moves in the same time
  kMatmul,  // the same product by cuBLASLt
  kConv     // the same convolution by cuDNN
} yardstick;

enum { kBenchRank = 4, kBenchInputs = 3 };

typedef struct bench_case {
  const char *name;
  const char *op;
  int32_t opset, type;
  yardstick yardstick;
  int32_t tf32;  // of the yardstick
  int64_t inputs[kBenchInputs]
                [kBenchRank];          // dimensions; 0 ends a shape, an empty one the list
  int64_t kernel, pad, stride, group;  // of Conv, square
} bench_case;

#define MIB(n) ((int64_t)(n) << 20)
#define PRODUCT(label, element, size)                                      \
  {                                                                        \
    .name = "matmul " label, .op = "MatMul", .opset = 13, .type = element, \
    .yardstick = kMatmul, .inputs = {                                      \
      {size, size},                                                        \
      {size, size}                                                         \
    }                                                                      \
  }
#define CONV(label, element, n, c, hw, m, k, s)                                            \
  {                                                                                        \
    .name = "conv " label, .op = "Conv", .opset = 11, .type = element, .yardstick = kConv, \
    .inputs = {{n, c, hw, hw}, {m, c, k, k}}, .kernel = k, .pad = (k) / 2, .stride = s,    \
    .group = 1                                                                             \
  }
#define ROWS(label, operator, version, element, ...)                                      \
  {                                                                                       \
    .name = label, .op = operator, .opset = version, .type = element, .yardstick = kCopy, \
    .inputs = {                                                                           \
      __VA_ARGS__                                                                         \
    }                                                                                     \
  }

static const bench_case kBenchCases[] = {
    PRODUCT("float 1024", OPS_TYPE_FLOAT, 1024),
    PRODUCT("float 4096", OPS_TYPE_FLOAT, 4096),
    PRODUCT("float16 4096", OPS_TYPE_FLOAT16, 4096),
    PRODUCT("float16 8192", OPS_TYPE_FLOAT16, 8192),
    PRODUCT("bfloat16 8192", OPS_TYPE_BFLOAT16, 8192),
    PRODUCT("double 2048", OPS_TYPE_DOUBLE, 2048),
    // Of ResNet-50, 32 images.
    CONV("float 3x3 of 64 in 56", OPS_TYPE_FLOAT, 32, 64, 56, 64, 3, 1),
    CONV("float 3x3 of 256 in 14", OPS_TYPE_FLOAT, 32, 256, 14, 256, 3, 1),
    CONV("float 1x1 of 512 in 28", OPS_TYPE_FLOAT, 32, 512, 28, 128, 1, 1),
    CONV("float 7x7 of 3 in 224", OPS_TYPE_FLOAT, 32, 3, 224, 64, 7, 2),
    CONV("float16 3x3 of 256 in 14", OPS_TYPE_FLOAT16, 32, 256, 14, 256, 3, 1),
    // Far more than the caches hold.
    ROWS("add float 256 MiB", "Add", 14, OPS_TYPE_FLOAT, {MIB(64)}, {MIB(64)}),
    ROWS("add float16 128 MiB", "Add", 14, OPS_TYPE_FLOAT16, {MIB(64)}, {MIB(64)}),
    ROWS("relu float 256 MiB", "Relu", 14, OPS_TYPE_FLOAT, {MIB(64)}),
    ROWS("exp float 256 MiB", "Exp", 13, OPS_TYPE_FLOAT, {MIB(64)}),
    ROWS("row broadcast float 256 MiB", "Add", 14, OPS_TYPE_FLOAT, {16384, 4096}, {4096}),
    ROWS("softmax float 256 MiB", "Softmax", 13, OPS_TYPE_FLOAT, {16384, 4096}),
    ROWS("transpose float 256 MiB", "Transpose", 13, OPS_TYPE_FLOAT, {16384, 4096}),
};

#endif  // PROVIDERS_CUDA_BENCH_CASES_H_
