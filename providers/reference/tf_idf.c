// SPDX-License-Identifier: Apache-2.0
//
// TfIdfVectorizer. Tokens of the pool get numbers; an n-gram is then a list of numbers. The
// pool's n-grams are sorted, and every window of a row, for each length and each stride that
// max_skip_count allows, is looked up among them. Of equal n-grams the last counts.
#include <stdlib.h>
#include <string.h>

#include "ml_mapping.h"
#include "string_operators.h"
#include "strings.h"

typedef enum weighting { TF, IDF, TFIDF, WEIGHTING_COUNT } weighting;

typedef struct gram {
  const int64_t *tokens;
  int64_t length, index;  // of the n-gram in the pool
} gram;

typedef struct vectorizer_state {
  ref_mapping tokens;
  gram *grams;  // sorted
  int64_t gram_count;
  const int64_t *coordinates;  // of each n-gram of the pool
  const float *weights;        // or NULL
  int64_t shortest, longest, skips, width, pool_grams;
  int32_t weighting;
  uint64_t row_at, window_at, counts_at;
} vectorizer_state;

static int compare_grams(const void *left, const void *right) {
  const gram *a = left, *b = right;
  if (a->length != b->length) return a->length < b->length ? -1 : 1;
  for (int64_t i = 0; i < a->length; ++i)
    if (a->tokens[i] != b->tokens[i]) return a->tokens[i] < b->tokens[i] ? -1 : 1;
  return a->index == b->index ? 0 : a->index < b->index ? -1 : 1;
}

static int32_t read_pool(ref_prepare *p, vectorizer_state *s, ref_list *pool) {
  const char *name = p->inputs[0].type == OPS_TYPE_STRING ? "pool_strings" : "pool_int64s";
  RETURN_IF_ERROR(ref_list_read(p, name, pool));
  if (pool->count == 0)
    return ref_refuse(p, "attribute %s: expected the n-grams for the type of input X", name);
  return ref_mapping_build(p, pool, 0, &s->tokens);
}

// Number of a token of the pool: the place of the last equal one.
static int64_t number_of(const vectorizer_state *s, const ref_list *pool, int64_t place) {
  return pool->type == OPS_TYPE_STRING
             ? ref_mapping_find_text(&s->tokens, pool->strings[place])
             : ref_mapping_find_int(&s->tokens, ref_int_at(&pool->numbers, place));
}

// The part of the pool that holds n-grams of one length.
static int32_t pool_part(const ref_prepare *p, const ref_list *pool, const int64_t *starts,
                         int64_t lengths, int64_t length, int64_t *out_begin,
                         int64_t *out_end) {
  *out_begin = starts[length - 1];
  *out_end = length < lengths ? starts[length] : pool->count;
  if (*out_begin < 0 || *out_end < *out_begin || *out_end > pool->count ||
      (*out_end - *out_begin) % length != 0)
    return ref_refuse(p,
                      "attribute ngram_counts: the pool of %lld has no whole %lld-grams from "
                      "%lld to %lld",
                      (long long)pool->count, (long long)length, (long long)*out_begin,
                      (long long)*out_end);
  return OPS_OK;
}

static int32_t read_grams(ref_prepare *p, vectorizer_state *s, const ref_list *pool) {
  int64_t lengths;
  const int64_t *starts = ref_attr_ints(p->kernel, "ngram_counts", &lengths);
  void *memory;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)pool->count, sizeof(int64_t), &memory));
  int64_t *numbers = memory, begin, end;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)pool->count, sizeof(gram), &memory));
  s->grams = memory;
  for (int64_t i = 0; i < pool->count; ++i) numbers[i] = number_of(s, pool, i);
  for (int64_t length = 1; length <= lengths; ++length) {
    RETURN_IF_ERROR(pool_part(p, pool, starts, lengths, length, &begin, &end));
    for (int64_t i = begin; i < end; i += length, ++s->pool_grams)
      if (length >= s->shortest && length <= s->longest)
        s->grams[s->gram_count++] = (gram){numbers + i, length, s->pool_grams};
  }
  if (s->gram_count > 0)
    qsort(s->grams, (size_t)s->gram_count, sizeof *s->grams, compare_grams);
  return OPS_OK;
}

static int32_t read_coordinates(ref_prepare *p, vectorizer_state *s) {
  int64_t count;
  s->coordinates = ref_attr_ints(p->kernel, "ngram_indexes", &count);
  if (count < s->pool_grams || count == 0)
    return ref_refuse(p,
                      "attribute ngram_indexes: expected an entry for each of the %lld "
                      "n-grams, found %lld",
                      (long long)s->pool_grams, (long long)count);
  for (int64_t i = 0; i < count; ++i) {
    if (s->coordinates[i] < 0 || s->coordinates[i] == INT64_MAX)
      return ref_refuse(p, "attribute ngram_indexes: entry %lld is %lld", (long long)i,
                        (long long)s->coordinates[i]);
    if (s->coordinates[i] >= s->width) s->width = s->coordinates[i] + 1;
  }
  int64_t weights;
  s->weights = ref_attr_floats(p->kernel, "weights", &weights);
  if (weights > 0 && weights != count)
    return ref_refuse(p, "attribute weights: expected %lld numbers, found %lld",
                      (long long)count, (long long)weights);
  if (weights == 0) s->weights = NULL;
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  static const char *const names[WEIGHTING_COUNT] = {"TF", "IDF", "TFIDF"};
  vectorizer_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  ref_list pool;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 0, 2));
  for (s->weighting = 0; s->weighting < WEIGHTING_COUNT; ++s->weighting)
    if (ref_attr_is(p->kernel, "mode", names[s->weighting], "")) break;
  s->shortest = ref_attr_int(p->kernel, "min_gram_length", 0);
  s->longest = ref_attr_int(p->kernel, "max_gram_length", 0);
  s->skips = ref_attr_int(p->kernel, "max_skip_count", 0);
  if (s->weighting == WEIGHTING_COUNT || s->shortest < 1 || s->longest < s->shortest ||
      s->skips < 0)
    return ref_refuse(p,
                      "expected mode TF, IDF or TFIDF, 1 <= min_gram_length <= "
                      "max_gram_length and max_skip_count >= 0");
  RETURN_IF_ERROR(read_pool(p, s, &pool));
  RETURN_IF_ERROR(read_grams(p, s, &pool));
  RETURN_IF_ERROR(read_coordinates(p, s));
  int64_t columns = x->rank == 0 ? 1 : x->dims[x->rank - 1];
  s->row_at = ref_reserve_reals(p, columns);
  s->window_at = ref_reserve_reals(p, columns);
  s->counts_at = ref_reserve_reals(p, s->pool_grams);
  int64_t dims[2] = {x->rank == 2 ? x->dims[0] : 0, s->width};
  return x->rank == 2 ? ref_set_shape(p, 0, 2, dims) : ref_set_shape(p, 0, 1, dims + 1);
}

static int64_t *numbers_at(const ref_run *run, uint64_t at) {
  return (int64_t *)((char *)run->workspace + at);
}

static int32_t load_row(const ref_run *run, int64_t row, int64_t columns) {
  const vectorizer_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  for (int64_t i = 0; i < columns; ++i) {
    int64_t at = x->rank == 0   ? 0
                 : x->rank == 1 ? i * x->strides[0]
                                : row * x->strides[0] + i * x->strides[1];
    RETURN_IF_ERROR(
        ref_mapping_find(&s->tokens, x, at, numbers_at(run, s->row_at) + i, run->error));
  }
  return OPS_OK;
}

// The n-gram of the pool with these tokens, the last of equal ones; -1: none.
static int64_t find_gram(const vectorizer_state *s, const int64_t *tokens, int64_t length) {
  gram key = {tokens, length, INT64_MAX};
  int64_t low = 0, high = s->gram_count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (compare_grams(&s->grams[middle], &key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return -1;
  key.index = s->grams[low - 1].index;
  return compare_grams(&s->grams[low - 1], &key) == 0 ? key.index : -1;
}

// Counts windows of `length` tokens that lie `stride` apart.
static void count_windows(const ref_run *run, int64_t columns, int64_t length, int64_t stride) {
  const vectorizer_state *s = run->state;
  const int64_t *row = numbers_at(run, s->row_at);
  int64_t *window = numbers_at(run, s->window_at), *counts = numbers_at(run, s->counts_at);
  if (length > columns || (length > 1 && stride > (columns - 1) / (length - 1))) return;
  for (int64_t first = 0; first + (length - 1) * stride < columns; ++first) {
    int known = 1;
    for (int64_t i = 0; i < length; ++i) {
      window[i] = row[first + i * stride];
      known &= window[i] >= 0;
    }
    int64_t found = known ? find_gram(s, window, length) : -1;
    if (found >= 0) ++counts[found];
  }
}

static void store_row(const ref_run *run, int64_t row) {
  const vectorizer_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  int64_t base = y->rank == 2 ? row * y->strides[0] : 0, step = y->strides[y->rank - 1];
  const int64_t *counts = numbers_at(run, s->counts_at);
  const double zero = 0;
  for (int64_t i = 0; i < s->width; ++i) ref_store(y, base + i * step, 1, 1, &zero);
  for (int64_t g = 0; g < s->pool_grams; ++g) {
    if (counts[g] == 0) continue;
    int64_t at = base + s->coordinates[g] * step;
    double weight = s->weighting == TF || s->weights == NULL ? 1 : (double)s->weights[g];
    double value = ref_at(y, at) + weight * (s->weighting == IDF ? 1 : (double)counts[g]);
    ref_store(y, at, 1, 1, &value);
  }
}

static int32_t execute(ref_run *run) {
  const vectorizer_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  int64_t rows = x->rank == 2 ? x->dims[0] : 1;
  int64_t columns = x->rank == 0 ? 1 : x->dims[x->rank - 1];
  for (int64_t n = 0; n < rows; ++n) {
    RETURN_IF_ERROR(load_row(run, n, columns));
    memset(numbers_at(run, s->counts_at), 0, (size_t)s->pool_grams * sizeof(int64_t));
    for (int64_t length = s->shortest; length <= s->longest && length <= columns; ++length) {
      // Strides do not matter to single tokens, which are counted once.
      int64_t strides = length == 1 ? 1 : s->skips < columns ? s->skips + 1 : columns;
      for (int64_t stride = 1; stride <= strides; ++stride)
        count_windows(run, columns, length, stride);
    }
    store_row(run, n);
  }
  return OPS_OK;
}

const ref_op ref_tf_idf_vectorizer = {sizeof(vectorizer_state), prepare, execute, NULL, NULL};
