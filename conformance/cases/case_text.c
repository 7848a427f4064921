// SPDX-License-Identifier: Apache-2.0
//
// Ids are made for people and shells; meanings are hashed from numbers and never printed.
#include "cases/case_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/random.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)

// ---- Ids ------------------------------------------------------------------------------------

typedef struct text_buffer {
  char *text;
  size_t size;
  size_t used;  // may exceed `size`: what would have been written
  uint64_t hash;
} text_buffer;

static void append(text_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(text_buffer *buffer, const char *format, ...) {
  char part[OC_CASE_MAX_ID];
  va_list args;
  va_start(args, format);
  vsnprintf(part, sizeof part, format, args);
  va_end(args);
  for (const char *at = part; *at; ++at) {
    const char safe = isalnum((unsigned char)*at) || strchr("-+_.,=/", *at) ? *at : '_';
    if (buffer->used + 1 < buffer->size) buffer->text[buffer->used] = safe;
    ++buffer->used;
    buffer->hash = (buffer->hash ^ (unsigned char)safe) * UINT64_C(0x100000001b3);
  }
}

static void append_value(text_buffer *buffer, const oc_value *value, bool is_type) {
  switch (value->kind) {
    case OC_VALUE_INT:
      if (is_type) {
        append(buffer, "%s", oc_element_name((int32_t)value->ints[0]));
        break;
      }
      append(buffer, "%" PRId64, value->ints[0]);
      break;
    case OC_VALUE_INTS:
      for (size_t i = 0; i < value->count; ++i) {
        append(buffer, "%s%" PRId64, i ? "," : "", value->ints[i]);
      }
      break;
    case OC_VALUE_FLOAT:
    case OC_VALUE_FLOATS:
      for (size_t i = 0; i < value->count; ++i) {
        append(buffer, "%s%g", i ? "," : "", value->floats[i]);
      }
      break;
    case OC_VALUE_STRING:
    case OC_VALUE_STRINGS:
      for (size_t i = 0; i < value->count; ++i) {
        append(buffer, "%s%s", i ? "," : "", value->strings[i]);
      }
      break;
    default:
      append(buffer, "none");
  }
}

void oc_case_op_name(const oc_contract *contract, char *text, size_t size) {
  const bool standard = strcmp(contract->domain, "ai.onnx") == 0 || !contract->domain[0];
  snprintf(text, size, "%s%s%s", standard ? "" : contract->domain, standard ? "" : ".",
           contract->op);
}

static void append_types(text_buffer *buffer, const oc_case *item) {
  const oc_contract *contract = item->contract;
  if (contract->type_var_count == 0) {
    append(buffer, "%s", oc_element_name(oc_case_main_type(item)));
  }
  for (size_t i = 0; i < contract->type_var_count; ++i) {
    append(buffer, "%s%s", i ? "+" : "", oc_element_name(item->types[i]));
  }
}

void oc_case_print_id(const oc_case *item, char *text, size_t size) {
  text_buffer buffer = {text, size, 0, FNV_OFFSET};
  char op[128];
  oc_case_op_name(item->contract, op, sizeof op);
  append(&buffer, "%s-%d/", op, item->contract->since);
  if (item->error) {
    append(&buffer, "error/%s", item->error->id);
  } else {
    append_types(&buffer, item);
    append(&buffer, "/%s/", item->row->id);
    for (size_t i = 0; i < item->row->vary_count; ++i) {
      const uint32_t attribute = item->row->vary[i].attribute;
      const oc_attribute *about = &item->contract->attributes[attribute];
      append(&buffer, "%s=", about->name);
      append_value(&buffer, &item->attributes[attribute], about->type == OC_ATTR_TYPE);
      append(&buffer, "/");
    }
    append(&buffer, "%s", oc_fill_name(item->fill));
  }
  if (buffer.used < size) {
    text[buffer.used] = 0;
  } else if (size > 20) {
    snprintf(text + size - 18, 18, "_%016" PRIx64, buffer.hash);
  }
}

// ---- Meanings -------------------------------------------------------------------------------

#define SECOND_OFFSET UINT64_C(0x6c62272e07bb0142)  // FNV's 128-bit offset, upper half

static void mix_in(oc_case_hash *hash, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; ++i) {
    hash->low = (hash->low ^ bytes[i]) * UINT64_C(0x100000001b3);
    hash->high = (hash->high ^ bytes[i]) * UINT64_C(0x9e3779b97f4a7c15);
  }
}

static oc_case_hash start_hash(void) {
  return (oc_case_hash){FNV_OFFSET, SECOND_OFFSET};
}

oc_case_hash oc_case_hash_text(const char *text) {
  oc_case_hash hash = start_hash();
  mix_in(&hash, text, strlen(text));
  return hash;
}

static void mix_number(oc_case_hash *hash, int64_t number) {
  mix_in(hash, &number, sizeof number);
}

static void mix_text(oc_case_hash *hash, const char *text) {
  mix_number(hash, text ? (int64_t)strlen(text) : -1);
  if (text) mix_in(hash, text, strlen(text));
}

static void mix_value(oc_case_hash *hash, const oc_value *value) {
  mix_number(hash, value->kind);
  mix_number(hash, (int64_t)value->count);
  const bool strings = value->kind == OC_VALUE_STRING || value->kind == OC_VALUE_STRINGS;
  const bool floats = value->kind == OC_VALUE_FLOAT || value->kind == OC_VALUE_FLOATS;
  const bool ints = value->kind == OC_VALUE_INT || value->kind == OC_VALUE_INTS;
  for (size_t i = 0; i < value->count; ++i) {
    if (ints) mix_number(hash, value->ints[i]);
    if (floats) mix_in(hash, &value->floats[i], sizeof value->floats[i]);
    if (strings) mix_text(hash, value->strings[i]);
  }
}

static void mix_range(oc_case_hash *hash, const oc_range *range) {
  mix_text(hash, range->lo ? oc_expr_text(range->lo) : NULL);
  mix_text(hash, range->hi ? oc_expr_text(range->hi) : NULL);
  mix_number(hash, range->lo_open * 2 + range->hi_open);
}

static void mix_input(oc_case_hash *hash, const oc_row_input *input) {
  mix_number(hash, (int64_t)input->count);
  for (size_t i = 0; i < input->count; ++i) {
    mix_number(hash, input->shapes[i].rank);
    for (int32_t d = 0; d < input->shapes[i].rank; ++d) {
      mix_number(hash, input->shapes[i].dims[d]);
    }
  }
  mix_value(hash, &input->contents);
  mix_range(hash, &input->range);
}

oc_case_hash oc_case_meaning(const oc_case *item) {
  const oc_contract *contract = item->contract;
  oc_case_hash hash = start_hash();
  mix_text(&hash, contract->domain);
  mix_text(&hash, contract->op);
  mix_number(&hash, contract->since);
  mix_text(&hash, item->error ? item->error->id : NULL);
  mix_number(&hash, item->fill);
  mix_number(&hash, item->row->output_count);
  for (size_t i = 0; i < contract->type_var_count; ++i) mix_number(&hash, item->types[i]);
  for (size_t i = 0; i < contract->input_count; ++i) mix_input(&hash, &item->inputs[i]);
  const oc_binding binding = oc_case_binding(item);
  for (size_t i = 0; i < contract->attribute_count; ++i) {
    const oc_value value = oc_binding_attribute(&binding, (uint32_t)i);
    mix_value(&hash, &value);
  }
  return hash;
}

// ---- A set of hashes ------------------------------------------------------------------------

struct oc_case_index {
  oc_case_hash *slots;  // {0, 0}: free
  size_t capacity;      // a power of two
  size_t count;
};

oc_case_index *oc_case_index_create(void) {
  oc_case_index *index = calloc(1, sizeof *index);
  if (!index) return NULL;
  index->capacity = 4096;
  index->slots = calloc(index->capacity, sizeof *index->slots);
  if (index->slots) return index;
  free(index);
  return NULL;
}

void oc_case_index_destroy(oc_case_index *index) {
  if (!index) return;
  free(index->slots);
  free(index);
}

static oc_case_hash *find_slot(oc_case_hash *slots, size_t capacity, oc_case_hash hash) {
  size_t at = (size_t)hash.low & (capacity - 1);
  while ((slots[at].low || slots[at].high) &&
         (slots[at].low != hash.low || slots[at].high != hash.high)) {
    at = (at + 1) & (capacity - 1);
  }
  return &slots[at];
}

static bool rehash(oc_case_index *index) {
  const size_t capacity = index->capacity * 2;
  oc_case_hash *slots = calloc(capacity, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < index->capacity; ++i) {
    const oc_case_hash hash = index->slots[i];
    if (hash.low || hash.high) *find_slot(slots, capacity, hash) = hash;
  }
  free(index->slots);
  index->slots = slots;
  index->capacity = capacity;
  return true;
}

bool oc_case_index_add(oc_case_index *index, oc_case_hash hash, bool *out_fresh) {
  if (2 * index->count >= index->capacity && !rehash(index)) return false;
  oc_case_hash *slot = find_slot(index->slots, index->capacity, hash);
  *out_fresh = !slot->low && !slot->high;
  if (*out_fresh) ++index->count;
  *slot = hash;
  return true;
}
