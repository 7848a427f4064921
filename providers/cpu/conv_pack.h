// SPDX-License-Identifier: Apache-2.0
//
// A convolution's constant weights, rearranged once as one of this provider's own ways wants
// them, in memory that sessions share. The weights decide the way and the arrangement, so a
// kernel has one.
#ifndef CPU_CONV_PACK_H_
#define CPU_CONV_PACK_H_

#include <pthread.h>

#include "cpu.h"

typedef struct cpu_conv_pack {
  pthread_mutex_t mutex;
  ops_packed *packed;
  const float *memory;  // NULL: not made yet
} cpu_conv_pack;

void cpu_conv_pack_init(cpu_conv_pack *pack);
void cpu_conv_pack_finish(cpu_conv_pack *pack, const ops_device *device);

// An arrangement: its name, which sessions compare, its shape, and who writes it from `w`.
typedef struct cpu_conv_packing {
  ops_str name;
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
  void (*fill)(const ops_device *device, const void *plan, const float *w, float *to);
  const void *plan;
} cpu_conv_packing;

// Makes the pack if nobody has yet. `values` are the contents of `weights`. OUT_OF_MEMORY if it
// would be too large to count.
int32_t cpu_conv_pack_find(cpu_conv_pack *pack, const ops_device *device,
                           const ops_constant *weights, const float *values,
                           const cpu_conv_packing *packing, ops_error *error);

#endif  // CPU_CONV_PACK_H_
