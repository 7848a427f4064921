// SPDX-License-Identifier: Apache-2.0
//
// What operators ask of their node, of its inputs' shapes and contents, and of the run.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel.h"

static int same_text(ops_str text, const char *other) {
  return text.size == strlen(other) && memcmp(text.data, other, text.size) == 0;
}

// ---- Attributes ----------------------------------------------------------------------------

const ref_attribute *ref_attr(const ops_kernel *kernel, const char *name) {
  for (uint64_t i = 0; i < kernel->attribute_count; ++i)
    if (same_text(kernel->attributes[i].name, name)) return &kernel->attributes[i];
  return NULL;
}

int64_t ref_attr_int(const ops_kernel *kernel, const char *name, int64_t otherwise) {
  const ref_attribute *attribute = ref_attr(kernel, name);
  return attribute != NULL && attribute->kind == OPS_ATTRIBUTE_INT ? attribute->ints[0]
                                                                   : otherwise;
}

double ref_attr_float(const ops_kernel *kernel, const char *name, float otherwise) {
  const ref_attribute *attribute = ref_attr(kernel, name);
  return attribute != NULL && attribute->kind == OPS_ATTRIBUTE_FLOAT
             ? (double)attribute->floats[0]
             : (double)otherwise;
}

const float *ref_attr_floats(const ops_kernel *kernel, const char *name, int64_t *out_count) {
  const ref_attribute *a = ref_attr(kernel, name);
  int found = a != NULL && a->floats != NULL;
  *out_count = found ? a->count : 0;
  return found ? a->floats : NULL;
}

const int64_t *ref_attr_ints(const ops_kernel *kernel, const char *name, int64_t *out_count) {
  const ref_attribute *a = ref_attr(kernel, name);
  int found = a != NULL && a->ints != NULL;
  *out_count = found ? a->count : 0;
  return found ? a->ints : NULL;
}

const ops_str *ref_attr_strings(const ops_kernel *kernel, const char *name,
                                int64_t *out_count) {
  const ref_attribute *a = ref_attr(kernel, name);
  int found = a != NULL && a->strings != NULL;
  *out_count = found ? a->count : 0;
  return found ? a->strings : NULL;
}

int ref_same_text(ops_str a, ops_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

int ref_attr_is(const ops_kernel *kernel, const char *name, const char *text,
                const char *otherwise) {
  const ref_attribute *attribute = ref_attr(kernel, name);
  if (attribute == NULL || attribute->kind != OPS_ATTRIBUTE_STRING)
    return strcmp(text, otherwise) == 0;
  return same_text(attribute->strings[0], text);
}

int32_t ref_attr_tensor(const ops_kernel *kernel, const ref_attribute *attribute,
                        ref_view *out) {
  if (attribute->strings_tensor != NULL)
    return ref_view_init(out,
                         &(ops_arg){.kind = OPS_ARG_VALUE, .value = attribute->strings_tensor},
                         kernel->api->values);
  if (attribute->tensor == NULL) return OPS_ERROR_INVALID_ARGUMENT;
  *out = *attribute->tensor;
  return OPS_OK;
}

int64_t ref_node_int(const ops_node *node, const char *name, int64_t otherwise) {
  for (uint64_t i = 0; i < node->attribute_count; ++i) {
    const ops_attribute *attribute =
        (const void *)((const char *)node->attributes + i * node->attribute_stride);
    if (attribute->kind == OPS_ATTRIBUTE_INT && same_text(attribute->name, name))
      return attribute->ints[0];
  }
  return otherwise;
}

int ref_is_number(const ops_type_info *type) {
  const ref_element *element = ref_element_of(type->type);
  return type->kind == OPS_VALUE_TENSOR && element != NULL && element->load != NULL;
}

// ---- Shapes -------------------------------------------------------------------------------

int ref_has(const ref_prepare *prepare, uint64_t input) {
  return input < prepare->input_count && prepare->inputs[input].present;
}

const char *ref_input_name(const ops_kernel *kernel, uint64_t input) {
  const ops_kernel_def *def = kernel->def;
  if (def->input_count == 0) return "";
  return def->inputs[input < def->input_count ? input : def->input_count - 1].name.data;
}

int32_t ref_attr_choose(const ref_prepare *p, const char *name, const char *const *words,
                        int32_t count, const char *otherwise, int32_t *out) {
  char all[200] = "";
  size_t used = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (ref_attr_is(p->kernel, name, words[i], otherwise)) {
      *out = i;
      return OPS_OK;
    }
    if (used < sizeof all)
      used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", words[i]);
  }
  return ref_refuse(p, "attribute %s: expected one of %s", name, all);
}

int32_t ref_need_rank(const ref_prepare *prepare, uint64_t input, int32_t least, int32_t most) {
  int32_t rank = prepare->inputs[input].rank;
  if (rank >= least && rank <= most) return OPS_OK;
  const char *name = ref_input_name(prepare->kernel, input);
  if (least == most)
    return ref_refuse(prepare, "input %s: expected rank %d, found %d", name, least, rank);
  return ref_refuse(prepare, "input %s: expected a rank of %d to %d, found %d", name, least,
                    most, rank);
}

int32_t ref_need_dims(const ref_prepare *prepare, uint64_t input, int32_t rank,
                      const int64_t *dims) {
  RETURN_IF_ERROR(ref_need_rank(prepare, input, rank, rank));
  for (int32_t i = 0; i < rank; ++i)
    if (prepare->inputs[input].dims[i] != dims[i])
      return ref_refuse(prepare, "input %s: dimension %d is %lld, expected %lld",
                        ref_input_name(prepare->kernel, input), i,
                        (long long)prepare->inputs[input].dims[i], (long long)dims[i]);
  return OPS_OK;
}

int32_t ref_set_shape(ref_prepare *prepare, uint64_t output, int32_t rank,
                      const int64_t *dims) {
  if (output >= prepare->output_count) return OPS_OK;
  if (rank > OPS_MAX_RANK)
    return ref_refuse(prepare, "output %u would have rank %d, at most %d is possible",
                      (unsigned)output, rank, OPS_MAX_RANK);
  prepare->outputs[output].rank = rank;
  for (int32_t i = 0; i < rank; ++i) prepare->outputs[output].dims[i] = dims[i];
  return OPS_OK;
}

int32_t ref_same_shape(ref_prepare *prepare, uint64_t output, uint64_t input) {
  return ref_set_shape(prepare, output, prepare->inputs[input].rank,
                       prepare->inputs[input].dims);
}

int32_t ref_broadcast(ref_prepare *prepare, uint64_t first) {
  ref_shape *out = &prepare->outputs[0];
  out->rank = 0;
  for (uint64_t k = first; k < prepare->input_count; ++k)
    if (prepare->inputs[k].present && prepare->inputs[k].rank > out->rank)
      out->rank = prepare->inputs[k].rank;
  for (int32_t i = 0; i < out->rank; ++i) out->dims[i] = 1;
  for (uint64_t k = first; k < prepare->input_count; ++k) {
    const ref_shape *in = &prepare->inputs[k];
    if (!in->present) continue;
    for (int32_t i = 0; i < in->rank; ++i) {
      int64_t *dim = &out->dims[out->rank - in->rank + i];
      if (*dim == 1) *dim = in->dims[i];
      if (in->dims[i] != 1 && in->dims[i] != *dim)
        return ref_refuse(
            prepare,
            "input %s: dimension %d is %lld, expected 1 or %lld to broadcast with "
            "the inputs before it",
            ref_input_name(prepare->kernel, k), i, (long long)in->dims[i], (long long)*dim);
    }
  }
  return OPS_OK;
}

static int same_shape(const ref_shape *a, const ref_shape *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank) == 0;
}

int32_t ref_need_equal_shapes(ref_prepare *prepare) {
  for (uint64_t k = 1; k < prepare->input_count; ++k)
    if (!same_shape(&prepare->inputs[k], &prepare->inputs[0]))
      return ref_refuse(prepare,
                        "input %u: expected the shape of the first input; this version of the "
                        "operator does not broadcast",
                        (unsigned)k);
  return ref_same_shape(prepare, 0, 0);
}

int32_t ref_broadcast_to_first(ref_prepare *prepare, int64_t axis, int32_t *out_trailing) {
  const ref_shape *a = &prepare->inputs[0], *b = &prepare->inputs[1];
  const char *name = ref_input_name(prepare->kernel, 1);
  if (b->rank > a->rank)
    return ref_refuse(prepare, "input %s: expected a rank of at most %d, found %d", name,
                      a->rank, b->rank);
  int is_single = ref_count(b->dims, b->rank) == 1;
  int32_t first = a->rank - b->rank;
  if (axis != REF_SUFFIX && !is_single) {
    if (axis < 0 || axis > first)
      return ref_refuse(prepare,
                        "axis %lld: expected 0 to %d, so that the dimensions of input %s find "
                        "theirs",
                        (long long)axis, first, name);
    first = (int32_t)axis;
  }
  for (int32_t i = 0; i < b->rank; ++i)
    if (b->dims[i] != 1 && b->dims[i] != a->dims[first + i])
      return ref_refuse(prepare, "input %s: dimension %d is %lld, expected 1 or %lld", name, i,
                        (long long)b->dims[i], (long long)a->dims[first + i]);
  *out_trailing = a->rank - b->rank - first;
  return ref_same_shape(prepare, 0, 0);
}

int32_t ref_broadcast_by_attributes(ref_prepare *prepare, int32_t *out_trailing) {
  *out_trailing = 0;
  if (ref_attr_int(prepare->kernel, "broadcast", 0) == 0) return ref_need_equal_shapes(prepare);
  int64_t axis = REF_SUFFIX;
  if (ref_attr(prepare->kernel, "axis") != NULL) {
    axis = ref_attr_int(prepare->kernel, "axis", 0);
    if (axis < 0)
      return ref_refuse(prepare, "attribute axis: expected 0 or more, found %lld",
                        (long long)axis);
  }
  return ref_broadcast_to_first(prepare, axis, out_trailing);
}

int32_t ref_axis(const ref_prepare *prepare, int64_t axis, int32_t rank, int32_t *out_axis) {
  if (axis < -rank || axis >= rank)
    return ref_refuse(prepare, "axis %lld is outside [-%d, %d]", (long long)axis, rank,
                      rank - 1);
  *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
  return OPS_OK;
}

// ---- Contents ------------------------------------------------------------------------------

int32_t ref_contents_view(const ref_prepare *prepare, uint64_t input, ref_view *out_view) {
  const ops_prepare_request *request = prepare->request;
  const ops_operand *operand =
      (const void *)((const char *)request->inputs + input * request->input_stride);
  const ops_constant *constant = operand->constant;
  if (constant == NULL || constant->format != OPS_CONSTANT_DENSE ||
      ref_view_init(out_view, &constant->dense, prepare->kernel->api->values) != OPS_OK ||
      !out_view->present || out_view->element == NULL)
    return ref_refuse(prepare, "input %s: its contents must be given to prepare",
                      ref_input_name(prepare->kernel, input));
  return OPS_OK;
}

static int32_t view_list(const ref_prepare *prepare, uint64_t input, int64_t capacity,
                         ref_view *view) {
  const char *name = ref_input_name(prepare->kernel, input);
  RETURN_IF_ERROR(ref_contents_view(prepare, input, view));
  if (view->rank > 1)
    return ref_refuse(prepare, "input %s: expected a rank of at most 1, found %d", name,
                      view->rank);
  if (view->count > capacity)
    return ref_refuse(prepare, "input %s: expected at most %lld numbers, found %lld", name,
                      (long long)capacity, (long long)view->count);
  return OPS_OK;
}

int32_t ref_contents(const ref_prepare *prepare, uint64_t input, int64_t *out, int64_t capacity,
                     int64_t *out_count) {
  ref_view view;
  RETURN_IF_ERROR(view_list(prepare, input, capacity, &view));
  if (view.element->load_int == NULL)
    return ref_refuse(prepare, "input %s: expected integers, found %s",
                      ref_input_name(prepare->kernel, input), view.element->name);
  if (view.count > 0)
    ref_load_int(&view, 0, view.rank == 1 ? view.strides[0] : 1, view.count, out);
  *out_count = view.count;
  return OPS_OK;
}

int32_t ref_whole_contents(const ref_prepare *prepare, uint64_t input, int64_t *out,
                           int64_t capacity, int64_t *out_count) {
  ref_view view;
  RETURN_IF_ERROR(view_list(prepare, input, capacity, &view));
  if (ref_is_integer(&view)) return ref_contents(prepare, input, out, capacity, out_count);
  for (int64_t i = 0; i < view.count; ++i) {
    double value = ref_at(&view, view.rank == 1 ? i * view.strides[0] : i);
    if (!(fabs(value) <= 0x1p53) || value != trunc(value))
      return ref_refuse(prepare, "input %s: entry %lld is %g, expected a whole number",
                        ref_input_name(prepare->kernel, input), (long long)i, value);
    out[i] = (int64_t)value;
  }
  *out_count = view.count;
  return OPS_OK;
}

int32_t ref_axes(const ref_prepare *prepare, uint64_t input, int32_t rank, int32_t *out_axes,
                 int32_t *out_count, int *out_given) {
  int64_t axes[OPS_MAX_RANK];
  int64_t count = 0;
  const ref_attribute *attribute = ref_attr(prepare->kernel, "axes");
  *out_given = 1;
  *out_count = 0;
  if (ref_has(prepare, input)) {
    RETURN_IF_ERROR(ref_contents(prepare, input, axes, OPS_MAX_RANK, &count));
  } else if (attribute != NULL && attribute->kind == OPS_ATTRIBUTE_INTS) {
    count = attribute->count;
    if (count > OPS_MAX_RANK)
      return ref_refuse(prepare, "attribute axes has %lld entries, at most %d are possible",
                        (long long)count, OPS_MAX_RANK);
    for (int64_t i = 0; i < count; ++i) axes[i] = attribute->ints[i];
  } else {
    *out_given = 0;
  }
  uint64_t seen = 0;
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(ref_axis(prepare, axes[i], rank, &out_axes[i]));
    if (seen >> out_axes[i] & 1)
      return ref_refuse(prepare, "axis %lld is given twice", (long long)axes[i]);
    seen |= (uint64_t)1 << out_axes[i];
  }
  *out_count = (int32_t)count;
  return OPS_OK;
}

uint64_t ref_reserve(ref_prepare *prepare, uint64_t bytes) {
  uint64_t start = prepare->workspace;
  if (__builtin_add_overflow(start, bytes, &prepare->workspace) ||
      __builtin_add_overflow(prepare->workspace, 63, &prepare->workspace))
    prepare->workspace = UINT64_MAX;
  prepare->workspace -= prepare->workspace % 64;
  return start;
}

uint64_t ref_reserve_reals(ref_prepare *prepare, int64_t count) {
  uint64_t bytes;
  if (__builtin_mul_overflow((uint64_t)count, sizeof(double), &bytes)) bytes = UINT64_MAX;
  return ref_reserve(prepare, bytes);
}

// ---- Execute -------------------------------------------------------------------------------

int ref_given(const ref_run *run, uint64_t input) {
  return input < run->input_count && run->inputs[input].present;
}

const ref_view *ref_input_or_null(const ref_run *run, uint64_t input) {
  return ref_given(run, input) ? &run->inputs[input] : NULL;
}

int ref_wanted(const ref_run *run, uint64_t output) {
  return output < run->output_count && run->outputs[output].present;
}

int ref_asked_for(const ref_run *run, uint64_t output) {
  return output < run->output_count &&
         !(output < 64 && run->kernel->absent_outputs >> output & 1);
}

int32_t ref_set_output(ref_run *run, uint64_t output, int32_t rank, const int64_t *dims) {
  if (output >= run->output_count) return OPS_OK;
  const ops_kernel *kernel = run->kernel;
  // A host value arrives before its shape is known; it needs no place from the host.
  ops_arg arg = {.kind = OPS_ARG_VALUE, .value = run->outputs[output].value};
  if (arg.value == NULL)
    RETURN_IF_ERROR(kernel->api->set_output_shape(kernel->host, run->call, output, rank, dims,
                                                  &arg, run->error));
  if (arg.kind == OPS_ARG_VALUE && kernel->api->values->kind(arg.value) == OPS_VALUE_STRINGS)
    RETURN_IF_ERROR(kernel->api->values->strings_resize(arg.value, rank, dims, run->error));
  return ref_view_init(&run->outputs[output], &arg, kernel->api->values);
}

ops_arg ref_arg_of(const ref_view *view) {
  if (!view->present) return (ops_arg){.kind = OPS_ARG_ABSENT};
  if (view->value != NULL) return (ops_arg){.kind = OPS_ARG_VALUE, .value = view->value};
  const int64_t bits = view->origin * view->element->bits;
  ops_arg arg = {.kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_HOST};
  arg.tensor = (ops_tensor){.dims = view->dims,
                            .strides = view->strides,
                            .memory = view->data,
                            .byte_offset = (uint64_t)(bits / 8),
                            .bit_offset = (uint32_t)(bits % 8),
                            .type = view->type,
                            .rank = view->rank};
  return arg;
}

const ref_noise *ref_noise_in(const ref_run *run) {
  return &run->kernel->device->instance->noise;
}

double ref_tie_shift(const ref_run *run) {
  return run->kernel->device->instance->tie_shift;
}

void ref_parallel(const ref_run *run, int64_t count, int64_t grain, ops_parallel_body body,
                  void *context) {
  if (count <= 0) return;
  run->kernel->api->parallel_for(run->kernel->host, count, grain, body, context);
}
