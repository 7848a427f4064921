// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements and compute nothing: lists of numbers from attributes or host
// inputs, and copies between two strided views, which most of them are.
#ifndef GPU_MOVE_H_
#define GPU_MOVE_H_

#include "gpu.h"

enum {
  kGpuMaxList = 64,   // values of one list
  kGpuMaxWalk = 16,   // dimensions of a copy that remain after merging
  kGpuMoveLists = 3,  // list attributes of one operator
  kGpuMoveInts = 3    // int attributes of one operator
};

typedef struct gpu_list {
  int32_t count;  // -1: absent
  int64_t values[kGpuMaxList];
} gpu_list;

// What the operators of this family keep of a node.
typedef struct gpu_move {
  gpu_list lists[kGpuMoveLists];
  int64_t ints[kGpuMoveInts];
  int32_t variant;     // index in gpu_move_op.variants
  float value;         // of the attribute "value"
  uint8_t pattern[8];  // of ConstantOfShape: one element
  int32_t type;        // its type
} gpu_move;

// An operator: which attributes it has, by name.
typedef struct gpu_move_op {
  gpu_op base;
  const char *lists[kGpuMoveLists];  // NULL: no more
  struct {
    const char *name;  // NULL: no more
    int64_t fallback;
  } ints[kGpuMoveInts];
  const char *variant;          // a string attribute; NULL: none
  const char *const *variants;  // its values, the default first; then NULL
} gpu_move_op;

// Slots of a gpu_op whose definitions are gpu_move_op, with attributes of type gpu_move.
void gpu_move_claim(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                    ops_claim *claim);
int32_t gpu_move_parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                       ops_error *error);

#define GPU_MOVE(plan_)                         \
  .base = {.claim = gpu_move_claim,             \
           .attribute_bytes = sizeof(gpu_move), \
           .parse = gpu_move_parse,             \
           .plan = (plan_)}

// The type of an input that is present, NULL of one that is not.
const ops_type_info *gpu_plan_input(const gpu_plan *plan, uint64_t index);
// `attribute` if it is there, else the contents of host input `index`; count -1: neither.
// The plan fails if the contents are not known or too many.
void gpu_list_resolve(gpu_plan *plan, const gpu_list *attribute, uint64_t index,
                      gpu_list *out_list);
// An axis in [0, rank) of one in [-rank, rank); else the plan fails and the answer is 0.
int32_t gpu_plan_axis(gpu_plan *plan, int64_t axis, int32_t rank);
// Marks the axes of a list in `out_marked`, `rank` entries. The plan fails if one is out of
// range or named twice.
void gpu_mark_axes(gpu_plan *plan, const gpu_list *axes, int32_t rank, uint8_t *out_marked);
// Reads the one number, not of a half type, of host input `index`; 0 if it is not known.
int32_t gpu_plan_number(gpu_plan *plan, uint64_t index, double *out_number);
// The name of the unsigned integer that has the size of `type`.
const char *gpu_word(int32_t type);
// The product of dims[begin, end).
int64_t gpu_product_of(const int64_t *dims, int32_t begin, int32_t end);

// A copy: element (i0, i1, …) of `size` goes from from_begin + Σ i·from to to_begin + Σ i·to.
typedef struct gpu_walk {
  int32_t rank;
  int64_t size[OPS_MAX_RANK], from[OPS_MAX_RANK], to[OPS_MAX_RANK];
  int64_t from_begin, to_begin;
} gpu_walk;

// Adds the launch that copies elements of `type` from an input to an output. Dimensions are
// merged as far as both views allow.
void gpu_plan_copy(gpu_plan *plan, int32_t type, uint64_t input, uint64_t output,
                   const gpu_walk *walk);
// Adds the launch of a kernel of kernels/move.cl for elements of `type` and indices that are
// int, or long where `wide`.
gpu_step *gpu_move_step(gpu_plan *plan, int32_t type, int32_t wide, const char *function);
// A parameter of type IDX, and an array of them.
void gpu_arg_index(gpu_step *step, int32_t wide, int64_t value);
void gpu_arg_indices(gpu_step *step, int32_t wide, const int64_t *values, uint32_t count);

extern const gpu_source gpu_move_source;

extern const gpu_move_op gpu_reshape_op, gpu_flatten_op, gpu_squeeze_op, gpu_unsqueeze_op,
    gpu_transpose_op, gpu_expand_op, gpu_tile_op, gpu_slice_op, gpu_concat_op, gpu_split_op,
    gpu_depth_to_space_op, gpu_space_to_depth_op, gpu_pad_op, gpu_pad_1_op, gpu_gather_op,
    gpu_gather_elements_op, gpu_gather_nd_op, gpu_scatter_elements_op, gpu_scatter_nd_op,
    gpu_reverse_sequence_op, gpu_one_hot_op, gpu_constant_of_shape_op, gpu_eye_like_op,
    gpu_trilu_op, gpu_shape_op, gpu_size_op, gpu_range_op, gpu_cum_sum_op, gpu_top_k_op;

#endif  // GPU_MOVE_H_
