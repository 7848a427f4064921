// SPDX-License-Identifier: Apache-2.0
//
// A case in one file, with everything that judging it needs: for targets that cannot host the
// harness. Little-endian; numbers and strings one after the other in the order of the fields
// below, a hash at the end. What a reader does not know it refuses: there is one format.
#ifndef OC_REPLAY_CASE_FILE_H_
#define OC_REPLAY_CASE_FILE_H_

#include "cases/array.h"
#include "compare/compare.h"

#define OC_CASE_FILE_MAX_BYTES ((uint64_t)1 << 31)
#define OC_CASE_FILE_MAX_TEXT 4096  // bytes of one string

// One output: what is expected and how it is judged. Of `limits` got, expected and the arrays
// are set when it is judged.
typedef struct oc_baked_output {
  const char *name;
  oc_array expected;
  oc_compare_input limits;
  double *wide, *magnitude, *deviation, *lower, *upper;  // one number per result, or NULL
  bool has_law;
  oc_random_law law;
  double *law_numbers;
  oc_array named;
} oc_baked_output;

typedef struct oc_baked {
  oc_case item;  // its contract holds names and types only
  oc_inputs inputs;
  uint64_t constants;  // bit i: input i is a constant of the graph
  size_t output_count;
  oc_baked_output outputs[OC_CONTRACT_MAX_PARAMS];
  struct oc_baked_storage *storage;
} oc_baked;

// The bytes of a file; *out_bytes is for free(). Of `baked` only what is described is read.
// `expected` and the arrays may be borrowed.
int32_t oc_case_file_make(const oc_baked *baked, unsigned char **out_bytes, size_t *out_size,
                          ops_error *error);

// INVALID_MODEL with the offset and what was expected there. On error nothing is kept.
int32_t oc_case_file_parse(const unsigned char *bytes, size_t size, oc_baked *out_baked,
                           ops_error *error);
int32_t oc_case_file_load(const char *path, oc_baked *out_baked, ops_error *error);
void oc_baked_finish(oc_baked *baked);  // of a parsed one

#endif  // OC_REPLAY_CASE_FILE_H_
