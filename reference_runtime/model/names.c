// SPDX-License-Identifier: Apache-2.0
//
// Open addressing with linear probing, at most three quarters full. The hash is FNV-1a (Fowler,
// Noll, Vo) with a final mix, so that the low bits depend on all bytes.
#include "model/names.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_name(const rt_name *name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (int part = 0; part < 3; ++part) {
    for (uint64_t i = 0; i < name->parts[part].size; ++i)
      hash = (hash ^ (uint8_t)name->parts[part].data[i]) * UINT64_C(0x100000001b3);
    hash = (hash ^ 0x100) * UINT64_C(0x100000001b3);
  }
  return hash ^ hash >> 29;
}

static int equals(const rt_name *a, const rt_name *b) {
  for (int part = 0; part < 3; ++part) {
    const ops_str x = a->parts[part], y = b->parts[part];
    if (x.size != y.size || (x.size && memcmp(x.data, y.data, x.size) != 0)) return 0;
  }
  return 1;
}

// The entry of a name, or the free entry where it belongs. The map has at least one free entry.
static rt_name_entry *probe(const rt_name_map *map, const rt_name *name, uint64_t hash) {
  for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
    rt_name_entry *entry = &map->entries[i];
    if (!entry->is_used || (entry->hash == hash && equals(&entry->name, name))) return entry;
  }
}

static int grow(rt_name_map *map) {
  rt_name_map larger = {.capacity = map->capacity ? map->capacity * 2 : 64,
                        .count = map->count};
  larger.entries = calloc(larger.capacity, sizeof *larger.entries);
  if (!larger.entries) return 0;
  for (size_t i = 0; i < map->capacity; ++i)
    if (map->entries[i].is_used)
      *probe(&larger, &map->entries[i].name, map->entries[i].hash) = map->entries[i];
  free(map->entries);
  *map = larger;
  return 1;
}

void rt_name_map_finish(rt_name_map *map) {
  free(map->entries);
  *map = (rt_name_map){0};
}

int rt_name_map_add(rt_name_map *map, rt_name name, int64_t value) {
  if (map->count >= map->capacity / 4 * 3 && !grow(map)) return 0;
  const uint64_t hash = hash_name(&name);
  *probe(map, &name, hash) = (rt_name_entry){name, hash, value, 1};
  ++map->count;
  return 1;
}

int64_t *rt_name_map_find(const rt_name_map *map, rt_name name) {
  if (map->count == 0) return NULL;
  rt_name_entry *entry = probe(map, &name, hash_name(&name));
  return entry->is_used ? &entry->value : NULL;
}
