// SPDX-License-Identifier: Apache-2.0
//
// Every element is drawn by itself from (seed, tensor, index). A draw outside the range of the
// contract is drawn again a few times, then replaced by a uniform draw from the range.
//
// exact_integer   integers so small that no sum of K products rounds: with the judge `dot`,
//                 K * L * L fits half of what the type counts exactly; where even L = 1 is too
//                 much, zeros are mixed in
// uniform         floating [-1, 1) or the range; integers the whole type or the range
// normal          mean 0, variance 1
// wide            signs, exponents over two thirds of the type's (double: of float's),
//                 mantissas at random
// cancellation    neighbours that nearly add up to zero
// special         NaN, infinities, zeros, denormals, the ends of the type, among ordinary ones;
//                 integers: the ends of the range and the numbers next to zero
// every           element i is bit pattern i; of two tensors of 8 bits that have room for all
//                 pairs, the second goes on once the first has been through
// strata          exponent fields in order, then the other sign, then the next leading bits of
//                 the mantissa; the rest of it at random
#include "cases/fill.h"

#include <math.h>
#include <string.h>

#include "cases/element.h"
#include "cases/random.h"
#include "ops_support/checked.h"
#include "ops_support/error.h"

#define TRIES 16
#define EXACT_LIMIT 8
#define WIDE_REACH 42  // a third of float's exponents; double takes no more

typedef __int128 wide_int;  // holds the values of int64 and uint64

typedef struct integer_range {
  wide_int low;
  wide_int high;
} integer_range;

typedef struct fill_job {
  const oc_case *item;
  const oc_param *param;
  uint32_t stream;
  uint64_t count;
  int32_t type;
  const oc_element_format *format;  // NULL: integers
  oc_interval range;
  integer_range integers;
  int64_t exact_low;  // exact_integer
  int64_t exact_high;
  double exact_density;  // share of elements that are not zero
} fill_job;

typedef double (*draw_fn)(const fill_job *job, oc_random *random);

// ---- Draws of floating types ----------------------------------------------------------------

static double draw_range(const fill_job *job, oc_random *random) {
  double low = job->range.lo, high = job->range.hi;
  if (isinf(low)) low = isinf(high) ? -1.0 : high - 2.0;
  if (isinf(high)) high = low + 2.0;
  return low + (high - low) * oc_random_unit(random);
}

static double draw_normal(const fill_job *job, oc_random *random) {
  (void)job;
  return oc_random_normal(random);
}

static double draw_wide(const fill_job *job, oc_random *random) {
  const int third = (job->format->bias - 1) / 3;
  const int reach = third < WIDE_REACH ? third : WIDE_REACH;
  const int exponent = (int)oc_random_integer(random, -reach, reach);
  const double sign = oc_random_bits(random) & 1 ? -1.0 : 1.0;
  return sign * scalbn(1.0 + oc_random_unit(random), exponent);
}

// Elements 2k and 2k + 1 are v and -v(1 + e) with e below 2^-6.
static double draw_cancellation(const fill_job *job, oc_random *random) {
  oc_random pair = oc_random_at(random->seed, random->stream, random->index / 2);
  const double value = draw_wide(job, &pair);
  if (random->index % 2 == 0) return value;
  return -value * (1.0 + scalbn(oc_random_unit(&pair), -6));
}

static double draw_exact(const fill_job *job, oc_random *random) {
  if (oc_random_unit(random) >= job->exact_density && job->exact_low <= 0) return 0.0;
  return (double)oc_random_integer(random, job->exact_low, job->exact_high);
}

// ---- Values with a name ---------------------------------------------------------------------

#define SPECIAL_COUNT 12

static double special_value(const fill_job *job, unsigned which) {
  const oc_element_format *format = job->format;
  const int lowest = 1 - format->bias;
  const double least = ldexp(1.0, lowest - format->mantissa_bits);
  const double normal = ldexp(1.0, lowest);
  unsigned char bytes[16] = {0};
  oc_element_store_bits(job->type, bytes, 0, format->largest);
  const double largest = oc_element_load(job->type, bytes, 0);
  const double values[SPECIAL_COUNT] = {NAN,  INFINITY, -INFINITY, 0.0,    -0.0,    1.0,
                                        -1.0, least,    -least,    normal, largest, -largest};
  return values[which % SPECIAL_COUNT];
}

// Whether the element is one of the dense part, in which tensor s walks through `count` values
// at pace count^s, so that two tensors meet in every pair; *out_which is then the value's
// number. The last quarter of a tensor and every second stretch hold ordinary numbers, so that
// rows without a special value remain for operators that see a row as a whole.
static bool in_dense_part(const fill_job *job, uint64_t index, uint64_t count,
                          uint64_t *out_which) {
  uint64_t pace = 1;
  for (uint32_t i = 0; i < job->stream && i < 4; ++i) pace *= count;
  *out_which = index / pace % count;
  const uint64_t stretch = index / (count * count);
  return stretch % 2 == 0 && (job->count < 2 * count || index < job->count - job->count / 4);
}

static double draw_special(const fill_job *job, oc_random *random) {
  uint64_t which;
  if (!in_dense_part(job, random->index, SPECIAL_COUNT, &which))
    return oc_random_normal(random);
  return special_value(job, (unsigned)which);
}

// ---- Integers -------------------------------------------------------------------------------

// A bound as an integer: exact where the expression is one, for a double cannot hold the ends
// of 64-bit types.
static bool exact_bound(const oc_expr *expr, const oc_expr_env *env, int64_t *out_bound) {
  oc_expr_value value;
  if (!expr || oc_expr_eval(expr, env, &value, NULL) != OPS_OK) return false;
  if (value.kind != OC_EXPR_INT) return false;
  *out_bound = value.i;
  return true;
}

// A bound that is open leaves the integer itself out.
static wide_int bound_of(const oc_expr *expr, const oc_expr_env *env, double real, bool up,
                         bool open) {
  int64_t exact;
  if (exact_bound(expr, env, &exact)) return (wide_int)exact + (open ? up ? 1 : -1 : 0);
  const double whole = up ? ceil(real) : floor(real);
  return (wide_int)whole + (open && whole == real ? up ? 1 : -1 : 0);
}

static integer_range integers_of(const fill_job *job, const oc_range *range,
                                 const oc_expr_env *env) {
  const oc_interval *real = &job->range;
  integer_range out = {oc_element_lowest(job->type), oc_element_highest(job->type)};
  if (real->lo > -0x1p64) {
    const wide_int low = bound_of(range->lo, env, fmin(real->lo, 0x1p64), true, real->lo_open);
    if (low > out.low) out.low = low;
  }
  if (real->hi < 0x1p64) {
    const wide_int high =
        bound_of(range->hi, env, fmax(real->hi, -0x1p64), false, real->hi_open);
    if (high < out.high) out.high = high;
  }
  if (out.low > out.high) out.low = out.high = oc_element_lowest(job->type);
  return out;
}

// Values of uint64 beyond int64 travel in two's complement.
static int64_t draw_integer(const fill_job *job, oc_random *random) {
  const integer_range *range = &job->integers;
  return oc_random_integer(random, (int64_t)range->low, (int64_t)range->high);
}

static int64_t draw_integer_exact(const fill_job *job, oc_random *random) {
  (void)job;
  return oc_random_integer(random, job->exact_low, job->exact_high);
}

static int64_t draw_integer_special(const fill_job *job, oc_random *random) {
  const integer_range *range = &job->integers;
  const wide_int values[] = {range->low, range->high, 0, 1, -1, range->low + 1};
  uint64_t which;
  if (!in_dense_part(job, random->index, sizeof values / sizeof *values, &which)) {
    return draw_integer(job, random);
  }
  const bool inside = values[which] >= range->low && values[which] <= range->high;
  return inside ? (int64_t)values[which] : draw_integer(job, random);
}

typedef int64_t (*draw_integer_fn)(const fill_job *job, oc_random *random);

// ---- The table ------------------------------------------------------------------------------

typedef struct fill_row {
  draw_fn floating;
  draw_integer_fn integer;
  bool keeps_range;  // false: floating draws ignore the range
  bool needs_floating;
} fill_row;

static const fill_row kFills[OC_FILL_COUNT] = {
    [OC_FILL_EXACT_INTEGER] = {draw_exact, draw_integer_exact, true, false},
    [OC_FILL_UNIFORM] = {draw_range, draw_integer, true, false},
    [OC_FILL_NORMAL] = {draw_normal, draw_integer, true, true},
    [OC_FILL_WIDE] = {draw_wide, draw_integer, true, true},
    [OC_FILL_CANCELLATION] = {draw_cancellation, draw_integer, true, true},
    [OC_FILL_SPECIAL] = {draw_special, draw_integer_special, false, false},
    [OC_FILL_EVERY] = {draw_range, draw_integer, false, false},
    [OC_FILL_STRATA] = {draw_range, draw_integer, false, true},
};

// How many tensors of the case that a fill writes stand before parameter `param`.
static uint32_t drawn_before(const oc_case *item, const oc_param *param) {
  const size_t last = (size_t)(param - item->contract->inputs);
  uint32_t count = 0;
  for (size_t i = 0; i < last; ++i) {
    const oc_row_input *input = &item->inputs[i];
    if (input->contents.kind == OC_VALUE_NONE) count += (uint32_t)input->count;
  }
  return count;
}

// How many elements share a pattern before the next one comes.
static uint64_t pattern_pace(const fill_job *job) {
  const uint64_t codes = (uint64_t)1 << oc_element_bits(job->type);
  const bool second = drawn_before(job->item, job->param) == 1;
  return second && job->count >= codes * codes ? codes : 1;
}

// Patterns of integers outside the range are left out.
static void write_patterns(const fill_job *job, oc_array *array) {
  const uint64_t mask = UINT64_MAX >> (64 - oc_element_bits(job->type));
  const uint64_t pace = pattern_pace(job);
  for (int64_t i = 0; i < array->count; ++i) {
    oc_element_store_bits(job->type, array->data, (uint64_t)i, (uint64_t)i / pace & mask);
    if (job->format) continue;
    const int64_t value = (int64_t)oc_element_load(job->type, array->data, (uint64_t)i);
    const bool inside = value >= job->integers.low && value <= job->integers.high;
    if (inside && (value != 0 || !job->param->nonzero)) continue;
    oc_random random = oc_random_at(job->item->seed, job->stream, (uint64_t)i);
    oc_element_store_int(job->type, array->data, (uint64_t)i, draw_integer(job, &random));
  }
}

// The lowest eight bits of `value`, mirrored: 1 becomes 128.
static uint64_t mirror_byte(uint64_t value) {
  uint64_t out = 0;
  for (int i = 0; i < 8; ++i) out |= (value >> i & 1) << (7 - i);
  return out;
}

// Stratum by stratum: exponent, sign, then as many leading bits of the mantissa as the tensor
// has room for, mirrored so that few strata are spread over all mantissas.
static uint64_t stratum_bits(const oc_element_format *format, uint64_t index, uint64_t noise) {
  const uint64_t fields = (uint64_t)1 << format->exponent_bits;
  const int32_t width = format->mantissa_bits;
  const uint64_t exponent = index % fields, sign = index / fields % 2;
  const uint64_t round = index / (2 * fields);
  const uint64_t lead = width > 8 ? mirror_byte(round) << (width - 8) : 0;
  const uint64_t mantissa = (lead ^ noise) & (((uint64_t)1 << width) - 1);
  return sign << (format->exponent_bits + width) | exponent << width | mantissa;
}

static void write_strata(const fill_job *job, oc_array *array) {
  for (int64_t i = 0; i < array->count; ++i) {
    // The noise of one stratum of leading bits is the same for all that lie beside it.
    const uint64_t beside = (uint64_t)i % ((uint64_t)2 << job->format->exponent_bits);
    oc_random lead = oc_random_at(job->item->seed, job->stream, beside);
    oc_random rest = oc_random_at(job->item->seed, ~job->stream, (uint64_t)i);
    const int32_t width = job->format->mantissa_bits;
    const uint64_t high = width > 8 ? (uint64_t)255 << (width - 8) : 0;
    const uint64_t noise = (oc_random_bits64(&lead) & high) | (oc_random_bits64(&rest) & ~high);
    oc_element_store_bits(job->type, array->data, (uint64_t)i,
                          stratum_bits(job->format, (uint64_t)i, noise));
  }
}

static void write_floating(const fill_job *job, const fill_row *row, oc_array *array) {
  for (int64_t i = 0; i < array->count; ++i) {
    oc_random random = oc_random_at(job->item->seed, job->stream, (uint64_t)i);
    draw_fn draw = row->floating;
    for (int attempt = 0; attempt < TRIES; ++attempt) {
      oc_element_store(job->type, array->data, (uint64_t)i, draw(job, &random));
      if (!row->keeps_range) break;
      const double stored = oc_element_load(job->type, array->data, (uint64_t)i);
      if (oc_interval_contains(&job->range, stored)) break;
      if (attempt >= TRIES / 2) draw = draw_range;
    }
  }
}

static void write_integers(const fill_job *job, const fill_row *row, oc_array *array) {
  for (int64_t i = 0; i < array->count; ++i) {
    oc_random random = oc_random_at(job->item->seed, job->stream, (uint64_t)i);
    int64_t value = row->integer(job, &random);
    for (int attempt = 0; job->param->nonzero && value == 0 && attempt < TRIES; ++attempt) {
      value = draw_integer(job, &random);
    }
    if (job->param->nonzero && value == 0) value = 1;
    if (job->type == OPS_TYPE_UINT64) {
      oc_element_store_bits(job->type, array->data, (uint64_t)i, (uint64_t)value);
    } else {
      oc_element_store_int(job->type, array->data, (uint64_t)i, value);
    }
  }
}

// ---- Exact integers -------------------------------------------------------------------------

// The number of products of one result, or 0 if the judge does not count any. Where it depends
// on the shape of an output, which is not known yet, the elements of the largest input bound
// it.
static double count_products(const oc_case *item) {
  const oc_expr *k = item->contract->precision.tolerance[OC_PROFILE_STANDARD].k;
  double products = 0;
  if (item->row->judge != OC_JUDGE_DOT || !k) return 0;
  const oc_binding binding = oc_case_binding(item);
  const oc_expr_env env = oc_binding_env(&binding);
  if (oc_expr_eval_number(k, &env, &products, NULL) == OPS_OK) return products;
  for (size_t i = 0; i < item->contract->input_count; ++i) {
    for (size_t t = 0; t < item->inputs[i].count; ++t) {
      int64_t count = 0;
      const oc_shape *shape = &item->inputs[i].shapes[t];
      if (ops_checked_count(shape->dims, shape->rank, &count)) {
        products = fmax(products, (double)count);
      }
    }
  }
  return products;
}

static void bound_exact(fill_job *job) {
  const double k = count_products(job->item);
  double limit = EXACT_LIMIT;
  job->exact_density = 1.0;
  if (job->format && k > 0) {
    const double room = ldexp(1.0, job->format->mantissa_bits);
    limit = floor(sqrt(room / k));
    if (limit < 1) {
      limit = 1;
      job->exact_density = sqrt(room / k / 2);
    }
    if (limit > EXACT_LIMIT) limit = EXACT_LIMIT;
  }
  double low = fmax(-limit, ceil(job->range.lo)), high = fmin(limit, floor(job->range.hi));
  if (!job->format) low = fmax(low, (double)oc_element_lowest(job->type));
  if (!job->format) high = fmin(high, (double)oc_element_highest(job->type));
  if (job->range.lo_open && low == job->range.lo) low += 1;
  if (job->range.hi_open && high == job->range.hi) high -= 1;
  if (low > high) {  // the range lies beyond the small numbers: its own first integers
    low = ceil(job->range.lo) + (job->range.lo_open && ceil(job->range.lo) == job->range.lo);
    high = fmin(floor(job->range.hi), low + limit);
    if (!(low <= high)) low = high = floor(job->range.hi);
  }
  job->exact_low = (int64_t)(wide_int)low;
  job->exact_high = (int64_t)(wide_int)high;
}

// ---- Entry ----------------------------------------------------------------------------------

int32_t oc_fill_array(const oc_case *item, size_t param, uint32_t stream, oc_array *array,
                      ops_error *error) {
  const oc_param *about = &item->contract->inputs[param];
  const oc_row_input *input = &item->inputs[param];
  const oc_range *range = input->range.lo || input->range.hi
                              ? &input->range
                              : &about->ranges[oc_type_class_of(array->type)];
  fill_job job = {.item = item,
                  .param = about,
                  .stream = stream,
                  .count = (uint64_t)array->count,
                  .type = array->type,
                  .format = oc_element_format_of(array->type)};
  const oc_binding binding = oc_case_binding(item);
  const int32_t status = oc_binding_interval(&binding, range, &job.range, error);
  if (status != OPS_OK && !item->error) return status;
  // A spoilt node may leave its ranges without meaning; it is to be refused whatever it holds.
  if (status != OPS_OK) job.range = (oc_interval){.lo = 0, .hi = 1};
  const oc_expr_env env = oc_binding_env(&binding);
  if (!job.format) job.integers = integers_of(&job, range, &env);
  const fill_row *row = &kFills[item->fill];
  if (item->fill == OC_FILL_EXACT_INTEGER) bound_exact(&job);
  if (item->fill == OC_FILL_EVERY && array->type != OPS_TYPE_BOOL &&
      oc_element_bits(array->type) <= 16) {
    write_patterns(&job, array);
  } else if (item->fill == OC_FILL_STRATA && job.format) {
    write_strata(&job, array);
  } else if (job.format) {
    write_floating(&job, row, array);
  } else if (oc_element_is_floating(array->type)) {  // complex: both parts
    fill_job part = job;
    part.type = array->type == OPS_TYPE_COMPLEX64 ? OPS_TYPE_FLOAT : OPS_TYPE_DOUBLE;
    part.format = oc_element_format_of(part.type);
    oc_array parts = *array;
    parts.count = 2 * array->count;
    write_floating(&part, row, &parts);
  } else {
    write_integers(&job, row, array);
  }
  return OPS_OK;
}

bool oc_fill_suits(const oc_case *item, oc_fill fill) {
  const oc_binding binding = oc_case_binding(item);
  bool filled = false, floating = false, narrow = false;
  for (size_t i = 0; i < item->contract->input_count; ++i) {
    const oc_row_input *input = &item->inputs[i];
    if (input->count == 0 || input->contents.kind != OC_VALUE_NONE) continue;
    const int32_t type = oc_binding_type(&binding, &item->contract->inputs[i]);
    const int32_t bits = oc_element_bits(type);
    floating = floating || oc_element_is_floating(type);
    narrow = narrow || (!filled && type != OPS_TYPE_BOOL && (bits == 8 || bits == 16));
    filled = true;
  }
  if (!filled) return fill == OC_FILL_UNIFORM;
  if (fill == OC_FILL_EVERY) return narrow;
  return floating || !kFills[fill].needs_floating;
}
