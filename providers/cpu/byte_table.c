// SPDX-License-Identifier: Apache-2.0
//
// Functions of bytes as tables. See byte_table.h.
#include "byte_table.h"

#include <math.h>

#include "quantized.h"

cpu_byte_scale cpu_byte_scale_read(const ops_execute_request *request, uint64_t scale,
                                   uint64_t zero, int32_t type) {
  return (cpu_byte_scale){cpu_quantized_scale(request, scale, 1),
                          cpu_quantized_zero(request, zero), type};
}

double cpu_byte_real(const cpu_byte_scale *scale, uint8_t byte) {
  return ((double)cpu_quantized_at(&byte, scale->type, 0) - scale->zero) * scale->scale;
}

uint8_t cpu_byte_round(const cpu_byte_scale *scale, double real) {
  const double low = scale->type == OPS_TYPE_INT8 ? -128 : 0, high = low + 255;
  const double value = rint(real / scale->scale) + scale->zero;
  return (uint8_t)(int32_t)(value > low ? (value < high ? value : high) : low);
}

int cpu_byte_table_requantize(cpu_byte_table *table, const cpu_byte_scale *from,
                              const cpu_byte_scale *to) {
  int same = 1;
  for (int32_t i = 0; i < 256; ++i) {
    table->of[i] = cpu_byte_round(to, cpu_byte_real(from, (uint8_t)i));
    same &= table->of[i] == i;
  }
  return same;
}

typedef struct run {
  const cpu_byte_table *table;
  uint8_t *y;
  const uint8_t *x;
  int64_t y_stride, x_stride, bytes;
} run;

// Bytes [begin, end) of all rows.
static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  (void)worker;
  for (int64_t i = begin; i < end;) {
    const int64_t row = i / run->bytes, first = i - row * run->bytes;
    const int64_t left = run->bytes - first, count = end - i < left ? end - i : left;
    const uint8_t *x = run->x + row * run->x_stride + first;
    uint8_t *y = run->y + row * run->y_stride + first;
    for (int64_t k = 0; k < count; ++k) y[k] = run->table->of[x[k]];
    i += count;
  }
}

void cpu_byte_table_rows(const ops_device *device, const cpu_byte_table *table, uint8_t *y,
                         int64_t y_stride, const uint8_t *x, int64_t x_stride, int64_t bytes,
                         int64_t rows) {
  run run = {table, y, x, y_stride, x_stride, bytes};
  cpu_parallel(device, bytes * rows, cpu_grain(1), run_range, &run);
}
