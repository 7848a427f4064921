// SPDX-License-Identifier: Apache-2.0
//
// Runs single nodes on the built provider library, as a host would: open, claim, create,
// prepare, execute. Outputs and workspace are heap blocks of exactly the size that prepare
// states, poisoned before each run, so that a sanitizer sees every overrun.
#ifndef CPU_TEST_UTIL_H_
#define CPU_TEST_UTIL_H_

#include <ops/ops.h>
#include <ops_support/error.h>

#include "loader/host.h"
#include "loader/library.h"

typedef struct test_device {
  ops_library *library;
  ops_host *host;
  const ops_provider *provider;
  ops_instance *instance;
  ops_device *device;
} test_device;

// Fails the test if anything does. `options` may be NULL: two workers.
void test_open(test_device *test, const ops_host_options *options);
// Another provider's library.
void test_open_library(test_device *test, const char *path, const ops_host_options *options);
void test_close(test_device *test);

// Fixture of a test: *state is an open device with two workers.
int test_setup(void **state);
int test_teardown(void **state);
#define TEST_ON_DEVICE(function) \
  cmocka_unit_test_setup_teardown(function, test_setup, test_teardown)

typedef struct test_tensor {
  int32_t type;
  int32_t rank;
  int64_t dims[8];
  int64_t strides[8];
  int64_t count;
  void *data;        // owned
  uint32_t layout;   // of the data; OPS_LAYOUT_STRIDED unless set
  int32_t constant;  // contents are given with the node, not only when it runs
} test_tensor;

#define TEST_DIMS(...)                                                                     \
  (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { \
    __VA_ARGS__                                                                            \
  }

test_tensor test_zeros(int32_t type, int32_t rank, const int64_t *dims);
// float, uniform in [-1, 1] or, if `exact`, integers from -4 to 4. Depends on `seed` alone.
test_tensor test_random(uint32_t seed, int exact, int32_t rank, const int64_t *dims);
test_tensor test_int64s(int32_t rank, const int64_t *dims, const int64_t *values);

// The provider's private layout with channels last (channels_last.h).
#define TEST_LAST 1u
// Where element `index` of a plain tensor lies with channels last.
int64_t test_place_of_last(const test_tensor *tensor, int64_t index);
// A copy in another layout, made element by element from the definition. The caller drops it.
test_tensor test_with_layout(const test_tensor *from, uint32_t layout);

void test_drop(test_tensor *tensor);
void test_drop_all(test_tensor *const *tensors, uint64_t count);
#define TEST_DROP(...)                               \
  test_drop_all((test_tensor *const[]){__VA_ARGS__}, \
                sizeof((test_tensor *const[]){__VA_ARGS__}) / sizeof(test_tensor *))
static inline float *test_floats(const test_tensor *tensor) {
  return tensor->data;
}

#define TEST_ATTRIBUTES 9
#define TEST_POSTS 3
#define TEST_INTS 8

typedef struct test_node {
  const char *op;
  const char *domain;  // NULL: ai.onnx
  int32_t opset;
  uint64_t attribute_count;
  ops_attribute attributes[TEST_ATTRIBUTES];
  int64_t ints[TEST_ATTRIBUTES][TEST_INTS];
  float floats[TEST_ATTRIBUTES][TEST_INTS];
  ops_str strings[TEST_ATTRIBUTES][TEST_INTS];
  // A chain of post-operations, without attributes: the running result comes first, and each
  // may have one operand, which is the next of the last inputs.
  const char *posts[TEST_POSTS];
  int32_t post_has_operand[TEST_POSTS];
  uint64_t post_count;
  const test_tensor *result;  // whose shape the output is known to have; NULL: it is not known
} test_node;

void test_node_init(test_node *node, const char *op, int32_t opset);
void test_add_int(test_node *node, const char *name, int64_t value);
void test_add_ints(test_node *node, const char *name, int32_t count, const int64_t *values);
void test_add_float(test_node *node, const char *name, float value);
void test_add_floats(test_node *node, const char *name, int32_t count, const float *values);
void test_add_post(test_node *node, const char *op, int32_t has_operand);
void test_add_string(test_node *node, const char *name, const char *value);
void test_add_strings(test_node *node, const char *name, int32_t count,
                      const char *const *values);

#define TEST_ARGUMENTS 12

// A kernel with one prepared object.
typedef struct test_run {
  test_device *test;
  const ops_kernel_def *def;
  ops_kernel *kernel;
  ops_prepared *prepared;
  uint64_t input_count, output_count;
  const test_tensor *inputs[TEST_ARGUMENTS];
  test_tensor outputs[TEST_ARGUMENTS];
  uint64_t workspace_size;
  void *constants;                 // what the kernel may keep pointers to
  const uint32_t *output_layouts;  // what prepare asks for; NULL: all plain
  int32_t in_place;                // output 0 lies where input in_place - 1 does; 0: nowhere
} test_run;

// Claims, creates and prepares. A NULL input is absent. `types` are those of the outputs. On
// failure everything is released, and *out_claim says whether the node was claimed.
int32_t test_prepare(test_device *test, const test_node *node, const test_tensor *const *inputs,
                     uint64_t input_count, const int32_t *types, uint64_t output_count,
                     test_run *out_run, ops_claim *out_claim, ops_error *error);

// Prepares a claimed run anew, for the layouts of its inputs and of `output_layouts`.
void test_prepare_again(test_run *run, const test_tensor *const *inputs,
                        const uint32_t *output_layouts);
// Up to `capacity` combinations of layouts that the run's kernel offers; returns their number.
uint64_t test_query_layouts(const test_run *run, ops_layout_choice *out_choices,
                            uint64_t capacity);

// The same for a node of one float output.
typedef struct test_attempt {
  test_run run;
  ops_claim claim;
  ops_error error;
} test_attempt;

int32_t test_try(test_device *test, const test_node *node, const test_tensor *const *inputs,
                 uint64_t input_count, test_attempt *out_attempt);

// Runs into the given outputs (those of the run, or others of the same shapes).
int32_t test_execute(const test_run *run, test_tensor *outputs, ops_error *error);
void test_finish(test_run *run);

// Claims, creates, prepares and runs; fails the test on any error. For several outputs.
void test_start(test_device *test, const test_node *node, const test_tensor *const *inputs,
                uint64_t input_count, const int32_t *types, uint64_t output_count,
                test_run *out_run);

// All of it, for one output. Fails the test on any error; the caller frees the result.
test_tensor test_compute(test_device *test, const test_node *node,
                         const test_tensor *const *inputs, uint64_t input_count, int32_t type);

#endif  // CPU_TEST_UTIL_H_
