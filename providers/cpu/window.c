// SPDX-License-Identifier: Apache-2.0
//
// Windows: the formulas are those of ONNX's Conv and MaxPool.
#include "window.h"

#include <string.h>

static const struct {
  const char *name;
  int32_t value;
} kAutoPads[] = {{"NOTSET", CPU_PAD_EXPLICIT},
                 {"VALID", CPU_PAD_VALID},
                 {"SAME_UPPER", CPU_PAD_SAME_UPPER},
                 {"SAME_LOWER", CPU_PAD_SAME_LOWER},
                 {"", CPU_PAD_EXPLICIT}};

static int32_t read_auto_pad(const ops_node *node) {
  const ops_str text = ops_node_string(node, "auto_pad", (ops_str)OPS_STR("NOTSET"));
  for (size_t i = 0; i < sizeof kAutoPads / sizeof *kAutoPads; ++i)
    if (ops_str_equal(text, kAutoPads[i].name)) return kAutoPads[i].value;
  return -1;
}

static const struct {
  const char *name;
  int32_t per_dim;  // values for each spatial dimension
  int64_t least;
} kLists[] = {{"kernel_shape", 1, 1},
              {"strides", 1, 1},
              {"dilations", 1, 1},
              {"pads", 2, 0},
              {"output_padding", 1, 0}};

// Far from overflow in every formula below.
#define LARGEST ((int64_t)1 << 31)

static void claim_list(const ops_node *node, int32_t row, int32_t spatial, ops_claim *claim) {
  uint64_t count;
  const int64_t *values = ops_node_ints(node, kLists[row].name, &count);
  if (!values) return;
  if (count != (uint64_t)(spatial * kLists[row].per_dim))
    cpu_refuse(claim, OPS_REASON_ATTRIBUTE, "%s must have %d values, found %llu",
               kLists[row].name, spatial * kLists[row].per_dim, (unsigned long long)count);
  for (uint64_t i = 0; i < count; ++i)
    if (values[i] < kLists[row].least || values[i] > LARGEST)
      cpu_refuse(claim, OPS_REASON_ATTRIBUTE, "%s must be in [%lld, 2^31], found %lld",
                 kLists[row].name, (long long)kLists[row].least, (long long)values[i]);
}

void cpu_window_claim(const ops_node *node, uint64_t weights_input, ops_claim *claim) {
  int32_t rank = cpu_node_rank(node, 0);
  if (rank < 0 && weights_input > 0) rank = cpu_node_rank(node, weights_input);
  if (rank < 3 || rank > 2 + CPU_SPATIAL) {
    cpu_refuse(claim, OPS_REASON_SHAPE, "the rank must be known and 3, 4 or 5, found %d", rank);
    return;
  }
  if (read_auto_pad(node) < 0)
    cpu_refuse(claim, OPS_REASON_ATTRIBUTE,
               "auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  for (int32_t i = 0; i < (int32_t)(sizeof kLists / sizeof *kLists); ++i)
    claim_list(node, i, rank - 2, claim);
}

static int32_t read_list(const ops_node *node, const char *name, int64_t fallback,
                         int64_t *out_values) {
  uint64_t count;
  const int64_t *values = ops_node_ints(node, name, &count);
  for (uint64_t i = 0; i < CPU_SPATIAL; ++i) out_values[i] = i < count ? values[i] : fallback;
  return values != NULL;
}

void cpu_window_read(const ops_node *node, cpu_window *out_window) {
  uint64_t count;
  const int64_t *pads = ops_node_ints(node, "pads", &count);
  out_window->auto_pad = read_auto_pad(node);
  out_window->ceil_mode = ops_node_int(node, "ceil_mode", 0) != 0;
  out_window->has_kernel = read_list(node, "kernel_shape", 1, out_window->kernel);
  read_list(node, "strides", 1, out_window->strides);
  read_list(node, "dilations", 1, out_window->dilations);
  for (uint64_t i = 0; i < CPU_SPATIAL; ++i) {
    out_window->pads_begin[i] = i < count / 2 ? pads[i] : 0;
    out_window->pads_end[i] = i < count / 2 ? pads[count / 2 + i] : 0;
  }
}

static void resolve_auto_pad(cpu_window *window, int32_t dim, int64_t in, int64_t extent) {
  const int64_t stride = window->strides[dim];
  const int64_t wanted = (in + stride - 1) / stride;
  int64_t total = (wanted - 1) * stride + extent - in;
  if (total < 0 || window->auto_pad == CPU_PAD_VALID) total = 0;
  const int64_t smaller = total / 2, larger = total - smaller;
  const int upper = window->auto_pad == CPU_PAD_SAME_UPPER;
  window->pads_begin[dim] = upper ? smaller : larger;
  window->pads_end[dim] = upper ? larger : smaller;
}

int32_t cpu_window_resolve(const ops_kernel *kernel, cpu_window *window, int32_t spatial,
                           const int64_t *in, int64_t *out, ops_error *error) {
  for (int32_t i = 0; i < spatial; ++i) {
    const int64_t stride = window->strides[i];
    const int64_t extent = (window->kernel[i] - 1) * window->dilations[i] + 1;
    if (window->auto_pad != CPU_PAD_EXPLICIT) resolve_auto_pad(window, i, in[i], extent);
    const int64_t room = in[i] + window->pads_begin[i] + window->pads_end[i] - extent;
    if (room < 0)
      return cpu_invalid(kernel, error,
                         "a window of %lld does not fit into %lld padded elements of spatial "
                         "dimension %d",
                         (long long)extent, (long long)(room + extent), i);
    out[i] = room / stride + 1;
    if (window->ceil_mode && window->auto_pad == CPU_PAD_EXPLICIT && room % stride != 0 &&
        out[i] * stride < in[i] + window->pads_begin[i])
      ++out[i];
  }
  return OPS_OK;
}

// ---- On its way -----------------------------------------------------------------------------

// Moves `count` leading values to the end of the array, and fills the front.
static void align_end(int64_t *values, int32_t count, int64_t filler) {
  for (int32_t i = CPU_SPATIAL - 1; i >= 0; --i) {
    const int32_t from = i - (CPU_SPATIAL - count);
    values[i] = from >= 0 ? values[from] : filler;
  }
}

void cpu_slide_init(cpu_slide *slide, const cpu_window *window, int32_t spatial,
                    const int64_t *in, const int64_t *out) {
  cpu_window *own = &slide->window;
  *own = *window;
  memcpy(slide->in, in, (size_t)spatial * sizeof *in);
  memcpy(slide->out, out, (size_t)spatial * sizeof *out);
  int64_t *const sizes[] = {slide->in, slide->out, own->kernel, own->strides, own->dilations};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) align_end(sizes[i], spatial, 1);
  align_end(own->pads_begin, spatial, 0);
  align_end(own->pads_end, spatial, 0);
}

int64_t cpu_slide_taps(const cpu_slide *slide, int32_t d, int64_t o, int32_t include_pad) {
  const cpu_window *window = &slide->window;
  const int64_t start = cpu_slide_start(slide, d, o), step = window->dilations[d];
  const int64_t low = include_pad ? -window->pads_begin[d] : 0;
  const int64_t high = slide->in[d] + (include_pad ? window->pads_end[d] : 0);
  const int64_t end = start + (window->kernel[d] - 1) * step;
  if (start >= low && end < high) return window->kernel[d];  // as for most outputs
  int64_t first = start >= low ? 0 : (low - start + step - 1) / step;
  int64_t last = cpu_floor_div(high - 1 - start, step);
  if (last > window->kernel[d] - 1) last = window->kernel[d] - 1;
  return last < first ? 0 : last - first + 1;
}

int64_t cpu_slide_inside(const cpu_slide *slide, int32_t d, int64_t o, int64_t *out_first) {
  const int64_t start = cpu_slide_start(slide, d, o), step = slide->window.dilations[d];
  const int64_t skipped = start >= 0 ? 0 : (-start + step - 1) / step;
  *out_first = start + skipped * step;
  return cpu_slide_taps(slide, d, o, 0);
}
