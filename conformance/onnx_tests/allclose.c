// SPDX-License-Identifier: Apache-2.0
//
// Tensors are compared element by element in double; what lies in other values is reached
// through the runtime's accessors and compared in the same way.
#include "onnx_tests/allclose.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cases/element.h"
#include "compare/number.h"

#define NOTHING 0  // kind of an empty optional's item

typedef struct number {
  double re, im;
} number;

static bool differ(oc_difference *difference, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool differ(oc_difference *difference, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(difference->message, sizeof difference->message, format, args);
  va_end(args);
  return false;
}

// ---- Types and shapes -----------------------------------------------------------------------

static const char *kind_name(int32_t kind) {
  static const char *const names[] = {[NOTHING] = "nothing",
                                      [OPS_VALUE_TENSOR] = "tensor",
                                      [OPS_VALUE_STRINGS] = "strings",
                                      [OPS_VALUE_SEQUENCE] = "sequence",
                                      [OPS_VALUE_OPTIONAL] = "optional",
                                      [OPS_VALUE_MAP] = "map",
                                      [OPS_VALUE_SPARSE] = "sparse tensor"};
  return kind >= 0 && kind <= OPS_VALUE_SPARSE ? names[kind] : "unknown";
}

static bool is_tensor(const opsrt_value *value) {
  return value->kind == OPS_VALUE_TENSOR || value->kind == OPS_VALUE_STRINGS;
}

int64_t oc_allclose_count(const opsrt_value *value) {
  int64_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i) {
    if (value->dims[i] < 0 || __builtin_mul_overflow(count, value->dims[i], &count)) return -1;
  }
  return count;
}

const char *oc_allclose_describe(const opsrt_value *value, char *text, size_t size) {
  if (!is_tensor(value)) {
    snprintf(text, size, "%s", kind_name(value->kind));
    return text;
  }
  const bool strings = value->kind == OPS_VALUE_STRINGS;
  size_t used =
      (size_t)snprintf(text, size, "%s[", strings ? "string" : oc_element_name(value->type));
  for (int32_t i = 0; i < value->rank && used < size; ++i) {
    used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "",
                             (long long)value->dims[i]);
  }
  if (used < size) snprintf(text + used, size - used, "]");
  return text;
}

static bool same_form(const opsrt_value *expected, const opsrt_value *got,
                      oc_difference *difference) {
  const bool tensors = is_tensor(expected) && is_tensor(got);
  bool same = expected->kind == got->kind;
  if (tensors) {
    same = same && expected->rank == got->rank &&
           (expected->kind == OPS_VALUE_STRINGS || expected->type == got->type);
    for (int32_t i = 0; same && i < expected->rank; ++i) {
      same = expected->dims[i] == got->dims[i];
    }
  }
  if (same) return true;
  difference->element = -1;
  oc_allclose_describe(expected, difference->expected, sizeof difference->expected);
  oc_allclose_describe(got, difference->got, sizeof difference->got);
  return differ(difference, "expected %s, found %s", difference->expected, difference->got);
}

// ---- Numbers --------------------------------------------------------------------------------

static bool is_complex(int32_t type) {
  return type == OPS_TYPE_COMPLEX64 || type == OPS_TYPE_COMPLEX128;
}

static number load(int32_t type, const void *data, size_t index) {
  if (!is_complex(type)) return (number){oc_number_get(type, data, index), 0};
  const int32_t part = type == OPS_TYPE_COMPLEX64 ? OPS_TYPE_FLOAT : OPS_TYPE_DOUBLE;
  return (number){oc_number_get(part, data, 2 * index),
                  oc_number_get(part, data, 2 * index + 1)};
}

static bool is_nan(number x) {
  return isnan(x.re) || isnan(x.im);
}

// The error in units of the limit: at most 1 is close.
static double error_of(number expected, number got, oc_closeness tolerance) {
  if (is_nan(expected) || is_nan(got)) {
    return is_nan(expected) && is_nan(got) ? 0 : (double)INFINITY;
  }
  if (expected.re == got.re && expected.im == got.im) return 0;
  if (!isfinite(expected.re) || !isfinite(expected.im)) return (double)INFINITY;
  const double distance = hypot(got.re - expected.re, got.im - expected.im);
  const double limit = tolerance.atol + tolerance.rtol * hypot(expected.re, expected.im);
  return limit > 0 ? distance / limit : (double)INFINITY;
}

static void put_element(const opsrt_value *value, size_t index, char *text, size_t size) {
  if (is_complex(value->type)) {
    const number x = load(value->type, value->data, index);
    snprintf(text, size, "%.9g%+.9gi", x.re, x.im);
  } else {
    oc_number_text(value->type, value->data, index, text, size);
  }
}

static uint64_t bytes_of(int32_t type, int64_t count) {
  const size_t part = (size_t)count;
  if (type == OPS_TYPE_COMPLEX64) return 8 * part;
  if (type == OPS_TYPE_COMPLEX128) return 16 * part;
  return oc_number_bytes(type, part);
}

static bool has_data(const opsrt_value *value, int64_t count) {
  const bool known = is_complex(value->type) || oc_number_bits(value->type) > 0;
  return known && (count == 0 || (value->data && value->size >= bytes_of(value->type, count)));
}

static bool close_numbers(const opsrt_value *expected, const opsrt_value *got,
                          oc_closeness tolerance, oc_difference *difference) {
  const int64_t count = oc_allclose_count(expected);
  if (count < 0 || !has_data(expected, count) || !has_data(got, count)) {
    return differ(difference, "a tensor has less data than its type and shape need");
  }
  if (expected->type == OPS_TYPE_BFLOAT16) {
    tolerance.rtol = fmax(tolerance.rtol, OC_ALLCLOSE_BFLOAT16_RTOL);
  }
  uint64_t wrong = 0;
  double worst = -1;
  size_t at = 0;
  for (size_t i = 0; i < (size_t)count; ++i) {
    const double error = error_of(load(expected->type, expected->data, i),
                                  load(got->type, got->data, i), tolerance);
    wrong += error > 1;
    if (error <= worst) continue;
    worst = error;
    at = i;
  }
  if (count > 0 && (!difference->measured || worst > difference->error)) {
    difference->measured = true;
    difference->error = worst;
    difference->element = (int64_t)at;
    put_element(expected, at, difference->expected, sizeof difference->expected);
    put_element(got, at, difference->got, sizeof difference->got);
  }
  if (wrong == 0) return true;
  difference->wrong = wrong;
  difference->count = (uint64_t)count;
  return differ(difference, "%llu of %lld elements differ by more than %g + %g |expected|",
                (unsigned long long)wrong, (long long)count, tolerance.atol, tolerance.rtol);
}

// ---- Strings --------------------------------------------------------------------------------

static bool get_string(const opsrt_value *value, int64_t index, ops_str *out_text) {
  if (value->strings) {
    *out_text = value->strings[index];
    return true;
  }
  const ops_value_api *api = opsrt_value_api();
  return value->value &&
         api->string_get(value->value, (uint64_t)index, out_text, NULL) == OPS_OK;
}

static bool same_strings(const opsrt_value *expected, const opsrt_value *got,
                         oc_difference *difference) {
  const int64_t count = oc_allclose_count(expected);
  if (count < 0) return differ(difference, "a tensor has too many elements");
  for (int64_t i = 0; i < count; ++i) {
    ops_str a, b;
    if (!get_string(expected, i, &a) || !get_string(got, i, &b)) {
      return differ(difference, "string %lld cannot be read", (long long)i);
    }
    if (a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0)) continue;
    difference->element = i;
    snprintf(difference->expected, sizeof difference->expected, "\"%.*s\"",
             (int)(a.size > 70 ? 70 : a.size), a.data ? a.data : "");
    snprintf(difference->got, sizeof difference->got, "\"%.*s\"",
             (int)(b.size > 70 ? 70 : b.size), b.data ? b.data : "");
    return differ(difference, "string %lld of %lld differs", (long long)i, (long long)count);
  }
  return true;
}

// ---- Values in values -----------------------------------------------------------------------

static bool is_dense(const ops_tensor *tensor) {
  int64_t stride = 1;
  if (tensor->layout != OPS_LAYOUT_STRIDED || tensor->bit_offset) return false;
  for (int32_t i = tensor->rank; i-- > 0;) {
    if (tensor->dims[i] != 1 && tensor->strides && tensor->strides[i] != stride) return false;
    if (__builtin_mul_overflow(stride, tensor->dims[i], &stride)) return false;
  }
  return true;
}

static bool view_object(ops_value *object, opsrt_value *out_view) {
  const ops_value_api *api = opsrt_value_api();
  out_view->kind = api->kind(object);
  out_view->value = object;
  if (out_view->kind != OPS_VALUE_STRINGS) return true;
  out_view->type = OPS_TYPE_STRING;
  return api->strings_shape(object, &out_view->rank, &out_view->dims, NULL) == OPS_OK;
}

// An item of a value in the form in which outputs come.
static bool view_item(const ops_arg *item, opsrt_value *out_view) {
  *out_view = (opsrt_value){.kind = NOTHING};
  if (item->kind == OPS_ARG_ABSENT) return true;
  if (item->kind == OPS_ARG_VALUE) return view_object(item->value, out_view);
  const ops_tensor *tensor = &item->tensor;
  out_view->kind = OPS_VALUE_TENSOR;
  out_view->type = tensor->type;
  out_view->rank = tensor->rank;
  out_view->dims = tensor->dims;
  out_view->data = tensor->memory ? (const char *)tensor->memory + tensor->byte_offset : NULL;
  out_view->size = tensor->byte_size;
  return is_dense(tensor);
}

static bool compare(const opsrt_value *expected, const opsrt_value *got, oc_closeness tolerance,
                    oc_difference *difference, int depth);

static bool compare_items(const ops_arg *expected, const ops_arg *got, oc_closeness tolerance,
                          oc_difference *difference, int depth) {
  opsrt_value a, b;
  if (!view_item(expected, &a) || !view_item(got, &b)) {
    return differ(difference, "an item cannot be read");
  }
  return compare(&a, &b, tolerance, difference, depth + 1);
}

// Puts "item 3: " in front of the message.
static bool name_item(oc_difference *difference, uint64_t index) {
  char text[sizeof difference->message];
  snprintf(text, sizeof text, "%s", difference->message);
  return differ(difference, "item %llu: %.200s", (unsigned long long)index, text);
}

typedef int32_t (*size_fn)(const ops_value *value, uint64_t *out_size, ops_error *error);

static bool same_size(size_fn size, const opsrt_value *expected, const opsrt_value *got,
                      uint64_t *out_size, oc_difference *difference) {
  uint64_t found = 0;
  if (size(expected->value, out_size, NULL) != OPS_OK ||
      size(got->value, &found, NULL) != OPS_OK) {
    return differ(difference, "the number of items cannot be read");
  }
  if (found == *out_size) return true;
  return differ(difference, "expected %llu items, found %llu", (unsigned long long)*out_size,
                (unsigned long long)found);
}

static bool compare_sequences(const opsrt_value *expected, const opsrt_value *got,
                              oc_closeness tolerance, oc_difference *difference, int depth) {
  const ops_value_api *api = opsrt_value_api();
  uint64_t size = 0;
  if (!same_size(api->sequence_size, expected, got, &size, difference)) return false;
  for (uint64_t i = 0; i < size; ++i) {
    ops_arg a, b;
    if (api->sequence_get(expected->value, i, &a, NULL) != OPS_OK ||
        api->sequence_get(got->value, i, &b, NULL) != OPS_OK) {
      return differ(difference, "item %llu cannot be read", (unsigned long long)i);
    }
    if (!compare_items(&a, &b, tolerance, difference, depth)) return name_item(difference, i);
  }
  return true;
}

static bool compare_optionals(const opsrt_value *expected, const opsrt_value *got,
                              oc_closeness tolerance, oc_difference *difference, int depth) {
  const ops_value_api *api = opsrt_value_api();
  ops_arg a, b;
  if (api->optional_get(expected->value, &a, NULL) != OPS_OK ||
      api->optional_get(got->value, &b, NULL) != OPS_OK) {
    return differ(difference, "an optional cannot be read");
  }
  return compare_items(&a, &b, tolerance, difference, depth);
}

// Entries are a set: each expected key is looked for among those found.
static bool compare_maps(const opsrt_value *expected, const opsrt_value *got,
                         oc_closeness tolerance, oc_difference *difference, int depth) {
  const ops_value_api *api = opsrt_value_api();
  const oc_closeness exact = {0, 0};
  uint64_t size = 0;
  if (!same_size(api->map_size, expected, got, &size, difference)) return false;
  for (uint64_t i = 0; i < size; ++i) {
    ops_arg key, item, other_key, other;
    if (api->map_get(expected->value, i, &key, &item, NULL) != OPS_OK) {
      return differ(difference, "entry %llu cannot be read", (unsigned long long)i);
    }
    bool found = false;
    for (uint64_t k = 0; k < size && !found; ++k) {
      oc_difference ignored = {0};
      found = api->map_get(got->value, k, &other_key, &other, NULL) == OPS_OK &&
              compare_items(&key, &other_key, exact, &ignored, depth);
    }
    if (!found) {
      return differ(difference, "key %llu of the expected map is missing",
                    (unsigned long long)i);
    }
    if (!compare_items(&item, &other, tolerance, difference, depth)) {
      return name_item(difference, i);
    }
  }
  return true;
}

static bool compare(const opsrt_value *expected, const opsrt_value *got, oc_closeness tolerance,
                    oc_difference *difference, int depth) {
  if (depth > OC_ALLCLOSE_MAX_DEPTH) return differ(difference, "values nest too deeply");
  if (!same_form(expected, got, difference)) return false;
  switch (expected->kind) {
    case NOTHING:
      return true;
    case OPS_VALUE_TENSOR:
      return close_numbers(expected, got, tolerance, difference);
    case OPS_VALUE_STRINGS:
      return same_strings(expected, got, difference);
    case OPS_VALUE_SEQUENCE:
      return compare_sequences(expected, got, tolerance, difference, depth);
    case OPS_VALUE_OPTIONAL:
      return compare_optionals(expected, got, tolerance, difference, depth);
    case OPS_VALUE_MAP:
      return compare_maps(expected, got, tolerance, difference, depth);
    default:
      return differ(difference, "a %s cannot be compared", kind_name(expected->kind));
  }
}

bool oc_allclose(const opsrt_value *expected, const opsrt_value *got, oc_closeness tolerance,
                 oc_difference *difference) {
  return compare(expected, got, tolerance, difference, 0);
}

void oc_allclose_describe_all(const opsrt_value *values, size_t count, char *text,
                              size_t size) {
  char one[128];
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < count && used < size; ++i) {
    oc_allclose_describe(&values[i], one, sizeof one);
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", one);
  }
}
