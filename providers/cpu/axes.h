// SPDX-License-Identifier: Apache-2.0
//
// Lists of integers that are an attribute in old opsets and an input in new ones: axes, pads,
// split sizes, starts and ends.
#ifndef CPU_AXES_H_
#define CPU_AXES_H_

#include "cpu.h"

typedef struct cpu_list {
  int32_t count;  // -1: absent
  int64_t values[OPS_MAX_RANK];
} cpu_list;

// Copies a list attribute; at most OPS_MAX_RANK values, which cpu_list_claim has checked.
void cpu_list_read(const ops_node *node, const char *name, cpu_list *out_list);

// Refuses a list attribute of more than OPS_MAX_RANK values.
void cpu_list_claim(const ops_node *node, const char *name, ops_claim *claim);

// The attribute's list if there is one, else the contents of shape input `input`.
int32_t cpu_list_resolve(const ops_kernel *kernel, const cpu_list *attribute,
                         const ops_prepare_request *request, int32_t input, cpu_list *out_list,
                         ops_error *error);

// Marks the axes of a list (negative ones count from the end) in `out_marked`, rank entries.
// INVALID_ARGUMENT if one is out of range or named twice.
int32_t cpu_list_mark_axes(const ops_kernel *kernel, const cpu_list *axes, int32_t rank,
                           uint8_t *out_marked, ops_error *error);

#endif  // CPU_AXES_H_
