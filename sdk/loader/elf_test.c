// SPDX-License-Identifier: Apache-2.0
//
// The reader of ELF files on damaged ones: seeded changes of bytes, and of the fields that hold
// offsets and sizes. Whatever the file says, the reader stays inside it and answers.
#include "loader/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// cmocka needs the headers above first
#include <cmocka.h>

typedef struct fixture {
  char path[64];
  int fd;
  unsigned char *bytes;  // of the sound file
  size_t size;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  const int from = open(SOUND_PROVIDER, O_RDONLY);
  if (!f || from < 0) return -1;
  f->size = (size_t)lseek(from, 0, SEEK_END);
  f->bytes = malloc(f->size);
  strcpy(f->path, "/tmp/ops_elf_testXXXXXX");
  f->fd = mkstemp(f->path);
  if (f->fd < 0 || pread(from, f->bytes, f->size, 0) != (ssize_t)f->size ||
      pwrite(f->fd, f->bytes, f->size, 0) != (ssize_t)f->size)
    return -1;
  close(from);
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  close(f->fd);
  unlink(f->path);
  free(f->bytes);
  free(f);
  return 0;
}

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 24;
}

// Inspects the file with `size` bytes at `at` replaced, and puts them back. Returns the status.
static int32_t inspect_with(fixture *f, size_t at, const void *bytes, size_t size) {
  ops_error error = OPS_ERROR_INIT;
  ops_elf_facts facts;
  assert_int_equal(pwrite(f->fd, bytes, size, (off_t)at), size);
  const int32_t status = ops_elf_inspect(f->path, &facts, &error);
  if (status == OPS_OK)
    assert_true(memchr(facts.extra_export, 0, sizeof facts.extra_export) != NULL);
  else
    assert_true(error.code == status && error.message_size > 0);
  assert_int_equal(pwrite(f->fd, f->bytes + at, size, (off_t)at), size);
  return status;
}

static void sound_files_are_read(void **state) {
  fixture *f = *state;
  ops_error error = OPS_ERROR_INIT;
  ops_elf_facts facts;
  assert_int_equal(ops_elf_inspect(f->path, &facts, &error), OPS_OK);
  assert_int_equal(facts.exports_query, 1);
  assert_int_equal(facts.extra_exports, 0);
}

static void changed_bytes_are_survived(void **state) {
  fixture *f = *state;
  uint64_t seed = 17;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    // Half of the changes go where most of the structure is: the header, the section headers.
    const size_t spread = round % 2 ? f->size : round % 4 ? sizeof(Elf64_Ehdr) : 2048;
    const size_t begin = round % 4 == 0 ? f->size - spread : 0;
    const unsigned char byte = (unsigned char)next_random(&seed);
    refused += inspect_with(f, begin + next_random(&seed) % spread, &byte, 1) != OPS_OK;
  }
  assert_in_range(refused, 1, 3999);  // some changes matter, some do not
}

// Every field of 8 bytes of the headers and of the section headers, set to numbers that
// overflow sums or point just outside.
static void hostile_offsets_are_survived(void **state) {
  fixture *f = *state;
  Elf64_Ehdr header;
  memcpy(&header, f->bytes, sizeof header);
  const uint64_t numbers[] = {
      0,         1,          f->size - 1,    f->size,         f->size + 1,
      INT64_MAX, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 63, f->size - 24};
  const size_t sections = header.e_shoff;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    for (size_t at = 0; at + 8 <= sizeof header; at += 8) inspect_with(f, at, &numbers[i], 8);
    for (size_t at = sections; at + 8 <= f->size; at += 8) inspect_with(f, at, &numbers[i], 8);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sound_files_are_read),
      cmocka_unit_test(changed_bytes_are_survived),
      cmocka_unit_test(hostile_offsets_are_survived),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
