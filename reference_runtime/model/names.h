// SPDX-License-Identifier: Apache-2.0
//
// Private. A map from names to numbers.
#ifndef RT_MODEL_NAMES_H_
#define RT_MODEL_NAMES_H_

#include <ops/base.h>

// A name of up to three parts; values have one, functions have domain, name and overload. The
// bytes are borrowed.
typedef struct rt_name {
  ops_str parts[3];
} rt_name;

typedef struct rt_name_entry {
  rt_name name;
  uint64_t hash;
  int64_t value;
  int32_t is_used;
} rt_name_entry;

// Zero-initialise; finish frees it.
typedef struct rt_name_map {
  rt_name_entry *entries;
  size_t capacity;  // a power of two, or 0
  size_t count;
} rt_name_map;

void rt_name_map_finish(rt_name_map *map);

// Adds a name that the map does not have. Returns 0 if there is no memory.
int rt_name_map_add(rt_name_map *map, rt_name name, int64_t value);

// The value of a name, which the caller may change; NULL if the map does not have it.
int64_t *rt_name_map_find(const rt_name_map *map, rt_name name);

static inline rt_name rt_name_of(ops_str text) {
  return (rt_name){{text, {NULL, 0}, {NULL, 0}}};
}

#endif  // RT_MODEL_NAMES_H_
