// SPDX-License-Identifier: Apache-2.0
//
// StringSplit. With a delimiter, n occurrences give n + 1 parts, so an empty text is one empty
// part. Without, runs of Unicode white space separate and none is left at the ends of the text.
#include <string.h>

#include "string_operators.h"
#include "strings.h"

typedef struct split_state {
  ops_str delimiter;  // empty: white space
  int64_t most;       // parts
} split_state;

static int32_t prepare(ref_prepare *p) {
  split_state *s = p->state;
  int64_t count;
  const ops_str *delimiter = ref_attr_strings(p->kernel, "delimiter", &count);
  if (count > 0) s->delimiter = delimiter[0];
  int64_t splits = ref_attr_int(p->kernel, "maxsplit", -1);
  s->most = splits < 0 || splits == INT64_MAX ? INT64_MAX : splits + 1;
  p->outputs[0].by_execute = 1;
  p->outputs[0].rank = p->inputs[0].rank + 1;
  if (p->outputs[0].rank > OPS_MAX_RANK)
    return ref_refuse(p, "input X: expected a rank of at most %d", OPS_MAX_RANK - 1);
  return ref_same_shape(p, 1, 0);
}

static ops_str skip(ops_str text, uint64_t bytes) {
  return (ops_str){text.data + bytes, text.size - bytes};
}

static ops_str trim_front(ops_str text) {
  uint64_t bytes;
  while ((bytes = ref_white_space(text)) > 0) text = skip(text, bytes);
  return text;
}

// Bytes before the first separator, and the separator's.
static uint64_t find(const split_state *s, ops_str text, uint64_t *out_size) {
  *out_size = s->delimiter.size;
  for (uint64_t at = 0; at < text.size; ++at) {
    if (s->delimiter.size == 0) {
      if ((*out_size = ref_white_space(skip(text, at))) > 0) return at;
    } else if (text.size - at >= s->delimiter.size &&
               memcmp(text.data + at, s->delimiter.data, s->delimiter.size) == 0) {
      return at;
    }
  }
  *out_size = 0;
  return text.size;
}

// Cuts the next part off; `rest_only` takes all that is left. 0 when there is none.
static int next_part(const split_state *s, ops_str *text, int *done, int rest_only,
                     ops_str *out_part) {
  uint64_t separator = 0;
  if (*done) return 0;
  if (s->delimiter.size == 0) {
    *text = trim_front(*text);
    if (text->size == 0) return 0;
  }
  uint64_t size = rest_only ? text->size : find(s, *text, &separator);
  *out_part = (ops_str){text->data, size};
  *done = separator == 0;
  *text = skip(*text, size + separator);
  return 1;
}

// The last part of white space splitting may end in white space.
static ops_str trim_back(ops_str text) {
  uint64_t end = 0;
  for (uint64_t at = 0; at < text.size;) {
    uint64_t space = ref_white_space(skip(text, at));
    at += space > 0 ? space : 1;
    if (space == 0) end = at;
  }
  return (ops_str){text.data, end};
}

// Counts the parts of a text and, if `y` is given, writes them from `first` on.
static int32_t split(const ref_run *run, ops_str text, const ref_view *y, int64_t first,
                     int64_t *out_count) {
  const split_state *s = run->state;
  ops_str part;
  int done = 0;
  int64_t count = 0;
  if (text.data == NULL) text.data = "";
  for (; count < s->most && next_part(s, &text, &done, count + 1 == s->most, &part); ++count) {
    if (s->delimiter.size == 0 && count + 1 == s->most) part = trim_back(part);
    if (y != NULL) RETURN_IF_ERROR(ref_string_set(run, y, first + count, part));
  }
  *out_count = count;
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[0];
  int64_t most = 0, count, dims[OPS_MAX_RANK];
  ops_str text;
  for (int64_t i = 0; i < x->count; ++i) {
    RETURN_IF_ERROR(ref_string_get(run, x, i, &text));
    RETURN_IF_ERROR(split(run, text, NULL, 0, &count));
    if (ref_wanted(run, 1))
      ref_store_int(&run->outputs[1], ref_offset_of(&run->outputs[1], i), 1, 1, &count);
    if (count > most) most = count;
  }
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[x->rank] = most;
  RETURN_IF_ERROR(ref_set_output(run, 0, x->rank + 1, dims));
  for (int64_t i = 0; i < x->count; ++i) {
    RETURN_IF_ERROR(ref_string_get(run, x, i, &text));
    RETURN_IF_ERROR(split(run, text, &run->outputs[0], i * most, &count));
  }
  return OPS_OK;
}

const ref_op ref_string_split = {sizeof(split_state), prepare, execute, NULL, NULL};
