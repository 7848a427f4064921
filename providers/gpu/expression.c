// SPDX-License-Identifier: Apache-2.0
//
// From an expression to one kernel: every element of the output is computed by one work-item.
// The dimensions are merged as far as all inputs allow, so that equal shapes are one dimension.
#include "expression.h"

#include <ops_support/checked.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

// How the inputs are walked: `rank` merged dimensions; input i needs its own index if linear[i]
// is 0, else it is read where the output is written.
typedef struct walk {
  int32_t rank;
  int64_t count;
  int64_t size[OPS_MAX_RANK];
  int64_t stride[kGpuMaxOperands][OPS_MAX_RANK];
  int32_t linear[kGpuMaxOperands];
  int32_t used[kGpuMaxOperands];
} walk;

static const ops_type_info *input_type(const gpu_plan *plan, int32_t i) {
  const ops_operand *input = ops_request_input(plan->request, (uint64_t)i);
  return input ? input->type : NULL;
}

static int32_t broadcast_all(const gpu_expression *e, gpu_plan *plan, int64_t *dims) {
  int32_t rank = 0;
  for (int32_t i = 0; i < e->input_count; ++i) {
    const ops_type_info *type = input_type(plan, i);
    if (!type) continue;
    rank = ops_broadcast_dims(rank, dims, type->rank, type->dims, dims);
    if (rank < 0) {
      gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                    "input %d does not broadcast with those before it", i);
      return -1;
    }
  }
  return rank;
}

// 1 if dimension `outer` can be merged with the one inside it for every input.
static int32_t merges(const walk *w, int32_t inputs, int32_t outer, int32_t inner) {
  for (int32_t i = 0; i < inputs; ++i)
    if (w->used[i] && w->stride[i][outer] != w->stride[i][inner] * w->size[inner]) return 0;
  return 1;
}

static void merge_dims(walk *w, int32_t inputs) {
  int32_t kept = 0;
  for (int32_t d = 0; d < w->rank; ++d) {
    if (w->size[d] == 1) continue;
    if (kept > 0 && merges(w, inputs, kept - 1, d)) {
      w->size[kept - 1] *= w->size[d];
      for (int32_t i = 0; i < inputs; ++i) w->stride[i][kept - 1] = w->stride[i][d];
      continue;
    }
    w->size[kept] = w->size[d];
    for (int32_t i = 0; i < inputs; ++i) w->stride[i][kept] = w->stride[i][d];
    ++kept;
  }
  w->rank = kept;
}

static void find_linear(walk *w, int32_t inputs) {
  for (int32_t i = 0; i < inputs; ++i) {
    int64_t expected = 1;
    w->linear[i] = 1;
    for (int32_t d = w->rank - 1; d >= 0; --d) {
      if (w->stride[i][d] != expected) w->linear[i] = 0;
      expected *= w->size[d];
    }
  }
}

static int32_t make_walk(const gpu_expression *e, gpu_plan *plan, int32_t rank,
                         const int64_t *dims, walk *w) {
  int64_t own[OPS_MAX_RANK];
  memset(w, 0, sizeof *w);
  if (!ops_checked_count(dims, rank, &w->count))
    return gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT, "the output's size overflows");
  w->rank = rank;
  memcpy(w->size, dims, (size_t)rank * sizeof *dims);
  for (int32_t i = 0; i < e->input_count; ++i) {
    const ops_type_info *type = input_type(plan, i);
    if (!type) continue;
    w->used[i] = 1;
    ops_strides_contiguous(type->rank, type->dims, own);
    ops_broadcast_strides(type->rank, type->dims, own, rank, dims, w->stride[i]);
  }
  merge_dims(w, e->input_count);
  find_linear(w, e->input_count);
  if (w->rank > kGpuMaxDims)
    return gpu_plan_fail(plan, OPS_ERROR_UNSUPPORTED,
                         "%d dimensions remain after merging, at most %d", w->rank,
                         kGpuMaxDims);
  return OPS_OK;
}

// ---- The kernel's text ----

static void write_params(const gpu_expression *e, const walk *w, gpu_text *text) {
  gpu_text_add(text, "KERNEL void elementwise(");
  for (int32_t i = 0; i < e->input_count; ++i)
    if (w->used[i]) gpu_text_add(text, "BUFFER(i%d), ", i);
  for (int32_t i = 0; i < e->output_count; ++i) gpu_text_add(text, "BUFFER(o%d), ", i);
  for (int32_t t = 0; t < e->term_count; ++t)
    for (int32_t p = 0; p < e->terms[t].param_count; ++p)
      gpu_text_add(text, "float p%d_%d, ", t, p);
  if (w->rank > 0) gpu_text_add(text, "shape_t shape, ");
  gpu_text_add(text, "IDX count) {\n  const IDX i = (IDX)GLOBAL_X();\n");
  gpu_text_add(text, "  if (i >= count) return;\n");
}

static void write_indices(const gpu_expression *e, const walk *w, gpu_text *text) {
  for (int32_t i = 0; i < e->input_count; ++i)
    if (w->used[i]) gpu_text_add(text, "  IDX at%d = %s;\n", i, w->linear[i] ? "i" : "0");
  int32_t computed = 0;
  for (int32_t i = 0; i < e->input_count; ++i) computed |= w->used[i] && !w->linear[i];
  if (!computed) return;
  gpu_text_add(text, "  IDX rest = i;\n");
  for (int32_t d = w->rank - 1; d >= 0; --d) {
    gpu_text_add(text,
                 d > 0 ? "  { const IDX q = rest / shape.size[%d], r = rest - q * "
                         "shape.size[%d];\n"
                       : "  { const IDX q = 0, r = rest; (void)%d; (void)%d;\n",
                 d, d);
    for (int32_t i = 0; i < e->input_count; ++i)
      if (w->used[i] && !w->linear[i])
        gpu_text_add(text, "    at%d += r * shape.stride[%d][%d];\n", i, i, d);
    gpu_text_add(text, "    rest = q; }\n");
  }
}

static void write_operand(const gpu_term *term, int32_t k, gpu_text *text) {
  const int32_t operand = term->operands[k];
  if (operand < 0)
    gpu_text_add(text, "x%d", ~operand);
  else
    gpu_text_add(text, "v%d", operand);
}

static void write_tail_of_call(const gpu_expression *e, int32_t t, gpu_text *text) {
  const gpu_term *term = &e->terms[t];
  for (int32_t p = 0; p < term->param_count; ++p) gpu_text_add(text, ", p%d_%d", t, p);
}

// acc = a; acc = OP(acc, b); …; Mean divides at the end.
static void write_fold(const gpu_expression *e, int32_t t, gpu_text *text) {
  const gpu_term *term = &e->terms[t];
  const char *type = ops_type_name(term->type);
  gpu_text_add(text, "  COMPUTE(%s) a%d = ", type, t);
  write_operand(term, 0, text);
  gpu_text_add(text, ";\n");
  for (int32_t k = 1; k < term->operand_count; ++k) {
    gpu_text_add(text, "  a%d = %s(%s, a%d, ", t, term->macro, type, t);
    write_operand(term, k, text);
    gpu_text_add(text, ");\n");
  }
  gpu_text_add(text, "  const COMPUTE(%s) v%d = ROUND(%s, %s_END(%s, a%d, %d));\n", type, t,
               type, term->macro, type, t, term->operand_count);
}

static void write_term(const gpu_expression *e, int32_t t, gpu_text *text) {
  const gpu_term *term = &e->terms[t];
  if (term->row->flags & GPU_ELEMENTWISE_FOLDS) {
    write_fold(e, t, text);
    return;
  }
  const char *result = ops_type_name(term->result_type);
  gpu_text_add(text, "  const COMPUTE(%s) v%d = ROUND(%s, %s(%s", result, t, result,
               term->macro, ops_type_name(term->type));
  if (term->row->flags & GPU_ELEMENTWISE_CASTS) gpu_text_add(text, ", %s", result);
  for (int32_t k = 0; k < term->operand_count; ++k) {
    gpu_text_add(text, ", ");
    write_operand(term, k, text);
  }
  write_tail_of_call(e, t, text);
  gpu_text_add(text, "));\n");
}

static void write_kernel(const gpu_expression *e, const gpu_plan *plan, const walk *w,
                         gpu_text *text) {
  write_params(e, w, text);
  write_indices(e, w, text);
  for (int32_t i = 0; i < e->input_count; ++i) {
    if (!w->used[i]) continue;
    const char *type = ops_type_name(input_type(plan, i)->type);
    gpu_text_add(text, "  const COMPUTE(%s) x%d = LOAD(%s, ELEMENTS(%s, i%d), at%d);\n", type,
                 i, type, type, i, i);
  }
  for (int32_t t = 0; t < e->term_count; ++t) write_term(e, t, text);
  for (int32_t o = 0; o < e->output_count; ++o) {
    const char *type = ops_type_name(e->terms[e->outputs[o]].result_type);
    gpu_text_add(text, "  STORE(%s, ELEMENTS(%s, o%d), i, v%d);\n", type, type, o,
                 e->outputs[o]);
  }
  gpu_text_add(text, "}\n");
}

// ---- The launch ----

// shape_t of kernels/elementwise.cl, in 32 or 64 bits.
static void add_shape(gpu_step *step, const walk *w, int32_t inputs, int32_t wide) {
  int64_t values[kGpuMaxDims * (kGpuMaxOperands + 1)];
  int32_t narrow[kGpuMaxDims * (kGpuMaxOperands + 1)];
  uint32_t count = 0;
  for (int32_t d = 0; d < w->rank; ++d) values[count++] = w->size[d];
  for (int32_t i = 0; i < inputs; ++i)
    for (int32_t d = 0; d < w->rank; ++d) values[count++] = w->stride[i][d];
  for (uint32_t i = 0; i < count; ++i) narrow[i] = (int32_t)values[i];
  if (wide)
    gpu_arg_bytes(step, values, count * (uint32_t)sizeof *values);
  else
    gpu_arg_bytes(step, narrow, count * (uint32_t)sizeof *narrow);
}

static void add_launch(const gpu_expression *e, gpu_plan *plan, const walk *w) {
  const int32_t wide = w->count > INT32_MAX - 4096;
  gpu_step *step = gpu_plan_step(plan, &gpu_elementwise_source, "elementwise");
  gpu_define(step, "IDX", "%s", wide ? "long" : "int");
  gpu_define(step, "RANK", "%d", w->rank > 0 ? w->rank : 1);
  gpu_define(step, "INPUTS", "%d", e->input_count);
  write_kernel(e, plan, w, &step->tail);
  for (int32_t i = 0; i < e->input_count; ++i)
    if (w->used[i]) gpu_arg_input(step, (uint64_t)i);
  for (int32_t o = 0; o < e->output_count; ++o) gpu_arg_output(step, (uint64_t)o);
  for (int32_t t = 0; t < e->term_count; ++t)
    for (int32_t p = 0; p < e->terms[t].param_count; ++p)
      gpu_arg_float(step, e->terms[t].params[p]);
  if (w->rank > 0) add_shape(step, w, e->input_count, wide);
  if (wide)
    gpu_arg_long(step, w->count);
  else
    gpu_arg_int(step, (int32_t)w->count);
  gpu_grid_items(step, w->count);
}

// The first operand alone gives the shape where the others only broadcast to it.
static void check_one_way(const gpu_expression *e, gpu_plan *plan, int32_t rank,
                          const int64_t *dims) {
  const ops_type_info *first = input_type(plan, 0);
  if (e->term_count != 1 || !(e->terms[0].row->flags & GPU_ELEMENTWISE_ONE_WAY)) return;
  int32_t same = first->rank == rank;
  for (int32_t d = 0; same && d < rank; ++d) same = first->dims[d] == dims[d];
  if (!same)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "input 1 is larger than input 0, to whose shape it must broadcast");
}

void gpu_expression_plan(const gpu_expression *e, gpu_plan *plan) {
  int64_t dims[OPS_MAX_RANK] = {0};
  walk w;
  const int32_t rank = broadcast_all(e, plan, dims);
  if (rank < 0) return;
  check_one_way(e, plan, rank, dims);
  for (int32_t o = 0; o < e->output_count; ++o)
    gpu_plan_output(plan, (uint64_t)o, e->terms[e->outputs[o]].result_type, rank, dims);
  if (plan->status == OPS_OK && make_walk(e, plan, rank, dims, &w) == OPS_OK)
    add_launch(e, plan, &w);
}
