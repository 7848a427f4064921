// SPDX-License-Identifier: Apache-2.0
//
// Provider clauses in memory: what every provider owes its host whatever operators it has. The
// files are contracts/provider/*.yaml, their form is described in contracts/schema/clauses.md.
// Checks cite clauses by id, and reports print the clause of a check that failed.
#ifndef OC_CONTRACT_CLAUSES_H_
#define OC_CONTRACT_CLAUSES_H_

#include "contract/arena.h"
#include "contract/contract.h"

#define OC_CLAUSES_FORMAT 1  // the version of the format that this code reads
#define OC_CLAUSES_MAX 64    // clauses of one topic

typedef struct oc_clause {
  const char *id;            // "LIFECYCLE-3"
  const char *text;          // what must hold, in sentences
  const char *header;        // of the SDK: "ops/device.h"
  const char *const *slots;  // functions, fields or constants of that header it is about
  size_t slot_count;
  const char *unchecked;  // why no check covers it; NULL: one does
  oc_position at;
} oc_clause;

// Clauses in the order of the files' names, then of the files. Owns everything it points to.
typedef struct oc_clauses {
  const oc_clause *items;
  size_t count;
  oc_arena *arena;
} oc_clauses;

// Reads every *.yaml of a folder (not below it). Errors: OPS_ERROR_IO, OPS_ERROR_NOT_FOUND (no
// folder, or no file in it), OPS_ERROR_INVALID_MODEL with "file:line:column: …",
// OPS_ERROR_OUT_OF_MEMORY. On error *out_clauses is untouched.
int32_t oc_clauses_load(const char *folder, oc_clauses **out_clauses, ops_error *error);
// One file from memory; `name` is used in messages.
int32_t oc_clauses_parse(const char *name, const char *text, size_t size,
                         oc_clauses **out_clauses, ops_error *error);
void oc_clauses_destroy(oc_clauses *clauses);  // accepts NULL

// The clause with the id that `id` begins with, up to its first space, or NULL. NULL clauses
// have none.
const oc_clause *oc_clauses_find(const oc_clauses *clauses, const char *id);

// The ids in a text such as "CLAIMS-1 CLAIMS-2": the next one at or after *cursor and its
// length, or NULL at the end. *cursor moves behind it. A NULL text has none.
const char *oc_clauses_next_id(const char **cursor, size_t *out_size);

#endif  // OC_CONTRACT_CLAUSES_H_
