// SPDX-License-Identifier: Apache-2.0
//
// Check `rewrite`: wherever a rule of the provider applies, what it builds gives the results of
// what it replaces. Graphs that match the rule's pattern are generated, apply is asked, and
// both sides are evaluated on the oracle. Patterns of Reshape, Transpose, Reshape get every
// permutation of the split axes of an image; other nodes get shapes that broadcast and
// attributes of their contracts' cases. A rule that never applies is not proven: UNTRUSTED.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/random.h"
#include "checks/check.h"
#include "checks/provider_case.h"
#include "checks/scratch.h"
#include "ops_support/error.h"

#define MAX_NODES 8
#define MAX_INPUTS 4
#define NEWEST_OPSET 21
#define DRAWS 64
#define RELATIVE 1e-5  // of the largest value: both sides round as they like

// One side under construction.
struct ops_rewrite_builder {
  oc_scratch *scratch;
  int64_t replacement;  // of output 0 of the last node, -1: none yet
  bool elsewhere;       // another output was replaced
};

// A graph that matches a pattern.
typedef struct match {
  oc_trial *trial;
  const ops_rewrite *rule;
  oc_scratch scratch;
  ops_node nodes[MAX_NODES];
  ops_operand inputs[MAX_NODES][MAX_INPUTS];
  ops_operand outputs[MAX_NODES];
  ops_attribute attributes[MAX_NODES][OC_CONTRACT_MAX_PARAMS];
  float floats[MAX_NODES][OC_CONTRACT_MAX_PARAMS];
  ops_str strings[MAX_NODES][OC_CONTRACT_MAX_PARAMS];
  int64_t results[MAX_NODES];
  oc_random random;
  size_t applied;
} match;

static const ops_pattern_node *pattern_at(const ops_rewrite *rule, uint64_t i) {
  return (const ops_pattern_node *)((const char *)rule->pattern + i * rule->pattern_stride);
}

static bool is_op(ops_str op, const char *name) {
  return op.size == strlen(name) && memcmp(op.data, name, op.size) == 0;
}

// ---- The host's side of apply ---------------------------------------------------------------

static int32_t add_node(ops_rewrite_builder *builder, const ops_node *node, int64_t *out_values,
                        uint64_t output_count, ops_error *error) {
  ops_node counted = *node;
  counted.output_count = output_count;
  return oc_scratch_run(builder->scratch, &counted, out_values, error);
}

static int32_t add_constant(ops_rewrite_builder *builder, const ops_constant *constant,
                            int64_t *out_value, ops_error *error) {
  const ops_tensor *tensor = &constant->dense.tensor;
  if (constant->format != OPS_CONSTANT_DENSE || constant->dense.kind != OPS_ARG_TENSOR) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "only dense tensors are tried here");
  }
  OPS_RETURN_IF_ERROR(oc_scratch_add(builder->scratch, tensor->type, constant->rank,
                                     constant->dims, true, out_value, error));
  const oc_array *array = &builder->scratch->values[*out_value];
  memcpy(array->data, (const char *)tensor->memory + tensor->byte_offset, array->bytes);
  return OPS_OK;
}

static int32_t set_output(ops_rewrite_builder *builder, uint64_t index, int64_t value,
                          ops_error *error) {
  if (index != 0) {
    builder->elsewhere = true;
    return OPS_OK;
  }
  if (value < 0 || (size_t)value >= builder->scratch->count) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "set_output: the graph has no value %lld", (long long)value);
  }
  builder->replacement = value;
  return OPS_OK;
}

static const ops_rewrite_api kApi = {.struct_size = sizeof kApi,
                                     .add_node = add_node,
                                     .add_constant = add_constant,
                                     .set_output = set_output};

// ---- Comparing ------------------------------------------------------------------------------

static double largest(const oc_array *array) {
  double most = 0;
  for (int64_t i = 0; i < array->count; ++i) {
    const double value = fabs(oc_element_load(array->type, array->data, (uint64_t)i));
    if (isfinite(value) && value > most) most = value;
  }
  return most;
}

static bool same_shape(const oc_array *a, const oc_array *b) {
  if (a->type != b->type || a->rank != b->rank) return false;
  return memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static bool compare(match *match, const oc_array *want, const oc_array *got) {
  const ops_str name = match->rule->name;
  char have[200], expected[200];
  if (!same_shape(want, got)) {
    oc_array_print_shape(want->rank, want->dims, expected, sizeof expected);
    oc_array_print_shape(got->rank, got->dims, have, sizeof have);
    return oc_provider_fails(match->trial,
                             "rewrite '%.*s': expected %s%s, what it builds gives %s%s",
                             OPS_STR_FMT(name), oc_element_name(want->type), expected,
                             oc_element_name(got->type), have);
  }
  const double limit = RELATIVE * largest(want);
  for (int64_t i = 0; i < want->count; ++i) {
    const double a = oc_element_load(want->type, want->data, (uint64_t)i);
    const double b = oc_element_load(got->type, got->data, (uint64_t)i);
    if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= limit) continue;
    oc_array_print_shape(want->rank, want->dims, expected, sizeof expected);
    return oc_provider_fails(
        match->trial,
        "rewrite '%.*s': element %lld of %s: the nodes it replaces give %.9g, "
        "what it builds gives %.9g",
        OPS_STR_FMT(name), (long long)i, expected, a, b);
  }
  return true;
}

// ---- Asking ---------------------------------------------------------------------------------

static int32_t apply(match *match, ops_rewrite_builder *builder, ops_error *error) {
  const ops_node *nodes[MAX_NODES];
  for (uint64_t i = 0; i < match->rule->pattern_count; ++i) nodes[i] = &match->nodes[i];
  *builder = (ops_rewrite_builder){.scratch = &match->scratch, .replacement = -1};
  return match->rule->apply(match->trial->bench->candidate.device, nodes,
                            match->rule->pattern_count, &kApi, builder, error);
}

// The graph is complete: asks twice, and compares where the rule applies.
static bool ask(match *match) {
  const ops_str name = match->rule->name;
  ops_rewrite_builder first, second;
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = apply(match, &first, &error);
  if (status == OPS_ERROR_UNSUPPORTED) return true;
  if (status != OPS_OK) {
    return oc_provider_fails(match->trial, "rewrite '%.*s': apply ends with %s: %.400s",
                             OPS_STR_FMT(name), ops_status_name(status), error.message);
  }
  if (apply(match, &second, &error) != OPS_OK) {
    return oc_provider_fails(match->trial, "rewrite '%.*s': asked twice, it applies once",
                             OPS_STR_FMT(name));
  }
  if (first.replacement < 0 && !first.elsewhere) {
    return oc_provider_fails(match->trial, "rewrite '%.*s': applies, but replaces no output",
                             OPS_STR_FMT(name));
  }
  ++match->applied;
  if (first.replacement < 0) return true;
  const oc_array *values = match->scratch.values;
  const int64_t last = match->results[match->rule->pattern_count - 1];
  return compare(match, &values[last], &values[first.replacement]) &&
         compare(match, &values[last], &values[second.replacement]);
}

// ---- Building graphs ------------------------------------------------------------------------

static int32_t draw_value(match *match, int32_t rank, const int64_t *dims, int64_t *out_value,
                          ops_error *error) {
  OPS_RETURN_IF_ERROR(
      oc_scratch_add(&match->scratch, OPS_TYPE_FLOAT, rank, dims, false, out_value, error));
  const oc_array *array = &match->scratch.values[*out_value];
  for (int64_t i = 0; i < array->count; ++i) {
    oc_element_store(OPS_TYPE_FLOAT, array->data, (uint64_t)i,
                     oc_random_normal(&match->random));
  }
  return OPS_OK;
}

static int32_t add_shape(match *match, int32_t rank, const int64_t *dims, int64_t *out_value,
                         ops_error *error) {
  const int64_t length[1] = {rank};
  OPS_RETURN_IF_ERROR(
      oc_scratch_add(&match->scratch, OPS_TYPE_INT64, 1, length, true, out_value, error));
  memcpy(match->scratch.values[*out_value].data, dims, (size_t)rank * sizeof *dims);
  return OPS_OK;
}

static int32_t opset_of(const ops_pattern_node *pattern) {
  const int32_t until = pattern->until ? pattern->until : NEWEST_OPSET;
  return until < NEWEST_OPSET ? until : NEWEST_OPSET;
}

// Node `i` with its inputs and attributes in place: runs it on the oracle.
static int32_t finish_node(match *match, uint64_t i, uint64_t inputs, uint64_t attributes,
                           ops_error *error) {
  const ops_pattern_node *pattern = pattern_at(match->rule, i);
  ops_node *node = &match->nodes[i];
  match->outputs[i] = (ops_operand){.struct_size = sizeof(ops_operand)};
  *node = (ops_node){.struct_size = sizeof *node,
                     .name = pattern->op,
                     .domain = pattern->domain,
                     .op = pattern->op,
                     .opset = opset_of(pattern),
                     .attributes = match->attributes[i],
                     .attribute_count = attributes,
                     .attribute_stride = sizeof(ops_attribute),
                     .inputs = match->inputs[i],
                     .input_count = inputs,
                     .input_stride = sizeof(ops_operand),
                     .outputs = &match->outputs[i],
                     .output_count = 1,
                     .output_stride = sizeof(ops_operand)};
  OPS_RETURN_IF_ERROR(oc_scratch_run(&match->scratch, node, &match->results[i], error));
  match->outputs[i] = oc_scratch_operand(&match->scratch, match->results[i]);
  return OPS_OK;
}

static void begin(match *match, uint64_t draw) {
  oc_scratch_finish(&match->scratch);
  oc_scratch_init(&match->scratch, &match->trial->bench->oracle);
  match->random = oc_random_at(draw, 0, 0);
}

// ---- Split, permute, merge ------------------------------------------------------------------

// An image, its axes split to six, and how six permuted axes become four again: by groups.
typedef struct split {
  int64_t image[4], parts[6];
  int8_t groups[4];
} split;

static const split kSplits[] = {
    {{1, 12, 3, 5}, {1, 3, 2, 2, 3, 5}, {1, 1, 2, 2}},
    {{1, 12, 3, 5}, {1, 2, 2, 3, 3, 5}, {1, 1, 2, 2}},
    {{2, 18, 2, 3}, {2, 3, 3, 2, 2, 3}, {1, 1, 2, 2}},
    {{2, 18, 2, 3}, {2, 2, 3, 3, 2, 3}, {1, 1, 2, 2}},
    {{2, 12, 3, 2}, {2, 2, 3, 2, 3, 2}, {1, 1, 2, 2}},
    {{1, 2, 4, 6}, {1, 2, 2, 2, 3, 2}, {1, 3, 1, 1}},
};

static bool is_shuffle(const ops_rewrite *rule) {
  return rule->pattern_count == 3 && is_op(pattern_at(rule, 0)->op, "Reshape") &&
         is_op(pattern_at(rule, 1)->op, "Transpose") &&
         is_op(pattern_at(rule, 2)->op, "Reshape");
}

// The permutation with number `index` of the six axes.
static void permutation(uint32_t index, int64_t perm[6]) {
  int64_t left[6] = {0, 1, 2, 3, 4, 5};
  uint32_t radix = 120;
  for (uint32_t i = 0; i < 6; ++i) {
    const uint32_t at = index / radix;
    perm[i] = left[at];
    memmove(&left[at], &left[at + 1], (5 - i - at) * sizeof *left);
    index %= radix;
    if (i < 5) radix /= 5 - i;
  }
}

static void set_input(match *match, uint64_t node, uint64_t i, int64_t value) {
  match->inputs[node][i] = oc_scratch_operand(&match->scratch, value);
}

static void merge(const split *split, const int64_t *dims, int64_t shape[4]) {
  size_t at = 0;
  for (size_t i = 0; i < 4; ++i) {
    shape[i] = 1;
    for (int8_t k = 0; k < split->groups[i]; ++k) shape[i] *= dims[at++];
  }
}

static bool shuffle_once(match *match, const split *split, const int64_t *perm) {
  ops_error error = OPS_ERROR_INIT;
  int64_t x = 0, parts = 0, shape_of_y = 0, dims[6], shape[4];
  for (int i = 0; i < 6; ++i) dims[i] = split->parts[perm[i]];
  merge(split, dims, shape);
  int32_t status = draw_value(match, 4, split->image, &x, &error);
  if (status == OPS_OK) status = add_shape(match, 6, split->parts, &parts, &error);
  if (status == OPS_OK) status = add_shape(match, 4, shape, &shape_of_y, &error);
  set_input(match, 0, 0, x);
  set_input(match, 0, 1, parts);
  if (status == OPS_OK) status = finish_node(match, 0, 2, 0, &error);
  set_input(match, 1, 0, match->results[0]);
  match->attributes[1][0] = (ops_attribute){.struct_size = sizeof(ops_attribute),
                                            .name = OPS_STR("perm"),
                                            .kind = OPS_ATTRIBUTE_INTS,
                                            .count = 6,
                                            .ints = perm};
  if (status == OPS_OK) status = finish_node(match, 1, 1, 1, &error);
  set_input(match, 2, 0, match->results[1]);
  set_input(match, 2, 1, shape_of_y);
  if (status == OPS_OK) status = finish_node(match, 2, 2, 0, &error);
  if (status == OPS_OK) return ask(match);
  return oc_trial_end(match->trial, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE, "%.500s",
                      error.message);
}

static bool try_shuffles(match *match) {
  uint64_t draw = 0;
  for (size_t i = 0; i < sizeof kSplits / sizeof *kSplits; ++i) {
    for (uint32_t index = 0; index < 720; ++index) {
      int64_t perm[6];
      permutation(index, perm);
      begin(match, ++draw);
      if (!shuffle_once(match, &kSplits[i], perm)) return false;
    }
  }
  return true;
}

// ---- Any pattern ----------------------------------------------------------------------------

typedef struct shape {
  int32_t rank;
  int64_t dims[4];
} shape;

static const shape kShapes[] = {{2, {2, 3}}, {1, {4}}, {3, {2, 1, 3}}, {4, {1, 3, 4, 5}},
                                {2, {1, 1}}, {0, {0}}, {3, {3, 4, 4}}};

// A case of the operator, whose attributes are taken over; NULL: there is none.
static const oc_case *example_of(match *match, const ops_pattern_node *pattern) {
  const oc_cases *cases = match->trial->bench->cases;
  const oc_case *chosen = NULL;
  int64_t seen = 0;
  for (size_t i = 0; i < cases->count; ++i) {
    const oc_case *item = &cases->items[i];
    const bool standard = strcmp(item->contract->domain, "ai.onnx") == 0;
    const bool domain = is_op(pattern->domain, item->contract->domain) ||
                        (standard && pattern->domain.size == 0);
    if (item->provider_case || item->error || !domain) continue;
    if (!is_op(pattern->op, item->contract->op)) continue;
    if (oc_random_integer(&match->random, 0, seen++) == 0) chosen = item;
  }
  return chosen;
}

static uint64_t take_attributes(match *match, uint64_t node, const oc_case *item) {
  uint64_t count = 0;
  const oc_binding binding = oc_case_binding(item);
  for (uint32_t i = 0; i < item->contract->attribute_count; ++i) {
    const oc_value value = oc_binding_attribute(&binding, i);
    const char *name = item->contract->attributes[i].name;
    ops_attribute *attribute = &match->attributes[node][count];
    *attribute = (ops_attribute){
        .struct_size = sizeof *attribute, .name = {name, strlen(name)}, .count = value.count};
    if (value.kind == OC_VALUE_INT || value.kind == OC_VALUE_INTS) {
      attribute->kind = item->contract->attributes[i].type == OC_ATTR_INTS ? OPS_ATTRIBUTE_INTS
                                                                           : OPS_ATTRIBUTE_INT;
      attribute->ints = value.ints;
    } else if (value.kind == OC_VALUE_FLOAT) {
      match->floats[node][i] = (float)value.floats[0];
      attribute->kind = OPS_ATTRIBUTE_FLOAT;
      attribute->floats = &match->floats[node][i];
    } else if (value.kind == OC_VALUE_STRING) {
      match->strings[node][i] = (ops_str){value.strings[0], strlen(value.strings[0])};
      attribute->kind = OPS_ATTRIBUTE_STRING;
      attribute->strings = &match->strings[node][i];
    } else {
      continue;
    }
    ++count;
  }
  return count;
}

// How many inputs the node gets: those of the pattern, and as many as the schema requires.
static uint64_t inputs_of(const ops_pattern_node *pattern, const oc_case *item) {
  uint64_t count = pattern->input_count;
  for (size_t i = count; item && i < item->contract->input_count; ++i) {
    if (!item->contract->inputs[i].optional) count = i + 1;
  }
  return count > 0 ? count : 1;
}

// Builds the nodes in turn. *out_built false: the oracle takes no such node.
static int32_t build_any(match *match, bool *out_built, ops_error *error) {
  *out_built = false;
  for (uint64_t n = 0; n < match->rule->pattern_count; ++n) {
    const ops_pattern_node *pattern = pattern_at(match->rule, n);
    const oc_case *item = example_of(match, pattern);
    const uint64_t count = inputs_of(pattern, item);
    if (count > MAX_INPUTS) return OPS_OK;
    const int64_t last = (int64_t)(sizeof kShapes / sizeof *kShapes) - 1;
    const shape *base = &kShapes[oc_random_integer(&match->random, 0, last)];
    for (uint64_t i = 0; i < count; ++i) {
      const int32_t from = i < pattern->input_count ? pattern->inputs[i] : OPS_PATTERN_ANY;
      int64_t value;
      if (from >= 0) {
        value = match->results[from];
      } else {
        const bool other = oc_random_integer(&match->random, 0, 3) == 0;
        const shape *drawn =
            other ? &kShapes[oc_random_integer(&match->random, 0, last)] : base;
        OPS_RETURN_IF_ERROR(draw_value(match, drawn->rank, drawn->dims, &value, error));
      }
      set_input(match, n, i, value);
    }
    const uint64_t attributes = item ? take_attributes(match, n, item) : 0;
    if (finish_node(match, n, count, attributes, error) != OPS_OK) return OPS_OK;
  }
  *out_built = true;
  return OPS_OK;
}

static bool try_any(match *match) {
  for (uint64_t draw = 1; draw <= DRAWS; ++draw) {
    ops_error error = OPS_ERROR_INIT;
    bool built;
    begin(match, draw);
    const int32_t status = build_any(match, &built, &error);
    if (status != OPS_OK) {
      return oc_trial_end(match->trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "%.500s",
                          error.message);
    }
    if (built && !ask(match)) return false;
  }
  return true;
}

// ---- Entry ----------------------------------------------------------------------------------

// An operator of the pattern that no contract of this run covers, so that its attributes and
// inputs are not known; NULL: there is none.
static const ops_pattern_node *uncovered(match *match) {
  for (uint64_t n = 0; n < match->rule->pattern_count; ++n) {
    if (!example_of(match, pattern_at(match->rule, n))) return pattern_at(match->rule, n);
  }
  return NULL;
}

static bool prove(match *match) {
  const ops_rewrite *rule = match->rule;
  match->applied = 0;
  if (rule->pattern_count <= MAX_NODES) {
    if (!(is_shuffle(rule) ? try_shuffles(match) : try_any(match))) return false;
  }
  if (match->applied > 0) return true;
  const ops_pattern_node *unknown = uncovered(match);
  if (unknown) {
    return oc_trial_end(match->trial, OC_STATUS_UNSUPPORTED, OC_CHECK_REWRITE,
                        "rewrite '%.*s': no contract of this run covers %.*s",
                        OPS_STR_FMT(rule->name), OPS_STR_FMT(unknown->op));
  }
  return oc_trial_end(
      match->trial, OC_STATUS_UNTRUSTED, OC_CHECK_REWRITE,
      "rewrite '%.*s': of the graphs generated for its pattern none makes it apply, "
      "so that nothing is proven; show it with models (--onnx-tests)",
      OPS_STR_FMT(rule->name));
}

bool oc_rewrite_equivalent(oc_trial *trial) {
  const ops_provider *provider = trial->bench->candidate.provider;
  if (provider->rewrite_count == 0) return oc_provider_lacks(trial, "no rewrites");
  match *match = calloc(1, sizeof *match);
  if (!match) return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory");
  bool good = true;
  match->trial = trial;
  for (uint64_t i = 0; good && i < provider->rewrite_count; ++i) {
    match->rule =
        (const ops_rewrite *)((const char *)provider->rewrites + i * provider->rewrite_stride);
    good = prove(match);
  }
  oc_scratch_finish(&match->scratch);
  free(match);
  return good;
}
