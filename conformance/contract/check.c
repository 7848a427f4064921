// SPDX-License-Identifier: Apache-2.0
//
// What no single key of a contract can say: that judge and tolerance fit, that every row is a
// valid node, and that every broken constraint is really broken.
#include <ops_support/error.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "contract/binding.h"
#include "contract/reader.h"

static int32_t fail_at(const oc_reader *reader, oc_position at, const char *what,
                       const char *name, const char *detail) {
  return ops_error_set(reader->error, OPS_ERROR_INVALID_MODEL, "%s:%u:%u: %s \"%s\": %s",
                       at.file, at.line, at.column, what, name, detail);
}

static bool any_given(const oc_precision *precision) {
  for (int i = 0; i < OC_PROFILE_COUNT; ++i) {
    if (precision->tolerance[i].given) return true;
  }
  return false;
}

// What a judge cannot do without.
typedef struct need {
  oc_judge judge;
  size_t expr;  // offset in oc_tolerance
  const char *message;
} need;

static const need kNeeds[] = {
    {OC_JUDGE_ULP, offsetof(oc_tolerance, ulp),
     "the judge `ulp` needs tolerance: standard: ulp"},
    {OC_JUDGE_DOT, offsetof(oc_tolerance, k), "the judge `dot` needs tolerance: standard: k"},
    {OC_JUDGE_CONDITIONED, offsetof(oc_tolerance, cap),
     "the judge `conditioned` needs tolerance: standard: cap"},
};

static int32_t check_judge(const oc_reader *reader, const oc_yaml_node *document,
                           oc_judge judge) {
  const oc_tolerance *standard = &reader->contract->precision.tolerance[OC_PROFILE_STANDARD];
  const oc_yaml_node *precision = oc_yaml_get(document, "precision");
  if (judge == OC_JUDGE_FUSED) {
    return oc_reader_fail(reader, oc_yaml_get(document, "judge"),
                          "the judge `fused` belongs to chains of post-operations, which are "
                          "made of `scheduling: fusion`; no contract names it");
  }
  for (size_t i = 0; i < sizeof(kNeeds) / sizeof(*kNeeds); ++i) {
    const oc_expr *const *expr =
        (const oc_expr *const *)((const char *)standard + kNeeds[i].expr);
    if (kNeeds[i].judge != judge || *expr) continue;
    return oc_reader_fail(reader, precision ? precision : document, "%s", kNeeds[i].message);
  }
  return OPS_OK;
}

static int32_t check_tolerance(const oc_reader *reader, const oc_yaml_node *document) {
  const oc_contract *c = reader->contract;
  const oc_yaml_node *precision = oc_yaml_get(document, "precision");
  const oc_yaml_node *at = precision ? precision : document;
  const bool tolerant = any_given(&c->precision);
  bool all_exact = c->judge == OC_JUDGE_EXACT;
  for (size_t i = 0; i < c->row_count; ++i) {
    all_exact = all_exact && c->rows[i].judge == OC_JUDGE_EXACT;
  }
  if (all_exact && tolerant) {
    return oc_reader_fail(reader, at, "the judge `exact` takes no tolerance");
  }
  if (tolerant && !c->precision.source) {
    return oc_reader_fail(
        reader, at,
        "the tolerance has no source: add `source`, the text its numbers come "
        "from");
  }
  OPS_RETURN_IF_ERROR(check_judge(reader, document, c->judge));
  for (size_t i = 0; i < c->row_count; ++i) {
    OPS_RETURN_IF_ERROR(check_judge(reader, document, c->rows[i].judge));
  }
  return OPS_OK;
}

// A profile that is silent takes what `standard` says.
static void inherit_tolerances(oc_precision *precision) {
  const oc_tolerance standard = precision->tolerance[OC_PROFILE_STANDARD];
  for (int i = 0; i < OC_PROFILE_COUNT; ++i) {
    oc_tolerance *tolerance = &precision->tolerance[i];
    if (!tolerance->given) *tolerance = standard;
    if (!tolerance->ulp) tolerance->ulp = standard.ulp;
    if (!tolerance->absolute) tolerance->absolute = standard.absolute;
    if (!tolerance->k) tolerance->k = standard.k;
    if (!tolerance->cap) tolerance->cap = standard.cap;
  }
}

// Room for one binding of the contract.
typedef struct scratch {
  int32_t *types;
  oc_row_input *inputs;
  oc_value *attributes;
} scratch;

static int32_t make_scratch(const oc_reader *reader, scratch *s) {
  const oc_contract *c = reader->contract;
  s->types = oc_arena_alloc(reader->arena, c->type_var_count, sizeof(*s->types));
  s->inputs = oc_arena_alloc(reader->arena, c->input_count, sizeof(*s->inputs));
  s->attributes = oc_arena_alloc(reader->arena, c->attribute_count, sizeof(*s->attributes));
  return s->types && s->inputs && s->attributes ? OPS_OK : oc_reader_no_memory(reader);
}

static int32_t check_row(const oc_reader *reader, const oc_row *row, scratch *s) {
  const oc_contract *c = reader->contract;
  ops_error error = OPS_ERROR_INIT;
  bool valid = true;
  const char *why = "";
  char text[600];
  int32_t status = oc_row_first(c, row, reader->arena, s->types, s->attributes, &error);
  const oc_binding binding = {
      .contract = c, .types = s->types, .inputs = row->inputs, .attributes = s->attributes};
  if (status == OPS_OK) status = oc_binding_valid(&binding, &valid, &why, &error);
  if (status == OPS_ERROR_OUT_OF_MEMORY) return oc_reader_no_memory(reader);
  if (status != OPS_OK) return fail_at(reader, row->at, "row", row->id, error.message);
  if (valid) return OPS_OK;
  snprintf(text, sizeof(text), "its first assignment is no valid node, this does not hold: %s",
           why);
  return fail_at(reader, row->at, "row", row->id, text);
}

static int32_t check_error_case(const oc_reader *reader, const oc_error_case *item,
                                scratch *s) {
  const oc_contract *c = reader->contract;
  ops_error error = OPS_ERROR_INIT;
  bool holds = false;
  for (size_t i = 0; i < c->attribute_count; ++i) {
    if (item->attributes[i].kind != OC_VALUE_EACH) continue;
    return fail_at(reader, item->at, "error case", item->id, "`each` has no meaning here");
  }
  int32_t status =
      oc_error_case_bind(c, item, reader->arena, s->types, s->inputs, s->attributes, &error);
  const oc_binding binding = {
      .contract = c, .types = s->types, .inputs = s->inputs, .attributes = s->attributes};
  const oc_expr_env env = oc_binding_env(&binding);
  if (status == OPS_OK && item->constraint >= 0) {
    status = oc_expr_eval_bool(c->constraints[item->constraint].check, &env, &holds, &error);
  }
  if (status == OPS_ERROR_OUT_OF_MEMORY) return oc_reader_no_memory(reader);
  if (status != OPS_OK) return fail_at(reader, item->at, "error case", item->id, error.message);
  if (!holds) return OPS_OK;
  return fail_at(reader, item->at, "constraint", item->id,
                 "`broken_by` does not break it, the check still holds");
}

// That a provider refuses a node without it is a promise of the contract like any other.
static int32_t check_required(const oc_reader *reader) {
  const oc_contract *c = reader->contract;
  for (size_t a = 0; a < c->attribute_count; ++a) {
    bool left_out = !c->attributes[a].required;
    for (size_t i = 0; i < c->error_count && !left_out; ++i)
      left_out = c->errors[i].attributes[a].kind == OC_VALUE_ABSENT;
    if (left_out) continue;
    char text[160];
    snprintf(text, sizeof text,
             "it is required, but no error case leaves it out; add to `errors` "
             "{id: no_%.32s, set: {%.32s: absent}}",
             c->attributes[a].name, c->attributes[a].name);
    return fail_at(reader, c->attributes[a].at, "attribute", c->attributes[a].name, text);
  }
  return OPS_OK;
}

static int32_t check_versions(const oc_reader *reader, const oc_yaml_node *document) {
  const oc_contract *c = reader->contract;
  if (c->since >= 1 && c->until >= c->since) return OPS_OK;
  return oc_reader_fail(reader, oc_yaml_get(document, "opset"),
                        "since is at least 1 and not above until; found %d and %d", c->since,
                        c->until);
}

int32_t oc_check_contract(const oc_reader *reader, const oc_yaml_node *document) {
  oc_contract *c = reader->contract;
  scratch s;
  OPS_RETURN_IF_ERROR(check_versions(reader, document));
  OPS_RETURN_IF_ERROR(check_tolerance(reader, document));
  inherit_tolerances(&c->precision);
  OPS_RETURN_IF_ERROR(check_required(reader));
  OPS_RETURN_IF_ERROR(make_scratch(reader, &s));
  for (size_t i = 0; i < c->row_count; ++i) {
    OPS_RETURN_IF_ERROR(check_row(reader, &c->rows[i], &s));
  }
  for (size_t i = 0; i < c->error_count; ++i) {
    OPS_RETURN_IF_ERROR(check_error_case(reader, &c->errors[i], &s));
  }
  return OPS_OK;
}
