// SPDX-License-Identifier: Apache-2.0
//
// Cases of drawn shapes: boundary sizes in turn over the rows of the contract and their
// classes, between them moves at random. Types, attributes and fills are drawn with them.
//
// The triviality guard is off for them: it points out rows whose author chose too little, and a
// few small shapes among hundreds prove nothing by right. Fills that need a certain number of
// elements are left to the rows.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/draw.h"
#include "ops_support/checked.h"
#include "ops_support/error.h"

#define STREAM 0x64726177u  // tells these numbers from those of tensors
#define TRIES_PER_DRAW 12   // before a contract is left with fewer
#define BOUNDARY_SHARE 3    // one draw in so many goes through the boundary sizes

// The sizes at which loops over vectors, tiles and caches end, and none.
static const int64_t kBoundaries[] = {1,  7,  9,  17, 8,   33,  16,  31,  15, 32, 65,
                                      63, 13, 64, 37, 129, 127, 128, 257, 67, 0};
#define BOUNDARY_COUNT (sizeof kBoundaries / sizeof *kBoundaries)

// A number of an attribute, in the form of oc_value.
typedef struct drawn_number {
  int64_t integer;
  double real;
} drawn_number;

typedef struct drawing {
  oc_generator *gen;
  oc_draw_base *bases;
  size_t base_count;
  bool keeps_shape;
  uint64_t seed;
  oc_draw_shapes shapes;
  const oc_expr *always;  // true
  oc_row row;             // the drawn row, while it is on trial
  int32_t types[OC_CONTRACT_MAX_PARAMS];
  oc_value attributes[OC_CONTRACT_MAX_PARAMS];
  drawn_number numbers[OC_CONTRACT_MAX_PARAMS];
  oc_case draft;
} drawing;

static bool shape_is_kept(const oc_expr *shape) {
  const char *text = shape ? oc_expr_text(shape) : "";
  return strncmp(text, "shape(", 6) == 0 || strncmp(text, "broadcast(", 10) == 0;
}

bool oc_generator_keeps_shape(const oc_contract *contract) {
  for (size_t i = 0; i < contract->output_count; ++i) {
    if (!shape_is_kept(contract->outputs[i].shape)) return false;
  }
  return contract->output_count > 0;
}

// ---- Types and attributes -------------------------------------------------------------------

// A member of a set of types.
static int32_t draw_type(oc_random *random, uint64_t set) {
  int64_t skip = oc_random_integer(random, 0, __builtin_popcountll(set) - 1);
  while (skip-- > 0) set &= set - 1;
  return __builtin_ctzll(set);
}

// A number of the attribute's range. False if the range has no meaning, or no ends.
static bool draw_each(drawing *draw, oc_random *random, uint32_t attribute) {
  const oc_binding binding = oc_case_binding(&draw->draft);
  const oc_range *range = &draw->draft.contract->attributes[attribute].range;
  oc_interval ends;
  if (oc_binding_interval(&binding, range, &ends, NULL) != OPS_OK) return false;
  if (isinf(ends.lo) || isinf(ends.hi)) return false;
  int64_t low = (int64_t)ceil(ends.lo), high = (int64_t)floor(ends.hi);
  if (!oc_interval_contains(&ends, (double)low)) ++low;
  if (!oc_interval_contains(&ends, (double)high)) --high;
  if (low > high) return false;
  drawn_number *number = &draw->numbers[attribute];
  number->integer = oc_random_integer(random, low, high);
  number->real = (double)number->integer;
  draw->attributes[attribute] = (oc_value){
      .kind = OC_VALUE_INT, .count = 1, .ints = &number->integer, .floats = &number->real};
  return true;
}

static bool draw_attributes(drawing *draw, oc_random *random) {
  const oc_contract *contract = draw->draft.contract;
  for (size_t i = 0; i < contract->attribute_count; ++i) {
    const int32_t variable = contract->attributes[i].type_var;
    draw->attributes[i] = draw->row.attributes[i];
    if (variable < 0 || contract->attributes[i].type != OC_ATTR_TYPE) continue;
    drawn_number *number = &draw->numbers[i];
    *number = (drawn_number){draw->types[variable], draw->types[variable]};
    draw->attributes[i] = (oc_value){
        .kind = OC_VALUE_INT, .count = 1, .ints = &number->integer, .floats = &number->real};
  }
  for (size_t i = 0; i < draw->row.vary_count; ++i) {
    const oc_vary *vary = &draw->row.vary[i];
    const oc_value *value =
        &vary->values[oc_random_integer(random, 0, (int64_t)vary->count - 1)];
    if (value->kind != OC_VALUE_EACH) {
      draw->attributes[vary->attribute] = *value;
    } else if (!draw_each(draw, random, vary->attribute)) {
      return false;
    }
  }
  return true;
}

// ---- Whether a draft may stay ---------------------------------------------------------------

static bool outputs_fit(const oc_case *draft, const oc_expr_env *env, int64_t limit) {
  for (size_t i = 0; i < draft->contract->output_count; ++i) {
    const oc_expr *shape = draft->contract->outputs[i].shape;
    oc_expr_value dims;
    int64_t count;
    if (!shape) continue;
    if (oc_expr_eval(shape, env, &dims, NULL) != OPS_OK) return false;
    if (dims.kind != OC_EXPR_LIST || dims.count > OPS_MAX_RANK) return false;
    if (!ops_checked_count(dims.list, (int32_t)dims.count, &count)) return false;
    if (count > limit) return false;
  }
  return true;
}

// Expressions that have no value for the drawn shapes reject them.
static bool may_stay(const oc_case *draft, int64_t output_limit) {
  bool holds = false;
  if (oc_generator_holds(draft, &holds, NULL) != OPS_OK || !holds) return false;
  const oc_binding binding = oc_case_binding(draft);
  const oc_expr_env env = oc_binding_env(&binding);
  const oc_expr *keep = draft->contract->draw;
  if (keep && (oc_expr_eval_bool(keep, &env, &holds, NULL) != OPS_OK || !holds)) return false;
  return outputs_fit(draft, &env, output_limit);
}

// ---- From a draft to a case -----------------------------------------------------------------

static void *keep_items(const drawing *draw, const void *items, size_t count, size_t size) {
  void *copy = oc_arena_alloc(draw->gen->cases->arena, count, size);
  if (copy && count > 0) memcpy(copy, items, count * size);
  return copy;
}

static bool keep_input(const drawing *draw, const oc_row_input *from, oc_row_input *to) {
  oc_shape *shapes = keep_items(draw, from->shapes, from->count, sizeof *shapes);
  if (!shapes) return false;
  for (size_t k = 0; k < from->count; ++k) {
    const size_t rank = (size_t)from->shapes[k].rank;
    shapes[k].dims = keep_items(draw, from->shapes[k].dims, rank, sizeof(int64_t));
    if (!shapes[k].dims) return false;
  }
  to->shapes = shapes;
  return true;
}

static bool keep_numbers(const drawing *draw, oc_value *values) {
  for (size_t i = 0; i < draw->draft.contract->attribute_count; ++i) {
    if (values[i].ints != &draw->numbers[i].integer) continue;
    const drawn_number *number = keep_items(draw, &draw->numbers[i], 1, sizeof *number);
    if (!number) return false;
    values[i].ints = &number->integer;
    values[i].floats = &number->real;
  }
  return true;
}

// "rowid.2x3x5+5": the id says the shapes, so that it stands for one case whatever the seed.
static void print_id(const drawing *draw, char *text, size_t size) {
  const oc_contract *contract = draw->draft.contract;
  size_t used = (size_t)snprintf(text, size, "%.100s.", draw->row.id);
  bool first = true;
  for (size_t i = 0; i < contract->input_count; ++i) {
    const oc_row_input *input = &draw->shapes.inputs[i];
    if (input->contents.kind != OC_VALUE_NONE) continue;
    for (size_t k = 0; k < input->count && used < size; ++k, first = false) {
      const oc_shape *shape = &input->shapes[k];
      used += (size_t)snprintf(text + used, size - used, "%s%s", first ? "" : "+",
                               shape->rank ? "" : "scalar");
      for (int32_t d = 0; d < shape->rank && used < size; ++d) {
        used += (size_t)snprintf(text + used, size - used, "%s%lld", d ? "x" : "",
                                 (long long)shape->dims[d]);
      }
    }
  }
}

static int32_t keep(drawing *draw, oc_fill fill, bool *out_fresh) {
  const oc_contract *contract = draw->draft.contract;
  const size_t before = draw->gen->cases->count;
  char id[512];
  oc_value values[OC_CONTRACT_MAX_PARAMS];
  oc_row *row = keep_items(draw, &draw->row, 1, sizeof *row);
  oc_row_input *inputs =
      keep_items(draw, draw->shapes.inputs, contract->input_count, sizeof *inputs);
  bool kept = row && inputs;
  for (size_t i = 0; kept && i < contract->input_count; ++i) {
    kept = keep_input(draw, &draw->shapes.inputs[i], &inputs[i]);
  }
  memcpy(values, draw->attributes, sizeof values);
  if (!kept || !keep_numbers(draw, values)) return oc_generator_no_memory(draw->gen);
  print_id(draw, id, sizeof id);
  row->id = oc_arena_copy_string(draw->gen->cases->arena, id, strlen(id));
  if (!row->id) return oc_generator_no_memory(draw->gen);
  row->inputs = inputs;
  oc_case draft = draw->draft;
  draft.row = row;
  draft.inputs = inputs;
  draft.attributes = values;
  draft.fill = fill;
  OPS_RETURN_IF_ERROR(oc_generator_add(draw->gen, &draft));
  *out_fresh = draw->gen->cases->count > before;
  return OPS_OK;
}

// ---- One draw -------------------------------------------------------------------------------

// Boundary sizes take their turns over rows, then classes.
static bool draw_shapes(drawing *draw, size_t number, oc_random *random) {
  const oc_contract *contract = draw->gen->contract;
  const size_t bases = draw->base_count;
  if (number % BOUNDARY_SHARE == 0) {
    const size_t turn = number / BOUNDARY_SHARE;
    const oc_draw_base *base = &draw->bases[turn % bases];
    const int64_t size = kBoundaries[turn % BOUNDARY_COUNT];
    draw->row = *base->row;
    if (size == 0 && !draw->keeps_shape) return false;
    return oc_draw_set(base, contract, turn / bases, size, &draw->shapes);
  }
  const oc_draw_base *base = &draw->bases[oc_random_integer(random, 0, (int64_t)bases - 1)];
  draw->row = *base->row;
  return oc_draw_move(base, contract, draw->keeps_shape, random, &draw->shapes);
}

#define SIZED_FILLS (1u << OC_FILL_EVERY | 1u << OC_FILL_STRATA)

// The draft of a row whose shapes have been drawn. False if no node has them.
static bool make_draft(drawing *draw, oc_random *random, int64_t output_limit) {
  const oc_contract *contract = draw->gen->contract;
  draw->row.inputs = draw->shapes.inputs;
  draw->row.fills &= ~SIZED_FILLS;
  draw->row.trivial = draw->always;
  for (size_t i = 0; i < contract->type_var_count; ++i) {
    draw->types[i] = draw_type(random, draw->row.types[i]);
  }
  draw->draft = (oc_case){.contract = contract,
                          .row = &draw->row,
                          .types = draw->types,
                          .inputs = draw->shapes.inputs,
                          .attributes = draw->attributes};
  return draw_attributes(draw, random) && may_stay(&draw->draft, output_limit);
}

static int32_t keep_one_fill(drawing *draw, oc_random *random, bool *out_fresh) {
  oc_fill fills[OC_FILL_COUNT];
  const size_t count = oc_generator_fills(&draw->draft, fills);
  *out_fresh = false;
  if (count == 0) return OPS_OK;
  return keep(draw, fills[oc_random_integer(random, 0, (int64_t)count - 1)], out_fresh);
}

static int32_t draw_one(drawing *draw, size_t number, bool *out_fresh) {
  oc_random random = oc_random_at(draw->seed, STREAM, number);
  *out_fresh = false;
  if (!draw_shapes(draw, number, &random)) return OPS_OK;
  if (!make_draft(draw, &random, OC_DRAW_MAX_OUTPUT)) return OPS_OK;
  return keep_one_fill(draw, &random, out_fresh);
}

// ---- A large one ----------------------------------------------------------------------------

static int64_t count_elements(const oc_contract *contract, const oc_row_input *inputs) {
  int64_t total = 0;
  for (size_t i = 0; i < contract->input_count; ++i) {
    for (size_t k = 0; k < inputs[i].count; ++k) {
      int64_t count = 0;
      ops_checked_count(inputs[i].shapes[k].dims, inputs[i].shapes[k].rank, &count);
      total += count;
    }
  }
  return total;
}

static bool has_large_row(const oc_contract *contract) {
  for (size_t i = 0; i < contract->row_count; ++i) {
    if (count_elements(contract, contract->rows[i].inputs) >= OC_DRAW_LARGE) return true;
  }
  return false;
}

// The first row and class that can be grown: a contract without a large row gets one.
static int32_t add_large(drawing *draw) {
  const oc_contract *contract = draw->gen->contract;
  if (contract->no_large || has_large_row(contract)) return OPS_OK;
  for (size_t i = 0; i < draw->base_count; ++i) {
    const oc_draw_base *base = &draw->bases[i];
    for (size_t which = 0; which < base->free_count; ++which) {
      oc_random random = oc_random_at(draw->seed, ~STREAM, i * OC_DRAW_MAX_CLASSES + which);
      bool fresh;
      draw->row = *base->row;
      if (!oc_draw_large(base, contract, which, &draw->shapes)) continue;
      if (!make_draft(draw, &random, 10 * OC_DRAW_LARGE)) continue;
      OPS_RETURN_IF_ERROR(keep_one_fill(draw, &random, &fresh));
      if (fresh) return OPS_OK;
    }
  }
  return OPS_OK;
}

// ---- Entry ----------------------------------------------------------------------------------

static int32_t draw_all(drawing *draw) {
  const size_t wanted = draw->gen->plan->draws;
  size_t found = 0;
  if (!draw->gen->plan->rotate) OPS_RETURN_IF_ERROR(add_large(draw));
  for (size_t i = 0; i < wanted * TRIES_PER_DRAW && found < wanted; ++i) {
    bool fresh;
    OPS_RETURN_IF_ERROR(draw_one(draw, i, &fresh));
    found += fresh;
  }
  return OPS_OK;
}

static int32_t prepare(drawing *draw) {
  oc_generator *gen = draw->gen;
  const oc_contract *contract = gen->contract;
  char name[160];
  size_t column;
  oc_case_op_name(contract, name, sizeof name - 16);
  snprintf(name + strlen(name), 16, "-%d/drawn", contract->since);
  draw->seed = oc_random_seed(name, gen->options->seed);
  draw->keeps_shape = oc_generator_keeps_shape(contract);
  for (size_t i = 0; i < contract->row_count; ++i) {
    draw->base_count +=
        oc_draw_base_init(&draw->bases[draw->base_count], contract, &contract->rows[i]);
  }
  return oc_expr_parse(gen->cases->arena, "true", NULL, NULL, &draw->always, &column,
                       gen->error);
}

int32_t oc_generator_add_drawn(oc_generator *gen) {
  drawing *draw = calloc(1, sizeof *draw);
  oc_draw_base *bases = calloc(gen->contract->row_count + 1, sizeof *bases);
  int32_t status = draw && bases ? OPS_OK : oc_generator_no_memory(gen);
  if (status == OPS_OK) {
    draw->gen = gen;
    draw->bases = bases;
    status = prepare(draw);
  }
  if (status == OPS_OK && draw->base_count > 0) status = draw_all(draw);
  free(bases);
  free(draw);
  return status;
}
