// SPDX-License-Identifier: Apache-2.0
//
// MatMul (float, float16) and MatMulInteger (8 bits): the last two dimensions multiply, the
// others broadcast; a vector is a row on the left and a column on the right.
#include <math.h>
#include <ops_support/error.h>
#include <ops_support/half.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#include "faulty.h"

enum { kPieces = 4, kSpare = 256 };

// ---- Shapes ---------------------------------------------------------------------------------

// The strides of a batch in matrices: row-major over its own dimensions, 0 where it is
// stretched.
static void batch_strides(int32_t rank, const int64_t *dims, int64_t out_rank,
                          int64_t *out_strides) {
  int64_t stride = 1;
  for (int32_t i = rank; i-- > 0;) {
    out_strides[out_rank - rank + i] = dims[i] == 1 ? 0 : stride;
    stride *= dims[i];
  }
}

static void state_product(ops_prepared *prepared, ops_prepare_reply *reply, int32_t type,
                          const ops_type_info *a, const ops_type_info *b) {
  int64_t dims[kFaultyRank];
  int32_t rank = (int32_t)prepared->matmul.batch_rank;
  memcpy(dims, prepared->matmul.batch, sizeof dims);
  if (a->rank > 1) dims[rank++] = prepared->matmul.rows;
  if (b->rank > 1) dims[rank++] = prepared->matmul.columns;
  faulty_state_output(prepared, reply, type, rank, dims);
}

static int32_t prepare_product(ops_prepared *prepared, const ops_prepare_request *request,
                               ops_prepare_reply *reply, int32_t type, ops_error *error) {
  const ops_type_info *a = ops_request_input(request, 0)->type;
  const ops_type_info *b = ops_request_input(request, 1)->type;
  const int32_t a_batch = a->rank > 2 ? a->rank - 2 : 0;
  const int32_t b_batch = b->rank > 2 ? b->rank - 2 : 0;
  int64_t batch[OPS_MAX_RANK];
  const int32_t rank = ops_broadcast_dims(a_batch, a->dims, b_batch, b->dims, batch);
  if (rank < 0 || a->rank < 1 || b->rank < 1 ||
      a->dims[a->rank - 1] != b->dims[b->rank > 1 ? b->rank - 2 : 0]) {
    return FAULTY_REFUSE(
        prepared, error,
        "MatMul: expected the last dimension of A to equal the last but one of "
        "B and the others to broadcast, found ranks %d and %d that do not fit",
        a->rank, b->rank);
  }
  prepared->matmul.rows = a->rank > 1 ? a->dims[a->rank - 2] : 1;
  prepared->matmul.depth = a->dims[a->rank - 1];
  prepared->matmul.columns = b->rank > 1 ? b->dims[b->rank - 1] : 1;
  prepared->matmul.batch_rank = rank;
  memcpy(prepared->matmul.batch, batch, (size_t)rank * sizeof *batch);
  batch_strides(a_batch, a->dims, rank, prepared->matmul.left);
  batch_strides(b_batch, b->dims, rank, prepared->matmul.right);
  state_product(prepared, reply, type, a, b);
  return OPS_OK;
}

// How many matrices the output has.
static int64_t matrices(const ops_prepared *prepared) {
  int64_t count = 1;
  for (int64_t i = 0; i < prepared->matmul.batch_rank; ++i) count *= prepared->matmul.batch[i];
  return count;
}

// Which matrix of an operand belongs to matrix `index` of the output.
static int64_t matrix_of(const ops_prepared *prepared, int64_t index, const int64_t *strides) {
  int64_t matrix = 0;
  for (int64_t i = prepared->matmul.batch_rank; i-- > 0;) {
    matrix += index % prepared->matmul.batch[i] * strides[i];
    index /= prepared->matmul.batch[i];
  }
  return matrix > 0 && FAULTY(prepared, matmul_batch_of_one) ? 0 : matrix;
}

// ---- MatMul ---------------------------------------------------------------------------------

static int32_t prepare_matmul(ops_prepared *prepared, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *b = ops_request_input(request, 1)->type;
  OPS_RETURN_IF_ERROR(prepare_product(prepared, request, reply, b->type, error));
  prepared->constant_right = ops_request_input(request, 1)->constant != NULL;
  prepared->packed = b->layout == kFaultyLayout;
  reply->workspace_size = (uint64_t)(prepared->matmul.depth * (int64_t)sizeof(float));
  if (CONTROLLED(prepared, generous_workspace)) {
    reply->workspace_size += kSpare;
    reply->workspace_alignment = kSpare;
  }
  return OPS_OK;
}

static float load(const faulty_view *view, int64_t i) {
  return view->type == OPS_TYPE_FLOAT16 ? ops_half_to_float(((const uint16_t *)view->data)[i])
                                        : ((const float *)view->data)[i];
}

static float narrowed(const ops_prepared *prepared, float x) {
  return FAULTY(prepared, matmul_bfloat16_inputs)
             ? ops_bfloat16_to_float(ops_bfloat16_from_float(x))
             : x;
}

static float add_narrow(float sum, float product) {
  const float rounded = ops_half_to_float(ops_half_from_float(product));
  return ops_half_to_float(ops_half_from_float(sum + rounded));
}

static float dot_in_double(const faulty_call *call, const float *row, int64_t b, int64_t step) {
  double sum = 0;
  for (int64_t k = 0; k < call->prepared->matmul.depth; ++k)
    sum += (double)row[k] * (double)load(&call->in[1], b + k * step);
  return (float)sum;
}

// The sum of products of a row (in the workspace) and a column (`b`, elements `step` apart).
static float dot(const faulty_call *call, const float *row, int64_t b, int64_t step) {
  const ops_prepared *prepared = call->prepared;
  const int narrow = FAULTY(prepared, matmul_float16_accumulation);
  int64_t depth = prepared->matmul.depth;
  if (depth > 4 && depth % 4 && FAULTY(prepared, matmul_depth_tail)) depth -= depth % 4;
  if (CONTROLLED(prepared, double_sums)) return dot_in_double(call, row, b, step);
  const int fused = CONTROLLED(prepared, fused_products);
  float sum = 0;
  for (int64_t k = 0; fused && k < depth; ++k)
    sum = fmaf(row[k], load(&call->in[1], b + k * step), sum);
  for (int64_t k = 0; !fused && k < depth; ++k) {
    const float product = row[k] * narrowed(prepared, load(&call->in[1], b + k * step));
    sum = narrow ? add_narrow(sum, product) : sum + product;
  }
  return sum;
}

// Control split_k: pieces of the depth, summed apart and from behind.
static float dot_in_pieces(const faulty_call *call, const float *row, int64_t b, int64_t step) {
  const int64_t depth = call->prepared->matmul.depth;
  float sum = 0;
  for (int64_t p = kPieces; p-- > 0;) {
    float piece = 0;
    for (int64_t k = depth * (p + 1) / kPieces; k-- > depth * p / kPieces;)
      piece += row[k] * load(&call->in[1], b + k * step);
    sum += piece;
  }
  return sum;
}

static void store(const faulty_call *call, int64_t i, float value) {
  if (call->out.type == OPS_TYPE_FLOAT16)
    ((uint16_t *)call->out.data)[i] = ops_half_from_float(value);
  else if (FAULTY(call->prepared, matmul_adds_to_output))
    ((float *)call->out.data)[i] += value;
  else
    ((float *)call->out.data)[i] = value;
}

static void load_row(const faulty_call *call, int64_t a, float *row) {
  const int64_t depth = call->prepared->matmul.depth;
  for (int64_t k = 0; k < depth; ++k) row[k] = load(&call->in[0], a + k);
  if (depth == 9 && FAULTY(call->prepared, matmul_workspace_overrun)) row[depth] = 0;
  if (depth == 9 && FAULTY(call->prepared, matmul_reads_past)) {
    const volatile char *past =
        call->in[0].data + call->in[0].count * faulty_bytes(call->in[0].type);
    (void)*past;
  }
}

// Fault workspace_taken_as_zero: the first run's sums are the start of the next ones.
static float leftover(const faulty_call *call, const float *row) {
  if (call->prepared->matmul.depth == 0 || !FAULTY(call->prepared, workspace_taken_as_zero))
    return 0;
  return row[0];
}

static void multiply(const faulty_call *call, int64_t a, int64_t b, int64_t y) {
  const ops_prepared *prepared = call->prepared;
  const int64_t rows = prepared->matmul.rows, depth = prepared->matmul.depth;
  const int64_t columns = prepared->matmul.columns;
  float *row = (float *)call->workspace;
  if (CONTROLLED(prepared, generous_workspace)) row += kSpare / (int)sizeof *row;
  const float start = leftover(call, row);
  for (int64_t i = 0; i < rows; ++i) {
    load_row(call, a + i * depth, row);
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t first = prepared->packed ? b + j * depth : b + j;
      const int64_t step = prepared->packed ? 1 : columns;
      const float sum = CONTROLLED(prepared, split_k) ? dot_in_pieces(call, row, first, step)
                                                      : dot(call, row, first, step);
      store(call, y + i * columns + j, sum + start);
    }
  }
}

// Fault first_weights_kept: the right matrix of the first run serves all later ones.
static void use_kept(faulty_call *call) {
  static float kept[1 << 12];
  static int32_t filled;
  const size_t bytes = (size_t)call->in[1].count * sizeof(float);
  if (call->in[1].type != OPS_TYPE_FLOAT || bytes > sizeof kept || bytes == 0) return;
  if (!filled) memcpy(kept, call->in[1].data, bytes);
  if (!filled) filled = (int32_t)call->in[1].count;
  if (filled == call->in[1].count) call->in[1].data = (char *)kept;
}

static int32_t run_matmul(const faulty_call *call, ops_error *error) {
  (void)error;
  const ops_prepared *prepared = call->prepared;
  faulty_call mine = *call;
  if (FAULTY(prepared, first_weights_kept)) use_kept(&mine);
  if (prepared->constant_right && mine.in[1].count > 0 && FAULTY(prepared, constant_written))
    *(volatile char *)mine.in[1].data = 1;
  if (prepared->matmul.depth == 0 && FAULTY(prepared, matmul_no_depth_unwritten)) return OPS_OK;
  const int64_t rows = prepared->matmul.rows, depth = prepared->matmul.depth;
  const int64_t columns = prepared->matmul.columns;
  for (int64_t m = 0; m < matrices(prepared); ++m) {
    multiply(&mine, matrix_of(prepared, m, prepared->matmul.left) * rows * depth,
             matrix_of(prepared, m, prepared->matmul.right) * depth * columns,
             m * rows * columns);
  }
  return OPS_OK;
}

const faulty_op faulty_matmul = {.prepare = prepare_matmul, .run = run_matmul};

// ---- MatMulInteger --------------------------------------------------------------------------

// The right zero point is one number, or one for each column.
static int32_t prepare_integer(ops_prepared *prepared, const ops_prepare_request *request,
                               ops_prepare_reply *reply, ops_error *error) {
  OPS_RETURN_IF_ERROR(prepare_product(prepared, request, reply, OPS_TYPE_INT32, error));
  reply->workspace_size = (uint64_t)(prepared->matmul.depth * (int64_t)sizeof(int16_t) *
                                     (prepared->matmul.rows + prepared->matmul.columns));
  const ops_operand *zeros[] = {ops_request_input(request, 2), ops_request_input(request, 3)};
  for (int i = 0; i < 2; ++i) {
    faulty_view view;
    if (!zeros[i]) continue;
    OPS_RETURN_IF_ERROR(faulty_view_of(zeros[i]->type, &view, error));
    const int64_t most = i == 0 ? prepared->matmul.rows : prepared->matmul.columns;
    if (view.count == 1 || (view.rank == 1 && view.count == most)) continue;
    return FAULTY_REFUSE(prepared, error,
                         "MatMulInteger: zero point %d has %lld elements, expected 1 or %lld",
                         i, (long long)view.count, (long long)most);
  }
  return OPS_OK;
}

static int32_t load_code(const faulty_view *view, int64_t i) {
  if (!view->data) return 0;
  return view->type == OPS_TYPE_INT8 ? ((const int8_t *)view->data)[i]
                                     : ((const uint8_t *)view->data)[i];
}

static int32_t zero_of(const faulty_call *call, int32_t which, int64_t i) {
  const faulty_view *view = &call->in[which];
  if (which >= call->input_count) return 0;
  if (view->data && FAULTY(call->prepared, matmul_zero_point_ignored)) return 0;
  if (view->count > 1 && FAULTY(call->prepared, matmul_first_zero_point)) i = 0;
  return load_code(view, view->count > 1 ? i : 0);
}

// A row of A and the column of B to which it is multiplied, elements `step` apart.
typedef struct codes {
  const int16_t *a, *b;
  int64_t depth, step;
} codes;

// Fault matmul_saturates_16: two products at a time are added in 16 bits.
static int32_t pairs(const codes *c) {
  int32_t sum = 0;
  for (int64_t k = 0; k < c->depth; k += 2) {
    int32_t pair = c->a[k] * c->b[k * c->step];
    if (k + 1 < c->depth) pair += c->a[k + 1] * c->b[(k + 1) * c->step];
    sum += pair > INT16_MAX ? INT16_MAX : pair < INT16_MIN ? INT16_MIN : pair;
  }
  return sum;
}

static int32_t dot_codes(const faulty_call *call, const codes *c, int32_t za, int32_t zb) {
  int32_t sum = 0, left = 0, right = 0;
  for (int64_t k = 0; k < c->depth; ++k) {
    sum += c->a[k] * c->b[k * c->step];
    left += c->a[k];
    right += c->b[k * c->step];
  }
  if (FAULTY(call->prepared, matmul_saturates_16)) sum = pairs(c);
  return sum - za * right - zb * left + (int32_t)c->depth * za * zb;
}

static void widen(const faulty_view *view, int64_t begin, int64_t count, int16_t *out) {
  for (int64_t i = 0; i < count; ++i) out[i] = (int16_t)load_code(view, begin + i);
}

// Matrix `m` of the output; both operands are widened into the workspace first.
static void multiply_codes(const faulty_call *call, int64_t m) {
  const ops_prepared *prepared = call->prepared;
  const int64_t rows = prepared->matmul.rows, columns = prepared->matmul.columns;
  const int64_t depth = prepared->matmul.depth;
  int16_t *a = (int16_t *)call->workspace, *b = a + rows * depth;
  int32_t *y = (int32_t *)call->out.data + m * rows * columns;
  widen(&call->in[0], matrix_of(prepared, m, prepared->matmul.left) * rows * depth,
        rows * depth, a);
  widen(&call->in[1], matrix_of(prepared, m, prepared->matmul.right) * depth * columns,
        depth * columns, b);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t r = i / columns, c = i % columns;
    const codes pair = {a + r * depth, b + c, depth, columns};
    y[i] = dot_codes(call, &pair, zero_of(call, 2, r), zero_of(call, 3, c));
  }
}

static int32_t run_integer(const faulty_call *call, ops_error *error) {
  (void)error;
  for (int64_t m = 0; m < matrices(call->prepared); ++m) multiply_codes(call, m);
  return OPS_OK;
}

const faulty_op faulty_matmul_integer = {.prepare = prepare_integer, .run = run_integer};
