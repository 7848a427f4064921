// SPDX-License-Identifier: Apache-2.0
//
// What a hash of contents owes: equal contents agree wherever they lie, and whatever differs in
// a bit, in length or in where a piece ends does not.
#include "loader/content_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

#define LARGEST 100u

// A word of the contents that equals one of the secret voids a lane: these are no small
// numbers.
static const ops_content_secret kSecret = {
    {0x9e3779b97f4a7c15, 0xd6e8feb86659fd93, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb}};

static ops_content_hash hash_of(const ops_content_secret *secret, const void *data,
                                uint64_t size) {
  ops_content_hasher hasher;
  ops_content_hasher_init(&hasher, secret);
  ops_content_hasher_add(&hasher, data, size);
  return ops_content_hasher_finish(&hasher);
}

static int compare(const void *a, const void *b) {
  return memcmp(a, b, sizeof(ops_content_hash));
}

// Every prefix of a buffer of zeros, alone and with each of its bits set.
static void bits_and_lengths_are_told_apart(void **state) {
  (void)state;
  static ops_content_hash seen[1 + LARGEST * (1 + 4 * (LARGEST + 1))];
  size_t count = 0;
  for (uint64_t size = 0; size <= LARGEST; ++size) {
    unsigned char bytes[LARGEST] = {0};
    seen[count++] = hash_of(&kSecret, bytes, size);
    for (uint64_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] = (unsigned char)(1u << bit % 8);
      seen[count++] = hash_of(&kSecret, bytes, size);
      bytes[bit / 8] = 0;
    }
  }
  qsort(seen, count, sizeof *seen, compare);
  for (size_t i = 1; i < count; ++i) {
    assert_int_not_equal(seen[i - 1].low, seen[i].low);
    assert_int_not_equal(seen[i - 1].high, seen[i].high);
  }
}

static void the_place_does_not_matter(void **state) {
  (void)state;
  unsigned char bytes[LARGEST + 16], moved[LARGEST + 16];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (unsigned char)(i * 37);
  const ops_content_hash want = hash_of(&kSecret, bytes, LARGEST);
  for (size_t shift = 0; shift < 16; ++shift) {
    memcpy(moved + shift, bytes, LARGEST);
    const ops_content_hash got = hash_of(&kSecret, moved + shift, LARGEST);
    assert_memory_equal(&got, &want, sizeof want);
  }
}

static void pieces_are_told_apart(void **state) {
  (void)state;
  ops_content_hash seen[LARGEST + 1];
  unsigned char bytes[LARGEST] = {0};
  for (uint64_t cut = 0; cut <= LARGEST; ++cut) {
    ops_content_hasher hasher;
    ops_content_hasher_init(&hasher, &kSecret);
    ops_content_hasher_add(&hasher, bytes, cut);
    ops_content_hasher_add(&hasher, bytes, LARGEST - cut);
    seen[cut] = ops_content_hasher_finish(&hasher);
    for (uint64_t i = 0; i < cut; ++i) assert_int_not_equal(seen[i].low, seen[cut].low);
  }
}

static void secrets_differ(void **state) {
  (void)state;
  ops_content_secret a, b;
  ops_content_secret_draw(&a);
  ops_content_secret_draw(&b);
  assert_memory_not_equal(&a, &b, sizeof a);
  assert_int_not_equal(hash_of(&a, "weights", 7).low, hash_of(&b, "weights", 7).low);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_and_lengths_are_told_apart),
      cmocka_unit_test(the_place_does_not_matter),
      cmocka_unit_test(pieces_are_told_apart),
      cmocka_unit_test(secrets_differ),
  };
  return cmocka_run_group_tests_name("content_hash", tests, NULL, NULL);
}
