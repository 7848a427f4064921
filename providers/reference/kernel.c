// SPDX-License-Identifier: Apache-2.0
//
// The life of every kernel: claim, create, prepare, execute, destroy.
//
// A kernel owns copies of the node's attributes. A prepared object owns the shapes it was made
// for and the operator's state. Execute keeps its views of the arguments at the start of the
// workspace, so it allocates nothing and is re-entrant.
#include "kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

#define ALIGNMENT 64

typedef struct kernel_owner {
  ops_kernel kernel;  // first: an ops_kernel * is a kernel_owner *
  ref_memory memory;
} kernel_owner;

struct ops_prepared {
  const ops_kernel *kernel;
  void *state;
  uint64_t input_count;
  uint64_t output_count;
  const ref_shape *outputs;
  uint64_t views_bytes;
  uint64_t workspace_bytes;  // views included
  ref_memory memory;
};

// ---- Errors --------------------------------------------------------------------------------

static int32_t write_error(ops_error *error, int32_t status, const char *prefix,
                           const char *format, va_list arguments) {
  if (error == NULL || error->struct_size < offsetof(ops_error, cause)) return status;
  size_t room = sizeof error->message;
  int used = snprintf(error->message, room, "%s", prefix);
  if (used >= 0 && (size_t)used < room)
    vsnprintf(error->message + used, room - (size_t)used, format, arguments);
  error->code = status;
  if (error->struct_size >= sizeof *error) error->cause = 0;
  error->vendor_code = 0;
  error->message_size = (uint32_t)strlen(error->message);
  return status;
}

int32_t ref_fail(const ops_kernel *kernel, ops_error *error, int32_t status, const char *format,
                 ...) {
  char prefix[256];
  snprintf(prefix, sizeof prefix, "%.*s '%.*s': ", (int)kernel->def->op.size,
           kernel->def->op.data, (int)(kernel->name.size < 128 ? kernel->name.size : 128),
           kernel->name.size ? kernel->name.data : "");
  va_list arguments;
  va_start(arguments, format);
  write_error(error, status, prefix, format, arguments);
  va_end(arguments);
  return status;
}

int32_t ref_error(ops_error *error, int32_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_error(error, status, "", format, arguments);
  va_end(arguments);
  return status;
}

static int32_t no_memory(const ops_kernel *kernel, ops_error *error) {
  return ref_fail(kernel, error, OPS_ERROR_OUT_OF_MEMORY,
                  "the host's memory is exhausted; free memory or run smaller shapes");
}

// ---- Claim ---------------------------------------------------------------------------------

static int32_t claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                     ops_claim *out_claim, ops_error *error) {
  (void)device;
  (void)error;
  const ref_op *op = def->context;
  const char *reason = op->refuse != NULL ? op->refuse(node) : NULL;
  out_claim->answer = reason == NULL ? OPS_CLAIM_SUPPORTED : OPS_CLAIM_UNSUPPORTED;
  out_claim->reason = reason == NULL ? OPS_REASON_NONE : OPS_REASON_ATTRIBUTE;
  out_claim->preference = 0;
  snprintf(out_claim->text, sizeof out_claim->text, "%s", reason == NULL ? "" : reason);
  out_claim->text_size = (uint32_t)strlen(out_claim->text);
  return OPS_OK;
}

// ---- Create --------------------------------------------------------------------------------

static const void *copy_bytes(ref_memory *memory, const void *source, uint64_t count,
                              uint64_t size) {
  void *copy = ref_memory_take(memory, count, size);
  if (copy != NULL && count > 0) memcpy(copy, source, count * size);
  return copy;
}

static int copy_string(ref_memory *memory, ops_str source, ops_str *out) {
  out->size = source.size;
  out->data = copy_bytes(memory, source.data, source.size, 1);
  return out->data != NULL;
}

static int copy_strings(ref_memory *memory, const ops_attribute *from, ref_attribute *to) {
  ops_str *strings = ref_memory_take(memory, from->count, sizeof *strings);
  to->strings = strings;
  int ok = strings != NULL;
  for (uint64_t i = 0; ok && i < from->count; ++i)
    ok = copy_string(memory, from->strings[i], &strings[i]);
  return ok;
}

static int view_tensor(const ops_tensor *tensor, ref_view *out) {
  const ops_arg arg = {
      .kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_HOST, .tensor = *tensor};
  return ref_view_init(out, &arg, NULL) == OPS_OK;
}

// Only the form that models have.
static int copy_sparse(kernel_owner *owner, const ops_attribute *from, ref_attribute *to) {
  const ops_constant *constant = from->count == 1 ? from->constants[0] : NULL;
  if (constant == NULL || constant->format != OPS_CONSTANT_COO || constant->rank < 0 ||
      constant->rank > OPS_MAX_RANK)
    return 1;
  ref_sparse *sparse = ref_memory_take(&owner->memory, 1, sizeof *sparse);
  if (sparse == NULL) return 0;
  sparse->rank = constant->rank;
  memcpy(sparse->dims, constant->dims, sizeof *sparse->dims * (size_t)sparse->rank);
  if (view_tensor(&constant->values, &sparse->values) &&
      view_tensor(&constant->indices, &sparse->indices))
    to->sparse = sparse;
  return 1;
}

// Tensors of unknown types are left out: no operator reads them. Host values must not be looked
// into before prepare.
static int copy_tensor(kernel_owner *owner, const ops_attribute *from, ref_attribute *to) {
  const ops_constant *constant = from->count == 1 ? from->constants[0] : NULL;
  if (constant == NULL || constant->format != OPS_CONSTANT_DENSE) return 1;
  if (constant->dense.kind == OPS_ARG_VALUE) {
    to->strings_tensor = constant->dense.value;
    return 1;
  }
  ref_view *view = ref_memory_take(&owner->memory, 1, sizeof *view);
  if (view == NULL) return 0;
  if (ref_view_init(view, &constant->dense, NULL) == OPS_OK) to->tensor = view;
  return 1;
}

static int copy_attribute(kernel_owner *owner, const ops_attribute *from, ref_attribute *to) {
  ref_memory *memory = &owner->memory;
  to->kind = from->kind;
  to->count = (int64_t)from->count;
  if (!copy_string(memory, from->name, &to->name)) return 0;
  switch (from->kind) {
    case OPS_ATTRIBUTE_FLOAT:
    case OPS_ATTRIBUTE_FLOATS:
      return (to->floats = copy_bytes(memory, from->floats, from->count, sizeof(float))) !=
             NULL;
    case OPS_ATTRIBUTE_INT:
    case OPS_ATTRIBUTE_INTS:
      return (to->ints = copy_bytes(memory, from->ints, from->count, sizeof(int64_t))) != NULL;
    case OPS_ATTRIBUTE_STRING:
    case OPS_ATTRIBUTE_STRINGS:
      return copy_strings(memory, from, to);
    case OPS_ATTRIBUTE_TENSOR:
      return copy_tensor(owner, from, to);
    case OPS_ATTRIBUTE_SPARSE_TENSOR:
      return copy_sparse(owner, from, to);
    default:
      return 1;
  }
}

static int copy_node(kernel_owner *owner, const ops_node *node) {
  ops_kernel *kernel = &owner->kernel;
  ref_attribute *attributes =
      ref_memory_take(&owner->memory, node->attribute_count, sizeof *attributes);
  int ok = attributes != NULL && copy_string(&owner->memory, node->name, &kernel->name);
  for (uint64_t i = 0; ok && i < node->attribute_count; ++i)
    ok = copy_attribute(
        owner, (const void *)((const char *)node->attributes + i * node->attribute_stride),
        &attributes[i]);
  kernel->attributes = attributes;
  kernel->attribute_count = node->attribute_count;
  for (uint64_t i = 0; node->outputs != NULL && i < node->output_count && i < 64; ++i) {
    const ops_operand *output =
        (const void *)((const char *)node->outputs + i * node->output_stride);
    if (output->value < 0) kernel->absent_outputs |= (uint64_t)1 << i;
  }
  return ok;
}

static int32_t create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_kernel **out_kernel, ops_error *error) {
  ref_memory memory = {device->instance->api, device->instance->host, NULL};
  kernel_owner *owner = ref_memory_take(&memory, 1, sizeof *owner);
  if (owner == NULL)
    return ref_error(error, OPS_ERROR_OUT_OF_MEMORY, "kernel: the host's memory is exhausted");
  owner->memory = memory;
  owner->kernel = (ops_kernel){.def = def,
                               .op = def->context,
                               .device = device,
                               .api = memory.api,
                               .host = memory.host,
                               .opset = node->opset};
  if (!copy_node(owner, node)) {
    memory = owner->memory;
    ref_memory_free_all(&memory);
    return ref_error(error, OPS_ERROR_OUT_OF_MEMORY, "kernel: the host's memory is exhausted");
  }
  __atomic_add_fetch(&device->live_kernels, 1, __ATOMIC_RELAXED);
  *out_kernel = &owner->kernel;
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  if (kernel == NULL) return;
  ref_memory memory = ((kernel_owner *)kernel)->memory;
  __atomic_sub_fetch(&kernel->device->live_kernels, 1, __ATOMIC_RELAXED);
  ref_memory_free_all(&memory);
}

// ---- Prepare -------------------------------------------------------------------------------

static const ops_operand *input_operand(const ops_prepare_request *request, uint64_t i) {
  return (const void *)((const char *)request->inputs + i * request->input_stride);
}

static int32_t read_shape(const ops_kernel *kernel, const ops_operand *operand, uint64_t index,
                          ref_shape *out, ops_error *error) {
  const ops_type_info *type = operand->type;
  if (type == NULL) return OPS_OK;
  out->present = 1;
  out->type = type->kind == OPS_VALUE_STRINGS ? OPS_TYPE_STRING : type->type;
  out->kind = type->kind;
  if (type->kind != OPS_VALUE_TENSOR && type->kind != OPS_VALUE_STRINGS) {
    const ops_type_info *element = type->element;
    if (element != NULL)
      out->element = element->kind == OPS_VALUE_STRINGS ? OPS_TYPE_STRING : element->type;
    return OPS_OK;
  }
  out->rank = type->rank;
  if (type->rank < 0 || type->rank > OPS_MAX_RANK)
    return ref_fail(kernel, error, OPS_ERROR_INVALID_ARGUMENT,
                    "input %s: expected a rank of 0 to %d, found %d",
                    ref_input_name(kernel, index), OPS_MAX_RANK, type->rank);
  for (int32_t i = 0; i < type->rank; ++i) {
    out->dims[i] = type->dims[i];
    if (type->dims[i] < 0)
      return ref_fail(kernel, error, OPS_ERROR_INVALID_ARGUMENT,
                      "input %s: dimension %d is %lld; prepare needs it known",
                      ref_input_name(kernel, index), i, (long long)type->dims[i]);
  }
  if (ref_count(out->dims, out->rank) < 0)
    return ref_fail(kernel, error, OPS_ERROR_INVALID_ARGUMENT,
                    "input %s has more elements than can be counted",
                    ref_input_name(kernel, index));
  return OPS_OK;
}

static const ops_arg_def *arg_def(const ops_arg_def *defs, uint64_t count, uint64_t index) {
  return &defs[index < count ? index : count - 1];
}

// The type that the definition gives to an output: its only one, or that of the inputs which
// share its type parameter; 0 if it depends on the operator.
static int32_t output_type(const ref_prepare *p, uint64_t index) {
  const ops_kernel_def *def = p->kernel->def;
  const ops_arg_def *output = arg_def(def->outputs, def->output_count, index);
  if (output->types != 0 && (output->types & (output->types - 1)) == 0)
    return __builtin_ctzll(output->types);
  for (uint64_t i = 0; i < p->input_count; ++i) {
    ops_str param = arg_def(def->inputs, def->input_count, i)->type_param;
    if (p->inputs[i].present && param.size == output->type_param.size && param.size > 0 &&
        memcmp(param.data, output->type_param.data, param.size) == 0)
      return p->inputs[i].type;
  }
  return 0;
}

// A host may leave out what the operator does not: one of several, as in Min(a, , b), or the
// last.
static int32_t check_given(const ref_prepare *p, const ref_shape *inputs, uint64_t index) {
  const ops_kernel_def *def = p->kernel->def;
  const ops_arg_def *arg = arg_def(def->inputs, def->input_count, index);
  const int given = index < p->input_count && inputs[index].present;
  if (given || (arg->flags & OPS_ARG_OPTIONAL)) return OPS_OK;
  return ref_fail(p->kernel, p->error, OPS_ERROR_INVALID_ARGUMENT,
                  "input %llu (%s) is left out; it is required", (unsigned long long)index,
                  ref_input_name(p->kernel, index));
}

static int32_t read_request(ref_prepare *p, ref_shape *inputs) {
  for (uint64_t i = 0; i < p->input_count; ++i) {
    RETURN_IF_ERROR(
        read_shape(p->kernel, input_operand(p->request, i), i, &inputs[i], p->error));
    RETURN_IF_ERROR(check_given(p, inputs, i));
  }
  for (uint64_t i = p->input_count; i < p->kernel->def->input_count; ++i)
    RETURN_IF_ERROR(check_given(p, inputs, i));
  for (uint64_t i = 0; i < p->output_count; ++i) {
    p->outputs[i].present = 1;
    p->outputs[i].type = output_type(p, i);
  }
  return OPS_OK;
}

int32_t ref_keep(ref_prepare *p, uint64_t count, uint64_t size, void **out) {
  *out = ref_memory_take(p->memory, count, size);
  return *out == NULL ? no_memory(p->kernel, p->error) : OPS_OK;
}

static void write_reply(const ref_prepare *p, ops_prepared *prepared,
                        ops_prepare_reply *reply) {
  for (uint64_t i = 0; i < p->output_count; ++i) {
    ops_output_info *info = (void *)((char *)reply->outputs + i * reply->output_stride);
    const ref_shape *shape = &p->outputs[i];
    info->mode = shape->by_execute ? OPS_SHAPE_HOST_SYNC : OPS_SHAPE_KNOWN;
    info->type = shape->type;
    info->rank = shape->rank;
    info->layout = OPS_LAYOUT_STRIDED;
    info->max_bytes = 0;
    memcpy(info->dims, shape->dims, sizeof shape->dims);
  }
  reply->prepared = prepared;
  reply->workspace_size = prepared->workspace_bytes;
  reply->workspace_alignment = ALIGNMENT;
  reply->workspace_memory_kind = OPS_MEMORY_HOST;
  reply->implementation = p->kernel->def->name;
}

static int32_t fill_prepared(ops_prepared *prepared, const ops_prepare_request *request,
                             ops_prepare_reply *reply, ops_error *error) {
  const ops_kernel *kernel = prepared->kernel;
  ref_memory *memory = &prepared->memory;
  ref_shape *inputs = ref_memory_take(memory, request->input_count, sizeof *inputs);
  ref_shape *outputs = ref_memory_take(memory, reply->output_count, sizeof *outputs);
  prepared->state = ref_memory_take(memory, kernel->op->state_size, 1);
  if (inputs == NULL || outputs == NULL || prepared->state == NULL)
    return no_memory(kernel, error);
  prepared->input_count = request->input_count;
  prepared->output_count = reply->output_count;
  prepared->outputs = outputs;
  ref_prepare context = {.kernel = kernel,
                         .input_count = request->input_count,
                         .output_count = reply->output_count,
                         .inputs = inputs,
                         .outputs = outputs,
                         .state = prepared->state,
                         .request = request,
                         .memory = memory,
                         .error = error};
  RETURN_IF_ERROR(read_request(&context, inputs));
  RETURN_IF_ERROR(kernel->op->prepare(&context));
  for (uint64_t i = 0; i < reply->output_count; ++i)
    if (!outputs[i].by_execute && ref_count(outputs[i].dims, outputs[i].rank) < 0)
      return ref_refuse(&context, "output %u has more elements than can be counted",
                        (unsigned)i);
  prepared->views_bytes =
      (request->input_count + reply->output_count) * sizeof(ref_view) + ALIGNMENT - 1;
  prepared->views_bytes -= prepared->views_bytes % ALIGNMENT;
  if (__builtin_add_overflow(prepared->views_bytes, context.workspace,
                             &prepared->workspace_bytes))
    return no_memory(kernel, error);
  write_reply(&context, prepared, reply);
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  if (prepared == NULL) return;
  ref_memory memory = prepared->memory;
  ref_memory_free_all(&memory);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  ref_memory memory = {kernel->api, kernel->host, NULL};
  ops_prepared *prepared = ref_memory_take(&memory, 1, sizeof *prepared);
  if (prepared == NULL) return no_memory(kernel, error);
  prepared->kernel = kernel;
  prepared->memory = memory;
  int32_t status = fill_prepared(prepared, request, reply, error);
  if (status != OPS_OK) prepared_destroy(prepared);
  return status;
}

// ---- Execute -------------------------------------------------------------------------------

// Maps and sequences are told by their definitions, which name no types.
static int takes_tensors(const ops_kernel_def *def, uint64_t input) {
  return arg_def(def->inputs, def->input_count, input)->types != 0;
}

static int32_t view_inputs(const ops_execute_request *request, ref_run *run, ref_view *views) {
  for (uint64_t i = 0; i < run->input_count; ++i)
    if (ref_view_init(&views[i], &request->inputs[i], run->kernel->api->values) != OPS_OK ||
        (views[i].present && views[i].element == NULL && takes_tensors(run->kernel->def, i)))
      return ref_refuse(run, "input %s is not a host tensor in the plain layout",
                        ref_input_name(run->kernel, i));
  return OPS_OK;
}

static int32_t view_output(const ops_prepared *prepared, const ops_arg *arg, uint64_t index,
                           ref_run *run) {
  const ref_shape *shape = &prepared->outputs[index];
  if (arg->kind == OPS_ARG_VALUE && shape->type == OPS_TYPE_STRING)
    RETURN_IF_ERROR(run->kernel->api->values->strings_resize(arg->value, shape->rank,
                                                             shape->dims, run->error));
  if (ref_view_init(&run->outputs[index], arg, run->kernel->api->values) != OPS_OK)
    return ref_refuse(run, "output %u is not a host tensor in the plain layout",
                      (unsigned)index);
  return OPS_OK;
}

// Bits behind the last element of a narrow type belong to the tensor too: they become 0, so
// that its bytes depend on its elements alone.
static void clear_tail(const ref_view *view) {
  int32_t bits = view->element != NULL ? view->element->bits : 0;
  if (bits == 0 || bits >= 8 || view->data == NULL || !ref_is_contiguous(view)) return;
  int64_t end = (view->origin + view->count) * bits;
  if (end % 8 != 0) ((uint8_t *)view->data)[end / 8] &= (uint8_t)((1u << end % 8) - 1);
}

static int is_contiguous(const ref_view *view) {
  int64_t step = 1;
  for (int32_t d = view->rank - 1; d >= 0; --d) {
    if (view->dims[d] != 1 && view->strides[d] != step) return 0;
    step *= view->dims[d];
  }
  return 1;
}

// Moves results by a unit in the last place at most, see noise.h. Zeros, infinities and NaN
// stay.
static void move_results(const ref_view *view, ref_noise noise) {
  enum { ROOM = 256 };
  double values[ROOM];
  const double unit = (double)(ref_noise_low(view->type) + 1) * 0x1p-52;
  for (int64_t at = 0; at < view->count; at += ROOM) {
    const int64_t n = view->count - at < ROOM ? view->count - at : ROOM;
    ref_load(view, at, 1, n, values);
    for (int64_t i = 0; i < n; ++i) values[i] += values[i] * unit * ref_noise_step(&noise);
    ref_store(view, at, 1, n, values);
  }
}

// FNV-1a, so that nodes of a model do not move alike.
static uint64_t hash_of(ops_str name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint64_t i = 0; i < name.size; ++i)
    hash = (hash ^ (unsigned char)name.data[i]) * 0x100000001b3u;
  return hash;
}

static void perturb_results(const ref_run *run) {
  const ref_noise *noise = ref_noise_in(run);
  for (uint64_t i = 0; noise->results && i < run->output_count; ++i) {
    const ref_view *view = &run->outputs[i];
    if (view->present && view->value == NULL && ref_noise_low(view->type) != 0 &&
        is_contiguous(view))
      move_results(view, ref_noise_of(noise, hash_of(run->kernel->name) + i));
  }
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  (void)stream;
  const ops_kernel *kernel = prepared->kernel;
  if (request->input_count != prepared->input_count ||
      request->output_count != prepared->output_count ||
      request->workspace_size < prepared->workspace_bytes || request->workspace == NULL)
    return ref_fail(kernel, error, OPS_ERROR_INVALID_ARGUMENT,
                    "execute: expected %u inputs, %u outputs and %llu bytes of workspace as "
                    "prepared, found %u, %u and %llu",
                    (unsigned)prepared->input_count, (unsigned)prepared->output_count,
                    (unsigned long long)prepared->workspace_bytes,
                    (unsigned)request->input_count, (unsigned)request->output_count,
                    (unsigned long long)request->workspace_size);
  char *workspace = (char *)request->workspace + request->workspace_offset;
  ref_view *views = (ref_view *)workspace;
  ref_run run = {.kernel = kernel,
                 .input_count = request->input_count,
                 .output_count = request->output_count,
                 .inputs = views,
                 .outputs = views + request->input_count,
                 .state = prepared->state,
                 .workspace = workspace + prepared->views_bytes,
                 .call = request->call,
                 .error = error};
  RETURN_IF_ERROR(view_inputs(request, &run, views));
  for (uint64_t i = 0; i < run.output_count; ++i)
    RETURN_IF_ERROR(view_output(prepared, &request->outputs[i], i, &run));
  RETURN_IF_ERROR(kernel->op->execute(&run));
  perturb_results(&run);
  for (uint64_t i = 0; i < run.output_count; ++i) clear_tail(&run.outputs[i]);
  return OPS_OK;
}

const ops_kernel_api ref_kernel_api = {
    .struct_size = sizeof(ops_kernel_api),
    .claim = claim,
    .create = create,
    .destroy = destroy,
    .prepare = prepare,
    .prepared_destroy = prepared_destroy,
    .execute = execute,
};
