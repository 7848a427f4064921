// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of bytes: what convolutions and matrix products of quantised tensors are.
//
//   sums[row][column] = sum over taps t and depth k of a[t][row][k] * b[t][k][column]
//
// modulo 2^32, with a unsigned and b signed, which is what processors multiply: int8 in a is
// flipped to a + 128 as it is read, uint8 in b is packed as b - 128. With zero points za and zb
// of what is multiplied then, the sum of (a - za)(b - zb) over K terms is
//
//   sums - za * (sum of b) - zb * (sum of a) + K * za * zb
//
// where the sum of b is packed with it. Tiles of CPU_DOTS_ROWS by CPU_DOTS_COLUMNS sums stay in
// registers. b is packed in panels of CPU_DOTS_COLUMNS columns: for each four k, the four bytes
// of column 0, of column 1, …; K is filled up with zeros. Rows of a are addressed one by one,
// as the indirect convolution of Dukhan (2019) does it, so that no matrix of windows is made.
#ifndef CPU_DOTS_H_
#define CPU_DOTS_H_

#include "cpu.h"
#include "vec.h"

// ---- The second factor ----------------------------------------------------------------------

typedef struct cpu_dots_shape {
  int64_t groups;   // independent products
  int64_t columns;  // of one group
  int64_t taps, depth;
} cpu_dots_shape;

// Where element (group, column, tap, k) of the unpacked factor is.
typedef struct cpu_dots_strides {
  int64_t group, column, tap, depth;
} cpu_dots_strides;

static inline int64_t cpu_dots_panels(const cpu_dots_shape *shape) {
  return (shape->columns + CPU_DOTS_COLUMNS - 1) / CPU_DOTS_COLUMNS;
}
// Columns of all groups, each group filled up to whole panels.
static inline int64_t cpu_dots_slots(const cpu_dots_shape *shape) {
  return shape->groups * cpu_dots_panels(shape) * CPU_DOTS_COLUMNS;
}
// taps * depth, filled up to whole steps.
static inline int64_t cpu_dots_terms(const cpu_dots_shape *shape) {
  return (shape->taps * shape->depth + CPU_DOTS_STEP - 1) / CPU_DOTS_STEP * CPU_DOTS_STEP;
}

// Bytes of the packed factor, its sums over each column included. Returns 0 if it does not fit.
int cpu_dots_packed_bytes(const cpu_dots_shape *shape, uint64_t *out_bytes);
// `type` is OPS_TYPE_INT8 or OPS_TYPE_UINT8.
void cpu_dots_pack(const ops_device *device, const cpu_dots_shape *shape,
                   const cpu_dots_strides *strides, const void *source, int32_t type,
                   void *packed);
// One sum for each slot.
const int32_t *cpu_dots_sums(const cpu_dots_shape *shape, const void *packed);

// The packed second factor: a constant, packed once and shared between sessions. Lives in the
// kernel's struct.
typedef struct cpu_dots_weights {
  const ops_device *device;
  ops_packed *packed;
  const void *memory;  // NULL: the factor arrives with each run
} cpu_dots_weights;

// `weights` holds what `shape` and `strides` describe.
int32_t cpu_dots_weights_init(cpu_dots_weights *out_weights, const ops_device *device,
                              const cpu_dots_shape *shape, const cpu_dots_strides *strides,
                              const ops_constant *weights, ops_error *error);
void cpu_dots_weights_finish(cpu_dots_weights *weights);  // accepts zeroes

// ---- Products -------------------------------------------------------------------------------

// What becomes of the sums; tables have an entry for each slot.
typedef struct cpu_dots_result {
  int32_t type;  // INT32: sum + offset; FLOAT: that times scale, plus bias; INT8, UINT8:
                 // round(that * scale / divisor) + zero, saturated
  const int32_t *offset;  // bias, and what zero points add to each column
  const int32_t *zeros;   // of columns; NULL: all are 0
  const int32_t *addend;  // of [rows, columns], with strides; NULL: none
  int64_t addend_row, addend_column;
  const double *scale;
  const float *factor;  // about scale / divisor
  double divisor;
  int32_t zero;
  const float *bias;  // [columns], of a result in FLOAT; NULL: none
  void *y;            // [rows, groups * columns]
} cpu_dots_result;

// Parameters of the factors and of the result.
typedef struct cpu_dots_quantities {
  double a_scale;
  int32_t a_zero, a_type;
  const float *b_scale;  // NULL: 1
  int64_t b_scales;      // 1, or one for each column of each group
  const void *b_zero;    // NULL: 0
  int64_t b_zeros, b_type;
  const int32_t *bias;  // for each column of each group; NULL: none
  double alpha;         // a factor of the scales
  double y_scale;
  int32_t y_zero, y_type;
} cpu_dots_quantities;

// Fills the tables, in `tables` of cpu_dots_tables_bytes.
int cpu_dots_tables_bytes(const cpu_dots_shape *shape, uint64_t *out_bytes);
void cpu_dots_fill(const cpu_dots_shape *shape, const cpu_dots_quantities *quantities,
                   const void *packed, void *tables, cpu_dots_result *out_result);

typedef struct cpu_dots_product {
  cpu_dots_shape shape;
  int64_t rows;
  int64_t direct_taps;  // in so many pieces rows are addressed, each of whole steps
  const void *packed;
  uint8_t flip;
  // Addresses `rows` rows from `row` on, in `out_rows` as cpu_dots_tile wants them. `scratch`
  // has room for CPU_DOTS_ROWS times the terms.
  void (*point)(const void *context, int64_t group, int64_t row, int32_t rows, uint8_t *scratch,
                const uint8_t **out_rows);
  const void *context;
  cpu_dots_result result;
  void *workspace;  // of cpu_dots_workspace bytes for each worker
} cpu_dots_product;

// Bytes for one worker, a multiple of 64.
int cpu_dots_workspace(const cpu_dots_shape *shape, int64_t direct_taps, uint64_t *out_bytes);
void cpu_dots_run(const ops_device *device, const cpu_dots_product *product);

#endif  // CPU_DOTS_H_
