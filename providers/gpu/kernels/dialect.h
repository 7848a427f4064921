// SPDX-License-Identifier: Apache-2.0
//
// One dialect for kernels in OpenCL C 1.2 and CUDA C++. The driver's prefix has set GPU_OPENCL
// or GPU_CUDA to 1 in front of it, and GPU_FP64 where the device has double.
//
// An element type is a name of the ABI: float, float16, int8 … For each name N:
//   S_N          the type in memory
//   C_N          the type to compute with; both halves compute in float
//   load_N(p, i), store_N(p, i, v)   element i of a pointer to S_N
//   round_N(v)   v as storing and loading again would give it
// so that LOAD(X, p, i) works with `#define X float16` in front of the source.
#if GPU_CUDA
#define KERNEL extern "C" __global__
#define DEVICE static __device__ __forceinline__
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_ARG
#define CONSTANT_TABLE static __device__ const
#define BARRIER() __syncthreads()
#define GROUP_X() ((long)blockIdx.x)
#define GROUP_Y() ((long)blockIdx.y)
#define GROUP_Z() ((long)blockIdx.z)
#define ITEM_X() ((int)threadIdx.x)
#define ITEM_Y() ((int)threadIdx.y)
#define ITEMS_X() ((int)blockDim.x)
#define ITEMS_Y() ((int)blockDim.y)
#define GLOBAL_X() ((long)blockIdx.x * blockDim.x + threadIdx.x)
#define GLOBAL_ITEMS_X() ((long)gridDim.x * blockDim.x)
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define as_float(bits) __int_as_float((int)(bits))
#define as_uint(value) ((uint)__float_as_int(value))
#define INFINITY as_float(0x7f800000)
#define NAN as_float(0x7fc00000)
#define MULHI32(a, b) __mulhi(a, b)
#define POPCOUNT(a) __popc(a)
#else
#define KERNEL __kernel
#define DEVICE static inline
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARG __local
#define CONSTANT_TABLE __constant
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GROUP_X() ((long)get_group_id(0))
#define GROUP_Y() ((long)get_group_id(1))
#define GROUP_Z() ((long)get_group_id(2))
#define ITEM_X() ((int)get_local_id(0))
#define ITEM_Y() ((int)get_local_id(1))
#define ITEMS_X() ((int)get_local_size(0))
#define ITEMS_Y() ((int)get_local_size(1))
#define GLOBAL_X() ((long)get_global_id(0))
#define GLOBAL_ITEMS_X() ((long)get_global_size(0))
#define POPCOUNT(a) popcount(a)
#if GPU_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#endif

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

// A tensor is a parameter pair: the allocation, and where in it the first element lies.
#define BUFFER(name) GLOBAL uchar *name##_base, ulong name##_offset
// Its elements, with the element type's name.
#define ELEMENTS(N, name) ((GLOBAL CAT(S_, N) *)(name##_base + name##_offset))
#define LOAD(N, p, i) CAT(load_, N)(p, i)
#define STORE(N, p, i, v) CAT(store_, N)(p, i, v)
#define ROUND(N, v) CAT(round_, N)(v)
#define STORAGE(N) CAT(S_, N)
#define COMPUTE(N) CAT(C_, N)

// Types whose elements compute as they lie in memory.
#define NATIVE_TYPE(N, T)                           \
  typedef T S_##N;                                  \
  typedef T C_##N;                                  \
  DEVICE T load_##N(const GLOBAL T *p, long i) {    \
    return p[i];                                    \
  }                                                 \
  DEVICE void store_##N(GLOBAL T *p, long i, T v) { \
    p[i] = v;                                       \
  }                                                 \
  DEVICE T round_##N(T v) {                         \
    return v;                                       \
  }
#if GPU_CUDA
NATIVE_TYPE(int8, signed char)
#else
NATIVE_TYPE(int8, char)
#endif
NATIVE_TYPE(uint8, uchar)
NATIVE_TYPE(bool, uchar)
NATIVE_TYPE(int16, short)
NATIVE_TYPE(uint16, ushort)
NATIVE_TYPE(int32, int)
NATIVE_TYPE(uint32, uint)
NATIVE_TYPE(int64, long)
NATIVE_TYPE(uint64, ulong)
NATIVE_TYPE(float, float)
#if GPU_FP64
NATIVE_TYPE(double, double)
#endif

// IEEE 754 binary16 by bits, to nearest even; NaN stays NaN, subnormals are kept.
DEVICE float half_to_float(ushort bits) {
  const uint sign = (uint)(bits & 0x8000) << 16;
  const uint exponent = (bits >> 10) & 31;
  const uint fraction = bits & 0x3ff;
  if (exponent == 31) return as_float(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return as_float(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float tiny = (float)fraction * 5.9604644775390625e-8f;  // 2^-24
  return sign ? -tiny : tiny;
}
DEVICE ushort float_to_half(float value) {
  const uint bits = as_uint(value);
  const uint sign = (bits >> 16) & 0x8000;
  const uint magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000u) return (ushort)(sign | 0x7e00);
  if (magnitude >= 0x477ff000u) return (ushort)(sign | 0x7c00);  // 65520 and above
  if (magnitude < 0x38800000u) {                                 // subnormal, or zero
    if (magnitude < 0x33000000u) return (ushort)sign;            // below 2^-25
    const uint fraction = (magnitude & 0x7fffff) | 0x800000;
    const uint shift = 126 - (magnitude >> 23);
    const uint kept = fraction >> shift;
    const uint rest = fraction & (((uint)1 << shift) - 1);
    const uint middle = (uint)1 << (shift - 1);
    return (ushort)(sign | (kept + (rest > middle || (rest == middle && (kept & 1)) ? 1 : 0)));
  }
  const uint rounded = magnitude - 0x38000000u + 0xfff + ((magnitude >> 13) & 1);
  return (ushort)(sign | (rounded >> 13));
}
// bfloat16: the upper half of a float, to nearest even.
DEVICE float bfloat_to_float(ushort bits) {
  return as_float((uint)bits << 16);
}
DEVICE ushort float_to_bfloat(float value) {
  const uint bits = as_uint(value);
  if ((bits & 0x7fffffff) > 0x7f800000u) return (ushort)((bits >> 16) | 0x40);
  return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#define HALF_TYPE(N, widen, narrow)                          \
  typedef ushort S_##N;                                      \
  typedef float C_##N;                                       \
  DEVICE float load_##N(const GLOBAL ushort *p, long i) {    \
    return widen(p[i]);                                      \
  }                                                          \
  DEVICE void store_##N(GLOBAL ushort *p, long i, float v) { \
    p[i] = narrow(v);                                        \
  }                                                          \
  DEVICE float round_##N(float v) {                          \
    return widen(narrow(v));                                 \
  }
HALF_TYPE(float16, half_to_float, float_to_half)
HALF_TYPE(bfloat16, bfloat_to_float, float_to_bfloat)
