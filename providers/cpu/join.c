// SPDX-License-Identifier: Apache-2.0
#include "join.h"

void cpu_join_create(ops_kernel *kernel, const ops_node *node, const cpu_join_kind *kind) {
  cpu_join_kernel *own = (cpu_join_kernel *)kernel;
  own->kind = kind;
  own->axis = ops_node_int(node, "axis", kind->default_axis);
}

static int32_t add_shape(const ops_kernel *kernel, const cpu_shape *x, int32_t axis,
                         cpu_shape *y, ops_error *error) {
  const char *noun = ((const cpu_join_kernel *)kernel)->kind->noun;
  if (x->rank != y->rank)
    return cpu_invalid(kernel, error, "%s have ranks %d and %d", noun, y->rank, x->rank);
  for (int32_t i = 0; i < x->rank; ++i)
    if (i != axis && x->dims[i] != y->dims[i])
      return cpu_invalid(kernel, error, "%s have %lld and %lld elements on dimension %d", noun,
                         (long long)y->dims[i], (long long)x->dims[i], i);
  y->dims[axis] += x->dims[axis];
  return OPS_OK;
}

int32_t cpu_join_prepare(ops_kernel *kernel, const ops_prepare_request *request, int32_t type,
                         ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const cpu_join_kernel *join = (const cpu_join_kernel *)kernel;
  const cpu_join_kind *kind = join->kind;
  cpu_join_prepared *own = (cpu_join_prepared *)prepared;
  const uint64_t count = (request->input_count - kind->first) / kind->step;
  cpu_shape y, x;
  int32_t axis;
  cpu_input_shape(request, kind->first, &y);
  OPS_RETURN_IF_ERROR(cpu_axis(kernel, join->axis, y.rank, &axis, error));
  if (cpu_is_last(request, kind->first))
    axis = y.rank - 1;  // a view; the axis is the channels'
  own->part_bytes = cpu_alloc(kernel->device, count * sizeof *own->part_bytes);
  if (!own->part_bytes)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %llu %s",
                         (unsigned long long)count, kind->noun);
  y.dims[axis] = 0;
  for (uint64_t i = 0; i < count; ++i) {
    cpu_input_shape(request, kind->first + i * kind->step, &x);
    OPS_RETURN_IF_ERROR(add_shape(kernel, &x, axis, &y, error));
    own->part_bytes[i] = cpu_product(x.dims, axis, x.rank) * cpu_type_size(type);
  }
  OPS_RETURN_IF_ERROR(cpu_set_output(kernel, reply, 0, type, &y, error));
  own->rows = cpu_product(y.dims, 0, axis);
  own->row_bytes = cpu_product(y.dims, axis, y.rank) * cpu_type_size(type);
  return OPS_OK;
}

void cpu_join_prepared_destroy(ops_prepared *prepared) {
  cpu_free(prepared->kernel->device, ((cpu_join_prepared *)prepared)->part_bytes);
}

// Along the channels.
void cpu_join_layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                      cpu_layouts *layouts) {
  const cpu_join_kernel *join = (const cpu_join_kernel *)kernel;
  const cpu_join_kind *kind = join->kind;
  const ops_type_info *first = ops_request_input(request, kind->first)->type;
  int32_t axis;
  if (!cpu_may_be_last(first) ||
      cpu_axis(kernel, join->axis, first->rank, &axis, NULL) != OPS_OK)
    return;
  for (uint64_t i = kind->first; i < request->input_count; i += kind->step)
    if (ops_request_input(request, i)->type->rank != first->rank) return;
  if (axis != 1) return;
  cpu_layouts_add(layouts, kind->last, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}
