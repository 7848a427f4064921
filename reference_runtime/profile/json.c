// SPDX-License-Identifier: Apache-2.0
//
// JSON by RFC 8259: a comma goes before every element but the first, so the writer remembers
// only whether one stands before it.
#include "profile/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Length of the valid UTF-8 sequence at `text`, 0 if there is none.
static size_t utf8_length(const unsigned char *text) {
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (text[0] < 0x80) return 1;
  const size_t length = text[0] >= 0xf0 && text[0] < 0xf8   ? 4
                        : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                        : text[0] >= 0xc0 && text[0] < 0xe0 ? 2
                                                            : 0;
  if (length == 0) return 0;
  uint32_t code = text[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xc0u) != 0x80u) return 0;
    code = code << 6 | (text[i] & 0x3fu);
  }
  const int surrogate = code >= 0xd800 && code < 0xe000;
  return code >= smallest[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

static void write_escaped(FILE *file, unsigned char byte) {
  if (byte == '"' || byte == '\\')
    fprintf(file, "\\%c", byte);
  else if (byte < 0x20 || byte == 0x7f || byte == '<')
    fprintf(file, "\\u%04x", byte);
  else
    fputc(byte, file);
}

static void write_string(FILE *file, const char *text) {
  fputc('"', file);
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    const size_t length = utf8_length(at);
    if (length == 0)
      fputs("\\ufffd", file);
    else if (length == 1)
      write_escaped(file, *at);
    else
      fwrite(at, 1, length, file);
    at += length ? length : 1;
  }
  fputc('"', file);
}

static void start_value(rt_json *json, const char *name) {
  if (json->follows) fputc(',', json->file);
  json->follows = 1;
  if (!name) return;
  write_string(json->file, name);
  fputc(':', json->file);
}

// A line for each object of an array.
void rt_json_begin(rt_json *json, const char *name, char bracket) {
  start_value(json, name);
  if (!name) fputc('\n', json->file);
  fputc(bracket, json->file);
  json->follows = 0;
}

void rt_json_end(rt_json *json, char bracket) {
  fputc(bracket, json->file);
  json->follows = 1;
}

void rt_json_null(rt_json *json, const char *name) {
  start_value(json, name);
  fputs("null", json->file);
}

void rt_json_text(rt_json *json, const char *name, const char *text) {
  if (!text) {
    rt_json_null(json, name);
    return;
  }
  start_value(json, name);
  write_string(json->file, text);
}

void rt_json_number(rt_json *json, const char *name, double value) {
  if (!isfinite(value)) {
    rt_json_null(json, name);
    return;
  }
  start_value(json, name);
  fprintf(json->file, "%.17g", value);
}

void rt_json_integer(rt_json *json, const char *name, uint64_t value) {
  start_value(json, name);
  fprintf(json->file, "%" PRIu64, value);
}

void rt_json_microseconds(rt_json *json, const char *name, uint64_t ns) {
  start_value(json, name);
  fprintf(json->file, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
}

int32_t rt_write_whole(const char *path, const char *what, rt_write_fn write,
                       const void *context, ops_error *error) {
  const size_t length = strlen(path) + 32;
  char *partial = malloc(length);
  if (!partial) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a file name");
  snprintf(partial, length, "%s.%ld.part", path, (long)getpid());
  int32_t status = OPS_OK;
  FILE *file = fopen(partial, "w");
  int complete = 0, failed = 1;
  if (file) {
    complete = write(file, context);
    failed = ferror(file);
    failed |= fclose(file) != 0;
  }
  if (file && !complete)
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "writing the %s '%s'", what, path);
  else if (!file || failed || rename(partial, path) != 0)
    status = ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNWRITABLE,
                                 "%s '%s' cannot be written: %s; name a writable place", what,
                                 path, strerror(errno));
  if (status != OPS_OK && file) unlink(partial);
  free(partial);
  return status;
}
