#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of session_test: usage: session_test_models.py FOLDER

One folder per case: model.onnx, in_NAME.npy, out_NAME.npy. Expected outputs are onnxruntime's;
for operators of the test provider "probe" they follow from their one-line definitions, in numpy.
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

OPSETS = [helper.make_opsetid("", 13), helper.make_opsetid("probe", 1)]
rng = np.random.default_rng(7)


def tensor(shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def constant(name, array):
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def node(op, inputs, outputs, name=None, domain="", **attributes):
    """Named `name`, or after its outputs, which differ from node to node."""
    name = name or f"{op}_{outputs.replace(' ', '_')}".lower()
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, domain=domain, **attributes)


def write_case(folder, name, nodes, inputs, outputs, constants=(), feeds=None, expected=None, inner=()):
    """`inputs`, `inner`: declared value infos; `expected`: outputs by name, None: ask onnxruntime."""
    graph = helper.make_graph(nodes, name, inputs, outputs, list(constants), value_info=list(inner))
    model = helper.make_model(graph, opset_imports=OPSETS, ir_version=8)
    case = folder / name
    case.mkdir(parents=True, exist_ok=True)
    onnx.save(model, case / "model.onnx")
    if expected is None:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        expected = dict(zip(names, session.run(names, feeds)))
    for key, array in feeds.items():
        np.save(case / f"in_{key}.npy", array)
    for key, array in expected.items():
        np.save(case / f"out_{key}.npy", array)


def standard(folder):
    x = tensor((3, 4))
    w, b = tensor((4, 5)), tensor((5,))
    mlp = [node("MatMul", "x w", "a"), node("Add", "a b", "c"), node("Relu", "c", "y")]
    write_case(folder, "mlp", mlp, [value("x", np.float32, ["N", 4])], [value("y", np.float32, ["N", 5])],
               [constant("w", w), constant("b", b)], {"x": x})
    write_case(folder, "static_mlp", mlp, [value("x", np.float32, [3, 4])], [value("y", np.float32, [3, 5])],
               [constant("w", w), constant("b", b)], {"x": x})

    # Weights of more than 4 KiB, at every remainder of addresses by 4: names of growing length shift them.
    weights = {"w": tensor((48, 3, 3, 3)), "wg": tensor((48, 40)), "wmm": tensor((2, 40, 60)),
               "wadd": tensor((2, 2, 600)), "wtable": tensor((300, 7)), "wgt": tensor((64, 60))}
    write_case(folder, "large_weights",
               [node("Conv", "x w", "c"), node("GlobalAveragePool", "c", "p"), node("Flatten", "p", "f"),
                node("Gemm", "f wg", "g"), node("MatMul", "g wmm", "m"), node("Gemm", "row wgt", "h", transB=1),
                node("Tile", "m times", "t"), node("Add", "t wadd", "a"), node("Gather", "wtable i", "y"),
                node("ReduceSum", "a", "s", keepdims=0), node("Add", "h s", "z")],
               [value("x", np.float32, ["N", 3, 9, 9]), value("i", np.int64, ["K"]),
                value("row", np.float32, [1, 60])],
               [value("y", np.float32, None), value("z", np.float32, None)],
               [*(constant(name, array) for name, array in weights.items()), constant("times", [1, 1, 10])],
               {"x": tensor((2, 3, 9, 9)), "i": np.array([0, 299, 7]), "row": tensor((1, 60))})

    # Shape -> Gather -> Concat -> Reshape: known from shapes alone.
    write_case(folder, "shape_chain",
               [node("Shape", "x", "s"), node("Gather", "s zero", "n", axis=0),
                node("Concat", "n minus", "t", axis=0), node("Reshape", "x t", "r"), node("Relu", "r", "y")],
               [value("x", np.float32, ["N", "C", "H"])], [value("y", np.float32, None)],
               [constant("zero", np.array([0])), constant("minus", np.array([-1]))], {"x": tensor((2, 3, 4))})

    # The end of a slice is computed from data: two segments.
    write_case(folder, "data_shape",
               [node("Mul", "k two", "end"), node("Relu", "x", "r"), node("Slice", "r start end axis", "s"),
                node("Add", "s s", "y")],
               [value("x", np.float32, ["N", 3]), value("k", np.int64, [1])], [value("y", np.float32, None)],
               [constant("two", np.array([2])), constant("start", np.array([0])),
                constant("axis", np.array([0]))],
               {"x": tensor((8, 3)), "k": np.array([3])})

    # A shape given by the caller.
    write_case(folder, "shape_input", [node("Reshape", "x s", "r"), node("Neg", "r", "y")],
               [value("x", np.float32, ["N", 6]), value("s", np.int64, [2])], [value("y", np.float32, None)],
               (), {"x": tensor((2, 6)), "s": np.array([3, -1])})

    # A shape without entries, which asks for a scalar: a constant that is empty and known.
    write_case(folder, "scalar_shape", [node("Reshape", "x s", "r"), node("Neg", "r", "y")],
               [value("x", np.float32, [1])], [value("y", np.float32, [])], [constant("s", np.zeros(0, np.int64))],
               {"x": tensor((1,))})

    # One value as two outputs, an input as output, a constant as output, values that live long.
    write_case(folder, "branches",
               [node("Relu", "x", "a"), node("Neg", "a", "b"), node("Add", "a b", "c"), node("Mul", "c x", "d"),
                node("Sub", "d a", "y"), node("Identity", "a", "a2"), node("Identity", "x", "x2"),
                node("Identity", "k", "k2")],
               [value("x", np.float32, ["N", 4])],
               [value(n, np.float32, None) for n in ("y", "a", "a2", "x2", "k2")],
               [constant("k", tensor((2,)))], {"x": x})

    # Nothing to compute at all.
    write_case(folder, "no_nodes", [], [value("x", np.float32, ["N", 4])],
               [value("x", np.float32, ["N", 4]), value("k", np.float32, [2])], [constant("k", tensor((2,)))],
               {"x": x})

    write_case(folder, "types",
               [node("Cast", "x", "i", "to_int", to=TensorProto.INT32), node("Cast", "i", "d", "to_double",
                                                                          to=TensorProto.DOUBLE),
                node("Greater", "d zero", "g"), node("Not", "g", "n"),
                node("Cast", "x", "h", "to_half", to=TensorProto.FLOAT16)],
               [value("x", np.float32, ["N", 4])],
               [value("i", np.int32, None), value("d", np.float64, None), value("n", np.bool_, None),
                value("h", np.float16, None)],
               [constant("zero", np.array(0.0))], {"x": (x * 3).astype(np.float32)})

    write_case(folder, "empty", [node("Relu", "x", "a"), node("Concat", "a w", "y", axis=0)],
               [value("x", np.float32, ["N", 3])], [value("y", np.float32, None), value("a", np.float32, None)],
               [constant("w", tensor((2, 3)))], {"x": tensor((0, 3))})

    write_case(folder, "default_input", [node("Add", "x w", "y")],
               [value("x", np.float32, ["N", 4]), value("w", np.float32, [4])], [value("y", np.float32, None)],
               [constant("w", tensor((4,)))], {"x": x})

    conv = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    write_case(folder, "conv_net",
               [node("Conv", "x w1 b1", "c1", "conv1", **conv), node("Relu", "c1", "r1", "relu1"),
                node("Conv", "r1 w2", "c2", "conv2", **conv), node("Add", "c2 r1", "s", "residual"),
                node("Sigmoid", "s", "g"), node("Mul", "s g", "m"), node("MatMul", "m p", "q"),
                node("Softmax", "q", "y", axis=-1)],
               [value("x", np.float32, ["N", 3, 8, 8])], [value("y", np.float32, None)],
               [constant("w1", tensor((8, 3, 3, 3))), constant("b1", tensor((8,))),
                constant("w2", tensor((8, 8, 3, 3)) * np.float32(0.1)), constant("p", tensor((8, 6)))],
               {"x": tensor((2, 3, 8, 8))})

    # Adds on both sides of a Relu: one group of all Adds would close a cycle.
    write_case(folder, "group_cycle",
               [node("Add", "x w", "a", "add1"), node("Relu", "a", "b"), node("Add", "b a", "c", "add2"),
                node("Add", "c x", "y", "add3")],
               [value("x", np.float32, ["N", 4]), value("w", np.float32, ["N", 4])],
               [value("y", np.float32, None)], (), {"x": x, "w": tensor((3, 4))})
    write_case(folder, "group_plain",
               [node("Add", "x w", "a", "add1"), node("Add", "a x", "b", "add2"), node("Relu", "b", "y"),
                node("Neg", "a", "z")],
               [value("x", np.float32, ["N", 4]), value("w", np.float32, ["N", 4])],
               [value("y", np.float32, None), value("z", np.float32, None)], (), {"x": x, "w": tensor((3, 4))})
    write_case(folder, "group_plain_one", [node("Add", "x x", "a"), node("Relu", "a", "b"), node("Add", "b a", "y")],
               [value("x", np.float32, ["N", 4])], [value("y", np.float32, None)], (), {"x": x})


def probe(folder):
    x = tensor((12,))
    positive = x[x > 0]
    vector, open_vector = [value("x", np.float32, ["N"])], [value("y", np.float32, ["M"])]

    def own(op, inputs, outputs, name=None):
        return node(op, inputs, outputs, name, domain="probe")

    def floats(names):
        """Declared types of values that probe's operators make: nobody infers them."""
        return [value(name, np.float32, ["?" + name]) for name in names.split()]

    for op in ("Pick", "PickBounded"):
        write_case(folder, op.lower(), [node("Neg", "x", "n"), node("Neg", "n", "m", "neg2"),
                                        own(op, "m", "p"), node("Relu", "p", "r"), node("Add", "r r", "y")],
                   vector, open_vector, (), {"x": x}, {"y": positive * 2}, floats("p"))
        write_case(folder, op.lower() + "_last", [own(op, "x", "y")], vector, open_vector, (), {"x": x},
                   {"y": positive})
    write_case(folder, "pick_twice", [own("Pick", "x", "p"), node("Sub", "p half", "q"), own("Pick", "q", "y", "again")],
               vector, open_vector, [constant("half", np.float32(0.5))], {"x": x},
               {"y": (positive - np.float32(0.5))[positive > 0.5]}, floats("p"))
    # x is read again later: Must works on a copy of it.
    write_case(folder, "must", [node("Neg", "x", "n"), own("Must", "n", "m"), node("Add", "m n", "y")], vector,
               open_vector, (), {"x": x}, {"y": (1 - x) - x}, floats("m"))
    write_case(folder, "must_input", [own("Must", "x", "m"), node("Add", "m x", "y")], vector, open_vector, (),
               {"x": x}, {"y": x + 1 + x}, floats("m"))
    # No declared types: the schemas of probe give them.
    write_case(folder, "custom_types",
               [own("Pick", "x", "p"), node("Neg", "p", "n"), own("Strict", "n", "s"), own("Solo", "s", "t"),
                node("Abs", "t", "y")],
               vector, open_vector, (), {"x": x}, {"y": positive * 2})
    write_case(folder, "solo", [own("Solo", "x", "a"), own("Solo", "a", "y", "solo2")], vector, open_vector, (),
               {"x": x}, {"y": 4 * x}, floats("a"))
    write_case(folder, "strict", [own("Strict", "x", "a"), node("Neg", "a", "b"), own("Strict", "b", "c", "strict2"),
                                  own("Strict", "w", "d", "strict3"), node("Add", "c d", "y")],
               vector, open_vector, [constant("w", tensor((12,)))], {"x": x}, {}, floats("a c d"))
    write_case(folder, "packed", [own("Packed", "x", "a"), own("Packed", "a", "b", "packed2"), node("Relu", "b", "y"),
                                  own("Packed", "w", "z", "packed3")],
               vector, open_vector + [value("z", np.float32, ["K"])], [constant("w", positive)], {"x": x},
               {"y": np.maximum(x, 0), "z": -positive}, floats("a b"))
    write_case(folder, "sequence", [own("Rows", "x", "s"), own("Count", "s", "y")],
               [value("x", np.float32, ["N", 4])], [value("y", np.float32, [])], (), {"x": tensor((5, 4))},
               {"y": np.float32(5)}, [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)])
    write_case(folder, "strings", [own("Upper", "x", "a"), own("Upper", "a", "y", "upper2")],
               [helper.make_tensor_value_info("x", TensorProto.STRING, ["N"])],
               [helper.make_tensor_value_info("y", TensorProto.STRING, ["N"])], (), {}, {},
               [helper.make_tensor_value_info("a", TensorProto.STRING, ["N"])])
    write_case(folder, "fail", [node("Neg", "x", "n"), own("Fail", "n", "y", "the_bad_one")], vector, open_vector, (),
               {"x": x}, {})
    write_case(folder, "nobody", [own("Nothing", "x", "y", "the_orphan")], vector, open_vector, (), {"x": x}, {})


def rewritten(folder):
    """Functions that nobody takes, and a derivative: for the failures of allocations."""
    x = tensor((3, 4))
    body = helper.make_graph([helper.make_node("Tanh", ["s"], ["t"])], "mod",
                             [value("s", np.float32, None)], [value("t", np.float32, None)])
    model = helper.make_model(helper.make_graph(
        [helper.make_node("Unsqueeze", ["x", "axes"], ["q"]),
         helper.make_node("FlexAttention", ["q", "q", "q"], ["a"], domain="ai.onnx.preview", score_mod=body),
         helper.make_node("Mish", ["x"], ["m"]), helper.make_node("ReduceMean", ["m"], ["l"]),
         helper.make_node("Gradient", ["x"], ["d"], domain="ai.onnx.preview.training", xs=["x"], y="l"),
         helper.make_node("Add", ["d", "a"], ["y"])], "rewritten",
        [value("x", np.float32, [3, 4])], [value("y", np.float32, None)],
        [onnx.numpy_helper.from_array(np.array([0, 1]), "axes")]), ir_version=8,
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.preview", 1),
                       helper.make_opsetid("ai.onnx.preview.training", 1)])
    (folder / "rewritten").mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "rewritten" / "model.onnx")
    np.save(folder / "rewritten" / "in_x.npy", x)


def main():
    folder = pathlib.Path(sys.argv[1])
    standard(folder)
    probe(folder)
    rewritten(folder)
    # What Strict computes needs its constant, which the model holds.
    case = folder / "strict"
    w = onnx.numpy_helper.to_array(onnx.load(case / "model.onnx").graph.initializer[0])
    np.save(case / "out_y.npy", -np.load(case / "in_x.npy") + w)


if __name__ == "__main__":
    main()
