// SPDX-License-Identifier: Apache-2.0
//
// One representation for all kinds: a value owns an array of cells. A cell is a string, or an
// item that is a tensor in host memory or another value. A map keeps its keys and items in
// turn.
//
// What is put into a value is copied, so that no value is reachable twice and none contains
// itself. Items that are tensors never change and count their references: the copy of a
// sequence shares the tensors of the original.
#include "loader/value.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// A tensor with its shape and data behind it, or a reference to a value.
typedef struct item {
  atomic_uint_fast64_t references;
  ops_arg arg;
  int64_t shape[];  // dims, then strides, then data
} item;

struct ops_value {
  atomic_uint_fast64_t references;
  int32_t kind;
  int32_t rank;  // STRINGS
  int64_t dims[OPS_MAX_RANK];
  uint64_t size;      // cells in use
  uint64_t capacity;  // cells allocated
  union {
    ops_str *strings;
    item **items;
    void *cells;
  };
};

static const char *const kKindNames[] = {"nothing",    "a tensor",    "a string tensor",
                                         "a sequence", "an optional", "a map"};

static int32_t check_kind(const ops_value *value, int32_t kind, ops_error *error) {
  if (value->kind == kind) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "value is %s, expected %s",
                       kKindNames[value->kind], kKindNames[kind]);
}

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no host memory for a value");
}

static int32_t check_index(uint64_t index, uint64_t size, ops_error *error) {
  if (index < size) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "index %llu is outside [0, %llu)",
                       (unsigned long long)index, (unsigned long long)size);
}

static int32_t value_copy(const ops_value *source, ops_value **out_copy, ops_error *error);
static int32_t strings_resize(ops_value *value, int32_t rank, const int64_t *dims,
                              ops_error *error);
static int32_t string_set(ops_value *value, uint64_t index, ops_str text, ops_error *error);

// ---- Items ----------------------------------------------------------------------------------

static void item_release(item *it) {
  if (!it || atomic_fetch_sub(&it->references, 1) != 1) return;
  ops_value_release(it->arg.value);
  free(it);
}

// Copies elements one by one in row-major order; whole bytes only.
static void copy_strided(const ops_tensor *from, char *to, uint64_t element) {
  int64_t index[OPS_MAX_RANK] = {0};
  const int64_t count = ops_tensor_count(from);
  const char *base = ops_tensor_data(from);
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0;
    for (int32_t i = 0; i < from->rank; ++i) offset += index[i] * from->strides[i];
    memcpy(to + (uint64_t)n * element, base + offset * (int64_t)element, element);
    for (int32_t i = from->rank - 1; i >= 0 && ++index[i] == from->dims[i]; --i) index[i] = 0;
  }
}

static int32_t check_tensor(const ops_arg *source, uint64_t *out_bytes, ops_error *error) {
  const ops_tensor *tensor = &source->tensor;
  int64_t count;
  if (source->memory_kind == OPS_MEMORY_DEVICE || tensor->layout != OPS_LAYOUT_STRIDED)
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "a tensor put into a value must lie in host memory, without private layout");
  if (tensor->rank < 0 || tensor->rank > OPS_MAX_RANK ||
      !ops_checked_count(tensor->dims, tensor->rank, &count) ||
      !ops_type_bytes(tensor->type, count, out_bytes))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "a tensor put into a value has an impossible type, rank or shape");
  if (ops_type_bits(tensor->type) % 8 != 0 &&
      (tensor->bit_offset != 0 ||
       !ops_strides_are_contiguous(tensor->rank, tensor->dims, tensor->strides)))
    return ops_error_set_cause(error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_NOT_CONTIGUOUS,
                               "a tensor of %s put into a value must be contiguous",
                               ops_type_name(tensor->type));
  return OPS_OK;
}

static void fill_tensor(item *it, const ops_tensor *source, uint64_t bytes) {
  int64_t *dims = it->shape, *strides = dims + source->rank;
  char *data = (char *)(strides + source->rank);
  if (source->rank > 0) memcpy(dims, source->dims, (size_t)source->rank * sizeof *dims);
  ops_strides_contiguous(source->rank, dims, strides);
  if (bytes && ops_strides_are_contiguous(source->rank, source->dims, source->strides))
    memcpy(data, ops_tensor_data(source), bytes);
  else if (bytes)
    copy_strided(source, data, (uint64_t)ops_type_bits(source->type) / 8);
  it->arg = (ops_arg){.kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_HOST};
  it->arg.tensor = (ops_tensor){.dims = dims,
                                .strides = strides,
                                .memory = data,
                                .byte_size = bytes,
                                .type = source->type,
                                .rank = source->rank};
}

static item *item_allocate(uint64_t extra) {
  uint64_t size;
  item *it = ops_checked_add(sizeof *it, extra, &size) ? malloc(size) : NULL;
  if (it) atomic_init(&it->references, 1);
  return it;
}

static int32_t tensor_item(const ops_arg *source, item **out_item, ops_error *error) {
  uint64_t bytes, extra;
  OPS_RETURN_IF_ERROR(check_tensor(source, &bytes, error));
  const uint64_t shape = 2 * (uint64_t)source->tensor.rank * sizeof(int64_t);
  item *it = ops_checked_add(shape, bytes, &extra) ? item_allocate(extra) : NULL;
  if (!it) return no_memory(error);
  fill_tensor(it, &source->tensor, bytes);
  *out_item = it;
  return OPS_OK;
}

static int32_t value_item(const ops_value *source, item **out_item, ops_error *error) {
  ops_value *copy;
  OPS_RETURN_IF_ERROR(value_copy(source, &copy, error));
  item *it = item_allocate(0);
  if (!it) {
    ops_value_release(copy);
    return no_memory(error);
  }
  it->arg = (ops_arg){.kind = OPS_ARG_VALUE, .value = copy};
  *out_item = it;
  return OPS_OK;
}

static int32_t item_create(const ops_arg *source, item **out_item, ops_error *error) {
  if (source->kind == OPS_ARG_TENSOR) return tensor_item(source, out_item, error);
  if (source->kind == OPS_ARG_VALUE && source->value)
    return value_item(source->value, out_item, error);
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "an item must be a tensor or a value; found an argument of kind %d%s",
                       source->kind, source->kind == OPS_ARG_VALUE ? " without a value" : "");
}

// ---- Values ---------------------------------------------------------------------------------

static int32_t reserve(ops_value *value, uint64_t count, ops_error *error) {
  const uint64_t cell = value->kind == OPS_VALUE_STRINGS ? sizeof(ops_str) : sizeof(item *);
  uint64_t capacity = value->capacity ? value->capacity : 4, bytes;
  if (count <= value->capacity) return OPS_OK;
  while (capacity < count)
    if (!ops_checked_mul(capacity, 2, &capacity)) return no_memory(error);
  if (!ops_checked_mul(capacity, cell, &bytes)) return no_memory(error);
  void *cells = realloc(value->cells, bytes);
  if (!cells) return no_memory(error);
  memset((char *)cells + value->capacity * cell, 0, (capacity - value->capacity) * cell);
  value->cells = cells;
  value->capacity = capacity;
  return OPS_OK;
}

static void clear_cells(ops_value *value) {
  for (uint64_t i = 0; i < value->size; ++i) {
    if (value->kind == OPS_VALUE_STRINGS)
      free((void *)value->strings[i].data);
    else
      item_release(value->items[i]);
  }
  value->size = 0;
}

int32_t ops_value_create(int32_t kind, ops_value **out_value, ops_error *error) {
  if (kind < OPS_VALUE_STRINGS || kind > OPS_VALUE_MAP)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "%d is no kind of value", kind);
  ops_value *value = calloc(1, sizeof *value);
  if (!value) return no_memory(error);
  atomic_init(&value->references, 1);
  value->kind = kind;
  if (kind == OPS_VALUE_STRINGS) {
    const int32_t status = reserve(value, 1, error);
    if (status != OPS_OK) {
      free(value);
      return status;
    }
    value->strings[0] = (ops_str){NULL, 0};
    value->size = 1;
  }
  *out_value = value;
  return OPS_OK;
}

ops_value *ops_value_retain(ops_value *value) {
  atomic_fetch_add(&value->references, 1);
  return value;
}

void ops_value_release(ops_value *value) {
  if (!value || atomic_fetch_sub(&value->references, 1) != 1) return;
  clear_cells(value);
  free(value->cells);
  free(value);
}

static int32_t copy_strings(const ops_value *source, ops_value *copy, ops_error *error) {
  OPS_RETURN_IF_ERROR(strings_resize(copy, source->rank, source->dims, error));
  for (uint64_t i = 0; i < source->size; ++i)
    OPS_RETURN_IF_ERROR(string_set(copy, i, source->strings[i], error));
  return OPS_OK;
}

// Tensors are shared, values copied in turn.
static int32_t copy_items(const ops_value *source, ops_value *copy, ops_error *error) {
  OPS_RETURN_IF_ERROR(reserve(copy, source->size, error));
  for (; copy->size < source->size; ++copy->size) {
    item *it = source->items[copy->size];
    if (it->arg.kind == OPS_ARG_TENSOR)
      atomic_fetch_add(&it->references, 1);
    else
      OPS_RETURN_IF_ERROR(value_item(it->arg.value, &it, error));
    copy->items[copy->size] = it;
  }
  return OPS_OK;
}

static int32_t value_copy(const ops_value *source, ops_value **out_copy, ops_error *error) {
  ops_value *copy;
  OPS_RETURN_IF_ERROR(ops_value_create(source->kind, &copy, error));
  const int32_t status = source->kind == OPS_VALUE_STRINGS ? copy_strings(source, copy, error)
                                                           : copy_items(source, copy, error);
  if (status == OPS_OK)
    *out_copy = copy;
  else
    ops_value_release(copy);
  return status;
}

static int32_t value_kind(const ops_value *value) {
  return value->kind;
}

// ---- Strings --------------------------------------------------------------------------------

static int32_t strings_shape(const ops_value *value, int32_t *out_rank,
                             const int64_t **out_dims, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_STRINGS, error));
  *out_rank = value->rank;
  *out_dims = value->dims;
  return OPS_OK;
}

static int32_t strings_resize(ops_value *value, int32_t rank, const int64_t *dims,
                              ops_error *error) {
  int64_t count;
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_STRINGS, error));
  if (rank < 0 || rank > OPS_MAX_RANK || !ops_checked_count(dims, rank, &count))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "a string tensor of rank %d has an impossible shape", rank);
  OPS_RETURN_IF_ERROR(reserve(value, (uint64_t)count, error));
  clear_cells(value);
  memset(value->strings, 0, (size_t)count * sizeof *value->strings);
  value->size = (uint64_t)count;
  value->rank = rank;
  // `dims` may be what strings_shape returned.
  if (rank > 0) memmove(value->dims, dims, (size_t)rank * sizeof *dims);
  return OPS_OK;
}

static int32_t string_get(const ops_value *value, uint64_t index, ops_str *out_text,
                          ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_STRINGS, error));
  OPS_RETURN_IF_ERROR(check_index(index, value->size, error));
  *out_text = value->strings[index];
  return OPS_OK;
}

static int32_t string_set(ops_value *value, uint64_t index, ops_str text, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_STRINGS, error));
  OPS_RETURN_IF_ERROR(check_index(index, value->size, error));
  char *copy = NULL;
  if (text.size) {
    if (!(copy = malloc(text.size))) return no_memory(error);
    memcpy(copy, text.data, text.size);
  }
  free((void *)value->strings[index].data);
  value->strings[index] = (ops_str){copy, text.size};
  return OPS_OK;
}

// ---- Sequences ------------------------------------------------------------------------------

static int32_t sequence_size(const ops_value *value, uint64_t *out_size, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_SEQUENCE, error));
  *out_size = value->size;
  return OPS_OK;
}

static int32_t sequence_get(const ops_value *value, uint64_t index, ops_arg *out_item,
                            ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_SEQUENCE, error));
  OPS_RETURN_IF_ERROR(check_index(index, value->size, error));
  *out_item = value->items[index]->arg;
  return OPS_OK;
}

static int32_t sequence_insert(ops_value *value, uint64_t index, const ops_arg *source,
                               ops_error *error) {
  item *it;
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_SEQUENCE, error));
  OPS_RETURN_IF_ERROR(check_index(index, value->size + 1, error));
  OPS_RETURN_IF_ERROR(reserve(value, value->size + 1, error));
  OPS_RETURN_IF_ERROR(item_create(source, &it, error));
  memmove(value->items + index + 1, value->items + index,
          (value->size - index) * sizeof *value->items);
  value->items[index] = it;
  ++value->size;
  return OPS_OK;
}

static int32_t sequence_erase(ops_value *value, uint64_t index, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_SEQUENCE, error));
  OPS_RETURN_IF_ERROR(check_index(index, value->size, error));
  item_release(value->items[index]);
  --value->size;
  memmove(value->items + index, value->items + index + 1,
          (value->size - index) * sizeof *value->items);
  return OPS_OK;
}

// ---- Optionals ------------------------------------------------------------------------------

static int32_t optional_get(const ops_value *value, ops_arg *out_item, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_OPTIONAL, error));
  *out_item = value->size ? value->items[0]->arg : (ops_arg){.kind = OPS_ARG_ABSENT};
  return OPS_OK;
}

static int32_t optional_set(ops_value *value, const ops_arg *source, ops_error *error) {
  item *it = NULL;
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_OPTIONAL, error));
  OPS_RETURN_IF_ERROR(reserve(value, 1, error));
  if (source->kind != OPS_ARG_ABSENT) OPS_RETURN_IF_ERROR(item_create(source, &it, error));
  clear_cells(value);
  value->items[0] = it;
  value->size = it != NULL;
  return OPS_OK;
}

// ---- Maps -----------------------------------------------------------------------------------

static int32_t map_size(const ops_value *value, uint64_t *out_size, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_MAP, error));
  *out_size = value->size / 2;
  return OPS_OK;
}

static int32_t map_get(const ops_value *value, uint64_t index, ops_arg *out_key,
                       ops_arg *out_item, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_MAP, error));
  OPS_RETURN_IF_ERROR(check_index(index, value->size / 2, error));
  *out_key = value->items[2 * index]->arg;
  *out_item = value->items[2 * index + 1]->arg;
  return OPS_OK;
}

static int equal_keys(const ops_arg *a, const ops_arg *b) {
  if (a->kind != b->kind) return 0;
  if (a->kind == OPS_ARG_TENSOR)
    return a->tensor.type == b->tensor.type && a->tensor.byte_size == b->tensor.byte_size &&
           memcmp(ops_tensor_data(&a->tensor), ops_tensor_data(&b->tensor),
                  a->tensor.byte_size) == 0;
  if (a->value->kind != OPS_VALUE_STRINGS || b->value->kind != OPS_VALUE_STRINGS) return 0;
  if (a->value->size != 1 || b->value->size != 1) return 0;
  const ops_str x = a->value->strings[0], y = b->value->strings[0];
  return x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
}

static int is_key(const ops_arg *arg) {
  if (arg->kind == OPS_ARG_TENSOR) return arg->tensor.rank == 0;
  return arg->kind == OPS_ARG_VALUE && arg->value && arg->value->kind == OPS_VALUE_STRINGS &&
         arg->value->size == 1;
}

static uint64_t find_key(const ops_value *map, const ops_arg *key) {
  uint64_t at = 0;
  while (at < map->size && !equal_keys(&map->items[at]->arg, key)) at += 2;
  return at;
}

static int32_t map_set(ops_value *value, const ops_arg *key, const ops_arg *source,
                       ops_error *error) {
  item *new_key = NULL, *new_item = NULL;
  OPS_RETURN_IF_ERROR(check_kind(value, OPS_VALUE_MAP, error));
  if (!is_key(key))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "a key must be a tensor of rank 0 or a single string");
  OPS_RETURN_IF_ERROR(reserve(value, value->size + 2, error));
  OPS_RETURN_IF_ERROR(item_create(key, &new_key, error));
  const int32_t status = item_create(source, &new_item, error);
  if (status != OPS_OK) {
    item_release(new_key);
    return status;
  }
  const uint64_t at = find_key(value, &new_key->arg);
  if (at < value->size) {
    item_release(value->items[at]);
    item_release(value->items[at + 1]);
  } else {
    value->size += 2;
  }
  value->items[at] = new_key;
  value->items[at + 1] = new_item;
  return OPS_OK;
}

// ---- All kinds ------------------------------------------------------------------------------

static int32_t assign(ops_value *value, const ops_value *source, ops_error *error) {
  ops_value *copy;
  OPS_RETURN_IF_ERROR(check_kind(value, source->kind, error));
  if (value == source) return OPS_OK;
  OPS_RETURN_IF_ERROR(value_copy(source, &copy, error));
  // The contents change places; the copy takes the old ones with it.
  void *cells = value->cells;
  const uint64_t size = value->size, capacity = value->capacity;
  value->cells = copy->cells;
  value->size = copy->size;
  value->capacity = copy->capacity;
  value->rank = copy->rank;
  memcpy(value->dims, copy->dims, sizeof value->dims);
  copy->cells = cells;
  copy->size = size;
  copy->capacity = capacity;
  ops_value_release(copy);
  return OPS_OK;
}

const ops_value_api ops_value_accessors = {
    .struct_size = sizeof(ops_value_api),
    .kind = value_kind,
    .strings_shape = strings_shape,
    .strings_resize = strings_resize,
    .string_get = string_get,
    .string_set = string_set,
    .sequence_size = sequence_size,
    .sequence_get = sequence_get,
    .sequence_insert = sequence_insert,
    .sequence_erase = sequence_erase,
    .optional_get = optional_get,
    .optional_set = optional_set,
    .map_size = map_size,
    .map_get = map_get,
    .map_set = map_set,
    .create = ops_value_create,
    .release = ops_value_release,
    .assign = assign,
};
