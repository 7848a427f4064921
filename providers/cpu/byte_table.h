// SPDX-License-Identifier: Apache-2.0
//
// Functions of bytes as tables of their 256 results, indexed by the byte as it lies in memory.
#ifndef CPU_BYTE_TABLE_H_
#define CPU_BYTE_TABLE_H_

#include "cpu.h"

typedef struct cpu_byte_table {
  uint8_t of[256];
} cpu_byte_table;

// How numbers of a type become real, real = (n - zero) * scale, and back, with one division:
// ties are found exactly.
typedef struct cpu_byte_scale {
  double scale;
  int32_t zero, type;
} cpu_byte_scale;

// Scale and zero point are inputs of one number.
cpu_byte_scale cpu_byte_scale_read(const ops_execute_request *request, uint64_t scale,
                                   uint64_t zero, int32_t type);
double cpu_byte_real(const cpu_byte_scale *scale, uint8_t byte);
uint8_t cpu_byte_round(const cpu_byte_scale *scale, double real);

// From one quantisation to another. Returns 1 if it leaves every byte as it is.
int cpu_byte_table_requantize(cpu_byte_table *table, const cpu_byte_scale *from,
                              const cpu_byte_scale *to);

// y = table[x] for `rows` rows of `bytes` bytes, split between workers; strides in bytes.
void cpu_byte_table_rows(const ops_device *device, const cpu_byte_table *table, uint8_t *y,
                         int64_t y_stride, const uint8_t *x, int64_t x_stride, int64_t bytes,
                         int64_t rows);

#endif  // CPU_BYTE_TABLE_H_
