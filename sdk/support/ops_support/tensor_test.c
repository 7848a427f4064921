// SPDX-License-Identifier: Apache-2.0
//
// Checked arithmetic against 128-bit arithmetic, the type table, and broadcasting against
// numpy: the table's shapes are np.broadcast_shapes, its sums run over np.broadcast_to of
// arange, element n in row-major order weighted with n + 1, modulo 2^64.
#include <ops_support/checked.h>
#include <ops_support/tensor.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

typedef unsigned __int128 wide;

static const uint64_t kEdges[] = {0,
                                  1,
                                  2,
                                  3,
                                  7,
                                  8,
                                  63,
                                  64,
                                  (uint64_t)1 << 31,
                                  UINT32_MAX,
                                  (uint64_t)1 << 32,
                                  ((uint64_t)1 << 32) + 1,
                                  INT64_MAX,
                                  (uint64_t)1 << 63,
                                  UINT64_MAX - 64,
                                  UINT64_MAX - 63,
                                  UINT64_MAX - 1,
                                  UINT64_MAX};
enum { kEdgeCount = sizeof kEdges / sizeof kEdges[0] };

static void expect(wide exact, int fits, uint64_t got) {
  assert_int_equal(fits, exact <= UINT64_MAX);
  assert_true(got == (fits ? (uint64_t)exact : 42));  // left alone when it does not fit
}

static void arithmetic_is_exact_or_refused(void **state) {
  (void)state;
  for (int i = 0; i < kEdgeCount; ++i) {
    const uint64_t a = kEdges[i];
    for (int k = 0; k < kEdgeCount; ++k) {
      const uint64_t b = kEdges[k];
      uint64_t got = 42;
      int fits = ops_checked_add(a, b, &got);
      expect((wide)a + b, fits, got);
      got = 42;
      fits = ops_checked_mul(a, b, &got);
      expect((wide)a * b, fits, got);
    }
    for (int bit = 0; bit < 64; ++bit) {
      const uint64_t alignment = (uint64_t)1 << bit;
      uint64_t got = 42;
      const int fits = ops_checked_align(a, alignment, &got);
      expect(((wide)a + alignment - 1) / alignment * alignment, fits, got);
    }
  }
}

static void counts_are_exact_or_refused(void **state) {
  static const struct {
    int32_t rank;
    int64_t dims[4];
    int64_t count;  // -1: refused
  } rows[] = {
      {0, {0}, 1},
      {1, {0}, 0},
      {3, {2, 3, 4}, 24},
      {2, {INT64_MAX, 1}, INT64_MAX},
      {2, {(int64_t)1 << 32, (int64_t)1 << 31}, -1},
      {2, {((int64_t)1 << 32) - 1, ((int64_t)1 << 31) - 1}, INT64_C(0x7ffffffe80000001)},
      {3, {0, INT64_MAX, 2}, -1},  // also in front of a zero: strides must not overflow
      {3, {INT64_MAX, 2, 0}, -1},
      {2, {INT64_MAX, 0}, 0},
      {1, {-1}, -1},
      {2, {0, -1}, -1},
      {1, {INT64_MIN}, -1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    int64_t count = -1;
    assert_int_equal(ops_checked_count(rows[i].dims, rows[i].rank, &count), rows[i].count >= 0);
    assert_int_equal(count, rows[i].count);
  }
}

static void types_have_names_and_sizes(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 1000, INT64_MAX / 2, INT64_MAX};
#define X(number, text, bit_count)                                          \
  {                                                                         \
    const ops_str name = OPS_STR(text);                                     \
    assert_string_equal(ops_type_name(number), text);                       \
    assert_int_equal(ops_type_from_name(name), number);                     \
    assert_int_equal(ops_type_bits(number), bit_count);                     \
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {         \
      const wide exact = ((wide)(uint64_t)counts[i] * (bit_count) + 7) / 8; \
      uint64_t bytes = 42;                                                  \
      const int fits = ops_type_bytes(number, counts[i], &bytes);           \
      if ((bit_count) == 0)                                                 \
        assert_int_equal(fits, 0);                                          \
      else                                                                  \
        expect(exact, fits, bytes);                                         \
    }                                                                       \
  }
  OPS_TYPE_LIST(X)
#undef X
  const ops_str unknown = OPS_STR("float17"), none = {NULL, 0};
  uint64_t bytes;
  assert_int_equal(ops_type_from_name(unknown), OPS_TYPE_UNDEFINED);
  assert_int_equal(ops_type_from_name(none), OPS_TYPE_UNDEFINED);
  static const int32_t outside[] = {-1, 0, OPS_TYPE_COUNT, INT32_MIN, INT32_MAX};
  for (int i = 0; i < 5; ++i) {
    assert_string_equal(ops_type_name(outside[i]), "undefined");
    assert_int_equal(ops_type_bits(outside[i]), 0);
    assert_int_equal(ops_type_bytes(outside[i], 1, &bytes), 0);
  }
  assert_int_equal(ops_type_bytes(OPS_TYPE_FLOAT, -1, &bytes), 0);
}

typedef struct broadcast_row {
  int32_t a_rank;
  int64_t a[4];
  int32_t b_rank;
  int64_t b[4];
  int32_t rank;  // -1: they do not fit
  int64_t dims[4];
  uint64_t a_sum, b_sum;
} broadcast_row;

static const broadcast_row kRows[] = {
    {0, {0}, 0, {0}, 0, {0}, 0, 0},
    {0, {0}, 1, {3}, 1, {3}, 0, 8},
    {2, {2, 3}, 2, {2, 3}, 2, {2, 3}, 70, 70},
    {2, {2, 3}, 1, {3}, 2, {2, 3}, 70, 25},
    {2, {2, 1}, 2, {1, 3}, 2, {2, 3}, 15, 25},
    {1, {0}, 1, {1}, 1, {0}, 0, 0},
    {1, {0}, 1, {5}, -1, {0}, 0, 0},
    {3, {1, 0, 3}, 3, {4, 1, 1}, 3, {4, 0, 3}, 0, 0},
    {1, {2}, 1, {3}, -1, {0}, 0, 0},
    {3, {4, 1, 1}, 3, {1, 5, 1}, 3, {4, 5, 1}, 440, 460},
    {3, {1, 1, 3}, 4, {3, 3, 4, 1}, 4, {3, 3, 4, 3}, 5958, 137970},
    {2, {3, 4}, 2, {1, 1}, 2, {3, 4}, 572, 0},
    {3, {4, 4, 2}, 4, {1, 4, 1, 4}, -1, {0}, 0, 0},
    {1, {1}, 1, {3}, 1, {3}, 0, 8},
    {2, {4, 1}, 1, {4}, 2, {4, 4}, 284, 224},
    {2, {1, 2}, 2, {1, 1}, 2, {1, 2}, 2, 0},
    {2, {2, 1}, 0, {0}, 2, {2, 1}, 2, 0},
    {1, {3}, 0, {0}, 1, {3}, 8, 0},
    {1, {1}, 0, {0}, 1, {1}, 0, 0},
    {1, {1}, 1, {1}, 1, {1}, 0, 0},
    {0, {0}, 1, {1}, 1, {1}, 0, 0},
};

// The weighted sum over the elements that the strides visit; element values are positions.
static uint64_t sum_over(int32_t rank, const int64_t *dims, const int64_t *strides) {
  int64_t index[8] = {0}, count = 1;
  uint64_t sum = 0;
  for (int32_t i = 0; i < rank; ++i) count *= dims[i];
  for (int64_t n = 0; n < count; ++n) {
    int64_t at = 0;
    for (int32_t i = 0; i < rank; ++i) at += index[i] * strides[i];
    sum += (uint64_t)at * (uint64_t)(n + 1);
    for (int32_t i = rank - 1; i >= 0 && ++index[i] == dims[i]; --i) index[i] = 0;
  }
  return sum;
}

static uint64_t broadcast_sum(int32_t rank, const int64_t *dims, const broadcast_row *row) {
  int64_t own[4], stretched[4];
  ops_strides_contiguous(rank, dims, own);
  assert_int_equal(ops_strides_are_contiguous(rank, dims, own), 1);
  ops_broadcast_strides(rank, dims, own, row->rank, row->dims, stretched);
  return sum_over(row->rank, row->dims, stretched);
}

static void broadcasts_as_numpy_does(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof kRows / sizeof kRows[0]; ++i) {
    const broadcast_row *row = &kRows[i];
    int64_t dims[4] = {0};
    assert_int_equal(ops_broadcast_dims(row->a_rank, row->a, row->b_rank, row->b, dims),
                     row->rank);
    if (row->rank < 0) continue;
    assert_memory_equal(dims, row->dims, (size_t)row->rank * sizeof *dims);
    assert_true(broadcast_sum(row->a_rank, row->a, row) == row->a_sum);
    assert_true(broadcast_sum(row->b_rank, row->b, row) == row->b_sum);
    // In place, over either input.
    memcpy(dims, row->a, sizeof dims);
    assert_int_equal(ops_broadcast_dims(row->a_rank, dims, row->b_rank, row->b, dims),
                     row->rank);
    assert_memory_equal(dims, row->dims, (size_t)row->rank * sizeof *dims);
    memcpy(dims, row->b, sizeof dims);
    assert_int_equal(ops_broadcast_dims(row->a_rank, row->a, row->b_rank, dims, dims),
                     row->rank);
    assert_memory_equal(dims, row->dims, (size_t)row->rank * sizeof *dims);
  }
}

// 2^40 · 2^40 elements of 2: more than there are addresses.
static void strides_of_impossible_shapes_end(void **state) {
  (void)state;
  const int64_t dims[] = {3, (int64_t)1 << 40, (int64_t)1 << 40, 2};
  const int64_t expected[] = {INT64_MAX, (int64_t)1 << 41, 2, 1};
  int64_t strides[4];
  ops_strides_contiguous(4, dims, strides);
  assert_memory_equal(strides, expected, sizeof expected);
}

// By definition: contiguous strides visit 0, 1, 2 … in row-major order. Random strides are
// judged by walking.
static void contiguity_is_what_walking_finds(void **state) {
  (void)state;
  uint64_t seed = 1;
  int contiguous = 0;
  for (int round = 0; round < 20000; ++round) {
    int64_t dims[3], strides[3], index[3] = {0}, count = 1;
    int32_t rank = 0, expected = 1;
    for (int i = 0; i < 3; ++i) {
      seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      dims[i] = (int64_t)(seed >> 33) % 4;
      strides[i] = (int64_t)(seed >> 40) % 7;
      if (seed >> 50 & 1) rank = i + 1;
    }
    for (int i = 0; i < rank; ++i) count *= dims[i];
    for (int64_t n = 0; n < count; ++n) {
      int64_t at = 0;
      for (int i = 0; i < rank; ++i) at += index[i] * strides[i];
      expected &= at == n;
      for (int i = rank - 1; i >= 0 && ++index[i] == dims[i]; --i) index[i] = 0;
    }
    assert_int_equal(ops_strides_are_contiguous(rank, dims, strides), expected);
    contiguous += expected;
  }
  assert_in_range(contiguous, 1000, 19000);  // both answers were asked for
  const int64_t dims[] = {2, 3};
  assert_int_equal(ops_strides_are_contiguous(2, dims, NULL), 1);
}

static void replies_grow_by_their_stride(void **state) {
  (void)state;
  struct {
    ops_output_info known;
    uint64_t later;
  } outputs[2] = {{.later = 7}, {.later = 7}};
  ops_prepare_reply reply = {.struct_size = sizeof reply,
                             .outputs = &outputs[0].known,
                             .output_count = 2,
                             .output_stride = sizeof outputs[0]};
  const int64_t dims[] = {4, 5};
  ops_reply_set_output(&reply, 1, OPS_TYPE_FLOAT, 2, dims);
  ops_reply_set_output(&reply, 0, OPS_TYPE_INT8, 0, NULL);
  assert_int_equal(outputs[1].known.mode, OPS_SHAPE_KNOWN);
  assert_int_equal(outputs[1].known.type, OPS_TYPE_FLOAT);
  assert_int_equal(outputs[1].known.rank, 2);
  assert_memory_equal(outputs[1].known.dims, dims, sizeof dims);
  assert_int_equal(outputs[0].known.type, OPS_TYPE_INT8);
  assert_int_equal(outputs[0].known.rank, 0);
  assert_int_equal(outputs[0].later, 7);
  assert_int_equal(outputs[1].later, 7);
}

static void packed_inputs_are_told_to_hosts_that_ask(void **state) {
  (void)state;
  ops_prepare_reply reply = {.struct_size = sizeof reply};
  ops_reply_set_unread(&reply, 5);
  assert_int_equal(reply.unread_inputs, 5);
  reply.struct_size = offsetof(ops_prepare_reply, unread_inputs);
  ops_reply_set_unread(&reply, 6);
  assert_int_equal(reply.unread_inputs, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packed_inputs_are_told_to_hosts_that_ask),
      cmocka_unit_test(arithmetic_is_exact_or_refused),
      cmocka_unit_test(counts_are_exact_or_refused),
      cmocka_unit_test(types_have_names_and_sizes),
      cmocka_unit_test(broadcasts_as_numpy_does),
      cmocka_unit_test(strides_of_impossible_shapes_end),
      cmocka_unit_test(contiguity_is_what_walking_finds),
      cmocka_unit_test(replies_grow_by_their_stride),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
