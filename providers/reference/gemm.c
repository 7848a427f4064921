// SPDX-License-Identifier: Apache-2.0
//
// Gemm: Y = alpha * A' * B' + beta * C, where C broadcasts to Y (before opset 7 only if
// attribute broadcast says so) and may be missing from opset 11 on. FusedGemm applies an
// activation to it.
#include "operators.h"
#include "product.h"

typedef struct gemm_state {
  int32_t transpose_a, transpose_b;
  double alpha, beta;
  ref_activation activation;
} gemm_state;

static int32_t prepare(ref_prepare *p) {
  gemm_state *state = p->state;
  state->transpose_a = ref_attr_int(p->kernel, "transA", 0) != 0;
  state->transpose_b = ref_attr_int(p->kernel, "transB", 0) != 0;
  state->alpha = ref_attr_float(p->kernel, "alpha", 1.0f);
  state->beta = ref_attr_float(p->kernel, "beta", 1.0f);
  RETURN_IF_ERROR(ref_need_rank(p, 0, 2, 2));
  RETURN_IF_ERROR(ref_need_rank(p, 1, 2, 2));
  const int64_t *a = p->inputs[0].dims, *b = p->inputs[1].dims;
  int64_t k = a[!state->transpose_a], kb = b[state->transpose_b];
  if (k != kb)
    return ref_refuse(p, "input B: expected %lld rows (after transB), found %lld", (long long)k,
                      (long long)kb);
  int64_t y[2] = {a[state->transpose_a], b[!state->transpose_b]};
  if (ref_has(p, 2)) {
    const ref_shape *c = &p->inputs[2];
    RETURN_IF_ERROR(ref_need_rank(p, 2, 0, 2));
    for (int32_t i = 0; i < c->rank; ++i) {
      int64_t dim = y[2 - c->rank + i];
      if (c->dims[i] != 1 && c->dims[i] != dim)
        return ref_refuse(p, "input C: dimension %d is %lld, expected 1 or %lld", i,
                          (long long)c->dims[i], (long long)dim);
    }
  }
  return ref_set_shape(p, 0, 2, y);
}

static int32_t prepare_fused(ref_prepare *p) {
  gemm_state *state = p->state;
  RETURN_IF_ERROR(prepare(p));
  return ref_activation_read(p, &state->activation);
}

static int32_t prepare_limited(ref_prepare *p) {
  RETURN_IF_ERROR(prepare(p));
  const int64_t *y = p->outputs[0].dims;
  const ref_shape *c = &p->inputs[2];
  int is_equal = c->rank == 2 && c->dims[0] == y[0] && c->dims[1] == y[1];
  if (!is_equal && ref_attr_int(p->kernel, "broadcast", 0) == 0)
    return ref_refuse(
        p,
        "input C: expected the shape [%lld, %lld] of the product, since attribute "
        "broadcast is 0",
        (long long)y[0], (long long)y[1]);
  return OPS_OK;
}

static ref_matrix matrix_of(const ref_view *view, int transposed) {
  return (ref_matrix){view, view->strides[transposed], view->strides[!transposed]};
}

static void locate(const ref_product *p, int64_t i, int64_t *a, int64_t *b, int64_t *y) {
  (void)p;
  (void)i;
  *a = *b = *y = 0;
}

static int32_t execute(ref_run *run) {
  const gemm_state *state = run->state;
  const ref_view *a = &run->inputs[0], *y = &run->outputs[0];
  ref_product product = {.a = matrix_of(a, state->transpose_a),
                         .b = matrix_of(&run->inputs[1], state->transpose_b),
                         .y = matrix_of(y, 0),
                         .m = y->dims[0],
                         .n = y->dims[1],
                         .k = a->dims[!state->transpose_a],
                         .alpha = state->alpha,
                         .beta = state->beta,
                         .activation = state->activation,
                         .batch = 1,
                         .locate = locate};
  if (ref_given(run, 2)) {
    int64_t strides[2];
    ref_broadcast_strides(&run->inputs[2], 2, strides);
    product.c = (ref_matrix){&run->inputs[2], strides[0], strides[1]};
  }
  ref_product_run(run, &product);
  return OPS_OK;
}

const ref_op ref_gemm = {sizeof(gemm_state), prepare, execute, NULL, NULL};
const ref_op ref_fused_gemm = {sizeof(gemm_state), prepare_fused, execute, NULL, NULL};
const ref_op ref_gemm_limited = {sizeof(gemm_state), prepare_limited, execute, NULL, NULL};
