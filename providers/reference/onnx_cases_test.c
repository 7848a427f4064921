// SPDX-License-Identifier: Apache-2.0
//
// Runs the official ONNX node test cases (onnx.backend.test.case.node, written to a file by
// onnx_cases.py) whose operators this provider has. A case of several nodes, such as an
// expanded function, is evaluated node by node. Every case runs twice, the second time with
// strided inputs and outputs, which must give the same bits.
//
// Expected values and tolerances are those of ONNX. What is not covered is counted by operator
// and printed; fewer than the known number of covered cases is a failure.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above.
#include <cmocka.h>

#include "case_test_util.h"
#include "element.h"
#include "loader/value.h"
#include "run_test_util.h"

#define MAX_VALUES 4096

typedef struct scope {
  const case_test *test;
  ops_str names[MAX_VALUES];
  test_tensor tensors[MAX_VALUES];
  uint32_t count;
} scope;

static int same(ops_str a, ops_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static test_tensor *add(scope *s, ops_str name) {
  if (s->count == MAX_VALUES) {
    fprintf(stderr, "a case has more than %d values\n", MAX_VALUES);
    exit(2);
  }
  s->names[s->count] = name;
  return &s->tensors[s->count++];
}

static test_tensor *find(scope *s, ops_str name) {
  for (uint32_t i = 0; i < s->count; ++i)
    if (same(s->names[i], name)) return &s->tensors[i];
  return NULL;
}

static void from_case(test_tensor *out, const case_tensor *from, int strided) {
  test_tensor_init(out, from->type, from->rank, from->dims, strided);
  if (from->type == OPS_TYPE_STRING)
    for (int64_t i = 0; i < from->count; ++i)
      ops_value_accessors.string_set(out->value, (uint64_t)i, from->strings[i], NULL);
  else
    test_tensor_fill(out, from->bytes);
}

static void load_inputs(scope *s, const test_host *host) {
  for (uint32_t i = 0; i < s->test->input_count; ++i) {
    const case_value *value = &s->test->inputs[i];
    if (find(s, value->name) != NULL) continue;
    from_case(add(s, value->name), &value->tensor, host->strided);
  }
}

static void leave(scope *s) {
  for (uint32_t i = 0; i < s->count; ++i) test_tensor_finish(&s->tensors[i]);
  s->count = 0;
}

typedef enum outcome { PASSED, FAILED, NOT_COVERED } outcome;

static outcome run_node(test_host *host, scope *s, const case_node *node, char *text,
                        size_t size) {
  test_tensor inputs[64] = {0}, outputs[64] = {0};
  char op[64];
  snprintf(op, sizeof op, "%.*s", (int)node->op.size, node->op.data);
  for (uint32_t i = 0; i < node->input_count; ++i) {
    test_tensor *t = node->inputs[i].size > 0 ? find(s, node->inputs[i]) : NULL;
    if (t != NULL) inputs[i] = *t;
  }
  for (uint32_t i = 0; i < node->output_count; ++i)
    outputs[i].present = node->outputs[i].size > 0;
  test_node run = {.domain = node->domain,
                   .op = op,
                   .opset = node->opset,
                   .attributes = node->attributes,
                   .attribute_count = node->attribute_count,
                   .inputs = inputs,
                   .input_count = node->input_count,
                   .outputs = outputs,
                   .output_count = node->output_count};
  const char *reason;
  if (test_find(host, &run, &reason) == NULL) {
    snprintf(text, size, "%s (%s)", op, reason);
    return NOT_COVERED;
  }
  ops_error error = {.struct_size = sizeof error};
  int32_t status = test_run(host, &run, &error);
  for (uint32_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i].size == 0) {
      test_tensor_finish(&outputs[i]);
      continue;
    }
    *add(s, node->outputs[i]) = outputs[i];
  }
  if (status == OPS_OK) return PASSED;
  snprintf(text, size, "status %d: %s", status, error.message);
  return FAILED;
}

// ---- Comparison ----------------------------------------------------------------------------

// ONNX's own values were computed step by step in the narrow type: one unit in the last place
// of float16 and bfloat16 is allowed besides the case's tolerance, and two where an expanded
// function rounds between its nodes at other places than the function does, or an operator is
// itself a chain of such steps.
static double unit_of(const case_test *test, int32_t type) {
  double unit = type == OPS_TYPE_FLOAT16 ? 0x1p-10 : type == OPS_TYPE_BFLOAT16 ? 0x1p-7 : 0;
  int is_chain = test->node_count > 1 || same(test->nodes[0].op, (ops_str)OPS_STR("Attention"));
  return is_chain ? 2 * unit : unit;
}

// The values of DFT come from a fast transform in float, which leaves noise of the size of a
// float's precision where the result is zero.
static double noise_of(const case_test *test, const case_tensor *expected) {
  double most = 0, value;
  if (!same(test->nodes[0].op, (ops_str)OPS_STR("DFT"))) return 0;
  for (int64_t i = 0; i < expected->count; ++i) {
    ref_element_of(expected->type)->load(expected->bytes, i, 1, 1, &value);
    most = fmax(most, fabs(value));
  }
  return most * 0x1p-23;
}

static int close_enough(double got, double expected, double rtol, double atol) {
  if (isnan(expected)) return isnan(got);
  if (isinf(expected)) return got == expected;
  return fabs(got - expected) <= atol + rtol * fabs(expected);
}

static int compare_numbers(const case_test *test, const case_tensor *expected,
                           const void *got_bytes, char *text, size_t size) {
  const ref_element *element = ref_element_of(expected->type);
  if (element->load == NULL || element->kind != REF_FLOAT || element->bits < 16) {
    for (uint64_t i = 0; i < expected->size; ++i)
      if (((const unsigned char *)got_bytes)[i] != expected->bytes[i]) {
        snprintf(text, size, "byte %llu is 0x%02x, expected 0x%02x", (unsigned long long)i,
                 ((const unsigned char *)got_bytes)[i], expected->bytes[i]);
        return 0;
      }
    return 1;
  }
  double unit = unit_of(test, expected->type), noise = noise_of(test, expected);
  for (int64_t i = 0; i < expected->count; ++i) {
    double got, want;
    element->load(got_bytes, i, 1, 1, &got);
    element->load(expected->bytes, i, 1, 1, &want);
    if (close_enough(got, want, fmax(test->rtol, unit), test->atol + noise)) continue;
    snprintf(text, size, "element %lld is %.9g, expected %.9g", (long long)i, got, want);
    return 0;
  }
  return 1;
}

static int compare_strings(const case_tensor *expected, const test_tensor *got, char *text,
                           size_t size) {
  for (int64_t i = 0; i < expected->count; ++i) {
    ops_str string;
    ops_value_accessors.string_get(got->value, (uint64_t)i, &string, NULL);
    if (same(string, expected->strings[i])) continue;
    snprintf(text, size, "element %lld is '%.*s', expected '%.*s'", (long long)i,
             (int)string.size, string.data, (int)expected->strings[i].size,
             expected->strings[i].data);
    return 0;
  }
  return 1;
}

// Cases whose values are drawn: only what they must have in common is compared.
static int is_random(const case_test *test) {
  static const ops_str random[] = {OPS_STR("Bernoulli"), OPS_STR("RandomUniformLike")};
  for (uint32_t i = 0; i < test->node_count; ++i)
    for (size_t k = 0; k < sizeof random / sizeof *random; ++k)
      if (same(test->nodes[i].op, random[k])) return 1;
  return 0;
}

// All of them draw zeros and ones, whose mean over the case's 100 or so elements is not
// constant.
static int compare_zeros_and_ones(const test_tensor *got, char *text, size_t size) {
  unsigned char *bytes = calloc(1, test_tensor_bytes(got) + 16);
  const ref_element *element = ref_element_of(got->type);
  int64_t ones = 0, others = 0;
  test_tensor_read(got, bytes);
  for (int64_t i = 0; i < got->count; ++i) {
    double value;
    element->load(bytes, i, 1, 1, &value);
    ones += value == 1;
    others += value != 0 && value != 1;
  }
  free(bytes);
  snprintf(text, size, "%lld ones, %lld other than 0 and 1 of %lld", (long long)ones,
           (long long)others, (long long)got->count);
  return others == 0 && ones > 0 && ones < got->count;
}

static const case_tensor *case_input(const case_test *test, ops_str name) {
  for (uint32_t i = 0; i < test->input_count; ++i)
    if (same(test->inputs[i].name, name)) return &test->inputs[i].tensor;
  return NULL;
}

static double case_number(const case_tensor *tensor, int64_t i) {
  double value;
  ref_element_of(tensor->type)->load(tensor->bytes, i, 1, 1, &value);
  return value;
}

// The share that a Dropout in training drops; 0 for everything else.
static double dropped_share(const case_test *test) {
  const case_node *node = &test->nodes[0];
  if (!same(node->op, (ops_str)OPS_STR("Dropout")) || node->input_count < 3) return 0;
  const case_tensor *ratio = case_input(test, node->inputs[1]);
  const case_tensor *mode = case_input(test, node->inputs[2]);
  if (mode == NULL || mode->bytes[0] == 0) return 0;
  return ratio == NULL ? 0.5 : case_number(ratio, 0);
}

// Every element is dropped or scaled.
static int compare_dropped(const case_test *test, const test_tensor *got, char *text,
                           size_t size) {
  const case_tensor *x = case_input(test, test->nodes[0].inputs[0]);
  float *y = calloc(1, test_tensor_bytes(got) + 16);
  int equal = 1;
  test_tensor_read(got, y);
  for (int64_t i = 0; i < got->count; ++i) {
    double kept = case_number(x, i) / (1 - dropped_share(test));
    if (y[i] == 0 || close_enough(y[i], kept, test->rtol, test->atol)) continue;
    snprintf(text, size, "element %lld is %g, expected 0 or %g", (long long)i, y[i], kept);
    equal = 0;
  }
  free(y);
  return equal;
}

static int compare_drawn(const case_test *test, const test_tensor *got, char *text,
                         size_t size) {
  return dropped_share(test) > 0 && got->type == OPS_TYPE_FLOAT
             ? compare_dropped(test, got, text, size)
             : compare_zeros_and_ones(got, text, size);
}

static int compare(const case_test *test, const case_tensor *expected, const test_tensor *got,
                   char *text, size_t size) {
  int same_shape = got->rank == expected->rank && got->type == expected->type;
  for (int32_t i = 0; same_shape && i < got->rank; ++i)
    same_shape = got->dims[i] == expected->dims[i];
  if (!same_shape) {
    snprintf(text, size, "type %d rank %d dims[0] %lld, expected type %d rank %d dims[0] %lld",
             got->type, got->rank, (long long)got->dims[0], expected->type, expected->rank,
             (long long)expected->dims[0]);
    return 0;
  }
  if (expected->type == OPS_TYPE_STRING) return compare_strings(expected, got, text, size);
  if (is_random(test) || dropped_share(test) > 0) return compare_drawn(test, got, text, size);
  void *bytes = calloc(1, test_tensor_bytes(got) + 16);
  test_tensor_read(got, bytes);
  int equal = compare_numbers(test, expected, bytes, text, size);
  free(bytes);
  return equal;
}

static outcome compare_outputs(scope *s, char *text, size_t size) {
  for (uint32_t i = 0; i < s->test->output_count; ++i) {
    const case_value *expected = &s->test->outputs[i];
    const test_tensor *got = find(s, expected->name);
    if (got == NULL || !compare(s->test, &expected->tensor, got, text, size)) return FAILED;
  }
  return PASSED;
}

// ---- Cases ---------------------------------------------------------------------------------

static outcome run_case(test_host *host, const case_test *test, int strided, scope *s,
                        char *text, size_t size) {
  *s = (scope){.test = test};
  host->strided = strided;
  load_inputs(s, host);
  outcome result = PASSED;
  for (uint32_t i = 0; i < test->node_count && result == PASSED; ++i)
    result = run_node(host, s, &test->nodes[i], text, size);
  return result == PASSED ? compare_outputs(s, text, size) : result;
}

static int same_bits(const scope *a, const scope *b) {
  for (uint32_t i = 0; i < a->count; ++i) {
    const test_tensor *x = &a->tensors[i], *y = &b->tensors[i];
    if (x->value != NULL) continue;
    uint64_t size = test_tensor_bytes(x);
    void *left = calloc(2, size + 16), *right = (char *)left + size + 16;
    test_tensor_read(x, left);
    test_tensor_read(y, right);
    int equal = memcmp(left, right, size) == 0;
    free(left);
    if (!equal) return 0;
  }
  return 1;
}

static outcome run_twice(test_host *host, const case_test *test, char *text, size_t size) {
  static scope plain, strided;
  outcome result = run_case(host, test, 0, &plain, text, size);
  if (result == PASSED) {
    result = run_case(host, test, 1, &strided, text, size);
    if (result == PASSED && !same_bits(&plain, &strided)) {
      snprintf(text, size, "strided tensors give other bits");
      result = FAILED;
    }
    leave(&strided);
  }
  leave(&plain);
  return result;
}

typedef struct tally {
  char name[128];
  int count;
} tally;

static void count_missing(tally *tallies, const char *name) {
  int i = 0;
  while (tallies[i].count > 0 && strcmp(tallies[i].name, name) != 0) ++i;
  snprintf(tallies[i].name, sizeof tallies[i].name, "%.127s", name);
  ++tallies[i].count;
}

static void every_covered_case_passes(void **state) {
  (void)state;
  static case_file file;
  static tally missing[512];
  const char *only = getenv("OPS_ONNX_CASE");
  case_file_open(&file, getenv("OPS_ONNX_CASES"));
  test_host host;
  test_host_open(&host);
  int counts[3] = {0};
  for (uint32_t i = 0; i < file.count; ++i) {
    char text[1200] = "", name[256];
    snprintf(name, sizeof name, "%.*s", (int)file.tests[i].name.size, file.tests[i].name.data);
    if (only != NULL && strcmp(only, name) != 0) continue;
    outcome result = run_twice(&host, &file.tests[i], text, sizeof text);
    ++counts[result];
    if (result == FAILED) printf("FAILED %s: %s\n", name, text);
    if (result == NOT_COVERED) count_missing(missing, text);
  }
  test_host_close(&host);
  for (int i = 0; missing[i].count > 0; ++i)
    printf("not covered: %3d cases need %s\n", missing[i].count, missing[i].name);
  printf("%d passed, %d failed, %d not covered\n", counts[PASSED], counts[FAILED],
         counts[NOT_COVERED]);
  case_file_close(&file);
  assert_int_equal(counts[FAILED], 0);
  const char *least = getenv("OPS_ONNX_LEAST");
  if (only == NULL && least != NULL) assert_true(counts[PASSED] >= atoi(least));
}

int main(void) {
  if (getenv("OPS_ONNX_CASES") == NULL) {
    fprintf(stderr, "set OPS_ONNX_CASES to the file that onnx_cases.py has written\n");
    return 2;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_covered_case_passes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
