// SPDX-License-Identifier: Apache-2.0
//
// Whole tensors as plain arrays in row-major order: how operators that are not worth a walk of
// their own read and write.
#ifndef REFERENCE_DENSE_H_
#define REFERENCE_DENSE_H_

#include "kernel.h"

void ref_read_reals(const ref_view *view, double *out);
void ref_write_reals(const ref_view *view, const double *in);
void ref_read_ints(const ref_view *view, int64_t *out);
void ref_write_ints(const ref_view *view, const int64_t *in);

// Room in the workspace for the contents of an input (8 bytes an element); 0 elements if it is
// absent.
uint64_t ref_reserve_input(ref_prepare *prepare, uint64_t input);

// Where a reserved part of the workspace starts.
double *ref_reals(const ref_run *run, uint64_t at);
int64_t *ref_ints(const ref_run *run, uint64_t at);

// The contents of an input, read into the workspace at `at`; NULL if it is absent.
const double *ref_input_reals(const ref_run *run, uint64_t input, uint64_t at);
const int64_t *ref_input_ints(const ref_run *run, uint64_t input, uint64_t at);

// Zeros, false, empty strings.
int32_t ref_clear(const ref_view *view, ops_error *error);

// Complex numbers as pairs of reals: a last dimension of 2 is added. Other views are returned
// as they are.
ref_view ref_parts(const ref_view *view);

// Refuses an input with a dimension above 2^40, so that sums of a few dimensions cannot
// overflow even where the tensor is empty.
int32_t ref_need_small(const ref_prepare *prepare, uint64_t input);

// A scalar of an input that is a shape input.
int32_t ref_scalar(const ref_prepare *prepare, uint64_t input, int64_t *out);

// An output type from an attribute: INVALID_ARGUMENT unless it is one of `set`.
int32_t ref_output_type(ref_prepare *prepare, uint64_t output, const char *attribute,
                        int32_t otherwise, uint64_t set);

#endif  // REFERENCE_DENSE_H_
