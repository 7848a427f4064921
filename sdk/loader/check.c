// SPDX-License-Identifier: Apache-2.0
//
// Table checks. What is required is data: one row per slot. Findings are collected, so that a
// vendor mends them in one go.
#include "loader/check.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct slot {
  const char *name;
  uint64_t offset;
} slot;

typedef struct table_rule {
  const char *name;
  uint64_t size;
  const slot *slots;
  uint64_t slot_count;
} table_rule;

#define SLOT(type, field) \
  { #field, offsetof(type, field) }
#define RULE(name, type, slots) \
  { (name), sizeof(type), (slots), sizeof(slots) / sizeof((slots)[0]) }

static const slot kInstanceSlots[] = {
    SLOT(ops_instance_api, create),       SLOT(ops_instance_api, destroy),
    SLOT(ops_instance_api, device_count), SLOT(ops_instance_api, device_open),
    SLOT(ops_instance_api, device_close), SLOT(ops_instance_api, device_info),
};
static const slot kMemorySlots[] = {SLOT(ops_memory_api, allocate), SLOT(ops_memory_api, free)};
static const slot kStreamSlots[] = {
    SLOT(ops_stream_api, create),        SLOT(ops_stream_api, destroy),
    SLOT(ops_stream_api, synchronize),   SLOT(ops_stream_api, wait),
    SLOT(ops_stream_api, copy),          SLOT(ops_stream_api, event_create),
    SLOT(ops_stream_api, event_destroy), SLOT(ops_stream_api, event_record),
    SLOT(ops_stream_api, event_query),   SLOT(ops_stream_api, event_synchronize),
};
static const slot kGroupSlots[] = {SLOT(ops_group_api, claim), SLOT(ops_group_api, compile)};
static const slot kKernelSlots[] = {
    SLOT(ops_kernel_api, create),  SLOT(ops_kernel_api, destroy),
    SLOT(ops_kernel_api, prepare), SLOT(ops_kernel_api, prepared_destroy),
    SLOT(ops_kernel_api, execute),
};
static const slot kRewriteSlots[] = {SLOT(ops_rewrite, apply)};

static const table_rule kInstanceRule = RULE("instance", ops_instance_api, kInstanceSlots);
static const table_rule kMemoryRule = RULE("memory", ops_memory_api, kMemorySlots);
static const table_rule kStreamRule = RULE("stream", ops_stream_api, kStreamSlots);
static const table_rule kGroupRule = RULE("group", ops_group_api, kGroupSlots);
static const table_rule kKernelRule = RULE("api", ops_kernel_api, kKernelSlots);
static const table_rule kRewriteRule = RULE("rewrite", ops_rewrite, kRewriteSlots);

// The findings so far, as one text, and the status that they amount to.
typedef struct findings {
  char text[OPS_ERROR_MESSAGE_MAX];
  uint64_t size;
  uint64_t count;
  int32_t status;
} findings;

static void __attribute__((format(printf, 3, 4)))
report(findings *all, int32_t status, const char *format, ...) {
  if (all->count++ == 0) all->status = status;
  if (all->size + 1 >= sizeof all->text) return;
  const uint64_t room = sizeof all->text - all->size;
  const int head = snprintf(all->text + all->size, room, "%s", all->count > 1 ? "; " : "");
  va_list args;
  va_start(args, format);
  const int tail = vsnprintf(all->text + all->size + head,
                             room > (uint64_t)head ? room - (uint64_t)head : 0, format, args);
  va_end(args);
  const uint64_t used = (uint64_t)head + (tail > 0 ? (uint64_t)tail : 0);
  all->size += used < room ? used : room - 1;
}

// Returns 1 if the struct is large enough for its fields to be read.
static int check_size(findings *all, const char *owner, const char *what, uint64_t found,
                      uint64_t expected) {
  if (found >= expected) return 1;
  report(all, OPS_ERROR_UNSUPPORTED_VERSION,
         "%s%s: truncated table: struct_size is %llu, expected at least %llu", owner, what,
         (unsigned long long)found, (unsigned long long)expected);
  return 0;
}

static void check_table(findings *all, const char *owner, const table_rule *rule,
                        const void *table) {
  uint64_t size;
  memcpy(&size, table, sizeof size);
  if (!check_size(all, owner, rule->name, size, rule->size)) return;
  for (uint64_t i = 0; i < rule->slot_count; ++i) {
    void *value;
    memcpy(&value, (const char *)table + rule->slots[i].offset, sizeof value);
    if (!value)
      report(all, OPS_ERROR_INVALID_ARGUMENT, "%s%s.%s: required slot is missing", owner,
             rule->name, rule->slots[i].name);
  }
}

// Checks that an array exists and that its elements are no smaller than expected.
static int check_array(findings *all, const char *owner, const char *what, const void *array,
                       uint64_t count, uint64_t stride, uint64_t size) {
  if (count == 0) return 0;
  if (!array) {
    report(all, OPS_ERROR_INVALID_ARGUMENT, "%s%s: %llu elements but the array is NULL", owner,
           what, (unsigned long long)count);
    return 0;
  }
  if (stride < size) {
    report(all, OPS_ERROR_UNSUPPORTED_VERSION, "%s%s: stride is %llu, expected at least %llu",
           owner, what, (unsigned long long)stride, (unsigned long long)size);
    return 0;
  }
  return 1;
}

static void check_args(findings *all, const char *owner, const char *what,
                       const ops_arg_def *args, uint64_t count, uint64_t stride) {
  if (!check_array(all, owner, what, args, count, stride, sizeof *args)) return;
  for (uint64_t i = 0; i < count; ++i) {
    const ops_arg_def *arg = OPS_AT(ops_arg_def, args, stride, i);
    if (!check_size(all, owner, what, arg->struct_size, sizeof *arg)) return;
    if (arg->memory_kind < 0 || arg->memory_kind >= OPS_MEMORY_KIND_COUNT)
      report(all, OPS_ERROR_INVALID_ARGUMENT, "%s%s[%llu]: unknown memory kind %d", owner, what,
             (unsigned long long)i, arg->memory_kind);
    if (arg->alignment & (arg->alignment - 1))
      report(all, OPS_ERROR_INVALID_ARGUMENT,
             "%s%s[%llu]: alignment %llu is not a power of two", owner, what,
             (unsigned long long)i, (unsigned long long)arg->alignment);
    if ((arg->flags & OPS_ARG_VARIADIC) && i + 1 != count)
      report(all, OPS_ERROR_INVALID_ARGUMENT, "%s%s[%llu]: only the last one may be variadic",
             owner, what, (unsigned long long)i);
  }
}

static void check_aliases(findings *all, const char *owner, const ops_kernel_def *def) {
  if (!check_array(all, owner, "aliases", def->aliases, def->alias_count, def->alias_stride,
                   sizeof *def->aliases))
    return;
  // Operands of post-operations follow the own inputs; a binary one has one, others bounds.
  const uint64_t input_count =
      def->input_count + (def->post_op_count ? 2 * (uint64_t)def->max_post_ops : 0);
  for (uint64_t i = 0; i < def->alias_count; ++i) {
    const ops_alias_def *alias = OPS_AT(ops_alias_def, def->aliases, def->alias_stride, i);
    if (alias->input < 0 || (uint64_t)alias->input >= input_count || alias->output < 0 ||
        (uint64_t)alias->output >= def->output_count)
      report(all, OPS_ERROR_INVALID_ARGUMENT, "%saliases[%llu]: no input %d or no output %d",
             owner, (unsigned long long)i, alias->input, alias->output);
  }
}

static void check_kernel(findings *all, const ops_kernel_def *def, uint64_t index) {
  char owner[160];
  snprintf(owner, sizeof owner, "kernel %llu: ", (unsigned long long)index);
  if (!check_size(all, owner, "definition", def->struct_size, sizeof *def)) return;
  if (def->op.size == 0) {
    report(all, OPS_ERROR_INVALID_ARGUMENT, "%sno operator name", owner);
    return;
  }
  snprintf(owner, sizeof owner, "kernel %llu '%.*s': ", (unsigned long long)index,
           (int)(def->op.size < 64 ? def->op.size : 64), def->op.data);
  if (def->since < 1 || (def->until != 0 && def->until < def->since))
    report(all, OPS_ERROR_INVALID_ARGUMENT, "%sopset range [%d, %d] is empty or begins below 1",
           owner, def->since, def->until);
  check_args(all, owner, "inputs", def->inputs, def->input_count, def->input_stride);
  check_args(all, owner, "outputs", def->outputs, def->output_count, def->output_stride);
  if (def->output_count == 0)
    report(all, OPS_ERROR_INVALID_ARGUMENT, "%sno outputs are defined", owner);
  check_aliases(all, owner, def);
  check_array(all, owner, "post_ops", def->post_ops, def->post_op_count, def->post_op_stride,
              sizeof *def->post_ops);
  if (def->api)
    check_table(all, owner, &kKernelRule, def->api);
  else
    report(all, OPS_ERROR_INVALID_ARGUMENT, "%sapi: required table is missing", owner);
}

// Slots that only make sense together: `count` of them, and how many are filled.
static void check_together(findings *all, const char *names, int filled, int count) {
  if (filled != 0 && filled != count)
    report(all, OPS_ERROR_INVALID_ARGUMENT, "%s: optional slots that go together, %d of %d set",
           names, filled, count);
}

static void check_memory(findings *all, const ops_memory_api *memory) {
  if (!memory || memory->struct_size < sizeof *memory) return;
  check_together(all, "memory.allocate_async, free_async",
                 !!memory->allocate_async + !!memory->free_async, 2);
  check_together(all, "memory.layout_size, reorder", !!memory->layout_size + !!memory->reorder,
                 2);
}

static void check_stream(findings *all, const ops_stream_api *stream) {
  if (!stream || stream->struct_size < sizeof *stream) return;
  check_together(all, "stream.capture_begin, capture_end, replay, capture_destroy",
                 !!stream->capture_begin + !!stream->capture_end + !!stream->replay +
                     !!stream->capture_destroy,
                 4);
}

static void check_optional(findings *all, const table_rule *rule, const void *table) {
  if (table) check_table(all, "", rule, table);
}

// Inputs of a pattern node come from nodes before it, which keeps patterns acyclic.
static void check_pattern(findings *all, const char *owner, const ops_rewrite *rule,
                          uint64_t index) {
  const ops_pattern_node *node =
      OPS_AT(ops_pattern_node, rule->pattern, rule->pattern_stride, index);
  if (!check_size(all, owner, "pattern", node->struct_size, sizeof *node)) return;
  if (node->op.size == 0)
    report(all, OPS_ERROR_INVALID_ARGUMENT, "%spattern[%llu]: no operator name", owner,
           (unsigned long long)index);
  if (node->input_count > 0 && !node->inputs)
    report(all, OPS_ERROR_INVALID_ARGUMENT, "%spattern[%llu].inputs is NULL", owner,
           (unsigned long long)index);
  for (uint64_t i = 0; node->inputs && i < node->input_count; ++i) {
    const int32_t source = node->inputs[i];
    if (source != OPS_PATTERN_ANY && (source < 0 || (uint64_t)source >= index))
      report(all, OPS_ERROR_INVALID_ARGUMENT,
             "%spattern[%llu].inputs[%llu] is %d, expected the number of an earlier node",
             owner, (unsigned long long)index, (unsigned long long)i, source);
  }
}

static void check_rewrite(findings *all, const ops_rewrite *rule, uint64_t index) {
  char owner[160];
  snprintf(owner, sizeof owner, "rewrite %llu: ", (unsigned long long)index);
  const uint64_t before = all->count;
  check_table(all, owner, &kRewriteRule, rule);
  if (all->count != before) return;
  if (!check_array(all, owner, "pattern", rule->pattern, rule->pattern_count,
                   rule->pattern_stride, sizeof *rule->pattern)) {
    if (rule->pattern_count == 0)
      report(all, OPS_ERROR_INVALID_ARGUMENT, "%sthe pattern is empty", owner);
    return;
  }
  for (uint64_t i = 0; i < rule->pattern_count; ++i) check_pattern(all, owner, rule, i);
}

static void check_provider(findings *all, const ops_provider *provider) {
  if (!check_size(all, "", "provider", provider->struct_size, sizeof *provider)) return;
  if (provider->name.size == 0)
    report(all, OPS_ERROR_INVALID_ARGUMENT, "provider.name is empty");
  if (provider->instance)
    check_table(all, "", &kInstanceRule, provider->instance);
  else
    report(all, OPS_ERROR_INVALID_ARGUMENT, "provider.instance: required table is missing");
  check_optional(all, &kMemoryRule, provider->memory);
  check_optional(all, &kStreamRule, provider->stream);
  check_memory(all, provider->memory);
  check_stream(all, provider->stream);
  check_optional(all, &kGroupRule, provider->group);
  if (check_array(all, "", "kernels", provider->kernels, provider->kernel_count,
                  provider->kernel_stride, sizeof *provider->kernels))
    for (uint64_t i = 0; i < provider->kernel_count; ++i)
      check_kernel(all, OPS_AT(ops_kernel_def, provider->kernels, provider->kernel_stride, i),
                   i);
  if (check_array(all, "", "rewrites", provider->rewrites, provider->rewrite_count,
                  provider->rewrite_stride, sizeof *provider->rewrites))
    for (uint64_t i = 0; i < provider->rewrite_count; ++i)
      check_rewrite(all, OPS_AT(ops_rewrite, provider->rewrites, provider->rewrite_stride, i),
                    i);
  check_array(all, "", "schemas", provider->schemas, provider->schema_count,
              provider->schema_stride, sizeof *provider->schemas);
}

int32_t ops_provider_check(const ops_provider *provider, ops_error *error) {
  findings all = {.size = 0};
  check_provider(&all, provider);
  if (all.count == 0) return OPS_OK;
  return ops_error_set(error, all.status, "%llu fault(s) in the provider's tables: %s",
                       (unsigned long long)all.count, all.text);
}
