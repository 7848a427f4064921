// SPDX-License-Identifier: Apache-2.0
//
// The explanation of an allocation that failed: what was asked for, who has the rest, whether
// it lies in pieces, and what to do. Every such message of the runtime is written here.
#ifndef RT_MEMORY_SHORTAGE_H_
#define RT_MEMORY_SHORTAGE_H_

#include <ops/status.h>

// Numbers are bytes; 0 where nobody knows.
typedef struct rt_shortage {
  const char *name;  // whose memory: "host", or the provider's name
  int32_t kind;      // OPS_MEMORY_…
  uint64_t requested;
  uint64_t in_use;        // by the session
  uint64_t maximum;       // that the session may use
  uint64_t device_total;  // 0: the next two say nothing
  uint64_t device_free;   // whoever uses the rest
  uint64_t device_block;  // the largest free block of the device
  uint64_t arena_free;    // held by the session's arena and free
  uint64_t arena_block;   // the largest free block of it
} rt_shortage;

// Part of the free memory that its largest block is not, in percent.
uint32_t rt_shortage_fragmentation(uint64_t free, uint64_t largest_block);

// Sets OUT_OF_MEMORY with the explanation, and returns it.
int32_t rt_shortage_report(const rt_shortage *shortage, ops_error *error);

// "host", "pinned", "device", "shared". Static.
const char *rt_memory_kind_name(int32_t memory_kind);

#endif  // RT_MEMORY_SHORTAGE_H_
