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

KERNEL void fill(BUFFER(value), BUFFER(y), IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  ELEMENTS(WORD, y)[i] = ELEMENTS(WORD, value)[0];
}

// y of two dimensions has the value on diagonal k, 0 elsewhere.
KERNEL void eye(BUFFER(value), BUFFER(y), IDX columns, long k, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const IDX row = i / columns;
  const long diagonal = (long)(i - row * columns) - row;
  ELEMENTS(WORD, y)[i] = diagonal == k ? ELEMENTS(WORD, value)[0] : 0;
}

// What lies above diagonal k, or below it, and on it; 0 elsewhere.
KERNEL void triangle(BUFFER(x), BUFFER(k), BUFFER(y), IDX rows, IDX columns, int is_upper,
                     int has_k, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const IDX q = i / columns;
  const long diagonal = (long)(i - q * columns) - q % rows;
  const long border = has_k ? ELEMENTS(int64, k)[0] : 0;
  const int is_kept = is_upper ? diagonal >= border : diagonal <= border;
  ELEMENTS(WORD, y)[i] = is_kept ? ELEMENTS(WORD, x)[i] : 0;
}
