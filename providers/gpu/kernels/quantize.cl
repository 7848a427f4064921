// SPDX-License-Identifier: Apache-2.0
//
// Numbers to codes and back. Scale and zero point of an element are those of its place along
// one axis, alone or in blocks, and of its place in the other dimensions.
//
//   TX TY   element types; TS of the scale, TZ of the zero point
//   TQ      type to which a quotient is rounded
//   LOWEST HIGHEST   codes

typedef struct parameters_t {
  long count;          // elements
  long inner, length;  // of one place along the axis; places along it
  long block;          // places that share parameters
  long step[3];        // distances of parameters: outside the axis, along it, inside it
} parameters_t;

DEVICE long parameter_of(parameters_t g, long i) {
  const long inside = i % g.inner, rest = i / g.inner;
  const long along = rest % g.length, outside = rest / g.length;
  return outside * g.step[0] + along / g.block * g.step[1] + inside * g.step[2];
}

#if GPU_FP64
typedef double exact_t;
#else
typedef float exact_t;
#endif

#ifdef QUANTIZE
KERNEL void quantize(BUFFER(x), BUFFER(scale), BUFFER(zero), BUFFER(y), parameters_t g) {
  const long i = GLOBAL_X();
  if (i >= g.count) return;
  const long at = parameter_of(g, i);
  const int offset = zero_base ? (int)LOAD(TZ, ELEMENTS(TZ, zero), at) : 0;
  const float quotient = LOAD(TX, ELEMENTS(TX, x), i) / LOAD(TS, ELEMENTS(TS, scale), at);
  const float code = rint(ROUND(TQ, quotient)) + (float)offset;
  const float clamped = code > (float)(LOWEST) ? code : (float)(LOWEST);
  STORE(TY, ELEMENTS(TY, y), i,
        (COMPUTE(TY))(int)(clamped < (float)(HIGHEST) ? clamped : (float)(HIGHEST)));
}
#endif

#ifdef DEQUANTIZE
// Rounded to odd, so that rounding once more to a half gives what rounding once would have.
DEVICE float half_source(exact_t value) {
  const float nearest = (float)value;
  const uint bits = as_uint(nearest);
  if ((exact_t)nearest == value || (bits & 1) || !(fabs(nearest) < INFINITY)) return nearest;
  return as_float(fabs((exact_t)nearest) < fabs(value) ? bits + 1 : bits - 1);
}

KERNEL void dequantize(BUFFER(x), BUFFER(scale), BUFFER(zero), BUFFER(y), parameters_t g) {
  const long i = GLOBAL_X();
  if (i >= g.count) return;
  const long at = parameter_of(g, i);
  const long offset = zero_base ? (long)LOAD(TZ, ELEMENTS(TZ, zero), at) : 0;
  const exact_t value = (exact_t)((long)LOAD(TX, ELEMENTS(TX, x), i) - offset) *
                        (exact_t)LOAD(TS, ELEMENTS(TS, scale), at);
  STORE(TY, ELEMENTS(TY, y), i, FROM_EXACT(value));
}
#endif

#ifdef DYNAMIC
// Smallest and largest of what each item sees, 0 among them.
KERNEL void range(BUFFER(x), BUFFER(parts), long count) {
  const GLOBAL float *px = ELEMENTS(float, x);
  GLOBAL float *out = ELEMENTS(float, parts) + 2 * GLOBAL_X();
  float low = 0, high = 0;
  for (long i = GLOBAL_X(); i < count; i += GLOBAL_ITEMS_X()) {
    low = fmin(low, px[i]);
    high = fmax(high, px[i]);
  }
  out[0] = low;
  out[1] = high;
}

DEVICE float bounded(float value) {
  return value > 255.0f ? 255.0f : value > 0.0f ? value : 0.0f;
}

// One group. Scale and zero point go behind the parts, and to the outputs that are wanted.
KERNEL void choose(BUFFER(parts), BUFFER(scale), BUFFER(zero), int count) {
  LOCAL float lows[GROUP], highs[GROUP];
  GLOBAL float *p = ELEMENTS(float, parts);
  const int item = ITEM_X();
  float low = 0, high = 0;
  for (int i = item; i < count; i += GROUP) {
    low = fmin(low, p[2 * i]);
    high = fmax(high, p[2 * i + 1]);
  }
  lows[item] = low;
  highs[item] = high;
  BARRIER();
  for (int rest = GROUP / 2; rest > 0; rest /= 2) {
    if (item < rest) {
      lows[item] = fmin(lows[item], lows[item + rest]);
      highs[item] = fmax(highs[item], highs[item + rest]);
    }
    BARRIER();
  }
  if (item > 0) return;
  const float step = (highs[0] - lows[0]) / 255.0f;
  const float offset = step > 0 ? rint(bounded((0.0f - lows[0]) / step)) : 0.0f;
  p[2 * count] = step;
  p[2 * count + 1] = offset;
  if (scale_base) ELEMENTS(float, scale)[0] = step;
  if (zero_base) ELEMENTS(uint8, zero)[0] = (uchar)offset;
}

KERNEL void apply(BUFFER(x), BUFFER(chosen), BUFFER(y), long count) {
  const long i = GLOBAL_X();
  if (i >= count) return;
  const float step = ELEMENTS(float, chosen)[0], offset = ELEMENTS(float, chosen)[1];
  const float quotient = step > 0 ? ELEMENTS(float, x)[i] / step : 0.0f;
  ELEMENTS(uint8, y)[i] = (uchar)bounded(rint(quotient) + offset);
}
#endif
