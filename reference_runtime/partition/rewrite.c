// SPDX-License-Identifier: Apache-2.0
//
// Matching patterns, asking who takes what, and letting rules build.
#include "partition/rewrite.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "partition/claims.h"
#include "partition/rewrite_builder.h"

typedef struct rewriter {
  rt_device *const *devices;
  uint32_t device_count;
  rt_claims claims;
  rt_rewrite_note_fn note;
  void *user;
} rewriter;

// A rule of a device, and the nodes that match its pattern.
typedef struct match {
  const rt_device *device;
  const ops_rewrite *rule;
  rt_node *nodes[RT_REWRITE_MAX_PATTERN];
  uint32_t count;
} match;

static void __attribute__((format(printf, 4, 5)))
note(const rewriter *r, const match *m, int is_hit, const char *format, ...) {
  char name[160], text[OPS_ERROR_MESSAGE_MAX];
  if (!r->note) return;
  snprintf(name, sizeof name, "%s/%.*s", m->device->name, (int)m->rule->name.size,
           m->rule->name.data);
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  r->note(r->user, is_hit, name, text);
}

static int32_t blame(const match *m, ops_error *error) {
  return ops_error_prefix(error, "provider %s, rule '%.*s' at %s '%s'", m->device->name,
                          (int)m->rule->name.size, m->rule->name.data,
                          m->nodes[m->count - 1]->op.name, m->nodes[m->count - 1]->name);
}

// "Reshape 'a', Transpose 'b'"
static void describe(rt_node *const *nodes, uint32_t count, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (uint32_t i = 0; i < count && used + 1 < size; ++i) {
    const int length = snprintf(text + used, size - used, "%s%s '%s'", i ? ", " : "",
                                nodes[i]->op.name, nodes[i]->name);
    if (length > 0) used += (size_t)length;
  }
}

// ---- Matching -------------------------------------------------------------------------------

static const ops_pattern_node *pattern_at(const ops_rewrite *rule, uint32_t index) {
  return OPS_AT(ops_pattern_node, rule->pattern, rule->pattern_stride, index);
}

static int is_of(const ops_pattern_node *pattern, const rt_node *node) {
  const rt_op *op = &node->op;
  const int same_domain = ops_str_equal(pattern->domain, op->domain) ||
                          (!*op->domain && ops_str_equal(pattern->domain, "ai.onnx"));
  return same_domain && ops_str_equal(pattern->op, op->name) && op->opset >= pattern->since &&
         (pattern->until == 0 || op->opset <= pattern->until) && node->post_count == 0;
}

static int is_matched(const match *m, const rt_node *node) {
  for (uint32_t i = 0; i < m->count; ++i)
    if (m->nodes[i] == node) return 1;
  return 0;
}

// Pattern node `source` must be the node that makes `value`.
static int bind(match *m, uint32_t source, const rt_value *value) {
  if (!value || value->kind != RT_VALUE_OUTPUT || value->output_index != 0) return 0;
  if (m->nodes[source]) return m->nodes[source] == value->producer;
  if (is_matched(m, value->producer)) return 0;  // one node cannot be two of the pattern
  m->nodes[source] = value->producer;
  return 1;
}

static int bind_inputs(match *m, uint32_t index) {
  const ops_pattern_node *pattern = pattern_at(m->rule, index);
  rt_node *node = m->nodes[index];
  if (!node || !is_of(pattern, node)) return 0;
  for (uint32_t i = 0; i < pattern->input_count; ++i) {
    const int32_t source = pattern->inputs[i];
    if (source != OPS_PATTERN_ANY && !bind(m, (uint32_t)source, rt_node_input(node, i)))
      return 0;
  }
  return 1;
}

// 1 if only matched nodes read what the node makes.
static int is_inner(const match *m, const rt_node *node) {
  for (uint32_t i = 0; i < node->output_count; ++i) {
    const rt_value *value = node->outputs[i];
    if (!value) continue;
    if (value->output_count > 0) return 0;
    for (uint32_t k = 0; k < value->use_count; ++k)
      if (!is_matched(m, value->uses[k].node)) return 0;
  }
  return 1;
}

// A pattern node feeds later ones only, so going backwards from the root binds all of them.
static int matches(match *m, rt_node *root) {
  memset(m->nodes, 0, sizeof m->nodes);
  m->nodes[m->count - 1] = root;
  for (uint32_t i = m->count; i-- > 0;)
    if (!bind_inputs(m, i)) return 0;
  for (uint32_t i = 0; i + 1 < m->count; ++i)
    if (!is_inner(m, m->nodes[i])) return 0;
  return 1;
}

// ---- Who takes what -------------------------------------------------------------------------

// Of the matched nodes: none may go to a more preferred device, and not all to this one.
static int32_t is_wanted(rewriter *r, const match *m, int *out_wanted, ops_error *error) {
  uint32_t own = 0;
  *out_wanted = 0;
  for (uint32_t i = 0; i < m->count; ++i) {
    uint32_t place = RT_CLAIMS_NOBODY;
    OPS_RETURN_IF_ERROR(rt_claims_first(&r->claims, m->nodes[i], &place, error));
    if (place < m->device->number) {
      note(r, m, 0, "not applied, provider %s takes %s '%s'", r->devices[place]->name,
           m->nodes[i]->op.name, m->nodes[i]->name);
      return OPS_OK;
    }
    own += place == m->device->number;
  }
  *out_wanted = own < m->count;
  return OPS_OK;
}

static int32_t is_taken(rewriter *r, const match *m, const ops_rewrite_builder *builder,
                        int *out_taken, ops_error *error) {
  *out_taken = 0;
  for (uint32_t i = 0; i < builder->node_count; ++i) {
    uint32_t place = RT_CLAIMS_NOBODY;
    OPS_RETURN_IF_ERROR(rt_claims_first(&r->claims, builder->nodes[i], &place, error));
    if (place <= m->device->number) continue;
    note(r, m, 0, "not applied to '%s', provider %s does not take the %s that it makes",
         m->nodes[m->count - 1]->name, m->device->name, builder->nodes[i]->op.name);
    return OPS_OK;
  }
  *out_taken = 1;
  return OPS_OK;
}

// ---- Applying -------------------------------------------------------------------------------

static int32_t check_results(const ops_rewrite_builder *builder, const rt_node *last,
                             ops_error *error) {
  char found[256], expected[256];
  for (uint32_t i = 0; i < last->output_count; ++i) {
    const rt_value *before = last->outputs[i], *after = builder->results[i];
    if (!before || (!after && !rt_value_is_used(before))) continue;
    if (!after)
      return ops_error_set(error, OPS_ERROR_INTERNAL, "it states nothing for output %u", i);
    if (!rt_type_contradicts(&after->type, &before->type)) continue;
    rt_type_format(last->graph->symbols, &after->type, found, sizeof found);
    rt_type_format(last->graph->symbols, &before->type, expected, sizeof expected);
    return ops_error_set(error, OPS_ERROR_INTERNAL, "it makes output %u %s, expected %s", i,
                         found, expected);
  }
  return OPS_OK;
}

static int32_t keep(rewriter *r, const match *m, ops_rewrite_builder *builder,
                    ops_error *error) {
  char before[512], after[512];
  describe(m->nodes, m->count, before, sizeof before);
  describe(builder->nodes, builder->node_count, after, sizeof after);
  OPS_RETURN_IF_ERROR(rt_rewrite_builder_keep(builder, error));
  note(r, m, 1, "%s became %s", before, builder->node_count ? after : "nothing");
  return OPS_OK;
}

// Lets the rule build; what it refuses, and what its device does not take, is taken back.
static int32_t build(rewriter *r, const match *m, ops_rewrite_builder *builder,
                     ops_error *error) {
  const ops_node *views[RT_REWRITE_MAX_PATTERN];
  ops_error refusal = OPS_ERROR_INIT;
  int is_good = 0;
  OPS_RETURN_IF_ERROR(
      rt_claims_views(&r->claims, (const rt_node *const *)m->nodes, m->count, views, error));
  const int32_t status =
      m->rule->apply(m->device->device, views, m->count, &rt_rewrite_api, builder, &refusal);
  if (status == OPS_ERROR_UNSUPPORTED)
    note(r, m, 0, "not applied to '%s', %s", m->nodes[m->count - 1]->name, refusal.message);
  else if (status != OPS_OK)
    return ops_error_copy(error, status, &refusal);
  if (status == OPS_OK) {
    OPS_RETURN_IF_ERROR(check_results(builder, m->nodes[m->count - 1], error));
    OPS_RETURN_IF_ERROR(is_taken(r, m, builder, &is_good, error));
  }
  return is_good ? keep(r, m, builder, error) : rt_rewrite_builder_undo(builder, error);
}

static int32_t apply(rewriter *r, match *m, ops_error *error) {
  int wanted = 0;
  OPS_RETURN_IF_ERROR(is_wanted(r, m, &wanted, error));
  if (!wanted) return OPS_OK;
  ops_rewrite_builder builder = {.graph = m->nodes[0]->graph,
                                 .matched = m->nodes,
                                 .matched_count = m->count,
                                 .devices = r->devices,
                                 .device_count = r->device_count};
  int32_t status = rt_rewrite_builder_init(&builder, error);
  if (status == OPS_OK) status = build(r, m, &builder, error);
  rt_rewrite_builder_finish(&builder);
  return status == OPS_OK ? OPS_OK : blame(m, error);
}

// ---- All rules on all nodes -----------------------------------------------------------------

static int32_t visit(rewriter *r, match *m, rt_graph *graph, ops_error *error) {
  for (rt_node *node = graph->first, *next; node; node = next) {
    next = node->next;
    for (uint32_t i = 0; i < rt_node_body_count(node); ++i)
      OPS_RETURN_IF_ERROR(visit(r, m, rt_node_body(node, i), error));
    if (matches(m, node)) OPS_RETURN_IF_ERROR(apply(r, m, error));
  }
  return OPS_OK;
}

static int32_t visit_rule(rewriter *r, const rt_device *device, const ops_rewrite *rule,
                          rt_graph *graph, ops_error *error) {
  match m = {.device = device, .rule = rule, .count = (uint32_t)rule->pattern_count};
  if (rule->pattern_count > RT_REWRITE_MAX_PATTERN)
    return ops_error_set_cause(
        error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
        "provider %s, rule '%.*s': a pattern of %llu nodes, expected at most "
        "%u (RT_REWRITE_MAX_PATTERN)",
        device->name, (int)rule->name.size, rule->name.data,
        (unsigned long long)rule->pattern_count, RT_REWRITE_MAX_PATTERN);
  return visit(r, &m, graph, error);
}

int32_t rt_partition_rewrite(rt_graph *graph, rt_device *const *devices, uint32_t device_count,
                             rt_rewrite_note_fn note_fn, void *user, ops_error *error) {
  rewriter r = {.devices = devices,
                .device_count = device_count,
                .claims = {.devices = devices, .device_count = device_count},
                .note = note_fn,
                .user = user};
  int32_t status = OPS_OK;
  for (uint32_t i = 0; i < device_count; ++i) {
    const ops_provider *provider = devices[i]->provider;
    for (uint64_t k = 0; status == OPS_OK && k < provider->rewrite_count; ++k)
      status = visit_rule(&r, devices[i],
                          OPS_AT(ops_rewrite, provider->rewrites, provider->rewrite_stride, k),
                          graph, error);
  }
  rt_claims_finish(&r.claims);
  return status;
}
