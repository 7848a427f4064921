// SPDX-License-Identifier: Apache-2.0
//
// Operators on single features: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer,
// Normalizer, OneHotEncoder, Scaler.
#include <math.h>

#include "ml.h"
#include "ml_mapping.h"
#include "ml_operators.h"
#include "traverse.h"

// ---- ArrayFeatureExtractor: columns chosen along the last axis -----------------------------

static int32_t prepare_extractor(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0], *y = &p->inputs[1];
  int64_t dims[OPS_MAX_RANK] = {1};
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
  int32_t rank = x->rank == 1 ? 2 : x->rank;
  for (int32_t i = 0; i + 1 < x->rank; ++i) dims[i] = x->dims[i];
  dims[rank - 1] = ref_count(y->dims, y->rank);
  return ref_set_shape(p, 0, rank, dims);
}

static int32_t execute_extractor(ref_run *run) {
  const ref_view *x = &run->inputs[0], *indices = &run->inputs[1], *y = &run->outputs[0];
  int32_t axis = x->rank - 1;
  int64_t features = x->dims[axis];
  for (int64_t i = 0; i < indices->count; ++i) {
    int64_t feature = ref_int_at(indices, ref_offset_of(indices, i));
    if (feature < 0 || feature >= features)
      return ref_refuse(run, "input Y: element %lld is %lld, expected 0 to %lld", (long long)i,
                        (long long)feature, (long long)features - 1);
  }
  for (int64_t i = 0; i < indices->count; ++i) {
    int64_t feature = ref_int_at(indices, ref_offset_of(indices, i));
    // A row alone has become a matrix of one row: its leading strides are skipped.
    ref_block to = {y, i * y->strides[y->rank - 1], y->strides + (y->rank - x->rank)};
    ref_block from = {x, feature * x->strides[axis], x->strides};
    RETURN_IF_ERROR(ref_move_block(to, from, axis, x->dims, run->error));
  }
  return OPS_OK;
}

const ref_op ref_array_feature_extractor = {0, prepare_extractor, execute_extractor, NULL,
                                            NULL};

// ---- Binarizer -----------------------------------------------------------------------------

static int32_t prepare_same(ref_prepare *p) {
  return ref_same_shape(p, 0, 0);
}

static int32_t execute_binarizer(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  double threshold = ref_attr_float(run->kernel, "threshold", 0);
  for (int64_t i = 0; i < x->count; ++i) {
    double value = ref_at(x, ref_offset_of(x, i)) > threshold;
    ref_store(y, ref_offset_of(y, i), 1, 1, &value);
  }
  return OPS_OK;
}

const ref_op ref_binarizer = {0, prepare_same, execute_binarizer, NULL, NULL};

// ---- FeatureVectorizer: columns cut or filled up with zeros to inputdimensions -------------

static int64_t width_of(const ops_kernel *kernel, uint64_t input, int64_t width) {
  int64_t count;
  const int64_t *wanted = ref_attr_ints(kernel, "inputdimensions", &count);
  return count > 0 ? wanted[input] : width;
}

static int32_t prepare_vectorizer(ref_prepare *p) {
  int64_t count, rows = 0, columns = 0;
  const int64_t *wanted = ref_attr_ints(p->kernel, "inputdimensions", &count);
  if (count > 0)
    RETURN_IF_ERROR(ref_ml_need_count(p, "inputdimensions", count, (int64_t)p->input_count));
  for (uint64_t k = 0; k < p->input_count; ++k) {
    const ref_shape *x = &p->inputs[k];
    RETURN_IF_ERROR(ref_need_rank(p, k, 1, 2));
    int64_t mine = x->rank == 2 ? x->dims[0] : 1;
    if (k == 0) rows = mine;
    if (mine != rows)
      return ref_refuse(p, "input %u has %lld rows, expected %lld as the first", (unsigned)k,
                        (long long)mine, (long long)rows);
    int64_t width = count > 0 ? wanted[k] : x->dims[x->rank - 1];
    if (width < 0 || __builtin_add_overflow(columns, width, &columns))
      return ref_refuse(p, "attribute inputdimensions: entry %u is %lld", (unsigned)k,
                        (long long)width);
  }
  return ref_set_shape(p, 0, 2, (int64_t[]){rows, columns});
}

static int32_t execute_vectorizer(ref_run *run) {
  const ref_view *y = &run->outputs[0];
  for (int64_t n = 0; n < y->dims[0]; ++n) {
    int64_t column = 0;
    for (uint64_t k = 0; k < run->input_count; ++k) {
      const ref_view *x = &run->inputs[k];
      int32_t axis = x->rank - 1;
      int64_t width = width_of(run->kernel, k, x->dims[axis]);
      for (int64_t i = 0; i < width; ++i) {
        double value = 0;
        if (i < x->dims[axis])
          value = ref_at(x, (axis > 0 ? n * x->strides[0] : 0) + i * x->strides[axis]);
        ref_store(y, n * y->strides[0] + column++ * y->strides[1], 1, 1, &value);
      }
    }
  }
  return OPS_OK;
}

const ref_op ref_feature_vectorizer = {0, prepare_vectorizer, execute_vectorizer, NULL, NULL};

// ---- Imputer -------------------------------------------------------------------------------

typedef struct imputer_state {
  const float *reals;
  const int64_t *integers;
  int64_t count;
} imputer_state;

static int32_t prepare_imputer(ref_prepare *p) {
  imputer_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  int is_real = ref_element_of(x->type)->load_int == NULL;
  const char *name = is_real ? "imputed_value_floats" : "imputed_value_int64s";
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
  if (is_real)
    s->reals = ref_attr_floats(p->kernel, name, &s->count);
  else
    s->integers = ref_attr_ints(p->kernel, name, &s->count);
  if (s->count != 1)
    RETURN_IF_ERROR(ref_ml_need_count(p, name, s->count, x->dims[x->rank - 1]));
  return ref_same_shape(p, 0, 0);
}

static void impute(const ref_run *run, int64_t from, int64_t to, int64_t feature) {
  const imputer_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  if (s->count == 1) feature = 0;
  if (s->integers != NULL) {
    int64_t value = ref_int_at(x, from);
    if (value == ref_attr_int(run->kernel, "replaced_value_int64", 0))
      value = s->integers[feature];
    ref_store_int(y, to, 1, 1, &value);
    return;
  }
  double value = ref_at(x, from), old = ref_attr_float(run->kernel, "replaced_value_float", 0);
  if (value == old || (isnan(value) && isnan(old))) value = (double)s->reals[feature];
  ref_store(y, to, 1, 1, &value);
}

static int32_t execute_imputer(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  for (int64_t i = 0; i < x->count; ++i)
    impute(run, ref_offset_of(x, i), ref_offset_of(y, i), i % x->dims[x->rank - 1]);
  return OPS_OK;
}

const ref_op ref_imputer = {sizeof(imputer_state), prepare_imputer, execute_imputer, NULL,
                            NULL};

// ---- Normalizer ----------------------------------------------------------------------------

typedef enum norm_kind { NORM_MAX, NORM_L1, NORM_L2, NORM_COUNT } norm_kind;

typedef struct norm_state {
  int32_t kind;
  uint64_t row_at;
} norm_state;

static int32_t prepare_normalizer(ref_prepare *p) {
  static const char *const names[NORM_COUNT] = {"MAX", "L1", "L2"};
  norm_state *s = p->state;
  int64_t rows, features;
  RETURN_IF_ERROR(ref_ml_batch(p, &rows, &features));
  for (s->kind = 0; s->kind < NORM_COUNT; ++s->kind)
    if (ref_attr_is(p->kernel, "norm", names[s->kind], "MAX")) break;
  if (s->kind == NORM_COUNT) return ref_refuse(p, "attribute norm: expected MAX, L1 or L2");
  s->row_at = ref_reserve_reals(p, features);
  return ref_same_shape(p, 0, 0);
}

static double divisor(int32_t kind, const double *x, int64_t n) {
  double sum = 0, most = n > 0 ? x[0] : 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += kind == NORM_L1 ? fabs(x[i]) : x[i] * x[i];
    most = x[i] > most ? x[i] : most;
  }
  return kind == NORM_MAX ? most : kind == NORM_L1 ? sum : sqrt(sum);
}

static int32_t execute_normalizer(ref_run *run) {
  const norm_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  double *row = (double *)((char *)run->workspace + s->row_at);
  int64_t n = x->dims[x->rank - 1], rows = ref_ml_row_count(x);
  for (int64_t r = 0; r < rows; ++r) {
    ref_ml_load_row(x, r, row);
    double by = divisor(s->kind, row, n);
    for (int64_t i = 0; by != 0 && i < n; ++i) row[i] /= by;
    const ref_view *y = &run->outputs[0];
    if (n > 0)
      ref_store(y, x->rank == 2 ? r * y->strides[0] : 0, y->strides[x->rank - 1], n, row);
  }
  return OPS_OK;
}

const ref_op ref_normalizer = {sizeof(norm_state), prepare_normalizer, execute_normalizer, NULL,
                               NULL};

// ---- OneHotEncoder -------------------------------------------------------------------------

typedef struct encoder_state {
  ref_mapping mapping;
} encoder_state;

static int32_t prepare_one_hot(ref_prepare *p) {
  encoder_state *s = p->state;
  const ref_shape *x = &p->inputs[0];
  const char *name = x->type == OPS_TYPE_STRING ? "cats_strings" : "cats_int64s";
  ref_list categories;
  int64_t dims[OPS_MAX_RANK + 1];
  RETURN_IF_ERROR(ref_list_read(p, name, &categories));
  if (categories.count == 0)
    return ref_refuse(p, "attribute %s: expected the categories for the type of input X", name);
  RETURN_IF_ERROR(ref_mapping_build(p, &categories, 0, &s->mapping));
  for (int32_t i = 0; i < x->rank; ++i) dims[i] = x->dims[i];
  dims[x->rank] = categories.count;
  return ref_set_shape(p, 0, x->rank + 1, dims);
}

// The category of an element; numbers are truncated to integers.
static int32_t category(const ref_run *run, int64_t position, int64_t *out) {
  const encoder_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  int64_t at = ref_offset_of(x, position);
  if (x->type == OPS_TYPE_STRING || ref_is_integer(x))
    return ref_mapping_find(&s->mapping, x, at, out, run->error);
  double value = ref_at(x, at);
  *out = isnan(value) ? -1 : ref_mapping_find_int(&s->mapping, ref_truncate(value));
  return OPS_OK;
}

static int32_t execute_one_hot(ref_run *run) {
  const encoder_state *s = run->state;
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int strict = ref_attr_int(run->kernel, "zeros", 1) == 0;
  int64_t width = s->mapping.count, hot;
  for (int64_t i = 0; i < x->count; ++i) {
    RETURN_IF_ERROR(category(run, i, &hot));
    if (hot < 0 && strict)
      return ref_refuse(run,
                        "input X: element %lld is none of the categories, and attribute "
                        "zeros is 0",
                        (long long)i);
    for (int64_t k = 0; k < width; ++k) {
      double value = k == hot;
      ref_store(y, ref_offset_of(y, i * width + k), 1, 1, &value);
    }
  }
  return OPS_OK;
}

const ref_op ref_one_hot_encoder = {sizeof(encoder_state), prepare_one_hot, execute_one_hot,
                                    NULL, NULL};

// ---- Scaler: (x - offset) * scale ----------------------------------------------------------

static int32_t prepare_scaler(ref_prepare *p) {
  static const char *const names[] = {"offset", "scale"};
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, OPS_MAX_RANK));
  for (int i = 0; i < 2; ++i) {
    int64_t count;
    ref_attr_floats(p->kernel, names[i], &count);
    if (count != 1)
      RETURN_IF_ERROR(ref_ml_need_count(p, names[i], count, x->dims[x->rank - 1]));
  }
  return ref_same_shape(p, 0, 0);
}

static int32_t execute_scaler(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  int64_t offsets, scales;
  const float *offset = ref_attr_floats(run->kernel, "offset", &offsets);
  const float *scale = ref_attr_floats(run->kernel, "scale", &scales);
  for (int64_t i = 0; i < x->count; ++i) {
    int64_t feature = i % x->dims[x->rank - 1];
    double value =
        (ref_at(x, ref_offset_of(x, i)) - (double)offset[offsets == 1 ? 0 : feature]) *
        (double)scale[scales == 1 ? 0 : feature];
    ref_store(y, ref_offset_of(y, i), 1, 1, &value);
  }
  return OPS_OK;
}

const ref_op ref_scaler = {0, prepare_scaler, execute_scaler, NULL, NULL};
