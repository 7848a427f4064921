// SPDX-License-Identifier: Apache-2.0
//
// The status that every call returns, and the error record it fills.
#ifndef OPS_STATUS_H_
#define OPS_STATUS_H_

#include <ops/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// Numbers are stable; new ones are appended. A reader treats an unknown non-zero status as
// OPS_ERROR_INTERNAL. OPS_STATUS_LIST below says when to choose which.
#define OPS_OK 0
#define OPS_ERROR_INVALID_ARGUMENT 1
#define OPS_ERROR_OUT_OF_MEMORY 2
#define OPS_ERROR_UNSUPPORTED 3
#define OPS_ERROR_UNSUPPORTED_VERSION 4
#define OPS_ERROR_DEVICE_LOST 5
#define OPS_ERROR_CANCELLED 6
#define OPS_ERROR_DECLINED 7
#define OPS_ERROR_INTERNAL 8
#define OPS_ERROR_NOT_FOUND 9
#define OPS_ERROR_IO 10
#define OPS_ERROR_PRECONDITION 11
#define OPS_ERROR_NOT_READY 12
#define OPS_ERROR_RECOMPILE 13
#define OPS_ERROR_INCOMPATIBLE 14
#define OPS_ERROR_INVALID_MODEL 15
#define OPS_ERROR_TIMEOUT 16

// X(constant, when to choose it)
#define OPS_STATUS_LIST(X)                                                                   \
  X(OPS_OK, "The call did what it says.")                                                    \
  X(OPS_ERROR_INVALID_ARGUMENT, "The caller broke a rule, or data is outside the contract.") \
  X(OPS_ERROR_OUT_OF_MEMORY, "Memory of the kind asked for is exhausted.")                   \
  X(OPS_ERROR_UNSUPPORTED, "The thing is legal but this implementation lacks it.")           \
  X(OPS_ERROR_UNSUPPORTED_VERSION, "Versions or struct sizes cannot be reconciled.")         \
  X(OPS_ERROR_DEVICE_LOST, "The device is gone; only destroy, query and reset are legal.")   \
  X(OPS_ERROR_CANCELLED, "The work was cancelled before it completed.")                      \
  X(OPS_ERROR_DECLINED, "A group was claimed but compiling it turned out unwise.")           \
  X(OPS_ERROR_INTERNAL, "The implementation broke its own rule: a bug.")                     \
  X(OPS_ERROR_NOT_FOUND, "A named thing does not exist.")                                    \
  X(OPS_ERROR_IO, "A file or a stream of bytes could not be read or written.")               \
  X(OPS_ERROR_PRECONDITION, "The object is in the wrong state for this call.")               \
  X(OPS_ERROR_NOT_READY, "A query found the work still pending; not a failure.")             \
  X(OPS_ERROR_RECOMPILE, "A compiled blob is usable only after compiling again.")            \
  X(OPS_ERROR_INCOMPATIBLE, "A compiled blob belongs to another device or version.")         \
  X(OPS_ERROR_INVALID_MODEL, "A model or a contract breaks its own specification.")          \
  X(OPS_ERROR_TIMEOUT, "A deadline passed.")

#define OPS_ERROR_MESSAGE_MAX 1000

// Filled by a call that fails; untouched by one that succeeds. Owned by the caller, who sets
// struct_size before the first use. Every `error` parameter may be NULL.
typedef struct ops_error {
  uint64_t struct_size;
  int32_t code;                         // the status that the call returned
  uint32_t message_size;                // bytes of `message` in use, the terminator not counted
  int64_t vendor_code;                  // the driver's own number, or 0
  char message[OPS_ERROR_MESSAGE_MAX];  // UTF-8, terminated; what, expected, found, remedy
  int32_t cause;     // number of the catalogue in <ops/cause.h>; 0: no more than `code` says
  int32_t reserved;  // 0
} ops_error;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_STATUS_H_
