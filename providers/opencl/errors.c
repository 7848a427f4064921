// SPDX-License-Identifier: Apache-2.0
#include <ops_support/error.h>

#include "opencl.h"

// X(code, status that stands for it); others are INTERNAL.
#define ERROR_LIST(X)                                                 \
  X(CL_SUCCESS, OPS_OK)                                               \
  X(CL_DEVICE_NOT_FOUND, OPS_ERROR_NOT_FOUND)                         \
  X(CL_DEVICE_NOT_AVAILABLE, OPS_ERROR_DEVICE_LOST)                   \
  X(CL_COMPILER_NOT_AVAILABLE, OPS_ERROR_UNSUPPORTED)                 \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE, OPS_ERROR_OUT_OF_MEMORY)        \
  X(CL_OUT_OF_RESOURCES, OPS_ERROR_OUT_OF_MEMORY)                     \
  X(CL_OUT_OF_HOST_MEMORY, OPS_ERROR_OUT_OF_MEMORY)                   \
  X(CL_PROFILING_INFO_NOT_AVAILABLE, OPS_ERROR_UNSUPPORTED)           \
  X(CL_MEM_COPY_OVERLAP, OPS_ERROR_INVALID_ARGUMENT)                  \
  X(CL_BUILD_PROGRAM_FAILURE, OPS_ERROR_INTERNAL)                     \
  X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, OPS_ERROR_INTERNAL) \
  X(CL_INVALID_VALUE, OPS_ERROR_INTERNAL)                             \
  X(CL_INVALID_DEVICE, OPS_ERROR_INTERNAL)                            \
  X(CL_INVALID_CONTEXT, OPS_ERROR_INTERNAL)                           \
  X(CL_INVALID_COMMAND_QUEUE, OPS_ERROR_INTERNAL)                     \
  X(CL_INVALID_MEM_OBJECT, OPS_ERROR_INTERNAL)                        \
  X(CL_INVALID_BINARY, OPS_ERROR_INCOMPATIBLE)                        \
  X(CL_INVALID_BUILD_OPTIONS, OPS_ERROR_INTERNAL)                     \
  X(CL_INVALID_PROGRAM, OPS_ERROR_INTERNAL)                           \
  X(CL_INVALID_PROGRAM_EXECUTABLE, OPS_ERROR_INTERNAL)                \
  X(CL_INVALID_KERNEL_NAME, OPS_ERROR_INTERNAL)                       \
  X(CL_INVALID_KERNEL, OPS_ERROR_INTERNAL)                            \
  X(CL_INVALID_ARG_INDEX, OPS_ERROR_INTERNAL)                         \
  X(CL_INVALID_ARG_VALUE, OPS_ERROR_INTERNAL)                         \
  X(CL_INVALID_ARG_SIZE, OPS_ERROR_INTERNAL)                          \
  X(CL_INVALID_KERNEL_ARGS, OPS_ERROR_INTERNAL)                       \
  X(CL_INVALID_WORK_DIMENSION, OPS_ERROR_INTERNAL)                    \
  X(CL_INVALID_WORK_GROUP_SIZE, OPS_ERROR_INTERNAL)                   \
  X(CL_INVALID_WORK_ITEM_SIZE, OPS_ERROR_INTERNAL)                    \
  X(CL_INVALID_EVENT, OPS_ERROR_INTERNAL)                             \
  X(CL_INVALID_OPERATION, OPS_ERROR_INTERNAL)                         \
  X(CL_INVALID_BUFFER_SIZE, OPS_ERROR_OUT_OF_MEMORY)                  \
  X(CL_INVALID_GLOBAL_WORK_SIZE, OPS_ERROR_INTERNAL)                  \
  X(-1001, OPS_ERROR_UNSUPPORTED) /* CL_PLATFORM_NOT_FOUND_KHR of the loader */

static const struct {
  cl_int code;
  int32_t status;
  const char *name;
} kErrors[] = {
#define ROW(code, status) {code, status, #code},
    ERROR_LIST(ROW)
#undef ROW
};

static size_t find(cl_int code) {
  size_t i = 0;
  while (i < sizeof kErrors / sizeof *kErrors && kErrors[i].code != code) ++i;
  return i;
}

const char *opencl_error_name(cl_int code) {
  const size_t i = find(code);
  return i < sizeof kErrors / sizeof *kErrors ? kErrors[i].name : "unknown OpenCL error";
}

int32_t opencl_fail(cl_int code, const char *what, ops_error *error) {
  const size_t i = find(code);
  const int32_t known = i < sizeof kErrors / sizeof *kErrors ? kErrors[i].status : OPS_OK;
  const int32_t status = known == OPS_OK ? OPS_ERROR_INTERNAL : known;
  ops_error_set(error, status, "%s: %s (%d)", what, opencl_error_name(code), code);
  if (error && error->struct_size >= offsetof(ops_error, vendor_code) + sizeof(int64_t))
    error->vendor_code = code;
  return status;
}

int32_t opencl_check(cl_int code, const char *what, ops_error *error) {
  return code == CL_SUCCESS ? OPS_OK : opencl_fail(code, what, error);
}
