// SPDX-License-Identifier: Apache-2.0
#include "move.h"

#define MOVE(op, since, until, symbol, ...) \
  ROW(op, since, until, gpu_##symbol##_op.base, __VA_ARGS__)
#define MOVES(op, since, until, symbol, input, output) \
  MOVE(op, since, until, symbol, INPUTS(IN(input, MOVED)), OUTPUTS(IN(output, MOVED)))
#define RESHAPES(op, since, until, symbol, output, ...)                           \
  MOVE(op, since, until, symbol, INPUTS(__VA_ARGS__), OUTPUTS(IN(output, MOVED)), \
       IN_PLACE(VIEW_OF(0)))

#define INDICES(name) ARG(name, "Tind", INDEX, 0)
#define SCATTERS(op, since, until, symbol, indices)                                        \
  MOVE(op, since, until, symbol, INPUTS(IN("data", MOVED), indices, IN("updates", MOVED)), \
       OUTPUTS(IN("output", MOVED)))
#define GATHERS(op, since, until, symbol, indices)                   \
  MOVE(op, since, until, symbol, INPUTS(IN("data", MOVED), indices), \
       OUTPUTS(IN("output", MOVED)))

#define GPU_GATHER_ROWS                                                              \
  GATHERS("Gather", 1, 0, gather, INDICES("indices")),                               \
      GATHERS("GatherElements", 11, 0, gather_elements, INDICES("indices")),         \
      GATHERS("GatherND", 11, 0, gather_nd, ARG("indices", "T1", BIT(INT64), 0)),    \
      SCATTERS("Scatter", 9, 10, scatter_elements, INDICES("indices")),              \
      SCATTERS("ScatterElements", 11, 0, scatter_elements, INDICES("indices")),      \
      SCATTERS("ScatterND", 11, 0, scatter_nd, ARG("indices", "T1", BIT(INT64), 0)), \
      MOVE("ReverseSequence", 10, 0, reverse_sequence,                               \
           INPUTS(IN("input", MOVED), ARG("sequence_lens", "T1", BIT(INT64), 0)),    \
           OUTPUTS(IN("Y", MOVED))),                                                 \
      MOVE("OneHot", 9, 0, one_hot,                                                  \
           INPUTS(ARG("indices", "T1", NUMBERS, 0),                                  \
                  ON_HOST("depth", "T2", INTEGERS | F32 | F64, 0),                   \
                  ARG("values", "T3", MOVED, 0)),                                    \
           OUTPUTS(ARG("output", "T3", MOVED, 0)))

#define NUMBER(name) ON_HOST(name, "T", BIT(INT16) | INDEX | F32 | F64, 0)
#define SUMMED (FLOATS | INDEX | BIT(UINT32) | BIT(UINT64))
#define TOPS(since, until, ...)                          \
  MOVE("TopK", since, until, top_k, INPUTS(__VA_ARGS__), \
       OUTPUTS(IN("Values", NUMBERS), ARG("Indices", "I", BIT(INT64), 0)))

#define GPU_MAKE_ROWS                                                                          \
  MOVE("ConstantOfShape", 9, 0, constant_of_shape,                                             \
       INPUTS(ON_HOST("input", "T1", BIT(INT64), 0)), OUTPUTS(ARG("output", "T2", MOVED, 0))), \
      MOVE("EyeLike", 9, 0, eye_like, INPUTS(ARG("input", "T1", MOVED, 0)),                    \
           OUTPUTS(ARG("output", "T2", MOVED, 0))),                                            \
      MOVE("Trilu", 14, 0, trilu,                                                              \
           INPUTS(IN("input", MOVED), ARG("k", "T1", BIT(INT64), OPS_ARG_OPTIONAL)),           \
           OUTPUTS(IN("output", MOVED))),                                                      \
      MOVE("Shape", 1, 0, shape, INPUTS(IN("data", MOVED)),                                    \
           OUTPUTS(ARG("shape", "T1", BIT(INT64), 0))),                                        \
      MOVE("Size", 1, 0, size, INPUTS(IN("data", MOVED)),                                      \
           OUTPUTS(ARG("size", "T1", BIT(INT64), 0))),                                         \
      MOVE("Range", 11, 0, range, INPUTS(NUMBER("start"), NUMBER("limit"), NUMBER("delta")),   \
           OUTPUTS(IN("output", BIT(INT16) | INDEX | F32 | F64))),                             \
      MOVE("CumSum", 11, 0, cum_sum, INPUTS(IN("x", SUMMED), ON_HOST("axis", "T2", INDEX, 0)), \
           OUTPUTS(IN("y", SUMMED))),                                                          \
      TOPS(1, 9, IN("X", NUMBERS)),                                                            \
      TOPS(10, 0, IN("X", NUMBERS), ON_HOST("K", "T1", BIT(INT64), 0))

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
