#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of execution_test: usage: execution_test_models.py FOLDER

Their operators are elementwise, so that the test states what they compute by itself.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSETS = [helper.make_opsetid("", 13), helper.make_opsetid("probe", 1)]


def value(name, shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def node(op, inputs, outputs, name, domain="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, domain=domain, **attributes)


def save(folder, name, nodes, inputs, outputs, constants=(), inner=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(constants), value_info=list(inner))
    onnx.save(helper.make_model(graph, opset_imports=OPSETS, ir_version=8), folder / f"{name}.onnx")


def half(name, number):
    return numpy_helper.from_array(np.float32(number), name)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    x, y = [value("x", ["N", 8])], [value("y", ["N", 8])]

    # y = relu(|-x| + x) twice over: ten nodes, names in the order in which they run.
    chain, before = [], "x"
    for step in range(10):
        op = ("Neg", "Abs", "Add", "Relu", "Neg")[step % 5]
        inputs = f"{before} x" if op == "Add" else before
        after = "y" if step == 9 else f"v{step}"
        chain.append(node(op, inputs, after, f"node{step}"))
        before = after
    save(folder, "chain", chain, x, y)
    # The same with fixed shapes: planned when the session is made.
    save(folder, "fixed", chain, [value("x", [4, 8])], [value("y", [4, 8])])

    # y = relu(x * x + x)
    save(folder, "scale",
         [node("Mul", "x x", "m", "square"), node("Add", "m x", "a", "plus"), node("Relu", "a", "y", "cut")], x, y)

    # What the optimizer makes one node of.
    save(folder, "swish", [node("Sigmoid", "x", "g", "gate"), node("Mul", "x g", "y", "product")], x, y)

    # state' = 0.5 state + x, y = relu(state')
    save(folder, "state",
         [node("Mul", "state decay", "s", "decay"), node("Add", "s x", "next", "accumulate"),
          node("Relu", "next", "y", "shown")],
         [value("state", ["N", 8]), value("x", ["N", 8])], [value("next", ["N", 8]), value("y", ["N", 8])],
         [half("decay", 0.5)])

    # A cache that grows: present = past ++ x along axis 0, y = sum of present.
    save(folder, "grow",
         [node("Concat", "past x", "present", "append", axis=0),
          node("ReduceSum", "present axes", "y", "total", keepdims=0)],
         [value("past", ["P", 2]), value("x", [1, 2])], [value("present", ["P+1", 2]), value("y", [2])],
         [numpy_helper.from_array(np.array([0]), "axes")])

    # Two devices take turns, and the host: (x * 3 + x) - x * 3, back and forth.
    relay, before = [], "x"
    for step in range(4):
        relay += [node("Mul", f"{before} three", f"m{step}", f"mul{step}"),
                  node("Add", f"m{step} {before}", f"a{step}", f"add{step}"),
                  node("Abs", f"a{step}", f"b{step}", f"abs{step}"),
                  node("Sub", f"b{step} m{step}", "y" if step == 3 else f"s{step}", f"sub{step}")]
        before = f"s{step}"
    save(folder, "relay", relay, x, y, [half("three", 3)])

    # Kernels that run until they are told to end.
    save(folder, "endless", [node("Neg", "x", "n", "before"), node("Wait", "n", "w", "the_long_one", "probe"),
                             node("Neg", "w", "y", "behind")],
         x, y, (), [value("w", ["N", 8])])

    # Branches that fork and meet again at different depths, with values that live long, and
    # in-place candidates whose other readers come at any time.
    twigs, tips = [], ["x"]
    for step in range(24):
        left, right = tips[step * 7 % len(tips)], tips[step * 5 % len(tips)]
        op = ("Add", "Relu", "Mul", "Tanh", "Sub", "Neg")[step % 6]
        operands = f"{left} {right}" if op in ("Add", "Mul", "Sub") else left
        twigs.append(node(op, operands, f"t{step}", f"twig{step}"))
        tips = tips[-5:] + [f"t{step}"]
    twigs.append(node("Sum", " ".join(tips), "y", "crown"))
    save(folder, "twigs", twigs, x, y)

    # As many copies of -x as trips says, stacked.
    body = helper.make_graph([node("Neg", "x", "slice", "turned"), node("Identity", "go_on", "more", "again")], "body",
                             [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
                              helper.make_tensor_value_info("go_on", onnx.TensorProto.BOOL, [])],
                             [helper.make_tensor_value_info("more", onnx.TensorProto.BOOL, []),
                              value("slice", ["N", 8])])
    save(folder, "pile", [node("Loop", "trips yes", "y", "the_pile", body=body)],
         x + [helper.make_tensor_value_info("trips", onnx.TensorProto.INT64, [])], [value("y", ["T", "N", 8])],
         [numpy_helper.from_array(np.array(True), "yes")])

    # Six branches of three nodes, joined by sums.
    wide = []
    for branch in range(6):
        wide += [node("Mul", f"x k{branch}", f"p{branch}", f"scale{branch}"),
                 node("Tanh", f"p{branch}", f"q{branch}", f"tanh{branch}"),
                 node("Mul", f"q{branch} q{branch}", f"r{branch}", f"square{branch}")]
    wide.append(node("Sum", " ".join(f"r{branch}" for branch in range(6)), "y", "join"))
    save(folder, "wide", wide, x, y, [half(f"k{branch}", branch + 1) for branch in range(6)])


if __name__ == "__main__":
    main()
