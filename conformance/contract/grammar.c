// SPDX-License-Identifier: Apache-2.0
//
// The top of the grammar, and its documentation printed from the same tables.
#include <ops_support/error.h>
#include <stddef.h>
#include <string.h>

#include "contract/reader.h"

static int32_t read_version(oc_reader *reader, const oc_yaml_node *node, const oc_field *field,
                            void *out) {
  int64_t version = 0;
  (void)field;
  (void)out;
  OPS_RETURN_IF_ERROR(oc_reader_int(reader, node, &version));
  if (version == OC_CONTRACT_FORMAT) return OPS_OK;
  return oc_reader_fail(
      reader, node,
      "contract format %lld; this reader knows format %d: update the reader or "
      "rewrite the file as contracts/schema/format.md describes",
      (long long)version, OC_CONTRACT_FORMAT);
}

#define CONTRACT(member) offsetof(oc_contract, member)
static const oc_field opset_fields[] = {
    {"since", "integer", true, oc_read_count, CONTRACT(since), NULL,
     "the version at which cases build the node"},
    {"until", "integer", false, oc_read_count, CONTRACT(until), NULL,
     "the last version with this meaning; else there is no end"},
};
const oc_grammar oc_grammar_opset = {"opset",
                                     "The versions of the operator set for which the "
                                     "contract holds.",
                                     opset_fields, sizeof(opset_fields) / sizeof(oc_field)};

static const oc_field contract_fields[] = {
    {"contract", "integer", true, read_version, 0, NULL, "version of this format: 1"},
    {"op", "name", true, oc_read_name, CONTRACT(op), NULL, "operator"},
    {"domain", "name", true, oc_read_name, CONTRACT(domain), NULL,
     "ai.onnx for the standard one"},
    {"opset", "opset", true, oc_read_nested, 0, &oc_grammar_opset, "versions"},
    {"reference", "text", true, oc_read_text, CONTRACT(reference), NULL,
     "the text that defines the operator"},
    {"kind", "one of atomic, composite", true, oc_read_word, CONTRACT(kind), &oc_words_kind,
     "composite: could be written with other operators"},
    {"judge", "one of exact, ulp, dot, quantised, index, decision, conditioned, random", true,
     oc_read_word, CONTRACT(judge), &oc_words_judge, "how results are compared"},
    {"semantic", "semantic", true, oc_read_semantic, 0, NULL, "what it takes and gives"},
    {"execution", "execution", false, oc_read_nested, CONTRACT(execution),
     &oc_grammar_execution, "how an implementation may run"},
    {"scheduling", "scheduling", false, oc_read_nested, CONTRACT(scheduling),
     &oc_grammar_scheduling, "how a host may schedule it"},
    {"precision", "precision", false, oc_read_nested, CONTRACT(precision),
     &oc_grammar_precision, "how near a result must be"},
    {"judging", "judging", false, oc_read_nested, CONTRACT(judging), &oc_grammar_judging,
     "what the judge needs to know besides"},
    {"cases", "cases", true, oc_read_cases, 0, NULL, "what is tried"},
    {"performance", "list of performance", false, oc_read_performance, 0, NULL,
     "what is measured"},
    {"record", "record", false, oc_read_record_section, 0, NULL, "kept by people"},
};
static const oc_grammar oc_grammar_contract = {"contract", "One YAML document.",
                                               contract_fields,
                                               sizeof(contract_fields) / sizeof(oc_field)};

static void set_defaults(oc_contract *contract) {
  contract->until = INT32_MAX;
  contract->execution.strides = OC_STRIDES_OPTIONAL;
  contract->execution.determinism = OC_DETERMINISM_RUN;
  contract->scheduling.dynamic_shape = OC_DYNAMIC_DYNAMIC;
  contract->scheduling.prepares = 1;
  contract->judging.of = -1;
  for (int i = 0; i < OPS_TYPE_COUNT; ++i) contract->precision.accumulate[i] = i;
}

int32_t oc_read_contract(oc_reader *reader, const oc_yaml_node *document) {
  reader->contract->file = reader->file;
  reader->contract->at = oc_reader_position(reader, document);
  set_defaults(reader->contract);
  OPS_RETURN_IF_ERROR(oc_read_record(reader, document, &oc_grammar_contract, reader->contract));
  reader->contract->op_at = oc_reader_position(reader, oc_yaml_get(document, "op"));
  return oc_check_contract(reader, document);
}

extern const oc_grammar oc_grammar_semantic, oc_grammar_input, oc_grammar_output,
    oc_grammar_attribute, oc_grammar_constraint, oc_grammar_broken, oc_grammar_invariant,
    oc_grammar_tolerance, oc_grammar_profiles, oc_grammar_special, oc_grammar_cases,
    oc_grammar_row, oc_grammar_error, oc_grammar_stages, oc_grammar_regress, oc_grammar_budget,
    oc_grammar_performance, oc_grammar_record, oc_grammar_provider, oc_grammar_law;

void oc_grammar_print_tables(FILE *stream, const oc_grammar *const *tables, size_t count) {
  fprintf(stream, "Printed from the tables that read these files; a test compares the two.\n");
  for (size_t i = 0; i < count; ++i) {
    fprintf(stream,
            "\n## %s\n%s\n\n| key | form | required | meaning |\n| --- | --- | --- | --- |\n",
            tables[i]->name, tables[i]->help);
    for (size_t j = 0; j < tables[i]->count; ++j) {
      const oc_field *field = &tables[i]->fields[j];
      fprintf(stream, "| %s | %s | %s | %s |\n", field->name, field->form,
              field->required ? "yes" : "", field->help);
    }
  }
}

void oc_grammar_print(FILE *stream) {
  static const oc_grammar *const all[] = {
      &oc_grammar_contract,   &oc_grammar_opset,      &oc_grammar_semantic,
      &oc_grammar_input,      &oc_grammar_output,     &oc_grammar_attribute,
      &oc_grammar_constraint, &oc_grammar_broken,     &oc_grammar_invariant,
      &oc_grammar_execution,  &oc_grammar_scheduling, &oc_grammar_precision,
      &oc_grammar_profiles,   &oc_grammar_tolerance,  &oc_grammar_special,
      &oc_grammar_judging,    &oc_grammar_law,        &oc_grammar_cases,
      &oc_grammar_row,        &oc_grammar_error,      &oc_grammar_performance,
      &oc_grammar_stages,     &oc_grammar_regress,    &oc_grammar_budget,
      &oc_grammar_record,     &oc_grammar_provider,
  };
  fprintf(stream, "# The keys of a contract, format %d\n\n", OC_CONTRACT_FORMAT);
  oc_grammar_print_tables(stream, all, sizeof(all) / sizeof(all[0]));
}
