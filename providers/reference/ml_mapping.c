// SPDX-License-Identifier: Apache-2.0
#include "ml_mapping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Lists ---------------------------------------------------------------------------------

static int32_t read_strings(ref_prepare *p, const char *name, const ref_view *from,
                            ref_list *out) {
  void *memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)from->count, sizeof(ops_str), &memory));
  ops_str *texts = memory;
  for (int64_t i = 0; i < from->count; ++i)
    RETURN_IF_ERROR(from->values->string_get(from->value, (uint64_t)i, &texts[i], p->error));
  (void)name;
  out->strings = texts;
  return OPS_OK;
}

int32_t ref_list_read(ref_prepare *p, const char *name, ref_list *out) {
  const ref_attribute *a = ref_attr(p->kernel, name);
  memset(out, 0, sizeof *out);
  if (a == NULL) return OPS_OK;
  out->count = a->count;
  if (a->kind == OPS_ATTRIBUTE_TENSOR) {
    if (ref_attr_tensor(p->kernel, a, &out->numbers) != OPS_OK || out->numbers.rank > 1)
      return ref_refuse(p, "attribute %s: expected a tensor of rank at most 1", name);
    out->type = out->numbers.type;
    out->count = out->numbers.count;
    return out->type == OPS_TYPE_STRING ? read_strings(p, name, &out->numbers, out) : OPS_OK;
  }
  out->strings = a->strings;
  out->type = a->strings != NULL ? OPS_TYPE_STRING
              : a->ints != NULL  ? OPS_TYPE_INT64
                                 : OPS_TYPE_FLOAT;
  const void *numbers = a->ints != NULL ? (const void *)a->ints : (const void *)a->floats;
  if (a->strings == NULL)
    ref_view_of(&out->numbers, (void *)numbers, out->type, 1, &out->count);
  return OPS_OK;
}

static int64_t place_of(const ref_list *list, int64_t which) {
  return list->numbers.rank == 1 ? which * list->numbers.strides[0] : 0;
}

int32_t ref_list_write(const ref_list *list, int64_t which, const ref_view *y, int64_t at,
                       ops_error *error) {
  if (list->type == OPS_TYPE_STRING)
    return y->values->string_set(y->value, (uint64_t)at, list->strings[which], error);
  return ref_move(y, at, 1, &list->numbers, place_of(list, which), 1, 1, error);
}

// ---- Mapping -------------------------------------------------------------------------------

static uint64_t bits_of(const ref_view *x, int64_t at, int bitwise) {
  uint64_t bits = 0;
  if (ref_is_integer(x)) return (uint64_t)ref_int_at(x, at);
  if (bitwise) {
    ref_move_bits(x->element->bits, &bits, 0, 1, x->data, x->origin + at, 1, 1);
    return bits;
  }
  double value = ref_at(x, at);
  if (isnan(value)) return UINT64_MAX;
  value += 0.0;  // -0 becomes 0
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static int compare_values(const ref_key *a, const ref_key *b) {
  if (a->bits != b->bits) return a->bits < b->bits ? -1 : 1;
  if (a->text.size != b->text.size) return a->text.size < b->text.size ? -1 : 1;
  return a->text.size == 0 ? 0 : memcmp(a->text.data, b->text.data, a->text.size);
}

static int compare_keys(const void *left, const void *right) {
  const ref_key *a = left, *b = right;
  int order = compare_values(a, b);
  return order != 0 ? order : a->index < b->index ? -1 : a->index > b->index;
}

int32_t ref_mapping_build(ref_prepare *p, const ref_list *keys, int bitwise, ref_mapping *out) {
  void *memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)keys->count, sizeof *out->keys, &memory));
  *out = (ref_mapping){memory, keys->count, keys->type, bitwise};
  for (int64_t i = 0; i < keys->count; ++i) {
    out->keys[i].index = i;
    if (keys->type == OPS_TYPE_STRING)
      out->keys[i].text = keys->strings[i];
    else
      out->keys[i].bits = bits_of(&keys->numbers, place_of(keys, i), bitwise);
  }
  if (out->count > 0) qsort(out->keys, (size_t)out->count, sizeof *out->keys, compare_keys);
  return OPS_OK;
}

static int64_t find(const ref_mapping *m, const ref_key *key) {
  int64_t low = 0, high = m->count;  // the first that is greater lies in [low, high]
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (compare_values(&m->keys[middle], key) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && compare_values(&m->keys[low - 1], key) == 0 ? m->keys[low - 1].index : -1;
}

int64_t ref_mapping_find_text(const ref_mapping *m, ops_str text) {
  return find(m, &(ref_key){.text = text});
}

int64_t ref_mapping_find_int(const ref_mapping *m, int64_t number) {
  return find(m, &(ref_key){.bits = (uint64_t)number});
}

int32_t ref_mapping_find(const ref_mapping *m, const ref_view *x, int64_t at,
                         int64_t *out_index, ops_error *error) {
  ref_key key = {.bits = 0};
  if (x->type == OPS_TYPE_STRING)
    RETURN_IF_ERROR(x->values->string_get(x->value, (uint64_t)at, &key.text, error));
  else
    key.bits = bits_of(x, at, m->bitwise);
  *out_index = find(m, &key);
  return OPS_OK;
}
