#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: old_opsets_test.py OPSRUN: models of opset 6 and before give the same at every level.

The witness is the unoptimised run, whose operators are judged elsewhere (official suites, known_cases.py):
the packages onnx and onnxruntime do not run these versions. Sizes are all 4, so that a summand that a
pass puts on the wrong axis still fits.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSRUN = sys.argv[1]
RANDOM = np.random.default_rng(7)
node = helper.make_node


def real(*shape):
    return (RANDOM.random(shape) * 4 - 2).astype(np.float32)


def broadcasts(rank):
    """Attributes and operands of the limited broadcast to a tensor of that rank."""
    for axis in [*range(rank), None]:
        yield {"broadcast": 1} | ({} if axis is None else {"axis": axis}), real(4)
    if rank == 4:
        yield {"broadcast": 1}, real(4, 1, 1)
        yield {"broadcast": 1, "axis": 1}, real(4, 1, 1)


def matrices():
    for attributes, b in broadcasts(2):
        constants = {"w": real(4, 4), "b": b, "c": real(4)}
        add = node("Add", ["t", "b"], ["y"], **attributes)
        yield [node("MatMul", ["x", "w"], ["t"]), add], 2, constants
        yield [node("Gemm", ["x", "w", "c"], ["t"], broadcast=1), add], 2, constants
        yield [node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Add", ["t", "b"], ["u"], **attributes),
               node("Transpose", ["u"], ["y"], perm=[1, 0])], 2, constants


def images():
    for op in ["Add", "Mul", "Sub", "Div"]:
        for attributes, b in broadcasts(4):
            constants = {"w": real(4, 4, 1, 1), "c": real(4), "b": b}
            yield [node("Conv", ["x", "w", "c"], ["t"], kernel_shape=[1, 1]),
                   node(op, ["t", "b"], ["y"], **attributes)], 4, constants
            yield [node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]), node(op, ["t", "b"], ["u"], **attributes),
                   node("Transpose", ["u"], ["y"], perm=[0, 3, 1, 2])], 4, constants


def normalised():
    for is_test in (0, 1):
        for spatial, shape in ((1, (4,)), (0, (4, 4, 4))):
            constants = {name: real(*shape) for name in "sbm"}
            constants |= {"v": abs(real(*shape)), "w": real(4, 4, 1, 1), "c": real(4)}
            yield [node("Conv", ["x", "w", "c"], ["t"], kernel_shape=[1, 1]),
                   node("BatchNormalization", ["t", "s", "b", "m", "v"], ["y"], is_test=is_test,
                        spatial=spatial)], 4, constants


def others():
    yield [node("Dropout", ["x"], ["t"], is_test=1), node("Relu", ["t"], ["y"])], 2, {}
    yield [node("Clip", ["x"], ["t"], min=-1.0, max=0.5), node("Relu", ["t"], ["y"])], 2, {}
    yield [node("MatMul", ["x", "w"], ["t"]), node("Sum", ["t", "b"], ["y"])], 2, {
        "w": real(4, 4), "b": real(4, 4)}


def run(folder, level):
    command = [OPSRUN, "run", folder / "model.onnx", "--input", f"x={folder / 'x.npy'}", "--level", str(level),
               "--output-dir", folder / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return np.load(folder / "out" / "y.npy") if done.returncode == 0 else done.stderr.strip()


def judge(folder, nodes, rank, constants):
    """What is wrong; None if nothing is."""
    shape = [4] * rank
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 6)], ir_version=8),
              folder / "model.onnx")
    np.save(folder / "x.npy", real(*shape))
    expected = run(folder, 0)
    if isinstance(expected, str):
        return expected
    for level, tolerance in ((1, 0), (3, 1e-4)):
        found = run(folder, level)
        if isinstance(found, str):
            return f"level {level}: {found}"
        if not np.allclose(found, expected, rtol=tolerance, atol=tolerance):
            return f"level {level}: differs by {abs(found - expected).max()}"
    return None


def main():
    count, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for group in (matrices, images, normalised, others):
            for nodes, rank, constants in group():
                count += 1
                why = judge(pathlib.Path(folder), nodes, rank, constants)
                if why:
                    failed += 1
                    print(" + ".join(f"{each.op_type}" for each in nodes),
                          [helper.get_attribute_value(a) for a in nodes[1].attribute], why)
    print(f"{count} models, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
