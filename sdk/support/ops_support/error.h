// SPDX-License-Identifier: Apache-2.0
//
// Filling an ops_error, and passing one on.
#ifndef OPS_SUPPORT_ERROR_H_
#define OPS_SUPPORT_ERROR_H_

#include <ops/cause.h>
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

// An ops_error ready to be passed to a call.
#define OPS_ERROR_INIT \
  { sizeof(ops_error), OPS_OK, 0, 0, {0}, 0, 0 }

// printf's arguments for an ops_str used with "%.*s".
#define OPS_STR_FMT(str) (int)(str).size, ((str).data ? (str).data : "")

// Leaves the calling function with the status of `call` unless that is OPS_OK.
#define OPS_RETURN_IF_ERROR(call)                  \
  do {                                             \
    const int32_t ops_status_ = (call);            \
    if (ops_status_ != OPS_OK) return ops_status_; \
  } while (0)

// Writes `code` and the formatted message into `error` (which may be NULL), respecting its
// struct_size; a message too long is cut at a character boundary. Returns `code`.
int32_t ops_error_set(ops_error *error, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int32_t ops_error_set_v(ops_error *error, int32_t code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

// The same with the cause, one of OPS_CAUSE_LIST that may stand beside `code`; without one, the
// cause is the status itself.
int32_t ops_error_set_cause(ops_error *error, int32_t code, int32_t cause, const char *format,
                            ...) __attribute__((format(printf, 4, 5)));

// Hands an error with which a call returned `code` on into another record: message, cause,
// vendor code. Returns `code`.
int32_t ops_error_copy(ops_error *error, int32_t code, const ops_error *from);

// Gives an error that is already set a cause that its filler could not know, unless it has one
// more precise than its status. Accepts NULL.
void ops_error_add_cause(ops_error *error, int32_t cause);

// Puts "text: " in front of the message of an error that is already set, for instance the file
// or node in which it happened. Returns the code of `error`, or OPS_ERROR_INTERNAL if error is
// NULL or has no room for one.
int32_t ops_error_prefix(ops_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// "OPS_ERROR_IO" and the like; "unknown status" for a number outside OPS_STATUS_LIST. Static.
const char *ops_status_name(int32_t status);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_ERROR_H_
