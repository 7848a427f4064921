// SPDX-License-Identifier: Apache-2.0
//
// HannWindow, HammingWindow, BlackmanWindow: a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), and
// MelWeightMatrix: triangles over the bins of a DFT, equally wide on the mel scale.
#include <math.h>

#include "dense.h"
#include "operators.h"
#include "type_sets.h"

#define PI 3.14159265358979323846
#define TYPES (REF_REALS | REF_INTEGERS)

static int32_t prepare_window(ref_prepare *p) {
  int64_t size;
  RETURN_IF_ERROR(ref_scalar(p, 0, &size));
  if (size < 0)
    return ref_refuse(p, "input size: expected at least 0, found %lld", (long long)size);
  RETURN_IF_ERROR(ref_output_type(p, 0, "output_datatype", OPS_TYPE_FLOAT, TYPES));
  return ref_set_shape(p, 0, 1, &size);
}

static int32_t execute_window(ref_run *run) {
  const double *a = run->kernel->op->family;
  const ref_view *y = &run->outputs[0];
  int periodic = ref_attr_int(run->kernel, "periodic", 1) != 0;
  double n = (double)(y->count - !periodic);
  for (int64_t i = 0; i < y->count; ++i) {
    double angle = n > 0 ? 2 * PI * (double)i / n : PI;  // the only point is the middle one
    double value = a[0] - a[1] * cos(angle) + a[2] * cos(2 * angle);
    ref_store(y, i * y->strides[0], 1, 1, &value);
  }
  return OPS_OK;
}

static const double hann[3] = {0.5, 0.5, 0};
static const double hamming[3] = {25.0 / 46, 21.0 / 46, 0};
static const double blackman[3] = {0.42, 0.5, 0.08};
const ref_op ref_hann_window = {0, prepare_window, execute_window, hann, NULL};
const ref_op ref_hamming_window = {0, prepare_window, execute_window, hamming, NULL};
const ref_op ref_blackman_window = {0, prepare_window, execute_window, blackman, NULL};

// ---- MelWeightMatrix
// -------------------------------------------------------------------------

enum { BANDS, LENGTH, RATE, LOW, HIGH };

typedef struct mel_state {
  int64_t bands, length;
} mel_state;

static int32_t prepare_mel(ref_prepare *p) {
  mel_state *s = p->state;
  RETURN_IF_ERROR(ref_scalar(p, BANDS, &s->bands));
  RETURN_IF_ERROR(ref_scalar(p, LENGTH, &s->length));
  if (s->bands < 0 || s->length < 0 || s->bands > (int64_t)1 << 40 ||
      s->length > (int64_t)1 << 40)
    return ref_refuse(p, "inputs num_mel_bins and dft_length are %lld and %lld",
                      (long long)s->bands, (long long)s->length);
  for (uint64_t i = RATE; i <= HIGH; ++i)
    if (ref_count(p->inputs[i].dims, p->inputs[i].rank) != 1)
      return ref_refuse(p, "input %s: expected one number", ref_input_name(p->kernel, i));
  RETURN_IF_ERROR(ref_output_type(p, 0, "output_datatype", OPS_TYPE_FLOAT, TYPES));
  return ref_set_shape(p, 0, 2, (int64_t[]){s->length / 2 + 1, s->bands});
}

static double mel_of(double hertz) {
  return 2595 * log1p(hertz / 700) / log(10);
}

// The DFT bin of edge `i`.
static double edge(const ref_run *run, int64_t i) {
  const mel_state *s = run->state;
  double low = mel_of(ref_at(&run->inputs[LOW], 0));
  double high = mel_of(ref_at(&run->inputs[HIGH], 0));
  double mel = low + (double)i * (high - low) / (double)(s->bands + 2);
  double hertz = 700 * expm1(mel / 2595 * log(10));
  return floor((double)(s->length + 1) * hertz / ref_at(&run->inputs[RATE], 0));
}

// A triangle from left over centre to right; of no width on the left, the centre is 1.
static double weight(double bin, double left, double centre, double right) {
  if (bin < left || bin > right) return 0;
  if (bin == centre) return 1;
  return bin < centre ? (bin - left) / (centre - left) : (right - bin) / (right - centre);
}

static int32_t execute_mel(ref_run *run) {
  const mel_state *s = run->state;
  const ref_view *y = &run->outputs[0];
  double last = (double)(s->length / 2);
  for (int64_t i = 0; i < s->bands + 2; ++i)
    if (!(edge(run, i) >= 0 && edge(run, i) <= last + (i == s->bands + 1)))
      return ref_refuse(run, "input upper_edge_hertz: edge %lld falls into bin %g of %g",
                        (long long)i, edge(run, i), last + 1);
  for (int64_t band = 0; band < s->bands; ++band) {
    double left = edge(run, band), centre = edge(run, band + 1), right = edge(run, band + 2);
    for (int64_t bin = 0; bin <= s->length / 2; ++bin) {
      double value = weight((double)bin, left, centre, right);
      ref_store(y, bin * y->strides[0] + band * y->strides[1], 1, 1, &value);
    }
  }
  return OPS_OK;
}

const ref_op ref_mel_weight_matrix = {sizeof(mel_state), prepare_mel, execute_mel, NULL, NULL};
