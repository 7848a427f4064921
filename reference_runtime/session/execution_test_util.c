// SPDX-License-Identifier: Apache-2.0
#include "execution_test_util.h"

#include <math.h>

enum { kMaxProviders = 4, kMaxOptions = 5 };

opsrt_session *open_model(const char *model, const test_provider *providers,
                          opsrt_session_options options) {
  char path[512];
  opsrt_provider_spec specs[kMaxProviders] = {{0}};
  ops_key_value values[kMaxProviders][kMaxOptions];
  uint64_t count = 0;
  for (; providers && providers[count].name; ++count) {
    specs[count] =
        (opsrt_provider_spec){.name = providers[count].name, .options = values[count]};
    for (const char *const *at = providers[count].options; *at; ++at) {
      const char *equal = strchr(*at, '=');
      values[count][specs[count].option_count++] =
          (ops_key_value){{*at, (uint64_t)(equal - *at)}, {equal + 1, strlen(equal + 1)}};
    }
  }
  snprintf(path, sizeof path, "%s/%s.onnx", TEST_MODELS, model);
  options.model.path = path;
  options.providers = specs;
  options.provider_count = count;
  if (!options.workers) options.workers = 2;
  opsrt_session *session = NULL;
  CHECK(opsrt_session_create(&options, &session, &error));
  return session;
}

void rows_fill(rows *r, int64_t count, float first, float step) {
  assert_true(count <= kMaxRows);
  r->dims[0] = count;
  r->dims[1] = kWidth;
  for (int64_t i = 0; i < count * kWidth; ++i) r->data[i] = first + (float)i * step;
}

opsrt_value rows_value(const rows *r, const char *name) {
  return (opsrt_value){.name = name,
                       .type = OPS_TYPE_FLOAT,
                       .rank = 2,
                       .dims = r->dims,
                       .data = r->data,
                       .size = (uint64_t)(r->dims[0] * kWidth) * sizeof(float)};
}

float chain_of(float x) {
  float v = x;
  for (int i = 0; i < 2; ++i) {
    v = fabsf(-v) + x;
    v = -(v > 0 ? v : 0);
  }
  return v;
}

void expect_chain(const opsrt_value *y, const rows *x) {
  assert_int_equal(y->rank, 2);
  assert_int_equal(y->dims[0], x->dims[0]);
  for (int64_t i = 0; i < x->dims[0] * kWidth; ++i)
    assert_true(((const float *)y->data)[i] == chain_of(x->data[i]));
}

opsrt_counters counters_of(const opsrt_session *session) {
  opsrt_counters counters;
  opsrt_session_counters(session, &counters);
  return counters;
}

void expect_parts(const char *text, const char *const *parts) {
  for (; *parts; ++parts)
    if (!strstr(text, *parts)) fail_msg("no '%s' in: %s", *parts, text);
}
