// SPDX-License-Identifier: Apache-2.0
//
// The life of every kernel: claim → create → prepare → execute, and what operators share.
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "faulty.h"

#define KEPT_BYTES 4096
#define SLOWER_PERCENT 15

// ---- Shapes ---------------------------------------------------------------------------------

int64_t faulty_bytes(int32_t type) {
  return ops_type_bits(type) / 8;
}

int64_t faulty_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return -1;
  return axis < 0 ? axis + rank : axis;
}

int faulty_next(int32_t rank, const int64_t *dims, int64_t *index) {
  for (int32_t i = rank; i-- > 0;) {
    if (++index[i] < dims[i]) return 1;
    index[i] = 0;
  }
  return 0;
}

int64_t faulty_offset(int32_t rank, const int64_t *index, const int64_t *strides) {
  int64_t offset = 0;
  for (int32_t i = 0; i < rank; ++i) offset += index[i] * strides[i];
  return offset;
}

static void set_shape(faulty_view *view, int32_t type, int32_t rank, const int64_t *dims,
                      const int64_t *strides) {
  *view = (faulty_view){.type = type, .rank = rank, .count = 1};
  ops_strides_contiguous(rank, dims, view->strides);
  for (int32_t i = 0; i < rank; ++i) {
    view->dims[i] = dims[i];
    view->count *= dims[i];
    if (strides) view->strides[i] = strides[i];
  }
}

int32_t faulty_view_of(const ops_type_info *type, faulty_view *out_view, ops_error *error) {
  if (type->rank < 0 || type->rank > kFaultyRank) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "rank %d: expected at most %d",
                         type->rank, kFaultyRank);
  }
  set_shape(out_view, type->type, type->rank, type->dims, type->strides);
  return OPS_OK;
}

void faulty_state_output(ops_prepared *prepared, ops_prepare_reply *reply, int32_t type,
                         int32_t rank, const int64_t *dims) {
  set_shape(&prepared->out, type, rank, dims, NULL);
  ops_reply_set_output(reply, 0, type, rank, dims);
}

int32_t faulty_refusal(const ops_prepared *prepared) {
  return FAULTY(prepared, wrong_status) ? OPS_ERROR_INTERNAL : OPS_ERROR_INVALID_ARGUMENT;
}

// ---- Claims ---------------------------------------------------------------------------------

// What the faults post_op_… declare: one refuses all chains, the other takes them and forgets
// them.
static int device_absorbs(const ops_device *device) {
  return FAULTY(device, post_op_dropped);
}

static int32_t kernel_claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                            ops_claim *claim, ops_error *error) {
  (void)error;
  const faulty_op *op = def->context;
  if (node->input_count > kFaultyInputs) {
    return ops_claim_refuse(claim, OPS_REASON_ARITY, "at most %d inputs", kFaultyInputs);
  }
  for (uint64_t i = 0; i < node->input_count; ++i) {
    const ops_operand *input = ops_node_input(node, i);
    if (input && input->type->rank > kFaultyRank)
      return ops_claim_refuse(claim, OPS_REASON_SHAPE, "rank at most %d", kFaultyRank);
  }
  if (node->post_op_count && !device_absorbs(device))
    return ops_claim_refuse(claim, OPS_REASON_OPERATOR, "chains are not absorbed");
  claim->answer = OPS_CLAIM_SUPPORTED;
  if (FAULTY(device, claim_changes)) {
    static int32_t asked;
    if (__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) % 2)
      return ops_claim_refuse(claim, OPS_REASON_SHAPE, "not any more");
  }
  if (def->context == &faulty_softmax && FAULTY(device, silent_fallback))
    return ops_claim_refuse(claim, OPS_REASON_SHAPE, "rather not");
  if (CONTROLLED(device, only_in_group)) claim->answer = OPS_CLAIM_ONLY_IN_GROUP;
  if (faulty_can_fuse(node) &&
      (FAULTY(device, group_wants_neighbours) || CONTROLLED(device, groups_only)))
    claim->answer = OPS_CLAIM_ONLY_IN_GROUP;
  return op->claim ? op->claim(node, claim) : OPS_OK;
}

// ---- Attributes -----------------------------------------------------------------------------

static void read_ints(const ops_node *node, faulty_attributes *a) {
  const struct {
    const char *name;
    int64_t *value;
    int64_t fallback;
  } rows[] = {{"axis", &a->axis, INT64_MIN},
              {"keepdims", &a->keepdims, 1},
              {"noop_with_empty_axes", &a->noop_with_empty_axes, 0},
              {"select_last_index", &a->select_last_index, 0},
              {"group", &a->group, 1},
              {"ceil_mode", &a->ceil_mode, 0},
              {"count_include_pad", &a->count_include_pad, 0},
              {"to", &a->to, 0},
              {"output_dtype", &a->output_dtype, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    *rows[i].value = ops_node_int(node, rows[i].name, rows[i].fallback);
  }
}

static void read_lists(const ops_node *node, faulty_attributes *a) {
  const struct {
    const char *name;
    faulty_list *list;
  } rows[] = {{"perm", &a->perm},
              {"pads", &a->pads},
              {"strides", &a->strides},
              {"dilations", &a->dilations},
              {"kernel_shape", &a->kernel_shape},
              {"axes", &a->axes}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    uint64_t count;
    const int64_t *values = ops_node_ints(node, rows[i].name, &count);
    rows[i].list->count = !values || count > kFaultyList ? -1 : (int64_t)count;
    for (int64_t k = 0; k < rows[i].list->count; ++k) rows[i].list->values[k] = values[k];
  }
}

static void read_strings(const ops_node *node, faulty_attributes *a) {
  const struct {
    const char *name;
    char *text;
  } rows[] = {{"mode", a->mode},
              {"auto_pad", a->auto_pad},
              {"nearest_mode", a->nearest_mode},
              {"coordinate_transformation_mode", a->coordinates}};
  const ops_str none = {NULL, 0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const ops_str value = ops_node_string(node, rows[i].name, none);
    const size_t size = value.size < sizeof a->mode ? value.size : sizeof a->mode - 1;
    if (size) memcpy(rows[i].text, value.data, size);
    rows[i].text[size] = '\0';
  }
}

// ---- Create and destroy ---------------------------------------------------------------------

static int32_t kernel_create(ops_device *device, const ops_kernel_def *def,
                             const ops_node *node, ops_kernel **out_kernel, ops_error *error) {
  const ops_operand *first = ops_node_input(node, 0);
  if (first && first->type->rank > 0 && first->type->dims[0] < 0 &&
      FAULTY(device, unknown_shapes_refused)) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "a dimension is not known");
  }
  ops_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  kernel->device = device;
  kernel->mode = device->mode;
  kernel->def = def;
  kernel->op = def->context;
  kernel->attributes.epsilon = (double)ops_node_float(node, "epsilon", 1e-5f);
  read_ints(node, &kernel->attributes);
  read_lists(node, &kernel->attributes);
  read_strings(node, &kernel->attributes);
  faulty_device_add(device, FAULTY_KERNELS, 1);
  if (FAULTY(kernel, leak_of_host_memory) || CONTROLLED(kernel, host_allocations)) {
    kernel->kept =
        device->instance->api->allocate(device->instance->host, KEPT_BYTES, sizeof(void *));
  }
  if (FAULTY(kernel, allocation_unchecked)) {
    kernel->kept =
        device->instance->api->allocate(device->instance->host, KEPT_BYTES, sizeof(void *));
    *(volatile char *)kernel->kept = 1;
  }
  *out_kernel = kernel;
  return OPS_OK;
}

static void kernel_destroy(ops_kernel *kernel) {
  if (!kernel) return;
  if (FAULTY(kernel, kernel_never_destroyed)) return;
  faulty_device_add(kernel->device, FAULTY_KERNELS, -1);
  ops_instance *instance = kernel->device->instance;
  if (kernel->mode->control == CONTROL_host_allocations ||
      kernel->mode->fault == FAULT_allocation_unchecked)
    instance->api->free(instance->host, kernel->kept);
  void *volatile again = FAULTY(kernel, double_free) ? kernel : NULL;
  free(kernel);
  free(again);
}

// Fault released_constant_read: bit 1 says that the right matrix will not be read again.
static uint64_t released_constants(const ops_kernel *kernel) {
  return kernel->op == &faulty_matmul && FAULTY(kernel, released_constant_read) ? 2 : 0;
}

// ---- Prepare --------------------------------------------------------------------------------

static int32_t kernel_prepare(ops_kernel *kernel, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  prepared->kernel = kernel;
  prepared->mode = kernel->mode;
  prepared->attributes = &kernel->attributes;
  prepared->alias = request->alias_count
                        ? OPS_AT(ops_alias, request->aliases, request->alias_stride, 0)->input
                        : -1;
  const int32_t status = kernel->op->prepare(prepared, request, reply, error);
  if (status != OPS_OK) {
    free(prepared);
    return status;
  }
  faulty_spoil_reply(prepared, reply);
  reply->prepared = kernel->last = prepared;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  if (prepared && FAULTY(prepared, leak_of_heap)) return;
  if (prepared && prepared->kernel->last == prepared) prepared->kernel->last = NULL;
  if (prepared && prepared->late_running) pthread_join(prepared->late_reader, NULL);
  free(prepared);
}

// ---- Execute --------------------------------------------------------------------------------

static void view_arg(const ops_arg *arg, faulty_view *view) {
  *view = (faulty_view){0};
  if (arg->kind != OPS_ARG_TENSOR) return;
  const ops_tensor *tensor = &arg->tensor;
  set_shape(view, tensor->type, tensor->rank, tensor->dims, tensor->strides);
  if (!tensor->memory) return;
  view->data = (char *)faulty_address(arg->memory_kind, tensor->memory) + tensor->byte_offset;
}

static void take_and_give(ops_instance *instance) {
  instance->api->free(instance->host,
                      instance->api->allocate(instance->host, KEPT_BYTES, sizeof(void *)));
}

static int64_t cpu_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Runs on the caller's thread. The fault spends CPU time, so that it is as large on a busy
// machine.
static int32_t run_here(const faulty_call *call, ops_error *error) {
  const ops_prepared *prepared = call->prepared;
  const int64_t start = cpu_nanoseconds();
  const int32_t status = prepared->kernel->op->run(call, error);
  const int64_t taken = cpu_nanoseconds() - start;
  if (FAULTY(prepared, slower)) {
    while (cpu_nanoseconds() - start < taken + taken * SLOWER_PERCENT / 100) continue;
  }
  return status;
}

// The object prepared last, where it asks for less than this one; else this one.
static const ops_prepared *last_of(const ops_prepared *prepared) {
  const ops_prepared *last = prepared->kernel->last;
  return last && last->out.count < prepared->out.count ? last : prepared;
}

static int32_t kernel_execute(ops_prepared *prepared, const ops_execute_request *request,
                              ops_stream *stream, ops_error *error) {
  faulty_call call = {.prepared = prepared, .input_count = (int32_t)request->input_count};
  for (int32_t i = 0; i < call.input_count; ++i) view_arg(&request->inputs[i], &call.in[i]);
  view_arg(&request->outputs[0], &call.out);
  const ops_prepared *last = last_of(prepared);
  if (last != prepared && prepared->kernel->op == &faulty_softmax &&
      FAULTY(prepared, last_plan_only)) {
    call.prepared = last;
  }
  if (last != prepared && prepared->kernel->op == &faulty_relu &&
      FAULTY(prepared, last_shape_only)) {
    call.out.count = last->out.count;
  }
  if (FAULTY(prepared, execute_allocates)) take_and_give(prepared->kernel->device->instance);
  if (request->workspace) {
    call.workspace = (char *)request->workspace + request->workspace_offset;
  }
  if (stream && (prepared->kernel->def->flags & OPS_KERNEL_ASYNC)) {
    return faulty_enqueue(stream, &call, request, error);
  }
  if (stream) OPS_RETURN_IF_ERROR(faulty_stream.synchronize(stream, error));
  return run_here(&call, error);
}

static int32_t query_layouts(ops_kernel *kernel, const ops_prepare_request *request,
                             ops_layout_choice *choices, uint64_t capacity, uint64_t stride,
                             uint64_t *out_count, ops_error *error) {
  static const uint32_t inputs[] = {OPS_LAYOUT_STRIDED, kFaultyLayout};
  static const uint32_t outputs[] = {OPS_LAYOUT_STRIDED};
  (void)stride, (void)error;
  *out_count = 0;
  const int asked = CONTROLLED(kernel, private_layout) || FAULTY(kernel, reorder_copies);
  if (!asked || kernel->op != &faulty_matmul) return OPS_OK;
  if (ops_request_input(request, 1)->type->rank != 2) return OPS_OK;
  *out_count = 1;
  if (capacity == 0) return OPS_OK;
  choices->cost = 1;
  choices->input_layouts = inputs;
  choices->output_layouts = outputs;
  return OPS_OK;
}

const ops_kernel_api faulty_kernel = {.struct_size = sizeof(ops_kernel_api),
                                      .claim = kernel_claim,
                                      .create = kernel_create,
                                      .destroy = kernel_destroy,
                                      .released_constants = released_constants,
                                      .query_layouts = query_layouts,
                                      .prepare = kernel_prepare,
                                      .prepared_destroy = prepared_destroy,
                                      .execute = kernel_execute};
