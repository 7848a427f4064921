// SPDX-License-Identifier: Apache-2.0
//
// Queues are streams, points are events, graphs are graphs; see driver.h. The stream does not
// wait for the default stream, on which other users of CUDA in the process may work.
#include <ops_support/error.h>
#include <stdlib.h>

#include "driver.h"

enum { kMaxArgs = 64 };

struct gpu_queue {
  gpu_context *context;
  CUstream stream;
};

struct gpu_point {
  gpu_context *context;
  CUevent event;
  int32_t reached;  // atomic: a failure later does not change it
};

struct gpu_graph {
  gpu_context *context;
  CUgraphExec graph;
};

int32_t cuda_queue_create(gpu_context *context, gpu_queue **out_queue, ops_error *error) {
  gpu_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a queue");
  queue->context = context;
  int32_t status = cuda_enter(context, "cuStreamCreate", error);
  if (status == OPS_OK)
    status = cuda_leave(
        context, context->api->cuda.cuStreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING),
        "cuStreamCreate", error);
  if (status == OPS_OK)
    *out_queue = queue;
  else
    free(queue);
  return status;
}

// Drains, since a stream that is destroyed lets its work go on.
void cuda_queue_destroy(gpu_queue *queue) {
  if (!queue) return;
  const cuda_api *cuda = &queue->context->api->cuda;
  if (cuda_enter(queue->context, "cuStreamDestroy", NULL) == OPS_OK) {
    cuda->cuStreamSynchronize(queue->stream);
    cuda_leave(queue->context, cuda->cuStreamDestroy(queue->stream), "cuStreamDestroy", NULL);
  }
  free(queue);
}

CUstream cuda_queue_stream(const gpu_queue *queue) {
  return queue->stream;
}

// The driver holds nothing back.
int32_t cuda_queue_flush(gpu_queue *queue, ops_error *error) {
  (void)queue, (void)error;
  return OPS_OK;
}

int32_t cuda_queue_finish(gpu_queue *queue, ops_error *error) {
  gpu_context *context = queue->context;
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuStreamSynchronize", error));
  return cuda_leave(context, context->api->cuda.cuStreamSynchronize(queue->stream),
                    "cuStreamSynchronize", error);
}

static int32_t overlap(const gpu_place *a, const gpu_place *b, uint64_t size) {
  return a->is_device == b->is_device && a->memory == b->memory &&
         a->offset < b->offset + size && b->offset < a->offset + size;
}

int32_t cuda_copy(gpu_queue *queue, const gpu_place *source, const gpu_place *target,
                  uint64_t size, ops_error *error) {
  gpu_context *context = queue->context;
  const CUdeviceptr from = cuda_address(source->memory) + source->offset;
  const CUdeviceptr to = cuda_address(target->memory) + target->offset;
  if (size == 0) return OPS_OK;
  if (overlap(source, target, size))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "copy of %llu bytes within one allocation, from %llu to %llu: the "
                         "ranges overlap",
                         (unsigned long long)size, (unsigned long long)source->offset,
                         (unsigned long long)target->offset);
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuMemcpyAsync", error));
  return cuda_leave(context, context->api->cuda.cuMemcpyAsync(to, from, size, queue->stream),
                    "cuMemcpyAsync", error);
}

// The grid as the driver takes it; its y and z end at 65535.
static int32_t check_grid(const gpu_grid *grid, ops_error *error) {
  static const uint64_t kMost[3] = {INT32_MAX, 65535, 65535};
  for (int i = 0; i < 3; ++i)
    if (grid->groups[i] < 1 || grid->groups[i] > kMost[i])
      return ops_error_set(error, OPS_ERROR_INTERNAL,
                           "launch: %llu work-groups along dimension %d, expected 1 to %llu",
                           (unsigned long long)grid->groups[i], i,
                           (unsigned long long)kMost[i]);
  return OPS_OK;
}

int32_t cuda_launch(gpu_queue *queue, gpu_function *function, const gpu_grid *grid,
                    const gpu_arg *args, uint32_t arg_count, ops_error *error) {
  gpu_context *context = queue->context;
  CUdeviceptr buffers[kMaxArgs];
  void *params[kMaxArgs];
  if (arg_count > kMaxArgs)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "launch: %u parameters, at most %d",
                         arg_count, kMaxArgs);
  OPS_RETURN_IF_ERROR(check_grid(grid, error));
  for (uint32_t i = 0; i < arg_count; ++i) {
    buffers[i] = cuda_address(args[i].buffer);
    params[i] = args[i].value ? (void *)(uintptr_t)args[i].value : &buffers[i];
  }
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuLaunchKernel", error));
  return cuda_leave(context,
                    context->api->cuda.cuLaunchKernel(
                        cuda_function_handle(function), (unsigned)grid->groups[0],
                        (unsigned)grid->groups[1], (unsigned)grid->groups[2], grid->items[0],
                        grid->items[1], grid->items[2], 0, queue->stream, params, NULL),
                    "cuLaunchKernel", error);
}

// ---- Memory in the order of a queue ----

int32_t cuda_allocate_queued(gpu_queue *queue, uint64_t size, void **out_memory,
                             ops_error *error) {
  gpu_context *context = queue->context;
  CUdeviceptr memory = 0;
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuMemAllocAsync", error));
  OPS_RETURN_IF_ERROR(
      cuda_leave(context, context->api->cuda.cuMemAllocAsync(&memory, size, queue->stream),
                 "cuMemAllocAsync", error));
  *out_memory = (void *)(uintptr_t)memory;
  return OPS_OK;
}

int32_t cuda_release_queued(gpu_queue *queue, void *memory, ops_error *error) {
  gpu_context *context = queue->context;
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuMemFreeAsync", error));
  return cuda_leave(context,
                    context->api->cuda.cuMemFreeAsync(cuda_address(memory), queue->stream),
                    "cuMemFreeAsync", error);
}

// ---- Points ----

static CUresult record(const cuda_api *cuda, gpu_queue *queue, gpu_point *point) {
  CUresult result = cuda->cuEventCreate(&point->event, CU_EVENT_DEFAULT);
  if (result != CUDA_SUCCESS) return result;
  result = cuda->cuEventRecord(point->event, queue->stream);
  if (result != CUDA_SUCCESS) cuda->cuEventDestroy(point->event);
  return result;
}

int32_t cuda_point_record(gpu_queue *queue, gpu_point **out_point, ops_error *error) {
  gpu_context *context = queue->context;
  gpu_point *point = calloc(1, sizeof *point);
  if (!point) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an event");
  point->context = context;
  int32_t status = cuda_enter(context, "cuEventRecord", error);
  if (status == OPS_OK)
    status =
        cuda_leave(context, record(&context->api->cuda, queue, point), "cuEventRecord", error);
  if (status == OPS_OK)
    *out_point = point;
  else
    free(point);
  return status;
}

void cuda_point_release(gpu_point *point) {
  if (!point) return;
  if (cuda_enter(point->context, "cuEventDestroy", NULL) == OPS_OK)
    cuda_leave(point->context, point->context->api->cuda.cuEventDestroy(point->event),
               "cuEventDestroy", NULL);
  free(point);
}

int32_t cuda_point_wait(gpu_queue *queue, gpu_point *point, ops_error *error) {
  gpu_context *context = queue->context;
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuStreamWaitEvent", error));
  return cuda_leave(
      context,
      context->api->cuda.cuStreamWaitEvent(queue->stream, point->event, CU_EVENT_WAIT_DEFAULT),
      "cuStreamWaitEvent", error);
}

// Asks `ask` of the event unless it is known to be reached.
static int32_t ask_point(gpu_point *point, CUresult (*ask)(CUevent event), const char *what,
                         ops_error *error) {
  if (__atomic_load_n(&point->reached, __ATOMIC_RELAXED)) return OPS_OK;
  OPS_RETURN_IF_ERROR(cuda_enter(point->context, what, error));
  OPS_RETURN_IF_ERROR(cuda_leave(point->context, ask(point->event), what, error));
  __atomic_store_n(&point->reached, 1, __ATOMIC_RELAXED);
  return OPS_OK;
}

int32_t cuda_point_query(gpu_point *point, ops_error *error) {
  return ask_point(point, point->context->api->cuda.cuEventQuery, "cuEventQuery", error);
}

int32_t cuda_point_finish(gpu_point *point, ops_error *error) {
  return ask_point(point, point->context->api->cuda.cuEventSynchronize, "cuEventSynchronize",
                   error);
}

int32_t cuda_point_elapsed(gpu_point *first, gpu_point *last, double *out_seconds,
                           ops_error *error) {
  gpu_context *context = first->context;
  float milliseconds = 0;
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuEventElapsedTime", error));
  OPS_RETURN_IF_ERROR(cuda_leave(
      context, context->api->cuda.cuEventElapsedTime(&milliseconds, first->event, last->event),
      "cuEventElapsedTime", error));
  *out_seconds = (double)milliseconds * 1e-3;
  return OPS_OK;
}

// ---- Graphs ----

int32_t cuda_graph_begin(gpu_queue *queue, ops_error *error) {
  gpu_context *context = queue->context;
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuStreamBeginCapture", error));
  // Other threads allocate as they like meanwhile; the provider itself allocates nothing.
  return cuda_leave(
      context,
      context->api->cuda.cuStreamBeginCapture(queue->stream, CU_STREAM_CAPTURE_MODE_RELAXED),
      "cuStreamBeginCapture", error);
}

int32_t cuda_graph_end(gpu_queue *queue, gpu_graph **out_graph, ops_error *error) {
  gpu_context *context = queue->context;
  const cuda_api *cuda = &context->api->cuda;
  gpu_graph *graph = calloc(1, sizeof *graph);
  if (!graph) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a graph");
  graph->context = context;
  CUgraph captured = NULL;
  int32_t status = cuda_enter(context, "cuStreamEndCapture", error);
  if (status == OPS_OK) {
    CUresult result = cuda->cuStreamEndCapture(queue->stream, &captured);
    if (result == CUDA_SUCCESS) result = cuda->cuGraphInstantiate(&graph->graph, captured, 0);
    if (captured) cuda->cuGraphDestroy(captured);
    status = cuda_leave(context, result, "capture of a graph", error);
  }
  if (status == OPS_OK)
    *out_graph = graph;
  else
    free(graph);
  return status;
}

int32_t cuda_graph_launch(gpu_graph *graph, gpu_queue *queue, ops_error *error) {
  gpu_context *context = queue->context;
  OPS_RETURN_IF_ERROR(cuda_enter(context, "cuGraphLaunch", error));
  return cuda_leave(context, context->api->cuda.cuGraphLaunch(graph->graph, queue->stream),
                    "cuGraphLaunch", error);
}

void cuda_graph_destroy(gpu_graph *graph) {
  if (!graph) return;
  if (cuda_enter(graph->context, "cuGraphExecDestroy", NULL) == OPS_OK)
    cuda_leave(graph->context, graph->context->api->cuda.cuGraphExecDestroy(graph->graph),
               "cuGraphExecDestroy", NULL);
  free(graph);
}
