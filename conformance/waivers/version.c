// SPDX-License-Identifier: Apache-2.0
//
// Comparing versions.
#include "waivers/version.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

// ---- Versions -------------------------------------------------------------------------------

static size_t skip_zeros(const char *digits, size_t size) {
  size_t at = 0;
  while (at + 1 < size && digits[at] == '0') ++at;
  return at;
}

// Two runs of digits of any length as numbers; an empty one is 0.
static int compare_digits(const char *a, size_t a_size, const char *b, size_t b_size) {
  if (a_size == 0) a = "0", a_size = 1;
  if (b_size == 0) b = "0", b_size = 1;
  const size_t a_zeros = skip_zeros(a, a_size), b_zeros = skip_zeros(b, b_size);
  a_size -= a_zeros;
  b_size -= b_zeros;
  if (a_size != b_size) return a_size < b_size ? -1 : 1;
  return memcmp(a + a_zeros, b + b_zeros, a_size);
}

static size_t count_digits(const char *text) {
  return strspn(text, "0123456789");
}

// Numbers between points; what is left begins the suffix.
static int compare_numbers(const char **a, const char **b) {
  for (;;) {
    const size_t a_size = count_digits(*a), b_size = count_digits(*b);
    const int order = compare_digits(*a, a_size, *b, b_size);
    if (order) return order;
    *a += a_size;
    *b += b_size;
    const bool a_more = (*a)[0] == '.' && isdigit((unsigned char)(*a)[1]);
    const bool b_more = (*b)[0] == '.' && isdigit((unsigned char)(*b)[1]);
    if (!a_more && !b_more) return 0;
    *a += a_more;
    *b += b_more;
  }
}

static size_t part_size(const char *text) {
  return strcspn(text, ".+");
}

// One part of two suffixes: numbers come before words.
static int compare_parts(const char *a, size_t a_size, const char *b, size_t b_size) {
  const bool a_number = a_size && count_digits(a) == a_size;
  const bool b_number = b_size && count_digits(b) == b_size;
  if (a_number && b_number) return compare_digits(a, a_size, b, b_size);
  if (a_number != b_number) return a_number ? -1 : 1;
  const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
  return order ? order : (a_size > b_size) - (a_size < b_size);
}

static bool is_end(const char *text) {
  return !text[0] || text[0] == '+';
}

static int compare_suffixes(const char *a, const char *b) {
  if (is_end(a) || is_end(b)) return is_end(a) - is_end(b);  // without one is later
  for (;;) {
    const size_t a_size = part_size(a), b_size = part_size(b);
    const int order = compare_parts(a, a_size, b, b_size);
    if (order) return order;
    a += a_size;
    b += b_size;
    if (is_end(a) || is_end(b)) return is_end(b) - is_end(a);  // more parts are later
    ++a;
    ++b;
  }
}

int oc_version_compare(const char *a, const char *b) {
  a += a[0] == 'v';
  b += b[0] == 'v';
  const int order = compare_numbers(&a, &b);
  return order ? order : compare_suffixes(a, b);
}

// ---- Ranges ---------------------------------------------------------------------------------

#define MAX_VERSION 128  // bytes of one version in a range

typedef struct comparison_row {
  const char *sign;
  bool less, equal, greater;  // for which orders of version and bound it holds
} comparison_row;

// Longer signs first.
static const comparison_row kComparisons[] = {
    {"<=", true, true, false}, {">=", false, true, true}, {"<", true, false, false},
    {">", false, false, true}, {"=", false, true, false}, {"", false, true, false}};

// The comparison at `text`; *out_bound begins its version.
static const comparison_row *find_comparison(const char *text, const char **out_bound) {
  const comparison_row *row = kComparisons;
  while (strncmp(text, row->sign, strlen(row->sign)) != 0) ++row;
  *out_bound = text + strlen(row->sign);
  return row;
}

const char *oc_version_range_check(const char *range) {
  if (strcmp(range, "*") == 0) return NULL;
  const char *at = range + strspn(range, " ");
  if (!*at) return "it is empty";
  while (*at) {
    const char *bound;
    find_comparison(at, &bound);
    const size_t size = strcspn(bound, " ");
    if (!isdigit((unsigned char)bound[bound[0] == 'v'])) {
      return "a version begins with a digit, directly behind its sign";
    }
    if (size >= MAX_VERSION) return "a version has more than 127 characters";
    if (strcspn(bound, "<>=,*") < size) return "comparisons are separated by spaces";
    at = bound + size;
    at += strspn(at, " ");
  }
  return NULL;
}

bool oc_version_in_range(const char *version, const char *range) {
  if (strcmp(range, "*") == 0) return true;
  for (const char *at = range + strspn(range, " "); *at;) {
    char bound[MAX_VERSION];
    const char *text;
    const comparison_row *row = find_comparison(at, &text);
    const size_t size = strcspn(text, " ");
    memcpy(bound, text, size);
    bound[size] = 0;
    const int order = oc_version_compare(version, bound);
    if (order < 0 ? !row->less : order > 0 ? !row->greater : !row->equal) return false;
    at = text + size;
    at += strspn(at, " ");
  }
  return true;
}
