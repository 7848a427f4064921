// SPDX-License-Identifier: Apache-2.0
//
// The only C++ of the provider: RE2 runs in time linear in the text, whatever the pattern.
#include "regex.h"

#include <re2/re2.h>
#include <stdio.h>

struct ref_regex {
  explicit ref_regex(const re2::StringPiece &pattern, const RE2::Options &options)
      : regex(pattern, options) {
  }
  RE2 regex;
};

static re2::StringPiece piece(ops_str text) {
  return re2::StringPiece(text.size > 0 ? text.data : "", text.size);
}

extern "C" ref_regex *ref_regex_create(ops_str pattern, char *message, uint64_t message_size) {
  message[0] = 0;
  try {
    RE2::Options options;
    options.set_log_errors(false);
    ref_regex *made = new ref_regex(piece(pattern), options);
    if (made->regex.ok()) return made;
    snprintf(message, message_size, "%s", made->regex.error().c_str());
    delete made;
  } catch (...) {
    message[0] = 0;
  }
  return nullptr;
}

extern "C" void ref_regex_destroy(ref_regex *regex) {
  delete regex;
}

extern "C" int ref_regex_full_match(const ref_regex *regex, ops_str text) {
  try {
    return RE2::FullMatch(piece(text), regex->regex);
  } catch (...) {
    return 0;
  }
}
