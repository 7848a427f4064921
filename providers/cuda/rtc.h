// SPDX-License-Identifier: Apache-2.0
//
// Kernels compiled at run time by NVRTC, to machine code of one architecture: it runs on every
// driver of the same major version, where PTX of a newer Toolkit would not.
#ifndef PROVIDERS_CUDA_RTC_H_
#define PROVIDERS_CUDA_RTC_H_

#include <nvrtc.h>

#include "library.h"

// X(function, symbol)
#define CUDA_RTC_LIST(X)                                    \
  X(nvrtcVersion, "nvrtcVersion")                           \
  X(nvrtcGetErrorString, "nvrtcGetErrorString")             \
  X(nvrtcCreateProgram, "nvrtcCreateProgram")               \
  X(nvrtcDestroyProgram, "nvrtcDestroyProgram")             \
  X(nvrtcCompileProgram, "nvrtcCompileProgram")             \
  X(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize")       \
  X(nvrtcGetProgramLog, "nvrtcGetProgramLog")               \
  X(nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs") \
  X(nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs")       \
  X(nvrtcGetPTXSize, "nvrtcGetPTXSize")                     \
  X(nvrtcGetPTX, "nvrtcGetPTX")                             \
  X(nvrtcGetCUBINSize, "nvrtcGetCUBINSize")                 \
  X(nvrtcGetCUBIN, "nvrtcGetCUBIN")

typedef struct cuda_rtc {
  CUDA_RTC_LIST(CUDA_SYMBOL_FIELD)
  cuda_library library;
  char version[32];  // "13.0"
} cuda_rtc;

// `driver` as cuDriverGetVersion says: a compiler of a later major version is not taken. Errors
// as of cuda_library_open.
int32_t cuda_rtc_open(const char *place, int32_t driver, cuda_rtc *out_rtc, ops_error *error);
void cuda_rtc_close(cuda_rtc *rtc);  // accepts one that is not open

// Compiles CUDA C++ for compute capability `capability` (90: sm_90); for one that the compiler
// does not know yet, to PTX of the newest that it knows, for the driver to finish. `options`
// are further arguments of the compiler, each a string. *out_image: malloc's, the caller frees
// it. INTERNAL with the compiler's log if the source is wrong. Thread-safe.
int32_t cuda_rtc_compile(const cuda_rtc *rtc, const char *name, const char *source,
                         int32_t capability, const char *const *options, uint64_t option_count,
                         void **out_image, uint64_t *out_size, char **out_log,
                         ops_error *error);

#endif  // PROVIDERS_CUDA_RTC_H_
