// SPDX-License-Identifier: Apache-2.0
//
// The C library converts between binary and decimal, which it does exactly. The decimal point,
// which depends on the locale, is never shown to it: digits and exponent are taken apart here.
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// More significant digits than any double needs to be told from its neighbours.
#define MAX_DIGITS 800
#define MAX_EXPONENT 100000

// ---- Reading -------------------------------------------------------------------------------

typedef struct decimal {
  int negative;
  int count;
  int64_t exponent;  // of the last digit
  int is_integer;    // neither point nor exponent
  char digits[MAX_DIGITS + 32];
} decimal;

static int is_digit(ops_str text, uint64_t at) {
  return at < text.size && text.data[at] >= '0' && text.data[at] <= '9';
}

static void add_digit(decimal *d, char digit) {
  if (d->count == 0 && digit == '0') return;
  if (d->count < MAX_DIGITS) {
    d->digits[d->count++] = digit;
    return;
  }
  // What is too long keeps one last digit that says whether something other than 0 follows.
  if (d->count == MAX_DIGITS) d->digits[d->count++] = '0';
  if (digit != '0') d->digits[MAX_DIGITS] = '1';
  ++d->exponent;
}

static int read_exponent(ops_str text, uint64_t *at, decimal *d) {
  int negative = 0;
  int64_t value = 0;
  if (*at < text.size && (text.data[*at] == '+' || text.data[*at] == '-'))
    negative = text.data[(*at)++] == '-';
  if (!is_digit(text, *at)) return 0;
  for (; is_digit(text, *at); ++*at)
    if (value < MAX_EXPONENT) value = value * 10 + (text.data[*at] - '0');
  d->exponent += negative ? -value : value;
  d->is_integer = 0;
  return 1;
}

static int read_decimal(ops_str text, decimal *d) {
  uint64_t at = 0;
  int seen = 0;
  d->negative = d->count = 0;
  d->exponent = 0;
  d->is_integer = 1;
  if (at < text.size && (text.data[at] == '+' || text.data[at] == '-'))
    d->negative = text.data[at++] == '-';
  for (; is_digit(text, at); ++at, seen = 1) add_digit(d, text.data[at]);
  if (d->count > MAX_DIGITS) --d->exponent;  // the added digit has a place of its own
  if (at < text.size && text.data[at] == '.') {
    d->is_integer = 0;
    for (++at; is_digit(text, at); ++at, seen = 1) {
      int before = d->count;
      int64_t exponent = d->exponent;
      add_digit(d, text.data[at]);
      // A digit that is kept, and a leading zero, move the last place.
      d->exponent = d->count > before || d->count == 0 ? exponent - 1 : exponent;
    }
  }
  if (!seen) return 0;
  if (at < text.size && (text.data[at] == 'e' || text.data[at] == 'E')) {
    ++at;
    if (!read_exponent(text, &at, d)) return 0;
  }
  return at == text.size;
}

static int equals_ignoring_case(ops_str text, const char *upper) {
  if (text.size != strlen(upper)) return 0;
  for (uint64_t i = 0; i < text.size; ++i) {
    char c = text.data[i];
    if ((c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) != upper[i]) return 0;
  }
  return 1;
}

static int read_special(ops_str text, double *out) {
  static const struct {
    const char *name;
    double value;
  } names[] = {{"INF", INFINITY}, {"+INF", INFINITY}, {"-INF", -INFINITY}, {"NAN", NAN}};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (equals_ignoring_case(text, names[i].name)) {
      *out = names[i].value;
      return 1;
    }
  return 0;
}

static double to_real(decimal *d, int narrow) {
  if (d->count == 0) return d->negative ? -0.0 : 0.0;
  snprintf(d->digits + d->count, sizeof d->digits - (size_t)d->count, "e%" PRId64, d->exponent);
  double value = narrow ? (double)strtof(d->digits, NULL) : strtod(d->digits, NULL);
  d->digits[d->count] = 0;
  return d->negative ? -value : value;
}

static int64_t to_integer(decimal *d) {
  d->digits[d->count] = 0;
  if (d->count == 0) return 0;
  if (!d->is_integer) return ref_truncate(to_real(d, 0));
  uint64_t value = strtoull(d->digits, NULL, 10);
  return (int64_t)(d->negative ? 0 - value : value);
}

int ref_text_store(ops_str text, const ref_view *y, int64_t at) {
  decimal d;
  double real;
  int special = read_special(text, &real);
  if (!special && !read_decimal(text, &d)) return 0;
  if (y->element->kind == REF_SIGNED || y->element->kind == REF_UNSIGNED) {
    int64_t value = special ? ref_truncate(real) : to_integer(&d);
    ref_store_int(y, at, 1, 1, &value);
    return 1;
  }
  if (!special) real = to_real(&d, y->type == OPS_TYPE_FLOAT);
  ref_store(y, at, 1, 1, &real);
  return 1;
}

// ---- Writing -------------------------------------------------------------------------------

// Digits and exponent of `value` in scientific notation with `count` digits.
static void take_apart(double value, int count, char *digits, int *exponent) {
  char text[64];
  snprintf(text, sizeof text, "%.*e", count - 1, value);
  int n = 0;
  const char *at = text;
  for (; *at != 'e'; ++at)
    if (*at >= '0' && *at <= '9') digits[n++] = *at;
  digits[n] = 0;
  *exponent = atoi(at + 1);
}

static int gives_back(const ref_view *x, int64_t at, const char *digits, int exponent) {
  char text[64];
  uint64_t original[2] = {0}, again[2] = {0};
  int n = (int)strlen(digits);
  snprintf(text, sizeof text, "%se%d", digits, exponent - n + 1);
  double value = x->type == OPS_TYPE_FLOAT ? (double)strtof(text, NULL) : strtod(text, NULL);
  double mine = fabs(ref_at(x, at));
  x->element->store(original, 0, 1, 1, &mine);
  x->element->store(again, 0, 1, 1, &value);
  return memcmp(original, again, sizeof original) == 0;
}

// 0.00123, 123.0, 12.3.
static int lay_out(char *out, int negative, const char *digits, int exponent) {
  int n = (int)strlen(digits), used = 0;
  if (negative) out[used++] = '-';
  if (exponent < 0) {
    out[used++] = '0';
    out[used++] = '.';
    for (int i = -1; i > exponent; --i) out[used++] = '0';
    for (int i = 0; i < n; ++i) out[used++] = digits[i];
    return used;
  }
  for (int i = 0; i <= exponent; ++i) out[used++] = i < n ? digits[i] : '0';
  out[used++] = '.';
  for (int i = exponent + 1; i < n; ++i) out[used++] = digits[i];
  if (n <= exponent + 1) out[used++] = '0';
  return used;
}

static ops_str real_text(const ref_view *x, int64_t at, char *buffer) {
  double value = ref_at(x, at);
  if (isnan(value)) return (ops_str)OPS_STR("NaN");
  if (isinf(value)) return value > 0 ? (ops_str)OPS_STR("INF") : (ops_str)OPS_STR("-INF");
  char digits[32];
  int exponent = 0;
  for (int count = 1; count <= 17; ++count) {
    take_apart(fabs(value), count, digits, &exponent);
    if (gives_back(x, at, digits, exponent)) break;
  }
  return (ops_str){buffer, (uint64_t)lay_out(buffer, signbit(value) != 0, digits, exponent)};
}

ops_str ref_text_of(const ref_view *x, int64_t at, char buffer[REF_TEXT_SIZE]) {
  if (!ref_is_integer(x)) return real_text(x, at, buffer);
  int64_t value = ref_int_at(x, at);
  int size = x->element->kind == REF_SIGNED
                 ? snprintf(buffer, REF_TEXT_SIZE, "%" PRId64, value)
                 : snprintf(buffer, REF_TEXT_SIZE, "%" PRIu64, (uint64_t)value);
  return (ops_str){buffer, (uint64_t)size};
}
