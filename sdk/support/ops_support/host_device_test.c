// SPDX-License-Identifier: Apache-2.0
//
// The ready instance for providers in host memory: the life of its objects, and every refusal.
#include <ops_support/error.h>
#include <ops_support/host_device.h>
#include <ops_support/node.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

static const ops_instance_api *const kApi = &ops_host_device_instance;
static const ops_host_api kHostApi = {.struct_size = sizeof kHostApi};

static ops_instance *create(void) {
  ops_error error = OPS_ERROR_INIT;
  ops_instance *instance = NULL;
  assert_int_equal(kApi->create(&kHostApi, NULL, NULL, 0, &instance, &error), OPS_OK);
  return instance;
}

static void objects_are_destroyed_in_order(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_instance *instance = create(), *other = create();
  ops_device *first, *second;
  uint64_t count = 0;
  assert_ptr_not_equal(instance, other);
  assert_ptr_equal(instance->api, &kHostApi);
  assert_int_equal(kApi->device_count(instance, &count, &error), OPS_OK);
  assert_int_equal(count, 1);
  assert_int_equal(kApi->device_open(instance, 0, &first, &error), OPS_OK);
  assert_int_equal(kApi->device_open(instance, 0, &second, &error), OPS_OK);
  assert_ptr_not_equal(first, second);
  assert_ptr_equal(first->instance, instance);
  assert_int_equal(kApi->destroy(instance, &error), OPS_ERROR_PRECONDITION);
  assert_non_null(strstr(error.message, "2 device(s)"));
  ops_host_device_count_kernel(first, 1);
  assert_int_equal(kApi->device_close(first, &error), OPS_ERROR_PRECONDITION);
  assert_non_null(strstr(error.message, "1 kernel(s)"));
  ops_host_device_count_kernel(first, -1);
  assert_int_equal(kApi->device_close(first, &error), OPS_OK);
  assert_int_equal(kApi->destroy(instance, &error), OPS_ERROR_PRECONDITION);
  assert_int_equal(kApi->device_close(second, &error), OPS_OK);
  assert_int_equal(kApi->destroy(instance, &error), OPS_OK);
  assert_int_equal(kApi->destroy(other, &error), OPS_OK);
  assert_int_equal(kApi->device_close(NULL, &error), OPS_OK);
  assert_int_equal(kApi->destroy(NULL, &error), OPS_OK);
}

static void options_and_indices_are_refused(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_instance *instance = NULL;
  ops_device *device = NULL;
  const ops_key_value option = {OPS_STR("threads"), OPS_STR("4")};
  assert_int_equal(kApi->create(&kHostApi, NULL, &option, 1, &instance, &error),
                   OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "'threads'"));
  assert_null(instance);
  instance = create();
  assert_int_equal(kApi->device_open(instance, 1, &device, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "device 1"));
  assert_null(device);
  assert_int_equal(kApi->destroy(instance, &error), OPS_OK);
}

static void short_host_tables_are_refused(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_instance *instance = NULL;
  const ops_host_api table = {.struct_size = 16};
  assert_int_equal(kApi->create(&table, NULL, NULL, 0, &instance, &error),
                   OPS_ERROR_UNSUPPORTED_VERSION);
  assert_non_null(strstr(error.message, "host table: struct_size is 16"));
  assert_null(instance);
}

static void info_describes_the_host(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  ops_instance *instance = create();
  ops_device *device;
  ops_device_info info = {.struct_size = sizeof info};
  assert_int_equal(kApi->device_open(instance, 0, &device, &error), OPS_OK);
  assert_int_equal(kApi->device_info(device, &info, &error), OPS_OK);
  assert_int_equal(info.struct_size, sizeof info);
  assert_int_equal(info.kind, OPS_DEVICE_CPU);
  assert_int_equal(info.memory_kinds, OPS_MEMORY_BIT(OPS_MEMORY_HOST));
  assert_true(info.min_alignment && !(info.min_alignment & (info.min_alignment - 1)));
  assert_true(ops_str_equal(info.name, "host"));
  assert_int_equal(kApi->device_close(device, &error), OPS_OK);
  assert_int_equal(kApi->destroy(instance, &error), OPS_OK);
}

static void *open_and_close(void *instance) {
  for (int i = 0; i < 2000; ++i) {
    ops_device *device;
    if (kApi->device_open(instance, 0, &device, NULL) != OPS_OK) return instance;
    if (kApi->device_close(device, NULL) != OPS_OK) return instance;
  }
  return NULL;
}

static void devices_are_counted_by_many_threads(void **state) {
  (void)state;
  ops_instance *instance = create();
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, instance), 0);
  for (int i = 0; i < 4; ++i) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(kApi->destroy(instance, NULL), OPS_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(objects_are_destroyed_in_order),
      cmocka_unit_test(options_and_indices_are_refused),
      cmocka_unit_test(short_host_tables_are_refused),
      cmocka_unit_test(info_describes_the_host),
      cmocka_unit_test(devices_are_counted_by_many_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
