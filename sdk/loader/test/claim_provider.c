// SPDX-License-Identifier: Apache-2.0
//
// What claim_test.c asks for claims: definitions chosen to exercise one rule of matching each.
// The device is the host's own, with one hardware feature named "dot4".
#include <ops_support/host_device.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <stdio.h>
#include <string.h>

static const ops_str kFeatures[] = {OPS_STR("dot4")};

static int32_t create_instance(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t count,
                               ops_instance **out_instance, ops_error *error) {
  return ops_host_device_instance.create(api, host, options, count, out_instance, error);
}

static int32_t destroy_instance(ops_instance *instance, ops_error *error) {
  return ops_host_device_instance.destroy(instance, error);
}

static int32_t device_count(ops_instance *instance, uint64_t *out_count, ops_error *error) {
  return ops_host_device_instance.device_count(instance, out_count, error);
}

static int32_t device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  return ops_host_device_instance.device_open(instance, index, out_device, error);
}

static int32_t device_close(ops_device *device, ops_error *error) {
  return ops_host_device_instance.device_close(device, error);
}

static int32_t device_info(ops_device *device, ops_device_info *info, ops_error *error) {
  info->features = kFeatures;
  info->feature_count = 1;
  return ops_host_device_instance.device_info(device, info, error);
}

// ---- Kernels: claims alone are of interest ----

static int32_t create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_kernel **out_kernel, ops_error *error) {
  (void)device, (void)def, (void)node, (void)out_kernel, (void)error;
  return OPS_ERROR_UNSUPPORTED;
}

static void destroy(ops_kernel *kernel) {
  (void)kernel;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  (void)kernel, (void)request, (void)reply, (void)error;
  return OPS_ERROR_UNSUPPORTED;
}

static void prepared_destroy(ops_prepared *prepared) {
  (void)prepared;
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  (void)prepared, (void)request, (void)stream, (void)error;
  return OPS_ERROR_UNSUPPORTED;
}

static int32_t answer(ops_claim *claim, int32_t what, int32_t reason, const char *text) {
  claim->answer = what;
  claim->reason = reason;
  claim->text_size = (uint32_t)snprintf(claim->text, sizeof claim->text, "%s", text);
  return OPS_OK;
}

// Attribute "mode" of the node says how to answer.
static int32_t claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                     ops_claim *out_claim, ops_error *error) {
  (void)device, (void)error;
  const int first = def->preference > 0;
  switch (ops_node_int(node, "mode", 0)) {
    case 1:  // both refuse, each with its own reason
      return answer(out_claim, OPS_CLAIM_UNSUPPORTED,
                    first ? OPS_REASON_ATTRIBUTE : OPS_REASON_SHAPE,
                    first ? "the first refuses" : "the second refuses");
    case 2:  // the second takes what the first refuses
      return first ? answer(out_claim, OPS_CLAIM_UNSUPPORTED, OPS_REASON_SHAPE, "no") : OPS_OK;
    case 3:
      out_claim->preference = 77;
      return answer(out_claim, OPS_CLAIM_ONLY_IN_GROUP, OPS_REASON_TYPE, "in groups");
    case 4:  // breaks the rules: no such answer
      out_claim->answer = 9;
      return OPS_OK;
    case 5:  // a text that would not fit
      out_claim->text_size = sizeof out_claim->text;
      return OPS_OK;
    case 6:
      return OPS_ERROR_DEVICE_LOST;
    case 7:  // forgets the terminator
      memset(out_claim->text, 'x', sizeof out_claim->text);
      out_claim->text_size = sizeof out_claim->text - 1;
      out_claim->answer = OPS_CLAIM_UNSUPPORTED;
      return OPS_OK;
    default:
      return OPS_OK;
  }
}

static const ops_kernel_api kPlain = {.struct_size = sizeof kPlain,
                                      .create = create,
                                      .destroy = destroy,
                                      .prepare = prepare,
                                      .prepared_destroy = prepared_destroy,
                                      .execute = execute};
static const ops_kernel_api kClaiming = {.struct_size = sizeof kClaiming,
                                         .claim = claim,
                                         .create = create,
                                         .destroy = destroy,
                                         .prepare = prepare,
                                         .prepared_destroy = prepared_destroy,
                                         .execute = execute};

// ---- Definitions ----

#define ARG(text, param, set, arg_flags)                                                     \
  {                                                                                          \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(text), .type_param = OPS_STR(param), \
    .types = (set), .flags = (arg_flags)                                                     \
  }
#define F OPS_TYPE_BIT(OPS_TYPE_FLOAT)
#define H OPS_TYPE_BIT(OPS_TYPE_FLOAT16)
#define B OPS_TYPE_BIT(OPS_TYPE_BFLOAT16)
#define I OPS_TYPE_BIT(OPS_TYPE_INT64)
#define S OPS_TYPE_BIT(OPS_TYPE_STRING)

static const ops_arg_def kFloatPair[] = {ARG("A", "T", F, 0), ARG("B", "T", F, 0)};
static const ops_arg_def kMixedPair[] = {ARG("A", "T", F | I, 0), ARG("B", "T", F | I, 0)};
static const ops_arg_def kFloatOut[] = {ARG("C", "T", F, 0)};
static const ops_arg_def kMixedOut[] = {ARG("C", "T", F | I, 0)};
static const ops_arg_def kClip[] = {ARG("input", "T", F, 0),
                                    ARG("min", "T", F, OPS_ARG_OPTIONAL),
                                    ARG("max", "T", F, OPS_ARG_OPTIONAL)};
static const ops_arg_def kConcat[] = {ARG("axis", "", I, 0),
                                      ARG("inputs", "T", F | I, OPS_ARG_VARIADIC)};
static const ops_arg_def kReshape[] = {ARG("data", "T", F, 0),
                                       ARG("shape", "", I, OPS_ARG_CONSTANT)};
static const ops_arg_def kSequenceAt[] = {ARG("input_sequence", "S", 0, 0),
                                          ARG("position", "", I, 0)};
static const ops_arg_def kText[] = {ARG("X", "T", S, 0)};
static const ops_arg_def kTopK[] = {ARG("Values", "T", F, 0), ARG("Indices", "", I, 0)};
static const ops_arg_def kMaxPool[] = {ARG("Y", "T", F, 0),
                                       ARG("Indices", "", I, OPS_ARG_OPTIONAL)};
static const ops_arg_def kHalf[] = {ARG("X", "T", F | H | B, 0), ARG("W", "T", F | H | B, 0),
                                    ARG("Bias", "T", F | H | B, OPS_ARG_OPTIONAL)};
static const ops_arg_def kHalfOut[] = {ARG("Y", "T", F | H | B, 0)};
static const ops_post_op_def kChain[] = {
    {.struct_size = sizeof(ops_post_op_def), .op = OPS_STR("Relu"), .since = 6, .until = 13},
    {.struct_size = sizeof(ops_post_op_def),
     .domain = OPS_STR("ai.onnx"),
     .op = OPS_STR("Add"),
     .since = 7}};
static const ops_str kPresent[] = {OPS_STR("dot4")};
static const ops_str kLacking[] = {OPS_STR("dot4"), OPS_STR("turbo")};

#define DEF(text, first, last, rank, def_name, ins, outs)                                 \
  .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(text), .since = (first),           \
  .until = (last), .preference = (rank), .name = OPS_STR(def_name), OPS_LIST(input, ins), \
  OPS_LIST(output, outs)
#define NEEDS(list) .features = (list), .feature_count = sizeof(list) / sizeof(list)[0]

static const ops_kernel_def kKernels[] = {
    {DEF("Add", 7, 13, 0, "add_plain", kFloatPair, kFloatOut), .api = &kPlain},
    {DEF("Add", 7, 13, 9, "add_turbo", kFloatPair, kFloatOut), NEEDS(kLacking), .api = &kPlain},
    {DEF("Add", 14, 0, -1, "add_late", kMixedPair, kMixedOut), NEEDS(kPresent), .api = &kPlain},
    {DEF("Turbo", 1, 0, 0, "turbo", kFloatPair, kFloatOut), NEEDS(kLacking), .api = &kPlain},
    {DEF("Clip", 11, 0, 0, "clip", kClip, kFloatOut), .api = &kPlain},
    {DEF("Concat", 4, 0, 0, "concat", kConcat, kMixedOut), .api = &kPlain},
    {DEF("Reshape", 5, 0, 0, "reshape", kReshape, kFloatOut), .api = &kPlain},
    {DEF("SequenceAt", 11, 0, 0, "at", kSequenceAt, kFloatOut), .api = &kPlain},
    {DEF("Upper", 1, 0, 0, "upper", kText, kText), .api = &kPlain},
    {DEF("TopK", 11, 0, 0, "topk", kFloatPair, kTopK), .api = &kPlain},
    {DEF("MaxPool", 11, 0, 0, "maxpool", kFloatPair, kMaxPool), .api = &kPlain},
    {DEF("Conv", 1, 0, 0, "conv", kHalf, kHalfOut), .max_post_ops = 2,
     OPS_LIST(post_op, kChain), .api = &kPlain},
    {DEF("Wide", 1, 0, 0, "wide", kHalf, kHalfOut), .accumulation_type = OPS_TYPE_FLOAT,
     .api = &kPlain},
    {DEF("Narrow", 1, 0, 0, "narrow", kHalf, kHalfOut), .accumulation_type = OPS_TYPE_FLOAT16,
     .api = &kPlain},
    {DEF("Picky", 1, 0, 5, "first", kFloatPair, kFloatOut), .api = &kClaiming},
    {DEF("Picky", 1, 0, 0, "second", kFloatPair, kFloatOut), .api = &kClaiming},
};

static const ops_instance_api kInstance = {.struct_size = sizeof kInstance,
                                           .create = create_instance,
                                           .destroy = destroy_instance,
                                           .device_count = device_count,
                                           .device_open = device_open,
                                           .device_close = device_close,
                                           .device_info = device_info};

static const ops_provider kProvider = {.struct_size = sizeof kProvider,
                                       .name = OPS_STR("claims"),
                                       .vendor = OPS_STR("test"),
                                       .version = OPS_STR("1"),
                                       OPS_LIST(kernel, kKernels),
                                       .instance = &kInstance,
                                       .unload_safe = 1};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(&kProvider, 0, 0, OPS_SANITIZER_BUILD, request, reply, error);
}
