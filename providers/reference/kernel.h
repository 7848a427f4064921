// SPDX-License-Identifier: Apache-2.0
//
// How an operator is written: one `static const` ref_op, two functions.
//
//   prepare   reads attributes, shapes and the contents of shape inputs; states the outputs;
//             keeps what execute needs in its state
//   execute   computes; writes nothing before its checks have passed; allocates nothing
//
// Everything of the ABI's life cycle around them (copies of attributes, prepared objects, views
// of arguments, workspace) is done once, in kernel.c.
#ifndef REFERENCE_KERNEL_H_
#define REFERENCE_KERNEL_H_

#include <ops/ops.h>

#include "noise.h"
#include "view.h"

#define RETURN_IF_ERROR(expression)        \
  do {                                     \
    int32_t status_ = (expression);        \
    if (status_ != OPS_OK) return status_; \
  } while (0)

struct ops_instance {
  const ops_host_api *api;
  ops_host *host;
  int64_t open_devices;  // atomic
  ref_noise noise;       // none unless an option asks for it
  double tie_shift;      // added to what is rounded to a quantised result; 0 unless asked for
};

struct ops_device {
  ops_instance *instance;
  int64_t live_kernels;  // atomic
};

typedef struct ref_shape {
  int32_t present;
  int32_t type;
  int32_t rank;
  int32_t by_execute;  // an output whose shape execute sets
  int32_t kind;        // of an input: OPS_VALUE_…; 0: absent
  int32_t element;     // of a sequence or optional of tensors: their type, if it is known
  int64_t dims[OPS_MAX_RANK];
} ref_shape;

typedef struct ref_prepare {
  const ops_kernel *kernel;
  uint64_t input_count;  // trailing absent inputs may be missing: use ref_has
  uint64_t output_count;
  const ref_shape *inputs;
  ref_shape *outputs;  // present and type are set before, from the definition
  void *state;         // state_size zeroed bytes that execute finds again
  uint64_t workspace;  // set: bytes that execute needs
  const ops_prepare_request *request;
  struct ref_memory *memory;  // of the prepared object: use ref_keep
  ops_error *error;
} ref_prepare;

typedef struct ref_run {
  const ops_kernel *kernel;
  uint64_t input_count;
  uint64_t output_count;
  const ref_view *inputs;
  ref_view *outputs;
  const void *state;
  void *workspace;  // aligned to 64 bytes
  ops_call *call;
  ops_error *error;
} ref_run;

typedef struct ref_op {
  uint64_t state_size;
  int32_t (*prepare)(ref_prepare *prepare);
  int32_t (*execute)(ref_run *run);
  const void *family;  // the operator's row, where operators share functions
  // Optional: NULL if the node can be run, else why not (static text).
  const char *(*refuse)(const ops_node *node);
} ref_op;

// A tensor of zeros but for `values`, which lie at `indices`: int64 vectors [count, rank], or
// row-major positions [count].
typedef struct ref_sparse {
  ref_view values, indices;
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
} ref_sparse;

typedef struct ref_attribute {
  ops_str name;
  int32_t kind;
  int64_t count;
  const float *floats;
  const int64_t *ints;
  const ops_str *strings;
  const ref_view *tensor;     // kind TENSOR, dense; NULL for strings
  ops_value *strings_tensor;  // kind TENSOR of strings
  const ref_sparse *sparse;   // kind SPARSE_TENSOR
} ref_attribute;

struct ops_kernel {
  const ops_kernel_def *def;
  const ref_op *op;
  ops_device *device;
  const ops_host_api *api;
  ops_host *host;
  int32_t opset;
  ops_str name;  // of the node
  const ref_attribute *attributes;
  uint64_t attribute_count;
  uint64_t absent_outputs;  // bit i: the node leaves output i out
};

extern const ops_kernel_api ref_kernel_api;

// ---- Errors: "Conv 'name': …" --------------------------------------------------------------

int32_t ref_fail(const ops_kernel *kernel, ops_error *error, int32_t status, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

// INVALID_ARGUMENT from prepare or execute.
#define ref_refuse(context, ...) \
  ref_fail((context)->kernel, (context)->error, OPS_ERROR_INVALID_ARGUMENT, __VA_ARGS__)

// Writes a record without a kernel.
int32_t ref_error(ops_error *error, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// ---- Attributes: what the node has, else the schema's default ------------------------------

const ref_attribute *ref_attr(const ops_kernel *kernel, const char *name);  // NULL: not there
int64_t ref_attr_int(const ops_kernel *kernel, const char *name, int64_t otherwise);
double ref_attr_float(const ops_kernel *kernel, const char *name, float otherwise);
// Lists; the count is 0 if the attribute is not there.
const float *ref_attr_floats(const ops_kernel *kernel, const char *name, int64_t *out_count);
const int64_t *ref_attr_ints(const ops_kernel *kernel, const char *name, int64_t *out_count);
const ops_str *ref_attr_strings(const ops_kernel *kernel, const char *name, int64_t *out_count);
int ref_attr_is(const ops_kernel *kernel, const char *name, const char *text,
                const char *otherwise);

int ref_same_text(ops_str a, ops_str b);

// An int attribute of a node view, for ref_op.refuse.
int64_t ref_node_int(const ops_node *node, const char *name, int64_t otherwise);
// Whether values of the type can be computed with: no strings, no complex numbers.
int ref_is_number(const ops_type_info *type);

// The tensor of an attribute, strings included, for prepare and execute. INVALID_ARGUMENT if it
// has none.
int32_t ref_attr_tensor(const ops_kernel *kernel, const ref_attribute *attribute,
                        ref_view *out);

// ---- Prepare -------------------------------------------------------------------------------

int ref_has(const ref_prepare *prepare, uint64_t input);
const char *ref_input_name(const ops_kernel *kernel, uint64_t input);

// Which of `count` words the attribute is; `otherwise` is the one that a node without it means.
int32_t ref_attr_choose(const ref_prepare *prepare, const char *name, const char *const *words,
                        int32_t count, const char *otherwise, int32_t *out);

int32_t ref_need_rank(const ref_prepare *prepare, uint64_t input, int32_t least, int32_t most);
// Exactly these dimensions; the input must be there.
int32_t ref_need_dims(const ref_prepare *prepare, uint64_t input, int32_t rank,
                      const int64_t *dims);
int32_t ref_same_shape(ref_prepare *prepare, uint64_t output, uint64_t input);
int32_t ref_set_shape(ref_prepare *prepare, uint64_t output, int32_t rank, const int64_t *dims);
// Broadcasts all inputs from `first` to the end into output 0.
int32_t ref_broadcast(ref_prepare *prepare, uint64_t first);
// The broadcast of opset 6 and before: output 0 has the shape of input 0; input 1 must have it,
// too, or one of its dimensions each, in a row, or a single element. The row begins at `axis`
// or, if that is REF_SUFFIX, ends at the end; *out_trailing is how many dimensions come behind
// it. Dimensions of 1 are stretched as well, as the official cases do.
int32_t ref_broadcast_to_first(ref_prepare *prepare, int64_t axis, int32_t *out_trailing);
// The same as attributes `broadcast` and `axis` ask for it.
int32_t ref_broadcast_by_attributes(ref_prepare *prepare, int32_t *out_trailing);
#define REF_SUFFIX (-1)
// All inputs must have the shape of the first, which output 0 gets.
int32_t ref_need_equal_shapes(ref_prepare *prepare);

// Brings an axis into [0, rank).
int32_t ref_axis(const ref_prepare *prepare, int64_t axis, int32_t rank, int32_t *out_axis);

// Contents of a shape input: int32 or int64 numbers, rank at most 1.
int32_t ref_contents(const ref_prepare *prepare, uint64_t input, int64_t *out, int64_t capacity,
                     int64_t *out_count);
// The same for an input that may be of a floating-point type, as counts of opset 1 are.
int32_t ref_whole_contents(const ref_prepare *prepare, uint64_t input, int64_t *out,
                           int64_t capacity, int64_t *out_count);
// A view of the contents of a shape input of any type.
int32_t ref_contents_view(const ref_prepare *prepare, uint64_t input, ref_view *out_view);

// Axes from input `input` or, if there is none, from attribute "axes": normalised, distinct.
// *out_given is 0 if neither is there.
int32_t ref_axes(const ref_prepare *prepare, uint64_t input, int32_t rank, int32_t *out_axes,
                 int32_t *out_count, int *out_given);

// `count` times `size` zeroed bytes that live as long as the state.
int32_t ref_keep(ref_prepare *prepare, uint64_t count, uint64_t size, void **out);

// Adds `bytes` to the workspace and returns where they start.
uint64_t ref_reserve(ref_prepare *prepare, uint64_t bytes);
uint64_t ref_reserve_reals(ref_prepare *prepare, int64_t count);  // doubles

// ---- Execute -------------------------------------------------------------------------------

int ref_given(const ref_run *run, uint64_t input);
const ref_view *ref_input_or_null(const ref_run *run, uint64_t input);
int ref_wanted(const ref_run *run, uint64_t output);
// The same for an output whose shape execute sets, before it has one.
int ref_asked_for(const ref_run *run, uint64_t output);

// Fixes the shape of an output that prepare left to execute, and makes its view.
int32_t ref_set_output(ref_run *run, uint64_t output, int32_t rank, const int64_t *dims);

// A view as an argument for the accessors of host values; it borrows the view.
ops_arg ref_arg_of(const ref_view *view);

// The noise that the run's intermediates get: none unless the instance was asked for it.
const ref_noise *ref_noise_in(const ref_run *run);

// What the instance was asked to add to numbers, in steps, before they are rounded to quantised
// results: it shows which of them lie near a tie. 0 else.
double ref_tie_shift(const ref_run *run);

void ref_parallel(const ref_run *run, int64_t count, int64_t grain, ops_parallel_body body,
                  void *context);

// Numbers are handled in pieces of this many, on the stack.
#define REF_CHUNK 256

#endif  // REFERENCE_KERNEL_H_
