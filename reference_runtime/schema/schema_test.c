// SPDX-License-Identifier: Apache-2.0
//
// The table against facts read from ONNX's operator documentation (docs/Operators.md and
// docs/Changelog.md of onnx 1.23) and that of com.microsoft (docs/ContribOperators.md of
// onnxruntime), and the order that the search relies on.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

#include "schema/schema.h"

static ops_str str(const char *text) {
  return (ops_str){text, strlen(text)};
}

static const rt_schema *find(const char *domain, const char *op_type, int64_t opset) {
  return rt_schema_find(str(domain), str(op_type), opset);
}

static void finds_the_version_of_an_opset(void **state) {
  (void)state;
  // Clip has the versions 1, 6, 11, 12 and 13.
  static const int kExpected[] = {1, 1, 1, 1, 1, 6, 6, 6, 6, 6, 11, 12, 13, 13, 13, 13, 13};
  for (int opset = 1; opset <= 17; ++opset) {
    const rt_schema *clip = find("", "Clip", opset);
    assert_non_null(clip);
    assert_string_equal(clip->name, "Clip");
    assert_int_equal(clip->since, kExpected[opset - 1]);
    assert_ptr_equal(clip, find("ai.onnx", "Clip", opset));
  }
  assert_null(find("", "Clip", 0));
  assert_null(find("", "Gelu", 19));
  assert_int_equal(find("", "Gelu", 20)->since, 20);
  assert_int_equal(find("", "Gelu", INT64_MAX)->since, 20);
  assert_int_equal(rt_schema_find_first(str(""), str("Gelu"))->since, 20);
  assert_null(find("", "Gelux", 20));
  assert_null(find("", "", 20));
  assert_null(find("com.example", "Clip", 20));
  assert_null(find("ai.onnx.ml", "Clip", 20));
  assert_int_equal(find("ai.onnx.ml", "TreeEnsemble", 5)->since, 5);
  assert_int_equal(find("ai.onnx.preview.training", "Adam", 1)->since, 1);
}

static void is_sorted_and_found(void **state) {
  (void)state;
  assert_true(rt_schema_count() > 600);
  for (size_t i = 0; i < rt_schema_count(); ++i) {
    const rt_schema *schema = rt_schema_at(i);
    assert_ptr_equal(find(schema->domain, schema->name, schema->since), schema);
    assert_true(schema->since <= rt_schema_newest_opset(str(schema->domain)));
    assert_true(schema->min_inputs <= schema->max_inputs);
    for (int32_t k = 0; k < schema->attribute_count; ++k)
      assert_ptr_equal(rt_schema_attribute_find(schema, str(schema->attributes[k].name)),
                       &schema->attributes[k]);
  }
  assert_null(rt_schema_at(rt_schema_count()));
}

static void describes_conv(void **state) {
  (void)state;
  const rt_schema *conv = find("", "Conv", 11);
  assert_int_equal(conv->min_inputs, 2);
  assert_int_equal(conv->max_inputs, 3);
  assert_int_equal(conv->input_count, 3);
  assert_string_equal(conv->inputs[1].name, "W");
  assert_string_equal(conv->inputs[1].type, "T");
  assert_int_equal(conv->inputs[1].constraint, 0);
  assert_int_equal(conv->inputs[2].option, RT_SCHEMA_OPTIONAL);
  assert_string_equal(conv->constraints[0].name, "T");
  const uint64_t floats = OPS_TYPE_BIT(OPS_TYPE_FLOAT16) | OPS_TYPE_BIT(OPS_TYPE_FLOAT) |
                          OPS_TYPE_BIT(OPS_TYPE_DOUBLE);
  assert_true(conv->constraints[0].types->tensor == floats);
  assert_true(conv->constraints[0].types->sequence == 0);
  const rt_schema_attribute *group = rt_schema_attribute_find(conv, str("group"));
  assert_int_equal(group->kind, 2);
  assert_int_equal(group->has_default, 1);
  assert_int_equal(group->default_value.ints[0], 1);
  const rt_schema_attribute *auto_pad = rt_schema_attribute_find(conv, str("auto_pad"));
  assert_memory_equal(auto_pad->default_value.strings[0].data, "NOTSET", 6);
  assert_int_equal(auto_pad->default_value.strings[0].size, 6);
  const rt_schema_attribute *pads = rt_schema_attribute_find(conv, str("pads"));
  assert_int_equal(pads->kind, 7);
  assert_int_equal(pads->has_default, 0);
  assert_null(rt_schema_attribute_find(conv, str("padz")));
}

static void describes_special_forms(void **state) {
  (void)state;
  const rt_schema *concat = find("", "Concat", 13);
  assert_int_equal(concat->max_inputs, RT_SCHEMA_UNBOUNDED);
  assert_int_equal(concat->inputs[0].option, RT_SCHEMA_VARIADIC);
  assert_int_equal(concat->inputs[0].is_homogeneous, 1);
  assert_int_equal(concat->inputs[0].min_count, 1);
  assert_ptr_equal(rt_schema_input_at(concat, 7), &concat->inputs[0]);
  assert_null(rt_schema_output_at(concat, 1));
  assert_int_equal(rt_schema_attribute_find(concat, str("axis"))->is_required, 1);
  const rt_schema *loop = find("", "Loop", 16);
  assert_int_equal(loop->inputs[2].is_homogeneous, 0);
  assert_int_equal(loop->inputs[2].min_count, 0);
  assert_int_equal(rt_schema_attribute_find(loop, str("body"))->kind, 5);
  const rt_schema *reshape = find("", "Reshape", 13);
  assert_string_equal(reshape->inputs[1].type, "tensor(int64)");
  assert_int_equal(reshape->inputs[1].constraint, -1);
  assert_true(reshape->inputs[1].types->tensor == OPS_TYPE_BIT(OPS_TYPE_INT64));
  // SequenceAt takes sequences of every tensor type, and gives the tensor.
  const rt_schema *at = find("", "SequenceAt", 11);
  assert_true(at->inputs[0].types->sequence & OPS_TYPE_BIT(OPS_TYPE_STRING));
  assert_true(at->inputs[0].types->tensor == 0);
  const rt_schema *zip = find("ai.onnx.ml", "ZipMap", 1);
  assert_true(zip->outputs[0].types->maps ==
              (RT_SCHEMA_SEQUENCE_OF_MAP_INT64_FLOAT | RT_SCHEMA_SEQUENCE_OF_MAP_STRING_FLOAT));
  assert_int_equal(find("", "Upsample", 9)->is_deprecated, 0);
  assert_int_equal(find("", "Upsample", 10)->is_deprecated, 1);
  assert_int_equal(find("", "RandomNormal", 1)->is_nondeterministic, 1);
  assert_int_equal(find("", "Add", 14)->is_nondeterministic, 0);
  // HardSigmoid: alpha 0.2, beta 0.5.
  const rt_schema *hard = find("", "HardSigmoid", 6);
  assert_true(rt_schema_attribute_find(hard, str("alpha"))->default_value.floats[0] == 0.2f);
}

static void describes_operators_of_microsoft(void **state) {
  (void)state;
  const rt_schema *product = find("com.microsoft", "MatMulNBits", 1);
  assert_int_equal(product->min_inputs, 3);
  assert_int_equal(product->max_inputs, 6);
  assert_string_equal(product->inputs[3].name, "zero_points");
  assert_int_equal(product->inputs[3].option, RT_SCHEMA_OPTIONAL);
  assert_int_equal(rt_schema_attribute_find(product, str("K"))->is_required, 1);
  assert_int_equal(rt_schema_attribute_find(product, str("bits"))->default_value.ints[0], 4);
  // Scale and zero point of the output, then any number of tensors with theirs.
  const rt_schema *concat = find("com.microsoft", "QLinearConcat", 1);
  assert_int_equal(concat->min_inputs, 3);
  assert_int_equal(concat->max_inputs, RT_SCHEMA_UNBOUNDED);
  assert_int_equal(concat->inputs[2].option, RT_SCHEMA_VARIADIC);
  assert_int_equal(concat->inputs[2].is_homogeneous, 0);
  assert_int_equal(concat->inputs[2].min_count, 1);
  const rt_schema *product_of_floats = find("com.microsoft", "FusedMatMul", 1);
  const rt_schema_attribute *alpha = rt_schema_attribute_find(product_of_floats, str("alpha"));
  assert_true(alpha->default_value.floats[0] == 1.0f);
  assert_int_equal(find("com.microsoft", "BitmaskDropout", 1)->is_nondeterministic, 1);
  // It is of both domains.
  assert_int_equal(find("", "SimplifiedLayerNormalization", 17)->since, 1);
  assert_int_equal(find("com.microsoft", "SimplifiedLayerNormalization", 1)->since, 1);
  assert_string_equal(rt_schema_find_near(str("com.microsoft"), str("FusedMatMull"), 1)->name,
                      "FusedMatMul");
  const rt_schema *relu = rt_schema_find_near(str("com.microsoft"), str("Relu"), 1);
  assert_string_equal(relu->domain, "");
}

static void knows_the_newest_opsets(void **state) {
  (void)state;
  assert_int_equal(rt_schema_newest_opset(str("")), 28);
  assert_int_equal(rt_schema_newest_opset(str("ai.onnx")), 28);
  assert_int_equal(rt_schema_newest_opset(str("ai.onnx.ml")), 5);
  assert_int_equal(rt_schema_newest_opset(str("com.example")), 0);
  assert_int_equal(rt_schema_newest_opset(str("com.microsoft")), 1);
  assert_int_equal(rt_schema_domain_count(), 5);
  assert_string_equal(rt_schema_domain_at(1)->name, "ai.onnx.ml");
  assert_string_equal(rt_schema_domain_at(4)->name, "com.microsoft");
  assert_null(rt_schema_domain_at(5));
}

// Distances as in the textbook example of Wagner and Fischer, and by hand.
static void measures_edit_distance(void **state) {
  (void)state;
  assert_int_equal(rt_schema_edit_distance(str("kitten"), str("sitting"), 9), 3);
  assert_int_equal(rt_schema_edit_distance(str("kitten"), str("sitting"), 2), -1);
  assert_int_equal(rt_schema_edit_distance(str("RELU"), str("Relu"), 0), 0);
  assert_int_equal(rt_schema_edit_distance(str(""), str("abc"), 3), 3);
  assert_int_equal(rt_schema_edit_distance(str(""), str(""), 0), 0);
  char longer[100];
  memset(longer, 'a', sizeof longer);
  assert_int_equal(rt_schema_edit_distance((ops_str){longer, 100}, str("a"), 1000), -1);
}

static void finds_near_names(void **state) {
  (void)state;
  assert_string_equal(rt_schema_find_near(str(""), str("Rellu"), 13)->name, "Relu");
  assert_string_equal(rt_schema_find_near(str(""), str("conv"), 13)->name, "Conv");
  assert_string_equal(rt_schema_find_near(str(""), str("MaxPol"), 13)->name, "MaxPool");
  // The version is the one of the opset.
  assert_int_equal(rt_schema_find_near(str(""), str("Clipp"), 12)->since, 12);
  const rt_schema *scaler = rt_schema_find_near(str(""), str("Scaler"), 13);
  assert_string_equal(scaler->domain, "ai.onnx.ml");
  assert_null(rt_schema_find_near(str(""), str("FrobnicateTensors"), 13));
  const rt_schema *conv = find("", "Conv", 11);
  assert_string_equal(rt_schema_attribute_find_near(conv, str("stride"))->name, "strides");
  assert_null(rt_schema_attribute_find_near(conv, str("bogus_thing")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_version_of_an_opset),
      cmocka_unit_test(is_sorted_and_found),
      cmocka_unit_test(describes_conv),
      cmocka_unit_test(describes_special_forms),
      cmocka_unit_test(describes_operators_of_microsoft),
      cmocka_unit_test(knows_the_newest_opsets),
      cmocka_unit_test(measures_edit_distance),
      cmocka_unit_test(finds_near_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
