// SPDX-License-Identifier: Apache-2.0
//
// StringNormalizer: stop words removed, then the case changed. Words are compared by case
// folding unless is_case_sensitive. The case changes by Unicode's simple mapping, in every
// locale the same but for Turkish and Azeri, where i and I keep or lack their dot.
#include <string.h>

#include "string_operators.h"
#include "strings.h"

typedef struct normalizer_state {
  int32_t to;         // ref_case
  int32_t sensitive;  // of the comparison
  int32_t turkic;
  const ops_str *stop_words;  // folded unless `sensitive`
  int64_t stop_count;
} normalizer_state;

static int32_t fold_words(ref_prepare *p, normalizer_state *s) {
  void *memory;
  const ops_str *words = ref_attr_strings(p->kernel, "stopwords", &s->stop_count);
  s->stop_words = words;
  if (s->sensitive || s->stop_count == 0) return OPS_OK;
  RETURN_IF_ERROR(ref_keep(p, (uint64_t)s->stop_count, sizeof *words, &memory));
  ops_str *folded = memory;
  ref_buffer buffer = {.kernel = p->kernel};
  int32_t status = OPS_OK;
  for (int64_t i = 0; i < s->stop_count && status == OPS_OK; ++i) {
    buffer.size = 0;
    status = ref_change_case(&buffer, words[i], REF_CASE_FOLD, s->turkic, p->error);
    if (status == OPS_OK) status = ref_keep(p, buffer.size, 1, &memory);
    if (status != OPS_OK) break;
    if (buffer.size > 0) memcpy(memory, buffer.data, buffer.size);
    folded[i] = (ops_str){memory, buffer.size};
  }
  ref_buffer_free(&buffer);
  s->stop_words = folded;
  return status;
}

static int is_turkic(const ops_kernel *kernel) {
  int64_t count;
  const ops_str *locale = ref_attr_strings(kernel, "locale", &count);
  if (count == 0 || locale->size < 2) return 0;
  int ends = locale->size == 2 || strchr("_-.@", locale->data[2]) != NULL;
  return ends && (memcmp(locale->data, "tr", 2) == 0 || memcmp(locale->data, "az", 2) == 0);
}

static int32_t prepare(ref_prepare *p) {
  static const char *const names[] = {"NONE", "LOWER", "UPPER"};
  normalizer_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, 2));
  if (x->rank == 2 && x->dims[0] != 1)
    return ref_refuse(p, "input X: expected the shape [C] or [1, C], found [%lld, %lld]",
                      (long long)x->dims[0], (long long)x->dims[1]);
  for (s->to = REF_CASE_NONE; s->to <= REF_CASE_UPPER; ++s->to)
    if (ref_attr_is(p->kernel, "case_change_action", names[s->to], "NONE")) break;
  if (s->to > REF_CASE_UPPER)
    return ref_refuse(p, "attribute case_change_action: expected NONE, LOWER or UPPER");
  s->sensitive = ref_attr_int(p->kernel, "is_case_sensitive", 0) != 0;
  s->turkic = is_turkic(p->kernel);
  p->outputs[0].by_execute = 1;
  p->outputs[0].rank = x->rank;
  return fold_words(p, s);
}

static int32_t is_stop_word(const ref_run *run, ref_buffer *buffer, ops_str word, int *out) {
  const normalizer_state *s = run->state;
  *out = 0;
  if (s->stop_count == 0) return OPS_OK;
  buffer->size = 0;
  if (!s->sensitive) {
    RETURN_IF_ERROR(ref_change_case(buffer, word, REF_CASE_FOLD, s->turkic, run->error));
    word = (ops_str){buffer->data, buffer->size};
  }
  for (int64_t i = 0; i < s->stop_count && !*out; ++i)
    *out = ref_same_text(word, s->stop_words[i]);
  return OPS_OK;
}

// Counts the words that stay and, if `y` is given, writes them.
static int32_t normalize(const ref_run *run, ref_buffer *buffer, const ref_view *y,
                         int64_t *out_count) {
  const normalizer_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  *out_count = 0;
  for (int64_t i = 0; i < x->count; ++i) {
    ops_str word;
    int stop;
    RETURN_IF_ERROR(ref_string_get(run, x, i, &word));
    RETURN_IF_ERROR(is_stop_word(run, buffer, word, &stop));
    if (stop) continue;
    if (y != NULL) {
      buffer->size = 0;
      RETURN_IF_ERROR(ref_change_case(buffer, word, s->to, s->turkic, run->error));
      RETURN_IF_ERROR(
          ref_string_set(run, y, *out_count, (ops_str){buffer->data, buffer->size}));
    }
    ++*out_count;
  }
  return OPS_OK;
}

static int32_t run_with(ref_run *run, ref_buffer *buffer) {
  int32_t rank = run->inputs[0].rank;
  int64_t count;
  RETURN_IF_ERROR(normalize(run, buffer, NULL, &count));
  // Without a word left there is one that is empty.
  int64_t dims[2] = {1, count > 0 ? count : 1};
  RETURN_IF_ERROR(ref_set_output(run, 0, rank, dims + (2 - rank)));
  return normalize(run, buffer, &run->outputs[0], &count);
}

static int32_t execute(ref_run *run) {
  ref_buffer buffer = {.kernel = run->kernel};
  int32_t status = run_with(run, &buffer);
  ref_buffer_free(&buffer);
  return status;
}

const ref_op ref_string_normalizer = {sizeof(normalizer_state), prepare, execute, NULL, NULL};
