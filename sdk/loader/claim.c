// SPDX-License-Identifier: Apache-2.0
//
// Which definition takes a node. A definition is tried by a fixed sequence of tests, each of
// which can refuse with a reason; when none claims, the refusal of the one that got furthest is
// reported, since that is the one its author will want to mend.
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdio.h>
#include <string.h>

#include "loader/index.h"
#include "loader/library.h"

typedef struct query {
  ops_device *device;
  const ops_node *node;
  const ops_device_info *info;
} query;

static const ops_arg_def *arg_at(const ops_arg_def *args, uint64_t count, uint64_t stride,
                                 uint64_t index) {
  if (count == 0) return NULL;
  if (index < count) return OPS_AT(ops_arg_def, args, stride, index);
  const ops_arg_def *last = OPS_AT(ops_arg_def, args, stride, count - 1);
  return last->flags & OPS_ARG_VARIADIC ? last : NULL;
}

const ops_arg_def *ops_kernel_def_input(const ops_kernel_def *def, uint64_t index) {
  return arg_at(def->inputs, def->input_count, def->input_stride, index);
}

const ops_arg_def *ops_kernel_def_output(const ops_kernel_def *def, uint64_t index) {
  return arg_at(def->outputs, def->output_count, def->output_stride, index);
}

// Each test returns 1 to go on, or 0 with the claim filled, as ops_claim_refuse leaves it.
typedef int (*claim_test)(const query *q, const ops_kernel_def *def, ops_claim *claim);

static int test_opset(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  if (q->node->opset >= def->since && (def->until == 0 || q->node->opset <= def->until))
    return 1;
  char until[16] = "newest";
  if (def->until) snprintf(until, sizeof until, "%d", def->until);
  return ops_claim_refuse(claim, OPS_REASON_OPERATOR, "opset %d is outside [%d, %s]",
                          q->node->opset, def->since, until);
}

// The inputs of the operator itself: those in front of the operands of the chain.
static uint64_t own_inputs(const ops_node *node) {
  return node->input_count - node->chain_operand_count;
}

static int test_arity(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  const uint64_t own = own_inputs(q->node);
  for (uint64_t i = 0; i < own; ++i)
    if (ops_node_input(q->node, i) && !ops_kernel_def_input(def, i))
      return ops_claim_refuse(claim, OPS_REASON_ARITY,
                              "input %llu is given, the kernel takes %llu",
                              (unsigned long long)i, (unsigned long long)def->input_count);
  for (uint64_t i = 0; i < def->input_count; ++i) {
    const ops_arg_def *arg = OPS_AT(ops_arg_def, def->inputs, def->input_stride, i);
    const int given = i < own && ops_node_input(q->node, i) != NULL;
    if (!given && !(arg->flags & OPS_ARG_OPTIONAL))
      return ops_claim_refuse(claim, OPS_REASON_ARITY, "the kernel needs input %llu '%.*s'",
                              (unsigned long long)i, OPS_STR_FMT(arg->name));
  }
  for (uint64_t i = 0; i < q->node->output_count; ++i)
    if (ops_node_output(q->node, i) && !ops_kernel_def_output(def, i))
      return ops_claim_refuse(claim, OPS_REASON_ARITY,
                              "output %llu is used, the kernel has %llu", (unsigned long long)i,
                              (unsigned long long)def->output_count);
  for (uint64_t i = 0; i < def->output_count; ++i) {
    const ops_arg_def *arg = OPS_AT(ops_arg_def, def->outputs, def->output_stride, i);
    if (!ops_node_output(q->node, i) && !(arg->flags & OPS_ARG_OPTIONAL))
      return ops_claim_refuse(claim, OPS_REASON_ARITY,
                              "the kernel writes output %llu '%.*s', the node has none",
                              (unsigned long long)i, OPS_STR_FMT(arg->name));
  }
  return 1;
}

// Writes "{float, float16}".
static void print_types(uint64_t types, char *text, size_t size) {
  size_t used = 0;
  if (types == 0) snprintf(text, size, "no tensor");
  if (types == 0) return;
  for (int32_t type = 1; type < OPS_TYPE_COUNT && used < size; ++type)
    if (types & OPS_TYPE_BIT(type))
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "{",
                               ops_type_name(type));
  if (used < size) snprintf(text + used, size - used, "}");
}

static int accepts_type(const ops_arg_def *arg, const ops_type_info *info) {
  if (info->kind != OPS_VALUE_TENSOR && info->kind != OPS_VALUE_STRINGS) return arg->types == 0;
  if (info->type <= 0 || info->type >= OPS_TYPE_COUNT) return 0;
  return (arg->types & OPS_TYPE_BIT(info->type)) != 0;
}

static int test_arg_type(const char *what, uint64_t index, const ops_arg_def *arg,
                         const ops_operand *operand, ops_claim *claim) {
  if (!operand || accepts_type(arg, operand->type)) return 1;
  char types[160];
  print_types(arg->types, types, sizeof types);
  return ops_claim_refuse(
      claim, OPS_REASON_TYPE, "%s %llu '%.*s' is %s, the kernel takes %s", what,
      (unsigned long long)index, OPS_STR_FMT(arg->name),
      operand->type->kind == OPS_VALUE_TENSOR || operand->type->kind == OPS_VALUE_STRINGS
          ? ops_type_name(operand->type->type)
          : "not a tensor",
      types);
}

static int same_str(ops_str a, ops_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

// Arguments with one type parameter must have one type.
static int test_bindings(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  const uint64_t own = own_inputs(q->node);
  for (uint64_t i = 0; i < own; ++i) {
    const ops_arg_def *a = ops_kernel_def_input(def, i);
    const ops_operand *x = ops_node_input(q->node, i);
    if (!x || !a || a->type_param.size == 0) continue;
    for (uint64_t k = 0; k < i; ++k) {
      const ops_arg_def *b = ops_kernel_def_input(def, k);
      const ops_operand *y = ops_node_input(q->node, k);
      if (!y || !b || !same_str(a->type_param, b->type_param)) continue;
      if (x->type->type != y->type->type)
        return ops_claim_refuse(
            claim, OPS_REASON_TYPE, "inputs %llu and %llu share '%.*s' but are %s and %s",
            (unsigned long long)k, (unsigned long long)i, OPS_STR_FMT(a->type_param),
            ops_type_name(y->type->type), ops_type_name(x->type->type));
      break;
    }
  }
  return 1;
}

static int test_types(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  const uint64_t own = own_inputs(q->node);
  for (uint64_t i = 0; i < own; ++i)
    if (!test_arg_type("input", i, ops_kernel_def_input(def, i), ops_node_input(q->node, i),
                       claim))
      return 0;
  for (uint64_t i = 0; i < q->node->output_count; ++i)
    if (!test_arg_type("output", i, ops_kernel_def_output(def, i), ops_node_output(q->node, i),
                       claim))
      return 0;
  return test_bindings(q, def, claim);
}

static int test_constants(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  const uint64_t own = own_inputs(q->node);
  for (uint64_t i = 0; i < own; ++i) {
    const ops_arg_def *arg = ops_kernel_def_input(def, i);
    const ops_operand *operand = ops_node_input(q->node, i);
    if (operand && (arg->flags & OPS_ARG_CONSTANT) && !operand->constant)
      return ops_claim_refuse(claim, OPS_REASON_CONSTANT, "input %llu '%.*s' must be constant",
                              (unsigned long long)i, OPS_STR_FMT(arg->name));
  }
  return 1;
}

static int same_domain(ops_str a, ops_str b) {
  return same_str(ops_domain_canonical(a), ops_domain_canonical(b));
}

static int absorbs(const ops_kernel_def *def, const ops_post_op *op) {
  for (uint64_t i = 0; i < def->post_op_count; ++i) {
    const ops_post_op_def *rule =
        OPS_AT(ops_post_op_def, def->post_ops, def->post_op_stride, i);
    if (same_domain(rule->domain, op->domain) && same_str(rule->op, op->op) &&
        op->opset >= rule->since && (rule->until == 0 || op->opset <= rule->until))
      return 1;
  }
  return 0;
}

static int test_chain(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  const ops_node *node = q->node;
  if (node->post_op_count > def->max_post_ops)
    return ops_claim_refuse(claim, OPS_REASON_OPERATOR,
                            "%llu post-operations, the kernel absorbs up to %u",
                            (unsigned long long)node->post_op_count, def->max_post_ops);
  for (uint64_t i = 0; i < node->post_op_count; ++i) {
    const ops_post_op *op = OPS_AT(ops_post_op, node->post_ops, node->post_op_stride, i);
    if (!absorbs(def, op))
      return ops_claim_refuse(claim, OPS_REASON_OPERATOR,
                              "post-operation %llu '%.*s' is not absorbed",
                              (unsigned long long)i, OPS_STR_FMT(op->op));
  }
  return 1;
}

static int is_narrow_float(int32_t type) {
  return type == OPS_TYPE_FLOAT16 || type == OPS_TYPE_BFLOAT16;
}

static int test_precision(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  if (!(q->node->flags & OPS_NODE_REQUIRE_FP32_ACCUMULATION)) return 1;
  const ops_operand *x = ops_node_input(q->node, 0);
  const int32_t type = def->accumulation_type ? def->accumulation_type : x ? x->type->type : 0;
  if (!is_narrow_float(type)) return 1;
  return ops_claim_refuse(claim, OPS_REASON_TYPE,
                          "accumulates in %s where float accumulation is required",
                          ops_type_name(type));
}

static int test_features(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  for (uint64_t i = 0; i < def->feature_count; ++i) {
    int found = 0;
    for (uint64_t k = 0; k < q->info->feature_count && !found; ++k)
      found = same_str(def->features[i], q->info->features[k]);
    if (!found)
      return ops_claim_refuse(claim, OPS_REASON_FEATURE, "the device lacks '%.*s'",
                              OPS_STR_FMT(def->features[i]));
  }
  return 1;
}

static const claim_test kTests[] = {test_opset, test_arity,     test_types,   test_constants,
                                    test_chain, test_precision, test_features};
enum { kTestCount = sizeof kTests / sizeof kTests[0] };

// Runs all tests. Returns how many passed; kTestCount means that the definition matches.
static int run_tests(const query *q, const ops_kernel_def *def, ops_claim *claim) {
  int passed = 0;
  while (passed < kTestCount && kTests[passed](q, def, claim)) ++passed;
  return passed;
}

static int32_t check_answer(const ops_kernel_def *def, const ops_claim *claim,
                            ops_error *error) {
  if (claim->answer >= OPS_CLAIM_UNSUPPORTED && claim->answer <= OPS_CLAIM_ONLY_IN_GROUP &&
      claim->text_size < sizeof claim->text)
    return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INTERNAL,
                       "kernel '%.*s': claim answered %d with a text of %u bytes; expected an "
                       "OPS_CLAIM_ constant and a text that fits",
                       OPS_STR_FMT(def->op), claim->answer, claim->text_size);
}

static int32_t ask(const query *q, const ops_kernel_def *def, ops_claim *claim,
                   ops_error *error) {
  memset(claim, 0, sizeof *claim);
  claim->struct_size = sizeof *claim;
  claim->answer = OPS_CLAIM_SUPPORTED;
  claim->preference = def->preference;
  if (!def->api->claim) return OPS_OK;
  OPS_RETURN_IF_ERROR(def->api->claim(q->device, def, q->node, claim, error));
  OPS_RETURN_IF_ERROR(check_answer(def, claim, error));
  claim->text[claim->text_size] = '\0';
  if (claim->answer != OPS_CLAIM_UNSUPPORTED) claim->reason = OPS_REASON_NONE;
  return OPS_OK;
}

int32_t ops_library_claim(const ops_library *library, ops_device *device, const ops_node *node,
                          const ops_kernel_def **out_def, ops_claim *out_claim,
                          ops_error *error) {
  ops_device_info info = {.struct_size = sizeof info};
  const ops_provider *provider = ops_library_provider(library);
  OPS_RETURN_IF_ERROR(provider->instance->device_info(device, &info, error));
  const query q = {device, node, &info};
  uint64_t count;
  const ops_kernel_def *const *defs =
      ops_library_kernels(library, node->domain, node->op, &count);
  int furthest = -1;
  *out_def = NULL;
  out_claim->struct_size = sizeof *out_claim;
  ops_claim_refuse(out_claim, OPS_REASON_OPERATOR, "no kernel for this operator");
  for (uint64_t i = 0; i < count; ++i) {
    ops_claim claim = {.struct_size = sizeof claim};
    const int passed = run_tests(&q, defs[i], &claim);
    if (passed == kTestCount) OPS_RETURN_IF_ERROR(ask(&q, defs[i], &claim, error));
    if (passed > furthest) *out_claim = claim;
    if (passed > furthest) furthest = passed;
    if (claim.answer == OPS_CLAIM_UNSUPPORTED) continue;
    *out_claim = claim;
    *out_def = defs[i];
    break;
  }
  return OPS_OK;
}
