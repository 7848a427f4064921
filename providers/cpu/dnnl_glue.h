// SPDX-License-Identifier: Apache-2.0
//
// oneDNN behind a narrow door: nobody else includes its headers.
//
// A plan is one primitive with the reorders around it: user tensors are plain (strided), the
// primitive works in whatever layout it likes best. Constant weights are reordered once, when
// the plan is made, into memory that sessions share. A plan is immutable; concurrent runs of it
// each borrow a run state (oneDNN's memory and stream objects) and use the caller's workspace.
//
// Whatever the caller's own setting is, oneDNN is called with one OpenMP thread: what is large
// enough for several is cut into plans that the host's workers run (dnnl_split.h).
#ifndef CPU_DNNL_GLUE_H_
#define CPU_DNNL_GLUE_H_

#include <pthread.h>

#include "cpu.h"

// One per device: the engine.
int32_t cpu_dnnl_create(const ops_device *device, cpu_dnnl **out_dnnl, ops_error *error);
void cpu_dnnl_destroy(cpu_dnnl *dnnl);
const char *cpu_dnnl_version(void);
// 1 where oneDNN's convolutions are fastest with channels last: from AVX-512 on.
int cpu_dnnl_likes_channels_last(void);

// A kernel's packed weights, one entry per layout that its plans have wanted. Lives in the
// kernel's struct.
typedef struct cpu_packs {
  const ops_device *device;
  pthread_mutex_t mutex;
  struct cpu_pack *first;
} cpu_packs;

void cpu_packs_init(cpu_packs *packs, const ops_device *device);
void cpu_packs_finish(cpu_packs *packs);  // accepts zeroes

// What the primitive does to its result, in this order.
enum { CPU_DNNL_NO_FUNCTION, CPU_DNNL_LEAKY_RELU, CPU_DNNL_CLIP };
typedef struct cpu_dnnl_post {
  int32_t
      add_target;    // 1: adds what the target holds before; the target must be the user's own
  int32_t function;  // CPU_DNNL_…
  float p[2];        // slope below zero, or bounds
} cpu_dnnl_post;

#define CPU_DNNL_SPATIAL 3

// A convolution of [batch, in_channels, in…] with weights as ONNX lays them out:
// [out_channels, in_channels / groups, kernel…], or transposed [in_channels,
// out_channels / groups, kernel…]. No dimension is 0.
typedef struct cpu_dnnl_conv {
  int32_t spatial;  // 1 … 3
  int32_t transposed;
  int32_t has_bias;
  int32_t source_last, target_last;  // 1: the tensor has its channels last; else it is plain
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[CPU_DNNL_SPATIAL], out[CPU_DNNL_SPATIAL], kernel[CPU_DNNL_SPATIAL];
  int64_t strides[CPU_DNNL_SPATIAL], dilations[CPU_DNNL_SPATIAL];
  int64_t pads_begin[CPU_DNNL_SPATIAL], pads_end[CPU_DNNL_SPATIAL];
  cpu_dnnl_post post;
} cpu_dnnl_conv;

typedef struct cpu_dnnl_plan cpu_dnnl_plan;

// Products of single elements that are summed: each input of a transposed convolution, each
// output of a plain one, meets every tap.
double cpu_dnnl_conv_products(const cpu_dnnl_conv *conv);

// `weights` is the constant content of the second operand, or NULL if it arrives with each run.
// The plan's operand begins with element `first` of it.
int32_t cpu_dnnl_plan_conv(const ops_device *device, const cpu_dnnl_conv *conv,
                           const ops_constant *weights, int64_t first, cpu_packs *packs,
                           cpu_dnnl_plan **out_plan, ops_error *error);
void cpu_dnnl_plan_destroy(cpu_dnnl_plan *plan);  // accepts NULL

// Bytes of workspace, to be aligned to 64.
uint64_t cpu_dnnl_plan_workspace(const cpu_dnnl_plan *plan);
// 1 if the weights are packed: a run does not read the operand.
int cpu_dnnl_plan_has_packed(const cpu_dnnl_plan *plan);
// oneDNN's name of the implementation; lives as long as the plan.
ops_str cpu_dnnl_plan_name(const cpu_dnnl_plan *plan);

// Runs the plan. weights may be NULL if they were constant, bias if there is none.
int32_t cpu_dnnl_plan_run(const cpu_dnnl_plan *plan, const void *source, const void *weights,
                          const void *bias, void *target, void *workspace, ops_error *error);

#endif  // CPU_DNNL_GLUE_H_
