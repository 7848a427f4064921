// SPDX-License-Identifier: Apache-2.0
//
// Edit distance with swaps of neighbours (Damerau's, in its restricted form), three rows at a
// time.
#include "contract/nearest.h"

#include <string.h>

#define LONGEST 63

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

size_t oc_nearest_distance(const char *a, const char *b) {
  const size_t na = strnlen(a, LONGEST), nb = strnlen(b, LONGEST);
  size_t rows[3][LONGEST + 1];
  for (size_t j = 0; j <= nb; ++j) rows[0][j] = j;
  for (size_t i = 1; i <= na; ++i) {
    size_t *row = rows[i % 3];
    const size_t *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= nb; ++j) {
      const size_t change = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = least(change, least(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = least(row[j], above2[j - 2] + 1);
      }
    }
  }
  return rows[na % 3][nb];
}

oc_nearest oc_nearest_begin(const char *wanted) {
  // More than a third of the letters wrong is another word.
  return (oc_nearest){wanted, NULL, strlen(wanted) / 3 + 2};
}

void oc_nearest_offer(oc_nearest *nearest, const char *candidate) {
  const size_t distance = oc_nearest_distance(nearest->wanted, candidate);
  if (distance >= nearest->distance) return;
  nearest->distance = distance;
  nearest->best = candidate;
}
