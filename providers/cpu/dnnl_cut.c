// SPDX-License-Identifier: Apache-2.0
//
// How a convolution is cut; pure arithmetic. See dnnl_split.h.
//
// A convolution with channels last and one image is cut into rows. Output rows [o, p) of a
// convolution with stride s, dilation d, k taps and b rows of padding read the input rows
// [o s - b, (p - 1) s - b + (k - 1) d]; what of them lies outside is the piece's own padding.
// Of a transposed one they read every input row i with o <= i s + t d - b < p for some tap t.
#include "dnnl_split.h"

typedef struct range {
  int64_t begin, end;
} range;

static range part(int64_t whole, int32_t index, int32_t count) {
  return (range){whole * index / count, whole * (index + 1) / count};
}

static int32_t at_most(int64_t parts, int32_t most) {
  return parts < most ? (int32_t)(parts < 1 ? 1 : parts) : most;
}

static int64_t product(const int64_t *values, int32_t begin, int32_t end) {
  int64_t result = 1;
  for (int32_t i = begin; i < end; ++i) result *= values[i];
  return result;
}

// ---- Convolutions ---------------------------------------------------------------------------

enum { CUT_NOTHING, CUT_BATCH, CUT_ROWS, CUT_FILTERS };

static int is_last(const cpu_dnnl_conv *c) {
  return c->source_last && c->target_last;
}

// One tap on each pixel: where the pixels are does not matter, so they become a line, which can
// be cut anywhere.
static void flatten(cpu_dnnl_conv *c) {
  for (int32_t i = 0; i < c->spatial; ++i)
    if (c->kernel[i] != 1 || c->strides[i] != 1 || c->pads_begin[i] != 0 || c->pads_end[i] != 0)
      return;
  c->in[0] = c->out[0] = product(c->in, 0, c->spatial);
  for (int32_t i = 1; i < c->spatial; ++i) c->in[i] = c->out[i] = 1;
}

// The first dimension that is more than one row: it divides the memory of both images.
static int32_t row_dimension(const cpu_dnnl_conv *c) {
  int32_t i = 0;
  while (i + 1 < c->spatial && c->in[i] == 1 && c->out[i] == 1) ++i;
  return i;
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

// Input rows and padding of output rows `out`; 0 if a piece cannot be a convolution of its own.
static int cut_rows(const cpu_dnnl_conv *whole, int32_t d, range out, cpu_dnnl_conv *piece,
                    range *in) {
  const int64_t s = whole->strides[d], pad = whole->pads_begin[d];
  const int64_t reach = (whole->kernel[d] - 1) * whole->dilations[d], rows = whole->in[d];
  int64_t first, last, begin, end;
  if (whole->transposed) {
    first = ceil_div(out.begin + pad - reach, s);
    last = (out.end - 1 + pad) / s;
  } else {
    first = out.begin * s - pad;
    last = (out.end - 1) * s - pad + reach;
  }
  *in = (range){first < 0 ? 0 : first, last < rows ? last + 1 : rows};
  if (in->begin >= in->end) return 0;
  if (whole->transposed) {
    begin = out.begin + pad - in->begin * s;
    end = (in->end - in->begin - 1) * s + reach + 1 - begin - (out.end - out.begin);
  } else {
    begin = in->begin - first;
    end = last + 1 - in->end;
  }
  const int64_t least = whole->pads_end[d] < 0 ? whole->pads_end[d] : 0;
  if (begin < 0 || end < least) return 0;
  piece->in[d] = in->end - in->begin;
  piece->out[d] = out.end - out.begin;
  piece->pads_begin[d] = begin;
  piece->pads_end[d] = end;
  return 1;
}

static int rows_can_be_cut(const cpu_dnnl_conv *whole, int32_t count) {
  const int32_t d = row_dimension(whole);
  cpu_dnnl_conv piece;
  range in;
  for (int32_t i = 0; i < count; ++i)
    if (!cut_rows(whole, d, part(whole->out[d], i, count), &piece, &in)) return 0;
  return 1;
}

// Filters of one group, or whole groups.
static int64_t filter_parts(const cpu_dnnl_conv *c) {
  return c->groups > 1 ? c->groups : c->out_channels;
}

static int way_of(const cpu_dnnl_conv *whole, int32_t most, int32_t *out_count) {
  cpu_dnnl_conv flat = *whole;
  if (is_last(&flat)) flatten(&flat);
  *out_count = at_most(whole->batch, most);
  if (whole->batch > 1) return CUT_BATCH;
  if (is_last(whole)) {
    *out_count = at_most(flat.out[row_dimension(&flat)], most);
    if (*out_count > 1 && rows_can_be_cut(&flat, *out_count)) return CUT_ROWS;
  } else if (!whole->source_last && !whole->target_last &&
             (!whole->transposed || whole->groups > 1)) {
    *out_count = at_most(filter_parts(whole), most);
    return CUT_FILTERS;
  }
  *out_count = 1;
  return CUT_NOTHING;
}

int32_t cpu_cut_conv_count(const cpu_dnnl_conv *whole, int32_t most) {
  int32_t count;
  way_of(whole, most, &count);
  return count;
}

static void take_rows(const cpu_dnnl_conv *whole, int32_t index, int32_t count,
                      cpu_dnnl_conv *piece, cpu_cut *cut) {
  cpu_dnnl_conv flat = *whole;
  flatten(&flat);
  const int32_t d = row_dimension(&flat);
  const range out = part(flat.out[d], index, count);
  range in = {0, 0};
  *piece = flat;
  cut_rows(&flat, d, out, piece, &in);
  cut->source = in.begin * product(flat.in, d + 1, flat.spatial) * flat.in_channels;
  cut->target = out.begin * product(flat.out, d + 1, flat.spatial) * flat.out_channels;
}

static void take_filters(const cpu_dnnl_conv *whole, int32_t index, int32_t count,
                         cpu_dnnl_conv *piece, cpu_cut *cut) {
  const int64_t parts = filter_parts(whole), filters = whole->out_channels / parts;
  const int64_t taps = product(whole->kernel, 0, whole->spatial);
  const range taken = part(parts, index, count);
  cut->bias = taken.begin * filters;
  cut->target = cut->bias * product(whole->out, 0, whole->spatial);
  piece->out_channels = (taken.end - taken.begin) * filters;
  if (whole->groups > 1) {
    const int64_t channels = whole->in_channels / whole->groups;
    piece->groups = taken.end - taken.begin;
    piece->in_channels = piece->groups * channels;
    cut->source = taken.begin * channels * product(whole->in, 0, whole->spatial);
  }
  cut->weights = cut->bias * (whole->in_channels / whole->groups) * taps;
}

static void take_images(const cpu_dnnl_conv *whole, int32_t index, int32_t count,
                        cpu_dnnl_conv *piece, cpu_cut *cut) {
  const range images = part(whole->batch, index, count);
  piece->batch = images.end - images.begin;
  cut->source = images.begin * whole->in_channels * product(whole->in, 0, whole->spatial);
  cut->target = images.begin * whole->out_channels * product(whole->out, 0, whole->spatial);
}

void cpu_cut_conv(const cpu_dnnl_conv *whole, int32_t index, int32_t count,
                  cpu_dnnl_conv *out_piece, cpu_cut *out_cut) {
  int32_t same;
  *out_piece = *whole;
  *out_cut = (cpu_cut){0, 0, 0, 0};
  const int way = count > 1 ? way_of(whole, count, &same) : CUT_NOTHING;
  if (way == CUT_BATCH) take_images(whole, index, count, out_piece, out_cut);
  if (way == CUT_ROWS) take_rows(whole, index, count, out_piece, out_cut);
  if (way == CUT_FILTERS) take_filters(whole, index, count, out_piece, out_cut);
}
