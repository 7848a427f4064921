// SPDX-License-Identifier: Apache-2.0
//
// Picks the loops for this machine. The variants differ in speed alone.
#include "vec.h"

extern const cpu_vec cpu_vec_base;
#if defined(CPU_HAVE_X86_VARIANTS)
extern const cpu_vec cpu_vec_avx2;
extern const cpu_vec cpu_vec_avx512;
#endif

const cpu_vec *cpu_vec_select(void) {
#if defined(CPU_HAVE_X86_VARIANTS)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return &cpu_vec_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &cpu_vec_avx2;
#endif
  return &cpu_vec_base;
}
