#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares inferred types and shapes with independent sources.

usage: compare_shapes.py GRAPH_DUMP node|models [NAME...]

node    every official node test of the onnx package: small inputs become constants, the tool must
        find the shapes of the expected outputs, which the onnx project computed with numpy and
        which are hidden from the tool. An operator without a rule is listed, not judged.
models  the light models of onnx and the networks of rapidocr-onnxruntime: every intermediate
        value must be at least as known as onnx.shape_inference (data_prop) knows it, and, where
        onnxruntime can run the network, must have the shape that it has there.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper, shape_inference

NAMES = {v: k.lower() for k, v in onnx.TensorProto.DataType.items()}
MAX_CONSTANT = 64


class Dump:
    """The tool's answer for one model."""

    def __init__(self):
        self.values = {}  # name: (element type, dims or None)
        self.errors = []
        self.notes = []

    def add(self, line):
        name, _, text = line.partition("\t")
        if name == "error":
            self.errors.append(text)
        elif name == "note":
            self.notes.append(text)
        elif "[" in text and not text.startswith(("seq", "optional", "map", "sparse")):
            elem, _, dims = text.rstrip("]").partition("[")
            known = re.split(",(?! )", dims) if dims else []
            self.values[name] = (elem, None if dims == "..." else known)


def dump_all(tool, paths, bindings=()):
    """The answers for several models, in order."""
    args = [tool] + [f"--set={b}" for b in bindings] + paths
    run = subprocess.run(args, capture_output=True, text=True, timeout=300)
    if run.returncode not in (0, 1):
        sys.exit(f"{tool} ended with {run.returncode}: {run.stderr}")
    answers = [] if len(paths) > 1 else [Dump()]
    for line in run.stdout.splitlines():
        if line.startswith("== ") and len(paths) > 1:
            answers.append(Dump())
        else:
            answers[-1].add(line)
    return answers


def declared(info):
    """(element type, dims) of a ValueInfoProto; an open dimension is None."""
    if not info.type.HasField("tensor_type") or not info.type.tensor_type.HasField("shape"):
        return None
    tensor = info.type.tensor_type
    dims = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None for d in tensor.shape.dim]
    return NAMES[tensor.elem_type], dims


def mismatch(found, expected):
    """What is wrong with `found`, or None. Dimensions of `expected` that are None are free."""
    if found is None or found[1] is None:
        return f"nothing inferred, expected {expected}"
    if found[0] != expected[0] or len(found[1]) != len(expected[1]):
        return f"found {found}, expected {expected}"
    for have, want in zip(found[1], expected[1]):
        if want is not None and have != str(want):
            return f"found {found}, expected {expected}"
    return None


def with_constants(model, inputs):
    """Makes constants of the small inputs of the model's first data set."""
    keep = []
    for info, value in zip(model.graph.input, inputs):
        small = isinstance(value, (np.ndarray, np.generic)) and value.ndim <= 1 and (
            value.size <= MAX_CONSTANT and value.dtype != object and (
                value.dtype.kind in "iufb" or value.dtype.name == "bfloat16"))
        if small and info.type.HasField("tensor_type"):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), info.name))
        else:
            keep.append(info)
    del model.graph.input[:]
    model.graph.input.extend(keep)


# Operators with outputs whose size depends on the contents of inputs that are no shapes.
DATA_DEPENDENT = {"NonZero", "Compress", "Unique", "NonMaxSuppression", "Loop", "Scan"}


def prepare_node_test(case, path):
    """Saves the case's model for the tool; returns the expected outputs."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, outputs = case.data_sets[0]
    expected = {}
    for info, value in zip(model.graph.output, outputs):
        if declared(info) and isinstance(value, (np.ndarray, np.generic)):
            expected[info.name] = (declared(info)[0], list(np.shape(value)))
    with_constants(model, inputs)
    del model.graph.value_info[:]
    for info in model.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    return expected


def judge_node_test(case, expected, answer):
    ops = {n.op_type for n in case.model.graph.node}
    if answer.errors:
        return "wrong", answer.errors[0]
    missing = [n for n in answer.notes if "no shape rule for " in n]
    if missing:
        return "no rule", missing[0]
    for name, want in expected.items():
        found = answer.values.get(name)
        if ops & DATA_DEPENDENT and found and found[1] is not None and (
                len(found[1]) == len(want[1])):
            want = (want[0], [w if h.isdigit() else None for h, w in zip(found[1], want[1])])
        text = mismatch(found, want)
        if text:
            return "wrong", f"{sorted(ops)} {name}: {text}"
    return "right", ""


def run_node_tests(tool, names):
    from onnx.backend.test.case.node import collect_testcases
    counts = {"right": 0, "wrong": 0, "no rule": 0}
    without = set()
    cases = [c for c in collect_testcases(None) if not names or c.name in names]
    with tempfile.TemporaryDirectory() as scratch:
        paths = [os.path.join(scratch, f"{i}.onnx") for i in range(len(cases))]
        expected = [prepare_node_test(c, p) for c, p in zip(cases, paths)]
        answers = dump_all(tool, paths)
    for case, want, answer in zip(cases, expected, answers):
        verdict, text = judge_node_test(case, want, answer)
        counts[verdict] += 1
        if verdict == "wrong":
            print(f"{case.name}: {text}")
        if verdict == "no rule":
            without.add(text.split("no shape rule for ")[1].split(" of opset")[0])
    print(f"{counts}; without a rule: {' '.join(sorted(without))}")
    return counts["wrong"] == 0 and counts["right"] > (0 if names else 1000)


def model_paths():
    import importlib.util
    root = os.path.dirname(onnx.__file__)
    paths = glob.glob(os.path.join(root, "backend", "test", "data", "light", "light_*.onnx"))
    spec = importlib.util.find_spec("rapidocr_onnxruntime")
    if spec:
        paths += glob.glob(os.path.join(os.path.dirname(spec.origin), "models", "*.onnx"))
    return sorted(paths)


def concrete_inputs(model):
    """Inputs for a run, and the values of the symbols of their dimensions."""
    constants = {t.name for t in model.graph.initializer}
    feeds, bindings = {}, {}
    sizes = iter([2, 96, 160, 224])
    for info in model.graph.input:
        if info.name in constants:
            continue
        dims, made = [], 0
        for dim in info.type.tensor_type.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                dims.append(dim.dim_value)
                continue
            name = dim.dim_param.replace("?", "")
            if not name:
                name, made = f"{info.name}${made}", made + 1
                if len(dims) == 2:  # recognition and classification networks are built for
                    bindings[name] = 48  # text lines of this height
            dims.append(bindings.setdefault(name, bindings.get(name) or next(sizes)))
        feeds[info.name] = np.zeros(dims, np.float32)
    return feeds, bindings


def actual_shapes(model, feeds):
    """Shapes of all values in a run of onnxruntime without optimisation."""
    import onnxruntime as ort
    inferred = {o.name: o for o in model.graph.output}
    del model.graph.output[:]
    for node in model.graph.node:
        for name in node.output:
            if name:
                model.graph.output.append(inferred.get(name) or onnx.ValueInfoProto(name=name))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return {n: list(v.shape) for n, v in zip(names, session.run(names, feeds))}


def check_model(tool, path):
    model = onnx.load(path)
    del model.graph.value_info[:]
    reference = shape_inference.infer_shapes(model, data_prop=True)
    wrong, known = [], 0
    answer = dump_all(tool, [path])[0]
    if answer.errors:
        return answer.errors, 0
    for info in reference.graph.value_info:
        want = declared(info)
        if want is None or info.name not in answer.values:
            continue
        known += 1
        text = mismatch(answer.values[info.name], want)
        if text:
            wrong.append(f"{info.name}: onnx.shape_inference: {text}")
    feeds, bindings = concrete_inputs(model)
    answer = dump_all(tool, [path], [f"{k}={v}" for k, v in bindings.items()])[0]
    for name, shape in actual_shapes(model, feeds).items():
        found = answer.values.get(name)
        if found is None or found[1] != [str(d) for d in shape]:
            wrong.append(f"{name}: found {found}, onnxruntime has {shape} for {bindings}")
        known += 1
    return wrong, known


def run_models(tool, names):
    good = True
    for path in model_paths():
        if names and os.path.basename(path) not in names:
            continue
        wrong, known = check_model(tool, path)
        good = good and not wrong and known > 0
        print(f"{os.path.basename(path)}: {known} shapes compared, {len(wrong)} wrong")
        for text in wrong[:10]:
            print(f"  {text}")
    return good


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("node", "models"):
        sys.exit(__doc__)
    run = run_node_tests if sys.argv[2] == "node" else run_models
    sys.exit(0 if run(sys.argv[1], set(sys.argv[3:])) else 1)


if __name__ == "__main__":
    main()
