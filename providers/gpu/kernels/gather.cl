// SPDX-License-Identifier: Apache-2.0
//
// Elements by indices that lie in device memory. T is the element type (of those that are only
// moved, the unsigned integer of their size), INDEX the type of indices in memory, IDX that of
// positions. `fault` is the stream's word: `check` sets it, all others do nothing where it is.

#define AXES 8

typedef struct axes_t {
  IDX size[AXES], stride[AXES];
} axes_t;

typedef struct limits_t {
  long low[AXES], high[AXES];
} limits_t;

#define IS_REFUSED (*ELEMENTS(uint32, fault) != 0)
#define INDEX_AT(i, dim) wrap((IDX)LOAD(INDEX, ELEMENTS(INDEX, indices), i), dim)

// Negative indices count from the end.
DEVICE IDX wrap(IDX index, IDX dim) {
  return index < 0 ? index + dim : index;
}

// Index i belongs to column i % width.
KERNEL void check(BUFFER(indices), BUFFER(fault), limits_t limits, int width, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const long index = (long)LOAD(INDEX, ELEMENTS(INDEX, indices), i);
  const int column = (int)(i % width);
  if (index < limits.low[column] || index >= limits.high[column]) *ELEMENTS(uint32, fault) = 1;
}

KERNEL void gather(BUFFER(x), BUFFER(indices), BUFFER(y), BUFFER(fault), IDX dim, IDX chosen,
                   IDX inner, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  const IDX q = i / inner, outer = q / chosen;
  const IDX at = INDEX_AT(q - outer * chosen, dim);
  ELEMENTS(T, y)[i] = ELEMENTS(T, x)[(outer * dim + at) * inner + (i - q * inner)];
}

// size: of the indices; stride: of x, of its axis too.
KERNEL void gather_elements(BUFFER(x), BUFFER(indices), BUFFER(y), BUFFER(fault), axes_t axes,
                            int rank, int axis, IDX dim, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  IDX rest = i, from = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const IDX q = rest / axes.size[d], r = rest - q * axes.size[d];
    from += (d == axis ? INDEX_AT(i, dim) : r) * axes.stride[d];
    rest = q;
  }
  ELEMENTS(T, y)[i] = ELEMENTS(T, x)[from];
}

// Where the tuple of `width` indices at `first` points; axes: of x, those that it indexes.
DEVICE IDX follow(const GLOBAL STORAGE(INDEX) * indices, IDX first, const axes_t *axes,
                  int width) {
  IDX at = 0;
  for (int k = 0; k < width; ++k)
    at += wrap((IDX)LOAD(INDEX, indices, first + k), axes->size[k]) * axes->stride[k];
  return at;
}

KERNEL void gather_nd(BUFFER(x), BUFFER(indices), BUFFER(y), BUFFER(fault), axes_t axes,
                      int width, IDX tuples, IDX batch_stride, IDX slice, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  const IDX tuple = i / slice;
  const IDX from = tuple / tuples * batch_stride +
                   follow(ELEMENTS(INDEX, indices), tuple * width, &axes, width);
  ELEMENTS(T, y)[i] = ELEMENTS(T, x)[from + (i - tuple * slice)];
}

KERNEL void copy_checked(BUFFER(x), BUFFER(y), BUFFER(fault), IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  ELEMENTS(T, y)[i] = ELEMENTS(T, x)[i];
}

// Without a reduction no element of y has two updates.
KERNEL void scatter_elements(BUFFER(indices), BUFFER(updates), BUFFER(y), BUFFER(fault),
                             axes_t axes, int rank, int axis, IDX dim, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  IDX rest = i, to = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const IDX q = rest / axes.size[d], r = rest - q * axes.size[d];
    to += (d == axis ? INDEX_AT(i, dim) : r) * axes.stride[d];
    rest = q;
  }
  ELEMENTS(T, y)[to] = ELEMENTS(T, updates)[i];
}

KERNEL void scatter_nd(BUFFER(indices), BUFFER(updates), BUFFER(y), BUFFER(fault), axes_t axes,
                       int width, IDX slice, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  const IDX tuple = i / slice;
  const IDX to = follow(ELEMENTS(INDEX, indices), tuple * width, &axes, width);
  ELEMENTS(T, y)[to + (i - tuple * slice)] = ELEMENTS(T, updates)[i];
}

#define REDUCE_ADD 1
#define REDUCE_MUL 2
#define REDUCE_MAX 3

// NaN wins over any number, the first one over others.
DEVICE COMPUTE(T) combine(int reduction, COMPUTE(T) a, COMPUTE(T) b) {
  if (reduction == REDUCE_ADD) return ROUND(T, (COMPUTE(T))(a + b));
  if (reduction == REDUCE_MUL) return ROUND(T, (COMPUTE(T))(a * b));
  if (a != a || b != b) return a != a ? a : b;
  return (reduction == REDUCE_MAX) == (a < b) ? b : a;
}

// One element of y takes its updates in their order. Limits of `axes`: size of the indices and
// their strides, that of the axis included; at: of x.
KERNEL void reduce_elements(BUFFER(x), BUFFER(indices), BUFFER(updates), BUFFER(y),
                            BUFFER(fault), axes_t axes, axes_t at, int rank, int axis,
                            int reduction, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  IDX rest = i, first = 0, own = 0;
  int is_inside = 1;
  for (int d = rank - 1; d >= 0; --d) {
    const IDX q = rest / at.size[d], r = rest - q * at.size[d];
    if (d == axis) {
      own = r;
    } else {
      is_inside &= r < axes.size[d];
      first += r * axes.stride[d];
    }
    rest = q;
  }
  COMPUTE(T) value = LOAD(T, ELEMENTS(T, x), i);
  for (IDX j = 0; is_inside && j < axes.size[axis]; ++j) {
    const IDX from = first + j * axes.stride[axis];
    if (INDEX_AT(from, at.size[axis]) == own)
      value = combine(reduction, value, LOAD(T, ELEMENTS(T, updates), from));
  }
  STORE(T, ELEMENTS(T, y), i, value);
}

KERNEL void reduce_nd(BUFFER(x), BUFFER(indices), BUFFER(updates), BUFFER(y), BUFFER(fault),
                      axes_t axes, int width, IDX tuples, IDX slice, int reduction, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  const IDX own = i / slice, inside = i - own * slice;
  COMPUTE(T) value = LOAD(T, ELEMENTS(T, x), i);
  for (IDX t = 0; t < tuples; ++t)
    if (follow(ELEMENTS(INDEX, indices), t * width, &axes, width) == own * slice)
      value = combine(reduction, value, LOAD(T, ELEMENTS(T, updates), t * slice + inside));
  STORE(T, ELEMENTS(T, y), i, value);
}

// x is outer x inner x rest, time one of the first two; the other has the lengths.
KERNEL void reverse_sequence(BUFFER(x), BUFFER(indices), BUFFER(y), BUFFER(fault), IDX first,
                             IDX second, IDX rest, int is_time_first, IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count || IS_REFUSED) return;
  const IDX q = i / rest, b = q % second, a = q / second;
  const IDX length = (IDX)LOAD(INDEX, ELEMENTS(INDEX, indices), is_time_first ? b : a);
  IDX time = is_time_first ? a : b;
  if (time < length) time = length - 1 - time;
  const IDX from = is_time_first ? time * second + b : a * second + time;
  ELEMENTS(T, y)[i] = ELEMENTS(T, x)[from * rest + (i - q * rest)];
}

// y is outer x depth x inner. An index outside of [-depth, depth) points nowhere.
KERNEL void one_hot(BUFFER(indices), BUFFER(values), BUFFER(y), IDX depth, IDX inner,
                    IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const IDX q = i / inner, outer = q / depth;
  long wanted = (long)LOAD(INDEX, ELEMENTS(INDEX, indices), outer * inner + (i - q * inner));
  if (wanted < 0) wanted += depth;
  ELEMENTS(T, y)[i] = ELEMENTS(T, values)[wanted == q - outer * depth ? 1 : 0];
}
