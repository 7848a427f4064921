// SPDX-License-Identifier: Apache-2.0
//
// Kernel definitions, claims, and the life of a kernel: create → prepare → execute.
//
//   ops_kernel_def   what a provider offers: static data, with all three contracts of the
//   operator ops_kernel       one node: its attributes and constants ops_prepared     one
//   kernel specialised to shapes: output shapes, workspace, layouts; immutable execute runs it
//   on arguments; allocates nothing
#ifndef OPS_KERNEL_H_
#define OPS_KERNEL_H_

#include <ops/host.h>
#include <ops/node.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ops_device ops_device;
typedef struct ops_stream ops_stream;
typedef struct ops_kernel ops_kernel;
typedef struct ops_prepared ops_prepared;
typedef struct ops_kernel_def ops_kernel_def;

// ---- Claims ---------------------------------------------------------------------------------

#define OPS_CLAIM_UNSUPPORTED 0
#define OPS_CLAIM_SUPPORTED 1
#define OPS_CLAIM_ONLY_IN_GROUP 2

// Why a node is refused. OPS_REASON_LIST says which to choose.
#define OPS_REASON_NONE 0
#define OPS_REASON_OPERATOR 1
#define OPS_REASON_ATTRIBUTE 2
#define OPS_REASON_TYPE 3
#define OPS_REASON_SHAPE 4
#define OPS_REASON_LAYOUT 5
#define OPS_REASON_FEATURE 6
#define OPS_REASON_CONSTANT 7
#define OPS_REASON_ARITY 8

// X(constant, name in reports, when to choose it)
#define OPS_REASON_LIST(X)                                                              \
  X(OPS_REASON_NONE, "none", "Not refused.")                                            \
  X(OPS_REASON_OPERATOR, "operator", "No definition of this operator, opset or chain.") \
  X(OPS_REASON_ATTRIBUTE, "attribute", "The value of an attribute.")                    \
  X(OPS_REASON_TYPE, "type", "An element type, or the precision it implies.")           \
  X(OPS_REASON_SHAPE, "shape", "A rank or dimension.")                                  \
  X(OPS_REASON_LAYOUT, "layout", "A layout or strides.")                                \
  X(OPS_REASON_FEATURE, "feature", "The device lacks a hardware feature.")              \
  X(OPS_REASON_CONSTANT, "constant", "An input must be a constant of the graph.")       \
  X(OPS_REASON_ARITY, "arity", "Which inputs are given or which outputs are used.")

// The answer to "can you run this node?". It binds: after SUPPORTED only out of memory, device
// lost, cancelled, declined at compile, or data outside the contract may fail. Asked twice, the
// answer is the same. Output struct.
typedef struct ops_claim {
  uint64_t struct_size;
  int32_t answer;  // OPS_CLAIM_…
  int32_t reason;  // OPS_REASON_… when UNSUPPORTED
  int32_t
      preference;  // between providers; among one provider's definitions def.preference counts
  uint32_t text_size;
  char text[256];  // UTF-8, terminated: "dilations must be 1, found [2, 2]"
} ops_claim;

// ---- Definitions ----------------------------------------------------------------------------

// ops_arg_def.flags
#define OPS_ARG_OPTIONAL ((uint32_t)1 << 0)  // may be ABSENT; outputs without it never are
#define OPS_ARG_VARIADIC ((uint32_t)1 << 1)  // last only: stands for one or more arguments
#define OPS_ARG_CONSTANT ((uint32_t)1 << 2)  // must be a constant of the graph
#define OPS_ARG_SHAPE_INPUT \
  ((uint32_t)1 << 3)                        // its contents arrive in prepare, in host memory
#define OPS_ARG_STRIDED ((uint32_t)1 << 4)  // any element strides; else row-major contiguous

// What a kernel accepts as one argument.
typedef struct ops_arg_def {
  uint64_t struct_size;
  ops_str name;         // of the operator's schema: "X", "axes"
  ops_str type_param;   // arguments with the same one ("T") have the same element type
  uint64_t types;       // set of OPS_TYPE_BIT; 0: not a tensor
  int32_t memory_kind;  // where execute finds it: OPS_MEMORY_…
  uint32_t flags;       // OPS_ARG_…
  uint64_t alignment;   // of the first element, in bytes, a power of two; 0: the element's own
  uint64_t read_padding;  // bytes behind the last element that the kernel may read
} ops_arg_def;

// ops_alias_def.flags and ops_alias.flags
#define OPS_ALIAS_MAY ((uint32_t)1 << 0)       // output may be computed in place of the input
#define OPS_ALIAS_MUST ((uint32_t)1 << 1)      // they always share memory (caches, views)
#define OPS_ALIAS_VARIADIC ((uint32_t)1 << 2)  // the k-th variadic input with the k-th output
// The only output is the input, element by element, in another shape or the same (Reshape,
// Identity). A host that lets both share memory need not run the kernel, whoever else reads
// them.
#define OPS_ALIAS_VIEW ((uint32_t)1 << 3)

typedef struct ops_alias_def {
  uint64_t struct_size;
  int32_t input;  // of the node: operands of post-operations follow the own inputs
  int32_t output;
  uint32_t flags;
  uint32_t reserved;  // 0
} ops_alias_def;

// The fields by which a definition holds its aliases, as OPS_LIST does for other arrays.
#define OPS_ALIASES(array)                                             \
  .aliases = (array), .alias_count = sizeof(array) / sizeof(array)[0], \
  .alias_stride = sizeof(array)[0]

// An operator that a kernel absorbs as a post-operation.
typedef struct ops_post_op_def {
  uint64_t struct_size;
  ops_str domain;
  ops_str op;
  int32_t since;  // first and last opset; until 0: no end
  int32_t until;
} ops_post_op_def;

// Dynamic-shape class: what a new shape costs.
#define OPS_DYNAMIC_STATIC 0          // shapes are fixed when the kernel is created
#define OPS_DYNAMIC_BOUNDED 1         // up to bounds known when it is created
#define OPS_DYNAMIC_FULL 2            // any shape, one prepare each
#define OPS_DYNAMIC_DATA_DEPENDENT 3  // output shapes depend on input contents

#define OPS_DETERMINISM_NONE 0
#define OPS_DETERMINISM_RUN 1      // same addresses, same bits
#define OPS_DETERMINISM_BITWISE 2  // also other addresses, thread counts and processes

// ops_kernel_def.flags
#define OPS_KERNEL_REENTRANT ((uint32_t)1 << 0)   // one prepared object serves concurrent runs
#define OPS_KERNEL_CAPTURABLE ((uint32_t)1 << 1)  // legal between capture_begin and capture_end
#define OPS_KERNEL_ASYNC ((uint32_t)1 << 2)       // execute may return before the work is done
#define OPS_KERNEL_TRANSFORMED ((uint32_t)1 << 3)  // Winograd, FFT: wider error bound
#define OPS_KERNEL_FLUSHES_DENORMALS ((uint32_t)1 << 4)

// ops_kernel_def.reduced_modes: lower precision that the kernel may use on its own account
#define OPS_REDUCED_TF32 ((uint32_t)1 << 0)
#define OPS_REDUCED_BFLOAT16 ((uint32_t)1 << 1)
#define OPS_REDUCED_FLOAT16 ((uint32_t)1 << 2)

typedef struct ops_kernel_api ops_kernel_api;

// What a provider offers for one operator (or one type of it). Static; lives as long as the
// library.
struct ops_kernel_def {
  uint64_t struct_size;
  ops_str domain;  // "" is ai.onnx
  ops_str op;
  int32_t since;  // opset versions of the domain, inclusive; until 0: no end
  int32_t until;
  ops_str name;  // of the implementation, for profiles and messages
  const ops_arg_def *inputs;
  uint64_t input_count;
  uint64_t input_stride;
  const ops_arg_def *outputs;
  uint64_t output_count;
  uint64_t output_stride;
  const ops_alias_def *aliases;
  uint64_t alias_count;
  uint64_t alias_stride;
  const ops_post_op_def *post_ops;
  uint64_t post_op_count;
  uint64_t post_op_stride;
  const ops_str *features;  // hardware features needed, by the device's names
  uint64_t feature_count;
  uint32_t max_post_ops;      // length of the longest chain absorbed
  uint32_t flags;             // OPS_KERNEL_…
  int32_t dynamic_shape;      // OPS_DYNAMIC_…
  int32_t determinism;        // OPS_DETERMINISM_…
  int32_t compute_type;       // OPS_TYPE_…; 0: the type of the arguments
  int32_t accumulation_type;  // likewise
  uint32_t reduced_modes;     // OPS_REDUCED_…
  int32_t preference;  // among definitions that match one node, the highest is asked first
  const ops_kernel_api *api;  // required
  const void *context;        // the provider's own; lets a family of operators share functions
};

// ---- Prepare --------------------------------------------------------------------------------

// How the shape of an output becomes known.
#define OPS_SHAPE_KNOWN 0      // dims are the shape
#define OPS_SHAPE_BOUNDED 1    // dims are upper bounds; the shape arrives with completion
#define OPS_SHAPE_HOST_SYNC 2  // execute calls set_output_shape; dims are ignored

// An output as prepare states it. Output struct.
typedef struct ops_output_info {
  uint64_t struct_size;
  int32_t mode;  // OPS_SHAPE_…
  int32_t type;
  int32_t rank;
  uint32_t layout;     // as the request asked
  uint64_t max_bytes;  // BOUNDED and private layouts; else 0: computed from dims
  int64_t dims[OPS_MAX_RANK];
} ops_output_info;

// This call's alias: output `output` shares the memory of input `input`.
typedef struct ops_alias {
  uint64_t struct_size;
  int32_t input;
  int32_t output;
  uint32_t flags;          // OPS_ALIAS_MAY or OPS_ALIAS_MUST
  uint32_t reserved;       // 0
  uint64_t written_begin;  // byte range that is written
  uint64_t written_end;
} ops_alias;

typedef struct ops_prepare_request {
  uint64_t struct_size;
  const ops_operand
      *inputs;           // types complete, with dims, strides and the layouts chosen; contents
  uint64_t input_count;  // of shape inputs and constants in `constant`
  uint64_t input_stride;
  const uint32_t *output_layouts;  // one for each output; NULL: all OPS_LAYOUT_STRIDED
  const ops_alias *aliases;
  uint64_t alias_count;
  uint64_t alias_stride;
} ops_prepare_request;

// Filled by prepare. Output struct.
typedef struct ops_prepare_reply {
  uint64_t struct_size;
  ops_prepared *prepared;        // owned by the host until prepared_destroy
  ops_output_info *outputs;      // in: an array of the host, one per output of the node
  uint64_t output_count;         // in
  uint64_t output_stride;        // in
  uint64_t workspace_size;       // bytes that each execute needs; 0: none
  uint64_t workspace_alignment;  // a power of two; 0: the device's minimum
  int32_t workspace_memory_kind;
  int32_t reserved;
  ops_str
      implementation;  // which one was chosen and why, for the profile; lives with `prepared`
  // Bit i: execute does not read constant input i, since `prepared` holds it packed. What its
  // argument points to is then undefined. Unlike released_constants this says nothing of later
  // calls of prepare.
  uint64_t unread_inputs;
} ops_prepare_reply;

// ---- Execute --------------------------------------------------------------------------------

typedef struct ops_execute_request {
  uint64_t struct_size;
  const ops_arg *inputs;  // ops_arg is frozen: a plain array
  uint64_t input_count;
  const ops_arg *outputs;  // in mode HOST_SYNC: kind ABSENT until set_output_shape
  uint64_t output_count;
  const ops_arg *output_dims;  // NULL, or per output: an int64 vector to receive the shape of a
                               // BOUNDED output, complete with the work, else ABSENT
  void *workspace;             // handle of workspace_memory_kind; NULL if none was asked for
  uint64_t workspace_offset;   // bytes
  uint64_t workspace_size;
  ops_call *call;        // for set_output_shape and is_cancelled
  uint64_t correlation;  // for ops_profile_record
} ops_execute_request;

// A combination of layouts that a kernel can run, and its cost relative to the others.
typedef struct ops_layout_choice {
  uint64_t struct_size;
  double cost;                    // seconds, or any unit the same for all choices of the device
  const uint32_t *input_layouts;  // one per input; live as long as the kernel
  const uint32_t *output_layouts;
} ops_layout_choice;

// Estimated work of one execute. Output struct.
typedef struct ops_cost {
  uint64_t struct_size;
  double flops;
  double bytes;
  double seconds;  // 0: unknown
} ops_cost;

// Receives a compiled blob piece by piece.
typedef int32_t (*ops_blob_writer)(void *context, const void *data, uint64_t size);

// The functions behind a definition; also those of a compiled group. All are thread-safe unless
// they say otherwise.
struct ops_kernel_api {
  uint64_t struct_size;

  // Optional; NULL: the definition's types, ranks and flags say all. The host has checked
  // domain, opset, arity, types, constants and the post-operation chain against the definition
  // before.
  int32_t (*claim)(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                   ops_claim *out_claim, ops_error *error);

  // Required. Copies attributes out of `node`. The contents of constants stay valid until
  // destroy, so they may be kept by pointer. *out_kernel is owned by the host until destroy.
  // `def` is NULL for compiled groups, which are created by ops_group_api.
  int32_t (*create)(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                    ops_kernel **out_kernel, ops_error *error);

  // Required. No prepared object of the kernel may be alive. Accepts NULL.
  void (*destroy)(ops_kernel *kernel);

  // Optional, asked once after create. Bit i set: the kernel has packed constant input i and
  // will not read the original again, so the host may give its memory back.
  uint64_t (*released_constants)(const ops_kernel *kernel);

  // Optional. Writes up to `capacity` choices, the best first, and their full number.
  int32_t (*query_layouts)(ops_kernel *kernel, const ops_prepare_request *request,
                           ops_layout_choice *out_choices, uint64_t capacity, uint64_t stride,
                           uint64_t *out_count, ops_error *error);

  // Required. States output shapes and workspace for these input shapes. Warming up means this.
  // INVALID_ARGUMENT if the shapes break the operator's rules.
  int32_t (*prepare)(ops_kernel *kernel, const ops_prepare_request *request,
                     ops_prepare_reply *reply, ops_error *error);

  // Required. No execute of it may be pending. Accepts NULL.
  void (*prepared_destroy)(ops_prepared *prepared);

  // Required. Enqueues on `stream`, or runs at once if stream is NULL (a provider without
  // streams). Re-entrant if the definition says so, else one at a time per prepared object.
  // Descriptors are borrowed for the call; contents of arguments and workspace belong to the
  // device until the work completes. An error means that nothing was enqueued, or that the
  // stream is sticky-failed.
  int32_t (*execute)(ops_prepared *prepared, const ops_execute_request *request,
                     ops_stream *stream, ops_error *error);

  // Optional.
  int32_t (*cost)(ops_kernel *kernel, const ops_prepare_request *request, ops_cost *out_cost,
                  ops_error *error);

  // Optional. Writes the compiled kernel; ops_group_api.load reads it back.
  int32_t (*save)(ops_kernel *kernel, ops_blob_writer write, void *context, ops_error *error);
};

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_KERNEL_H_
