// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

#define WORDS (INDEX | BIT(UINT32) | BIT(UINT64))
// Axes are an attribute before opset `since`, and an input from then on.
#define REDUCE(symbol, since, types)                                                       \
  ROW("Reduce" #symbol, 1, (since)-1, gpu_reduce_##symbol.base, INPUTS(IN("data", types)), \
      OUTPUTS(IN("reduced", types))),                                                      \
      ROW("Reduce" #symbol, since, 0, gpu_reduce_##symbol.base,                            \
          INPUTS(IN("data", types), SHAPE_OPTIONAL("axes")), OUTPUTS(IN("reduced", types)))
#define ARG_OF(symbol, types)                                             \
  ROW(#symbol, 1, 0, gpu_reduce_##symbol.base, INPUTS(IN("data", types)), \
      OUTPUTS(ARG("reduced", "tensor(int64)", BIT(INT64), 0)))

#define GPU_REDUCE_ROWS                                                             \
  REDUCE(Sum, 13, FLOATS | WORDS), REDUCE(Mean, 18, FLOATS | WORDS),                \
      REDUCE(Max, 18, FLOATS | WORDS | BIT(INT8) | BIT(UINT8) | BOOL),              \
      REDUCE(Min, 18, FLOATS | WORDS | BIT(INT8) | BIT(UINT8) | BOOL),              \
      REDUCE(Prod, 18, FLOATS | WORDS), REDUCE(L1, 18, FLOATS | WORDS),             \
      REDUCE(L2, 18, FLOATS | WORDS), REDUCE(LogSum, 18, FLOATS | WORDS),           \
      REDUCE(LogSumExp, 18, FLOATS | WORDS), REDUCE(SumSquare, 18, FLOATS | WORDS), \
      ARG_OF(ArgMax, NUMBERS), ARG_OF(ArgMin, NUMBERS)
