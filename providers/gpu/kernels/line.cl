// SPDX-License-Identifier: Apache-2.0
//
// Numbers along one axis: x is outer x n x inner, a line is the n elements of one outer and
// inner. T is the element type, IDX that of positions.
#define GROUP 64

// numbers: the first one and the step.
KERNEL void range(BUFFER(numbers), BUFFER(y), IDX count) {
  const IDX i = (IDX)GLOBAL_X();
  if (i >= count) return;
  const COMPUTE(T) start = LOAD(T, ELEMENTS(T, numbers), 0);
  const COMPUTE(T) step = LOAD(T, ELEMENTS(T, numbers), 1);
  STORE(T, ELEMENTS(T, y), i, (COMPUTE(T))(start + (COMPUTE(T))i * step));
}

// One work-item a line, in its order.
KERNEL void cumulate(BUFFER(x), BUFFER(y), IDX n, IDX inner, int is_exclusive, int is_reverse,
                     IDX lines) {
  const IDX line = (IDX)GLOBAL_X();
  if (line >= lines) return;
  const IDX outer = line / inner, base = outer * n * inner + (line - outer * inner);
  COMPUTE(T) sum = 0;
  for (IDX j = 0; j < n; ++j) {
    const IDX at = base + (is_reverse ? n - 1 - j : j) * inner;
    const COMPUTE(T) value = LOAD(T, ELEMENTS(T, x), at);
    if (is_exclusive) STORE(T, ELEMENTS(T, y), at, sum);
    sum = (COMPUTE(T))(sum + value);
    if (!is_exclusive) STORE(T, ELEMENTS(T, y), at, sum);
  }
}

// Whether a at index i comes before b at j. NaN is the largest value; sign is -1 for the
// smallest first.
DEVICE int precedes(COMPUTE(T) a, IDX i, COMPUTE(T) b, IDX j, int sign) {
  const int a_is_nan = a != a, b_is_nan = b != b;
  const int order = a_is_nan || b_is_nan ? a_is_nan - b_is_nan : (a > b) - (a < b);
  return order * sign > 0 || (order == 0 && i < j);
}

// One group a line. Each pass finds the first element behind the one found before: the order is
// total, so nothing need be marked.
KERNEL void top_k(BUFFER(x), BUFFER(values), BUFFER(indices), IDX n, IDX inner, IDX k, int sign,
                  int has_indices) {
  LOCAL COMPUTE(T) best[GROUP];
  LOCAL IDX at[GROUP];
  const int item = ITEM_X();
  const IDX line = (IDX)GROUP_X(), outer = line / inner, inside = line - outer * inner;
  const IDX base = outer * n * inner + inside;
  COMPUTE(T) last_value = 0;
  IDX last = -1;
  for (IDX p = 0; p < k; ++p) {
    COMPUTE(T) value = 0;
    IDX own = -1;
    for (IDX j = item; j < n; j += ITEMS_X()) {
      const COMPUTE(T) v = LOAD(T, ELEMENTS(T, x), base + j * inner);
      if (last >= 0 && !precedes(last_value, last, v, j, sign)) continue;
      if (own < 0 || precedes(v, j, value, own, sign)) {
        own = j;
        value = v;
      }
    }
    best[item] = value;
    at[item] = own;
    BARRIER();
    for (int middle = ITEMS_X() / 2; middle > 0; middle /= 2) {
      if (item < middle && at[item + middle] >= 0 &&
          (at[item] < 0 ||
           precedes(best[item + middle], at[item + middle], best[item], at[item], sign))) {
        best[item] = best[item + middle];
        at[item] = at[item + middle];
      }
      BARRIER();
    }
    last = at[0];
    last_value = best[0];
    BARRIER();
    if (item == 0) {
      const IDX to = (outer * k + p) * inner + inside;
      ELEMENTS(T, values)[to] = ELEMENTS(T, x)[base + last * inner];
      if (has_indices) ELEMENTS(int64, indices)[to] = last;
    }
  }
}
