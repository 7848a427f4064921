// SPDX-License-Identifier: Apache-2.0
//
// What the tests of mynpu share: the library as the loader opens it, a device, tensors of
// float, and one node run from claim to output. Everything that must succeed is asserted.
#ifndef MYNPU_TEST_UTIL_H_
#define MYNPU_TEST_UTIL_H_

#include <ops/ops.h>
#include <ops_support/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

#include "loader/host.h"
#include "loader/library.h"

typedef struct rig {
  ops_library *library;
  ops_host *host;
  ops_instance *instance;
  ops_device *device;
  const ops_instance_api *api;
  const ops_memory_api *memory;
  const ops_stream_api *stream;
} rig;

// Opens a device. `options` are up to three "key=value", ended by NULL.
void rig_open(rig *r, const char *const *options);
void rig_close(rig *r);

// Fails the test unless `status` is OPS_OK.
void rig_check(int32_t status, const ops_error *error, const char *what);
#define CHECK(call)                    \
  do {                                 \
    ops_error error = OPS_ERROR_INIT;  \
    const int32_t status_ = (call);    \
    rig_check(status_, &error, #call); \
  } while (0)
// `call` must answer `status` with `phrase` in its message. Both see the variable `error`.
void rig_check_refused(int32_t got, int32_t status, const ops_error *error, const char *phrase);
#define REFUSED(call, status, phrase)                            \
  do {                                                           \
    ops_error error = OPS_ERROR_INIT;                            \
    const int32_t got_ = (call);                                 \
    rig_check_refused(got_, OPS_ERROR_##status, &error, phrase); \
  } while (0)

void *rig_allocate(rig *r, uint64_t size);
void rig_free(rig *r, void *memory);
// Copies at once (stream NULL) or in stream order.
void rig_upload(rig *r, ops_stream *stream, void *handle, const void *data, uint64_t size);
void rig_download(rig *r, ops_stream *stream, void *data, void *handle, uint64_t size);

// A random number by a seeded generator, below `limit`; a random float in [-1, 1).
uint32_t rig_random(uint64_t *seed, uint32_t limit);
float rig_random_float(uint64_t *seed);

enum { kRigRank = 6 };

typedef struct shape {
  int32_t rank;
  int64_t dims[kRigRank];
} shape;
int64_t shape_count(const shape *s);

typedef struct tensor {
  shape shape;
  float *data;  // NULL: absent
} tensor;
tensor tensor_random(const shape *s, uint64_t *seed);
void tensor_free(tensor *t);

// An attribute: one number, a list, or a text.
typedef struct attribute {
  const char *name;
  int32_t kind;  // OPS_ATTRIBUTE_INT, _INTS, _STRING
  int64_t ints[4];
  uint64_t count;
  const char *text;
} attribute;

// A node of mynpu, laid out for claim, create and prepare.
typedef struct node_view {
  ops_node node;
  ops_type_info types[4];
  ops_operand inputs[3], output;
  ops_attribute attributes[6];
  ops_str texts[6];
  ops_prepare_request request;
} node_view;
void node_view_fill(node_view *v, const char *op, const shape *inputs, const int32_t *present,
                    uint64_t input_count, const attribute *attributes,
                    uint64_t attribute_count);

// A kernel with a prepared object.
typedef struct prepared_kernel {
  const ops_kernel_def *def;
  ops_kernel *kernel;
  ops_prepared *prepared;
  ops_output_info output;
} prepared_kernel;
// Claims, creates, prepares. Returns the status of prepare; on failure nothing is left.
int32_t prepared_kernel_make(rig *r, const node_view *v, prepared_kernel *out,
                             ops_error *error);
void prepared_kernel_destroy(prepared_kernel *k);

// Enqueues it on handles; absent inputs are NULL.
int32_t prepared_kernel_execute(const prepared_kernel *k, ops_stream *stream,
                                const node_view *v, void *const *inputs, void *output,
                                ops_error *error);

// Runs a node on `stream` and returns its output. `weights_layout` is the layout of input 1,
// into which it is reordered first.
tensor rig_run(rig *r, ops_stream *stream, const char *op, const tensor *inputs,
               uint64_t input_count, const attribute *attributes, uint64_t attribute_count,
               uint32_t weights_layout);

#endif  // MYNPU_TEST_UTIL_H_
