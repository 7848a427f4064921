// SPDX-License-Identifier: Apache-2.0
//
// The reader of case files. They are made by this build, so a broken one ends the program.
#include "case_test_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/value.h"

typedef struct cursor {
  case_file *file;
  const unsigned char *at;
  const unsigned char *end;
} cursor;

static void die(const char *what, const char *path) {
  fprintf(stderr, "case file: %s: %s\n", what, path);
  exit(2);
}

static void *take(case_file *file, uint64_t count, uint64_t size) {
  void **block = calloc(1, sizeof(void *) * 2 + count * size);
  if (block == NULL) die("out of memory", "");
  block[0] = file->allocations;
  file->allocations = block;
  return block + 2;
}

static const unsigned char *skip(cursor *c, uint64_t size) {
  if ((uint64_t)(c->end - c->at) < size) die("ends early", "");
  const unsigned char *at = c->at;
  c->at += size;
  return at;
}

static void get(cursor *c, void *out, uint64_t size) {
  memcpy(out, skip(c, size), size);
}

static uint32_t get_count(cursor *c) {
  uint32_t count;
  get(c, &count, sizeof count);
  return count;
}

static ops_str get_text(cursor *c) {
  uint32_t size = get_count(c);
  return (ops_str){(const char *)skip(c, size), size};
}

static ops_str *get_texts(cursor *c, uint32_t *out_count) {
  *out_count = get_count(c);
  ops_str *texts = take(c->file, *out_count, sizeof *texts);
  for (uint32_t i = 0; i < *out_count; ++i) texts[i] = get_text(c);
  return texts;
}

static void get_tensor(cursor *c, case_tensor *out) {
  get(c, &out->type, 4);
  get(c, &out->rank, 4);
  out->count = 1;
  for (int32_t i = 0; i < out->rank; ++i) {
    get(c, &out->dims[i], 8);
    out->count *= out->dims[i];
  }
  if (out->type == OPS_TYPE_STRING) {
    uint32_t count;
    out->strings = get_texts(c, &count);
    return;
  }
  out->size = get_count(c);
  unsigned char *bytes = take(c->file, out->size, 1);
  get(c, bytes, out->size);
  out->bytes = bytes;
}

static case_value *get_values(cursor *c, case_value *more, uint32_t *count) {
  uint32_t added = get_count(c);
  case_value *values = take(c->file, *count + added, sizeof *values);
  if (*count > 0) memcpy(values, more, *count * sizeof *values);
  for (uint32_t i = *count; i < *count + added; ++i) {
    values[i].name = get_text(c);
    get_tensor(c, &values[i].tensor);
  }
  *count += added;
  return values;
}

typedef struct case_strings {
  ops_value *value;
  struct case_strings *next;
} case_strings;

// A tensor of strings as a host value, which lives until the file is closed.
static ops_value *make_strings(case_file *file, const case_tensor *tensor) {
  case_strings *held = take(file, 1, sizeof *held);
  if (ops_value_create(OPS_VALUE_STRINGS, &held->value, NULL) != OPS_OK ||
      ops_value_accessors.strings_resize(held->value, tensor->rank, tensor->dims, NULL) !=
          OPS_OK)
    die("out of memory", "");
  held->next = file->strings;
  file->strings = held;
  for (int64_t i = 0; i < tensor->count; ++i)
    ops_value_accessors.string_set(held->value, (uint64_t)i, tensor->strings[i], NULL);
  return held->value;
}

static const ops_constant *const *get_constants(cursor *c, uint32_t count) {
  const ops_constant **list = take(c->file, count, sizeof *list);
  for (uint32_t i = 0; i < count; ++i) {
    case_tensor *tensor = take(c->file, 1, sizeof *tensor);
    ops_constant *constant = take(c->file, 1, sizeof *constant);
    int64_t *strides = take(c->file, OPS_MAX_RANK, sizeof *strides);
    get_tensor(c, tensor);
    int64_t stride = 1;
    for (int32_t d = tensor->rank - 1; d >= 0; --d) {
      strides[d] = stride;
      stride *= tensor->dims[d];
    }
    *constant = (ops_constant){.struct_size = sizeof *constant,
                               .format = OPS_CONSTANT_DENSE,
                               .rank = tensor->rank,
                               .dims = tensor->dims};
    constant->dense = (ops_arg){.kind = OPS_ARG_TENSOR,
                                .tensor = {.dims = tensor->dims,
                                           .strides = strides,
                                           .memory = (void *)tensor->bytes,
                                           .byte_size = tensor->size,
                                           .type = tensor->type,
                                           .rank = tensor->rank}};
    if (tensor->type == OPS_TYPE_STRING)
      constant->dense =
          (ops_arg){.kind = OPS_ARG_VALUE, .value = make_strings(c->file, tensor)};
    list[i] = constant;
  }
  return list;
}

static void get_attribute(cursor *c, ops_attribute *out) {
  out->struct_size = sizeof *out;
  out->name = get_text(c);
  get(c, &out->kind, 4);
  uint32_t count = get_count(c);
  out->count = count;
  if (out->kind == OPS_ATTRIBUTE_FLOAT || out->kind == OPS_ATTRIBUTE_FLOATS) {
    float *floats = take(c->file, count, sizeof *floats);
    get(c, floats, count * sizeof *floats);
    out->floats = floats;
  } else if (out->kind == OPS_ATTRIBUTE_INT || out->kind == OPS_ATTRIBUTE_INTS) {
    int64_t *ints = take(c->file, count, sizeof *ints);
    get(c, ints, count * sizeof *ints);
    out->ints = ints;
  } else if (out->kind == OPS_ATTRIBUTE_STRING || out->kind == OPS_ATTRIBUTE_STRINGS) {
    ops_str *strings = take(c->file, count, sizeof *strings);
    for (uint32_t i = 0; i < count; ++i) strings[i] = get_text(c);
    out->strings = strings;
  } else {
    out->constants = get_constants(c, count);
  }
}

static void get_node(cursor *c, case_node *out) {
  out->domain = get_text(c);
  out->op = get_text(c);
  get(c, &out->opset, 4);
  out->inputs = get_texts(c, &out->input_count);
  out->outputs = get_texts(c, &out->output_count);
  out->attribute_count = get_count(c);
  out->attributes = take(c->file, out->attribute_count, sizeof *out->attributes);
  for (uint32_t i = 0; i < out->attribute_count; ++i) get_attribute(c, &out->attributes[i]);
}

static void get_test(cursor *c, case_test *out) {
  out->name = get_text(c);
  get(c, &out->rtol, 8);
  get(c, &out->atol, 8);
  out->inputs = get_values(c, NULL, &out->input_count);
  out->inputs = get_values(c, out->inputs, &out->input_count);
  out->outputs = get_values(c, NULL, &out->output_count);
  out->node_count = get_count(c);
  out->nodes = take(c->file, out->node_count, sizeof *out->nodes);
  for (uint32_t i = 0; i < out->node_count; ++i) get_node(c, &out->nodes[i]);
}

static unsigned char *read_all(const char *path, uint64_t *out_size) {
  FILE *stream = fopen(path, "rb");
  if (stream == NULL || fseek(stream, 0, SEEK_END) != 0) die("cannot be read", path);
  long size = ftell(stream);
  rewind(stream);
  unsigned char *bytes = malloc((size_t)size + 1);
  if (bytes == NULL || fread(bytes, 1, (size_t)size, stream) != (size_t)size)
    die("cannot be read", path);
  fclose(stream);
  *out_size = (uint64_t)size;
  return bytes;
}

void case_file_open(case_file *file, const char *path) {
  uint64_t size;
  memset(file, 0, sizeof *file);
  file->bytes = read_all(path, &size);
  cursor c = {file, file->bytes, file->bytes + size};
  if (memcmp(skip(&c, 8), "OPSCASE1", 8) != 0) die("is no case file", path);
  file->count = get_count(&c);
  file->tests = take(file, file->count, sizeof *file->tests);
  for (uint32_t i = 0; i < file->count; ++i) get_test(&c, &file->tests[i]);
}

void case_file_close(case_file *file) {
  for (case_strings *held = file->strings; held != NULL; held = held->next)
    ops_value_release(held->value);
  while (file->allocations != NULL) {
    void *before = *(void **)file->allocations;
    free(file->allocations);
    file->allocations = before;
  }
  free(file->bytes);
}
