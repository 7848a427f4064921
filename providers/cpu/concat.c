// SPDX-License-Identifier: Apache-2.0
//
// Concat: each input is copied into its columns of the output's rows.
#include <string.h>

#include "join.h"
#include "nd.h"
#include "ops_table.h"

static const cpu_join_kind kKind = {
    .step = 1, .default_axis = 1, .last = CPU_LAST_ALL, .noun = "inputs"};

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  cpu_join_create(kernel, node, &kKind);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  return cpu_join_prepare(kernel, request, cpu_input_type(request, 0), prepared, reply, error);
}

typedef struct joining {
  const cpu_join_prepared *own;
  const ops_execute_request *request;
  int32_t inputs;
} joining;

// Rows [begin, end) of all inputs in one walk: each worker fills a part of the output's memory.
static void join_rows(void *context, int64_t begin, int64_t end, int32_t worker) {
  const joining *j = context;
  char *y = cpu_out_data(j->request, 0);
  (void)worker;
  for (int32_t i = 0; i < j->inputs; ++i) {
    const int64_t bytes = j->own->part_bytes[i];
    const char *x = cpu_in_data(j->request, (uint64_t)i);
    if (bytes == 0) continue;
    for (int64_t row = begin; row < end; ++row)
      memcpy(y + row * j->own->row_bytes, x + row * bytes, (size_t)bytes);
    y += bytes;
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const cpu_join_prepared *own = (const cpu_join_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  joining all = {own, request, prepared->kernel->input_count};
  (void)error;
  if (own->rows > 1) {
    cpu_parallel(device, own->rows, cpu_grain(own->row_bytes / 8), join_rows, &all);
    return OPS_OK;
  }
  char *y = cpu_out_data(request, 0);
  for (int32_t i = 0; i < all.inputs; ++i) {
    cpu_copy_bytes(device, y, cpu_in_data(request, (uint64_t)i), own->part_bytes[i]);
    y += own->part_bytes[i];
  }
  return OPS_OK;
}

const cpu_op cpu_concat_op = {.kernel_size = sizeof(cpu_join_kernel),
                              .prepared_size = sizeof(cpu_join_prepared),
                              .create = create,
                              .layouts = cpu_join_layouts,
                              .sees_view = 1,
                              .prepare = prepare,
                              .prepared_destroy = cpu_join_prepared_destroy,
                              .execute = execute};
