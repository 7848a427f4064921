// SPDX-License-Identifier: Apache-2.0
//
// A convolution cut into pieces of about equal work, which the host's workers
// run side by side. Each piece is a plan of oneDNN (dnnl_glue.h) on one thread: the host's pool
// is the only one, so that no second set of threads spins beside it.
//
// A cut never divides a sum: pieces are images of the batch, rows of the output, or filters.
// What cannot be cut so, and what is too small, is one piece.
#ifndef CPU_DNNL_SPLIT_H_
#define CPU_DNNL_SPLIT_H_

#include "dnnl_glue.h"

// Where the tensors of a piece begin in those of the whole, in elements.
typedef struct cpu_cut {
  int64_t source, weights, bias, target;
} cpu_cut;

// Into how many of at most `most` pieces the whole can be cut: at least 1.
int32_t cpu_cut_conv_count(const cpu_dnnl_conv *whole, int32_t most);

// Piece `index` of `count`, as the function above answered.
void cpu_cut_conv(const cpu_dnnl_conv *whole, int32_t index, int32_t count,
                  cpu_dnnl_conv *out_piece, cpu_cut *out_cut);

typedef struct cpu_split cpu_split;

// `weights` is the constant content of the second operand, or NULL if it arrives with each run.
int32_t cpu_split_conv(const ops_device *device, const cpu_dnnl_conv *conv,
                       const ops_constant *weights, cpu_packs *packs, cpu_split **out_split,
                       ops_error *error);
void cpu_split_destroy(cpu_split *split);  // accepts NULL

// Bytes of workspace, to be aligned to 64.
uint64_t cpu_split_workspace(const cpu_split *split);
// 1 if the weights are packed: a run does not read the operand.
int cpu_split_has_packed(const cpu_split *split);
// oneDNN's name of the implementation; lives as long as the split.
ops_str cpu_split_name(const cpu_split *split);

// weights may be NULL if they were constant, bias if there is none.
int32_t cpu_split_run(const cpu_split *split, const float *source, const float *weights,
                      const float *bias, float *target, void *workspace, ops_error *error);

#endif  // CPU_DNNL_SPLIT_H_
