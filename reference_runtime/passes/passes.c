// SPDX-License-Identifier: Apache-2.0
//
// The driver: rounds over the table, until nothing changes. A pass whose operators do not occur
// is passed over, which a small set of hashed names tells.
#include "passes/passes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "infer/infer.h"
#include "passes/pass.h"

static const struct {
  rt_pass_info info;
  const rt_pass *pass;
} table[] = {
#define RT_PASS(name, level, doc) {{#name, level, doc}, &rt_pass_##name},
#include "passes/pass_table.h"
#undef RT_PASS
};
#define PASS_COUNT ((uint32_t)(sizeof table / sizeof table[0]))

uint32_t rt_passes_count(void) {
  return PASS_COUNT;
}

const rt_pass_info *rt_passes_info(uint32_t index) {
  return index < PASS_COUNT ? &table[index].info : NULL;
}

// --- Notes -----------------------------------------------------------------------------------

#define NOTE_ROOM 1000

// Near misses of one pass in its last run.
typedef struct rt_pass_misses {
  char **texts;
  uint32_t count;
} rt_pass_misses;

void rt_pass_hit(rt_pass_context *context, const char *format, ...) {
  char text[NOTE_ROOM];
  va_list args;
  context->hits[context->pass]++;
  if (!context->options->note) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  context->options->note(context->options->note_user, &table[context->pass].info, RT_PASS_HIT,
                         text);
}

static int is_known(const rt_pass_misses *misses, const char *text) {
  for (uint32_t i = 0; i < misses->count; ++i)
    if (strcmp(misses->texts[i], text) == 0) return 1;
  return 0;
}

// Without memory for it a miss is lost; the optimizer does not fail for that.
void rt_pass_miss(rt_pass_context *context, const char *format, ...) {
  char text[NOTE_ROOM];
  va_list args;
  rt_pass_misses *misses = &context->misses[context->pass];
  if (!context->options->note) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (is_known(misses, text)) return;
  char **texts = realloc(misses->texts, (misses->count + (size_t)1) * sizeof *texts);
  if (!texts) return;
  misses->texts = texts;
  texts[misses->count] = strdup(text);
  if (texts[misses->count]) misses->count++;
}

static void forget_misses(rt_pass_misses *misses) {
  for (uint32_t i = 0; i < misses->count; ++i) free(misses->texts[i]);
  free(misses->texts);
  *misses = (rt_pass_misses){0};
}

static void tell_misses(const rt_pass_context *context) {
  const rt_passes_options *options = context->options;
  for (uint32_t i = 0; i < PASS_COUNT; ++i)
    for (uint32_t k = 0; k < context->misses[i].count; ++k)
      options->note(options->note_user, &table[i].info, RT_PASS_MISS,
                    context->misses[i].texts[k]);
}

// --- Which operators there are ---------------------------------------------------------------

typedef struct name_set {
  uint64_t bits[4];
} name_set;

static uint32_t hash_of(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; ++name) hash = (hash ^ (uint8_t)*name) * 16777619u;
  return (hash ^ hash >> 16) & 255;
}

static void collect_names(const rt_graph *graph, name_set *set) {
  for (const rt_node *node = graph->first; node; node = node->next) {
    const uint32_t hash = hash_of(node->op.name);
    set->bits[hash / 64] |= (uint64_t)1 << hash % 64;
    for (uint32_t i = 0; i < rt_node_body_count(node); ++i)
      collect_names(rt_node_body(node, i), set);
  }
}

static int may_occur(const rt_pass *pass, const name_set *set) {
  if (!pass->roots) return 1;
  for (const char *const *root = pass->roots; *root; ++root) {
    const uint32_t hash = hash_of(*root);
    if (set->bits[hash / 64] >> hash % 64 & 1) return 1;
  }
  return 0;
}

// --- One pass --------------------------------------------------------------------------------

static int is_root(const rt_pass *pass, const rt_node *node) {
  if (!pass->roots) return 1;
  for (const char *const *root = pass->roots; *root; ++root)
    if (strcmp(*root, node->op.name) == 0) return 1;
  return 0;
}

static int32_t run_on(rt_pass_context *context, rt_graph *graph, ops_error *error);

static int32_t run_on_bodies(rt_pass_context *context, rt_node *node, ops_error *error) {
  for (uint32_t i = 0; !node->removed && i < rt_node_body_count(node); ++i)
    OPS_RETURN_IF_ERROR(run_on(context, rt_node_body(node, i), error));
  return OPS_OK;
}

// A removed node keeps its `next`, so a visit may remove any node.
static int32_t run_on(rt_pass_context *context, rt_graph *graph, ops_error *error) {
  const rt_pass *pass = table[context->pass].pass;
  if (pass->run) OPS_RETURN_IF_ERROR(pass->run(context, graph, error));
  for (rt_node *node = graph->first; node; node = node->next) {
    if (node->removed) continue;
    if (pass->visit && is_root(pass, node))
      OPS_RETURN_IF_ERROR(pass->visit(context, node, error));
    OPS_RETURN_IF_ERROR(run_on_bodies(context, node, error));
  }
  return OPS_OK;
}

static int is_disabled(const rt_passes_options *options, const char *name) {
  for (uint64_t i = 0; i < options->disabled_count; ++i)
    if (strcmp(options->disabled[i], name) == 0) return 1;
  return 0;
}

static uint64_t now_ns(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int32_t run_pass(rt_pass_context *context, uint32_t index, ops_error *error) {
  const uint64_t before = context->hits[index], start_ns = now_ns();
  context->pass = index;
  forget_misses(&context->misses[index]);
  int32_t status = run_on(context, context->root, error);
  context->ns[index] += now_ns() - start_ns;
  if (status == OPS_OK && context->options->verify && context->hits[index] != before)
    status = rt_graph_verify(context->root, error);
  return status == OPS_OK ? OPS_OK : ops_error_prefix(error, "pass %s", table[index].info.name);
}

// --- Rounds ----------------------------------------------------------------------------------

// All passes whose level is in [lowest, highest] once; *out_changed: one of them had a hit.
static int32_t run_round(rt_pass_context *context, int32_t lowest, int32_t highest,
                         int *out_changed, ops_error *error) {
  name_set names = {{0}};
  collect_names(context->root, &names);
  *out_changed = 0;
  for (uint32_t i = 0; i < PASS_COUNT; ++i) {
    const rt_pass_info *info = &table[i].info;
    if (info->level < lowest || info->level > highest ||
        info->level > context->options->level || is_disabled(context->options, info->name) ||
        !may_occur(table[i].pass, &names))
      continue;
    const uint64_t before = context->hits[i];
    OPS_RETURN_IF_ERROR(run_pass(context, i, error));
    if (context->hits[i] == before) continue;
    *out_changed = 1;
    collect_names(context->root, &names);
  }
  return *out_changed ? rt_infer_graph(context->root, NULL, error) : OPS_OK;
}

static int32_t run_exact(rt_pass_context *context, ops_error *error) {
  int changed = 1;
  for (uint32_t round = 0; changed && round < RT_PASSES_MAX_ROUNDS; ++round)
    OPS_RETURN_IF_ERROR(run_round(context, 0, 1, &changed, error));
  return OPS_OK;
}

static int32_t run_all(rt_pass_context *context, ops_error *error) {
  int changed = context->options->level > 1;
  OPS_RETURN_IF_ERROR(run_exact(context, error));
  for (uint32_t round = 0; changed && round < RT_PASSES_MAX_ROUNDS; ++round) {
    OPS_RETURN_IF_ERROR(run_round(context, 2, RT_PASSES_MAX_LEVEL, &changed, error));
    if (changed) OPS_RETURN_IF_ERROR(run_exact(context, error));
  }
  return OPS_OK;
}

// --- Entry -----------------------------------------------------------------------------------

static int32_t check_options(const rt_passes_options *options, ops_error *error) {
  if (options->level < 0 || options->level > RT_PASSES_MAX_LEVEL)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_UNKNOWN_PASS,
                               "optimization level %d; expected 0 to %d", options->level,
                               RT_PASSES_MAX_LEVEL);
  if ((options->precision || options->override_count) && options->level < 2)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_UNKNOWN_PASS,
        "a precision changes rounding, which level %d forbids; expected level 2 "
        "or higher",
        options->level);
  for (uint64_t i = 0; i < options->disabled_count; ++i) {
    uint32_t k = 0;
    while (k < PASS_COUNT && strcmp(options->disabled[i], table[k].info.name) != 0) ++k;
    if (k < PASS_COUNT) continue;
    char names[NOTE_ROOM - 100];
    size_t used = 0;
    for (k = 0; k < PASS_COUNT && used < sizeof names; ++k)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "",
                               table[k].info.name);
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_UNKNOWN_PASS,
                               "there is no pass '%s' to disable; there are %s",
                               options->disabled[i], names);
  }
  return OPS_OK;
}

int32_t rt_passes_run(rt_graph *graph, const rt_passes_options *options, uint64_t *out_hits,
                      uint64_t *out_ns, ops_error *error) {
  uint64_t hits[PASS_COUNT] = {0}, ns[PASS_COUNT] = {0};
  rt_pass_misses misses[PASS_COUNT] = {{0}};
  rt_pass_context context = {
      .options = options, .root = graph, .hits = hits, .ns = ns, .misses = misses};
  OPS_RETURN_IF_ERROR(check_options(options, error));
  const int32_t status = options->level > 0 ? run_all(&context, error) : OPS_OK;
  if (status == OPS_OK && options->note) tell_misses(&context);
  for (uint32_t i = 0; i < PASS_COUNT; ++i) forget_misses(&misses[i]);
  if (out_hits) memcpy(out_hits, hits, sizeof hits);
  if (out_ns) memcpy(out_ns, ns, sizeof ns);
  return status;
}
