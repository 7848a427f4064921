// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft: products, pools and quantised operators.
#include <string.h>

#include "infer/rules.h"

// --- Products --------------------------------------------------------------------------------

// The type of a factor with its dimensions in the order of the product: transBatch moves the
// first one behind the leading ones, then trans swaps the last two.
static rt_type arrange(const rt_infer_context *ctx, uint32_t input, const char *batch,
                       const char *last, rt_dim *dims) {
  const int32_t rank = rt_infer_rank(ctx, input);
  const int moved = rank > 1 && rt_infer_attr(ctx, batch, 0) != 0;
  const rt_type type = rt_type_tensor(0, rank, dims);
  for (int32_t i = 0; i < rank; ++i) dims[i] = rt_infer_dim(ctx, input, i);
  if (moved) {
    memmove(dims, dims + 1, (size_t)(rank - 2) * sizeof *dims);
    dims[rank - 2] = rt_infer_dim(ctx, input, 0);
  }
  if (rank < 2 || rt_infer_attr(ctx, last, 0) == 0) return type;
  const rt_dim held = dims[rank - 2];
  dims[rank - 2] = dims[rank - 1];
  dims[rank - 1] = held;
  return type;
}

int32_t rt_infer_rule_fused_matmul(rt_infer_context *ctx) {
  rt_dim dims[2][OPS_MAX_RANK];
  const int32_t elem = rt_infer_elem(ctx, 0);
  OPS_RETURN_IF_ERROR(rt_infer_need_same_elem(ctx, 0, "A", 1, "B"));
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 0, "A", 1));
  OPS_RETURN_IF_ERROR(rt_infer_need_min_rank(ctx, 1, "B", 1));
  const rt_type a = arrange(ctx, 0, "transBatchA", "transA", dims[0]);
  const rt_type b = arrange(ctx, 1, "transBatchB", "transB", dims[1]);
  return rt_infer_product(ctx, &a, &b, elem ? elem : rt_infer_elem(ctx, 1));
}
