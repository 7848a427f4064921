// SPDX-License-Identifier: Apache-2.0
//
// Which definition takes a node, and the reason when none does, each rule by a node that breaks
// it alone. The definitions are those of test/claim_provider.c.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
// cmocka needs the headers above first
#include <cmocka.h>

#include "loader/host.h"
#include "loader/library.h"

enum { kMost = 6 };

static struct {
  ops_library *library;
  ops_host *host;
  ops_instance *instance;
  ops_device *device;
} fixture;

static int set_up(void **state) {
  ops_error error = OPS_ERROR_INIT;
  (void)state;
  if (ops_library_open(CLAIM_PROVIDER, NULL, &fixture.library, &error) != OPS_OK) {
    fprintf(stderr, "%s\n", error.message);
    return -1;
  }
  const ops_instance_api *api = ops_library_provider(fixture.library)->instance;
  return ops_host_create(NULL, &fixture.host, &error) ||
         api->create(ops_host_api_table(), fixture.host, NULL, 0, &fixture.instance, &error) ||
         api->device_open(fixture.instance, 0, &fixture.device, &error);
}

static int tear_down(void **state) {
  const ops_instance_api *api = ops_library_provider(fixture.library)->instance;
  (void)state;
  if (api->device_close(fixture.device, NULL) || api->destroy(fixture.instance, NULL))
    return -1;
  ops_host_destroy(fixture.host);
  ops_library_release(fixture.library);
  return 0;
}

// ---- Nodes ----

typedef struct sketch {
  ops_node node;
  ops_type_info types[2 * kMost];
  ops_operand inputs[kMost], outputs[kMost];
  ops_attribute mode;
  int64_t mode_value;
  ops_constant constant;
  ops_post_op chain[3];
  int32_t chain_inputs[3][2];
} sketch;

// `inputs` and `outputs` have a letter an argument: f float, h float16, b bfloat16, l int64,
// t strings, s a sequence, p a sparse tensor, - absent.
static void letters(const char *text, ops_operand *operands, ops_type_info *types) {
  for (int i = 0; text[i]; ++i) {
    const char c = text[i];
    types[i] = (ops_type_info){.struct_size = sizeof types[i], .kind = OPS_VALUE_TENSOR};
    types[i].type = c == 'f' || c == 'p' ? OPS_TYPE_FLOAT
                    : c == 'h'           ? OPS_TYPE_FLOAT16
                    : c == 'b'           ? OPS_TYPE_BFLOAT16
                    : c == 'l'           ? OPS_TYPE_INT64
                    : c == 't'           ? OPS_TYPE_STRING
                                         : OPS_TYPE_UNDEFINED;
    if (c == 't') types[i].kind = OPS_VALUE_STRINGS;
    if (c == 's') types[i].kind = OPS_VALUE_SEQUENCE;
    if (c == 'p') types[i].kind = OPS_VALUE_SPARSE;
    operands[i] = (ops_operand){.struct_size = sizeof operands[i], .value = i};
    operands[i].type = c == '-' ? NULL : &types[i];
  }
}

static void draw(sketch *s, const char *op, int32_t opset, const char *inputs,
                 const char *outputs) {
  memset(s, 0, sizeof *s);
  s->node = (ops_node){.struct_size = sizeof s->node,
                       .op = {op, strlen(op)},
                       .opset = opset,
                       .inputs = s->inputs,
                       .input_count = strlen(inputs),
                       .input_stride = sizeof s->inputs[0],
                       .outputs = s->outputs,
                       .output_count = strlen(outputs),
                       .output_stride = sizeof s->outputs[0],
                       .attributes = &s->mode,
                       .attribute_count = 1,
                       .attribute_stride = sizeof s->mode,
                       .post_ops = s->chain,
                       .post_op_stride = sizeof s->chain[0]};
  const ops_str mode = OPS_STR("mode");
  s->mode = (ops_attribute){.struct_size = sizeof s->mode,
                            .name = mode,
                            .kind = OPS_ATTRIBUTE_INT,
                            .count = 1,
                            .ints = &s->mode_value};
  letters(inputs, s->inputs, s->types);
  letters(outputs, s->outputs, s->types + kMost);
}

static void chain(sketch *s, const char *op, int32_t opset, int32_t first, int32_t second) {
  const uint64_t at = s->node.post_op_count++;
  s->node.chain_operand_count +=
      (first >= 2) + (second >= 2);  // the kernels here have two inputs
  s->chain_inputs[at][0] = first;
  s->chain_inputs[at][1] = second;
  s->chain[at] = (ops_post_op){.struct_size = sizeof s->chain[at],
                               .op = {op, strlen(op)},
                               .opset = opset,
                               .input_count = second == OPS_CHAIN_VALUE ? 1 : 2,
                               .inputs = s->chain_inputs[at]};
}

static int32_t ask(const sketch *s, const ops_kernel_def **def, ops_claim *claim,
                   ops_error *error) {
  return ops_library_claim(fixture.library, fixture.device, &s->node, def, claim, error);
}

static void expect_taken(const sketch *s, const char *name) {
  ops_error error = OPS_ERROR_INIT;
  const ops_kernel_def *def = NULL;
  ops_claim claim;
  memset(&claim, 0xee, sizeof claim);  // all of it is written
  assert_int_equal(ask(s, &def, &claim, &error), OPS_OK);
  if (!def) fail_msg("refused: %s", claim.text);
  assert_true(ops_str_equal(def->name, name));
  assert_int_equal(claim.struct_size, sizeof claim);
  assert_int_equal(claim.reason, OPS_REASON_NONE);
  assert_int_equal(claim.answer, OPS_CLAIM_SUPPORTED);
  assert_int_equal(claim.preference, def->preference);
  assert_int_equal(claim.text_size, 0);
}

static void expect_refused(const sketch *s, int32_t reason, const char *text) {
  ops_error error = OPS_ERROR_INIT;
  const ops_kernel_def *def = (const ops_kernel_def *)s;
  ops_claim claim;
  memset(&claim, 0xee, sizeof claim);
  assert_int_equal(ask(s, &def, &claim, &error), OPS_OK);
  if (def) fail_msg("taken by %.*s", OPS_STR_FMT(def->name));
  assert_int_equal(claim.answer, OPS_CLAIM_UNSUPPORTED);
  assert_string_equal(claim.text, text);
  assert_int_equal(claim.reason, reason);
  assert_int_equal(claim.text_size, strlen(text));
}

static sketch scratch;

#define TAKEN(op, opset, inputs, outputs, name) \
  draw(&scratch, op, opset, inputs, outputs);   \
  expect_taken(&scratch, name)
#define REFUSED(op, opset, inputs, outputs, reason, text) \
  draw(&scratch, op, opset, inputs, outputs);             \
  expect_refused(&scratch, OPS_REASON_##reason, text)

// ---- Tests ----

static void operators_and_opsets(void **state) {
  (void)state;
  REFUSED("Nothing", 1, "f", "f", OPERATOR, "no kernel for this operator");
  TAKEN("Add", 7, "ff", "f", "add_plain");
  TAKEN("Add", 13, "ff", "f", "add_plain");
  TAKEN("Add", 14, "ff", "f", "add_late");
  TAKEN("Add", 10000, "ff", "f", "add_late");
  REFUSED("Clip", 10, "f", "f", OPERATOR, "opset 10 is outside [11, newest]");
  draw(&scratch, "Add", 7, "ff", "f");
  scratch.node.domain = (ops_str){"ai.onnx", 7};
  expect_taken(&scratch, "add_plain");
  scratch.node.domain = (ops_str){"com.example", 11};
  expect_refused(&scratch, OPS_REASON_OPERATOR, "no kernel for this operator");
}

// Three definitions of Add are asked, the most preferred first. The refusal reported is of the
// one whose tests went furthest: features come last.
static void furthest_refusal_is_reported(void **state) {
  (void)state;
  REFUSED("Add", 6, "ff", "f", OPERATOR, "opset 6 is outside [7, 13]");
  REFUSED("Add", 13, "fff", "f", ARITY, "input 2 is given, the kernel takes 2");
  REFUSED("Add", 13, "ll", "l", TYPE, "input 0 'A' is int64, the kernel takes {float}");
  TAKEN("Add", 14, "ll", "l", "add_late");
  REFUSED("Add", 14, "hh", "h", TYPE,
          "input 0 'A' is float16, the kernel takes {float, int64}");
  REFUSED("Add", 14, "fl", "f", TYPE, "inputs 0 and 1 share 'T' but are float and int64");
}

static void features_of_the_device(void **state) {
  (void)state;
  // add_turbo is preferred and fits but for the feature; without add_plain its reason shows.
  ops_error error = OPS_ERROR_INIT;
  const ops_kernel_def *def;
  ops_claim claim;
  draw(&scratch, "Add", 13, "ff", "f");
  assert_int_equal(ask(&scratch, &def, &claim, &error), OPS_OK);
  assert_true(ops_str_equal(def->name, "add_plain"));
  TAKEN("Add", 14, "ff", "f", "add_late");  // needs dot4, which the device has
  REFUSED("Turbo", 1, "ff", "f", FEATURE, "the device lacks 'turbo'");
}

static void optional_inputs(void **state) {
  (void)state;
  TAKEN("Clip", 11, "f", "f", "clip");
  TAKEN("Clip", 11, "ff", "f", "clip");
  TAKEN("Clip", 11, "f-f", "f", "clip");
  TAKEN("Clip", 11, "f--", "f", "clip");
  TAKEN("Clip", 11, "f---", "f", "clip");  // absent ones beyond the last are none
  REFUSED("Clip", 11, "ffff", "f", ARITY, "input 3 is given, the kernel takes 3");
  REFUSED("Clip", 11, "-f", "f", ARITY, "the kernel needs input 0 'input'");
  REFUSED("Clip", 11, "", "f", ARITY, "the kernel needs input 0 'input'");
  REFUSED("Clip", 11, "f-l", "f", TYPE, "input 2 'max' is int64, the kernel takes {float}");
}

static void variadic_inputs(void **state) {
  (void)state;
  TAKEN("Concat", 4, "lf", "f", "concat");
  TAKEN("Concat", 4, "lffff", "f", "concat");
  TAKEN("Concat", 4, "lll", "l", "concat");
  TAKEN("Concat", 4, "lf-f", "f", "concat");
  REFUSED("Concat", 4, "l", "f", ARITY, "the kernel needs input 1 'inputs'");
  REFUSED("Concat", 4, "lffhf", "f", TYPE,
          "input 3 'inputs' is float16, the kernel takes {float, int64}");
  REFUSED("Concat", 4, "lfflf", "f", TYPE, "inputs 1 and 3 share 'T' but are float and int64");
}

static void outputs(void **state) {
  (void)state;
  TAKEN("TopK", 11, "ff", "fl", "topk");
  REFUSED("TopK", 11, "ff", "f", ARITY,
          "the kernel writes output 1 'Indices', the node has none");
  REFUSED("TopK", 11, "ff", "-l", ARITY,
          "the kernel writes output 0 'Values', the node has none");
  REFUSED("TopK", 11, "ff", "flf", ARITY, "output 2 is used, the kernel has 2");
  REFUSED("TopK", 11, "ff", "ff", TYPE,
          "output 1 'Indices' is float, the kernel takes {int64}");
  TAKEN("MaxPool", 11, "ff", "f", "maxpool");
  TAKEN("MaxPool", 11, "ff", "f-", "maxpool");
  TAKEN("MaxPool", 11, "ff", "fl", "maxpool");
}

static void values_that_are_no_tensors(void **state) {
  (void)state;
  TAKEN("SequenceAt", 11, "sl", "f", "at");
  TAKEN("Upper", 1, "t", "t", "upper");
  REFUSED("SequenceAt", 11, "fl", "f", TYPE,
          "input 0 'input_sequence' is float, the kernel takes no tensor");
  REFUSED("Clip", 11, "s", "f", TYPE,
          "input 0 'input' is not a tensor, the kernel takes {float}");
  REFUSED("Clip", 11, "p", "f", TYPE,
          "input 0 'input' is not a tensor, the kernel takes {float}");
  REFUSED("Clip", 11, "t", "f", TYPE, "input 0 'input' is string, the kernel takes {float}");
}

static void constants(void **state) {
  (void)state;
  REFUSED("Reshape", 5, "fl", "f", CONSTANT, "input 1 'shape' must be constant");
  draw(&scratch, "Reshape", 5, "fl", "f");
  scratch.constant.struct_size = sizeof scratch.constant;
  scratch.inputs[1].constant = &scratch.constant;
  expect_taken(&scratch, "reshape");
}

// Operands of the chain stand behind the operator's own inputs and are not judged as such.
static void chains(void **state) {
  (void)state;
  draw(&scratch, "Conv", 1, "ff", "f");
  chain(&scratch, "Relu", 13, OPS_CHAIN_VALUE, OPS_CHAIN_VALUE);
  expect_taken(&scratch, "conv");
  draw(&scratch, "Conv", 1, "fff", "f");
  chain(&scratch, "Add", 14, OPS_CHAIN_VALUE, 2);
  chain(&scratch, "Relu", 6, OPS_CHAIN_VALUE, OPS_CHAIN_VALUE);
  expect_taken(&scratch, "conv");
  draw(&scratch, "Conv", 1, "ffl", "f");  // the residual may have a type of its own
  chain(&scratch, "Add", 14, 2, OPS_CHAIN_VALUE);
  scratch.chain[0].input_count = 2;
  expect_taken(&scratch, "conv");
  draw(&scratch, "Conv", 1, "ff", "f");  // the residual may be an input of the operator itself
  chain(&scratch, "Add", 14, OPS_CHAIN_VALUE, 0);
  expect_taken(&scratch, "conv");
  draw(&scratch, "Conv", 1, "ff", "f");
  chain(&scratch, "Relu", 14, OPS_CHAIN_VALUE, OPS_CHAIN_VALUE);
  expect_refused(&scratch, OPS_REASON_OPERATOR, "post-operation 0 'Relu' is not absorbed");
  scratch.chain[0].opset = 5;
  expect_refused(&scratch, OPS_REASON_OPERATOR, "post-operation 0 'Relu' is not absorbed");
  scratch.chain[0].opset = 6;
  scratch.chain[0].domain = (ops_str){"ai.onnx", 7};
  expect_taken(&scratch, "conv");
  scratch.chain[0].domain = (ops_str){"ai.onnx.ml", 10};
  expect_refused(&scratch, OPS_REASON_OPERATOR, "post-operation 0 'Relu' is not absorbed");
  draw(&scratch, "Conv", 1, "ff", "f");
  for (int i = 0; i < 3; ++i) chain(&scratch, "Relu", 6, OPS_CHAIN_VALUE, OPS_CHAIN_VALUE);
  expect_refused(&scratch, OPS_REASON_OPERATOR,
                 "3 post-operations, the kernel absorbs up to 2");
  draw(&scratch, "Wide", 1, "ff", "f");
  chain(&scratch, "Relu", 6, OPS_CHAIN_VALUE, OPS_CHAIN_VALUE);
  expect_refused(&scratch, OPS_REASON_OPERATOR,
                 "1 post-operations, the kernel absorbs up to 0");
}

// OPS_NODE_REQUIRE_FP32_ACCUMULATION: what is narrower refuses, whatever the inputs.
static void accumulation(void **state) {
  static const struct {
    const char *op, *inputs, *outputs, *refusal;
  } rows[] = {
      {"Wide", "hh", "h", NULL},
      {"Wide", "bb", "b", NULL},
      {"Conv", "ff", "f", NULL},  // the type of the arguments
      {"Conv", "hh", "h", "accumulates in float16 where float accumulation is required"},
      {"Conv", "bb", "b", "accumulates in bfloat16 where float accumulation is required"},
      {"Narrow", "ff", "f", "accumulates in float16 where float accumulation is required"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    const char *name = rows[i].op[0] == 'W' ? "wide" : rows[i].op[0] == 'C' ? "conv" : "narrow";
    TAKEN(rows[i].op, 1, rows[i].inputs, rows[i].outputs, name);
    scratch.node.flags = OPS_NODE_REQUIRE_FP32_ACCUMULATION;
    if (rows[i].refusal)
      expect_refused(&scratch, OPS_REASON_TYPE, rows[i].refusal);
    else
      expect_taken(&scratch, name);
  }
}

static void draw_picky(int64_t mode) {
  draw(&scratch, "Picky", 1, "ff", "f");
  scratch.mode_value = mode;
}

static void kernels_are_asked_in_order(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  const ops_kernel_def *def;
  ops_claim claim;
  draw_picky(0);
  expect_taken(&scratch, "first");
  draw_picky(1);
  expect_refused(&scratch, OPS_REASON_ATTRIBUTE, "the first refuses");
  draw_picky(2);
  expect_taken(&scratch, "second");
  draw_picky(3);
  for (int i = 0; i < 2; ++i) {  // asked twice, answered the same
    assert_int_equal(ask(&scratch, &def, &claim, &error), OPS_OK);
    assert_int_equal(claim.answer, OPS_CLAIM_ONLY_IN_GROUP);
    assert_int_equal(claim.preference, 77);
    assert_int_equal(claim.reason, OPS_REASON_NONE);
    assert_string_equal(claim.text, "in groups");
    assert_true(ops_str_equal(def->name, "first"));
  }
  draw_picky(7);
  assert_int_equal(ask(&scratch, &def, &claim, &error), OPS_OK);
  assert_int_equal(strlen(claim.text), sizeof claim.text - 1);  // terminated by the host
}

static void broken_answers_are_errors(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  const ops_kernel_def *def;
  ops_claim claim;
  draw_picky(4);
  assert_int_equal(ask(&scratch, &def, &claim, &error), OPS_ERROR_INTERNAL);
  assert_non_null(strstr(error.message, "claim answered 9"));
  assert_non_null(strstr(error.message, "'Picky'"));
  draw_picky(5);
  assert_int_equal(ask(&scratch, &def, &claim, &error), OPS_ERROR_INTERNAL);
  assert_non_null(strstr(error.message, "256 bytes"));
  draw_picky(6);
  assert_int_equal(ask(&scratch, &def, &claim, &error), OPS_ERROR_DEVICE_LOST);
}

static void argument_definitions_repeat(void **state) {
  (void)state;
  uint64_t count;
  const ops_str none = {NULL, 0}, concat = OPS_STR("Concat"), add = OPS_STR("Clip");
  const ops_kernel_def *def = ops_library_kernels(fixture.library, none, concat, &count)[0];
  assert_int_equal(count, 1);
  assert_true(ops_str_equal(ops_kernel_def_input(def, 0)->name, "axis"));
  assert_true(ops_str_equal(ops_kernel_def_input(def, 1)->name, "inputs"));
  assert_ptr_equal(ops_kernel_def_input(def, 1000), ops_kernel_def_input(def, 1));
  assert_null(ops_kernel_def_output(def, 1));
  def = ops_library_kernels(fixture.library, none, add, &count)[0];
  assert_null(ops_kernel_def_input(def, 3));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators_and_opsets),
      cmocka_unit_test(furthest_refusal_is_reported),
      cmocka_unit_test(features_of_the_device),
      cmocka_unit_test(optional_inputs),
      cmocka_unit_test(variadic_inputs),
      cmocka_unit_test(outputs),
      cmocka_unit_test(values_that_are_no_tensors),
      cmocka_unit_test(constants),
      cmocka_unit_test(chains),
      cmocka_unit_test(accumulation),
      cmocka_unit_test(kernels_are_asked_in_order),
      cmocka_unit_test(broken_answers_are_errors),
      cmocka_unit_test(argument_definitions_repeat),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
