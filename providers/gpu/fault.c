// SPDX-License-Identifier: Apache-2.0
//
// Data that a kernel refuses: an index out of range is found on the device. Each stream has a
// word in device memory for it. A kernel that checks sets the word; those that need what it
// checked read the word and do nothing where it is set. The host copies the word wherever it
// waits for the stream, and makes it the stream's failure.
#include <ops_support/error.h>
#include <ops_support/node.h>

#include "gpu.h"

int32_t gpu_faults_open(ops_stream *stream, ops_error *error) {
  static const uint32_t none = 0;
  const gpu_driver *driver = stream->device->driver;
  OPS_RETURN_IF_ERROR(
      driver->allocate(stream->device->context, sizeof none, &stream->faults, error));
  const gpu_place source = {(void *)(uintptr_t)&none, 0, 0}, target = {stream->faults, 0, 1};
  return driver->copy(stream->queue, &source, &target, sizeof none, error);
}

void gpu_faults_close(ops_stream *stream) {
  if (stream->faults) stream->device->driver->release(stream->device->context, stream->faults);
}

int32_t gpu_fault_fetch(const ops_stream *stream, uint32_t *out_word, ops_error *error) {
  if (!stream->may_fault) return OPS_OK;
  const gpu_place source = {stream->faults, 0, 1}, target = {out_word, 0, 0};
  return stream->device->driver->copy(stream->queue, &source, &target, sizeof *out_word, error);
}

int32_t gpu_fault_status(uint32_t word, ops_str suspect, ops_error *error) {
  if (word == 0) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "%.*s, or a kernel before it on the stream: an input has a number "
                       "outside the range that the operator allows, such as an index",
                       OPS_STR_FMT(suspect));
}
