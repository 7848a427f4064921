// SPDX-License-Identifier: Apache-2.0
//
// Einsum: every label of the equation is one loop; labels of the output run outside, the others
// inside, and the product of the operands is summed. An ellipsis stands for labels of its own,
// right-aligned, that broadcast.
#include <ctype.h>
#include <string.h>

#include "operators.h"
#include "traverse.h"

#define MAX_OPERANDS 16
#define LETTERS 52
#define MAX_LABELS (LETTERS + OPS_MAX_RANK)

typedef struct einsum_state {
  int32_t label_count, output_count;  // the output's labels come first
  int32_t operand_count;
  int64_t dims[MAX_LABELS];
  uint8_t axes[MAX_OPERANDS][OPS_MAX_RANK];  // label of each dimension of each operand
} einsum_state;

// A term of the equation: label numbers, letters as 0…51, ellipsis labels from 52 on (numbered
// from the right).
typedef struct term {
  int32_t count;
  int32_t ellipsis;  // how many labels the ellipsis stands for
  int32_t has_ellipsis;
  uint8_t labels[OPS_MAX_RANK];
} term;

static int letter_number(char c) {
  return islower((unsigned char)c) ? c - 'a' : c - 'A' + 26;
}

// Reads a term for a tensor of `rank` dims; -1: as many as it names, `ellipsis` aside.
static int32_t read_term(ref_prepare *p, const char *text, const char *end, int32_t rank,
                         int32_t ellipsis, term *out) {
  int32_t letters = 0;
  *out = (term){0};
  for (const char *c = text; c < end; ++c) letters += isalpha((unsigned char)*c) != 0;
  out->ellipsis = rank >= 0 ? rank - letters : ellipsis;
  for (const char *c = text; c < end; ++c) {
    if (*c == ' ') continue;
    if (end - c >= 3 && memcmp(c, "...", 3) == 0 && !out->has_ellipsis) {
      out->has_ellipsis = 1;
      for (int32_t i = out->ellipsis - 1; i >= 0 && out->count < OPS_MAX_RANK; --i)
        out->labels[out->count++] = (uint8_t)(LETTERS + i);
      c += 2;
    } else if (isalpha((unsigned char)*c) && out->count < OPS_MAX_RANK) {
      out->labels[out->count++] = (uint8_t)letter_number(*c);
    } else {
      return ref_refuse(p, "attribute equation: cannot be read at '%.*s'", (int)(end - c), c);
    }
  }
  if (rank >= 0 && out->count != rank)
    return ref_refuse(p, "attribute equation: a term names %d dimensions, the input has %d",
                      out->count, rank);
  return OPS_OK;
}

static int32_t read_operand(ref_prepare *p, int32_t k, const char *text, const char *end,
                            term *out, int64_t *dims) {
  const ref_shape *x = &p->inputs[k];
  RETURN_IF_ERROR(read_term(p, text, end, x->rank, 0, out));
  for (int32_t i = 0; i < x->rank; ++i) {
    int64_t *dim = &dims[out->labels[i]];
    if (*dim == -1 || (*dim == 1 && out->labels[i] >= LETTERS)) *dim = x->dims[i];
    int spreads = x->dims[i] == 1 && out->labels[i] >= LETTERS;
    if (*dim != x->dims[i] && !spreads)
      return ref_refuse(p, "input %d: dimension %d is %lld, but its label has %lld", k, i,
                        (long long)x->dims[i], (long long)*dim);
  }
  return OPS_OK;
}

// Without "->" the output has the ellipsis, then every letter that occurs once, in order.
static void implicit_output(const term *terms, int32_t count, int32_t ellipsis, term *out) {
  static const char order[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  int32_t uses[MAX_LABELS] = {0};
  *out = (term){0};
  for (int32_t k = 0; k < count; ++k)
    for (int32_t i = 0; i < terms[k].count; ++i) ++uses[terms[k].labels[i]];
  for (int32_t i = ellipsis - 1; i >= 0; --i)
    out->labels[out->count++] = (uint8_t)(LETTERS + i);
  for (const char *c = order; *c != '\0'; ++c)
    if (uses[letter_number(*c)] == 1 && out->count < OPS_MAX_RANK)
      out->labels[out->count++] = (uint8_t)letter_number(*c);
}

static int32_t read_equation(ref_prepare *p, term *terms, term *output, int64_t *dims) {
  const ref_attribute *equation = ref_attr(p->kernel, "equation");
  if (equation == NULL || equation->kind != OPS_ATTRIBUTE_STRING)
    return ref_refuse(p, "attribute equation is missing");
  const char *at = equation->strings[0].data, *end = at + equation->strings[0].size;
  const char *arrow = at;
  while (arrow < end && *arrow != '-') ++arrow;
  int32_t ellipsis = 0, count = (int32_t)p->input_count;
  for (int32_t k = 0; k < count; ++k) {
    const char *stop = at;
    while (stop < arrow && *stop != ',') ++stop;
    if ((stop == arrow) != (k == count - 1))
      return ref_refuse(p, "attribute equation: expected %d terms, one per input", count);
    RETURN_IF_ERROR(read_operand(p, k, at, stop, &terms[k], dims));
    if (terms[k].has_ellipsis && terms[k].ellipsis > ellipsis) ellipsis = terms[k].ellipsis;
    at = stop + 1;
  }
  if (arrow == end) {
    implicit_output(terms, count, ellipsis, output);
    return OPS_OK;
  }
  if (end - arrow < 2 || arrow[1] != '>')
    return ref_refuse(p, "attribute equation: expected '->' before the output");
  return read_term(p, arrow + 2, end, -1, ellipsis, output);
}

static int32_t prepare(ref_prepare *p) {
  einsum_state *s = p->state;
  term terms[MAX_OPERANDS], output;
  int64_t sizes[MAX_LABELS], dims[OPS_MAX_RANK];
  int32_t number[MAX_LABELS];  // of the loop
  if (p->input_count > MAX_OPERANDS)
    return ref_refuse(p, "at most %d inputs are possible", MAX_OPERANDS);
  for (int32_t i = 0; i < MAX_LABELS; ++i) sizes[i] = number[i] = -1;
  RETURN_IF_ERROR(read_equation(p, terms, &output, sizes));
  for (int32_t i = 0; i < output.count; ++i) {
    int label = output.labels[i];
    if (sizes[label] < 0 || number[label] >= 0)
      return ref_refuse(p, "attribute equation: an output label is unknown or given twice");
    number[label] = s->label_count;
    dims[i] = s->dims[s->label_count++] = sizes[label];
  }
  s->output_count = output.count;
  s->operand_count = (int32_t)p->input_count;
  for (int32_t i = 0; i < MAX_LABELS; ++i) {
    if (sizes[i] < 0 || number[i] >= 0) continue;
    number[i] = s->label_count;
    s->dims[s->label_count++] = sizes[i];
  }
  for (int32_t k = 0; k < s->operand_count; ++k)
    for (int32_t i = 0; i < terms[k].count; ++i)
      s->axes[k][i] = (uint8_t)number[terms[k].labels[i]];
  return ref_set_shape(p, 0, output.count, dims);
}

typedef struct einsum_job {
  const ref_run *run;
  int64_t strides[MAX_OPERANDS][MAX_LABELS];
} einsum_job;

static void write_element(const einsum_job *job, int64_t *index) {
  const ref_run *run = job->run;
  const einsum_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  int32_t inner = s->label_count - s->output_count;
  double sum = 0;
  uint64_t exact = 0;
  int whole = ref_is_integer(y);
  if (ref_count(s->dims + s->output_count, inner) != 0) do {
      double product = 1;
      uint64_t exact_product = 1;
      for (int32_t k = 0; k < s->operand_count; ++k) {
        int64_t at = ref_dot(index, job->strides[k], s->label_count);
        if (whole)
          exact_product *= (uint64_t)ref_int_at(&run->inputs[k], at);
        else
          product *= ref_at(&run->inputs[k], at);
      }
      sum += product;
      exact += exact_product;
    } while (ref_count_up(index + s->output_count, s->dims + s->output_count, inner));
  int64_t to = ref_dot(index, y->strides, y->rank), result = (int64_t)exact;
  if (whole)
    ref_store_int(y, to, 1, 1, &result);
  else
    ref_store(y, to, 1, 1, &sum);
}

static int32_t execute(ref_run *run) {
  const einsum_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  einsum_job job = {.run = run};
  if (y->count == 0) return OPS_OK;
  // A label that stands twice in a term walks the diagonal: its strides add up.
  for (int32_t k = 0; k < s->operand_count; ++k)
    for (int32_t i = 0; i < run->inputs[k].rank; ++i)
      if (run->inputs[k].dims[i] != 1)
        job.strides[k][s->axes[k][i]] += run->inputs[k].strides[i];
  int64_t index[MAX_LABELS] = {0};
  do write_element(&job, index);
  while (ref_count_up(index, s->dims, s->output_count));
  return OPS_OK;
}

const ref_op ref_einsum = {sizeof(einsum_state), prepare, execute, NULL, NULL};
