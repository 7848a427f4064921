// SPDX-License-Identifier: Apache-2.0
//
// The life of a kernel up to execute: claim, create, prepare, and back.
#ifndef OC_RUNNER_KERNEL_H_
#define OC_RUNNER_KERNEL_H_

#include "runner/arrange.h"
#include "runner/beacon.h"
#include "runner/node_view.h"
#include "runner/target.h"

typedef struct oc_kernel {
  oc_target *target;
  oc_beacon *beacon;
  const oc_case *item;
  const oc_inputs *inputs;
  oc_node_view *view;
  oc_node_view *spoilt_view;  // that create was lent; constants point into it
  ops_claim claim;
  const ops_kernel_def *def;
  ops_kernel *kernel;
  ops_prepared *prepared;
  ops_prepare_reply reply;
  ops_output_info outputs[OC_NODE_MAX_OUTPUTS];
  size_t output_count;
  uint64_t constants;                     // bit i: input i is a constant of the graph
  const oc_arrangement *arrangements;     // one per input; NULL: all are contiguous
  size_t arguments[OC_CASE_MAX_TENSORS];  // the case's input that each of the kernel's is
  size_t argument_count;
  ops_kernel_def compiled;                      // stands for a group, which has no definition
  uint32_t input_layouts[OC_CASE_MAX_TENSORS];  // OPS_LAYOUT_STRIDED, or what was chosen
  uint32_t output_layouts[OC_NODE_MAX_OUTPUTS];
} oc_kernel;

// Borrows everything. Nothing is asked of the provider yet.
int32_t oc_kernel_init(oc_kernel *kernel, oc_target *target, oc_beacon *beacon,
                       const oc_case *item, const oc_inputs *inputs,
                       const oc_node_options *options, ops_error *error);

// Fills kernel->claim and kernel->def.
int32_t oc_kernel_claim(oc_kernel *kernel, ops_error *error);
// Whether the provider takes the whole graph of a view made with `group` as one group.
int32_t oc_kernel_claim_group(oc_kernel *kernel, bool *out_taken, ops_error *error);
// Creates the kernel of the definition or compiles the group, whose definition then declares
// nothing: no aliases, no determinism; arguments lie in memory of the device if it has its own.
// DECLINED: the group is not worth it.
int32_t oc_kernel_create(oc_kernel *kernel, ops_error *error);
// After create: the view that create was lent is spoilt, and a new one of `options` takes its
// place.
int32_t oc_kernel_renew_view(oc_kernel *kernel, const oc_node_options *options,
                             ops_error *error);
// `aliases` may be NULL. Fills reply and outputs; replaces an earlier prepared object.
int32_t oc_kernel_prepare(oc_kernel *kernel, const ops_alias *aliases, uint64_t alias_count,
                          ops_error *error);
// Asks for the layouts that the kernel can run and chooses the first that is private; the next
// prepare tells it so. *out_chosen: whether there is one.
int32_t oc_kernel_choose_layouts(oc_kernel *kernel, bool *out_chosen, ops_error *error);

// Tells the next prepare, and launches made after it, how the inputs lie: one per input,
// borrowed until finish. NULL: all are contiguous.
void oc_kernel_arrange(oc_kernel *kernel, const oc_arrangement *arrangements);

// Destroys the provider's objects, children first; what they ran on may be freed afterwards.
void oc_kernel_release(oc_kernel *kernel);
// Releases, and frees the rest. Accepts a zeroed one.
void oc_kernel_finish(oc_kernel *kernel);

// The definition of the argument that input or output `index` is, or NULL.
const ops_arg_def *oc_kernel_input_def(const oc_kernel *kernel, size_t index);
const ops_arg_def *oc_kernel_output_def(const oc_kernel *kernel, size_t index);

#endif  // OC_RUNNER_KERNEL_H_
