// SPDX-License-Identifier: Apache-2.0
//
// Lookup in the generated table: binary search, since it is sorted.
#include "schema/schema.h"

#include <stdlib.h>
#include <string.h>

#include "schema/schema_table.h"

static int equals(ops_str a, const char *b) {
  return a.size == strlen(b) && (a.size == 0 || memcmp(a.data, b, a.size) == 0);
}

// As strcmp of `a` and `b`.
static int compare(ops_str a, const char *b) {
  const size_t size = strlen(b);
  const size_t common = a.size < size ? (size_t)a.size : size;
  const int order = common ? memcmp(a.data, b, common) : 0;
  return order ? order : (a.size > size) - (a.size < size);
}

static ops_str canonical_domain(ops_str domain) {
  return equals(domain, "ai.onnx") ? (ops_str){NULL, 0} : domain;
}

// --- Finding -------------------------------------------------------------------------------

const rt_schema *rt_schema_find_first(ops_str domain, ops_str op_type) {
  domain = canonical_domain(domain);
  size_t low = 0, high = rt_schema_table_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    int order = compare(domain, rt_schema_table[middle].domain);
    if (order == 0) order = compare(op_type, rt_schema_table[middle].name);
    if (order > 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == rt_schema_table_count || !equals(domain, rt_schema_table[low].domain) ||
      !equals(op_type, rt_schema_table[low].name))
    return NULL;
  return &rt_schema_table[low];
}

// Whether `schema` is followed by another version of the same operator.
static int has_successor(const rt_schema *schema) {
  return schema + 1 < rt_schema_table + rt_schema_table_count &&
         strcmp(schema[0].name, schema[1].name) == 0 &&
         strcmp(schema[0].domain, schema[1].domain) == 0;
}

const rt_schema *rt_schema_find(ops_str domain, ops_str op_type, int64_t opset) {
  const rt_schema *schema = rt_schema_find_first(domain, op_type);
  if (!schema || schema->since > opset) return NULL;
  while (has_successor(schema) && schema[1].since <= opset) ++schema;
  return schema;
}

size_t rt_schema_count(void) {
  return rt_schema_table_count;
}

const rt_schema *rt_schema_at(size_t index) {
  return index < rt_schema_table_count ? &rt_schema_table[index] : NULL;
}

size_t rt_schema_domain_count(void) {
  return rt_schema_table_domains_count;
}

const rt_schema_domain *rt_schema_domain_at(size_t index) {
  return index < rt_schema_table_domains_count ? &rt_schema_table_domains[index] : NULL;
}

int64_t rt_schema_newest_opset(ops_str domain) {
  domain = canonical_domain(domain);
  for (size_t i = 0; i < rt_schema_table_domains_count; ++i)
    if (equals(domain, rt_schema_table_domains[i].name))
      return rt_schema_table_domains[i].newest_opset;
  return 0;
}

const rt_schema_attribute *rt_schema_attribute_find(const rt_schema *schema, ops_str name) {
  for (int32_t i = 0; i < schema->attribute_count; ++i)
    if (equals(name, schema->attributes[i].name)) return &schema->attributes[i];
  return NULL;
}

static const rt_schema_param *param_at(const rt_schema_param *params, int32_t count,
                                       size_t index) {
  if (index < (size_t)count) return &params[index];
  if (count > 0 && params[count - 1].option == RT_SCHEMA_VARIADIC) return &params[count - 1];
  return NULL;
}

const rt_schema_param *rt_schema_input_at(const rt_schema *schema, size_t index) {
  return param_at(schema->inputs, schema->input_count, index);
}

const rt_schema_param *rt_schema_output_at(const rt_schema *schema, size_t index) {
  return param_at(schema->outputs, schema->output_count, index);
}

// --- Near matches --------------------------------------------------------------------------

enum { kMaxName = 64 };  // longer names have no near match

static int fold(char letter) {
  return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter;
}

static int32_t min3(int32_t a, int32_t b, int32_t c) {
  const int32_t ab = a < b ? a : b;
  return ab < c ? ab : c;
}

// Levenshtein's distance by dynamic programming, one row at a time.
int32_t rt_schema_edit_distance(ops_str a, ops_str b, int32_t most) {
  int32_t row[kMaxName + 1];
  if (a.size > kMaxName || b.size > kMaxName) return -1;
  for (int32_t j = 0; j <= (int32_t)b.size; ++j) row[j] = j;
  for (int32_t i = 1; i <= (int32_t)a.size; ++i) {
    int32_t diagonal = row[0];
    row[0] = i;
    for (int32_t j = 1; j <= (int32_t)b.size; ++j) {
      const int32_t change = fold(a.data[i - 1]) != fold(b.data[j - 1]);
      const int32_t best = min3(row[j] + 1, row[j - 1] + 1, diagonal + change);
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b.size] <= most ? row[b.size] : -1;
}

// A third of the letters may differ.
static int32_t tolerance(ops_str name) {
  return name.size > kMaxName ? 0 : (int32_t)(name.size + 2) / 3;
}

// Whether a schema is what its operator means in some opset: valid if nothing follows it, or
// what follows is too new.
static int is_valid_in(const rt_schema *schema, int64_t opset) {
  return schema->since <= opset && !schema->is_deprecated &&
         !(has_successor(schema) && schema[1].since <= opset);
}

const rt_schema *rt_schema_find_near(ops_str domain, ops_str op_type, int64_t opset) {
  domain = canonical_domain(domain);
  const rt_schema *nearest = NULL;
  int32_t most = 2 * tolerance(op_type) + 1;
  for (size_t i = 0; i < rt_schema_table_count; ++i) {
    const rt_schema *schema = &rt_schema_table[i];
    // A different domain counts as a little more than no difference.
    const int32_t foreign = !equals(domain, schema->domain);
    if (!is_valid_in(schema, foreign ? INT64_MAX : opset)) continue;
    const ops_str name = {schema->name, strlen(schema->name)};
    const int32_t distance = rt_schema_edit_distance(op_type, name, foreign ? 0 : most / 2);
    if (distance < 0 || 2 * distance + foreign >= most) continue;
    most = 2 * distance + foreign;
    nearest = schema;
  }
  return nearest;
}

const rt_schema_attribute *rt_schema_attribute_find_near(const rt_schema *schema,
                                                         ops_str name) {
  const rt_schema_attribute *nearest = NULL;
  int32_t most = tolerance(name);
  for (int32_t i = 0; i < schema->attribute_count; ++i) {
    const ops_str other = {schema->attributes[i].name, strlen(schema->attributes[i].name)};
    const int32_t distance = rt_schema_edit_distance(name, other, most);
    if (distance < 0) continue;
    most = distance - 1;
    nearest = &schema->attributes[i];
    if (distance == 0) break;
  }
  return nearest;
}
