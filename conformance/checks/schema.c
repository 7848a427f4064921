// SPDX-License-Identifier: Apache-2.0
//
// Check `schema`: what definitions declare of their arguments against the operators' contracts,
// which agree with the schemas of ONNX. An argument that the schema makes optional must be
// declared so, or a node without it is never claimed and silently runs elsewhere; a sibling
// definition that does without it will do. Arguments beyond those of a contract are of other
// opsets, which one definition may cover, too.
#include <stdio.h>

#include "checks/check.h"
#include "checks/provider_case.h"
#include "ops_support/error.h"

static bool is_of(const ops_kernel_def *def, const oc_contract *contract) {
  const int32_t until = def->until ? def->until : INT32_MAX;
  return oc_provider_def_is_of(def, contract) && def->since <= contract->until &&
         until >= contract->since;
}

static uint64_t count_of(const ops_kernel_def *def, bool inputs) {
  return inputs ? def->input_count : def->output_count;
}

static const ops_arg_def *arg_of(const ops_kernel_def *def, bool inputs, size_t i) {
  const char *args = (const char *)(inputs ? def->inputs : def->outputs);
  const uint64_t stride = inputs ? def->input_stride : def->output_stride;
  return (const ops_arg_def *)(const void *)(args + i * stride);
}

// Whether the definition takes a node that lacks the argument.
static bool does_without(const ops_kernel_def *def, bool inputs, size_t i) {
  return i >= count_of(def, inputs) ||
         (arg_of(def, inputs, i)->flags & (OPS_ARG_OPTIONAL | OPS_ARG_VARIADIC));
}

static uint64_t main_types(const ops_kernel_def *def) {
  return def->input_count ? arg_of(def, true, 0)->types : arg_of(def, false, 0)->types;
}

// Another definition of the same operator, opsets and types that does without the argument.
static bool has_sibling(const ops_provider *provider, const ops_kernel_def *def,
                        const oc_contract *contract, bool inputs, size_t i) {
  for (uint64_t k = 0; k < provider->kernel_count; ++k) {
    const ops_kernel_def *other = oc_provider_def_at(provider, k);
    if (is_of(other, contract) && (main_types(other) & main_types(def)) == main_types(def) &&
        does_without(other, inputs, i)) {
      return true;
    }
  }
  return false;
}

static bool check_side(oc_trial *trial, const ops_kernel_def *def, const oc_contract *contract,
                       bool inputs) {
  const ops_provider *provider = trial->bench->candidate.provider;
  const oc_param *params = inputs ? contract->inputs : contract->outputs;
  const size_t count = inputs ? contract->input_count : contract->output_count;
  const char *what = inputs ? "input" : "output";
  for (size_t i = 0; i < count; ++i) {
    if (!params[i].optional || does_without(def, inputs, i) ||
        has_sibling(provider, def, contract, inputs, i)) {
      continue;
    }
    return oc_provider_fails(
        trial,
        "kernel '%.*s' (%.*s-%d): %s %zu '%s' is optional in the schema, "
        "but not declared OPS_ARG_OPTIONAL: nodes without it are never claimed",
        OPS_STR_FMT(def->name), OPS_STR_FMT(def->op), def->since, what, i, params[i].name);
  }
  return true;
}

static bool check_contract(oc_trial *trial, const oc_contract *contract) {
  const ops_provider *provider = trial->bench->candidate.provider;
  for (uint64_t i = 0; i < provider->kernel_count; ++i) {
    const ops_kernel_def *def = oc_provider_def_at(provider, i);
    if (!is_of(def, contract)) continue;
    if (!check_side(trial, def, contract, true) || !check_side(trial, def, contract, false)) {
      return false;
    }
  }
  return true;
}

bool oc_schema_arguments(oc_trial *trial) {
  const oc_cases *cases = trial->bench->cases;
  const oc_contract *last = NULL;
  for (size_t i = 0; i < cases->count; ++i) {
    const oc_contract *contract = cases->items[i].contract;
    if (contract == last || cases->items[i].provider_case) continue;
    if (!check_contract(trial, contract)) return false;
    last = contract;
  }
  return true;
}
