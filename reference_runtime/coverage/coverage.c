// SPDX-License-Identifier: Apache-2.0
//
// Providers, types, and the walk itself: an odometer over the types of all constraints. The
// node of a combination is made in node.c.
#include "coverage/coverage.h"

#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coverage/node.h"
#include "loader/host.h"
#include "loader/library.h"

#define MOST_CONSTRAINTS 16

struct rt_coverage_provider {
  ops_library *library;
  ops_host *host;
  ops_instance *instance;
  ops_device *device;
};

// --- A provider to ask -----------------------------------------------------------------------

void rt_coverage_close(rt_coverage_provider *provider) {
  if (!provider) return;
  if (provider->library) {
    const ops_instance_api *api = ops_library_provider(provider->library)->instance;
    if (provider->device) api->device_close(provider->device, NULL);
    if (provider->instance) api->destroy(provider->instance, NULL);
  }
  ops_host_destroy(provider->host);
  ops_library_release(provider->library);
  free(provider);
}

int32_t rt_coverage_open(const char *name, rt_coverage_provider **out_provider,
                         ops_error *error) {
  rt_coverage_provider *provider = calloc(1, sizeof *provider);
  *out_provider = NULL;
  if (!provider) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "opening a provider");
  int32_t status = ops_library_open(name, NULL, &provider->library, error);
  if (status == OPS_OK) status = ops_host_create(NULL, &provider->host, error);
  if (status == OPS_OK) {
    const ops_instance_api *api = ops_library_provider(provider->library)->instance;
    status =
        api->create(ops_host_api_table(), provider->host, NULL, 0, &provider->instance, error);
    if (status == OPS_OK)
      status = api->device_open(provider->instance, 0, &provider->device, error);
  }
  if (status == OPS_OK)
    *out_provider = provider;
  else
    rt_coverage_close(provider);
  return status;
}

const char *rt_coverage_name(const rt_coverage_provider *provider) {
  return ops_library_provider(provider->library)->name.data;
}

// --- Types -----------------------------------------------------------------------------------

int32_t rt_coverage_list(const rt_schema_types *types,
                         rt_coverage_type out[RT_COVERAGE_MOST_TYPES]) {
  const uint64_t words[] = {types->tensor, types->sequence, types->optional,
                            types->optional_sequence, types->maps};
  int32_t count = 0;
  for (int32_t form = 0; form <= RT_COVERAGE_MAP; ++form)
    for (int32_t bit = 0; bit < (form == RT_COVERAGE_MAP ? 8 : OPS_TYPE_COUNT); ++bit)
      if (words[form] >> bit & 1) out[count++] = (rt_coverage_type){form, bit};
  return count;
}

const char *rt_coverage_format(rt_coverage_type type, char text[RT_COVERAGE_TEXT]) {
  static const char *const forms[] = {"%s", "seq(%s)", "optional(%s)", "optional(seq(%s))"};
  static const char *const maps[] = {"map(int64, double)",     "map(int64, float)",
                                     "map(int64, string)",     "map(string, double)",
                                     "map(string, float)",     "map(string, int64)",
                                     "seq(map(int64, float))", "seq(map(string, float))"};
  if (type.form == RT_COVERAGE_MAP) return maps[type.elem];
  snprintf(text, RT_COVERAGE_TEXT, forms[type.form], ops_type_name(type.elem));
  return text;
}

// --- The walk --------------------------------------------------------------------------------

int32_t rt_coverage_until(const rt_schema *schema) {
  const ops_str domain = {schema->domain, strlen(schema->domain)};
  const ops_str name = {schema->name, strlen(schema->name)};
  int32_t until = (int32_t)rt_schema_newest_opset(domain);
  while (until > schema->since && rt_schema_find(domain, name, until) != schema) --until;
  return until;
}

int rt_coverage_needs_runtime(const rt_schema *schema) {
  static const struct {
    const char *domain, *name;
  } rows[] = {{"", "If"},
              {"", "Loop"},
              {"", "Scan"},
              {"", "SequenceMap"},
              {"ai.onnx.preview.training", "Gradient"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (strcmp(schema->domain, rows[i].domain) == 0 && strcmp(schema->name, rows[i].name) == 0)
      return 1;
  return 0;
}

static int is_element(rt_coverage_type element, rt_coverage_type optional) {
  const int sequence = optional.form == RT_COVERAGE_OPTIONAL_SEQUENCE;
  return optional.elem == element.elem && (sequence || optional.form == RT_COVERAGE_OPTIONAL) &&
         element.form == (sequence ? RT_COVERAGE_SEQUENCE : RT_COVERAGE_TENSOR);
}

// 0 if no node has these types, whatever the schema's parameters allow each for itself: an
// optional holds what it was made of, and gives that or, if the input is none, the input; bits
// are cast to a type of the same width.
static int can_be(const rt_schema *schema, const rt_coverage_type *types) {
  if (strcmp(schema->name, "BitCast") == 0)
    return ops_type_bits(types[0].elem) == ops_type_bits(types[1].elem);
  if (strcmp(schema->name, "Optional") == 0) return is_element(types[0], types[1]);
  if (strcmp(schema->name, "OptionalGetElement") != 0) return 1;
  return is_element(types[1], types[0]) ||
         (types[0].form == types[1].form && types[0].elem == types[1].elem);
}

// What a claim says of types. A refusal for anything else may turn out otherwise for another
// node of the same types.
static int is_accepted(const ops_claim *claim) {
  return claim->answer != OPS_CLAIM_UNSUPPORTED || claim->reason == OPS_REASON_ATTRIBUTE ||
         claim->reason == OPS_REASON_SHAPE || claim->reason == OPS_REASON_LAYOUT ||
         claim->reason == OPS_REASON_CONSTANT;
}

// Asks twice: with every argument of the schema, and with the required ones alone.
static int32_t ask(const rt_coverage_provider *provider, rt_coverage_case *found,
                   ops_claim *claim, ops_error *error) {
  found->is_accepted = 1;
  for (int only_required = 0; only_required < 2 && found->is_accepted; ++only_required) {
    rt_coverage_node node;
    const ops_kernel_def *def;
    *claim = (ops_claim){.struct_size = sizeof *claim};
    rt_coverage_node_init(&node, found, only_required);
    OPS_RETURN_IF_ERROR(
        ops_library_claim(provider->library, provider->device, &node.node, &def, claim, error));
    found->is_accepted = is_accepted(claim);
  }
  return OPS_OK;
}

int32_t rt_coverage_walk(const rt_coverage_provider *provider, const rt_schema *schema,
                         int32_t opset, rt_coverage_visit visit, void *context,
                         ops_error *error) {
  rt_coverage_type choices[MOST_CONSTRAINTS][RT_COVERAGE_MOST_TYPES], types[MOST_CONSTRAINTS];
  int32_t counts[MOST_CONSTRAINTS], at[MOST_CONSTRAINTS] = {0}, turn = 0;
  const int32_t constraints = schema->constraint_count;
  ops_claim claim;
  if (schema->is_deprecated) return OPS_OK;
  if (constraints > MOST_CONSTRAINTS)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "%s has %d type parameters, at most %d",
                         schema->name, constraints, MOST_CONSTRAINTS);
  for (int32_t i = 0; i < constraints; ++i)
    counts[i] = rt_coverage_list(schema->constraints[i].types, choices[i]);
  rt_coverage_case found = {.schema = schema, .opset = opset, .types = types, .claim = &claim};
  while (turn < constraints || constraints == 0) {
    for (int32_t i = 0; i < constraints; ++i) types[i] = choices[i][at[i]];
    if (can_be(schema, types)) {
      OPS_RETURN_IF_ERROR(ask(provider, &found, &claim, error));
      OPS_RETURN_IF_ERROR(visit(context, &found, error));
    }
    if (constraints == 0) break;
    for (turn = 0; turn < constraints && ++at[turn] == counts[turn]; ++turn) at[turn] = 0;
  }
  return OPS_OK;
}
