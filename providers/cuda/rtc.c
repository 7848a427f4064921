// SPDX-License-Identifier: Apache-2.0
//
// NVRTC, see rtc.h.
#include "rtc.h"

#include <ops_support/error.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMaxOptions = 64, kOwnOptions = 5, kMaxArchitectures = 256 };

#define ROW(function, symbol) {symbol, offsetof(cuda_rtc, function)},
static const cuda_symbol kSymbols[] = {CUDA_RTC_LIST(ROW)};
// Newest first; the first row that a driver of some major version may take.
static const char *const kSonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
enum { kNewestMajor = 13 };

int32_t cuda_rtc_open(const char *place, int32_t driver, cuda_rtc *out_rtc, ops_error *error) {
  const int32_t behind = kNewestMajor - driver / 1000;
  const cuda_library_def def = {
      .title = "NVRTC, the CUDA compiler,",
      .sonames = kSonames + (behind > 0 ? behind : 0),
      .symbols = kSymbols,
      .symbol_count = sizeof kSymbols / sizeof kSymbols[0],
  };
  cuda_library library;
  OPS_RETURN_IF_ERROR(cuda_library_open(&def, place, &library, error));
  const int32_t status = cuda_library_fill(&def, &library, out_rtc, error);
  if (status != OPS_OK) {
    cuda_library_close(&library);
    return status;
  }
  out_rtc->library = library;
  int major = 0, minor = 0;
  out_rtc->nvrtcVersion(&major, &minor);
  snprintf(out_rtc->version, sizeof out_rtc->version, "%d.%d", major, minor);
  return OPS_OK;
}

void cuda_rtc_close(cuda_rtc *rtc) {
  cuda_library_close(&rtc->library);
}

static int32_t fail(const cuda_rtc *rtc, nvrtcResult result, const char *name, const char *log,
                    ops_error *error) {
  const int32_t status =
      result == NVRTC_ERROR_OUT_OF_MEMORY ? OPS_ERROR_OUT_OF_MEMORY : OPS_ERROR_INTERNAL;
  ops_error_set(error, status, "program %s: NVRTC %s answers %s%s%s", name, rtc->version,
                rtc->nvrtcGetErrorString(result), log && *log ? ":\n" : "", log ? log : "");
  if (error) error->vendor_code = (int64_t)result;
  return status;
}

// The compiler's log; NULL if there is none or no memory. The caller frees it.
static char *program_log(const cuda_rtc *rtc, nvrtcProgram program) {
  size_t size = 0;
  if (rtc->nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size < 2) return NULL;
  char *log = malloc(size);
  if (log && rtc->nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS) return log;
  free(log);
  return NULL;
}

// How one of the two kinds of results is asked for.
typedef struct image_kind {
  const char *prefix;  // of the architecture's number
  nvrtcResult (*size)(nvrtcProgram program, size_t *out);
  nvrtcResult (*bytes)(nvrtcProgram program, char *out);
} image_kind;

static int32_t take_image(const cuda_rtc *rtc, const image_kind *kind, nvrtcProgram program,
                          const char *name, void **out_image, uint64_t *out_size,
                          ops_error *error) {
  size_t size = 0;
  nvrtcResult result = kind->size(program, &size);
  if (result != NVRTC_SUCCESS || size == 0) return fail(rtc, result, name, "no image", error);
  char *image = malloc(size);
  if (!image)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "program %s: no memory for %zu bytes",
                         name, size);
  result = kind->bytes(program, image);
  if (result != NVRTC_SUCCESS) {
    free(image);
    return fail(rtc, result, name, NULL, error);
  }
  *out_image = image;
  *out_size = size;
  return OPS_OK;
}

// The newest architecture that the compiler knows and that is no newer than `capability`.
static int32_t newest_known(const cuda_rtc *rtc, int32_t capability) {
  int known[kMaxArchitectures], count = 0, best = 0;
  if (rtc->nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > kMaxArchitectures ||
      rtc->nvrtcGetSupportedArchs(known) != NVRTC_SUCCESS)
    return capability;
  for (int i = 0; i < count; ++i)
    if (known[i] <= capability && known[i] > best) best = known[i];
  return best ? best : capability;
}

int32_t cuda_rtc_compile(const cuda_rtc *rtc, const char *name, const char *source,
                         int32_t capability, const char *const *options, uint64_t option_count,
                         void **out_image, uint64_t *out_size, char **out_log,
                         ops_error *error) {
  const image_kind machine_code = {"sm_", rtc->nvrtcGetCUBINSize, rtc->nvrtcGetCUBIN};
  const image_kind ptx = {"compute_", rtc->nvrtcGetPTXSize, rtc->nvrtcGetPTX};
  const int32_t known = newest_known(rtc, capability);
  const image_kind *kind = known == capability ? &machine_code : &ptx;
  // As in the other providers a fused multiply-add is one that the source asks for.
  char architecture[40];
  const char *all[kMaxOptions] = {architecture, "--std=c++17", "--fmad=false",
                                  "--prec-div=true", "--prec-sqrt=true"};
  if (option_count > kMaxOptions - kOwnOptions)
    return ops_error_set(error, OPS_ERROR_INTERNAL, "program %s: %llu options, at most %d",
                         name, (unsigned long long)option_count, kMaxOptions - kOwnOptions);
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%s%d", kind->prefix, known);
  for (uint64_t i = 0; i < option_count; ++i) all[kOwnOptions + i] = options[i];
  nvrtcProgram program = NULL;
  nvrtcResult result = rtc->nvrtcCreateProgram(&program, source, name, 0, NULL, NULL);
  if (result != NVRTC_SUCCESS) return fail(rtc, result, name, NULL, error);
  result = rtc->nvrtcCompileProgram(program, (int)(kOwnOptions + option_count), all);
  char *log = program_log(rtc, program);
  const int32_t status = result != NVRTC_SUCCESS
                             ? fail(rtc, result, name, log, error)
                             : take_image(rtc, kind, program, name, out_image, out_size, error);
  if (status == OPS_OK && out_log)
    *out_log = log;
  else
    free(log);
  rtc->nvrtcDestroyProgram(&program);
  return status;
}
