// SPDX-License-Identifier: Apache-2.0
//
// One row per operator: since which opset, what goes in and out, which ref_op runs it. An
// operator that is not here is not supported. Rows hold for all later opsets; where versions of
// an operator differ, its prepare reads the opset of the node, unless the old form has a row of
// its own: the limited broadcast before opset 7.
#include "table.h"

#include "elementwise.h"
#include "microsoft_operators.h"
#include "ml_operators.h"
#include "operators.h"
#include "reduce.h"
#include "string_operators.h"
#include "type_sets.h"

#define ARG(text, param, set, more)                                                          \
  {                                                                                          \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(text), .type_param = OPS_STR(param), \
    .types = (set), .memory_kind = OPS_MEMORY_HOST, .flags = (more)                          \
  }
#define IN(name, param, set) ARG(name, param, set, OPS_ARG_STRIDED)
#define OPT(name, param, set) ARG(name, param, set, OPS_ARG_STRIDED | OPS_ARG_OPTIONAL)
#define SHAPE(name, param, set) ARG(name, param, set, OPS_ARG_STRIDED | OPS_ARG_SHAPE_INPUT)
#define OPT_SHAPE(name, param, set) \
  ARG(name, param, set, OPS_ARG_STRIDED | OPS_ARG_SHAPE_INPUT | OPS_ARG_OPTIONAL)
#define MANY(name, param, set) ARG(name, param, set, OPS_ARG_STRIDED | OPS_ARG_VARIADIC)
#define OUT(name, param, set) ARG(name, param, set, OPS_ARG_STRIDED)
#define OPT_OUT(name, param, set) ARG(name, param, set, OPS_ARG_STRIDED | OPS_ARG_OPTIONAL)

#define MANY_OUT(name, param, set) MANY(name, param, set)

#define ARGS(...) ((const ops_arg_def[]){__VA_ARGS__})
#define COUNT(...) (sizeof(ARGS(__VA_ARGS__)) / sizeof(ops_arg_def))
#define INPUTS(...)                                               \
  .inputs = ARGS(__VA_ARGS__), .input_count = COUNT(__VA_ARGS__), \
  .input_stride = sizeof(ops_arg_def)
#define OUTPUTS(...)                                                \
  .outputs = ARGS(__VA_ARGS__), .output_count = COUNT(__VA_ARGS__), \
  .output_stride = sizeof(ops_arg_def)
#define NO_INPUTS .inputs = NULL, .input_count = 0, .input_stride = sizeof(ops_arg_def)

#define KERNEL_OF(family, text, first, last, ref, shape_class, ...)                        \
  {                                                                                        \
    .struct_size = sizeof(ops_kernel_def), .domain = OPS_STR(family), .op = OPS_STR(text), \
    .since = (first), .until = (last), .name = OPS_STR("reference " text), __VA_ARGS__,    \
    .flags = OPS_KERNEL_REENTRANT, .dynamic_shape = (shape_class),                         \
    .determinism = OPS_DETERMINISM_BITWISE, .compute_type = OPS_TYPE_DOUBLE,               \
    .accumulation_type = OPS_TYPE_DOUBLE, .api = &ref_kernel_api, .context = (ref)         \
  }
#define KERNEL(...) KERNEL_OF("", __VA_ARGS__)
#define ROW(text, first, ref, ...) KERNEL(text, first, 0, ref, OPS_DYNAMIC_FULL, __VA_ARGS__)
// The last opset is `last`.
#define ROW_UNTIL(text, first, last, ref, ...) \
  KERNEL(text, first, last, ref, OPS_DYNAMIC_FULL, __VA_ARGS__)
#define MICROSOFT(text, ref, ...) \
  KERNEL_OF("com.microsoft", text, 1, 0, ref, OPS_DYNAMIC_FULL, __VA_ARGS__)

// Arguments of the elementwise lists: how the schema names them, and the output's type.
#define OUT_SAME(name, set) OUT(name, "T", set)
#define OUT_BOOL(name, set) OUT(name, "", REF_BOOLEAN)
#define UNARY_XY(set, out) INPUTS(IN("X", "T", set)), OUTPUTS(out("Y", set))
#define UNARY_INPUT(set, out) INPUTS(IN("input", "T", set)), OUTPUTS(out("output", set))
#define BINARY(a, b, y, set, out) INPUTS(IN(a, "T", set), IN(b, "T", set)), OUTPUTS(out(y, set))
#define BINARY_ABC(set, out) BINARY("A", "B", "C", set, out)
#define BINARY_XYZ(set, out) BINARY("X", "Y", "Z", set, out)
#define BINARY_SLOPE(set, out) BINARY("X", "slope", "Y", set, out)
#define VARIADIC(y, set, out) INPUTS(MANY("data_0", "T", set)), OUTPUTS(out(y, set))
#define VARIADIC_MAX(set, out) VARIADIC("max", set, out)
#define VARIADIC_MEAN(set, out) VARIADIC("mean", set, out)
#define VARIADIC_MIN(set, out) VARIADIC("min", set, out)
#define VARIADIC_SUM(set, out) VARIADIC("sum", set, out)

#define UNARY_ROW(op, since, names, set, out) \
  ROW(#op, since, &ref_unary[REF_UNARY_##op], UNARY_##names(set, OUT_##out)),
#define BINARY_ROW(op, since, names, set, out) \
  ROW(#op, since, &ref_binary[REF_BINARY_##op], BINARY_##names(set, OUT_##out)),
#define VARIADIC_ROW(op, since, names, set, out) \
  ROW(#op, since, &ref_binary[REF_BINARY_##op], VARIADIC_##names(set, OUT_##out)),

#define LIMITED_BINARY_ROW(op, until, names, set, out, how) \
  ROW_UNTIL(#op, 1, until, &ref_limited[REF_BINARY_##op], BINARY_##names(set, OUT_##out)),
#define LIMITED_VARIADIC_ROW(op, until, names, set, out, how) \
  ROW_UNTIL(#op, 1, until, &ref_limited[REF_BINARY_##op], VARIADIC_##names(set, OUT_##out)),

#define REDUCE(text, number, set)                                     \
  ROW(text, 1, &ref_reduce[number],                                   \
      INPUTS(IN("data", "T", set), OPT_SHAPE("axes", "", REF_INT64)), \
      OUTPUTS(OUT("reduced", "T", set)))

#define MAX_POOL_TYPES (REF_REALS | OPS_TYPE_BIT(OPS_TYPE_INT8) | OPS_TYPE_BIT(OPS_TYPE_UINT8))
#define REDUCE_TYPES (REF_REALS | REF_WIDE_INTEGERS)
#define EXTREME_TYPES \
  (REDUCE_TYPES | OPS_TYPE_BIT(OPS_TYPE_INT8) | OPS_TYPE_BIT(OPS_TYPE_UINT8) | REF_BOOLEAN)
// Schemas say float; a judge that wants more digits may ask in double.
#define SCALES_TYPES (OPS_TYPE_BIT(OPS_TYPE_FLOAT) | OPS_TYPE_BIT(OPS_TYPE_DOUBLE))
#define RANGE_TYPES (REF_REALS | REF_INDICES | OPS_TYPE_BIT(OPS_TYPE_INT16))
#define QUANTIZED_TYPES                                                \
  (REF_FLOAT8 | REF_FLOAT6 | REF_SMALL | OPS_TYPE_BIT(OPS_TYPE_INT8) | \
   OPS_TYPE_BIT(OPS_TYPE_UINT8) | OPS_TYPE_BIT(OPS_TYPE_INT16) |       \
   OPS_TYPE_BIT(OPS_TYPE_UINT16))
#define SCALE_TYPES (REF_REALS | OPS_TYPE_BIT(OPS_TYPE_FLOAT8E8M0))
#define CAST_TYPES (REF_NUMBERS | REF_FLOAT6 | REF_STRINGS)
#define PRODUCT_TYPES (REF_REALS | REF_WIDE_INTEGERS)

static const ops_kernel_def kernels[] = {
    // Elementwise.
    REF_UNARY_LIST(UNARY_ROW)                        //
    REF_BINARY_LIST(BINARY_ROW)                      //
    REF_VARIADIC_LIST(VARIADIC_ROW)                  //
    REF_LIMITED_BINARY_LIST(LIMITED_BINARY_ROW)      //
    REF_LIMITED_VARIADIC_LIST(LIMITED_VARIADIC_ROW)  //
    ROW("Clip", 1, &ref_clip,
        INPUTS(IN("input", "T", REF_REALS | REF_INTEGERS),
               OPT("min", "T", REF_REALS | REF_INTEGERS),
               OPT("max", "T", REF_REALS | REF_INTEGERS)),
        OUTPUTS(OUT("output", "T", REF_REALS | REF_INTEGERS))),
    ROW_UNTIL("Pow", 1, 6, &ref_pow_limited,
              INPUTS(IN("X", "T", REF_REALS), IN("Y", "T", REF_REALS)),
              OUTPUTS(OUT("Z", "T", REF_REALS))),
    ROW("Pow", 7, &ref_pow,
        INPUTS(IN("X", "T", REF_REALS | REF_INDICES), IN("Y", "T1", REF_REALS | REF_INTEGERS)),
        OUTPUTS(OUT("Z", "T", REF_REALS | REF_INDICES))),
    ROW("Where", 9, &ref_where,
        INPUTS(IN("condition", "B", REF_BOOLEAN), IN("X", "T", REF_ALL), IN("Y", "T", REF_ALL)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("Cast", 1, &ref_cast, INPUTS(IN("input", "T1", CAST_TYPES)),
        OUTPUTS(OUT("output", "T2", CAST_TYPES))),
    ROW("CastLike", 15, &ref_cast_like,
        INPUTS(IN("input", "T1", CAST_TYPES), IN("target_type", "T2", CAST_TYPES)),
        OUTPUTS(OUT("output", "T2", CAST_TYPES))),

    // Constants and shapes.
    ROW("Constant", 1, &ref_constant, NO_INPUTS, OUTPUTS(OUT("output", "", REF_ALL))),
    ROW("ConstantOfShape", 9, &ref_constant_of_shape, INPUTS(SHAPE("input", "T1", REF_INT64)),
        OUTPUTS(OUT("output", "T2", REF_NUMBERS))),
    ROW("Shape", 1, &ref_shape_of, INPUTS(IN("data", "T", REF_ALL)),
        OUTPUTS(OUT("shape", "", REF_INT64))),
    ROW("Size", 1, &ref_size, INPUTS(IN("data", "T", REF_ALL)),
        OUTPUTS(OUT("size", "", REF_INT64))),

    // The same elements in a new shape or order.
    ROW("Identity", 1, &ref_identity, INPUTS(IN("input", "T", REF_ALL)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW_UNTIL("Reshape", 1, 4, &ref_reshape, INPUTS(IN("data", "T", REF_REALS)),
              OUTPUTS(OUT("reshaped", "T", REF_REALS))),
    ROW("Reshape", 5, &ref_reshape,
        INPUTS(IN("data", "T", REF_ALL), SHAPE("shape", "", REF_INT64)),
        OUTPUTS(OUT("reshaped", "T", REF_ALL))),
    ROW("Flatten", 1, &ref_flatten, INPUTS(IN("input", "T", REF_ALL)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("Squeeze", 1, &ref_squeeze,
        INPUTS(IN("data", "T", REF_ALL), OPT_SHAPE("axes", "", REF_INT64)),
        OUTPUTS(OUT("squeezed", "T", REF_ALL))),
    ROW("Unsqueeze", 1, &ref_unsqueeze,
        INPUTS(IN("data", "T", REF_ALL), OPT_SHAPE("axes", "", REF_INT64)),
        OUTPUTS(OUT("expanded", "T", REF_ALL))),
    ROW("Transpose", 1, &ref_transpose, INPUTS(IN("data", "T", REF_ALL)),
        OUTPUTS(OUT("transposed", "T", REF_ALL))),

    // Products and convolutions.
    ROW("MatMul", 1, &ref_matmul,
        INPUTS(IN("A", "T", PRODUCT_TYPES), IN("B", "T", PRODUCT_TYPES)),
        OUTPUTS(OUT("Y", "T", PRODUCT_TYPES))),
    ROW_UNTIL("Gemm", 1, 6, &ref_gemm_limited,
              INPUTS(IN("A", "T", REF_REALS), IN("B", "T", REF_REALS), IN("C", "T", REF_REALS)),
              OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW_UNTIL("Gemm", 7, 10, &ref_gemm,
              INPUTS(IN("A", "T", PRODUCT_TYPES), IN("B", "T", PRODUCT_TYPES),
                     IN("C", "T", PRODUCT_TYPES)),
              OUTPUTS(OUT("Y", "T", PRODUCT_TYPES))),
    ROW("Gemm", 11, &ref_gemm,
        INPUTS(IN("A", "T", PRODUCT_TYPES), IN("B", "T", PRODUCT_TYPES),
               OPT("C", "T", PRODUCT_TYPES)),
        OUTPUTS(OUT("Y", "T", PRODUCT_TYPES))),
    ROW("Conv", 1, &ref_conv,
        INPUTS(IN("X", "T", REF_REALS), IN("W", "T", REF_REALS), OPT("B", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS))),

    // Pools and normalisation over windows.
    ROW("MaxPool", 1, &ref_max_pool, INPUTS(IN("X", "T", MAX_POOL_TYPES)),
        OUTPUTS(OUT("Y", "T", MAX_POOL_TYPES), OPT_OUT("Indices", "I", REF_INT64))),
    ROW("AveragePool", 1, &ref_average_pool, INPUTS(IN("X", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW("LpPool", 1, &ref_lp_pool, INPUTS(IN("X", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW("GlobalMaxPool", 1, &ref_global_max_pool, INPUTS(IN("X", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW("GlobalAveragePool", 1, &ref_global_average_pool, INPUTS(IN("X", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW("GlobalLpPool", 1, &ref_global_lp_pool, INPUTS(IN("X", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW_UNTIL(
        "BatchNormalization", 1, 13, &ref_batch_normalization,
        INPUTS(IN("X", "T", REF_REALS), IN("scale", "T", REF_REALS), IN("B", "T", REF_REALS),
               IN("mean", "T", REF_REALS), IN("var", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS), OPT_OUT("mean", "T", REF_REALS),
                OPT_OUT("var", "T", REF_REALS), OPT_OUT("saved_mean", "T", REF_REALS),
                OPT_OUT("saved_var", "T", REF_REALS))),
    ROW("BatchNormalization", 14, &ref_batch_normalization,
        INPUTS(IN("X", "T", REF_REALS), IN("scale", "T1", REF_REALS), IN("B", "T1", REF_REALS),
               IN("input_mean", "T2", REF_REALS), IN("input_var", "T2", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS), OPT_OUT("running_mean", "T2", REF_REALS),
                OPT_OUT("running_var", "T2", REF_REALS))),
    ROW("LRN", 1, &ref_lrn, INPUTS(IN("X", "T", REF_REALS)), OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW("Softmax", 1, &ref_softmax, INPUTS(IN("input", "T", REF_REALS)),
        OUTPUTS(OUT("output", "T", REF_REALS))),
    ROW("LogSoftmax", 1, &ref_log_softmax, INPUTS(IN("input", "T", REF_REALS)),
        OUTPUTS(OUT("output", "T", REF_REALS))),
    ROW("Hardmax", 1, &ref_hardmax, INPUTS(IN("input", "T", REF_REALS)),
        OUTPUTS(OUT("output", "T", REF_REALS))),

    // Elements moved.
    ROW("Concat", 1, &ref_concat, INPUTS(MANY("inputs", "T", REF_ALL)),
        OUTPUTS(OUT("concat_result", "T", REF_ALL))),
    ROW_UNTIL("Split", 1, 1, &ref_split,
              INPUTS(IN("input", "T", REF_REALS), OPT_SHAPE("split", "T", REF_REALS)),
              OUTPUTS(MANY_OUT("outputs...", "T", REF_REALS))),
    ROW("Split", 2, &ref_split,
        INPUTS(IN("input", "T", REF_ALL), OPT_SHAPE("split", "", REF_INT64)),
        OUTPUTS(MANY_OUT("outputs", "T", REF_ALL))),
    ROW("Slice", 1, &ref_slice,
        INPUTS(IN("data", "T", REF_ALL), OPT_SHAPE("starts", "Tind", REF_INDICES),
               OPT_SHAPE("ends", "Tind", REF_INDICES), OPT_SHAPE("axes", "Tind", REF_INDICES),
               OPT_SHAPE("steps", "Tind", REF_INDICES)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("Gather", 1, &ref_gather,
        INPUTS(IN("data", "T", REF_ALL), IN("indices", "Tind", REF_INDICES)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("GatherElements", 11, &ref_gather_elements,
        INPUTS(IN("data", "T", REF_ALL), IN("indices", "Tind", REF_INDICES)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("GatherND", 11, &ref_gather_nd,
        INPUTS(IN("data", "T", REF_ALL), IN("indices", "", REF_INT64)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("Expand", 8, &ref_expand,
        INPUTS(IN("input", "T", REF_ALL), SHAPE("shape", "", REF_INT64)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW_UNTIL("Tile", 1, 5, &ref_tile_axis,
              INPUTS(IN("input", "T", REF_REALS), SHAPE("tiles", "T", REF_REALS),
                     SHAPE("axis", "T", REF_REALS)),
              OUTPUTS(OUT("output", "T", REF_REALS))),
    ROW("Tile", 6, &ref_tile,
        INPUTS(IN("input", "T", REF_ALL), SHAPE("repeats", "T1", REF_INT64)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("Pad", 1, &ref_pad,
        INPUTS(IN("data", "T", REF_ALL), OPT_SHAPE("pads", "", REF_INT64),
               OPT("constant_value", "T", REF_ALL), OPT_SHAPE("axes", "Tind", REF_INDICES)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("DepthToSpace", 1, &ref_depth_to_space, INPUTS(IN("input", "T", REF_ALL)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("SpaceToDepth", 1, &ref_space_to_depth, INPUTS(IN("input", "T", REF_ALL)),
        OUTPUTS(OUT("output", "T", REF_ALL))),

    // Reductions.
    REDUCE("ReduceSum", REF_REDUCE_SUM, REDUCE_TYPES),
    REDUCE("ReduceMean", REF_REDUCE_MEAN, REDUCE_TYPES),
    REDUCE("ReduceProd", REF_REDUCE_PROD, REDUCE_TYPES),
    REDUCE("ReduceMax", REF_REDUCE_MAX, EXTREME_TYPES),
    REDUCE("ReduceMin", REF_REDUCE_MIN, EXTREME_TYPES),
    REDUCE("ReduceL1", REF_REDUCE_L1, REDUCE_TYPES),
    REDUCE("ReduceL2", REF_REDUCE_L2, REDUCE_TYPES),
    REDUCE("ReduceLogSum", REF_REDUCE_LOG_SUM, REDUCE_TYPES),
    REDUCE("ReduceLogSumExp", REF_REDUCE_LOG_SUM_EXP, REDUCE_TYPES),
    REDUCE("ReduceSumSquare", REF_REDUCE_SUM_SQUARE, REDUCE_TYPES),
    ROW("ArgMax", 1, &ref_arg_max, INPUTS(IN("data", "T", REF_REALS | REF_INTEGERS)),
        OUTPUTS(OUT("reduced", "", REF_INT64))),
    ROW("ArgMin", 1, &ref_arg_min, INPUTS(IN("data", "T", REF_REALS | REF_INTEGERS)),
        OUTPUTS(OUT("reduced", "", REF_INT64))),
    ROW("ConvTranspose", 1, &ref_conv_transpose,
        INPUTS(IN("X", "T", REF_REALS), IN("W", "T", REF_REALS), OPT("B", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS))),

    // Normalisation.
    ROW("LayerNormalization", 17, &ref_layer_normalization,
        INPUTS(IN("X", "T", REF_REALS), IN("Scale", "T", REF_REALS), OPT("B", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS), OPT_OUT("Mean", "U", REF_REALS),
                OPT_OUT("InvStdDev", "U", REF_REALS))),
    ROW("RMSNormalization", 23, &ref_rms_normalization,
        INPUTS(IN("X", "T", REF_REALS), IN("scale", "V", REF_REALS)),
        OUTPUTS(OUT("Y", "V", REF_REALS))),
    ROW("InstanceNormalization", 1, &ref_instance_normalization,
        INPUTS(IN("input", "T", REF_REALS), IN("scale", "T", REF_REALS),
               IN("B", "T", REF_REALS)),
        OUTPUTS(OUT("output", "T", REF_REALS))),
    ROW("GroupNormalization", 18, &ref_group_normalization,
        INPUTS(IN("X", "T", REF_REALS), IN("scale", "T", REF_REALS),
               IN("bias", "T", REF_REALS)),
        OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW("MeanVarianceNormalization", 9, &ref_mean_variance_normalization,
        INPUTS(IN("X", "T", REF_REALS)), OUTPUTS(OUT("Y", "T", REF_REALS))),
    ROW("LpNormalization", 1, &ref_lp_normalization, INPUTS(IN("input", "T", REF_REALS)),
        OUTPUTS(OUT("output", "T", REF_REALS))),
    ROW("Dropout", 1, &ref_dropout,
        INPUTS(IN("data", "T", REF_REALS | REF_FLOAT8),
               OPT("ratio", "T1", REF_REALS | REF_FLOAT8),
               OPT("training_mode", "T2", REF_BOOLEAN)),
        OUTPUTS(OUT("output", "T", REF_REALS | REF_FLOAT8),
                OPT_OUT("mask", "M", REF_REALS | REF_BOOLEAN | REF_FLOAT8))),

    // Images.
    ROW_UNTIL("Resize", 10, 10, &ref_resize,
              INPUTS(IN("X", "T", REF_ALL), SHAPE("scales", "", SCALES_TYPES)),
              OUTPUTS(OUT("Y", "T", REF_ALL))),
    ROW("Resize", 11, &ref_resize,
        INPUTS(IN("X", "T1", REF_ALL), OPT("roi", "T2", REF_REALS),
               OPT_SHAPE("scales", "", SCALES_TYPES), OPT_SHAPE("sizes", "", REF_INT64)),
        OUTPUTS(OUT("Y", "T1", REF_ALL))),
    ROW("Upsample", 1, &ref_upsample,
        INPUTS(IN("X", "T", REF_ALL), OPT_SHAPE("scales", "", SCALES_TYPES)),
        OUTPUTS(OUT("Y", "T", REF_ALL))),

    // Elements chosen, written, generated, accumulated.
    ROW("ScatterElements", 11, &ref_scatter_elements,
        INPUTS(IN("data", "T", REF_ALL), IN("indices", "Tind", REF_INDICES),
               IN("updates", "T", REF_ALL)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("Scatter", 9, &ref_scatter_elements,
        INPUTS(IN("data", "T", REF_ALL), IN("indices", "Tind", REF_INDICES),
               IN("updates", "T", REF_ALL)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("ScatterND", 11, &ref_scatter_nd,
        INPUTS(IN("data", "T", REF_ALL), IN("indices", "", REF_INT64),
               IN("updates", "T", REF_ALL)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("CumSum", 11, &ref_cum_sum,
        INPUTS(IN("x", "T", REDUCE_TYPES), SHAPE("axis", "T2", REF_INDICES)),
        OUTPUTS(OUT("y", "T", REDUCE_TYPES))),
    ROW("CumProd", 26, &ref_cum_prod,
        INPUTS(IN("x", "T", REDUCE_TYPES), SHAPE("axis", "T2", REF_INDICES)),
        OUTPUTS(OUT("y", "T", REDUCE_TYPES))),
    ROW("TopK", 1, &ref_top_k,
        INPUTS(IN("X", "T", REF_REALS | REF_INTEGERS), OPT_SHAPE("K", "", REF_INT64)),
        OUTPUTS(OUT("Values", "T", REF_REALS | REF_INTEGERS), OUT("Indices", "I", REF_INT64))),
    ROW("Range", 11, &ref_range,
        INPUTS(SHAPE("start", "T", RANGE_TYPES), SHAPE("limit", "T", RANGE_TYPES),
               SHAPE("delta", "T", RANGE_TYPES)),
        OUTPUTS(OUT("output", "T", RANGE_TYPES))),
    ROW("EyeLike", 9, &ref_eye_like,
        INPUTS(IN("input", "T1", REF_REALS | REF_INTEGERS | REF_BOOLEAN)),
        OUTPUTS(OUT("output", "T2", REF_REALS | REF_INTEGERS | REF_BOOLEAN))),
    ROW("OneHot", 9, &ref_one_hot,
        INPUTS(IN("indices", "T1", REF_REALS | REF_INTEGERS),
               SHAPE("depth", "T2", REF_REALS | REF_INTEGERS), IN("values", "T3", REF_ALL)),
        OUTPUTS(OUT("output", "T3", REF_ALL))),
    ROW("Trilu", 14, &ref_trilu, INPUTS(IN("input", "T", REF_ALL), OPT("k", "", REF_INT64)),
        OUTPUTS(OUT("output", "T", REF_ALL))),
    KERNEL("NonZero", 9, 0, &ref_non_zero, OPS_DYNAMIC_DATA_DEPENDENT,
           INPUTS(IN("X", "T",
                     REF_REALS | REF_INTEGERS | REF_BOOLEAN | REF_STRINGS | REF_COMPLEXES)),
           OUTPUTS(OUT("Y", "", REF_INT64))),
    KERNEL("Compress", 9, 0, &ref_compress, OPS_DYNAMIC_DATA_DEPENDENT,
           INPUTS(IN("input", "T", REF_ALL), IN("condition", "T1", REF_BOOLEAN)),
           OUTPUTS(OUT("output", "T", REF_ALL))),
    ROW("Einsum", 12, &ref_einsum, INPUTS(MANY("Inputs", "T", REF_REALS | REF_INTEGERS)),
        OUTPUTS(OUT("Output", "T", REF_REALS | REF_INTEGERS))),

    // Quantisation.
    ROW("QuantizeLinear", 10, &ref_quantize_linear,
        INPUTS(IN("x", "T1", REF_REALS | OPS_TYPE_BIT(OPS_TYPE_INT32)),
               IN("y_scale", "T2", SCALE_TYPES | OPS_TYPE_BIT(OPS_TYPE_INT32)),
               OPT("y_zero_point", "T3", QUANTIZED_TYPES)),
        OUTPUTS(OUT("y", "T3", QUANTIZED_TYPES))),
    ROW("DequantizeLinear", 10, &ref_dequantize_linear,
        INPUTS(IN("x", "T1", QUANTIZED_TYPES | OPS_TYPE_BIT(OPS_TYPE_INT32)),
               IN("x_scale", "T2", SCALE_TYPES),
               OPT("x_zero_point", "T1", QUANTIZED_TYPES | OPS_TYPE_BIT(OPS_TYPE_INT32))),
        OUTPUTS(OUT("y", "T3", SCALE_TYPES))),

// Further families; each file is a list of rows.
#include "table_microsoft.inc"
#include "table_microsoft_nn.inc"
#include "table_ml.inc"
#include "table_nn.inc"
#include "table_random.inc"
#include "table_sequence.inc"
#include "table_signal.inc"
#include "table_strings.inc"
#include "table_tensor.inc"
#include "table_vision.inc"
};

const ops_provider ref_provider = {
    .struct_size = sizeof(ops_provider),
    .name = OPS_STR("reference"),
    .vendor = OPS_STR("The ops project"),
    .version = OPS_STR("0.1.0"),
    .kernels = kernels,
    .kernel_count = sizeof kernels / sizeof *kernels,
    .kernel_stride = sizeof *kernels,
    .instance = &ref_instance_api,
    .unload_safe = 1,
};
