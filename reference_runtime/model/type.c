// SPDX-License-Identifier: Apache-2.0
//
// TypeProto -> rt_model_type.
#include <inttypes.h>
#include <ops_support/error.h>

#include "model/decode.h"

// Optimisers leave types of intermediate values at 0, undefined; the checker judges that where
// it matters.
static int32_t check_elem_type(rt_model_decoder *decoder, int32_t elem_type) {
  if (elem_type >= 0 && elem_type < OPS_TYPE_COUNT) return OPS_OK;
  return ops_error_set_cause(decoder->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_TYPE_UNSUPPORTED,
                             "element type %" PRId32
                             " is not known; expected 1 to %d, as "
                             "TensorProto.DataType numbers them",
                             elem_type, OPS_TYPE_COUNT - 1);
}

static int32_t decode_dim(rt_model_decoder *decoder,
                          const Onnx__TensorShapeProto__Dimension *proto, rt_model_dim *out) {
  out->value = -1;
  out->denotation = rt_model_str(proto->denotation);
  if (proto->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
    out->param = rt_model_str(proto->dim_param);
  if (proto->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) return OPS_OK;
  // Exporters write -1 for a dimension they do not know.
  if (proto->dim_value < -1)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_FILE,
        "a dimension is %" PRId64 "; expected 0 or more, or -1 for unknown", proto->dim_value);
  out->value = proto->dim_value;
  return OPS_OK;
}

static int32_t decode_shape(rt_model_decoder *decoder, const Onnx__TensorShapeProto *proto,
                            rt_model_type *out) {
  if (!proto) return OPS_OK;
  if (proto->n_dim > OPS_MAX_RANK)
    return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_WRONG_RANK,
                               "a shape has %zu dimensions; expected at most %d (OPS_MAX_RANK)",
                               proto->n_dim, OPS_MAX_RANK);
  rt_model_dim *dims = rt_model_decoder_alloc(decoder, proto->n_dim, sizeof *dims);
  if (!dims) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < proto->n_dim; ++i)
    OPS_RETURN_IF_ERROR(decode_dim(decoder, proto->dim[i], &dims[i]));
  out->dims = dims;
  out->rank = (int32_t)proto->n_dim;
  return OPS_OK;
}

// The element of a sequence or optional, or the values of a map. Nesting is bounded by the
// nesting of messages.
static int32_t decode_element(rt_model_decoder *decoder, const Onnx__TypeProto *proto,
                              rt_model_type *out) {
  if (!proto)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_TYPE_UNSUPPORTED,
        "a sequence, optional or map type has no element type; export the "
        "model with complete types");
  rt_model_type *element = rt_model_decoder_alloc(decoder, 1, sizeof *element);
  if (!element) return rt_model_decoder_no_memory(decoder);
  OPS_RETURN_IF_ERROR(rt_model_decode_type(decoder, proto, element));
  out->element = element;
  return OPS_OK;
}

int32_t rt_model_decode_type(rt_model_decoder *decoder, const Onnx__TypeProto *proto,
                             rt_model_type *out) {
  *out = (rt_model_type){.kind = RT_MODEL_TYPE_NONE, .rank = -1};
  if (!proto) return OPS_OK;
  out->denotation = rt_model_str(proto->denotation);
  switch (proto->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
      out->kind = RT_MODEL_TYPE_TENSOR;
      out->elem_type = proto->tensor_type->elem_type;
      OPS_RETURN_IF_ERROR(check_elem_type(decoder, out->elem_type));
      return decode_shape(decoder, proto->tensor_type->shape, out);
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
      out->kind = RT_MODEL_TYPE_SPARSE_TENSOR;
      out->elem_type = proto->sparse_tensor_type->elem_type;
      OPS_RETURN_IF_ERROR(check_elem_type(decoder, out->elem_type));
      return decode_shape(decoder, proto->sparse_tensor_type->shape, out);
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
      out->kind = RT_MODEL_TYPE_SEQUENCE;
      return decode_element(decoder, proto->sequence_type->elem_type, out);
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
      out->kind = RT_MODEL_TYPE_OPTIONAL;
      return decode_element(decoder, proto->optional_type->elem_type, out);
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
      out->kind = RT_MODEL_TYPE_MAP;
      out->elem_type = proto->map_type->key_type;
      OPS_RETURN_IF_ERROR(check_elem_type(decoder, out->elem_type));
      return decode_element(decoder, proto->map_type->value_type, out);
    case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
      out->kind = RT_MODEL_TYPE_OPAQUE;
      out->opaque_domain = rt_model_str(proto->opaque_type->domain);
      out->opaque_name = rt_model_str(proto->opaque_type->name);
      return OPS_OK;
    default:
      return OPS_OK;
  }
}
