// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: the published test vectors of Philox4x32-10 (file kat_vectors of the authors'
// Random123), quantiles of the normal distribution as tabulated, and statistics of every random
// operator: moments, Kolmogorov-Smirnov and chi-squared at a level of 0.1 % (the critical
// values are those of the tables). Streams are fixed by their seeds, so each test always has
// one result.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above.
#include <cmocka.h>

#include "random.h"
#include "run_test_util.h"

#define COUNT 20000
#define KOLMOGOROV 1.9495  // sup |F_n - F| * sqrt(n) is larger once in a thousand

static void philox_gives_the_published_blocks(void **state) {
  (void)state;
  static const struct {
    ref_random random;
    uint32_t counter[4], block[4];
  } cases[] = {
      {{{0, 0}}, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{{0xffffffff, 0xffffffff}},
       {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{{0xa4093822, 0x299f31d0}},
       {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    uint32_t block[4];
    ref_random_block(&cases[i].random, cases[i].counter, block);
    assert_memory_equal(block, cases[i].block, sizeof block);
  }
}

static void normal_quantiles_are_those_of_the_tables(void **state) {
  (void)state;
  static const double cases[][2] = {{0.5, 0},
                                    {0.6, 0.25334710313579980},
                                    {0.975, 1.9599639845400542},
                                    {0.001, -3.0902323061678136},
                                    {1e-10, -6.3613409024040557},
                                    {1e-7, -5.1993375821928169}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    assert_true(fabs(ref_inverse_normal(cases[i][0]) - cases[i][1]) <=
                1e-12 * fabs(cases[i][1]));
}

static void log_and_exp_agree_with_the_library(void **state) {
  (void)state;
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    double want = log(x);
    assert_true(fabs(ref_portable_log(x) - want) <= 4e-16 * fabs(want) + 1e-18);
  }
  for (double x = 0; x > -700; x -= 0.37)
    assert_true(fabs(ref_portable_exp(x) - exp(x)) <= 1e-15 * exp(x));
  assert_true(ref_portable_exp(-INFINITY) == 0);
}

// ---- Running operators
// -----------------------------------------------------------------------

static ops_attribute float_of(const char *name, const float *value) {
  return (ops_attribute){.struct_size = sizeof(ops_attribute),
                         .name = {name, strlen(name)},
                         .kind = OPS_ATTRIBUTE_FLOAT,
                         .count = 1,
                         .floats = value};
}

static ops_attribute ints_of(const char *name, int32_t kind, const int64_t *values,
                             uint64_t count) {
  return (ops_attribute){.struct_size = sizeof(ops_attribute),
                         .name = {name, strlen(name)},
                         .kind = kind,
                         .count = count,
                         .ints = values};
}

// Runs a node and gives its first outputs as doubles, COUNT each at most.
static void run(test_node *node, double *first, double *second) {
  test_tensor outputs[2] = {{.present = 1}, {.present = second != NULL}};
  ops_error error = {.struct_size = sizeof error};
  node->outputs = outputs;
  node->output_count = second != NULL ? 2 : 1;
  int32_t status = test_run(&test_shared, node, &error);
  if (status != OPS_OK) print_error("%s\n", error.message);
  assert_int_equal(status, OPS_OK);
  for (uint64_t i = 0; i < node->output_count; ++i) {
    void *bytes = calloc(1, test_tensor_bytes(&outputs[i]) + 16);
    assert_non_null(bytes);
    assert_true(outputs[i].count <= COUNT);
    test_tensor_read(&outputs[i], bytes);
    ref_element_of(outputs[i].type)
        ->load(bytes, 0, 1, outputs[i].count, i == 0 ? first : second);
    free(bytes);
    test_tensor_finish(&outputs[i]);
  }
}

// A generator of COUNT numbers of float with a seed and two more attributes.
static void generate(const char *op, float seed, const char *const *names, const float *values,
                     double *out) {
  static const int64_t shape[2] = {COUNT / 10, 10};
  const ops_attribute attributes[] = {ints_of("shape", OPS_ATTRIBUTE_INTS, shape, 2),
                                      float_of("seed", &seed), float_of(names[0], &values[0]),
                                      float_of(names[1], &values[1])};
  test_node node = {.op = op, .opset = 22, .attributes = attributes, .attribute_count = 4};
  run(&node, out, NULL);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// sup |F_n - F| * sqrt(n); sorts the sample.
static double distance(double *sample, int n, double (*distribution)(double)) {
  double most = 0;
  qsort(sample, (size_t)n, sizeof *sample, ascending);
  for (int i = 0; i < n; ++i) {
    double f = distribution(sample[i]);
    most = fmax(most, fmax(f - (double)i / n, (double)(i + 1) / n - f));
  }
  return most * sqrt(n);
}

typedef struct moments {
  double mean, variance, skewness, kurtosis, correlation;  // with the number before
} moments;

static moments moments_of(const double *sample, int n) {
  moments m = {0, 0, 0, 0, 0};
  for (int i = 0; i < n; ++i) m.mean += sample[i] / n;
  for (int i = 0; i < n; ++i) {
    double d = sample[i] - m.mean;
    m.variance += d * d / n;
    m.skewness += d * d * d / n;
    m.kurtosis += d * d * d * d / n;
    if (i > 0) m.correlation += d * (sample[i - 1] - m.mean) / n;
  }
  m.skewness /= pow(m.variance, 1.5);
  m.kurtosis /= m.variance * m.variance;
  m.correlation /= m.variance;
  return m;
}

// ---- Distributions
// ---------------------------------------------------------------------------

static const char *const bounds[] = {"low", "high"}, *const shape_of_bell[] = {"mean", "scale"};

static double uniform_2_to_5(double x) {
  return x < 2 ? 0 : x > 5 ? 1 : (x - 2) / 3;
}

static double normal_3_2(double x) {
  return 0.5 * erfc(-(x - 3) / 2 / sqrt(2));
}

static void uniform_numbers_are_uniform(void **state) {
  (void)state;
  static double sample[COUNT];
  generate("RandomUniform", 7.5f, bounds, (const float[]){2, 5}, sample);
  for (int i = 0; i < COUNT; ++i) assert_true(sample[i] >= 2 && sample[i] <= 5);
  moments m = moments_of(sample, COUNT);
  // Four standard errors each.
  assert_true(fabs(m.mean - 3.5) < 4 * sqrt(0.75 / COUNT));
  assert_true(fabs(m.variance - 0.75) < 4 * 0.75 * sqrt(0.8 / COUNT));
  assert_true(fabs(m.correlation) < 4 / sqrt(COUNT));
  assert_true(distance(sample, COUNT, uniform_2_to_5) < KOLMOGOROV);
}

static void normal_numbers_are_normal(void **state) {
  (void)state;
  static double sample[COUNT];
  generate("RandomNormal", -1, shape_of_bell, (const float[]){3, 2}, sample);
  moments m = moments_of(sample, COUNT);
  assert_true(fabs(m.mean - 3) < 4 * 2 / sqrt(COUNT));
  assert_true(fabs(m.variance - 4) < 4 * 4 * sqrt(2.0 / COUNT));
  assert_true(fabs(m.skewness) < 4 * sqrt(6.0 / COUNT));
  assert_true(fabs(m.kurtosis - 3) < 4 * sqrt(24.0 / COUNT));
  assert_true(fabs(m.correlation) < 4 / sqrt(COUNT));
  assert_true(distance(sample, COUNT, normal_3_2) < KOLMOGOROV);
}

static void a_seed_fixes_the_stream(void **state) {
  (void)state;
  static double a[COUNT], b[COUNT], c[COUNT];
  const float values[] = {0, 1};
  generate("RandomUniform", 3, bounds, values, a);
  test_shared.strided = 1;
  generate("RandomUniform", 3, bounds, values, b);
  test_shared.strided = 0;
  generate("RandomUniform", 4, bounds, values, c);
  assert_memory_equal(a, b, sizeof a);
  assert_memory_not_equal(a, c, sizeof a);
  assert_true(fabs(moments_of(c, COUNT).mean - 0.5) < 4 * sqrt(1.0 / 12 / COUNT));
}

static void like_forms_take_shape_and_type(void **state) {
  (void)state;
  static const char *const ops[] = {"RandomNormalLike", "RandomUniformLike"};
  static double sample[COUNT];
  for (int i = 0; i < 2; ++i) {
    test_tensor input = {0}, output = {.present = 1};
    test_tensor_init(&input, OPS_TYPE_FLOAT16, 2, (const int64_t[]){300, 4}, 0);
    test_node node = {.op = ops[i],
                      .opset = 22,
                      .inputs = &input,
                      .input_count = 1,
                      .outputs = &output,
                      .output_count = 1};
    ops_error error = {.struct_size = sizeof error};
    assert_int_equal(test_run(&test_shared, &node, &error), OPS_OK);
    assert_int_equal(output.type, OPS_TYPE_FLOAT16);
    assert_int_equal(output.rank, 2);
    assert_int_equal(output.dims[0], 300);
    test_tensor_finish(&output);
    run(&node, sample, NULL);
    moments m = moments_of(sample, 1200);
    assert_true(fabs(m.mean - (i == 0 ? 0 : 0.5)) < 4 / sqrt(1200));
    assert_true(fabs(m.variance - (i == 0 ? 1 : 1.0 / 12)) < 4 * sqrt(2.0 / 1200));
    test_tensor_finish(&input);
  }
}

static void bernoulli_hits_its_probabilities(void **state) {
  (void)state;
  static double probability[COUNT], drawn[COUNT];
  const double levels[] = {0, 0.1, 0.5, 0.875, 1};
  int hits[5] = {0};
  for (int i = 0; i < COUNT; ++i) probability[i] = levels[i % 5];
  test_tensor input = {0};
  test_tensor_init(&input, OPS_TYPE_DOUBLE, 1, (const int64_t[]){COUNT}, 0);
  test_tensor_fill(&input, probability);
  const float seed = 11;
  const int64_t type = OPS_TYPE_INT32;
  const ops_attribute attributes[] = {float_of("seed", &seed),
                                      ints_of("dtype", OPS_ATTRIBUTE_INT, &type, 1)};
  test_node node = {.op = "Bernoulli",
                    .opset = 15,
                    .attributes = attributes,
                    .attribute_count = 2,
                    .inputs = &input,
                    .input_count = 1};
  run(&node, drawn, NULL);
  for (int i = 0; i < COUNT; ++i) {
    assert_true(drawn[i] == 0 || drawn[i] == 1);
    hits[i % 5] += drawn[i] == 1;
  }
  for (int k = 0; k < 5; ++k) {
    double n = COUNT / 5, p = levels[k];
    assert_true(fabs(hits[k] - n * p) <= 4 * sqrt(n * p * (1 - p)));
  }
  test_tensor_finish(&input);
}

static void multinomial_follows_its_weights(void **state) {
  (void)state;
  static double drawn[COUNT];
  // Logarithms of weights 1, 2, 0, 5 and, shifted, the same once more.
  const float logs[8] = {0,  0.69314718f,  -INFINITY, 1.6094379f,
                         80, 80.69314718f, -INFINITY, 81.6094379f};
  const int64_t samples = COUNT / 2;
  const float seed = 1;
  test_tensor input = {0};
  test_tensor_init(&input, OPS_TYPE_FLOAT, 2, (const int64_t[]){2, 4}, 0);
  test_tensor_fill(&input, logs);
  const ops_attribute attributes[] = {float_of("seed", &seed),
                                      ints_of("sample_size", OPS_ATTRIBUTE_INT, &samples, 1)};
  test_node node = {.op = "Multinomial",
                    .opset = 7,
                    .attributes = attributes,
                    .attribute_count = 2,
                    .inputs = &input,
                    .input_count = 1};
  run(&node, drawn, NULL);
  for (int row = 0; row < 2; ++row) {
    double counts[4] = {0}, chi = 0;
    const double weights[4] = {1, 2, 0, 5};
    for (int i = 0; i < samples; ++i) ++counts[(int)drawn[row * samples + i]];
    assert_true(counts[2] == 0);
    for (int c = 0; c < 4; ++c) {
      double want = (double)samples * weights[c] / 8;
      if (want > 0) chi += (counts[c] - want) * (counts[c] - want) / want;
    }
    assert_true(chi < 13.816);  // two degrees of freedom
  }
  test_tensor_finish(&input);
}

static void dropout_keeps_and_scales(void **state) {
  (void)state;
  static double kept[COUNT], mask[COUNT];
  static float data[COUNT];
  const float ratio = 0.25f;
  const unsigned char training = 1;
  const int64_t seed = 5;
  test_tensor inputs[3] = {{0}, {0}, {0}};
  for (int i = 0; i < COUNT; ++i) data[i] = (float)(i + 1);
  test_tensor_init(&inputs[0], OPS_TYPE_FLOAT, 1, (const int64_t[]){COUNT}, 0);
  test_tensor_init(&inputs[1], OPS_TYPE_FLOAT, 0, NULL, 0);
  test_tensor_init(&inputs[2], OPS_TYPE_BOOL, 0, NULL, 0);
  test_tensor_fill(&inputs[0], data);
  test_tensor_fill(&inputs[1], &ratio);
  test_tensor_fill(&inputs[2], &training);
  const ops_attribute attribute = ints_of("seed", OPS_ATTRIBUTE_INT, &seed, 1);
  test_node node = {.op = "Dropout",
                    .opset = 13,
                    .attributes = &attribute,
                    .attribute_count = 1,
                    .inputs = inputs,
                    .input_count = 3};
  run(&node, kept, mask);
  int count = 0;
  for (int i = 0; i < COUNT; ++i) {
    double want = mask[i] == 1 ? (double)(float)((i + 1) / 0.75) : 0;
    assert_true(kept[i] == want);
    count += mask[i] == 1;
  }
  assert_true(fabs(count - 0.75 * COUNT) < 4 * sqrt(COUNT * 0.75 * 0.25));
  for (int i = 0; i < 3; ++i) test_tensor_finish(&inputs[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_gives_the_published_blocks),
      cmocka_unit_test(normal_quantiles_are_those_of_the_tables),
      cmocka_unit_test(log_and_exp_agree_with_the_library),
      cmocka_unit_test(uniform_numbers_are_uniform),
      cmocka_unit_test(normal_numbers_are_normal),
      cmocka_unit_test(a_seed_fixes_the_stream),
      cmocka_unit_test(like_forms_take_shape_and_type),
      cmocka_unit_test(bernoulli_hits_its_probabilities),
      cmocka_unit_test(multinomial_follows_its_weights),
      cmocka_unit_test(dropout_keeps_and_scales),
  };
  return cmocka_run_group_tests(tests, test_shared_open, test_shared_close);
}
