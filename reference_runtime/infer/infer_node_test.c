// SPDX-License-Identifier: Apache-2.0
//
// Single nodes: versions of operators whose arguments moved between attributes and inputs, run
// time use without symbols, post-operations, the table. Expected shapes of the table `versions`
// were printed by onnx.shape_inference.infer_shapes(data_prop=True) of onnx 1.23; it is silent
// on the mask of Dropout-7, whose type is that of the data by the specification.
#include "infer/infer_test_util.h"
#include "infer/rules.h"

static void versions_agree_with_onnx(void **state) {
  (void)state;
  const float twice[] = {1, 1, 2, 2}, half[] = {1, 1, 0.5f, 0.5f};
  const rt_attr scales = {
      .name = "scales", .kind = RT_ATTR_FLOATS, .count = 4, .floats = twice};
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "2,3,8,10"), *v = input(g, "v", "2,3,8,1"), *none = NULL;
  rt_value *roi = floats(g, NULL, 0);
  const struct {
    node_spec spec;
    const char *expected[2];
  } rows[] = {
      {{"Slice", 9, {x}, .attrs = {IS("axes", 2, 3), IS("starts", 1, -4), IS("ends", 5, 9999)}},
       {"float[2,3,4,4]"}},
      {{"Slice", 10, {x, INTS(g, 7, 9), INTS(g, 0, -11), INTS(g, 2, 3), INTS(g, -2, -3)}},
       {"float[2,3,4,4]"}},
      {{"Split", 11, {x}, .output_count = 2, .attrs = {I("axis", 3), IS("split", 4, 6)}},
       {"float[2,3,8,4]", "float[2,3,8,6]"}},
      {{"Split", 13, {x, INTS(g, 4, 6)}, .output_count = 2, .attrs = {I("axis", 3)}},
       {"float[2,3,8,4]", "float[2,3,8,6]"}},
      {{"Split", 18, {x}, .output_count = 2, .attrs = {I("axis", 1), I("num_outputs", 2)}},
       {"float[2,2,8,10]", "float[2,1,8,10]"}},
      {{"Squeeze", 11, {v}, .attrs = {IS("axes", 3)}}, {"float[2,3,8]"}},
      {{"Squeeze", 13, {v, INTS(g, -1)}}, {"float[2,3,8]"}},
      {{"Squeeze", 13, {v}}, {"float[2,3,8]"}},
      {{"Unsqueeze", 11, {v}, .attrs = {IS("axes", 0, 5)}}, {"float[1,2,3,8,1,1]"}},
      {{"Unsqueeze", 13, {v, INTS(g, 0, -1)}}, {"float[1,2,3,8,1,1]"}},
      {{"Upsample", 7, {x}, .attrs = {scales}}, {"float[2,3,16,20]"}},
      {{"Upsample", 9, {x, floats(g, twice, 4)}}, {"float[2,3,16,20]"}},
      {{"Resize", 10, {x, floats(g, half, 4)}}, {"float[2,3,4,5]"}},
      {{"Resize", 11, {x, roi, floats(g, half, 4)}}, {"float[2,3,4,5]"}},
      {{"Resize", 11, {x, roi, roi, INTS(g, 2, 3, 7, 9)}}, {"float[2,3,7,9]"}},
      {{"Resize", 13, {x, none, none, INTS(g, 2, 3, 7, 9)}, .input_count = 4},
       {"float[2,3,7,9]"}},
      {{"Resize",
        18,
        {x, none, none, INTS(g, 7, 9)},
        .input_count = 4,
        .attrs = {IS("axes", 2, 3)}},
       {"float[2,3,7,9]"}},
      {{"TopK", 9, {x}, .output_count = 2, .attrs = {I("k", 4)}},
       {"float[2,3,8,4]", "int64[2,3,8,4]"}},
      {{"TopK", 11, {x, INTS(g, 4)}, .output_count = 2, .attrs = {I("axis", 2)}},
       {"float[2,3,4,10]", "int64[2,3,4,10]"}},
      {{"Pad", 10, {x}, .attrs = {IS("pads", 0, 0, 1, 2, 0, 0, 3, 4)}}, {"float[2,3,12,16]"}},
      {{"Pad", 13, {x, INTS(g, 0, 0, 1, 2, 0, 0, 3, 4)}}, {"float[2,3,12,16]"}},
      {{"Pad", 18, {x, INTS(g, 1, 2), none, INTS(g, 2)}, .input_count = 4},
       {"float[2,3,11,10]"}},
      {{"ReduceSum", 11, {x}, .attrs = {IS("axes", 1, -1), I("keepdims", 0)}}, {"float[2,8]"}},
      {{"ReduceSum", 13, {x, INTS(g, 1, -1)}, .attrs = {I("keepdims", 0)}}, {"float[2,8]"}},
      {{"ReduceSum", 13, {x}, .attrs = {I("noop_with_empty_axes", 1)}}, {"float[2,3,8,10]"}},
      {{"ReduceMean", 13, {x}, .attrs = {IS("axes", 2, 3)}}, {"float[2,3,1,1]"}},
      {{"ReduceMean", 18, {x, INTS(g, 2, 3)}}, {"float[2,3,1,1]"}},
      {{"Dropout", 7, {x}, .output_count = 2}, {"float[2,3,8,10]", "float[2,3,8,10]"}},
      {{"Dropout", 12, {x}, .output_count = 2}, {"float[2,3,8,10]", "bool[2,3,8,10]"}},
      {{"Softmax", 11, {x}}, {"float[2,3,8,10]"}},
      {{"AveragePool",
        11,
        {x},
        .attrs = {IS("kernel_shape", 3, 3), IS("strides", 2, 2), I("ceil_mode", 1)}},
       {"float[2,3,4,5]"}},
      {{"MaxPool",
        12,
        {x},
        .output_count = 2,
        .attrs = {IS("kernel_shape", 3, 2), IS("dilations", 2, 3), IS("pads", 1, 0, 1, 0)}},
       {"float[2,3,6,7]", "int64[2,3,6,7]"}},
  };
  rt_node *nodes[sizeof rows / sizeof *rows];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) nodes[i] = add(g, rows[i].spec);
  infer(g);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    for (uint32_t j = 0; j < nodes[i]->output_count; ++j) {
      assert_type(nodes[i]->outputs[j], rows[i].expected[j]);
    }
  }
  rt_graph_destroy(g);
}

// Forms of opset 6 and before that later ones replaced. onnx infers none of them: the shapes
// follow from the texts of these versions ("Result, has same dimensions and type as A", and so
// on).
static void first_versions_follow_their_text(void **state) {
  (void)state;
  const float three = 3, axis = 1, two = 2;
  const ops_str int64 = OPS_STR("INT64");
  const rt_attr to = {.name = "to", .kind = RT_ATTR_STRING, .count = 1, .strings = &int64};
  const rt_attr height = {
      .name = "height_scale", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &two};
  const rt_attr width = {
      .name = "width_scale", .kind = RT_ATTR_FLOAT, .count = 1, .floats = &three};
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "2,3,8,10"), *n = input(g, "n", "3,8"), *c = input(g, "c", "3");
  rt_value *a = input(g, "a", "4,M"), *b = input(g, "b", "M,5"), *p = input(g, "p", "3,8,10");
  const struct {
    node_spec spec;
    const char *expected[5];
  } rows[] = {
      {{"Add", 6, {x, n}, .attrs = {I("broadcast", 1), I("axis", 1)}}, {"float[2,3,8,10]"}},
      {{"Less", 1, {x, n}, .attrs = {I("broadcast", 1), I("axis", 1)}}, {"bool[2,3,8,10]"}},
      {{"Pow", 6, {x, c}, .attrs = {I("broadcast", 1), I("axis", 1)}}, {"float[2,3,8,10]"}},
      {{"PRelu", 6, {x, c}}, {"float[2,3,8,10]"}},
      {{"Gemm", 6, {a, b, input(g, "d", "1")}, .attrs = {I("broadcast", 1)}}, {"float[4,5]"}},
      {{"Cast", 1, {x}, .attrs = {to}}, {"int64[2,3,8,10]"}},
      {{"Reshape", 1, {x}, .attrs = {IS("shape", 0, -1)}}, {"float[2,240]"}},
      {{"Pad", 1, {x}, .attrs = {IS("paddings", 0, 0, 1, 2, 0, 0, 3, 4)}},
       {"float[2,3,12,16]"}},
      {{"Upsample", 1, {x}, .attrs = {height, width}}, {"float[2,3,16,30]"}},
      {{"Tile", 1, {x, floats(g, &three, 1), floats(g, &axis, 1)}}, {"float[2,9,8,10]"}},
      {{"Concat", 1, {x, x}}, {"float[2,6,8,10]"}},
      {{"BatchNormalization",
        8,
        {x, p, p, p, p},
        .output_count = 5,
        .attrs = {I("spatial", 0)}},
       {"float[2,3,8,10]", "float[3,8,10]", "float[3,8,10]", "float[3,8,10]", "float[3,8,10]"}},
      {{"BatchNormalization", 6, {x, c, c, c, c}, .output_count = 2},
       {"float[2,3,8,10]", "float[3]"}},
  };
  rt_node *nodes[sizeof rows / sizeof *rows];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) nodes[i] = add(g, rows[i].spec);
  infer(g);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    for (uint32_t j = 0; j < nodes[i]->output_count; ++j)
      assert_type(nodes[i]->outputs[j], rows[i].expected[j]);
  rt_graph_destroy(g);
}

// The same node at two shapes, without symbols and with the target shape as data.
static void nodes_are_inferred_at_run_time(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "N,C"), *s = input_of_type(g, "s", OPS_TYPE_INT64, "2");
  rt_node *node = ADD(g, "Reshape", 13, {x, s});
  rt_infer_output output;
  for (int64_t n = 2; n < 4; ++n) {
    const rt_dim dims[] = {rt_dim_const(n), rt_dim_const(6)}, two[] = {rt_dim_const(2)};
    const rt_dim target[] = {rt_dim_const(3), rt_dim_const(-1)};
    const rt_type type_x = rt_type_tensor(OPS_TYPE_FLOAT, 2, dims);
    const rt_type type_s = rt_type_tensor(OPS_TYPE_INT64, 1, two);
    const rt_infer_input inputs[] = {{&type_x, NULL, -1, NULL}, {&type_s, target, 2, NULL}};
    assert_int_equal(rt_infer_node(node, NULL, inputs, &output, NULL), OPS_OK);
    assert_int_equal(output.type.rank, 2);
    assert_ptr_equal(output.type.dims, output.dims);
    assert_true(rt_dim_is_value(output.dims[0], 3));
    assert_true(rt_dim_is_value(output.dims[1], 2 * n));
  }
  rt_graph_destroy(g);
}

static void scales_are_read_from_data(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_node *node = ADD(g, "Resize", 10, {input(g, "x", "1,1,4,4"), input(g, "s", "4")});
  const rt_dim dims[] = {rt_dim_const(1), rt_dim_const(1), rt_dim_const(5), rt_dim_const(5)};
  const rt_dim four[] = {rt_dim_const(4)};
  const rt_type type_x = rt_type_tensor(OPS_TYPE_FLOAT, 4, dims);
  const rt_type type_s = rt_type_tensor(OPS_TYPE_FLOAT, 1, four);
  const float scales[] = {1, 1, 1.5f, 0.7f};
  const int64_t count = 4;
  rt_constant *data;
  rt_infer_output output;
  assert_int_equal(rt_constant_create(OPS_TYPE_FLOAT, 1, &count, scales, &data, NULL), OPS_OK);
  const rt_infer_input inputs[] = {{&type_x, NULL, -1, NULL}, {&type_s, NULL, -1, data}};
  assert_int_equal(rt_infer_node(node, NULL, inputs, &output, NULL), OPS_OK);
  assert_true(rt_dim_is_value(output.dims[2], 7));  // floor(7.5)
  assert_true(rt_dim_is_value(output.dims[3], 3));  // floor(3.5)
  rt_constant_release(data);
  rt_graph_destroy(g);
}

static void post_operations_are_applied_in_order(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *r = input(g, "r", "5,2,1");
  rt_node *node = ADD(g, "MatMul", 13, {input(g, "a", "2,3"), input(g, "b", "3,4")});
  // The operand must be defined before the node; inputs are.
  const rt_op sum = {.name = "Add", .domain = "", .opset = 13};
  const rt_attr to = I("to", OPS_TYPE_FLOAT16);
  const rt_op cast = {.name = "Cast", .domain = "", .opset = 13, .attrs = {&to, 1}};
  assert_int_equal(rt_node_append_post(node, &sum, &r, 1, 0, NULL), OPS_OK);
  assert_int_equal(rt_node_append_post(node, &cast, NULL, 0, 0, NULL), OPS_OK);
  infer(g);
  assert_type(node->outputs[0], "float16[5,2,4]");
  rt_graph_destroy(g);
}

static void contents_never_wrap(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  const int32_t big[] = {2000000000};
  const int64_t one = 1;
  rt_constant *constant;
  rt_value *value;
  assert_int_equal(rt_constant_create(OPS_TYPE_INT32, 1, &one, big, &constant, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_constant(g, "big", constant, &value, NULL), OPS_OK);
  rt_constant_release(constant);
  rt_value *sum = OUT(g, "Add", 13, {value, value});
  infer(g);
  assert_int_equal(sum->contents_count, 1);
  assert_true(rt_dim_is_unknown(sum->contents[0]));
  rt_graph_destroy(g);
}

static void check_sorted(const rt_infer_rule_set *set) {
  for (uint32_t i = 0; i < set->count; ++i) {
    const rt_infer_rule *rule = &set->rules[i], *next = rule + 1;
    const rt_op op = {.name = rule->name, .domain = set->domain, .opset = rule->since};
    assert_ptr_equal(rt_infer_find_rule(&op), rule);
    assert_true(rule->since <= rule->until);
    if (i + 1 == set->count) break;
    const int order = strcmp(rule->name, next->name);
    assert_true(order < 0 || (order == 0 && rule->until < next->since));
  }
}

static void the_tables_are_sorted(void **state) {
  (void)state;
  for (uint32_t i = 0; i < rt_infer_rule_set_count(); ++i)
    check_sorted(rt_infer_rule_set_at(i));
  const rt_op foreign = {.name = "Relu", .domain = "com.example", .opset = 13};
  const rt_op unknown = {.name = "Zzz", .domain = "", .opset = 13};
  const rt_op of_another = {.name = "Relu", .domain = "com.microsoft", .opset = 1};
  assert_false(rt_infer_has_rule(&foreign));
  assert_false(rt_infer_has_rule(&unknown));
  assert_false(rt_infer_has_rule(&of_another));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_agree_with_onnx),
      cmocka_unit_test(first_versions_follow_their_text),
      cmocka_unit_test(nodes_are_inferred_at_run_time),
      cmocka_unit_test(scales_are_read_from_data),
      cmocka_unit_test(post_operations_are_applied_in_order),
      cmocka_unit_test(contents_never_wrap),
      cmocka_unit_test(the_tables_are_sorted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
