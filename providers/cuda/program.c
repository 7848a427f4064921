// SPDX-License-Identifier: Apache-2.0
//
// Programs: source through NVRTC to machine code, machine code into the driver.
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct gpu_program {
  gpu_context *context;
  CUmodule module;
};

CUfunction cuda_function_handle(const gpu_function *function) {
  return (CUfunction)(uintptr_t)function;
}

static int32_t load(gpu_context *context, const void *image, gpu_program **out_program,
                    ops_error *error) {
  const cuda_api *cuda = &context->api->cuda;
  gpu_program *program = calloc(1, sizeof *program);
  if (!program) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a program");
  program->context = context;
  int32_t status = cuda_enter(context, "cuModuleLoadDataEx", error);
  if (status == OPS_OK)
    status =
        cuda_leave(context, cuda->cuModuleLoadDataEx(&program->module, image, 0, NULL, NULL),
                   "cuModuleLoadDataEx", error);
  if (status == OPS_OK)
    *out_program = program;
  else
    free(program);
  return status;
}

int32_t cuda_program_build(gpu_context *context, const char *source, void **out_binary,
                           uint64_t *out_size, gpu_program **out_program, ops_error *error) {
  void *image = NULL;
  uint64_t size = 0;
  OPS_RETURN_IF_ERROR(cuda_rtc_compile(&context->api->rtc, "kernels", source,
                                       context->capability, NULL, 0, &image, &size, NULL,
                                       error));
  const int32_t status = load(context, image, out_program, error);
  if (status != OPS_OK) {
    free(image);
    return status;
  }
  *out_binary = image;
  *out_size = size;
  return OPS_OK;
}

// ---- Images from files ----
//
// The driver is told no size: it reads as far as an ELF file's own headers or PTX's end of text
// say. Of a file that was cut short or changed it must not get more than is there.

enum {
  kElfHeader = 64,
  kSectionTable = 40,
  kSectionSize = 58,
  kSectionCount = 60,
  kProgramTable = 32,
  kProgramSize = 54,
  kProgramCount = 56
};

static uint64_t read_number(const unsigned char *bytes, int width) {
  uint64_t number = 0;
  for (int i = width - 1; i >= 0; --i) number = number << 8 | bytes[i];
  return number;
}

// Whether a table of `count` rows lies within the file.
static int32_t table_fits(const unsigned char *head, int place, int row, int count,
                          uint64_t size) {
  const uint64_t begin = read_number(head + place, 8);
  const uint64_t bytes = read_number(head + row, 2) * read_number(head + count, 2);
  return begin <= size && bytes <= size - begin;
}

enum {
  kSectionType = 4,
  kSectionOffset = 24,
  kSectionBytes = 32,
  kNoBits = 8,
  kSectionRow = 64
};

static int32_t sections_fit(const unsigned char *head, uint64_t size) {
  const uint64_t begin = read_number(head + kSectionTable, 8);
  const uint64_t count = read_number(head + kSectionCount, 2);
  if (count && read_number(head + kSectionSize, 2) != kSectionRow) return 0;
  for (uint64_t i = 0; i < count; ++i) {
    const unsigned char *row = head + begin + i * kSectionRow;
    const uint64_t offset = read_number(row + kSectionOffset, 8);
    const uint64_t bytes = read_number(row + kSectionBytes, 8);
    if (read_number(row + kSectionType, 4) == kNoBits) continue;
    if (offset > size || bytes > size - offset) return 0;
  }
  return 1;
}

static int32_t is_whole(const void *binary, uint64_t size) {
  const unsigned char *head = binary;
  if (size > 0 && head[size - 1] == '\0' && size >= 8 && memcmp(head, "//", 2) == 0)
    return memchr(head, 0, size) == head + size - 1;  // PTX: text
  return size >= kElfHeader && memcmp(head, "\177ELF\2\1", 6) == 0 &&
         table_fits(head, kSectionTable, kSectionSize, kSectionCount, size) &&
         table_fits(head, kProgramTable, kProgramSize, kProgramCount, size) &&
         sections_fit(head, size);
}

int32_t cuda_program_load(gpu_context *context, const void *binary, uint64_t size,
                          gpu_program **out_program, ops_error *error) {
  if (!is_whole(binary, size))
    return ops_error_set(error, OPS_ERROR_INCOMPATIBLE,
                         "a stored program of %llu bytes is no whole CUDA image",
                         (unsigned long long)size);
  const int32_t status = load(context, binary, out_program, error);
  // What the driver refuses here was made for another one.
  if (status != OPS_ERROR_UNSUPPORTED_VERSION && status != OPS_ERROR_INTERNAL) return status;
  if (error) error->code = OPS_ERROR_INCOMPATIBLE, error->cause = 0;
  return OPS_ERROR_INCOMPATIBLE;
}

void cuda_program_destroy(gpu_program *program) {
  if (!program) return;
  if (cuda_enter(program->context, "cuModuleUnload", NULL) == OPS_OK)
    cuda_leave(program->context, program->context->api->cuda.cuModuleUnload(program->module),
               "cuModuleUnload", NULL);
  free(program);
}

int32_t cuda_function_get(gpu_program *program, const char *name, gpu_function **out_function,
                          ops_error *error) {
  gpu_context *context = program->context;
  CUfunction function = NULL;
  OPS_RETURN_IF_ERROR(cuda_enter(context, name, error));
  OPS_RETURN_IF_ERROR(cuda_leave(
      context, context->api->cuda.cuModuleGetFunction(&function, program->module, name), name,
      error));
  *out_function = (gpu_function *)function;
  return OPS_OK;
}
