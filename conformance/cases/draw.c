// SPDX-License-Identifier: Apache-2.0
//
// From the shapes of a row to others: classes, moves, limits.
#include "cases/draw.h"

#include <string.h>

#include "ops_support/checked.h"

// ---- What is to be seen of a row ------------------------------------------------------------

static bool is_open(const oc_row_input *input) {
  return input->count > 0 && input->contents.kind == OC_VALUE_NONE;
}

static size_t find_class(const oc_draw_base *base, int64_t size) {
  size_t at = 0;
  while (at < base->class_count && base->sizes[at] != size) ++at;
  return at;
}

static bool add_class(oc_draw_base *base, int64_t size) {
  if (size <= 1) return true;
  const size_t at = find_class(base, size);
  if (at < base->class_count) return true;
  if (at == OC_DRAW_MAX_CLASSES) return false;
  base->sizes[base->class_count++] = size;
  return true;
}

static bool add_classes(oc_draw_base *base, const oc_row_input *input, size_t *tensors) {
  for (size_t k = 0; k < input->count; ++k) {
    const oc_shape *shape = &input->shapes[k];
    int64_t count;
    if (++*tensors > OC_DRAW_MAX_TENSORS) return false;
    if (!ops_checked_count(shape->dims, shape->rank, &count)) return false;
    base->elements += count;
    if (!is_open(input)) continue;
    if (shape->rank > base->rank) base->rank = shape->rank;
    for (int32_t d = 0; d < shape->rank; ++d) {
      if (!add_class(base, shape->dims[d])) return false;
    }
  }
  return true;
}

static void fix(oc_draw_base *base, int64_t size) {
  const size_t at = find_class(base, size);
  if (at < base->class_count) base->fixed[at] = true;
}

static void fix_value(oc_draw_base *base, const oc_value *value) {
  const bool ints = value->kind == OC_VALUE_INT || value->kind == OC_VALUE_INTS;
  for (size_t i = 0; ints && i < value->count; ++i) fix(base, value->ints[i]);
}

static void fix_input(oc_draw_base *base, const oc_row_input *input) {
  fix_value(base, &input->contents);
  for (size_t k = 0; k < input->count; ++k) {
    for (int32_t d = 0; d < input->shapes[k].rank; ++d) fix(base, input->shapes[k].dims[d]);
  }
}

static void fix_classes(oc_draw_base *base, const oc_contract *contract) {
  const oc_row *row = base->row;
  for (size_t i = 0; i < contract->input_count; ++i) {
    if (row->inputs[i].count > 0 && !is_open(&row->inputs[i])) fix_input(base, &row->inputs[i]);
  }
  for (size_t i = 0; i < contract->attribute_count; ++i) fix_value(base, &row->attributes[i]);
  for (size_t i = 0; i < row->vary_count; ++i) {
    for (size_t k = 0; k < row->vary[i].count; ++k) fix_value(base, &row->vary[i].values[k]);
  }
}

bool oc_draw_base_init(oc_draw_base *base, const oc_contract *contract, const oc_row *row) {
  size_t tensors = 0;
  *base = (oc_draw_base){.row = row};
  for (size_t i = 0; i < contract->input_count; ++i) {
    const oc_row_input *input = &row->inputs[i];
    const oc_value_kind kind = input->contents.kind;
    if (!add_classes(base, input, &tensors)) return false;
    base->open_inputs += is_open(input);
    base->grows = base->grows || kind == OC_VALUE_INT || kind == OC_VALUE_INTS;
  }
  fix_classes(base, contract);
  for (size_t i = 0; i < base->class_count; ++i) base->free_count += !base->fixed[i];
  return base->open_inputs > 0 && base->elements <= OC_DRAW_MAX_ELEMENTS;
}

// ---- Sizes ----------------------------------------------------------------------------------

static const int64_t kSizes[] = {2,  3,  1,   4,   5,   7,   8,   9,   6,   11,  13, 15, 16,
                                 17, 19, 23,  29,  31,  32,  33,  37,  47,  61,  63, 64, 65,
                                 67, 97, 101, 127, 128, 129, 131, 191, 255, 256, 257};
#define SIZE_COUNT ((int64_t)(sizeof kSizes / sizeof *kSizes))

int64_t oc_draw_size(oc_random *random) {
  const int64_t reach = oc_random_integer(random, 0, SIZE_COUNT - 1);
  return kSizes[oc_random_integer(random, 0, reach)];
}

// ---- Writing shapes -------------------------------------------------------------------------

typedef struct drawn_sizes {
  int64_t sizes[OC_DRAW_MAX_CLASSES];
  int32_t lead;  // dimensions put before those of the highest rank
  int64_t lead_dims[OC_DRAW_MAX_RANK];
  bool whole;  // `lead_dims` are all there is
} drawn_sizes;

static int64_t new_size(const oc_draw_base *base, const drawn_sizes *drawn, int64_t size) {
  const size_t at = find_class(base, size);
  return at < base->class_count ? drawn->sizes[at] : size;
}

static void write_shape(const oc_draw_base *base, const drawn_sizes *drawn,
                        const oc_shape *from, int64_t *dims, oc_shape *out) {
  int32_t rank = 0;
  const bool led = drawn->lead > 0 && from->rank == base->rank;
  for (int32_t d = 0; led && d < drawn->lead; ++d) dims[rank++] = drawn->lead_dims[d];
  for (int32_t d = 0; !drawn->whole && d < from->rank; ++d) {
    dims[rank++] = new_size(base, drawn, from->dims[d]);
  }
  *out = (oc_shape){.rank = rank, .dims = dims};
}

static bool grown(const oc_draw_base *base, const drawn_sizes *drawn) {
  for (size_t i = 0; base->grows && i < base->class_count; ++i) {
    if (drawn->sizes[i] < base->sizes[i]) return false;
  }
  return true;
}

// *out_elements: of all drawn inputs together.
static bool write_shapes(const oc_draw_base *base, const oc_contract *contract,
                         const drawn_sizes *drawn, oc_draw_shapes *out, int64_t *out_elements) {
  size_t at = 0;
  *out_elements = 0;
  if (!grown(base, drawn)) return false;
  for (size_t i = 0; i < contract->input_count; ++i) {
    const oc_row_input *from = &base->row->inputs[i];
    out->inputs[i] = *from;
    if (!is_open(from)) continue;
    out->inputs[i].shapes = &out->shapes[at];
    for (size_t k = 0; k < from->count; ++k, ++at) {
      int64_t count;
      write_shape(base, drawn, &from->shapes[k], out->dims[at], &out->shapes[at]);
      if (!ops_checked_count(out->dims[at], out->shapes[at].rank, &count)) return false;
      *out_elements += count;
    }
  }
  return true;
}

static bool write_small(const oc_draw_base *base, const oc_contract *contract,
                        const drawn_sizes *drawn, oc_draw_shapes *out) {
  int64_t elements;
  return write_shapes(base, contract, drawn, out, &elements) &&
         elements <= OC_DRAW_MAX_ELEMENTS;
}

static drawn_sizes as_they_are(const oc_draw_base *base) {
  drawn_sizes drawn = {.lead = 0};
  memcpy(drawn.sizes, base->sizes, sizeof drawn.sizes);
  return drawn;
}

// The class that is number `which` of the free ones.
static size_t free_class(const oc_draw_base *base, size_t which) {
  size_t at = 0;
  for (which %= base->free_count; base->fixed[at] || which-- > 0; ++at) continue;
  return at;
}

bool oc_draw_set(const oc_draw_base *base, const oc_contract *contract, size_t which,
                 int64_t size, oc_draw_shapes *out) {
  if (base->free_count == 0) return false;
  drawn_sizes drawn = as_they_are(base);
  drawn.sizes[free_class(base, which)] = size;
  return write_small(base, contract, &drawn, out);
}

bool oc_draw_large(const oc_draw_base *base, const oc_contract *contract, size_t which,
                   oc_draw_shapes *out) {
  if (base->free_count == 0) return false;
  drawn_sizes drawn = as_they_are(base);
  int64_t *size = &drawn.sizes[free_class(base, which)];
  for (int64_t elements = 0; *size <= 4 * OC_DRAW_LARGE; *size = 2 * *size + 1) {
    if (!write_shapes(base, contract, &drawn, out, &elements)) return false;
    if (elements >= OC_DRAW_LARGE) return elements <= 8 * OC_DRAW_LARGE;
  }
  return false;
}

// ---- Moves ----------------------------------------------------------------------------------

static bool move_one(const oc_draw_base *base, oc_random *random, drawn_sizes *drawn) {
  if (base->free_count == 0) return false;
  const int64_t which = oc_random_integer(random, 0, (int64_t)base->free_count - 1);
  drawn->sizes[free_class(base, (size_t)which)] = oc_draw_size(random);
  return true;
}

static bool move_all(const oc_draw_base *base, oc_random *random, drawn_sizes *drawn) {
  for (size_t i = 0; i < base->class_count; ++i) {
    if (!base->fixed[i]) drawn->sizes[i] = oc_draw_size(random);
  }
  return base->free_count > 0;
}

static bool move_family(const oc_draw_base *base, oc_random *random, drawn_sizes *drawn) {
  if (base->free_count == 0) return false;
  const int64_t which = oc_random_integer(random, 0, (int64_t)base->free_count - 1);
  const int64_t unit = base->sizes[free_class(base, (size_t)which)];
  const int64_t size = oc_draw_size(random);
  for (size_t i = 0; i < base->class_count; ++i) {
    if (!base->fixed[i] && base->sizes[i] % unit == 0) {
      drawn->sizes[i] = base->sizes[i] / unit * size;
    }
  }
  return true;
}

static bool move_lead(const oc_draw_base *base, oc_random *random, drawn_sizes *drawn) {
  if (base->free_count > 0 && !move_one(base, random, drawn)) return false;
  drawn->lead = (int32_t)oc_random_integer(random, 1, 3);
  for (int32_t i = 0; i < drawn->lead; ++i) {
    drawn->lead_dims[i] = oc_random_integer(random, 1, 4);
  }
  return base->rank + drawn->lead <= OC_DRAW_MAX_RANK;
}

static bool move_anywhere(const oc_draw_base *base, oc_random *random, drawn_sizes *drawn) {
  if (base->open_inputs != 1 || base->grows) return false;
  if (base->free_count < base->class_count) return false;
  drawn->whole = true;
  drawn->lead = (int32_t)oc_random_integer(random, 1, OC_DRAW_MAX_RANK);
  for (int32_t i = 0; i < drawn->lead; ++i) drawn->lead_dims[i] = oc_draw_size(random);
  if (oc_random_integer(random, 0, 31) == 0) drawn->lead_dims[drawn->lead - 1] = 0;
  return true;
}

typedef bool (*move_fn)(const oc_draw_base *base, oc_random *random, drawn_sizes *drawn);
static const move_fn kMoves[] = {move_one, move_all, move_family, move_lead, move_anywhere};

bool oc_draw_move(const oc_draw_base *base, const oc_contract *contract, bool keeps_shape,
                  oc_random *random, oc_draw_shapes *out) {
  const int64_t last = keeps_shape ? 4 : 2;
  drawn_sizes drawn = as_they_are(base);
  const move_fn move = kMoves[oc_random_integer(random, 0, last)];
  return move(base, random, &drawn) && write_small(base, contract, &drawn, out);
}
