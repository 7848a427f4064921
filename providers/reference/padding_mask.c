// SPDX-License-Identifier: Apache-2.0
//
// The form is told by rank and dimensions, as the operators' definitions list them.
#include "padding_mask.h"

#include <math.h>

static int32_t form_of(const ref_shape *mask, const ref_mask_shape *shape, uint32_t forms) {
  int64_t batch = shape->batch, total = shape->past + shape->fresh;
  const int64_t *dims = mask->dims;
  if (mask->rank == 1 && (dims[0] == batch || dims[0] == 3 * batch + 2))
    return REF_MASK_LENGTHS;
  if (mask->rank == 1 && dims[0] == 2 * batch) return REF_MASK_RANGES;
  if (mask->rank == 2 && dims[0] == batch && dims[1] == total) return REF_MASK_KEYS;
  if (mask->rank == 2 && dims[0] == batch && dims[1] == shape->fresh &&
      (forms & REF_MASK_BIT(REF_MASK_FRESH)))
    return REF_MASK_FRESH;
  if (mask->rank == 2 && (dims[0] == batch || dims[0] == 1) && dims[1] == 1)
    return REF_MASK_UNIFORM;
  if (mask->rank == 3 && dims[0] == batch && dims[1] == shape->queries && dims[2] == total)
    return REF_MASK_SCORES;
  if (mask->rank == 4 && dims[0] == batch && dims[1] == 1 && dims[2] == dims[3] &&
      dims[3] >= total)
    return REF_MASK_SQUARE;
  return REF_MASK_NONE;
}

int32_t ref_mask_read(const ref_prepare *p, uint64_t input, const ref_mask_shape *shape,
                      uint32_t forms, ref_mask *out) {
  out->form = REF_MASK_NONE;
  out->filter = ref_attr_float(p->kernel, "mask_filter_value", -10000.0f);
  if (!ref_has(p, input)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, input, 1, 4));
  out->form = form_of(&p->inputs[input], shape, forms);
  if (out->form != REF_MASK_NONE && (forms & REF_MASK_BIT(out->form))) return OPS_OK;
  return ref_refuse(
      p,
      "input %s: expected a mask for a batch of %lld, %lld queries and %lld + %lld "
      "keys; its shape is none of those that the operator allows",
      ref_input_name(p->kernel, input), (long long)shape->batch, (long long)shape->queries,
      (long long)shape->past, (long long)shape->fresh);
}

static int64_t at(const ref_view *view, int64_t a, int64_t b, int64_t c) {
  const int64_t *strides = view->strides;
  if (view->rank == 2) return ref_int_at(view, a * strides[0] + b * strides[1]);
  if (view->rank == 3)
    return ref_int_at(view, a * strides[0] + b * strides[1] + c * strides[2]);
  return ref_int_at(view, a * strides[0] + b * strides[2] + c * strides[3]);
}

double ref_mask_at(const ref_mask *mask, const ref_view *view, const ref_mask_shape *shape,
                   int64_t b, int64_t i, int64_t j) {
  int keep = 1;
  if (mask->form == REF_MASK_LENGTHS) keep = j < ref_int_at(view, b * view->strides[0]);
  if (mask->form == REF_MASK_RANGES)
    keep = j < ref_int_at(view, b * view->strides[0]) &&
           j >= ref_int_at(view, (b + shape->batch) * view->strides[0]);
  if (mask->form == REF_MASK_KEYS) keep = at(view, b, j, 0) > 0;
  if (mask->form == REF_MASK_FRESH)
    keep = j < shape->past || at(view, b, j - shape->past, 0) > 0;
  if (mask->form == REF_MASK_UNIFORM) keep = at(view, view->dims[0] == 1 ? 0 : b, 0, 0) > 0;
  if (mask->form == REF_MASK_SCORES) keep = at(view, b, i, j) > 0;
  if (mask->form == REF_MASK_SQUARE) keep = at(view, b, shape->past + i, j) > 0;
  return keep ? 0 : mask->filter;
}

// ---- attention_bias ------------------------------------------------------------------------

int32_t ref_score_bias_check(const ref_prepare *p, uint64_t input, int64_t batch, int64_t heads,
                             int64_t queries, int64_t total) {
  if (!ref_has(p, input)) return OPS_OK;
  RETURN_IF_ERROR(ref_need_rank(p, input, 4, 4));
  const int64_t *dims = p->inputs[input].dims;
  if ((dims[0] == batch || dims[0] == 1) && (dims[1] == heads || dims[1] == 1) &&
      dims[2] == queries && dims[3] == total)
    return OPS_OK;
  return ref_refuse(p, "input %s: expected the shape [%lld or 1, %lld or 1, %lld, %lld]",
                    ref_input_name(p->kernel, input), (long long)batch, (long long)heads,
                    (long long)queries, (long long)total);
}

double ref_score_bias_at(const ref_view *view, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t *strides = view->strides;
  return ref_at(view, (view->dims[0] == 1 ? 0 : b * strides[0]) +
                          (view->dims[1] == 1 ? 0 : h * strides[1]) + i * strides[2] +
                          j * strides[3]);
}

// ---- Both ----------------------------------------------------------------------------------

int ref_masking_bias(const ref_attend *attend, int64_t b, int64_t h, int64_t i, double *bias) {
  const ref_masking *m = attend->context;
  int any = 0;
  for (int64_t j = 0; j < attend->total; ++j) {
    bias[j] = 0;
    if (m->mask->form != REF_MASK_NONE)
      bias[j] = ref_mask_at(m->mask, m->mask_view, m->shape, b, i, j);
    if (m->score_bias != NULL) bias[j] += ref_score_bias_at(m->score_bias, b, h, i, j);
    if (m->causal && j > m->shape->past + i) bias[j] = -INFINITY;
    any |= bias[j] != -INFINITY;
  }
  return any;
}

void ref_masking_show(const ref_attend *attend, int32_t stage, int64_t b, int64_t h, int64_t i,
                      const double *scores, const double *bias) {
  (void)bias;
  const ref_view *out = ((const ref_masking *)attend->context)->scores;
  if (stage != REF_SCORES_BIASED || out == NULL) return;
  ref_store(out, b * out->strides[0] + h * out->strides[1] + i * out->strides[2],
            out->strides[3], attend->total, scores);
}
