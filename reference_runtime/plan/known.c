// SPDX-License-Identifier: Apache-2.0
//
// What is known of values while a plan is built: complete types, and contents of small integer
// tensors, both through the rules of infer/ with numbers in place of symbols.
#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"

const ops_type_info *rt_type_info_tensor(rt_bump *bump, int32_t kind, int32_t type,
                                         int32_t rank, const int64_t *dims) {
  ops_type_info *info = rt_bump_new(bump, 1, sizeof *info);
  int64_t *copy = rt_bump_copy(bump, dims, (uint64_t)rank, sizeof *copy);
  int64_t *strides = rt_bump_new(bump, (uint64_t)rank, sizeof *strides);
  if (!info || !copy || !strides) return NULL;
  ops_strides_contiguous(rank, dims, strides);
  *info = (ops_type_info){.struct_size = sizeof *info,
                          .kind = kind,
                          .type = type,
                          .rank = rank,
                          .dims = copy,
                          .strides = strides};
  return info;
}

int32_t rt_type_info_bytes(const ops_type_info *type, uint64_t *out_bytes, ops_error *error) {
  int64_t count;
  *out_bytes = 0;
  if (type->kind != OPS_VALUE_TENSOR) return OPS_OK;
  if (ops_checked_count(type->dims, type->rank, &count) &&
      ops_type_bytes(type->type, count, out_bytes))
    return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "a tensor of rank %d and type %s has more bytes than an address has",
                       type->rank, ops_type_name(type->type));
}

int rt_type_info_equal(const ops_type_info *a, const ops_type_info *b) {
  if (a->kind != b->kind || a->type != b->type || a->rank != b->rank) return 0;
  if (a->rank > 0 && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) != 0) return 0;
  if (!a->element || !b->element) return a->element == b->element;
  return rt_type_info_equal(a->element, b->element);
}

static const ops_type_info *type_of_constant(rt_builder *b, const rt_constant *constant) {
  const int32_t kind = constant->sparse                         ? OPS_VALUE_SPARSE
                       : constant->elem_type == OPS_TYPE_STRING ? OPS_VALUE_STRINGS
                                                                : OPS_VALUE_TENSOR;
  return rt_type_info_tensor(b->bump, kind, constant->elem_type, constant->rank,
                             constant->dims);
}

// NULL where there are none to read. A constant without elements has contents: none.
static const void *contents_of_constant(const rt_constant *constant) {
  static const uint64_t nothing = 0;
  const int is_empty = !constant->sparse && constant->elem_type != OPS_TYPE_STRING &&
                       constant->element_count == 0;
  return is_empty ? &nothing : constant->data;
}

int rt_builder_type(rt_builder *b, const rt_value *value, const ops_type_info **out_type) {
  rt_known *known = &b->plan->known[value->id];
  const rt_constant *constant = rt_value_constant(value);
  if (!known->type && constant) {
    known->type = type_of_constant(b, constant);
    known->contents = contents_of_constant(constant);
  }
  *out_type = known->type;
  return known->type != NULL;
}

// ---- Inference ------------------------------------------------------------------------------

static rt_dim *const_dims(rt_bump *bump, const int64_t *values, int64_t count) {
  rt_dim *dims = rt_bump_new(bump, (uint64_t)count, sizeof *dims);
  for (int64_t i = 0; dims && i < count; ++i) dims[i] = rt_dim_const(values[i]);
  return dims;
}

static int64_t read_int(int32_t type, const void *data, int64_t index) {
  if (type == OPS_TYPE_INT64) return ((const int64_t *)data)[index];
  if (type == OPS_TYPE_INT32) return ((const int32_t *)data)[index];
  return ((const uint8_t *)data)[index];  // bool
}

static int is_followed(int32_t type) {
  return type == OPS_TYPE_INT64 || type == OPS_TYPE_INT32 || type == OPS_TYPE_BOOL;
}

static void give_contents(rt_bump *bump, const ops_type_info *type, const void *contents,
                          rt_infer_input *input) {
  int64_t count = 0;
  if (type->kind != OPS_VALUE_TENSOR || !contents || !is_followed(type->type) ||
      type->rank > 1 || !ops_checked_count(type->dims, type->rank, &count) ||
      count > RT_INFER_MAX_CONTENTS)
    return;
  rt_dim *dims = rt_bump_new(bump, (uint64_t)count, sizeof *dims);
  if (!dims) return;
  for (int64_t i = 0; i < count; ++i) dims[i] = rt_dim_const(read_int(type->type, contents, i));
  input->contents = dims;
  input->contents_count = count;
}

static void give_input(rt_builder *b, rt_bump *bump, const rt_value *value, rt_type *type,
                       rt_infer_input *input) {
  const ops_type_info *known = NULL;
  *input = (rt_infer_input){.contents_count = -1};
  if (!value) return;
  *type = value->type;
  if (rt_builder_type(b, value, &known) && known->kind == OPS_VALUE_TENSOR)
    *type =
        rt_type_tensor(known->type, known->rank, const_dims(bump, known->dims, known->rank));
  input->type = type;
  input->constant = rt_value_constant(value);
  if (known) give_contents(bump, known, b->plan->known[value->id].contents, input);
}

static int32_t reserve_outputs(rt_builder *b, uint32_t count, ops_error *error) {
  if (count > b->inferred_capacity) {
    rt_infer_output *grown = realloc(b->inferred, count * sizeof *grown);
    if (!grown) return rt_builder_exhausted(error);
    b->inferred = grown;
    b->inferred_capacity = count;
  }
  for (uint32_t i = 0; i < count; ++i) {
    b->inferred[i].type = (rt_type){0};
    b->inferred[i].contents_count = -1;
  }
  return OPS_OK;
}

int32_t rt_builder_infer(rt_builder *b, const rt_unit *unit, ops_error *error) {
  OPS_RETURN_IF_ERROR(reserve_outputs(b, unit->output_count, error));
  const rt_node *node = unit->nodes[0];
  if (unit->group >= 0 || !rt_infer_has_rule(&node->op)) return OPS_OK;
  rt_bump scratch = {0};
  rt_infer_input *inputs = rt_bump_new(&scratch, node->operand_count, sizeof *inputs);
  rt_type *types = rt_bump_new(&scratch, node->operand_count, sizeof *types);
  int32_t status = OPS_OK;
  for (uint32_t i = 0; inputs && types && i < node->operand_count; ++i)
    give_input(b, &scratch, node->operands[i], &types[i], &inputs[i]);
  if (scratch.failed)
    status = rt_builder_exhausted(error);
  else
    status = rt_infer_node(node, NULL, inputs, b->inferred, error);
  rt_bump_finish(&scratch);
  return status;
}

uint64_t rt_builder_inferred_bytes(const rt_builder *b, uint32_t output) {
  const rt_type *type = &b->inferred[output].type;
  int64_t count = 0;
  uint64_t bytes = 0;
  if (type->kind != RT_TYPE_TENSOR || !rt_type_is_static(type, &count)) return 0;
  return ops_type_bytes(type->elem_type, count, &bytes) ? bytes : 0;
}

// ---- Folding --------------------------------------------------------------------------------

static int is_foldable(const rt_infer_output *output) {
  int64_t count = 0;
  if (output->type.kind != RT_TYPE_TENSOR || !is_followed(output->type.elem_type) ||
      !rt_type_is_static(&output->type, &count) || count != output->contents_count)
    return 0;
  for (int64_t i = 0; i < count; ++i)
    if (!rt_dim_is_const(output->contents[i])) return 0;
  return 1;
}

static void *contents_bytes(rt_bump *bump, const rt_infer_output *output) {
  static const uint64_t sizes[OPS_TYPE_COUNT] = {
      [OPS_TYPE_INT64] = 8, [OPS_TYPE_INT32] = 4, [OPS_TYPE_BOOL] = 1};
  const int32_t type = output->type.elem_type;
  unsigned char *bytes = rt_bump_new(bump, (uint64_t)output->contents_count, sizes[type]);
  for (int64_t i = 0; bytes && i < output->contents_count; ++i) {
    const int64_t wide = output->contents[i].value;
    const int32_t narrow = (int32_t)wide;
    if (type == OPS_TYPE_INT64)
      memcpy(bytes + i * 8, &wide, 8);
    else if (type == OPS_TYPE_INT32)
      memcpy(bytes + i * 4, &narrow, 4);
    else
      bytes[i] = wide != 0;
  }
  return bytes;
}

static int32_t fold_output(rt_builder *b, const rt_value *value, const rt_infer_output *output,
                           ops_error *error) {
  int64_t dims[OPS_MAX_RANK];
  for (int32_t i = 0; i < output->type.rank; ++i) dims[i] = output->type.dims[i].value;
  rt_known *known = &b->plan->known[value->id];
  known->contents = contents_bytes(b->bump, output);
  known->type = rt_type_info_tensor(b->bump, OPS_VALUE_TENSOR, output->type.elem_type,
                                    output->type.rank, dims);
  return known->contents && known->type ? OPS_OK : rt_builder_exhausted(error);
}

int32_t rt_builder_fold(rt_builder *b, const rt_unit *unit, int *out_folded, ops_error *error) {
  *out_folded = 0;
  if (unit->group >= 0) return OPS_OK;
  for (uint32_t i = 0; i < unit->output_count; ++i)
    if (unit->outputs[i] && !is_foldable(&b->inferred[i])) return OPS_OK;
  for (uint32_t i = 0; i < unit->output_count; ++i)
    if (unit->outputs[i])
      OPS_RETURN_IF_ERROR(fold_output(b, unit->outputs[i], &b->inferred[i], error));
  *out_folded = 1;
  return OPS_OK;
}
