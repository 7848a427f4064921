#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares inferred types and shapes with independent sources.

usage: compare_shapes.py GRAPH_DUMP SUITE|models [NAME...]
       compare_shapes.py GRAPH_DUMP programs [COUNT]
       compare_shapes.py GRAPH_DUMP rules OPSRUN

SUITE   node, simple, pytorch-converted or pytorch-operator of the onnx package. Each model is inferred
        three times, with what it says of its results hidden:
          given    small inputs are constants: every output must have the shape that is stored with
                   the case, which the onnx project computed with numpy
          open     inputs are inputs
          symbols  every dimension of an input is a symbol of its own, replaced in the result by the
                   real size
        A dimension that is a number must always be the stored one. And every value must be as known
        as onnx.shape_inference (strict, with data propagation) knows it, bodies included.
models  the light models of onnx and the networks of rapidocr-onnxruntime: likewise, and with a
        symbol as batch, each value must have the shape that it has in onnxruntime.
programs  random computations with shapes, of 40 steps each: what is known of their elements must be
        what onnxruntime computes, and all of it known where the sizes of the inputs are numbers.
rules   every com.microsoft operator that `opsrun providers` shows has a rule.

Exit 0: nothing contradicts, nothing is less known; 1 else; 2 wrong use.
"""
import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import shape_inference

import shape_cases
import shape_programs
from shape_cases import Type, dump_all, hide_results, type_of

# Operators with outputs whose size depends on the contents of inputs that are no shapes.
DATA_DEPENDENT = {"NonZero", "Compress", "Unique", "NonMaxSuppression", "Loop", "Scan", "ImageDecoder",
                  "StringSplit", "StringNormalizer", "SequenceAt", "ConcatFromSequence"}
VIEWS = ["given", "open", "symbols"]
SHOWN = 20


def is_number(dim):
    return isinstance(dim, int)


class Tally:
    """What was compared and what was found, of one source."""

    def __init__(self, source):
        self.source = source
        self.values = self.dims = self.known = self.gaps = self.wrong = 0
        self.texts = []

    def report(self, name, text, kind):
        setattr(self, kind, getattr(self, kind) + 1)
        self.texts.append(f"{name}: {text}")

    def compare(self, where, name, found, want, exact):
        """`exact`: every number of `want` must be found. Symbols of `want` are texts."""
        self.values += 1
        text = f"{name}: found {found}, {self.source} has {want}"
        if found is None:
            return self.report(where, text, "gaps") if exact else None
        if found.text != want.text and "?" not in found.text and "undefined" not in want.text:
            return self.report(where, text, "wrong")
        if found.text != want.text and exact and "undefined" not in want.text:
            return self.report(where, text, "gaps")
        if want.dims is None or (found.dims is None and not exact):
            return None
        if found.dims is None:
            return self.report(where, text, "gaps")
        if len(found.dims) != len(want.dims):
            return self.report(where, text, "wrong")
        return self.compare_dims(where, text, found.dims, want.dims, exact)

    def compare_dims(self, where, text, found, want, exact):
        for have, right in zip(found, want):
            self.dims += 1
            self.known += is_number(have)
            if is_number(have) and is_number(right) and have != right:
                return self.report(where, text, "wrong")
            if exact and right is not None and have != right and not is_number(have):
                return self.report(where, text, "gaps")
        return None

    def show(self):
        print(f"  {self.source}: {self.values} values, {self.dims} dimensions or elements, of which we know "
              f"{self.known}; less known {self.gaps}, contradicted {self.wrong}")
        for text in self.texts[:SHOWN]:
            print(f"    {text}")
        return self.gaps + self.wrong == 0


# --- onnx.shape_inference ------------------------------------------------------------------------


def collect(graph, prefix, types):
    """The Types of the values of a graph and its bodies, as the tool names them."""
    for info in [*graph.value_info, *graph.output]:
        types[prefix + info.name] = type_of(info)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH and node.output:
                collect(attribute.g, f"{prefix}{node.output[0]}/{attribute.name}/", types)
    return types


def theirs(model):
    """What onnx.shape_inference finds; None where it refuses the model."""
    try:
        inferred = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except shape_inference.InferenceError:
        return None
    symbols = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim}
    types = collect(inferred.graph, "", {})
    for item in types.values():  # names that inference made up say nothing
        item.dims = item.dims and [d if is_number(d) or d in symbols else None for d in item.dims]
    return types


# --- Suites --------------------------------------------------------------------------------------


def compare_stored(tally, case, view, answer):
    ops = {node.op_type for node in case.model.graph.node}
    exact = view == "given" and not ops & DATA_DEPENDENT
    for name, want in shape_cases.expected_types(case).items():
        tally.compare(f"{case.name} ({view})", name, answer.values.get(name), want, exact)


def value_of(dim):
    """The real size behind a symbol of with_symbols."""
    match = re.fullmatch(r"s(\d+)i\d+a\d+", dim) if isinstance(dim, str) else None
    return int(match[1]) if match else dim


def refuted(want, stored):
    """Whether the stored output shows that onnx.shape_inference is wrong."""
    if stored is None or stored.dims is None or want.dims is None:
        return False
    return len(want.dims) != len(stored.dims) or any(
        is_number(a) and a != b for a, b in zip(want.dims, stored.dims))


def in_faulty_branch(answer, name):
    """Whether the value is unknown in a branch that is never taken and would fail if it were."""
    found = answer.values.get(name)
    return found is not None and found.text == "?" and any(": expected " not in n for n in answer.notes)


def compare_onnx(tally, case, view, answer, model):
    types, stored = theirs(model), shape_cases.expected_types(case)
    tally.refused += types is None
    for name, want in (types or {}).items():
        want.dims = want.dims and [value_of(d) for d in want.dims]
        if refuted(want, stored.get(name)):
            tally.refuted.add(case.name)
        elif "_branch/" in name and in_faulty_branch(answer, name):
            tally.untaken += 1
        elif name.rpartition("/")[2] and (want.dims is not None or want.text != "undefined"):
            tally.compare(f"{case.name} ({view})", name, answer.values.get(name), want, True)


def prepare(case, view):
    """The model of a view, and settings."""
    if view == "symbols":
        return shape_cases.with_symbols(case)
    return (shape_cases.with_constants(case) if view == "given" else shape_cases.copy_of(case)), set()


def run_view(tool, cases, view, stored, other):
    """1 if no model was refused."""
    prepared = [prepare(case, view) for case in cases]
    settings = sorted(set().union(*(s for _, s in prepared)))
    with tempfile.TemporaryDirectory() as scratch:
        paths = [os.path.join(scratch, f"{i}.onnx") for i in range(len(cases))]
        for path, (model, _) in zip(paths, prepared):
            onnx.save(model, path)
        answers = dump_all(tool, paths)
        evaluated = dump_all(tool, paths, settings) if settings else answers
    good = True
    for case, answer, numbers, (model, _) in zip(cases, answers, evaluated, prepared):
        missing = [n for n in answer.notes if "no shape rule for " in n]
        for text in answer.errors + missing:
            print(f"  {case.name} ({view}): {text}")
            good = False
        if not answer.errors:
            compare_stored(stored, case, view, numbers)
            compare_onnx(other, case, view, numbers, model)
    return good


def run_suite(tool, suite, names):
    cases = [c for c in shape_cases.read_suite(suite) if not names or c.name in names]
    good = bool(cases)
    for view in VIEWS:
        stored, other = Tally("the stored output"), Tally("onnx.shape_inference")
        other.refused, other.untaken, other.refuted = 0, 0, set()
        print(f"{suite}, {view}: {len(cases)} models")
        good = run_view(tool, cases, view, stored, other) and good
        good = stored.show() and good
        good = other.show() and good
        print(f"    models that onnx.shape_inference refuses: {other.refused}; where the stored "
              f"output refutes it: {len(other.refuted)}; values left unknown in faulty branches that "
              f"are never taken: {other.untaken}")
    return good


# --- Models --------------------------------------------------------------------------------------


def model_paths():
    paths = glob.glob(os.path.join(shape_cases.DATA, "light", "light_*.onnx"))
    spec = importlib.util.find_spec("rapidocr_onnxruntime")
    if spec:
        paths += glob.glob(os.path.join(os.path.dirname(spec.origin), "models", "*.onnx"))
    return sorted(paths)


def graph_inputs(model):
    constants = {t.name for t in model.graph.initializer}
    return [info for info in model.graph.input if info.name not in constants]


def concrete_inputs(model):
    """Inputs for a run, and the values of the symbols of their dimensions."""
    feeds, bindings = {}, {}
    sizes = iter([2, 96, 160, 224])
    for info in graph_inputs(model):
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


def compare_with_run(tally, tool, path, label):
    model = onnx.load(path)
    feeds, bindings = concrete_inputs(model)
    answer = dump_all(tool, [path], [f"{k}={v}" for k, v in bindings.items()])[0]
    for name, shape in actual_shapes(model, feeds).items():
        found = answer.values.get(name)
        tally.compare(f"{label} {bindings}", name, found,
                      Type(found.text if found else "?", shape), True)


def with_batch(model):
    """Makes a symbol of the first dimension of every input, and copies it where a Reshape of what
    depends on an input writes the number of examples into the shape."""
    hide_results(model)
    constants = {t.name: t for t in model.graph.initializer}
    constants.update((n.output[0], n.attribute[0].t) for n in model.graph.node if n.op_type == "Constant")
    for info in graph_inputs(model):
        info.type.tensor_type.shape.dim[0].dim_param = "batch"
    reached = {info.name for info in graph_inputs(model)}
    for index, node in enumerate(model.graph.node):
        if not reached & set(node.input):
            continue
        reached.update(node.output)
        if node.op_type == "Reshape" and node.input[0] in reached:
            target = np.array(onnx.numpy_helper.to_array(constants[node.input[1]]))
            target[0] = 0
            node.input[1] = f"target{index}"
            model.graph.initializer.append(onnx.numpy_helper.from_array(target, node.input[1]))


def compare_batch(tally, tool, path, label, scratch):
    """With a symbolic batch: outputs carry the symbol, and a batch of 2 has the shapes of a run."""
    model = onnx.load(path)
    with_batch(model)
    changed = os.path.join(scratch, "batch.onnx")
    onnx.save(model, changed)
    answer = dump_all(tool, [changed])[0]
    for name in [info.name for info in model.graph.output]:
        found = answer.values.get(name)
        if found is None or not found.dims or found.dims[0] != "batch":
            tally.report(label, f"output {name} is {found}, expected the symbol batch", "gaps")
    compare_with_run(tally, tool, changed, label)


def run_models(tool, names):
    good = True
    for path in model_paths():
        label = os.path.basename(path)
        if names and label not in names:
            continue
        model = onnx.load(path)
        hide_results(model)
        answer = dump_all(tool, [path])[0]
        other, run = Tally("onnx.shape_inference"), Tally("a run of onnxruntime")
        for name, want in (theirs(model) or {}).items():
            other.compare(label, name, answer.values.get(name), want, True)
        compare_with_run(run, tool, path, label)
        with tempfile.TemporaryDirectory() as scratch:
            if label.startswith("light_"):
                compare_batch(run, tool, path, label, scratch)
        print(label)
        good = other.show() and good
        good = run.show() and run.known > 0 and good
    return good


# --- Programs ------------------------------------------------------------------------------------


def judge_contents(tally, label, name, found, actual, exact):
    """Compares what is known of the elements of a value with those of a run."""
    want = [int(v) for v in np.asarray(actual).reshape(-1)]
    text = f"{name}: found {found} = {found.contents}, onnxruntime has {want}"
    tally.values += 1
    if found.contents is None or len(found.contents) != len(want):
        return tally.report(label, text, "gaps") if exact else None
    for have, right in zip(found.contents, want):
        tally.dims += 1
        number = re.fullmatch(r"-?\d+", have)
        tally.known += number is not None
        if number and int(have) != right:
            return tally.report(label, text, "wrong")
        if exact and not number:
            return tally.report(label, text, "gaps")
    return None


def run_programs(tool, count):
    programs = [shape_programs.make_program(seed) for seed in range(count)]
    actual = [shape_programs.run(program) for program in programs]
    settings = sorted({s for program in programs for s in shape_programs.settings(program)})
    good = count > 0
    for symbolic in (False, True):
        tally = Tally("a run of onnxruntime")
        with tempfile.TemporaryDirectory() as scratch:
            paths = [os.path.join(scratch, f"{i}.onnx") for i in range(count)]
            for path, program in zip(paths, programs):
                onnx.save(program.model(symbolic), path)
            answers = dump_all(tool, paths, settings)
        for seed, (answer, values) in enumerate(zip(answers, actual)):
            label = f"program {seed}"
            for text in answer.errors:
                tally.report(label, text, "wrong")
            for name, value in values.items():
                found = answer.values.get(name, Type("?"))
                tally.compare(label, name, found, Type(found.text, list(value.shape)), False)
                judge_contents(tally, label, name, found, value, not symbolic)
        print(f"{count} programs, sizes are {'symbols' if symbolic else 'numbers'}")
        good = tally.show() and good
    return good


# --- Rules ---------------------------------------------------------------------------------------


def run_rules(tool, opsrun):
    run = subprocess.run([tool, "--rules"], capture_output=True, text=True, check=True)
    rules = {tuple(line.split("\t")[:2]) for line in run.stdout.splitlines()}
    shown = subprocess.run([opsrun, "providers"], capture_output=True, text=True, check=True).stdout
    kernels = set(re.findall(r"^  com\.microsoft\.(\w+) ", shown, re.MULTILINE))
    missing = sorted(k for k in kernels if ("com.microsoft", k) not in rules)
    print(f"{len(kernels)} operators of com.microsoft, without a rule: {' '.join(missing) or 'none'}")
    return not missing


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in shape_cases.SUITES + ["models", "programs", "rules"]:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    tool, kind, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if kind == "rules":
        good = run_rules(tool, rest[0])
    elif kind == "programs":
        good = run_programs(tool, int(rest[0]) if rest else 300)
    elif kind == "models":
        good = run_models(tool, set(rest))
    else:
        good = run_suite(tool, kind, set(rest))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
