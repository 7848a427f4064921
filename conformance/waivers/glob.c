// SPDX-License-Identifier: Apache-2.0
//
// Matching goes from left to right and remembers the last star alone: if what follows a star
// does not fit, the star takes one byte more. Earlier stars need no second chance, because the
// part between two stars has been found at its leftmost place.
#include "waivers/glob.h"

#include <stddef.h>

// The item at `at` of a bracket expression; returns its end.
static const char *read_item(const char *at, unsigned char *out_low, unsigned char *out_high) {
  if (*at == '\\' && at[1]) ++at;
  *out_low = *out_high = (unsigned char)*at++;
  if (at[0] == '-' && at[1] && at[1] != ']') {
    ++at;
    if (*at == '\\' && at[1]) ++at;
    *out_high = (unsigned char)*at++;
  }
  return at;
}

// A bracket expression that begins behind '['. Returns what follows it, NULL if it does not
// end: then '[' is an ordinary character.
static const char *match_set(const char *at, unsigned char byte, bool *out_match) {
  const bool negated = *at == '!' || *at == '^';
  bool found = false, first = true;
  at += negated;
  while (*at && (*at != ']' || first)) {
    unsigned char low, high;
    at = read_item(at, &low, &high);
    found = found || (low <= byte && byte <= high);
    first = false;
  }
  *out_match = found != negated;
  return *at ? at + 1 : NULL;
}

// One element of the pattern, no star, against one byte; returns what follows the element, NULL
// if it does not fit.
static const char *match_one(const char *pattern, char byte) {
  if (!byte) return NULL;
  if (*pattern == '?') return pattern + 1;
  if (*pattern == '[') {
    bool match;
    const char *rest = match_set(pattern + 1, (unsigned char)byte, &match);
    if (rest) return match ? rest : NULL;
  }
  if (*pattern == '\\' && pattern[1]) ++pattern;
  return *pattern && *pattern == byte ? pattern + 1 : NULL;
}

bool oc_glob_match(const char *pattern, const char *text) {
  const char *star = NULL,
             *taken = NULL;  // behind the last star; the text behind what it takes
  for (;;) {
    if (*pattern == '*') {
      star = ++pattern;
      taken = text;
      continue;
    }
    if (!*pattern && !*text) return true;
    const char *rest = match_one(pattern, *text);
    if (rest) {
      pattern = rest;
      ++text;
    } else if (star && *taken) {
      pattern = star;
      text = ++taken;
    } else {
      return false;
    }
  }
}
