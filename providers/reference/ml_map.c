// SPDX-License-Identifier: Apache-2.0
//
// Operators on maps: CastMap, DictVectorizer, ZipMap. Maps arrive as host values; their entries
// are keys and items of rank 0.
#include <stdlib.h>

#include "ml.h"
#include "ml_mapping.h"
#include "ml_operators.h"
#include "text.h"

// ---- Entries -------------------------------------------------------------------------------

typedef struct entry {
  ref_view key, item;
} entry;

static int32_t get_entry(const ref_run *run, uint64_t index, entry *out) {
  const ref_view *map = &run->inputs[0];
  ops_arg key, item;
  RETURN_IF_ERROR(map->values->map_get(map->value, index, &key, &item, run->error));
  if (ref_view_init(&out->key, &key, map->values) != OPS_OK ||
      ref_view_init(&out->item, &item, map->values) != OPS_OK || out->key.element == NULL ||
      out->item.element == NULL || out->key.count != 1 || out->item.count != 1)
    return ref_refuse(run, "input X: entry %llu of the map is not a scalar under a scalar",
                      (unsigned long long)index);
  return OPS_OK;
}

static int32_t map_size(const ref_run *run, uint64_t *out) {
  const ref_view *map = &run->inputs[0];
  if (map->value == NULL || map->values->kind(map->value) != OPS_VALUE_MAP)
    return ref_refuse(run, "input X: expected a map");
  return map->values->map_size(map->value, out, run->error);
}

// Type information of a map: its keys and items.
static const ops_type_info *map_type(const ref_prepare *p) {
  const ops_operand *operand = p->request->inputs;
  return operand->type != NULL && operand->type->kind == OPS_VALUE_MAP ? operand->type : NULL;
}

// ---- CastMap: items in ascending order of their keys ---------------------------------------

typedef struct cast_state {
  int32_t sparse;
  int64_t length;  // if sparse
} cast_state;

static int32_t prepare_cast_map(ref_prepare *p) {
  static const struct {
    const char *name;
    int32_t type;
  } targets[] = {{"TO_FLOAT", OPS_TYPE_FLOAT},
                 {"TO_STRING", OPS_TYPE_STRING},
                 {"TO_INT64", OPS_TYPE_INT64}};
  cast_state *s = p->state;
  p->outputs[0].type = OPS_TYPE_UNDEFINED;
  for (int i = 0; i < 3; ++i)
    if (ref_attr_is(p->kernel, "cast_to", targets[i].name, "TO_FLOAT"))
      p->outputs[0].type = targets[i].type;
  if (p->outputs[0].type == OPS_TYPE_UNDEFINED)
    return ref_refuse(p, "attribute cast_to: expected TO_FLOAT, TO_STRING or TO_INT64");
  s->sparse = ref_attr_is(p->kernel, "map_form", "SPARSE", "DENSE");
  s->length = ref_attr_int(p->kernel, "max_map", 1);
  if (!s->sparse && !ref_attr_is(p->kernel, "map_form", "DENSE", "DENSE"))
    return ref_refuse(p, "attribute map_form: expected DENSE or SPARSE");
  if (s->sparse && s->length < 0) return ref_refuse(p, "attribute max_map: expected 0 or more");
  p->outputs[0].by_execute = !s->sparse;
  p->outputs[0].rank = 2;
  return s->sparse ? ref_set_shape(p, 0, 2, (int64_t[]){1, s->length}) : OPS_OK;
}

// An entry by its key.
typedef struct place {
  int64_t key;
  uint64_t index;
} place;

static int compare_places(const void *left, const void *right) {
  int64_t a = ((const place *)left)->key, b = ((const place *)right)->key;
  return a < b ? -1 : a > b;
}

// Fills `places` in ascending order of the keys.
static int32_t sort_entries(const ref_run *run, uint64_t size, place *places) {
  entry e;
  for (uint64_t i = 0; i < size; ++i) {
    RETURN_IF_ERROR(get_entry(run, i, &e));
    if (e.key.type != OPS_TYPE_INT64) return ref_refuse(run, "input X: expected int64 keys");
    places[i] = (place){ref_int_at(&e.key, 0), i};
  }
  if (size > 0) qsort(places, size, sizeof *places, compare_places);
  return OPS_OK;
}

static int32_t write_cast(const ref_run *run, const ref_view *item, const ref_view *y,
                          int64_t at) {
  if (item->type == OPS_TYPE_STRING && y->type == OPS_TYPE_STRING)
    return ref_move(y, at, 1, item, 0, 1, 1, run->error);
  if (item->type == OPS_TYPE_STRING) {
    ops_str text;
    RETURN_IF_ERROR(item->values->string_get(item->value, 0, &text, run->error));
    if (ref_text_store(text, y, at)) return OPS_OK;
    return ref_refuse(run, "input X: '%.*s' is no number",
                      (int)(text.size < 64 ? text.size : 64), text.data);
  }
  if (y->type == OPS_TYPE_STRING) {
    char buffer[REF_TEXT_SIZE];
    return y->values->string_set(y->value, (uint64_t)at, ref_text_of(item, 0, buffer),
                                 run->error);
  }
  double value = ref_at(item, 0);
  ref_store(y, at, 1, 1, &value);
  return OPS_OK;
}

static int32_t clear(const ref_run *run, const ref_view *y) {
  for (int64_t i = 0; i < y->count; ++i) {
    const double zero = 0;
    if (y->type == OPS_TYPE_STRING)
      RETURN_IF_ERROR(
          y->values->string_set(y->value, (uint64_t)i, (ops_str){NULL, 0}, run->error));
    else
      ref_store(y, i * y->strides[y->rank - 1], 1, 1, &zero);
  }
  return OPS_OK;
}

static int32_t write_entries(ref_run *run, uint64_t size, place *places) {
  const cast_state *s = run->state;
  entry e;
  RETURN_IF_ERROR(sort_entries(run, size, places));
  if (!s->sparse) RETURN_IF_ERROR(ref_set_output(run, 0, 2, (int64_t[]){1, (int64_t)size}));
  const ref_view *y = &run->outputs[0];
  RETURN_IF_ERROR(clear(run, y));
  for (uint64_t i = 0; i < size; ++i) {
    int64_t column = s->sparse ? places[i].key : (int64_t)i;
    if (column < 0 || column >= y->dims[1])
      return ref_refuse(run, "input X: key %lld is outside [0, %lld) of attribute max_map",
                        (long long)column, (long long)y->dims[1]);
    RETURN_IF_ERROR(get_entry(run, places[i].index, &e));
    RETURN_IF_ERROR(write_cast(run, &e.item, y, column * y->strides[1]));
  }
  return OPS_OK;
}

// The number of entries is known here and not before, so that their order needs memory now.
static int32_t execute_cast_map(ref_run *run) {
  const ops_kernel *kernel = run->kernel;
  uint64_t size, bytes;
  RETURN_IF_ERROR(map_size(run, &size));
  place *places = NULL;
  if (!__builtin_mul_overflow(size + 1, sizeof *places, &bytes))
    places = kernel->api->allocate(kernel->host, bytes, 16);
  if (places == NULL)
    return ref_fail(kernel, run->error, OPS_ERROR_OUT_OF_MEMORY,
                    "no memory for the order of %llu entries", (unsigned long long)size);
  int32_t status = write_entries(run, size, places);
  kernel->api->free(kernel->host, places);
  return status;
}

const ref_op ref_cast_map = {sizeof(cast_state), prepare_cast_map, execute_cast_map, NULL,
                             NULL};

// ---- DictVectorizer ------------------------------------------------------------------------

typedef struct dict_state {
  ref_mapping mapping;
} dict_state;

static int32_t prepare_dict(ref_prepare *p) {
  dict_state *s = p->state;
  const ops_type_info *map = map_type(p);
  ref_list words;
  if (map == NULL || map->element == NULL)
    return ref_refuse(p, "input X: expected a map with known types");
  const char *name = map->type == OPS_TYPE_STRING ? "string_vocabulary" : "int64_vocabulary";
  RETURN_IF_ERROR(ref_list_read(p, name, &words));
  if (words.count == 0)
    return ref_refuse(p, "attribute %s: expected the vocabulary for the keys of the map", name);
  RETURN_IF_ERROR(ref_mapping_build(p, &words, 0, &s->mapping));
  p->outputs[0].type =
      map->element->kind == OPS_VALUE_STRINGS ? OPS_TYPE_STRING : map->element->type;
  return ref_set_shape(p, 0, 1, &words.count);
}

static int32_t execute_dict(ref_run *run) {
  const dict_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  uint64_t size;
  int64_t column;
  entry e;
  RETURN_IF_ERROR(map_size(run, &size));
  RETURN_IF_ERROR(clear(run, y));
  for (uint64_t i = 0; i < size; ++i) {
    RETURN_IF_ERROR(get_entry(run, i, &e));
    if (e.key.type != s->mapping.type || e.item.type != y->type)
      return ref_refuse(run, "input X: entry %llu has other types than the map",
                        (unsigned long long)i);
    RETURN_IF_ERROR(ref_mapping_find(&s->mapping, &e.key, 0, &column, run->error));
    if (column < 0)
      return ref_refuse(run, "input X: the key of entry %llu is not in the vocabulary",
                        (unsigned long long)i);
    RETURN_IF_ERROR(ref_move(y, column * y->strides[0], 1, &e.item, 0, 1, 1, run->error));
  }
  return OPS_OK;
}

const ref_op ref_dict_vectorizer = {sizeof(dict_state), prepare_dict, execute_dict, NULL, NULL};

// ---- ZipMap: a sequence of maps, one for each row ------------------------------------------

typedef struct zip_state {
  const ops_str *strings;
  const int64_t *ints;
} zip_state;

static int32_t prepare_zip(ref_prepare *p) {
  zip_state *s = p->state;
  int64_t int_count, string_count, rows, columns;
  RETURN_IF_ERROR(ref_ml_batch(p, &rows, &columns));
  s->ints = ref_attr_ints(p->kernel, "classlabels_int64s", &int_count);
  s->strings = ref_attr_strings(p->kernel, "classlabels_strings", &string_count);
  if ((int_count > 0) == (string_count > 0) || int_count + string_count != columns)
    return ref_refuse(p,
                      "expected attribute classlabels_strings or classlabels_int64s with "
                      "%lld entries, found %lld and %lld",
                      (long long)columns, (long long)string_count, (long long)int_count);
  if (string_count == 0) s->strings = NULL;
  p->outputs[0].type = OPS_TYPE_UNDEFINED;
  return ref_set_shape(p, 0, 0, NULL);
}

static int32_t set_entry(const ref_run *run, ops_value *map, ops_value *key_text,
                         int64_t column, float value) {
  const zip_state *s = run->state;
  const ops_value_api *values = run->kernel->api->values;
  ops_arg key = {.kind = OPS_ARG_VALUE, .value = key_text}, item;
  int64_t number = s->strings == NULL ? s->ints[column] : 0;
  ops_tensor scalar = {.memory = &value, .byte_size = sizeof value, .type = OPS_TYPE_FLOAT};
  item = (ops_arg){.kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_HOST, .tensor = scalar};
  if (s->strings != NULL) {
    RETURN_IF_ERROR(values->string_set(key_text, 0, s->strings[column], run->error));
  } else {
    key = item;
    key.tensor.memory = &number;
    key.tensor.byte_size = sizeof number;
    key.tensor.type = OPS_TYPE_INT64;
  }
  return values->map_set(map, &key, &item, run->error);
}

static int32_t add_row(const ref_run *run, ops_value *map, ops_value *key_text, int64_t row) {
  const ref_view *x = &run->inputs[0];
  for (int64_t c = 0; c < x->dims[x->rank - 1]; ++c) {
    float value = (float)ref_at(
        x, (x->rank == 2 ? row * x->strides[0] : 0) + c * x->strides[x->rank - 1]);
    RETURN_IF_ERROR(set_entry(run, map, key_text, c, value));
  }
  return run->kernel->api->values->sequence_insert(
      run->outputs[0].value, (uint64_t)row, &(ops_arg){.kind = OPS_ARG_VALUE, .value = map},
      run->error);
}

static int32_t execute_zip(ref_run *run) {
  const ops_value_api *values = run->kernel->api->values;
  ops_value *map = NULL, *key_text = NULL;
  int64_t rows = ref_ml_row_count(&run->inputs[0]);
  int32_t status = OPS_OK;
  if (run->outputs[0].value == NULL ||
      values->kind(run->outputs[0].value) != OPS_VALUE_SEQUENCE)
    return ref_refuse(run, "output Z: expected a sequence to fill");
  for (int64_t n = 0; n < rows && status == OPS_OK; ++n) {
    status = values->create(OPS_VALUE_MAP, &map, run->error);
    if (status == OPS_OK && key_text == NULL)
      status = values->create(OPS_VALUE_STRINGS, &key_text, run->error);
    if (status == OPS_OK) status = add_row(run, map, key_text, n);
    values->release(map);
    map = NULL;
  }
  values->release(key_text);
  return status;
}

const ref_op ref_zip_map = {sizeof(zip_state), prepare_zip, execute_zip, NULL, NULL};
