// SPDX-License-Identifier: Apache-2.0
//
// Reference-counted constants. The public struct is the head of a private one; dims and, for
// owned constants, strings follow in blocks of their own that the last release frees.
#include "graph/constant.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/half.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "model/pages.h"

#define DATA_ALIGNMENT 64u

typedef struct constant_box {
  rt_constant pub;
  atomic_uint references;
  int64_t dims[OPS_MAX_RANK];
  rt_sparse sparse;
  void *owned;           // data or strings
  ops_regions *regions;  // where data are from; NULL: malloc
  void *text;            // bytes of owned strings
  rt_constant_free_fn free_fn;
  void *user;
  int mapped;
  _Atomic(void *) aligned;  // copy of data at an address that suits the elements
} constant_box;

typedef struct elem_info {
  const char *name;
  uint32_t bits;
} elem_info;

static const elem_info elem_infos[OPS_TYPE_COUNT] = {[OPS_TYPE_UNDEFINED] = {"undefined", 0},
#define ROW(number, name, bits) [number] = {name, bits},
                                                     OPS_TYPE_LIST(ROW)
#undef ROW
};

const char *rt_elem_type_name(int32_t elem_type) {
  return elem_infos[elem_type > 0 && elem_type < OPS_TYPE_COUNT ? elem_type : 0].name;
}

int rt_elem_type_bytes(int32_t elem_type, int64_t element_count, uint64_t *out_size) {
  if (elem_type <= 0 || elem_type >= OPS_TYPE_COUNT || element_count < 0) return 0;
  uint64_t bits;
  if (elem_infos[elem_type].bits == 0) return 0;
  if (!ops_checked_mul((uint64_t)element_count, elem_infos[elem_type].bits, &bits)) return 0;
  *out_size = bits / 8 + (bits % 8 != 0);
  return 1;
}

static int32_t no_memory(uint64_t bytes, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                       "out of memory: a constant needs %llu bytes", (unsigned long long)bytes);
}

// A box with type and dims set and nothing else.
static int32_t new_box(int32_t elem_type, int32_t rank, const int64_t *dims,
                       constant_box **out_box, ops_error *error) {
  int64_t count;
  if (elem_type <= 0 || elem_type >= OPS_TYPE_COUNT || rank < 0 || rank > OPS_MAX_RANK ||
      !ops_checked_count(dims, rank, &count)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "constant of element type %d and rank %d: expected a type of ONNX, at "
                         "most %d dimensions, none negative, and fewer than 2^63 elements",
                         elem_type, rank, OPS_MAX_RANK);
  }
  constant_box *box = calloc(1, sizeof *box);
  if (!box) return no_memory(sizeof *box, error);
  atomic_init(&box->references, 1);
  if (rank > 0) memcpy(box->dims, dims, (size_t)rank * sizeof *dims);
  box->pub.elem_type = elem_type;
  box->pub.rank = rank;
  box->pub.dims = box->dims;
  box->pub.element_count = count;
  *out_box = box;
  return OPS_OK;
}

int32_t rt_constant_create_empty(ops_regions *regions, int32_t elem_type, int32_t rank,
                                 const int64_t *dims, rt_constant **out_constant,
                                 ops_error *error) {
  constant_box *box;
  uint64_t size = 0, padded = 0;
  *out_constant = NULL;
  OPS_RETURN_IF_ERROR(new_box(elem_type, rank, dims, &box, error));
  if (!rt_elem_type_bytes(elem_type, box->pub.element_count, &size) ||
      !ops_checked_align(size, DATA_ALIGNMENT, &padded)) {
    free(box);
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "constant of type %s: the type has no fixed size, or the size of the "
                         "data exceeds 2^64 bytes",
                         rt_elem_type_name(elem_type));
  }
  if (size > 0) {
    box->regions = regions;
    box->owned = regions ? ops_regions_allocate(regions, padded, DATA_ALIGNMENT)
                         : aligned_alloc(DATA_ALIGNMENT, padded);
    if (!box->owned) {
      free(box);
      return no_memory(padded, error);
    }
    memset((char *)box->owned + size, 0, padded - size);
  }
  box->pub.data = box->owned;
  box->pub.size = size;
  *out_constant = &box->pub;
  return OPS_OK;
}

int32_t rt_constant_create(int32_t elem_type, int32_t rank, const int64_t *dims,
                           const void *data, rt_constant **out_constant, ops_error *error) {
  OPS_RETURN_IF_ERROR(
      rt_constant_create_empty(NULL, elem_type, rank, dims, out_constant, error));
  void *own = rt_constant_mutable_data(*out_constant);
  if (own && data)
    memcpy(own, data, (*out_constant)->size);
  else if (own)
    memset(own, 0, (*out_constant)->size);
  return OPS_OK;
}

static int copy_strings(constant_box *box, const ops_str *strings) {
  const uint64_t count = (uint64_t)box->pub.element_count;
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!ops_checked_add(total, strings[i].size, &total)) return 0;
  }
  ops_str *copies = calloc(count ? count : 1, sizeof *copies);
  char *text = malloc(total ? total : 1);
  box->owned = copies;
  box->text = text;
  if (!copies || !text) return 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (strings[i].size > 0) memcpy(text, strings[i].data, strings[i].size);
    copies[i] = (ops_str){text, strings[i].size};
    text += strings[i].size;
  }
  box->pub.strings = copies;
  return 1;
}

int32_t rt_constant_create_strings(int32_t rank, const int64_t *dims, const ops_str *strings,
                                   rt_constant **out_constant, ops_error *error) {
  constant_box *box;
  *out_constant = NULL;
  OPS_RETURN_IF_ERROR(new_box(OPS_TYPE_STRING, rank, dims, &box, error));
  if (!copy_strings(box, strings)) {
    rt_constant_release(&box->pub);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                         "out of memory: copying the strings of a constant");
  }
  *out_constant = &box->pub;
  return OPS_OK;
}

int32_t rt_constant_borrow(int32_t elem_type, int32_t rank, const int64_t *dims,
                           const void *data, uint64_t size, const ops_str *strings,
                           rt_constant_free_fn free_fn, void *user, rt_constant **out_constant,
                           ops_error *error) {
  constant_box *box;
  uint64_t expected = 0;
  *out_constant = NULL;
  OPS_RETURN_IF_ERROR(new_box(elem_type, rank, dims, &box, error));
  const int fits = elem_type == OPS_TYPE_STRING
                       ? size == 0 && (strings || box->pub.element_count == 0)
                       : rt_elem_type_bytes(elem_type, box->pub.element_count, &expected) &&
                             size == expected && (data || size == 0);
  if (!fits) {
    const int64_t count = box->pub.element_count;
    free(box);
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "constant of %lld elements of type %s: expected %llu bytes, found %llu",
        (long long)count, rt_elem_type_name(elem_type), (unsigned long long)expected,
        (unsigned long long)size);
  }
  box->pub.data = data;
  box->pub.size = size;
  box->pub.strings = strings;
  box->free_fn = free_fn;
  box->user = user;
  *out_constant = &box->pub;
  return OPS_OK;
}

int32_t rt_constant_map(int32_t elem_type, int32_t rank, const int64_t *dims, const void *data,
                        uint64_t size, rt_constant **out_constant, ops_error *error) {
  OPS_RETURN_IF_ERROR(rt_constant_borrow(elem_type, rank, dims, data, size, NULL, NULL, NULL,
                                         out_constant, error));
  ((constant_box *)*out_constant)->mapped = 1;
  return OPS_OK;
}

int32_t rt_constant_create_sparse(int32_t rank, const int64_t *dims, const rt_sparse *sparse,
                                  rt_constant **out_constant, ops_error *error) {
  constant_box *box;
  *out_constant = NULL;
  if (!sparse->values || !sparse->indices ||
      (sparse->format != RT_SPARSE_COO && !sparse->row_offsets)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "sparse constant: expected values and indices, and row offsets unless "
                         "its format is COO");
  }
  OPS_RETURN_IF_ERROR(new_box(sparse->values->elem_type, rank, dims, &box, error));
  box->sparse = *sparse;
  box->pub.sparse = &box->sparse;
  *out_constant = &box->pub;
  return OPS_OK;
}

rt_constant *rt_constant_retain(rt_constant *constant) {
  if (constant) {
    atomic_fetch_add_explicit(&((constant_box *)constant)->references, 1, memory_order_relaxed);
  }
  return constant;
}

void rt_constant_release(rt_constant *constant) {
  constant_box *box = (constant_box *)constant;
  if (!box || atomic_fetch_sub_explicit(&box->references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  rt_constant_release(box->sparse.values);
  rt_constant_release(box->sparse.indices);
  rt_constant_release(box->sparse.row_offsets);
  if (box->free_fn) box->free_fn(box->user);
  free(box->aligned);
  if (box->regions)
    ops_regions_free(box->regions, box->owned);
  else
    free(box->owned);
  free(box->text);
  free(box);
}

// --- Addresses -------------------------------------------------------------------------------

int32_t rt_constant_aligned(const rt_constant *constant, const void **out_data,
                            ops_error *error) {
  constant_box *box = (constant_box *)constant;
  const uint32_t bits = elem_infos[constant->elem_type].bits;
  uint64_t padded = 0;
  *out_data = constant->data;
  if (bits <= 8 || (uintptr_t)constant->data % (bits / 8) == 0) return OPS_OK;
  *out_data = atomic_load_explicit(&box->aligned, memory_order_acquire);
  if (*out_data) return OPS_OK;
  void *copy = ops_checked_align(constant->size, DATA_ALIGNMENT, &padded)
                   ? aligned_alloc(DATA_ALIGNMENT, padded)
                   : NULL;
  if (!copy) return no_memory(constant->size, error);
  memcpy(copy, constant->data, constant->size);
  rt_constant_forget(constant);
  void *first = NULL;
  if (!atomic_compare_exchange_strong(&box->aligned, &first, copy)) free(copy);
  *out_data = first ? first : copy;
  return OPS_OK;
}

int rt_constant_is_mapped(const rt_constant *constant) {
  return ((const constant_box *)constant)->mapped;
}

void rt_constant_forget_part(const rt_constant *constant, uint64_t begin, uint64_t size) {
  if (rt_constant_is_mapped(constant))
    rt_model_pages_forget((const char *)constant->data + begin, size);
}

void rt_constant_forget(const rt_constant *constant) {
  rt_constant_forget_part(constant, 0, constant->size);
}

void *rt_constant_mutable_data(rt_constant *constant) {
  return ((constant_box *)constant)->owned;
}

// --- Reading elements ------------------------------------------------------------------------

// Element i of a packed tensor of `bits` (2 or 4) wide elements.
static uint32_t read_packed(const void *data, int64_t i, uint32_t bits) {
  const uint64_t bit = (uint64_t)i * bits;
  return (((const uint8_t *)data)[bit / 8] >> (bit % 8)) & ((1u << bits) - 1);
}

// 1 if the element is an integer that fits.
static int read_int(const rt_constant *constant, int64_t i, int64_t *out_value) {
  const void *data = constant->data;
  uint32_t packed;
  switch (constant->elem_type) {
    case OPS_TYPE_BOOL:
    case OPS_TYPE_UINT8:
      *out_value = ((const uint8_t *)data)[i];
      return 1;
    case OPS_TYPE_INT8:
      *out_value = ((const int8_t *)data)[i];
      return 1;
    case OPS_TYPE_UINT16:
      *out_value = ((const uint16_t *)data)[i];
      return 1;
    case OPS_TYPE_INT16:
      *out_value = ((const int16_t *)data)[i];
      return 1;
    case OPS_TYPE_INT32:
      *out_value = ((const int32_t *)data)[i];
      return 1;
    case OPS_TYPE_UINT32:
      *out_value = ((const uint32_t *)data)[i];
      return 1;
    case OPS_TYPE_INT64:
      *out_value = ((const int64_t *)data)[i];
      return 1;
    case OPS_TYPE_UINT64:
      *out_value = (int64_t)((const uint64_t *)data)[i];
      return *out_value >= 0;
    case OPS_TYPE_UINT4:
      *out_value = read_packed(data, i, 4);
      return 1;
    case OPS_TYPE_UINT2:
      *out_value = read_packed(data, i, 2);
      return 1;
    case OPS_TYPE_INT4:
      packed = read_packed(data, i, 4);
      *out_value = (int64_t)packed - (packed >= 8 ? 16 : 0);
      return 1;
    case OPS_TYPE_INT2:
      packed = read_packed(data, i, 2);
      *out_value = (int64_t)packed - (packed >= 2 ? 4 : 0);
      return 1;
    default:
      return 0;
  }
}

int64_t rt_constant_read_ints(const rt_constant *constant, int64_t *out_values,
                              int64_t capacity) {
  if (constant->sparse || constant->element_count > capacity) return -1;
  for (int64_t i = 0; i < constant->element_count; ++i) {
    if (!read_int(constant, i, &out_values[i])) return -1;
  }
  return constant->element_count;
}

static int read_float(const rt_constant *constant, int64_t i, double *out_value) {
  int64_t integer;
  float single;
  uint16_t half;
  switch (constant->elem_type) {
    case OPS_TYPE_FLOAT:
      memcpy(&single, (const char *)constant->data + i * 4, sizeof single);
      *out_value = single;
      return 1;
    case OPS_TYPE_DOUBLE:
      memcpy(out_value, (const char *)constant->data + i * 8, sizeof *out_value);
      return 1;
    case OPS_TYPE_FLOAT16:
      memcpy(&half, (const char *)constant->data + i * 2, sizeof half);
      *out_value = (double)ops_half_to_float(half);
      return 1;
    case OPS_TYPE_BFLOAT16:
      memcpy(&half, (const char *)constant->data + i * 2, sizeof half);
      *out_value = (double)ops_bfloat16_to_float(half);
      return 1;
    default:
      if (!read_int(constant, i, &integer)) return 0;
      *out_value = (double)integer;
      return 1;
  }
}

int64_t rt_constant_read_floats(const rt_constant *constant, double *out_values,
                                int64_t capacity) {
  if (constant->sparse || constant->element_count > capacity) return -1;
  for (int64_t i = 0; i < constant->element_count; ++i) {
    if (!read_float(constant, i, &out_values[i])) return -1;
  }
  return constant->element_count;
}
