#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feeds ci/oracle's comparison what it must tell apart.

Expected values are those of the formats: neighbours by numpy.nextafter, bounds by hand.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

import oracle_cases  # noqa: E402
import oracle_judge  # noqa: E402

WRONG = []
LIMITS = {"ulp": 0, "absolute": 0, "k": 0, "exact": False, "accumulate": "float"}


def check(holds, what):
    if not holds:
        WRONG.append(what)
        print(f"WRONG: {what}")


def kind(expected, got, tolerance=0.0):
    found = oracle_judge.compare(expected, got, lambda array: (
        oracle_judge.wide(array), np.full(array.shape, tolerance)))
    return found.kind if found else None


def differences():
    one = np.array([1, 2], np.float32)
    check(kind(one, one.copy()) is None, "equal")
    check(kind(one, one.astype(np.float64)) == "type", "another type")
    check(kind(one, one.reshape(1, 2)) == "shape", "another shape")
    check(kind(one, np.array([1, np.nan], np.float32), 9) == "nan", "NaN for a number")
    check(kind(one, np.array([1, np.inf], np.float32), 9) == "infinite", "infinity for a number")
    check(kind(np.array([np.inf]), np.array([-np.inf])) == "infinite", "the other infinity")
    check(kind(np.array([np.nan]), np.array([np.nan])) is None, "NaN for NaN")
    check(kind(np.array([0.0]), np.array([-0.0])) is None, "zeros of both signs")
    check(kind(one, np.nextafter(one, 9)) == "value", "the neighbour")
    check(kind(one, np.nextafter(one, 9), 1e-6) is None, "the neighbour within the tolerance")
    big = np.array([2**62], np.int64)
    check(kind(big, big + 1) == "value", "integers that float64 does not tell apart")
    check(kind(np.array(["a"], object), np.array(["b"], object)) == "text", "another text")
    check(kind([one], [one, one]) == "shape", "a longer sequence")
    check(kind([one], [one + 1]) == "value", "an element of a sequence")
    check(kind(None, one) == "shape", "an optional that is empty")


def units():
    for dtype in (np.float16, np.float32, np.float64):
        values = np.array([1, 3.7, 1e-3, np.finfo(dtype).smallest_subnormal], dtype)
        expected = np.spacing(values).astype(np.float64)
        check(np.array_equal(oracle_judge.unit(values.astype(np.float64), dtype), expected),
              f"units of {np.dtype(dtype)}")
    one = oracle_judge.unit(np.array([1.0]), ml_dtypes.bfloat16)
    check(one[0] == 2.0**-7, "the unit of bfloat16")


def tolerances():
    x = np.array([1.0, 4.0], np.float32)
    _, ulp = oracle_judge.of_contract(x, {**LIMITS, "ulp": 3}, "ulp", None, None, None)
    check(np.array_equal(ulp, [3 * 2.0**-23, 3 * 2.0**-21]), "ulp")
    half = np.array([1.0], np.float16)
    _, ulp = oracle_judge.of_contract(half, {**LIMITS, "ulp": 8}, "ulp", None, None, None)
    check(ulp[0] == (1 + 8 * 2.0**-13) * 2.0**-10, "ulp of a wider accumulation")
    _, ulp = oracle_judge.of_contract(half, {**LIMITS, "ulp": 8}, "ulp", None, None, np.float16)
    check(ulp[0] == 8 * 2.0**-10, "ulp of a witness that accumulates in float16")
    about = {**LIMITS, "k": 5}
    wide, dot = oracle_judge.of_contract(x, about, "dot", np.array([2.0, 0.0]), x, None)
    check(np.array_equal(dot, [2 * 5 * 2.0 * 2.0**-24, 0]) and wide is x, "dot")
    _, free = oracle_judge.of_contract(x, LIMITS, "random", None, None, None)
    check(np.isinf(free).all(), "another generator is as right")
    moved = {"deviation": np.full(x.shape, 2.0 ** -20)}
    base, near = oracle_judge.of_contract(x, LIMITS, "conditioned", None, oracle_judge.wide(x), None, moved)
    check((near == 2.0 ** -18 + oracle_judge.unit(base, x.dtype)).all(), "4 deviations and a unit")
    steps, ties = np.array([3, 7], np.uint8), {"lower": np.array([3.0, 7]), "upper": np.array([4.0, 7])}
    _, step = oracle_judge.of_contract(steps, LIMITS, "quantised", None, None, None, ties)
    check((step == [1, 0]).all(), "one step at a tie")
    _, exact = oracle_judge.of_contract(x, {**about, "exact": True}, "dot", None, None, None)
    check(not exact.any(), "exact integers")
    moved = oracle_judge.movement(np.array([1.0, np.nan]), [np.array([1.5, np.nan])])
    check(np.array_equal(moved, [0.5, 0]), "movement")
    moved = oracle_judge.movement(np.array([1.0]), [np.array([np.inf])])
    check(np.isinf(moved[0]), "movement into another class")


def model(op, inputs, outputs, opset=21, **attributes):
    def infos(items):
        return [helper.make_tensor_value_info(name, element, [2]) for name, element in items]
    node = helper.make_node(op, [n for n, _ in inputs], [n for n, _ in outputs], **attributes)
    graph = helper.make_graph([node], "g", infos(inputs), infos(outputs))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def retyping():
    relu = model("Relu", [("x", TensorProto.FLOAT)], [("y", TensorProto.FLOAT)])
    names = {onnx.TensorProto.DataType.Name(element) for _, element in oracle_cases.targets(relu)}
    check(names == {"DOUBLE", "FLOAT16", "BFLOAT16", "INT8", "INT16", "INT32", "INT64"}, "targets")
    changed, values = oracle_cases.retype(relu, [np.array([0.25, -1], np.float32)], "T",
                                          TensorProto.INT8)
    check(values[0].dtype == np.int8 and values[0].tolist() == [2, -10], "fractions are scaled")
    check(changed.graph.output[0].type.tensor_type.elem_type == TensorProto.INT8, "outputs follow")
    check(not oracle_cases.rounds(relu), "Relu rounds nothing")
    check(oracle_cases.rounds(model("Exp", [("x", 1)], [("y", 1)])), "Exp rounds")
    generator = np.random.Generator(np.random.Philox(1))
    x = np.linspace(-1, 1, 101, dtype=np.float32)
    moved = oracle_cases.perturb(x, generator)
    steps = np.abs(x.view(np.int32) - moved.view(np.int32))
    check(0 < steps.max() <= oracle_cases.PERTURBATION and moved[50] == 0, "a few units")


def names():
    for case, plain in (("contract/Conv-22/float/auto.1x2x10x17+3x1/pads=none/uniform",
                         "contract/Conv-22/float/auto/pads=none/uniform"),
                        ("contract/Elu-6/float/shapes-7.13/uniform",
                         "contract/Elu-6/float/shapes-7/uniform"),
                        ("contract/LSTM-22/float/both_ways/clip=0.25/uniform", None),
                        ("node/test_a.1x2/b", None)):
        check(oracle_cases.without_sizes(case) == (plain or case), f"sizes of {case}")


def main():
    for test in (differences, units, tolerances, retyping, names):
        test()
    print("ok" if not WRONG else f"{len(WRONG)} wrong")
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
