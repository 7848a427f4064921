// SPDX-License-Identifier: Apache-2.0
//
// JSON, RFC 8259. '<' is escaped too, so that a document can stand inside a page.
#include "report/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

oc_json_out oc_json_out_begin(FILE *stream, int lines) {
  return (oc_json_out){.stream = stream, .lines = lines};
}

static void put_string(FILE *stream, const char *text) {
  fputc('"', stream);
  for (; *text; ++text) {
    const unsigned char byte = (unsigned char)*text;
    if (byte < 0x20 || byte == '<') {
      fprintf(stream, "\\u%04x", byte);
    } else {
      if (byte == '"' || byte == '\\') fputc('\\', stream);
      fputc(byte, stream);
    }
  }
  fputc('"', stream);
}

static void put_line(const oc_json_out *json) {
  if (json->depth > json->lines) return;
  fputc('\n', json->stream);
  for (int i = 0; i < json->depth; ++i) fputc(' ', json->stream);
}

// What stands before a value: comma, line, key.
static void begin_value(oc_json_out *json, const char *name) {
  if (json->depth > 0) {
    if (json->filled[json->depth - 1]) fputc(',', json->stream);
    if (json->filled[json->depth - 1] && json->depth > json->lines) fputc(' ', json->stream);
    json->filled[json->depth - 1] = true;
    put_line(json);
  }
  if (!name) return;
  put_string(json->stream, name);
  fputs(": ", json->stream);
}

void oc_json_out_open(oc_json_out *json, const char *name, char bracket) {
  begin_value(json, name);
  fputc(bracket, json->stream);
  json->closing[json->depth] = bracket == '{' ? '}' : ']';
  json->filled[json->depth++] = false;
}

void oc_json_out_close(oc_json_out *json) {
  const bool filled = json->filled[--json->depth];
  if (filled && json->depth < json->lines) put_line(json);
  fputc(json->closing[json->depth], json->stream);
  if (json->depth == 0) fputc('\n', json->stream);
}

void oc_json_out_text(oc_json_out *json, const char *name, const char *text) {
  begin_value(json, name);
  put_string(json->stream, text);
}

void oc_json_out_text_if(oc_json_out *json, const char *name, const char *text) {
  if (text && text[0]) oc_json_out_text(json, name, text);
}

void oc_json_out_integer(oc_json_out *json, const char *name, int64_t value) {
  begin_value(json, name);
  fprintf(json->stream, "%" PRId64, value);
}

void oc_json_out_number(oc_json_out *json, const char *name, double value) {
  char text[32];
  if (!isfinite(value)) {
    oc_json_out_text(json, name, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return;
  }
  for (int digits = 6; digits <= 17; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  begin_value(json, name);
  fputs(text, json->stream);
}

void oc_json_out_seed(oc_json_out *json, const char *name, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, value);
  oc_json_out_text(json, name, text);
}
