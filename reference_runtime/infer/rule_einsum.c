// SPDX-License-Identifier: Apache-2.0
//
// Einsum. Each letter of the equation names a dimension; "..." stands for the axes that the
// letters leave over, which broadcast. Without "->" the output has the broadcast axes and then,
// in alphabetical order, the letters that occur once.
#include <string.h>

#include "infer/rules.h"

#define LETTERS 52

typedef struct equation {
  rt_dim dims[LETTERS];
  int32_t uses[LETTERS];  // how often each letter occurs in the inputs
  rt_dim extra[OPS_MAX_RANK];
  int32_t extra_rank;
} equation;

// One operand's part of the equation: letters by number, with the place of "..." or -1.
typedef struct term {
  int32_t labels[OPS_MAX_RANK];
  int32_t count;
  int32_t dots;  // labels before "..."
} term;

static int32_t letter_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return 26 + c - 'a';
  return -1;
}

static int32_t parse_term(const rt_infer_context *ctx, const char *text, uint64_t size,
                          term *out) {
  out->count = 0;
  out->dots = -1;
  for (uint64_t i = 0; i < size; ++i) {
    if (text[i] == ' ') continue;
    if (text[i] == '.' && i + 2 < size && text[i + 1] == '.' && text[i + 2] == '.' &&
        out->dots < 0) {
      out->dots = out->count;
      i += 2;
      continue;
    }
    const int32_t letter = letter_of(text[i]);
    if (letter < 0 || out->count == OPS_MAX_RANK) {
      return rt_infer_fail(ctx,
                           "attribute equation: expected letters, at most one '...' and at "
                           "most %d axes per operand, found '%.*s'",
                           OPS_MAX_RANK, (int)size, text);
    }
    out->labels[out->count++] = letter;
  }
  return OPS_OK;
}

static int32_t bind_letter(const rt_infer_context *ctx, equation *e, int32_t letter,
                           rt_dim dim) {
  rt_dim *slot = &e->dims[letter];
  if (e->uses[letter]++ == 0 || rt_dim_is_value(*slot, 1)) {
    *slot = dim;
    return OPS_OK;
  }
  if (rt_dim_is_value(dim, 1)) return OPS_OK;
  return rt_infer_unify(ctx, *slot, "a letter's dimension", dim, "its dimension elsewhere",
                        slot);
}

// 0 in *out_known if the input's rank is not known.
static int32_t bind_input(const rt_infer_context *ctx, equation *e, uint32_t input,
                          const term *t, int *out_known) {
  const int32_t rank = rt_infer_rank(ctx, input), extra = rank - t->count;
  *out_known = rank >= 0;
  if (rank < 0) return OPS_OK;
  if (extra < 0 || (extra > 0 && t->dots < 0)) {
    return rt_infer_fail(ctx, "input %u has rank %d, the equation gives it %d letters", input,
                         rank, t->count);
  }
  for (int32_t i = 0; i < t->count; ++i) {
    const int32_t axis = t->dots >= 0 && i >= t->dots ? i + extra : i;
    OPS_RETURN_IF_ERROR(bind_letter(ctx, e, t->labels[i], rt_infer_dim(ctx, input, axis)));
  }
  if (t->dots < 0) return OPS_OK;
  return rt_infer_broadcast(ctx, e->extra, e->extra_rank,
                            extra ? ctx->inputs[input].type->dims + t->dots : NULL, extra,
                            e->extra, &e->extra_rank);
}

static void implicit_output(const equation *e, term *out) {
  out->count = 0;
  out->dots = 0;
  for (int32_t i = 0; i < LETTERS && out->count < OPS_MAX_RANK; ++i) {
    if (e->uses[i] == 1) out->labels[out->count++] = i;
  }
}

static int32_t set_output(rt_infer_context *ctx, const equation *e, const term *t) {
  const int32_t extra = t->dots >= 0 ? e->extra_rank : 0;
  const int32_t dots = t->dots >= 0 ? t->dots : t->count;
  OPS_RETURN_IF_ERROR(rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), t->count + extra));
  for (int32_t i = 0; i < t->count; ++i) {
    if (!e->uses[t->labels[i]]) {
      return rt_infer_fail(ctx, "attribute equation: a letter of the output is in no input");
    }
    rt_infer_set_dim(ctx, 0, i < dots ? i : i + extra, e->dims[t->labels[i]]);
  }
  for (int32_t i = 0; i < extra; ++i) rt_infer_set_dim(ctx, 0, dots + i, e->extra[i]);
  return OPS_OK;
}

int32_t rt_infer_rule_einsum(rt_infer_context *ctx) {
  const ops_str text = rt_attrs_string(&ctx->op->attrs, "equation");
  equation e = {.extra_rank = 0};
  term t;
  int known = 1, all_known = 1;
  uint64_t at = 0;
  const char *arrow = text.size ? memmem(text.data, text.size, "->", 2) : NULL;
  const uint64_t left = arrow ? (uint64_t)(arrow - text.data) : text.size;
  for (uint32_t i = 0; i < ctx->input_count; ++i) {
    const char *comma = at <= left && text.data ? memchr(text.data + at, ',', left - at) : NULL;
    const uint64_t end = comma ? (uint64_t)(comma - text.data) : left;
    if (at > left || (i + 1 == ctx->input_count) != !comma) {
      return rt_infer_fail(ctx, "attribute equation '%.*s' does not have %u operands",
                           OPS_STR_FMT(text), ctx->input_count);
    }
    OPS_RETURN_IF_ERROR(parse_term(ctx, text.data + at, end - at, &t));
    OPS_RETURN_IF_ERROR(bind_input(ctx, &e, i, &t, &known));
    all_known = all_known && known;
    at = end + 1;
  }
  if (!all_known) return rt_infer_set_tensor(ctx, 0, rt_infer_elem(ctx, 0), RT_RANK_UNKNOWN);
  if (arrow) {
    OPS_RETURN_IF_ERROR(parse_term(ctx, arrow + 2, text.size - left - 2, &t));
  } else {
    implicit_output(&e, &t);
  }
  return set_output(ctx, &e, &t);
}
