// SPDX-License-Identifier: Apache-2.0
//
// Each rule with two made-up profiles: one just beyond its threshold, where it must speak and
// name its evidence, and one at the threshold, where it must not. The device of all of them
// does 1000 operations and moves 100 bytes per second, so its ridge is at 10 operations per
// byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>

#include "profile/report.h"

#define SECOND ((uint64_t)1000000000)

static rt_report_device device = {
    .provider = "npu", .peak_flops = 1000, .peak_bytes_per_second = 100};

// One launch, which takes `share` of a second in all.
static rt_report_row row_of(const char *name, const char *op, int32_t kind, double share) {
  const uint64_t ns = (uint64_t)(share * 1e9);
  return (rt_report_row){
      .name = name,
      .op = op,
      .origins = "",
      .provider = "npu",
      .kind = kind,
      .nodes = 1,
      .time = {.count = 1, .sum = ns, .minimum = ns, .median = ns, .p95 = ns},
      .typical_ns = (double)ns,
      .share = share,
      .flops = RT_PROFILE_FLOPS_UNKNOWN};
}

static rt_report report_of(rt_report_row *nodes, uint64_t count) {
  return (rt_report){.context = {.device_count = 1},
                     .devices = &device,
                     .runs = {.count = 1, .sum = SECOND, .median = SECOND},
                     .nodes = nodes,
                     .node_count = count,
                     .operators = nodes,
                     .operator_count = count,
                     .launch_ns = SECOND};
}

// What the rule says, or NULL; freed by the caller with the list.
static const char *evidence_of(rt_report *report, const char *rule) {
  free(report->advice);
  report->advice = NULL;
  report->advice_count = report->advice_capacity = 0;
  assert_int_equal(rt_report_advise(report, NULL), OPS_OK);
  for (uint32_t i = 0; i < report->advice_count; ++i) {
    assert_true(strlen(report->advice[i].action) > 0);
    if (strcmp(report->advice[i].rule, rule) == 0) return report->advice[i].evidence;
  }
  return NULL;
}

static void must_say(rt_report *report, const char *rule, const char *words) {
  const char *evidence = evidence_of(report, rule);
  if (!evidence) fail_msg("rule %s does not fire", rule);
  if (evidence && !strstr(evidence, words))
    fail_msg("rule %s says \"%s\", expected \"%s\" in it", rule, evidence, words);
}

static void must_be_silent(rt_report *report, const char *rule) {
  const char *evidence = evidence_of(report, rule);
  if (evidence) fail_msg("rule %s says \"%s\" and must not", rule, evidence);
}

static void copies(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("x", "(copy)", OPS_PROFILE_COPY, 0.06),
                           row_of("y", "(copy)", OPS_PROFILE_COPY, 0.05)};
  rt_report report = report_of(nodes, 2);
  must_say(&report, "copies", "11.0 % of the time: 2 copies");
  must_say(&report, "copies", "'x' (6.0 %)");
  nodes[0].share = 0.05;  // a tenth in all
  must_be_silent(&report, "copies");
  nodes[0].share = 0.5;
  nodes[0].kind = nodes[1].kind = OPS_PROFILE_KERNEL;
  must_be_silent(&report, "copies");
  free(report.advice);
}

static void layouts(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("t1", "Transpose", OPS_PROFILE_KERNEL, 0.12)};
  const rt_report_node places[] = {
      {.name = "t1", .reason = "", .before = "conv1", .after = "conv2"}};
  rt_report report = report_of(nodes, 1);
  report.context.nodes = places;
  report.context.node_count = 1;
  must_say(&report, "layouts",
           "Transpose takes 12.0 % of the time: layout changes between 'conv1' and 'conv2'");
  nodes[0].share = 0.05;
  must_be_silent(&report, "layouts");
  nodes[0] = row_of("v", "(reorder)", RT_PROFILE_REORDER, 0.06);
  must_say(&report, "layouts", "changing layouts takes 6.0 % of the time; 'v'");
  nodes[0].share = 0.05;
  must_be_silent(&report, "layouts");
  free(report.advice);
}

static void fallback(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("odd", "Erf", OPS_PROFILE_KERNEL, 0.02)};
  rt_report_node places[] = {
      {.name = "odd", .reason = "npu: no kernel", .before = "", .after = ""}};
  rt_report report = report_of(nodes, 1);
  report.context.nodes = places;
  report.context.node_count = 1;
  must_say(&report, "fallback", "'odd' (Erf) on npu: npu: no kernel");
  nodes[0].share = 0.01;
  must_be_silent(&report, "fallback");
  nodes[0].share = 0.9;
  places[0].reason = "";
  must_be_silent(&report, "fallback");
  free(report.advice);
}

static void memory_bound(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("sum", "Add", OPS_PROFILE_KERNEL, 0.5)};
  rt_report report = report_of(nodes, 1);
  nodes[0].bytes_read = 31;  // in half a second, 62 of 100 bytes per second
  nodes[0].flops = 31;
  must_say(&report, "memory-bound", "(operands), 62 % of the peak");
  nodes[0].bytes_read = 30;  // exactly the threshold
  must_be_silent(&report, "memory-bound");
  nodes[0].bytes_read = 40;
  nodes[0].flops = 400;  // 10 per byte: on the ridge
  must_be_silent(&report, "memory-bound");
  nodes[0].flops = 31;
  nodes[0].share = 0.05;
  must_be_silent(&report, "memory-bound");
  // What the device counted holds, not the operands.
  rt_report_counter dram = {OPS_COUNTER_DRAM_BYTES, "byte", 1, 35};
  nodes[0].share = 0.5;
  nodes[0].bytes_read = 1;
  nodes[0].counters = &dram;
  nodes[0].counter_count = 1;
  must_say(&report, "memory-bound", "(dram_bytes), 70 % of the peak");
  dram.sum = 30;
  must_be_silent(&report, "memory-bound");
  free(report.advice);
}

static void slow_arithmetic(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("conv", "Conv", OPS_PROFILE_KERNEL, 0.5)};
  rt_report report = report_of(nodes, 1);
  nodes[0].bytes_read = 10;
  nodes[0].flops = 120;  // 240 of 1000 per second, 12 per byte
  must_say(&report, "slow-arithmetic", "attains 24 % of the peak arithmetic of npu");
  nodes[0].flops = 125;
  must_be_silent(&report, "slow-arithmetic");
  nodes[0].flops = 99;  // below the ridge: memory's matter
  must_be_silent(&report, "slow-arithmetic");
  nodes[0].flops = 120;
  nodes[0].share = 0.05;
  must_be_silent(&report, "slow-arithmetic");
  free(report.advice);
}

static void few_warps(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("k", "Softmax", OPS_PROFILE_KERNEL, 0.5)};
  rt_report_counter warps = {OPS_COUNTER_ACTIVE_WARPS, "1", 2, 0.48};
  rt_report report = report_of(nodes, 1);
  must_be_silent(&report, "few-warps");
  nodes[0].counters = &warps;
  nodes[0].counter_count = 1;
  must_say(&report, "few-warps", "keeps 24 % of the device's warps active");
  warps.sum = 0.5;  // a quarter
  must_be_silent(&report, "few-warps");
  warps.sum = 0.1;
  nodes[0].share = 0.05;
  must_be_silent(&report, "few-warps");
  free(report.advice);
}

static void bank_conflicts(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("k", "MatMul", OPS_PROFILE_KERNEL, 0.5)};
  rt_report_counter sectors = {OPS_COUNTER_SHARED_SECTORS, "1", 1, 17};
  rt_report report = report_of(nodes, 1);
  nodes[0].counters = &sectors;
  nodes[0].counter_count = 1;
  nodes[0].bytes_read = 32;  // one sector, touched 17 times
  must_say(&report, "bank-conflicts", "17.0 times its operands");
  sectors.sum = 16;
  must_be_silent(&report, "bank-conflicts");
  free(report.advice);
}

static void launch_bound(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("tiny", "Add", OPS_PROFILE_KERNEL, 0.06)};
  rt_report_counter launch = {OPS_COUNTER_LAUNCH_TIME, "ns", 1, 0.06 * 1e9 + 1};
  rt_report report = report_of(nodes, 1);
  nodes[0].counters = &launch;
  nodes[0].counter_count = 1;
  must_say(&report, "launch-bound", "1 nodes, 6.0 % of the time, take longer to launch");
  launch.sum = (double)nodes[0].time.sum;
  must_be_silent(&report, "launch-bound");
  launch.sum *= 2;
  nodes[0].share = 0.05;
  must_be_silent(&report, "launch-bound");
  free(report.advice);
}

static void late_prepares(void **state) {
  (void)state;
  rt_report report = report_of(NULL, 0);
  report.prepares = report.late_prepares = 3;
  report.late_plan_ns = SECOND * 6 / 100;
  report.context.plans_built = 4;
  must_say(&report, "late-prepares", "3 kernels were prepared in runs after the first, 6.0 %");
  report.late_plan_ns = SECOND * 5 / 100;
  must_be_silent(&report, "late-prepares");
  free(report.advice);
}

static void plans_evicted(void **state) {
  (void)state;
  rt_report report = report_of(NULL, 0);
  report.context.plans_built = 40;
  must_be_silent(&report, "plans-evicted");
  report.context.plans_evicted = 8;
  must_say(&report, "plans-evicted", "8 of 40 plans");
  free(report.advice);
}

static void host_overhead(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("k", "Add", OPS_PROFILE_KERNEL, 1)};
  rt_report report = report_of(nodes, 1);
  report.launch_ns = SECOND * 70 / 100;
  report.plan_ns = SECOND * 4 / 100;
  must_say(&report, "host-overhead", "26.0 % of the time of a run is outside");
  report.own_ns = SECOND * 1 / 100;
  must_be_silent(&report, "host-overhead");
  free(report.advice);
}

static void fragmentation(void **state) {
  (void)state;
  rt_report_memory memory = {
      .device = "host", .planned = 112 * SECOND, .lower_bound = 100 * SECOND};
  rt_report report = report_of(NULL, 0);
  report.context.memory = &memory;
  report.context.memory_count = 1;
  must_say(&report, "fragmentation", "activations in host take 1.12e+05 MB, 12 % more");
  memory.planned = 110 * SECOND;
  must_be_silent(&report, "fragmentation");
  memory = (rt_report_memory){.device = "host", .planned = 1000, .lower_bound = 10};
  must_be_silent(&report, "fragmentation");
  free(report.advice);
}

static void the_largest_share_comes_first(void **state) {
  (void)state;
  rt_report_row nodes[] = {row_of("t", "Transpose", OPS_PROFILE_KERNEL, 0.2),
                           row_of("x", "(copy)", OPS_PROFILE_COPY, 0.3)};
  rt_report report = report_of(nodes, 2);
  assert_int_equal(rt_report_advise(&report, NULL), OPS_OK);
  assert_int_equal(report.advice_count, 2);
  assert_string_equal(report.advice[0].rule, "copies");
  assert_string_equal(report.advice[1].rule, "layouts");
  free(report.advice);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies),
      cmocka_unit_test(layouts),
      cmocka_unit_test(fallback),
      cmocka_unit_test(memory_bound),
      cmocka_unit_test(slow_arithmetic),
      cmocka_unit_test(few_warps),
      cmocka_unit_test(bank_conflicts),
      cmocka_unit_test(launch_bound),
      cmocka_unit_test(late_prepares),
      cmocka_unit_test(plans_evicted),
      cmocka_unit_test(host_overhead),
      cmocka_unit_test(fragmentation),
      cmocka_unit_test(the_largest_share_comes_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
