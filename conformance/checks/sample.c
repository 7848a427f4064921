// SPDX-License-Identifier: Apache-2.0
//
// Counting the suitable cases of each operator and type: contracts lie together in the list, so
// one row of counters is enough.
#include "checks/sample.h"

#include <stdlib.h>
#include <string.h>

static bool is_special(oc_fill fill) {
  return fill != OC_FILL_EXACT_INTEGER && fill != OC_FILL_UNIFORM && fill != OC_FILL_NORMAL;
}

bool oc_sample_suits(const oc_case *item) {
  int64_t elements = 0;
  if (item->provider_case || item->error || !item->row || is_special(item->fill)) return false;
  for (size_t i = 0; i < item->contract->input_count; ++i) {
    const oc_row_input *input = &item->inputs[i];
    for (size_t k = 0; k < input->count; ++k) {
      int64_t count = 1;
      for (int32_t d = 0; d < input->shapes[k].rank; ++d) count *= input->shapes[k].dims[d];
      if (count == 0) return false;
      elements += count;
      if (elements > OC_SAMPLE_MAX_ELEMENTS) return false;
    }
  }
  return true;
}

static size_t type_of(const oc_case *item) {
  const int32_t type = oc_case_main_type(item);
  return type >= 0 && type < OPS_TYPE_COUNT ? (size_t)type : 0;
}

// Writes the totals of the cases [begin, end) of one contract.
static void total(const oc_cases *cases, size_t begin, size_t end, const uint32_t *counts,
                  oc_sample *samples) {
  for (size_t i = begin; i < end; ++i) {
    if (samples[i].total) samples[i].total = counts[type_of(&cases->items[i])];
  }
}

oc_sample *oc_sample_all(const oc_cases *cases) {
  uint32_t counts[OPS_TYPE_COUNT] = {0};
  oc_sample *samples = calloc(cases->count + 1, sizeof *samples);
  size_t begin = 0;
  for (size_t i = 0; samples && i < cases->count; ++i) {
    const oc_case *item = &cases->items[i];
    if (item->contract != cases->items[begin].contract) {
      total(cases, begin, i, counts, samples);
      memset(counts, 0, sizeof counts);
      begin = i;
    }
    if (oc_sample_suits(item)) samples[i] = (oc_sample){counts[type_of(item)]++, 1};
  }
  if (samples) total(cases, begin, cases->count, counts, samples);
  return samples;
}

bool oc_sample_takes(oc_sample sample, uint32_t wanted) {
  if (sample.total == 0 || wanted == 0) return false;
  if (wanted >= sample.total) return true;
  // The interval of this place, scaled to `wanted`, holds a whole number.
  const uint64_t before = (uint64_t)sample.place * wanted;
  return before % sample.total == 0 ||
         before / sample.total != (before + wanted - 1) / sample.total;
}
