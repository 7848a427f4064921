#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases whose expected values come from onnxruntime, as ort_cases.py does, for operators
over sequences, images, signals and bytes; some come from onnx.reference, where onnxruntime has
not the operator or differs from the specification.

usage: ort_more_cases.py FILE
"""
import sys

sys.dont_write_bytecode = True

import numpy
from onnx import helper
from onnx.reference import ReferenceEvaluator

import onnx_cases
import ort_cases
from ort_cases import floats, ints, real, whole

NONE = floats()
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 2


def recurrent_inputs(gates, directions, batch_first=False, lengths=False, bias=True, states=1,
                     peephole=False):
    x = (BATCH, STEPS, INPUTS) if batch_first else (STEPS, BATCH, INPUTS)
    state = (BATCH, directions, HIDDEN) if batch_first else (directions, BATCH, HIDDEN)
    rows = gates * HIDDEN
    values = [real(*x), real(directions, rows, INPUTS), real(directions, rows, HIDDEN),
              real(directions, 2 * rows) if bias else NONE,
              numpy.array([5, 2, 3], numpy.int32) if lengths else NONE]
    values += [real(*state) for _ in range(states)]
    if peephole:
        values += [NONE] * (2 - states) + [real(directions, 3 * HIDDEN)]
    return values


def recurrent():
    for op, gates, count in [("RNN", 1, 1), ("GRU", 3, 2), ("LSTM", 4, 3)]:
        outputs = 3 if op == "LSTM" else 2
        states = 2 if op == "LSTM" else 1
        base = {"hidden_size": HIDDEN}
        for direction, n in [("forward", 1), ("reverse", 1), ("bidirectional", 2)]:
            attributes = dict(base, direction=direction)
            yield op, 7, attributes, recurrent_inputs(gates, n, states=states), outputs
            yield (op, 14, attributes, recurrent_inputs(gates, n, lengths=True, bias=False),
                   outputs)
            # onnxruntime leaves the input of h out of the clip: a threshold that it stays below.
            clip, given = (2.5, 0) if op == "LSTM" else (0.7, states)
            yield (op, 14, dict(attributes, clip=clip),
                   recurrent_inputs(gates, n, lengths=True, states=given), outputs)
            names = ["HardSigmoid", "Softsign", "LeakyRelu"][:count] * n
            yield (op, 14, dict(attributes, activations=names),
                   recurrent_inputs(gates, n, states=states), outputs)
            names = (["HardSigmoid", "Softplus", "Affine"] if count == 3 else
                     ["Sigmoid", "ScaledTanh"][2 - count:]) * n
            yield (op, 14, dict(attributes, activations=names,
                                activation_alpha=[0.25, 0.5] * n, activation_beta=[0.3, 0.25] * n),
                   recurrent_inputs(gates, n, states=states), outputs)
    for name in ["Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
                 "HardSigmoid", "Elu", "Softsign", "Softplus"]:
        for parameters in [{}, {"activation_alpha": [0.4], "activation_beta": [0.6]}]:
            # Defaults "are the same as of corresponding ONNX operators"; here onnxruntime has 0.
            if not parameters and name in ("Affine", "ThresholdedRelu", "ScaledTanh"):
                continue
            yield ("RNN", 14, dict(parameters, hidden_size=HIDDEN, activations=[name]),
                   [value * numpy.float32(0.3) for value in recurrent_inputs(1, 1)], 2)
    base = {"hidden_size": HIDDEN, "direction": "bidirectional"}
    yield ("GRU", 14, dict(base, linear_before_reset=1),
           recurrent_inputs(3, 2, lengths=True), 2)
    yield "LSTM", 14, base, recurrent_inputs(4, 2, states=2, peephole=True), 3
    yield ("LSTM", 14, dict(base, input_forget=1),
           recurrent_inputs(4, 2, lengths=True, states=2, peephole=True), 3)


def samples():
    for mode in ["bilinear", "nearest", "bicubic"]:
        for padding in ["zeros", "border", "reflection"]:
            for align in [0, 1]:
                attributes = {"padding_mode": padding, "align_corners": align}
                inputs = [real(2, 3, 5, 4), real(2, 3, 6, 2)]
                # At a location beyond the border onnxruntime blends pixels all the same.
                if (mode, padding) == ("bicubic", "border"):
                    yield "GridSample", 20, dict(attributes, mode="cubic"), inputs, 1, reference
                else:
                    yield "GridSample", 16, dict(attributes, mode=mode), inputs, 1
    for mode in ["linear", "nearest", "cubic"]:
        yield ("GridSample", 20, {"mode": mode, "padding_mode": "reflection"},
               [real(1, 2, 3, 4, 3), real(1, 2, 2, 3, 3)], 1, reference)
        yield "GridSample", 20, {"mode": mode}, [real(1, 2, 6), real(1, 5, 1)], 1, reference
    for attributes in [{"strides": [2, 1], "pads": [1, 0, 1, 2]}, {"dilations": [2, 1]},
                       {"group": 2, "offset_group": 2}]:
        pads, strides = attributes.get("pads", [0] * 4), attributes.get("strides", [1, 1])
        dilations, groups = attributes.get("dilations", [1, 1]), attributes.get("group", 1)
        out = [(size + pads[i] + pads[2 + i] - dilations[i] * (3 - i - 1) - 1) // strides[i] + 1
               for i, size in enumerate((6, 5))]
        yield ("DeformConv", 19, attributes,
               [real(1, 4, 6, 5), real(6, 4 // groups, 3, 2), real(1, groups * 12, *out), real(6),
                real(1, groups * 6, *out)], 1, reference)
    rois = floats(0.5, 0.25, 6.5, 7, 2, 1, 3, 9, -3, -2, 12, 30).reshape(3, 4)
    for mode in ["half_pixel", "output_half_pixel"]:
        for ratio in [0, 2]:
            yield ("RoiAlign", 16,
                   {"coordinate_transformation_mode": mode, "sampling_ratio": ratio,
                    "output_height": 3, "output_width": 2, "spatial_scale": 0.75},
                   [real(2, 3, 8, 7), rois, ints(0, 1, 1)], 1)
    yield ("RoiAlign", 10, {"output_height": 2, "output_width": 2, "sampling_ratio": 2},
           [real(2, 3, 8, 7), rois, ints(1, 0, 1)], 1)
    regions = floats(0, 1, 1, 6, 5, 1, 0, 0, 3, 7, 1, 5, 4, 5, 4, 0, -4, 2, 20, 9).reshape(4, 5)
    yield ("MaxRoiPool", 7, {"pooled_shape": [2, 3]}, [real(2, 3, 8, 7), regions], 1)
    yield ("MaxRoiPool", 7, {"pooled_shape": [3, 2], "spatial_scale": 0.6},
           [real(2, 2, 8, 7), regions], 1)
    low = ort_cases.random.rand(2, 40, 2) * 10
    boxes = numpy.concatenate([low, low + ort_cases.random.rand(2, 40, 2) * 5], 2)
    for center in [0, 1]:
        yield ("NonMaxSuppression", 11, {"center_point_box": center},
               [boxes.astype(numpy.float32), ort_cases.random.rand(2, 3, 40).astype(numpy.float32),
                ints(9)[0], floats(0.3), floats(0.2)], 1)
    yield ("NonMaxSuppression", 10, {},
           [boxes.astype(numpy.float32), ort_cases.random.rand(2, 3, 40).astype(numpy.float32),
            ints(9)[0]], 1)
    yield ("MaxUnpool", 11, {"kernel_shape": [2, 2], "strides": [2, 2]},
           [real(1, 2, 2, 2), ints(0, 3, 8, 15, 17, 18, 25, 30).reshape(1, 2, 2, 2)], 1)
    yield ("Col2Im", 18, {"pads": [1, 0, 1, 0], "strides": [2, 1]},
           [real(2, 12, 15), ints(5, 6), ints(3, 2)], 1)
    yield ("Col2Im", 18, {"dilations": [2, 1]}, [real(1, 8, 12), ints(5, 5), ints(2, 2)], 1)
    yield "AffineGrid", 20, {"align_corners": 1}, [real(2, 2, 3), ints(2, 1, 3, 4)], 1
    yield "AffineGrid", 20, {}, [real(2, 3, 4), ints(2, 1, 2, 3, 4)], 1
    yield "CenterCropPad", 18, {"axes": [-1, 0]}, [real(5, 3, 4), ints(7, 2)], 1


def tensors():
    yield "Det", 11, {}, [real(3, 5, 5)], 1
    yield "Det", 11, {}, [floats(0, 1, 2, 0, 3, 4, 0, 5, 6).reshape(3, 3)], 1
    for time in [0, 1]:
        yield ("ReverseSequence", 10, {"time_axis": time, "batch_axis": 1 - time},
               [real(4, 4, 3), ints(0, 4, 2, 3)], 1)
    for sort in [0, 1]:
        yield "Unique", 11, {"sorted": sort}, [whole(40, low=0, high=9, dtype=numpy.int64)], 4
        yield ("Unique", 11, {"sorted": sort, "axis": 1},
               [whole(2, 30, low=0, high=3, dtype=numpy.int64)], 4)
    yield "Unique", 11, {"axis": -2}, [whole(2, 9, 1, low=0, high=2).astype(numpy.float32)], 4


def signals():
    for inverse in [0, 1]:
        for parts in [1, 2]:
            for axis in [0, 1]:
                yield ("DFT", 17, {"inverse": inverse, "axis": axis}, [real(7, 6, parts)], 1)
    yield "DFT", 17, {"onesided": 1}, [real(2, 9, 1)], 1
    yield "DFT", 17, {"axis": 1}, [real(2, 9, 2), ints(16)[0]], 1
    yield "DFT", 17, {"axis": 1}, [real(2, 9, 2), ints(5)[0]], 1
    yield "STFT", 17, {}, [real(2, 30, 1), ints(4)[0], real(8)], 1
    yield "STFT", 17, {"onesided": 0}, [real(2, 30, 2), ints(5)[0], real(9)], 1
    yield "STFT", 17, {}, [real(1, 30, 1), ints(7)[0], NONE, ints(12)[0]], 1
    for op in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
        for periodic in [0, 1]:
            yield op, 17, {"periodic": periodic}, [ints(11)[0]], 1
    yield ("MelWeightMatrix", 17, {}, [ints(8)[0], ints(64)[0], ints(8000)[0],
                                       floats(100)[0], floats(3800)[0]], 1)


def byte(*shape, signed=False):
    low, high = (-128, 128) if signed else (0, 256)
    return ort_cases.random.randint(low, high, size=shape).astype(
        numpy.int8 if signed else numpy.uint8)


def integers():
    for attributes in [{}, {"pads": [1, 2, 0, 1], "strides": [2, 1]}, {"dilations": [2, 1]}]:
        yield ("ConvInteger", 10, attributes,
               [byte(2, 4, 7, 6), byte(5, 4, 3, 2), numpy.uint8(7), numpy.uint8(130)], 1)
        yield ("QLinearConv", 10, attributes,
               [byte(2, 4, 7, 6), floats(0.02)[0], numpy.uint8(121), byte(5, 4, 3, 2),
                floats(0.013)[0], numpy.uint8(110), floats(0.17)[0], numpy.uint8(99)], 1)
    yield ("QLinearConv", 10, {"group": 2},
           [byte(1, 4, 6, 6), floats(0.02)[0], numpy.uint8(121), byte(6, 2, 3, 3, signed=True),
            floats(0.01, 0.02, 0.03, 0.011, 0.012, 0.013), numpy.zeros(6, numpy.int8),
            floats(0.17)[0], numpy.uint8(99), whole(6, low=-3000, high=3000)], 1)
    yield ("MatMulInteger", 10, {}, [byte(2, 3, 5), byte(5, 4), numpy.uint8(9), numpy.uint8(200)],
           1)
    yield "MatMulInteger", 10, {}, [byte(3, 5), byte(5, 4, signed=True)], 1
    yield ("MatMulInteger", 10, {}, [byte(3, 5), byte(5, 4), numpy.uint8(3), byte(4)], 1)
    yield ("QLinearMatMul", 10, {},
           [byte(2, 3, 5), floats(0.01)[0], numpy.uint8(100), byte(5, 4), floats(0.02)[0],
            numpy.uint8(140), floats(0.1)[0], numpy.uint8(111)], 1)
    yield "DynamicQuantizeLinear", 11, {}, [real(5, 7)], 3
    yield "DynamicQuantizeLinear", 11, {}, [real(5, 7) + 3], 3


def attention():
    for q, kv in [(4, 4), (4, 2), (4, 1)]:
        for causal in [0, 1]:
            yield ("Attention", 23, {"is_causal": causal},
                   [real(2, q, 3, 8), real(2, kv, 3, 8), real(2, kv, 3, 6)], 1)
    yield ("Attention", 23, {"q_num_heads": 4, "kv_num_heads": 2, "scale": 0.3, "softcap": 1.5},
           [real(2, 3, 16), real(2, 5, 8), real(2, 5, 12), real(3, 5)], 1)
    yield ("Attention", 23, {}, [real(2, 2, 3, 4), real(2, 2, 3, 4), real(2, 2, 3, 4),
                                 real(2, 1, 3, 5), real(2, 2, 2, 4), real(2, 2, 2, 4)], 3)
    for interleaved in [0, 1]:
        yield ("RotaryEmbedding", 23, {"interleaved": interleaved},
               [real(2, 3, 4, 8), real(50, 4), real(50, 4), whole(2, 4, low=0, high=50,
                                                                  dtype=numpy.int64)], 1)
        yield ("RotaryEmbedding", 23,
               {"interleaved": interleaved, "num_heads": 3, "rotary_embedding_dim": 4},
               [real(2, 4, 24), real(2, 4, 2), real(2, 4, 2)], 1)


def reference(number, op, opset, attributes, inputs, output_count):
    """A case like those of ort_cases.make_case, by onnx.reference."""
    inputs = [numpy.asarray(value) for value in inputs]
    names, outputs = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(output_count)]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, **attributes)], op,
        [ort_cases.info(*pair) for pair in zip(names, inputs)],
        [helper.make_empty_tensor_value_info(name) for name in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    results = ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))
    del model.graph.output[:]
    model.graph.output.extend(ort_cases.info(*pair) for pair in zip(outputs, results))
    return ort_cases.Case(f"onnx_{number}_{op}_{opset}", model, inputs, results)


def main():
    ort_cases.IR_OF_OPSET.update({22: 10, 23: 11})
    groups = [recurrent, samples, tensors, signals, integers, attention]
    rows = [row for group in groups for row in group()]
    cases = [(row[5] if len(row) > 5 else ort_cases.make_case)(i, *row[:5])
             for i, row in enumerate(rows)]
    writer = onnx_cases.Writer()
    writer.parts.append(onnx_cases.MAGIC)
    writer.items(cases, lambda case: onnx_cases.write_case(writer, case, 0))
    with open(sys.argv[1], "wb") as file:
        file.write(b"".join(writer.parts))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
