// SPDX-License-Identifier: Apache-2.0
//
// Operators that are a copy between two strided views for each input or output: Transpose,
// Expand, Tile, Slice, Concat, Split, DepthToSpace, SpaceToDepth.
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "move.h"

// ---- Transpose ----

static void plan_transpose(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int32_t rank = x->rank;
  gpu_list perm = ((const gpu_move *)kernel->attributes)->lists[0];
  uint8_t marked[kGpuMaxDims];
  int64_t strides[OPS_MAX_RANK];
  gpu_walk walk = {.rank = rank};
  if (perm.count < 0)
    for (perm.count = 0; perm.count < rank; ++perm.count)
      perm.values[perm.count] = rank - 1 - perm.count;
  if (perm.count != rank) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "perm has %d values, expected %d",
                  perm.count, rank);
    return;
  }
  for (int32_t i = 0; i < rank; ++i)
    if (perm.values[i] < 0)  // unlike axes elsewhere
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "perm[%d] is %lld, expected 0 to %d", i,
                    (long long)perm.values[i], rank - 1);
  gpu_mark_axes(plan, &perm, rank, marked);
  if (plan->status != OPS_OK) return;
  ops_strides_contiguous(rank, x->dims, strides);
  for (int32_t i = 0; i < rank; ++i) {
    const int64_t axis = perm.values[i];
    walk.size[i] = x->dims[axis];
    walk.from[i] = strides[axis];
  }
  ops_strides_contiguous(rank, walk.size, walk.to);
  gpu_plan_output(plan, 0, x->type, rank, walk.size);
  gpu_plan_copy(plan, x->type, 0, 0, &walk);
}

// ---- Expand and Tile ----

static void plan_expand(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  gpu_list shape;
  int64_t strides[OPS_MAX_RANK];
  gpu_walk walk = {0};
  (void)kernel;
  gpu_list_resolve(plan, NULL, 1, &shape);
  int32_t fits = shape.count >= 0 && shape.count <= OPS_MAX_RANK;
  for (int32_t i = 0; i < shape.count; ++i) fits = fits && shape.values[i] >= 0;
  walk.rank =
      fits ? ops_broadcast_dims(x->rank, x->dims, shape.count, shape.values, walk.size) : -1;
  if (walk.rank < 0) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "the input does not broadcast with the shape of %d dimensions", shape.count);
    return;
  }
  ops_strides_contiguous(x->rank, x->dims, strides);
  ops_broadcast_strides(x->rank, x->dims, strides, walk.rank, walk.size, walk.from);
  ops_strides_contiguous(walk.rank, walk.size, walk.to);
  gpu_plan_output(plan, 0, x->type, walk.rank, walk.size);
  gpu_plan_copy(plan, x->type, 0, 0, &walk);
}

// Each dimension is two: which repetition, and the index in it.
static void plan_tile(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  gpu_list repeats;
  int64_t strides[OPS_MAX_RANK], dims[OPS_MAX_RANK];
  gpu_walk walk = {.rank = 2 * x->rank};
  (void)kernel;
  gpu_list_resolve(plan, NULL, 1, &repeats);
  if (repeats.count != x->rank)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "repeats has %d values, expected %d",
                  repeats.count, x->rank);
  ops_strides_contiguous(x->rank, x->dims, strides);
  for (int32_t d = 0; d < x->rank && plan->status == OPS_OK; ++d) {
    if (repeats.values[d] < 0 ||
        __builtin_mul_overflow(x->dims[d], repeats.values[d], &dims[d]))
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "repeats[%d] is %lld for %lld elements",
                    d, (long long)repeats.values[d], (long long)x->dims[d]);
    walk.size[2 * d] = repeats.values[d];
    walk.size[2 * d + 1] = x->dims[d];
    walk.from[2 * d + 1] = strides[d];
  }
  if (plan->status == OPS_OK) gpu_plan_output(plan, 0, x->type, x->rank, dims);
  ops_strides_contiguous(walk.rank, walk.size, walk.to);
  gpu_plan_copy(plan, x->type, 0, 0, &walk);
}

// ---- Slice ----

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// Bounds of one axis as ONNX has them: a start below the first element is the first, also where
// the step is negative. Returns the number of elements.
static int64_t slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step,
                          int64_t *out_start) {
  *out_start = 0;
  if (dim == 0) return 0;
  if (start < 0) start = start < -dim ? -1 : start + dim;
  if (end < 0) end = end < -dim ? -1 : end + dim;
  if (step > 0) {
    *out_start = start = clamp(start, 0, dim);
    end = clamp(end, 0, dim);
    return end > start ? (end - start - 1) / step + 1 : 0;
  }
  *out_start = start = clamp(start, 0, dim - 1);
  end = clamp(end, -1, dim - 1);
  if (start <= end) return 0;
  return step < -dim ? 1 : (start - end - 1) / -step + 1;  // -step of INT64_MIN overflows
}

typedef struct bounds {
  gpu_list starts, ends, axes, steps;
} bounds;

static void read_bounds(const gpu_move *move, gpu_plan *plan, int32_t rank, bounds *b) {
  gpu_list_resolve(plan, &move->lists[0], 1, &b->starts);
  gpu_list_resolve(plan, &move->lists[1], 2, &b->ends);
  gpu_list_resolve(plan, &move->lists[2], 3, &b->axes);
  gpu_list_resolve(plan, NULL, 4, &b->steps);
  if (plan->status != OPS_OK) return;
  const int32_t count = b->starts.count;
  if (b->axes.count < 0)
    for (b->axes.count = 0; b->axes.count < count; ++b->axes.count)
      b->axes.values[b->axes.count] = b->axes.count;
  if (b->steps.count < 0)
    for (b->steps.count = 0; b->steps.count < count; ++b->steps.count)
      b->steps.values[b->steps.count] = 1;
  if (count < 0 || count > rank || b->ends.count != count || b->axes.count != count ||
      b->steps.count != count)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "starts, ends, axes and steps have %d, %d, %d and %d values, expected as "
                  "many of each and at most %d",
                  count, b->ends.count, b->axes.count, b->steps.count, rank);
}

static void plan_slice(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  bounds b;
  uint8_t marked[kGpuMaxDims];
  gpu_walk walk = {.rank = x->rank};
  read_bounds(kernel->attributes, plan, x->rank, &b);
  if (plan->status == OPS_OK) gpu_mark_axes(plan, &b.axes, x->rank, marked);
  if (plan->status != OPS_OK) return;
  memcpy(walk.size, x->dims, (size_t)x->rank * sizeof *x->dims);
  ops_strides_contiguous(x->rank, x->dims, walk.from);
  for (int32_t i = 0; i < b.axes.count; ++i) {
    const int32_t d = gpu_plan_axis(plan, b.axes.values[i], x->rank);
    int64_t start;
    if (b.steps.values[i] == 0) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "steps[%d] is 0, expected another", i);
      return;
    }
    walk.size[d] =
        slice_axis(x->dims[d], b.starts.values[i], b.ends.values[i], b.steps.values[i], &start);
    if (walk.size[d] == 0) continue;
    walk.from_begin += start * walk.from[d];
    walk.from[d] = walk.size[d] > 1 ? walk.from[d] * b.steps.values[i] : 0;
  }
  ops_strides_contiguous(walk.rank, walk.size, walk.to);
  gpu_plan_output(plan, 0, x->type, walk.rank, walk.size);
  gpu_plan_copy(plan, x->type, 0, 0, &walk);
}

// ---- Concat and Split ----

// Adds input `i` to the output's shape, which that of input 0 began.
static void join_shape(gpu_plan *plan, uint64_t i, int32_t axis, int32_t rank, int64_t *dims) {
  const ops_type_info *x = gpu_plan_input(plan, i);
  int32_t fits = x->rank == rank;
  for (int32_t d = 0; fits && d < rank; ++d) fits = d == axis || x->dims[d] == dims[d];
  if (!fits || __builtin_add_overflow(dims[axis], x->dims[axis], &dims[axis]))
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input %llu: expected rank %d and the shape of input 0 except on axis %d",
                  (unsigned long long)i, rank, axis);
}

static void plan_concat(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const uint64_t count = plan->request->input_count;
  const int32_t axis =
      gpu_plan_axis(plan, ((const gpu_move *)kernel->attributes)->ints[0], x->rank);
  int64_t dims[kGpuMaxDims];
  if (plan->status != OPS_OK) return;
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[axis] = 0;
  for (uint64_t i = 0; i < count && plan->status == OPS_OK; ++i)
    join_shape(plan, i, axis, x->rank, dims);
  if (plan->status == OPS_OK) gpu_plan_output(plan, 0, x->type, x->rank, dims);
  if (plan->status != OPS_OK) return;
  const int64_t rows = gpu_product_of(dims, 0, axis);
  const int64_t width = gpu_product_of(dims, axis, x->rank);
  int64_t done = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const ops_type_info *part = gpu_plan_input(plan, i);
    const int64_t own = gpu_product_of(part->dims, axis, part->rank);
    const gpu_walk walk = {2, {rows, own}, {own, 1}, {width, 1}, 0, done};
    gpu_plan_copy(plan, x->type, i, 0, &walk);
    done += own;
  }
}

// Equal parts; from opset 18 on the last may be smaller, and their number is an attribute.
static void equal_parts(const ops_kernel *kernel, gpu_plan *plan, int64_t dim,
                        gpu_list *sizes) {
  const int64_t given = ((const gpu_move *)kernel->attributes)->ints[1];
  const int64_t count = (int64_t)kernel->output_count, part = (dim + count - 1) / count;
  if (kernel->opset >= 18 && given != count)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "num_outputs is %lld, expected %lld or a split of sizes", (long long)given,
                  (long long)count);
  if (kernel->opset < 18 && dim % count != 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "%lld elements do not divide into %lld equal parts", (long long)dim,
                  (long long)count);
  for (sizes->count = 0; sizes->count < count; ++sizes->count) {
    const int64_t left = dim - part * sizes->count;
    sizes->values[sizes->count] = left < 0 ? 0 : left < part ? left : part;
  }
}

static void check_parts(const ops_kernel *kernel, gpu_plan *plan, int64_t dim,
                        const gpu_list *sizes) {
  int64_t left = dim;
  int32_t fits = (uint64_t)sizes->count == kernel->output_count;
  for (int32_t i = 0; fits && i < sizes->count; ++i) {
    fits = sizes->values[i] >= 0 && sizes->values[i] <= left;
    left -= sizes->values[i];
  }
  if (!fits || left != 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "split has %d sizes, expected %llu that add up to %lld", sizes->count,
                  (unsigned long long)kernel->output_count, (long long)dim);
}

static void plan_split(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const gpu_move *move = kernel->attributes;
  gpu_list sizes;
  int64_t dims[kGpuMaxDims];
  const int32_t axis = gpu_plan_axis(plan, move->ints[0], x->rank);
  gpu_list_resolve(plan, &move->lists[0], 1, &sizes);
  if (plan->status != OPS_OK) return;
  if (sizes.count < 0) equal_parts(kernel, plan, x->dims[axis], &sizes);
  check_parts(kernel, plan, x->dims[axis], &sizes);
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  const int64_t rows = gpu_product_of(dims, 0, axis);
  const int64_t width = gpu_product_of(dims, axis, x->rank);
  int64_t done = 0;
  for (uint64_t i = 0; i < kernel->output_count && plan->status == OPS_OK; ++i) {
    dims[axis] = sizes.values[i];
    const int64_t own = gpu_product_of(dims, axis, x->rank);
    const gpu_walk walk = {2, {rows, own}, {width, 1}, {own, 1}, done, 0};
    gpu_plan_output(plan, i, x->type, x->rank, dims);
    gpu_plan_copy(plan, x->type, 0, i, &walk);
    done += own;
  }
}

// ---- DepthToSpace and SpaceToDepth ----

static const char *const kDepthModes[] = {"DCR", "CRD", NULL};

static int64_t block_size(const ops_kernel *kernel, gpu_plan *plan, const ops_type_info *x) {
  const int64_t size = ((const gpu_move *)kernel->attributes)->ints[0];
  if (x->rank == 4 && size > 0 && size <= INT32_MAX) return size;
  gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                "rank %d and blocksize %lld, expected rank 4 and a positive blocksize", x->rank,
                (long long)size);
  return 1;
}

static void plan_depth_to_space(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int64_t b = block_size(kernel, plan, x);
  if (plan->status != OPS_OK) return;
  const int64_t n = x->dims[0], c = x->dims[1] / (b * b), h = x->dims[2], w = x->dims[3];
  const int64_t dims[] = {n, c, h * b, w * b}, area = h * w;
  if (c * b * b != x->dims[1]) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "%lld channels, expected a multiple of %lld", (long long)x->dims[1],
                  (long long)(b * b));
    return;
  }
  const int is_crd = ((const gpu_move *)kernel->attributes)->variant == 1;
  const int64_t block = is_crd ? area : c * area, channel = is_crd ? b * b * area : area;
  gpu_walk walk = {.rank = 6,
                   .size = {n, c, h, b, w, b},
                   .from = {c * b * b * area, channel, w, b * block, 1, block}};
  ops_strides_contiguous(walk.rank, walk.size, walk.to);
  gpu_plan_output(plan, 0, x->type, 4, dims);
  gpu_plan_copy(plan, x->type, 0, 0, &walk);
}

static void plan_space_to_depth(const ops_kernel *kernel, gpu_plan *plan) {
  const ops_type_info *x = gpu_plan_input(plan, 0);
  const int64_t b = block_size(kernel, plan, x);
  if (plan->status != OPS_OK) return;
  const int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2] / b, w = x->dims[3] / b;
  const int64_t dims[] = {n, c * b * b, h, w}, row = w * b, area = h * b * row;
  if (h * b != x->dims[2] || w * b != x->dims[3]) {
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "%lld rows and %lld columns, expected multiples of %lld",
                  (long long)x->dims[2], (long long)x->dims[3], (long long)b);
    return;
  }
  const int is_crd = ((const gpu_move *)kernel->attributes)->variant == 1;
  gpu_walk walk = {
      .rank = 6, .size = {n, b, b, c, h, w}, .from = {c * area, row, 1, area, b * row, b}};
  const gpu_walk by_column = {
      .rank = 6, .size = {n, c, b, b, h, w}, .from = {c * area, area, row, 1, b * row, b}};
  if (is_crd) walk = by_column;
  ops_strides_contiguous(walk.rank, walk.size, walk.to);
  gpu_plan_output(plan, 0, x->type, 4, dims);
  gpu_plan_copy(plan, x->type, 0, 0, &walk);
}

const gpu_move_op gpu_transpose_op = {GPU_MOVE(plan_transpose), .lists = {"perm"}};
const gpu_move_op gpu_expand_op = {GPU_MOVE(plan_expand)};
const gpu_move_op gpu_tile_op = {GPU_MOVE(plan_tile)};
const gpu_move_op gpu_slice_op = {GPU_MOVE(plan_slice), .lists = {"starts", "ends", "axes"}};
const gpu_move_op gpu_concat_op = {GPU_MOVE(plan_concat), .ints = {{"axis", 1}}};
const gpu_move_op gpu_split_op = {GPU_MOVE(plan_split), .lists = {"split"},
                                  .ints = {{"axis", 0}, {"num_outputs", -1}}};
const gpu_move_op gpu_depth_to_space_op = {GPU_MOVE(plan_depth_to_space),
                                           .ints = {{"blocksize", 0}}, .variant = "mode",
                                           .variants = kDepthModes};
const gpu_move_op gpu_space_to_depth_op = {GPU_MOVE(plan_space_to_depth),
                                           .ints = {{"blocksize", 0}}, .variant = "mode",
                                           .variants = kDepthModes};
