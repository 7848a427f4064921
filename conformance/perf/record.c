// SPDX-License-Identifier: Apache-2.0
//
// Shared memory for samples.
#include "perf/record.h"

#include <sys/mman.h>

#include "ops_support/error.h"

int32_t oc_perf_records_create(size_t count, oc_perf_record **out_records, ops_error *error) {
  if (count > OC_PERF_MAX_POINTS) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "%zu performance points, at most %d are measured in one run "
                         "(OC_PERF_MAX_POINTS); choose some with --op or --filter",
                         count, OC_PERF_MAX_POINTS);
  }
  void *memory = mmap(NULL, (count + 1) * sizeof(oc_perf_record), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for samples");
  }
  *out_records = memory;
  return OPS_OK;
}

void oc_perf_records_destroy(oc_perf_record *records, size_t count) {
  if (records) munmap(records, (count + 1) * sizeof *records);
}
