// SPDX-License-Identifier: Apache-2.0
//
// Cast and CastLike. Every cast rounds once. Integers wrap around; a float becomes an integer
// by truncation; into 8-bit floats `saturate` (opset 19) decides what overflow gives, into
// float8e8m0 `round_mode` (opset 24) as well. Strings hold numbers as text.h reads and writes
// them.
#include "operators.h"
#include "text.h"

typedef struct cast_state {
  int32_t saturate;
  int32_t rounding;
} cast_state;

static int32_t read_attributes(ref_prepare *p) {
  cast_state *state = p->state;
  state->saturate = ref_attr_int(p->kernel, "saturate", 1) != 0;
  static const char *const words[] = {"up", "down", "nearest"};
  static const int32_t roundings[] = {REF_ROUND_UP, REF_ROUND_DOWN, REF_ROUND_NEAREST};
  int32_t word = 0;
  RETURN_IF_ERROR(ref_attr_choose(p, "round_mode", words, 3, "up", &word));
  state->rounding = roundings[word];
  return ref_same_shape(p, 0, 0);
}

// Before opset 6 attribute `to` is a name in the enumeration TensorProto.DataType: its types of
// that time.
static int64_t read_type(const ops_kernel *kernel) {
  static const struct {
    const char *name;
    int32_t type;
  } names[] = {
      {"FLOAT", OPS_TYPE_FLOAT},   {"UINT8", OPS_TYPE_UINT8},   {"INT8", OPS_TYPE_INT8},
      {"UINT16", OPS_TYPE_UINT16}, {"INT16", OPS_TYPE_INT16},   {"INT32", OPS_TYPE_INT32},
      {"INT64", OPS_TYPE_INT64},   {"BOOL", OPS_TYPE_BOOL},     {"FLOAT16", OPS_TYPE_FLOAT16},
      {"DOUBLE", OPS_TYPE_DOUBLE}, {"UINT32", OPS_TYPE_UINT32}, {"UINT64", OPS_TYPE_UINT64}};
  if (kernel->opset >= 6) return ref_attr_int(kernel, "to", 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (ref_attr_is(kernel, "to", names[i].name, "")) return names[i].type;
  return 0;
}

static int32_t prepare_cast(ref_prepare *p) {
  int64_t to = read_type(p->kernel);
  const ref_element *element =
      to > 0 && to < OPS_TYPE_COUNT ? ref_element_of((int32_t)to) : NULL;
  if (element == NULL || (element->load == NULL && to != OPS_TYPE_STRING))
    return ref_refuse(p, "attribute to: expected a type that can be cast to, found number %lld",
                      (long long)to);
  p->outputs[0].type = (int32_t)to;
  return read_attributes(p);
}

static int32_t prepare_cast_like(ref_prepare *p) {
  p->outputs[0].type = p->inputs[1].type;
  return read_attributes(p);
}

static void store_reals(const cast_state *state, const ref_view *y, int64_t at, int64_t step,
                        int64_t n, double *v) {
  int32_t bits = y->element->bits;
  if (bits == 8 && y->element->kind == REF_FLOAT) {
    for (int64_t i = 0; i < n; ++i) {
      uint32_t code = y->type == OPS_TYPE_FLOAT8E8M0
                          ? ref_encode_e8m0(v[i], state->saturate, state->rounding)
                          : ref_encode(y->type, v[i], state->saturate);
      ((uint8_t *)y->data)[y->origin + at + i * step] = (uint8_t)code;
    }
    return;
  }
  ref_store(y, at, step, n, v);
}

typedef struct piece {
  const ref_view *x, *y;
  int64_t x_at, x_step, y_at, y_step, n;
} piece;

static void cast_integers(const cast_state *state, const piece *p) {
  int64_t v[REF_CHUNK];
  ref_load_int(p->x, p->x_at, p->x_step, p->n, v);
  if (ref_is_integer(p->y)) {
    ref_store_int(p->y, p->y_at, p->y_step, p->n, v);
    return;
  }
  double real[REF_CHUNK];
  int is_unsigned = p->x->element->kind != REF_SIGNED;
  if (p->y->type == OPS_TYPE_DOUBLE)
    ref_load(p->x, p->x_at, p->x_step, p->n, real);
  else
    for (int64_t i = 0; i < p->n; ++i) real[i] = ref_int_to_double_sticky(v[i], is_unsigned);
  store_reals(state, p->y, p->y_at, p->y_step, p->n, real);
}

static void cast_reals(const cast_state *state, const piece *p) {
  double v[REF_CHUNK];
  ref_load(p->x, p->x_at, p->x_step, p->n, v);
  store_reals(state, p->y, p->y_at, p->y_step, p->n, v);
}

static int32_t cast_text(ref_run *run, const piece *p, int64_t from, int64_t to) {
  const ref_view *x = p->x, *y = p->y;
  char buffer[REF_TEXT_SIZE];
  if (x->type != OPS_TYPE_STRING)
    return y->values->string_set(y->value, (uint64_t)to, ref_text_of(x, from, buffer),
                                 run->error);
  if (y->type == OPS_TYPE_STRING) return ref_move(y, to, 1, x, from, 1, 1, run->error);
  ops_str text;
  RETURN_IF_ERROR(x->values->string_get(x->value, (uint64_t)from, &text, run->error));
  if (ref_text_store(text, y, to)) return OPS_OK;
  return ref_refuse(run, "input input: '%.*s' is no number such as 100, 3.14, 1e-5, INF or NaN",
                    (int)(text.size < 64 ? text.size : 64), text.size > 0 ? text.data : "");
}

static int32_t cast_texts(ref_run *run, const piece *p) {
  for (int64_t i = 0; i < p->n; ++i)
    RETURN_IF_ERROR(cast_text(run, p, p->x_at + i * p->x_step, p->y_at + i * p->y_step));
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  if (y->count == 0) return OPS_OK;
  ref_walk_operand at[2];
  ref_broadcast_strides(y, y->rank, at[0].strides);
  ref_broadcast_strides(x, y->rank, at[1].strides);
  ref_walk walk;
  ref_walk_init(&walk, y->rank, y->dims, at, 2);
  piece p = {
      .x = x, .y = y, .x_step = ref_walk_step(&walk, 1), .y_step = ref_walk_step(&walk, 0)};
  do {
    for (int64_t i = 0; i < walk.row; i += REF_CHUNK) {
      p.n = walk.row - i < REF_CHUNK ? walk.row - i : REF_CHUNK;
      p.y_at = at[0].offset + i * p.y_step;
      p.x_at = at[1].offset + i * p.x_step;
      if (x->type == OPS_TYPE_STRING || y->type == OPS_TYPE_STRING)
        RETURN_IF_ERROR(cast_texts(run, &p));
      else
        (ref_is_integer(x) ? cast_integers : cast_reals)(run->state, &p);
    }
  } while (ref_walk_next(&walk));
  return OPS_OK;
}

const ref_op ref_cast = {sizeof(cast_state), prepare_cast, execute, NULL, NULL};
const ref_op ref_cast_like = {sizeof(cast_state), prepare_cast_like, execute, NULL, NULL};
