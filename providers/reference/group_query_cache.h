// SPDX-License-Identifier: Apache-2.0
//
// The cache of com.microsoft GroupQueryAttention: [batch, heads, positions, size], in the type
// of the query or quantised by a scale per tensor or per channel (head and number):
//   int8           round(x / scale), clamped
//   uint8          the same in 4 bits, two to a byte, the first in the low half, each plus 8
//   float8e4m3fn   x / scale, clamped to the finite
#ifndef REFERENCE_GROUP_QUERY_CACHE_H_
#define REFERENCE_GROUP_QUERY_CACHE_H_

#include "kernel.h"

enum { REF_CACHE_PLAIN, REF_CACHE_INT8, REF_CACHE_INT4, REF_CACHE_FLOAT8 };

typedef struct ref_cache {
  int32_t form;
  int64_t heads, size;  // of keys and values; numbers of a head
} ref_cache;

// Reads attribute `quant_type` ("k_quant_type"), checks the type of the cache and the shape of
// its scales; heads and size are set before.
int32_t ref_cache_read(const ref_prepare *p, const char *quant_type, uint64_t past,
                       uint64_t scale, ref_cache *cache);

// Elements of a head in the cache.
int64_t ref_cache_width(const ref_cache *cache);

// One position of a head, from the cache into numbers.
void ref_cache_load(const ref_cache *cache, const ref_view *view, const ref_view *scale,
                    int64_t b, int64_t h, int64_t position, double *out);
// And back.
void ref_cache_store(const ref_cache *cache, const ref_view *view, const ref_view *scale,
                     int64_t b, int64_t h, int64_t position, const double *in);
// What would be read after it was stored quantised; numbers of a plain cache stay as they are.
void ref_cache_round(const ref_cache *cache, const ref_view *scale, int64_t h, double *numbers);

#endif  // REFERENCE_GROUP_QUERY_CACHE_H_
