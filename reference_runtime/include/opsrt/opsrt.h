// SPDX-License-Identifier: Apache-2.0
//
// The runtime's public C API: models in, outputs out.
//
//   opsrt_session_create    model + providers in order of preference → session
//   opsrt_session_run       named inputs in host memory → result
//   opsrt_session_…         metadata, placement, memory, profile
//   opsrt_model_check       a model without any provider
//   opsrt_provider_open     a provider without any model
//
// Calls that can fail return a status of <ops/status.h> and fill `error`, which may be NULL.
// Output pointers are NULL after a failure. Structs that the caller fills begin as zeros, and
// zero is a sensible value for every field that is not marked required. Strings are UTF-8.
//
// A session is thread-safe: any number of threads may run it and read from it at once. Each run
// has its own activation memory, streams and events; weights are shared. Only destroy must not
// overlap with other calls.
#ifndef OPSRT_OPSRT_H_
#define OPSRT_OPSRT_H_

#include <ops/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opsrt_session opsrt_session;
typedef struct opsrt_result opsrt_result;
typedef struct opsrt_provider opsrt_provider;

// The provider's name in placements of control flow that the runtime runs itself.
#define OPSRT_RUNTIME "runtime"
// The provider that runs what no other takes.
#define OPSRT_FALLBACK_PROVIDER "reference"

// ---- Models ---------------------------------------------------------------------------------

// Where a model comes from: a file, or bytes in memory.
typedef struct opsrt_model_source {
  // NULL: from `data`. The file is mapped while the session lives: it may be replaced by a
  // rename, but not changed in place.
  const char *path;
  const void *data;  // `size` bytes, not needed after the call
  uint64_t size;
  const char *base_dir;  // of external data for models from memory; NULL: refuse such models
} opsrt_model_source;

// Reads the model, checks it against the operators' schemas and infers its types; loads no
// provider.
int32_t opsrt_model_check(const opsrt_model_source *model, ops_error *error);

// Writes a model of one node for any ONNX runtime: operands without constant become its inputs,
// those with one its initializers, under their names (a name that another value has already
// gets its position behind it). Nothing is checked. UNSUPPORTED for values that are no tensors,
// bodies and sparse constants. The file appears whole or not at all.
int32_t opsrt_model_write_node(const char *path, const ops_node *node, ops_error *error);

// ---- Sessions -------------------------------------------------------------------------------

// How much an arena takes from the system when a run needs more than it has: just that, or a
// power of two that also doubles what the arena has, so that it grows seldom.
#define OPSRT_ARENA_SAME_AS_REQUESTED 0
#define OPSRT_ARENA_NEXT_POWER_OF_TWO 1

#define OPSRT_DEFAULT_MAX_PLANS 32u

// A provider to load. A name without '/' is looked for in the working directory, the provider
// folder and the loader path, as "x" and as "libops_x.so".
typedef struct opsrt_provider_spec {
  const char *name;  // required
  const ops_key_value *options;
  uint64_t option_count;
  uint64_t device;  // index of its device
} opsrt_provider_spec;

// In which type nodes compute that the model has in float; needs level 2.
#define OPSRT_PRECISION_KEEP 0      // float
#define OPSRT_PRECISION_FLOAT16 1   // whatever a provider takes so
#define OPSRT_PRECISION_BFLOAT16 2  // likewise
#define OPSRT_PRECISION_MIXED 3  // sums of products and what follows them; the rest stays float

typedef struct opsrt_precision_override {
  const char *name;   // of an operator ("Softmax"), or of a node of the model
  int32_t precision;  // OPSRT_PRECISION_…
} opsrt_precision_override;

// Packed weights that sessions of one process share: whichever packs a constant first, the
// others with the same contents, packing and provider take the same copy. What no session uses
// any more goes. Thread-safe: sessions may be made, run and destroyed at once.
typedef struct opsrt_shared_weights opsrt_shared_weights;
int32_t opsrt_shared_weights_create(opsrt_shared_weights **out_weights, ops_error *error);
// Sessions hold references of their own. Accepts NULL.
void opsrt_shared_weights_release(opsrt_shared_weights *weights);
// Bytes of all packed weights, and their number in *out_count, which may be NULL.
uint64_t opsrt_shared_weights_bytes(const opsrt_shared_weights *weights, uint64_t *out_count);

typedef struct opsrt_session_options {
  opsrt_model_source model;              // required
  const opsrt_provider_spec *providers;  // the most preferred first; none: the fallback alone
  uint64_t provider_count;
  const char *provider_dir;  // where bare names are looked for; NULL: the installed folder
  int32_t no_fallback;       // 1: a node that no listed provider takes is an error
  int32_t profile;           // 1: record a profile of every run
  int32_t workers;           // threads lent to kernels; 0: one per core
  int32_t no_memory_reuse;   // 1: every value has memory of its own (for finding bugs)
  // Threads that run independent branches of the graph at once, where all of its kernels run on
  // the calling thread; 0 or 1: node by node. Outputs are the same. Kernels share the workers:
  // it pays for graphs of many small kernels that do not fill them.
  int32_t branch_threads;
  int32_t no_capture;  // 1: work is not captured and replayed where a device offers it
  uint32_t max_plans;  // execution plans kept, one per set of input shapes; 0: the default
  // 1: every operator that ONNX defines as a function is replaced by the function, not only
  // where no provider takes it: to compare the two, and to find which piece is wrong.
  int32_t expand_functions;
  // Optimization: 0 none, 1 exact, 2 fusions that may change rounding, 3 layouts. At 0 a
  // session does what the model says, node by node.
  int32_t level;
  const char *const *disabled_passes;  // names that opsrt_pass_at gives
  uint64_t disabled_pass_count;
  int32_t freeze_initializers;  // 1: inputs that have a default are constants
  int32_t
      verbosity;    // of providers on stderr: 0 warnings, 1 also news, 2 everything, -1 errors
  int32_t explain;  // 1: keep what each pass did and nearly did, and prove the graph after it
  // Memory of each device and kind. What the maximum does not allow fails with OUT_OF_MEMORY: a
  // model cannot take the machine. What providers allocate inside their kernels, and strings
  // and sequences, are not counted.
  uint64_t memory_maximum;   // bytes that the session may hold; 0: as much as there is
  int32_t arena_extend;      // how an arena grows: OPSRT_ARENA_…
  int32_t shrink_after_run;  // 1: what no run uses goes back to the system when a run ends
  uint64_t arena_initial;    // bytes that an arena begins with, at least
  // 1: providers' rewrite rules, which replace operators that a provider lacks by ones that it
  // has, are not applied. They are at every level.
  int32_t no_rewrites;
  int32_t precision;                                    // OPSRT_PRECISION_…
  const opsrt_precision_override *precision_overrides;  // the last that fits a node counts
  uint64_t precision_override_count;
  opsrt_shared_weights *shared_weights;  // NULL: packed weights are the session's own
  // NULL: none. Else a validation layer stands between the session and each provider, and every
  // breach of the provider ABI is reported here, once, from any thread, until the session is
  // destroyed: `side` 0 is a note, 1 a fault of the runtime, 2 one of the provider; `clause` is
  // "MEMORY-1" or the like, "" of a note; both texts are borrowed for the call.
  void (*finding)(void *context, int32_t side, const char *clause, const char *text);
  void *finding_context;
} opsrt_session_options;

// Fails with IO, INVALID_MODEL, NOT_FOUND (no such provider), UNSUPPORTED (a node that nobody
// runs: the message gives each provider's reason) and what providers report.
int32_t opsrt_session_create(const opsrt_session_options *options, opsrt_session **out_session,
                             ops_error *error);
void opsrt_session_destroy(opsrt_session *session);  // accepts NULL

// An input or output of the model. Everything is borrowed from the session.
typedef struct opsrt_info {
  const char *name;
  const char *text;            // the type as people read it: "float[N,3,224,224]"
  int32_t kind;                // OPS_VALUE_…
  int32_t type;                // element type, OPS_TYPE_…; of a map: the type of its keys
  int32_t rank;                // -1: unknown
  int32_t optional;            // 1: an input that has a default
  const int64_t *dims;         // `rank` entries, -1 where not fixed
  const char *const *symbols;  // `rank` entries: "N", "floor(H/4)"; "" where there is none
} opsrt_info;

uint64_t opsrt_session_input_count(const opsrt_session *session);
const opsrt_info *opsrt_session_input(const opsrt_session *session, uint64_t index);
uint64_t opsrt_session_output_count(const opsrt_session *session);
const opsrt_info *opsrt_session_output(const opsrt_session *session, uint64_t index);

// ---- Optimization ---------------------------------------------------------------------------

// A pass of the optimizer.
typedef struct opsrt_pass {
  const char *name;
  int32_t level;    // the lowest at which it runs
  const char *doc;  // one line
} opsrt_pass;

// The passes, in the order in which they run; a zeroed *out_pass beyond the last.
uint64_t opsrt_pass_count(void);
void opsrt_pass_at(uint64_t index, opsrt_pass *out_pass);

// How often pass `index` rewrote the model of this session.
uint64_t opsrt_session_pass_hits(const opsrt_session *session, uint64_t index);

// The time that pass `index` took, without proving its result (`explain`).
uint64_t opsrt_session_pass_ns(const opsrt_session *session, uint64_t index);

// A part of making the session, in the order of time: reading the file, checking it … preparing
// kernels.
typedef struct opsrt_load_phase {
  const char *name;
  uint64_t ns;
} opsrt_load_phase;

uint64_t opsrt_session_load_phase_count(const opsrt_session *session);
const opsrt_load_phase *opsrt_session_load_phase(const opsrt_session *session, uint64_t index);

// What a pass or a provider's rewrite rule did, or what it did not do because of the condition
// that the text names. Only of sessions made with `explain`.
typedef struct opsrt_pass_note {
  const char *pass;  // of a rule "provider/rule"
  int32_t hit;       // 1: done; 0: a near miss
  const char *text;
} opsrt_pass_note;

uint64_t opsrt_session_pass_note_count(const opsrt_session *session);
const opsrt_pass_note *opsrt_session_pass_note(const opsrt_session *session, uint64_t index);

// Optimizes the model as a session with these options would, and writes the result to `path` as
// an ONNX model, whole or not at all. No operator becomes newer than the opset that the model
// imports. `out_hits`: opsrt_pass_count() counts, or NULL. Fails like opsrt_session_create.
int32_t opsrt_model_optimize(const opsrt_session_options *options, const char *path,
                             uint64_t *out_hits, ops_error *error);

// ---- Running --------------------------------------------------------------------------------

// A value in host memory. As an input it is borrowed for the call; as an output it belongs to
// the result.
typedef struct opsrt_value {
  const char *name;  // required: of the model's input or output
  int32_t kind;      // OPS_VALUE_…; 0 as an input: TENSOR, or STRINGS if the type is STRING
  int32_t type;      // OPS_TYPE_…
  int32_t rank;
  const int64_t *dims;
  const void *data;        // row-major, `size` bytes; narrow types packed
  uint64_t size;           // bytes
  const ops_str *strings;  // STRINGS: one per element
  ops_value *value;        // SEQUENCE, OPTIONAL, MAP: read through opsrt_value_api
} opsrt_value;

// Runs the model. Every input without default must be given, by name, once. Fails with
// INVALID_ARGUMENT (missing, unknown or ill-typed input; the message lists what is expected)
// or with the error of a node, whose name begins the message. The caller owns *out_result.
int32_t opsrt_session_run(opsrt_session *session, const opsrt_value *inputs,
                          uint64_t input_count, opsrt_result **out_result, ops_error *error);

// Ends runs early, from any thread. One token may serve any number of runs, also at once.
typedef struct opsrt_cancel opsrt_cancel;
int32_t opsrt_cancel_create(opsrt_cancel **out_cancel, ops_error *error);
// No run may be using it. Accepts NULL.
void opsrt_cancel_destroy(opsrt_cancel *cancel);
// Runs with this token end CANCELLED: at once between two nodes, while a node runs as soon as
// its provider lets them. Later runs with it end before their first node, until it is reset.
void opsrt_cancel_request(opsrt_cancel *cancel);
void opsrt_cancel_reset(opsrt_cancel *cancel);

typedef struct opsrt_run_options {
  opsrt_cancel *cancel;  // NULL: nobody can end the run
  uint64_t timeout_ns;   // 0: none; else the run ends TIMEOUT when so long has passed
} opsrt_run_options;

// The same with options (NULL: none). CANCELLED and TIMEOUT name the node that had to end; the
// session is as usable as before. A run that ends early gives no outputs.
int32_t opsrt_session_run_with(opsrt_session *session, const opsrt_value *inputs,
                               uint64_t input_count, const opsrt_run_options *options,
                               opsrt_result **out_result, ops_error *error);

// Prepares everything for these input shapes (data may be NULL) without running, as far as
// shapes do not depend on data.
int32_t opsrt_session_warm_up(opsrt_session *session, const opsrt_value *inputs,
                              uint64_t input_count, ops_error *error);

// ---- Bound memory ---------------------------------------------------------------------------

// Memory of a device of the session, for inputs and outputs that need not visit the host.
typedef struct opsrt_buffer opsrt_buffer;
// `memory`: which, an index of opsrt_session_memory; `size` > 0. To be destroyed before the
// session.
int32_t opsrt_buffer_create(opsrt_session *session, uint64_t memory, uint64_t size,
                            opsrt_buffer **out_buffer, ops_error *error);
void opsrt_buffer_destroy(opsrt_buffer *buffer);  // accepts NULL; no run may be using it
// Copies from and to host memory; they block. INVALID_ARGUMENT beyond its end.
int32_t opsrt_buffer_write(opsrt_buffer *buffer, uint64_t offset, const void *data,
                           uint64_t size, ops_error *error);
int32_t opsrt_buffer_read(const opsrt_buffer *buffer, uint64_t offset, void *data,
                          uint64_t size, ops_error *error);

// Where inputs come from and outputs go, run after run: shapes are checked when they are bound,
// nothing is copied that need not be, and while shapes stay nothing is looked up and, but for
// outputs without memory, nothing is allocated. One run at a time; several bindings of one
// session may run at once.
typedef struct opsrt_binding opsrt_binding;
int32_t opsrt_binding_create(opsrt_session *session, opsrt_binding **out_binding,
                             ops_error *error);
void opsrt_binding_destroy(opsrt_binding *binding);  // accepts NULL; before its session

// Binds an input: to the host memory `value->data`, or to the beginning of `buffer` (then data
// and size are ignored). The memory must live, and its contents stay, until the last run with
// it. Only dims are copied. Inputs with a default may be left out; tensors only.
int32_t opsrt_binding_set_input(opsrt_binding *binding, const opsrt_value *value,
                                opsrt_buffer *buffer, ops_error *error);
// Binds an output to `size` bytes at `memory`, or to `buffer`, or to neither: then each run
// gives it memory of its own in host memory, until the next. A run whose output is larger
// fails with INVALID_ARGUMENT. No output may overlap an input or another output: bind two
// buffers and swap them to feed an output back.
int32_t opsrt_binding_set_output(opsrt_binding *binding, const char *name, void *memory,
                                 uint64_t size, opsrt_buffer *buffer, ops_error *error);

// `options` may be NULL. After a failure, contents of bound outputs are undefined.
int32_t opsrt_binding_run(opsrt_binding *binding, const opsrt_run_options *options,
                          ops_error *error);
// The outputs of the last run, which stay until the next; NULL if it failed or there was none.
// Those in a buffer have no data. Strings are read through `value`.
const opsrt_value *opsrt_binding_output(const opsrt_binding *binding, uint64_t index);

// ---- Results --------------------------------------------------------------------------------

// The outputs, in the order of the model.
uint64_t opsrt_result_count(const opsrt_result *result);
const opsrt_value *opsrt_result_output(const opsrt_result *result, uint64_t index);
void opsrt_result_destroy(opsrt_result *result);  // accepts NULL

const ops_value_api *opsrt_value_api(void);

// One tensor in a file: a serialised TensorProto or numpy's .npy, told apart by their bytes.
// The caller owns *out_tensor and whatever opsrt_tensor_value lends of it.
typedef struct opsrt_tensor opsrt_tensor;
int32_t opsrt_tensor_read(const char *path, opsrt_tensor **out_tensor, ops_error *error);
const opsrt_value *opsrt_tensor_value(const opsrt_tensor *tensor);
void opsrt_tensor_destroy(opsrt_tensor *tensor);  // accepts NULL
// The same for a value of any kind: sequences, optionals and maps are a serialised
// SequenceProto, OptionalProto or MapProto, which their bytes do not tell.
int32_t opsrt_value_read(const char *path, int32_t kind, opsrt_tensor **out_tensor,
                         ops_error *error);
// Writes a tensor (also of strings, in a TensorProto): numpy's format if `path` ends in ".npy".
// The file appears whole or not at all.
int32_t opsrt_tensor_write(const char *path, const opsrt_value *tensor, ops_error *error);
// The same for a value of any kind; what is no tensor goes into a SequenceProto, OptionalProto
// or MapProto, never into numpy's format (UNSUPPORTED).
int32_t opsrt_value_write(const char *path, const opsrt_value *value, ops_error *error);

// ---- What a session did ---------------------------------------------------------------------

// Who runs a node. Borrowed from the session. Nodes in bodies that the runtime runs follow the
// node that has the body.
typedef struct opsrt_placement {
  const char *node;  // in a body after the name of its node: "loop/add"
  const char *op;
  const char *domain;  // "" is ai.onnx
  int32_t opset;
  int32_t group;         // number of the compiled group, -1: runs alone
  const char *provider;  // by the provider's own name
  const char *device;
  const char *kernel;   // the implementation's name
  const char *reason;   // why not a more preferred provider; "" for the first choice
  const char *origins;  // "a, b": the model's nodes it stands for; "" if it is one of them
} opsrt_placement;

uint64_t opsrt_session_placement_count(const opsrt_session *session);
const opsrt_placement *opsrt_session_placement(const opsrt_session *session, uint64_t index);

// Memory of one device and kind: all that the session holds, the arena that runs take their
// activations from, and the plan used last. `planned`, `naive` and `lower_bound` are the bytes
// of its activations with reuse, without reuse, and the largest sum alive at once.
typedef struct opsrt_memory {
  const char *device;     // "host", or the provider's name
  int32_t kind;           // OPS_MEMORY_…
  uint64_t bytes_in_use;  // arena, weights in another form than the model's, outputs of runs
  uint64_t bytes_peak;
  uint64_t allocations;  // from the system or the provider, so far
  uint64_t planned;
  uint64_t naive;
  uint64_t lower_bound;
  uint64_t bytes_maximum;   // 0: none
  uint64_t arena_in_use;    // by runs in progress
  uint64_t arena_peak;      // of arena_in_use
  uint64_t arena_reserved;  // part of bytes_in_use
  uint64_t arena_reserved_peak;
  uint64_t arena_largest_free;  // bytes of the largest free piece
  uint64_t arena_blocks;        // handed out so far
  uint64_t arena_extensions;    // so far
  uint64_t arena_releases;      // regions given back so far
} opsrt_memory;

uint64_t opsrt_session_memory_count(const opsrt_session *session);
int32_t opsrt_session_memory(const opsrt_session *session, uint64_t index,
                             opsrt_memory *out_memory);
// When the plan used last has most alive in memory `index`, and how that grows with the symbols
// of the model's shapes: "Add 'plus': 64*N + 128" (bytes), cut at `size` - 1. "" without a
// plan.
int32_t opsrt_session_memory_fullest(opsrt_session *session, uint64_t index, char *buffer,
                                     uint64_t size, ops_error *error);
// Gives memory that no run uses back to the system. Any thread, at any time.
void opsrt_session_memory_shrink(opsrt_session *session);

// A node of which the first input or output is in a private layout of its provider, or a change
// of layout: what level 3 chose in the plan made last before any run, by creating the session
// or by preparing for shapes. Names are borrowed from the session.
typedef struct opsrt_layout {
  const char *name;      // of the node; of the value whose layout changes
  const char *op;        // "" for a change of layout
  const char *provider;  // whose layouts these are
  uint32_t from;         // of the first input; 0 is the plain one
  uint32_t to;           // of the first output
  uint64_t bytes;        // that change their layout in each run
} opsrt_layout;

uint64_t opsrt_session_layout_count(const opsrt_session *session);
void opsrt_session_layout(const opsrt_session *session, uint64_t index,
                          opsrt_layout *out_layout);

// Counters since the session was created.
typedef struct opsrt_counters {
  uint64_t runs;
  uint64_t plans_built;
  uint64_t plans_evicted;
  uint64_t prepares;
  uint64_t copies;  // between memories, executed
  uint64_t copied_bytes;
  uint64_t captures;     // of work for a device, recorded
  uint64_t replays;      // of captures
  uint64_t lookups;      // of plans, by complete runs
  uint64_t rebound;      // addresses that complete runs had to lay out anew
  uint64_t plans_alike;  // of plans_built: memory laid out like that of a plan for other shapes
} opsrt_counters;

// How far a device can replay what a run gives it as a whole (ops_stream_api.replay).
typedef struct opsrt_capture {
  const char *provider;
  uint64_t kernels;     // of the main graph on this device
  uint64_t capturable;  // of them
  char reason[320];     // why not all; "" if all are
} opsrt_capture;

uint64_t opsrt_session_device_count(const opsrt_session *session);
// Of device `index`, in the order of preference; kernels is 0 if nothing runs on it.
void opsrt_session_capture(const opsrt_session *session, uint64_t index,
                           opsrt_capture *out_capture);

void opsrt_session_counters(const opsrt_session *session, opsrt_counters *out_counters);

// ---- Profile --------------------------------------------------------------------------------

// Writes the profile so far as a Chrome trace (Perfetto and chrome://tracing open it). The file
// appears whole or not at all. PRECONDITION if the session takes no profile.
int32_t opsrt_session_profile_write(opsrt_session *session, const char *path, ops_error *error);

// Where a report of the profile goes; NULL: not there.
typedef struct opsrt_profile_files {
  const char *model;  // its name in the report
  const char *json;   // op_profile.json, by reference_runtime/profile/op_profile.schema.json
  const char *html;   // a page that needs nothing else
} opsrt_profile_files;

// Writes what the profile so far says of every node: time, bytes, operations, share of the
// peak, memory, advice. The first report of a session measures the peaks of its devices, for
// which no run may be in progress. Each file appears whole or not at all. PRECONDITION if the
// session takes no profile.
int32_t opsrt_session_profile_report(opsrt_session *session, const opsrt_profile_files *files,
                                     ops_error *error);

// What a rule concludes from the profile.
typedef struct opsrt_advice {
  const char *rule;      // its name, stable
  double share;          // of the time, that it is about
  const char *evidence;  // what was found, in numbers and names
  const char *action;    // what to do
} opsrt_advice;

// About the largest share first; measures as opsrt_session_profile_report does. The caller
// frees *out_advice, texts included, with opsrt_free.
int32_t opsrt_session_profile_advice(opsrt_session *session, opsrt_advice **out_advice,
                                     uint64_t *out_count, ops_error *error);

// Time of one node over all runs so far.
typedef struct opsrt_node_time {
  const char *node;  // copies between memories are named after the value
  const char *op;
  const char *origins;  // as in opsrt_placement
  const char *provider;
  uint64_t count;
  uint64_t total_ns;
  uint64_t bytes;  // moved, for copies
} opsrt_node_time;

// The longest first. The caller frees *out_times with opsrt_free.
int32_t opsrt_session_profile_times(opsrt_session *session, opsrt_node_time **out_times,
                                    uint64_t *out_count, ops_error *error);
void opsrt_session_profile_clear(opsrt_session *session);
void opsrt_free(void *memory);  // accepts NULL

// ---- Operators ------------------------------------------------------------------------------

// What ONNX says about an operator's name. Strings are constant.
typedef struct opsrt_operator {
  int64_t newest_opset;  // of the domain; 0: ONNX does not define the domain
  int64_t since;  // the opset that brought the operator; 0: the domain has none of the name
  const char *near_domain;  // where there is none: the nearest name; NULL: nothing is near
  const char *near_name;
} opsrt_operator;

// The domains "" and "ai.onnx" are one. Needs no session.
void opsrt_operator_find(ops_str domain, ops_str name, opsrt_operator *out_operator);

// ---- Providers ------------------------------------------------------------------------------

// Opens a provider and creates an instance of it, to look at.
int32_t opsrt_provider_open(const opsrt_provider_spec *spec, const char *provider_dir,
                            opsrt_provider **out_provider, ops_error *error);
void opsrt_provider_close(opsrt_provider *provider);  // accepts NULL
const ops_provider *opsrt_provider_table(const opsrt_provider *provider);
const char *opsrt_provider_path(const opsrt_provider *provider);
// The device that the spec names; borrowed.
const ops_device_info *opsrt_provider_device(const opsrt_provider *provider);
uint64_t opsrt_provider_device_count(const opsrt_provider *provider);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPSRT_OPSRT_H_
