// SPDX-License-Identifier: Apache-2.0
//
// RNN, GRU and LSTM against their equations in the ONNX specification, written out here in
// double: hundreds of nodes drawn from all attributes, optional inputs and sizes around the
// width of panels. Besides: the same bits on any number of workers, empty tensors, errors.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the headers above first.
#include <cmocka.h>

#include "cpu_test_util.h"

enum { RNN, GRU, LSTM };
enum { X, W, R, B, LENGTHS, H0, C0, P, INPUTS };

static const char *const kOps[] = {"RNN", "GRU", "LSTM"};
static const int kGates[] = {1, 3, 4};
static const int kFunctions[] = {1, 2, 3};
static const char *const kDirections[] = {"forward", "reverse", "bidirectional"};

typedef struct function {
  const char *name;
  int parameters;
} function;

static const function kNames[] = {{"Sigmoid", 0},    {"Tanh", 0},        {"Relu", 0},
                                  {"Affine", 2},     {"LeakyRelu", 1},   {"ThresholdedRelu", 1},
                                  {"ScaledTanh", 2}, {"hardsigmoid", 2}, {"ELU", 1},
                                  {"Softsign", 0},   {"Softplus", 0}};

static double apply(int name, double alpha, double beta, double x) {
  switch (name) {
    case 0:
      return 1 / (1 + exp(-x));
    case 1:
      return tanh(x);
    case 2:
      return x > 0 ? x : 0;
    case 3:
      return alpha * x + beta;
    case 4:
      return x < 0 ? alpha * x : x;
    case 5:
      return x >= alpha ? x : 0;
    case 6:
      return alpha * tanh(beta * x);
    case 7:
      return fmin(1, fmax(0, alpha * x + beta));
    case 8:
      return x < 0 ? alpha * expm1(x) : x;
    case 9:
      return x / (1 + fabs(x));
    default:
      return log1p(exp(x));
  }
}

// One node with its inputs.
typedef struct example {
  int op, direction, directions, layout, flag;
  int64_t steps, batch, inputs, hidden;
  double clip;
  int names[6];
  double alpha[6], beta[6];
  int numbers;  // whether alpha and beta are attributes
  test_tensor tensors[INPUTS];
  int given[INPUTS];
  test_node node;
} example;

static uint32_t draw(uint32_t *state, uint32_t count) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 16) % count;
}

static void fill(example *e, int input, uint32_t seed, double scale, int32_t rank,
                 const int64_t *dims) {
  e->given[input] = 1;
  e->tensors[input] = test_random(seed, 0, rank, dims);
  for (int64_t i = 0; i < e->tensors[input].count; ++i)
    test_floats(&e->tensors[input])[i] *= (float)scale;
}

static void draw_inputs(example *e, uint32_t seed, uint32_t *state) {
  const int64_t d = e->directions, h = e->hidden, rows = kGates[e->op] * h;
  const int64_t t = e->steps, b = e->batch;
  const double scale = 1.5 / sqrt((double)(h + e->inputs));
  fill(e, X, seed, 1, TEST_DIMS(e->layout ? b : t, e->layout ? t : b, e->inputs));
  fill(e, W, seed + 1, scale, TEST_DIMS(d, rows, e->inputs));
  fill(e, R, seed + 2, scale, TEST_DIMS(d, rows, h));
  if (draw(state, 3) > 0) fill(e, B, seed + 3, 0.5, TEST_DIMS(d, 2 * rows));
  if (draw(state, 2))
    fill(e, H0, seed + 4, 1, TEST_DIMS(e->layout ? b : d, e->layout ? d : b, h));
  if (e->op == LSTM && draw(state, 2))
    fill(e, C0, seed + 5, 1, TEST_DIMS(e->layout ? b : d, e->layout ? d : b, h));
  if (e->op == LSTM && draw(state, 2)) fill(e, P, seed + 6, 0.5, TEST_DIMS(d, 3 * h));
  if (draw(state, 2)) {
    e->given[LENGTHS] = 1;
    e->tensors[LENGTHS] = test_zeros(OPS_TYPE_INT32, TEST_DIMS(b));
    for (int64_t i = 0; i < b; ++i)
      ((int32_t *)e->tensors[LENGTHS].data)[i] = (int32_t)draw(state, (uint32_t)t + 1);
  }
  e->tensors[W].constant = (int32_t)draw(state, 2);
  e->tensors[R].constant = (int32_t)draw(state, 2);
}

// Usual functions half of the time, else any; with their numbers or with the defaults.
static void draw_functions(example *e, uint32_t *state) {
  static const int usual[3][3] = {{1}, {0, 1}, {0, 1, 1}};
  static const double alphas[] = {0, 0, 0, 1, (double)0.01f, 1, 1, (double)0.2f, 1, 0, 0};
  static const double betas[] = {0, 0, 0, 0, 0, 0, 1, 0.5, 0, 0, 0};
  const int count = e->directions * kFunctions[e->op], named = draw(state, 2) > 0;
  const char *names[6];
  float alpha[6], beta[6];
  int32_t alpha_count = 0, beta_count = 0;
  e->numbers = named && draw(state, 2);
  for (int i = 0; i < count; ++i) {
    const int name = named ? (int)draw(state, 11) : usual[e->op][i % kFunctions[e->op]];
    e->names[i] = name;
    names[i] = kNames[name].name;
    e->alpha[i] = alphas[name];
    e->beta[i] = betas[name];
    if (e->numbers && kNames[name].parameters > 0)
      e->alpha[i] = (double)(alpha[alpha_count++] = 0.25f + 0.125f * (float)draw(state, 4));
    if (e->numbers && kNames[name].parameters > 1)
      e->beta[i] = (double)(beta[beta_count++] = 0.5f - 0.125f * (float)draw(state, 4));
  }
  if (named) test_add_strings(&e->node, "activations", count, names);
  if (alpha_count > 0) test_add_floats(&e->node, "activation_alpha", alpha_count, alpha);
  if (beta_count > 0) test_add_floats(&e->node, "activation_beta", beta_count, beta);
}

static void draw_example(uint32_t seed, example *e) {
  static const int64_t steps[] = {1, 2, 5, 9}, batches[] = {1, 2, 3, 7, 13},
                       inputs[] = {1, 5, 33, 600}, hidden[] = {1, 3, 16, 17, 65};
  uint32_t state = seed * 2654435761u + 7;
  memset(e, 0, sizeof *e);
  e->op = (int)draw(&state, 3);
  e->direction = (int)draw(&state, 3);
  e->directions = e->direction == 2 ? 2 : 1;
  e->layout = (int)draw(&state, 2);
  e->steps = steps[draw(&state, 4)];
  e->batch = batches[draw(&state, 5)];
  e->inputs = inputs[draw(&state, 4)];
  e->hidden = hidden[draw(&state, 5)];
  e->flag = e->op != RNN && draw(&state, 2);
  e->clip = draw(&state, 3) ? INFINITY : 0.375;
  test_node_init(&e->node, kOps[e->op], 14);
  draw_functions(e, &state);
  test_add_int(&e->node, "hidden_size", e->hidden);
  if (e->direction > 0) test_add_string(&e->node, "direction", kDirections[e->direction]);
  if (e->layout) test_add_int(&e->node, "layout", 1);
  if (e->clip < 1) test_add_float(&e->node, "clip", (float)e->clip);
  if (e->flag) test_add_int(&e->node, e->op == GRU ? "linear_before_reset" : "input_forget", 1);
  draw_inputs(e, seed, &state);
}

static void drop_example(example *e) {
  for (int i = 0; i < INPUTS; ++i)
    if (e->given[i]) test_drop(&e->tensors[i]);
}

// ---- The equations --------------------------------------------------------------------------

// A sequence in one direction.
typedef struct sequence {
  const example *e;
  int64_t d, b;
  double h[65], c[65];
} sequence;

static float at(const example *e, int input, int64_t index) {
  return e->given[input] ? test_floats(&e->tensors[input])[index] : 0;
}

static double act(const sequence *s, int which, double x) {
  const int i = (int)s->d * kFunctions[s->e->op] + which;
  return apply(s->e->names[i], s->e->alpha[i], s->e->beta[i],
               fmin(s->e->clip, fmax(-s->e->clip, x)));
}

static int64_t x_row(const sequence *s, int64_t t) {
  return s->e->layout ? s->b * s->e->steps + t : t * s->e->batch + s->b;
}

// W x + Wb of row `row` of the gates.
static double project(const sequence *s, int64_t row, int64_t t) {
  const example *e = s->e;
  const int64_t rows = kGates[e->op] * e->hidden;
  double sum = (double)at(e, B, s->d * 2 * rows + row);
  for (int64_t i = 0; i < e->inputs; ++i)
    sum += (double)at(e, W, (s->d * rows + row) * e->inputs + i) *
           (double)at(e, X, x_row(s, t) * e->inputs + i);
  return sum;
}

// R h + Rb.
static double recur(const sequence *s, int64_t row, const double *h) {
  const example *e = s->e;
  const int64_t rows = kGates[e->op] * e->hidden;
  double sum = (double)at(e, B, (s->d * 2 + 1) * rows + row);
  for (int64_t i = 0; i < e->hidden; ++i)
    sum += (double)at(e, R, (s->d * rows + row) * e->hidden + i) * h[i];
  return sum;
}

static void step_rnn(sequence *s, int64_t t) {
  double next[65];
  for (int64_t j = 0; j < s->e->hidden; ++j)
    next[j] = act(s, 0, project(s, j, t) + recur(s, j, s->h));
  memcpy(s->h, next, sizeof next);
}

static void step_gru(sequence *s, int64_t t) {
  const int64_t n = s->e->hidden;
  double z[65], r[65], reset[65], next[65];
  for (int64_t j = 0; j < n; ++j) {
    z[j] = act(s, 0, project(s, j, t) + recur(s, j, s->h));
    r[j] = act(s, 0, project(s, n + j, t) + recur(s, n + j, s->h));
    reset[j] = r[j] * s->h[j];
  }
  for (int64_t j = 0; j < n; ++j) {
    const double from =
        s->e->flag ? r[j] * recur(s, 2 * n + j, s->h) : recur(s, 2 * n + j, reset);
    next[j] = (1 - z[j]) * act(s, 1, project(s, 2 * n + j, t) + from) + z[j] * s->h[j];
  }
  memcpy(s->h, next, sizeof next);
}

static void step_lstm(sequence *s, int64_t t) {
  const int64_t n = s->e->hidden, p = s->d * 3 * n;
  double next[65];
  for (int64_t j = 0; j < n; ++j) {
    double gate[4];  // input, output, forget, cell
    for (int64_t g = 0; g < 4; ++g)
      gate[g] = project(s, g * n + j, t) + recur(s, g * n + j, s->h);
    const double i = act(s, 0, gate[0] + (double)at(s->e, P, p + j) * s->c[j]);
    const double f =
        s->e->flag ? 1 - i : act(s, 0, gate[2] + (double)at(s->e, P, p + 2 * n + j) * s->c[j]);
    s->c[j] = f * s->c[j] + i * act(s, 1, gate[3]);
    const double o = act(s, 0, gate[1] + (double)at(s->e, P, p + n + j) * s->c[j]);
    next[j] = o * act(s, 2, s->c[j]);
  }
  memcpy(s->h, next, sizeof next);
}

// ---- Comparison -----------------------------------------------------------------------------

static void expect(uint32_t seed, const char *what, const double *want, const float *found,
                   int64_t count) {
  double scale = 1;
  for (int64_t i = 0; i < count; ++i) scale = fmax(scale, fabs(want[i]));
  for (int64_t i = 0; i < count; ++i)
    if (!(fabs(want[i] - (double)found[i]) <= 2e-5 * scale))
      fail_msg("example %u: %s, element %lld: expected %.9g, found %.9g", seed, what,
               (long long)i, want[i], (double)found[i]);
}

static void check_sequence(uint32_t seed, const example *e, const test_run *run, int64_t d,
                           int64_t b) {
  static void (*const steps[])(sequence *, int64_t) = {step_rnn, step_gru, step_lstm};
  const int64_t n = e->hidden;
  const int64_t state = (e->layout ? b * e->directions + d : d * e->batch + b) * n;
  const int64_t length =
      e->given[LENGTHS] ? ((const int32_t *)e->tensors[LENGTHS].data)[b] : e->steps;
  const double zeroes[65] = {0};
  sequence s = {.e = e, .d = d, .b = b};
  for (int64_t j = 0; j < n; ++j) {
    s.h[j] = (double)at(e, H0, state + j);
    s.c[j] = (double)at(e, C0, state + j);
  }
  for (int64_t i = 0; i < e->steps; ++i) {
    const int back = e->direction == 1 || d == 1;
    const int64_t t = i < length && back ? length - 1 - i : i;
    const int64_t row = e->layout ? (b * e->steps + t) * e->directions + d
                                  : (t * e->directions + d) * e->batch + b;
    if (i < length) steps[e->op](&s, t);
    expect(seed, "Y", i < length ? s.h : zeroes, test_floats(&run->outputs[0]) + row * n, n);
  }
  expect(seed, "Y_h", s.h, test_floats(&run->outputs[1]) + state, n);
  if (e->op == LSTM) expect(seed, "Y_c", s.c, test_floats(&run->outputs[2]) + state, n);
}

static void start(test_device *test, const example *e, test_run *out_run) {
  static const int32_t types[] = {OPS_TYPE_FLOAT, OPS_TYPE_FLOAT, OPS_TYPE_FLOAT};
  const test_tensor *inputs[INPUTS];
  for (int i = 0; i < INPUTS; ++i) inputs[i] = e->given[i] ? &e->tensors[i] : NULL;
  test_start(test, &e->node, inputs, e->op == LSTM ? INPUTS : H0 + 1, types,
             e->op == LSTM ? 3 : 2, out_run);
}

static void agrees_with_the_equations(void **state) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    example e;
    test_run run;
    draw_example(seed, &e);
    start(*state, &e, &run);
    for (int64_t d = 0; d < e.directions; ++d)
      for (int64_t b = 0; b < e.batch; ++b) check_sequence(seed, &e, &run, d, b);
    test_finish(&run);
    drop_example(&e);
  }
}

// The products of a large state are split between workers, a batch is, directions are.
static void workers_do_not_matter(void **state) {
  static const int64_t sizes[][4] = {{3, 1, 40, 700}, {4, 9, 40, 70}, {3, 2, 600, 65}};
  (void)state;
  for (int i = 0; i < 3; ++i) {
    example e = {.op = i,
                 .steps = sizes[i][0],
                 .batch = sizes[i][1],
                 .inputs = sizes[i][2],
                 .hidden = sizes[i][3],
                 .direction = i == 1 ? 2 : 1};
    e.directions = i == 1 ? 2 : 1;
    uint32_t drawn = 5;
    test_node_init(&e.node, kOps[i], 14);
    test_add_string(&e.node, "direction", kDirections[e.direction]);
    draw_inputs(&e, (uint32_t)i, &drawn);
    test_tensor results[2];
    for (int many = 0; many < 2; ++many) {
      const ops_host_options options = {.workers = many ? 5 : 1};
      test_device test;
      test_run run;
      test_open(&test, &options);
      start(&test, &e, &run);
      results[many] = run.outputs[0];
      run.outputs[0].data = NULL;
      test_finish(&run);
      test_close(&test);
    }
    assert_memory_equal(results[0].data, results[1].data,
                        (size_t)results[0].count * sizeof(float));
    TEST_DROP(&results[0], &results[1]);
    drop_example(&e);
  }
}

// Without steps, or without sequences, states pass through.
static void nothing_to_do(void **state) {
  for (int64_t batch = 0; batch < 3; batch += 2) {
    example e = {
        .op = GRU, .steps = 0, .batch = batch, .inputs = 3, .hidden = 5, .directions = 1};
    uint32_t drawn = 1;
    test_run run;
    test_node_init(&e.node, "GRU", 7);
    draw_inputs(&e, 3, &drawn);
    if (e.given[LENGTHS]) test_drop(&e.tensors[LENGTHS]);
    e.given[LENGTHS] = 0;
    if (!e.given[H0]) fill(&e, H0, 9, 1, TEST_DIMS(1, batch, 5));
    start(*state, &e, &run);
    assert_int_equal(run.outputs[0].count, 0);
    assert_memory_equal(run.outputs[1].data, e.tensors[H0].data,
                        (size_t)(batch * 5) * sizeof(float));
    test_finish(&run);
    drop_example(&e);
  }
}

static void wrong_nodes_are_refused(void **state) {
  test_device *test = *state;
  test_attempt attempt;
  test_node node;
  test_tensor x = test_random(1, 0, TEST_DIMS(3, 2, 4)),
              w = test_random(2, 0, TEST_DIMS(1, 5, 4));
  test_tensor r = test_random(3, 0, TEST_DIMS(1, 5, 5)),
              wide = test_random(3, 0, TEST_DIMS(1, 5, 6));
  test_tensor lengths = test_zeros(OPS_TYPE_INT32, TEST_DIMS(2));
  const test_tensor *inputs[] = {&x, &w, &r, NULL, &lengths};
  test_node_init(&node, "RNN", 14);
  test_add_strings(&node, "activations", 1, (const char *const[]){"Cosine"});
  assert_int_equal(test_try(test, &node, inputs, 5, &attempt), OPS_ERROR_UNSUPPORTED);
  assert_int_equal(attempt.claim.reason, OPS_REASON_ATTRIBUTE);
  test_node_init(&node, "RNN", 14);
  test_add_string(&node, "direction", "sideways");
  assert_int_equal(test_try(test, &node, inputs, 5, &attempt), OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(attempt.claim.text, "sideways"));
  test_node_init(&node, "RNN", 14);
  inputs[2] = &wide;
  assert_int_equal(test_try(test, &node, inputs, 5, &attempt), OPS_ERROR_INVALID_ARGUMENT);
  inputs[2] = &r;
  test_add_int(&node, "hidden_size", 6);
  assert_int_equal(test_try(test, &node, inputs, 5, &attempt), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(attempt.error.message, "dimension 1 of W must be 6, found 5"));
  test_node_init(&node, "RNN", 14);
  assert_int_equal(test_try(test, &node, inputs, 5, &attempt), OPS_OK);
  ((int32_t *)lengths.data)[1] = 4;
  assert_int_equal(test_execute(&attempt.run, attempt.run.outputs, &attempt.error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(attempt.error.message, "element 1 of sequence_lens"));
  assert_int_equal(((uint8_t *)attempt.run.outputs[0].data)[0], 0xa5);
  test_finish(&attempt.run);
  TEST_DROP(&x, &w, &r, &wide, &lengths);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ON_DEVICE(agrees_with_the_equations),
      cmocka_unit_test(workers_do_not_matter),
      TEST_ON_DEVICE(nothing_to_do),
      TEST_ON_DEVICE(wrong_nodes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
