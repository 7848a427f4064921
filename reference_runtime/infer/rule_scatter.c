// SPDX-License-Identifier: Apache-2.0
//
// Operators that keep the shape of their data but move or add up elements: exporters write and
// sum up shapes with them, hence the contents of vectors are followed.
#include <string.h>

#include "infer/rules.h"

// The elements of a vector in input 0 become those of the output; their number, or -1 with
// *out_contents NULL if they are not known.
static int64_t start_contents(rt_infer_context *ctx, rt_dim **out_contents) {
  *out_contents = NULL;
  if (rt_infer_rank(ctx, 0) != 1 || ctx->output_count == 0) return -1;
  rt_infer_copy_contents(ctx, 0, 0);
  const int64_t count = ctx->outputs[0].contents_count;
  if (count >= 0) *out_contents = ctx->outputs[0].contents;
  return count;
}

// Writes updates (input 2) at the indices (input 1). An index that is not known may be any.
static void scatter(rt_infer_context *ctx) {
  int64_t indices[RT_INFER_MAX_CONTENTS];
  rt_dim updates[RT_INFER_MAX_CONTENTS], *out;
  const ops_str reduction = rt_attrs_string(&ctx->op->attrs, "reduction");
  int plain = reduction.size == 0 || rt_attrs_string_is(&ctx->op->attrs, "reduction", "none");
  const int64_t count = start_contents(ctx, &out);
  if (count < 0) return;
  // ScatterND: the last axis of its indices addresses axes of the data, of which there is one.
  const int32_t last = rt_infer_rank(ctx, 1) - 1;
  if (ctx->param && !rt_dim_is_value(rt_infer_dim(ctx, 1, last), 1)) plain = 0;
  const int64_t wanted = rt_infer_ints(ctx, 1, indices, RT_INFER_MAX_CONTENTS);
  if (!plain || wanted < 0) {
    for (int64_t i = 0; i < count; ++i) out[i] = rt_dim_unknown();
    return;
  }
  const int64_t given = rt_infer_contents(ctx, 2, updates);
  for (int64_t i = 0; i < wanted; ++i) {
    const int64_t at = indices[i] < 0 ? indices[i] + count : indices[i];
    if (at >= 0 && at < count) out[at] = i < given ? updates[i] : rt_dim_unknown();
  }
}

// Scatter, ScatterElements; param 1: ScatterND, which writes elements, too, if the data are a
// vector.
int32_t rt_infer_rule_scatter(rt_infer_context *ctx) {
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "data", 2, "updates"));
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  scatter(ctx);
  return OPS_OK;
}

// CumSum; param 1: CumProd.
int32_t rt_infer_rule_cumulate(rt_infer_context *ctx) {
  rt_dim *out, sum = rt_dim_const(ctx->param);
  OPS_RETURN_IF_ERROR(rt_infer_copy_shape(ctx, 0, rt_infer_elem(ctx, 0), 0));
  const int64_t count = start_contents(ctx, &out);
  const int exclusive = rt_infer_attr(ctx, "exclusive", 0) != 0;
  const int reverse = rt_infer_attr(ctx, "reverse", 0) != 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = reverse ? count - 1 - i : i;
    const rt_dim before = sum, item = out[at];
    sum =
        ctx->param ? rt_dim_mul(ctx->symbols, sum, item) : rt_dim_add(ctx->symbols, sum, item);
    out[at] = exclusive ? before : sum;
  }
  return OPS_OK;
}
