// SPDX-License-Identifier: Apache-2.0
//
// LabelEncoder (1, 2, 4) and CategoryMapper: elements looked up among keys, replaced by the
// value at the same place, or by a default.
//
// Numbers as keys: version 2 compares bits, version 4 values, all NaN alike. Of equal keys the
// last holds.
#include <math.h>

#include "ml_mapping.h"
#include "ml_operators.h"
#include "traverse.h"

typedef struct encoder_state {
  ref_mapping mapping;
  ref_list values;
  ref_list otherwise;  // one entry
  int64_t integer;     // storage of a default
  double real;
  int by_index;  // the element is the place of its value
} encoder_state;

static const ops_str unused = OPS_STR("_Unused");

// The first of the attributes that is there and not empty.
static int32_t read_first(ref_prepare *p, const char *const *names, ref_list *out) {
  for (; *names != NULL; ++names) {
    RETURN_IF_ERROR(ref_list_read(p, *names, out));
    if (out->count > 0) return OPS_OK;
  }
  return OPS_OK;
}

// The schema's default for a type of values: "_Unused", -1 or -0.
static void set_default(encoder_state *s, int32_t type) {
  int64_t one = 1;
  s->otherwise.type = type;
  s->otherwise.count = 1;
  s->otherwise.strings = &unused;
  if (type == OPS_TYPE_STRING) return;
  s->integer = -1;
  s->real = -0.0;
  const ref_element *element = ref_element_of(type);
  static const double minus_zero = -0.0;
  if (element->store_int != NULL)
    element->store_int(&s->integer, 0, 1, 1, &(int64_t){-1});
  else
    element->store(&s->real, 0, 1, 1, &minus_zero);
  ref_view_of(&s->otherwise.numbers,
              element->store_int != NULL ? (void *)&s->integer : (void *)&s->real, type, 1,
              &one);
}

// The default: a tensor, else the attribute for the type, else the schema's.
static int32_t read_default(ref_prepare *p, encoder_state *s) {
  int32_t type = s->values.type;
  RETURN_IF_ERROR(ref_list_read(p, "default_tensor", &s->otherwise));
  if (s->otherwise.count > 0 && s->otherwise.type != type)
    return ref_refuse(p, "attribute default_tensor: expected the type of the values");
  if (s->otherwise.count == 0)
    RETURN_IF_ERROR(ref_list_read(p,
                                  type == OPS_TYPE_STRING  ? "default_string"
                                  : type == OPS_TYPE_INT64 ? "default_int64"
                                  : type == OPS_TYPE_FLOAT ? "default_float"
                                                           : "",
                                  &s->otherwise));
  if (s->otherwise.count == 0) set_default(s, type);
  return OPS_OK;
}

static int32_t finish(ref_prepare *p, encoder_state *s, int32_t key_type, int32_t value_type) {
  if (key_type != p->inputs[0].type)
    return ref_refuse(
        p, "input X: its elements are not of the type of the keys (%s)",
        key_type == OPS_TYPE_UNDEFINED ? "none are given" : ref_element_of(key_type)->name);
  (void)s;
  p->outputs[0].type = value_type;
  return ref_same_shape(p, 0, 0);
}

static int32_t prepare_encoder(ref_prepare *p) {
  static const char *const key_names[] = {"keys_tensor", "keys_strings", "keys_int64s",
                                          "keys_floats", NULL};
  static const char *const value_names[] = {"values_tensor", "values_strings", "values_int64s",
                                            "values_floats", NULL};
  encoder_state *s = p->state;
  ref_list keys;
  RETURN_IF_ERROR(read_first(p, key_names, &keys));
  RETURN_IF_ERROR(read_first(p, value_names, &s->values));
  if (keys.count != s->values.count || keys.count == 0)
    return ref_refuse(p, "expected as many keys as values, 1 or more, found %lld and %lld",
                      (long long)keys.count, (long long)s->values.count);
  RETURN_IF_ERROR(ref_mapping_build(p, &keys, p->kernel->opset < 4, &s->mapping));
  RETURN_IF_ERROR(read_default(p, s));
  return finish(p, s, keys.type, s->values.type);
}

static int32_t prepare_mapper(ref_prepare *p) {
  encoder_state *s = p->state;
  int to_text = p->inputs[0].type == OPS_TYPE_INT64;
  ref_list keys;
  RETURN_IF_ERROR(ref_list_read(p, to_text ? "cats_int64s" : "cats_strings", &keys));
  RETURN_IF_ERROR(ref_list_read(p, to_text ? "cats_strings" : "cats_int64s", &s->values));
  if (keys.count != s->values.count)
    return ref_refuse(p, "attributes cats_int64s and cats_strings: expected one length");
  keys.type = p->inputs[0].type;
  s->values.type = to_text ? OPS_TYPE_STRING : OPS_TYPE_INT64;
  RETURN_IF_ERROR(ref_mapping_build(p, &keys, 0, &s->mapping));
  RETURN_IF_ERROR(read_default(p, s));
  return finish(p, s, keys.type, s->values.type);
}

// Version 1: strings of one list and their places in it.
static int32_t prepare_indexer(ref_prepare *p) {
  encoder_state *s = p->state;
  int to_text = p->inputs[0].type == OPS_TYPE_INT64;
  ref_list classes;
  RETURN_IF_ERROR(ref_list_read(p, "classes_strings", &classes));
  s->by_index = 1;
  s->values = classes;
  s->values.type = to_text ? OPS_TYPE_STRING : OPS_TYPE_INT64;
  if (!to_text) RETURN_IF_ERROR(ref_mapping_build(p, &classes, 0, &s->mapping));
  RETURN_IF_ERROR(read_default(p, s));
  return finish(p, s, p->inputs[0].type, s->values.type);
}

static int32_t replace(const ref_run *run, int64_t from, int64_t to) {
  const encoder_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t found;
  if (s->by_index && x->type == OPS_TYPE_INT64) {
    found = ref_int_at(x, from);
    if (found < 0 || found >= s->values.count) found = -1;
  } else {
    RETURN_IF_ERROR(ref_mapping_find(&s->mapping, x, from, &found, run->error));
  }
  if (found < 0) return ref_list_write(&s->otherwise, 0, y, to, run->error);
  if (s->by_index && y->type == OPS_TYPE_INT64) {
    ref_store_int(y, to, 1, 1, &found);
    return OPS_OK;
  }
  return ref_list_write(&s->values, found, y, to, run->error);
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t index[OPS_MAX_RANK] = {0};
  if (x->count == 0) return OPS_OK;
  do
    RETURN_IF_ERROR(
        replace(run, ref_dot(index, x->strides, x->rank), ref_dot(index, y->strides, y->rank)));
  while (ref_count_up(index, x->dims, x->rank));
  return OPS_OK;
}

const ref_op ref_label_indexer = {sizeof(encoder_state), prepare_indexer, execute, NULL, NULL};
const ref_op ref_label_encoder = {sizeof(encoder_state), prepare_encoder, execute, NULL, NULL};
const ref_op ref_category_mapper = {sizeof(encoder_state), prepare_mapper, execute, NULL, NULL};
