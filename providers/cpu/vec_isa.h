// SPDX-License-Identifier: Apache-2.0
//
// Names that carry the instruction set: the files that include this one are compiled once for
// each, with CPU_ISA defined as base, avx2 or avx512.
#ifndef CPU_VEC_ISA_H_
#define CPU_VEC_ISA_H_

#include "vec.h"

#define CPU_ISA_JOIN2(name, isa) name##_##isa
#define CPU_ISA_JOIN(name, isa) CPU_ISA_JOIN2(name, isa)
#define CPU_ISA_NAME(name) CPU_ISA_JOIN(name, CPU_ISA)
#define CPU_ISA_QUOTE2(isa) #isa
#define CPU_ISA_QUOTE(isa) CPU_ISA_QUOTE2(isa)
#define CPU_ISA_TEXT CPU_ISA_QUOTE(CPU_ISA)

// Bytes of a register of floats, and the columns of a packed panel: three registers.
#if defined(__AVX512F__)
#define CPU_ISA_VECTOR 64
#elif defined(__AVX2__)
#define CPU_ISA_VECTOR 32
#else
#define CPU_ISA_VECTOR 16
#endif
#define CPU_ISA_PANEL (3 * CPU_ISA_VECTOR / (int)sizeof(float))

#define X(name) \
  void CPU_ISA_NAME(cpu_vec_##name)(const float *x, float *y, int64_t count, const float *p);
CPU_UNARY_LIST(X)
#undef X
void CPU_ISA_NAME(cpu_vec_depthwise)(const cpu_vec_tile *tile, float *y, const float *x);
void CPU_ISA_NAME(cpu_vec_max_window)(const cpu_vec_tile *tile, float *y, const float *x);
void CPU_ISA_NAME(cpu_vec_mean_window)(const cpu_vec_tile *tile, float *y, const float *x);
void CPU_ISA_NAME(cpu_vec_transpose)(const float *x, int64_t x_row, float *y, int64_t y_row,
                                     int64_t rows, int64_t columns);
void CPU_ISA_NAME(cpu_vec_max_taps)(const cpu_vec_taps *taps, float *y, const float *x,
                                    int64_t channels);
void CPU_ISA_NAME(cpu_vec_mean_taps)(const cpu_vec_taps *taps, float *y, const float *x,
                                     int64_t channels);
void CPU_ISA_NAME(cpu_vec_affine_channels)(const float *x, float *y, int64_t count,
                                           const double *mean, const double *scale,
                                           const float *shift);
void CPU_ISA_NAME(cpu_vec_panel_product)(const cpu_vec_product *p, int64_t begin, int64_t end);
extern const int64_t CPU_ISA_NAME(cpu_vec_panel_width);
void CPU_ISA_NAME(cpu_vec_widen_float16)(const uint16_t *x, float *y, int64_t count);
void CPU_ISA_NAME(cpu_vec_widen_bfloat16)(const uint16_t *x, float *y, int64_t count);
void CPU_ISA_NAME(cpu_vec_narrow_float16)(const float *x, uint16_t *y, int64_t count);
void CPU_ISA_NAME(cpu_vec_narrow_bfloat16)(const float *x, uint16_t *y, int64_t count);
void CPU_ISA_NAME(cpu_vec_add_product)(float *y, const float *a, const float *b, int64_t count);
void CPU_ISA_NAME(cpu_vec_two_products)(float *y, const float *a, const float *b,
                                        const float *c, const float *d, int64_t count);
void CPU_ISA_NAME(cpu_vec_mix)(float *y, const float *z, const float *a, const float *b,
                               int64_t count);
void CPU_ISA_NAME(cpu_vec_transpose_bytes)(const uint8_t *x, int64_t x_row, uint8_t *y,
                                           int64_t y_row, int64_t rows, int64_t columns);
void CPU_ISA_NAME(cpu_vec_max_bytes)(const cpu_vec_taps *taps, uint8_t *y, const uint8_t *x,
                                     int64_t channels, int32_t is_signed);
void CPU_ISA_NAME(cpu_vec_sum_bytes)(const cpu_vec_taps *taps, int32_t *y, const uint8_t *x,
                                     int64_t channels, int32_t is_signed);
void CPU_ISA_NAME(cpu_vec_requantize)(const cpu_vec_requantize *q, const int32_t *sums,
                                      uint8_t *y, int64_t count);
void CPU_ISA_NAME(cpu_vec_quantized_add)(const cpu_vec_quantized *q, uint8_t *y,
                                         const uint8_t *a, const uint8_t *b, int64_t a_step,
                                         int64_t b_step, int64_t count);
void CPU_ISA_NAME(cpu_vec_quantized_multiply)(const cpu_vec_quantized *q, uint8_t *y,
                                              const uint8_t *a, const uint8_t *b,
                                              int64_t a_step, int64_t b_step, int64_t count);
void CPU_ISA_NAME(cpu_vec_dots)(const uint8_t *const *a, int32_t rows, int64_t taps,
                                int64_t steps, const int8_t *b, uint8_t flip,
                                const int32_t *start, int32_t *sums);
extern const cpu_quantize_fn CPU_ISA_NAME(cpu_vec_quantize)[OPS_TYPE_COUNT];
extern const cpu_dequantize_fn CPU_ISA_NAME(cpu_vec_dequantize)[OPS_TYPE_COUNT];
void CPU_ISA_NAME(cpu_vec_winograd_weights)(const float *w, int64_t filters, int64_t channels,
                                            float *u);
void CPU_ISA_NAME(cpu_vec_winograd_input)(const float *const *pixels, float *v, int64_t step,
                                          int64_t channels);
void CPU_ISA_NAME(cpu_vec_winograd_product)(const float *v, int64_t rows, int64_t channels,
                                            const float *u, float *m);
int CPU_ISA_NAME(cpu_vec_winograd_output)(const float *m, int64_t step, float *sums);
void CPU_ISA_NAME(cpu_vec_winograd_finish)(const cpu_vec_finish *finish, const float *sums,
                                           const float *bias, const float *residual, float *y,
                                           int64_t count);
void CPU_ISA_NAME(cpu_vec_pack)(const float *b, int64_t b_row, float *packed, int64_t depth,
                                int64_t columns);
void CPU_ISA_NAME(cpu_vec_multiply_block)(const cpu_vec_block *block);
void CPU_ISA_NAME(cpu_vec_row_times)(const float *x, const float *b, int64_t b_row, float *y,
                                     int64_t depth, int64_t columns);
void CPU_ISA_NAME(cpu_vec_row_times_transposed)(const float *x, const float *b, int64_t b_row,
                                                float *y, int64_t depth, int64_t columns);
extern const cpu_binary_fn CPU_ISA_NAME(cpu_vec_binary)[CPU_BINARY_COUNT][OPS_TYPE_COUNT];

// Every element is computed from its own inputs alone, so an output may be an input.
#define CPU_SIMD_FOR _Pragma("omp simd") for (int64_t i = 0; i < count; ++i)

#endif  // CPU_VEC_ISA_H_
