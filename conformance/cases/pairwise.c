// SPDX-License-Identifier: Apache-2.0
//
// Greedy covering of pairs. Pairs are numbered (factor a, factor b, level a, level b), a < b,
// so one byte array says which are still open. Only legal combinations are offered, so every
// pair that some legal combination contains is covered at the end.
#include "cases/pairwise.h"

#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"

typedef struct pair_space {
  size_t factors;
  uint32_t levels[OC_PAIRWISE_MAX_FACTORS];
  size_t first[OC_PAIRWISE_MAX_FACTORS][OC_PAIRWISE_MAX_FACTORS];
  size_t pairs;
  unsigned char *open;
} pair_space;

static size_t pair_index(const pair_space *space, const uint32_t *row, size_t a, size_t b) {
  return space->first[a][b] + (size_t)row[a] * space->levels[b] + row[b];
}

// Numbers the pairs; with a single factor its levels are paired with themselves.
static void lay_out(pair_space *space) {
  space->pairs = 0;
  for (size_t a = 0; a < space->factors; ++a) {
    for (size_t b = a + 1; b < space->factors; ++b) {
      space->first[a][b] = space->pairs;
      space->pairs += (size_t)space->levels[a] * space->levels[b];
    }
  }
  if (space->factors == 1) {
    space->first[0][0] = 0;
    space->pairs = (size_t)space->levels[0] * space->levels[0];
  }
}

typedef int (*pair_visit)(unsigned char *open);

static int is_open(unsigned char *open) {
  return *open;
}

static int close_pair(unsigned char *open) {
  const int was = *open;
  *open = 0;
  return was;
}

static int open_pair(unsigned char *open) {
  *open = 1;
  return 1;
}

static size_t visit_pairs(pair_space *space, const uint32_t *row, pair_visit visit) {
  size_t sum = 0;
  if (space->factors == 1) return (size_t)visit(&space->open[pair_index(space, row, 0, 0)]);
  for (size_t a = 0; a < space->factors; ++a) {
    for (size_t b = a + 1; b < space->factors; ++b) {
      sum += (size_t)visit(&space->open[pair_index(space, row, a, b)]);
    }
  }
  return sum;
}

static void choose(pair_space *space, const uint32_t *combinations, size_t count,
                   unsigned char *selected) {
  for (;;) {
    size_t best = 0, best_gain = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t gain = visit_pairs(space, combinations + i * space->factors, is_open);
      if (gain > best_gain) {
        best = i;
        best_gain = gain;
      }
    }
    if (best_gain == 0) return;
    selected[best] = 1;
    visit_pairs(space, combinations + best * space->factors, close_pair);
  }
}

int32_t oc_pairwise_select(const uint32_t *combinations, size_t count, size_t factors,
                           unsigned char *selected, ops_error *error) {
  memset(selected, 0, count);
  if (count == 0) return OPS_OK;
  if (factors == 0) {
    selected[0] = 1;
    return OPS_OK;
  }
  if (factors > OC_PAIRWISE_MAX_FACTORS) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "expected at most %d varied attributes, found %zu",
                         OC_PAIRWISE_MAX_FACTORS, factors);
  }
  pair_space space = {.factors = factors};
  for (size_t i = 0; i < count * factors; ++i) {
    uint32_t *levels = &space.levels[i % factors];
    if (combinations[i] >= *levels) *levels = combinations[i] + 1;
  }
  lay_out(&space);
  if (space.pairs > OC_PAIRWISE_MAX_PAIRS) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "expected at most %d pairs of attribute values, found %zu",
                         OC_PAIRWISE_MAX_PAIRS, space.pairs);
  }
  space.open = calloc(space.pairs, 1);
  if (!space.open) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for pairs");
  for (size_t i = 0; i < count; ++i) visit_pairs(&space, combinations + i * factors, open_pair);
  choose(&space, combinations, count, selected);
  free(space.open);
  return OPS_OK;
}
