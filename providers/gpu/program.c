// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs of a device: a hash table over the keys of their texts, never shrunk. One
// thread compiles at a time; who needs another program then waits.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

extern const char gpu_dialect_text[];

typedef struct entry {
  struct entry *next;
  uint8_t key[kGpuKeyBytes];
  gpu_program *program;
} entry;

enum { kBuckets = 1024 };

struct gpu_cache {
  ops_device *device;
  pthread_mutex_t lock;
  entry *buckets[kBuckets];
};

gpu_cache *gpu_cache_create(ops_device *device, ops_error *error) {
  gpu_cache *cache = calloc(1, sizeof *cache);
  if (!cache) {
    ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the programs of a device");
    return NULL;
  }
  cache->device = device;
  pthread_mutex_init(&cache->lock, NULL);
  return cache;
}

void gpu_cache_destroy(gpu_cache *cache) {
  if (!cache) return;
  for (int i = 0; i < kBuckets; ++i) {
    while (cache->buckets[i]) {
      entry *next = cache->buckets[i]->next;
      cache->device->driver->program_destroy(cache->buckets[i]->program);
      free(cache->buckets[i]);
      cache->buckets[i] = next;
    }
  }
  pthread_mutex_destroy(&cache->lock);
  free(cache);
}

static int32_t build(ops_device *device, const char *text, const uint8_t key[kGpuKeyBytes],
                     gpu_program **out_program, ops_error *error) {
  gpu_files *files = device->instance->files;
  void *binary = NULL;
  uint64_t size = 0;
  if (files && gpu_files_read(files, key, &binary, &size)) {
    const int32_t status =
        device->driver->program_load(device->context, binary, size, out_program, NULL);
    free(binary);
    if (status == OPS_OK) return OPS_OK;
    binary = NULL;  // of a driver that has changed without saying so: compile again
  }
  OPS_RETURN_IF_ERROR(
      device->driver->program_build(device->context, text, &binary, &size, out_program, error));
  if (files && binary) gpu_files_write(files, key, binary, size);
  free(binary);
  return OPS_OK;
}

// The lock is held.
static int32_t find_entry(gpu_cache *cache, const char *text, entry **out_entry,
                          ops_error *error) {
  const gpu_properties *properties = &cache->device->properties;
  const char *const parts[] = {cache->device->driver->name, properties->build_id, text};
  uint8_t key[kGpuKeyBytes];
  gpu_key(parts, 3, key);
  entry **bucket = &cache->buckets[(key[0] | key[1] << 8) % kBuckets];
  for (entry *e = *bucket; e; e = e->next) {
    if (memcmp(e->key, key, sizeof key) != 0) continue;
    *out_entry = e;
    return OPS_OK;
  }
  entry *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a program");
  memcpy(fresh->key, key, sizeof key);
  const int32_t status = build(cache->device, text, key, &fresh->program, error);
  if (status != OPS_OK) {
    free(fresh);
    return status;
  }
  fresh->next = *bucket;
  *bucket = fresh;
  *out_entry = fresh;
  return OPS_OK;
}

int32_t gpu_function_find(ops_device *device, const char *defines, const gpu_source *source,
                          const char *tail, const char *name, gpu_function **out_function,
                          ops_error *error) {
  gpu_text text = {0};
  entry *found;
  gpu_text_add(&text, "%s", device->driver->prefix);
  if (device->properties.features & GPU_FEATURE_FP64)
    gpu_text_add(&text, "#define GPU_FP64 1\n");
  gpu_text_add(&text, "%s%s%s%s", defines ? defines : "", gpu_dialect_text, source->text,
               tail ? tail : "");
  if (text.failed) {
    gpu_text_free(&text);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a program's text");
  }
  gpu_cache *cache = device->programs;
  pthread_mutex_lock(&cache->lock);
  int32_t status = find_entry(cache, text.data, &found, error);
  if (status == OPS_OK)
    status = device->driver->function_get(found->program, name, out_function, error);
  pthread_mutex_unlock(&cache->lock);
  gpu_text_free(&text);
  if (status != OPS_OK) ops_error_prefix(error, "kernel %s of %s", name, source->name);
  return status;
}
