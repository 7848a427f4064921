# SPDX-License-Identifier: Apache-2.0
"""Official test cases of the onnx package, and the answers of graph_dump, for compare_shapes.py."""
import dataclasses
import glob
import importlib
import os
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

NAMES = {v: k.lower() for k, v in onnx.TensorProto.DataType.items()}
DATA = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
SUITES = ["node", "simple", "pytorch-converted", "pytorch-operator"]


@dataclasses.dataclass
class Case:
    """A model with the values of one data set: arrays, lists of them, or None."""
    name: str
    model: onnx.ModelProto
    inputs: list
    outputs: list


def read_value(path, info):
    """The value in a .pb file that belongs to an input or output of a model."""
    with open(path, "rb") as file:
        content = file.read()
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def read_folder(folder):
    model = onnx.load(os.path.join(folder, "model.onnx"))
    weights = {tensor.name for tensor in model.graph.initializer}
    data = os.path.join(folder, "test_data_set_0")

    def values(kind, infos):
        return [read_value(os.path.join(data, f"{kind}_{i}.pb"), info) for i, info in enumerate(infos)
                if os.path.exists(os.path.join(data, f"{kind}_{i}.pb"))]

    inputs = [info for info in model.graph.input if info.name not in weights]
    if len(inputs) != len(glob.glob(os.path.join(data, "input_*.pb"))):
        inputs = list(model.graph.input)
    return Case(os.path.basename(folder), model, values("input", inputs),
                values("output", model.graph.output))


def made_cases(suite):
    module = importlib.import_module(f"onnx.backend.test.case.{'node' if suite == 'node' else 'model'}")
    made = module.collect_testcases(None) if suite == "node" else module.collect_testcases()
    return [Case(case.name, case.model, *case.data_sets[0]) for case in made if case.kind == suite]


def read_suite(suite):
    """The cases of a suite: those that the package makes by code, and those that it stores."""
    cases = made_cases(suite) if suite in ("node", "simple") else []
    known = {case.name for case in cases}
    folders = sorted(glob.glob(os.path.join(DATA, suite, "*", "model.onnx")))
    stored = [read_folder(os.path.dirname(path)) for path in folders
              if os.path.basename(os.path.dirname(path)) not in known]
    return cases + stored


# --- Types ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Type:
    """`text` is the type without dimensions; dims: of a tensor, None if the rank is not known. A
    dimension is a number, an expression as text, or None."""
    text: str
    dims: list = None
    contents: list = None  # of a tensor with few elements, if they are known at all; "?" for some

    def __str__(self):
        if "(" in self.text:
            return self.text
        dims = "..." if self.dims is None else ",".join("?" if d is None else str(d) for d in self.dims)
        return f"{self.text}[{dims}]"


def type_text(proto):
    """As the tool writes the type, without dimensions."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        return NAMES[proto.tensor_type.elem_type]
    if kind == "sparse_tensor_type":
        return "sparse " + NAMES[proto.sparse_tensor_type.elem_type]
    if kind == "sequence_type":
        return f"seq({type_text(proto.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(proto.optional_type.elem_type)})"
    if kind == "map_type":
        return f"map({NAMES[proto.map_type.key_type]},{type_text(proto.map_type.value_type)})"
    return "undefined"


def type_of(info):
    """The Type of a ValueInfoProto."""
    proto = info.type
    if not proto.HasField("tensor_type") or not proto.tensor_type.HasField("shape"):
        return Type(type_text(proto))
    dims = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else d.dim_param or None
            for d in proto.tensor_type.shape.dim]
    return Type(type_text(proto), dims)


# --- The tool ------------------------------------------------------------------------------------


class Dump:
    """The tool's answer for one model."""

    def __init__(self):
        self.values = {}  # name: Type
        self.errors = []
        self.notes = []

    def add(self, line):
        name, _, text = line.partition("\t")
        text, _, contents = text.partition("\t= ")
        if name == "error":
            self.errors.append(text)
        elif name == "note":
            self.notes.append(text)
        elif text.startswith(("seq", "optional", "map", "sparse")) or "[" not in text:
            self.values[name] = Type(re.sub(r"\[[^]]*\]", "", text).replace(", ", ","))
        else:
            elem, _, dims = text.rstrip("]").partition("[")
            known = re.split(r",(?! )", dims) if dims else []
            self.values[name] = Type(elem, None if dims == "..." else [
                int(d) if d.isdigit() else d for d in known])
        if name in self.values and "\t=" in line:
            self.values[name].contents = re.split(r",(?! )", contents) if contents else []


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


# --- What a run shows ----------------------------------------------------------------------------


def is_tensor(value):
    return isinstance(value, (np.ndarray, np.generic))


def has_type(value, info):
    """1 if the value of a case is what the model declares, and not, say, an optional's content."""
    return info.type.HasField("tensor_type") == is_tensor(value)


def expected_types(case):
    """The Types of the outputs that the case stores: shapes of tensors, no more than the kind else."""
    types = {}
    for info, value in zip(case.model.graph.output, case.outputs):
        dims = list(np.shape(value)) if is_tensor(value) and has_type(value, info) else None
        types[info.name] = Type(type_text(info.type), dims)
    return types


MAX_CONSTANT = 64


def is_small(value):
    return is_tensor(value) and value.ndim <= 1 and value.size <= MAX_CONSTANT and (
        value.dtype != object and (value.dtype.kind in "iufb" or value.dtype.name == "bfloat16"))


def case_inputs(case):
    """The inputs of the model that the case gives values for, with these."""
    weights = {tensor.name for tensor in case.model.graph.initializer}
    infos = [i for i in case.model.graph.input if i.name not in weights]
    if len(infos) != len(case.inputs):
        infos = list(case.model.graph.input)
    return list(zip(infos, case.inputs))


def hide_graph(graph):
    del graph.value_info[:]
    for info in graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                hide_graph(attribute.g)


def hide_results(model):
    """Removes what the model says of intermediate values and of the shapes of outputs, also of
    bodies."""
    hide_graph(model.graph)


def copy_of(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    hide_results(model)
    return model


def with_constants(case):
    """The model with its small inputs as constants."""
    model = copy_of(case)
    values = {info.name: value for info, value in case_inputs(case)
              if is_small(value) and has_type(value, info)}
    keep = [info for info in model.graph.input if info.name not in values]
    for name, value in values.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    del model.graph.input[:]
    model.graph.input.extend(keep)
    return model


def with_symbols(case):
    """The model with a symbol for each dimension of its inputs, and the settings of the symbols.

    The settings hold for all cases at once: a symbol's name says its value.
    """
    model = copy_of(case)
    values = {info.name: value for info, value in case_inputs(case)}
    settings = set()
    for index, info in enumerate(model.graph.input):
        value = values.get(info.name)
        if not is_tensor(value) or not has_type(value, info):
            continue
        dims = info.type.tensor_type.shape.dim
        del dims[:]
        for axis, size in enumerate(np.shape(value)):
            name = f"s{size}i{index}a{axis}"
            dims.add().dim_param = name
            settings.add(f"{name}={size}")
    return model, settings
