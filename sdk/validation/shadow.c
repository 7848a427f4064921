// SPDX-License-Identifier: Apache-2.0
//
// Guarded outputs. A copy begins at the same place within a page as the output, so the kernel
// sees the same alignment, and holds what the output held, so what it leaves unwritten stays.
// An output that shares memory with another argument is left where it is.
#include "validation/shadow.h"

#include <string.h>

#define PAGE UINT64_C(4096)

static int is_host(const val_handle *prepared, int32_t memory_kind) {
  return memory_kind != OPS_MEMORY_DEVICE || !prepared->layer->inner->memory;
}

static const char *begin_of(const ops_arg *arg) {
  return (const char *)arg->tensor.memory + arg->tensor.byte_offset;
}

static int overlap(const ops_arg *a, const ops_arg *b) {
  return b->kind == OPS_ARG_TENSOR && begin_of(a) < begin_of(b) + b->tensor.byte_size &&
         begin_of(b) < begin_of(a) + a->tensor.byte_size;
}

static int runs_backwards(const ops_tensor *tensor) {
  for (int32_t i = 0; tensor->strides && i < tensor->rank; ++i)
    if (tensor->strides[i] < 0) return 1;
  return 0;
}

static int can_guard(const val_handle *prepared, const ops_execute_request *request,
                     uint64_t index) {
  const ops_arg *output = &request->outputs[index];
  if (output->kind != OPS_ARG_TENSOR || !output->tensor.memory || !output->tensor.byte_size ||
      !is_host(prepared, output->memory_kind) || runs_backwards(&output->tensor))
    return 0;
  for (uint64_t i = 0; i < request->input_count; ++i)
    if (overlap(output, &request->inputs[i])) return 0;
  for (uint64_t i = 0; i < request->output_count; ++i)
    if (i != index && overlap(output, &request->outputs[i])) return 0;
  return 1;
}

static int guards_workspace(const val_handle *prepared, const ops_execute_request *request) {
  return request->workspace && prepared->prepared.workspace_size &&
         is_host(prepared, prepared->prepared.workspace_kind) &&
         prepared->prepared.workspace_alignment <= PAGE;
}

// Room for `size` bytes between guards, at any place within a page.
static uint64_t room(uint64_t size) {
  return (VAL_GUARD + size + VAL_GUARD + 2 * PAGE - 1) / PAGE * PAGE;
}

// ---- Buffers --------------------------------------------------------------------------------

static val_buffer take_buffer(val_layer *layer, uint64_t size) {
  val_buffer taken = {0};
  pthread_mutex_lock(&layer->lock);
  for (uint32_t i = 0; i < VAL_BUFFERS && !taken.memory; ++i) {
    if (layer->buffers[i].size < size) continue;
    taken = layer->buffers[i];
    layer->buffers[i] = (val_buffer){0};
  }
  pthread_mutex_unlock(&layer->lock);
  if (!taken.memory) taken = (val_buffer){val_map(size), size};
  return taken;
}

// The smallest makes place.
static void give_buffer(val_layer *layer, val_buffer buffer) {
  val_buffer *smallest = &layer->buffers[0];
  pthread_mutex_lock(&layer->lock);
  for (uint32_t i = 1; i < VAL_BUFFERS; ++i)
    if (layer->buffers[i].size < smallest->size) smallest = &layer->buffers[i];
  if (smallest->size < buffer.size) {
    const val_buffer other = *smallest;
    *smallest = buffer;
    buffer = other;
  }
  pthread_mutex_unlock(&layer->lock);
  val_unmap(buffer.memory, buffer.size);
}

// ---- A call ---------------------------------------------------------------------------------

// The next place in the buffer: `size` bytes at `offset` within a page.
static char *place(char **next, uint64_t size, uint64_t offset) {
  char *data = *next + offset;
  if (offset < VAL_GUARD) data += PAGE;
  *next += room(size) + PAGE;
  val_guard_set(data - VAL_GUARD, VAL_GUARD);
  val_guard_set(data + size, VAL_GUARD);
  return data;
}

int val_shadow_begin(val_shadow *shadow, const val_handle *prepared,
                     const ops_execute_request *request) {
  const uint64_t count = request->output_count;
  const uint64_t workspace = prepared->prepared.workspace_size;
  const int with_workspace = guards_workspace(prepared, request);
  uint64_t size = with_workspace ? room(workspace) + PAGE : 0;
  if (count > VAL_SHADOWS || request->struct_size != sizeof *request) return 0;
  memset(shadow->data, 0, sizeof shadow->data);
  for (uint64_t i = 0; i < count; ++i) {
    shadow->outputs[i] = request->outputs[i];
    if (!can_guard(prepared, request, i)) continue;
    shadow->data[i] = shadow->outputs[i].tensor.memory;  // to be placed
    size += room(request->outputs[i].tensor.byte_size) + PAGE;
  }
  if (size == 0) return 0;
  shadow->buffer = take_buffer(prepared->layer, size);
  if (!shadow->buffer.memory) return 0;
  char *next = shadow->buffer.memory;
  for (uint64_t i = 0; i < count; ++i) {
    if (!shadow->data[i]) continue;
    ops_tensor *tensor = &shadow->outputs[i].tensor;
    const char *original = begin_of(&request->outputs[i]);
    shadow->data[i] = place(&next, tensor->byte_size, (uint64_t)(uintptr_t)original % PAGE);
    memcpy(shadow->data[i], original, tensor->byte_size);
    tensor->memory = shadow->data[i];
    tensor->byte_offset = 0;
  }
  shadow->request = *request;
  shadow->request.outputs = shadow->outputs;
  shadow->workspace = NULL;
  if (with_workspace) {
    shadow->workspace = place(&next, workspace, 0);
    shadow->request.workspace = shadow->workspace;
    shadow->request.workspace_offset = 0;
    shadow->request.workspace_size = workspace;
  }
  return 1;
}

// Reports bytes around [data, data + size) that the kernel wrote.
static void judge(const val_handle *prepared, const char *what, uint64_t index,
                  const char *data, uint64_t size) {
  const uint64_t behind = val_guard_intact(data + size, VAL_GUARD);
  uint64_t before = 0;  // bytes from the first overwritten one to the beginning
  for (uint64_t i = 0; i < VAL_GUARD && !before; ++i)
    if ((unsigned char)data[(int64_t)i - (int64_t)VAL_GUARD] != VAL_GUARD_BYTE)
      before = VAL_GUARD - i;
  if (behind == VAL_GUARD && !before) return;
  val_find(prepared->layer, "MEMORY-1",
           "kernel.execute of '%s': %s %llu has %llu bytes, and byte %llu %s was written; "
           "expected nothing written outside: mend the kernel's bounds",
           prepared->name, what, (unsigned long long)index, (unsigned long long)size,
           (unsigned long long)(before ? before : behind),
           before ? "in front of it" : "behind its end");
}

void val_shadow_end(val_shadow *shadow, const val_handle *prepared,
                    const ops_execute_request *request) {
  for (uint64_t i = 0; i < request->output_count; ++i) {
    if (!shadow->data[i]) continue;
    const uint64_t size = request->outputs[i].tensor.byte_size;
    judge(prepared, "output", i, shadow->data[i], size);
    memcpy((char *)(uintptr_t)begin_of(&request->outputs[i]), shadow->data[i], size);
  }
  if (shadow->workspace)
    judge(prepared, "workspace", 0, shadow->workspace, prepared->prepared.workspace_size);
  give_buffer(prepared->layer, shadow->buffer);
}
