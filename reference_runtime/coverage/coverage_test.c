// SPDX-License-Identifier: Apache-2.0
//
// The reference provider takes every combination of types that the schemas of ai.onnx,
// ai.onnx.ml and their preview domains allow, in every opset.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>
#include <ops_support/error.h>

#include "coverage/coverage.h"

typedef struct tally {
  int64_t asked, refused;
} tally;

static int32_t count_refusals(void *context, const rt_coverage_case *found, ops_error *error) {
  tally *sum = context;
  char text[RT_COVERAGE_TEXT];
  (void)error;
  ++sum->asked;
  if (found->is_accepted) return OPS_OK;
  ++sum->refused;
  print_error("%s %s of opset %d:", found->schema->domain, found->schema->name, found->opset);
  for (int32_t i = 0; i < found->schema->constraint_count; ++i)
    print_error(" %s=%s", found->schema->constraints[i].name,
                rt_coverage_format(found->types[i], text));
  print_error(": %s\n", found->claim->text);
  return OPS_OK;
}

// The table also has what onnxruntime defines.
static int is_of_onnx(const rt_schema *schema) {
  return strcmp(schema->domain, "com.microsoft") != 0 &&
         strcmp(schema->name, "SimplifiedLayerNormalization") != 0;
}

static void reference_takes_all_that_schemas_allow(void **state) {
  rt_coverage_provider *reference;
  ops_error error = OPS_ERROR_INIT;
  tally sum = {0, 0};
  (void)state;
  if (rt_coverage_open(REFERENCE_PROVIDER, &reference, &error) != OPS_OK)
    fail_msg("%s", error.message);
  for (size_t i = 0; i < rt_schema_count(); ++i) {
    const rt_schema *schema = rt_schema_at(i);
    if (!is_of_onnx(schema) || rt_coverage_needs_runtime(schema)) continue;
    for (int32_t opset = schema->since; opset <= rt_coverage_until(schema); ++opset)
      if (rt_coverage_walk(reference, schema, opset, count_refusals, &sum, &error) != OPS_OK)
        fail_msg("%s", error.message);
  }
  rt_coverage_close(reference);
  print_message("%lld combinations\n", (long long)sum.asked);
  assert_true(sum.asked > 30000);
  assert_int_equal(sum.refused, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reference_takes_all_that_schemas_allow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
