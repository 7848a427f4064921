// SPDX-License-Identifier: Apache-2.0
//
// The store of packed constants: equal requests share, any difference separates, one of many
// callers fills, and one that gives up is replaced.
#include "loader/packed.h"

#include <ops_support/error.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

#include "loader/test/fail_alloc.h"

static const int64_t kDims[] = {2, 3}, kOtherDims[] = {3, 2}, kStrides[] = {3, 1};
static const float kData[] = {1, 2, 3, 4, 5, 6};

static ops_tensor tensor_of(const void *data, uint64_t bytes, int32_t type, const int64_t *dims,
                            int32_t rank) {
  return (ops_tensor){.memory = (void *)data,
                      .byte_size = bytes,
                      .type = type,
                      .rank = rank,
                      .dims = dims,
                      .strides = kStrides};
}

static ops_constant dense(const void *data, int32_t type, const int64_t *dims) {
  ops_constant constant = {.struct_size = sizeof constant, .rank = 2, .dims = dims};
  constant.dense.kind = OPS_ARG_TENSOR;
  constant.dense.tensor = tensor_of(data, sizeof kData, type, dims, 2);
  return constant;
}

typedef struct request {
  ops_constant source;
  const char *packing;
  uint64_t size, alignment;
  ops_str owner;
} request;

static request plain(void) {
  return (request){dense(kData, OPS_TYPE_FLOAT, kDims), "blocked", 100, 64,
                   OPS_STR("provider")};
}

typedef struct grant {
  ops_packed *packed;
  void *memory;
  int32_t fill;
} grant;

static int32_t ask(ops_packed_store *store, request r, grant *out, ops_error *error) {
  const ops_str packing = {r.packing, strlen(r.packing)};
  return ops_packed_store_acquire(store, r.owner, &r.source, packing, r.size, r.alignment,
                                  &out->packed, &out->memory, &out->fill, error);
}

static grant take(ops_packed_store *store, request r) {
  ops_error error = OPS_ERROR_INIT;
  grant g = {0};
  if (ask(store, r, &g, &error) != OPS_OK) fail_msg("%s", error.message);
  return g;
}

// Takes and, if asked to, fills.
static grant fill(ops_packed_store *store, request r) {
  const grant g = take(store, r);
  if (!g.fill) return g;
  memset(g.memory, 0x11, r.size);
  ops_packed_store_commit(store, g.packed);
  return g;
}

static void equal_requests_share(void **state) {
  (void)state;
  ops_packed_store *store = ops_packed_store_create();
  const grant first = fill(store, plain());
  // The same contents at another address.
  float copy[6];
  memcpy(copy, kData, sizeof copy);
  request again = plain();
  again.source = dense(copy, OPS_TYPE_FLOAT, kDims);
  const grant second = take(store, again);
  assert_true(first.fill);
  assert_false(second.fill);
  assert_ptr_equal(first.memory, second.memory);
  assert_int_equal(ops_packed_store_count(store).count, 1);
  assert_int_equal(ops_packed_store_count(store).bytes, plain().size);
  ops_packed_store_drop(store, first.packed);
  assert_int_equal(((unsigned char *)second.memory)[99], 0x11);  // the other still holds it
  ops_packed_store_drop(store, second.packed);
  // Nobody holds it: it is gone, and filled anew.
  assert_int_equal(ops_packed_store_count(store).count, 0);
  assert_int_equal(ops_packed_store_count(store).bytes, 0);
  const grant third = fill(store, plain());
  assert_true(third.fill);
  ops_packed_store_drop(store, third.packed);
  ops_packed_store_drop(store, NULL);
  ops_packed_store_release(store);
  ops_packed_store_release(NULL);
}

// A request that differs from the plain one in a single respect.
static request variant(int index) {
  static const float other[] = {1, 2, 3, 4, 5, 7};
  static const float zero[] = {1, 2, 3, 4, 5, -6};
  static const int64_t block[] = {6, 1};
  request r = plain();
  switch (index) {
    case 0:
      break;
    case 1:
      r.source = dense(other, OPS_TYPE_FLOAT, kDims);
      break;
    case 2:
      r.source = dense(zero, OPS_TYPE_FLOAT, kDims);
      break;
    case 3:
      r.source = dense(kData, OPS_TYPE_INT32, kDims);
      break;
    case 4:
      r.source = dense(kData, OPS_TYPE_FLOAT, kOtherDims);
      break;
    case 5:
      r.source = dense(kData, OPS_TYPE_FLOAT, block);
      break;
    case 6:
      r.packing = "blocke";
      break;
    case 7:
      r.packing = "";
      break;
    case 8:
      r.size = 101;
      break;
    case 9:
      r.alignment = 256;  // memory aligned for one may be misaligned for the other
      break;
    case 10:
      r.source.dense.tensor.bit_offset = 4;
      break;
    case 18:
      r.owner = (ops_str)OPS_STR("other provider");
      break;
    default:
      r.source.format = OPS_CONSTANT_COO;
      r.source.values = tensor_of(kData, sizeof kData, OPS_TYPE_FLOAT, kDims, 1);
      r.source.indices = tensor_of(kDims, sizeof kDims, OPS_TYPE_INT64, kDims, 1);
      if (index == 12) r.source.format = OPS_CONSTANT_CSR;
      if (index == 13) r.source.dims = kOtherDims;
      if (index == 14) r.source.indices.memory = (void *)kOtherDims;
      if (index == 15) r.source.format = OPS_CONSTANT_BSR;
      if (index == 16) r.source.format = OPS_CONSTANT_BSR, r.source.block_rows = 2;
      if (index == 17) r.source.format = OPS_CONSTANT_BSR, r.source.block_cols = 2;
      if (index >= 12 && index != 13 && index != 14)
        r.source.offsets = tensor_of(kDims, sizeof kDims, OPS_TYPE_INT64, kDims, 1);
      break;
  }
  return r;
}

static void any_difference_separates(void **state) {
  (void)state;
  enum { kVariants = 19 };
  ops_packed_store *store = ops_packed_store_create();
  grant grants[kVariants];
  for (int i = 0; i < kVariants; ++i) {
    grants[i] = fill(store, variant(i));
    assert_true(grants[i].fill);
    assert_int_equal((uintptr_t)grants[i].memory % variant(i).alignment, 0);
  }
  for (int i = 0; i < kVariants; ++i) {  // and each finds its own again
    const grant again = take(store, variant(i));
    assert_ptr_equal(again.memory, grants[i].memory);
    ops_packed_store_drop(store, again.packed);
  }
  for (int i = 0; i < kVariants; ++i) ops_packed_store_drop(store, grants[i].packed);
  ops_packed_store_release(store);
}

static void wrong_requests_are_refused(void **state) {
  (void)state;
  ops_packed_store *store = ops_packed_store_create();
  ops_error error = OPS_ERROR_INIT;
  grant g = {0};
  request strings = plain(), odd = plain(), huge = plain();
  strings.source.dense.kind = OPS_ARG_VALUE;
  assert_int_equal(ask(store, strings, &g, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "no tensor of numbers"));
  odd.alignment = 48;
  assert_int_equal(ask(store, odd, &g, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "alignment 48"));
  huge.size = UINT64_MAX / 2;
  assert_int_equal(ask(store, huge, &g, &error), OPS_ERROR_OUT_OF_MEMORY);
  assert_non_null(strstr(error.message, "'blocked'"));
  // Who is to fill it cannot wait for it.
  const grant first = take(store, plain());
  assert_int_equal(ask(store, plain(), &g, &error), OPS_ERROR_PRECONDITION);
  assert_non_null(strstr(error.message, "commit or release"));
  assert_null(g.packed);
  ops_packed_store_commit(store, first.packed);
  const grant second = take(store, plain());
  assert_false(second.fill);
  ops_packed_store_drop(store, first.packed);
  ops_packed_store_drop(store, second.packed);
  ops_packed_store_release(store);
}

static void small_sizes_and_alignments_work(void **state) {
  (void)state;
  ops_packed_store *store = ops_packed_store_create();
  request r = plain();
  for (uint64_t alignment = 0; alignment <= 4096; alignment = alignment ? alignment * 2 : 1) {
    r.alignment = alignment;
    r.size = alignment % 3;  // also 0
    const grant g = fill(store, r);
    assert_non_null(g.memory);
    assert_int_equal((uintptr_t)g.memory % (alignment ? alignment : 1), 0);
    ops_packed_store_drop(store, g.packed);
  }
  ops_packed_store_release(store);
}

// ---- Threads ----

typedef struct race {
  ops_packed_store *store;
  atomic_int fillers, faults;
  int quitters;  // how many of those told to fill give up
} race;

static void *run_race(void *argument) {
  race *r = argument;
  for (int round = 0; round < 50; ++round) {
    request wanted = plain();
    wanted.size = 1000 + (uint64_t)round;
    grant g = {0};
    if (ask(r->store, wanted, &g, NULL) != OPS_OK) return r;
    unsigned char *bytes = g.memory;
    if (g.fill) {
      const int order = atomic_fetch_add(&r->fillers, 1);
      if (order % 4 < r->quitters) {
        ops_packed_store_drop(r->store, g.packed);
        --round;  // asks again, and may be the one again
        continue;
      }
      for (uint64_t i = 0; i < wanted.size; ++i) bytes[i] = (unsigned char)(i + wanted.size);
      ops_packed_store_commit(r->store, g.packed);
    }
    // Whoever holds it sees all of it.
    for (uint64_t i = 0; i < wanted.size; ++i)
      if (bytes[i] != (unsigned char)(i + wanted.size)) atomic_fetch_add(&r->faults, 1);
    ops_packed_store_drop(r->store, g.packed);
  }
  return NULL;
}

static void race_with(int quitters) {
  race r = {.store = ops_packed_store_create(), .quitters = quitters};
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, run_race, &r), 0);
  for (int i = 0; i < 4; ++i) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(atomic_load(&r.faults), 0);
  assert_true(atomic_load(&r.fillers) >= 50);
  ops_packed_store_release(r.store);
}

static void readers_wait_for_the_filler(void **state) {
  (void)state;
  race_with(0);
}

static void fillers_that_give_up_are_replaced(void **state) {
  (void)state;
  race_with(2);
}

typedef struct waiting {
  ops_packed_store *store;
  grant got;
} waiting;

static void *wait_for_it(void *argument) {
  waiting *w = argument;
  w->got = take(w->store, plain());
  if (w->got.fill) ops_packed_store_commit(w->store, w->got.packed);
  return NULL;
}

// Deterministic: two wait, the filler gives up, exactly one of the two becomes the filler.
static void one_waiter_takes_over(void **state) {
  (void)state;
  ops_packed_store *store = ops_packed_store_create();
  const grant first = take(store, plain());
  waiting w[2] = {{.store = store}, {.store = store}};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, wait_for_it, &w[i]);
  ops_packed_store_drop(store, first.packed);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(w[0].got.fill + w[1].got.fill, 1);
  assert_ptr_equal(w[0].got.memory, w[1].got.memory);
  for (int i = 0; i < 2; ++i) ops_packed_store_drop(store, w[i].got.packed);
  ops_packed_store_release(store);
}

static void store_lives_while_it_is_held(void **state) {
  (void)state;
  ops_packed_store *store = ops_packed_store_create();
  assert_ptr_equal(ops_packed_store_retain(store), store);
  ops_packed_store_release(store);
  const grant g = fill(store, plain());
  (void)g;  // never dropped: the store frees what a kernel left behind
  ops_packed_store_release(store);
}

static int32_t store_scenario(void) {
  ops_packed_store *store = ops_packed_store_create();
  grant g = {0};
  if (!store) return OPS_ERROR_OUT_OF_MEMORY;
  const int32_t status = ask(store, plain(), &g, NULL);
  ops_packed_store_drop(store, g.packed);
  ops_packed_store_release(store);
  return status;
}

static void exhaustion_is_reported(void **state) {
  (void)state;
  assert_int_equal(fail_alloc_each(store_scenario, OPS_ERROR_OUT_OF_MEMORY), 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_requests_share),
      cmocka_unit_test(any_difference_separates),
      cmocka_unit_test(wrong_requests_are_refused),
      cmocka_unit_test(small_sizes_and_alignments_work),
      cmocka_unit_test(readers_wait_for_the_filler),
      cmocka_unit_test(fillers_that_give_up_are_replaced),
      cmocka_unit_test(one_waiter_takes_over),
      cmocka_unit_test(store_lives_while_it_is_held),
      cmocka_unit_test(exhaustion_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
