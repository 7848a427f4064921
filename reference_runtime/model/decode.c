// SPDX-License-Identifier: Apache-2.0
//
// ModelProto, GraphProto, NodeProto and FunctionProto -> model.h. Errors gain their place on
// the way out: function or graph, then node, then what is inside the node.
#include "model/decode.h"

#include <inttypes.h>
#include <ops_support/error.h>
#include <string.h>

// --- Memory and strings --------------------------------------------------------------------

int32_t rt_model_decoder_no_memory(rt_model_decoder *decoder) {
  const rt_model_arena *arena = &decoder->arena;
  return ops_error_set(
      decoder->error, OPS_ERROR_OUT_OF_MEMORY,
      "decoding needs %" PRIu64 " more bytes; %" PRIu64 " of at most %" PRIu64
      " are in use; raise max_memory (RT_MODEL_DEFAULT_MAX_MEMORY) or free memory",
      arena->refused, arena->used, arena->limit);
}

void *rt_model_decoder_alloc(rt_model_decoder *decoder, uint64_t count, uint64_t size) {
  static const uint64_t kNothing[2];  // what an empty list points to
  return count ? rt_model_arena_calloc(&decoder->arena, count, size) : (void *)kNothing;
}

ops_str rt_model_str(const char *text) {
  return (ops_str){text, text ? strlen(text) : 0};
}

static ops_str decode_domain(const char *domain) {
  const ops_str str = rt_model_str(domain);
  return domain && strcmp(domain, "ai.onnx") == 0 ? (ops_str){domain + str.size, 0} : str;
}

int32_t rt_model_decode_strings(rt_model_decoder *decoder, size_t count, char *const *texts,
                                const ops_str **out_strings) {
  ops_str *strings = rt_model_decoder_alloc(decoder, count, sizeof *strings);
  if (!strings) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < count; ++i) strings[i] = rt_model_str(texts[i]);
  *out_strings = strings;
  return OPS_OK;
}

int32_t rt_model_decode_bytes(rt_model_decoder *decoder, size_t count,
                              const ProtobufCBinaryData *bytes, const ops_str **out_strings) {
  ops_str *strings = rt_model_decoder_alloc(decoder, count, sizeof *strings);
  if (!strings) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < count; ++i)
    strings[i] = (ops_str){(const char *)bytes[i].data, bytes[i].len};
  *out_strings = strings;
  return OPS_OK;
}

static int32_t decode_metadata(rt_model_decoder *decoder, size_t count,
                               Onnx__StringStringEntryProto *const *protos,
                               const ops_key_value **out_pairs) {
  ops_key_value *pairs = rt_model_decoder_alloc(decoder, count, sizeof *pairs);
  if (!pairs) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < count; ++i)
    pairs[i] = (ops_key_value){rt_model_str(protos[i]->key), rt_model_str(protos[i]->value)};
  *out_pairs = pairs;
  return OPS_OK;
}

// --- Nodes ---------------------------------------------------------------------------------

static int32_t decode_node(rt_model_decoder *decoder, const Onnx__NodeProto *proto,
                           rt_model_node *out) {
  out->name = rt_model_str(proto->name);
  out->op_type = rt_model_str(proto->op_type);
  out->domain = decode_domain(proto->domain);
  out->overload = rt_model_str(proto->overload);
  out->input_count = proto->n_input;
  out->output_count = proto->n_output;
  out->attribute_count = proto->n_attribute;
  out->metadata_count = proto->n_metadata_props;
  OPS_RETURN_IF_ERROR(
      rt_model_decode_strings(decoder, proto->n_input, proto->input, &out->inputs));
  OPS_RETURN_IF_ERROR(
      rt_model_decode_strings(decoder, proto->n_output, proto->output, &out->outputs));
  OPS_RETURN_IF_ERROR(
      decode_metadata(decoder, proto->n_metadata_props, proto->metadata_props, &out->metadata));
  return rt_model_decode_attributes(decoder, proto->n_attribute, proto->attribute,
                                    &out->attributes);
}

static int32_t decode_nodes(rt_model_decoder *decoder, size_t count,
                            Onnx__NodeProto *const *protos, const rt_model_node **out_nodes) {
  rt_model_node *nodes = rt_model_decoder_alloc(decoder, count, sizeof *nodes);
  if (!nodes) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < count; ++i) {
    const int32_t status = decode_node(decoder, protos[i], &nodes[i]);
    if (status != OPS_OK) {
      ops_error_prefix(decoder->error, "node %zu '%.*s' (%.*s)", i, OPS_STR_FMT(nodes[i].name),
                       OPS_STR_FMT(nodes[i].op_type));
      return status;
    }
  }
  *out_nodes = nodes;
  return OPS_OK;
}

// --- Graphs --------------------------------------------------------------------------------

static int32_t decode_value_infos(rt_model_decoder *decoder, size_t count,
                                  Onnx__ValueInfoProto *const *protos, const char *role,
                                  const rt_model_value_info **out_infos) {
  rt_model_value_info *infos = rt_model_decoder_alloc(decoder, count, sizeof *infos);
  if (!infos) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < count; ++i) {
    infos[i].name = rt_model_str(protos[i]->name);
    const int32_t status = rt_model_decode_type(decoder, protos[i]->type, &infos[i].type);
    if (status != OPS_OK) {
      ops_error_prefix(decoder->error, "%s %zu '%.*s'", role, i, OPS_STR_FMT(infos[i].name));
      return status;
    }
  }
  *out_infos = infos;
  return OPS_OK;
}

static int32_t decode_initializers(rt_model_decoder *decoder, const Onnx__GraphProto *proto,
                                   rt_model_graph *out) {
  rt_model_tensor *dense;
  rt_model_sparse_tensor *sparse;
  out->initializer_count = proto->n_initializer;
  out->sparse_initializer_count = proto->n_sparse_initializer;
  dense = rt_model_decoder_alloc(decoder, proto->n_initializer, sizeof *dense);
  if (!dense) return rt_model_decoder_no_memory(decoder);
  sparse = rt_model_decoder_alloc(decoder, proto->n_sparse_initializer, sizeof *sparse);
  if (!sparse) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < proto->n_initializer; ++i)
    OPS_RETURN_IF_ERROR(rt_model_decode_tensor(decoder, proto->initializer[i], &dense[i]));
  for (size_t i = 0; i < proto->n_sparse_initializer; ++i)
    OPS_RETURN_IF_ERROR(
        rt_model_decode_sparse_tensor(decoder, proto->sparse_initializer[i], &sparse[i]));
  out->initializers = dense;
  out->sparse_initializers = sparse;
  return OPS_OK;
}

static int32_t decode_graph(rt_model_decoder *decoder, const Onnx__GraphProto *proto,
                            rt_model_graph *out) {
  out->input_count = proto->n_input;
  out->output_count = proto->n_output;
  out->value_info_count = proto->n_value_info;
  out->node_count = proto->n_node;
  out->metadata_count = proto->n_metadata_props;
  OPS_RETURN_IF_ERROR(
      decode_value_infos(decoder, proto->n_input, proto->input, "input", &out->inputs));
  OPS_RETURN_IF_ERROR(
      decode_value_infos(decoder, proto->n_output, proto->output, "output", &out->outputs));
  OPS_RETURN_IF_ERROR(decode_value_infos(decoder, proto->n_value_info, proto->value_info,
                                         "value_info", &out->value_infos));
  OPS_RETURN_IF_ERROR(decode_initializers(decoder, proto, out));
  OPS_RETURN_IF_ERROR(
      decode_metadata(decoder, proto->n_metadata_props, proto->metadata_props, &out->metadata));
  return decode_nodes(decoder, proto->n_node, proto->node, &out->nodes);
}

int32_t rt_model_decode_graph(rt_model_decoder *decoder, const Onnx__GraphProto *proto,
                              rt_model_graph *out) {
  *out = (rt_model_graph){.name = rt_model_str(proto->name)};
  const int32_t status = decode_graph(decoder, proto, out);
  if (status != OPS_OK)
    ops_error_prefix(decoder->error, "graph '%.*s'", OPS_STR_FMT(out->name));
  return status;
}

// --- The model -----------------------------------------------------------------------------

static int32_t decode_opsets(rt_model_decoder *decoder, size_t count,
                             Onnx__OperatorSetIdProto *const *protos,
                             const rt_model_opset **out_opsets) {
  rt_model_opset *opsets = rt_model_decoder_alloc(decoder, count, sizeof *opsets);
  if (!opsets) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < count; ++i)
    opsets[i] = (rt_model_opset){decode_domain(protos[i]->domain), protos[i]->version};
  *out_opsets = opsets;
  return OPS_OK;
}

static int32_t decode_function(rt_model_decoder *decoder, const Onnx__FunctionProto *proto,
                               rt_model_function *out) {
  out->name = rt_model_str(proto->name);
  out->domain = decode_domain(proto->domain);
  out->overload = rt_model_str(proto->overload);
  out->input_count = proto->n_input;
  out->output_count = proto->n_output;
  out->attribute_name_count = proto->n_attribute;
  out->attribute_default_count = proto->n_attribute_proto;
  out->node_count = proto->n_node;
  out->opset_count = proto->n_opset_import;
  out->value_info_count = proto->n_value_info;
  OPS_RETURN_IF_ERROR(
      rt_model_decode_strings(decoder, proto->n_input, proto->input, &out->inputs));
  OPS_RETURN_IF_ERROR(
      rt_model_decode_strings(decoder, proto->n_output, proto->output, &out->outputs));
  OPS_RETURN_IF_ERROR(rt_model_decode_strings(decoder, proto->n_attribute, proto->attribute,
                                              &out->attribute_names));
  OPS_RETURN_IF_ERROR(rt_model_decode_attributes(
      decoder, proto->n_attribute_proto, proto->attribute_proto, &out->attribute_defaults));
  OPS_RETURN_IF_ERROR(
      decode_opsets(decoder, proto->n_opset_import, proto->opset_import, &out->opsets));
  OPS_RETURN_IF_ERROR(decode_value_infos(decoder, proto->n_value_info, proto->value_info,
                                         "value_info", &out->value_infos));
  return decode_nodes(decoder, proto->n_node, proto->node, &out->nodes);
}

static int32_t decode_functions(rt_model_decoder *decoder, const Onnx__ModelProto *proto,
                                rt_model *out) {
  rt_model_function *functions =
      rt_model_decoder_alloc(decoder, proto->n_functions, sizeof *functions);
  if (!functions) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < proto->n_functions; ++i) {
    const int32_t status = decode_function(decoder, proto->functions[i], &functions[i]);
    if (status != OPS_OK) {
      ops_error_prefix(decoder->error, "function '%.*s'", OPS_STR_FMT(functions[i].name));
      return status;
    }
  }
  out->functions = functions;
  out->function_count = proto->n_functions;
  return OPS_OK;
}

static int32_t decode_training(rt_model_decoder *decoder, const Onnx__TrainingInfoProto *proto,
                               rt_model_training *out) {
  out->initialization_binding_count = proto->n_initialization_binding;
  out->update_binding_count = proto->n_update_binding;
  OPS_RETURN_IF_ERROR(decode_metadata(decoder, proto->n_initialization_binding,
                                      proto->initialization_binding,
                                      &out->initialization_bindings));
  OPS_RETURN_IF_ERROR(decode_metadata(decoder, proto->n_update_binding, proto->update_binding,
                                      &out->update_bindings));
  if (proto->initialization)
    OPS_RETURN_IF_ERROR(
        rt_model_decode_graph(decoder, proto->initialization, &out->initialization));
  if (!proto->algorithm) return OPS_OK;
  return rt_model_decode_graph(decoder, proto->algorithm, &out->algorithm);
}

static int32_t decode_trainings(rt_model_decoder *decoder, const Onnx__ModelProto *proto,
                                rt_model *out) {
  rt_model_training *trainings =
      rt_model_decoder_alloc(decoder, proto->n_training_info, sizeof *trainings);
  if (!trainings) return rt_model_decoder_no_memory(decoder);
  for (size_t i = 0; i < proto->n_training_info; ++i) {
    const int32_t status = decode_training(decoder, proto->training_info[i], &trainings[i]);
    if (status != OPS_OK) {
      ops_error_prefix(decoder->error, "training_info %zu", i);
      return status;
    }
  }
  out->trainings = trainings;
  out->training_count = proto->n_training_info;
  return OPS_OK;
}

static int32_t check_model(rt_model_decoder *decoder, const Onnx__ModelProto *proto) {
  if (!proto->graph)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_FILE,
        "the file holds no graph; expected a ModelProto with one, it is not an "
        "ONNX model, or one that was cut off");
  if (!proto->has_ir_version || proto->ir_version < 1)
    return ops_error_set_cause(
        decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
        "the model has %s %" PRId64 "; expected 1 to %d, export it again",
        proto->has_ir_version ? "IR version" : "no IR version, which means", proto->ir_version,
        RT_MODEL_MAX_IR_VERSION);
  if (proto->ir_version > RT_MODEL_MAX_IR_VERSION)
    return ops_error_set_cause(decoder->error, OPS_ERROR_UNSUPPORTED, OPS_CAUSE_LIMIT_EXCEEDED,
                               "IR version %" PRId64
                               "; expected at most %d; export the model for an "
                               "older version or use a newer runtime",
                               proto->ir_version, RT_MODEL_MAX_IR_VERSION);
  return OPS_OK;
}

int32_t rt_model_decode_model(rt_model_decoder *decoder, const Onnx__ModelProto *proto,
                              rt_model *out) {
  OPS_RETURN_IF_ERROR(check_model(decoder, proto));
  out->ir_version = proto->ir_version;
  out->producer_name = rt_model_str(proto->producer_name);
  out->producer_version = rt_model_str(proto->producer_version);
  out->domain = rt_model_str(proto->domain);
  out->model_version = proto->model_version;
  out->opset_count = proto->n_opset_import;
  out->metadata_count = proto->n_metadata_props;
  OPS_RETURN_IF_ERROR(
      decode_opsets(decoder, proto->n_opset_import, proto->opset_import, &out->opsets));
  OPS_RETURN_IF_ERROR(
      decode_metadata(decoder, proto->n_metadata_props, proto->metadata_props, &out->metadata));
  OPS_RETURN_IF_ERROR(decode_functions(decoder, proto, out));
  OPS_RETURN_IF_ERROR(decode_trainings(decoder, proto, out));
  return rt_model_decode_graph(decoder, proto->graph, &out->graph);
}
