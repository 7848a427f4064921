// SPDX-License-Identifier: Apache-2.0
//
// Relu, with the faults that need no particular operator.
#include <fenv.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "faulty.h"

#define LATE_NS 200000  // how often the late reader looks at its input, and how many times
#define LATE_LOOKS 8
#define SCRATCH_SIZE 4096  // FAULT_STATIC_SCRATCH

static void spoil_workspace(fault fault, ops_prepare_reply *reply) {
  if (fault == FAULT_WORKSPACE_KIND) reply->workspace_memory_kind = OPS_MEMORY_DEVICE;
  if (fault == FAULT_WORKSPACE_ALIGNMENT) reply->workspace_alignment = 3;
  if (fault == FAULT_WORKSPACE_KIND || fault == FAULT_WORKSPACE_ALIGNMENT)
    reply->workspace_size = 64;
  if (fault == FAULT_WORKSPACE_HUGE) reply->workspace_size = UINT64_MAX;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *x = ops_request_input(request, 0)->type;
  if (kernel->fault == FAULT_UNSUPPORTED && x->rank == 3) {
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED, "rank 3 after all not");
  }
  OPS_RETURN_IF_ERROR(faulty_begin_prepare(kernel, reply, error));
  ops_prepared *prepared = reply->prepared;
  prepared->rank = x->rank;
  prepared->count = 1;
  for (int32_t i = 0; i < x->rank; ++i) prepared->count *= x->dims[i];
  ops_reply_set_output(reply, 0, OPS_TYPE_FLOAT, x->rank, x->dims);
  spoil_workspace(kernel->fault, reply);
  return OPS_OK;
}

static void *read_late(void *context) {
  ops_prepared *prepared = context;
  const struct timespec pause = {0, LATE_NS};
  float sum = 0;
  for (int look = 0; look < LATE_LOOKS; ++look) {
    nanosleep(&pause, NULL);
    for (int64_t i = 0; i < prepared->count; ++i) sum += prepared->late_input[i];
  }
  return sum > 0 ? context : NULL;
}

static void start_late_reader(ops_prepared *prepared, const float *x) {
  if (prepared->late_running) pthread_join(prepared->late_reader, NULL);
  prepared->late_input = x;
  prepared->late_running =
      pthread_create(&prepared->late_reader, NULL, read_late, prepared) == 0;
}

// The child holds every pipe of its parent for longer than a case may last.
static void leave_child(void) {
  if (fork() != 0) _exit(3);
  setsid();
  sleep(8);
  _exit(0);
}

// Faults that end or hold the process; each at some shapes only.
static void misbehave(const ops_prepared *prepared) {
  const volatile float *nowhere = (const volatile float *)(8 * (uintptr_t)prepared->rank);
  if (prepared->fault == FAULT_SEGFAULT && prepared->rank == 2 && *nowhere > 0) abort();
  if (prepared->fault == FAULT_EXIT && prepared->rank == 2) exit(0);
  if (prepared->fault == FAULT_ROUNDING && prepared->rank == 2) fesetround(FE_UPWARD);
  if (prepared->fault == FAULT_FORK && prepared->rank == 2 && fork() < 0) abort();
  if (prepared->fault == FAULT_LEAVES_CHILD && prepared->rank == 2) leave_child();
  while (prepared->fault == FAULT_HANG && prepared->count == 7) {
    const struct timespec pause = {1, 0};
    nanosleep(&pause, NULL);
  }
}

static void relu_in_scratch(const ops_prepared *prepared, const float *x, float *y) {
  static float scratch[SCRATCH_SIZE];
  volatile float *shared = scratch;
  for (int64_t i = 0; i < prepared->count; ++i) shared[i] = x[i] < 0 ? 0 : x[i];
  for (int64_t i = 0; i < prepared->count; ++i) y[i] = shared[i];
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  (void)stream, (void)error;
  const float *x = ops_tensor_data(&request->inputs[0].tensor);
  float *y = ops_tensor_data(&request->outputs[0].tensor);
  const int64_t dropped = prepared->fault == FAULT_RELU_DROP_LAST ? 1 : 0;
  misbehave(prepared);
  if (prepared->fault == FAULT_STATIC_SCRATCH && prepared->count <= SCRATCH_SIZE) {
    relu_in_scratch(prepared, x, y);
    return OPS_OK;
  }
  for (int64_t i = 0; i < prepared->count - dropped; ++i) y[i] = x[i] < 0 ? 0 : x[i];
  if (prepared->fault == FAULT_WRITE_PAST) y[prepared->count] = 0;
  if (prepared->fault == FAULT_READ_AFTER) start_late_reader(prepared, x);
  return OPS_OK;
}

const ops_kernel_api faulty_relu = {.struct_size = sizeof(ops_kernel_api),
                                    .create = faulty_create,
                                    .destroy = faulty_destroy,
                                    .prepare = prepare,
                                    .prepared_destroy = faulty_prepared_destroy,
                                    .execute = execute};
