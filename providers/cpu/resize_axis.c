// SPDX-License-Identifier: Apache-2.0
//
// Coordinates and weights as the specification of ONNX's Resize defines them, in double.
#include "resize_axis.h"

#include <math.h>

// ---- Coordinates ----------------------------------------------------------------------------

static double half_pixel(const cpu_resize_axis *axis, double o) {
  return (o + 0.5) / axis->scale - 0.5;
}

static double half_pixel_symmetric(const cpu_resize_axis *axis, double o) {
  const double adjustment = (double)axis->out / axis->length;
  const double offset = (double)axis->in / 2 * (1 - adjustment);
  return offset + half_pixel(axis, o);
}

static double pytorch_half_pixel(const cpu_resize_axis *axis, double o) {
  return axis->length > 1 ? half_pixel(axis, o) : 0;
}

static double align_corners(const cpu_resize_axis *axis, double o) {
  return axis->length == 1 ? 0 : o * (double)(axis->in - 1) / (axis->length - 1);
}

static double asymmetric(const cpu_resize_axis *axis, double o) {
  return o / axis->scale;
}

static double tf_half_pixel_for_nn(const cpu_resize_axis *axis, double o) {
  return (o + 0.5) / axis->scale;
}

static const struct {
  const char *name;
  double (*original)(const cpu_resize_axis *axis, double o);
} kCoordinates[] = {{"half_pixel", half_pixel},
                    {"half_pixel_symmetric", half_pixel_symmetric},
                    {"pytorch_half_pixel", pytorch_half_pixel},
                    {"align_corners", align_corners},
                    {"asymmetric", asymmetric},
                    {"tf_half_pixel_for_nn", tf_half_pixel_for_nn}};

// ---- Nearest --------------------------------------------------------------------------------

static double prefer_floor(double x) {
  return ceil(x - 0.5);
}

static double prefer_ceil(double x) {
  return floor(x + 0.5);
}

static const struct {
  const char *name;
  double (*round)(double x);
} kNearest[] = {{"round_prefer_floor", prefer_floor},
                {"round_prefer_ceil", prefer_ceil},
                {"floor", floor},
                {"ceil", ceil}};

static const struct {
  const char *name;
  int32_t mode, taps;
} kModes[] = {{"nearest", CPU_RESIZE_NEAREST, 1},
              {"linear", CPU_RESIZE_LINEAR, 2},
              {"cubic", CPU_RESIZE_CUBIC, 4}};

// ---- Attributes -----------------------------------------------------------------------------

#define COUNT(rows) ((int32_t)(sizeof(rows) / sizeof *(rows)))
#define FIND(rows, text, out_index)                               \
  do {                                                            \
    (out_index) = -1;                                             \
    for (int32_t i_ = 0; i_ < COUNT(rows); ++i_)                  \
      if (ops_str_equal(text, (rows)[i_].name)) (out_index) = i_; \
  } while (0)

static ops_str text_of(const ops_node *node, const char *name, ops_str fallback) {
  return ops_node_string(node, name, fallback);
}

// Before opset 11 coordinates are asymmetric and the nearest element is the one below.
void cpu_resize_read(const ops_node *node, cpu_resize_mode *out_mode, ops_claim *claim) {
  ops_str mode = text_of(node, "mode", (ops_str)OPS_STR("nearest"));
  ops_str coordinate = OPS_STR("asymmetric"), nearest = OPS_STR("floor");
  if (node->opset >= 11) {
    coordinate =
        text_of(node, "coordinate_transformation_mode", (ops_str)OPS_STR("half_pixel"));
    nearest = text_of(node, "nearest_mode", (ops_str)OPS_STR("round_prefer_floor"));
  }
  // What Upsample 1 calls it.
  if (node->opset < 7 && ops_str_equal(mode, "bilinear")) mode = (ops_str)OPS_STR("linear");
  FIND(kModes, mode, out_mode->mode);
  FIND(kCoordinates, coordinate, out_mode->coordinate);
  FIND(kNearest, nearest, out_mode->nearest);
  out_mode->exclude_outside = ops_node_int(node, "exclude_outside", 0) != 0;
  out_mode->cubic_a = (double)ops_node_float(node, "cubic_coeff_a", -0.75f);
  if (!claim) return;
  if (out_mode->mode < 0)
    cpu_refuse(claim, OPS_REASON_ATTRIBUTE, "mode '%.*s' is not supported", OPS_STR_FMT(mode));
  if (out_mode->coordinate < 0)
    cpu_refuse(claim, OPS_REASON_ATTRIBUTE,
               "coordinate_transformation_mode '%.*s' is not supported",
               OPS_STR_FMT(coordinate));
  if (out_mode->nearest < 0)
    cpu_refuse(claim, OPS_REASON_ATTRIBUTE, "nearest_mode '%.*s' is not supported",
               OPS_STR_FMT(nearest));
  if (ops_node_int(node, "antialias", 0) != 0)
    cpu_refuse(claim, OPS_REASON_ATTRIBUTE, "antialias must be 0");
}

int32_t cpu_resize_taps(const cpu_resize_mode *mode) {
  return kModes[mode->mode].taps;
}

// ---- Weights --------------------------------------------------------------------------------

// Keys' cubic convolution: weights of the elements at floor(x) - 1 … floor(x) + 2.
static void cubic_weights(double a, double ratio, double *out_weights) {
  const double t[4] = {ratio + 1, ratio, 1 - ratio, 2 - ratio};
  for (int i = 0; i < 4; ++i) {
    const double u = t[i];
    out_weights[i] = i == 1 || i == 2 ? ((a + 2) * u - (a + 3)) * u * u + 1
                                      : ((a * u - 5 * a) * u + 8 * a) * u - 4 * a;
  }
}

static void exclude_outside(int64_t in, int64_t first, double *weights, int32_t taps) {
  double sum = 0;
  for (int32_t k = 0; k < taps; ++k) {
    if (first + k < 0 || first + k >= in) weights[k] = 0;
    sum += weights[k];
  }
  for (int32_t k = 0; k < taps; ++k) weights[k] /= sum;
}

static int64_t clamp(double index, int64_t in) {
  if (!(index > 0)) return 0;
  return index > (double)(in - 1) ? in - 1 : (int64_t)index;
}

void cpu_resize_fill(const cpu_resize_mode *mode, const cpu_resize_axis *axis,
                     int64_t *out_indices, double *out_weights) {
  const int32_t taps = cpu_resize_taps(mode);
  for (int64_t o = 0; o < axis->out; ++o) {
    const double x = kCoordinates[mode->coordinate].original(axis, (double)o);
    const double below = floor(x), ratio = x - below;
    double first = below, weights[CPU_RESIZE_TAPS] = {1 - ratio, ratio};
    if (mode->mode == CPU_RESIZE_NEAREST) {
      first = kNearest[mode->nearest].round(x);
      weights[0] = 1;
    } else if (mode->mode == CPU_RESIZE_CUBIC) {
      first = below - 1;
      cubic_weights(mode->cubic_a, ratio, weights);
    }
    if (mode->exclude_outside && mode->mode != CPU_RESIZE_NEAREST)
      exclude_outside(axis->in, (int64_t)first, weights, taps);
    for (int32_t k = 0; k < taps; ++k) {
      out_indices[o * taps + k] = clamp(first + k, axis->in);
      out_weights[o * taps + k] = weights[k];
    }
  }
}
