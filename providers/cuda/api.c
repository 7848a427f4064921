// SPDX-License-Identifier: Apache-2.0
//
// Opens the driver, and maps its failures to the catalogue by one table.
#include "api.h"

#include <ops_support/error.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ROW(function, symbol) {symbol, offsetof(cuda_api, function)},
static const cuda_symbol kSymbols[] = {CUDA_API_LIST(ROW)};
enum { kFirstSymbols = 3 };  // of the list: what tells the version and explains a failure
static const char *const kSonames[] = {"libcuda.so.1", NULL};
const cuda_library_def cuda_api_library = {
    .title = "the CUDA driver",
    .sonames = kSonames,
    .symbols = kSymbols,
    .symbol_count = sizeof kSymbols / sizeof kSymbols[0],
};

typedef struct failure {
  CUresult result;
  int32_t status;
  int32_t cause;  // 0: the status itself
  int32_t fatal;  // the context is unusable from then on
} failure;

#define LOST(name) \
  { CUDA_ERROR_##name, OPS_ERROR_DEVICE_LOST, OPS_CAUSE_ASYNC_FAILURE, 1 }
#define OLD(name) \
  { CUDA_ERROR_##name, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_DRIVER_TOO_OLD, 0 }
#define MISUSE(name) \
  { CUDA_ERROR_##name, OPS_ERROR_PRECONDITION, 0, 0 }

// What is not listed is a mistake of this provider: INTERNAL.
static const failure kFailures[] = {
    {CUDA_ERROR_OUT_OF_MEMORY, OPS_ERROR_OUT_OF_MEMORY, 0, 0},
    {CUDA_ERROR_NOT_READY, OPS_ERROR_NOT_READY, 0, 0},
    {CUDA_ERROR_NOT_SUPPORTED, OPS_ERROR_UNSUPPORTED, 0, 0},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, OPS_ERROR_UNSUPPORTED, 0, 0},
    {CUDA_ERROR_NO_DEVICE, OPS_ERROR_NOT_FOUND, OPS_CAUSE_NO_SUCH_DEVICE, 0},
    {CUDA_ERROR_INVALID_DEVICE, OPS_ERROR_NOT_FOUND, OPS_CAUSE_NO_SUCH_DEVICE, 0},
    {CUDA_ERROR_OPERATING_SYSTEM, OPS_ERROR_IO, 0, 0},
    OLD(STUB_LIBRARY),
    OLD(CALL_REQUIRES_NEWER_DRIVER),
    OLD(INVALID_IMAGE),
    OLD(NO_BINARY_FOR_GPU),
    OLD(INVALID_PTX),
    OLD(UNSUPPORTED_PTX_VERSION),
    OLD(SYSTEM_DRIVER_MISMATCH),
    OLD(COMPAT_NOT_SUPPORTED_ON_DEVICE),
    MISUSE(STREAM_CAPTURE_UNSUPPORTED),
    MISUSE(STREAM_CAPTURE_INVALIDATED),
    MISUSE(STREAM_CAPTURE_MERGE),
    MISUSE(STREAM_CAPTURE_UNMATCHED),
    MISUSE(STREAM_CAPTURE_UNJOINED),
    MISUSE(STREAM_CAPTURE_ISOLATION),
    MISUSE(STREAM_CAPTURE_IMPLICIT),
    MISUSE(CAPTURED_EVENT),
    MISUSE(STREAM_CAPTURE_WRONG_THREAD),
    LOST(DEVICE_UNAVAILABLE),
    LOST(DEINITIALIZED),
    LOST(CONTEXT_IS_DESTROYED),
    LOST(ECC_UNCORRECTABLE),
    LOST(NVLINK_UNCORRECTABLE),
    LOST(CONTAINED),
    LOST(ILLEGAL_ADDRESS),
    LOST(LAUNCH_TIMEOUT),
    LOST(ASSERT),
    LOST(HARDWARE_STACK_ERROR),
    LOST(ILLEGAL_INSTRUCTION),
    LOST(MISALIGNED_ADDRESS),
    LOST(INVALID_ADDRESS_SPACE),
    LOST(INVALID_PC),
    LOST(LAUNCH_FAILED),
    LOST(EXTERNAL_DEVICE),
    LOST(MPS_CLIENT_TERMINATED),
    LOST(UNKNOWN),
};

static const failure *find_failure(CUresult result) {
  static const failure kOther = {CUDA_ERROR_UNKNOWN, OPS_ERROR_INTERNAL, 0, 0};
  for (size_t i = 0; i < sizeof kFailures / sizeof kFailures[0]; ++i)
    if (kFailures[i].result == result) return &kFailures[i];
  return &kOther;
}

int32_t cuda_is_fatal(CUresult result) {
  return result != CUDA_SUCCESS && find_failure(result)->fatal;
}

int32_t cuda_check(const cuda_api *api, CUresult result, const char *what, ops_error *error) {
  if (result == CUDA_SUCCESS) return OPS_OK;
  const failure *row = find_failure(result);
  const char *name = NULL, *text = NULL;
  if (api->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "unknown error";
  if (api->cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "no text";
  ops_error_set_cause(error, row->status, row->cause ? row->cause : row->status,
                      "%s: the CUDA driver answers %s (%d): %s", what, name, (int)result, text);
  if (error) error->vendor_code = (int64_t)result;
  return row->status;
}

// One sentence for all that can be wrong with a driver.
static int32_t too_old(ops_error *error, int32_t status, int32_t cause, const char *found) {
  return ops_error_set_cause(
      error, status, cause,
      "driver too old or missing: need an NVIDIA driver for CUDA %d.%d or newer, found %s",
      CUDA_OLDEST_DRIVER / 1000, CUDA_OLDEST_DRIVER % 1000 / 10, found);
}

static int32_t check_version(int32_t version, ops_error *error) {
  char found[64];
  if (version >= CUDA_OLDEST_DRIVER) return OPS_OK;
  snprintf(found, sizeof found, "one for CUDA %d.%d", version / 1000, version % 1000 / 10);
  return too_old(error, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_DRIVER_TOO_OLD, found);
}

// The version comes first: a driver too old lacks functions, or does not even initialise.
static int32_t start(const cuda_library *library, cuda_api *api, int32_t *out_version,
                     ops_error *error) {
  cuda_library_def first = cuda_api_library;
  first.symbol_count = kFirstSymbols;
  int version = 0;
  OPS_RETURN_IF_ERROR(cuda_library_fill(&first, library, api, error));
  OPS_RETURN_IF_ERROR(
      cuda_check(api, api->cuDriverGetVersion(&version), "cuDriverGetVersion", error));
  OPS_RETURN_IF_ERROR(check_version(version, error));
  OPS_RETURN_IF_ERROR(cuda_library_fill(&cuda_api_library, library, api, error));
  *out_version = version;
  return cuda_check(api, api->cuInit(0), "cuInit", error);
}

int32_t cuda_api_open(const char *place, cuda_api *out_api, cuda_library *out_library,
                      int32_t *out_version, ops_error *error) {
  ops_error why = OPS_ERROR_INIT;
  cuda_library library = {0};
  int32_t status = cuda_library_open(&cuda_api_library, place, &library, &why);
  if (status != OPS_OK) {
    char found[OPS_ERROR_MESSAGE_MAX + 8];
    snprintf(found, sizeof found, "none: %s", why.message);
    return too_old(error, status, why.cause, found);
  }
  status = start(&library, out_api, out_version, error);
  if (status == OPS_OK)
    *out_library = library;
  else
    cuda_library_close(&library);
  return status;
}
