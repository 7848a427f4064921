// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean": the candidate with the smallest edit distance, if it is near enough.
#ifndef OC_CONTRACT_NEAREST_H_
#define OC_CONTRACT_NEAREST_H_

#include <stddef.h>

typedef struct oc_nearest {
  const char *wanted;
  const char *best;  // NULL while nothing is near enough; borrowed
  size_t distance;
} oc_nearest;

oc_nearest oc_nearest_begin(const char *wanted);
void oc_nearest_offer(oc_nearest *nearest, const char *candidate);

// Three arguments for "%s%s%s" at the end of a message.
#define OC_NEAREST_HINT(nearest)                                                   \
  (nearest).best ? "; did you mean \"" : "", (nearest).best ? (nearest).best : "", \
      (nearest).best ? "\"?" : ""

// The number of insertions, deletions, replacements and swaps of neighbours that lead from one
// text to the other; texts longer than 63 bytes are compared by their first 63.
size_t oc_nearest_distance(const char *a, const char *b);

#endif  // OC_CONTRACT_NEAREST_H_
