// SPDX-License-Identifier: Apache-2.0
//
// Constants: ownership, sizes, reading of packed and half-precision elements. Bit patterns of
// float16 and bfloat16 are from IEEE 754 and from the definition of bfloat16.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "graph/constant.h"

static void owns_a_copy(void **state) {
  (void)state;
  int32_t data[] = {1, -2, 3};
  const int64_t dims[] = {3};
  int64_t values[3];
  rt_constant *constant;
  assert_int_equal(rt_constant_create(OPS_TYPE_INT32, 1, dims, data, &constant, NULL), OPS_OK);
  data[0] = 9;
  assert_int_equal(rt_constant_read_ints(constant, values, 3), 3);
  assert_int_equal(values[0], 1);
  assert_int_equal(values[1], -2);
  assert_int_equal(constant->size, 12);
  assert_int_equal((uintptr_t)constant->data % 64, 0);
  assert_int_equal(rt_constant_read_ints(constant, values, 2), -1);
  rt_constant_release(rt_constant_retain(constant));
  rt_constant_release(constant);
}

static void count_release(void *user) {
  ++*(int *)user;
}

static void borrows_until_the_last_release(void **state) {
  (void)state;
  // int4 values 7, -8, 1 : 0x87, 0x.1
  const uint8_t packed[] = {0x87, 0xf1};
  const int64_t dims[] = {3};
  int64_t values[3];
  int released = 0;
  rt_constant *constant;
  assert_int_equal(rt_constant_borrow(OPS_TYPE_INT4, 1, dims, packed, 2, NULL, count_release,
                                      &released, &constant, NULL),
                   OPS_OK);
  assert_int_equal(rt_constant_read_ints(constant, values, 3), 3);
  assert_int_equal(values[0], 7);
  assert_int_equal(values[1], -8);
  assert_int_equal(values[2], 1);
  rt_constant_retain(constant);
  rt_constant_release(constant);
  assert_int_equal(released, 0);
  rt_constant_release(constant);
  assert_int_equal(released, 1);
}

static void reads_halves(void **state) {
  (void)state;
  const uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000};
  const double expected[] = {1.0, -2.0, 5.9604644775390625e-8, 65504.0, 0.0};
  const uint16_t brain[] = {0x3f80, 0xc0a0};
  const int64_t five[] = {5}, two[] = {2};
  double values[5];
  rt_constant *constant;
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT16, 1, five, half, &constant, NULL),
                   OPS_OK);
  assert_int_equal(rt_constant_read_floats(constant, values, 5), 5);
  for (int i = 0; i < 5; ++i) assert_true(values[i] == expected[i]);
  rt_constant_release(constant);
  assert_int_equal(rt_constant_create(OPS_TYPE_BFLOAT16, 1, two, brain, &constant, NULL),
                   OPS_OK);
  assert_int_equal(rt_constant_read_floats(constant, values, 5), 2);
  assert_true(values[0] == 1.0 && values[1] == -5.0);
  rt_constant_release(constant);
}

static void copies_strings(void **state) {
  (void)state;
  const ops_str strings[] = {OPS_STR("ab"), {NULL, 0}, {"c\0d", 3}};
  const int64_t dims[] = {3};
  rt_constant *constant;
  assert_int_equal(rt_constant_create_strings(1, dims, strings, &constant, NULL), OPS_OK);
  assert_int_equal(constant->strings[2].size, 3);
  assert_memory_equal(constant->strings[2].data, "c\0d", 3);
  assert_ptr_not_equal(constant->strings[0].data, strings[0].data);
  rt_constant_release(constant);
}

static void refuses_what_cannot_be(void **state) {
  (void)state;
  const int64_t negative[] = {-1}, huge[] = {INT64_MAX, 2}, two[] = {2};
  const float data[2] = {0};
  ops_error error = OPS_ERROR_INIT;
  rt_constant *constant;
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 1, negative, NULL, &constant, NULL),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 2, huge, NULL, &constant, NULL),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_constant_create(99, 1, two, NULL, &constant, NULL),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(rt_constant_create(OPS_TYPE_STRING, 1, two, NULL, &constant, NULL),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(
      rt_constant_borrow(OPS_TYPE_FLOAT, 1, two, data, 4, NULL, NULL, NULL, &constant, &error),
      OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "expected 8 bytes, found 4"));
  assert_null(constant);
}

static void sparse_owns_its_parts(void **state) {
  (void)state;
  const float values[] = {1, 2};
  const int64_t indices[] = {0, 5}, nnz[] = {2}, dims[] = {2, 3};
  rt_sparse sparse = {.format = RT_SPARSE_COO};
  rt_constant *constant;
  int64_t out[6];
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 1, nnz, values, &sparse.values, NULL),
                   OPS_OK);
  assert_int_equal(rt_constant_create(OPS_TYPE_INT64, 1, nnz, indices, &sparse.indices, NULL),
                   OPS_OK);
  assert_int_equal(rt_constant_create_sparse(2, dims, &sparse, &constant, NULL), OPS_OK);
  assert_int_equal(constant->elem_type, OPS_TYPE_FLOAT);
  assert_int_equal(constant->element_count, 6);
  assert_int_equal(rt_constant_read_ints(constant, out, 6), -1);
  rt_constant_release(constant);
}

static rt_constant *make_sparse(int32_t rank, const int64_t *dims, rt_constant *values,
                                const int64_t *index_dims, int32_t index_rank,
                                const int64_t *indices) {
  rt_sparse sparse = {.format = RT_SPARSE_COO, .values = values};
  rt_constant *constant;
  assert_int_equal(rt_constant_create(OPS_TYPE_INT64, index_rank, index_dims, indices,
                                      &sparse.indices, NULL),
                   OPS_OK);
  assert_int_equal(rt_constant_create_sparse(rank, dims, &sparse, &constant, NULL), OPS_OK);
  return constant;
}

static rt_constant *make_values(int32_t type, int64_t count, const void *data) {
  rt_constant *values;
  assert_int_equal(rt_constant_create(type, 1, &count, data, &values, NULL), OPS_OK);
  return values;
}

static void assert_dense(rt_constant *sparse, const void *expected, uint64_t size) {
  rt_constant *dense;
  assert_int_equal(rt_constant_write_out(sparse, &dense, NULL), OPS_OK);
  assert_null(dense->sparse);
  assert_int_equal(dense->rank, sparse->rank);
  assert_int_equal(dense->size, size);
  assert_memory_equal(dense->data, expected, size);
  rt_constant_release(dense);
  rt_constant_release(sparse);
}

static void sparse_is_written_out(void **state) {
  (void)state;
  const int64_t dims[] = {2, 3}, two[] = {2}, pairs[] = {2, 2};
  const float reals[] = {1, 2}, real[] = {0, 1, 0, 0, 0, 2};
  assert_dense(make_sparse(2, dims, make_values(OPS_TYPE_FLOAT, 2, reals), two, 1,
                           (const int64_t[]){1, 5}),
               real, sizeof real);
  assert_dense(make_sparse(2, dims, make_values(OPS_TYPE_FLOAT, 2, reals), pairs, 2,
                           (const int64_t[]){0, 1, 1, 2}),
               real, sizeof real);
  // Four bits: elements 1 and 4 are 0xa and 0xb. Six: 0x2a and 0x15.
  assert_dense(make_sparse(2, dims, make_values(OPS_TYPE_UINT4, 2, (const uint8_t[]){0xba}),
                           two, 1, (const int64_t[]){1, 4}),
               (const uint8_t[]){0xa0, 0x00, 0x0b}, 3);
  assert_dense(
      make_sparse(2, dims, make_values(OPS_TYPE_FLOAT6E2M3, 2, (const uint8_t[]){0x6a, 0x05}),
                  two, 1, (const int64_t[]){1, 4}),
      (const uint8_t[]){0x80, 0x0a, 0x00, 0x15, 0x00}, 5);
}

static void sparse_strings_are_written_out(void **state) {
  (void)state;
  const ops_str texts[] = {OPS_STR("x")};
  const int64_t one[] = {1}, three[] = {3}, at[] = {2};
  rt_constant *values, *dense;
  assert_int_equal(rt_constant_create_strings(1, one, texts, &values, NULL), OPS_OK);
  rt_constant *sparse = make_sparse(1, three, values, one, 1, at);
  assert_int_equal(rt_constant_write_out(sparse, &dense, NULL), OPS_OK);
  assert_int_equal(dense->strings[0].size, 0);
  assert_int_equal(dense->strings[2].data[0], 'x');
  rt_constant_release(dense);
  rt_constant_release(sparse);
}

static void what_cannot_be_written_out_is_refused(void **state) {
  (void)state;
  const int64_t small[] = {2, 3}, large[] = {1 << 30, 1 << 30}, one[] = {1}, two[] = {2};
  const struct {
    const int64_t *dims, *index_dims;
    int64_t index;
    int32_t status;
    const char *text;
  } rows[] = {{small, one, 6, OPS_ERROR_INVALID_MODEL, "outside its shape"},
              {small, one, -1, OPS_ERROR_INVALID_MODEL, "outside its shape"},
              {small, two, 1, OPS_ERROR_INVALID_MODEL, "1 values and 2 indices"},
              {large, one, 0, OPS_ERROR_UNSUPPORTED, "RT_CONSTANT_MAX_DENSE_BYTES"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const float value = 1;
    const int64_t indices[] = {rows[i].index, 0};
    ops_error error = OPS_ERROR_INIT;
    rt_constant *dense,
        *sparse = make_sparse(2, rows[i].dims, make_values(OPS_TYPE_FLOAT, 1, &value),
                              rows[i].index_dims, 1, indices);
    assert_int_equal(rt_constant_write_out(sparse, &dense, &error), rows[i].status);
    if (!strstr(error.message, rows[i].text)) fail_msg("row %zu: %s", i, error.message);
    assert_null(dense);
    rt_constant_release(sparse);
  }
}

// Three pages of a mapped file that hold floats at an odd address.
static void mapped_data_come_back(void **state) {
  (void)state;
  enum { kBytes = 12288, kCount = 3000 };
  const int64_t dims[] = {kCount};
  static double values[kCount];
  FILE *file = tmpfile();
  assert_non_null(file);
  assert_int_equal(fputc(0, file), 0);
  for (int i = 0; i < kCount; ++i) {
    const float number = (float)i;
    assert_int_equal(fwrite(&number, sizeof number, 1, file), 1);
  }
  fflush(file);
  char *bytes = mmap(NULL, kBytes, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  assert_ptr_not_equal(bytes, MAP_FAILED);
  rt_constant *constant;
  const void *aligned = NULL, *again = NULL;
  assert_int_equal(rt_constant_map(OPS_TYPE_FLOAT, 1, dims, bytes + 1, kCount * sizeof(float),
                                   &constant, NULL),
                   OPS_OK);
  rt_constant_forget(constant);
  assert_int_equal(rt_constant_read_floats(constant, values, kCount), kCount);
  for (int i = 0; i < kCount; ++i) assert_true(values[i] == i);
  assert_int_equal(rt_constant_aligned(constant, &aligned, NULL), OPS_OK);
  assert_int_equal(rt_constant_aligned(constant, &again, NULL), OPS_OK);
  assert_ptr_equal(aligned, again);
  assert_int_equal((uintptr_t)aligned % sizeof(float), 0);
  assert_memory_equal(aligned, bytes + 1, kCount * sizeof(float));
  rt_constant_release(constant);
  munmap(bytes, kBytes);
  fclose(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mapped_data_come_back),
      cmocka_unit_test(owns_a_copy),
      cmocka_unit_test(borrows_until_the_last_release),
      cmocka_unit_test(reads_halves),
      cmocka_unit_test(copies_strings),
      cmocka_unit_test(refuses_what_cannot_be),
      cmocka_unit_test(sparse_owns_its_parts),
      cmocka_unit_test(sparse_is_written_out),
      cmocka_unit_test(sparse_strings_are_written_out),
      cmocka_unit_test(what_cannot_be_written_out_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
