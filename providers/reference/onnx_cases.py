#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the official ONNX node test cases into one file that onnx_cases_test reads.

usage: onnx_cases.py FILE

Left out are cases with sequences, optionals or subgraphs. The format is
little-endian: strings and lists carry a u32 count, the order is that of write_case.
"""
import struct
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper

warnings.simplefilter("ignore")
MAGIC = b"OPSCASE1"
NARROW_BITS = {onnx.TensorProto.UINT4: 4, onnx.TensorProto.INT4: 4,
               onnx.TensorProto.FLOAT4E2M1: 4, onnx.TensorProto.UINT2: 2, onnx.TensorProto.INT2: 2}


class Writer:
    def __init__(self):
        self.parts = []

    def pack(self, layout, *values):
        self.parts.append(struct.pack("<" + layout, *values))

    def text(self, value):
        data = value if isinstance(value, bytes) else value.encode()
        self.pack("I", len(data))
        self.parts.append(data)

    def items(self, values, write):
        self.pack("I", len(values))
        for value in values:
            write(value)

    def tensor(self, tensor):
        self.array(tensor.data_type, numpy_helper.to_array(tensor))

    def array(self, data_type, array):
        self.pack("ii", data_type, array.ndim)
        for dim in array.shape:
            self.pack("q", dim)
        if data_type == onnx.TensorProto.STRING:
            self.items([str(text) if not isinstance(text, bytes) else text
                        for text in array.reshape(-1).tolist()], self.text)
            return
        wanted = onnx.helper.tensor_dtype_to_np_dtype(data_type)
        self.text(element_bytes(data_type, array.astype(wanted, copy=False)))

    def attribute(self, attribute):
        self.text(attribute.name)
        self.pack("i", attribute.type)
        kinds = onnx.AttributeProto
        if attribute.type in (kinds.FLOAT, kinds.FLOATS):
            values = [attribute.f] if attribute.type == kinds.FLOAT else list(attribute.floats)
            self.items(values, lambda value: self.pack("f", value))
        elif attribute.type in (kinds.INT, kinds.INTS):
            values = [attribute.i] if attribute.type == kinds.INT else list(attribute.ints)
            self.items(values, lambda value: self.pack("q", value))
        elif attribute.type in (kinds.STRING, kinds.STRINGS):
            values = [attribute.s] if attribute.type == kinds.STRING else list(attribute.strings)
            self.items(values, self.text)
        else:
            self.items([attribute.t], self.tensor)

    def node(self, node, opsets):
        self.text(node.domain)
        self.text(node.op_type)
        self.pack("i", opsets[node.domain])
        self.items(list(node.input), self.text)
        self.items(list(node.output), self.text)
        self.items(list(node.attribute), self.attribute)

    def initializer(self, tensor):
        self.text(tensor.name)
        self.tensor(tensor)

    def value(self, pair):
        info, value = pair
        self.text(info.name)
        if isinstance(value, onnx.TensorProto):
            self.tensor(value)
        else:
            self.array(info.type.tensor_type.elem_type, numpy.asarray(value))


def element_bytes(data_type, array):
    if data_type not in NARROW_BITS:
        return array.tobytes()
    bits = NARROW_BITS[data_type]
    codes = array.reshape(-1).view(numpy.uint8).astype(numpy.uint8) & ((1 << bits) - 1)
    per_byte = 8 // bits
    codes = numpy.concatenate([codes, numpy.zeros(-len(codes) % per_byte, numpy.uint8)])
    codes = codes.reshape(-1, per_byte)
    packed = numpy.zeros(len(codes), numpy.uint8)
    for i in range(per_byte):
        packed |= codes[:, i] << (i * bits)
    return packed.tobytes()


def is_plain(case):
    """Whether every value is a tensor and no node has a body."""
    plain_kinds = {1, 2, 3, 4, 6, 7, 8}
    return (len(case.data_sets) > 0
            and all(info.type.HasField("tensor_type")
                    for info in [*case.model.graph.input, *case.model.graph.output])
            and not case.model.functions
            and all(a.type in plain_kinds for node in case.model.graph.node for a in node.attribute))


def write_case(writer, case, number):
    graph = case.model.graph
    inputs, outputs = case.data_sets[number]
    opsets = {entry.domain: entry.version for entry in case.model.opset_import}
    writer.text(case.name)
    writer.pack("dd", case.rtol, case.atol)
    writer.items(list(zip(graph.input, inputs)), writer.value)
    writer.items(list(graph.initializer), writer.initializer)
    writer.items(list(zip(graph.output, outputs)), writer.value)
    writer.items(list(graph.node), lambda node: writer.node(node, opsets))


def main():
    # The import starts slowly and prints nothing; only this program needs it.
    from onnx.backend.test.case.node import collect_testcases
    cases = [case for case in collect_testcases(None) if is_plain(case)]
    pairs = [(case, i) for case in cases for i in range(len(case.data_sets))]
    writer = Writer()
    writer.parts.append(MAGIC)
    writer.items(pairs, lambda pair: write_case(writer, *pair))
    with open(sys.argv[1], "wb") as file:
        file.write(b"".join(writer.parts))
    print(f"{len(pairs)} cases")


if __name__ == "__main__":
    main()
