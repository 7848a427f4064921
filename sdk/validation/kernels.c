// SPDX-License-Identifier: Apache-2.0
//
// Kernels and prepared objects: claims that bind, what prepare states, what execute gets.
#include <stdio.h>
#include <string.h>

#include "validation/layer.h"
#include "validation/shadow.h"

// ---- Kernels --------------------------------------------------------------------------------

static void take_name(val_handle *handle, ops_str name) {
  snprintf(handle->name, sizeof handle->name, "%.*s", OPS_STR_FMT(name));
}

int32_t val_adopt_kernel(val_call *call, int32_t status, val_handle *device, ops_str name,
                         const ops_kernel_api *api, const ops_kernel_def *def, uint64_t inputs,
                         uint64_t outputs, ops_kernel **out_kernel) {
  status = val_adopt(call, status, VAL_KERNEL, device, (void **)out_kernel);
  if (status != OPS_OK) return status;
  val_handle *kernel = (val_handle *)*out_kernel;
  take_name(kernel, name);
  kernel->kernel.api = api;
  kernel->kernel.def = def;
  kernel->kernel.inputs = inputs;
  kernel->kernel.outputs = outputs;
  return OPS_OK;
}

static int32_t kernel_create(ops_device *object, const ops_kernel_def *def,
                             const ops_node *node, ops_kernel **out_kernel, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "kernel.create", error);
  if (!device) return call.refused;
  const val_def *wrapped = val_def_of(&call, def);
  if (!wrapped)
    return val_refuse(&call, OPS_ERROR_INVALID_ARGUMENT, "the definition is unknown");
  const ops_kernel_def *real = wrapped->real;
  call.allowed = VAL_AFTER_CLAIM;
  call.clause = "CLAIMS-2";
  *out_kernel = NULL;
  const int32_t status = real->api->create(device->real, real, node, out_kernel, call.error);
  return val_adopt_kernel(&call, status, device, val_node_name(node), real->api, real,
                          node->input_count, node->output_count, out_kernel);
}

static void kernel_destroy(ops_kernel *object) {
  char children[160], text[112];
  val_call call;
  if (!object) return;
  val_handle *kernel = val_begin(&call, object, VAL_KERNEL, "kernel.destroy", NULL);
  if (!kernel) return;
  if (val_handle_children(kernel, children, sizeof children)) {
    val_find(kernel->layer, "HOST-3",
             "kernel.destroy: %s has %s alive; expected none: destroy prepared objects first",
             val_handle_text(kernel, text), children);
    val_handle_retire_children(kernel);
  }
  kernel->kernel.api->destroy((ops_kernel *)kernel->real);
  val_end(&call, OPS_OK);
  val_handle_retire(kernel);
}

static uint64_t released_constants(const ops_kernel *object) {
  val_call call;
  val_handle *kernel = val_begin(&call, object, VAL_KERNEL, "kernel.released_constants", NULL);
  if (!kernel) return 0;
  const uint64_t released = kernel->kernel.api->released_constants(kernel->real);
  val_end(&call, OPS_OK);
  const uint64_t count = kernel->kernel.inputs;
  if (count < 64 && released >> count)
    val_find(
        kernel->layer, "MEMORY-13",
        "kernel.released_constants of '%s': bits 0x%llx, but the node has %llu inputs; set "
        "bits of inputs only",
        kernel->name, (unsigned long long)released, (unsigned long long)count);
  return released;
}

static int32_t query_layouts(ops_kernel *object, const ops_prepare_request *request,
                             ops_layout_choice *out_choices, uint64_t capacity, uint64_t stride,
                             uint64_t *out_count, ops_error *error) {
  val_call call;
  val_handle *kernel = val_begin(&call, object, VAL_KERNEL, "kernel.query_layouts", error);
  if (!kernel) return call.refused;
  return val_end(
      &call, kernel->kernel.api->query_layouts((ops_kernel *)kernel->real, request, out_choices,
                                               capacity, stride, out_count, call.error));
}

static int32_t kernel_cost(ops_kernel *object, const ops_prepare_request *request,
                           ops_cost *out_cost, ops_error *error) {
  val_call call;
  val_handle *kernel = val_begin(&call, object, VAL_KERNEL, "kernel.cost", error);
  if (!kernel) return call.refused;
  return val_end(&call, kernel->kernel.api->cost((ops_kernel *)kernel->real, request, out_cost,
                                                 call.error));
}

static int32_t kernel_save(ops_kernel *object, ops_blob_writer write, void *context,
                           ops_error *error) {
  val_call call;
  val_handle *kernel = val_begin(&call, object, VAL_KERNEL, "kernel.save", error);
  if (!kernel) return call.refused;
  return val_end(
      &call, kernel->kernel.api->save((ops_kernel *)kernel->real, write, context, call.error));
}

// ---- Prepare --------------------------------------------------------------------------------

static void judge_output(const val_handle *kernel, uint64_t index,
                         const ops_output_info *info) {
  if (info->mode < OPS_SHAPE_KNOWN || info->mode > OPS_SHAPE_HOST_SYNC) {
    val_find(kernel->layer, "SHAPES-1",
             "kernel.prepare of '%s': output %llu has mode %d; expected an OPS_SHAPE_ constant",
             kernel->name, (unsigned long long)index, info->mode);
    return;
  }
  if (info->mode == OPS_SHAPE_HOST_SYNC) return;
  if (info->rank < 0 || info->rank > OPS_MAX_RANK) {
    val_find(kernel->layer, "SHAPES-1",
             "kernel.prepare of '%s': output %llu has rank %d; expected 0 … %d", kernel->name,
             (unsigned long long)index, info->rank, OPS_MAX_RANK);
    return;
  }
  for (int32_t i = 0; i < info->rank; ++i) {
    if (info->dims[i] >= 0) continue;
    val_find(kernel->layer, "SHAPES-1",
             "kernel.prepare of '%s': dimension %d of output %llu is %lld; expected 0 or more",
             kernel->name, i, (unsigned long long)index, (long long)info->dims[i]);
    return;
  }
}

static void judge_reply(const val_handle *kernel, const ops_prepare_reply *reply) {
  const uint64_t alignment = reply->workspace_alignment;
  for (uint64_t i = 0; i < reply->output_count; ++i)
    judge_output(kernel, i, OPS_AT(ops_output_info, reply->outputs, reply->output_stride, i));
  if (reply->workspace_size && (alignment & (alignment - 1)))
    val_find(kernel->layer, "MEMORY-5",
             "kernel.prepare of '%s': workspace_alignment %llu is no power of two; state one",
             kernel->name, (unsigned long long)alignment);
  else if (reply->workspace_size && (reply->workspace_memory_kind < 0 ||
                                     reply->workspace_memory_kind >= OPS_MEMORY_KIND_COUNT))
    val_find(kernel->layer, "MEMORY-5",
             "kernel.prepare of '%s': workspace_memory_kind is %d; expected an OPS_MEMORY_ "
             "constant",
             kernel->name, reply->workspace_memory_kind);
}

static int32_t kernel_prepare(ops_kernel *object, const ops_prepare_request *request,
                              ops_prepare_reply *reply, ops_error *error) {
  val_call call;
  val_handle *kernel = val_begin(&call, object, VAL_KERNEL, "kernel.prepare", error);
  if (!kernel) return call.refused;
  const ops_kernel_api *api = kernel->kernel.api;
  call.allowed = VAL_AFTER_CLAIM;
  call.clause = "CLAIMS-2";
  if (request->input_count != kernel->kernel.inputs ||
      reply->output_count != kernel->kernel.outputs)
    val_find(
        kernel->layer, "HOST-9",
        "kernel.prepare of '%s': %llu inputs and %llu outputs, the node has %llu and %llu; "
        "give one operand for each, absent ones too",
        kernel->name, (unsigned long long)request->input_count,
        (unsigned long long)reply->output_count, (unsigned long long)kernel->kernel.inputs,
        (unsigned long long)kernel->kernel.outputs);
  reply->prepared = NULL;
  int32_t status = api->prepare((ops_kernel *)kernel->real, request, reply, call.error);
  status = val_adopt(&call, status, VAL_PREPARED, kernel, (void **)&reply->prepared);
  if (status != OPS_OK) return status;
  val_handle *prepared = (val_handle *)reply->prepared;
  memcpy(prepared->name, kernel->name, sizeof prepared->name);
  prepared->prepared.api = api;
  const ops_kernel_def *def = kernel->kernel.def;
  prepared->prepared.reentrant = !def || (def->flags & OPS_KERNEL_REENTRANT);
  prepared->prepared.inputs = request->input_count;
  prepared->prepared.outputs = reply->output_count;
  prepared->prepared.workspace_size = reply->workspace_size;
  prepared->prepared.workspace_alignment = reply->workspace_alignment;
  prepared->prepared.workspace_kind = reply->workspace_memory_kind;
  judge_reply(kernel, reply);
  return status;
}

static void prepared_destroy(ops_prepared *object) {
  val_call call;
  if (!object) return;
  val_handle *prepared =
      val_begin(&call, object, VAL_PREPARED, "kernel.prepared_destroy", NULL);
  if (!prepared) return;
  if (atomic_load(&prepared->prepared.running))
    val_find(prepared->layer, "HOST-4",
             "kernel.prepared_destroy of '%s': an execute of it is running on another thread; "
             "expected none: wait for it",
             prepared->name);
  prepared->prepared.api->prepared_destroy((ops_prepared *)prepared->real);
  val_end(&call, OPS_OK);
  val_handle_retire(prepared);
}

// ---- Execute --------------------------------------------------------------------------------

static int judge_counts(const val_handle *prepared, const ops_execute_request *request) {
  if (request->input_count == prepared->prepared.inputs &&
      request->output_count == prepared->prepared.outputs)
    return 1;
  val_find(prepared->layer, "HOST-9",
           "kernel.execute of '%s': %llu inputs and %llu outputs, prepared for %llu and %llu; "
           "give one argument for each, absent ones too",
           prepared->name, (unsigned long long)request->input_count,
           (unsigned long long)request->output_count,
           (unsigned long long)prepared->prepared.inputs,
           (unsigned long long)prepared->prepared.outputs);
  return 0;
}

static int judge_workspace(const val_handle *prepared, const ops_execute_request *request) {
  const uint64_t needed = prepared->prepared.workspace_size;
  const uint64_t alignment = prepared->prepared.workspace_alignment;
  if (needed == 0) return 1;
  if (!request->workspace || request->workspace_size < needed) {
    val_find(prepared->layer, "HOST-9",
             "kernel.execute of '%s': a workspace of %llu bytes, prepare stated %llu; give "
             "that much",
             prepared->name,
             (unsigned long long)(request->workspace ? request->workspace_size : 0),
             (unsigned long long)needed);
    return 0;
  }
  const uint64_t at = (uint64_t)(uintptr_t)request->workspace + request->workspace_offset;
  if (prepared->prepared.workspace_kind != OPS_MEMORY_DEVICE && alignment > 1 && at % alignment)
    val_find(prepared->layer, "HOST-9",
             "kernel.execute of '%s': the workspace lies %llu bytes behind an address of the "
             "alignment stated, %llu; align it",
             prepared->name, (unsigned long long)(at % alignment),
             (unsigned long long)alignment);
  return 1;
}

// Every tensor must lie inside of its memory; 0 if one does not.
static int judge_arguments(val_handle *prepared, const char *noun, const ops_arg *args,
                           uint64_t count) {
  val_handle *device = prepared->parent->parent;
  int inside = 1;
  if (!prepared->layer->inner->memory) return 1;
  for (uint64_t i = 0; i < count; ++i) {
    char what[112];
    if (args[i].kind != OPS_ARG_TENSOR) continue;
    snprintf(what, sizeof what, "%s %llu of '%s'", noun, (unsigned long long)i, prepared->name);
    inside &= val_memory_range(device, "kernel.execute", what, args[i].tensor.memory,
                               args[i].memory_kind, args[i].tensor.byte_offset,
                               args[i].tensor.byte_size);
  }
  return inside;
}

static void follow(const val_handle *prepared, val_handle *stream, const ops_arg *args,
                   uint64_t count, int writes) {
  for (uint64_t i = 0; i < count; ++i)
    if (args[i].kind == OPS_ARG_TENSOR)
      val_order_use(stream, prepared->name, args[i].tensor.memory, args[i].tensor.byte_offset,
                    args[i].tensor.byte_size, writes);
}

static void note_order(const val_handle *prepared, val_handle *stream,
                       const ops_execute_request *request) {
  val_order_work(stream);
  follow(prepared, stream, request->inputs, request->input_count, 0);
  follow(prepared, stream, request->outputs, request->output_count, 1);
  if (request->workspace)
    val_order_use(stream, prepared->name, request->workspace, request->workspace_offset,
                  prepared->prepared.workspace_size, 1);
}

// Remembers who may have overrun which allocation, and looks at once where that is possible.
static void note_users(val_handle *prepared, const ops_execute_request *request, int done) {
  if (!prepared->layer->inner->memory) return;
  for (uint64_t i = 0; i < request->output_count; ++i) {
    const ops_arg *arg = &request->outputs[i];
    val_handle *memory =
        arg->kind == OPS_ARG_TENSOR ? val_memory_at(prepared->layer, arg->tensor.memory) : NULL;
    if (!memory || atomic_load(&memory->parent->kind) != VAL_DEVICE) continue;
    if (!done)
      memcpy(memory->name, prepared->name, sizeof memory->name);
    else if (memory->memory.memory_kind != OPS_MEMORY_DEVICE)
      val_memory_check(memory->parent, memory, prepared->name);
  }
}

static int32_t run(val_handle *prepared, val_handle *stream, const ops_execute_request *request,
                   ops_error *error) {
  const ops_kernel_api *api = prepared->prepared.api;
  if (stream) return api->execute((ops_prepared *)prepared->real, request, stream->real, error);
  val_shadow shadow;
  const int shadowed = val_shadow_begin(&shadow, prepared, request);
  ++val_in_execute;
  const int32_t status = api->execute((ops_prepared *)prepared->real,
                                      shadowed ? &shadow.request : request, NULL, error);
  --val_in_execute;
  if (shadowed) val_shadow_end(&shadow, prepared, request);
  return status;
}

static int32_t kernel_execute(ops_prepared *object, const ops_execute_request *request,
                              ops_stream *stream_object, ops_error *error) {
  val_call call;
  val_handle *stream = NULL;
  val_handle *prepared = val_begin(&call, object, VAL_PREPARED, "kernel.execute", error);
  if (!prepared) return call.refused;
  if (stream_object && !(stream = val_also(&call, stream_object, VAL_STREAM)))
    return call.refused;
  const int sound =
      judge_counts(prepared, request) && judge_workspace(prepared, request) &&
      judge_arguments(prepared, "input", request->inputs, request->input_count) &&
      judge_arguments(prepared, "output", request->outputs, request->output_count);
  if (!sound) return val_refuse(&call, OPS_ERROR_INVALID_ARGUMENT, "its arguments are wrong");
  if (atomic_fetch_add(&prepared->prepared.running, 1) && !prepared->prepared.reentrant)
    val_find(prepared->layer, "HOST-4",
             "kernel.execute of '%s': it runs on another thread, and its definition is not "
             "re-entrant; prepare once per concurrent run",
             prepared->name);
  // A stream that failed before says so again.
  const int judged = !stream || !stream->stream.failed;
  call.allowed = judged ? VAL_AFTER_CLAIM : 0;
  call.clause = "CLAIMS-2";
  if (stream) note_order(prepared, stream, request);
  note_users(prepared, request, 0);
  int32_t status = run(prepared, stream, request, call.error);
  atomic_fetch_sub(&prepared->prepared.running, 1);
  if (!stream) note_users(prepared, request, 1);
  if (status != OPS_OK && stream) stream->stream.failed = 1;
  return val_end(&call, status);
}

// ---- Tables ---------------------------------------------------------------------------------

static void fill_api(val_api *api, const ops_kernel_api *real) {
#define SLOT(field, function) .field = real->field ? function : NULL
  api->real = real;
  api->api = (ops_kernel_api){.struct_size = sizeof api->api,
                              SLOT(claim, val_claim),
                              SLOT(create, kernel_create),
                              SLOT(destroy, kernel_destroy),
                              SLOT(released_constants, released_constants),
                              SLOT(query_layouts, query_layouts),
                              SLOT(prepare, kernel_prepare),
                              SLOT(prepared_destroy, prepared_destroy),
                              SLOT(execute, kernel_execute),
                              SLOT(cost, kernel_cost),
                              SLOT(save, kernel_save)};
#undef SLOT
}

const ops_kernel_api *val_api_of(val_layer *layer, const ops_kernel_api *real) {
  const ops_kernel_api *found = NULL;
  pthread_mutex_lock(&layer->lock);
  for (uint64_t i = layer->api_count; i-- > 0 && !found;)
    if (layer->apis[i].real == real) found = &layer->apis[i].api;
  if (!found && layer->api_count < layer->api_capacity) {
    fill_api(&layer->apis[layer->api_count], real);
    found = &layer->apis[layer->api_count++].api;
  }
  pthread_mutex_unlock(&layer->lock);
  return found;
}

int32_t val_fill_kernels(val_layer *layer, ops_error *error) {
  const ops_provider *inner = layer->inner;
  layer->api_capacity = inner->kernel_count + VAL_GROUP_APIS;
  layer->apis = val_map(layer->api_capacity * sizeof *layer->apis);
  if (inner->kernel_count) layer->defs = val_map(inner->kernel_count * sizeof *layer->defs);
  if (!layer->apis || (inner->kernel_count && !layer->defs))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a validation layer");
  for (uint64_t i = 0; i < inner->kernel_count; ++i) {
    const ops_kernel_def *real =
        OPS_AT(ops_kernel_def, inner->kernels, inner->kernel_stride, i);
    layer->defs[i].real = real;
    layer->defs[i].def = *real;
    layer->defs[i].def.struct_size = sizeof *real;
    layer->defs[i].def.api = val_api_of(layer, real->api);
  }
  layer->provider.kernels = &layer->defs->def;
  layer->provider.kernel_stride = sizeof *layer->defs;
  return OPS_OK;
}
