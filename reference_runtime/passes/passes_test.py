#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of the optimizer: small models in ONNX's textual syntax, and what must become of them.

usage: passes_test.py OPSRUN FILE.cases…

A file holds the cases of the pass it is named after. A case is a line `case: NAME`, then

  only: NAME,…      passes that run; the file's own and dead_nodes else
  level: N          the pass's own level else
  option: WORDS     further options of opsrun
  tolerance: T      how far results may differ, relative and absolute; 1e-5 and 1e-4 else
  special           inputs hold NaN, infinities and both zeros, too
  model:            the model, to the next line that begins with a key; the header
                    <ir_version: 8, opset_import: ["" : 17]> is added where it is missing
  expect:           the nodes of the result, one a line: `y = Conv<group=1>(x, [1, 2])`. A constant
                    stands as its elements if it has at most 16, else as its type
  miss: TEXT        a near miss that `opsrun explain` must print, word for word
  origins: NODE = A, B   names that the node of the result stands for, as explain prints them

The result must satisfy onnx.checker; it is run by onnxruntime (where it has the operators, else by
onnx.reference) and by opsrun on the reference provider at level 0, as is the model. The two results
of opsrun must agree bit by bit at level 1 and to 1e-5 above; opsrun and the other to 1e-4.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
KEYS = ("case:", "only:", "level:", "option:", "tolerance:", "special", "model:", "expect:", "miss:", "origins:")
SHOWN = 16


def read_cases(path):
    cases, key = [], None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        word = next((each for each in KEYS if line.startswith(each)), None)
        if word == "case:":
            cases.append({"name": line[5:].strip(), "model:": [], "expect:": [], "miss:": [],
                          "origins:": []})
            key = None
        elif word:
            key, rest = word, line[len(word):].strip()
            if word in ("model:", "expect:"):
                continue
            if word in ("miss:", "origins:"):
                cases[-1][word].append(rest)
            else:
                cases[-1][word] = rest
        elif key in ("model:", "expect:") and line.strip():
            cases[-1][key].append(line if key == "model:" else line.strip())
    return cases


def all_passes(opsrun):
    text = subprocess.run([opsrun, "optimize", "--list-passes"], check=True, capture_output=True,
                          text=True).stdout
    return {line.split()[1]: int(line.split()[0]) for line in text.splitlines()}


# ---- The result as text ---------------------------------------------------------------------

def plain(number):
    if isinstance(number, (bool, np.bool_)):
        return "true" if number else "false"
    if isinstance(number, (int, np.integer)):
        return str(int(number))
    return f"{float(number):.6g}"


def constant_text(array):
    if array.size > SHOWN or array.dtype.kind not in "fiub":
        return f"{array.dtype}[{','.join(map(str, array.shape))}]"
    if array.ndim == 0:
        return plain(array[()])
    return "[" + ", ".join(plain(each) for each in array.ravel()) + "]"


def attribute_text(attribute, constants):
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.GRAPH:
        return f"{attribute.name}={{{'; '.join(graph_lines(value, constants))}}}"
    if isinstance(value, bytes):
        return f"{attribute.name}={value.decode()}"
    if isinstance(value, onnx.TensorProto):
        return f"{attribute.name}={constant_text(numpy_helper.to_array(value))}"
    if isinstance(value, (list, tuple)) or hasattr(value, "__len__"):
        return f"{attribute.name}=[{','.join(plain(each) for each in value)}]"
    return f"{attribute.name}={plain(value)}"


def node_text(node, constants):
    inputs = ", ".join(constants.get(name, name) for name in node.input)
    attributes = ",".join(sorted(attribute_text(each, constants) for each in node.attribute))
    domain = node.domain + "." if node.domain else ""
    shown = f"<{attributes}>" if attributes else ""
    return f"{', '.join(node.output)} = {domain}{node.op_type}{shown}({inputs})"


def graph_lines(graph, constants=None):
    constants = dict(constants or {})
    inputs = {each.name for each in graph.input}
    for each in graph.initializer:
        if each.name not in inputs:
            constants[each.name] = constant_text(numpy_helper.to_array(each))
    return [node_text(node, constants) for node in graph.node]


# ---- Running --------------------------------------------------------------------------------

def make_input(info, rng, special):
    tensor = info.type.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else 3 for dim in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if dtype == np.bool_:
        return rng.integers(0, 2, dims).astype(bool)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 4, dims).astype(dtype)
    array = np.array(rng.uniform(-2, 2, dims)).astype(dtype)
    if special:
        flat = array.reshape(-1)
        values = [0.0, -0.0, np.nan, np.inf, -np.inf]
        flat[:len(values)] = values[:flat.size]
    return array


def read_value(stem):
    """What opsrun wrote: numpy's format, or a TensorProto where numpy has no such type."""
    path = stem.with_suffix(".npy")
    if path.exists():
        return np.load(path)
    return numpy_helper.to_array(onnx.TensorProto.FromString(stem.with_suffix(".pb").read_bytes()))


def run_other(model, inputs):
    try:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = ort.InferenceSession(model.SerializeToString(), options)
        return session.run(None, inputs)
    except Exception:  # operators or types that onnxruntime lacks  pylint: disable=broad-except
        return ReferenceEvaluator(model).run(None, inputs)


class Case:
    def __init__(self, opsrun, case, pass_name, levels, folder):
        self.opsrun, self.case, self.folder = opsrun, case, folder
        text = "\n".join(case["model:"])
        self.model = onnx.parser.parse_model(text if text.lstrip().startswith("<")
                                             else HEADER + text)
        for index, node in enumerate(self.model.graph.node):
            node.name = node.name or f"n{index}"
        self.level = int(case.get("level:", levels[pass_name]))
        self.tolerance = float(case.get("tolerance:", 0))
        only = case.get("only:", f"{pass_name},dead_nodes").split(",")
        self.options = ["--level", str(self.level), *case.get("option:", "").split()]
        for name in levels:
            if name not in only:
                self.options += ["--disable-pass", name]
        self.path = folder / "model.onnx"
        onnx.save(self.model, self.path)

    def call(self, *arguments):
        done = subprocess.run([self.opsrun, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, check=False)
        if done.returncode:
            raise AssertionError(f"opsrun {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def run_own(self, path, names, options=("--level", 0, "--provider", "reference")):
        out = self.folder / "out"
        inputs = [word for name in names
                  for word in ("--input", f"{name}={self.folder / name}.npy")]
        self.call("run", path, *options, *inputs, "--output-dir", out)
        return [read_value(out / info.name) for info in self.model.graph.output]

    def check_text(self, result):
        lines = graph_lines(result.graph)
        if lines != self.case["expect:"]:
            raise AssertionError("expected\n    " + "\n    ".join(self.case["expect:"]) +
                                 "\n  got\n    " + "\n    ".join(lines))

    def check_notes(self):
        if not self.case["miss:"] and not self.case["origins:"]:
            return
        text = self.call("explain", self.path, *self.options)
        for miss in self.case["miss:"]:
            if miss not in text:
                raise AssertionError(f"no near miss says '{miss}':\n{text}")
        for origin in self.case["origins:"]:
            node, names = (part.strip() for part in origin.split("="))
            if not any(f" {node} (from {names})" in line for line in text.splitlines()):
                raise AssertionError(f"{node} does not stand for {names}:\n{text}")

    def check_values(self, result, path):
        rng = np.random.default_rng(7)
        given = {info.name for info in self.model.graph.initializer}
        infos = [info for info in self.model.graph.input if info.name not in given]
        inputs = {info.name: make_input(info, rng, "special" in self.case) for info in infos}
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
        before, after = self.run_own(self.path, inputs), self.run_own(path, inputs)
        if "--provider" in self.options:
            for own, new in zip(before, self.run_own(self.path, inputs, self.options)):
                np.testing.assert_allclose(new, own, rtol=1e-4, atol=1e-4)
        with np.errstate(all="ignore"):
            others = [run_other(self.model, inputs), run_other(result, inputs)]
        for index, info in enumerate(self.model.graph.output):
            own, new = before[index], after[index]
            assert own.dtype == new.dtype and own.shape == new.shape, f"{info.name}: type differs"
            if own.dtype.kind not in "fiub":
                same = own.tolist() == new.tolist()
            elif self.level == 1:
                same = own.tobytes() == new.tobytes()
            else:
                limit = self.tolerance or 1e-5
                same = np.allclose(own, new, rtol=limit, atol=limit, equal_nan=True)
            assert same, f"{info.name} changed:\n{own}\n{new}"
            for other in others:
                if own.dtype.kind in "fiub":
                    limit = self.tolerance or 1e-4
                    np.testing.assert_allclose(new, other[index], rtol=limit, atol=limit)

    def check(self):
        path = self.folder / "optimized.onnx"
        self.call("optimize", self.path, "-o", path, *self.options)
        result = onnx.load(path)
        onnx.checker.check_model(result, full_check=True)
        self.check_text(result)
        self.check_notes()
        self.check_values(result, path)


def main():
    opsrun, paths = sys.argv[1], [pathlib.Path(each) for each in sys.argv[2:]]
    levels, failed, count = all_passes(opsrun), 0, 0
    for path in paths:
        for case in read_cases(path):
            count += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    Case(opsrun, case, path.stem, levels, pathlib.Path(folder)).check()
                except Exception as error:  # each case is told  pylint: disable=broad-except
                    failed += 1
                    print(f"{path.stem}: {case['name']}: {type(error).__name__}: {error}")
    print(f"{count} cases, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
