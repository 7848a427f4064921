// SPDX-License-Identifier: Apache-2.0
//
// Error records never overflow and always hold valid UTF-8: a message that is too long loses
// its tail at a character boundary.
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>

// The bytes of `message` that the owner of `error` has room for, the terminator included.
static size_t message_capacity(const ops_error *error) {
  const size_t header = offsetof(ops_error, message);
  if (error->struct_size <= header) return 0;
  const size_t room = (size_t)error->struct_size - header;
  return room < OPS_ERROR_MESSAGE_MAX ? room : OPS_ERROR_MESSAGE_MAX;
}

// The longest prefix of `text` of at most `size` bytes that does not end inside a character.
static size_t trim_utf8(const char *text, size_t size) {
  size_t start = size;
  while (start > 0 && size - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
    --start;
  if (start == 0) return size;
  const unsigned char lead = (unsigned char)text[start - 1];
  const size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return size - (start - 1) < need ? start - 1 : size;
}

// 1 if the owner of `error` has the fields in front of the message: always so, unless
// struct_size was forgotten.
static int has_header(const ops_error *error) {
  return error->struct_size >= offsetof(ops_error, message);
}

// 1 if its owner knows of causes.
static int has_cause(const ops_error *error) {
  return error->struct_size >= offsetof(ops_error, cause) + sizeof error->cause;
}

static void store(ops_error *error, int32_t code, int32_t cause, const char *text,
                  size_t size) {
  const size_t capacity = message_capacity(error);
  if (has_header(error)) {
    error->code = code;
    error->vendor_code = 0;
    error->message_size = 0;
  }
  if (has_cause(error)) error->cause = cause;
  if (capacity == 0) return;
  if (size > capacity - 1) size = trim_utf8(text, capacity - 1);
  memmove(error->message, text, size);
  error->message[size] = '\0';
  error->message_size = (uint32_t)size;
}

static int32_t set(ops_error *error, int32_t code, int32_t cause, const char *format,
                   va_list args) {
  if (!error) return code;
  char text[OPS_ERROR_MESSAGE_MAX + 4];
  const int written = vsnprintf(text, sizeof text, format, args);
  size_t size = written < 0 ? 0 : (size_t)written;
  if (size >= sizeof text) size = sizeof text - 1;
  store(error, code, cause, text, size);
  return code;
}

int32_t ops_error_set_v(ops_error *error, int32_t code, const char *format, va_list args) {
  return set(error, code, code, format, args);
}

int32_t ops_error_set_cause(ops_error *error, int32_t code, int32_t cause, const char *format,
                            ...) {
  va_list args;
  va_start(args, format);
  set(error, code, cause, format, args);
  va_end(args);
  return code;
}

int32_t ops_error_set(ops_error *error, int32_t code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  ops_error_set_v(error, code, format, args);
  va_end(args);
  return code;
}

int32_t ops_error_copy(ops_error *error, int32_t code, const ops_error *from) {
  if (!error) return code;
  store(error, code, has_cause(from) ? from->cause : code, from->message, from->message_size);
  if (has_header(error)) error->vendor_code = from->vendor_code;
  return code;
}

void ops_error_add_cause(ops_error *error, int32_t cause) {
  if (!error || !has_cause(error)) return;
  if (error->cause == 0 || error->cause == error->code) error->cause = cause;
}

int32_t ops_error_prefix(ops_error *error, const char *format, ...) {
  if (!error || !has_header(error)) return OPS_ERROR_INTERNAL;
  char text[2 * OPS_ERROR_MESSAGE_MAX + 4];
  va_list args;
  va_start(args, format);
  int head = vsnprintf(text, OPS_ERROR_MESSAGE_MAX, format, args);
  va_end(args);
  if (head < 0) head = 0;
  if (head >= OPS_ERROR_MESSAGE_MAX) head = OPS_ERROR_MESSAGE_MAX - 1;
  const size_t capacity = message_capacity(error);
  const size_t old = error->message_size < capacity ? error->message_size : capacity;
  const int tail =
      snprintf(text + head, sizeof text - (size_t)head, ": %.*s", (int)old, error->message);
  const int64_t vendor_code = error->vendor_code;
  const int32_t cause = has_cause(error) ? error->cause : 0;
  store(error, error->code, cause, text, (size_t)head + (tail > 0 ? (size_t)tail : 0));
  error->vendor_code = vendor_code;
  return error->code;
}

const char *ops_status_name(int32_t status) {
  switch (status) {
#define X(constant, when) \
  case constant:          \
    return #constant;
    OPS_STATUS_LIST(X)
#undef X
    default:
      return "unknown status";
  }
}
