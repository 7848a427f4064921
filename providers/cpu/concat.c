// SPDX-License-Identifier: Apache-2.0
//
// Concat: each input is copied into its columns of the output's rows.
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

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const cpu_join_prepared *own = (const cpu_join_prepared *)prepared;
  char *y = cpu_out_data(request, 0);
  (void)error;
  for (int32_t i = 0; i < prepared->kernel->input_count; ++i) {
    const int64_t bytes = own->part_bytes[i];
    cpu_copy_rows(prepared->kernel->device, y, own->row_bytes,
                  cpu_in_data(request, (uint64_t)i), bytes, bytes, own->rows);
    y += bytes;
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
