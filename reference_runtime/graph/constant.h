// SPDX-License-Identifier: Apache-2.0
//
// Data known before the model runs: initializers, Constant nodes, tensor attributes, results of
// folding. Immutable once shared, and reference-counted with atomics, so that sessions and
// threads may share one.
#ifndef RT_GRAPH_CONSTANT_H_
#define RT_GRAPH_CONSTANT_H_

#include <ops/base.h>
#include <ops/status.h>
#include <ops/types.h>
#include <ops_support/regions.h>

#define RT_SPARSE_COO 1  // indices int64: [nnz] into the flattened tensor, or [nnz, rank]
#define RT_SPARSE_CSR 2  // row_offsets [rows + 1], indices: column of each value
#define RT_SPARSE_BSR 3  // as CSR, over blocks; values [nnz, block_rows, block_columns]

typedef struct rt_constant rt_constant;

// The sparse form of a constant. The three are owned by the constant that contains this.
typedef struct rt_sparse {
  int32_t format;  // RT_SPARSE_*
  int32_t block_rows;
  int32_t block_columns;
  rt_constant *values;
  rt_constant *indices;
  rt_constant *row_offsets;  // NULL for COO
} rt_sparse;

// Read-only. Data are in host layout: row-major, little-endian, narrow types packed. Large
// floating-point data in a mapped file may lie at any address: they are read by memcpy, or
// through rt_constant_aligned.
struct rt_constant {
  int32_t elem_type;  // OPS_TYPE_*
  int32_t rank;
  const int64_t *dims;
  int64_t element_count;
  const void *data;         // NULL if size is 0, for strings and for sparse ones
  uint64_t size;            // bytes at `data`
  const ops_str *strings;   // OPS_TYPE_STRING: element_count of them
  const rt_sparse *sparse;  // NULL if dense
};

typedef void (*rt_constant_free_fn)(void *user);

// The bytes that `element_count` elements need; 0 with *out_size untouched if that overflows or
// the type has no fixed size.
int rt_elem_type_bytes(int32_t elem_type, int64_t element_count, uint64_t *out_size);
// "float", "int64" …; "undefined" for other numbers.
const char *rt_elem_type_name(int32_t elem_type);

// A constant that owns a copy of `data` (`data` NULL: zeros), 64-byte aligned. Not for strings.
int32_t rt_constant_create(int32_t elem_type, int32_t rank, const int64_t *dims,
                           const void *data, rt_constant **out_constant, ops_error *error);
// The same with contents that the caller writes at once, through rt_constant_mutable_data;
// their memory is of `regions`, or of malloc if NULL.
int32_t rt_constant_create_empty(ops_regions *regions, int32_t elem_type, int32_t rank,
                                 const int64_t *dims, rt_constant **out_constant,
                                 ops_error *error);
// Strings are copied.
int32_t rt_constant_create_strings(int32_t rank, const int64_t *dims, const ops_str *strings,
                                   rt_constant **out_constant, ops_error *error);
// A constant whose `data` (`size` bytes) stay the caller's: they must outlive it. When the last
// reference goes, `free_fn(user)` is called if not NULL.
int32_t rt_constant_borrow(int32_t elem_type, int32_t rank, const int64_t *dims,
                           const void *data, uint64_t size, const ops_str *strings,
                           rt_constant_free_fn free_fn, void *user, rt_constant **out_constant,
                           ops_error *error);
// The same for data in a file that is mapped read-only, of which rt_constant_forget may be
// told.
int32_t rt_constant_map(int32_t elem_type, int32_t rank, const int64_t *dims, const void *data,
                        uint64_t size, rt_constant **out_constant, ops_error *error);
// Takes over the references in *sparse on success. dims: of the dense tensor it stands for.
int32_t rt_constant_create_sparse(int32_t rank, const int64_t *dims, const rt_sparse *sparse,
                                  rt_constant **out_constant, ops_error *error);

// The dense constant that a sparse one in COO form stands for; the largest that is made.
#define RT_CONSTANT_MAX_DENSE_BYTES ((uint64_t)1 << 30)
int32_t rt_constant_write_out(const rt_constant *sparse, rt_constant **out_dense,
                              ops_error *error);

rt_constant *rt_constant_retain(rt_constant *constant);
void rt_constant_release(rt_constant *constant);  // NULL is fine

// Data at an address that suits the elements: `data`, or a copy made once, which lives as long
// as the constant. Thread-safe.
int32_t rt_constant_aligned(const rt_constant *constant, const void **out_data,
                            ops_error *error);

// 1 if the data lie in a mapped file.
int rt_constant_is_mapped(const rt_constant *constant);

// Says that the data will hardly be read again: those of a mapped file leave memory, to be
// fetched again if they are read after all. Thread-safe.
void rt_constant_forget(const rt_constant *constant);
// The same of `size` bytes from byte `begin` on.
void rt_constant_forget_part(const rt_constant *constant, uint64_t begin, uint64_t size);

// For filling a constant just created by rt_constant_create and not yet shared.
void *rt_constant_mutable_data(rt_constant *constant);

// Reads all elements as int64. Returns their number, or -1 if the constant is sparse, is no
// integer or bool tensor, has more than `capacity` elements, or an element does not fit.
int64_t rt_constant_read_ints(const rt_constant *constant, int64_t *out_values,
                              int64_t capacity);
// Likewise for float, double, float16 and bfloat16, and the integers, as double.
int64_t rt_constant_read_floats(const rt_constant *constant, double *out_values,
                                int64_t capacity);

#endif  // RT_GRAPH_CONSTANT_H_
