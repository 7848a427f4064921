// SPDX-License-Identifier: Apache-2.0
//
// Picks the loops for this machine. The variants differ in speed alone.
#include "vec.h"

#define TILE(isa)                                                                             \
  void cpu_vec_dots_##isa(const uint8_t *const *a, int32_t rows, int64_t taps, int64_t steps, \
                          const int8_t *b, uint8_t flip, const int32_t *start, int32_t *sums)
TILE(base);

extern const cpu_vec cpu_vec_base;
#if defined(CPU_HAVE_X86_VARIANTS)
extern const cpu_vec cpu_vec_avx2;
extern const cpu_vec cpu_vec_avx512;
TILE(avx2);
TILE(avx512);
TILE(vnni);
#endif

#if defined(CPU_HAVE_X86_VARIANTS)
static int has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static int has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

cpu_dots_tile cpu_dots_select(void) {
#if defined(CPU_HAVE_X86_VARIANTS)
  __builtin_cpu_init();
  if (has_avx512())
    return __builtin_cpu_supports("avx512vnni") ? cpu_vec_dots_vnni : cpu_vec_dots_avx512;
  if (has_avx2()) return cpu_vec_dots_avx2;
#endif
  return cpu_vec_dots_base;
}

const cpu_vec *cpu_vec_select(void) {
#if defined(CPU_HAVE_X86_VARIANTS)
  __builtin_cpu_init();
  if (has_avx512()) return &cpu_vec_avx512;
  if (has_avx2()) return &cpu_vec_avx2;
#endif
  return &cpu_vec_base;
}
