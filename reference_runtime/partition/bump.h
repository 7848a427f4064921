// SPDX-License-Identifier: Apache-2.0
//
// Small allocations that are all freed together: node views, plans.
#ifndef RT_PARTITION_BUMP_H_
#define RT_PARTITION_BUMP_H_

#include <ops/base.h>

// Zero-initialise. Not thread-safe.
typedef struct rt_bump {
  struct rt_bump_chunk *chunks;
  int failed;  // 1: some allocation failed, which callers may check once at the end
} rt_bump;

// `count` zeroed elements of `size` bytes, aligned for any type; NULL if memory is exhausted.
// A count of 0 gives a pointer that is not NULL.
void *rt_bump_new(rt_bump *bump, uint64_t count, uint64_t size);
void *rt_bump_copy(rt_bump *bump, const void *data, uint64_t count, uint64_t size);
// A terminated copy.
char *rt_bump_text(rt_bump *bump, ops_str text);
char *rt_bump_format(rt_bump *bump, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rt_bump_finish(rt_bump *bump);

#endif  // RT_PARTITION_BUMP_H_
