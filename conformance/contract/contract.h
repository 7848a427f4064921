// SPDX-License-Identifier: Apache-2.0
//
// A contract in memory: what an operator means, what it may cost in accuracy, and which cases
// prove it. The YAML form is described in contracts/schema/format.md; whatever reaches these
// structs has been checked: names resolve, expressions parse, tolerances have a source.
//
// How cases are derived from a contract
//   for each row of `rows`                               (the list `shapes` is already
//   expanded)
//     for each assignment of types to `type_vars`        (product of row->types, list order)
//       for each assignment of the varied attributes     (pairwise over row->vary; `each` means
//                                                         every integer of the attribute's
//                                                         range)
//         skip it unless every constraint and row->when hold   (see binding.h)
//         for each fill of row->fills that suits the types:  one case.
//   Then one case for each entry of `errors`, based on the row that it names, and the cases of
//   rows whose shapes are drawn: see cases/draw.h. A tier takes all of that or a part.
//
//   Inputs. row->inputs[i] belongs to contract->inputs[i]: absent, or one shape (several for a
//   variadic parameter). If `contents` is set it holds the values in row-major order and the
//   fill does not touch them (a single number fills the whole tensor).
//   Otherwise the fill does, within the range for the class of the input's element type: the
//   row's range if it has one, else the parameter's, else all values. The bounds are
//   expressions over the binding. `special`, `every` and `strata` ignore the range of floating
//   types. Attributes. A fixed value of the row, else a varied one, else absent: the operator's
//   default then holds. An attribute bound to a type variable (`of`) always takes the type
//   chosen for it. Outputs. `output_count` of the row, in the order of contract->outputs.
//   Exact. With the judges `exact` and `dot`, a case with the fill exact_integer must match
//   exactly; with others the fill only means integral inputs.
//   Dot bound. b of CONFORMANCE.md is the oracle run once more with the absolute values of all
//   floating inputs and float attributes; K is `tolerance.k`.
//   Triviality. row->trivial true for the binding, or a row marked so: no triviality guard.
#ifndef OC_CONTRACT_CONTRACT_H_
#define OC_CONTRACT_CONTRACT_H_

#include <ops/status.h>
#include <ops/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/expr.h"

#define OC_CONTRACT_FORMAT 1  // the version of the format that this code reads

// Limits on what a file may hold; contents that exceed one are refused with the name of it.
#define OC_CONTRACT_MAX_FILE_BYTES (1u << 20)
#define OC_CONTRACT_MAX_DOCUMENTS 32
#define OC_CONTRACT_MAX_DEPTH 16        // nesting of YAML collections
#define OC_CONTRACT_MAX_NODES 100000    // YAML nodes of one file
#define OC_CONTRACT_MAX_KEYS 256        // keys of one mapping
#define OC_CONTRACT_MAX_PARAMS 32       // inputs, outputs, attributes, type variables: each
#define OC_CONTRACT_MAX_LET_COST 10000  // evaluations that one name of `let` may lead to
#define OC_CONTRACT_MAX_LET_DEPTH 8     // lets that use lets that use …
#define OC_CONTRACT_MAX_ROWS 2000
#define OC_CONTRACT_MAX_NUMEL (1 << 26)  // elements of one tensor of a row
#define OC_CONTRACT_MAX_FILES 2000       // of a folder
#define OC_CONTRACT_MAX_MEMORY (256u << 20)

typedef struct oc_position {
  const char *file;
  uint32_t line;    // from 1
  uint32_t column;  // from 1
} oc_position;

// X-lists: OC_<LIST>(X) with X(constant, name in YAML). One list yields enum, table and docs.
#define OC_KIND_LIST(X)       \
  X(OC_KIND_ATOMIC, "atomic") \
  X(OC_KIND_COMPOSITE, "composite")

#define OC_JUDGE_LIST(X)                 \
  X(OC_JUDGE_EXACT, "exact")             \
  X(OC_JUDGE_ULP, "ulp")                 \
  X(OC_JUDGE_DOT, "dot")                 \
  X(OC_JUDGE_QUANTISED, "quantised")     \
  X(OC_JUDGE_INDEX, "index")             \
  X(OC_JUDGE_DECISION, "decision")       \
  X(OC_JUDGE_CONDITIONED, "conditioned") \
  X(OC_JUDGE_RANDOM, "random")           \
  X(OC_JUDGE_FUSED, "fused")

// What each fill writes: contracts/schema/format.md, "Fills".
#define OC_FILL_LIST(X)                     \
  X(OC_FILL_EXACT_INTEGER, "exact_integer") \
  X(OC_FILL_UNIFORM, "uniform")             \
  X(OC_FILL_NORMAL, "normal")               \
  X(OC_FILL_WIDE, "wide")                   \
  X(OC_FILL_CANCELLATION, "cancellation")   \
  X(OC_FILL_SPECIAL, "special")             \
  X(OC_FILL_EVERY, "every")                 \
  X(OC_FILL_STRATA, "strata")

#define OC_PROFILE_LIST(X)           \
  X(OC_PROFILE_STRICT, "strict")     \
  X(OC_PROFILE_STANDARD, "standard") \
  X(OC_PROFILE_EMBEDDED, "embedded")

#define OC_ATTR_LIST(X)         \
  X(OC_ATTR_INT, "int")         \
  X(OC_ATTR_FLOAT, "float")     \
  X(OC_ATTR_STRING, "string")   \
  X(OC_ATTR_INTS, "ints")       \
  X(OC_ATTR_FLOATS, "floats")   \
  X(OC_ATTR_STRINGS, "strings") \
  X(OC_ATTR_TYPE, "type")       \
  X(OC_ATTR_TENSOR, "tensor")   \
  X(OC_ATTR_SPARSE_TENSOR, "sparse_tensor")

#define OC_TYPE_CLASS_LIST(X)      \
  X(OC_CLASS_FLOATING, "floating") \
  X(OC_CLASS_SIGNED, "signed")     \
  X(OC_CLASS_UNSIGNED, "unsigned") \
  X(OC_CLASS_OTHER, "other")

#define OC_DETERMINISM_LIST(X)   \
  X(OC_DETERMINISM_NONE, "none") \
  X(OC_DETERMINISM_RUN, "run")   \
  X(OC_DETERMINISM_BITWISE, "bitwise")

#define OC_STRIDES_LIST(X)           \
  X(OC_STRIDES_NONE, "none")         \
  X(OC_STRIDES_OPTIONAL, "optional") \
  X(OC_STRIDES_REQUIRED, "required")

#define OC_THREADS_LIST(X)             \
  X(OC_THREADS_REENTRANT, "reentrant") \
  X(OC_THREADS_SERIAL, "serial")

#define OC_ASYNC_LIST(X)         \
  X(OC_ASYNC_ALLOWED, "allowed") \
  X(OC_ASYNC_FORBIDDEN, "forbidden")

#define OC_DYNAMIC_LIST(X)         \
  X(OC_DYNAMIC_STATIC, "static")   \
  X(OC_DYNAMIC_BOUNDED, "bounded") \
  X(OC_DYNAMIC_DYNAMIC, "dynamic") \
  X(OC_DYNAMIC_DATA_DEPENDENT, "data_dependent")

// How results that are not ordinary numbers are compared. `profile` leaves it to the profile.
#define OC_NAN_LIST(X)             \
  X(OC_NAN_PROFILE, "profile")     \
  X(OC_NAN_PROPAGATE, "propagate") \
  X(OC_NAN_ANY, "any")
#define OC_INFINITY_LIST(X)         \
  X(OC_INFINITY_PROFILE, "profile") \
  X(OC_INFINITY_EXACT, "exact")     \
  X(OC_INFINITY_ANY, "any")
#define OC_SIGNED_ZERO_LIST(X)       \
  X(OC_SIGNED_ZERO_MERGED, "merged") \
  X(OC_SIGNED_ZERO_DISTINCT, "distinct")
#define OC_DENORMAL_LIST(X)           \
  X(OC_DENORMAL_PROFILE, "profile")   \
  X(OC_DENORMAL_PRESERVE, "preserve") \
  X(OC_DENORMAL_ANY, "any")

#define OC_INVARIANT_LIST(X)                 \
  X(OC_INVARIANT_NONNEGATIVE, "nonnegative") \
  X(OC_INVARIANT_BOUNDED, "bounded")         \
  X(OC_INVARIANT_SUM_ALONG, "sum_along")     \
  X(OC_INVARIANT_REARRANGES, "rearranges")

// What the results of a random operator are distributed as: contracts/schema/format.md.
#define OC_LAW_LIST(X)                 \
  X(OC_LAW_UNIFORM, "uniform")         \
  X(OC_LAW_NORMAL, "normal")           \
  X(OC_LAW_BERNOULLI, "bernoulli")     \
  X(OC_LAW_CATEGORICAL, "categorical") \
  X(OC_LAW_DROPPED, "dropped")         \
  X(OC_LAW_KEPT, "kept")

#define OC_ENUM_ITEM(constant, name) constant,
typedef enum oc_kind { OC_KIND_LIST(OC_ENUM_ITEM) OC_KIND_COUNT } oc_kind;
typedef enum oc_judge { OC_JUDGE_LIST(OC_ENUM_ITEM) OC_JUDGE_COUNT } oc_judge;
typedef enum oc_fill { OC_FILL_LIST(OC_ENUM_ITEM) OC_FILL_COUNT } oc_fill;
typedef enum oc_profile_id { OC_PROFILE_LIST(OC_ENUM_ITEM) OC_PROFILE_COUNT } oc_profile_id;
typedef enum oc_attr_type { OC_ATTR_LIST(OC_ENUM_ITEM) OC_ATTR_COUNT } oc_attr_type;
typedef enum oc_type_class { OC_TYPE_CLASS_LIST(OC_ENUM_ITEM) OC_CLASS_COUNT } oc_type_class;
typedef enum oc_determinism { OC_DETERMINISM_LIST(OC_ENUM_ITEM) } oc_determinism;
typedef enum oc_strides { OC_STRIDES_LIST(OC_ENUM_ITEM) } oc_strides;
typedef enum oc_threads { OC_THREADS_LIST(OC_ENUM_ITEM) } oc_threads;
typedef enum oc_async { OC_ASYNC_LIST(OC_ENUM_ITEM) } oc_async;
typedef enum oc_dynamic { OC_DYNAMIC_LIST(OC_ENUM_ITEM) } oc_dynamic;
typedef enum oc_nan { OC_NAN_LIST(OC_ENUM_ITEM) } oc_nan;
typedef enum oc_infinity { OC_INFINITY_LIST(OC_ENUM_ITEM) } oc_infinity;
typedef enum oc_signed_zero { OC_SIGNED_ZERO_LIST(OC_ENUM_ITEM) } oc_signed_zero;
typedef enum oc_denormal { OC_DENORMAL_LIST(OC_ENUM_ITEM) } oc_denormal;
typedef enum oc_law_kind { OC_LAW_LIST(OC_ENUM_ITEM) } oc_law_kind;
typedef enum oc_invariant_check { OC_INVARIANT_LIST(OC_ENUM_ITEM) } oc_invariant_check;

// A constant: the value of an attribute, or the contents of an input.
typedef enum oc_value_kind {
  OC_VALUE_NONE,    // not given
  OC_VALUE_ABSENT,  // the keyword `absent`: the attribute is left out of the node
  OC_VALUE_EACH,    // the keyword `each`: every integer of the attribute's range
  OC_VALUE_INT,     // `ints[0]`; also booleans (0 and 1) and element types
  OC_VALUE_FLOAT,   // `floats[0]`
  OC_VALUE_STRING,  // `strings[0]`
  OC_VALUE_INTS,    // also the empty list
  OC_VALUE_FLOATS,  // a list with at least one number that is not an integer
  OC_VALUE_STRINGS,
  OC_VALUE_EXPR,  // only where an error case sets it: evaluate `expr`
} oc_value_kind;

typedef struct oc_value {
  oc_value_kind kind;
  size_t count;  // items of the array that `kind` names; 1 for a scalar
  const int64_t *ints;
  const double *floats;  // also filled, converted, when `ints` is
  const char *const *strings;
  const oc_expr *expr;
} oc_value;

typedef struct oc_shape {
  int32_t rank;
  const int64_t *dims;
} oc_shape;

// An interval such as "[-dim(x, axis), dim(x, axis))". Not given where `lo` is NULL. Bounds are
// numbers; "inf" is written (-inf, 0].
typedef struct oc_range {
  const oc_expr *lo;
  const oc_expr *hi;
  bool lo_open;
  bool hi_open;
} oc_range;

typedef struct oc_type_var {
  const char *name;  // "T"
  uint64_t types;    // set of element types, OPS_TYPE_BIT
  oc_position at;
} oc_type_var;

typedef struct oc_param {
  const char *name;
  oc_position at;
  int32_t type_var;  // index into contract->type_vars, or -1: `type` is fixed
  int32_t type;
  bool optional;
  bool variadic;       // the last parameter; or the last inputs, which repeat together
  uint32_t min_count;  // of a variadic one, at least 1
  bool shape_input;    // its values decide output shapes: the host delivers them to prepare
  bool nonzero;        // integers drawn for it are never 0
  oc_range ranges[OC_CLASS_COUNT];  // inputs: of the values a fill may draw
  const oc_expr *shape;             // outputs: its dimensions as a list, or NULL
} oc_param;

typedef struct oc_attribute {
  const char *name;
  oc_position at;
  oc_attr_type type;
  bool required;
  int32_t type_var;           // `of`: the attribute names this type variable's type, or -1
  oc_value default_value;     // OC_VALUE_NONE: no default
  oc_range range;             // of an int or float, or of each item of a list
  const char *const *one_of;  // the legal strings, or NULL
  size_t one_of_count;
} oc_attribute;

// One input of a row.
typedef struct oc_row_input {
  size_t count;            // 0: absent. 1, or the number of tensors of a variadic parameter
  const oc_shape *shapes;  // `count` of them
  oc_value contents;  // OC_VALUE_NONE: written by the fill; of a variadic parameter a number
                      // for each tensor
  oc_range range;     // overrides the parameter's
} oc_row_input;

typedef struct oc_vary {
  uint32_t attribute;      // index into contract->attributes
  const oc_value *values;  // OC_VALUE_ABSENT and OC_VALUE_EACH may be among them
  size_t count;
} oc_vary;

typedef struct oc_row {
  const char *id;  // unique within the contract
  oc_position at;
  const oc_row_input *inputs;  // contract->input_count of them
  const oc_value *attributes;  // contract->attribute_count of them; OC_VALUE_NONE: not fixed
  const oc_vary *vary;
  size_t vary_count;
  const uint64_t *types;  // per type variable the set to draw from, never empty
  uint32_t fills;         // bit n: oc_fill n
  oc_judge judge;         // its own, else the contract's
  uint32_t output_count;
  const oc_expr *when;     // keep an assignment only where true, or NULL
  const oc_expr *trivial;  // no triviality guard where true, or NULL
} oc_row;

// A relation that valid nodes obey. Each has a broken case in `errors`.
typedef struct oc_constraint {
  const char *id;
  oc_position at;
  const oc_expr *check;
} oc_constraint;

// A node or call that must be refused with `status`.
typedef struct oc_error_case {
  const char *id;
  oc_position at;
  uint32_t row;        // the row that it changes; types: the first of each variable
  int32_t constraint;  // index of the constraint that it breaks, or -1
  const oc_row_input
      *inputs;         // contract->input_count; count 0 and contents NONE: as in the row
  const bool *remove;  // contract->input_count; true: leave the input out
  const oc_value *attributes;  // contract->attribute_count; NONE: as in the row; maybe EXPR
  int32_t status;              // OPS_ERROR_…
} oc_error_case;

// The accuracy that one profile asks for. Expressions not given are NULL.
typedef struct oc_tolerance {
  bool given;
  const oc_expr *ulp;       // ULP of the accumulation type
  const oc_expr *absolute;  // an error up to this passes whatever its ULP
  const oc_expr *k;         // judge dot: the number of products of one result
  const oc_expr *cap;       // judge conditioned: a larger deviation proves nothing
} oc_tolerance;

typedef struct oc_precision {
  int32_t accumulate[OPS_TYPE_COUNT];  // per element type of the result; itself if not given
  oc_tolerance tolerance[OC_PROFILE_COUNT];  // all filled: one not given takes standard's
  oc_nan nan;
  oc_infinity infinity;
  oc_signed_zero signed_zero;
  oc_denormal denormal;
  bool transformed;    // Winograd, FFT: exact-integer fills need not match exactly
  const char *source;  // where the numbers come from
} oc_precision;

typedef struct oc_invariant {
  const char *id;
  oc_position at;
  oc_invariant_check check;
  uint32_t output;
  const oc_expr *axis;    // sum_along
  const oc_expr *equals;  // sum_along: the sum; the tolerance is the judge's times the terms
  oc_range range;         // bounded
  uint32_t input;         // rearranges: the output holds exactly the elements of this input
} oc_invariant;

// The distribution of one output.
typedef struct oc_law {
  uint32_t output;
  oc_law_kind kind;
  const oc_expr *a;  // uniform: low; normal: mean
  const oc_expr *b;  // uniform: high; normal: deviation
  int32_t of;        // input: probabilities, logits, or what is dropped from; -1: none
  int32_t share;     // input with the share that is dropped; -1: one half
} oc_law;

// What judges need to know beside tolerances.
typedef struct oc_judging {
  uint64_t decided_by;       // decision: bit i, input i decides; near a threshold it is redrawn
  const oc_expr *unordered;  // index: whether the order along `axis` is free; NULL: it is not
  const oc_expr *axis;       // index: along which results are ordered
  int32_t of;                // index: the input whose elements results name along `axis`; or -1
  const oc_law *laws;        // random
  size_t law_count;
} oc_judging;

typedef struct oc_inplace {
  uint32_t input;
  uint32_t output;
} oc_inplace;

typedef struct oc_execution {
  const char *const *layouts;
  size_t layout_count;
  oc_strides strides;
  const oc_inplace *inplace;
  size_t inplace_count;
  oc_determinism determinism;
  oc_threads threads;
} oc_execution;

typedef struct oc_scheduling {
  oc_async async;
  oc_dynamic dynamic_shape;
  uint32_t prepares;
  const char *const *fusion;  // operators that may be absorbed as post-operations
  size_t fusion_count;
} oc_scheduling;

typedef struct oc_performance {
  const char *name;
  oc_position at;
  const oc_row_input *inputs;  // contract->input_count
  const oc_value *attributes;  // contract->attribute_count
  uint32_t constants;          // bit i: input i is a constant of the graph, such as weights
  int32_t type;                // of the first type variable
  const oc_expr *bytes;
  const oc_expr *flops;
  double stage_baseline;  // share of the yardstick's speed; 0: not given
  double stage_optimized;
  const char *yardstick;
  double regress_p95;  // a share: 0.05 is five per cent
  double regress_median;
  double budget_p95_ms;  // 0: not given, as the following
  double budget_first_run_ms;
  double budget_jitter_ms;
  double budget_prepare_ms;
} oc_performance;

// What people know about a provider; nothing is judged by it.
typedef struct oc_record {
  const char *provider;
  const char *verified_shapes;  // or NULL
  const char *baseline;         // or NULL
} oc_record;

// A name of `let`: an expression that others may use. May use the ones before it.
typedef struct oc_let {
  const char *name;
  oc_position at;
  const oc_expr *expr;
} oc_let;

typedef struct oc_contract {
  const char *file;
  oc_position at;
  const char *op;
  const char *domain;  // "ai.onnx" is the standard domain (ONNX itself writes "")
  int32_t since;       // the opset version at which cases build the node
  int32_t until;       // the last opset with this meaning, or INT32_MAX
  const char *reference;
  oc_kind kind;
  oc_judge judge;
  oc_position op_at;

  const oc_type_var *type_vars;
  size_t type_var_count;
  const oc_param *inputs;
  size_t input_count;
  const oc_param *outputs;
  size_t output_count;
  const oc_attribute *attributes;
  size_t attribute_count;
  const oc_let *lets;
  size_t let_count;
  const oc_constraint *constraints;
  size_t constraint_count;
  const oc_invariant *invariants;
  size_t invariant_count;

  oc_execution execution;
  oc_scheduling scheduling;
  oc_precision precision;
  oc_judging judging;

  const oc_row *rows;
  size_t row_count;
  const oc_expr *draw;   // what drawn shapes keep beside the constraints, or NULL
  const char *no_large;  // why no case of it has 10^5 elements, or NULL: one has
  const oc_error_case *errors;
  size_t error_count;

  const oc_performance *performance;
  size_t performance_count;
  const oc_record *records;
  size_t record_count;
  const char *const *limitations;
  size_t limitation_count;
} oc_contract;

// Contracts, sorted by domain, operator, since. Owns everything it points to.
typedef struct oc_contracts {
  oc_contract *items;
  size_t count;
  oc_arena *arena;
} oc_contracts;

// Reads one file, or every *.yaml below a folder (folders named `schema` and `provider` hold
// other things and are left out; symbolic links to folders are not followed). Errors:
// OPS_ERROR_IO, OPS_ERROR_NOT_FOUND (no contract there), OPS_ERROR_INVALID_MODEL with
// "file:line:column: …", OPS_ERROR_OUT_OF_MEMORY. On error *out_contracts is untouched.
int32_t oc_contracts_load(const char *path, oc_contracts **out_contracts, ops_error *error);
// The same from memory; `name` is used in messages.
int32_t oc_contracts_parse(const char *name, const char *text, size_t size,
                           oc_contracts **out_contracts, ops_error *error);
void oc_contracts_destroy(oc_contracts *contracts);

// The contract whose meaning holds at `opset`, or NULL.
const oc_contract *oc_contracts_find(const oc_contracts *contracts, const char *domain,
                                     const char *op, int32_t opset);

// The index of a name, or -1.
int32_t oc_contract_find_input(const oc_contract *contract, const char *name);
int32_t oc_contract_find_output(const oc_contract *contract, const char *name);
int32_t oc_contract_find_attribute(const oc_contract *contract, const char *name);

// Names for enumerations of this header, as YAML writes them. Static.
const char *oc_kind_name(oc_kind kind);
const char *oc_judge_name(oc_judge judge);
const char *oc_fill_name(oc_fill fill);
const char *oc_profile_name(oc_profile_id profile);

// The class that decides which range holds for an element type; bool and string are `other`.
oc_type_class oc_type_class_of(int32_t type);

#endif  // OC_CONTRACT_CONTRACT_H_
