// SPDX-License-Identifier: Apache-2.0
//
// Codes are whole numbers in double until they are stored; a row of the table tells what
// differs between the quantised forms.
#include "group_query_cache.h"

#include <math.h>

#include "minifloat.h"

typedef struct cache_form {
  int32_t type;  // of the cache
  int64_t bits;
  double least, most;
  int whole;
} cache_form;

static const cache_form forms[] = {
    [REF_CACHE_PLAIN] = {0},
    [REF_CACHE_INT8] = {OPS_TYPE_INT8, 8, -128, 127, 1},
    [REF_CACHE_INT4] = {OPS_TYPE_UINT8, 4, -8, 7, 1},
    [REF_CACHE_FLOAT8] = {OPS_TYPE_FLOAT8E4M3FN, 8, -448, 448, 0},
};

// ---- Prepare -------------------------------------------------------------------------------

// Scales broadcast to [1, heads, 1, size], or there is just one.
static int32_t check_scale(const ref_prepare *p, uint64_t input, int per_channel,
                           const ref_cache *cache) {
  const ref_shape *scale = &p->inputs[input];
  const int64_t wanted[4] = {1, cache->heads, 1, cache->size};
  if (!ref_has(p, input))
    return ref_refuse(p, "input %s is left out; a quantised cache needs it",
                      ref_input_name(p->kernel, input));
  int fits = scale->rank <= 4;
  for (int32_t i = 0; fits && i < scale->rank; ++i)
    fits =
        scale->dims[i] == 1 || (per_channel && scale->dims[i] == wanted[4 - scale->rank + i]);
  if (fits) return OPS_OK;
  return ref_refuse(
      p, "input %s: expected one scale%s", ref_input_name(p->kernel, input),
      per_channel ? ", or a shape that broadcasts to [1, kv_num_heads, 1, head size]" : "");
}

static int32_t find_form(const ref_prepare *p, int32_t type, ref_cache *cache) {
  int64_t bits = ref_attr_int(p->kernel, "kv_cache_bit_width", 0);
  for (int32_t i = REF_CACHE_INT8; i <= REF_CACHE_FLOAT8; ++i)
    if (forms[i].type == type && (bits == 0 || bits == forms[i].bits)) {
      cache->form = i;
      return OPS_OK;
    }
  return ref_refuse(p,
                    "a quantised cache is int8 or float8e4m3fn of 8 bits, or uint8 of 4; "
                    "past_key or kv_cache_bit_width differs");
}

int32_t ref_cache_read(const ref_prepare *p, const char *quant_type, uint64_t past,
                       uint64_t scale, ref_cache *cache) {
  int plain = ref_attr_is(p->kernel, quant_type, "NONE", "NONE");
  int per_channel = ref_attr_is(p->kernel, quant_type, "PER_CHANNEL", "NONE");
  cache->form = REF_CACHE_PLAIN;
  if (!plain && !per_channel && !ref_attr_is(p->kernel, quant_type, "PER_TENSOR", "NONE"))
    return ref_refuse(p, "attribute %s: expected NONE, PER_TENSOR or PER_CHANNEL", quant_type);
  if (!ref_has(p, past)) {
    if (plain) return OPS_OK;
    return ref_refuse(p, "input %s is left out; a quantised cache needs it, for its type",
                      ref_input_name(p->kernel, past));
  }
  if (plain && p->inputs[past].type != p->inputs[0].type)
    return ref_refuse(p, "input %s: expected the type of query, as attribute %s is NONE",
                      ref_input_name(p->kernel, past), quant_type);
  if (plain) return OPS_OK;
  RETURN_IF_ERROR(find_form(p, p->inputs[past].type, cache));
  if (cache->form == REF_CACHE_INT4 && cache->size % 2 != 0)
    return ref_refuse(p, "a cache of 4 bits needs an even head size, found %lld",
                      (long long)cache->size);
  return check_scale(p, scale, per_channel, cache);
}

int64_t ref_cache_width(const ref_cache *cache) {
  return cache->form == REF_CACHE_INT4 ? cache->size / 2 : cache->size;
}

// ---- Execute -------------------------------------------------------------------------------

static double scale_at(const ref_view *scale, int64_t h, int64_t d) {
  int64_t offset = 0;
  if (scale->rank >= 1 && scale->dims[scale->rank - 1] != 1)
    offset += d * scale->strides[scale->rank - 1];
  if (scale->rank >= 3 && scale->dims[scale->rank - 3] != 1)
    offset += h * scale->strides[scale->rank - 3];
  return ref_at(scale, offset);
}

static double code_of(const cache_form *form, double x, double scale) {
  double code = scale != 0 ? x / scale : 0;
  if (form->whole) code = rint(code);
  return code < form->least ? form->least : code > form->most ? form->most : code;
}

static int64_t row_of(const ref_view *view, int64_t b, int64_t h, int64_t position) {
  return b * view->strides[0] + h * view->strides[1] + position * view->strides[2];
}

static void load_nibbles(const ref_view *view, int64_t row, int64_t size, double *out) {
  for (int64_t d = 0; d < size; ++d) {
    int64_t byte = ref_int_at(view, row + d / 2 * view->strides[3]);
    out[d] = (double)((d % 2 ? byte >> 4 : byte & 15) - 8);
  }
}

static void store_nibbles(const ref_view *view, int64_t row, int64_t d, const double *codes) {
  int64_t byte = (ref_truncate(codes[0]) + 8) | (ref_truncate(codes[1]) + 8) << 4;
  ref_store_int(view, row + d / 2 * view->strides[3], 1, 1, &byte);
}

void ref_cache_load(const ref_cache *cache, const ref_view *view, const ref_view *scale,
                    int64_t b, int64_t h, int64_t position, double *out) {
  int64_t row = row_of(view, b, h, position);
  if (cache->form == REF_CACHE_INT4)
    load_nibbles(view, row, cache->size, out);
  else
    ref_load(view, row, view->strides[3], cache->size, out);
  for (int64_t d = 0; cache->form != REF_CACHE_PLAIN && d < cache->size; ++d)
    out[d] *= scale_at(scale, h, d);
}

void ref_cache_store(const ref_cache *cache, const ref_view *view, const ref_view *scale,
                     int64_t b, int64_t h, int64_t position, const double *in) {
  const cache_form *form = &forms[cache->form];
  int64_t row = row_of(view, b, h, position);
  double codes[2];
  if (cache->form == REF_CACHE_PLAIN) ref_store(view, row, view->strides[3], cache->size, in);
  for (int64_t d = 0; cache->form != REF_CACHE_PLAIN && d < cache->size; ++d) {
    codes[d % 2] = code_of(form, in[d], scale_at(scale, h, d));
    if (cache->form != REF_CACHE_INT4)
      ref_store(view, row + d * view->strides[3], 1, 1, &codes[d % 2]);
    else if (d % 2)
      store_nibbles(view, row, d, codes);
  }
}

void ref_cache_round(const ref_cache *cache, const ref_view *scale, int64_t h,
                     double *numbers) {
  const cache_form *form = &forms[cache->form];
  for (int64_t d = 0; cache->form != REF_CACHE_PLAIN && d < cache->size; ++d) {
    double s = scale_at(scale, h, d), code = code_of(form, numbers[d], s);
    if (!form->whole) code = ref_decode(form->type, ref_encode(form->type, code, 1));
    numbers[d] = code * s;
  }
}
