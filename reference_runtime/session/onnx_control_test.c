// SPDX-License-Identifier: Apache-2.0
//
// The official ONNX node cases with bodies, sequences and optionals, through the public API, on
// every provider in front of the fallback. Models, inputs and expected outputs are those of the
// Python package onnx (onnx_control_cases.py), with its tolerances.
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
#include <ops_support/error.h>
#include <ops_support/half.h>
#include <ops_support/tensor.h>
#include <opsrt/opsrt.h>

#define MAX_VALUES 8
#define RUNS 2
#define LEAST_CASES 62

typedef struct official_case {
  char name[128];
  double rtol, atol;
} official_case;

typedef struct verdict {
  const official_case *test;
  char text[1024];  // "": right
} verdict;

// ---- Comparing ------------------------------------------------------------------------------

static void wrong(verdict *v, const char *format, ...) {
  if (v->text[0]) return;
  va_list args;
  va_start(args, format);
  vsnprintf(v->text, sizeof v->text, format, args);
  va_end(args);
}

static double number_at(int32_t type, const void *data, int64_t i) {
  if (type == OPS_TYPE_FLOAT) return (double)((const float *)data)[i];
  if (type == OPS_TYPE_DOUBLE) return ((const double *)data)[i];
  if (type == OPS_TYPE_FLOAT16) return (double)ops_half_to_float(((const uint16_t *)data)[i]);
  return (double)ops_bfloat16_to_float(((const uint16_t *)data)[i]);
}

static int is_float(int32_t type) {
  return type == OPS_TYPE_FLOAT || type == OPS_TYPE_DOUBLE || type == OPS_TYPE_FLOAT16 ||
         type == OPS_TYPE_BFLOAT16;
}

static void compare_tensors(verdict *v, const ops_tensor *got, const ops_tensor *expected) {
  int64_t count = 1;
  if (got->type != expected->type || got->rank != expected->rank)
    return wrong(v, "is %s of rank %d, expected %s of rank %d", ops_type_name(got->type),
                 got->rank, ops_type_name(expected->type), expected->rank);
  for (int32_t i = 0; i < got->rank; ++i) {
    count *= got->dims[i];
    if (got->dims[i] != expected->dims[i])
      return wrong(v, "dimension %d is %lld, expected %lld", i, (long long)got->dims[i],
                   (long long)expected->dims[i]);
  }
  const char *a = (const char *)got->memory + got->byte_offset;
  const char *b = (const char *)expected->memory + expected->byte_offset;
  if (!is_float(got->type)) {
    if (expected->byte_size && memcmp(a, b, expected->byte_size) != 0)
      wrong(v, "differs in a byte");
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const double x = number_at(got->type, a, i), y = number_at(got->type, b, i);
    if (!(fabs(x - y) <= v->test->atol + v->test->rtol * fabs(y)))
      return wrong(v, "element %lld is %g, expected %g", (long long)i, x, y);
  }
}

static void compare_values(verdict *v, const ops_value *got, const ops_value *expected);

static void compare_args(verdict *v, const ops_arg *got, const ops_arg *expected) {
  if (got->kind != expected->kind)
    return wrong(v, "is an argument of kind %d, expected %d", got->kind, expected->kind);
  if (got->kind == OPS_ARG_TENSOR) compare_tensors(v, &got->tensor, &expected->tensor);
  if (got->kind == OPS_ARG_VALUE) compare_values(v, got->value, expected->value);
}

static void compare_strings(verdict *v, const ops_value *got, const ops_value *expected) {
  const ops_value_api *api = opsrt_value_api();
  int32_t ranks[2];
  const int64_t *dims[2];
  int64_t count = 1;
  api->strings_shape(got, &ranks[0], &dims[0], NULL);
  api->strings_shape(expected, &ranks[1], &dims[1], NULL);
  if (ranks[0] != ranks[1]) return wrong(v, "strings differ in rank");
  for (int32_t i = 0; i < ranks[0]; ++i) {
    if (dims[0][i] != dims[1][i]) return wrong(v, "strings differ in shape");
    count *= dims[0][i];
  }
  for (int64_t i = 0; i < count; ++i) {
    ops_str a = {0}, b = {0};
    api->string_get(got, (uint64_t)i, &a, NULL);
    api->string_get(expected, (uint64_t)i, &b, NULL);
    if (a.size != b.size || (a.size && memcmp(a.data, b.data, a.size) != 0))
      wrong(v, "string %lld differs", (long long)i);
  }
}

static void compare_sequences(verdict *v, const ops_value *got, const ops_value *expected) {
  const ops_value_api *api = opsrt_value_api();
  uint64_t sizes[2] = {0};
  api->sequence_size(got, &sizes[0], NULL);
  api->sequence_size(expected, &sizes[1], NULL);
  if (sizes[0] != sizes[1])
    return wrong(v, "has %llu elements, expected %llu", (unsigned long long)sizes[0],
                 (unsigned long long)sizes[1]);
  for (uint64_t i = 0; i < sizes[0]; ++i) {
    ops_arg a, b;
    api->sequence_get(got, i, &a, NULL);
    api->sequence_get(expected, i, &b, NULL);
    compare_args(v, &a, &b);
  }
}

static void compare_values(verdict *v, const ops_value *got, const ops_value *expected) {
  const ops_value_api *api = opsrt_value_api();
  const int32_t kind = api->kind(got);
  if (kind != api->kind(expected))
    return wrong(v, "is a value of kind %d, expected %d", kind, api->kind(expected));
  if (kind == OPS_VALUE_STRINGS) compare_strings(v, got, expected);
  if (kind == OPS_VALUE_SEQUENCE) compare_sequences(v, got, expected);
  if (kind != OPS_VALUE_OPTIONAL) return;
  ops_arg a, b;
  api->optional_get(got, &a, NULL);
  api->optional_get(expected, &b, NULL);
  compare_args(v, &a, &b);
}

static void compare(verdict *v, const opsrt_value *got, const opsrt_value *expected) {
  if (got->kind != expected->kind)
    return wrong(v, "is of kind %d, expected %d", got->kind, expected->kind);
  if (got->value && expected->value) return compare_values(v, got->value, expected->value);
  const ops_tensor a = {.type = got->type,
                        .rank = got->rank,
                        .dims = got->dims,
                        .memory = (void *)got->data,
                        .byte_size = got->size};
  const ops_tensor b = {.type = expected->type,
                        .rank = expected->rank,
                        .dims = expected->dims,
                        .memory = (void *)expected->data,
                        .byte_size = expected->size};
  compare_tensors(v, &a, &b);
}

// ---- Cases ----------------------------------------------------------------------------------

static opsrt_tensor *read_value(verdict *v, const char *kind_of_file, uint64_t index,
                                const opsrt_info *info) {
  char path[512];
  ops_error error = OPS_ERROR_INIT;
  opsrt_tensor *tensor = NULL;
  snprintf(path, sizeof path, "%s/%s/test_data_set_0/%s_%llu.pb", TEST_CASES, v->test->name,
           kind_of_file, (unsigned long long)index);
  if (opsrt_value_read(path, info->kind, &tensor, &error) != OPS_OK)
    wrong(v, "%s", error.message);
  return tensor;
}

static void compare_outputs(verdict *v, const opsrt_session *session,
                            const opsrt_result *result) {
  for (uint64_t i = 0; i < opsrt_result_count(result) && !v->text[0]; ++i) {
    const opsrt_info *info = opsrt_session_output(session, i);
    opsrt_tensor *expected = read_value(v, "output", i, info);
    if (expected) compare(v, opsrt_result_output(result, i), opsrt_tensor_value(expected));
    opsrt_tensor_destroy(expected);
  }
}

static void run_session(verdict *v, opsrt_session *session) {
  opsrt_tensor *tensors[MAX_VALUES] = {0};
  opsrt_value values[MAX_VALUES];
  const uint64_t count = opsrt_session_input_count(session);
  assert_in_range(count, 0, MAX_VALUES);
  for (uint64_t i = 0; i < count && !v->text[0]; ++i) {
    const opsrt_info *info = opsrt_session_input(session, i);
    tensors[i] = read_value(v, "input", i, info);
    if (!tensors[i]) break;
    values[i] = *opsrt_tensor_value(tensors[i]);
    values[i].name = info->name;
  }
  for (int run = 0; run < RUNS && !v->text[0]; ++run) {
    ops_error error = OPS_ERROR_INIT;
    opsrt_result *result = NULL;
    if (opsrt_session_run(session, values, count, &result, &error) != OPS_OK)
      wrong(v, "%s", error.message);
    else
      compare_outputs(v, session, result);
    opsrt_result_destroy(result);
  }
  for (uint64_t i = 0; i < count; ++i) opsrt_tensor_destroy(tensors[i]);
}

static void run_case(verdict *v, const opsrt_provider_spec *provider) {
  char path[512];
  ops_error error = OPS_ERROR_INIT;
  opsrt_session *session = NULL;
  snprintf(path, sizeof path, "%s/%s/model.onnx", TEST_CASES, v->test->name);
  const opsrt_session_options options = {
      .model = {.path = path}, .providers = provider, .provider_count = 1, .workers = 1};
  if (opsrt_session_create(&options, &session, &error) != OPS_OK)
    return wrong(v, "%s", error.message);
  run_session(v, session);
  opsrt_session_destroy(session);
}

static void run_all(const char *provider) {
  const opsrt_provider_spec spec = {.name = provider};
  FILE *list = fopen(TEST_CASES "/cases", "r");
  assert_non_null(list);
  official_case test;
  int count = 0, failed = 0;
  while (fscanf(list, "%127s %lf %lf", test.name, &test.rtol, &test.atol) == 3) {
    verdict v = {.test = &test};
    run_case(&v, &spec);
    count++;
    if (!v.text[0]) continue;
    failed++;
    print_error("%s: %s\n", test.name, v.text);
  }
  fclose(list);
  assert_in_range(count, LEAST_CASES, 100000);
  assert_int_equal(failed, 0);
}

static void on_reference(void **state) {
  (void)state;
  run_all("reference");
}

static void on_cpu(void **state) {
  (void)state;
  run_all("cpu");
}

static void on_mynpu(void **state) {
  (void)state;
  run_all(TEST_NPU);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_reference),
      cmocka_unit_test(on_cpu),
      cmocka_unit_test(on_mynpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
