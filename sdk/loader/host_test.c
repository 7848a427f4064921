// SPDX-License-Identifier: Apache-2.0
//
// The host table: every slot is there, does by default what host.h says, and reaches the
// callbacks that a host gives.
#include "loader/host.h"

#include <ops_support/error.h>
#include <ops_support/node.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

#include "loader/value.h"

static ops_host *create(const ops_host_options *options) {
  ops_error error = OPS_ERROR_INIT;
  ops_host *host = NULL;
  if (ops_host_create(options, &host, &error) != OPS_OK) fail_msg("%s", error.message);
  return host;
}

// The fields behind the two numbers are pointers, each of 8 bytes: none may be NULL.
static void every_slot_is_filled(void **state) {
  (void)state;
  const ops_host_api *api = ops_host_api_table();
  assert_int_equal(api->struct_size, sizeof *api);
  assert_int_equal(api->version, OPS_ABI_VERSION);
  assert_int_equal(api->reserved, 0);
  for (size_t at = offsetof(ops_host_api, log); at < sizeof *api; at += sizeof(void *)) {
    void *slot;
    memcpy(&slot, (const char *)api + at, sizeof slot);
    if (!slot) fail_msg("the slot at byte %zu is NULL", at);
  }
  assert_ptr_equal(api->values, &ops_value_accessors);
  assert_int_equal(api->values->struct_size, sizeof(ops_value_api));
  for (size_t at = offsetof(ops_value_api, kind); at < sizeof(ops_value_api);
       at += sizeof(void *)) {
    void *slot;
    memcpy(&slot, (const char *)api->values + at, sizeof slot);
    if (!slot) fail_msg("the value slot at byte %zu is NULL", at);
  }
}

static void defaults_work(void **state) {
  (void)state;
  const ops_host_api *api = ops_host_api_table();
  ops_host *host = create(NULL);
  ops_error error = OPS_ERROR_INIT;
  ops_arg arg;
  for (uint64_t alignment = 1; alignment <= 1 << 16; alignment *= 2) {
    unsigned char *memory = api->allocate(host, 100, alignment);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % alignment, 0);
    memset(memory, 1, 100);
    api->free(host, memory);
  }
  void *empty = api->allocate(host, 0, 64);
  api->free(host, empty);
  api->free(host, NULL);
  assert_null(api->allocate(host, UINT64_MAX / 2, 64));
  assert_null(api->allocate(host, 100, 48));  // no power of two
  assert_true(api->worker_count(host) >= 1);
  assert_int_equal(api->profile_enabled(host), 0);
  const ops_profile_record record = {.struct_size = sizeof record};
  api->profile(host, &record);  // nobody listens
  const ops_str name = OPS_STR("nothing");
  assert_null(api->get_extension(host, name, 1));
  assert_int_equal(api->set_output_shape(host, NULL, 0, 0, NULL, &arg, &error),
                   OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "output shapes"));
  ops_host_destroy(host);
  ops_host_destroy(NULL);
}

// ---- Callbacks ----

typedef struct sink {
  int logs, profiles, allocations, frees, shapes;
  int32_t severity;
  char message[64];
} sink;

static void on_log(void *context, int32_t severity, ops_str message) {
  sink *s = context;
  ++s->logs;
  s->severity = severity;
  memcpy(s->message, message.data, message.size);
  s->message[message.size] = '\0';
}

static void on_profile(void *context, const ops_profile_record *record) {
  sink *s = context;
  s->profiles += record->kind == OPS_PROFILE_KERNEL;
}

static void *on_allocate(void *context, uint64_t size, uint64_t alignment) {
  ++((sink *)context)->allocations;
  return aligned_alloc(alignment, size);
}

static void on_free(void *context, void *memory) {
  ++((sink *)context)->frees;
  free(memory);
}

static int32_t on_shape(void *context, ops_call *call, uint64_t index, int32_t rank,
                        const int64_t *dims, ops_arg *out_arg, ops_error *error) {
  sink *s = context;
  (void)error;
  s->shapes += call == (ops_call *)s && index == 2 && rank == 1 && dims[0] == 9;
  out_arg->kind = OPS_ARG_TENSOR;
  return OPS_OK;
}

static void callbacks_are_reached(void **state) {
  (void)state;
  sink s = {0};
  ops_arg arg = {.kind = OPS_ARG_ABSENT};
  const int64_t dims[] = {9};
  const ops_host_options options = {.context = &s,
                                    .workers = 3,
                                    .log_threshold = OPS_LOG_WARNING,
                                    .log = on_log,
                                    .profile = on_profile,
                                    .allocate = on_allocate,
                                    .free = on_free,
                                    .set_output_shape = on_shape};
  const ops_host_api *api = ops_host_api_table();
  ops_host *host = create(&options);
  const ops_str text = OPS_STR("careful");
  api->log(host, OPS_LOG_INFO, text);
  assert_int_equal(s.logs, 0);
  api->log(host, OPS_LOG_WARNING, text);
  assert_int_equal(s.logs, 1);
  assert_string_equal(s.message, "careful");
  api->log(host, 1000, text);  // an unknown severity counts as the gravest
  assert_int_equal(s.severity, OPS_LOG_ERROR);
  api->log(host, -1000, text);
  assert_int_equal(s.logs, 2);
  assert_int_equal(api->worker_count(host), 3);
  assert_int_not_equal(api->profile_enabled(host), 0);
  const ops_profile_record record = {.struct_size = sizeof record, .kind = OPS_PROFILE_KERNEL};
  api->profile(host, &record);
  assert_int_equal(s.profiles, 1);
  void *memory = api->allocate(host, 64, 64);
  api->free(host, memory);
  api->free(host, NULL);
  assert_int_equal(s.allocations, 1);
  assert_int_equal(s.frees, 1);
  assert_int_equal(api->set_output_shape(host, (ops_call *)&s, 2, 1, dims, &arg, NULL), OPS_OK);
  assert_int_equal(s.shapes, 1);
  assert_int_equal(arg.kind, OPS_ARG_TENSOR);
  ops_host_destroy(host);
}

static void half_an_allocator_is_refused(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_host *host = NULL;
  const ops_host_options first = {.allocate = on_allocate}, second = {.free = on_free};
  assert_int_equal(ops_host_create(&first, &host, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_int_equal(ops_host_create(&second, &host, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "go together"));
  assert_null(host);
}

static void count_items(void *context, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  atomic_fetch_add((atomic_int *)context, (int)(end - begin));
}

static void loops_run_on_the_pool(void **state) {
  (void)state;
  const ops_host_options options = {.workers = 2};
  ops_host *host = create(&options);
  atomic_int items = 0;
  ops_host_api_table()->parallel_for(host, 1000, 3, count_items, &items);
  assert_int_equal(atomic_load(&items), 1000);
  ops_host_destroy(host);
}

// ---- Packed constants: hosts with one store share, hosts without do not ----

static int32_t acquire(ops_host *host, int32_t kind, ops_packed **packed, void **memory,
                       int32_t *fill, ops_error *error) {
  static const float data[] = {1, 2};
  static const int64_t dims[] = {2}, strides[] = {1};
  ops_constant source = {.struct_size = sizeof source, .rank = 1, .dims = dims};
  source.dense.kind = OPS_ARG_TENSOR;
  source.dense.tensor = (ops_tensor){.memory = (void *)data,
                                     .byte_size = sizeof data,
                                     .type = OPS_TYPE_FLOAT,
                                     .rank = 1,
                                     .dims = dims,
                                     .strides = strides};
  const ops_str packing = OPS_STR("test");
  return ops_host_api_table()->packed_acquire(host, &source, packing, kind, 64, 64, packed,
                                              memory, fill, error);
}

static void stores_are_shared_on_request(void **state) {
  (void)state;
  const ops_host_api *api = ops_host_api_table();
  ops_packed_store *store = ops_packed_store_create();
  const ops_host_options sharing = {.packed = store};
  ops_host *hosts[] = {create(&sharing), create(&sharing), create(NULL)};
  ops_packed *packed[3];
  void *memory[3];
  int32_t fill[3];
  ops_error error = OPS_ERROR_INIT;
  ops_packed_store_release(store);  // the hosts hold it
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(
        acquire(hosts[i], OPS_MEMORY_HOST, &packed[i], &memory[i], &fill[i], &error), OPS_OK);
    if (fill[i]) api->packed_commit(hosts[i], packed[i]);
  }
  assert_int_equal(fill[0], 1);
  assert_int_equal(fill[1], 0);
  assert_int_equal(fill[2], 1);
  assert_ptr_equal(memory[0], memory[1]);
  assert_ptr_not_equal(memory[0], memory[2]);
  assert_int_equal(
      acquire(hosts[0], OPS_MEMORY_DEVICE, &packed[0], &memory[0], &fill[0], &error),
      OPS_ERROR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "memory kind 2"));
  for (int i = 0; i < 3; ++i) {
    api->packed_release(hosts[i], packed[i]);
    ops_host_destroy(hosts[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_slot_is_filled),  cmocka_unit_test(defaults_work),
      cmocka_unit_test(callbacks_are_reached), cmocka_unit_test(half_an_allocator_is_refused),
      cmocka_unit_test(loops_run_on_the_pool), cmocka_unit_test(stores_are_shared_on_request),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
