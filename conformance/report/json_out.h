// SPDX-License-Identifier: Apache-2.0
//
// JSON written as it comes, without a tree: a report of a million cases needs no memory but its
// text. Containers up to a depth stand on lines of their own, deeper ones on one line, so that
// a case is a line.
#ifndef OC_REPORT_JSON_OUT_H_
#define OC_REPORT_JSON_OUT_H_

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OC_JSON_OUT_DEPTH 16

typedef struct oc_json_out {
  FILE *stream;
  int lines;  // depth to which each member has a line of its own
  int depth;
  char closing[OC_JSON_OUT_DEPTH];
  bool filled[OC_JSON_OUT_DEPTH];
} oc_json_out;

oc_json_out oc_json_out_begin(FILE *stream, int lines);

// `name` is the key in an object, NULL in a list and for the document; `bracket` is '{' or '['.
void oc_json_out_open(oc_json_out *json, const char *name, char bracket);
void oc_json_out_close(oc_json_out *json);  // the innermost

void oc_json_out_text(oc_json_out *json, const char *name, const char *text);
void oc_json_out_text_if(oc_json_out *json, const char *name, const char *text);  // not empty
void oc_json_out_integer(oc_json_out *json, const char *name, int64_t value);
// As short as it can be read back; what JSON has no number for is "inf", "-inf" or "nan".
void oc_json_out_number(oc_json_out *json, const char *name, double value);
// A seed: 64 bits do not fit the numbers of JSON, so it is a text of digits.
void oc_json_out_seed(oc_json_out *json, const char *name, uint64_t value);

#endif  // OC_REPORT_JSON_OUT_H_
