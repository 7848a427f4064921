#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges operators run as functions: usage: functions_test.py OPSRUN

1. Official node cases on the cpu provider alone, with its kernels for the whole operators left aside: it must run
   the functions' nodes and give the official outputs. One operator that it lacks is run without being told.
2. Functions in places: in a body, in a function of the model, with open shapes, with omitted arguments,
   beside a constant without elements. Expected values from numpy.
3. Names in placements and messages, and what is refused.
4. Every operator that the onnx package defines as a function has one here.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

OPSRUN = sys.argv[1]
HERE = pathlib.Path(__file__).resolve().parent
FLOAT = TensorProto.FLOAT
# The cpu provider has what the functions of these need.
CASES = ["test_attention_4d_causal", "test_attention_4d_gqa_with_past_and_present", "test_attention_3d_attn_mask",
         "test_attention_local_window", "test_attention_4d_softcap", "test_celu",
         "test_causal_conv_with_state_basic", "test_linear_attention_gated_delta",
         "test_flexattention_causal_mask", "test_flexattention_gqa", "test_swiglu", "test_shrink_soft",
         "test_rotary_embedding_interleaved", "test_hannwindow",
         "test_reduce_log_sum_exp_keepdims_random", "test_center_crop_pad_crop_and_pad", "test_rms_normalization_2d_axis0"]
LACKING = "test_flexattention_gqa"  # the cpu provider has no kernel for the whole operator


def opsrun(model, inputs, *flags):
    """(outputs, what is printed), or (None, the message of the error)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        onnx.save(model, path / "model.onnx")
        command = [OPSRUN, "run", path / "model.onnx", "--output-dir", path / "out", "--placement", *flags]
        for name, array in inputs.items():
            np.save(path / f"{name}.npy", array)
            command += ["--input", f"{name}={path / name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            return None, done.stderr.strip()
        return [np.load(path / "out" / f"{o.name}.npy") for o in model.graph.output], done.stdout


def judge(name, found, expected, bad):
    outputs, text = found
    if outputs is None:
        bad.append(f"{name}: {text}")
        return
    for i, (have, want) in enumerate(zip(outputs, expected)):
        if have.shape != np.shape(want) or not np.allclose(have, want, rtol=1e-3, atol=1e-5):
            bad.append(f"{name}: output {i}: expected {want}, found {have}")


def check_official(bad):
    tests = {test.name: test for test in collect_testcases(None)}
    count = 0
    for name in CASES:
        test = tests.get(name)
        if not test:
            bad.append(f"{name}: the onnx package has no such case")
            continue
        count += 1
        inputs, expected = test.data_sets[0]
        names = [i.name for i in test.model.graph.input]
        found = opsrun(test.model, dict(zip(names, inputs)), "--provider", "cpu", "--no-fallback",
                       *([] if name == LACKING else ["--expand-functions"]))
        judge(name, found, expected, bad)
        if found[0] is not None and not re.search(r"_\d+/", found[1]):
            bad.append(f"{name}: the cpu provider ran it whole" +
                       ("; let LACKING be an operator that it lacks" if name == LACKING else ""))
    return count


# ---- Places -----------------------------------------------------------------------------------------


def model_of(nodes, inputs, outputs, opset=18, constants=(), functions=()):
    """`inputs` and `outputs`: name to shape."""
    values = [[helper.make_tensor_value_info(n, FLOAT, s) for n, s in side.items()]
              for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "test", *values, list(constants))
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid("local", 1)] * bool(functions)
    return helper.make_model(graph, ir_version=8, opset_imports=imports, functions=list(functions))


X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def shrink(x):
    """Shrink with lambd 0.5 and bias 0.1."""
    return np.where(x < -0.5, x + 0.1, np.where(x > 0.5, x - 0.1, 0)).astype(np.float32)


def a_shrink(x, y, name):
    return helper.make_node("Shrink", [x], [y], name=name, lambd=0.5, bias=0.1)


def open_shapes():
    nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=0),
             helper.make_node("LayerNormalization", ["y", "s"], ["z"], axis=1, epsilon=0.0)]
    s = numpy_helper.from_array(np.ones(4, np.float32), "s")
    p = softmax(X, 0)
    z = (p - p.mean(1, keepdims=True)) / p.std(1, keepdims=True)
    return model_of(nodes, {"x": ["N", None]}, {"z": None}, constants=[s]), [z]


def default_and_given_attributes():
    nodes = [helper.make_node("LeakyRelu", ["x"], ["a"]), helper.make_node("LeakyRelu", ["x"], ["b"], alpha=0.5)]
    return model_of(nodes, {"x": (3, 4)}, {"a": None, "b": None}), [
        np.where(X < 0, X * np.float32(0.01), X), np.where(X < 0, X / 2, X)]


def omitted_argument():
    high = numpy_helper.from_array(np.float32(0.25), "high")
    return model_of([helper.make_node("Clip", ["x", "", "high"], ["y"])], {"x": (3, 4)}, {"y": None},
                    constants=[high]), [np.minimum(X, 0.25)]


def output_read_twice_and_returned():
    nodes = [a_shrink("x", "a", "s"), helper.make_node("Add", ["a", "a"], ["b"])]
    return model_of(nodes, {"x": (3, 4)}, {"a": None, "b": None}), [shrink(X), 2 * shrink(X)]


def in_a_body():
    """A captured value, and a function in a function's body."""
    inner = helper.make_graph([helper.make_node("Mish", ["x"], ["m"])], "then", [],
                              [helper.make_tensor_value_info("m", FLOAT, None)])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["n"])], "else", [],
                              [helper.make_tensor_value_info("n", FLOAT, None)])
    nodes = [helper.make_node("ReduceMax", ["x"], ["top"], keepdims=0),
             helper.make_node("Cast", ["top"], ["c"], to=TensorProto.BOOL),
             helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=other)]
    return model_of(nodes, {"x": (3, 4)}, {"y": None}), [X * np.tanh(np.log1p(np.exp(X)))]


def in_a_function_of_the_model():
    function = helper.make_function("local", "Twice", ["v"], ["w"],
                                    [a_shrink("v", "t", "inner"), helper.make_node("Add", ["t", "t"], ["w"])],
                                    [helper.make_opsetid("", 18)])
    return model_of([helper.make_node("Twice", ["x"], ["y"], domain="local", name="outer")], {"x": (3, 4)},
                    {"y": None}, functions=[function]), [2 * shrink(X)]


def shape_without_elements():
    nodes = [helper.make_node("ReduceSum", ["x"], ["s"]), helper.make_node("Reshape", ["s", "to"], ["y"])]
    to = numpy_helper.from_array(np.zeros(0, np.int64), "to")
    return model_of(nodes, {"x": (3, 4)}, {"y": None}, constants=[to]), [X.sum()]


PLACES = [open_shapes, default_and_given_attributes, omitted_argument, output_read_twice_and_returned,
          in_a_body, in_a_function_of_the_model, shape_without_elements]


def check_places(bad):
    for case in PLACES:
        model, expected = case()
        judge(case.__name__, opsrun(model, {"x": X}, "--expand-functions"), expected, bad)
    return len(PLACES)


# ---- Names and messages -----------------------------------------------------------------------------


def check_names(bad):
    model = model_of([helper.make_node("Celu", ["x"], ["y"], name="act")], {"x": (3, 4)}, {"y": None})
    text = opsrun(model, {"x": X}, "--expand-functions")[1]
    for name in ["act/scaled", "act/elu/ExpX", "act/Y"]:
        if name not in text:
            bad.append(f"placement: expected a node {name} in\n{text}")
    model = model_of([helper.make_node("Mish", ["x"], ["y"], name="m")], {"x": (3, 4)}, {"y": None})
    text = opsrun(model, {"x": X}, "--provider", "mynpu", "--no-fallback")[1]
    if not all(word in text for word in ["Mish 'm' / node 'm/TanHSoftplusX': nobody runs Tanh"]):
        bad.append(f"message: expected the path of the node in {text}")
    return 2


def check_refused(bad):
    """A number that the body would divide by."""
    scale = [numpy_helper.from_array(np.ones(4, np.float32), n) for n in ("s", "b")]
    node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], name="g", num_groups=0)
    text = opsrun(model_of([node], {"x": (3, 4)}, {"y": None}, 21, scale), {"x": X}, "--expand-functions")[1]
    if not all(word in text for word in ["GroupNormalization 'g'", "num_groups is 0"]):
        bad.append(f"message: expected num_groups in {text}")
    return 1


def check_complete(bad):
    """Bodies that depend on the node have builders: rows of functions.c."""
    rows = set(re.findall(r'\{"([^"]*)", "(\w+)", (\d+), \d+, NULL, \w+\}',
                          (HERE / "functions.c").read_text(encoding="utf-8")))
    for schema in defs.get_all_schemas_with_history():
        dependent = schema.has_context_dependent_function or schema.name == "FlexAttention"
        if dependent and (schema.domain, schema.name, str(schema.since_version)) not in rows:
            bad.append(f"{schema.name} of opset {schema.since_version} has no builder in functions.c")
    return 1


def main():
    bad = []
    count = check_official(bad) + check_places(bad) + check_names(bad) + check_refused(bad) + check_complete(bad)
    for line in bad:
        print(line)
    print(f"{count} checks, {len(bad)} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
