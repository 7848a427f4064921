// SPDX-License-Identifier: Apache-2.0
//
// Reductions, softmax and normalisations: operators over lines of a tensor; see lines.h. The
// items of a group with the same ITEM_X walk one line and join what they found in a tree, so
// that the order of every sum is fixed.
//
// The host defines IDX, GROUP (items of a group), T (element type), TO (that of the output),
// ACC (the C type in which it accumulates), and OP_NAME 1 for the operator.

// A set of dimensions; dimension 0 is the outermost.
typedef struct dims_t {
  IDX rank, count;
  IDX size[4], stride[4];
} dims_t;
typedef struct lines_t {
  dims_t kept, inner;
} lines_t;

// Where element i of a set lies.
DEVICE IDX place(const dims_t *dims, IDX i) {
  IDX at = 0;
  for (int d = (int)dims->rank - 1; d > 0; --d) {
    const IDX rest = i / dims->size[d];
    at += (i - rest * dims->size[d]) * dims->stride[d];
    i = rest;
  }
  return dims->rank > 0 ? at + i * dims->stride[0] : 0;
}

// How elements are read and written; a group of nodes has its own.
#ifndef READ
#define EXTRA
#define READ(i) LOAD(T, ELEMENTS(T, x), i)
#define WRITE(i, v) STORE(TO, ELEMENTS(TO, y), i, v)
#endif
#ifndef IS_NAN
#define IS_NAN(a) ((a) != (a))
#endif

// ---- Accumulators: acc_t, start(), take(a, x, i), join(a, b), FINISH(a, n) ----

#if OP_ArgMax || OP_ArgMin || OP_Hardmax
typedef struct acc_t {
  COMPUTE(T) value;
  IDX index;  // -1: nothing yet
} acc_t;
DEVICE acc_t start(void) {
  acc_t a;
  a.value = 0;
  a.index = -1;
  return a;
}
// NaN is the extreme of a line that has one.
DEVICE acc_t join(acc_t a, acc_t b) {
  if (a.index < 0) return b;
  if (b.index < 0) return a;
  const int a_nan = IS_NAN(a.value), b_nan = IS_NAN(b.value);
  if (a_nan != b_nan) return a_nan ? a : b;
  if (a_nan || a.value == b.value) return (a.index < b.index) != (IS_LAST) ? a : b;
#if OP_ArgMin
  return a.value < b.value ? a : b;
#else
  return a.value > b.value ? a : b;
#endif
}
DEVICE acc_t take(acc_t a, COMPUTE(T) x, IDX i) {
  acc_t b;
  b.value = x;
  b.index = i;
  return join(a, b);
}
#define FINISH(a, n) ((a).index)

#elif OP_LogSumExp || OP_Softmax || OP_LogSoftmax
// The sum of exponentials is sum * exp(top); -infinity adds nothing.
typedef struct acc_t {
  ACC top, sum;
} acc_t;
DEVICE acc_t start(void) {
  acc_t a;
  a.top = -INFINITY;
  a.sum = 0;
  return a;
}
DEVICE acc_t join(acc_t a, acc_t b) {
  if (b.sum == 0) return a;
  if (a.sum == 0) return b;
  if (b.top > a.top) {
    b.sum += a.sum * exp(a.top - b.top);
    return b;
  }
  a.sum += b.top == a.top ? b.sum : b.sum * exp(b.top - a.top);
  return a;
}
DEVICE acc_t take(acc_t a, COMPUTE(T) x, IDX i) {
  acc_t b;
  b.top = (ACC)x;
  b.sum = b.top == -INFINITY ? (ACC)0 : (ACC)1;
  if (IS_NAN(b.top)) {
    b.sum = b.top;
    b.top = a.top;
  }
  return join(a, b);
}
#define FINISH(a, n) ((a).sum == 0 ? (ACC)-INFINITY : log((a).sum) + (a).top)

#else
typedef struct acc_t {
  ACC value;
} acc_t;
#if OP_Prod
#define START 1
#define TAKEN(x) (x)
#define JOINED(a, b) ((a) * (b))
#elif OP_Max
#define START LOWEST
#define TAKEN(x) (x)
#define JOINED(a, b) (IS_NAN(a) || (a) >= (b) ? (a) : (b))
#elif OP_Min
#define START LARGEST
#define TAKEN(x) (x)
#define JOINED(a, b) (IS_NAN(a) || (a) <= (b) ? (a) : (b))
#else
#define START 0
#define JOINED(a, b) ((a) + (b))
#if OP_L1
#if IS_UNSIGNED
#define TAKEN(x) (x)
#else
#define TAKEN(x) ((x) < 0 ? -(ACC)(x) : (ACC)(x))
#endif
#elif OP_L2 || OP_SumSquare
#define TAKEN(x) ((ACC)(x) * (ACC)(x))
#else
#define TAKEN(x) (x)
#endif
#endif
#if OP_Mean
#define FINISH(a, n) ((a).value / (ACC)(n))
#elif OP_L2
#define FINISH(a, n) sqrt((a).value)
#elif OP_LogSum
#define FINISH(a, n) log((a).value)
#else
#define FINISH(a, n) ((a).value)
#endif
DEVICE acc_t start(void) {
  acc_t a;
  a.value = (ACC)START;
  return a;
}
DEVICE acc_t join(acc_t a, acc_t b) {
  a.value = JOINED(a.value, b.value);
  return a;
}
DEVICE acc_t take(acc_t a, COMPUTE(T) x, IDX i) {
  const ACC taken = (ACC)TAKEN(x);
  a.value = JOINED(a.value, taken);
  return a;
}
#endif

// What the items of one line found together; `shared` has GROUP elements, which no other call
// may use. All items of the group come here. Two steps of at most 16 each: a tree would save
// some joins, and cost a barrier for each of its levels.
DEVICE acc_t join_group(LOCAL_ARG acc_t *shared, acc_t own) {
  const int row = ITEMS_X(), items = ITEMS_Y(), y = ITEM_Y();
  const int parts = items < 16 ? items : 16;
  LOCAL_ARG acc_t *line = shared + ITEM_X();
  line[y * row] = own;
  BARRIER();
  if (y < parts) {
    for (int k = y + parts; k < items; k += parts) own = join(own, line[k * row]);
    line[y * row] = own;
  }
  BARRIER();
  acc_t all = line[0];
  for (int k = 1; k < parts; ++k) all = join(all, line[k * row]);
  return all;
}

#define LINE() ((IDX)(GROUP_X() * ITEMS_X() + ITEM_X()))

// ---- Reductions ----

#if IS_REDUCTION
// Part GROUP_Y() of a line has `share` elements. One part gives the result, more leave what
// they found in `parts`, [part][line].
KERNEL void reduce(BUFFER(x), BUFFER(y), BUFFER(parts), lines_t lines, IDX share,
                   int split EXTRA) {
  LOCAL acc_t shared[GROUP];
  const IDX line = LINE(), count = lines.inner.count;
  const int inside = line < lines.kept.count;
  acc_t own = start();
  if (inside) {
    const IDX base = place(&lines.kept, line), begin = (IDX)GROUP_Y() * share;
    const IDX end = count - begin < share ? count : begin + share;
    for (IDX i = begin + ITEM_Y(); i < end; i += ITEMS_Y())
      own = take(own, READ(base + place(&lines.inner, i)), i);
  }
  own = join_group(shared, own);
  if (!inside || ITEM_Y() != 0) return;
  if (split)
    ((GLOBAL acc_t *)(parts_base + parts_offset))[GROUP_Y() * lines.kept.count + line] = own;
  else
    WRITE(line, (COMPUTE(TO))FINISH(own, count));
}

// Joins `split` parts of every line.
KERNEL void reduce_join(BUFFER(x), BUFFER(y), BUFFER(parts), lines_t lines, IDX share,
                        int split EXTRA) {
  const IDX line = (IDX)GLOBAL_X(), lines_count = lines.kept.count;
  const GLOBAL acc_t *found = (const GLOBAL acc_t *)(parts_base + parts_offset);
  if (line >= lines_count) return;
  acc_t own = found[line];
  for (int part = 1; part < split; ++part)
    own = join(own, found[(long)part * lines_count + line]);
  WRITE(line, (COMPUTE(TO))FINISH(own, lines.inner.count));
}
#endif

// ---- Softmax ----

#if OP_Softmax || OP_LogSoftmax || OP_Hardmax
KERNEL void softmax(BUFFER(x), BUFFER(y), lines_t lines EXTRA) {
  LOCAL acc_t shared[GROUP];
  const IDX line = LINE(), count = lines.inner.count;
  const int inside = line < lines.kept.count;
  const IDX base = inside ? place(&lines.kept, line) : 0;
  acc_t own = start();
  for (IDX i = ITEM_Y(); inside && i < count; i += ITEMS_Y())
    own = take(own, READ(base + place(&lines.inner, i)), i);
  own = join_group(shared, own);
#if OP_Softmax
  const ACC factor = own.top == INFINITY ? (ACC)NAN : 1 / own.sum;
#elif OP_LogSoftmax
  const ACC shift = own.top == INFINITY ? (ACC)NAN : log(own.sum);
#endif
  for (IDX i = ITEM_Y(); inside && i < count; i += ITEMS_Y()) {
    const IDX at = base + place(&lines.inner, i);
#if OP_Softmax
    WRITE(at, exp(READ(at) - own.top) * factor);
#elif OP_LogSoftmax
    WRITE(at, READ(at) - own.top - shift);
#else
    WRITE(at, (COMPUTE(TO))(i == own.index ? 1 : 0));
#endif
  }
}
#endif

// ---- Normalisations ----

#if IS_NORMALIZATION
// How scale and bias are walked while x is: sizes of x, and the strides of both.
typedef struct affine_t {
  IDX rank, size[8], scale[8], bias[8];
} affine_t;

#if IS_CENTERED
// Distances from the first element keep their digits where the mean is far from zero.
#define DISTANCE(v) ((ACC)(v)-first - middle)
#else
#define DISTANCE(v) ((ACC)(v))
#endif
#if IS_L1
#define MAGNITUDE(d) fabs(d)
#else
#define MAGNITUDE(d) ((d) * (d))
#endif

// Of the sum of a line's magnitudes.
DEVICE ACC inverse_of(ACC sum, IDX count, float epsilon) {
#if OP_LpNormalization
  const ACC norm = IS_L1 ? sum : sqrt(sum);
  return norm == 0 ? (ACC)0 : 1 / norm;
#elif OP_MeanVarianceNormalization
  return 1 / (sqrt(sum / (ACC)count) + (ACC)1e-9f);
#else
  return 1 / sqrt(sum / (ACC)count + (ACC)epsilon);
#endif
}

KERNEL void normalize_lines(BUFFER(x), BUFFER(scale), BUFFER(bias), BUFFER(y), BUFFER(mean),
                            BUFFER(deviation), lines_t lines, affine_t affine,
                            float epsilon EXTRA) {
  LOCAL acc_t shared[GROUP];
  const IDX line = LINE(), count = lines.inner.count;
  const int inside = line < lines.kept.count && count > 0;
#if IS_CENTERED
  LOCAL acc_t sums[GROUP];
#endif
  const IDX base = inside ? place(&lines.kept, line) : 0;
  acc_t own = start();
#if IS_CENTERED
  const ACC first = inside ? (ACC)READ(base) : (ACC)0;
  for (IDX i = ITEM_Y(); inside && i < count; i += ITEMS_Y())
    own.value += (ACC)READ(base + place(&lines.inner, i)) - first;
  own = join_group(sums, own);
  const ACC middle = own.value / (ACC)count;
  own = start();
#endif
  for (IDX i = ITEM_Y(); inside && i < count; i += ITEMS_Y()) {
    const ACC d = DISTANCE(READ(base + place(&lines.inner, i)));
    own.value += MAGNITUDE(d);
  }
  own = join_group(shared, own);
  const ACC inverse = inverse_of(own.value, count, epsilon);
  for (IDX i = ITEM_Y(); inside && i < count; i += ITEMS_Y()) {
    const IDX at = base + place(&lines.inner, i);
    ACC v = DISTANCE(READ(at)) * inverse;
#if HAS_SCALE
    IDX rest = at, scale_at = 0, bias_at = 0;
    for (int d = (int)affine.rank - 1; d >= 0; --d) {
      const IDX next = d > 0 ? rest / affine.size[d] : 0, r = rest - next * affine.size[d];
      scale_at += r * affine.scale[d];
      bias_at += r * affine.bias[d];
      rest = next;
    }
    v *= LOAD(SCALE, ELEMENTS(SCALE, scale), scale_at);
#if HAS_BIAS
    v += LOAD(SCALE, ELEMENTS(SCALE, bias), bias_at);
#endif
#endif
    WRITE(at, v);
  }
  if (!inside || ITEM_Y() != 0) return;
#if HAS_MEAN
  STORE(float, ELEMENTS(float, mean), line, (float)(first + middle));
#endif
#if HAS_DEVIATION
  STORE(float, ELEMENTS(float, deviation), line, (float)inverse);
#endif
}
#endif
