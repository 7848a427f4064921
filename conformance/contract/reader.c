// SPDX-License-Identifier: Apache-2.0
//
// The generic half of reading a contract: errors with positions, records by table, scalars.
#include "contract/reader.h"

#include <errno.h>
#include <math.h>
#include <ops_support/error.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX 900

static int32_t fail_at(const oc_reader *reader, uint32_t line, uint32_t column,
                       const char *format, va_list args) {
  char what[MESSAGE_MAX];
  vsnprintf(what, sizeof(what), format, args);
  return ops_error_set(reader->error, OPS_ERROR_INVALID_MODEL, "%s:%u:%u: %s", reader->file,
                       line, column, what);
}

int32_t oc_reader_fail(const oc_reader *reader, const oc_yaml_node *node, const char *format,
                       ...) {
  va_list args;
  va_start(args, format);
  const int32_t status = fail_at(reader, node->line, node->column, format, args);
  va_end(args);
  return status;
}

int32_t oc_reader_fail_key(const oc_reader *reader, const oc_yaml_node *node,
                           const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int32_t status = fail_at(reader, node->key_line, node->key_column, format, args);
  va_end(args);
  return status;
}

static int32_t fail_within(const oc_reader *reader, const oc_yaml_node *node, size_t offset,
                           const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int32_t status =
      fail_at(reader, node->line, node->column + (uint32_t)offset + (node->quoted ? 1 : 0),
              format, args);
  va_end(args);
  return status;
}

int32_t oc_reader_no_memory(const oc_reader *reader) {
  return ops_error_set(reader->error, OPS_ERROR_OUT_OF_MEMORY,
                       "%s: reading the contract exceeds the memory limit", reader->file);
}

oc_position oc_reader_position(const oc_reader *reader, const oc_yaml_node *node) {
  return (oc_position){reader->file, node->line, node->column};
}

int32_t oc_reader_expect(const oc_reader *reader, const oc_yaml_node *node, oc_yaml_kind kind,
                         const char *what) {
  static const char *const found[] = {"a single value", "a list", "a mapping"};
  if (node->kind == kind) return OPS_OK;
  return oc_reader_fail(reader, node, "%s%s%sexpected %s, found %s", node->key ? "\"" : "",
                        node->key ? node->key : "", node->key ? "\": " : "", what,
                        found[node->kind]);
}

int32_t oc_reader_unknown(oc_reader *reader, const oc_yaml_node *node, bool key,
                          const char *what, const char *text, const oc_nearest *near) {
  if (key) {
    return oc_reader_fail_key(reader, node, "unknown %s \"%s\"%s%s%s", what, text,
                              OC_NEAREST_HINT(*near));
  }
  return oc_reader_fail(reader, node, "unknown %s \"%s\"%s%s%s", what, text,
                        OC_NEAREST_HINT(*near));
}

static int32_t check_keys(oc_reader *reader, const oc_yaml_node *node,
                          const oc_grammar *grammar) {
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    oc_nearest near = oc_nearest_begin(child->key);
    bool known = false;
    for (size_t i = 0; i < grammar->count && !known; ++i) {
      known = strcmp(grammar->fields[i].name, child->key) == 0;
      oc_nearest_offer(&near, grammar->fields[i].name);
    }
    if (known) continue;
    char what[64];
    snprintf(what, sizeof(what), "key of %s:", grammar->name);
    return oc_reader_unknown(reader, child, true, what, child->key, &near);
  }
  return OPS_OK;
}

int32_t oc_read_record(oc_reader *reader, const oc_yaml_node *node, const oc_grammar *grammar,
                       void *target) {
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "a mapping of keys"));
  OPS_RETURN_IF_ERROR(check_keys(reader, node, grammar));
  for (size_t i = 0; i < grammar->count; ++i) {
    const oc_field *field = &grammar->fields[i];
    const oc_yaml_node *child = oc_yaml_get(node, field->name);
    if (child) {
      OPS_RETURN_IF_ERROR(field->read(reader, child, field, (char *)target + field->offset));
    } else if (field->required) {
      return oc_reader_fail(reader, node, "%s lacks the key \"%s\" (%s)", grammar->name,
                            field->name, field->help);
    }
  }
  return OPS_OK;
}

int32_t oc_read_records(oc_reader *reader, const oc_yaml_node *node, const oc_grammar *grammar,
                        size_t size, size_t max, void **out_items, size_t *out_count) {
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of mappings"));
  if (node->count > max) {
    return oc_reader_fail(reader, node, "%zu entries, at most %zu are allowed", node->count,
                          max);
  }
  char *items = oc_arena_alloc(reader->arena, node->count, size);
  if (!items) return oc_reader_no_memory(reader);
  size_t i = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next, ++i) {
    OPS_RETURN_IF_ERROR(oc_read_record(reader, child, grammar, items + i * size));
  }
  *out_items = items;
  *out_count = node->count;
  return OPS_OK;
}

int32_t oc_read_text(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                     void *out) {
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "text"));
  if (node->text[0] == 0) return oc_reader_fail(reader, node, "expected text, found nothing");
  *(const char **)out = node->text;
  return OPS_OK;
}

int32_t oc_read_name(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                     void *out) {
  static const char legal[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  OPS_RETURN_IF_ERROR(oc_read_text(reader, node, field, out));
  const size_t good = strspn(node->text, legal);
  if (node->text[good] == 0) return OPS_OK;
  return fail_within(reader, node, good,
                     "\"%s\" is not a name: letters, digits, _, . and - are allowed",
                     node->text);
}

int32_t oc_read_bool(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                     void *out) {
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "true or false"));
  const bool truth = strcmp(node->text, "true") == 0;
  if (!truth && strcmp(node->text, "false") != 0) {
    return oc_reader_fail(reader, node, "expected true or false, found \"%s\"", node->text);
  }
  *(bool *)out = truth;
  return OPS_OK;
}

bool oc_text_to_int(const char *text, int64_t *out_value) {
  const char *digits = text + (*text == '-' || *text == '+');
  if (!*digits || digits[strspn(digits, "0123456789")]) return false;
  errno = 0;
  const long long value = strtoll(text, NULL, 10);
  if (errno) return false;
  *out_value = value;
  return true;
}

// YAML's own words for what is not finite, else a decimal or hexadecimal number.
bool oc_text_to_real(const char *text, double *out_value) {
  static const struct {
    const char *word;
    double value;
  } words[] = {{".inf", INFINITY}, {"-.inf", -INFINITY}, {".nan", NAN}};
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
    if (strcmp(text, words[i].word) == 0) {
      *out_value = words[i].value;
      return true;
    }
  }
  if (!*text || text[strspn(text, "0123456789.+-eExXpPabcdfABCDF")]) return false;
  char *end;
  const double value = strtod(text, &end);
  if (*end || isinf(value)) return false;
  *out_value = value;
  return true;
}

int32_t oc_reader_int(oc_reader *reader, const oc_yaml_node *node, int64_t *out_value) {
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "an integer"));
  if (!node->quoted && oc_text_to_int(node->text, out_value)) return OPS_OK;
  return oc_reader_fail(reader, node, "expected a 64-bit integer, found \"%s\"", node->text);
}

int32_t oc_read_count(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                      void *out) {
  int64_t value = 0;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_int(reader, node, &value));
  if (value < 0 || value > INT32_MAX) {
    return oc_reader_fail(reader, node, "expected a number from 0 to %d, found %s", INT32_MAX,
                          node->text);
  }
  *(uint32_t *)out = (uint32_t)value;
  return OPS_OK;
}

int32_t oc_read_real(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                     void *out) {
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "a number"));
  double value;
  if (node->quoted || !oc_text_to_real(node->text, &value) || !(value >= 0) || isinf(value)) {
    return oc_reader_fail(reader, node, "expected a number of at least 0, found \"%s\"",
                          node->text);
  }
  *(double *)out = value;
  return OPS_OK;
}

int32_t oc_read_share(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                      void *out) {
  char digits[32];
  double value;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "a percentage"));
  const size_t size = strlen(node->text);
  if (size < 2 || size > sizeof(digits) || node->text[size - 1] != '%') {
    return oc_reader_fail(reader, node, "expected a percentage such as 5%%, found \"%s\"",
                          node->text);
  }
  memcpy(digits, node->text, size - 1);
  digits[size - 1] = 0;
  if (!oc_text_to_real(digits, &value) || !(value >= 0 && value <= 1000)) {
    return oc_reader_fail(reader, node, "expected a percentage such as 5%%, found \"%s\"",
                          node->text);
  }
  *(double *)out = value / 100;
  return OPS_OK;
}

int32_t oc_reader_word(oc_reader *reader, const oc_yaml_node *node, const oc_words *words,
                       int *out_value) {
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, words->what));
  oc_nearest near = oc_nearest_begin(node->text);
  for (size_t i = 0; i < words->count; ++i) {
    if (strcmp(words->items[i].name, node->text) == 0) {
      *out_value = words->items[i].value;
      return OPS_OK;
    }
    oc_nearest_offer(&near, words->items[i].name);
  }
  if (near.best) return oc_reader_unknown(reader, node, false, words->what, node->text, &near);
  char all[400] = "";
  for (size_t i = 0, at = 0; i < words->count && at + 40 < sizeof(all); ++i) {
    at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", i ? ", " : "",
                           words->items[i].name);
  }
  return oc_reader_fail(reader, node, "unknown %s \"%s\"; there are: %s", words->what,
                        node->text, all);
}

int32_t oc_read_word(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                     void *out) {
  int value = 0;
  OPS_RETURN_IF_ERROR(oc_reader_word(reader, node, field->extra, &value));
  *(int *)out = value;
  return OPS_OK;
}

int32_t oc_read_type(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                     void *out) {
  int value = 0;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_word(reader, node, &oc_words_type, &value));
  *(int32_t *)out = value;
  return OPS_OK;
}

int32_t oc_reader_types(oc_reader *reader, const oc_yaml_node *node, uint64_t *out_types) {
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of element types"));
  *out_types = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    int type = 0;
    OPS_RETURN_IF_ERROR(oc_reader_word(reader, child, &oc_words_type, &type));
    if (*out_types & OPS_TYPE_BIT(type)) {
      return oc_reader_fail(reader, child, "the type \"%s\" stands twice", child->text);
    }
    *out_types |= OPS_TYPE_BIT(type);
  }
  if (!*out_types) return oc_reader_fail(reader, node, "expected at least one element type");
  return OPS_OK;
}

int32_t oc_reader_texts(oc_reader *reader, const oc_yaml_node *node,
                        const char *const **out_texts, size_t *out_count) {
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of texts"));
  const char **texts = oc_arena_alloc(reader->arena, node->count, sizeof(*texts));
  if (!texts) return oc_reader_no_memory(reader);
  size_t i = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    OPS_RETURN_IF_ERROR(oc_reader_expect(reader, child, OC_YAML_SCALAR, "text"));
    texts[i++] = child->text;
  }
  *out_texts = texts;
  *out_count = i;
  return OPS_OK;
}

int32_t oc_read_fills(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                      void *out) {
  uint32_t fills = 0;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of fills"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    int fill = 0;
    OPS_RETURN_IF_ERROR(oc_reader_word(reader, child, &oc_words_fill, &fill));
    if (fills & (1u << fill)) return oc_reader_fail(reader, child, "this fill stands twice");
    fills |= 1u << fill;
  }
  if (!fills) return oc_reader_fail(reader, node, "expected at least one fill");
  *(uint32_t *)out = fills;
  return OPS_OK;
}

int32_t oc_read_nested(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                       void *out) {
  return oc_read_record(reader, node, field->extra, out);
}

// Offers a name to the search for the one wanted; true when it is the one.
static bool offer(oc_nearest *near, const char *name) {
  oc_nearest_offer(near, name);
  return strcmp(near->wanted, name) == 0;
}

static oc_expr_name_kind resolve(void *context, const char *name, const char **out_near) {
  oc_reader *reader = context;
  const oc_contract *c = reader->contract;
  oc_nearest near = oc_nearest_begin(name);
  for (size_t i = 0; i < c->input_count; ++i) {
    if (offer(&near, c->inputs[i].name)) return OC_NAME_TENSOR;
  }
  for (size_t i = 0; i < c->output_count; ++i) {
    if (offer(&near, c->outputs[i].name)) return OC_NAME_TENSOR;
  }
  for (size_t i = 0; i < c->attribute_count; ++i) {
    if (offer(&near, c->attributes[i].name)) return OC_NAME_VALUE;
  }
  for (size_t i = 0; i < c->let_count; ++i) {
    if (!offer(&near, c->lets[i].name)) continue;
    reader->cost += reader->let_cost[i];
    if (reader->let_depth[i] > reader->depth) reader->depth = reader->let_depth[i];
    return OC_NAME_VALUE;
  }
  for (size_t i = 0; i < c->type_var_count; ++i) {
    if (offer(&near, c->type_vars[i].name)) return OC_NAME_TYPE;
  }
  *out_near = near.best;
  return OC_NAME_UNKNOWN;
}

static int32_t parse_expr(oc_reader *reader, const oc_yaml_node *node, const char *text,
                          size_t offset, const oc_expr **out_expr) {
  ops_error error = OPS_ERROR_INIT;
  size_t column = 0;
  reader->cost = reader->depth = 0;
  const int32_t status =
      oc_expr_parse(reader->arena, text, resolve, reader, out_expr, &column, &error);
  if (status == OPS_ERROR_OUT_OF_MEMORY) return oc_reader_no_memory(reader);
  if (status == OPS_OK) return OPS_OK;
  return fail_within(reader, node, offset + column, "bad expression \"%s\": %s", node->text,
                     error.message);
}

int32_t oc_read_expr(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                     void *out) {
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "an expression"));
  return parse_expr(reader, node, node->text, 0, out);
}

// The comma of an interval is the one outside all brackets.
static const char *find_comma(const char *text) {
  int depth = 0;
  for (; *text; ++text) {
    if (*text == '(' || *text == '[') ++depth;
    if (*text == ')' || *text == ']') --depth;
    if (*text == ',' && depth == 0) return text;
  }
  return NULL;
}

int32_t oc_read_range(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                      void *out) {
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "an interval"));
  const char *text = node->text;
  const size_t size = strlen(text);
  const bool closed = size > 2 && strchr("[(", text[0]) && strchr("])", text[size - 1]);
  char *inner =
      oc_arena_copy_string(reader->arena, closed ? text + 1 : "", closed ? size - 2 : 0);
  if (!inner) return oc_reader_no_memory(reader);
  const char *comma = find_comma(inner);
  if (!comma) {
    return oc_reader_fail(reader, node, "expected an interval such as \"[0, 1)\", found \"%s\"",
                          text);
  }
  const size_t split = (size_t)(comma - inner);
  inner[split] = 0;
  oc_range *range = out;
  range->lo_open = text[0] == '(';
  range->hi_open = text[size - 1] == ')';
  OPS_RETURN_IF_ERROR(parse_expr(reader, node, inner, 1, &range->lo));
  return parse_expr(reader, node, inner + split + 1, split + 2, &range->hi);
}

int32_t oc_reader_key_input(oc_reader *reader, const oc_yaml_node *node, uint32_t *out_index) {
  oc_nearest near = oc_nearest_begin(node->key);
  for (size_t i = 0; i < reader->contract->input_count; ++i) {
    *out_index = (uint32_t)i;
    if (offer(&near, reader->contract->inputs[i].name)) return OPS_OK;
  }
  return oc_reader_unknown(reader, node, true, "input", node->key, &near);
}

int32_t oc_reader_key_attribute(oc_reader *reader, const oc_yaml_node *node,
                                uint32_t *out_index) {
  oc_nearest near = oc_nearest_begin(node->key);
  for (size_t i = 0; i < reader->contract->attribute_count; ++i) {
    *out_index = (uint32_t)i;
    if (offer(&near, reader->contract->attributes[i].name)) return OPS_OK;
  }
  return oc_reader_unknown(reader, node, true, "attribute", node->key, &near);
}

int32_t oc_reader_param(oc_reader *reader, const oc_yaml_node *node, bool output,
                        uint32_t *out_index) {
  const oc_contract *c = reader->contract;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_SCALAR, "a name"));
  oc_nearest near = oc_nearest_begin(node->text);
  const oc_param *params = output ? c->outputs : c->inputs;
  const size_t count = output ? c->output_count : c->input_count;
  for (size_t i = 0; i < count; ++i) {
    *out_index = (uint32_t)i;
    if (offer(&near, params[i].name)) return OPS_OK;
  }
  return oc_reader_unknown(reader, node, false, output ? "output" : "input", node->text, &near);
}

int32_t oc_reader_type_var(oc_reader *reader, const oc_yaml_node *node, bool key,
                           const char *text, int32_t *out_index) {
  oc_nearest near = oc_nearest_begin(text);
  for (size_t i = 0; i < reader->contract->type_var_count; ++i) {
    *out_index = (int32_t)i;
    if (offer(&near, reader->contract->type_vars[i].name)) return OPS_OK;
  }
  return oc_reader_unknown(reader, node, key, "type variable", text, &near);
}
