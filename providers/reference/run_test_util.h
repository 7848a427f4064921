// SPDX-License-Identifier: Apache-2.0
//
// A small host for tests: runs single nodes on the provider through its public table.
#ifndef REFERENCE_RUN_TEST_UTIL_H_
#define REFERENCE_RUN_TEST_UTIL_H_

#include <ops/ops.h>

#include "loader/host.h"

// A tensor that the test host owns: in plain memory, with room between its elements if strided.
typedef struct test_tensor {
  int32_t present;
  int32_t type;
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
  int64_t strides[OPS_MAX_RANK];
  int64_t count;
  uint64_t size;  // bytes allocated
  void *memory;
  ops_value *value;  // strings; with `about`, a map or sequence that the caller made
  const ops_type_info *about;
} test_tensor;

typedef struct test_host {
  ops_host *host;
  const ops_host_api *api;
  const ops_provider *provider;
  ops_instance *instance;
  ops_device *device;
  int32_t strided;       // give kernels inputs and outputs with strides
  test_tensor *outputs;  // of the run in progress
} test_host;

typedef struct test_node {
  ops_str domain;
  const char *op;
  int32_t opset;
  const ops_attribute *attributes;
  uint64_t attribute_count;
  test_tensor *inputs;
  uint64_t input_count;
  test_tensor *outputs;  // `present` set by the caller where wanted; the rest by the run
  uint64_t output_count;
} test_node;

void test_host_open(test_host *host);  // with two workers
void test_host_open_with(test_host *host, int32_t workers);
void test_host_close(test_host *host);

// One host for all tests of a program: the fixture of cmocka_run_group_tests.
extern test_host test_shared;
int test_shared_open(void **state);
int test_shared_close(void **state);

// A tensor of zeros; strided leaves gaps and reverses the last dimension.
void test_tensor_init(test_tensor *tensor, int32_t type, int32_t rank, const int64_t *dims,
                      int strided);
void test_tensor_fill(test_tensor *tensor, const void *contiguous);
// Contiguous bytes into `out`, which has room for all of them.
void test_tensor_read(const test_tensor *tensor, void *out);
uint64_t test_tensor_bytes(const test_tensor *tensor);  // when contiguous
void test_tensor_finish(test_tensor *tensor);

// The definition that takes the node, or NULL with a reason.
const ops_kernel_def *test_find(const test_host *host, const test_node *node,
                                const char **out_reason);

// create, prepare, execute, destroy.
int32_t test_run(test_host *host, test_node *node, ops_error *error);

#endif  // REFERENCE_RUN_TEST_UTIL_H_
