// SPDX-License-Identifier: Apache-2.0
//
// The judge `index`, for results that name or pick elements (CONFORMANCE.md). Where ONNX fixes
// ties they are exact. Where the order along an axis is free (`unordered`) the lines of results
// are compared as sets. Where denormals may be flushed, elements that are flushed to one value
// are a tie that ONNX does not fix: another index is right if the elements at both are such.
#include <stdlib.h>

#include "compare/judge.h"

static int ascending(const void *a, const void *b) {
  const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

// ---- Lines as sets
// ------------------------------------------------------------------------------

static void take_line(const oc_compare_input *input, const void *data, size_t first,
                      uint64_t *codes) {
  const size_t length = input->line.length;
  for (size_t k = 0; k < length; ++k) {
    codes[k] = oc_number_code(input->type, data, first + k * input->line.step);
  }
  qsort(codes, length, sizeof *codes, ascending);
}

static void judge_line(const oc_compare_input *input, size_t first, uint64_t *room,
                       oc_comparison *out) {
  const size_t length = input->line.length;
  uint64_t *expected = room, *got = room + length;
  take_line(input, input->expected, first, expected);
  take_line(input, input->got, first, got);
  for (size_t k = 0; k < length; ++k) {
    if (expected[k] == got[k]) continue;
    oc_judge_note(out, first, 1, 0);
    return;
  }
}

static void judge_sets(const oc_compare_input *input, oc_comparison *out) {
  const size_t step = input->line.step, length = input->line.length;
  uint64_t *room = malloc((2 * length + 1) * sizeof *room);
  out->metric = "set";
  if (!room) {
    out->untrusted = "there is no memory to sort a line of results";
    return;
  }
  for (size_t block = 0; block < input->count; block += step * length) {
    for (size_t i = 0; i < step; ++i) judge_line(input, block + i, room, out);
  }
  free(room);
}

// ---- Ties that flushing makes
// -------------------------------------------------------------------

static bool is_flushed(const oc_compare_input *input, size_t position) {
  const oc_class kind = oc_number_class(
      input->named.type, oc_number_code(input->named.type, input->named.data, position));
  return kind == OC_NUMBER_ZERO || kind == OC_NUMBER_DENORMAL;
}

// Whether result `i`, an index into a line of `named`, may differ from the expected one.
static bool is_tie(const oc_compare_input *input, size_t i) {
  const oc_line *line = &input->named.line;
  if (!input->named.data || !input->special.denormal_any || line->length == 0) return false;
  if (!oc_number_format(input->named.type) || input->type != OPS_TYPE_INT64) return false;
  const int64_t *expected = (const int64_t *)input->expected + i;
  const int64_t *got = (const int64_t *)input->got + i;
  if (*got < 0 || (size_t)*got >= line->length) return false;
  if (*expected < 0 || (size_t)*expected >= line->length) return false;
  const size_t per_line = input->line.length ? input->line.length : 1;
  const size_t at = i / line->step / per_line * line->step * line->length + i % line->step;
  return is_flushed(input, at + (size_t)*expected * line->step) &&
         is_flushed(input, at + (size_t)*got * line->step);
}

void oc_judge_index(const oc_compare_input *input, oc_comparison *out) {
  if (input->unordered && input->line.length > 0) {
    judge_sets(input, out);
    return;
  }
  oc_judge_exact(input, out);
  if (!out->wrong || oc_number_format(input->type)) return;
  *out = (oc_comparison){.metric = out->metric, .verdict = OC_MATCH};
  for (size_t i = 0; i < input->count; ++i) {
    const bool equal = oc_number_code(input->type, input->expected, i) ==
                       oc_number_code(input->type, input->got, i);
    if (!equal && !is_tie(input, i)) oc_judge_note(out, i, 1, 0);
  }
}
