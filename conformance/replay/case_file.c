// SPDX-License-Identifier: Apache-2.0
//
// Writing and reading share one walk over the fields: a `stream` either appends what a field
// holds or fills it, so the two cannot differ. Sizes are checked before anything is allocated,
// and nothing larger than the file itself is.
#include "replay/case_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/random.h"
#include "ops_support/checked.h"
#include "ops_support/error.h"

static const unsigned char kMagic[8] = {'o', 'p', 's', 'c', 'a', 's', 'e', 1};

#define MOST_PARTS 4096  // allocations of one case

typedef struct oc_baked_storage {
  void *parts[MOST_PARTS];
  size_t count;
  oc_contract contract;
  oc_row row;
  oc_param inputs[OC_CONTRACT_MAX_PARAMS + OC_CASE_MAX_TENSORS];
  oc_param outputs[OC_CONTRACT_MAX_PARAMS];
  oc_attribute attributes[OC_CONTRACT_MAX_PARAMS];
  oc_value values[OC_CONTRACT_MAX_PARAMS];
  int32_t types[OC_CONTRACT_MAX_PARAMS];
  oc_row_input row_inputs[OC_CASE_MAX_TENSORS];
} oc_baked_storage;

typedef struct stream {
  bool writing;
  unsigned char *out;
  const unsigned char *in;
  size_t at, size;  // capacity when writing
  oc_baked_storage *storage;
  ops_error *error;
} stream;

static int32_t broken(const stream *s, const char *expected) {
  return ops_error_set(s->error, OPS_ERROR_INVALID_MODEL, "byte %zu: expected %s", s->at,
                       expected);
}

static int32_t no_memory(const stream *s) {
  return ops_error_set(s->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a case");
}

// ---- Bytes
// ------------------------------------------------------------------------------------

static int32_t grow(stream *s, size_t more) {
  if (more <= s->size - s->at) return OPS_OK;
  const size_t size = s->size * 2 + more + 4096;
  if (size > OC_CASE_FILE_MAX_BYTES) return broken(s, "a case of less than 2 GiB");
  unsigned char *out = realloc(s->out, size);
  if (!out) return no_memory(s);
  s->out = out;
  s->size = size;
  return OPS_OK;
}

static int32_t pass_bytes(stream *s, void *data, size_t size) {
  if (size == 0) return OPS_OK;
  if (s->writing) {
    OPS_RETURN_IF_ERROR(grow(s, size));
    memcpy(s->out + s->at, data, size);
  } else {
    if (size > s->size - s->at) return broken(s, "more bytes: the file ends here");
    memcpy(data, s->in + s->at, size);
  }
  s->at += size;
  return OPS_OK;
}

static int32_t pass_u64(stream *s, uint64_t *value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = (unsigned char)(*value >> 8 * i);
  OPS_RETURN_IF_ERROR(pass_bytes(s, bytes, sizeof bytes));
  *value = 0;
  for (int i = 0; i < 8; ++i) *value |= (uint64_t)bytes[i] << 8 * i;
  return OPS_OK;
}

// A number from 0 to `most`.
static int32_t pass_count(stream *s, size_t *value, size_t most, const char *what) {
  uint64_t wide = *value;
  OPS_RETURN_IF_ERROR(pass_u64(s, &wide));
  if (wide > most) return broken(s, what);
  *value = (size_t)wide;
  return OPS_OK;
}

static int32_t pass_i32(stream *s, int32_t *value, int32_t most, const char *what) {
  size_t wide = (size_t)(*value < 0 ? 0 : *value);
  OPS_RETURN_IF_ERROR(pass_count(s, &wide, (size_t)most, what));
  *value = (int32_t)wide;
  return OPS_OK;
}

static int32_t pass_flag(stream *s, bool *value) {
  size_t wide = *value;
  OPS_RETURN_IF_ERROR(pass_count(s, &wide, 1, "0 or 1"));
  *value = wide != 0;
  return OPS_OK;
}

static int32_t pass_double(stream *s, double *value) {
  uint64_t bits;
  memcpy(&bits, value, sizeof bits);
  OPS_RETURN_IF_ERROR(pass_u64(s, &bits));
  memcpy(value, &bits, sizeof bits);
  return OPS_OK;
}

static int32_t keep(stream *s, size_t count, size_t size, void **out) {
  uint64_t bytes;
  if (s->storage->count == MOST_PARTS) return broken(s, "a case of fewer parts");
  if (!ops_checked_mul(count ? count : 1, size, &bytes)) return no_memory(s);
  *out = calloc(1, bytes);
  if (!*out) return no_memory(s);
  s->storage->parts[s->storage->count++] = *out;
  return OPS_OK;
}

// ---- Strings and arrays
// -----------------------------------------------------------------------

static int32_t pass_text(stream *s, const char **text) {
  size_t size = s->writing ? strlen(*text) : 0;
  OPS_RETURN_IF_ERROR(
      pass_count(s, &size, OC_CASE_FILE_MAX_TEXT, "a string of at most 4096 bytes"));
  if (s->writing) return pass_bytes(s, (void *)(uintptr_t)*text, size);
  void *copy;
  OPS_RETURN_IF_ERROR(keep(s, size + 1, 1, &copy));
  *text = copy;
  OPS_RETURN_IF_ERROR(pass_bytes(s, copy, size));
  return strlen(copy) == size ? OPS_OK : broken(s, "a string without zero bytes");
}

// An array; when reading it is owned by the caller.
static int32_t pass_array(stream *s, oc_array *array) {
  int64_t dims[OPS_MAX_RANK] = {0};
  int32_t type = array->type, rank = array->rank;
  OPS_RETURN_IF_ERROR(pass_flag(s, &array->present));
  if (!array->present) return OPS_OK;
  OPS_RETURN_IF_ERROR(pass_i32(s, &type, OPS_TYPE_COUNT - 1, "an element type"));
  OPS_RETURN_IF_ERROR(pass_i32(s, &rank, OPS_MAX_RANK, "a rank"));
  for (int32_t i = 0; i < rank; ++i) {
    size_t dim = s->writing ? (size_t)array->dims[i] : 0;
    OPS_RETURN_IF_ERROR(pass_count(s, &dim, OC_CASE_FILE_MAX_BYTES, "a dimension"));
    dims[i] = (int64_t)dim;
  }
  if (s->writing) return pass_bytes(s, array->data, array->bytes);
  array->present = false;
  int64_t count;
  if (oc_element_bits(type) <= 0) return broken(s, "an element type that has numbers");
  // At least a bit for each element must still be there.
  if (!ops_checked_count(dims, rank, &count) || (uint64_t)count / 8 > s->size - s->at) {
    return broken(s, "a tensor that fits into the file");
  }
  OPS_RETURN_IF_ERROR(oc_array_init(array, type, rank, dims, "tensor", s->error));
  return pass_bytes(s, array->data, array->bytes);
}

// `count` doubles, or none; when reading they are kept.
static int32_t pass_doubles(stream *s, double **values, size_t count) {
  bool present = s->writing && *values;
  OPS_RETURN_IF_ERROR(pass_flag(s, &present));
  if (!s->writing) *values = NULL;
  if (!present) return OPS_OK;
  if (!s->writing) {
    void *room;
    if (count > (s->size - s->at) / sizeof(double)) return broken(s, "as many doubles");
    OPS_RETURN_IF_ERROR(keep(s, count, sizeof(double), &room));
    *values = room;
  }
  for (size_t i = 0; i < count; ++i) OPS_RETURN_IF_ERROR(pass_double(s, &(*values)[i]));
  return OPS_OK;
}

// ---- The node
// -----------------------------------------------------------------------------------

static int32_t pass_items(stream *s, oc_value *value) {
  void *ints, *floats, *strings;
  if (!s->writing) {
    if (value->count > s->size - s->at) return broken(s, "as many items");
    OPS_RETURN_IF_ERROR(keep(s, value->count, sizeof(int64_t), &ints));
    OPS_RETURN_IF_ERROR(keep(s, value->count, sizeof(double), &floats));
    OPS_RETURN_IF_ERROR(keep(s, value->count, sizeof(char *), &strings));
    value->ints = ints;
    value->floats = floats;
    value->strings = strings;
  }
  const bool texts = value->kind == OC_VALUE_STRING || value->kind == OC_VALUE_STRINGS;
  const bool reals = value->kind == OC_VALUE_FLOAT || value->kind == OC_VALUE_FLOATS;
  for (size_t i = 0; i < value->count; ++i) {
    if (texts) {
      OPS_RETURN_IF_ERROR(pass_text(s, (const char **)(uintptr_t)&value->strings[i]));
      continue;
    }
    double real = s->writing && value->floats ? value->floats[i] : 0;
    uint64_t whole = s->writing && value->ints && !reals ? (uint64_t)value->ints[i] : 0;
    OPS_RETURN_IF_ERROR(pass_double(s, &real));
    OPS_RETURN_IF_ERROR(pass_u64(s, &whole));
    if (s->writing) continue;
    ((double *)(uintptr_t)value->floats)[i] = real;
    ((int64_t *)(uintptr_t)value->ints)[i] = (int64_t)whole;
  }
  return OPS_OK;
}

static int32_t pass_attribute(stream *s, oc_attribute *about, oc_value *value, int32_t *type) {
  int32_t attr = (int32_t)about->type, kind = (int32_t)value->kind;
  OPS_RETURN_IF_ERROR(pass_text(s, &about->name));
  OPS_RETURN_IF_ERROR(pass_i32(s, &attr, OC_ATTR_COUNT - 1, "a type of attributes"));
  OPS_RETURN_IF_ERROR(pass_i32(s, &kind, OC_VALUE_STRINGS, "a kind of value"));
  OPS_RETURN_IF_ERROR(pass_i32(s, type, OPS_TYPE_COUNT - 1, "an element type"));
  OPS_RETURN_IF_ERROR(pass_count(s, &value->count, OC_CONTRACT_MAX_NUMEL, "a count of items"));
  about->type = (oc_attr_type)attr;
  value->kind = (oc_value_kind)kind;
  const bool scalar = kind >= OC_VALUE_INT && kind <= OC_VALUE_STRING;
  if (kind == OC_VALUE_EACH || (scalar && value->count != 1)) {
    return broken(s, "the value of an attribute");
  }
  // Attributes of numbers hold numbers, those of strings strings.
  const bool texts = attr == OC_ATTR_STRING || attr == OC_ATTR_STRINGS;
  if (texts != (kind == OC_VALUE_STRING || kind == OC_VALUE_STRINGS)) {
    return broken(s, "a value of the attribute's type");
  }
  return pass_items(s, value);
}

static int32_t pass_input(stream *s, oc_baked *baked, size_t i) {
  oc_contract *contract = &s->storage->contract;
  const char *name = "";
  if (s->writing) name = baked->item.contract->inputs[baked->inputs.params[i]].name;
  OPS_RETURN_IF_ERROR(pass_text(s, &name));
  OPS_RETURN_IF_ERROR(pass_array(s, &baked->inputs.items[i]));
  if (s->writing) return OPS_OK;
  s->storage->inputs[i] =
      (oc_param){.name = name, .type_var = -1, .type = baked->inputs.items[i].type};
  baked->inputs.params[i] = (int32_t)i;
  contract->input_count = i + 1;
  return OPS_OK;
}

// ---- An output
// ----------------------------------------------------------------------------------

static int32_t pass_line(stream *s, oc_line *line) {
  OPS_RETURN_IF_ERROR(pass_count(s, &line->step, OC_CASE_FILE_MAX_BYTES, "a step"));
  return pass_count(s, &line->length, OC_CASE_FILE_MAX_BYTES, "a length");
}

static int32_t pass_law(stream *s, oc_baked_output *out) {
  oc_random_law *law = &out->law;
  int32_t kind = (int32_t)law->kind;
  OPS_RETURN_IF_ERROR(pass_flag(s, &out->has_law));
  if (!out->has_law) return OPS_OK;
  OPS_RETURN_IF_ERROR(pass_i32(s, &kind, OC_LAW_KEPT, "a law"));
  law->kind = (oc_law_kind)kind;
  OPS_RETURN_IF_ERROR(pass_double(s, &law->a));
  OPS_RETURN_IF_ERROR(pass_double(s, &law->b));
  OPS_RETURN_IF_ERROR(pass_double(s, &law->share));
  OPS_RETURN_IF_ERROR(pass_count(s, &law->count, OC_CASE_FILE_MAX_BYTES, "a count"));
  OPS_RETURN_IF_ERROR(
      pass_count(s, &law->classes, OC_CASE_FILE_MAX_BYTES, "a count of classes"));
  OPS_RETURN_IF_ERROR(pass_doubles(s, &out->law_numbers, law->count));
  law->of = out->law_numbers;
  const bool each = kind == OC_LAW_BERNOULLI || kind == OC_LAW_DROPPED;
  const bool rows = kind == OC_LAW_CATEGORICAL;
  const bool fits = (!each || law->count == (size_t)out->expected.count) &&
                    (!rows || (law->classes > 0 && law->count % law->classes == 0));
  if ((each || rows) && ((law->count > 0 && !law->of) || !fits))
    return broken(s, "a number for each result");
  return OPS_OK;
}

static int32_t pass_limits(stream *s, oc_compare_input *limits) {
  double *const numbers[] = {&limits->ulp, &limits->absolute, &limits->k, &limits->cap};
  bool *const flags[] = {&limits->exact,
                         &limits->random_fill,
                         &limits->trivial,
                         &limits->unordered,
                         &limits->special.nan_any,
                         &limits->special.infinity_any,
                         &limits->special.signed_zero_distinct,
                         &limits->special.denormal_any};
  int32_t judge = (int32_t)limits->judge;
  OPS_RETURN_IF_ERROR(pass_i32(s, &judge, OC_JUDGE_COUNT - 1, "a judge"));
  limits->judge = (oc_judge)judge;
  OPS_RETURN_IF_ERROR(pass_i32(s, &limits->accumulate, OPS_TYPE_COUNT - 1, "an element type"));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    OPS_RETURN_IF_ERROR(pass_double(s, numbers[i]));
  }
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
    OPS_RETURN_IF_ERROR(pass_flag(s, flags[i]));
  }
  OPS_RETURN_IF_ERROR(pass_line(s, &limits->line));
  return pass_line(s, &limits->named.line);
}

// Lines that are not those of the arrays would lead outside of them.
static bool lines_fit(const oc_line *line, int64_t count) {
  uint64_t block;
  if (line->length == 0) return true;
  return line->step > 0 && ops_checked_mul(line->step, line->length, &block) &&
         (uint64_t)count % block == 0;
}

static int32_t pass_output(stream *s, oc_baked_output *out) {
  double **const arrays[] = {&out->wide, &out->magnitude, &out->deviation, &out->lower,
                             &out->upper};
  OPS_RETURN_IF_ERROR(pass_text(s, &out->name));
  OPS_RETURN_IF_ERROR(pass_array(s, &out->expected));
  if (!out->expected.present) return broken(s, "expected values");
  OPS_RETURN_IF_ERROR(pass_limits(s, &out->limits));
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    OPS_RETURN_IF_ERROR(pass_doubles(s, arrays[i], (size_t)out->expected.count));
  }
  OPS_RETURN_IF_ERROR(pass_law(s, out));
  OPS_RETURN_IF_ERROR(pass_array(s, &out->named));
  if (lines_fit(&out->limits.line, out->expected.count) &&
      (!out->named.present || lines_fit(&out->limits.named.line, out->named.count))) {
    return OPS_OK;
  }
  return broken(s, "lines that fit the outputs");
}

// ---- The whole
// ----------------------------------------------------------------------------------

static int32_t pass_head(stream *s, oc_baked *baked) {
  oc_contract *contract = &s->storage->contract;
  unsigned char magic[sizeof kMagic];
  memcpy(magic, kMagic, sizeof magic);
  OPS_RETURN_IF_ERROR(pass_bytes(s, magic, sizeof magic));
  if (memcmp(magic, kMagic, sizeof magic) != 0) return broken(s, "a case of format 1 before");
  OPS_RETURN_IF_ERROR(pass_text(s, &baked->item.id));
  OPS_RETURN_IF_ERROR(pass_text(s, &contract->op));
  OPS_RETURN_IF_ERROR(pass_text(s, &contract->domain));
  OPS_RETURN_IF_ERROR(pass_i32(s, &contract->since, 1 << 20, "an opset"));
  return pass_u64(s, &baked->constants);
}

static int32_t pass_node(stream *s, oc_baked *baked) {
  oc_baked_storage *storage = s->storage;
  oc_contract *contract = &storage->contract;
  OPS_RETURN_IF_ERROR(
      pass_count(s, &baked->inputs.count, OC_CASE_MAX_TENSORS, "a count of inputs"));
  for (size_t i = 0; i < baked->inputs.count; ++i) OPS_RETURN_IF_ERROR(pass_input(s, baked, i));
  OPS_RETURN_IF_ERROR(pass_count(s, &contract->attribute_count, OC_CONTRACT_MAX_PARAMS,
                                 "a count of attributes"));
  for (size_t i = 0; i < contract->attribute_count; ++i) {
    oc_attribute *about = &storage->attributes[i];
    OPS_RETURN_IF_ERROR(pass_attribute(s, about, &storage->values[i], &storage->types[i]));
    if (!s->writing) about->type_var = storage->types[i] ? (int32_t)i : -1;
  }
  return OPS_OK;
}

static int32_t pass_outputs(stream *s, oc_baked *baked) {
  OPS_RETURN_IF_ERROR(
      pass_count(s, &baked->output_count, OC_CONTRACT_MAX_PARAMS, "a count of outputs"));
  for (size_t i = 0; i < baked->output_count; ++i) {
    OPS_RETURN_IF_ERROR(pass_output(s, &baked->outputs[i]));
  }
  return OPS_OK;
}

static int32_t pass_all(stream *s, oc_baked *baked) {
  OPS_RETURN_IF_ERROR(pass_head(s, baked));
  OPS_RETURN_IF_ERROR(pass_node(s, baked));
  OPS_RETURN_IF_ERROR(pass_outputs(s, baked));
  uint64_t hash = oc_random_hash(s->writing ? s->out : s->in, s->at);
  const uint64_t computed = hash;
  OPS_RETURN_IF_ERROR(pass_u64(s, &hash));
  if (hash != computed) return broken(s, "the hash of the bytes before");
  return s->writing || s->at == s->size ? OPS_OK : broken(s, "the end");
}

// The node's attributes as they are, each with its value and type.
static void take_attributes(const oc_case *item, oc_baked_storage *storage) {
  const oc_binding binding = oc_case_binding(item);
  size_t count = 0;
  for (uint32_t i = 0; i < item->contract->attribute_count; ++i) {
    const oc_attribute *about = &item->contract->attributes[i];
    const oc_value value = oc_binding_attribute(&binding, i);
    if (value.kind == OC_VALUE_NONE || value.kind == OC_VALUE_ABSENT) continue;
    storage->attributes[count] = *about;
    storage->values[count] = value;
    const bool tensor = about->type == OC_ATTR_TENSOR && about->type_var >= 0;
    storage->types[count++] = tensor ? item->types[about->type_var] : 0;
  }
  storage->contract.attribute_count = count;
}

int32_t oc_case_file_make(const oc_baked *baked, unsigned char **out_bytes, size_t *out_size,
                          ops_error *error) {
  oc_baked_storage *storage = calloc(1, sizeof *storage);
  oc_baked *copy = malloc(sizeof *copy);  // the walk may write to what it reads
  stream s = {.writing = true, .storage = storage, .error = error};
  int32_t status = storage && copy ? OPS_OK : no_memory(&s);
  if (status == OPS_OK) {
    *copy = *baked;
    storage->contract = *baked->item.contract;
    take_attributes(&baked->item, storage);
    status = pass_all(&s, copy);
  }
  free(copy);
  free(storage);
  if (status != OPS_OK) free(s.out);
  *out_bytes = status == OPS_OK ? s.out : NULL;
  *out_size = status == OPS_OK ? s.at : 0;
  return status;
}

// A contract of names and types, for what makes nodes of cases.
static void link_case(oc_baked *baked) {
  oc_baked_storage *storage = baked->storage;
  oc_contract *contract = &storage->contract;
  for (size_t i = 0; i < baked->output_count; ++i) {
    storage->outputs[i] = (oc_param){.name = baked->outputs[i].name,
                                     .type_var = -1,
                                     .type = baked->outputs[i].expected.type};
  }
  contract->inputs = storage->inputs;
  contract->outputs = storage->outputs;
  contract->output_count = baked->output_count;
  contract->attributes = storage->attributes;
  storage->row.output_count = (uint32_t)baked->output_count;
  baked->item.contract = contract;
  baked->item.row = &storage->row;
  baked->item.types = storage->types;
  baked->item.attributes = storage->values;
  baked->item.inputs = storage->row_inputs;
}

int32_t oc_case_file_parse(const unsigned char *bytes, size_t size, oc_baked *out_baked,
                           ops_error *error) {
  memset(out_baked, 0, sizeof *out_baked);
  oc_baked_storage *storage = calloc(1, sizeof *storage);
  stream s = {.in = bytes, .size = size, .storage = storage, .error = error};
  out_baked->storage = storage;
  int32_t status = storage ? pass_all(&s, out_baked) : no_memory(&s);
  if (status == OPS_OK && out_baked->output_count == 0) status = broken(&s, "an output");
  if (status == OPS_OK) {
    link_case(out_baked);
  } else {
    oc_baked_finish(out_baked);
  }
  return status;
}

void oc_baked_finish(oc_baked *baked) {
  oc_inputs_finish(&baked->inputs);
  for (size_t i = 0; i < OC_CONTRACT_MAX_PARAMS; ++i) {
    oc_array_finish(&baked->outputs[i].expected);
    oc_array_finish(&baked->outputs[i].named);
  }
  for (size_t i = 0; baked->storage && i < baked->storage->count; ++i) {
    free(baked->storage->parts[i]);
  }
  free(baked->storage);
  memset(baked, 0, sizeof *baked);
}

// ---- Files
// --------------------------------------------------------------------------------------

static int32_t read_all(FILE *file, const char *path, unsigned char **out, size_t *out_size,
                        ops_error *error) {
  size_t room = 1 << 16, used = 0;
  unsigned char *bytes = malloc(room);
  while (bytes) {
    used += fread(bytes + used, 1, room - used, file);
    if (used < room) break;
    room *= 2;
    unsigned char *more = room > OC_CASE_FILE_MAX_BYTES ? NULL : realloc(bytes, room);
    if (!more) free(bytes);
    bytes = more;
  }
  if (!bytes || ferror(file)) {
    free(bytes);
    return ops_error_set(error, OPS_ERROR_IO, "'%s' cannot be read, or exceeds 1 GiB", path);
  }
  *out = bytes;
  *out_size = used;
  return OPS_OK;
}

int32_t oc_case_file_load(const char *path, oc_baked *out_baked, ops_error *error) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  memset(out_baked, 0, sizeof *out_baked);
  FILE *file = fopen(path, "rb");
  if (!file) return ops_error_set(error, OPS_ERROR_IO, "'%s' cannot be opened", path);
  int32_t status = read_all(file, path, &bytes, &size, error);
  fclose(file);
  if (status == OPS_OK) {
    status = oc_case_file_parse(bytes, size, out_baked, error);
    if (status != OPS_OK) ops_error_prefix(error, "'%s'", path);
  }
  free(bytes);
  return status;
}
