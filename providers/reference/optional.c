// SPDX-License-Identifier: Apache-2.0
//
// Optional, OptionalHasElement, OptionalGetElement. What is no optional counts as one that has
// an element.
#include "traverse.h"

static const ops_value_api *values_of(const ref_run *run) {
  return run->kernel->api->values;
}

// What is inside input 0: the element of an optional, or the input itself. ABSENT: nothing.
static int32_t content_of(ref_run *run, ops_arg *out) {
  *out = (ops_arg){.kind = OPS_ARG_ABSENT};
  if (!ref_given(run, 0)) return OPS_OK;
  const ref_view *x = &run->inputs[0];
  if (x->value != NULL && values_of(run)->kind(x->value) == OPS_VALUE_OPTIONAL)
    return values_of(run)->optional_get(x->value, out, run->error);
  *out = ref_arg_of(x);
  return OPS_OK;
}

static int32_t prepare_optional(ref_prepare *p) {
  if (ref_has(p, 0) || ref_attr(p->kernel, "type") != NULL) return OPS_OK;
  return ref_refuse(p, "expected an input, or the attribute type of an empty optional");
}

static int32_t execute_optional(ref_run *run) {
  ops_arg item = {.kind = OPS_ARG_ABSENT};
  if (ref_given(run, 0)) item = ref_arg_of(&run->inputs[0]);
  return values_of(run)->optional_set(run->outputs[0].value, &item, run->error);
}

static int32_t prepare_has(ref_prepare *p) {
  return ref_set_shape(p, 0, 0, NULL);
}

static int32_t execute_has(ref_run *run) {
  ops_arg content;
  RETURN_IF_ERROR(content_of(run, &content));
  const int64_t has = content.kind != OPS_ARG_ABSENT;
  ref_store_int(&run->outputs[0], 0, 1, 1, &has);
  return OPS_OK;
}

static int32_t need_content(ref_run *run, ops_arg *out) {
  RETURN_IF_ERROR(content_of(run, out));
  if (out->kind != OPS_ARG_ABSENT) return OPS_OK;
  return ref_refuse(run, "the optional is empty; ask OptionalHasElement first");
}

// The element is a tensor: of the input's own shape, or of one that only running tells.
static int32_t prepare_get_tensor(ref_prepare *p) {
  const ref_shape *x = &p->inputs[0];
  if (x->kind == OPS_VALUE_TENSOR || x->kind == OPS_VALUE_STRINGS)
    return ref_same_shape(p, 0, 0);
  p->outputs[0].type = x->element;
  p->outputs[0].by_execute = 1;
  if (x->element != OPS_TYPE_UNDEFINED) return OPS_OK;
  return ref_refuse(p, "input input: the type of its element is not known");
}

static int32_t execute_get_tensor(ref_run *run) {
  ops_arg content;
  ref_view element;
  RETURN_IF_ERROR(need_content(run, &content));
  if (ref_view_init(&element, &content, values_of(run)) != OPS_OK || element.element == NULL)
    return ref_refuse(run, "the element is no tensor");
  const int open = run->inputs[0].element == NULL;
  if (open) RETURN_IF_ERROR(ref_set_output(run, 0, element.rank, element.dims));
  const ref_view *y = &run->outputs[0];
  return ref_move_block((ref_block){y, 0, y->strides},
                        (ref_block){&element, 0, element.strides}, y->rank, y->dims,
                        run->error);
}

static int32_t prepare_get_object(ref_prepare *p) {
  (void)p;
  return OPS_OK;
}

static int32_t execute_get_object(ref_run *run) {
  ops_arg content;
  RETURN_IF_ERROR(need_content(run, &content));
  if (content.kind != OPS_ARG_VALUE) return ref_refuse(run, "the element is a tensor");
  return values_of(run)->assign(run->outputs[0].value, content.value, run->error);
}

const ref_op ref_optional = {0, prepare_optional, execute_optional, NULL, NULL};
const ref_op ref_optional_has_element = {0, prepare_has, execute_has, NULL, NULL};
const ref_op ref_optional_get_tensor = {0, prepare_get_tensor, execute_get_tensor, NULL, NULL};
const ref_op ref_optional_get_object = {0, prepare_get_object, execute_get_object, NULL, NULL};
