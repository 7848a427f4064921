// SPDX-License-Identifier: Apache-2.0
//
// Captures: the calls of execute and copy between begin and end, in their order, with their
// handles. A replay makes the same calls on the handles that the host puts in their place.
//
// Where the driver has graphs, a replay on the same handles as the one before it becomes one:
// making a graph costs more than it saves once. A copy between host memories is no work of a
// queue; with one, or while a profile is taken, no graph is made.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

typedef struct item {
  struct item *next;
  ops_prepared *prepared;  // NULL: a copy
  ops_execute_request request;
  ops_copy copy;
  ops_arg args[];  // of the request: inputs, then outputs
} item;

struct ops_capture {
  ops_device *device;
  item *first, **last;
  int32_t has_host_copy;
  gpu_graph *graph;       // NULL: none yet
  uint32_t graph_stream;  // its id: the graph has the word of that stream
  int32_t may_fault;      // of a stream that the graph runs on
  ops_str suspect;
  // Of the last replay; the graph, if any, is of the same.
  ops_rebind *bound;
  uint64_t bound_count;
  int32_t replayed;
};

// ---- Recording ----

static int32_t no_memory(ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to capture");
}

static void add(ops_capture *capture, item *fresh) {
  *capture->last = fresh;
  capture->last = &fresh->next;
}

int32_t gpu_capture_execute(ops_stream *stream, ops_prepared *prepared,
                            const ops_execute_request *request, ops_error *error) {
  const uint64_t count = request->input_count + request->output_count;
  item *fresh = calloc(1, sizeof *fresh + count * sizeof fresh->args[0]);
  if (!fresh) return no_memory(error);
  fresh->prepared = prepared;
  fresh->request = *request;
  fresh->request.call = NULL;
  fresh->request.output_dims = NULL;
  for (uint64_t i = 0; i < count; ++i) {
    fresh->args[i] = i < request->input_count ? request->inputs[i]
                                              : request->outputs[i - request->input_count];
    fresh->args[i].tensor.dims = NULL;  // borrowed for the call; not read when executing
    fresh->args[i].tensor.strides = NULL;
  }
  fresh->request.inputs = fresh->args;
  fresh->request.outputs = fresh->args + request->input_count;
  add(stream->capture, fresh);
  return OPS_OK;
}

int32_t gpu_capture_copy(ops_stream *stream, const ops_copy *copy, ops_error *error) {
  item *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return no_memory(error);
  fresh->copy = *copy;
  if (copy->source_kind != OPS_MEMORY_DEVICE && copy->target_kind != OPS_MEMORY_DEVICE)
    stream->capture->has_host_copy = 1;
  add(stream->capture, fresh);
  return OPS_OK;
}

int32_t gpu_capture_refuse(const ops_stream *stream, ops_error *error) {
  if (!stream->capture) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_PRECONDITION,
                       "a stream that is being captured takes kernels and copies only");
}

int32_t gpu_capture_begin(ops_stream *stream, ops_error *error) {
  if (stream->capture)
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "the stream is being captured already");
  OPS_RETURN_IF_ERROR(gpu_stream_failure(stream, error));
  ops_capture *capture = calloc(1, sizeof *capture);
  if (!capture) return no_memory(error);
  capture->device = stream->device;
  capture->last = &capture->first;
  stream->capture = capture;
  gpu_device_add(stream->device, 1);
  return OPS_OK;
}

int32_t gpu_capture_end(ops_stream *stream, ops_capture **out_capture, ops_error *error) {
  if (!stream->capture)
    return ops_error_set(error, OPS_ERROR_PRECONDITION, "the stream is not being captured");
  *out_capture = stream->capture;
  stream->capture = NULL;
  return OPS_OK;
}

static void drop_graph(ops_capture *capture) {
  if (capture->graph) capture->device->driver->graph_destroy(capture->graph);
  capture->graph = NULL;
}

void gpu_capture_destroy(ops_capture *capture) {
  if (!capture) return;
  drop_graph(capture);
  while (capture->first) {
    item *next = capture->first->next;
    free(capture->first);
    capture->first = next;
  }
  gpu_device_add(capture->device, -1);
  free(capture->bound);
  free(capture);
}

// ---- Replaying ----

// What stands for a handle; the first rebinding of it counts.
static void *rebound(void *handle, const ops_rebind *rebinds, uint64_t count, uint64_t stride) {
  for (uint64_t i = 0; handle && i < count; ++i) {
    const ops_rebind *at = OPS_AT(ops_rebind, rebinds, stride, i);
    if (at->captured == handle) return at->replacement;
  }
  return handle;
}

static int32_t run_copy(ops_capture *capture, ops_stream *stream, const item *it,
                        ops_error *error) {
  ops_copy copy = it->copy;
  copy.source = rebound(copy.source, capture->bound, capture->bound_count, sizeof(ops_rebind));
  copy.target = rebound(copy.target, capture->bound, capture->bound_count, sizeof(ops_rebind));
  return gpu_stream_api.copy(capture->device, stream, &copy, error);
}

enum { kFewArgs = 16 };

static int32_t run_execute(ops_capture *capture, ops_stream *stream, const item *it,
                           ops_error *error) {
  const uint64_t count = it->request.input_count + it->request.output_count;
  ops_arg few[kFewArgs], *args = few;
  if (count > kFewArgs) args = malloc(count * sizeof *args);
  if (!args) return no_memory(error);
  ops_execute_request request = it->request;
  memcpy(args, it->args, count * sizeof *args);
  for (uint64_t i = 0; i < count; ++i)
    args[i].tensor.memory = rebound(args[i].tensor.memory, capture->bound, capture->bound_count,
                                    sizeof(ops_rebind));
  request.workspace =
      rebound(request.workspace, capture->bound, capture->bound_count, sizeof(ops_rebind));
  request.inputs = args;
  request.outputs = args + request.input_count;
  const int32_t status = gpu_kernel_api.execute(it->prepared, &request, stream, error);
  if (args != few) free(args);
  return status;
}

static int32_t run_items(ops_capture *capture, ops_stream *stream, ops_error *error) {
  for (const item *it = capture->first; it; it = it->next)
    OPS_RETURN_IF_ERROR(it->prepared ? run_execute(capture, stream, it, error)
                                     : run_copy(capture, stream, it, error));
  return OPS_OK;
}

// Keeps the rebindings of this replay. *out_same: they are those of the last one.
static int32_t bind(ops_capture *capture, const ops_rebind *rebinds, uint64_t count,
                    uint64_t stride, int32_t *out_same, ops_error *error) {
  int32_t same = capture->replayed && count == capture->bound_count;
  for (uint64_t i = 0; same && i < count; ++i) {
    const ops_rebind *at = OPS_AT(ops_rebind, rebinds, stride, i);
    same = at->captured == capture->bound[i].captured &&
           at->replacement == capture->bound[i].replacement;
  }
  *out_same = same;
  if (same) return OPS_OK;
  ops_rebind *fresh = count ? calloc(count, sizeof *fresh) : NULL;
  if (count && !fresh) return no_memory(error);
  for (uint64_t i = 0; i < count; ++i) {
    const ops_rebind *at = OPS_AT(ops_rebind, rebinds, stride, i);
    fresh[i] = (ops_rebind){sizeof fresh[i], at->captured, at->replacement};
  }
  free(capture->bound);
  capture->bound = fresh;
  capture->bound_count = count;
  capture->replayed = 1;
  drop_graph(capture);
  return OPS_OK;
}

static int32_t make_graph(ops_capture *capture, ops_stream *stream, ops_error *error) {
  const gpu_driver *driver = capture->device->driver;
  ops_error own = OPS_ERROR_INIT;
  OPS_RETURN_IF_ERROR(driver->graph_begin(stream->queue, error));
  const int32_t status = run_items(capture, stream, error);
  const int32_t end = driver->graph_end(stream->queue, &capture->graph, &own);
  if (status != OPS_OK) {
    drop_graph(capture);
    return status;
  }
  capture->graph_stream = stream->id;
  capture->may_fault = stream->may_fault;
  capture->suspect = stream->suspect;
  return end == OPS_OK ? OPS_OK : ops_error_copy(error, end, &own);
}

static int32_t may_be_graph(const ops_capture *capture) {
  const ops_instance *instance = capture->device->instance;
  return instance->driver->graph_begin && !capture->has_host_copy && capture->first &&
         !instance->api->profile_enabled(instance->host);
}

static int32_t launch_graph(ops_capture *capture, ops_stream *stream, ops_error *error) {
  ops_error own = OPS_ERROR_INIT;
  const int32_t status =
      capture->device->driver->graph_launch(capture->graph, stream->queue, &own);
  if (status != OPS_OK) {
    gpu_stream_fail(stream, &own);
    return ops_error_copy(error, status, &own);
  }
  if (!capture->may_fault) return OPS_OK;
  stream->may_fault = 1;
  stream->suspect = capture->suspect;
  return OPS_OK;
}

int32_t gpu_capture_replay(ops_capture *capture, ops_stream *stream, const ops_rebind *rebinds,
                           uint64_t count, uint64_t stride, ops_error *error) {
  int32_t same;
  if (stream->device != capture->device || stream->capture)
    return ops_error_set(error, OPS_ERROR_PRECONDITION,
                         "a capture is replayed on a stream of its device that is not being "
                         "captured itself");
  OPS_RETURN_IF_ERROR(gpu_stream_failure(stream, error));
  OPS_RETURN_IF_ERROR(bind(capture, rebinds, count, stride, &same, error));
  ++stream->work;
  if (!same || !may_be_graph(capture)) return run_items(capture, stream, error);
  if (capture->graph_stream != stream->id) drop_graph(capture);
  if (!capture->graph) OPS_RETURN_IF_ERROR(make_graph(capture, stream, error));
  return launch_graph(capture, stream, error);
}
