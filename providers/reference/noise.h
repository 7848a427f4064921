// SPDX-License-Identifier: Apache-2.0
//
// Intermediates rounded at random, for those who ask how well a case is conditioned: stochastic
// arithmetic after J. Vignes, "A stochastic arithmetic for reliable scientific computation"
// (Mathematics and Computers in Simulation 35, 1993). The instance options `perturb` (a seed)
// and `perturb_to` (the type that intermediates are rounded to) switch it on; sums of products
// (Conv, MatMul, Gemm) and operators whose errors no closed bound describes, the recurrent ones
// and attention, then round every partial sum and every intermediate up or down, with the
// probability that makes the mean right. `perturb_results`, for whole models, whose
// intermediates are the results of nodes, also moves every other result of a floating type by
// one unit in the last place at most, as a correct provider's may be off.
// Without the option nothing is rounded. What the type holds exactly stays exact; its range is
// not imitated. double has no wider type to be rounded from: it gives up one bit.
#ifndef REFERENCE_NOISE_H_
#define REFERENCE_NOISE_H_

#include <ops/types.h>
#include <stdint.h>
#include <string.h>

typedef struct ref_noise {
  uint64_t state;
  uint64_t low;     // the bits of a double that are rounded away; 0: nothing is
  int32_t results;  // 1: results of nodes move, too
} ref_noise;

// The noise of one work item: the same for any number of threads.
static inline ref_noise ref_noise_of(const ref_noise *of, uint64_t item) {
  uint64_t x = of->state + (item + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;  // the finaliser of splitmix64
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (ref_noise){x ^ x >> 31, of->low, of->results};
}

static inline double ref_noisy(ref_noise *noise, double value) {
  if (noise->low == 0) return value;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  noise->state = noise->state * 6364136223846793005u + 1442695040888963407u;
  bits = (bits + (noise->state >> 16 & noise->low)) & ~noise->low;
  memcpy(&value, &bits, sizeof bits);
  return value;
}

// -1, 0 or 1; 0 half the time.
static inline int ref_noise_step(ref_noise *noise) {
  noise->state = noise->state * 6364136223846793005u + 1442695040888963407u;
  const unsigned bits = (unsigned)(noise->state >> 62);
  return bits == 3 ? 1 : bits == 0 ? -1 : 0;
}

// The bits that a type of `type` cannot hold; 0: the type is none to round to.
static inline uint64_t ref_noise_low(int32_t type) {
  const int kept = type == OPS_TYPE_DOUBLE     ? 51
                   : type == OPS_TYPE_FLOAT    ? 23
                   : type == OPS_TYPE_FLOAT16  ? 10
                   : type == OPS_TYPE_BFLOAT16 ? 7
                                               : 52;
  return ((uint64_t)1 << (52 - kept)) - 1;
}

#endif  // REFERENCE_NOISE_H_
