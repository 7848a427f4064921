// SPDX-License-Identifier: Apache-2.0
#include "strings.h"

#include <string.h>
#include <utf8proc.h>

int32_t ref_string_get(const ref_run *run, const ref_view *x, int64_t position, ops_str *out) {
  return x->values->string_get(x->value, (uint64_t)position, out, run->error);
}

int32_t ref_string_set(const ref_run *run, const ref_view *y, int64_t position, ops_str text) {
  return y->values->string_set(y->value, (uint64_t)position, text, run->error);
}

// ---- Buffer --------------------------------------------------------------------------------

static int grow(ref_buffer *b, uint64_t more) {
  uint64_t needed, capacity = b->capacity > 0 ? b->capacity : 64;
  if (__builtin_add_overflow(b->size, more, &needed)) return 0;
  if (needed <= b->capacity) return 1;
  while (capacity < needed)
    if (__builtin_mul_overflow(capacity, 2, &capacity)) return 0;
  char *data = b->kernel->api->allocate(b->kernel->host, capacity, 16);
  if (data == NULL) return 0;
  if (b->size > 0) memcpy(data, b->data, b->size);
  b->kernel->api->free(b->kernel->host, b->data);
  b->data = data;
  b->capacity = capacity;
  return 1;
}

int32_t ref_buffer_add(ref_buffer *b, ops_str text, ops_error *error) {
  if (!grow(b, text.size))
    return ref_fail(b->kernel, error, OPS_ERROR_OUT_OF_MEMORY,
                    "no memory for %llu bytes of text", (unsigned long long)text.size);
  if (text.size > 0) memcpy(b->data + b->size, text.data, text.size);
  b->size += text.size;
  return OPS_OK;
}

void ref_buffer_free(ref_buffer *b) {
  b->kernel->api->free(b->kernel->host, b->data);
  b->data = NULL;
  b->size = b->capacity = 0;
}

// ---- Unicode -------------------------------------------------------------------------------

// Unicode's simple mapping has no upper case of sharp s; utf8proc gives it the capital one.
static int32_t to_upper(int32_t point) {
  return point == 0xDF ? point : utf8proc_toupper(point);
}

static int32_t turkic_case(int32_t point, ref_case to) {
  if (to == REF_CASE_UPPER && point == 'i') return 0x130;
  if (to != REF_CASE_UPPER && point == 'I') return 0x131;
  if (to != REF_CASE_UPPER && point == 0x130) return 'i';
  return 0;
}

// The code points that one becomes; at most 4.
static int map_point(int32_t point, ref_case to, int turkic, int32_t *out) {
  int32_t special = turkic ? turkic_case(point, to) : 0;
  int bounds = 0;
  out[0] = special != 0           ? special
           : to == REF_CASE_LOWER ? utf8proc_tolower(point)
           : to == REF_CASE_UPPER ? to_upper(point)
                                  : point;
  if (to != REF_CASE_FOLD || special != 0) return 1;
  utf8proc_ssize_t count = utf8proc_decompose_char(point, out, 4, UTF8PROC_CASEFOLD, &bounds);
  return count >= 0 && count <= 4 ? (int)count : 1;
}

int32_t ref_change_case(ref_buffer *b, ops_str text, ref_case to, int turkic,
                        ops_error *error) {
  if (to == REF_CASE_NONE) return ref_buffer_add(b, text, error);
  for (uint64_t at = 0; at < text.size;) {
    int32_t point, mapped[4];
    utf8proc_ssize_t left = (utf8proc_ssize_t)(text.size - at);
    utf8proc_ssize_t used =
        utf8proc_iterate((const utf8proc_uint8_t *)text.data + at, left, &point);
    if (used <= 0)
      return ref_fail(b->kernel, error, OPS_ERROR_INVALID_ARGUMENT,
                      "byte %llu of a string is no UTF-8", (unsigned long long)at);
    at += (uint64_t)used;
    int count = map_point(point, to, turkic, mapped);
    for (int i = 0; i < count; ++i) {
      utf8proc_uint8_t bytes[4];
      utf8proc_ssize_t size = utf8proc_encode_char(mapped[i], bytes);
      RETURN_IF_ERROR(ref_buffer_add(b, (ops_str){(const char *)bytes, (uint64_t)size}, error));
    }
  }
  return OPS_OK;
}

uint64_t ref_white_space(ops_str text) {
  int32_t point;
  if (text.size == 0) return 0;
  utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)text.data,
                                           (utf8proc_ssize_t)text.size, &point);
  if (used <= 0) return 0;
  const utf8proc_property_t *property = utf8proc_get_property(point);
  int space = property->category == UTF8PROC_CATEGORY_ZS ||
              property->bidi_class == UTF8PROC_BIDI_CLASS_WS ||
              property->bidi_class == UTF8PROC_BIDI_CLASS_B ||
              property->bidi_class == UTF8PROC_BIDI_CLASS_S;
  return space ? (uint64_t)used : 0;
}
