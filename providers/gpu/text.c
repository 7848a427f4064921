// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

static int32_t reserve(gpu_text *text, uint64_t more) {
  if (text->capacity - text->size > more) return 1;
  const uint64_t capacity = (text->size + more + 64) * 2;
  char *grown = realloc(text->data, capacity);
  if (!grown) return 0;
  text->data = grown;
  text->capacity = capacity;
  return 1;
}

void gpu_text_add(gpu_text *text, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int size = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (size < 0 || text->failed || !reserve(text, (uint64_t)size)) {
    text->failed = 1;
  } else {
    vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
    text->size += (uint64_t)size;
  }
  va_end(again);
}

void gpu_text_free(gpu_text *text) {
  free(text->data);
  *text = (gpu_text){0};
}
