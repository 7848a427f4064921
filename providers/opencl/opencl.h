// SPDX-License-Identifier: Apache-2.0
//
// Private parts of the driver over OpenCL.
#ifndef OPENCL_OPENCL_H_
#define OPENCL_OPENCL_H_

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>

#include "../gpu/driver.h"

extern const gpu_driver opencl_driver;

// ---- Errors (errors.c) ----

// "CL_OUT_OF_RESOURCES" and the like; "unknown OpenCL error". Static.
const char *opencl_error_name(cl_int code);
// Writes what failed, the error's name and number; returns the status that stands for it.
int32_t opencl_fail(cl_int code, const char *what, ops_error *error);
// OPS_OK for CL_SUCCESS, else opencl_fail.
int32_t opencl_check(cl_int code, const char *what, ops_error *error);

// ---- Programs (program.c) ----

struct gpu_function {
  struct gpu_function *next;
  pthread_mutex_t lock;  // of the parameters
  cl_kernel kernel;
  char name[64];
};

int32_t opencl_program_build(gpu_context *context, const char *source, void **out_binary,
                             uint64_t *out_size, gpu_program **out_program, ops_error *error);
int32_t opencl_program_load(gpu_context *context, const void *binary, uint64_t size,
                            gpu_program **out_program, ops_error *error);
void opencl_program_destroy(gpu_program *program);
int32_t opencl_function_get(gpu_program *program, const char *name, gpu_function **out_function,
                            ops_error *error);

cl_context opencl_context(const gpu_context *context);
cl_device_id opencl_device(const gpu_context *context);

#endif  // OPENCL_OPENCL_H_
