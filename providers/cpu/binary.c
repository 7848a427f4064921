// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators of two or more inputs, broadcast: arithmetic, comparisons, logic, and
// the variadic Max, Min, Sum and Mean, which fold their inputs from the left into the output.
#include <stddef.h>
#include <string.h>

#include "channels_last.h"
#include "half_block.h"
#include "limited.h"
#include "nd.h"
#include "ops_table.h"
#include "vec.h"

static const struct binary_row {
  const char *op;
  int32_t function;  // CPU_BINARY_…
  int32_t to_bool;
  int32_t of_bytes;  // the operands are bools, computed as uint8
  int32_t divide;    // by the number of inputs, at the end
  int32_t one_way;   // the second input broadcasts to the first, not the reverse
} kRows[] = {
    {"Add", CPU_BINARY_add, 0, 0, 0, 0},
    {"Sub", CPU_BINARY_sub, 0, 0, 0, 0},
    {"Mul", CPU_BINARY_mul, 0, 0, 0, 0},
    {"Div", CPU_BINARY_div, 0, 0, 0, 0},
    {"PRelu", CPU_BINARY_prelu, 0, 0, 0, 1},
    {"Min", CPU_BINARY_min, 0, 0, 0, 0},
    {"Max", CPU_BINARY_max, 0, 0, 0, 0},
    {"Sum", CPU_BINARY_add, 0, 0, 0, 0},
    {"Mean", CPU_BINARY_add, 0, 0, 1, 0},
    {"Equal", CPU_BINARY_equal, 1, 0, 0, 0},
    {"Less", CPU_BINARY_less, 1, 0, 0, 0},
    {"LessOrEqual", CPU_BINARY_less_equal, 1, 0, 0, 0},
    {"Greater", CPU_BINARY_greater, 1, 0, 0, 0},
    {"GreaterOrEqual", CPU_BINARY_greater_equal, 1, 0, 0, 0},
    {"And", CPU_BINARY_min, 1, 1, 0, 0},
    {"Or", CPU_BINARY_max, 1, 1, 0, 0},
    {"Xor", CPU_BINARY_differ, 1, 1, 0, 0},
};
typedef struct binary_row binary_row;

typedef struct binary_kernel {
  ops_kernel base;
  const binary_row *row;
  cpu_limited limited;
} binary_kernel;

// Pass k combines the running result with input k + 1; the running result of pass 0 is input 0.
typedef struct binary_prepared {
  ops_prepared base;
  int32_t type;
  int32_t passes;
  cpu_shape *more;  // shapes of inputs 2…, for the passes after the first
  cpu_shape y;
  cpu_nd nd;  // the only pass, or pass 0; last, since only its head is kept
} binary_prepared;

static uint64_t prepared_bytes(const ops_prepared *prepared) {
  const binary_prepared *own = (const binary_prepared *)prepared;
  return offsetof(binary_prepared, nd) + cpu_nd_bytes(&own->nd);
}

static const binary_row *find_row(ops_str op) {
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i)
    if (ops_str_equal(op, kRows[i].op)) return &kRows[i];
  return NULL;
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  binary_kernel *own = (binary_kernel *)kernel;
  own->row = find_row(kernel->def->op);
  if (!own->row)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "cpu: no loop for %.*s",
                         OPS_STR_FMT(kernel->def->op));
  cpu_limited_read(node, &own->limited);
  return OPS_OK;
}

// The shape of input `index`, brought into place where the broadcast is limited.
static int32_t read_shape(const ops_kernel *kernel, const ops_prepare_request *request,
                          int32_t index, cpu_shape *out_shape, ops_error *error) {
  cpu_shape first;
  cpu_input_shape(request, (uint64_t)index, out_shape);
  if (index == 0) return OPS_OK;
  cpu_input_shape(request, 0, &first);
  return cpu_limited_align(kernel, &((const binary_kernel *)kernel)->limited, &first, out_shape,
                           error);
}

static int32_t broadcast_all(const ops_kernel *kernel, const ops_prepare_request *request,
                             cpu_shape *out_shape, ops_error *error) {
  cpu_input_shape(request, 0, out_shape);
  for (int32_t i = 1; i < kernel->input_count; ++i) {
    cpu_shape next;
    OPS_RETURN_IF_ERROR(read_shape(kernel, request, i, &next, error));
    out_shape->rank = ops_broadcast_dims(out_shape->rank, out_shape->dims, next.rank, next.dims,
                                         out_shape->dims);
    if (out_shape->rank < 0)
      return cpu_invalid(kernel, error,
                         "the shape of input %d does not broadcast with those "
                         "before it",
                         i);
  }
  return OPS_OK;
}

static void plan_pass(cpu_nd *nd, const cpu_shape *y, const cpu_shape *a, const cpu_shape *b,
                      int64_t y_size, int64_t size) {
  cpu_nd_init(nd, y);
  cpu_nd_add_broadcast(nd, y, y_size);
  cpu_nd_add_broadcast(nd, a, size);
  if (b) cpu_nd_add_broadcast(nd, b, size);
  cpu_nd_finish(nd);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  const binary_row *row = ((binary_kernel *)kernel)->row;
  binary_prepared *own = (binary_prepared *)prepared;
  own->type = cpu_input_type(request, 0);
  OPS_RETURN_IF_ERROR(broadcast_all(kernel, request, &own->y, error));
  const int64_t size = cpu_type_size(own->type);
  cpu_shape a, b;
  cpu_input_shape(request, 0, &a);
  if (kernel->input_count > 1) OPS_RETURN_IF_ERROR(read_shape(kernel, request, 1, &b, error));
  plan_pass(&own->nd, &own->y, &a, kernel->input_count > 1 ? &b : NULL, row->to_bool ? 1 : size,
            size);
  if (row->one_way && (own->y.rank != a.rank || cpu_count(&own->y) != cpu_count(&a)))
    return cpu_invalid(kernel, error, "the second input must broadcast to the first");
  if (kernel->input_count > 2) {
    const uint64_t more = (uint64_t)kernel->input_count - 2;
    own->more = cpu_alloc(kernel->device, more * sizeof *own->more);
    if (!own->more)
      return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %llu shapes",
                           (unsigned long long)more);
    for (uint64_t i = 0; i < more; ++i) cpu_input_shape(request, i + 2, &own->more[i]);
  }
  return cpu_set_output(kernel, reply, 0, row->to_bool ? OPS_TYPE_BOOL : own->type, &own->y,
                        error);
}

// How operand `index` can stand beside operands with channels last: in that layout too, or
// plain as one value for all, or one for each channel. Returns 0 if not at all.
static int stands_beside(const ops_prepare_request *request, uint64_t index, int32_t rank,
                         int *out_last) {
  cpu_shape shape;
  *out_last = 0;
  cpu_input_shape(request, index, &shape);
  if (shape.rank == rank && cpu_may_be_last(ops_request_input(request, index)->type)) {
    *out_last = 1;
    return 1;
  }
  if (cpu_count(&shape) == 1 && shape.rank < rank) return 1;
  return shape.rank == rank - 1 && cpu_product(shape.dims, 1, shape.rank) == 1;
}

static void layouts(const ops_kernel *kernel, const ops_prepare_request *request,
                    cpu_layouts *layouts) {
  static const int32_t patterns[2][2] = {{CPU_LAST_NONE, CPU_LAST_SECOND},
                                         {CPU_LAST_FIRST, CPU_LAST_ALL}};
  int last[2] = {0, 1}, all = 1;
  int32_t rank = 0;
  if (((const binary_kernel *)kernel)->row->to_bool ||
      cpu_input_type(request, 0) != OPS_TYPE_FLOAT)
    return;
  for (int32_t i = 0; i < kernel->input_count; ++i) {
    const int32_t next = ops_request_input(request, (uint64_t)i)->type->rank;
    rank = next > rank ? next : rank;
  }
  for (int32_t i = 0; i < kernel->input_count; ++i) {
    if (!stands_beside(request, (uint64_t)i, rank, &last[i > 0])) return;
    all &= last[i > 0];
  }
  // A limited broadcast names its axis among dimensions in their plain order.
  const int limited = ((const binary_kernel *)kernel)->limited.mode != CPU_LIMITED_OFF;
  if ((kernel->input_count > 2 || limited) && !all) return;
  const int32_t pattern = patterns[last[0]][last[1]];
  if (pattern == CPU_LAST_NONE) return;
  cpu_layouts_add(layouts, pattern, 0);
  cpu_layouts_add(layouts, CPU_LAST_NONE, 0);
}

static void prepared_destroy(ops_prepared *prepared) {
  cpu_free(prepared->kernel->device, ((binary_prepared *)prepared)->more);
}

typedef struct pass {
  const cpu_vec *vec;
  cpu_binary_fn function;
  int32_t type;
  int32_t to_bool;
} pass;

static void half_body(const pass *pass, char *const *pointers, const int64_t *strides,
                      int64_t count) {
  float a[CPU_HALF_BLOCK], b[CPU_HALF_BLOCK];
  char *y = pointers[0];
  for (int64_t i = 0; i < count; i += CPU_HALF_BLOCK) {
    const int64_t n = count - i < CPU_HALF_BLOCK ? count - i : CPU_HALF_BLOCK;
    cpu_half_widen(pass->vec, pass->type, pointers[1] + i * strides[1], strides[1], a, n);
    cpu_half_widen(pass->vec, pass->type, pointers[2] + i * strides[2], strides[2], b, n);
    if (pass->to_bool) {
      pass->function(y + i, (const char *)a, (const char *)b, 4, 4, n);
    } else {
      pass->function((char *)a, (const char *)a, (const char *)b, 4, 4, n);
      cpu_half_narrow(pass->vec, pass->type, a, y + i * 2, n);
    }
  }
}

// The output is contiguous, so its innermost run is too.
static void pass_body(const void *context, char *const *pointers, const int64_t *strides,
                      int64_t count) {
  const pass *pass = context;
  if (cpu_is_half(pass->type))
    half_body(pass, pointers, strides, count);
  else
    pass->function(pointers[0], pointers[1], pointers[2], strides[1], strides[2], count);
}

static void run_passes(const binary_prepared *own, const ops_execute_request *request,
                       const pass *pass) {
  const ops_device *device = own->base.kernel->device;
  char *y = cpu_out_data(request, 0);
  void *bases[3] = {y, cpu_in_data(request, 0), cpu_in_data(request, 1)};
  cpu_nd_run(device, &own->nd, bases, 1, pass_body, pass);
  for (int32_t i = 2; i < own->base.kernel->input_count; ++i) {
    cpu_nd nd;
    const int64_t size = cpu_type_size(own->type);
    plan_pass(&nd, &own->y, &own->y, &own->more[i - 2], size, size);
    bases[1] = y;
    bases[2] = cpu_in_data(request, (uint64_t)i);
    cpu_nd_run(device, &nd, bases, 1, pass_body, pass);
  }
}

static void divide(const binary_prepared *own, const ops_execute_request *request,
                   const pass *sum) {
  const pass division = {sum->vec, sum->vec->binary[CPU_BINARY_div][own->type], own->type,
                         sum->to_bool};
  const float count_f = (float)own->base.kernel->input_count;
  const double count_d = own->base.kernel->input_count;
  const cpu_shape scalar = {0, {0}};
  const int64_t size = cpu_type_size(own->type);
  cpu_nd nd;
  char *y = cpu_out_data(request, 0);
  void *bases[3] = {y, y, own->type == OPS_TYPE_FLOAT ? (void *)&count_f : (void *)&count_d};
  plan_pass(&nd, &own->y, &own->y, &scalar, size, size);
  cpu_nd_run(own->base.kernel->device, &nd, bases, 1, pass_body, &division);
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const binary_prepared *own = (const binary_prepared *)prepared;
  const binary_row *row = ((const binary_kernel *)prepared->kernel)->row;
  const ops_device *device = prepared->kernel->device;
  const int32_t computed = row->of_bytes || own->type == OPS_TYPE_BOOL ? OPS_TYPE_UINT8
                           : cpu_is_half(own->type)                    ? OPS_TYPE_FLOAT
                                                                       : own->type;
  (void)error;
  if (prepared->kernel->input_count == 1) {
    cpu_nd_copy(device, &own->nd, cpu_out_data(request, 0), cpu_in_data(request, 0),
                cpu_type_size(own->type));
    return OPS_OK;
  }
  const pass pass = {device->vec, device->vec->binary[row->function][computed], own->type,
                     row->to_bool};
  run_passes(own, request, &pass);
  if (row->divide) divide(own, request, &pass);
  return OPS_OK;
}

const cpu_op cpu_binary_op = {.kernel_size = sizeof(binary_kernel),
                              .prepared_size = sizeof(binary_prepared),
                              .prepared_bytes = prepared_bytes,
                              .create = create,
                              .layouts = layouts,
                              .sees_view = 1,
                              .prepare = prepare,
                              .prepared_destroy = prepared_destroy,
                              .execute = execute};
