// SPDX-License-Identifier: Apache-2.0
//
// A .npy file is a magic string, a version, the length of a header, the header, and the data.
// The header is a Python dictionary of exactly three entries, for instance
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
// The parser knows this grammar only; it evaluates nothing.
// Source: numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "model/npy.h"

#include <inttypes.h>
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>

static const char kMagic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

// numpy's kind and size in bytes, the size of what is swapped for the other byte order.
typedef struct npy_type {
  int32_t elem_type;
  char kind;
  uint8_t size;
  uint8_t swap;
} npy_type;

static const npy_type kTypes[] = {
    {OPS_TYPE_BOOL, 'b', 1, 1},      {OPS_TYPE_INT8, 'i', 1, 1},
    {OPS_TYPE_INT16, 'i', 2, 2},     {OPS_TYPE_INT32, 'i', 4, 4},
    {OPS_TYPE_INT64, 'i', 8, 8},     {OPS_TYPE_UINT8, 'u', 1, 1},
    {OPS_TYPE_UINT16, 'u', 2, 2},    {OPS_TYPE_UINT32, 'u', 4, 4},
    {OPS_TYPE_UINT64, 'u', 8, 8},    {OPS_TYPE_FLOAT16, 'f', 2, 2},
    {OPS_TYPE_FLOAT, 'f', 4, 4},     {OPS_TYPE_DOUBLE, 'f', 8, 8},
    {OPS_TYPE_COMPLEX64, 'c', 8, 4}, {OPS_TYPE_COMPLEX128, 'c', 16, 8},
};
enum { kTypeCount = sizeof kTypes / sizeof kTypes[0] };

typedef struct npy_header {
  const npy_type *type;
  int32_t swapped;
  int32_t fortran;
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
} npy_header;

typedef struct cursor {
  const char *at;
  const char *end;
  ops_error *error;
} cursor;

int rt_npy_is(const void *data, uint64_t size) {
  return size >= sizeof kMagic && memcmp(data, kMagic, sizeof kMagic) == 0;
}

// --- The header ----------------------------------------------------------------------------

static int32_t fail(cursor *in, const char *expected) {
  const size_t left = (size_t)(in->end - in->at);
  return ops_error_set_cause(in->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
                             "npy header: expected %s, found '%.*s'; save the array again with "
                             "numpy.save",
                             expected, (int)(left < 20 ? left : 20), in->at);
}

static void skip_space(cursor *in) {
  while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\t')) ++in->at;
}

// Skips white space, then takes `symbol` if it is next.
static int take(cursor *in, char symbol) {
  skip_space(in);
  if (in->at == in->end || *in->at != symbol) return 0;
  ++in->at;
  return 1;
}

static int take_word(cursor *in, const char *word) {
  const size_t size = strlen(word);
  skip_space(in);
  if ((size_t)(in->end - in->at) < size || memcmp(in->at, word, size) != 0) return 0;
  in->at += size;
  return 1;
}

// A string in either kind of quotes, without escapes.
static int32_t take_string(cursor *in, ops_str *out) {
  skip_space(in);
  if (in->at == in->end || (*in->at != '\'' && *in->at != '"')) return fail(in, "a string");
  const char quote = *in->at++;
  const char *end = memchr(in->at, quote, (size_t)(in->end - in->at));
  if (!end) return fail(in, "the end of a string");
  *out = (ops_str){in->at, (uint64_t)(end - in->at)};
  in->at = end + 1;
  return OPS_OK;
}

static int32_t take_dim(cursor *in, int64_t *out) {
  int64_t value = 0;
  skip_space(in);
  if (in->at == in->end || *in->at < '0' || *in->at > '9') return fail(in, "a dimension");
  for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; ++in->at)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, *in->at - '0', &value))
      return fail(in, "a dimension below 2^63");
  take(in, 'L');  // how Python 2 wrote long integers
  *out = value;
  return OPS_OK;
}

static int32_t take_shape(cursor *in, npy_header *out) {
  if (!take(in, '(')) return fail(in, "a tuple");
  out->rank = 0;
  while (!take(in, ')')) {
    if (out->rank == OPS_MAX_RANK) return fail(in, "at most 32 dimensions (OPS_MAX_RANK)");
    OPS_RETURN_IF_ERROR(take_dim(in, &out->dims[out->rank++]));
    if (take(in, ',')) continue;
    if (!take(in, ')')) return fail(in, "',' or ')'");
    break;
  }
  return OPS_OK;
}

static int32_t take_descr(cursor *in, npy_header *out) {
  static const char kOrders[4] = {'<', '>', '|', '='};
  ops_str descr = OPS_STR("");
  skip_space(in);
  if (in->at < in->end && *in->at == '[')
    return ops_error_set_cause(in->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_TYPE_UNSUPPORTED,
                               "npy header: the array holds records; save one plain array");
  OPS_RETURN_IF_ERROR(take_string(in, &descr));
  for (int i = 0; i < kTypeCount && descr.size > 0; ++i) {
    char text[8];
    const int size = snprintf(text, sizeof text, "%c%d", kTypes[i].kind, kTypes[i].size);
    if (!memchr(kOrders, descr.data[0], sizeof kOrders) || descr.size != (uint64_t)size + 1 ||
        memcmp(descr.data + 1, text, (size_t)size) != 0)
      continue;
    out->type = &kTypes[i];
    out->swapped = descr.data[0] == '>';
    return OPS_OK;
  }
  return ops_error_set_cause(
      in->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_TYPE_UNSUPPORTED,
      "npy header: type '%.*s'; expected bool, an integer, a float of 16 to 64 "
      "bits or a complex type; save other types as a TensorProto (.pb)",
      OPS_STR_FMT(descr));
}

static int32_t take_order(cursor *in, npy_header *out) {
  out->fortran = take_word(in, "True");
  return out->fortran || take_word(in, "False") ? OPS_OK : fail(in, "True or False");
}

typedef struct entry {
  const char *key;
  int32_t (*take)(cursor *, npy_header *);
} entry;

static const entry kEntries[] = {
    {"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
enum { kEntryCount = sizeof kEntries / sizeof kEntries[0] };

// One `key: value`; `seen` has a bit for each key that was read.
static int32_t take_entry(cursor *in, npy_header *out, uint32_t *seen) {
  ops_str key = OPS_STR("");
  OPS_RETURN_IF_ERROR(take_string(in, &key));
  if (!take(in, ':')) return fail(in, "':'");
  for (int i = 0; i < kEntryCount; ++i) {
    if (key.size != strlen(kEntries[i].key) || memcmp(key.data, kEntries[i].key, key.size) != 0)
      continue;
    if (*seen & 1u << i) return fail(in, "each key once");
    *seen |= 1u << i;
    return kEntries[i].take(in, out);
  }
  return fail(in, "a value of 'descr', 'fortran_order' or 'shape'");
}

static int32_t parse_header(cursor *in, npy_header *out) {
  uint32_t seen = 0;
  if (!take(in, '{')) return fail(in, "a dictionary");
  while (!take(in, '}')) {
    OPS_RETURN_IF_ERROR(take_entry(in, out, &seen));
    if (take(in, ',')) continue;
    if (!take(in, '}')) return fail(in, "',' or '}'");
    break;
  }
  if (seen != (1u << kEntryCount) - 1)
    return fail(in, "all of 'descr', 'fortran_order' and 'shape'");
  skip_space(in);
  return in->at == in->end ? OPS_OK : fail(in, "the end of the header");
}

// --- The data ------------------------------------------------------------------------------

static void copy_element(const npy_header *header, const uint8_t *from, uint8_t *to) {
  const uint32_t size = header->type->size, swap = header->type->swap;
  for (uint32_t i = 0; i < size; ++i)
    to[i] = header->swapped ? from[i / swap * swap + swap - 1 - i % swap] : from[i];
}

// Copies elements into row-major order; in Fortran order the first dimension is the fastest.
static void copy_elements(const npy_header *header, int64_t count, const uint8_t *from,
                          uint8_t *to) {
  int64_t index[OPS_MAX_RANK] = {0}, stride[OPS_MAX_RANK] = {0}, source = 0;
  for (int32_t i = 0; i < header->rank; ++i)
    stride[i] = i == 0 ? 1 : stride[i - 1] * header->dims[i - 1];
  for (int64_t n = 0; n < count; ++n) {
    const int64_t at = header->fortran ? source : n;
    copy_element(header, from + at * header->type->size, to + n * header->type->size);
    for (int32_t i = header->rank - 1; i >= 0; --i) {
      source += stride[i];
      if (++index[i] < header->dims[i]) break;
      source -= index[i] * stride[i];
      index[i] = 0;
    }
  }
}

static int32_t copy_data(const npy_header *header, const uint8_t *from, rt_model_tensor *out,
                         ops_error *error) {
  if (out->size == 0) return OPS_OK;
  if (header->fortran || header->swapped)
    copy_elements(header, out->element_count, from, (uint8_t *)out->data);
  else
    memcpy((void *)out->data, from, (size_t)out->size);
  const uint8_t *bytes = out->data;
  for (uint64_t i = 0; out->elem_type == OPS_TYPE_BOOL && i < out->size; ++i)
    if (bytes[i] > 1)
      return ops_error_set_cause(
          error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
          "npy: element %" PRIu64 " of a bool array is %d; expected 0 or 1", i, bytes[i]);
  return OPS_OK;
}

static int32_t fill_tensor(rt_model_arena *arena, const npy_header *header, const uint8_t *data,
                           uint64_t size, rt_model_tensor *out, ops_error *error) {
  uint64_t expected;
  if (!ops_checked_count(header->dims, header->rank, &out->element_count) ||
      !ops_checked_mul((uint64_t)out->element_count, header->type->size, &expected))
    return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
                               "npy: the dimensions multiply to more than 2^63 - 1 elements");
  if (expected != size)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "npy: %" PRIu64 " bytes of data; expected %" PRIu64 " for %" PRId64
        " elements of type %s; the file is cut off or damaged",
        size, expected, out->element_count, rt_model_elem_type_name(header->type->elem_type));
  int64_t *dims = rt_model_arena_calloc(arena, (uint64_t)header->rank, sizeof *dims);
  void *copy = rt_model_arena_alloc(arena, size);
  if (!dims || !copy)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "npy: no memory for %" PRIu64 " bytes",
                         size);
  memcpy(dims, header->dims, (size_t)header->rank * sizeof *dims);
  out->dims = dims;
  out->rank = header->rank;
  out->elem_type = header->type->elem_type;
  out->size = size;
  out->data = size ? copy : NULL;
  return copy_data(header, data, out, error);
}

int32_t rt_npy_decode(rt_model_arena *arena, const void *data, uint64_t size,
                      rt_model_tensor *out, ops_error *error) {
  const uint8_t *bytes = data;
  *out = (rt_model_tensor){0};
  const int wide = size > 6 && bytes[6] > 1;
  const uint64_t begin = wide ? 12 : 10;
  if (size < begin || bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
        "npy: expected format version 1.0, 2.0 or 3.0 and a header; the file is "
        "cut off, or newer than this runtime");
  uint64_t length = (uint64_t)bytes[8] | (uint64_t)bytes[9] << 8;
  if (wide) length |= (uint64_t)bytes[10] << 16 | (uint64_t)bytes[11] << 24;
  if (length > RT_NPY_MAX_HEADER || length > size - begin)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_TENSOR,
                               "npy: header of %" PRIu64
                               " bytes; expected at most %d "
                               "(RT_NPY_MAX_HEADER) and no more than the file has",
                               length, RT_NPY_MAX_HEADER);
  const char *text = (const char *)data + begin;
  cursor in = {text, text + length, error};
  npy_header header = {.type = &kTypes[0]};
  OPS_RETURN_IF_ERROR(parse_header(&in, &header));
  return fill_tensor(arena, &header, bytes + begin + length, size - begin - length, out, error);
}

// --- Writing -------------------------------------------------------------------------------

int32_t rt_npy_header(const rt_model_tensor *tensor, char *out, uint64_t *out_size,
                      ops_error *error) {
  const npy_type *type = NULL;
  for (int i = 0; i < kTypeCount; ++i)
    if (kTypes[i].elem_type == tensor->elem_type) type = &kTypes[i];
  if (!type)
    return ops_error_set_cause(error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_TYPE_UNSUPPORTED,
                               "numpy has no type %s; write a TensorProto (.pb) instead",
                               rt_model_elem_type_name(tensor->elem_type));
  int used = 10 + snprintf(out + 10, RT_NPY_HEADER_ROOM - 10,
                           "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                           type->size == 1 ? '|' : '<', type->kind, type->size);
  for (int32_t i = 0; i < tensor->rank; ++i)
    used += snprintf(out + used, (size_t)(RT_NPY_HEADER_ROOM - used), "%" PRId64 "%s",
                     tensor->dims[i],
                     i + 1 < tensor->rank ? ", "
                     : tensor->rank == 1  ? ","
                                          : "");
  used += snprintf(out + used, (size_t)(RT_NPY_HEADER_ROOM - used), "), }");
  // Spaces and a newline bring the data to a multiple of 64 bytes.
  const int total = (used + 1 + 63) / 64 * 64;
  memset(out + used, ' ', (size_t)(total - used));
  out[total - 1] = '\n';
  memcpy(out, kMagic, sizeof kMagic);
  out[6] = 1;
  out[7] = 0;
  out[8] = (char)((total - 10) & 0xff);
  out[9] = (char)((total - 10) >> 8);
  *out_size = (uint64_t)total;
  return OPS_OK;
}
