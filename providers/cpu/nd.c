// SPDX-License-Identifier: Apache-2.0
//
// Loop nests. A piece of work is a range of the flattened index space: its first index is
// decomposed once, then the innermost runs are walked like an odometer.
#include "nd.h"

#include <stddef.h>
#include <string.h>

void cpu_nd_init(cpu_nd *nd, const cpu_shape *shape) {
  nd->rank = shape->rank;
  nd->operands = 0;
  nd->count = cpu_count(shape);
  if (shape->rank > 0) memcpy(nd->dims, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
}

void cpu_nd_add(cpu_nd *nd, const int64_t *strides, int64_t element_size) {
  const int32_t operand = nd->operands++;
  for (int32_t i = 0; i < nd->rank; ++i) nd->strides[i][operand] = strides[i] * element_size;
}

uint64_t cpu_nd_bytes(const cpu_nd *nd) {
  return offsetof(cpu_nd, strides) + (uint64_t)nd->rank * sizeof nd->strides[0];
}

void cpu_nd_add_broadcast(cpu_nd *nd, const cpu_shape *shape, int64_t element_size) {
  int64_t contiguous[OPS_MAX_RANK], strides[OPS_MAX_RANK];
  ops_strides_contiguous(shape->rank, shape->dims, contiguous);
  ops_broadcast_strides(shape->rank, shape->dims, contiguous, nd->rank, nd->dims, strides);
  cpu_nd_add(nd, strides, element_size);
}

// Whether dimension `outer` continues where `inner` ends, for every operand.
static int can_merge(const cpu_nd *nd, int32_t outer, int32_t inner) {
  for (int32_t k = 0; k < nd->operands; ++k)
    if (nd->strides[outer][k] != nd->strides[inner][k] * nd->dims[inner]) return 0;
  return 1;
}

static void move_dim(cpu_nd *nd, int32_t to, int32_t from) {
  nd->dims[to] = nd->dims[from];
  for (int32_t k = 0; k < nd->operands; ++k) nd->strides[to][k] = nd->strides[from][k];
}

void cpu_nd_finish(cpu_nd *nd) {
  int32_t kept = 0;
  for (int32_t i = 0; i < nd->rank; ++i) {
    if (nd->dims[i] == 1) continue;
    if (kept > 0 && can_merge(nd, kept - 1, i)) {
      const int64_t outer = nd->dims[kept - 1];
      move_dim(nd, kept - 1, i);
      nd->dims[kept - 1] *= outer;
    } else {
      move_dim(nd, kept++, i);
    }
  }
  if (kept == 0) {
    nd->dims[0] = 1;
    for (int32_t k = 0; k < nd->operands; ++k) nd->strides[0][k] = 0;
    kept = 1;
  }
  nd->rank = kept;
}

typedef struct run_context {
  const cpu_nd *nd;
  void *const *bases;
  cpu_nd_body body;
  const void *context;
} run_context;

// Steps to the next innermost run; `index` counts the outer dimensions.
static void advance(const cpu_nd *nd, int64_t *index, char **pointers) {
  for (int32_t d = nd->rank - 2; d >= 0; --d) {
    for (int32_t k = 0; k < nd->operands; ++k) pointers[k] += nd->strides[d][k];
    if (++index[d] < nd->dims[d]) return;
    index[d] = 0;
    for (int32_t k = 0; k < nd->operands; ++k) pointers[k] -= nd->strides[d][k] * nd->dims[d];
  }
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run_context *run = context;
  const cpu_nd *nd = run->nd;
  const int32_t inner = nd->rank - 1;
  int64_t index[OPS_MAX_RANK], strides[CPU_ND_OPERANDS];
  char *rows[CPU_ND_OPERANDS];
  (void)worker;
  for (int32_t k = 0; k < nd->operands; ++k) {
    rows[k] = run->bases[k];
    strides[k] = nd->strides[inner][k];
  }
  int64_t rest = begin / nd->dims[inner], offset = begin % nd->dims[inner];
  for (int32_t d = inner - 1; d >= 0; --d) {
    index[d] = rest % nd->dims[d];
    rest /= nd->dims[d];
    for (int32_t k = 0; k < nd->operands; ++k) rows[k] += index[d] * nd->strides[d][k];
  }
  for (int64_t at = begin; at < end;) {
    char *pointers[CPU_ND_OPERANDS];
    int64_t count = nd->dims[inner] - offset;
    if (count > end - at) count = end - at;
    for (int32_t k = 0; k < nd->operands; ++k) pointers[k] = rows[k] + offset * strides[k];
    run->body(run->context, pointers, strides, count);
    at += count;
    offset = 0;
    if (at < end) advance(nd, index, rows);
  }
}

void cpu_nd_run(const ops_device *device, const cpu_nd *nd, void *const *bases, int64_t cost,
                cpu_nd_body body, const void *context) {
  run_context run = {nd, bases, body, context};
  cpu_parallel(device, nd->count, cpu_grain(cost), run_range, &run);
}

#define COPY_LOOP(type)                                                     \
  for (int64_t i = 0; i < count; ++i) {                                     \
    memcpy(target + i * strides[0], source + i * strides[1], sizeof(type)); \
  }                                                                         \
  break

static void copy_body(const void *context, char *const *pointers, const int64_t *strides,
                      int64_t count) {
  const int64_t size = *(const int64_t *)context;
  char *target = pointers[0];
  const char *source = pointers[1];
  if (strides[0] == size && strides[1] == size) {
    memcpy(target, source, (size_t)(count * size));
    return;
  }
  switch (size) {
    case 1:
      COPY_LOOP(uint8_t);
    case 2:
      COPY_LOOP(uint16_t);
    case 4:
      COPY_LOOP(uint32_t);
    case 8:
      COPY_LOOP(uint64_t);
    default:
      for (int64_t i = 0; i < count; ++i)
        memcpy(target + i * strides[0], source + i * strides[1], (size_t)size);
  }
}

void cpu_nd_copy(const ops_device *device, const cpu_nd *nd, void *target, const void *source,
                 int64_t element_size) {
  void *const bases[2] = {target, (void *)source};
  cpu_nd_run(device, nd, bases, 1, copy_body, &element_size);
}

typedef struct byte_copy {
  char *target;
  const char *source;
} byte_copy;

static void copy_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const byte_copy *copy = context;
  (void)worker;
  memcpy(copy->target + begin, copy->source + begin, (size_t)(end - begin));
}

void cpu_copy_bytes(const ops_device *device, void *target, const void *source, int64_t bytes) {
  byte_copy copy = {target, source};
  cpu_parallel(device, bytes, 256 * 1024, copy_range, &copy);
}

typedef struct row_copy {
  char *target;
  const char *source;
  int64_t target_stride, source_stride, bytes;
} row_copy;

static void copy_row_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const row_copy *copy = context;
  (void)worker;
  for (int64_t i = begin; i < end; ++i)
    memcpy(copy->target + i * copy->target_stride, copy->source + i * copy->source_stride,
           (size_t)copy->bytes);
}

void cpu_copy_rows(const ops_device *device, void *target, int64_t target_stride,
                   const void *source, int64_t source_stride, int64_t bytes, int64_t rows) {
  row_copy copy = {target, source, target_stride, source_stride, bytes};
  if (bytes == 0) return;
  if (rows == 1)
    cpu_copy_bytes(device, target, source, bytes);
  else
    cpu_parallel(device, rows, cpu_grain(bytes / 8), copy_row_range, &copy);
}
