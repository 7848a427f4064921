#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of malformed_test: usage: malformed_models.py FOLDER

Each function below is one fault: it returns a model that has this fault and no other, and its
decorator says with which status the model is refused and what the message must name: where it is,
what was expected, what was found, what to do. FOLDER/NAME/model.onnx gets the model, FOLDER/faults
a line for each: NAME, status and phrases, separated by tabs.

That a model is wrong is the word of the specification (docs/IR.md, docs/Operators.md and
onnx.proto of onnx 1.23), not of the runtime under test.
"""
import pathlib
import sys

import onnx
from onnx import AttributeProto, TensorProto, helper, parser

INVALID, UNSUPPORTED, IO = "OPS_ERROR_INVALID_MODEL", "OPS_ERROR_UNSUPPORTED", "OPS_ERROR_IO"
FAULTS = []
HEAD = '<ir_version: 10, opset_import: ["" : 21]>'


def fault(status, *phrases):
    def register(build):
        FAULTS.append((build, status, phrases))
        return build
    return register


def model(text, head=HEAD):
    """`text`: what follows the graph's name in ONNX's textual form."""
    return parser.parse_model(f"{head}\ng {text}")


def relu():
    return model("(float[2] x) => (float[2] y) { [r] y = Relu (x) }")


def add_w(weight):
    """y = x + w, with w as the only initializer."""
    made = model("(float[2] x) => (float[2] y) { [a] y = Add (x, w) }")
    made.graph.initializer.append(weight)
    return made


def weight(**fields):
    base = {"name": "w", "dims": [2], "data_type": TensorProto.FLOAT}
    return TensorProto(**{**base, **fields})


def floats(*values):
    return helper.make_tensor("w", TensorProto.FLOAT, [len(values)], values)


def external(**entries):
    made = weight(data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        made.external_data.add(key=key, value=value)
    return made


# ---- The file ----------------------------------------------------------------------------------

@fault(INVALID, "the file is empty", "expected a ModelProto")
def empty_file():
    return b""


@fault(INVALID, "byte 0", "ModelProto", "expected", "not ONNX")
def text_file():
    return b"#!/bin/sh\necho this is no model\n"


@fault(INVALID, "ModelProto", "truncated", "export it again")
def truncated_file():
    return relu().SerializeToString()[:-12]


@fault(INVALID, "byte", "ModelProto", "field number", "found 0")
def trailing_bytes():
    return relu().SerializeToString() + b"\0\0\0\0"


@fault(INVALID, "holds no graph", "expected a ModelProto with one", "not an ONNX model")
def no_graph():
    return onnx.ModelProto(ir_version=10)


@fault(INVALID, "byte 0, ModelProto.ir_version", "found wire type 2 of another field, expected 0")
def other_message():
    return onnx.OperatorSetIdProto(domain="f", version=21).SerializeToString()


@fault(INVALID, "ModelProto.producer_name", "UTF-8")
def bad_utf8():
    return relu().SerializeToString() + b"\x12\x02\xc3\x28"


@fault(INVALID, "ModelProto.graph", "expected once, found again")
def two_graphs():
    return relu().SerializeToString() * 2


@fault(INVALID, "no IR version", "expected 1 to")
def no_ir_version():
    made = relu()
    made.ClearField("ir_version")
    return made


@fault(UNSUPPORTED, "IR version 99", "expected at most", "export the model")
def future_ir_version():
    made = relu()
    made.ir_version = 99
    return made


def field(number, payload):
    """A field of bytes as it lies on the wire, for what the package refuses to write."""
    size, length = len(payload), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + payload


@fault(INVALID, "nested more than 128 deep", "RT_MODEL_MAX_NESTING", "flatten")
def nested_too_deep():
    value = b""
    for _ in range(80):
        value = field(4, field(1, value))  # TypeProto.sequence_type.elem_type
    return field(7, field(13, field(2, value)))  # ModelProto.graph.value_info.type


# ---- Imports -----------------------------------------------------------------------------------

@fault(INVALID, "node 0 'r' (Relu)", "domain 'ai.onnx' is not imported", "opset_import")
def missing_opset():
    made = relu()
    made.ClearField("opset_import")
    return made


@fault(UNSUPPORTED, "opset 999 of domain 'ai.onnx'", "expected at most", "export for an older opset")
def future_opset():
    made = relu()
    made.opset_import[0].version = 999
    return made


@fault(INVALID, "domain 'ai.onnx' is imported twice", "21", "13", "expected one version")
def opset_twice():
    made = relu()
    made.opset_import.add(domain="", version=13)
    return made


@fault(INVALID, "version -3", "expected 1 or more")
def negative_opset():
    made = relu()
    made.opset_import[0].version = -3
    return made


# ---- Names and order ---------------------------------------------------------------------------

@fault(INVALID, "2 nodes form a cycle", "'p'", "'q'", "expected an acyclic graph")
def cycle():
    return model("(float[2] x) => (float[2] y) { [p] a = Add (x, b) [q] b = Relu (a) [s] y = Relu (b) }")


@fault(INVALID, "node 0 'p' (Relu)", "input 'a' is made later, by node 1 'q'", "topological order")
def wrong_order():
    return model("(float[2] x) => (float[2] y) { [p] y = Relu (a) [q] a = Neg (x) }")


@fault(INVALID, "node 0 'p' (Add)", "input 'missing' is nowhere defined", "expected the name of")
def dangling_input():
    return model("(float[2] x) => (float[2] y) { [p] y = Add (x, missing) }")


@fault(INVALID, "node 1 'q' (Neg)", "'a' is defined twice", "node 0", "rename one")
def value_twice():
    return model("(float[2] x) => (float[2] a) { [p] a = Relu (x) [q] a = Neg (x) }")


@fault(INVALID, "'x' is defined twice", "as an input", "rename one")
def input_twice():
    return model("(float[2] x, float[2] x) => (float[2] y) { [p] y = Relu (x) }")


@fault(INVALID, "output 1 'z' is nowhere defined", "expected the name of")
def missing_output():
    return model("(float[2] x) => (float[2] y, float[2] z) { [p] y = Relu (x) }")


@fault(INVALID, "output 1 'y' is listed twice", "distinct outputs", "Identity")
def output_twice():
    return model("(float[2] x) => (float[2] y, float[2] y) { [p] y = Relu (x) }")


@fault(INVALID, "input 'x' has no element type", "export the model with types")
def untyped_input():
    made = relu()
    made.graph.input[0].type.tensor_type.ClearField("elem_type")
    return made


@fault(INVALID, "input 0 'x'", "dimension is -5", "expected 0 or more")
def negative_dim_of_input():
    made = relu()
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -5
    return made


@fault(INVALID, "value 'y', made by Relu 'r'", "declared as int64[2] but is float[2]", "correct")
def wrong_output_type():
    return model("(float[2] x) => (int64[2] y) { [r] y = Relu (x) }")


# ---- Operators ---------------------------------------------------------------------------------

@fault(INVALID, "node 0 'c' (Convv)", "'Convv' is unknown in opset 21", "the nearest name is 'Conv'")
def near_operator():
    return model("(float[1,1,4,4] x, float[1,1,2,2] w) => (float[1,1,3,3] y) { [c] y = Convv (x, w) }")


@fault(INVALID, "operator 'Scaler'", "not in domain 'ai.onnx' but in 'ai.onnx.ml'", "correct")
def wrong_domain():
    return model("(float[2,2] x) => (float[2,2] y) { [t] y = Scaler (x) }")


@fault(INVALID, "node 0 'm'", "domain 'my.domain' is not imported", "expected an opset_import")
def unknown_domain():
    return model("(float[2] x) => (float[2] y) { [m] y = my.domain.Magic (x) }")


@fault(INVALID, "'Gelu'", "exists from opset 20 on", "imports opset 13", "export for opset 20")
def operator_too_new():
    return model("(float[2] x) => (float[2] y) { [g] y = Gelu (x) }", '<ir_version: 8, opset_import: ["" : 13]>')


@fault(INVALID, "'Upsample' was removed in opset 10", "imports opset 21", "successor")
def operator_removed():
    return model('(float[1,1,2,2] x, float[4] s) => (float[1,1,4,4] y) { [u] y = Upsample (x, s) }')


@fault(INVALID, "node 0 'n' (Not)", "has 2 inputs; expected 1")
def too_many_inputs():
    return model("(bool[2] x) => (bool[2] y) { [n] y = Not (x, x) }")


@fault(INVALID, "node 0 'm' (MatMul)", "has 1 input; expected 2")
def too_few_inputs():
    return model("(float[2,2] x) => (float[2,2] y) { [m] y = MatMul (x) }")


@fault(INVALID, "node 0 's' (Sub)", "input 0 ('A') is left out", "it is required")
def required_input_absent():
    made = model("(float[2] x) => (float[2] y) { [s] y = Sub (x, x) }")
    made.graph.node[0].input[0] = ""
    return made


@fault(INVALID, "node 0 'r' (Relu)", "has 2 outputs", "expected 1")
def too_many_outputs():
    return model("(float[2] x) => (float[2] y) { [r] y, z = Relu (x) }")


@fault(INVALID, "node 0 's' (Softmax)", "attribute 'axis' is of kind STRING", "expected INT")
def attribute_kind():
    return model('(float[2] x) => (float[2] y) { [s] y = Softmax <axis = "last"> (x) }')


@fault(INVALID, "node 0 'c' (Concat)", "attribute 'axis' is missing", "expected it with kind INT")
def attribute_missing():
    return model("(float[2] x) => (float[4] y) { [c] y = Concat (x, x) }")


@fault(INVALID, "node 0 's' (Softmax)", "attribute 'axis' is given twice", "expected each once")
def attribute_twice():
    return model("(float[2] x) => (float[2] y) { [s] y = Softmax <axis = 0, axis = 0> (x) }")


@fault(INVALID, "node 0 's' (Softmax)", "attribute 'axes' is unknown", "the nearest name is 'axis'")
def attribute_unknown():
    return model("(float[2] x) => (float[2] y) { [s] y = Softmax <axes = 0> (x) }")


@fault(INVALID, "node 0 's' (Softmax)", "attribute 'axis'", "kind INT and holds a value of kind FLOAT")
def attribute_of_two_kinds():
    made = model("(float[2] x) => (float[2] y) { [s] y = Softmax <axis = 0> (x) }")
    made.graph.node[0].attribute[0].f = 1.5
    return made


@fault(INVALID, "node 0 's' (Softmax)", "attribute 'axis' refers to attribute 'a'", "in no function")
def reference_outside_function():
    made = model("(float[2] x) => (float[2] y) { [s] y = Softmax (x) }")
    made.graph.node[0].attribute.add(name="axis", type=AttributeProto.INT, ref_attr_name="a")
    return made


@fault(INVALID, "node 'c' (Constant)", "expected one value attribute", "found 2")
def constant_with_two_values():
    return model("() => (float y) { [c] y = Constant <value_float = 1.0, value_int = 1> () }")


@fault(INVALID, "node 'c' (Constant)", "expected one value attribute", "found 0")
def constant_without_value():
    return model("() => (float y) { [c] y = Constant () }")


# ---- Tensors -----------------------------------------------------------------------------------

@fault(INVALID, "tensor 'w'", "product of its 3 dimensions exceeds 2^63 - 1")
def dims_overflow():
    return add_w(weight(dims=[2**31, 2**31, 2**31], raw_data=b"\0" * 8))


@fault(INVALID, "tensor 'w'", "dimension 0 is -2", "expected 0 or more")
def negative_dim():
    return add_w(weight(dims=[-2], raw_data=b"\0" * 8))


@fault(INVALID, "tensor 'w'", "raw_data has 8 bytes", "expected 4398046511104 for 1099511627776 elements")
def huge_initializer():
    return add_w(weight(dims=[2**40], raw_data=b"\0" * 8))


@fault(INVALID, "tensor 'w'", "has 40 dimensions", "at most 32 (OPS_MAX_RANK)")
def rank_too_high():
    return add_w(weight(dims=[1] * 40, raw_data=b"\0" * 4))


@fault(INVALID, "tensor 'w'", "raw_data has 7 bytes", "expected 8 for 2 elements of type float")
def raw_data_too_short():
    return add_w(weight(raw_data=b"\0" * 7))


@fault(INVALID, "tensor 'w'", "float_data has 3 entries", "expected 2")
def too_many_values():
    return add_w(weight(float_data=[1, 2, 3]))


@fault(INVALID, "tensor 'w'", "holds data in float_data", "expected only raw_data for type float")
def raw_and_typed_data():
    return add_w(weight(raw_data=b"\0" * 8, float_data=[1, 2]))


@fault(INVALID, "tensor 'w'", "holds data in int64_data", "expected only float_data for type float")
def wrong_typed_field():
    return add_w(weight(int64_data=[1, 2]))


@fault(INVALID, "tensor 'w'", "raw_data", "expected only string_data")
def strings_in_raw_data():
    return add_w(weight(data_type=TensorProto.STRING, raw_data=b"ab"))


@fault(UNSUPPORTED, "tensor 'w'", "segment of a larger tensor", "store it whole")
def segment():
    made = weight(raw_data=b"\0" * 8)
    made.segment.begin, made.segment.end = 0, 1
    return add_w(made)


@fault(INVALID, "tensor 'w'", "raw_data has 3 bytes", "expected 2 for 3 elements of type int4")
def int4_not_packed():
    return add_w(weight(dims=[3], data_type=TensorProto.INT4, raw_data=b"\1\2\3"))


@fault(INVALID, "tensor 'w'", "entry 1 of int32_data is 300", "expected 0 to 255")
def value_out_of_range():
    return add_w(weight(data_type=TensorProto.UINT8, int32_data=[1, 300]))


@fault(INVALID, "tensor 'w'", "element 1 of a bool tensor is 2", "expected 0 or 1")
def bool_of_two():
    return add_w(weight(data_type=TensorProto.BOOL, raw_data=b"\1\2"))


@fault(UNSUPPORTED, "tensor 'w'", "element type 77 is not known", "expected 1 to")
def unknown_element_type():
    return add_w(weight(data_type=77, raw_data=b"\0" * 8))


@fault(INVALID, "initializer 'x' of type float", "does not fit the input")
def default_of_another_shape():
    made = relu()
    made.graph.initializer.append(helper.make_tensor("x", TensorProto.FLOAT, [3], [1, 2, 3]))
    return made


def sparse(values, indices, dims):
    made = add_w(floats(1, 2))
    made.graph.ClearField("initializer")
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(
        helper.make_tensor("w", TensorProto.FLOAT, [len(values)], values),
        helper.make_tensor("", TensorProto.INT64, [len(indices)], indices), dims))
    return made


@fault(INVALID, "sparse tensor 'w'", "entry 1 of the indices is 5", "less than 2")
def sparse_index_out_of_range():
    return sparse([1, 2], [0, 5], [2])


@fault(INVALID, "sparse tensor 'w'", "2 values of rank 1 and 1 indices of rank 1", "do not fit", "expected values of shape [n]")
def sparse_counts_differ():
    return sparse([1, 2], [0], [2])


@fault(UNSUPPORTED, "sparse", "elements", "written out", "RT_CONSTANT_MAX_DENSE_BYTES")
def sparse_explodes():
    return sparse([1, 2], [0, 5], [2**40])


@fault(UNSUPPORTED, "sparse initializer 'w1'", "stands for 1610612736 bytes", "RT_GRAPH_MAX_DENSE_BYTES")
def sparse_explode_together():
    made = sparse([1, 2], [0, 5], [3 * 2**26])
    second = made.graph.sparse_initializer.add()
    second.CopyFrom(made.graph.sparse_initializer[0])
    second.values.name = "w1"
    return made


# ---- External data -----------------------------------------------------------------------------

@fault(INVALID, "tensor 'w'", "'../secret.bin' contains '..'", "inside it")
def external_outside():
    return add_w(external(location="../secret.bin"))


@fault(INVALID, "tensor 'w'", "'/etc/passwd' is an absolute path", "expected a path relative")
def external_absolute():
    return add_w(external(location="/etc/passwd"))


@fault(IO, "tensor 'w'", "absent.bin", "cannot be opened", "put it beside the model")
def external_absent():
    return add_w(external(location="absent.bin"))


@fault(INVALID, "tensor 'w'", "from byte 8 over 8 bytes", "'weights.bin' has 12", "truncated")
def external_beyond_end(folder):
    (folder / "weights.bin").write_bytes(b"\0" * 12)
    return add_w(external(location="weights.bin", offset="8"))


@fault(INVALID, "tensor 'w'", "'offset' is '0x10'", "expected a number of bytes")
def external_offset_no_number(folder):
    (folder / "weights.bin").write_bytes(b"\0" * 64)
    return add_w(external(location="weights.bin", offset="0x10"))


@fault(INVALID, "tensor 'w'", "no entry 'location'")
def external_nowhere():
    return add_w(external(offset="0"))


@fault(INVALID, "tensor 'w'", "length 12", "expected 8 for 2 elements of type float")
def external_length(folder):
    (folder / "weights.bin").write_bytes(b"\0" * 64)
    return add_w(external(location="weights.bin", length="12"))


# ---- Subgraphs ---------------------------------------------------------------------------------

@fault(INVALID, "If 'i'", "output 0 is float in then_branch and int64 in else_branch", "expected the same")
def branch_types_differ():
    return model("""(bool c, float[2] x, int64[2] z) => (y) {
        [i] y = If (c) <then_branch = t () => (float[2] a) { a = Identity (x) },
                        else_branch = e () => (int64[2] b) { b = Identity (z) }> }""")


@fault(INVALID, "If 'i'", "then_branch has 2 output(s), else_branch 1", "expected 1 of both")
def branch_output_count():
    return model("""(bool c, float[2] x) => (float[2] y) {
        [i] y = If (c) <then_branch = t () => (float[2] a, float[2] k) { a = Neg (x) k = Relu (x) },
                        else_branch = e () => (float[2] b) { b = Identity (x) }> }""")


@fault(INVALID, "If 'i'", "then_branch has 1 input(s)", "expected none")
def branch_with_input():
    return model("""(bool c, float[2] x) => (float[2] y) {
        [i] y = If (c) <then_branch = t (float[2] p) => (float[2] a) { a = Neg (p) },
                        else_branch = e () => (float[2] b) { b = Relu (x) }> }""")


@fault(INVALID, "node 0 'i' (If)", "attribute 'else_branch'", "graph 'e'", "input 'nothing' is nowhere")
def capture_of_unknown():
    return model("""(bool c, float[2] x) => (float[2] y) {
        [i] y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) },
                        else_branch = e () => (float[2] b) { b = Relu (nothing) }> }""")


@fault(INVALID, "node 0 'i' (If)", "graph 't'", "'x'", "hides a value of that name", "rename one")
def subgraph_hides_name():
    return model("""(bool c, float[2] x) => (float[2] y) {
        [i] y = If (c) <then_branch = t () => (float[2] x) { x = RandomNormal <shape = [2]> () },
                        else_branch = e () => (float[2] b) { b = Relu (x) }> }""")


@fault(INVALID, "Loop 'l'", "the body has 2 input(s)", "expected 3 inputs")
def loop_body_inputs():
    return model("""(int64 n, bool c, float[2] x) => (float[2] y) {
        [l] y = Loop (n, c, x) <body = b (int64 i, bool k) => (bool k2, float[2] z)
            { k2 = Identity (k) z = Neg (x) }> }""")


@fault(INVALID, "Loop 'l'", "and 1 output(s)", "an output more than the node, which has 1")
def loop_body_outputs():
    return model("""(int64 n, bool c, float[2] x) => (float[2] y) {
        [l] y = Loop (n, c, x) <body = b (int64 i, bool k, float[2] s) => (bool k2)
            { k2 = Identity (k) }> }""")


@fault(INVALID, "Scan 's'", "the body has 1 input(s)", "expected 2 and 2")
def scan_body_inputs():
    return model("""(float[2] s, float[3,2] x) => (float[2] t, float[3,2] y) {
        [s] t, y = Scan <num_scan_inputs = 1, body = b (float[2] a) => (float[2] c, float[2] d)
            { c = Neg (a) d = Relu (a) }> (s, x) }""")


@fault(INVALID, "Scan 's'", "num_scan_inputs is 5", "expected 1 to 2")
def scan_input_count():
    return model("""(float[2] s, float[3,2] x) => (float[2] t, float[3,2] y) {
        [s] t, y = Scan <num_scan_inputs = 5, body = b (float[2] a, float[2] e) => (float[2] c, float[2] d)
            { c = Neg (a) d = Relu (e) }> (s, x) }""")


@fault(INVALID, "Loop 'l'", "takes 's' as float and gives it back as 'z', int64", "insert a Cast")
def loop_changes_type():
    return model("""(int64 n, bool c, float[2] x) => (y) {
        [l] y = Loop (n, c, x) <body = b (int64 i, bool k, float[2] s) => (bool k2, int64[2] z)
            { k2 = Identity (k) z = Cast <to = 7> (s) }> }""")


@fault(INVALID, "'a' is declared as float[2] but is string[2]", "correct the declaration")
def scan_input_type():
    return model("""(string[3,2] x) => (y) {
        [s] y = Scan <num_scan_inputs = 1, body = b (float[2] a) => (float[2] c) { c = Neg (a) }> (x) }""")


# ---- Functions ---------------------------------------------------------------------------------

LOCAL = '<ir_version: 10, opset_import: ["" : 21, "f" : 1]>'


def calls(main, *functions):
    return parser.parse_model(f"{LOCAL}\ng {main}\n" + "\n".join(functions))


def function(text):
    return f'<domain: "f", opset_import: ["" : 21, "f" : 1]> {text}'


CALL = "(float[2] x) => (float[2] y) { [c] y = f.F (x) }"


@fault(INVALID, "function 'F' calls itself", "expected functions without recursion")
def function_calls_itself():
    return calls(CALL, function("F (a) => (b) { b = f.F (a) }"))


@fault(INVALID, "function 'F' calls itself: 'F' -> 'G' -> 'F'", "use Loop")
def functions_call_each_other():
    return calls(CALL, function("F (a) => (b) { b = f.G (a) }"), function("G (a) => (b) { b = f.F (a) }"))


@fault(UNSUPPORTED, "more than 262144 nodes and calls", "RT_GRAPH_DEFAULT_MAX_INLINED", "fewer functions")
def functions_explode():
    """Each of 20 functions calls the next one twice: a million nodes from a kilobyte."""
    chain = [function(f"F{i} (a) => (c) {{ b = f.F{i + 1} (a) c = f.F{i + 1} (b) }}") for i in range(19)]
    return calls("(float[2] x) => (float[2] y) { [c] y = f.F0 (x) }", *chain, function("F19 (a) => (b) { b = Neg (a) }"))


@fault(INVALID, "node 0 'c' (F)", "has 2 inputs", "expected 0 to 1")
def function_arity():
    return calls("(float[2] x) => (float[2] y) { [c] y = f.F (x, x) }", function("F (a) => (b) { b = Neg (a) }"))


@fault(INVALID, "function 'F' of domain 'f' is defined twice")
def function_twice():
    return calls(CALL, function("F (a) => (b) { b = Neg (a) }"), function("F (a) => (b) { b = Abs (a) }"))


@fault(INVALID, "function 'F'", "output 0 'b' is nowhere defined")
def function_without_output():
    return calls(CALL, function("F (a) => (b) { c = Neg (a) }"))


@fault(INVALID, "function 'F'", "node 0 'n' (Neg)", "input 'x' is nowhere defined")
def function_reads_the_graph():
    return calls(CALL, function("F (a) => (b) { [n] b = Neg (x) }"))


@fault(INVALID, "function 'F'", "attribute 'alpha' refers to attribute 'beta'", "does not declare")
def function_reference():
    return calls(CALL, function("F <alpha> (a) => (b) { [e] b = Elu <alpha: float = @beta> (a) }"))


@fault(INVALID, "function 'F'", "domain 'g' is not imported", "in the function")
def function_import():
    return calls(CALL, function("F (a) => (b) { [e] b = g.Elu (a) }"))


# ---- Types and shapes --------------------------------------------------------------------------

@fault(INVALID, "MatMul 'm'", "the last axis of A is 3", "axis of B is 4", "expected the same")
def matmul_dims():
    return model("(float[2,3] x, float[4,5] w) => (float[2,5] y) { [m] y = MatMul (x, w) }")


@fault(INVALID, "Concat 'c'", "input 1 of inputs ('z') is int64", "insert a Cast")
def concat_types():
    return model("(float[2] x, int64[2] z) => (y) { [c] y = Concat <axis = 0> (x, z) }")


@fault(INVALID, "Concat 'c'", "axis is 7", "expected one in [-1, 0]")
def axis_out_of_range():
    return model("(float[2] x) => (float[4] y) { [c] y = Concat <axis = 7> (x, x) }")


@fault(INVALID, "Reshape 'r'", "has 6 elements", "has 4", "expected the same")
def impossible_reshape():
    return model("(float[2,3] x) => (y) <int64[2] s = {2, 2}> { [r] y = Reshape (x, s) }")


@fault(INVALID, "Add 'a'", "do not broadcast", "is 2 on one side and 3 on the other", "expected the same or 1")
def no_broadcast():
    return model("(float[2] x, float[3] z) => (y) { [a] y = Add (x, z) }")


@fault(INVALID, "Add 'a'", "input A ('x') is float and input B ('z') is int64", "insert a Cast")
def mixed_types():
    return model("(float[2] x, int64[2] z) => (y) { [a] y = Add (x, z) }")


@fault(INVALID, "Not 'n'", "input X ('x') is float[2]", "expected bool")
def type_not_allowed():
    return model("(float[2] x) => (y) { [n] y = Not (x) }")


@fault(INVALID, "Transpose 't'", "perm names axis 0 twice", "expected each axis once")
def not_a_permutation():
    return model("(float[2,3] x) => (y) { [t] y = Transpose <perm = [0, 0]> (x) }")


@fault(INVALID, "Conv 'c'", "input W has 5 channels per group", "expected 3")
def conv_channels():
    return model("(float[1,3,8,8] x, float[4,5,3,3] w) => (y) { [c] y = Conv (x, w) }")


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = []
    for build, status, phrases in FAULTS:
        place = folder / build.__name__
        place.mkdir(parents=True, exist_ok=True)
        made = build(place) if build.__code__.co_argcount else build()
        data = made if isinstance(made, bytes) else made.SerializeToString()
        (place / "model.onnx").write_bytes(data)
        lines.append("\t".join((build.__name__, status, *phrases)))
    (folder / "faults").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
