// SPDX-License-Identifier: Apache-2.0
//
// What a rule works with: the operator, its inputs, its outputs. Private to this folder.
//
// A rule returns OPS_OK, or what rt_infer_fail returned. It must cope with inputs that are
// omitted, of unknown type, of unknown rank, and with dimensions that are unknown; it then
// leaves unknown what it cannot say.
#ifndef RT_INFER_CONTEXT_H_
#define RT_INFER_CONTEXT_H_

#include <ops_support/error.h>

#include "infer/infer.h"

typedef struct rt_infer_context {
  const rt_op *op;
  const rt_node *node;
  rt_symbols *symbols;
  const rt_infer_input *inputs;
  uint32_t input_count;
  rt_infer_output *outputs;
  uint32_t output_count;
  int32_t param;  // of the table's row
  ops_error *error;
} rt_infer_context;

typedef int32_t (*rt_infer_rule_fn)(rt_infer_context *ctx);

// --- Inputs ----------------------------------------------------------------------------------

int rt_infer_has(const rt_infer_context *ctx, uint32_t input);
// RT_RANK_UNKNOWN if the input is omitted, no tensor, or of unknown rank.
int32_t rt_infer_rank(const rt_infer_context *ctx, uint32_t input);
// Unknown if the rank is unknown or `axis` is not in [0, rank).
rt_dim rt_infer_dim(const rt_infer_context *ctx, uint32_t input, int32_t axis);
// OPS_TYPE_UNDEFINED if it is not known.
int32_t rt_infer_elem(const rt_infer_context *ctx, uint32_t input);
// Copies the contents; returns their number or -1. `buffer` has RT_INFER_MAX_CONTENTS elements.
int64_t rt_infer_contents(const rt_infer_context *ctx, uint32_t input, rt_dim *buffer);
// The contents if all are numbers; returns their number or -1.
int64_t rt_infer_ints(const rt_infer_context *ctx, uint32_t input, int64_t *buffer,
                      int64_t capacity);
// Floating-point contents; returns their number or -1.
int64_t rt_infer_floats(const rt_infer_context *ctx, uint32_t input, double *buffer,
                        int64_t capacity);

// --- Attributes ------------------------------------------------------------------------------

// An integer attribute.
int64_t rt_infer_attr(const rt_infer_context *ctx, const char *name, int64_t missing);
// Fills `values` from an attribute of `count` integers; if it is absent, with `missing`. Fails
// if it has another number of elements.
int32_t rt_infer_attr_ints(const rt_infer_context *ctx, const char *name, int32_t count,
                           int64_t missing, int64_t *values);
// An axis in [-rank, rank], `extra` more positions allowed at the end; made non-negative.
int32_t rt_infer_axis(const rt_infer_context *ctx, int64_t axis, int32_t rank,
                      int32_t *out_axis);

#define RT_INFER_ABSENT (-2)
#define RT_INFER_UNKNOWN (-1)
// Axes from the attribute "axes" or, if that is absent, from input number `input`; made
// non-negative and checked for range and repetition. *out_count is their number, or ABSENT, or
// UNKNOWN if the input's contents are not known.
int32_t rt_infer_axes(const rt_infer_context *ctx, uint32_t input, int32_t rank, int32_t *axes,
                      int32_t *out_count);

// --- Outputs ---------------------------------------------------------------------------------

// Makes the output a tensor of that rank (RT_RANK_UNKNOWN too) with unknown dims. An output
// that the node does not have is ignored.
int32_t rt_infer_set_tensor(rt_infer_context *ctx, uint32_t output, int32_t elem_type,
                            int32_t rank);
void rt_infer_set_dim(rt_infer_context *ctx, uint32_t output, int32_t axis, rt_dim dim);
// Both at once: a tensor with these `rank` dims.
int32_t rt_infer_set_shape(rt_infer_context *ctx, uint32_t output, int32_t elem_type,
                           int32_t rank, const rt_dim *dims);
// Any type. What a sequence or optional holds is copied, so that `type` need not last; what is
// deeper inside than tensors in a sequence in an optional must.
void rt_infer_set_type(rt_infer_context *ctx, uint32_t output, const rt_type *type);
// Leaves the output what holds whichever of its type and `other` a value has.
void rt_infer_merge_type(rt_infer_context *ctx, uint32_t output, const rt_type *other);
// The output gets the shape of the input.
int32_t rt_infer_copy_shape(rt_infer_context *ctx, uint32_t output, int32_t elem_type,
                            uint32_t input);
// Room for `count` elements, all unknown; NULL if that is too many or the output is not there.
rt_dim *rt_infer_set_contents(rt_infer_context *ctx, uint32_t output, int64_t count);
// The output has the elements of the input, in the same order.
void rt_infer_copy_contents(rt_infer_context *ctx, uint32_t output, uint32_t input);

// The distance between neighbours along each axis of input 0, in elements; 0 if its contents
// are not known.
int rt_infer_strides(const rt_infer_context *ctx, int64_t *strides);
// Output 0, whose shape is set, has in row-major order the elements of input 0 that begin at
// number `first` and are steps[i] apart along output axis i.
void rt_infer_take_contents(rt_infer_context *ctx, int64_t first, const int64_t *steps);

// --- Errors and arithmetic -------------------------------------------------------------------

// Sets "Conv 'c3': " and the message; returns OPS_ERROR_INVALID_MODEL.
int32_t rt_infer_fail(const rt_infer_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Fails unless the input has that rank or an unknown one. `name` is the input's in the schema.
int32_t rt_infer_need_rank(const rt_infer_context *ctx, uint32_t input, const char *name,
                           int32_t rank);
int32_t rt_infer_need_min_rank(const rt_infer_context *ctx, uint32_t input, const char *name,
                               int32_t rank);
// Fails if both element types are known and differ.
int32_t rt_infer_need_same_elem(const rt_infer_context *ctx, uint32_t a, const char *name_a,
                                uint32_t b, const char *name_b);
// The dimension that both must be; fails if they are two different numbers.
int32_t rt_infer_unify(const rt_infer_context *ctx, rt_dim a, const char *what_a, rt_dim b,
                       const char *what_b, rt_dim *out_dim);
// ONNX's multidirectional broadcasting of two shapes; `out` has OPS_MAX_RANK elements.
int32_t rt_infer_broadcast(const rt_infer_context *ctx, const rt_dim *a, int32_t rank_a,
                           const rt_dim *b, int32_t rank_b, rt_dim *out, int32_t *out_rank);
// "N", "3" or "?" for messages, in a buffer of 96 bytes.
#define RT_INFER_TEXT 96
char *rt_infer_text(const rt_infer_context *ctx, rt_dim dim, char *buffer);

#endif  // RT_INFER_CONTEXT_H_
