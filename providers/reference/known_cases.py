#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases whose expected values follow from numpy, in the format of onnx_cases.py: what
neither the official cases nor onnxruntime cover (strings, complex numbers, float8, empty
sequences, the clip of every activation).

usage: known_cases.py FILE
"""
import math
import sys

sys.dont_write_bytecode = True

import ml_dtypes
import numpy
from onnx import helper
from onnx.reference import ReferenceEvaluator

import onnx_cases
import ort_cases
from ort_cases import floats, ints, real, whole


def strings(*values):
    return numpy.array(values, object)


def evaluate(op, opset, attributes, inputs):
    """The first output by onnx.reference."""
    names = [f"x{i}" for i in range(len(inputs))]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], op,
                              [ort_cases.info(*pair) for pair in zip(names, inputs)],
                              [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))[0]


def by_parts(op, opset, attributes, inputs):
    """A linear operator of complex numbers, by real and imaginary part."""
    parts = [evaluate(op, opset, attributes, [part.astype(numpy.float32), *inputs[1:]])
             for part in (inputs[0].real, inputs[0].imag)]
    return (parts[0] + 1j * parts[1]).astype(inputs[0].dtype)


def small_complex(*shape, dtype=numpy.complex64):
    return (whole(*shape) + 1j * whole(*shape)).astype(dtype)


def unique():
    for values in [strings("b", "a", "b", "", "ab", "a"), small_complex(30).round(),
                   floats(3, numpy.nan, -0.0, 0, numpy.nan, -numpy.inf, 3),
                   numpy.array([2**63, 1, 2**64 - 1, 1], numpy.uint64)]:
        result = numpy.unique(values, return_index=True, return_inverse=True, return_counts=True)
        yield "Unique", 11, {}, [values], [result[0], *(part.reshape(-1) for part in result[1:])]


def complex_images():
    # Halves of pixels: every product and sum is exact.
    grid = (whole(2, 3, 2, 2, low=-2, high=9).astype(numpy.float32) / 8) * 2 - 1
    for dtype in [numpy.complex64, numpy.complex128]:
        for mode in ["linear", "nearest"]:
            inputs = [small_complex(2, 2, 4, 4, dtype=dtype), grid]
            attributes = {"mode": mode}
            yield "GridSample", 20, attributes, inputs, [by_parts("GridSample", 20, attributes,
                                                                 inputs)]
        inputs = [small_complex(1, 8, 12, dtype=dtype), ints(4, 5), ints(2, 2)]
        yield "Col2Im", 18, {}, inputs, [by_parts("Col2Im", 18, {}, inputs)]
    pixels = whole(1, 1, 4, 4, low=-50, high=50)
    sampled = evaluate("GridSample", 20, {}, [pixels.astype(numpy.float32), grid[:1]])
    for dtype in [numpy.int32, numpy.int8]:
        yield ("GridSample", 20, {}, [pixels.astype(dtype), grid[:1]],
               [numpy.trunc(sampled).astype(dtype)])
    columns = whole(1, 4, 6)
    yield ("Col2Im", 18, {}, [columns, ints(3, 4), ints(2, 2)],
           [evaluate("Col2Im", 18, {}, [columns.astype(numpy.float32), ints(3, 4),
                                        ints(2, 2)]).astype(numpy.int32)])


def moved_strings():
    words = strings("a", "bc", "", "d", "ef", "g").reshape(3, 2)
    yield ("ReverseSequence", 10, {}, [words, ints(3, 2)],
           [strings("ef", "d", "", "bc", "a", "g").reshape(3, 2)])
    yield ("CenterCropPad", 18, {}, [words, ints(1, 4)], [strings("", "", "d", "").reshape(1, 4)])
    yield ("TensorScatter", 24, {"axis": 1}, [words, strings("x", "y", "z").reshape(3, 1),
                                              ints(1, 0, 1)],
           [strings("a", "x", "y", "d", "ef", "z").reshape(3, 2)])
    # Blocks of [1, 2] side by side, and one of two columns that leaves a gap of one.
    yield ("Col2Im", 18, {}, [strings("a", "b", "c", "d").reshape(1, 2, 2), ints(2, 2), ints(1, 2)],
           [strings("a", "c", "b", "d").reshape(1, 1, 2, 2)])
    yield ("Col2Im", 18, {"dilations": [1, 2]},
           [strings("a", "b").reshape(1, 2, 1), ints(1, 3), ints(1, 2)],
           [strings("a", "", "b").reshape(1, 1, 1, 3)])
    corners = floats(-1, -1, 1, 1, 9, 9).reshape(1, 1, 3, 2)
    yield ("GridSample", 22, {"mode": "nearest", "align_corners": 1},
           [words.reshape(1, 1, 3, 2), corners], [strings("a", "g", "").reshape(1, 1, 1, 3)])


def quantized():
    a, b = whole(3, 5, low=-4, high=5), whole(5, 2, low=-4, high=5)
    for dtype in [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]:
        zero = numpy.zeros((), dtype)
        product = (a @ b).astype(numpy.float32) * numpy.float32(0.5 * 0.25 / 2)
        yield ("QLinearMatMul", 21, {},
               [a.astype(dtype), floats(0.5)[0], zero, b.astype(dtype), floats(0.25)[0], zero,
                floats(2)[0], zero], [product.astype(dtype)])
    x, y = whole(3, 5, low=0, high=256), whole(5, 2, low=0, high=256)
    rows, columns = whole(3, low=0, high=256), whole(2, low=0, high=256)
    yield ("MatMulInteger", 10, {}, [part.astype(numpy.uint8) for part in (x, y, rows, columns)],
           [((x - rows[:, None]) @ (y - columns)).astype(numpy.int32)])
    # Per row and per column, ties included: 0.5 * 0.5 / 0.5 leaves halves.
    scaled = numpy.rint((a @ b) * numpy.array([[0.5], [1], [1.5]]) * 0.5 / 0.5) + 3
    yield ("QLinearMatMul", 10, {},
           [a.astype(numpy.int8), floats(0.5, 1, 1.5), numpy.zeros(3, numpy.int8),
            b.astype(numpy.int8), floats(0.5, 0.5), numpy.zeros(2, numpy.int8), floats(0.5)[0],
            numpy.int8(3)], [numpy.clip(scaled, -128, 127).astype(numpy.int8)])


def error_function():
    """Of integers: numpy's cast of the value that C computes in double."""
    for dtype in [numpy.int8, numpy.int64, numpy.uint16]:
        values = numpy.array([0, 1, 2, 5, 6, 100] + [-1, -7] * (dtype != numpy.uint16), dtype)
        yield "Erf", 9, {}, [values], [
            numpy.array([math.erf(value) for value in values]).astype(dtype)]


def transforms():
    for n in [4, 5, 6, 9]:
        spectrum = real(2, 5, 2)
        signal = numpy.fft.irfft(spectrum[..., 0] + 1j * spectrum[..., 1], n=n, axis=1)
        yield ("DFT", 20, {"onesided": 1, "inverse": 1}, [spectrum, ints(n)[0], ints(1)[0]],
               [signal[..., None].astype(numpy.float32)])
        values = numpy.fft.rfft(spectrum[..., 0], n=n, axis=0)
        yield ("DFT", 20, {"onesided": 1}, [spectrum[..., :1], ints(n)[0], ints(0)[0]],
               [numpy.stack([values.real, values.imag], -1).astype(numpy.float32)])


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def lstm(x, w, r, b, lengths, h, c, clip):
    """A forward LSTM by its equations, every activation's input clipped."""
    steps, batch, hidden = x.shape[0], x.shape[1], h.shape[2]
    h, c, y = h[0].astype(float), c[0].astype(float), numpy.zeros((steps, 1, batch, hidden))
    bias = b[0].astype(float).reshape(2, 4 * hidden).sum(0)
    for n in range(batch):
        for t in range(lengths[n]):
            gates = numpy.clip(w[0].astype(float) @ x[t, n] + r[0].astype(float) @ h[n] + bias,
                               -clip, clip)
            i, o, f, g = gates.reshape(4, hidden)
            c[n] = sigmoid(f) * c[n] + sigmoid(i) * numpy.tanh(g)
            h[n] = sigmoid(o) * numpy.tanh(numpy.clip(c[n], -clip, clip))
            y[t, 0, n] = h[n]
    return [value.astype(numpy.float32) for value in (y, h[None], c[None])]


def recurrent():
    for lengths in [(4, 2, 0), (0, 0, 0)]:
        inputs = [real(4, 3, 2), real(1, 8, 2), real(1, 8, 2), real(1, 16),
                  numpy.array(lengths, numpy.int32), real(1, 3, 2), real(1, 3, 2)]
        yield ("LSTM", 22, {"hidden_size": 2, "clip": 0.5}, inputs,
               lstm(*inputs, clip=numpy.float32(0.5)))


def limited_broadcast():
    """Opset 6 and before: the second input lies along dimensions of the first from `axis` on."""
    a = real(2, 3, 4, 5)
    for axis, shape, full in [(1, (3, 4), (1, 3, 4, 1)), (0, (2,), (2, 1, 1, 1)),
                              (2, (4, 5), (1, 1, 4, 5)), (None, (5,), (1, 1, 1, 5)),
                              (None, (), (1, 1, 1, 1)), (0, (1, 1), (1, 1, 1, 1)),
                              (1, (3, 1), (1, 3, 1, 1))]:
        attributes = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
        b = real(*(shape or (1,))).reshape(shape)
        wide = b.reshape(full)
        yield "Add", 6, attributes, [a, b], [a + wide]
        yield "Sub", 1, attributes, [a, b], [a - wide]
        yield "Less", 6, attributes, [a, b], [a < wide]
        yield "Pow", 6, attributes, [abs(a), b], [abs(a) ** wide]
    same = real(2, 3, 4, 5)
    yield "Mul", 6, {}, [a, same], [a * same]
    truth = whole(3, 2, low=0, high=2).astype(bool), whole(3, low=0, high=2).astype(bool)
    yield "And", 1, {"broadcast": 1, "axis": 0}, [*truth], [truth[0] & truth[1][:, None]]
    slopes = real(3)
    yield ("PRelu", 6, {}, [a, slopes],
           [numpy.where(a < 0, a * slopes[:, None, None], a)])
    yield "PRelu", 1, {}, [a, slopes[:1]], [numpy.where(a < 0, a * slopes[0], a)]
    for op, function in [("Max", numpy.maximum), ("Min", numpy.minimum), ("Sum", numpy.add)]:
        yield op, 6, {}, [a, same], [function(a, same)]
    x, y, c = real(2, 3), real(3, 4), real(4)
    yield ("Gemm", 6, {"broadcast": 1, "alpha": 0.5}, [x, y, c],
           [(0.5 * (x.astype(float) @ y) + c).astype(numpy.float32)])


def batch_norm(x, scale, bias, mean, variance, epsilon=numpy.float32(1e-5)):
    return ((x - mean) / numpy.sqrt(variance + float(epsilon)) * scale + bias).astype(x.dtype)


def old_batch_norm():
    """Training by is_test 0 (opset 6) or by outputs (opset 7); statistics of each position."""
    x = real(4, 3, 2)
    for spatial, axes, shape in [(1, (0, 2), (3, 1)), (0, (0,), (3, 2))]:
        given = (3,) if spatial else shape
        scale, bias, mean = (real(*given) for _ in range(3))
        variance = abs(real(*given))
        inputs, wide = [x, scale, bias, mean, variance], [scale, bias, mean, variance]
        wide = [part.astype(float).reshape(shape) for part in wide]
        yield ("BatchNormalization", 6, {"is_test": 1, "spatial": spatial}, inputs,
               [batch_norm(x, *wide)])
        yield "BatchNormalization", 8, {"spatial": spatial}, inputs, [batch_norm(x, *wide)]
        now = [x.astype(float).mean(axes), x.astype(float).var(axes)]
        y = batch_norm(x, *wide[:2], *(part.reshape(shape) for part in now))
        keep = float(numpy.float32(0.75))
        running = [old * keep + new * (1 - keep) for old, new in zip((mean, variance), now)]
        outputs = [y] + [part.astype(numpy.float32) for part in running + now]
        yield ("BatchNormalization", 6, {"spatial": spatial, "momentum": 0.75}, inputs, outputs)
        yield ("BatchNormalization", 7, {"spatial": spatial, "momentum": 0.75}, inputs, outputs)


def first_versions():
    """Forms of opset 1 that later versions changed."""
    x = real(2, 3, 4, 6)
    yield "Reshape", 1, {"shape": [0, -1]}, [x], [x.reshape(2, -1)]
    yield ("Pad", 1, {"paddings": [0, 1, 0, 0, 0, 0, 2, 1], "value": 3.0}, [x],
           [numpy.pad(x, [(0, 0), (1, 0), (0, 2), (0, 1)], constant_values=3)])
    yield "Tile", 1, {}, [x, floats(3)[0], floats(1)[0]], [numpy.tile(x, (1, 3, 1, 1))]
    yield "Split", 1, {"axis": 3}, [x, floats(1, 3, 2)], numpy.split(x, [1, 4], 3)
    yield "Split", 1, {"axis": 3, "split": [2, 4]}, [x], numpy.split(x, [2], 3)
    yield "Concat", 1, {}, [x, x], [numpy.concatenate([x, x], 1)]
    yield ("Cast", 1, {"to": "INT32"}, [x * 10], [(x * 10).astype(numpy.int32)])
    yield "Cast", 1, {"to": "DOUBLE"}, [x], [x.astype(float)]
    yield ("Upsample", 1, {"height_scale": 2.0, "width_scale": 3.0}, [x],
           [x.repeat(2, 2).repeat(3, 3)])
    yield ("GlobalLpPool", 1, {"p": 3.0}, [x],
           [((abs(x.astype(float)) ** 3).sum((2, 3), keepdims=True) ** (1 / 3)).astype("f")])
    yield "Clip", 1, {"min": -0.5}, [x], [numpy.maximum(x, numpy.float32(-0.5))]
    yield "Dropout", 6, {"is_test": 1}, [x], [x]
    alpha, gamma = float(numpy.float32(1.6732)), float(numpy.float32(1.0507))
    yield ("Selu", 1, {}, [x],
           [(gamma * numpy.where(x > 0, x, alpha * numpy.expm1(x.astype(float)))).astype("f")])


def make_case(number, op, opset, attributes, inputs, results):
    inputs = [numpy.asarray(value) for value in inputs]
    names, outputs = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(results))]
    graph = helper.make_graph([helper.make_node(op, names, outputs, **attributes)], op,
                              [ort_cases.info(*pair) for pair in zip(names, inputs)],
                              [ort_cases.info(*pair) for pair in zip(outputs, results)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ort_cases.Case(f"known_{number}_{op}_{opset}", model, inputs, results)


def main():
    groups = [unique, complex_images, moved_strings, quantized, transforms, recurrent, error_function,
              limited_broadcast, old_batch_norm, first_versions]
    cases = [make_case(i, *row) for i, row in enumerate(row for group in groups for row in group())]
    writer = onnx_cases.Writer()
    writer.parts.append(onnx_cases.MAGIC)
    writer.items(cases, lambda case: onnx_cases.write_case(writer, case, 0))
    with open(sys.argv[1], "wb") as file:
        file.write(b"".join(writer.parts))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
