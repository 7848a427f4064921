#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases whose expected values come from onnxruntime, in the format of onnx_cases.py.

usage: ort_cases.py FILE

They cover what the official node cases leave out: older opsets (attributes that became inputs,
changed defaults), and combinations of shapes, strides, pads and groups of the heavy operators.
"""
import sys

sys.dont_write_bytecode = True

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import onnx_cases

SEED = 20240607
RTOL, ATOL = 2e-5, 1e-5
IR_OF_OPSET = {7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8,
               19: 9, 20: 9, 21: 10}
random = numpy.random.RandomState(SEED)


def real(*shape, dtype=numpy.float32):
    return (random.rand(*shape) * 4 - 2).astype(dtype)


def positive(*shape):
    return (random.rand(*shape) + 0.5).astype(numpy.float32)


def whole(*shape, dtype=numpy.int32, low=-9, high=10):
    return random.randint(low, high, size=shape).astype(dtype)


def ints(*values):
    return numpy.array(values, numpy.int64)


def floats(*values):
    return numpy.array(values, numpy.float32)


def activations():
    for op in ["Relu", "Sigmoid", "Tanh", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu",
               "HardSigmoid", "Abs", "Exp", "Neg", "Ceil", "Floor", "Sin", "Cos", "Tan", "Atan"]:
        yield op, 7, {}, [real(3, 17)], 1
        yield op, 15, {}, [real(2, 3, 5)], 1
    yield "Clip", 7, {"min": -0.5, "max": 0.75}, [real(4, 9)], 1
    yield "Clip", 11, {}, [real(4, 9), numpy.float32(-0.5), numpy.float32(1)], 1
    yield "Clip", 12, {}, [whole(4, 9), numpy.int32(-3)], 1
    yield "PRelu", 9, {}, [real(2, 3, 4, 5), real(3, 1, 1)], 1


def arithmetic():
    for op in ["Add", "Sub", "Mul", "Div"]:
        yield op, 7, {}, [real(2, 1, 4), positive(3, 1)], 1
        yield op, 14, {}, [whole(5, 4), whole(5, 4, low=1)], 1
        yield op, 13, {}, [whole(2, 7, dtype=numpy.int64), whole(1, dtype=numpy.int64, low=1)], 1
    yield "Pow", 7, {}, [positive(3, 4), real(4)], 1
    yield "Pow", 13, {}, [whole(3, 4), whole(4, low=0, high=4)], 1
    yield "Mod", 10, {}, [whole(30), whole(30, low=1)], 1
    yield "Mod", 13, {"fmod": 1}, [real(30), positive(30)], 1
    for op in ["Max", "Min", "Sum", "Mean"]:
        yield op, 8, {}, [real(2, 1, 3), real(4, 1), real(3)], 1


def old_forms():
    """Operators whose interface changed between opsets."""
    for op in ["Softmax", "LogSoftmax", "Hardmax"]:
        for axis in [0, 1, 2]:
            yield op, 11, {"axis": axis}, [real(3, 4, 5)], 1
            yield op, 13, {"axis": axis}, [real(3, 4, 5)], 1
        yield op, 7, {}, [real(3, 4, 5)], 1
    for opset in [7, 9, 14, 15]:
        yield ("BatchNormalization", opset, {"epsilon": 1e-3},
               [real(2, 3, 4, 5), real(3), real(3), real(3), positive(3)], 1)
    yield "Slice", 9, {"starts": [1, -3], "ends": [4, 1000], "axes": [1, 2]}, [real(2, 5, 6)], 1
    yield "Slice", 10, {}, [real(2, 5, 6), ints(4, 1), ints(-9, 5), ints(1, 2), ints(-2, 2)], 1
    yield "Slice", 13, {}, [real(7), ints(100), ints(-100), ints(0), ints(-3)], 1
    # With a negative step a start below the input is clamped to its first element.
    yield "Slice", 13, {}, [real(5), ints(-100), ints(-100), ints(0), ints(-1)], 1
    yield "Squeeze", 11, {"axes": [0, -1]}, [real(1, 4, 1)], 1
    yield "Squeeze", 13, {}, [real(1, 4, 1), ints(2)], 1
    yield "Squeeze", 13, {}, [real(1, 4, 1)], 1
    yield "Unsqueeze", 11, {"axes": [0, 3]}, [real(4, 5)], 1
    yield "Unsqueeze", 13, {}, [real(4, 5), ints(-1, 0)], 1
    yield "Dropout", 7, {"ratio": 0.3}, [real(4, 5)], 1
    yield "Dropout", 12, {}, [real(4, 5), numpy.float32(0.3)], 2
    yield "Split", 11, {"axis": 1, "split": [1, 4]}, [real(2, 5)], 2
    yield "Split", 13, {"axis": 1}, [real(2, 6), ints(2, 0, 4)], 3
    yield "Split", 18, {"axis": -1, "num_outputs": 3}, [real(2, 7)], 3
    yield "Pad", 7, {"pads": [0, 1, 2, 0], "value": 1.5}, [real(3, 4)], 1
    yield "Pad", 7, {"pads": [1, 2, 1, 2], "mode": "reflect"}, [real(3, 4)], 1
    yield "Pad", 11, {"mode": "edge"}, [real(3, 4), ints(1, 2, 3, 0)], 1
    yield "Pad", 13, {}, [real(3, 4), ints(-1, 2, 0, -1), numpy.float32(7)], 1
    yield "Pad", 18, {"mode": "constant"}, [real(3, 4), ints(2, 1), numpy.float32(7), ints(1)], 1
    yield "Pad", 19, {"mode": "wrap"}, [real(3, 4), ints(1, 2, 3, 1)], 1
    yield "TopK", 10, {"axis": 0}, [real(6, 3), ints(4)], 2
    yield "TopK", 11, {"largest": 0}, [whole(4, 9, dtype=numpy.int64), ints(5)], 2
    yield "Upsample", 7, {"scales": [1.0, 1.0, 2.0, 3.0]}, [real(1, 2, 3, 4)], 1
    yield "Upsample", 9, {"mode": "linear"}, [real(1, 2, 3, 4), floats(1, 1, 2, 2)], 1
    yield "Resize", 10, {"mode": "linear"}, [real(1, 2, 3, 4), floats(1, 1, 2, 1.5)], 1
    yield "Resize", 10, {}, [real(1, 2, 3, 4), floats(1, 1, 2, 3)], 1
    yield "Scatter", 9, {"axis": 1}, [real(3, 5), whole(3, 2, low=0, high=5), real(3, 2)], 1
    yield "CumSum", 11, {"exclusive": 1, "reverse": 1}, [real(3, 5), numpy.int32(1)], 1
    yield "Cast", 9, {"to": TensorProto.INT32}, [real(20)], 1
    yield "Cast", 13, {"to": TensorProto.FLOAT16}, [real(20)], 1
    yield "Gather", 7, {"axis": 1}, [real(3, 5, 2), whole(2, 2, low=0, high=5)], 1
    yield "OneHot", 9, {"axis": 0}, [whole(2, 3, dtype=numpy.int64, low=-5, high=5), ints(5)[0],
                                       floats(-1, 2)], 1


def reductions():
    for name in ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSumExp", "SumSquare"]:
        op, x = f"Reduce{name}", real(3, 4, 5)
        yield op, 11, {"axes": [-2]}, [x], 1
        yield op, 11, {"axes": [0, 2], "keepdims": 0}, [x], 1
        yield op, 11, {}, [whole(3, 4)] if name in ("Sum", "Max", "Min", "Prod") else [x], 1
        yield op, 18, {"keepdims": 0}, [x, ints(1)], 1
        yield op, 18, {"noop_with_empty_axes": 0}, [x], 1
    for op in ["ArgMax", "ArgMin"]:
        yield op, 7, {"axis": 1, "keepdims": 0}, [real(3, 4, 5)], 1
        yield op, 13, {"axis": -1, "select_last_index": 1}, [whole(3, 30, low=0, high=3)], 1


def products():
    for a, b in [((4, 5), (5, 6)), ((5,), (5,)), ((5,), (3, 5, 2)), ((3, 1, 4, 5), (2, 5, 6)),
                 ((2, 3, 4, 5), (5,)), ((33, 70), (70, 300)), ((1, 40), (40, 513))]:
        yield "MatMul", 13, {}, [real(*a), real(*b)], 1
    for ta in [0, 1]:
        for tb in [0, 1]:
            a, b = ((7, 4) if ta else (4, 7)), ((9, 7) if tb else (7, 9))
            yield ("Gemm", 11, {"transA": ta, "transB": tb, "alpha": 0.5, "beta": -2.0},
                   [real(*a), real(*b), real(9)], 1)
    yield "Gemm", 7, {}, [real(3, 4), real(4, 5), real(3, 1)], 1
    yield "Gemm", 13, {}, [real(3, 4), real(4, 5)], 1


def convolutions():
    x, w = (2, 4, 9, 11), (6, 4, 3, 2)
    for attributes in [{}, {"strides": [2, 3]}, {"dilations": [2, 2]}, {"pads": [1, 2, 0, 1]},
                       {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
                       {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, {"auto_pad": "VALID"},
                       {"pads": [2, 2, 2, 2], "strides": [3, 1], "dilations": [1, 3]}]:
        yield "Conv", 11, attributes, [real(*x), real(*w), real(6)], 1
    yield "Conv", 11, {"group": 2}, [real(1, 4, 6, 6), real(6, 2, 3, 3)], 1
    yield "Conv", 11, {"group": 4, "pads": [1] * 4}, [real(1, 4, 6, 6), real(8, 1, 3, 3)], 1
    yield "Conv", 11, {"pads": [1, 1]}, [real(2, 3, 300), real(5, 3, 4)], 1
    yield "Conv", 11, {"strides": [2, 1, 1]}, [real(1, 2, 5, 6, 7), real(3, 2, 2, 3, 2)], 1
    w = (4, 3, 3, 2)
    for attributes in [{}, {"strides": [2, 3]}, {"dilations": [2, 2]}, {"pads": [1, 1, 0, 1]},
                       {"strides": [2, 2], "output_padding": [1, 0]},
                       {"strides": [3, 2], "pads": [1, 0, 1, 1]},
                       {"strides": [2, 2], "output_shape": [17, 21]},
                       {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
                       {"strides": [2, 2], "auto_pad": "SAME_LOWER"}]:
        yield "ConvTranspose", 11, attributes, [real(2, 4, 9, 11), real(*w), real(3)], 1
    yield "ConvTranspose", 11, {"group": 2}, [real(1, 4, 5, 5), real(4, 3, 2, 2)], 1
    yield "ConvTranspose", 11, {"strides": [2]}, [real(1, 2, 200), real(2, 3, 3)], 1


def pools():
    for op in ["MaxPool", "AveragePool"]:
        for attributes in [{"kernel_shape": [3, 2]}, {"kernel_shape": [2, 2], "strides": [2, 2]},
                           {"kernel_shape": [3, 3], "pads": [1, 1, 0, 1], "strides": [2, 1]},
                           {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
                           {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
                           {"kernel_shape": [2, 3], "auto_pad": "SAME_LOWER", "strides": [1, 2]}]:
            yield op, 11, attributes, [real(2, 3, 9, 10)], 1
    yield "MaxPool", 12, {"kernel_shape": [2, 2], "dilations": [2, 3]}, [real(1, 2, 8, 9)], 2
    yield "MaxPool", 12, {"kernel_shape": [3], "storage_order": 0}, [real(1, 2, 30)], 2
    yield ("AveragePool", 11, {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1},
           [real(1, 2, 5, 6)], 1)
    yield "LpPool", 11, {"kernel_shape": [2, 3], "p": 3}, [real(1, 2, 5, 6)], 1
    for op in ["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"]:
        yield op, 9, {}, [real(2, 3, 5, 7)], 1
    yield "LRN", 13, {"size": 3, "alpha": 0.1, "beta": 0.5}, [real(2, 7, 3, 3)], 1
    yield "LRN", 13, {"size": 5}, [real(1, 7, 3, 3)], 1
    yield "InstanceNormalization", 9, {}, [real(2, 3, 4, 5), real(3), real(3)], 1
    yield "LayerNormalization", 17, {"axis": 1}, [real(2, 3, 4), real(3, 4), real(3, 4)], 1


def images():
    for coordinate in ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]:
        for mode, nearest in [("nearest", "floor"), ("nearest", "ceil"), ("linear", "floor"),
                              ("cubic", "floor")]:
            # These factors keep nearest positions away from ties.
            for scales in [(1, 1, 3, 5), (1, 1, 0.55, 0.73)]:
                if coordinate == "align_corners" and scales[2] < 1:
                    continue  # onnxruntime takes the whole output size, ONNX the fractional one
                yield ("Resize", 13, {"mode": mode, "coordinate_transformation_mode": coordinate,
                                      "nearest_mode": nearest},
                       [real(1, 2, 10, 10), floats(), floats(*scales)], 1)
    yield ("Resize", 13, {"mode": "linear"},
           [real(1, 1, 4, 5), floats(), floats(), ints(1, 1, 7, 3)], 1)
    yield ("Resize", 13, {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
           [real(1, 1, 6, 5), floats(), floats(1, 1, 2, 2)], 1)
    for mode in ["DCR", "CRD"]:
        yield "DepthToSpace", 11, {"blocksize": 2, "mode": mode}, [real(1, 8, 2, 3)], 1
    yield "SpaceToDepth", 9, {"blocksize": 3}, [real(2, 1, 6, 3)], 1


def movement():
    yield "Transpose", 9, {"perm": [2, 0, 3, 1]}, [real(2, 3, 4, 5)], 1
    yield "Concat", 9, {"axis": -2}, [real(2, 1, 3), real(2, 4, 3), real(2, 0, 3)], 1
    yield "Expand", 9, {}, [real(3, 1), ints(2, 1, 4)], 1
    yield "Tile", 9, {}, [real(2, 3), ints(3, 2)], 1
    yield "Reshape", 9, {}, [real(2, 3, 4), ints(0, -1)], 1
    yield "Flatten", 9, {"axis": 2}, [real(2, 3, 4)], 1
    yield "GatherElements", 11, {"axis": 1}, [real(3, 4), whole(3, 2, low=-4, high=4)], 1
    yield "GatherND", 12, {"batch_dims": 1}, [real(2, 3, 4), whole(2, 1, dtype=numpy.int64, low=0,
                                                                  high=3)], 1
    yield "Where", 9, {}, [whole(3, 1, low=0, high=2).astype(bool), real(4), real(3, 4)], 1
    yield "Trilu", 14, {"upper": 0}, [real(2, 4, 5), ints(-1)[0]], 1
    yield "Einsum", 12, {"equation": "bij,bjk->ik"}, [real(2, 3, 4), real(2, 4, 5)], 1
    yield "Range", 11, {}, [numpy.int64(10), numpy.int64(-5), numpy.int64(-4)], 1
    yield "NonZero", 9, {}, [whole(4, 5, low=0, high=2)], 1
    yield "Compress", 9, {"axis": 1}, [real(3, 4), numpy.array([1, 0, 1], bool)], 1


class Case:
    """Looks like a case of onnx.backend.test, as far as onnx_cases.write_case looks."""

    def __init__(self, name, model, inputs, outputs):
        self.name, self.model, self.rtol, self.atol = name, model, RTOL, ATOL
        self.data_sets = [(inputs, outputs)]


def info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                         list(array.shape))


def make_case(number, op, opset, attributes, inputs, output_count):
    inputs = [numpy.asarray(value) for value in inputs]
    # An empty vector stands for an absent input.
    names = ["" if value.size == 0 and value.ndim == 1 else f"x{i}"
             for i, value in enumerate(inputs)]
    outputs = [f"y{i}" for i in range(output_count)]
    node = helper.make_node(op, names, outputs, **attributes)
    kept = [(name, value) for name, value in zip(names, inputs) if name]
    graph = helper.make_graph([node], op, [info(*pair) for pair in kept],
                              [onnx.ValueInfoProto(name=name) for name in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                              ir_version=IR_OF_OPSET[opset])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    results = session.run(None, dict(kept))
    del model.graph.output[:]
    model.graph.output.extend(info(*pair) for pair in zip(outputs, results))
    return Case(f"ort_{number}_{op}_{opset}", model, [value for _, value in kept], results)


def main():
    groups = [activations, arithmetic, old_forms, reductions, products, convolutions, pools, images,
              movement]
    rows = [row for group in groups for row in group()]
    cases = [make_case(i, *row) for i, row in enumerate(rows)]
    writer = onnx_cases.Writer()
    writer.parts.append(onnx_cases.MAGIC)
    writer.items(cases, lambda case: onnx_cases.write_case(writer, case, 0))
    with open(sys.argv[1], "wb") as file:
        file.write(b"".join(writer.parts))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
