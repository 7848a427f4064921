// SPDX-License-Identifier: Apache-2.0
//
// Private to profile/: writing JSON to a file, with the commas in their places, and files that
// appear whole or not at all.
#ifndef RT_PROFILE_JSON_H_
#define RT_PROFILE_JSON_H_

#include <ops/status.h>
#include <stdio.h>

// A document being written. Zero but for `file`.
typedef struct rt_json {
  FILE *file;
  int follows;  // 1: an element stands before this place, in the same object or array
} rt_json;

// Objects ('{') and arrays ('['). `name` NULL: an element of an array, or the document.
void rt_json_begin(rt_json *json, const char *name, char bracket);
void rt_json_end(rt_json *json, char bracket);
// Values. Bytes that are not UTF-8 become U+FFFD; '<' is escaped, so that a document may stand
// in a page. NULL texts and numbers that are not finite become null.
void rt_json_text(rt_json *json, const char *name, const char *text);
void rt_json_number(rt_json *json, const char *name, double value);
void rt_json_integer(rt_json *json, const char *name, uint64_t value);
void rt_json_null(rt_json *json, const char *name);
// Nanoseconds as microseconds, with three digits.
void rt_json_microseconds(rt_json *json, const char *name, uint64_t ns);

// What writes the contents of a file; 0: memory is exhausted.
typedef int (*rt_write_fn)(FILE *file, const void *context);
// Writes a file beside `path` and renames it. `what` is for messages: "profile".
int32_t rt_write_whole(const char *path, const char *what, rt_write_fn write,
                       const void *context, ops_error *error);

#endif  // RT_PROFILE_JSON_H_
