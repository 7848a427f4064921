// SPDX-License-Identifier: Apache-2.0
//
// Products of quantised matrices, sums of products of bytes (dots.h). The operators differ in
// where their arguments are and in what becomes of a sum:
//
//   MatMulInteger           int32
//   QLinearMatMul           scaled and rounded
//   MatMulIntegerToFloat    scaled, a bias added
//   DynamicQuantizeMatMul   the same, where A is quantised here
//   QGemm                   C added to the sum, which is scaled, and rounded if there is a
//   scale
//
// Parameters of A are one number, those of B one or one for each column.
#include <ops_support/checked.h>
#include <ops_support/provider.h>
#include <string.h>

#include "channels_last.h"
#include "dots.h"
#include "dynamic_quantize.h"
#include "ops_table.h"
#include "quantized.h"

#define NONE 99
typedef struct form {
  const char *op;
  uint64_t a, a_scale, a_zero, b, b_scale, b_zero, c, bias, y_scale, y_zero;
  int32_t is_gemm;  // matrices alone; attributes alpha, transA, transB
  int32_t type;     // of the result; 0: that of the zero point, else float
} form;

static const form kForms[] = {
    {"MatMulInteger", 0, NONE, 2, 1, NONE, 3, NONE, NONE, NONE, NONE, 0, OPS_TYPE_INT32},
    {"QLinearMatMul", 0, 1, 2, 3, 4, 5, NONE, NONE, 6, 7, 0, 0},
    {"MatMulIntegerToFloat", 0, 2, 4, 1, 3, 5, NONE, 6, NONE, NONE, 0, OPS_TYPE_FLOAT},
    {"DynamicQuantizeMatMul", 0, NONE, NONE, 1, 2, 3, NONE, 4, NONE, NONE, 0, OPS_TYPE_FLOAT},
    {"QGemm", 0, 1, 2, 3, 4, 5, 6, NONE, 7, 8, 1, 0},
};

typedef struct product_kernel {
  ops_kernel base;
  const form *form;
  int32_t transposed[2];  // A, B
  double alpha;
  cpu_dots_weights weights;
} product_kernel;

typedef struct product_prepared {
  ops_prepared base;
  cpu_dots_shape shape;
  cpu_dots_strides strides;  // of one matrix of B
  int64_t rows;              // of one product
  int64_t count;             // of products
  cpu_shape batch, a_batch, b_batch;
  int32_t a_type, b_type, y_type;
  int32_t moves_a;  // 1: A is quantised or turned first
  uint64_t tables_at, scratch_at, packed_at, a_at;
} product_prepared;

static const form *form_of(ops_str op) {
  for (size_t i = 0; i < sizeof kForms / sizeof *kForms; ++i)
    if (ops_str_equal(op, kForms[i].op)) return &kForms[i];
  return NULL;
}

// ---- Claim ----------------------------------------------------------------------------------

static const ops_type_info *type_of(const ops_node *node, uint64_t input) {
  const ops_operand *operand = input < node->input_count ? ops_node_input(node, input) : NULL;
  return operand ? operand->type : NULL;
}

static void need_one(const ops_node *node, uint64_t input, ops_claim *claim) {
  const ops_type_info *type = type_of(node, input);
  int is_one = !type || type->rank >= 0;
  for (int32_t i = 0; type && i < type->rank; ++i) is_one &= type->dims[i] == 1;
  if (!is_one)
    cpu_refuse(claim, OPS_REASON_SHAPE, "input %llu must be known to be one number",
               (unsigned long long)input);
}

static void need_vector(const ops_node *node, uint64_t input, ops_claim *claim) {
  const ops_type_info *type = type_of(node, input);
  if (type && (type->rank < 0 || type->rank > 1))
    cpu_refuse(claim, OPS_REASON_SHAPE, "input %llu must be known to be a number or a vector",
               (unsigned long long)input);
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const form *form = form_of(def->op);
  need_one(node, form->a_scale, out_claim);
  need_one(node, form->a_zero, out_claim);
  need_vector(node, form->b_scale, out_claim);
  need_vector(node, form->b_zero, out_claim);
}

// ---- Create ---------------------------------------------------------------------------------

// One matrix [rows, columns] of B, or a vector, which is one column.
static void describe_matrix(const int64_t *dims, int32_t rank, int transposed,
                            cpu_dots_shape *shape, cpu_dots_strides *strides) {
  const int64_t rows = rank == 1 ? dims[0] : dims[rank - 2];
  const int64_t columns = rank == 1 ? 1 : dims[rank - 1];
  *shape = (cpu_dots_shape){1, transposed ? rows : columns, 1, transposed ? columns : rows};
  *strides = (cpu_dots_strides){0, transposed ? columns : 1, 0, transposed ? 1 : columns};
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  product_kernel *own = (product_kernel *)kernel;
  cpu_dots_shape shape;
  cpu_dots_strides strides;
  own->form = form_of(kernel->def->op);
  own->alpha = own->form->is_gemm ? (double)ops_node_float(node, "alpha", 1) : 1;
  own->transposed[0] = own->form->is_gemm && ops_node_int(node, "transA", 0) != 0;
  own->transposed[1] = own->form->is_gemm && ops_node_int(node, "transB", 0) != 0;
  own->weights.device = kernel->device;
  const ops_operand *b = ops_node_input(node, own->form->b);
  const ops_tensor *tensor = ops_operand_contents(b);
  if (!tensor || tensor->rank < 1 || tensor->rank > 2 || tensor->byte_size == 0) return OPS_OK;
  describe_matrix(tensor->dims, tensor->rank, own->transposed[1], &shape, &strides);
  return cpu_dots_weights_init(&own->weights, kernel->device, &shape, &strides, b->constant,
                               error);
}

static void destroy(ops_kernel *kernel) {
  cpu_dots_weights_finish(&((product_kernel *)kernel)->weights);
}

// ---- Prepare --------------------------------------------------------------------------------

static int is_given(const ops_prepare_request *request, uint64_t input) {
  return input < request->input_count && ops_request_input(request, input) != NULL;
}

static int32_t check_vector(const product_kernel *own, const ops_prepare_request *request,
                            uint64_t input, int64_t columns, int may_be_one, ops_error *error) {
  cpu_shape shape;
  if (!is_given(request, input)) return OPS_OK;
  cpu_input_shape(request, input, &shape);
  const int64_t count = cpu_count(&shape);
  if (shape.rank <= 1 && (count == columns || (may_be_one && count == 1))) return OPS_OK;
  return cpu_invalid(&own->base, error, "input %llu must have %lld elements, found %lld",
                     (unsigned long long)input, (long long)columns, (long long)count);
}

static int32_t check_c(const product_kernel *own, const ops_prepare_request *request,
                       int64_t rows, int64_t columns, ops_error *error) {
  const int64_t y[2] = {rows, columns};
  cpu_shape c;
  if (!is_given(request, own->form->c)) return OPS_OK;
  cpu_input_shape(request, own->form->c, &c);
  for (int32_t i = 0; i < c.rank; ++i)
    if (c.rank > 2 || (c.dims[i] != 1 && c.dims[i] != y[2 - c.rank + i]))
      return cpu_invalid(&own->base, error, "C must broadcast to [%lld, %lld]", (long long)rows,
                         (long long)columns);
  return OPS_OK;
}

static int32_t check_parameters(const product_kernel *own, const ops_prepare_request *request,
                                const product_prepared *mine, ops_error *error) {
  const form *form = own->form;
  const int64_t columns = mine->shape.columns;
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(&own->base, request, form->a_scale, error));
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(&own->base, request, form->a_zero, error));
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(&own->base, request, form->y_scale, error));
  OPS_RETURN_IF_ERROR(cpu_quantized_need_one(&own->base, request, form->y_zero, error));
  OPS_RETURN_IF_ERROR(check_vector(own, request, form->b_scale, columns, 1, error));
  OPS_RETURN_IF_ERROR(check_vector(own, request, form->b_zero, columns, 1, error));
  OPS_RETURN_IF_ERROR(check_vector(own, request, form->bias, columns, 0, error));
  if (form->is_gemm && is_given(request, form->y_scale) != is_given(request, form->y_zero))
    return cpu_invalid(&own->base, error, "y_scale and y_zero_point go together");
  return check_c(own, request, mine->rows, columns, error);
}

// The leading dimensions, those of the matrices taken away.
static cpu_shape batch_of(const cpu_shape *shape) {
  cpu_shape batch = *shape;
  batch.rank = shape->rank > 2 ? shape->rank - 2 : 0;
  return batch;
}

static int32_t read_shapes(const product_kernel *own, const ops_prepare_request *request,
                           product_prepared *mine, cpu_shape *y, ops_error *error) {
  cpu_shape a, b;
  cpu_input_shape(request, own->form->a, &a);
  cpu_input_shape(request, own->form->b, &b);
  if (a.rank < 1 || b.rank < 1 || (own->form->is_gemm && (a.rank != 2 || b.rank != 2)))
    return cpu_invalid(&own->base, error, "ranks %d and %d", a.rank, b.rank);
  describe_matrix(b.dims, b.rank, own->transposed[1], &mine->shape, &mine->strides);
  mine->rows = a.rank == 1 ? 1 : a.dims[a.rank - 2];
  int64_t depth = a.dims[a.rank - 1];
  if (own->transposed[0]) {
    depth = mine->rows;
    mine->rows = a.dims[1];
  }
  if (depth != mine->shape.depth)
    return cpu_invalid(&own->base, error, "A has %lld columns, B %lld rows", (long long)depth,
                       (long long)mine->shape.depth);
  mine->a_batch = batch_of(&a);
  mine->b_batch = batch_of(&b);
  mine->batch.rank =
      ops_broadcast_dims(mine->a_batch.rank, mine->a_batch.dims, mine->b_batch.rank,
                         mine->b_batch.dims, mine->batch.dims);
  if (mine->batch.rank < 0)
    return cpu_invalid(&own->base, error, "the leading dimensions do not broadcast");
  *y = mine->batch;
  if (a.rank > 1) y->dims[y->rank++] = mine->rows;
  if (b.rank > 1) y->dims[y->rank++] = mine->shape.columns;
  return OPS_OK;
}

// One B for all of A: one product of all rows.
static void join_rows(product_prepared *mine) {
  mine->count = cpu_count(&mine->batch);
  if (mine->b_batch.rank > 0) return;
  mine->rows *= mine->count;
  mine->count = 1;
}

static int32_t lay_out(const product_kernel *own, product_prepared *mine, int64_t a_count,
                       ops_prepare_reply *reply, ops_error *error) {
  const ops_device *device = own->base.device;
  uint64_t tables, scratch, packed = 0, total = 0;
  const int fits =
      cpu_dots_tables_bytes(&mine->shape, &tables) &&
      cpu_dots_workspace(&mine->shape, 1, &scratch) &&
      (own->weights.memory || cpu_dots_packed_bytes(&mine->shape, &packed)) &&
      ops_checked_mul(scratch, (uint64_t)device->api->worker_count(device->host), &scratch) &&
      cpu_workspace_add(&total, tables, &mine->tables_at) &&
      cpu_workspace_add(&total, scratch, &mine->scratch_at) &&
      cpu_workspace_add(&total, packed, &mine->packed_at) &&
      cpu_workspace_add(&total, mine->moves_a ? (uint64_t)a_count : 0, &mine->a_at);
  return cpu_workspace_state(&own->base, fits, total, reply, error);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const product_kernel *own = (const product_kernel *)kernel;
  product_prepared *mine = (product_prepared *)prepared;
  const form *form = own->form;
  cpu_shape a, y;
  OPS_RETURN_IF_ERROR(read_shapes(own, request, mine, &y, error));
  OPS_RETURN_IF_ERROR(check_parameters(own, request, mine, error));
  mine->a_type = cpu_input_type(request, form->a);
  mine->b_type = cpu_input_type(request, form->b);
  mine->y_type = form->type                        ? form->type
                 : is_given(request, form->y_zero) ? cpu_input_type(request, form->y_zero)
                                                   : OPS_TYPE_FLOAT;
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, mine->y_type, &y, error));
  join_rows(mine);
  mine->moves_a = mine->a_type == OPS_TYPE_FLOAT || own->transposed[0];
  cpu_input_shape(request, form->a, &a);
  if (own->weights.memory) ops_reply_set_unread(reply, (uint64_t)1 << form->b);
  return lay_out(own, mine, cpu_count(&a), reply, error);
}

// ---- Execute --------------------------------------------------------------------------------

typedef struct rows {
  const uint8_t *a;
  int64_t depth, terms;
} rows;

static void point_direct(const void *context, int64_t group, int64_t row, int32_t count,
                         uint8_t *scratch, const uint8_t **out_rows) {
  const rows *rows = context;
  (void)group;
  (void)scratch;
  for (int32_t r = 0; r < count; ++r) out_rows[r] = rows->a + (row + r) * rows->depth;
}

static void point_copies(const void *context, int64_t group, int64_t row, int32_t count,
                         uint8_t *scratch, const uint8_t **out_rows) {
  const rows *rows = context;
  (void)group;
  for (int32_t r = 0; r < count; ++r, scratch += rows->terms) {
    memcpy(scratch, rows->a + (row + r) * rows->depth, (size_t)rows->depth);
    memset(scratch + rows->depth, 0, (size_t)(rows->terms - rows->depth));
    out_rows[r] = scratch;
  }
}

static int64_t count_of(const ops_execute_request *request, uint64_t input) {
  const ops_tensor *tensor = cpu_in(request, input);
  return tensor ? cpu_product(tensor->dims, 0, tensor->rank) : 0;
}

// The unsigned or signed bytes of A, which are quantised or turned where they have to be.
static const uint8_t *read_a(const product_kernel *own, const product_prepared *mine,
                             const ops_execute_request *request, char *workspace,
                             cpu_dots_quantities *q) {
  const ops_device *device = own->base.device;
  const void *a = cpu_in_data(request, own->form->a);
  uint8_t *moved = (uint8_t *)workspace + mine->a_at, zero;
  float scale;
  if (!mine->moves_a) return a;
  if (mine->a_type != OPS_TYPE_FLOAT) {
    cpu_flip_images(device, 1, a, moved, 1, mine->shape.depth, mine->rows);
    return moved;
  }
  cpu_dynamic_quantize(device, a, count_of(request, own->form->a), moved, &scale, &zero);
  q->a_scale = (double)scale;
  q->a_zero = zero;
  q->a_type = OPS_TYPE_UINT8;
  return moved;
}

// The matrix of a factor that product `index` of the batch uses.
static int64_t matrix_of(const product_prepared *mine, const cpu_shape *own, int64_t index) {
  int64_t matrix = 0, step = 1;
  const int32_t missing = mine->batch.rank - own->rank;
  for (int32_t d = mine->batch.rank - 1; d >= missing; --d) {
    const int64_t dim = own->dims[d - missing];
    if (dim != 1) matrix += index % mine->batch.dims[d] * step;
    step *= dim;
    index /= mine->batch.dims[d];
  }
  return matrix;
}

static void set_addend(const product_kernel *own, const ops_execute_request *request,
                       cpu_dots_result *result) {
  const ops_tensor *c = cpu_in(request, own->form->c);
  if (!c) return;
  const int64_t columns = c->rank > 0 ? c->dims[c->rank - 1] : 1;
  result->addend = (const int32_t *)(const void *)ops_tensor_data(c);
  result->addend_column = columns != 1;
  result->addend_row = c->rank == 2 && c->dims[0] != 1 ? columns : 0;
}

static const void *weights_of(const product_kernel *own, const product_prepared *mine,
                              const ops_execute_request *request, int64_t index,
                              char *workspace) {
  const int64_t size = mine->shape.depth * mine->shape.columns;
  const char *b = cpu_in_data(request, own->form->b);
  if (own->weights.memory) return own->weights.memory;
  cpu_dots_pack(own->base.device, &mine->shape, &mine->strides,
                b + matrix_of(mine, &mine->b_batch, index) * size, mine->b_type,
                workspace + mine->packed_at);
  return workspace + mine->packed_at;
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const product_prepared *mine = (const product_prepared *)prepared;
  const product_kernel *own = (const product_kernel *)prepared->kernel;
  const form *form = own->form;
  char *workspace = cpu_workspace(request);
  (void)error;
  if (mine->rows * mine->shape.columns == 0) return OPS_OK;
  cpu_dots_quantities q = {.a_scale = cpu_quantized_scale(request, form->a_scale, 1),
                           .a_zero = cpu_quantized_zero(request, form->a_zero),
                           .a_type = mine->a_type,
                           .b_scale = cpu_in_data(request, form->b_scale),
                           .b_scales = count_of(request, form->b_scale),
                           .b_zero = cpu_in_data(request, form->b_zero),
                           .b_zeros = count_of(request, form->b_zero),
                           .b_type = mine->b_type,
                           .alpha = own->alpha,
                           .y_scale = cpu_quantized_scale(request, form->y_scale, 1),
                           .y_zero = cpu_quantized_zero(request, form->y_zero),
                           .y_type = mine->y_type};
  const uint8_t *a = read_a(own, mine, request, workspace, &q);
  rows rows = {a, mine->shape.depth, cpu_dots_terms(&mine->shape)};
  const int64_t y_bytes = mine->rows * mine->shape.columns * cpu_type_size(mine->y_type);
  for (int64_t i = 0; i < mine->count; ++i) {
    rows.a =
        a +
        (mine->count == 1 ? 0 : matrix_of(mine, &mine->a_batch, i) * mine->rows * rows.depth);
    cpu_dots_product product = {.shape = mine->shape,
                                .rows = mine->rows,
                                .direct_taps = 1,
                                .packed = weights_of(own, mine, request, i, workspace),
                                .flip = q.a_type == OPS_TYPE_INT8 ? 0x80 : 0,
                                .point = rows.depth == rows.terms ? point_direct : point_copies,
                                .context = &rows,
                                .workspace = workspace + mine->scratch_at};
    cpu_dots_fill(&mine->shape, &q, product.packed, workspace + mine->tables_at,
                  &product.result);
    product.result.bias = cpu_in_data(request, form->bias);
    product.result.y = (char *)cpu_out_data(request, 0) + i * y_bytes;
    set_addend(own, request, &product.result);
    cpu_dots_run(own->base.device, &product);
  }
  return OPS_OK;
}

const cpu_op cpu_matmul_integer_op = {.kernel_size = sizeof(product_kernel),
                                      .prepared_size = sizeof(product_prepared),
                                      .claim = claim,
                                      .create = create,
                                      .destroy = destroy,
                                      .prepare = prepare,
                                      .execute = execute};
