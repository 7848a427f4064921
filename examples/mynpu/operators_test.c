// SPDX-License-Identifier: Apache-2.0
//
// The operators of mynpu against their definitions, written out in double over every index. A
// sum of K products carries an error of at most 2 K u B, where u = 2^-24 and B is the sum of
// the magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1, with
// room for its higher terms). Shapes and attributes are drawn by a seeded generator.
#include <math.h>
#include <ops_support/tensor.h>
#include <stdlib.h>

#include "mynpu_test_util.h"

typedef struct lane {
  rig r;
  ops_stream *stream;
} lane;

static int set_up(void **state) {
  lane *l = calloc(1, sizeof *l);
  rig_open(&l->r, NULL);
  CHECK(l->r.stream->create(l->r.device, &l->stream, &error));
  *state = l;
  return 0;
}

static int tear_down(void **state) {
  lane *l = *state;
  l->r.stream->destroy(l->stream);
  rig_close(&l->r);
  free(l);
  return 0;
}

static void expect_near(float got, double exact, double magnitude, double terms) {
  const double bound = 2 * terms * magnitude * 0x1p-24;
  if (!(fabs((double)got - exact) <= bound))
    fail_msg("%.9g, expected %.17g within %.3g", (double)got, exact, bound);
}

static tensor scalar_tensor(void) {
  return (tensor){.shape.rank = 0};
}

// ---- Conv, by the ONNX definition ----

typedef struct conv_case {
  shape x, w;
  int64_t group, strides[2], dilations[2], pads[4];  // pads as they are in the end
  int64_t out[2];
  int32_t has_bias;
  const char *auto_pad;
} conv_case;

// SAME: out = ceil(in / stride); the padding that this needs is split, the odd one at the end
// (UPPER) or at the beginning (LOWER). ONNX, operator Conv.
static int place(conv_case *c, int axis) {
  const int64_t in = c->x.dims[2 + axis], stride = c->strides[axis];
  const int64_t reach = c->dilations[axis] * (c->w.dims[2 + axis] - 1) + 1;
  if (strncmp(c->auto_pad, "SAME", 4) == 0) {
    const int64_t out = (int64_t)ceil((double)in / (double)stride);
    const int64_t need = (out - 1) * stride + reach - in, total = need > 0 ? need : 0;
    const int64_t small = total / 2, large = total - small;
    c->pads[axis] = strcmp(c->auto_pad, "SAME_LOWER") == 0 ? large : small;
    c->pads[axis + 2] = total - c->pads[axis];
  }
  if (strcmp(c->auto_pad, "VALID") == 0) c->pads[axis] = c->pads[axis + 2] = 0;
  const int64_t span = in + c->pads[axis] + c->pads[axis + 2] - reach;
  c->out[axis] = span < 0 ? -1 : span / stride + 1;
  return span >= 0;
}

static conv_case draw_conv(uint64_t *seed) {
  static const char *const modes[] = {"NOTSET",     "NOTSET",     "NOTSET",
                                      "SAME_UPPER", "SAME_LOWER", "VALID"};
  static const int64_t widths[] = {1, 2, 3, 5, 8, 16};
  for (;;) {
    conv_case c = {.group = 1 + rig_random(seed, 3), .has_bias = (int32_t)rig_random(seed, 2)};
    const int64_t in = 1 + rig_random(seed, 3), out = widths[rig_random(seed, 6)];
    c.auto_pad = modes[rig_random(seed, 6)];
    c.x = (shape){4, {1 + rig_random(seed, 2), in * c.group, 0, 0}};
    c.w = (shape){4, {out * c.group, in, 0, 0}};
    for (int i = 0; i < 2; ++i) {
      c.x.dims[2 + i] = 1 + rig_random(seed, 9);
      c.w.dims[2 + i] = 1 + rig_random(seed, 4);
      c.strides[i] = 1 + rig_random(seed, 3);
      c.dilations[i] = 1 + rig_random(seed, 3);
      c.pads[i] = rig_random(seed, 4);
      c.pads[i + 2] = rig_random(seed, 4);
    }
    if (place(&c, 0) && place(&c, 1)) return c;
  }
}

static uint64_t conv_attributes(const conv_case *c, attribute *a) {
  a[0] = (attribute){"group", OPS_ATTRIBUTE_INT, {c->group}, 1, NULL};
  a[1] = (attribute){"strides", OPS_ATTRIBUTE_INTS, {c->strides[0], c->strides[1]}, 2, NULL};
  a[2] =
      (attribute){"dilations", OPS_ATTRIBUTE_INTS, {c->dilations[0], c->dilations[1]}, 2, NULL};
  a[3] = (attribute){"auto_pad", OPS_ATTRIBUTE_STRING, {0}, 1, c->auto_pad};
  if (strcmp(c->auto_pad, "NOTSET") != 0) return 4;
  a[4] = (attribute){
      "pads", OPS_ATTRIBUTE_INTS, {c->pads[0], c->pads[1], c->pads[2], c->pads[3]}, 4, NULL};
  return 5;
}

static double at4(const tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t *n = t->shape.dims;
  return (double)t->data[((a * n[1] + b) * n[2] + c) * n[3] + d];
}

static void check_conv_point(const conv_case *c, const tensor *in, const tensor *y,
                             const int64_t at[4]) {
  const int64_t per_group = c->w.dims[0] / c->group, first = at[1] / per_group * c->w.dims[1];
  double sum = c->has_bias ? (double)in[2].data[at[1]] : 0, magnitude = fabs(sum);
  for (int64_t k = 0; k < c->w.dims[1]; ++k)
    for (int64_t i = 0; i < c->w.dims[2]; ++i)
      for (int64_t j = 0; j < c->w.dims[3]; ++j) {
        const int64_t row = at[2] * c->strides[0] - c->pads[0] + i * c->dilations[0];
        const int64_t column = at[3] * c->strides[1] - c->pads[1] + j * c->dilations[1];
        if (row < 0 || row >= c->x.dims[2] || column < 0 || column >= c->x.dims[3]) continue;
        const double term =
            at4(&in[0], at[0], first + k, row, column) * at4(&in[1], at[1], k, i, j);
        sum += term;
        magnitude += fabs(term);
      }
  const double terms = (double)(c->w.dims[1] * c->w.dims[2] * c->w.dims[3] + 1);
  expect_near((float)at4(y, at[0], at[1], at[2], at[3]), sum, magnitude, terms);
}

static void check_conv(const conv_case *c, const tensor *in, const tensor *y) {
  const int64_t expected[4] = {c->x.dims[0], c->w.dims[0], c->out[0], c->out[1]};
  assert_int_equal(y->shape.rank, 4);
  assert_memory_equal(y->shape.dims, expected, sizeof expected);
  int64_t at[4];
  for (at[0] = 0; at[0] < expected[0]; ++at[0])
    for (at[1] = 0; at[1] < expected[1]; ++at[1])
      for (at[2] = 0; at[2] < expected[2]; ++at[2])
        for (at[3] = 0; at[3] < expected[3]; ++at[3]) check_conv_point(c, in, y, at);
}

static void conv_is_the_sum_of_its_definition(void **state) {
  lane *l = *state;
  uint64_t seed = 21;
  int packed_rounds = 0;
  for (int round = 0; round < 150; ++round) {
    const conv_case c = draw_conv(&seed);
    const shape bias = {1, {c.w.dims[0]}};
    tensor in[3] = {tensor_random(&c.x, &seed), tensor_random(&c.w, &seed), scalar_tensor()};
    if (c.has_bias) in[2] = tensor_random(&bias, &seed);
    attribute attributes[5];
    const uint64_t count = conv_attributes(&c, attributes);
    const uint64_t inputs = c.has_bias || round % 2 ? 3 : 2;  // an absent one, or none
    tensor plain = rig_run(&l->r, l->stream, "Conv", in, inputs, attributes, count, 0);
    check_conv(&c, in, &plain);
    // The private layout fits where blocks of eight channels do not straddle groups, and gives
    // the very same bits: the order of additions is the same.
    if (c.group == 1 || c.w.dims[0] / c.group % 8 == 0) {
      tensor packed = rig_run(&l->r, l->stream, "Conv", in, inputs, attributes, count, 1);
      assert_memory_equal(packed.data, plain.data,
                          (size_t)shape_count(&plain.shape) * sizeof(float));
      tensor_free(&packed);
      ++packed_rounds;
    }
    tensor_free(&plain);
    for (int i = 0; i < 3; ++i) tensor_free(&in[i]);
  }
  assert_in_range(packed_rounds, 40, 149);
}

static void conv_offers_its_layouts(void **state) {
  lane *l = *state;
  static const struct {
    int64_t channels, group;
    uint64_t choices;
  } rows[] = {{8, 1, 2}, {5, 1, 2}, {16, 2, 2}, {12, 2, 1}, {2, 2, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    const shape s[] = {{4, {1, 2 * rows[i].group, 4, 4}}, {4, {rows[i].channels, 2, 3, 3}}};
    const attribute group = {"group", OPS_ATTRIBUTE_INT, {rows[i].group}, 1, NULL};
    node_view v;
    prepared_kernel k;
    ops_layout_choice choices[3];
    uint64_t count = 0;
    node_view_fill(&v, "Conv", s, NULL, 2, &group, 1);
    CHECK(prepared_kernel_make(&l->r, &v, &k, &error));
    CHECK(k.def->api->query_layouts(k.kernel, &v.request, choices, 3, sizeof choices[0], &count,
                                    &error));
    assert_int_equal(count, rows[i].choices);
    assert_int_equal(choices[0].input_layouts[1], rows[i].choices == 2);
    assert_int_equal(choices[count - 1].input_layouts[1], OPS_LAYOUT_STRIDED);
    if (count == 2) assert_true(choices[0].cost < choices[1].cost);
    CHECK(k.def->api->query_layouts(k.kernel, &v.request, NULL, 0, sizeof choices[0], &count,
                                    &error));
    assert_int_equal(count, rows[i].choices);  // the full number, whatever the room
    prepared_kernel_destroy(&k);
    // Asked for where it does not fit, the layout is refused.
    v.types[1].layout = 1;
    ops_error error = OPS_ERROR_INIT;
    const int32_t status = prepared_kernel_make(&l->r, &v, &k, &error);
    assert_int_equal(status, rows[i].choices == 2 ? OPS_OK : OPS_ERROR_INVALID_ARGUMENT);
    if (status == OPS_OK) prepared_kernel_destroy(&k);
  }
}

// Attributes and shapes that break the operator's rules, and numbers that would overflow.
static void conv_refuses_what_does_not_fit(void **state) {
  static const struct {
    shape x, w, bias;
    attribute attribute;
    const char *phrase;
  } rows[] = {
#define IS(...) {4, {__VA_ARGS__}}
#define LIST(name, n, ...) \
  { name, OPS_ATTRIBUTE_INTS, {__VA_ARGS__}, n, NULL }
#define NONE \
  { "group", OPS_ATTRIBUTE_INT, {1}, 1, NULL }
      {IS(1, 3, 4, 4), IS(2, 2, 3, 3), {0}, NONE, "X has 3 channels and W 2 x 2 with group 1"},
      {IS(1, 2, 2, 2), IS(2, 2, 3, 3), {0}, NONE, "reaches over 3 positions"},
      {IS(1, 2, 4, 4), {3, {2, 2, 3}}, {0}, NONE, "W rank 3"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {1, {3}}, NONE, "one value for each of 2"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {2, {2, 1}}, NONE, "B has rank 2"},
      {IS(1, 2, 4, 4), IS(2, 2, 0, 3), {0}, NONE, "kernel must be at least 1"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {0}, LIST("strides", 2, 0, 1), "must be at least 1"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {0}, LIST("strides", 1, 1), "1 values, expected 2"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {0}, LIST("pads", 2, 1, 1), "2 values, expected 4"},
      {IS(1, 2, 4, 4),
       IS(2, 2, 3, 3),
       {0},
       LIST("kernel_shape", 2, 3, 2),
       "kernel_shape is [3, 2]"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {0}, LIST("pads", 4, 0, -1, 0, 0), "pads at least 0"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {0}, LIST("pads", 4, 0, 0, INT64_MAX, 0), "at most"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {0}, LIST("dilations", 2, INT64_MAX, 1), "at most"},
      {IS(1, 2, 4, 4), IS(2, 2, 3, 3), {0}, LIST("strides", 2, 1, INT64_MAX), "at most"},
      {IS(1, 2, 4, 4), IS(2, 2, INT64_MAX, 3), {0}, NONE, "at most"},
      {IS(1, 2, 4, 4),
       IS(0, 2, 3, 3),
       {0},
       {"group", OPS_ATTRIBUTE_INT, {INT64_MAX}, 1, NULL},
       "with group 9223372036854775807"},
      {IS(1, 2, 4, 4),
       IS(2, 2, 3, 3),
       {0},
       {"group", OPS_ATTRIBUTE_INT, {0}, 1, NULL},
       "with group 0"},
      {IS(1, 2, 4, 4),
       IS(2, 2, 3, 3),
       {0},
       {"auto_pad", OPS_ATTRIBUTE_STRING, {0}, 1, "SAME"},
       "auto_pad is 'SAME'"},
  };
  lane *l = *state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    const shape s[] = {rows[i].x, rows[i].w, rows[i].bias};
    node_view v;
    prepared_kernel k;
    node_view_fill(&v, "Conv", s, NULL, s[2].rank ? 3 : 2, &rows[i].attribute, 1);
    REFUSED(prepared_kernel_make(&l->r, &v, &k, &error), INVALID_ARGUMENT, rows[i].phrase);
  }
}

static void conv_claims_two_dimensions(void **state) {
  lane *l = *state;
  const shape s[] = {{3, {1, 2, 4}}, {3, {2, 2, 3}}};
  node_view v;
  const ops_kernel_def *def;
  ops_claim claim;
  node_view_fill(&v, "Conv", s, NULL, 2, NULL, 0);
  CHECK(ops_library_claim(l->r.library, l->r.device, &v.node, &def, &claim, &error));
  assert_null(def);
  assert_int_equal(claim.reason, OPS_REASON_SHAPE);
  assert_string_equal(claim.text, "X has rank 3, the matrix unit takes rank 4");
}

// ---- The private layout ----

static ops_arg side(void *memory, int32_t kind, const shape *s, const int64_t *strides,
                    uint32_t layout) {
  ops_arg arg = {.kind = OPS_ARG_TENSOR, .memory_kind = kind};
  arg.tensor = (ops_tensor){.memory = memory,
                            .type = OPS_TYPE_FLOAT,
                            .rank = s->rank,
                            .dims = s->dims,
                            .strides = strides,
                            .layout = layout};
  return arg;
}

// Plain on the host → packed on the device → plain on the host again. The packed bytes are
// those of the layout's definition: [ceil(m / 8), c, kh, kw, 8], zeros behind channel m.
static void reorders_round_trip(void **state) {
  lane *l = *state;
  rig *r = &l->r;
  uint64_t seed = 33;
  for (int round = 0; round < 40; ++round) {
    const shape s = {4,
                     {1 + rig_random(&seed, 20), 1 + rig_random(&seed, 4),
                      1 + rig_random(&seed, 3), 1 + rig_random(&seed, 3)}};
    const int64_t inner = s.dims[1] * s.dims[2] * s.dims[3], blocks = (s.dims[0] + 7) / 8;
    tensor w = tensor_random(&s, &seed), back = tensor_random(&s, &seed);
    int64_t strides[4];
    uint64_t bytes = 0;
    ops_strides_contiguous(4, s.dims, strides);
    CHECK(r->memory->layout_size(r->device, 1, OPS_TYPE_FLOAT, 4, s.dims, &bytes, &error));
    assert_int_equal(bytes, (uint64_t)(blocks * inner * 8) * sizeof(float));
    void *packed = rig_allocate(r, bytes);
    float *seen = malloc(bytes);
    memset(seen, 0xff, bytes);
    rig_upload(r, NULL, packed, seen, bytes);  // what lay there must be overwritten
    const ops_arg plain = side(w.data, OPS_MEMORY_HOST, &s, strides, 0);
    const ops_arg device = side(packed, OPS_MEMORY_DEVICE, &s, NULL, 1);
    const ops_arg again = side(back.data, OPS_MEMORY_HOST, &s, strides, 0);
    ops_stream *stream = round % 2 ? l->stream : NULL;
    CHECK(r->memory->reorder(r->device, stream, &plain, &device, &error));
    CHECK(r->memory->reorder(r->device, stream, &device, &again, &error));
    assert_memory_equal(back.data, w.data, (size_t)shape_count(&s) * sizeof(float));
    rig_download(r, NULL, seen, packed, bytes);
    for (int64_t m = 0; m < blocks * 8; ++m)
      for (int64_t i = 0; i < inner; ++i) {
        const float expected = m < s.dims[0] ? w.data[m * inner + i] : 0;
        assert_true(seen[(m / 8 * inner + i) * 8 + m % 8] == expected);
      }
    free(seen);
    rig_free(r, packed);
    tensor_free(&w);
    tensor_free(&back);
  }
}

static void wrong_reorders_are_refused(void **state) {
  lane *l = *state;
  rig *r = &l->r;
  static const shape s = {4, {8, 1, 2, 2}}, t = {4, {8, 1, 4, 1}}, empty = {4, {0, 1, 2, 2}},
                     line = {1, {32}};
  static const shape huge = {4, {INT64_MAX, 1, 2, 2}};
  static const int64_t dense[] = {4, 4, 2, 1}, gaps[] = {8, 4, 2, 1};
  float data[64] = {0};
  uint64_t bytes = 0;
  void *packed = rig_allocate(r, 128);
#define SIZE(layout, type, of) \
  r->memory->layout_size(r->device, layout, type, (of)->rank, (of)->dims, &bytes, &error)
  REFUSED(SIZE(2, OPS_TYPE_FLOAT, &s), INVALID_ARGUMENT, "layout 2");
  REFUSED(SIZE(1, OPS_TYPE_DOUBLE, &s), INVALID_ARGUMENT, "double");
  REFUSED(SIZE(1, OPS_TYPE_FLOAT, &line), INVALID_ARGUMENT, "rank 1");
  REFUSED(SIZE(1, OPS_TYPE_FLOAT, &empty), INVALID_ARGUMENT, "non-empty");
  REFUSED(SIZE(1, OPS_TYPE_FLOAT, &huge), INVALID_ARGUMENT, "layout 1");
#undef SIZE
  ops_arg from = side(data, OPS_MEMORY_HOST, &s, dense, 0);
  ops_arg to = side(packed, OPS_MEMORY_DEVICE, &s, NULL, 1);
#define REORDER() r->memory->reorder(r->device, NULL, &from, &to, &error)
  CHECK(REORDER());
  from.tensor.strides = gaps;
  REFUSED(REORDER(), UNSUPPORTED, "not contiguous");
  from = side(data, OPS_MEMORY_HOST, &t, NULL, 0);
  REFUSED(REORDER(), INVALID_ARGUMENT, "one shape");
  from = side(packed, OPS_MEMORY_DEVICE, &s, NULL, 1);
  REFUSED(REORDER(), INVALID_ARGUMENT, "two layouts");
  from = side(data, OPS_MEMORY_HOST, &s, dense, 0);
  to.tensor.byte_offset = 4;
  REFUSED(REORDER(), INVALID_ARGUMENT, "one allocation");
#undef REORDER
  rig_free(r, packed);
}

// ---- MatMul: numpy's rules ----

static void check_matmul(const tensor *a, const tensor *b, const tensor *y) {
  // Vectors become matrices; then batches are matched from the right.
  const int32_t ar = a->shape.rank, br = b->shape.rank;
  const int64_t m = ar == 1 ? 1 : a->shape.dims[ar - 2], k = a->shape.dims[ar - 1];
  const int64_t n = br == 1 ? 1 : b->shape.dims[br - 1];
  const int32_t a_batch = ar > 2 ? ar - 2 : 0, b_batch = br > 2 ? br - 2 : 0;
  const int32_t batch = a_batch > b_batch ? a_batch : b_batch;
  assert_int_equal(y->shape.rank, batch + (ar > 1) + (br > 1));
  int64_t batches = 1;
  for (int32_t i = 0; i < batch; ++i) batches *= y->shape.dims[i];
  assert_int_equal(shape_count(&y->shape), batches * m * n);
  for (int64_t p = 0; p < batches; ++p) {
    int64_t a_at = 0, b_at = 0, rest = p, a_step = m * k, b_step = k * n;
    for (int32_t i = 1; i <= batch; ++i) {  // from the right
      const int64_t at = rest % y->shape.dims[batch - i];
      rest /= y->shape.dims[batch - i];
      if (i <= a_batch) {
        const int64_t dim = a->shape.dims[a_batch - i];
        a_at += dim == 1 ? 0 : at * a_step;
        a_step *= dim;
      }
      if (i <= b_batch) {
        const int64_t dim = b->shape.dims[b_batch - i];
        b_at += dim == 1 ? 0 : at * b_step;
        b_step *= dim;
      }
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t q = 0; q < k; ++q) {
          const double term = (double)a->data[a_at + i * k + q] * b->data[b_at + q * n + j];
          sum += term;
          magnitude += fabs(term);
        }
        expect_near(y->data[(p * m + i) * n + j], sum, magnitude, (double)k);
      }
  }
}

static void matmul_follows_numpy(void **state) {
  lane *l = *state;
  static const shape pairs[][2] = {
      {{1, {5}}, {1, {5}}},
      {{1, {5}}, {2, {5, 3}}},
      {{2, {4, 5}}, {1, {5}}},
      {{2, {4, 5}}, {2, {5, 7}}},
      {{3, {2, 4, 5}}, {2, {5, 7}}},
      {{2, {4, 5}}, {3, {3, 5, 7}}},
      {{1, {5}}, {3, {3, 5, 7}}},
      {{3, {3, 4, 5}}, {1, {5}}},
      {{4, {2, 1, 3, 4}}, {4, {1, 5, 4, 6}}},
      {{5, {1, 2, 3, 4, 5}}, {3, {3, 5, 2}}},
      {{3, {2, 1, 1}}, {3, {2, 1, 1}}},
      {{2, {4, 0}}, {2, {0, 3}}},  // an empty sum is zero
      {{2, {0, 5}}, {2, {5, 3}}},
      {{3, {0, 2, 5}}, {2, {5, 3}}},
      {{2, {2, 5}}, {2, {5, 0}}},
      {{2, {70, 130}}, {2, {130, 33}}},
  };
  uint64_t seed = 41;
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
    tensor in[2] = {tensor_random(&pairs[i][0], &seed), tensor_random(&pairs[i][1], &seed)};
    tensor y = rig_run(&l->r, l->stream, "MatMul", in, 2, NULL, 0, 0);
    check_matmul(&in[0], &in[1], &y);
    tensor_free(&y);
    tensor_free(&in[0]);
    tensor_free(&in[1]);
  }
}

static void matmul_refuses_what_does_not_fit(void **state) {
  lane *l = *state;
  static const shape pairs[][2] = {
      {{2, {4, 5}}, {2, {4, 5}}},       {{0, {0}}, {2, {4, 5}}}, {{2, {4, 5}}, {0, {0}}},
      {{3, {2, 4, 5}}, {3, {3, 5, 6}}}, {{1, {4}}, {1, {5}}},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
    node_view v;
    prepared_kernel k;
    node_view_fill(&v, "MatMul", pairs[i], NULL, 2, NULL, 0);
    REFUSED(prepared_kernel_make(&l->r, &v, &k, &error), INVALID_ARGUMENT, "MatMul: ");
  }
}

// ---- Elementwise ----

static float apply(const char *op, float a, float b) {
  return op[0] == 'A' ? a + b : op[0] == 'S' ? a - b : a * b;
}

// The position in a tensor of shape `s` that an index of the broadcast shape reads.
static int64_t source_of(const shape *s, const shape *out, const int64_t *index) {
  int64_t at = 0;
  for (int32_t i = 0; i < s->rank; ++i) {
    const int64_t k = index[i + out->rank - s->rank];
    at = at * s->dims[i] + (s->dims[i] == 1 ? 0 : k);
  }
  return at;
}

static void check_broadcast(const char *op, const tensor *in, const tensor *y) {
  int64_t index[kRigRank] = {0};
  const int64_t count = shape_count(&y->shape);
  for (int64_t n = 0; n < count; ++n) {
    const float expected = apply(op, in[0].data[source_of(&in[0].shape, &y->shape, index)],
                                 in[1].data[source_of(&in[1].shape, &y->shape, index)]);
    assert_true(y->data[n] == expected);  // one operation is correctly rounded
    for (int32_t i = y->shape.rank - 1; i >= 0 && ++index[i] == y->shape.dims[i]; --i)
      index[i] = 0;
  }
}

static void elementwise_operators_broadcast(void **state) {
  static const char *const ops[] = {"Add", "Sub", "Mul"};
  lane *l = *state;
  uint64_t seed = 51;
  for (int round = 0; round < 120; ++round) {
    shape whole = {(int32_t)rig_random(&seed, 5), {0}}, s[2];
    for (int32_t i = 0; i < whole.rank; ++i)
      whole.dims[i] = rig_random(&seed, 15) ? 1 + rig_random(&seed, 5) : 0;
    for (int k = 0; k < 2; ++k) {  // a suffix of the shape, some dimensions stretched
      const int32_t cut = k == round % 2 ? 0 : (int32_t)rig_random(&seed, 5) % (whole.rank + 1);
      s[k].rank = whole.rank - cut;
      for (int32_t i = 0; i < s[k].rank; ++i)
        s[k].dims[i] = k != round % 2 && rig_random(&seed, 3) == 0 ? 1 : whole.dims[i + cut];
    }
    tensor in[2] = {tensor_random(&s[0], &seed), tensor_random(&s[1], &seed)};
    tensor y = rig_run(&l->r, l->stream, ops[round % 3], in, 2, NULL, 0, 0);
    assert_int_equal(y.shape.rank, whole.rank);
    assert_memory_equal(y.shape.dims, whole.dims, (size_t)whole.rank * sizeof(int64_t));
    check_broadcast(ops[round % 3], in, &y);
    tensor_free(&y);
    tensor_free(&in[0]);
    tensor_free(&in[1]);
  }
  static const shape apart[2] = {{2, {2, 3}}, {1, {2}}};
  node_view v;
  prepared_kernel k;
  node_view_fill(&v, "Mul", apart, NULL, 2, NULL, 0);
  REFUSED(prepared_kernel_make(&l->r, &v, &k, &error), INVALID_ARGUMENT, "do not broadcast");
}

static void relu_keeps_what_is_not_negative(void **state) {
  lane *l = *state;
  float values[] = {-1, 0, 1, -INFINITY, INFINITY, NAN, -0x1p-149f, 0x1p-149f, -3e38f};
  const float expected[] = {0, 0, 1, 0, INFINITY, NAN, 0, 0x1p-149f, 0};
  const tensor in = {{1, {9}}, values};
  tensor y = rig_run(&l->r, l->stream, "Relu", &in, 1, NULL, 0, 0);
  for (int i = 0; i < 9; ++i) {
    assert_int_equal(isnan(y.data[i]) != 0, isnan(expected[i]) != 0);
    if (!isnan(expected[i])) assert_true(y.data[i] == expected[i]);
  }
  tensor_free(&y);
}

// The definitions allow an output over an input of its shape.
static void outputs_may_overwrite_inputs(void **state) {
  lane *l = *state;
  const shape s[2] = {{2, {3, 50}}, {1, {50}}};
  uint64_t seed = 61;
  tensor a = tensor_random(&s[0], &seed), b = tensor_random(&s[1], &seed);
  float got[150];
  node_view v;
  prepared_kernel k;
  void *handles[2] = {rig_allocate(&l->r, 600), rig_allocate(&l->r, 200)};
  rig_upload(&l->r, l->stream, handles[0], a.data, 600);
  rig_upload(&l->r, l->stream, handles[1], b.data, 200);
  node_view_fill(&v, "Sub", s, NULL, 2, NULL, 0);
  CHECK(prepared_kernel_make(&l->r, &v, &k, &error));
  CHECK(prepared_kernel_execute(&k, l->stream, &v, handles, handles[0], &error));
  rig_download(&l->r, l->stream, got, handles[0], 600);
  CHECK(l->r.stream->synchronize(l->stream, &error));
  for (int i = 0; i < 150; ++i) assert_true(got[i] == a.data[i] - b.data[i % 50]);
  prepared_kernel_destroy(&k);
  for (int i = 0; i < 2; ++i) rig_free(&l->r, handles[i]);
  tensor_free(&a);
  tensor_free(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conv_is_the_sum_of_its_definition),
      cmocka_unit_test(conv_offers_its_layouts),
      cmocka_unit_test(conv_refuses_what_does_not_fit),
      cmocka_unit_test(conv_claims_two_dimensions),
      cmocka_unit_test(reorders_round_trip),
      cmocka_unit_test(wrong_reorders_are_refused),
      cmocka_unit_test(matmul_follows_numpy),
      cmocka_unit_test(matmul_refuses_what_does_not_fit),
      cmocka_unit_test(elementwise_operators_broadcast),
      cmocka_unit_test(relu_keeps_what_is_not_negative),
      cmocka_unit_test(outputs_may_overwrite_inputs),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
