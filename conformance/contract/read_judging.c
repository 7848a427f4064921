// SPDX-License-Identifier: Apache-2.0
//
// The section `judging`: what judges need to know beside tolerances.
#include <ops_support/error.h>
#include <stddef.h>

#include "contract/reader.h"

static int32_t read_input(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                          void *out) {
  uint32_t index;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_param(reader, node, false, &index));
  *(int32_t *)out = (int32_t)index;
  return OPS_OK;
}

static int32_t read_output(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                           void *out) {
  (void)field;
  return oc_reader_param(reader, node, true, out);
}

static int32_t read_inputs(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                           void *out) {
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of inputs"));
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    uint32_t index;
    OPS_RETURN_IF_ERROR(oc_reader_param(reader, child, false, &index));
    *(uint64_t *)out |= (uint64_t)1 << index;
  }
  return OPS_OK;
}

#define LAW(member) offsetof(oc_law, member)
static const oc_field law_fields[] = {
    {"output", "output", true, read_output, LAW(output), NULL, "whose elements follow it"},
    {"law", "one of uniform, normal, bernoulli, categorical, dropped, kept", true, oc_read_word,
     LAW(kind), &oc_words_law, "the distribution"},
    {"low", "expression", false, oc_read_expr, LAW(a), NULL, "uniform: from it on"},
    {"high", "expression", false, oc_read_expr, LAW(b), NULL, "uniform: up to it"},
    {"mean", "expression", false, oc_read_expr, LAW(a), NULL, "normal"},
    {"deviation", "expression", false, oc_read_expr, LAW(b), NULL, "normal: its standard one"},
    {"of", "input", false, read_input, LAW(of), NULL,
     "bernoulli: probabilities; categorical: rows of logits; dropped: what elements are kept "
     "of"},
    {"share", "input", false, read_input, LAW(share), NULL,
     "dropped, kept: the share that is not kept; else one half"},
};
const oc_grammar oc_grammar_law = {"law", "How the elements of an output are distributed.",
                                   law_fields, sizeof(law_fields) / sizeof(oc_field)};

static int32_t check_law(oc_reader *reader, const oc_yaml_node *node, const oc_law *law) {
  const bool pair = law->kind == OC_LAW_UNIFORM || law->kind == OC_LAW_NORMAL;
  const bool named = !pair && law->kind != OC_LAW_KEPT;
  if (pair && (!law->a || !law->b)) {
    return oc_reader_fail(reader, node, "this law needs the keys %s",
                          law->kind == OC_LAW_NORMAL ? "mean and deviation" : "low and high");
  }
  if (!named || law->of >= 0) return OPS_OK;
  return oc_reader_fail(reader, node, "this law needs the key \"of\"");
}

static int32_t read_laws(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                         void *out) {
  oc_judging *judging = out;
  (void)field;
  OPS_RETURN_IF_ERROR(oc_reader_expect(reader, node, OC_YAML_LIST, "a list of laws"));
  oc_law *laws = oc_arena_alloc(reader->arena, node->count, sizeof(*laws));
  if (!laws) return oc_reader_no_memory(reader);
  for (const oc_yaml_node *child = node->first; child; child = child->next) {
    oc_law *law = &laws[judging->law_count++];
    *law = (oc_law){.of = -1, .share = -1};
    OPS_RETURN_IF_ERROR(oc_read_record(reader, child, &oc_grammar_law, law));
    OPS_RETURN_IF_ERROR(check_law(reader, child, law));
  }
  judging->laws = laws;
  return OPS_OK;
}

#define JUDGING(member) offsetof(oc_judging, member)
static const oc_field judging_fields[] = {
    {"decided_by", "list of inputs", false, read_inputs, JUDGING(decided_by), NULL,
     "judge decision: drawn again while they lie within 2^-16 of a threshold"},
    {"unordered", "expression", false, oc_read_expr, JUDGING(unordered), NULL,
     "judge index: true where results along `axis` come in any order"},
    {"axis", "expression", false, oc_read_expr, JUDGING(axis), NULL,
     "judge index: of the results"},
    {"of", "input", false, read_input, JUDGING(of), NULL,
     "judge index: the input whose elements results name along `axis`"},
    {"laws", "list of law", false, read_laws, 0, NULL, "judge random: one for each output"},
};
const oc_grammar oc_grammar_judging = {"judging", "What judges need beside tolerances.",
                                       judging_fields,
                                       sizeof(judging_fields) / sizeof(oc_field)};
