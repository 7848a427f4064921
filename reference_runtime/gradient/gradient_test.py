#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges ai.onnx.preview.training.Gradient: usage: gradient_test.py OPSRUN

Each case is a function of tensors of doubles. Its model has a loss, the sum of the function's outputs
with random weights, and a Gradient node of the loss. What opsrun computes is compared with central
differences of the same function as run by onnx.reference or onnxruntime; derivatives of higher order and other
special cases with closed forms in numpy.
"""
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSRUN = sys.argv[1]
TRAINING = "ai.onnx.preview.training"
STEP = 1e-5
DOUBLE = TensorProto.DOUBLE


def rng(name):
    return np.random.default_rng(sum(name.encode()))


class Model:
    """Nodes under construction; values are named by the caller."""

    def __init__(self, inputs, opset, open_shapes=False):
        self.inputs, self.opset, self.open_shapes = inputs, opset, open_shapes
        self.nodes, self.constants, self.result = [], [], DOUBLE

    def add(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain,
                                           name="_".join(["n", *[o for o in outputs if o]]), **attributes))

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))

    def gradient(self, xs, y, outputs, inputs=None, zs=(), name=None):
        attributes = {"xs": list(xs), "y": y}
        if zs:
            attributes["zs"] = list(zs)
        self.add("Gradient", inputs or [*xs, *zs], outputs, domain=TRAINING, **attributes)
        if name:
            self.nodes[-1].name = name

    def shape_of(self, name, array):
        if self.open_shapes:
            return [f"{name}_{i}" for i in range(array.ndim)]
        return array.shape

    def build(self, outputs):
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype),
                                                self.shape_of(n, a)) for n, a in self.inputs.items()]
        results = [helper.make_tensor_value_info(n, self.result, None) for n in outputs]
        graph = helper.make_graph(self.nodes, "test", inputs, results, self.constants)
        return helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", self.opset), helper.make_opsetid(TRAINING, 1)])


def opsrun(model, inputs, *flags):
    """The outputs, or the message of the error."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        onnx.save(model, path / "model.onnx")
        command = [OPSRUN, "run", path / "model.onnx", "--output-dir", path / "out", *flags]
        for name, array in inputs.items():
            np.save(path / f"{name}.npy", array)
            command += ["--input", f"{name}={path / name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            return done.stderr.strip()
        return [np.load(path / "out" / f"{o.name}.npy") for o in model.graph.output]


# ---- Rules against central differences --------------------------------------------------------------


def evaluator(model):
    """onnx.reference; onnxruntime for Softmax over several axes, which the former takes for one."""
    old = model.opset_import[0].version < 13
    if not old or not any(n.op_type.endswith("Softmax") for n in model.graph.node):
        return ReferenceEvaluator(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def central_differences(model, inputs, x):
    """d loss / dx by the model without its Gradient node."""
    forward = evaluator(model)

    def loss(point):
        return float(forward.run(["loss"], {**inputs, x: point})[0])

    result = np.zeros_like(inputs[x])
    for place in np.ndindex(*inputs[x].shape):
        step = np.zeros_like(inputs[x])
        step[place] = STEP
        result[place] = (loss(inputs[x] + step) - loss(inputs[x] - step)) / (2 * STEP)
    return result


# name, operator, inputs: shapes, arrays of integers or None (omitted); settings
RULES = [
    ("Abs", [(3, 4)], {}), ("Acos", [(5,)], {"low": -0.9, "high": 0.9}),
    ("Add", [(3, 4), (3, 4)], {}), ("Add", [(2, 3, 4), (3, 1)], {}), ("Add", [(1,), (2, 3)], {}),
    ("Add", [(), (2, 3)], {}), ("Asin", [(5,)], {"low": -0.9, "high": 0.9}), ("Atan", [(5,)], {}),
    ("Ceil", [(5,)], {}), ("Clip", [(7,), np.array(-0.5), np.array(0.5)], {}),
    ("Clip", [(7,), None, np.array(0.5)], {}),
    ("Clip", [(7,)], {"opset": 10, "attributes": {"min": -0.5, "max": 0.25}}),
    ("Clip", [(9,), (), ()], {}), ("Clip", [(9,), ()], {}),
    ("Conv", [(2, 3, 7), (4, 3, 3), (4,)], {}), ("Conv", [(1, 2, 5, 6), (3, 2, 3, 2)], {}),
    ("Conv", [(2, 4, 7, 8), (6, 2, 3, 2), (6,)],
     {"attributes": {"group": 2, "strides": [2, 3], "dilations": [1, 2], "pads": [1, 0, 2, 1]}}),
    ("Conv", [(1, 3, 9), (3, 1, 2)], {"attributes": {"group": 3, "strides": [4], "pads": [0, 1]}}),
    ("Concat", [(2, 3), (2, 1), (2, 2)], {"attributes": {"axis": 1}}),
    ("Concat", [(2, 3), (1, 3)], {"attributes": {"axis": -2}}),
    ("Cos", [(5,)], {}), ("Cosh", [(5,)], {}), ("Div", [(3, 4), (3, 4)], {"low": 0.5, "high": 2}),
    ("Div", [(4,), (3, 1)], {"low": 0.5, "high": 2}), ("Exp", [(5,)], {}),
    ("Expand", [(3, 1), np.array([2, 1, 4])], {}), ("Flatten", [(2, 3, 4)], {"attributes": {"axis": 2}}),
    ("Floor", [(5,)], {}), ("Identity", [(5,)], {}), ("Log", [(5,)], {"low": 0.5, "high": 2}),
    ("LogSoftmax", [(3, 4)], {}), ("LogSoftmax", [(3, 4)], {"attributes": {"axis": 0}}),
    ("LogSoftmax", [(2, 3, 2)], {"opset": 12}),
    ("MatMul", [(3, 4), (4, 2)], {}), ("MatMul", [(4,), (4,)], {}), ("MatMul", [(4,), (4, 2)], {}),
    ("MatMul", [(3, 4), (4,)], {}), ("MatMul", [(2, 3, 4), (4, 2)], {}),
    ("MatMul", [(3, 4), (2, 4, 2)], {}), ("MatMul", [(2, 1, 3, 4), (5, 4, 2)], {}),
    ("MatMul", [(4,), (2, 4, 3)], {}), ("MatMul", [(2, 3, 4), (4,)], {}),
    ("Max", [(3, 4), (4,), (3, 1)], {}), ("Max", [(3,)], {}), ("Min", [(3, 4), (3, 4)], {}),
    ("Mean", [(3, 4), (4,), (3, 1)], {}), ("Mul", [(3, 4), (3, 4)], {}), ("Mul", [(2, 3, 4), (4,)], {}),
    ("Neg", [(5,)], {}), ("Pow", [(5,), (5,)], {"low": 0.5, "high": 2}),
    ("Pow", [(5,), np.array([2], np.int64)], {}), ("Pow", [(2, 3), (3,)], {"low": 0.5, "high": 2}),
    ("Reciprocal", [(5,)], {"low": 0.5, "high": 2}), ("Relu", [(7,)], {}),
    ("Reshape", [(2, 6), np.array([3, 4])], {}), ("Round", [(5,)], {}), ("Sigmoid", [(5,)], {}),
    ("Sign", [(5,)], {}), ("Sin", [(5,)], {}), ("Sinh", [(5,)], {}), ("Softmax", [(3, 4)], {}),
    ("Softmax", [(3, 4)], {"attributes": {"axis": 0}}), ("Softmax", [(2, 3, 2)], {"opset": 11}),
    ("Softmax", [(2, 3, 2)], {"opset": 11, "attributes": {"axis": 2}}),
    ("Softplus", [(5,)], {}), ("Split", [(7, 2), np.array([3, 4])], {"outputs": 2}),
    ("Split", [(2, 6), np.array([1, 2, 3])], {"outputs": 3, "attributes": {"axis": -1}}),
    ("Sqrt", [(5,)], {"low": 0.5, "high": 2}), ("Squeeze", [(2, 1, 3), np.array([1])], {}),
    ("Squeeze", [(2, 1, 3)], {"opset": 11, "attributes": {"axes": [1]}}),
    ("Sub", [(3, 4), (3, 4)], {}), ("Sub", [(4,), (2, 1)], {}), ("Sum", [(3, 4), (4,), (3, 1)], {}),
    ("Tan", [(5,)], {}), ("Tanh", [(5,)], {}), ("Transpose", [(2, 3, 4)], {}),
    ("Transpose", [(2, 3, 4)], {"attributes": {"perm": [1, 2, 0]}}),
    ("Unsqueeze", [(2, 3), np.array([0, 3])], {}),
    ("Where", [np.array([True, False, True]), (2, 3), (2, 1)], {}),
    ("BatchNormalization", [(2, 3, 4), (3,), (3,), (3,), (3,)], {"low": 0.5, "high": 2}),
    ("CumSum", [(3, 4), np.array(1)], {}), ("Dropout", [(5,)], {}),
    ("CumSum", [(3, 4), np.array(0)], {"attributes": {"exclusive": 1, "reverse": 1}}),
    ("ReduceMax", [(2, 3, 4), np.array([1])], {}), ("ReduceMin", [(2, 3)], {"attributes": {"keepdims": 0}}),
    # What chooses elements.
    ("DepthToSpace", [(1, 8, 2, 3)], {"attributes": {"blocksize": 2, "mode": "CRD"}}),
    ("Gather", [(3, 4), np.array([[2, 0], [2, -1]])], {"attributes": {"axis": 0}}),
    ("Gather", [(3, 4), np.array(1)], {"attributes": {"axis": -1}}),
    ("GatherElements", [(3, 4), np.array([[0, 0, 3], [1, 1, 2], [3, 0, 0]])], {"attributes": {"axis": 1}}),
    ("GatherND", [(2, 3, 2), np.array([[1, 2], [0, 0], [1, 2]])], {}),
    ("GlobalAveragePool", [(2, 3, 4, 5)], {}),
    ("MaxPool", [(1, 2, 6, 5)], {"attributes": {"kernel_shape": [3, 2]}}),
    ("MaxPool", [(1, 2, 7)], {"attributes": {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}}),
    ("Pad", [(2, 3), np.array([1, 0, 2, 1]), ()], {}),
    ("Pad", [(4, 5), np.array([1, 2, 0, 3])], {"attributes": {"mode": "reflect"}}),
    ("ScatterElements", [(3, 4), np.array([[0, 0], [2, 1]]), (2, 2)],
     {"attributes": {"axis": 0, "reduction": "add"}}),
    ("Slice", [(5, 6), np.array([3, 1]), np.array([0, 9]), np.array([0, 1]), np.array([-1, 2])], {}),
    ("Tile", [(2, 3), np.array([2, 3])], {}),
    # Functions of ONNX without a rule of their own.
    ("Elu", [(7,)], {}), ("LeakyRelu", [(7,)], {"attributes": {"alpha": 0.1}}), ("Mish", [(5,)], {}),
    ("HardSwish", [(7,)], {}), ("Gelu", [(5,)], {"opset": 20, "attributes": {"approximate": "tanh"}}),
    ("PRelu", [(3, 4), (4,)], {}),
]
for transposes in [(0, 0), (0, 1), (1, 0), (1, 1)]:
    attributes = {"transA": transposes[0], "transB": transposes[1], "alpha": 0.5, "beta": 2.0}
    a, b = (4, 3) if transposes[0] else (3, 4), (2, 4) if transposes[1] else (4, 2)
    RULES += [("Gemm", [a, b, (3, 2)], {"attributes": attributes}),
              ("Gemm", [a, b, (2,)], {"attributes": attributes}), ("Gemm", [a, b], {"attributes": attributes})]
for reduction in ["ReduceSum", "ReduceMean"]:
    for kept in [0, 1]:
        keeps = {"attributes": {"keepdims": kept}}
        RULES += [(reduction, [(2, 3, 4), np.array([1])], keeps), (reduction, [(2, 3)], keeps),
                  (reduction, [(2, 3, 4), np.array([0, -1])], keeps),
                  (reduction, [(2, 3, 4)], {"opset": 11, "attributes": {"keepdims": kept, "axes": [0, 2]}}),
                  (reduction, [(2, 3)], {"attributes": {"keepdims": kept, "noop_with_empty_axes": 1}})]


def rule_model(row, open_shapes):
    op, arguments, settings = row
    random = rng(op)
    low, high = settings.get("low", -2), settings.get("high", 2)
    inputs, names, xs = {}, [], []
    for i, argument in enumerate(arguments):
        if isinstance(argument, tuple):
            xs.append(f"x{i}")
            inputs[f"x{i}"] = random.uniform(low, high, argument)
        names.append("" if argument is None else f"x{i}")
    model = Model(inputs, settings.get("opset", 18), open_shapes)
    for i, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            floating = argument.dtype == np.float64
            model.constant(f"x{i}", argument.astype(np.float64) if floating else argument)
    outputs = [f"out{i}" for i in range(settings.get("outputs", 1))]
    model.add(op, names, outputs, **settings.get("attributes", {}))
    shapes = ReferenceEvaluator(model.build(outputs)).run(None, inputs)
    for i, out in enumerate(outputs):
        model.constant(f"weights{i}", random.uniform(-1, 1, np.shape(shapes[i])))
        model.add("Mul", [out, f"weights{i}"], [f"weighted{i}"])
        model.add("ReduceSum", [f"weighted{i}"], [f"sum{i}"], keepdims=0)
    model.add("Sum", [f"sum{i}" for i in range(len(outputs))], ["loss"])
    return model, inputs, xs


def judge(name, found, expected, bad, tolerance=1e-6):
    if isinstance(found, str):
        bad.append(f"{name}: {found}")
        return
    for i, (have, want) in enumerate(zip(found, expected)):
        if have.shape != np.shape(want) or not np.allclose(have, want, rtol=tolerance, atol=tolerance):
            bad.append(f"{name}: output {i}: expected {want}, found {have}")


def check_rules(bad):
    for row in RULES:
        for open_shapes in [False, True]:
            model, inputs, xs = rule_model(row, open_shapes)
            forward = model.build(["loss"])
            expected = [central_differences(forward, inputs, x) for x in xs]
            model.gradient(xs, "loss", [f"d{x}" for x in xs])
            found = opsrun(model.build([f"d{x}" for x in xs]), inputs)
            judge(f"{row[0]} {row[1]} {row[2]}{' open shapes' if open_shapes else ''}", found, expected, bad)
    return 2 * len(RULES)


# ---- Closed forms -----------------------------------------------------------------------------------


def third_derivative_of_a_power():
    x = np.array([0.5, -1.0, 2.0])
    model = Model({"x": x}, 18)
    model.constant("four", np.float64(4))
    model.add("Pow", ["x", "four"], ["y"])
    model.gradient(["x"], "y", ["first"])
    model.gradient(["x"], "first", ["second"])
    model.gradient(["x"], "second", ["third"])
    return model, ["first", "second", "third"], [4 * x**3, 12 * x**2, 24 * x]


def second_derivative_of_tanh():
    x = np.array([[0.3, -0.7]])
    model = Model({"x": x}, 18)
    model.add("Tanh", ["x"], ["y"])
    model.gradient(["x"], "y", ["first"])
    model.gradient(["x"], "first", ["second"])
    t = np.tanh(x)
    return model, ["second"], [-2 * t * (1 - t**2)]


def example_of_the_specification():
    """O = sum((X W - L)^2); dO/dW = 2 X^T (X W - L); d(sum dO/dW)/dX and d^2O/dW^2."""
    random = np.random.default_rng(1)
    x, w, l = random.normal(size=(3, 4)), random.normal(size=(4, 2)), random.normal(size=(3, 2))
    model = Model({"X": x, "W": w, "L": l}, 18)
    model.add("Gemm", ["X", "W"], ["Y"])
    model.add("Sub", ["Y", "L"], ["D"])
    model.add("Mul", ["D", "D"], ["S"])
    model.add("ReduceSum", ["S"], ["O"], keepdims=0)
    model.gradient(["X", "W"], "O", ["dO_dX", "dO_dW"], zs=["L"])
    model.gradient(["X", "W"], "dO_dW", ["ddX", "ddW"], zs=["L"])
    ones = np.ones((4, 2))
    r = x @ w - l
    # sum_kn 2 sum_m X_mk R_mn: by X_mk: 2 sum_n (R_mn) + 2 sum_n (sum_k' X_mk') W_kn
    ddx = 2 * (r @ ones.T + (x @ ones) @ w.T)
    ddw = 2 * x.T @ (x @ ones)
    return model, ["dO_dX", "dO_dW", "ddX", "ddW"], [2 * r @ w.T, 2 * x.T @ r, ddx, ddw]


def value_read_twice():
    x = np.array([1.5, -2.0])
    model = Model({"x": x}, 18)
    model.add("Mul", ["x", "x"], ["square"])
    model.add("Mul", ["square", "x"], ["cube"])
    model.add("Add", ["cube", "square"], ["y"])
    model.gradient(["x"], "y", ["d"])
    return model, ["d"], [3 * x**2 + 2 * x]


def intermediate_value():
    """H is computed, and an independent variable all the same."""
    x = np.array([0.5, 2.0])
    model = Model({"x": x}, 18)
    model.add("Exp", ["x"], ["H"])
    model.add("Mul", ["H", "H"], ["y"])
    model.gradient(["H"], "y", ["d"])
    return model, ["d"], [2 * np.exp(x)]


def at_another_point():
    x, p = np.array([0.5, 2.0]), np.array([3.0, -1.0])
    model = Model({"x": x, "p": p}, 18)
    model.add("Sin", ["x"], ["y"])
    model.gradient(["x"], "y", ["d"], inputs=["p"])
    return model, ["d", "y"], [np.cos(p), np.sin(x)]


def both_at_one_point():
    """Two independent variables at the same value: derivatives by each."""
    a, b, p = np.array([1.0]), np.array([2.0]), np.array([5.0])
    model = Model({"a": a, "b": b, "p": p}, 18)
    model.add("Mul", ["a", "b"], ["ab"])
    model.add("Mul", ["ab", "a"], ["y"])
    model.gradient(["a", "b"], "y", ["da", "db"], inputs=["p", "p"])
    return model, ["da", "db"], [2 * p * p, p * p]


def before_its_function():
    """The Gradient node stands before the node that computes y."""
    x = np.array([0.5, 2.0])
    model = Model({"x": x}, 18)
    model.gradient(["x"], "y", ["d"])
    model.add("Sin", ["x"], ["y"])
    return model, ["d", "y"], [np.cos(x), np.sin(x)]


def independent_and_omitted():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    model = Model({"a": a, "b": b}, 18)
    model.add("Exp", ["a"], ["y"])
    model.gradient(["a", "b"], "y", ["", "db"])
    return model, ["db"], [np.zeros(2)]


def y_itself():
    a = np.array([1.0, 2.0])
    model = Model({"a": a}, 18)
    model.add("Exp", ["a"], ["y"])
    model.gradient(["y"], "y", ["d"])
    return model, ["d"], [np.ones(2)]


def through_an_initializer():
    x = np.array([[1.0, 2.0]])
    w = np.array([[3.0], [4.0]])
    model = Model({"x": x}, 18)
    model.constant("w", w)
    model.add("MatMul", ["x", "w"], ["y"])
    model.gradient(["w"], "y", ["d"], zs=["x"])
    return model, ["d"], [x.T]


def twice_through_a_choice():
    """y = sum(x[i]^3) by Gather: the derivative of the derivative goes through ScatterElements."""
    x = np.array([1.0, 2.0, 3.0])
    model = Model({"x": x}, 18)
    model.constant("i", np.array([0, 2, 2]))
    model.add("Gather", ["x", "i"], ["c"])
    model.add("Mul", ["c", "c"], ["s"])
    model.add("Mul", ["s", "c"], ["y"])
    model.gradient(["x"], "y", ["first"])
    model.gradient(["x"], "first", ["second"])
    times = np.array([1, 0, 2])
    return model, ["first", "second"], [times * 3 * x**2, times * 6 * x]


def negative_pads():
    """A row and a column cut off, two columns of zeros in front."""
    random = np.random.default_rng(3)
    x, w = random.normal(size=(4, 5)), random.normal(size=(3, 6))
    model = Model({"x": x}, 18)
    model.constant("pads", np.array([-1, 2, 0, -1]))
    model.constant("w", w)
    model.add("Pad", ["x", "pads"], ["p"])
    model.add("Mul", ["p", "w"], ["y"])
    model.gradient(["x"], "y", ["d"])
    expected = np.zeros_like(x)
    expected[1:, :4] = w[:, 2:]
    return model, ["d"], [expected]


def in_a_body():
    x = np.array([0.5, 2.0])
    model = Model({"x": x, "c": np.array(True)}, 18)
    body = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["v"]), helper.make_node("Sin", ["v"], ["y"]),
         helper.make_node("Gradient", ["v"], ["d"], domain=TRAINING, xs=["v"], y="y")],
        "then", [], [helper.make_tensor_value_info("d", DOUBLE, None)])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["n"])], "else", [],
                              [helper.make_tensor_value_info("n", DOUBLE, None)])
    model.add("If", ["c"], ["d_out"], then_branch=body, else_branch=other)
    return model, ["d_out"], [np.cos(x)]


def through_gelu():
    """x Phi(x) by Phi(x) + x phi(x)."""
    x = np.array([-1.5, -0.2, 0.0, 0.7, 2.0])
    model = Model({"x": x}, 20)
    model.add("Gelu", ["x"], ["y"])
    model.gradient(["x"], "y", ["d"])
    erf = np.array([math.erf(v / math.sqrt(2)) for v in x])
    return model, ["d"], [(1 + erf) / 2 + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)]


def through_erf():
    """2 / sqrt(pi) exp(-x^2)"""
    x = np.array([-1.5, -0.2, 0.0, 0.7, 2.0])
    model = Model({"x": x}, 18)
    model.add("Erf", ["x"], ["y"])
    model.gradient(["x"], "y", ["d"])
    return model, ["d"], [2 / math.sqrt(math.pi) * np.exp(-x * x)]


def extremes_at_a_tie():
    """Where several inputs are the largest, they share the derivative."""
    a, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    model = Model({"a": a, "b": b}, 18)
    model.add("Max", ["a", "b"], ["y"])
    model.gradient(["a", "b"], "y", ["da", "db"])
    return model, ["da", "db"], [np.array([0.5, 0, 1]), np.array([0.5, 1, 0])]


def through_layer_normalization():
    """y = sum(w * n * s), n = (x - mean) / std; dx = (g - mean(g) - n mean(g n)) / std, g = w s."""
    random = np.random.default_rng(2)
    x, s, w = random.normal(size=(3, 5)), random.normal(size=5), random.normal(size=(3, 5))
    model = Model({"x": x, "s": s, "w": w}, 18)
    model.add("LayerNormalization", ["x", "s"], ["n"], stash_type=DOUBLE, epsilon=0.0)
    model.add("Mul", ["n", "w"], ["y"])
    model.gradient(["x", "s"], "y", ["dx", "ds"], zs=["w"])
    std = x.std(axis=1, keepdims=True)
    n, g = (x - x.mean(axis=1, keepdims=True)) / std, w * s
    dx = (g - g.mean(axis=1, keepdims=True) - n * (g * n).mean(axis=1, keepdims=True)) / std
    return model, ["dx", "ds"], [dx, (w * n).sum(axis=0)]


CLOSED = [negative_pads, twice_through_a_choice, through_erf, through_gelu, extremes_at_a_tie,
          through_layer_normalization, third_derivative_of_a_power, second_derivative_of_tanh,
          example_of_the_specification, value_read_twice, intermediate_value, at_another_point,
          both_at_one_point, before_its_function, independent_and_omitted, y_itself,
          through_an_initializer, in_a_body]


def check_closed_forms(bad):
    for case in CLOSED:
        model, outputs, expected = case()
        judge(case.__name__, opsrun(model.build(outputs), model.inputs), expected, bad, 1e-12)
    return len(CLOSED)


# ---- What is refused --------------------------------------------------------------------------------


def refused(op="Sin", xs=("x",), y="y", inputs=None, **attributes):
    model = Model({"x": np.array([0.5, 2.0])}, 18)
    model.add(op, ["x"], ["y"], **attributes)
    model.gradient(xs, y, [f"d{i}" for i in range(len(xs))], inputs=inputs, name="g")
    return model


REFUSED = [
    ("no rule", lambda: refused("Hardmax"), ["Gradient 'g'", "n_y", "Hardmax"]),
    ("no such x", lambda: refused(xs=["nothing"], inputs=["x"]), ["Gradient 'g'", "xs", "'nothing'"]),
    ("no such y", lambda: refused(y="nothing"), ["Gradient 'g'", "'nothing'"]),
    ("too few inputs", lambda: refused(xs=["x", "y"], inputs=["x"]), ["Gradient 'g'", "1 inputs"]),
]


def of_itself():
    model = Model({"x": np.array([0.5])}, 18)
    model.gradient(["x"], "b", ["a"], name="g")
    model.gradient(["x"], "a", ["b"], name="h")
    return model


def by_integers():
    model = Model({"x": np.array([1, 2])}, 18)
    model.result = TensorProto.INT64
    model.add("Cast", ["x"], ["y"], to=DOUBLE)
    model.gradient(["x"], "y", ["d0"], name="g")
    return model


def of_high_order():
    """A small file that asks for any number of nodes."""
    model = Model({"x": np.array([0.5])}, 18)
    model.add("Tanh", ["x"], ["y0"])
    for i in range(30):
        model.gradient(["x"], f"y{i}", [f"y{i + 1}"])
    return model


REFUSED += [("of high order", of_high_order, ["Gradient", "RT_GRADIENT_MAX_NODES"]),
            ("of itself", of_itself, ["Gradient", "RT_GRADIENT_MAX_ORDER"]),
            ("by integers", by_integers, ["Gradient 'g'", "'x'", "zs"])]


def check_refused(bad):
    for name, make, words in REFUSED:
        model = make()
        output = model.nodes[-1].output[0]
        found = opsrun(model.build([output]), model.inputs)
        if not isinstance(found, str) or not all(word in found for word in words):
            bad.append(f"{name}: expected an error with {words}, found {found}")
    return len(REFUSED)


def main():
    bad = []
    count = check_rules(bad) + check_closed_forms(bad) + check_refused(bad)
    for line in bad:
        print(line)
    print(f"{count - len(bad)} of {count} cases hold")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
