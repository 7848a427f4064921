// SPDX-License-Identifier: Apache-2.0
//
// Moving elements of one size, whatever they mean. WORD is the unsigned type of that size, IDX
// the type of indices.

typedef struct walk_t {
  IDX size[16], from[16], to[16];
} walk_t;

// Every element of a strided view to its place in another.
KERNEL void copy(BUFFER(x), BUFFER(y), walk_t walk, int rank, IDX from, IDX to, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  IDX rest = i;
  for (int d = rank - 1; d > 0; --d) {
    const IDX q = rest / walk.size[d], r = rest - q * walk.size[d];
    from += r * walk.from[d];
    to += r * walk.to[d];
    rest = q;
  }
  from += rest * walk.from[0];
  to += rest * walk.to[0];
  ELEMENTS(WORD, y)[to] = ELEMENTS(WORD, x)[from];
}

#define PAD_CONSTANT 0
#define PAD_REFLECT 1
#define PAD_EDGE 2
#define PAD_WRAP 3

typedef struct pads_t {
  IDX size[8], begin[8], dim[8], stride[8];
} pads_t;

// Where index i of an axis of `dim` elements is read, -1 for the constant.
DEVICE IDX pad_source(int mode, IDX i, IDX dim) {
  if (i >= 0 && i < dim) return i;
  if (mode == PAD_CONSTANT) return -1;
  if (mode == PAD_EDGE) return i < 0 ? 0 : dim - 1;
  if (mode == PAD_WRAP) {
    const IDX r = i % dim;
    return r < 0 ? r + dim : r;
  }
  if (dim == 1) return 0;
  const IDX period = 2 * (dim - 1);
  IDX r = i % period;
  if (r < 0) r += period;
  return r < dim ? r : period - r;
}

KERNEL void pad(BUFFER(x), BUFFER(value), BUFFER(y), pads_t pads, int rank, int mode,
                IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  IDX rest = i, from = 0;
  int outside = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const IDX q = rest / pads.size[d], r = rest - q * pads.size[d];
    const IDX at = pad_source(mode, r - pads.begin[d], pads.dim[d]);
    outside |= at < 0;
    from += at * pads.stride[d];
    rest = q;
  }
  ELEMENTS(WORD, y)[i] = outside ? ELEMENTS(WORD, value)[0] : ELEMENTS(WORD, x)[from];
}
