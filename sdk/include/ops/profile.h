// SPDX-License-Identifier: Apache-2.0
//
// What a provider reports to the host's profile sink.
#ifndef OPS_PROFILE_H_
#define OPS_PROFILE_H_

#include <ops/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPS_PROFILE_KERNEL 1
#define OPS_PROFILE_COPY 2
#define OPS_PROFILE_COMPILE 3
#define OPS_PROFILE_WAIT 4
#define OPS_PROFILE_OTHER 5

// Standard counters; private names are allowed and carry their unit likewise.
#define OPS_COUNTER_LAUNCH_TIME "launch_time"                          // ns
#define OPS_COUNTER_ARITHMETIC_INSTRUCTIONS "arithmetic_instructions"  // 1
#define OPS_COUNTER_DRAM_BYTES "dram_bytes"                            // byte
#define OPS_COUNTER_SHARED_SECTORS "shared_sectors"                    // 1
#define OPS_COUNTER_ACTIVE_WARPS "active_warps"  // share of the maximum, 0 … 1

typedef struct ops_counter {
  uint64_t struct_size;
  ops_str name;
  ops_str unit;
  double value;
} ops_counter;

// One span of work. Times are CLOCK_MONOTONIC nanoseconds of the host; a device clock is
// translated by the provider.
typedef struct ops_profile_record {
  uint64_t struct_size;
  int32_t kind;         // OPS_PROFILE_…
  int32_t memory_from;  // COPY: OPS_MEMORY_… of source and destination
  int32_t memory_to;
  uint32_t stream_id;    // as the provider numbers its streams, from 0
  ops_str name;          // of the kernel or copy; borrowed for the call
  uint64_t correlation;  // ops_execute_request.correlation, or 0
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t bytes;  // moved by a copy; 0: unknown
  const ops_counter *counters;
  uint64_t counter_count;
  uint64_t counter_stride;
} ops_profile_record;

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_PROFILE_H_
