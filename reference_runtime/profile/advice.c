// SPDX-License-Identifier: Apache-2.0
//
// Advice: one table of rules, each a small function that looks at the report and states what it
// found. A rule's threshold stands beside it, with its source where it has one; the shares are
// of the time of all launches unless the rule says otherwise.
//
// Below the ridge of the roofline (peak arithmetic / peak bandwidth) memory bounds a kernel,
// above it arithmetic does: Williams, Waterman, Patterson, "Roofline", CACM 52 (2009).
#include <inttypes.h>
#include <math.h>
#include <ops_support/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/report.h"

// Nodes that matter less than this are not talked about.
#define SMALL_SHARE 0.05
// Nodes that one rule names at most.
#define MAX_NAMED 3u

typedef struct rule {
  const char *name;
  void (*look)(rt_report *report, const struct rule *rule);
  const char *action;
} rule;

// The list is as large as all rules together can fill it.
__attribute__((format(printf, 4, 5))) static void advise(rt_report *report, const rule *rule,
                                                         double share, const char *format,
                                                         ...) {
  if (report->advice_count == report->advice_capacity) return;
  rt_advice *advice = &report->advice[report->advice_count++];
  *advice = (rt_advice){.rule = rule->name, .action = rule->action, .share = share};
  va_list args;
  va_start(args, format);
  vsnprintf(advice->evidence, sizeof advice->evidence, format, args);
  va_end(args);
}

static double percent(double share) {
  return 100 * share;
}

static double of_runs(const rt_report *report, uint64_t ns) {
  return report->runs.sum ? (double)ns / (double)report->runs.sum : 0;
}

static double bytes_of(const rt_report_row *row) {
  return (double)row->bytes_read + (double)row->bytes_written;
}

static double per_launch(const rt_report_row *row, double sum) {
  return row->time.count ? sum / (double)row->time.count : 0;
}

// ---- Movement -------------------------------------------------------------------------------

// Copies between memories: more than a tenth (SPEC R10).
#define MAX_COPIES 0.10

static void look_copies(rt_report *report, const rule *rule) {
  double share = 0, bytes = 0;
  uint64_t count = 0;
  const rt_report_row *longest = NULL;
  for (uint64_t i = 0; i < report->node_count; ++i) {
    const rt_report_row *row = &report->nodes[i];
    if (row->kind != OPS_PROFILE_COPY) continue;
    if (!longest) longest = row;
    share += row->share;
    count += row->time.count;
    bytes += (double)row->bytes_written;
  }
  if (!longest || share <= MAX_COPIES) return;
  advise(report, rule, share,
         "copies between memories take %.1f %% of the time: %" PRIu64
         " copies, %.3g MB; the longest is '%s' (%.1f %%)",
         percent(share), count, bytes * 1e-6, longest->name, percent(longest->share));
}

static int changes_layout(const rt_report_row *row) {
  return row->kind == RT_PROFILE_REORDER || strcmp(row->op, "Transpose") == 0;
}

static void look_layouts(rt_report *report, const rule *rule) {
  for (uint64_t i = 0; i < report->operator_count; ++i) {
    const rt_report_row *all = &report->operators[i], *row = NULL;
    if (!changes_layout(all) || all->share <= SMALL_SHARE) continue;
    for (uint64_t k = 0; k < report->node_count && !row; ++k)
      if (strcmp(report->nodes[k].op, all->op) == 0) row = &report->nodes[k];
    const rt_report_node *node = row ? rt_report_find_node(report, row->name) : NULL;
    const char *before = node && node->before[0] ? node->before : "the inputs";
    const char *after = node && node->after[0] ? node->after : "the outputs";
    const char *what = all->op[0] == '(' ? "changing layouts" : all->op;
    if (node)
      advise(report, rule, all->share,
             "%s takes %.1f %% of the time: layout changes between '%s' and '%s' are the "
             "longest of %u",
             what, percent(all->share), before, after, all->nodes);
    else
      advise(report, rule, all->share,
             "%s takes %.1f %% of the time; '%s' is the longest of %u", what,
             percent(all->share), row ? row->name : "?", all->nodes);
  }
}

// ---- Placement ------------------------------------------------------------------------------

#define MAX_FALLBACK 0.01

static void look_fallback(rt_report *report, const rule *rule) {
  double share = 0;
  uint64_t count = 0;
  const rt_report_row *longest = NULL;
  const rt_report_node *reason = NULL;
  for (uint64_t i = 0; i < report->node_count; ++i) {
    const rt_report_row *row = &report->nodes[i];
    const rt_report_node *node = rt_report_find_node(report, row->name);
    if (row->kind != OPS_PROFILE_KERNEL || !node || !node->reason[0]) continue;
    if (!longest) {
      longest = row;
      reason = node;
    }
    share += row->share;
    count++;
  }
  if (!longest || share <= MAX_FALLBACK) return;
  advise(report, rule, share,
         "%" PRIu64
         " nodes, %.1f %% of the time, run on a provider that was not the first choice; the "
         "longest is '%s' (%s) on %s: %s",
         count, percent(share), longest->name, longest->op, longest->provider, reason->reason);
}

// ---- Kernels --------------------------------------------------------------------------------

// A kernel that moves its bytes at more than this share of the bandwidth has no more to gain
// from better code: only from fewer bytes.
#define MEMORY_BOUND 0.6
// A kernel that attains less than this share of the arithmetic that its intensity allows.
#define SLOW_ARITHMETIC 0.25

// Bytes at memory as the device counted them, else those of the operands, which caches may
// save.
static double memory_bytes(const rt_report_row *row, const char **out_source) {
  const rt_report_counter *counter = rt_report_find_counter(row, OPS_COUNTER_DRAM_BYTES);
  *out_source = counter ? "dram_bytes" : "operands";
  return counter ? counter->sum : bytes_of(row);
}

static double ridge_of(const rt_report_device *device) {
  return device && device->peak_bytes_per_second > 0
             ? device->peak_flops / device->peak_bytes_per_second
             : NAN;
}

static void look_memory_bound(rt_report *report, const rule *rule) {
  uint32_t named = 0;
  for (uint64_t i = 0; i < report->node_count && named < MAX_NAMED; ++i) {
    const rt_report_row *row = &report->nodes[i];
    const rt_report_device *device = rt_report_device_of(report, row);
    const char *source;
    const double bytes = memory_bytes(row, &source), seconds = row->typical_ns * 1e-9;
    if (row->kind != OPS_PROFILE_KERNEL || row->share <= SMALL_SHARE || seconds <= 0) continue;
    if (row->flops == RT_PROFILE_FLOPS_UNKNOWN || bytes <= 0) continue;
    const double intensity = row->flops / bytes, ridge = ridge_of(device);
    const double used = device ? bytes / seconds / device->peak_bytes_per_second : NAN;
    if (!(intensity < ridge) || !(used > MEMORY_BOUND)) continue;
    named++;
    advise(report, rule, row->share,
           "'%s' (%s, %.1f %% of the time) moves %.3g GB/s (%s), %.0f %% of the peak, and does "
           "%.2g operations per byte where %.2g would keep the arithmetic busy",
           row->name, row->op, percent(row->share), bytes / seconds * 1e-9, source,
           percent(used), intensity, ridge);
  }
}

static void look_slow_arithmetic(rt_report *report, const rule *rule) {
  uint32_t named = 0;
  for (uint64_t i = 0; i < report->node_count && named < MAX_NAMED; ++i) {
    const rt_report_row *row = &report->nodes[i];
    const rt_report_device *device = rt_report_device_of(report, row);
    const double intensity = rt_report_intensity(row), ridge = ridge_of(device);
    const double attained = rt_report_peak_share(report, row);
    if (row->kind != OPS_PROFILE_KERNEL || row->share <= SMALL_SHARE) continue;
    if (!(intensity >= ridge) || !(attained < SLOW_ARITHMETIC)) continue;
    named++;
    advise(
        report, rule, row->share,
        "'%s' (%s, %.1f %% of the time) attains %.0f %% of the peak arithmetic of %s, though "
        "its %.2g operations per byte allow all of it",
        row->name, row->op, percent(row->share), percent(attained), row->provider, intensity);
  }
}

// ---- Counters of devices --------------------------------------------------------------------

// Below a quarter of the warps, memory's latency is no longer hidden by other warps.
#define FEW_WARPS 0.25

static void look_warps(rt_report *report, const rule *rule) {
  uint32_t named = 0;
  for (uint64_t i = 0; i < report->node_count && named < MAX_NAMED; ++i) {
    const rt_report_row *row = &report->nodes[i];
    const rt_report_counter *warps = rt_report_find_counter(row, OPS_COUNTER_ACTIVE_WARPS);
    if (!warps || row->share <= SMALL_SHARE) continue;
    const double mean = warps->sum / (double)warps->count;
    if (mean >= FEW_WARPS) continue;
    named++;
    advise(report, rule, row->share,
           "'%s' (%s, %.1f %% of the time) keeps %.0f %% of the device's warps active",
           row->name, row->op, percent(row->share), percent(mean));
  }
}

// Bytes of one sector of shared memory, and how many times the operands' sectors tiling may
// reasonably touch them; beyond that, accesses are split by bank conflicts.
#define SECTOR_BYTES 32.0
#define MAX_SECTORS 16.0

static void look_sectors(rt_report *report, const rule *rule) {
  uint32_t named = 0;
  for (uint64_t i = 0; i < report->node_count && named < MAX_NAMED; ++i) {
    const rt_report_row *row = &report->nodes[i];
    const rt_report_counter *sectors = rt_report_find_counter(row, OPS_COUNTER_SHARED_SECTORS);
    if (!sectors || row->share <= SMALL_SHARE || bytes_of(row) <= 0) continue;
    const double times = sectors->sum * SECTOR_BYTES / bytes_of(row);
    if (times <= MAX_SECTORS) continue;
    named++;
    advise(report, rule, row->share,
           "'%s' (%s, %.1f %% of the time) touches %.3g shared sectors in a launch, %.1f times "
           "its operands",
           row->name, row->op, percent(row->share), per_launch(row, sectors->sum), times);
  }
}

// Starting the kernel costs more than running it.
static void look_launches(rt_report *report, const rule *rule) {
  double share = 0;
  uint64_t count = 0;
  const rt_report_row *longest = NULL;
  for (uint64_t i = 0; i < report->node_count; ++i) {
    const rt_report_row *row = &report->nodes[i];
    const rt_report_counter *launch = rt_report_find_counter(row, OPS_COUNTER_LAUNCH_TIME);
    if (!launch || launch->sum <= (double)row->time.sum) continue;
    if (!longest) longest = row;
    share += row->share;
    count++;
  }
  if (!longest || share <= SMALL_SHARE) return;
  advise(report, rule, share,
         "%" PRIu64
         " nodes, %.1f %% of the time, take longer to launch than to run; '%s' (%s) "
         "is the longest",
         count, percent(share), longest->name, longest->op);
}

// ---- Runs -----------------------------------------------------------------------------------

// Of the time of all runs, planning and preparing in runs after the first.
#define MAX_LATE_PLANS 0.05

static void look_prepares(rt_report *report, const rule *rule) {
  const double share = of_runs(report, report->late_plan_ns);
  if (report->late_prepares == 0 || share <= MAX_LATE_PLANS) return;
  advise(report, rule, share,
         "%" PRIu64
         " kernels were prepared in runs after the first, %.1f %% of the time of all "
         "runs; %" PRIu64 " plans were built",
         report->late_prepares, percent(share), report->context.plans_built);
}

static void look_evictions(rt_report *report, const rule *rule) {
  if (report->context.plans_evicted == 0) return;
  advise(report, rule, of_runs(report, report->late_plan_ns),
         "%" PRIu64 " of %" PRIu64 " plans were dropped to make room for others",
         report->context.plans_evicted, report->context.plans_built);
}

// Of the time of all runs, what is neither in kernels and copies nor in plans nor the
// profile's.
#define MAX_HOST 0.25

static void look_host(rt_report *report, const rule *rule) {
  const uint64_t busy = report->launch_ns + report->plan_ns + report->own_ns;
  if (report->runs.sum <= busy || report->node_count == 0) return;
  const double share = of_runs(report, report->runs.sum - busy);
  uint64_t launches = 0;
  for (uint64_t i = 0; i < report->node_count; ++i) launches += report->nodes[i].time.count;
  if (share <= MAX_HOST) return;
  advise(
      report, rule, share,
      "%.1f %% of the time of a run is outside of kernels and copies; a launch takes %.3g us "
      "on average",
      percent(share), (double)report->launch_ns / (double)launches * 1e-3);
}

// ---- Memory ---------------------------------------------------------------------------------

// The plan's peak over the largest live set: what fragmentation costs.
#define MAX_FRAGMENTATION 1.10
#define SMALL_BYTES ((uint64_t)1 << 20)

static void look_fragmentation(rt_report *report, const rule *rule) {
  for (uint32_t i = 0; i < report->context.memory_count; ++i) {
    const rt_report_memory *memory = &report->context.memory[i];
    const uint64_t bound = memory->lower_bound;
    if (memory->planned < SMALL_BYTES || bound == 0) continue;
    if ((double)memory->planned <= MAX_FRAGMENTATION * (double)bound) continue;
    advise(
        report, rule, 0,
        "activations in %s take %.3g MB, %.0f %% more than the %.3g MB that are ever live at "
        "once",
        memory->device, (double)memory->planned * 1e-6,
        percent((double)memory->planned / (double)bound - 1), (double)bound * 1e-6);
  }
}

// ---- The table ------------------------------------------------------------------------------

static const rule rules[] = {
    {"copies", look_copies,
     "move less data: keep neighbouring nodes on one device, and bind inputs and outputs "
     "there"},
    {"layouts", look_layouts,
     "let the optimizer choose layouts (--level 3), or export the model in the layout that the "
     "neighbours use"},
    {"fallback", look_fallback,
     "give the preferred provider a kernel for it, or write the node so that it takes it"},
    {"memory-bound", look_memory_bound,
     "tile, so that data are used again while they are near, or fuse the node with its "
     "neighbours (--level 2)"},
    {"slow-arithmetic", look_slow_arithmetic,
     "look for a better kernel: other tiles or vector widths, more threads, a shape that fits "
     "them"},
    {"few-warps", look_warps, "use fewer registers in the kernel, or another block size"},
    {"bank-conflicts", look_sectors,
     "pad or permute what the kernel keeps in shared memory so that a warp's accesses fall "
     "into "
     "different banks"},
    {"launch-bound", look_launches,
     "fuse small nodes, make batches larger, or let the device capture the graph"},
    {"late-prepares", look_prepares,
     "warm up with the shapes that will come, or pad inputs to few shapes"},
    {"plans-evicted", look_evictions,
     "keep more plans (max_plans of the session), or pad inputs to few shapes"},
    {"host-overhead", look_host,
     "fuse small nodes (--level 2) or run larger batches; see the timeline for gaps"},
    {"fragmentation", look_fragmentation, "report the model: the planner should do better"},
};

#define RULE_COUNT (sizeof rules / sizeof rules[0])
// Rules speak once, or for some nodes, operators or memories.
#define MAX_ADVICE (RULE_COUNT * 8)

static int by_share(const void *left, const void *right) {
  const rt_advice *a = left, *b = right;
  if (a->share != b->share) return a->share > b->share ? -1 : 1;
  return strcmp(a->evidence, b->evidence);
}

int32_t rt_report_advise(rt_report *report, ops_error *error) {
  report->advice = calloc(MAX_ADVICE, sizeof *report->advice);
  if (!report->advice)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "the advice of a profile");
  report->advice_capacity = MAX_ADVICE;
  for (size_t i = 0; i < RULE_COUNT; ++i) rules[i].look(report, &rules[i]);
  qsort(report->advice, report->advice_count, sizeof *report->advice, by_share);
  return OPS_OK;
}
