// SPDX-License-Identifier: Apache-2.0
//
// Streams, events and graphs of the fake driver. Work stays in its stream until somebody waits
// for it; who asks only (cuStreamQuery, cuEventQuery) makes one piece of it run.
#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"

enum { kMaxParams = 64 };

// A place in a stream, reached once.
typedef struct point {
  CUstream stream;
  int references, reached;
  double ms;
} point;

typedef enum kind {
  kDo,       // not once the context is spoiled
  kRelease,  // memory: always
  kRecord,
  kWait
} kind;

typedef struct work {
  struct work *next;
  kind kind;
  point *point;  // kRecord, kWait
  void (*run)(void *data);
  size_t size;
  _Alignas(16) char data[];
} work;

struct CUgraph_st {
  work **items;
  size_t count;
};

// The same list: what is instantiated is a copy.
struct CUgraphExec_st {
  struct CUgraph_st graph;
};

struct CUstream_st {
  work *first, **last;
  CUgraph capture;  // NULL: work runs
  int invalid;
};

struct CUevent_st {
  point *point;  // NULL: never recorded
};

// ---- Work ----

static void point_release(point *p) {
  if (p && --p->references == 0) free(p);
}

static void work_drop(work *item) {
  point_release(item->point);
  free(item);
}

static work *work_make(kind kind, point *at, void (*run)(void *), const void *data,
                       size_t size) {
  work *item = calloc(1, sizeof *item + size);
  if (!item) return NULL;
  item->kind = kind;
  item->point = at;
  if (at) ++at->references;
  item->run = run;
  item->size = size;
  if (size) memcpy(item->data, data, size);
  return item;
}

static CUresult graph_add(CUgraph graph, work *item) {
  work **items = item ? realloc(graph->items, (graph->count + 1) * sizeof(work *)) : NULL;
  if (!items) return CUDA_ERROR_OUT_OF_MEMORY;
  graph->items = items;
  items[graph->count++] = item;
  return CUDA_SUCCESS;
}

static void graph_clear(CUgraph graph) {
  for (size_t i = 0; i < graph->count; ++i) work_drop(graph->items[i]);
  free(graph->items);
  graph->items = NULL;
  graph->count = 0;
}

static CUresult graph_copy(CUgraph to, const struct CUgraph_st *from) {
  CUresult result = CUDA_SUCCESS;
  for (size_t i = 0; i < from->count && result == CUDA_SUCCESS; ++i) {
    const work *item = from->items[i];
    result =
        graph_add(to, work_make(item->kind, item->point, item->run, item->data, item->size));
  }
  return result;
}

static CUresult put(CUstream stream, kind kind, point *at, void (*run)(void *),
                    const void *data, size_t size) {
  if (stream->capture && at) {
    stream->invalid = 1;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  work *item = work_make(kind, at, run, data, size);
  if (!item) return CUDA_ERROR_OUT_OF_MEMORY;
  if (stream->capture) return graph_add(stream->capture, item);
  *stream->last = item;
  stream->last = &item->next;
  return CUDA_SUCCESS;
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void drain(CUstream stream, const point *until);

static void run(work *item) {
  if (item->kind == kRecord) {
    item->point->reached = 1;
    item->point->ms = now_ms();
  } else if (item->kind == kWait) {
    if (!item->point->reached) drain(item->point->stream, item->point);
  } else {
    if (item->kind == kDo && fake_spoiled() == CUDA_SUCCESS) fake_spoil(fake_planned("work"));
    if (item->kind == kRelease || fake_spoiled() == CUDA_SUCCESS) item->run(item->data);
  }
}

static int step(CUstream stream) {
  work *item = stream->first;
  if (!item) return 0;
  stream->first = item->next;
  if (!stream->first) stream->last = &stream->first;
  run(item);
  work_drop(item);
  return 1;
}

// Until the point is reached, or nothing is left.
static void drain(CUstream stream, const point *until) {
  while (!(until && until->reached) && step(stream)) continue;
}

// ---- Streams and events ----

CUresult cuStreamCreate(CUstream *out, unsigned flags) {
  FAKE_ENTER("cuStreamCreate");
  // One that waits for the default stream would wait for other libraries' work, too.
  if (flags != CU_STREAM_NON_BLOCKING) return fake_leave(CUDA_ERROR_INVALID_VALUE);
  CUstream stream = calloc(1, sizeof *stream);
  if (!stream) return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
  stream->last = &stream->first;
  *out = stream;
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuStreamDestroy(CUstream stream) {
  fake_enter("cuStreamDestroy_v2");
  drain(stream, NULL);
  if (stream->capture) graph_clear(stream->capture);
  free(stream->capture);
  free(stream);
  return fake_leave(fake_spoiled());
}

CUresult cuStreamSynchronize(CUstream stream) {
  FAKE_ENTER("cuStreamSynchronize");
  if (stream->capture) {
    stream->invalid = 1;
    return fake_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  drain(stream, NULL);
  return fake_leave(fake_spoiled());
}

CUresult cuStreamQuery(CUstream stream) {
  FAKE_ENTER("cuStreamQuery");
  const CUresult state =
      stream->first && step(stream) && stream->first ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  return fake_leave(fake_spoiled() ? fake_spoiled() : state);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  (void)flags;
  FAKE_ENTER("cuStreamWaitEvent");
  if (!event->point) return fake_leave(CUDA_SUCCESS);
  return fake_leave(put(stream, kWait, event->point, NULL, NULL, 0));
}

CUresult cuEventCreate(CUevent *out, unsigned flags) {
  (void)flags;
  FAKE_ENTER("cuEventCreate");
  *out = calloc(1, sizeof **out);
  return fake_leave(*out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuEventDestroy(CUevent event) {
  fake_enter("cuEventDestroy_v2");
  point_release(event->point);
  free(event);
  return fake_leave(fake_spoiled());
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  FAKE_ENTER("cuEventRecord");
  point *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
  fresh->stream = stream;
  fresh->references = 1;
  const CUresult result = put(stream, kRecord, fresh, NULL, NULL, 0);
  point_release(result == CUDA_SUCCESS ? event->point : fresh);
  if (result == CUDA_SUCCESS) event->point = fresh;
  return fake_leave(result);
}

CUresult cuEventQuery(CUevent event) {
  FAKE_ENTER("cuEventQuery");
  if (event->point && !event->point->reached) step(event->point->stream);
  const int pending = event->point && !event->point->reached;
  return fake_leave(fake_spoiled() ? fake_spoiled()
                    : pending      ? CUDA_ERROR_NOT_READY
                                   : CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent event) {
  FAKE_ENTER("cuEventSynchronize");
  if (event->point && !event->point->reached) drain(event->point->stream, event->point);
  return fake_leave(fake_spoiled());
}

// Newer headers give the function another name; the old one is what the provider asks for.
CUresult fake_event_elapsed(float *out, CUevent start,
                            CUevent end) __asm__("cuEventElapsedTime");
CUresult fake_event_elapsed(float *out, CUevent start, CUevent end) {
  FAKE_ENTER("cuEventElapsedTime");
  if (!start->point || !end->point) return fake_leave(CUDA_ERROR_INVALID_HANDLE);
  if (!start->point->reached || !end->point->reached) return fake_leave(CUDA_ERROR_NOT_READY);
  *out = (float)(end->point->ms - start->point->ms);
  return fake_leave(CUDA_SUCCESS);
}

// ---- What is enqueued ----

CUresult fake_enqueue(CUstream stream, void (*run)(void *data), const void *data, size_t size) {
  FAKE_ENTER("fake_enqueue");
  return fake_leave(put(stream, kDo, NULL, run, data, size));
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream) {
  FAKE_ENTER("cuMemAllocAsync");
  if (stream->capture) return fake_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return fake_leave(fake_take(size, out));
}

static void run_free(void *data) {
  void *memory;
  memcpy(&memory, data, sizeof memory);
  fake_give(memory);
}

CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream) {
  void *pointer = (void *)(uintptr_t)memory;
  FAKE_ENTER("cuMemFreeAsync");
  return fake_leave(put(stream, kRelease, NULL, run_free, &pointer, sizeof pointer));
}

typedef struct copy {
  void *target;
  const void *source;
  size_t size;
} copy;

static void run_copy(void *data) {
  const copy *c = data;
  memmove(c->target, c->source, c->size);
}

CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream) {
  const copy c = {(void *)(uintptr_t)target, (const void *)(uintptr_t)source, size};
  FAKE_ENTER("cuMemcpyAsync");
  return fake_leave(put(stream, kDo, NULL, run_copy, &c, sizeof c));
}

typedef struct fill {
  void *target;
  size_t size;
  unsigned char value;
} fill;

static void run_fill(void *data) {
  const fill *f = data;
  memset(f->target, f->value, f->size);
}

CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t size,
                         CUstream stream) {
  const fill f = {(void *)(uintptr_t)target, size, value};
  FAKE_ENTER("cuMemsetD8Async");
  return fake_leave(put(stream, kDo, NULL, run_fill, &f, sizeof f));
}

// A launch; behind it lie the values of the kernel's parameters, each at a multiple of 16.
typedef struct launch {
  const fake_kernel *kernel;
  unsigned grid[3], block[3], shared;
  _Alignas(16) char values[];
} launch;

static size_t slot(uint32_t size) {
  return ((size_t)size + 15) / 16 * 16;
}

static void run_launch(void *data) {
  launch *l = data;
  void *params[kMaxParams];
  char *at = l->values;
  for (uint32_t i = 0; i < l->kernel->count; ++i) {
    params[i] = at;
    at += slot(l->kernel->sizes[i]);
  }
  l->kernel->run(params, l->grid, l->block, l->shared);
}

static CUresult put_launch(CUstream stream, const launch *head, void **params) {
  const fake_kernel *kernel = head->kernel;
  size_t size = sizeof *head;
  for (uint32_t i = 0; i < kernel->count; ++i) size += slot(kernel->sizes[i]);
  launch *l = kernel->count > kMaxParams ? NULL : aligned_alloc(16, (size + 15) / 16 * 16);
  if (!l) return CUDA_ERROR_OUT_OF_MEMORY;
  *l = *head;
  char *at = l->values;
  for (uint32_t i = 0; i < kernel->count; ++i) {
    memcpy(at, params[i], kernel->sizes[i]);
    at += slot(kernel->sizes[i]);
  }
  const CUresult result = put(stream, kDo, NULL, run_launch, l, size);
  free(l);
  return result;
}

// The limits of compute capability 8.0.
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                        void **params, void **extra) {
  FAKE_ENTER("cuLaunchKernel");
  const launch head = {(const fake_kernel *)function, {gx, gy, gz}, {bx, by, bz}, shared};
  if (extra || !gx || !gy || !gz || !bx || !by || !bz || gx > 0x7fffffffu || gy > 65535 ||
      gz > 65535 || bz > 64 || (unsigned long long)bx * by * bz > 1024)
    return fake_leave(CUDA_ERROR_INVALID_VALUE);
  return fake_leave(put_launch(stream, &head, params));
}

// ---- Graphs ----

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  (void)mode;
  FAKE_ENTER("cuStreamBeginCapture_v2");
  if (stream->capture) return fake_leave(CUDA_ERROR_ILLEGAL_STATE);
  stream->invalid = 0;
  stream->capture = calloc(1, sizeof *stream->capture);
  return fake_leave(stream->capture ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

// The capture is over, also where this fails.
CUresult cuStreamEndCapture(CUstream stream, CUgraph *out) {
  CUresult result = fake_enter("cuStreamEndCapture");
  CUgraph graph = stream->capture;
  *out = NULL;
  if (!graph) return fake_leave(CUDA_ERROR_ILLEGAL_STATE);
  stream->capture = NULL;
  if (stream->invalid) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (result == CUDA_SUCCESS) {
    *out = graph;
    return fake_leave(CUDA_SUCCESS);
  }
  graph_clear(graph);
  free(graph);
  return fake_leave(result);
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
  (void)flags;
  FAKE_ENTER("cuGraphInstantiateWithFlags");
  CUgraphExec made = calloc(1, sizeof *made);
  if (!made) return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
  *out = made;
  return fake_leave(graph_copy(&made->graph, graph));
}

// As the driver: the same pieces of work in the same order, with other arguments.
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
  FAKE_ENTER("cuGraphExecUpdate_v2");
  memset(info, 0, sizeof *info);
  int same = exec->graph.count == graph->count;
  for (size_t i = 0; same && i < graph->count; ++i)
    same = exec->graph.items[i]->run == graph->items[i]->run;
  if (!same) {
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return fake_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  }
  graph_clear(&exec->graph);
  return fake_leave(graph_copy(&exec->graph, graph));
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  FAKE_ENTER("cuGraphLaunch");
  CUresult result = stream->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
  for (size_t i = 0; result == CUDA_SUCCESS && i < exec->graph.count; ++i) {
    const work *item = exec->graph.items[i];
    result = put(stream, item->kind, item->point, item->run, item->data, item->size);
  }
  return fake_leave(result);
}

CUresult cuGraphDestroy(CUgraph graph) {
  fake_enter("cuGraphDestroy");
  graph_clear(graph);
  free(graph);
  return fake_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  fake_enter("cuGraphExecDestroy");
  graph_clear(&exec->graph);
  free(exec);
  return fake_leave(CUDA_SUCCESS);
}
