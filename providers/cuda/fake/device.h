// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ for the host's compiler: what fake/nvrtc.c puts in front of a kernel's source. A
// block's threads are coroutines that take turns at barriers, in one thread of the process;
// blocks run one after another. Memory of a block is static: what a block before left there is
// what a block finds. Only C++ that the kernels use: whatever is missing here fails to compile.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <utility>

#include "fake.h"

struct dim3 {
  unsigned x, y, z;
};

static dim3 threadIdx, blockIdx, blockDim, gridDim;

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

namespace fake {

enum { kMaxThreads = 1024, kStack = 128 << 10 };

struct fiber {
  jmp_buf place;
  ucontext_t start;
  int state;  // 0: not started, 1: at a barrier, 2: done
};

static fiber *fibers;
static char *stacks;
static jmp_buf home;
static unsigned current;
static void (*body)(void *);
static void *body_context;

__attribute__((destructor)) static void finish() {
  free(fibers);
  free(stacks);
}

static void set_thread(unsigned index) {
  current = index;
  threadIdx = {index % blockDim.x, index / blockDim.x % blockDim.y,
               index / blockDim.x / blockDim.y};
}

static void entry() {
  body(body_context);
  fibers[current].state = 2;
  _longjmp(home, 1);
}

static void barrier() {
  fiber &self = fibers[current];
  self.state = 1;
  if (_setjmp(self.place) == 0) _longjmp(home, 1);
}

static void resume(unsigned index) {
  set_thread(index);
  fiber &next = fibers[index];
  if (_setjmp(home) != 0) return;
  if (next.state == 1) _longjmp(next.place, 1);
  getcontext(&next.start);
  next.start.uc_stack.ss_sp = stacks + (size_t)index * kStack;
  next.start.uc_stack.ss_size = kStack;
  next.start.uc_link = nullptr;
  makecontext(&next.start, entry, 0);
  setcontext(&next.start);
}

// Runs the threads of one block from barrier to barrier until all are done.
static void run_block(unsigned count) {
  for (unsigned i = 0; i < count; ++i) fibers[i].state = 0;
  for (unsigned left = count; left > 0;) {
    left = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (fibers[i].state == 2) continue;
      resume(i);
      left += fibers[i].state != 2;
    }
  }
}

template <class... A>
struct call {
  void (*kernel)(A...);
  void **params;
  template <size_t... I>
  void go(std::index_sequence<I...>) {
    kernel(*static_cast<A *>(params[I])...);
  }
  static void body(void *self) {
    static_cast<call *>(self)->go(std::index_sequence_for<A...>());
  }
};

template <class... A>
static void run(void (*kernel)(A...), void **params, const unsigned grid[3],
                const unsigned block[3]) {
  if (!fibers) {
    fibers = static_cast<fiber *>(calloc(kMaxThreads, sizeof(fiber)));
    stacks = static_cast<char *>(malloc((size_t)kMaxThreads * kStack));
  }
  call<A...> work{kernel, params};
  body = call<A...>::body;
  body_context = &work;
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  for (unsigned z = 0; z < grid[2]; ++z)
    for (unsigned y = 0; y < grid[1]; ++y)
      for (unsigned x = 0; x < grid[0]; ++x) {
        blockIdx = {x, y, z};
        run_block(block[0] * block[1] * block[2]);
      }
}

template <class... A>
struct sizes_of {
  static constexpr uint32_t count = sizeof...(A);
  static constexpr uint32_t sizes[sizeof...(A) + 1] = {sizeof(A)...};
};
template <class... A>
static sizes_of<A...> sizes_of_kernel(void (*)(A...));

}  // namespace fake

#define __syncthreads() fake::barrier()
#define __syncwarp() fake::barrier()
static inline float __int_as_float(int bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline int __float_as_int(float value) {
  int bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static inline int __mulhi(int a, int b) {
  return (int)((long)a * b >> 32);
}
static inline int __popc(unsigned a) {
  return __builtin_popcount(a);
}
// The kernels' own, of the same values.
#undef INFINITY
#undef NAN

#define __threadfence()
#define __threadfence_block()

// What fake/nvrtc.c appends for each kernel of the source.
#define FAKE_KERNEL(name)                                                                     \
  static void fake_run_##name(void **params, const unsigned grid[3], const unsigned block[3], \
                              unsigned) {                                                     \
    fake::run(name, params, grid, block);                                                     \
  }                                                                                           \
  extern "C" __attribute__((visibility("default"))) const fake_kernel fake_kernel_##name = {  \
      decltype(fake::sizes_of_kernel(name))::count,                                           \
      decltype(fake::sizes_of_kernel(name))::sizes, fake_run_##name};
