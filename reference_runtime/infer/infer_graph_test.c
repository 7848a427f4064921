// SPDX-License-Identifier: Apache-2.0
//
// Inference over graphs: symbols, computations on shapes, declarations, bodies, errors.
// Expected shapes follow from the operators' definitions in the ONNX specification; those of
// whole networks and of every operator are compared with onnx and onnxruntime by
// compare_shapes.py.
#include "infer/infer_test_util.h"

static void symbols_travel_through_layers(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "N,3,H,W"), *w = input(g, "w", "8,3,3,3");
  rt_value *conv =
      OUT(g, "Conv", 13, {x, w}, .attrs = {IS("strides", 2, 2), IS("pads", 1, 1, 1, 1)});
  rt_value *pool =
      OUT(g, "MaxPool", 13, {conv}, .attrs = {IS("kernel_shape", 2, 2), IS("strides", 2, 2)});
  rt_value *mean = OUT(g, "GlobalAveragePool", 13, {pool});
  rt_value *flat = OUT(g, "Flatten", 13, {mean});
  infer(g);
  assert_type(conv, "float[N,8,floor((H + 1)/(2)),floor((W + 1)/(2))]");
  assert_type(pool, "float[N,8,floor((H + 1)/(4)),floor((W + 1)/(4))]");
  assert_type(flat, "float[N,8]");
  rt_graph_destroy(g);
}

// Shape -> Slice -> Concat -> Reshape, as exporters write x.view(n, -1).
static void shape_computations_stay_known(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "N,4,H,W");
  rt_value *shape = OUT(g, "Shape", 13, {x});
  rt_value *n = OUT(g, "Slice", 13, {shape, INTS(g, 0), INTS(g, 1), INTS(g, 0)});
  rt_value *target = OUT(g, "Concat", 13, {n, INTS(g, -1)}, .attrs = {I("axis", 0)});
  rt_value *y = OUT(g, "Reshape", 13, {x, target});
  rt_value *h = OUT(g, "Gather", 13, {shape, INTS(g, 2)});
  rt_value *twice = OUT(g, "Mul", 13, {h, INTS(g, 2)});
  rt_value *less = OUT(g, "Sub", 13, {twice, INTS(g, 1)});
  rt_value *half = OUT(g, "Div", 13, {OUT(g, "Add", 13, {less, INTS(g, 3)}), INTS(g, 2)});
  rt_value *filled = OUT(g, "ConstantOfShape", 13, {half});
  infer(g);
  assert_type(y, "float[N,4*H*W]");
  assert_type(filled, "float[H + 1]");
  rt_graph_destroy(g);
}

// The pattern of torch's expand: Where(shape == -1, ones, shape).
static void conditions_on_shapes_are_decided(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "1,H");
  rt_value *h = OUT(g, "Gather", 13, {OUT(g, "Shape", 13, {x}), INTS(g, 1)});
  rt_value *wanted =
      OUT(g, "Concat", 13, {INTS(g, -1), INTS(g, 5), h}, .attrs = {I("axis", 0)});
  rt_value *open = OUT(g, "Equal", 13, {wanted, INTS(g, -1)});
  rt_value *chosen = OUT(g, "Where", 13, {open, INTS(g, 1, 1, 1), wanted});
  rt_value *y = OUT(g, "Expand", 13, {x, chosen});
  infer(g);
  assert_type(y, "float[1,5,H]");
  rt_graph_destroy(g);
}

static void reshape_copies_and_divides(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "B,S,64"), *fixed = input(g, "z", "2,3,4");
  rt_value *heads = OUT(g, "Reshape", 13, {x, INTS(g, 0, 0, 8, 8)});
  rt_value *merged = OUT(g, "Reshape", 13, {heads, INTS(g, 0, -1, 64)});
  rt_value *flat = OUT(g, "Reshape", 13, {fixed, INTS(g, -1, 6)});
  infer(g);
  assert_type(heads, "float[B,S,8,8]");
  assert_type(merged, "float[B,S,64]");
  assert_type(flat, "float[4,6]");
  rt_graph_destroy(g);
}

static void open_dimensions_get_symbols(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "?,2");
  rt_value *where = OUT(g, "NonZero", 13, {x});
  rt_value *same = OUT(g, "Neg", 13, {where});
  rt_value *mystery = OUT(g, "Mystery", 1, {x});
  infer(g);
  assert_type(x, "float[x$0,2]");
  assert_type(where, "int64[2,n$1]");
  assert_type(same, "int64[2,n$1]");
  assert_int_equal(mystery->type.kind, RT_TYPE_UNKNOWN);
  infer(g);  // again: nothing changes, no new symbols
  assert_type(same, "int64[2,n$1]");
  assert_int_equal(rt_symbols_count(g->symbols), 2);
  rt_graph_destroy(g);
}

static void count_note(void *user, const rt_node *node, const char *text) {
  (void)node;
  (void)text;
  ++*(int *)user;
}

static void declarations_fill_and_are_checked(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "4,N");
  rt_value *open = OUT(g, "NonZero", 13, {x}), *relu = OUT(g, "Relu", 13, {x});
  const rt_dim nine[] = {rt_dim_const(2), rt_dim_const(9)};
  const rt_dim wrong[] = {rt_dim_const(5), rt_dim_const(7)};
  const rt_type declared = rt_type_tensor(OPS_TYPE_INT64, 2, nine);
  const rt_type false_one = rt_type_tensor(OPS_TYPE_FLOAT, 2, wrong);
  assert_int_equal(rt_value_set_declared(open, &declared, NULL), OPS_OK);
  assert_int_equal(rt_value_set_declared(relu, &false_one, NULL), OPS_OK);
  int notes = 0;
  rt_infer_options options = {.note = count_note, .user = &notes};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(rt_infer_graph(g, &options, &error), OPS_OK);
  assert_int_equal(notes, 1);
  assert_type(open, "int64[2,9]");
  assert_type(relu, "float[4,N]");
  options.strict = 1;
  assert_int_equal(rt_infer_graph(g, &options, &error), OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "declared as float[5,7] but is float[4,N]"));
  rt_graph_destroy(g);
}

// Loop over (iteration, condition, sum, list): sum keeps its shape, list grows.
static void loops_keep_what_an_iteration_preserves(void **state) {
  (void)state;
  rt_graph *g = make_graph(), *body;
  rt_value *count = input_of_type(g, "count", OPS_TYPE_INT64, "");
  rt_value *go = input_of_type(g, "go", OPS_TYPE_BOOL, "");
  rt_value *sum = input(g, "sum", "N,4"), *list = input(g, "list", "1,4"), *keep, *in[4];
  assert_int_equal(rt_graph_create_body(g, "body", &body, NULL), OPS_OK);
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(rt_graph_add_input(body, "in", NULL, &in[i], NULL), OPS_OK);
  }
  rt_value *next = OUT(body, "Relu", 13, {in[2]});
  rt_value *longer = OUT(body, "Concat", 13, {in[3], in[3]}, .attrs = {I("axis", 0)});
  rt_value *outs[] = {in[1], next, longer, next};
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(rt_graph_add_output(body, NULL, outs[i], NULL, NULL), OPS_OK);
  }
  keep = OUT(g, "Loop", 13, {count, go, sum, list}, .output_count = 3,
             .attrs = {{.name = "body", .kind = RT_ATTR_GRAPH, .count = 1, .graphs = &body}});
  infer(g);
  assert_type(keep, "float[N,4]");
  const rt_type *grown = &keep->producer->outputs[1]->type;
  assert_int_equal(grown->rank, 2);
  assert_false(rt_dim_is_const(grown->dims[0]));
  assert_true(rt_dim_is_value(grown->dims[1], 4));
  assert_int_equal(keep->producer->outputs[2]->type.rank, 3);
  rt_graph_destroy(g);
}

// A loop that nothing ends early stacks as many results as it has iterations: the size of an
// axis here. Where the body decides, the number is open.
static void counted_loops_have_a_length(void **state) {
  (void)state;
  for (int counted = 0; counted < 2; ++counted) {
    rt_graph *g = make_graph(), *body;
    rt_value *x = input(g, "x", "N,4"), *in[2], *inner, *none = NULL;
    rt_value *shape = OUT(g, "Shape", 13, {x}),
             *count = OUT(g, "Gather", 13, {shape, INTS(g, 0)});
    assert_int_equal(rt_graph_create_body(g, "body", &body, NULL), OPS_OK);
    for (int i = 0; i < 2; ++i)
      assert_int_equal(rt_graph_add_input(body, "in", NULL, &in[i], NULL), OPS_OK);
    assert_int_equal(rt_graph_add_capture(body, x, &inner, NULL), OPS_OK);
    rt_value *row = OUT(body, "Gather", 13, {inner, in[0]}, .attrs = {I("axis", 0)});
    rt_value *go = counted ? OUT(body, "Identity", 13, {in[1]}) : OUT(body, "Not", 13, {in[1]});
    assert_int_equal(rt_graph_add_output(body, NULL, go, NULL, NULL), OPS_OK);
    assert_int_equal(rt_graph_add_output(body, NULL, row, NULL, NULL), OPS_OK);
    rt_value *all =
        OUT(g, "Loop", 13, {count, none}, .input_count = 2,
            .attrs = {{.name = "body", .kind = RT_ATTR_GRAPH, .count = 1, .graphs = &body}});
    infer(g);
    assert_int_equal(all->type.rank, 2);
    assert_int_equal(rt_dim_equal(all->type.dims[0], x->type.dims[0]), counted);
    assert_true(rt_dim_is_value(all->type.dims[1], 4));
    rt_graph_destroy(g);
  }
}

// The first element has length 3, an iteration adds one of length 4: no length holds for all.
static void carried_sequences_may_get_other_elements(void **state) {
  (void)state;
  rt_graph *g = make_graph(), *body;
  rt_value *count = input_of_type(g, "count", OPS_TYPE_INT64, ""), *in[3], *none = NULL;
  rt_value *start = OUT(g, "SequenceConstruct", 11, {input(g, "a", "3")});
  rt_value *other = input(g, "b", "4"), *inner;
  assert_int_equal(rt_graph_create_body(g, "body", &body, NULL), OPS_OK);
  for (int i = 0; i < 3; ++i)
    assert_int_equal(rt_graph_add_input(body, "in", NULL, &in[i], NULL), OPS_OK);
  assert_int_equal(rt_graph_add_capture(body, other, &inner, NULL), OPS_OK);
  rt_value *longer = OUT(body, "SequenceInsert", 11, {in[2], inner});
  assert_int_equal(rt_graph_add_output(body, NULL, in[1], NULL, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_output(body, NULL, longer, NULL, NULL), OPS_OK);
  rt_value *all =
      OUT(g, "Loop", 13, {count, none, start}, .input_count = 3,
          .attrs = {{.name = "body", .kind = RT_ATTR_GRAPH, .count = 1, .graphs = &body}});
  infer(g);
  assert_type(start, "seq(float[3])");
  assert_type(all, "seq(float[...])");
  rt_graph_destroy(g);
}

// What elements share is kept: an axis, a rank, or no more than the type.
static void sequences_keep_what_elements_share(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *a = input(g, "a", "N,3,4"), *b = input(g, "b", "M,3,4"), *c = input(g, "c", "3");
  rt_value *list = OUT(g, "SequenceConstruct", 11, {a, b});
  rt_value *same = OUT(g, "SequenceConstruct", 11, {a, a});
  rt_value *mixed = OUT(g, "SequenceInsert", 11, {list, c});
  rt_value *one = OUT(g, "SequenceAt", 11, {same, input_of_type(g, "i", OPS_TYPE_INT64, "")});
  rt_value *stack =
      OUT(g, "ConcatFromSequence", 11, {same}, .attrs = {I("axis", -1), I("new_axis", 1)});
  rt_value *joined = OUT(g, "ConcatFromSequence", 11, {list}, .attrs = {I("axis", 1)});
  rt_value *parts =
      OUT(g, "SplitToSequence", 11, {a}, .attrs = {I("axis", 2), I("keepdims", 0)});
  rt_value *holder = OUT(g, "Optional", 15, {same});
  rt_value *held = OUT(g, "OptionalGetElement", 18, {holder});
  infer(g);
  assert_type(list, "seq(float[?,3,4])");
  assert_type(mixed, "seq(float[...])");
  assert_type(one, "float[N,3,4]");
  assert_int_equal(stack->type.rank, 4);
  assert_true(rt_dim_is_value(stack->type.dims[2], 4));
  assert_false(rt_dim_is_const(stack->type.dims[3]));
  assert_int_equal(joined->type.rank, 3);
  assert_true(rt_dim_is_value(joined->type.dims[2], 4));
  assert_type(parts, "seq(float[N,3])");
  assert_type(holder, "optional(seq(float[N,3,4]))");
  assert_type(held, "seq(float[N,3,4])");
  rt_graph_destroy(g);
}

static rt_graph *branch(rt_graph *g, rt_value *captured, const char *op, int64_t axis) {
  rt_graph *body;
  rt_value *inner;
  assert_int_equal(rt_graph_create_body(g, op, &body, NULL), OPS_OK);
  assert_int_equal(rt_graph_add_capture(body, captured, &inner, NULL), OPS_OK);
  rt_value *y = OUT(body, op, 11, {inner}, .attrs = {IS("axes", axis)});
  assert_int_equal(rt_graph_add_output(body, NULL, y, NULL, NULL), OPS_OK);
  return body;
}

static rt_value *add_if(rt_graph *g, rt_value *condition, rt_graph *then_body,
                        rt_graph *else_body) {
  return OUT(
      g, "If", 13, {condition},
      .attrs = {
          {.name = "then_branch", .kind = RT_ATTR_GRAPH, .count = 1, .graphs = &then_body},
          {.name = "else_branch", .kind = RT_ATTR_GRAPH, .count = 1, .graphs = &else_body}});
}

static void branches_merge(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "3,N"), *c = input_of_type(g, "c", OPS_TYPE_BOOL, "");
  rt_value *y = add_if(g, c, branch(g, x, "ReduceSum", 0), branch(g, x, "ReduceSum", 1));
  rt_value *z = add_if(g, c, branch(g, x, "ReduceSum", 0), branch(g, x, "ReduceMax", 0));
  infer(g);
  assert_int_equal(y->type.rank, 2);
  assert_false(rt_dim_is_const(y->type.dims[0]));
  assert_type(z, "float[1,N]");
  rt_graph_destroy(g);
}

// Squeeze of an axis of 3 is wrong, but the branch is never taken.
static void a_branch_never_taken_may_be_wrong(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "3,N");
  rt_value *yes = OUT(g, "Equal", 13, {INTS(g, 1), INTS(g, 1)});
  rt_value *y = add_if(g, yes, branch(g, x, "ReduceSum", 0), branch(g, x, "Squeeze", 0));
  infer(g);
  assert_type(y, "float[1,N]");
  rt_graph_destroy(g);
  g = make_graph();
  x = input(g, "x", "3,N");
  rt_value *c = input_of_type(g, "c", OPS_TYPE_BOOL, "");
  add_if(g, c, branch(g, x, "ReduceSum", 0), branch(g, x, "Squeeze", 0));
  assert_refused(g, "axis 0 of the data is 3|expected 1");
}

static void errors_name_what_is_wrong(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  ADD(g, "Conv", 13, {input(g, "x", "1,64,8,8"), input(g, "w", "32,16,3,3")},
      .attrs = {I("group", 2)});
  assert_refused(g, "Conv 'n'|input W has 16 channels per group|expected 32|X has 64, group 2");
  g = make_graph();
  ADD(g, "Conv", 13, {input(g, "x", "1,4,8"), input(g, "w", "4,4,3,3")});
  assert_refused(g, "input W ('w') has rank 4, expected 3");
  g = make_graph();
  ADD(g, "Conv", 13, {input(g, "x", "1,4,2,2"), input(g, "w", "4,4,5,5")});
  assert_refused(g, "window is larger than the data|2 elements|spans 5");
  g = make_graph();
  ADD(g, "Add", 13, {input(g, "a", "2,3"), input(g, "b", "2,4")});
  assert_refused(g, "Add 'n'|do not broadcast|3|4");
  g = make_graph();
  ADD(g, "Add", 13, {input(g, "a", "2"), input_of_type(g, "b", OPS_TYPE_INT64, "2")});
  assert_refused(g, "A ('a') is float|B ('b') is int64|Cast");
  g = make_graph();
  ADD(g, "MatMul", 13, {input(g, "a", "2,3"), input(g, "b", "4,5")});
  assert_refused(g, "MatMul 'n'|the last axis of A is 3|axis of B is 4");
  g = make_graph();
  ADD(g, "Reshape", 13, {input(g, "x", "2,5"), INTS(g, 3, 4)});
  assert_refused(g, "10 elements|asked for has 12");
  g = make_graph();
  ADD(g, "Reshape", 13, {input(g, "x", "2,5"), INTS(g, -1, -1)});
  assert_refused(g, "elements 0 and 1 of shape are -1");
  g = make_graph();
  ADD(g, "Concat", 13, {input(g, "a", "2,3"), input(g, "b", "4,4")}, .attrs = {I("axis", 1)});
  assert_refused(g, "Concat 'n'|input 1 ('b') is 4 on axis 0|2");
  g = make_graph();
  ADD(g, "Transpose", 13, {input(g, "a", "2,3")}, .attrs = {IS("perm", 0, 0)});
  assert_refused(g, "perm names axis 0 twice");
  g = make_graph();
  ADD(g, "Softmax", 13, {input(g, "a", "2,3")}, .attrs = {I("axis", 2)});
  assert_refused(g, "axis is 2, expected one in [-2, 1]");
  g = make_graph();
  ADD(g, "Split", 13, {input(g, "a", "7")}, .output_count = 2);
  assert_refused(g, "7 elements, expected a multiple of the 2 outputs");
}

// Types that the schemas exclude: Not takes bool, Add and Max operands of one type, SequenceAt
// a sequence.
static void types_follow_the_schemas(void **state) {
  (void)state;
  rt_graph *g = make_graph();
  rt_value *x = input(g, "x", "3"), *i = input_of_type(g, "i", OPS_TYPE_INT64, "");
  ADD(g, "Not", 13, {x});
  assert_refused(g, "Not|input X ('x') is float[3]|expected bool");
  g = make_graph();
  x = input(g, "x", "3"), i = input_of_type(g, "i", OPS_TYPE_INT64, "3");
  ADD(g, "Add", 13, {x, i});
  assert_refused(g, "Add|input A ('x') is float and input B ('i') is int64|insert a Cast");
  g = make_graph();
  x = input(g, "x", "3"), i = input_of_type(g, "i", OPS_TYPE_INT64, "3");
  ADD(g, "Max", 13, {x, x, i});
  assert_refused(g, "Max|input 2 of data_0 ('i') is int64");
  g = make_graph();
  x = input(g, "x", "3"), i = input_of_type(g, "i", OPS_TYPE_INT64, "");
  ADD(g, "SequenceAt", 11, {x, i});
  assert_refused(g, "SequenceAt|input input_sequence ('x') is float[3]|sequence(float)");
}

// Nothing known of the inputs: every rule must cope.
static void unknown_inputs_are_harmless(void **state) {
  (void)state;
  static const char *const ops[] = {"Conv",
                                    "ConvTranspose",
                                    "MaxPool",
                                    "Gemm",
                                    "MatMul",
                                    "Reshape",
                                    "Slice",
                                    "Split",
                                    "Concat",
                                    "Gather",
                                    "Resize",
                                    "Pad",
                                    "Expand",
                                    "Tile",
                                    "TopK",
                                    "OneHot",
                                    "Where",
                                    "ReduceSum",
                                    "ArgMax",
                                    "Squeeze",
                                    "Unsqueeze",
                                    "Transpose",
                                    "Range",
                                    "LSTM",
                                    "Shape",
                                    "Size",
                                    "Cast",
                                    "BatchNormalization",
                                    "LayerNormalization",
                                    "GatherND"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    for (int typed = 0; typed < 2; ++typed) {
      rt_graph *g = make_graph();
      rt_value *in[3];
      for (int j = 0; j < 3; ++j) {
        if (typed) in[j] = input_of_type(g, "x", OPS_TYPE_UNDEFINED, "...");
        if (!typed) assert_int_equal(rt_graph_add_input(g, "x", NULL, &in[j], NULL), OPS_OK);
      }
      ADD(g, ops[i], 13, {in[0], in[1], in[2]},
          .attrs = {IS("kernel_shape", 2, 2), I("to", 1), I("axis", 0), I("k", 1)});
      infer(g);
      rt_graph_destroy(g);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(symbols_travel_through_layers),
      cmocka_unit_test(shape_computations_stay_known),
      cmocka_unit_test(conditions_on_shapes_are_decided),
      cmocka_unit_test(reshape_copies_and_divides),
      cmocka_unit_test(open_dimensions_get_symbols),
      cmocka_unit_test(declarations_fill_and_are_checked),
      cmocka_unit_test(loops_keep_what_an_iteration_preserves),
      cmocka_unit_test(counted_loops_have_a_length),
      cmocka_unit_test(carried_sequences_may_get_other_elements),
      cmocka_unit_test(sequences_keep_what_elements_share),
      cmocka_unit_test(branches_merge),
      cmocka_unit_test(a_branch_never_taken_may_be_wrong),
      cmocka_unit_test(errors_name_what_is_wrong),
      cmocka_unit_test(types_follow_the_schemas),
      cmocka_unit_test(unknown_inputs_are_harmless),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
