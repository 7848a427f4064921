// SPDX-License-Identifier: Apache-2.0
//
// An image in the order in which a window slides over it: with its padding, and split into
// phases, one for each remainder of a place by the stride, so that the places which one tap of
// the window sees lie side by side. y is [image, phases…, grid…], and the element of phase p at
// place q is x at q * stride + p - begin; 0 outside.
//
//   TX TY   element types; ZERO 1: the zero point is taken off

typedef struct spread_t {
  long rows, share;  // of the grids of all images; those of a group
  long in[3], grid[3], phases[3], stride[3], begin[3];
} spread_t;

KERNEL void spread(BUFFER(x), BUFFER(y), BUFFER(zero), spread_t g) {
  const GLOBAL STORAGE(TX) *px = ELEMENTS(TX, x);
  const long first = GROUP_X() * g.share;
  const long end = first + g.share < g.rows ? first + g.share : g.rows;
#if ZERO
  const COMPUTE(TX) zero = zero_base ? LOAD(TX, ELEMENTS(TX, zero), 0) : (COMPUTE(TX))0;
#define VALUE(at) ((STORAGE(TY))(px[at] - zero))
#else
#define VALUE(at) ((STORAGE(TY))(px[at]))
#endif
  for (long row = first + ITEM_Y(); row < end; row += ITEMS_Y()) {
    long rest = row;
    const long h = rest % g.grid[1];
    rest /= g.grid[1];
    const long d = rest % g.grid[0];
    rest /= g.grid[0];
    const long phase_w = rest % g.phases[2];
    rest /= g.phases[2];
    const long phase_h = rest % g.phases[1];
    rest /= g.phases[1];
    const long phase_d = rest % g.phases[0], image = rest / g.phases[0];
    const long from_d = d * g.stride[0] + phase_d - g.begin[0];
    const long from_h = h * g.stride[1] + phase_h - g.begin[1];
    const long shift = phase_w - g.begin[2];
    const int is_inside = from_d >= 0 && from_d < g.in[0] && from_h >= 0 && from_h < g.in[1];
    // Places [low, high) of the row have an element.
    long low = shift >= 0 ? 0 : (g.stride[2] - 1 - shift) / g.stride[2];
    long high = shift >= g.in[2] ? 0 : (g.in[2] - 1 - shift) / g.stride[2] + 1;
    if (high > g.grid[2]) high = g.grid[2];
    if (!is_inside) high = 0;
    if (low > high) low = high;
    GLOBAL STORAGE(TY) *to = ELEMENTS(TY, y) + row * g.grid[2];
    const long from = ((image * g.in[0] + from_d) * g.in[1] + from_h) * g.in[2] + shift;
    for (long w = ITEM_X(); w < low; w += ITEMS_X()) to[w] = 0;
    if (g.stride[2] == 1)
      for (long w = low + ITEM_X(); w < high; w += ITEMS_X()) to[w] = VALUE(from + w);
    else
      for (long w = low + ITEM_X(); w < high; w += ITEMS_X())
        to[w] = VALUE(from + w * g.stride[2]);
    for (long w = high + ITEM_X(); w < g.grid[2]; w += ITEMS_X()) to[w] = 0;
  }
}
