// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the fake Toolkit share: kernels in a compiled program, which is a shared
// object that nvrtc.c makes and driver.c loads, and work in streams.
#ifndef PROVIDERS_CUDA_FAKE_FAKE_H_
#define PROVIDERS_CUDA_FAKE_FAKE_H_

#include <stddef.h>
#include <stdint.h>

#define FAKE_KERNEL_PREFIX "fake_kernel_"

// Exported by the shared object as FAKE_KERNEL_PREFIX and the kernel's name.
typedef struct fake_kernel {
  uint32_t count;         // of parameters
  const uint32_t *sizes;  // of each, in bytes
  void (*run)(void **params, const unsigned grid[3], const unsigned block[3], unsigned shared);
} fake_kernel;

#ifdef __cuda_cuda_h__

// ---- driver.c ----

// Every function of the driver begins with fake_enter and its name as exported, and ends with
// fake_leave: a lock lies between. Not CUDA_SUCCESS: the function is to fail.
CUresult fake_enter(const char *function);
CUresult fake_leave(CUresult result);
#define FAKE_ENTER(name)                      \
  const CUresult planned_ = fake_enter(name); \
  if (planned_ != CUDA_SUCCESS) return fake_leave(planned_)

// A failure that was asked for by FAKE_CUDA_FAIL.
CUresult fake_planned(const char *function);
// The failure that spoiled the context, kept until it is reset.
CUresult fake_spoiled(void);
void fake_spoil(CUresult result);
long fake_setting(const char *name, long otherwise);
void fake_give(void *memory);  // memory of cuMemAlloc
CUresult fake_take(size_t size, CUdeviceptr *out);

// ---- queue.c ----

// Enqueues `run` on a copy of `size` bytes of `data`. For other fake libraries; takes the lock.
CUresult fake_enqueue(CUstream stream, void (*run)(void *data), const void *data, size_t size);

#endif  // __cuda_cuda_h__
#endif  // PROVIDERS_CUDA_FAKE_FAKE_H_
