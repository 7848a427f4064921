// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators of several inputs that broadcast. Inputs are folded from the left; in
// floating point the whole fold is done in double and rounded once. Before opset 7 (of Max,
// Mean, Min and Sum: 8) they broadcast little or not at all: ref_limited.
//
// Integers wrap around. What numpy leaves undefined has a value here all the same: x / 0 and
// x mod 0 are 0, a shift by the width or more gives 0 or, to
// the right of a negative number, -1.
#include <math.h>
#include <string.h>

#include "elementwise.h"

typedef struct binary_row binary_row;
struct binary_row {
  double (*real)(double a, double b);
  int64_t (*integer)(int64_t a, int64_t b);
  int64_t (*natural)(int64_t a, int64_t b);  // unsigned types; NULL: as `integer`
  int mean;                                  // divide by the number of inputs at the end
  int one_way;                               // the output has the shape of the first input
  // By attributes; NULL: this row.
  int32_t (*choose)(const ref_prepare *p, const binary_row **out);
};

typedef struct binary_state {
  const binary_row *row;
  int32_t trailing;  // dimensions of the output behind the last of input 1
} binary_state;

#define REAL(op, expression)                    \
  static double real_##op(double a, double b) { \
    return expression;                          \
  }
#define INTEGER(op, expression)                         \
  static int64_t integer_##op(int64_t sa, int64_t sb) { \
    uint64_t a = (uint64_t)sa, b = (uint64_t)sb;        \
    (void)a, (void)b;                                   \
    return (int64_t)(expression);                       \
  }

static double greatest(double a, double b) {
  return isnan(a) ? a : isnan(b) || b > a ? b : a;
}

static double least(double a, double b) {
  return isnan(a) ? a : isnan(b) || b < a ? b : a;
}

// The remainder with the sign of the divisor, zeros included, as in Python.
static double floor_mod(double a, double b) {
  double r = fmod(a, b);
  if (r == 0) return copysign(0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

static int64_t divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t floor_mod_int(int64_t a, int64_t b) {
  int64_t r = remainder_of(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

REAL(Add, a + b)
REAL(Div, a / b)
REAL(Equal, a == b)
REAL(Greater, a > b)
REAL(GreaterOrEqual, a >= b)
REAL(Less, a < b)
REAL(LessOrEqual, a <= b)
REAL(Max, greatest(a, b))
REAL(Min, least(a, b))
REAL(Mod, floor_mod(a, b))
REAL(Fmod, fmod(a, b))
REAL(Mul, a *b)
REAL(PRelu, a < 0 ? a * b : a)
REAL(Sub, a - b)

INTEGER(Add, a + b)
INTEGER(And, a &b)
INTEGER(Div, divide(sa, sb))
INTEGER(DivNatural, b == 0 ? 0 : a / b)
INTEGER(Equal, a == b)
INTEGER(Greater, sa > sb)
INTEGER(GreaterNatural, a > b)
INTEGER(GreaterOrEqual, sa >= sb)
INTEGER(GreaterOrEqualNatural, a >= b)
INTEGER(Less, sa < sb)
INTEGER(LessNatural, a < b)
INTEGER(LessOrEqual, sa <= sb)
INTEGER(LessOrEqualNatural, a <= b)
INTEGER(Max, sa > sb ? sa : sb)
INTEGER(MaxNatural, a > b ? a : b)
INTEGER(Min, sa < sb ? sa : sb)
INTEGER(MinNatural, a < b ? a : b)
INTEGER(Mod, floor_mod_int(sa, sb))
INTEGER(Fmod, remainder_of(sa, sb))
INTEGER(ModNatural, b == 0 ? 0 : a % b)
INTEGER(Mul, a *b)
INTEGER(Or, a | b)
INTEGER(PRelu, sa < 0 ? a * b : a)
INTEGER(PReluNatural, a)
INTEGER(ShiftLeft, b > 63 ? 0 : a << b)
INTEGER(ShiftRight, b > 63 ? (sa < 0 ? -1 : 0) : sa >> b)
INTEGER(ShiftRightNatural, b > 63 ? 0 : a >> b)
INTEGER(Sub, a - b)
INTEGER(Xor, a ^ b)

static const binary_row fmod_row = {
    .real = real_Fmod, .integer = integer_Fmod, .natural = integer_ModNatural};
static const binary_row mod_row = {
    .real = real_Mod, .integer = integer_Mod, .natural = integer_ModNatural};
static const binary_row left_row = {.integer = integer_ShiftLeft};
static const binary_row right_row = {.integer = integer_ShiftRight,
                                     .natural = integer_ShiftRightNatural};

static int32_t choose_mod(const ref_prepare *p, const binary_row **out) {
  *out = ref_attr_int(p->kernel, "fmod", 0) != 0 ? &fmod_row : &mod_row;
  return OPS_OK;
}

// The attribute has no default.
static int32_t choose_shift(const ref_prepare *p, const binary_row **out) {
  static const char *const words[] = {"LEFT", "RIGHT"};
  int32_t right = 0;
  RETURN_IF_ERROR(ref_attr_choose(p, "direction", words, 2, "", &right));
  *out = right ? &right_row : &left_row;
  return OPS_OK;
}

#define NUMERIC(op) [REF_BINARY_##op] = {.real = real_##op, .integer = integer_##op}
#define ORDERED(op) \
  [REF_BINARY_##    \
      op] = {.real = real_##op, .integer = integer_##op, .natural = integer_##op##Natural}

static const binary_row rows[REF_BINARY_COUNT] = {
    NUMERIC(Add),
    [REF_BINARY_And] = {.integer = integer_And},
    [REF_BINARY_BitShift] = {.choose = choose_shift},
    [REF_BINARY_BitwiseAnd] = {.integer = integer_And},
    [REF_BINARY_BitwiseOr] = {.integer = integer_Or},
    [REF_BINARY_BitwiseXor] = {.integer = integer_Xor},
    ORDERED(Div),
    NUMERIC(Equal),
    ORDERED(Greater),
    ORDERED(GreaterOrEqual),
    ORDERED(Less),
    ORDERED(LessOrEqual),
    ORDERED(Max),
    [REF_BINARY_Mean] = {.real = real_Add, .mean = 1},
    ORDERED(Min),
    [REF_BINARY_Mod] = {.choose = choose_mod},
    NUMERIC(Mul),
    [REF_BINARY_Or] = {.integer = integer_Or},
    [REF_BINARY_PRelu] = {.real = real_PRelu,
                          .integer = integer_PRelu,
                          .natural = integer_PReluNatural,
                          .one_way = 1},
    NUMERIC(Sub),
    [REF_BINARY_Sum] = {.real = real_Add},
    [REF_BINARY_Xor] = {.integer = integer_Xor},
};

static int32_t start(ref_prepare *p) {
  const binary_row *row = p->kernel->op->family;
  binary_state *state = p->state;
  state->row = row;
  if (row->choose != NULL) RETURN_IF_ERROR(row->choose(p, &state->row));
  ref_reserve(p, (p->input_count + 1) * sizeof(ref_walk_operand));
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  const binary_row *row = p->kernel->op->family;
  RETURN_IF_ERROR(start(p));
  RETURN_IF_ERROR(ref_broadcast(p, 0));
  const ref_shape *x = &p->inputs[0], *y = &p->outputs[0];
  if (row->one_way &&
      (x->rank != y->rank || memcmp(x->dims, y->dims, sizeof(int64_t) * (size_t)x->rank) != 0))
    return ref_refuse(p, "input %s: expected a shape that broadcasts to that of input %s",
                      ref_input_name(p->kernel, 1), ref_input_name(p->kernel, 0));
  return OPS_OK;
}

static int32_t prepare_limited(ref_prepare *p) {
  binary_state *state = p->state;
  RETURN_IF_ERROR(start(p));
  return ref_broadcast_by_attributes(p, &state->trailing);
}

// PRelu: one slope for all, or one for each channel.
static int32_t prepare_slopes(ref_prepare *p) {
  binary_state *state = p->state;
  const ref_shape *slope = &p->inputs[1];
  RETURN_IF_ERROR(start(p));
  if (slope->rank > 1 && ref_count(slope->dims, slope->rank) != 1)
    return ref_refuse(p, "input slope: expected one number, or one for each channel");
  return ref_broadcast_to_first(p, p->inputs[0].rank > 1 ? 1 : 0, &state->trailing);
}

static int32_t prepare_equal(ref_prepare *p) {
  RETURN_IF_ERROR(start(p));
  return ref_need_equal_shapes(p);
}

typedef struct fold {
  const ref_run *run;
  const binary_row *row;
  const ref_walk *walk;
  int64_t start;  // within the row
  int64_t n;
} fold;

static int64_t first_of(const fold *f, uint64_t operand) {
  return f->walk->operands[operand].offset +
         f->start * ref_walk_step(f->walk, (int32_t)operand);
}

static void fold_reals(const fold *f) {
  const ref_run *run = f->run;
  double sum[REF_CHUNK], next[REF_CHUNK];
  ref_load(&run->inputs[0], first_of(f, 1), ref_walk_step(f->walk, 1), f->n, sum);
  for (uint64_t k = 1; k < run->input_count; ++k) {
    ref_load(&run->inputs[k], first_of(f, k + 1), ref_walk_step(f->walk, (int32_t)k + 1), f->n,
             next);
    for (int64_t i = 0; i < f->n; ++i) sum[i] = f->row->real(sum[i], next[i]);
  }
  if (f->row->mean)
    for (int64_t i = 0; i < f->n; ++i) sum[i] /= (double)run->input_count;
  ref_store(&run->outputs[0], first_of(f, 0), ref_walk_step(f->walk, 0), f->n, sum);
}

static void fold_integers(const fold *f) {
  const ref_run *run = f->run;
  int natural = run->inputs[0].element->kind == REF_UNSIGNED && f->row->natural != NULL;
  int64_t (*compute)(int64_t, int64_t) = natural ? f->row->natural : f->row->integer;
  int64_t sum[REF_CHUNK], next[REF_CHUNK];
  ref_load_int(&run->inputs[0], first_of(f, 1), ref_walk_step(f->walk, 1), f->n, sum);
  for (uint64_t k = 1; k < run->input_count; ++k) {
    ref_load_int(&run->inputs[k], first_of(f, k + 1), ref_walk_step(f->walk, (int32_t)k + 1),
                 f->n, next);
    for (int64_t i = 0; i < f->n; ++i) sum[i] = compute(sum[i], next[i]);
  }
  ref_store_int(&run->outputs[0], first_of(f, 0), ref_walk_step(f->walk, 0), f->n, sum);
}

// Only Equal takes strings.
static int32_t compare_strings(const fold *f) {
  const ref_view *a = &f->run->inputs[0], *b = &f->run->inputs[1];
  for (int64_t i = 0; i < f->n; ++i) {
    ops_str left, right;
    RETURN_IF_ERROR(a->values->string_get(
        a->value, (uint64_t)(first_of(f, 1) + i * ref_walk_step(f->walk, 1)), &left,
        f->run->error));
    RETURN_IF_ERROR(b->values->string_get(
        b->value, (uint64_t)(first_of(f, 2) + i * ref_walk_step(f->walk, 2)), &right,
        f->run->error));
    int64_t equal = left.size == right.size &&
                    (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
    ref_store_int(&f->run->outputs[0], first_of(f, 0) + i * ref_walk_step(f->walk, 0), 1, 1,
                  &equal);
  }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const binary_state *state = run->state;
  const ref_view *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  ref_walk_operand *operands = run->workspace;
  ref_broadcast_strides(y, y->rank, operands[0].strides);
  for (uint64_t k = 0; k < run->input_count; ++k)
    ref_broadcast_strides_before(&run->inputs[k], k == 1 ? state->trailing : 0, y->rank,
                                 operands[k + 1].strides);
  ref_walk walk;
  ref_walk_init(&walk, y->rank, y->dims, operands, (int32_t)run->input_count + 1);
  fold f = {.run = run, .row = state->row, .walk = &walk};
  do {
    for (f.start = 0; f.start < walk.row; f.start += REF_CHUNK) {
      f.n = walk.row - f.start < REF_CHUNK ? walk.row - f.start : REF_CHUNK;
      if (run->inputs[0].type == OPS_TYPE_STRING)
        RETURN_IF_ERROR(compare_strings(&f));
      else if (ref_is_integer(&run->inputs[0]))
        fold_integers(&f);
      else
        fold_reals(&f);
    }
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

#define OP(op, since, names, types, out) \
  [REF_BINARY_##op] = {sizeof(binary_state), prepare, execute, &rows[REF_BINARY_##op], NULL},
const ref_op ref_binary[REF_BINARY_COUNT] = {REF_BINARY_LIST(OP) REF_VARIADIC_LIST(OP)};

#define LIMITED(op, until, names, types, out, how) \
  [REF_BINARY_##                                   \
      op] = {sizeof(binary_state), prepare_##how, execute, &rows[REF_BINARY_##op], NULL},
const ref_op ref_limited[REF_BINARY_COUNT] = {REF_LIMITED_BINARY_LIST(LIMITED)
                                                  REF_LIMITED_VARIADIC_LIST(LIMITED)};
