#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the official ONNX node cases with bodies, sequences or optionals:

usage: onnx_control_cases.py FOLDER

One folder per case, as the onnx package's own tool writes them: model.onnx and
test_data_set_0/{input,output}_N.pb; and a file `cases` that lists name, rtol and atol.
"""
import pathlib
import sys
import warnings

from onnx import numpy_helper

warnings.simplefilter("ignore")
BODIES = {"If", "Loop", "Scan", "SequenceMap"}
OBJECTS = {"SequenceEmpty", "SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase",
           "SequenceLength", "ConcatFromSequence", "SplitToSequence", "Optional",
           "OptionalHasElement", "OptionalGetElement"}


def belongs(case):
    graph = case.model.graph
    infos = [*graph.input, *graph.output]
    return (any(node.op_type in BODIES | OBJECTS for node in graph.node)
            or not all(info.type.HasField("tensor_type") for info in infos))


def serialised(info, value):
    if info.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, info.name).SerializeToString()
    if info.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, info.name).SerializeToString()
    if not hasattr(value, "SerializeToString"):
        value = numpy_helper.from_array(value, info.name)
    return value.SerializeToString()


def write(folder, case):
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / case.name / "model.onnx").write_bytes(case.model.SerializeToString())
    inputs, outputs = case.data_sets[0]
    for kind, infos, values in (("input", case.model.graph.input, inputs),
                                ("output", case.model.graph.output, outputs)):
        for i, (info, value) in enumerate(zip(infos, values)):
            (data / f"{kind}_{i}.pb").write_bytes(serialised(info, value))


def main():
    from onnx.backend.test.case.node import collect_testcases
    folder = pathlib.Path(sys.argv[1])
    cases = [case for case in collect_testcases(None) if case.data_sets and belongs(case)]
    for case in cases:
        write(folder, case)
    lines = [f"{case.name} {case.rtol} {case.atol}\n" for case in cases]
    (folder / "cases").write_text("".join(lines))


if __name__ == "__main__":
    main()
