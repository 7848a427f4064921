#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of control_test: usage: control_test_models.py FOLDER

As session_test_models.py, which does the writing: model.onnx, in_NAME.npy, out_NAME.npy, with
the outputs of onnxruntime, or of numpy where it refuses what the standard allows (captured
values as outputs of bodies). Models that must fail have no outputs.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

import session_test_models as base
from session_test_models import constant, node, tensor, value, write_case

F, I, B = np.float32, np.int64, np.bool_


def body(name, nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, inputs, outputs, list(constants))


def loop_frame(*states):
    """Inputs of a Loop body."""
    return [value("i", I, []), value("go", B, []), *states]


def loops(folder):
    x, w = tensor((3,)), tensor((3,))
    add = body("add", [node("Identity", "go", "go_on"), node("Add", "s w", "t"), node("Mul", "t c", "s_out"),
                       node("Neg", "s_out", "slice")],
               loop_frame(value("s", F, [3])),
               [value("go_on", B, []), value("s_out", F, [3]), value("slice", F, [3])])
    nodes = [node("Relu", "x", "c"), node("Loop", "m yes c", "last all", "l", body=add), node("Relu", "all", "y")]
    for trips in (0, 1, 7):
        write_case(folder, f"loop_{trips}", nodes, [value("x", F, [3]), value("m", I, [])],
                   [value("last", F, [3]), value("all", F, None), value("y", F, None), value("c", F, [3])],
                   [constant("w", w), constant("yes", np.array(True))], {"x": np.abs(x), "m": np.array(trips)})

    # No iteration at all: the result is what went in, whose memory others would like to have.
    double = body("double", [node("Identity", "go", "go_on"), node("Add", "s s", "s_out")],
                  loop_frame(value("s", F, ["N"])), [value("go_on", B, []), value("s_out", F, ["N"])])
    write_case(folder, "loop_none",
               [node("Relu", "x", "c"), node("Loop", "m yes c", "last", "l", body=double), node("Neg", "x", "d"),
                node("Abs", "d", "e"), node("Add", "e d", "z"), node("Neg", "last", "y")],
               [value("x", F, ["N"]), value("m", I, [])], [value("y", F, None), value("z", F, None)],
               [constant("yes", np.array(True))], {"x": tensor((40,)), "m": np.array(0)})

    # The state grows until a condition of the data ends it; the count is not given.
    grow = body("grow", [node("Concat", "s w", "s_out", axis=0), node("ReduceSum", "s_out", "sum", keepdims=0),
                         node("Less", "sum limit", "more")],
                loop_frame(value("s", F, ["N"])), [value("more", B, []), value("s_out", F, ["M"])])
    write_case(folder, "loop_while", [helper.make_node("Loop", ["", "yes", "x"], ["y"], name="l", body=grow)],
               [value("x", F, ["N"])], [value("y", F, None)],
               [constant("w", np.array([1, 2], F)), constant("yes", np.array(True)),
                constant("limit", np.array(20, F))], {"x": np.array([0.5], F)})

    x2 = tensor((2,))
    # States change places, are handed on twice, and leave as slices as they are.
    swap = body("swap", [node("Identity", "go", "go_on")],
                loop_frame(value("a", F, [2]), value("b", F, [2]), value("c", F, [2])),
                [value("go_on", B, []), value("b", F, [2]), value("a", F, [2]), value("a", F, [2]),
                 value("c", F, [2]), value("x2", F, [2]), value("i", I, [])])
    write_case(folder, "loop_swap",
               [node("Neg", "x", "x2"), node("Loop", "m yes x x2 x", "p q r all xs is", "l", body=swap),
                node("Add", "x2 x2", "z")],
               [value("x", F, [2]), value("m", I, [])],
               [value(n, t, None) for n, t in (("p", F), ("q", F), ("r", F), ("all", F), ("xs", F), ("is", I), ("z", F))],
               [constant("yes", np.array(True))], {"x": x2, "m": np.array(3)},
               {"p": -x2, "q": x2, "r": x2, "all": np.stack([x2, x2, -x2]), "xs": np.stack([-x2] * 3),
                "is": np.arange(3), "z": -2 * x2})

    # Shapes that depend on data, and on the iteration, inside the body.
    inner = body("inner", [node("Identity", "go", "go_on"), node("Unsqueeze", "i axes", "end"),
                           node("Add", "end one", "stop"), node("Slice", "x start stop", "part"),
                           node("ReduceSum", "part", "total", keepdims=1), node("Add", "s total", "s_out"),
                           node("NonZero", "part", "where"), node("Shape", "where", "slice")],
                 loop_frame(value("s", F, [1])),
                 [value("go_on", B, []), value("s_out", F, [1]), value("slice", I, [2])],
                 [constant("axes", np.array([0])), constant("one", np.array([1])), constant("start", np.array([0]))])
    write_case(folder, "loop_shapes", [node("Loop", "m yes zero", "y shapes", "l", body=inner)],
               [value("x", F, ["N"]), value("m", I, [])], [value("y", F, None), value("shapes", I, None)],
               [constant("yes", np.array(True)), constant("zero", np.zeros(1, F))],
               {"x": np.array([1, 0, 2, 0, 3], F), "m": np.array(5)})


def branches(folder):
    # A capture and a constant are results as they are; the captured value lives on.
    then = body("then", [], [], [value("a", F, None), value("k", F, None)],
                [constant("k", np.array([1, 2], F))])
    other = body("other", [node("Neg", "a", "n"), node("Relu", "n", "r")], [], [value("n", F, None), value("r", F, None)])
    x = tensor((4,))
    a = np.maximum(x, 0)
    for taken in (0, 1):
        p, q = (a, np.array([1, 2], F)) if taken else (-a, np.maximum(-a, 0))
        write_case(folder, f"if_{taken}",
                   [node("Relu", "x", "a"), node("If", "c", "p q", "i", then_branch=then, else_branch=other),
                    node("Neg", "a", "b"), node("Relu", "p", "z")],
                   [value("x", F, ["N"]), value("c", B, [])],
                   [value(n, F, None) for n in ("p", "q", "b", "z")], (), {"x": x, "c": np.array(bool(taken))},
                   {"p": p, "q": q, "b": -a, "z": np.maximum(p, 0)})

    # Captures through several levels.
    deep = body("deep", [node("Add", "x s", "d")], [], [value("d", F, None)])
    flat = body("flat", [node("Mul", "w s", "e")], [], [value("e", F, None)])
    step = body("step", [node("Identity", "go", "go_on"), node("Less", "i two", "early"),
                         node("If", "early", "s_out", "inner", then_branch=deep, else_branch=flat)],
                loop_frame(value("s", F, ["N"])), [value("go_on", B, []), value("s_out", F, ["N"]),
                                                   value("s_out", F, ["N"])],
                [constant("two", np.array(2))])
    whole = body("whole", [node("Loop", "m yes x", "f all", "l", body=step)], [], [value("f", F, None), value("all", F, None)])
    none = body("none", [node("Neg", "x", "g"), node("Unsqueeze", "g axes", "h")], [], [value("g", F, None), value("h", F, None)],
                [constant("axes", np.array([0]))])
    write_case(folder, "nested", [node("If", "c", "y all", "outer", then_branch=whole, else_branch=none)],
               [value("x", F, ["N"]), value("c", B, []), value("m", I, [])],
               [value("y", F, None), value("all", F, None)],
               [constant("w", tensor((4,))), constant("yes", np.array(True))],
               {"x": tensor((4,)), "c": np.array(True), "m": np.array(5)})


def scans(folder):
    step = body("step", [node("Add", "s u", "t"), node("MatMul", "t w", "s_out"), node("Sub", "v s_out", "o"),
                         node("Identity", "u", "u2")],
                [value("s", F, [3]), value("u", F, [3]), value("v", F, [3])],
                [value("s_out", F, [3]), value("o", F, [3]), value("u2", F, [3])])
    write_case(folder, "scan",
               [node("Scan", "s0 a b", "last all a2", "scan", body=step, num_scan_inputs=2, scan_input_axes=[1, 0],
                     scan_input_directions=[1, 0], scan_output_axes=[1, -2], scan_output_directions=[0, 1])],
               [value("s0", F, [3]), value("a", F, [3, "T"]), value("b", F, ["T", 3])],
               [value(n, F, None) for n in ("last", "all", "a2")], [constant("w", tensor((3, 3)))],
               {"s0": tensor((3,)), "a": tensor((3, 5)), "b": tensor((5, 3))})
    # Operators of the domain "ai.onnx" are those of the domain "".
    x = tensor((4, 2))
    square = body("square", [node("Add", "s u", "s_out", domain="ai.onnx"), node("Mul", "s_out u", "o", domain="ai.onnx")],
                  [value("s", F, [2]), value("u", F, [2])], [value("s_out", F, [2]), value("o", F, [2])])
    write_case(folder, "scan_squares",
               [node("Scan", "s0 x", "last all", "scan", domain="ai.onnx", body=square, num_scan_inputs=1)],
               [value("x", F, ["T", 2])], [value("last", F, None), value("all", F, None)],
               [constant("s0", np.zeros(2, F))], {"x": x}, {"last": x.sum(0), "all": np.cumsum(x, 0) * x})
    base.OPSETS = [helper.make_opsetid("", 8)]
    step = body("step", [node("Add", "s u", "s_out"), node("Neg", "s_out", "o")],
                [value("s", F, [2]), value("u", F, [2])], [value("s_out", F, [2]), value("o", F, [2])])
    write_case(folder, "scan8", [node("Scan", "lens s0 a", "last all", "scan", body=step, num_scan_inputs=1, directions=[1])],
               [value("lens", I, [2]), value("s0", F, [2, 2]), value("a", F, [2, 4, 2])],
               [value("last", F, None), value("all", F, None)], (),
               {"lens": np.array([4, 2]), "s0": tensor((2, 2)), "a": tensor((2, 4, 2))})
    base.OPSETS = [helper.make_opsetid("", 13)]


def sequences(folder):
    x, y, z = tensor((2, 3)), tensor((1, 3)), tensor((3, 3))
    nodes = [node("SequenceConstruct", "x y x", "s"), node("SequenceInsert", "s z back", "t"),
             node("SequenceInsert", "t y", "u"), node("SequenceErase", "u front", "v"), node("SequenceErase", "u", "w"),
             node("SequenceAt", "v back", "a"), node("SequenceAt", "u two", "b"), node("SequenceLength", "v", "n"),
             node("ConcatFromSequence", "u", "c", axis=0), node("ConcatFromSequence", "w", "d", axis=-2),
             node("SequenceConstruct", "x x", "p"), node("ConcatFromSequence", "p", "e", axis=1, new_axis=1),
             node("ConcatFromSequence", "p", "f", axis=-1, new_axis=1), node("Relu", "a", "g")]
    write_case(folder, "sequences", nodes, [value("x", F, [2, 3]), value("y", F, [1, 3]), value("z", F, [3, 3])],
               [value(k, t, None) for k, t in (("a", F), ("b", F), ("n", I), ("c", F), ("d", F), ("e", F), ("f", F), ("g", F))],
               [constant("front", np.array(0)), constant("back", np.array(-1)), constant("two", np.array(2, np.int32))],
               {"x": x, "y": y, "z": z})
    nodes = [node("SplitToSequence", "x two", "s", axis=1), node("SplitToSequence", "x parts", "t", axis=1),
             node("SplitToSequence", "x", "u", axis=1, keepdims=0), node("SplitToSequence", "x", "v", axis=-1),
             *[node("SequenceAt", f"{s} at", f"{s}1") for s in "stuv"], *[node("SequenceLength", s, f"{s}n") for s in "stuv"]]
    write_case(folder, "splits", nodes, [value("x", F, [2, "N"])],
               [value(f"{s}1", F, None) for s in "stuv"] + [value(f"{s}n", I, None) for s in "stuv"],
               [constant("two", np.array(2)), constant("parts", np.array([1, 3, 1])), constant("at", np.array(-2))],
               {"x": tensor((2, 5))})

    # A sequence grows in a loop; an element of each step comes from another one.
    grow = body("grow", [node("Identity", "go", "go_on"), node("SequenceAt", "given i", "e"), node("Mul", "e w", "f"),
                         node("SequenceInsert", "s f", "s_out")],
                loop_frame(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)),
                [value("go_on", B, []), helper.make_tensor_sequence_value_info("s_out", TensorProto.FLOAT, None)])
    write_case(folder, "loop_sequence",
               [node("SplitToSequence", "x", "given"), node("SequenceLength", "given", "m"), node("SequenceEmpty", "", "none"),
                node("Loop", "m yes none", "all", "l", body=grow), node("ConcatFromSequence", "all", "y", axis=0)],
               [value("x", F, ["N", 3])], [value("y", F, None)], [constant("yes", np.array(True)), constant("w", tensor((3,)))],
               {"x": tensor((6, 3))})

    base.OPSETS = [helper.make_opsetid("", 18)]
    get = body("get", [node("OptionalGetElement", "o", "got")], [], [value("got", F, None)])
    other = body("other", [node("Neg", "x", "neg")], [], [value("neg", F, None)])
    write_case(folder, "optionals",
               [node("Optional", "x", "o"), node("OptionalHasElement", "o", "has"), node("If", "has", "y", "i", then_branch=get, else_branch=other),
                node("SequenceConstruct", "x x", "s"), node("Optional", "s", "os"), node("OptionalGetElement", "os", "t"),
                node("ConcatFromSequence", "t", "z", axis=0), node("OptionalHasElement", "x", "sure")],
               [value("x", F, [2])], [value("has", B, []), value("y", F, None), value("z", F, None), value("sure", B, [])], (),
               {"x": tensor((2,))})
    base.OPSETS = [helper.make_opsetid("", 13)]
    write_case(folder, "fail_at", [node("SequenceConstruct", "x x", "s"), node("SequenceAt", "s m", "y", "at")],
               [value("x", F, [3]), value("m", I, [])], [value("y", F, None)], (), {"x": tensor((3,)), "m": np.array(2)}, expected={})


def failing(folder):
    def fails(name, nodes, inputs, outputs, constants, feeds):
        write_case(folder, name, nodes, inputs, outputs, constants, feeds, expected={})

    yes = constant("yes", np.array(True))
    x = tensor((3,))
    ends = [value("x", F, [3]), value("m", I, [])], [value("y", F, None)]
    feeds = {"x": x, "m": np.array(5)}
    gather = body("gather", [node("Identity", "go", "go_on"), node("Gather", "x i", "picked", "g"), node("Add", "s picked", "s_out")],
                  loop_frame(value("s", F, None)), [value("go_on", B, []), value("s_out", F, None)])
    fails("fail_gather", [node("Loop", "m yes x", "y", "l", body=gather)], *ends, [yes], feeds)
    cast = body("cast", [node("Identity", "go", "go_on"), node("Cast", "s", "s_out", to=TensorProto.INT64)],
                loop_frame(value("s", F, [3])), [value("go_on", B, []), value("s_out", I, [3])])
    fails("fail_state", [node("Loop", "m yes x", "y", "l", body=cast)], ends[0], [value("y", I, None)], [yes], feeds)
    ragged = body("ragged", [node("Identity", "go", "go_on"), node("Concat", "s x", "s_out", axis=0)],
                  loop_frame(value("s", F, ["N"])), [value("go_on", B, []), value("s_out", F, ["M"]), value("s_out", F, ["M"])])
    fails("fail_ragged", [node("Loop", "m yes x", "z y", "l", body=ragged)], *ends, [yes], feeds)
    orphan = body("orphan", [node("Identity", "go", "go_on"), node("Nothing", "s", "s_out", "o", domain="probe")],
                  loop_frame(value("s", F, [3])), [value("go_on", B, []), value("s_out", F, [3])])
    base.OPSETS = [helper.make_opsetid("", 13), helper.make_opsetid("probe", 1)]
    fails("fail_orphan", [node("Loop", "m yes x", "y", "l", body=orphan)], *ends, [yes], feeds)
    base.OPSETS = [helper.make_opsetid("", 13)]
    one = body("one", [node("Neg", "x", "n1")], [], [value("n1", F, None)])
    two = body("two", [node("Shape", "x", "n2")], [], [value("n2", I, None)])
    fails("fail_branches", [node("If", "c", "y", "i", then_branch=one, else_branch=two)],
          [value("x", F, [3]), value("c", B, [])], ends[1], (), {"x": x, "c": np.array(True)})
    deep_functions(folder)


def deep_functions(folder):
    """Bodies that only inlining nests: each function has two Ifs, and a call of the next inside."""
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("deep", 1)]
    functions = [helper.make_function("deep", "f0", ["x", "c"], ["y"], [node("Neg", "x", "y")], opsets)]
    for level in range(1, 18):
        call = body("call", [node(f"f{level - 1}", "x c", "v", domain="deep")], [], [value("v", F, None)])
        plain = body("plain", [node("Neg", "x", "n")], [], [value("n", F, None)])
        then = body("then", [node("If", "c", "u", "inner", then_branch=call, else_branch=plain)], [], [value("u", F, None)])
        other = body("other", [node("Neg", "x", "w")], [], [value("w", F, None)])
        functions.append(helper.make_function(
            "deep", f"f{level}", ["x", "c"], ["y"],
            [node("If", "c", "y", "outer", then_branch=then, else_branch=other)], opsets))
    graph = helper.make_graph([node("f17", "x c", "y", domain="deep")], "deep",
                              [value("x", F, [3]), value("c", B, [])], [value("y", F, None)])
    model = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)
    (folder / "fail_depth").mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "fail_depth" / "model.onnx")


def main():
    folder = pathlib.Path(sys.argv[1])
    base.OPSETS = [helper.make_opsetid("", 13)]
    loops(folder)
    branches(folder)
    scans(folder)
    sequences(folder)
    failing(folder)


if __name__ == "__main__":
    main()
