// SPDX-License-Identifier: Apache-2.0
//
// The core of attention: Y = softmax(scale * Q K' (softcapped) + mask) V for every head, as all
// operators of that kind share it. Heads are seen in place, by strides; key and value heads are
// shared by groups of query heads.
//
// Queries are taken in blocks and keys in blocks: the scores of one pair of blocks stay in the
// cache, and the softmax goes along with the keys (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). One query alone streams
// through keys and values. Scores, sums and weights are float. A query that may see no key
// gives zeros.
#ifndef CPU_ATTEND_H_
#define CPU_ATTEND_H_

#include "cpu.h"

// Vectors of `size` contiguous floats; strides in elements.
typedef struct cpu_heads {
  int64_t batch, head, position;
} cpu_heads;

typedef struct cpu_attend {
  int64_t batch, heads, kv_heads;  // heads is a multiple of kv_heads
  int64_t length, total;           // queries, keys
  int64_t size, v_size;            // of a head's vectors
  cpu_heads q_heads, k_heads, v_heads, y_heads;
  float scale;
  float softcap;   // 0: none
  int64_t before;  // keys that come before that of the first query
  // Query i sees the keys from i + before - left to i + before + right; negative: all on that
  // side. A causal one has right 0.
  int64_t left, right;
  int32_t mask_type;        // of the mask's elements: FLOAT is added, BOOL says what is seen
  int64_t mask_strides[3];  // of batch, head and query, in elements; keys lie side by side
  int64_t mask_length;      // keys that the mask tells of; none behind is seen
} cpu_attend;

typedef struct cpu_attend_args {
  const float *q, *k, *v;
  const void *mask;      // or NULL
  const int64_t *valid;  // for each batch how many keys there are, the last of which belongs to
                         // the last query; NULL: all, and `before` holds
  float *y;
  void *workspace;
} cpu_attend_args;

// Bytes of workspace, to be aligned to 64. OUT_OF_MEMORY if they are too many to count.
int32_t cpu_attend_workspace(const ops_device *device, const cpu_attend *attend,
                             uint64_t *out_size, ops_error *error);
void cpu_attend_run(const ops_device *device, const cpu_attend *attend,
                    const cpu_attend_args *args);

#endif  // CPU_ATTEND_H_
