// SPDX-License-Identifier: Apache-2.0
//
// Memory of mynpu: handles fault when the host touches them, blocks never overlap, statistics
// agree with a model, and nothing alive lets its parent go.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mynpu_test_util.h"

static int fault_of(volatile char *address, int write) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's own handler would exit
    if (write)
      *address = 1;
    else
      (void)*address;
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void handles_fault_when_touched(void **state) {
  (void)state;
  rig r;
  rig_open(&r, NULL);
  char *handle = rig_allocate(&r, 100000);
  char ordinary = 0;
  assert_int_equal(fault_of(&ordinary, 1), 0);
  assert_int_equal(fault_of(handle, 0), SIGSEGV);
  assert_int_equal(fault_of(handle, 1), SIGSEGV);
  assert_int_equal(fault_of(handle + 99999, 0), SIGSEGV);
  rig_free(&r, handle);
  rig_close(&r);
}

// ---- The allocator against a model ----

enum { kBlocks = 40, kMemory = 1 << 16 };

typedef struct model_block {
  char *handle;  // NULL: free
  uint64_t size;
  unsigned char stamp;
} model_block;

typedef struct model {
  model_block blocks[kBlocks];
  uint64_t in_use, peak, live;
  char *base;  // of the whole memory: the first block of an empty heap lies there
} model;

static void check_stats(rig *r, const model *m) {
  ops_memory_stats stats = {.struct_size = sizeof stats};
  CHECK(r->memory->stats(r->device, OPS_MEMORY_DEVICE, &stats, &error));
  assert_int_equal(stats.bytes_in_use, m->in_use);
  assert_int_equal(stats.bytes_peak, m->peak);
  assert_int_equal(stats.allocations, m->live);
  assert_int_equal(stats.bytes_total, kMemory);
  // The largest gap: from the end of a block, or the start, to the next block, or the end.
  uint64_t largest = 0;
  for (int i = -1; i < kBlocks; ++i) {
    if (i >= 0 && !m->blocks[i].handle) continue;
    const char *from = i < 0 ? m->base : m->blocks[i].handle + m->blocks[i].size;
    const char *to = m->base + kMemory;
    for (int k = 0; k < kBlocks; ++k)
      if (m->blocks[k].handle && m->blocks[k].handle >= from && m->blocks[k].handle < to)
        to = m->blocks[k].handle;
    if ((uint64_t)(to - from) > largest) largest = (uint64_t)(to - from);
  }
  assert_int_equal(stats.bytes_largest_free, largest);
}

static void check_apart(const model *m, const model_block *fresh) {
  assert_true(fresh->handle >= m->base && fresh->handle + fresh->size <= m->base + kMemory);
  for (int i = 0; i < kBlocks; ++i) {
    const model_block *b = &m->blocks[i];
    if (b == fresh || !b->handle) continue;
    assert_true(b->handle + b->size <= fresh->handle ||
                fresh->handle + fresh->size <= b->handle);
  }
}

// What a block holds when it goes is what was written when it came.
static void free_block(rig *r, model *m, model_block *b) {
  unsigned char *bytes = malloc(b->size);
  rig_download(r, NULL, bytes, b->handle, b->size);
  for (uint64_t i = 0; i < b->size; ++i) assert_int_equal(bytes[i], b->stamp);
  free(bytes);
  rig_free(r, b->handle);
  m->in_use -= b->size;
  --m->live;
  b->handle = NULL;
}

static void take_block(rig *r, model *m, model_block *b, uint64_t *seed) {
  const uint64_t size = 1 + rig_random(seed, rig_random(seed, 4) ? 900 : 9000);
  const uint64_t alignment = rig_random(seed, 3) ? (uint64_t)1 << rig_random(seed, 11) : 0;
  ops_error error = OPS_ERROR_INIT;
  void *memory = NULL;
  const int32_t status = r->memory->allocate(r->device, OPS_MEMORY_DEVICE, size, alignment,
                                             OPS_USAGE_WEIGHT, &memory, &error);
  if (status == OPS_ERROR_OUT_OF_MEMORY) return;
  rig_check(status, &error, "allocate");
  *b = (model_block){memory, size, (unsigned char)rig_random(seed, 256)};
  check_apart(m, b);
  const uint64_t offset = (uint64_t)(b->handle - m->base);
  assert_int_equal(offset % 64, 0);
  assert_int_equal(offset % (alignment ? alignment : 1), 0);
  unsigned char *bytes = malloc(size);
  memset(bytes, b->stamp, size);
  rig_upload(r, NULL, b->handle, bytes, size);
  free(bytes);
  m->in_use += size;
  ++m->live;
  if (m->in_use > m->peak) m->peak = m->in_use;
}

static void blocks_never_overlap(void **state) {
  static const char *const options[] = {"memory_bytes=65536", NULL};
  (void)state;
  rig r;
  uint64_t seed = 5;
  rig_open(&r, options);
  model *m = calloc(1, sizeof *m);
  m->base = rig_allocate(&r, 1);
  rig_free(&r, m->base);
  m->peak = 1;
  for (int round = 0; round < 3000; ++round) {
    model_block *b = &m->blocks[rig_random(&seed, kBlocks)];
    if (b->handle)
      free_block(&r, m, b);
    else
      take_block(&r, m, b, &seed);
    check_stats(&r, m);
  }
  assert_true(m->live > 5);
  for (int i = 0; i < kBlocks; ++i)
    if (m->blocks[i].handle) free_block(&r, m, &m->blocks[i]);
  check_stats(&r, m);
  free(m);
  rig_close(&r);
}

static void exhaustion_says_what_to_do(void **state) {
  static const char *const options[] = {"memory_bytes=4096", NULL};
  (void)state;
  rig r;
  void *memory = NULL, *whole;
  rig_open(&r, options);
  whole = rig_allocate(&r, 4096);  // all of it can be had
#define ALLOCATE(kind, size, alignment) \
  r.memory->allocate(r.device, kind, size, alignment, OPS_USAGE_ACTIVATION, &memory, &error)
  REFUSED(ALLOCATE(OPS_MEMORY_DEVICE, 1, 0), OUT_OF_MEMORY,
          "1 bytes of device memory: 4096 of 4096 are in use; raise the option memory_bytes");
  rig_free(&r, whole);
  REFUSED(ALLOCATE(OPS_MEMORY_DEVICE, 4097, 0), OUT_OF_MEMORY, "0 of 4096");
  REFUSED(ALLOCATE(OPS_MEMORY_DEVICE, UINT64_MAX, 0), OUT_OF_MEMORY, "18446744073709551615");
  void *first = rig_allocate(&r, 1);
  REFUSED(ALLOCATE(OPS_MEMORY_DEVICE, 1, (uint64_t)1 << 63), OUT_OF_MEMORY, "1 bytes");
  rig_free(&r, first);
  REFUSED(ALLOCATE(OPS_MEMORY_DEVICE, 0, 0), INVALID_ARGUMENT, "size 0");
  REFUSED(ALLOCATE(OPS_MEMORY_DEVICE, 8, 48), INVALID_ARGUMENT, "alignment 48");
  REFUSED(ALLOCATE(OPS_MEMORY_HOST, 8, 0), UNSUPPORTED, "memory kind 0");
  REFUSED(ALLOCATE(OPS_MEMORY_PINNED, 8, 0), UNSUPPORTED, "memory kind 1");
#undef ALLOCATE
  assert_null(memory);
  rig_free(&r, NULL);
  rig_close(&r);
}

// ---- Copies ----

static void copies_go_both_ways(void **state) {
  (void)state;
  rig r;
  uint64_t seed = 9;
  unsigned char out[3000], back[3000];
  rig_open(&r, NULL);
  char *a = rig_allocate(&r, sizeof out), *b = rig_allocate(&r, sizeof out);
  for (int round = 0; round < 50; ++round) {
    const uint64_t size = 1 + rig_random(&seed, 1000);
    const uint64_t from = rig_random(&seed, 2000), to = rig_random(&seed, 2000);
    for (uint64_t i = 0; i < size; ++i) out[i] = (unsigned char)rig_random(&seed, 256);
    ops_copy copy = {.struct_size = sizeof copy,
                     .source = out,
                     .target = a,
                     .target_offset = from,
                     .target_kind = OPS_MEMORY_DEVICE,
                     .size = size};
    CHECK(r.stream->copy(r.device, NULL, &copy, &error));
    copy.source = a, copy.source_offset = from, copy.source_kind = OPS_MEMORY_DEVICE;
    copy.target = b, copy.target_offset = to;
    CHECK(r.stream->copy(r.device, NULL, &copy, &error));
    rig_download(&r, NULL, back, b + to, size);  // an address inside a block is a handle, too
    assert_memory_equal(back, out, size);
  }
  rig_free(&r, a);
  rig_free(&r, b);
  rig_close(&r);
}

static void copies_outside_are_refused(void **state) {
  (void)state;
  rig r, other;
  unsigned char bytes[200] = {0};
  rig_open(&r, NULL);
  rig_open(&other, NULL);
  char *a = rig_allocate(&r, 100), *b = rig_allocate(&r, 100),
       *foreign = rig_allocate(&other, 9);
  ops_copy copy = {.struct_size = sizeof copy,
                   .source = bytes,
                   .target = a,
                   .target_kind = OPS_MEMORY_DEVICE,
                   .size = 100};
#define COPY() r.stream->copy(r.device, NULL, &copy, &error)
  CHECK(COPY());
  copy.size = 101;
  REFUSED(COPY(), INVALID_ARGUMENT, "do not lie in one allocation");
  copy.size = 1, copy.target_offset = 100;
  REFUSED(COPY(), INVALID_ARGUMENT, "do not lie in one allocation");
  copy.target_offset = UINT64_MAX, copy.size = 2;
  REFUSED(COPY(), INVALID_ARGUMENT, "do not lie in one allocation");
  copy.target_offset = 0, copy.size = UINT64_MAX;
  REFUSED(COPY(), INVALID_ARGUMENT, "do not lie in one allocation");
  copy.size = 1, copy.target = a - 64;
  REFUSED(COPY(), INVALID_ARGUMENT, "do not lie in one allocation");
  copy.target = bytes;  // an address of the host is no handle
  REFUSED(COPY(), INVALID_ARGUMENT, "do not lie in one allocation");
  copy.target = foreign;  // nor is one of another device
  REFUSED(COPY(), INVALID_ARGUMENT, "do not lie in one allocation");
  rig_free(&r, b);
  copy.target = b;
  REFUSED(COPY(), INVALID_ARGUMENT, "do not lie in one allocation");
  copy.target = a, copy.source_kind = 4;
  REFUSED(COPY(), INVALID_ARGUMENT, "memory kind 4");
  copy.source_kind = -1;
  REFUSED(COPY(), INVALID_ARGUMENT, "memory kind -1");
  copy.source_kind = OPS_MEMORY_HOST, copy.source = NULL;
  REFUSED(COPY(), INVALID_ARGUMENT, "expected a kind below 4 and an address");
  copy.source = bytes, copy.source_device = other.device;
  REFUSED(COPY(), UNSUPPORTED, "between devices");
  copy.source_device = NULL, copy.source = copy.target = NULL, copy.size = 0;
  CHECK(COPY());  // nothing to copy
#undef COPY
  rig_free(&other, foreign);
  rig_free(&r, a);
  rig_close(&other);
  rig_close(&r);
}

// ---- Objects ----

static void nothing_alive_lets_its_parent_go(void **state) {
  (void)state;
  rig r;
  rig_open(&r, NULL);
  ops_stream *stream;
  ops_event *event;
  prepared_kernel kernel;
  node_view v;
  const shape s = {1, {4}};
  REFUSED(r.api->destroy(r.instance, &error), PRECONDITION, "1 device(s)");
  void *memory = rig_allocate(&r, 1);
  REFUSED(r.api->device_close(r.device, &error), PRECONDITION, "1 allocation(s)");
  rig_free(&r, memory);
  CHECK(r.stream->create(r.device, &stream, &error));
  REFUSED(r.api->device_close(r.device, &error), PRECONDITION, "1 stream(s)");
  r.stream->destroy(stream);
  CHECK(r.stream->event_create(r.device, &event, &error));
  REFUSED(r.api->device_close(r.device, &error), PRECONDITION, "event(s)");
  r.stream->event_destroy(event);
  node_view_fill(&v, "Relu", &s, NULL, 1, NULL, 0);
  CHECK(prepared_kernel_make(&r, &v, &kernel, &error));
  REFUSED(r.api->device_close(r.device, &error), PRECONDITION, "kernel(s)");
  prepared_kernel_destroy(&kernel);
  CHECK(r.api->device_close(NULL, &error));
  CHECK(r.api->destroy(NULL, &error));
  r.stream->destroy(NULL);
  r.stream->event_destroy(NULL);
  rig_close(&r);
}

static void options_are_checked(void **state) {
  static const struct {
    const char *key, *value, *phrase;
  } rows[] = {
      {"speed", "9",
       "unknown option 'speed'; mynpu knows delay_us, memory_bytes, fail_op, fail_from and "
       "ops"},
      {"delay_us", "", "expected a decimal number, found ''"},
      {"delay_us", "-1", "found '-1'"},
      {"delay_us", " 1", "found ' 1'"},
      {"delay_us", "1x", "found '1x'"},
      {"delay_us", "0x10", "found '0x10'"},
      {"delay_us", "1000000001", "expected at most 1000000000"},
      {"delay_us", "99999999999999999999999999", "expected a decimal number"},
      {"memory_bytes", "0", "expected at least 1"},
      {"fail_op", "0123456789012345678901234567890123456789012345678901234567890123",
       "too long"},
  };
  (void)state;
  rig r;
  rig_open(&r, NULL);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    const ops_key_value option = {{rows[i].key, strlen(rows[i].key)},
                                  {rows[i].value, strlen(rows[i].value)}};
    ops_instance *instance = NULL;
    REFUSED(r.api->create(ops_host_api_table(), r.host, &option, 1, &instance, &error),
            INVALID_ARGUMENT, rows[i].phrase);
    assert_null(instance);
  }
  ops_device *device = NULL;
  REFUSED(r.api->device_open(r.instance, 1, &device, &error), INVALID_ARGUMENT, "device 1");
  ops_device_info info = {.struct_size = sizeof info};
  CHECK(r.api->device_info(r.device, &info, &error));
  assert_int_equal(info.kind, OPS_DEVICE_NPU);
  assert_int_equal(info.max_streams, 2);
  assert_int_equal(info.min_alignment, 64);
  assert_int_equal(info.memory_kinds,
                   OPS_MEMORY_BIT(OPS_MEMORY_HOST) | OPS_MEMORY_BIT(OPS_MEMORY_DEVICE));
  // More than any machine has.
  const ops_key_value huge = {OPS_STR("memory_bytes"), OPS_STR("9000000000000000000")};
  ops_instance *instance;
  CHECK(r.api->create(ops_host_api_table(), r.host, &huge, 1, &instance, &error));
  REFUSED(r.api->device_open(instance, 0, &device, &error), OUT_OF_MEMORY,
          "device memory of 9000000000000000000 bytes");
  CHECK(r.api->destroy(instance, &error));
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handles_fault_when_touched),
      cmocka_unit_test(blocks_never_overlap),
      cmocka_unit_test(exhaustion_says_what_to_do),
      cmocka_unit_test(copies_go_both_ways),
      cmocka_unit_test(copies_outside_are_refused),
      cmocka_unit_test(nothing_alive_lets_its_parent_go),
      cmocka_unit_test(options_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
