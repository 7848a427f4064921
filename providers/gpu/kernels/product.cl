// SPDX-License-Identifier: Apache-2.0
//
// Matrix products in tiles, for whatever is one: MatMul, Gemm, and convolutions, whose right
// factor is a window that slides over an image (product.h says how). A work-group computes BM
// rows of `span` times BN columns, KB terms of the sum at a time; a work-item TM rows of NV
// times LANES columns, REPEAT times. The host chooses: one item with long vectors on a
// processor, many items that share local memory on a GPU.
//
//   TA TB TC TY   element types; ACC, the C type of sums; REAL 1: floating point
//   STAGE_A       1: rows of A lie in local memory; 0: read where they are
//   STAGE_B       the same of B
//   A_UNIT        1: the elements of a row of A are adjacent, and there is no table
//   NATIVE_B      1: TB is stored as ACC; NATIVE_Y the same of TC and TY
//   QUANTISED     1: factors have zero points; 2: and results scales

#define BM (REPEAT * ITEMS_M * TM)
#define TN (NV * LANES)
#define BN (ITEMS_N * TN)
#define ITEMS (ITEMS_M * ITEMS_N)

#if ITEMS == 1
#define GROUP_BARRIER()
#else
#define GROUP_BARRIER() BARRIER()
#endif

#define UNROLL _Pragma("unroll")
// Where arrays of an item must become registers; on a processor they need not, and the text to
// compile stays short.
#if ITEMS == 1
#define ON_CHIP _Pragma("unroll 1")
#else
#define ON_CHIP UNROLL
#endif
#if GPU_CUDA
typedef struct lanes_t {
  ACC x[LANES];
} lanes_t;
#define EACH_LANE UNROLL for (int l_ = 0; l_ < LANES; ++l_)
#define LANES_ZERO(v) EACH_LANE(v).x[l_] = 0
#define LANES_LOAD(v, p) EACH_LANE(v).x[l_] = (p)[l_]
#define LANES_STORE(v, p) EACH_LANE(p)[l_] = (v).x[l_]
#if REAL
#define LANES_ADD(v, a, b) EACH_LANE(v).x[l_] = fma(a, (b).x[l_], (v).x[l_])
#else
#define LANES_ADD(v, a, b) EACH_LANE(v).x[l_] += (a) * (b).x[l_]
#endif
#else
typedef CAT(ACC, LANES) lanes_t;
#define LANES_ZERO(v) (v) = (lanes_t)(0)
#define LANES_LOAD(v, p) (v) = CAT(vload, LANES)(0, p)
#define LANES_STORE(v, p) CAT(vstore, LANES)(v, 0, p)
#if REAL
#define LANES_ADD(v, a, b) (v) = fma((lanes_t)(a), b, v)
#else
#define LANES_ADD(v, a, b) (v) += (lanes_t)(a) * (b)
#endif
#endif

// Distances are in elements. Columns of the product are places of a grid of out[1] rows of
// grid[1] places, of which the first out[1] of grid[0] … are wanted.
typedef struct geometry_t {
  long m, n, k;
  long readable;  // columns of B that may be read
  long span, tiles_n, tiles_m;
  long a_row, a_column, b_row, b_column, c_row, c_column, y_row;
  long grid[2], out[2];  // innermost first: places of a row, rows of a plane; those wanted
  long y_step[3];        // innermost first
  long y_first;          // where the first result lies
  long az_line, bz_line, as_line, bs_line;  // zero points and scales, by row of A, column of B
  long size[RANK];  // of the batch, and each tensor's distances along it
  long a[RANK], b[RANK], c[RANK], y[RANK];
  long az[RANK], bz[RANK], as[RANK], bs[RANK];
} geometry_t;

#if REAL
#define SCALAR(x) ((ACC)(x))
#else
#define SCALAR(x) ((ACC)(long)(x))
#endif

#if QUANTISED
#define LESS_ZERO(N, value, zeros, at) \
  ((ACC)(value) - (zeros ? (ACC)LOAD(N, zeros, at) : (ACC)0))
#else
#define LESS_ZERO(N, value, zeros, at) ((ACC)(value))
#endif

#if QUANTISED == 2
#if GPU_FP64
typedef double real_t;
#else
typedef float real_t;
#endif
DEVICE STORAGE(TY) quantise(ACC sum, real_t scale, real_t by, int zero) {
  const real_t low = (real_t)LOWEST, high = (real_t)HIGHEST;
  const real_t value = rint((real_t)(int)sum * scale / by) + (real_t)zero;
  return (STORAGE(TY))(int)(value < low ? low : value > high ? high : value);
}
#endif

KERNEL void product(BUFFER(a), BUFFER(b), BUFFER(c), BUFFER(y), BUFFER(a_table),
                    BUFFER(b_table),
#if QUANTISED
                    BUFFER(a_zero), BUFFER(b_zero),
#endif
#if QUANTISED == 2
                    BUFFER(a_scale), BUFFER(b_scale), BUFFER(y_scale), BUFFER(y_zero),
#endif
                    geometry_t g, float alpha, float beta) {
#if STAGE_A
  LOCAL ACC staged_a[KB * BM];
#endif
#if STAGE_B
  LOCAL ACC staged_b[KB * BN];
#endif
  const int item = ITEM_X(), item_m = item / ITEMS_N, item_n = item % ITEMS_N;
  long rest = GROUP_X();
  const long first_n = rest % g.tiles_n * g.span * BN;
  rest /= g.tiles_n;
  const long m0 = rest % g.tiles_m * BM;
  rest /= g.tiles_m;
  long a_at = 0, b_at = 0, c_at = 0, y_at = g.y_first;
#if QUANTISED
  long az_at = 0, bz_at = 0, as_at = 0, bs_at = 0;
#endif
  for (int d = RANK - 1; d >= 0; --d) {
    const long i = rest % g.size[d];
    rest /= g.size[d];
    a_at += i * g.a[d];
    b_at += i * g.b[d];
    c_at += i * g.c[d];
    y_at += i * g.y[d];
#if QUANTISED
    az_at += i * g.az[d];
    bz_at += i * g.bz[d];
    as_at += i * g.as[d];
    bs_at += i * g.bs[d];
#endif
  }
  const GLOBAL STORAGE(TA) *pa = ELEMENTS(TA, a) + a_at;
  const GLOBAL STORAGE(TB) *pb = ELEMENTS(TB, b) + b_at;
  const GLOBAL STORAGE(TC) *pc = c_base ? ELEMENTS(TC, c) + c_at : 0;
  GLOBAL STORAGE(TY) *py = ELEMENTS(TY, y) + y_at;
  const GLOBAL long *ta = a_table_base ? ELEMENTS(int64, a_table) : 0;
  const GLOBAL long *tb = b_table_base ? ELEMENTS(int64, b_table) : 0;
#if QUANTISED
  const GLOBAL STORAGE(TA) *za = a_zero_base ? ELEMENTS(TA, a_zero) + az_at : 0;
  const GLOBAL STORAGE(TBZ) *zb = b_zero_base ? ELEMENTS(TBZ, b_zero) + bz_at : 0;
#endif
#if QUANTISED == 1
  (void)as_at, (void)bs_at;
#elif QUANTISED == 2
  const GLOBAL float *sa = ELEMENTS(float, a_scale) + as_at;
  const GLOBAL float *sb = ELEMENTS(float, b_scale) + bs_at;
  const real_t by = ELEMENTS(float, y_scale)[0];
  const int zero = (int)LOAD(TY, ELEMENTS(TY, y_zero), 0);
#endif
#define A_PLACE(k_) (A_UNIT ? (k_) : ta ? ta[k_] : (k_)*g.a_column)
#define B_PLACE(k_) (tb ? tb[k_] : (k_)*g.b_row)
#define A_AT(row_, k_) \
  LESS_ZERO(TA, LOAD(TA, pa, (row_)*g.a_row + A_PLACE(k_)), za, (row_)*g.az_line)
#define B_AT(k_, column_) \
  LESS_ZERO(TBZ, LOAD(TB, pb, B_PLACE(k_) + (column_)*g.b_column), zb, (column_)*g.bz_line)

  const long last_n = first_n + g.span * BN < g.n ? first_n + g.span * BN : g.n;
  for (long n0 = first_n; n0 < last_n; n0 += BN) {
    const long column = n0 + item_n * TN;
#if NATIVE_B && !QUANTISED
    const int is_whole = g.b_column == 1 && n0 + BN <= g.readable;
#endif
    lanes_t sums[REPEAT * TM * NV];
    long k0 = 0;
    do {
      const int kb = (int)(g.k - k0 < KB ? g.k - k0 : KB);
      const int is_last = k0 + kb >= g.k;
#if STAGE_A
      for (int i = item; i < KB * BM; i += ITEMS) {
        const int by_row = A_UNIT || g.a_column == 1;
        const int k = by_row ? i % KB : i / BM, row = by_row ? i / KB : i % BM;
        if (k < kb) staged_a[k * BM + row] = m0 + row < g.m ? A_AT(m0 + row, k0 + k) : (ACC)0;
      }
#endif
#if STAGE_B && ITEMS > 1
      for (int i = item; i < KB * BN; i += ITEMS) {
        const int by_row = !tb && g.b_row == 1;
        const int k = by_row ? i % KB : i / BN, n = by_row ? i / KB : i % BN;
        if (k < kb) staged_b[k * BN + n] = n0 + n < g.n ? B_AT(k0 + k, n0 + n) : (ACC)0;
      }
#elif STAGE_B
#if NATIVE_B && !QUANTISED
      if (is_whole) {
        for (int k = 0; k < kb; ++k) {
          const GLOBAL STORAGE(TB) *from = pb + B_PLACE(k0 + k) + n0;
          UNROLL for (int j = 0; j < NV; ++j) {
            lanes_t v;
            LANES_LOAD(v, from + j * LANES);
            LANES_STORE(v, staged_b + k * BN + j * LANES);
          }
        }
      } else
#endif
        for (int n = 0; n < BN; ++n)
          for (int k = 0; k < kb; ++k)
            staged_b[k * BN + n] = n0 + n < g.n ? B_AT(k0 + k, n0 + n) : (ACC)0;
#endif
      GROUP_BARRIER();
      for (int r = 0; r < REPEAT; ++r) {
        const int offset = (r * ITEMS_M + item_m) * TM;
        const long row = m0 + offset;
        if (row >= g.m) break;
        lanes_t acc[TM * NV];
#if !STAGE_A
        const GLOBAL STORAGE(TA) * rows[TM];
        UNROLL for (int i = 0; i < TM; ++i) rows[i] =
            pa + (row + i < g.m ? row + i : g.m - 1) * g.a_row;
#endif
        if (k0 == 0) {
          UNROLL for (int i = 0; i < TM * NV; ++i) LANES_ZERO(acc[i]);
        } else {
          UNROLL for (int i = 0; i < TM * NV; ++i) acc[i] = sums[r * TM * NV + i];
        }
        for (int k = 0; k < kb; ++k) {
          lanes_t terms[NV];
#if STAGE_B
          UNROLL for (int j = 0; j < NV; ++j)
              LANES_LOAD(terms[j], staged_b + k * BN + item_n * TN + j * LANES);
#else
#if NATIVE_B && !QUANTISED
          if (is_whole) {
            const GLOBAL STORAGE(TB) *from = pb + B_PLACE(k0 + k) + column;
            UNROLL for (int j = 0; j < NV; ++j) LANES_LOAD(terms[j], from + j * LANES);
          } else
#endif
          {
            ACC single[TN];
            ON_CHIP for (int l = 0; l < TN; ++l) {
              const long n = column + l;
              single[l] = n < g.n ? B_AT(k0 + k, n) : (ACC)0;
            }
            UNROLL for (int j = 0; j < NV; ++j) LANES_LOAD(terms[j], single + j * LANES);
          }
#endif
          UNROLL for (int i = 0; i < TM; ++i) {
#if STAGE_A
            const ACC factor = staged_a[k * BM + offset + i];
#else
            const ACC factor = LESS_ZERO(TA, LOAD(TA, rows[i], A_PLACE(k0 + k)), za,
                                         (row + i < g.m ? row + i : g.m - 1) * g.az_line);
#endif
            UNROLL for (int j = 0; j < NV; ++j) LANES_ADD(acc[i * NV + j], factor, terms[j]);
          }
        }
        if (!is_last) {
          UNROLL for (int i = 0; i < TM * NV; ++i) sums[r * TM * NV + i] = acc[i];
          continue;
        }
        const long line = column / g.grid[0];
        long place_w = column - line * g.grid[0];
        long place_h = line % g.grid[1];
        long place = line / g.grid[1] * g.y_step[2] + place_h * g.y_step[1];
#if NATIVE_Y && !GPU_CUDA && !QUANTISED
        if (g.y_step[0] == 1 && column + TN <= g.n && place_w + TN <= g.out[0] &&
            place_h < g.out[1] && (!pc || g.c_column == 0 || g.c_column == 1)) {
          UNROLL for (int i = 0; i < TM; ++i) {
            if (row + i >= g.m) break;
            UNROLL for (int j = 0; j < NV; ++j) {
              lanes_t v = acc[i * NV + j] * (lanes_t)(SCALAR(alpha));
              if (pc) {
                const long at = (row + i) * g.c_row;
                lanes_t addend = (lanes_t)(0);
                if (g.c_column == 0)
                  addend = (lanes_t)(pc[at]);
                else
                  LANES_LOAD(addend, pc + at + column + j * LANES);
                v += addend * (lanes_t)(SCALAR(beta));
              }
              LANES_STORE(v, py + (row + i) * g.y_row + place + place_w + j * LANES);
            }
          }
          continue;
        }
#endif
        ACC single[TM * TN];
        UNROLL for (int i = 0; i < TM * NV; ++i) LANES_STORE(acc[i], single + i * LANES);
        ON_CHIP for (int l = 0; l < TN; ++l) {
          if (column + l < g.n && place_w < g.out[0] && place_h < g.out[1]) {
            ON_CHIP for (int i = 0; i < TM; ++i) {
              if (row + i >= g.m) break;
              const long at = (row + i) * g.y_row + place + place_w * g.y_step[0];
              ACC v = single[i * TN + l];
#if QUANTISED == 2
              if (pc) v += (ACC)LOAD(TC, pc, (row + i) * g.c_row + (column + l) * g.c_column);
              py[at] = quantise(
                  v, (real_t)sa[(row + i) * g.as_line] * (real_t)sb[(column + l) * g.bs_line],
                  by, zero);
#else
              v *= SCALAR(alpha);
              if (pc)
                v += SCALAR(beta) *
                     (ACC)LOAD(TC, pc, (row + i) * g.c_row + (column + l) * g.c_column);
              STORE(TY, py, at, (COMPUTE(TY))v);
#endif
            }
          }
          if (++place_w == g.grid[0]) {
            place_w = 0;
            place += g.y_step[1];
            if (++place_h == g.grid[1]) {
              place_h = 0;
              place += g.y_step[2] - g.grid[1] * g.y_step[1];
            }
          }
        }
      }
      GROUP_BARRIER();
      k0 += kb;
    } while (k0 < g.k);
  }
}

// y = alpha y + beta c, behind the product of a library.
#ifdef FINISH
KERNEL void finish(BUFFER(c), BUFFER(y), geometry_t g, float alpha, float beta) {
  const long i = GLOBAL_X(), n = i % g.n, m = i / g.n % g.m;
  long rest = i / g.n / g.m;
  long c_at = m * g.c_row + n * g.c_column;
  GLOBAL STORAGE(TY) *py = ELEMENTS(TY, y);
  for (int d = RANK - 1; d >= 0; --d) {
    c_at += rest % g.size[d] * g.c[d];
    rest /= g.size[d];
  }
  if (rest > 0) return;
  ACC v = (ACC)LOAD(TY, py, i) * (ACC)alpha;
  if (c_base) v += (ACC)beta * (ACC)LOAD(TC, ELEMENTS(TC, c), c_at);
  STORE(TY, py, i, v);
}
#endif
