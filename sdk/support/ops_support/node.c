// SPDX-License-Identifier: Apache-2.0
//
// Reading node views. Nothing here allocates; everything returned is borrowed from the view.
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

const char *ops_reason_name(int32_t reason) {
  switch (reason) {
#define X(constant, name, when) \
  case constant:                \
    return name;
    OPS_REASON_LIST(X)
#undef X
    default:
      return "unknown reason";
  }
}

int32_t ops_str_equal(ops_str text, const char *other) {
  const size_t size = strlen(other);
  return text.size == size && (size == 0 || memcmp(text.data, other, size) == 0);
}

static const ops_operand *operand_at(const ops_operand *array, uint64_t count, uint64_t stride,
                                     uint64_t index) {
  if (index >= count) return NULL;
  const ops_operand *operand = OPS_AT(ops_operand, array, stride, index);
  return operand->type ? operand : NULL;
}

const ops_operand *ops_node_input(const ops_node *node, uint64_t index) {
  return operand_at(node->inputs, node->input_count, node->input_stride, index);
}

const ops_operand *ops_node_output(const ops_node *node, uint64_t index) {
  return operand_at(node->outputs, node->output_count, node->output_stride, index);
}

const ops_operand *ops_request_input(const ops_prepare_request *request, uint64_t index) {
  return operand_at(request->inputs, request->input_count, request->input_stride, index);
}

const ops_attribute *ops_node_attribute(const ops_node *node, const char *name) {
  for (uint64_t i = 0; i < node->attribute_count; ++i) {
    const ops_attribute *attribute =
        OPS_AT(ops_attribute, node->attributes, node->attribute_stride, i);
    if (ops_str_equal(attribute->name, name)) return attribute;
  }
  return NULL;
}

static const ops_attribute *attribute_of(const ops_node *node, const char *name, int32_t kind) {
  const ops_attribute *attribute = ops_node_attribute(node, name);
  return attribute && attribute->kind == kind ? attribute : NULL;
}

int64_t ops_node_int(const ops_node *node, const char *name, int64_t fallback) {
  const ops_attribute *attribute = attribute_of(node, name, OPS_ATTRIBUTE_INT);
  return attribute ? attribute->ints[0] : fallback;
}

float ops_node_float(const ops_node *node, const char *name, float fallback) {
  const ops_attribute *attribute = attribute_of(node, name, OPS_ATTRIBUTE_FLOAT);
  return attribute ? attribute->floats[0] : fallback;
}

ops_str ops_node_string(const ops_node *node, const char *name, ops_str fallback) {
  const ops_attribute *attribute = attribute_of(node, name, OPS_ATTRIBUTE_STRING);
  return attribute ? attribute->strings[0] : fallback;
}

const int64_t *ops_node_ints(const ops_node *node, const char *name, uint64_t *out_count) {
  const ops_attribute *attribute = attribute_of(node, name, OPS_ATTRIBUTE_INTS);
  *out_count = attribute ? attribute->count : 0;
  return attribute ? attribute->ints : NULL;
}

const float *ops_node_floats(const ops_node *node, const char *name, uint64_t *out_count) {
  const ops_attribute *attribute = attribute_of(node, name, OPS_ATTRIBUTE_FLOATS);
  *out_count = attribute ? attribute->count : 0;
  return attribute ? attribute->floats : NULL;
}

const ops_tensor *ops_operand_contents(const ops_operand *operand) {
  if (!operand || !operand->constant || operand->constant->format != OPS_CONSTANT_DENSE)
    return NULL;
  const ops_arg *dense = &operand->constant->dense;
  return dense->kind == OPS_ARG_TENSOR ? &dense->tensor : NULL;
}

int64_t ops_operand_ints(const ops_operand *operand, int64_t *out_values, int64_t capacity) {
  const ops_tensor *tensor = ops_operand_contents(operand);
  if (!tensor || tensor->rank > 1) return -1;
  const int64_t count = tensor->rank == 0 ? 1 : tensor->dims[0];
  const int64_t stride = tensor->rank == 0 ? 0 : tensor->strides ? tensor->strides[0] : 1;
  if (count > capacity) return -1;
  const char *data = ops_tensor_data(tensor);
  for (int64_t i = 0; i < count; ++i) {
    if (tensor->type == OPS_TYPE_INT64) {
      memcpy(&out_values[i], data + i * stride * 8, 8);
    } else if (tensor->type == OPS_TYPE_INT32) {
      int32_t value;
      memcpy(&value, data + i * stride * 4, 4);
      out_values[i] = value;
    } else {
      return -1;
    }
  }
  return count;
}
