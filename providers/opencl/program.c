// SPDX-License-Identifier: Apache-2.0
//
// Programs: from source or from the driver's own binary, and their kernels.
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"
#include "process.h"

// Strict arithmetic: no -cl-fast-relaxed-math and the like. Division and square root are to be
// rounded right where the device can.
static const char kOptions[] = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";
static const char kPlainOptions[] = "-cl-std=CL1.2";

struct gpu_program {
  cl_program program;
  gpu_function *functions;
};

static const char *options_of(cl_device_id device) {
  cl_device_fp_config config = 0;
  clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
  return config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? kOptions : kPlainOptions;
}

static int32_t fail_build(cl_program program, cl_device_id device, cl_int code,
                          ops_error *error) {
  char log[700] = "";
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char *whole = calloc(1, size + 1);
  if (whole) clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, whole, NULL);
  snprintf(log, sizeof log, "%s", whole ? whole : "");
  free(whole);
  return ops_error_set(error, OPS_ERROR_INTERNAL, "clBuildProgram: %s; %s",
                       opencl_error_name(code), log);
}

static int32_t finish(gpu_context *context, cl_program built, gpu_program **out_program,
                      ops_error *error) {
  cl_device_id device = opencl_device(context);
  opencl_process before;
  opencl_process_save(&before);
  const cl_int status = clBuildProgram(built, 1, &device, options_of(device), NULL, NULL);
  opencl_process_restore(&before);
  gpu_program *program = status == CL_SUCCESS ? calloc(1, sizeof *program) : NULL;
  if (program) {
    program->program = built;
    *out_program = program;
    return OPS_OK;
  }
  const int32_t code = status == CL_SUCCESS ? ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                                                            "no memory for a program")
                                            : fail_build(built, device, status, error);
  clReleaseProgram(built);
  return code;
}

// A driver without binaries leaves *out_binary NULL: the program is then not kept on disk.
static void take_binary(cl_program program, void **out_binary, uint64_t *out_size) {
  size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
          CL_SUCCESS ||
      size == 0)
    return;
  unsigned char *binary = malloc(size);
  if (!binary) return;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) !=
      CL_SUCCESS) {
    free(binary);
    return;
  }
  *out_binary = binary;
  *out_size = size;
}

int32_t opencl_program_build(gpu_context *context, const char *source, void **out_binary,
                             uint64_t *out_size, gpu_program **out_program, ops_error *error) {
  cl_int status;
  *out_binary = NULL;
  cl_program built =
      clCreateProgramWithSource(opencl_context(context), 1, &source, NULL, &status);
  if (status != CL_SUCCESS) return opencl_fail(status, "clCreateProgramWithSource", error);
  OPS_RETURN_IF_ERROR(finish(context, built, out_program, error));
  take_binary(built, out_binary, out_size);
  return OPS_OK;
}

int32_t opencl_program_load(gpu_context *context, const void *binary, uint64_t size,
                            gpu_program **out_program, ops_error *error) {
  cl_int status, refused = CL_SUCCESS;
  cl_device_id device = opencl_device(context);
  const unsigned char *bytes = binary;
  const size_t length = size;
  cl_program built = clCreateProgramWithBinary(opencl_context(context), 1, &device, &length,
                                               &bytes, &refused, &status);
  if (status == CL_SUCCESS && refused == CL_SUCCESS)
    return finish(context, built, out_program, error);
  if (status == CL_SUCCESS) clReleaseProgram(built);
  return ops_error_set(error, OPS_ERROR_INCOMPATIBLE, "clCreateProgramWithBinary: %s",
                       opencl_error_name(status != CL_SUCCESS ? status : refused));
}

void opencl_program_destroy(gpu_program *program) {
  if (!program) return;
  while (program->functions) {
    gpu_function *next = program->functions->next;
    clReleaseKernel(program->functions->kernel);
    pthread_mutex_destroy(&program->functions->lock);
    free(program->functions);
    program->functions = next;
  }
  clReleaseProgram(program->program);
  free(program);
}

int32_t opencl_function_get(gpu_program *program, const char *name, gpu_function **out_function,
                            ops_error *error) {
  cl_int status;
  for (gpu_function *f = program->functions; f; f = f->next) {
    if (strcmp(f->name, name) != 0) continue;
    *out_function = f;
    return OPS_OK;
  }
  gpu_function *function = calloc(1, sizeof *function);
  if (!function) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  function->kernel = clCreateKernel(program->program, name, &status);
  if (status != CL_SUCCESS) {
    free(function);
    return opencl_fail(status, "clCreateKernel", error);
  }
  snprintf(function->name, sizeof function->name, "%s", name);
  pthread_mutex_init(&function->lock, NULL);
  function->next = program->functions;
  program->functions = function;
  *out_function = function;
  return OPS_OK;
}
