// SPDX-License-Identifier: Apache-2.0
//
// Host memory for large data that is written once and kept: weights. Blocks lie side by side in
// regions of huge pages, whose first touch costs a fraction of what as many small pages cost,
// and a region goes back to the system with its last block. What is small comes from malloc.
#ifndef OPS_SUPPORT_REGIONS_H_
#define OPS_SUPPORT_REGIONS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ops_regions ops_regions;

// Thread-safe. Blocks keep the regions alive beyond ops_regions_release.
ops_regions *ops_regions_create(void);           // NULL: no memory
void ops_regions_release(ops_regions *regions);  // accepts NULL

// `alignment` is a power of two of at most 2 MiB. Contents are unspecified. NULL: no memory.
void *ops_regions_allocate(ops_regions *regions, uint64_t size, uint64_t alignment);
void ops_regions_free(ops_regions *regions, void *memory);  // accepts NULL

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_REGIONS_H_
