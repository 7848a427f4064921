// SPDX-License-Identifier: Apache-2.0
//
// Strings by hand: what case files cannot hold or onnxruntime does otherwise. Expected values
// follow from the text of the specification, from Unicode's tables, from the syntax of RE2, and
// for numbers from the shortest decimals that give an IEEE value back.
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the headers above.
#include <cmocka.h>

#include "loader/value.h"
#include "run_test_util.h"
#include "text.h"

#define MAX_WORDS 8

typedef struct setting {
  const char *name;
  const char *text;  // NULL: an int
  int64_t number;
} setting;

typedef struct string_case {
  const char *op;
  int32_t opset;
  setting settings[3];
  const char *words[MAX_WORDS];  // input of rank 1
  const char *expected[2 * MAX_WORDS];
  const char *error;  // part of the message instead
} string_case;

static const string_case cases[] = {
    // Full case folding finds the stop word; simple mapping leaves the sharp s in upper case.
    {"StringNormalizer",
     10,
     {{"stopwords", "STRASSE", 0}},
     {"Stra\xC3\x9F"
      "e",
      "x"},
     {"x"},
     0},
    {"StringNormalizer",
     10,
     {{"case_change_action", "UPPER", 0}},
     {"stra\xC3\x9F"
      "e",
      "\xC3\xA9", "i"},
     {"STRA\xC3\x9F"
      "E",
      "\xC3\x89", "I"},
     0},
    {"StringNormalizer",
     10,
     {{"case_change_action", "UPPER", 0}, {"locale", "tr_TR.UTF-8", 0}},
     {"ni\xC4\xB1"},
     {"N\xC4\xB0I"},
     0},
    {"StringNormalizer",
     10,
     {{"case_change_action", "LOWER", 0}, {"locale", "az", 0}},
     {"NI\xC4\xB0"},
     {"n\xC4\xB1i"},
     0},
    // An empty text is no stop word.
    {"StringNormalizer", 10, {{"stopwords", "a", 0}}, {"", "A", "b"}, {"", "b"}, 0},
    {"StringNormalizer",
     10,
     {{"stopwords", "a", 0}, {"is_case_sensitive", NULL, 1}},
     {"a", "A"},
     {"A"},
     0},
    {"StringNormalizer",
     10,
     {{"case_change_action", "LOWER", 0}},
     {"A\xFF"},
     {0},
     "byte 1 of a string is no UTF-8"},
    {"StringNormalizer", 10, {{"case_change_action", "Title", 0}}, {"A"}, {0}, "expected NONE"},
    // White space of Unicode separates: no-break space, ideographic space, vertical tab.
    {"StringSplit",
     20,
     {{0}},
     {"a\xC2\xA0"
      "b\xE3\x80\x80"
      "c\v",
      "  "},
     {"a", "b", "c", "", "", ""},
     0},
    // n delimiters, n + 1 parts; an empty text is one part.
    {"StringSplit", 20, {{"delimiter", ",", 0}}, {"", ","}, {"", "", "", ""}, 0},
    {"StringSplit", 20, {{"maxsplit", NULL, 1}}, {" a  b \t"}, {"a", "b"}, 0},
    {"StringSplit",
     20,
     {{"delimiter", "--", 0}, {"maxsplit", NULL, 1}},
     {"a--b--c", "---"},
     {"a", "b--c", "", "-"},
     0},
    // Not in RE2's syntax: look-ahead, back references, possessive repetition.
    {"RegexFullMatch", 20, {{"pattern", "a(?=b)", 0}}, {"a"}, {0}, "syntax of RE2"},
    {"RegexFullMatch", 20, {{"pattern", "(a)\\1", 0}}, {"aa"}, {0}, "syntax of RE2"},
    {"RegexFullMatch", 20, {{"pattern", "a++", 0}}, {"a"}, {0}, "syntax of RE2"},
    // A backtracking matcher would take 2^40 steps here.
    {"RegexFullMatch",
     20,
     {{"pattern", "(a|a)*(a|a)*b", 0}},
     {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aab"},
     {"0", "1"},
     0},
    {"Cast", 13, {{"to", NULL, OPS_TYPE_INT32}}, {"twelve"}, {0}, "'twelve' is no number"},
    {"Cast", 13, {{"to", NULL, OPS_TYPE_FLOAT}}, {"1e"}, {0}, "is no number"},
    {"Cast", 13, {{"to", NULL, OPS_TYPE_FLOAT}}, {""}, {0}, "is no number"},
    {"Cast", 13, {{"to", NULL, OPS_TYPE_FLOAT}}, {"."}, {0}, "is no number"},
    {"Cast", 13, {{"to", NULL, OPS_TYPE_FLOAT}}, {"1 "}, {0}, "is no number"},
    {"Cast", 13, {{"to", NULL, OPS_TYPE_STRING}}, {"a", ""}, {"a", ""}, 0},
};

static ops_str text_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

static test_tensor make_words(const char *const *words) {
  int64_t count = 0;
  while (count < MAX_WORDS && words[count] != NULL) ++count;
  test_tensor t;
  test_tensor_init(&t, OPS_TYPE_STRING, 1, &count, 0);
  for (int64_t i = 0; i < count; ++i)
    ops_value_accessors.string_set(t.value, (uint64_t)i, text_of(words[i]), NULL);
  return t;
}

static uint64_t make_attributes(const setting *settings, ops_attribute *out, ops_str *texts) {
  uint64_t n = 0;
  for (; n < 3 && settings[n].name != NULL; ++n) {
    int is_list = strcmp(settings[n].name, "stopwords") == 0;
    out[n] = (ops_attribute){.struct_size = sizeof *out,
                             .name = text_of(settings[n].name),
                             .kind = settings[n].text == NULL ? OPS_ATTRIBUTE_INT
                                     : is_list                ? OPS_ATTRIBUTE_STRINGS
                                                              : OPS_ATTRIBUTE_STRING,
                             .count = 1};
    if (settings[n].text == NULL) {
      out[n].ints = &settings[n].number;
    } else {
      texts[n] = text_of(settings[n].text);
      out[n].strings = &texts[n];
    }
  }
  return n;
}

static void check_output(const string_case *c, const test_tensor *y) {
  int64_t i = 0;
  for (; i < y->count; ++i) {
    ops_str text = {NULL, 0};
    char digit[2] = "0";
    if (y->value != NULL) {
      assert_int_equal(ops_value_accessors.string_get(y->value, (uint64_t)i, &text, NULL), 0);
    } else {
      digit[0] += ((const char *)y->memory)[i];
      text = text_of(digit);
    }
    assert_non_null(c->expected[i]);
    assert_int_equal(text.size, strlen(c->expected[i]));
    if (text.size > 0) assert_memory_equal(text.data, c->expected[i], text.size);
  }
  assert_null(c->expected[i]);
}

static void run_case(const string_case *c) {
  ops_attribute attributes[3];
  ops_str texts[3];
  test_tensor x = make_words(c->words), y[2] = {{.present = 1}, {.present = 1}};
  test_node node = {.op = c->op,
                    .opset = c->opset,
                    .attributes = attributes,
                    .attribute_count = make_attributes(c->settings, attributes, texts),
                    .inputs = &x,
                    .input_count = 1,
                    .outputs = y,
                    .output_count = strcmp(c->op, "StringSplit") == 0 ? 2 : 1};
  ops_error error = {.struct_size = sizeof error};
  int32_t status = test_run(&test_shared, &node, &error);
  assert_int_equal(status, c->error != NULL ? OPS_ERROR_INVALID_ARGUMENT : OPS_OK);
  if (c->error != NULL)
    assert_non_null(strstr(error.message, c->error));
  else
    check_output(c, &y[0]);
  test_tensor_finish(&x);
  test_tensor_finish(&y[0]);
  test_tensor_finish(&y[1]);
}

static void strings_follow_the_specification(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i]);
}

static void check_non_zero(test_tensor *x) {
  test_tensor y = {.present = 1};
  test_node node = {.op = "NonZero",
                    .opset = 13,
                    .inputs = x,
                    .input_count = 1,
                    .outputs = &y,
                    .output_count = 1};
  ops_error error = {.struct_size = sizeof error};
  assert_int_equal(test_run(&test_shared, &node, &error), OPS_OK);
  assert_int_equal(y.count, 2);
  assert_int_equal(((const int64_t *)y.memory)[0], 1);
  assert_int_equal(((const int64_t *)y.memory)[1], 2);
  test_tensor_finish(x);
  test_tensor_finish(&y);
}

static void what_is_no_number_may_be_zero(void **state) {
  (void)state;
  test_tensor x = make_words((const char *[MAX_WORDS]){"", "a", "0", ""});
  check_non_zero(&x);
  test_tensor_init(&x, OPS_TYPE_COMPLEX64, 1, (int64_t[]){4}, 0);
  test_tensor_fill(&x, (float[]){0, -0.0f, 0, 1, 1, 0, 0, 0});
  check_non_zero(&x);
  test_tensor_init(&x, OPS_TYPE_COMPLEX128, 1, (int64_t[]){4}, 1);
  test_tensor_fill(&x, (double[]){0, -0.0, 0, 1, 1, 0, 0, 0});
  check_non_zero(&x);
}

// ---- Numbers -------------------------------------------------------------------------------

static void check_written(int32_t type, double value, const char *expected) {
  uint64_t memory = 0;
  ref_view view;
  char buffer[REF_TEXT_SIZE];
  ref_view_of(&view, &memory, type, 0, NULL);
  ref_store(&view, 0, 1, 1, &value);
  ops_str text = ref_text_of(&view, 0, buffer);
  assert_int_equal(text.size, strlen(expected));
  assert_memory_equal(text.data, expected, text.size);
  // And back again.
  uint64_t original = memory;
  assert_true(ref_text_store(text, &view, 0));
  if (!isnan(value)) assert_int_equal(memory, original);
}

static void numbers_are_written_plainly(void **state) {
  (void)state;
  check_written(OPS_TYPE_FLOAT, 314.15926, "314.15927");
  check_written(OPS_TYPE_FLOAT, 0.1f, "0.1");
  check_written(OPS_TYPE_FLOAT, 1, "1.0");
  check_written(OPS_TYPE_FLOAT, -0.0, "-0.0");
  check_written(OPS_TYPE_FLOAT, 16777216, "16777216.0");
  check_written(OPS_TYPE_DOUBLE, 0.1, "0.1");
  check_written(OPS_TYPE_DOUBLE, 1e-7, "0.0000001");
  check_written(OPS_TYPE_DOUBLE, 1e23, "100000000000000000000000.0");
  check_written(OPS_TYPE_DOUBLE, 0.1 + 0.2, "0.30000000000000004");
  check_written(OPS_TYPE_FLOAT16, 65504, "65500.0");
  check_written(OPS_TYPE_FLOAT16, 0x1p-24, "0.00000006");
  check_written(OPS_TYPE_BFLOAT16, 3.140625, "3.14");
  check_written(OPS_TYPE_DOUBLE, INFINITY, "INF");
  check_written(OPS_TYPE_DOUBLE, -INFINITY, "-INF");
  check_written(OPS_TYPE_FLOAT, NAN, "NaN");
  check_written(OPS_TYPE_INT8, -128, "-128");
  check_written(OPS_TYPE_UINT8, 255, "255");
  check_written(OPS_TYPE_BOOL, 1, "1");
}

static double read_number(const char *text, int32_t type) {
  uint64_t memory = 0;
  ref_view view;
  ref_view_of(&view, &memory, type, 0, NULL);
  assert_true(ref_text_store(text_of(text), &view, 0));
  return ref_at(&view, 0);
}

static void numbers_are_read_exactly(void **state) {
  (void)state;
  char tie[1200] = "9007199254740993.";
  assert_true(read_number("1E8", OPS_TYPE_FLOAT) == 1e8);
  assert_true(read_number("1e400", OPS_TYPE_DOUBLE) == INFINITY);
  assert_true(read_number("-1e-400", OPS_TYPE_DOUBLE) == 0);
  assert_true(read_number("+.5", OPS_TYPE_DOUBLE) == 0.5);
  assert_true(read_number("5.", OPS_TYPE_DOUBLE) == 5);
  assert_true(read_number("-inf", OPS_TYPE_FLOAT16) == -INFINITY);
  assert_true(isnan(read_number("nAn", OPS_TYPE_DOUBLE)));
  assert_true(read_number("100.5", OPS_TYPE_INT32) == 100);
  assert_true(read_number("-9223372036854775808", OPS_TYPE_INT64) == -0x1p63);
  assert_true(read_number("0.5", OPS_TYPE_BOOL) == 1);
  // 2^53 + 1 lies between two doubles; what is behind the point, however far, decides.
  memset(tie + strlen(tie), '0', 1000);
  assert_true(read_number(tie, OPS_TYPE_DOUBLE) == 0x1p53);
  tie[1010] = '1';
  assert_true(read_number(tie, OPS_TYPE_DOUBLE) == 0x1p53 + 2);
  // Single precision is rounded to once: in double this would become a tie first.
  assert_true(read_number("1.000000059604644776", OPS_TYPE_FLOAT) == 1 + 0x1p-23);
  // Zeros that cancel with the exponent.
  char zeros[1200] = "0.";
  memset(zeros + 2, '0', 1000);
  memcpy(zeros + 1002, "25e1001", 8);
  assert_true(read_number(zeros, OPS_TYPE_DOUBLE) == 2.5);
  memset(zeros, '7', 900);
  memcpy(zeros + 900, "e-899", 6);
  assert_true(fabs(read_number(zeros, OPS_TYPE_DOUBLE) - 70.0 / 9) < 1e-14);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_follow_the_specification),
      cmocka_unit_test(what_is_no_number_may_be_zero),
      cmocka_unit_test(numbers_are_written_plainly),
      cmocka_unit_test(numbers_are_read_exactly),
  };
  setlocale(LC_ALL, "");
  return cmocka_run_group_tests(tests, test_shared_open, test_shared_close);
}
