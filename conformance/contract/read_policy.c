// SPDX-License-Identifier: Apache-2.0
//
// The sections `execution`, `scheduling`, `precision`, `performance` and `record`.
#include <ops_support/error.h>
#include <stddef.h>
#include <string.h>

#include "contract/reader.h"

static int32_t read_layouts(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  oc_execution *execution = out;
  (void)field;
  return oc_reader_texts(reader, node, &execution->layouts, &execution->layout_count);
}

static int32_t read_inplace(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  oc_execution *execution = out;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of pairs"));
  oc_inplace *pairs = oc_arena_alloc(reader->arena, node->count, sizeof(*pairs));
  if (!pairs) return oc_reader_no_memory(reader);
  size_t i = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next, ++i) {
    OPS_RETURN_IF_ERROR(oc_reader_expect(reader, child, OC_YAML_LIST, "[input, output]"));
    if (child->count != 2) return oc_reader_fail(reader, child, "expected [input, output]");
    OPS_RETURN_IF_ERROR(oc_reader_param(reader, child->first, false, &pairs[i].input));
    OPS_RETURN_IF_ERROR(oc_reader_param(reader, child->first->next, true, &pairs[i].output));
  }
  execution->inplace = pairs;
  execution->inplace_count = i;
  return OPS_OK;
}

#define EXECUTION(member) offsetof(oc_execution, member)
static const oc_field execution_fields[] = {
    {"layouts", "list of names", false, read_layouts, 0, NULL, "memory layouts that must work"},
    {"strides", "one of none, optional, required", false, oc_read_word, EXECUTION(strides),
     &oc_words_strides, "whether inputs may have strides of their own"},
    {"inplace", "list of [input, output]", false, read_inplace, 0, NULL,
     "pairs that may share memory"},
    {"determinism", "one of none, run, bitwise", false, oc_read_word, EXECUTION(determinism),
     &oc_words_determinism, "run: same addresses give the same bits; bitwise: also others"},
    {"threads", "one of reentrant, serial", false, oc_read_word, EXECUTION(threads),
     &oc_words_threads, "whether runs may overlap"},
};
const oc_grammar oc_grammar_execution = {"execution", "How an implementation may run.",
                                         execution_fields,
                                         sizeof(execution_fields) / sizeof(oc_field)};

static int32_t read_fusion(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                           void *out) {
  oc_scheduling *scheduling = out;
  (void)field;
  return oc_reader_texts(reader, node, &scheduling->fusion, &scheduling->fusion_count);
}

#define SCHEDULING(member) offsetof(oc_scheduling, member)
static const oc_field scheduling_fields[] = {
    {"async", "one of allowed, forbidden", false, oc_read_word, SCHEDULING(async),
     &oc_words_async, "whether execute may return before the work is done"},
    {"dynamic_shape", "one of static, bounded, dynamic, data_dependent", false, oc_read_word,
     SCHEDULING(dynamic_shape), &oc_words_dynamic, "what decides output shapes"},
    {"prepares", "integer", false, oc_read_count, SCHEDULING(prepares), NULL,
     "at most this many per distinct shape"},
    {"fusion", "list of operators", false, read_fusion, 0, NULL,
     "operators that may be absorbed as post-operations"},
};
const oc_grammar oc_grammar_scheduling = {"scheduling", "How a host may schedule it.",
                                          scheduling_fields,
                                          sizeof(scheduling_fields) / sizeof(oc_field)};

static int32_t read_accumulate(oc_reader *reader, const oc_yaml_node *node,
                               const oc_field *field, void *out) {
  oc_precision *precision = out;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "type: type"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    const oc_yaml_node key = {.kind = OC_YAML_SCALAR,
                              .text = child->key,
                              .line = child->key_line,
                              .column = child->key_column};
    int type = 0;
    OPS_RETURN_IF_ERROR(oc_reader_word(reader, &key, &oc_words_type, &type));
    OPS_RETURN_IF_ERROR(oc_read_type(reader, child, field, &precision->accumulate[type]));
  }
  return OPS_OK;
}

#define TOLERANCE(member) offsetof(oc_tolerance, member)
static const oc_field tolerance_fields[] = {
    {"ulp", "expression", false, oc_read_expr, TOLERANCE(ulp), NULL,
     "judge ulp: the limit in ULP of the accumulation type"},
    {"absolute", "expression", false, oc_read_expr, TOLERANCE(absolute), NULL,
     "judge ulp: an error up to this passes too"},
    {"k", "expression", false, oc_read_expr, TOLERANCE(k), NULL,
     "judge dot: the number of products summed in one result"},
    {"cap", "expression", false, oc_read_expr, TOLERANCE(cap), NULL,
     "judge conditioned: where 4 deviations of the oracle exceed it the case proves nothing"},
};
const oc_grammar oc_grammar_tolerance = {"tolerance", "The accuracy that one profile asks for.",
                                         tolerance_fields,
                                         sizeof(tolerance_fields) / sizeof(oc_field)};

static int32_t read_profile(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  oc_tolerance *tolerance = out;
  tolerance->given = true;
  return oc_read_record(reader, node, field->extra, tolerance);
}

#define PROFILE_FIELD(constant, word) \
  {word,                              \
   "tolerance",                       \
   constant == OC_PROFILE_STANDARD,   \
   read_profile,                      \
   constant * sizeof(oc_tolerance),   \
   &oc_grammar_tolerance,             \
   "for this profile"},
static const oc_field profile_fields[] = {OC_PROFILE_LIST(PROFILE_FIELD)};
const oc_grammar oc_grammar_profiles = {
    "tolerance per profile", "A profile that is not given takes the tolerance of `standard`.",
    profile_fields, sizeof(profile_fields) / sizeof(oc_field)};

#define PRECISION(member) offsetof(oc_precision, member)
static const oc_field special_fields[] = {
    {"nan", "one of profile, propagate, any", false, oc_read_word, PRECISION(nan),
     &oc_words_nan, "results expected to be NaN"},
    {"infinity", "one of profile, exact, any", false, oc_read_word, PRECISION(infinity),
     &oc_words_infinity, "results expected to be infinite"},
    {"signed_zero", "one of merged, distinct", false, oc_read_word, PRECISION(signed_zero),
     &oc_words_signed_zero, "whether -0 differs from +0"},
    {"denormal", "one of profile, preserve, any", false, oc_read_word, PRECISION(denormal),
     &oc_words_denormal, "results expected to be denormal"},
};
const oc_grammar oc_grammar_special = {
    "special", "Results that are not ordinary numbers; `profile` leaves them to the profile.",
    special_fields, sizeof(special_fields) / sizeof(oc_field)};

static const oc_field precision_fields[] = {
    {"accumulate", "type: type", false, read_accumulate, 0, NULL,
     "the type in which results of a type are computed, where it is not that type"},
    {"tolerance", "tolerance per profile", false, oc_read_nested, PRECISION(tolerance),
     &oc_grammar_profiles, "needs `source`"},
    {"special", "special", false, oc_read_nested, 0, &oc_grammar_special,
     "NaN, infinities, zeros, denormals"},
    {"transformed", "true, false", false, oc_read_bool, PRECISION(transformed), NULL,
     "implementations may use Winograd or FFT: exact-integer fills need not match exactly"},
    {"source", "text", false, oc_read_text, PRECISION(source), NULL,
     "where the numbers of `tolerance` come from"},
};
const oc_grammar oc_grammar_precision = {"precision", "How near a result must be.",
                                         precision_fields,
                                         sizeof(precision_fields) / sizeof(oc_field)};

// Performance points.
#define PERFORMANCE(member) offsetof(oc_performance, member)
static const oc_field stage_fields[] = {
    {"baseline", "number", false, oc_read_real, PERFORMANCE(stage_baseline), NULL,
     "share of the yardstick's speed for maturity 2"},
    {"optimized", "number", false, oc_read_real, PERFORMANCE(stage_optimized), NULL,
     "share of the yardstick's speed for maturity 3"},
};
const oc_grammar oc_grammar_stages = {"stages", "Shares of the yardstick's speed.",
                                      stage_fields, sizeof(stage_fields) / sizeof(oc_field)};
static const oc_field regress_fields[] = {
    {"median", "percentage", false, oc_read_share, PERFORMANCE(regress_median), NULL,
     "how much slower the median may become"},
    {"p95", "percentage", false, oc_read_share, PERFORMANCE(regress_p95), NULL,
     "how much slower the 95th percentile may become"},
};
const oc_grammar oc_grammar_regress = {"regress", "Margins of a regression.", regress_fields,
                                       sizeof(regress_fields) / sizeof(oc_field)};
static const oc_field budget_fields[] = {
    {"p95_ms", "number", false, oc_read_real, PERFORMANCE(budget_p95_ms), NULL, "milliseconds"},
    {"first_run_ms", "number", false, oc_read_real, PERFORMANCE(budget_first_run_ms), NULL,
     "milliseconds"},
    {"jitter_ms", "number", false, oc_read_real, PERFORMANCE(budget_jitter_ms), NULL,
     "milliseconds"},
    {"prepare_ms", "number", false, oc_read_real, PERFORMANCE(budget_prepare_ms), NULL,
     "milliseconds"},
};
const oc_grammar oc_grammar_budget = {"budget", "Limits in milliseconds.", budget_fields,
                                      sizeof(budget_fields) / sizeof(oc_field)};

// A point as it stands in the file: contents need the shapes, whichever comes first.
typedef struct point_draft {
  oc_performance point;
  const oc_yaml_node *inputs;
  const oc_yaml_node *values;
  const oc_yaml_node *ranges;
} point_draft;

static int32_t read_point_node(oc_reader *reader, const oc_yaml_node *node,
                               const oc_field *field, void *out) {
  (void)reader;
  (void)field;
  *(const oc_yaml_node **)out = node;
  return OPS_OK;
}

static int32_t read_point_constants(oc_reader *reader, const oc_yaml_node *node,
                                    const oc_field *field, void *out) {
  oc_performance *point = out;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of inputs"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    uint32_t index;
    OPS_RETURN_IF_ERROR(oc_reader_param(reader, child, false, &index));
    point->constants |= (uint32_t)1 << index;
  }
  return OPS_OK;
}

static int32_t read_point_attributes(oc_reader *reader, const oc_yaml_node *node,
                                     const oc_field *field, void *out) {
  oc_performance *point = out;
  (void)field;
  oc_value *values =
      oc_arena_alloc(reader->arena, reader->contract->attribute_count, sizeof(*values));
  if (!values) return oc_reader_no_memory(reader);
  point->attributes = values;
  return oc_reader_fixed_attributes(reader, node, false, values);
}

static const oc_field performance_fields[] = {
    {"name", "name", true, oc_read_name, PERFORMANCE(name), NULL, "unique in the contract"},
    {"inputs", "input: shape", true, read_point_node, offsetof(point_draft, inputs), NULL,
     "shapes"},
    {"values", "input: number or list", false, read_point_node, offsetof(point_draft, values),
     NULL, "constant contents, as in a row"},
    {"ranges", "input: interval", false, read_point_node, offsetof(point_draft, ranges), NULL,
     "replaces the range of the parameter"},
    {"constants", "list of inputs", false, read_point_constants, 0, NULL,
     "those that are constants of the graph, such as weights; those in values are, too"},
    {"attributes", "attribute: value", false, read_point_attributes, 0, NULL, "of the node"},
    {"type", "type", true, oc_read_type, PERFORMANCE(type), NULL, "of the first type variable"},
    {"bytes", "expression", false, oc_read_expr, PERFORMANCE(bytes), NULL,
     "memory traffic that cannot be avoided"},
    {"flops", "expression", false, oc_read_expr, PERFORMANCE(flops), NULL, "arithmetic"},
    {"stages", "stages", false, oc_read_nested, 0, &oc_grammar_stages, "aims"},
    {"yardstick", "name", false, oc_read_name, PERFORMANCE(yardstick), NULL,
     "a provider, or roofline"},
    {"regress", "regress", false, oc_read_nested, 0, &oc_grammar_regress, "margins"},
    {"budget", "budget", false, oc_read_nested, 0, &oc_grammar_budget, "limits"},
};
const oc_grammar oc_grammar_performance = {"performance", "One measured shape.",
                                           performance_fields,
                                           sizeof(performance_fields) / sizeof(oc_field)};

// Shapes, contents, and room for the attributes that the entry does not name.
static int32_t finish_point(oc_reader *reader, const oc_yaml_node *node,
                            const point_draft *draft, oc_performance *out_point) {
  const oc_contract *c = reader->contract;
  oc_row_input *inputs = oc_arena_alloc(reader->arena, c->input_count, sizeof(*inputs));
  if (!inputs) return oc_reader_no_memory(reader);
  *out_point = draft->point;
  out_point->at = oc_reader_position(reader, node);
  out_point->inputs = inputs;
  OPS_RETURN_IF_ERROR(oc_reader_row_inputs(reader, draft->inputs, draft->values, inputs));
  OPS_RETURN_IF_ERROR(oc_reader_row_ranges(reader, draft->ranges, inputs));
  for (size_t i = 0; i < c->input_count; ++i) {
    if (inputs[i].contents.kind != OC_VALUE_NONE) out_point->constants |= (uint32_t)1 << i;
  }
  if (out_point->attributes) return OPS_OK;
  out_point->attributes =
      oc_arena_alloc(reader->arena, c->attribute_count, sizeof(*out_point->attributes));
  return out_point->attributes ? OPS_OK : oc_reader_no_memory(reader);
}

int32_t oc_read_performance(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  oc_contract *c = out;
  void *items = NULL;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_read_records(reader, node, &oc_grammar_performance,
                                      sizeof(point_draft), OC_CONTRACT_MAX_PARAMS, &items,
                                      &c->performance_count));
  const point_draft *draft = items;
  oc_performance *points = oc_arena_alloc(reader->arena, c->performance_count, sizeof(*points));
  if (!points) return oc_reader_no_memory(reader);
  c->performance = points;
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    OPS_RETURN_IF_ERROR(finish_point(reader, child, draft++, points++));
  }
  return OPS_OK;
}

// The record that people keep.
static const oc_field provider_fields[] = {
    {"verified_shapes", "text", false, oc_read_text, offsetof(oc_record, verified_shapes), NULL,
     "what has been tried"},
    {"baseline", "text", false, oc_read_text, offsetof(oc_record, baseline), NULL,
     "what it is compared with"},
};
const oc_grammar oc_grammar_provider = {"record of a provider", "What people know about it.",
                                        provider_fields,
                                        sizeof(provider_fields) / sizeof(oc_field)};

static int32_t read_providers(oc_reader *reader, const oc_yaml_node *node,
                              const oc_field *field, void *out) {
  oc_contract *c = out;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_MAP, "provider: record"));
  oc_record *records = oc_arena_alloc(reader->arena, node->count, sizeof(*records));
  if (!records) return oc_reader_no_memory(reader);
  size_t i = 0;
  for (const oc_yaml_node *child = node->first; child; child = child->next, ++i) {
    records[i].provider = child->key;
    OPS_RETURN_IF_ERROR(oc_read_record(reader, child, &oc_grammar_provider, &records[i]));
  }
  c->records = records;
  c->record_count = i;
  return OPS_OK;
}

static int32_t read_limitations(oc_reader *reader, const oc_yaml_node *node,
                                const oc_field *field, void *out) {
  oc_contract *c = out;
  (void)field;
  return oc_reader_texts(reader, node, &c->limitations, &c->limitation_count);
}

static const oc_field record_fields[] = {
    {"providers", "provider: record of a provider", false, read_providers, 0, NULL,
     "by the name of the provider"},
    {"limitations", "list of texts", false, read_limitations, 0, NULL, "known to people"},
};
const oc_grammar oc_grammar_record = {"record", "Kept by people; nothing is judged by it.",
                                      record_fields, sizeof(record_fields) / sizeof(oc_field)};

int32_t oc_read_record_section(oc_reader *reader, const oc_yaml_node *node,
                               const oc_field *field, void *out) {
  (void)field;
  return oc_read_record(reader, node, &oc_grammar_record, out);
}
