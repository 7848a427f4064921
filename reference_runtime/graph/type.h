// SPDX-License-Identifier: Apache-2.0
//
// Dimensions and types of values.
//
// A dimension is an integer, an expression over symbols ("N", "2*H + 1", "floor(W / 4)"), or
// unknown. Expressions are interned in the graph's rt_symbols in canonical form, so that two
// dimensions are equal for every input exactly when their fields are equal (as far as the
// canonical form can tell). The same struct holds the contents of integer tensors that shape
// computations produce, hence `value` may be negative there.
#ifndef RT_GRAPH_TYPE_H_
#define RT_GRAPH_TYPE_H_

#include <ops/base.h>
#include <ops/types.h>

#define RT_DIM_CONSTANT 0u
#define RT_DIM_UNKNOWN UINT32_MAX

typedef struct rt_dim {
  int64_t value;  // if expr is RT_DIM_CONSTANT; otherwise 0
  uint32_t expr;  // RT_DIM_CONSTANT, RT_DIM_UNKNOWN, or the id of an expression
} rt_dim;

static inline rt_dim rt_dim_const(int64_t value) {
  return (rt_dim){value, RT_DIM_CONSTANT};
}
static inline rt_dim rt_dim_unknown(void) {
  return (rt_dim){0, RT_DIM_UNKNOWN};
}
static inline int rt_dim_is_const(rt_dim dim) {
  return dim.expr == RT_DIM_CONSTANT;
}
static inline int rt_dim_is_unknown(rt_dim dim) {
  return dim.expr == RT_DIM_UNKNOWN;
}
static inline int rt_dim_is_value(rt_dim dim, int64_t value) {
  return dim.expr == RT_DIM_CONSTANT && dim.value == value;
}
// Provably equal. Two unknown dimensions are not.
static inline int rt_dim_equal(rt_dim a, rt_dim b) {
  return a.expr == b.expr && a.value == b.value && a.expr != RT_DIM_UNKNOWN;
}

// The kinds have the numbers of RT_MODEL_TYPE_*.
#define RT_TYPE_UNKNOWN 0
#define RT_TYPE_TENSOR 1
#define RT_TYPE_SPARSE_TENSOR 2
#define RT_TYPE_SEQUENCE 3
#define RT_TYPE_OPTIONAL 4
#define RT_TYPE_MAP 5
#define RT_TYPE_OPAQUE 6

#define RT_RANK_UNKNOWN (-1)

// A type is a plain value; what it points to is immutable and lives in the graph's arena (or,
// during inference at run time, in the caller's buffers). A zeroed rt_type is "unknown".
typedef struct rt_type {
  int32_t kind;
  int32_t
      elem_type;  // tensors: of the elements (OPS_TYPE_UNDEFINED: unknown); MAP: of the keys
  int32_t rank;   // tensors: number of dims, or RT_RANK_UNKNOWN
  const rt_dim *dims;             // tensors: `rank` of them
  const struct rt_type *element;  // SEQUENCE, OPTIONAL: of the elements; MAP: of the values
} rt_type;

// A tensor type that borrows `dims`.
static inline rt_type rt_type_tensor(int32_t elem_type, int32_t rank, const rt_dim *dims) {
  return (rt_type){RT_TYPE_TENSOR, elem_type, rank, dims, NULL};
}

// 1 if every dimension of the tensor type is a constant; its product goes to *out_count, which
// may be NULL. 0 also if the product exceeds INT64_MAX.
int rt_type_is_static(const rt_type *type, int64_t *out_count);

// 1 if both have the same kind, element types, ranks and provably equal dimensions.
int rt_type_equal(const rt_type *a, const rt_type *b);

// 1 if a value of type `found` cannot be what `declared` says. An optional may hold anything.
int rt_type_contradicts(const rt_type *found, const rt_type *declared);

#endif  // RT_GRAPH_TYPE_H_
