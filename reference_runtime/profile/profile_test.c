// SPDX-License-Identifier: Apache-2.0
//
// The sums and the trace of a profile, whose spans each test states. The trace is read back
// by a strict JSON reader of its own (RFC 8259), so that one bad escape or comma fails.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <math.h>
#include <ops/tensor.h>
#include <ops_support/error.h>
#include <unistd.h>

#include "profile/profile.h"
#include "profile/report.h"

// ---- A JSON reader that only accepts or refuses ---------------------------------------------

static const char *skip_space(const char *at) {
  while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') at++;
  return at;
}

static const char *read_json_string(const char *at) {
  if (*at++ != '"') return NULL;
  for (; *at != '"'; ++at) {
    if ((unsigned char)*at < 0x20) return NULL;
    if (*at != '\\') continue;
    at++;
    if (*at == 'u') {
      for (int i = 0; i < 4; ++i)
        if (!strchr("0123456789abcdefABCDEF", *++at)) return NULL;
    } else if (!*at || !strchr("\"\\/bfnrt", *at)) {
      return NULL;
    }
  }
  return at + 1;
}

static const char *read_json(const char *at);

static const char *read_json_list(const char *at, char close) {
  at = skip_space(at + 1);
  if (*at == close) return at + 1;
  for (;;) {
    if (close == '}') {
      at = read_json_string(skip_space(at));
      if (!at || *(at = skip_space(at)) != ':') return NULL;
      at++;
    }
    at = read_json(at);
    if (!at) return NULL;
    at = skip_space(at);
    if (*at == close) return at + 1;
    if (*at++ != ',') return NULL;
  }
}

static const char *read_json(const char *at) {
  at = skip_space(at);
  if (*at == '{') return read_json_list(at, '}');
  if (*at == '[') return read_json_list(at, ']');
  if (*at == '"') return read_json_string(at);
  char *end = NULL;
  if ((*at < '0' || *at > '9') && *at != '-') return NULL;
  strtod(at, &end);
  return end == at ? NULL : end;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

static char *written_trace(rt_profile *profile) {
  char path[] = "/tmp/ops_profile_test_XXXXXX";
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_profile_write(profile, path, &error), OPS_OK);
  char *text = read_file(path);
  unlink(path);
  const char *end = read_json(text);
  assert_non_null(end);
  assert_int_equal(*skip_space(end), 0);
  return text;
}

// ---- Tests ----------------------------------------------------------------------------------

static rt_profile *profile_with_two_runs(void) {
  rt_profile *profile = NULL;
  assert_int_equal(rt_profile_create(&profile, NULL), OPS_OK);
  for (uint32_t run = 0; run < 2; ++run) {
    const uint64_t conv = rt_profile_launch(profile), relu = rt_profile_launch(profile);
    rt_profile_span span = {.kind = OPS_PROFILE_KERNEL,
                            .run = run,
                            .name = "conv1",
                            .op = "Conv",
                            .provider = "npu",
                            .correlation = conv,
                            .start_ns = 1000,
                            .end_ns = 1100};
    rt_profile_add(profile, &span);
    ops_profile_record record = {.struct_size = sizeof record,
                                 .kind = OPS_PROFILE_KERNEL,
                                 .stream_id = 1,
                                 .name = OPS_STR("conv_direct"),
                                 .correlation = conv,
                                 .start_ns = 1050,
                                 .end_ns = 6050};
    rt_profile_add_device(profile, 0, "npu", &record);
    span = (rt_profile_span){.kind = OPS_PROFILE_KERNEL,
                             .run = run,
                             .name = "relu1",
                             .op = "Relu",
                             .provider = "reference",
                             .correlation = relu,
                             .start_ns = 2000,
                             .end_ns = 4000};
    rt_profile_add(profile, &span);
  }
  return profile;
}

static void times_prefer_the_device(void **state) {
  (void)state;
  rt_profile *profile = profile_with_two_runs();
  const rt_report_context none = {0};
  rt_report report;
  assert_int_equal(rt_report_init(&report, profile, &none, NULL), OPS_OK);
  assert_int_equal(report.node_count, 2);
  assert_string_equal(report.nodes[0].name, "conv1");  // 2 x 5000 ns on the device, not 2 x 100
  assert_int_equal(report.nodes[0].time.sum, 10000);
  assert_int_equal(report.nodes[0].time.count, 2);
  assert_string_equal(report.nodes[1].name, "relu1");
  assert_int_equal(report.nodes[1].time.sum, 4000);
  rt_report_finish(&report);
  rt_profile_destroy(profile);
}

static void trace_is_json_with_tracks(void **state) {
  (void)state;
  rt_profile *profile = profile_with_two_runs();
  char *text = written_trace(profile);
  assert_non_null(strstr(text,
                         "\"name\":\"conv1\",\"cat\":\"kernel\",\"pid\":2,\"tid\":1,"
                         "\"ts\":0.050,\"dur\":5.000"));
  assert_non_null(strstr(text, "\"kernel\":\"conv_direct\""));
  assert_non_null(strstr(text, "{\"name\":\"stream 1\"}"));
  assert_non_null(strstr(text, "{\"name\":\"run 0\"}"));
  assert_non_null(strstr(text, "{\"name\":\"npu\"}"));
  free(text);
  rt_profile_clear(profile);
  free(written_trace(profile));  // an empty one is valid too
  rt_profile_destroy(profile);
}

static void trace_escapes_names(void **state) {
  (void)state;
  rt_profile *profile = NULL;
  assert_int_equal(rt_profile_create(&profile, NULL), OPS_OK);
  const char *names[] = {"quote\" back\\slash", "line\nfeed\x01",   "caf\xc3\xa9",
                         "bad\xff\xc3",         "overlong\xc0\xaf", "surrogate\xed\xa0\x80"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    rt_profile_add(profile,
                   &(rt_profile_span){
                       .kind = OPS_PROFILE_OTHER, .name = names[i], .op = "", .provider = ""});
  char *text = written_trace(profile);
  assert_non_null(strstr(text, "quote\\\" back\\\\slash"));
  assert_non_null(strstr(text, "line\\u000afeed\\u0001"));
  assert_non_null(strstr(text, "caf\xc3\xa9"));
  assert_non_null(strstr(text, "bad\\ufffd\\ufffd"));
  assert_non_null(strstr(text, "overlong\\ufffd\\ufffd"));
  assert_non_null(strstr(text, "surrogate\\ufffd\\ufffd\\ufffd"));
  free(text);
  rt_profile_destroy(profile);
}

static void counters_are_copied(void **state) {
  (void)state;
  rt_profile *profile = NULL;
  assert_int_equal(rt_profile_create(&profile, NULL), OPS_OK);
  char unit[] = "byte";
  ops_counter counter = {.struct_size = sizeof counter,
                         .name = OPS_STR(OPS_COUNTER_DRAM_BYTES),
                         .unit = {unit, 4},
                         .value = 4096};
  ops_profile_record record = {.struct_size = sizeof record,
                               .kind = OPS_PROFILE_COPY,
                               .memory_to = OPS_MEMORY_DEVICE,
                               .bytes = 77,
                               .counters = &counter,
                               .counter_count = 1,
                               .counter_stride = sizeof counter};
  rt_profile_add_device(profile, 3, "npu", &record);
  memset(unit, 'x', 4);
  char *text = written_trace(profile);
  assert_non_null(strstr(text, "\"dram_bytes [byte]\":4096"));
  assert_non_null(strstr(text, "\"bytes\":77"));
  assert_non_null(strstr(text, "\"from\":\"host\",\"to\":\"device\""));
  free(text);
  rt_profile_destroy(profile);
}

static void a_report_merges_launches_and_counters(void **state) {
  (void)state;
  rt_profile *profile = NULL;
  assert_int_equal(rt_profile_create(&profile, NULL), OPS_OK);
  for (uint32_t i = 0; i < 20; ++i) {  // 1 … 20 us
    rt_profile_span span = {.kind = OPS_PROFILE_KERNEL,
                            .run = i,
                            .name = i % 2 ? "a" : "b",
                            .op = "Add",
                            .provider = "npu",
                            .correlation = rt_profile_launch(profile),
                            .end_ns = 1,
                            .bytes_read = 80,
                            .bytes_written = 40,
                            .flops = 10};
    const ops_counter counter = {.struct_size = sizeof counter,
                                 .name = OPS_STR("dram_bytes"),
                                 .unit = OPS_STR("byte"),
                                 .value = i};
    const ops_profile_record record = {.struct_size = sizeof record,
                                       .kind = OPS_PROFILE_KERNEL,
                                       .correlation = span.correlation,
                                       .start_ns = 1000,
                                       .end_ns = 1000 + 1000 * (uint64_t)(i + 1),
                                       .counters = &counter,
                                       .counter_count = 1,
                                       .counter_stride = sizeof counter};
    rt_profile_add(profile, &span);
    rt_profile_add_device(profile, 0, "npu", &record);
    span = (rt_profile_span){.kind = OPS_PROFILE_COMPILE,
                             .run = i,
                             .name = "a",
                             .op = "Add",
                             .provider = "npu",
                             .end_ns = 50};
    if (i < 2) rt_profile_add(profile, &span);
  }
  const rt_report_device device = {
      .provider = "npu", .peak_flops = 4e6, .peak_bytes_per_second = 4e6};
  const rt_report_context context = {.devices = &device, .device_count = 1};
  rt_report report;
  assert_int_equal(rt_report_init(&report, profile, &context, NULL), OPS_OK);
  assert_int_equal(report.operator_count, 1);
  const rt_report_row *all = &report.operators[0];
  assert_int_equal(all->nodes, 2);
  assert_int_equal(all->time.count, 20);
  assert_int_equal(all->time.sum, 210000);
  assert_int_equal(all->time.minimum, 1000);
  assert_int_equal(all->time.median, 10000);  // nearest rank: the 10th and the 19th of 20
  assert_int_equal(all->time.p95, 19000);
  assert_true(all->flops == 200 && all->bytes_read == 1600 && all->bytes_written == 800);
  assert_int_equal(report.node_count, 2);
  assert_string_equal(report.nodes[0].name, "a");  // 2 4 … 20, against 1 3 … 19
  assert_int_equal(report.nodes[0].time.median, 10000);
  assert_int_equal(report.nodes[1].time.median, 9000);
  assert_true(all->typical_ns == 10 * 10000 + 10 * 9000);
  assert_int_equal(report.nodes[0].prepares, 2);
  assert_int_equal(report.late_prepares, 1);
  assert_int_equal(all->counter_count, 1);
  assert_true(all->counters[0].sum == 190 && all->counters[0].count == 20);
  // b's fastest launch does 10 operations in 1 us, above the 4e6 per second of the device.
  assert_true(fabs(rt_report_device_of(&report, all)->peak_flops - 1e7) < 1);
  // 120 bytes in 10 us, and too few operations per byte to be bound by arithmetic.
  assert_true(fabs(rt_report_peak_share(&report, &report.nodes[0]) - 3) < 1e-9);
  rt_report_finish(&report);
  rt_profile_destroy(profile);
}

static void samples_of_memory_are_counters(void **state) {
  (void)state;
  rt_profile *profile = NULL;
  assert_int_equal(rt_profile_create(&profile, NULL), OPS_OK);
  rt_profile_add_sample(profile, &(rt_profile_sample){.device = "npu",
                                                      .kind = OPS_MEMORY_DEVICE,
                                                      .time_ns = 5000,
                                                      .live = 64,
                                                      .allocated = 4096});
  char *text = written_trace(profile);
  assert_non_null(strstr(text,
                         "\"ph\":\"C\",\"name\":\"memory of npu (device)\",\"pid\":1,\"tid\":0,"
                         "\"ts\":0.000,\"args\":{\"live\":64,\"allocated\":4096}"));
  free(text);
  rt_profile_destroy(profile);
}

static void a_place_that_does_not_exist_is_an_error(void **state) {
  (void)state;
  rt_profile *profile = NULL;
  assert_int_equal(rt_profile_create(&profile, NULL), OPS_OK);
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_profile_write(profile, "/nowhere/at/all.json", &error), OPS_ERROR_IO);
  assert_non_null(strstr(error.message, "/nowhere/at/all.json"));
  rt_profile_destroy(profile);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(times_prefer_the_device),
      cmocka_unit_test(trace_is_json_with_tracks),
      cmocka_unit_test(trace_escapes_names),
      cmocka_unit_test(counters_are_copied),
      cmocka_unit_test(a_report_merges_launches_and_counters),
      cmocka_unit_test(samples_of_memory_are_counters),
      cmocka_unit_test(a_place_that_does_not_exist_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
