// SPDX-License-Identifier: Apache-2.0
#include "move.h"

#define MOVE(op, since, until, symbol, ...) \
  ROW(op, since, until, gpu_##symbol##_op.base, __VA_ARGS__)
#define MOVES(op, since, until, symbol, input, output) \
  MOVE(op, since, until, symbol, INPUTS(IN(input, MOVED)), OUTPUTS(IN(output, MOVED)))
#define RESHAPES(op, since, until, symbol, output, ...)                           \
  MOVE(op, since, until, symbol, INPUTS(__VA_ARGS__), OUTPUTS(IN(output, MOVED)), \
       IN_PLACE(VIEW_OF(0)))

#define GPU_MOVE_ROWS                                                                        \
  RESHAPES("Reshape", 1, 4, reshape, "reshaped", IN("data", MOVED)),                         \
      RESHAPES("Reshape", 5, 0, reshape, "reshaped", IN("data", MOVED), SHAPE("shape")),     \
      RESHAPES("Flatten", 1, 0, flatten, "output", IN("input", MOVED)),                      \
      RESHAPES("Squeeze", 1, 12, squeeze, "squeezed", IN("data", MOVED)),                    \
      RESHAPES("Squeeze", 13, 0, squeeze, "squeezed", IN("data", MOVED),                     \
               SHAPE_OPTIONAL("axes")),                                                      \
      RESHAPES("Unsqueeze", 1, 12, unsqueeze, "expanded", IN("data", MOVED)),                \
      RESHAPES("Unsqueeze", 13, 0, unsqueeze, "expanded", IN("data", MOVED), SHAPE("axes")), \
      MOVES("Transpose", 1, 0, transpose, "data", "transposed"),                             \
      MOVE("Expand", 8, 0, expand, INPUTS(IN("input", MOVED), SHAPE("shape")),               \
           OUTPUTS(IN("output", MOVED))),                                                    \
      MOVE("Tile", 6, 0, tile, INPUTS(IN("input", MOVED), SHAPE("repeats")),                 \
           OUTPUTS(IN("output", MOVED))),                                                    \
      MOVES("Slice", 1, 9, slice, "data", "output"),                                         \
      MOVE("Slice", 10, 0, slice,                                                            \
           INPUTS(IN("data", MOVED), SHAPE("starts"), SHAPE("ends"), SHAPE_OPTIONAL("axes"), \
                  SHAPE_OPTIONAL("steps")),                                                  \
           OUTPUTS(IN("output", MOVED))),                                                    \
      MOVE("Concat", 1, 0, concat, INPUTS(MANY("inputs", MOVED)),                            \
           OUTPUTS(IN("concat_result", MOVED))),                                             \
      MOVE("Split", 2, 12, split, INPUTS(IN("input", MOVED)),                                \
           OUTPUTS(MANY("outputs", MOVED))),                                                 \
      MOVE("Split", 13, 0, split, INPUTS(IN("input", MOVED), SHAPE_OPTIONAL("split")),       \
           OUTPUTS(MANY("outputs", MOVED))),                                                 \
      MOVES("DepthToSpace", 1, 0, depth_to_space, "input", "output"),                        \
      MOVES("SpaceToDepth", 1, 0, space_to_depth, "input", "output"),                        \
      MOVE("Pad", 1, 1, pad_1, INPUTS(IN("data", F32 | F64)),                                \
           OUTPUTS(IN("output", F32 | F64))),                                                \
      MOVE("Pad", 2, 10, pad, INPUTS(IN("data", F32 | F64)),                                 \
           OUTPUTS(IN("output", F32 | F64))),                                                \
      MOVE("Pad", 11, 0, pad,                                                                \
           INPUTS(IN("data", MOVED), SHAPE("pads"), OPTIONAL("constant_value", MOVED),       \
                  SHAPE_OPTIONAL("axes")),                                                   \
           OUTPUTS(IN("output", MOVED)))
