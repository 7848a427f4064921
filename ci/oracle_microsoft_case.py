# SPDX-License-Identifier: Apache-2.0
"""Cases of ci/oracle_microsoft: how one is written, run by both runtimes, and judged.

A family draws cases from a numpy.random.Generator:

    Case("FusedMatMul", [a, b], {"transA": 1}, formula=lambda: [expected])

Inputs are arrays, or None for one that is left out. An expected value is an array in float64 (or
exact integers) of the shape of the output; it is rounded to the output's type by `Case.judge`.
"""
import dataclasses
import subprocess
import typing

import ml_dtypes
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = 21  # of the standard operators
FLOATS = {numpy.dtype(t): ml_dtypes.finfo(t).eps for t in
          (numpy.float16, numpy.float32, numpy.float64, ml_dtypes.bfloat16)}


@dataclasses.dataclass
class Case:
    op: str
    inputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    formula: typing.Callable = None  # the outputs expected, None for one that is not compared
    outputs: list = None  # types of the outputs that are asked for, "" for one left out; one else
    domain: str = "com.microsoft"
    constants: tuple = ()  # indices of inputs that are initializers
    ort: bool = True  # onnxruntime's CPU provider has a kernel for it
    # Per output the elements that the definition leaves open, as bools: onnxruntime has them as
    # its memory was.
    unspecified: typing.Callable = None
    witness: list = None  # the inputs that onnxruntime gets; the same ones else
    decision: str = ""  # id of the decision by which onnxruntime's result may be another one
    # How far a float result may be from the formula, in units of the last place of the largest
    # element, and from onnxruntime, relative and absolute.
    ulps: float = 1.0
    rtol: float = 1e-5
    atol: float = 1e-6
    # Integers: how far from onnxruntime's, which rounds in float, and which share of them.
    steps: int = 0
    share: float = 0.0
    note: str = ""

    def text(self):
        shapes = ",".join("-" if x is None else f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        return f"{self.op}({shapes}) {self.attributes} {self.note}".rstrip()


# --- Models --------------------------------------------------------------------------------------


def value_names(case, k):
    inputs = [None if x is None else f"c{k}_x{i}" for i, x in enumerate(case.inputs)]
    types = case.outputs or [None]
    return inputs, [None if t == "" else f"c{k}_y{i}" for i, t in enumerate(types)]


def tensor(name, array):
    return numpy_helper.from_array(numpy.ascontiguousarray(array).reshape(array.shape), name)


def model_of(cases):
    """One model with the nodes of all cases, and the tensors to feed it with, by name. `cases`
    maps numbers to cases."""
    nodes, inputs, outputs, weights, feeds = [], [], [], [], {}
    for k, case in cases.items():
        names, results = value_names(case, k)
        nodes.append(helper.make_node(case.op, [n or "" for n in names], [n or "" for n in results],
                                      name=f"c{k}", domain=case.domain, **case.attributes))
        for i, (name, array) in enumerate(zip(names, case.inputs)):
            if name is None:
                continue
            proto = tensor(name, array)
            if i in case.constants:
                weights.append(proto)
                continue
            feeds[name] = proto
            inputs.append(helper.make_tensor_value_info(name, proto.data_type, array.shape))
        outputs += [onnx.ValueInfoProto(name=n) for n in results if n]
    graph = helper.make_graph(nodes, "oracle", inputs, outputs, weights)
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10), feeds


# --- Runs: per case the list of its outputs, or the text of an error ---------------------------------


def in_groups(cases, run):
    """Runs all cases in one model; where that fails, each by itself, to see which it is."""
    if not cases:
        return {}
    try:
        return run(cases)
    except RuntimeError as error:
        if len(cases) == 1:
            return {k: str(error) for k in cases}
    results = {}
    for k in cases:
        results.update(in_groups({k: cases[k]}, run))
    return results


def collect(cases, read):
    return {k: [read(n) if n else None for n in value_names(case, k)[1]]
            for k, case in cases.items()}


def read_output(folder, name):
    if (folder / f"{name}.npy").exists():
        return numpy.load(folder / f"{name}.npy")
    return numpy_helper.to_array(TensorProto.FromString((folder / f"{name}.pb").read_bytes()))


def run_opsrun(cases, program, provider, folder):
    def run(group):
        model, feeds = model_of(group)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        command = [program, "run", folder / "model.onnx", "--provider", provider, "--no-fallback",
                   "--output-dir", folder / "out"]
        for name, proto in feeds.items():
            (folder / f"{name}.pb").write_bytes(proto.SerializeToString())
            command += ["--input", f"{name}={folder / name}.pb"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or f"opsrun ended with {done.returncode}")
        return collect(group, lambda name: read_output(folder / "out", name))

    results = in_groups(dict(enumerate(cases)), run)
    return [results[k] for k in range(len(cases))]


def infer_types(cases, dump, folder):
    """What the runtime infers for each output from the model alone, as "float[2,3]"."""
    def run(group):
        (folder / "infer.onnx").write_bytes(model_of(group)[0].SerializeToString())
        done = subprocess.run([dump, folder / "infer.onnx"], capture_output=True, text=True)
        rows = dict(line.split("\t", 2)[:2] for line in done.stdout.splitlines() if "\t" in line)
        if done.returncode != 0:
            raise RuntimeError(rows.get("error") or f"graph_dump ended with {done.returncode}")
        return collect(group, lambda name: rows.get(name, "nothing"))

    results = in_groups(dict(enumerate(cases)), run)
    return [results[k] for k in range(len(cases))]


def run_onnxruntime(cases):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1

    def run(group):
        model, feeds = model_of(group)
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                   providers=["CPUExecutionProvider"])
            names = [output.name for output in session.get_outputs()]
            values = session.run(names, {k: numpy_helper.to_array(v) for k, v in feeds.items()})
        except Exception as error:  # onnxruntime's own types of error
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        found = dict(zip(names, values))
        return collect(group, lambda name: found[name])

    asked = {k: dataclasses.replace(case, inputs=case.witness or case.inputs)
             for k, case in enumerate(cases) if case.ort}
    results = in_groups(asked, run)
    return [results.get(k) for k in range(len(cases))]


# --- Judgement --------------------------------------------------------------------------------------


def as_float(array):
    return numpy.asarray(array).astype(numpy.float64)


def float_difference(found, expected):
    """The largest difference of two float arrays; infinite where their special values differ."""
    a, b = as_float(found), as_float(expected)
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    difference = numpy.where(same, 0.0, numpy.abs(numpy.where(same, 0.0, a - b)))
    return numpy.where(numpy.isfinite(difference), difference, numpy.inf)


def against_formula(case, found, expected):
    """How far `found` is from the formula, as a share of what is allowed, and a complaint or ''."""
    expected = numpy.asarray(expected)
    if found.shape != expected.shape:
        return numpy.inf, f"shape {found.shape}, the formula gives {expected.shape}"
    if found.dtype not in FLOATS:
        wrong = numpy.flatnonzero(found.ravel().astype(object) != expected.ravel().astype(object))
        if len(wrong) == 0:
            return 0.0, ""
        at = wrong[0]
        return numpy.inf, (f"{len(wrong)} of {found.size} differ from the formula, element {at}: "
                           f"found {found.flat[at]}, expected {expected.flat[at]}")
    rounded = expected.astype(found.dtype)
    finite = numpy.abs(as_float(rounded))
    finite = finite[numpy.isfinite(finite)]
    allowed = case.ulps * FLOATS[found.dtype] * (finite.max() if finite.size else 1.0)
    difference = float_difference(found, rounded)
    if difference.size == 0 or difference.max() == 0:
        return 0.0, ""
    at = int(difference.argmax())
    share = difference.max() / allowed if allowed else numpy.inf
    complaint = (f"element {at}: found {found.flat[at]}, the formula gives {rounded.flat[at]} "
                 f"({share:.3g} of what is allowed)")
    return share, complaint if share > 1 else ""


def against_inference(found, inferred):
    """A complaint where the inferred type contradicts an output or leaves it open; else ''."""
    number = helper.np_dtype_to_tensor_dtype(found.dtype)
    actual = f"{TensorProto.DataType.Name(number).lower()}[{','.join(map(str, found.shape))}]"
    return "" if inferred == actual else f"is {actual}, inferred is {inferred}"


def against_onnxruntime(case, found, expected):
    """The number of elements that differ from onnxruntime's, and a complaint or ''."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return found.size, (f"{found.dtype}{list(found.shape)}, onnxruntime gives "
                            f"{expected.dtype}{list(expected.shape)}")
    difference = float_difference(found, expected)
    if found.dtype in FLOATS:
        size = numpy.nan_to_num(numpy.abs(as_float(expected)), nan=0.0, posinf=0.0)
        wrong = difference > case.atol + case.rtol * size
        within = not wrong.any()
    else:
        wrong = difference > 0
        within = difference.max(initial=0) <= case.steps and wrong.sum() <= case.share * found.size
    if within:
        return int(wrong.sum()), ""
    at = int(difference.argmax())
    return int(wrong.sum()), (f"{wrong.sum()} of {found.size} differ from onnxruntime's, element "
                              f"{at}: found {found.flat[at]}, there {expected.flat[at]}")


class Tally:
    """What was compared for one operator."""

    def __init__(self, name):
        self.name = name
        self.cases = self.elements = self.formulas = self.witnessed = self.differing = 0
        self.worst = 0.0  # difference to the formula, as a share of what is allowed
        self.failures = []
        self.decisions = {}  # id: how many cases differ by it

    def fail(self, case, text):
        self.failures.append(f"{case.text()}: {text}")

    def finish(self, shown):
        for decision, count in self.decisions.items():
            if count == 0:
                self.failures.append(f"{self.name}: decision {decision} makes no difference to "
                                     "onnxruntime; take it out of the cases")
        for failure in self.failures[:shown]:
            print(f"FAILED {failure}")
        if len(self.failures) > shown:
            print(f"       and {len(self.failures) - shown} more of {self.name}")

    @staticmethod
    def print_table(tallies):
        print(f"{'operator':30} {'cases':>6} {'outputs':>9} {'formula':>8} {'worst':>8} "
              f"{'ort':>6} {'differing':>9}  decisions")
        for t in tallies:
            decisions = ", ".join(f"{k} ({v})" for k, v in t.decisions.items())
            print(f"{t.name:30} {t.cases:6} {t.elements:9} {t.formulas:8} {t.worst:8.2f} "
                  f"{t.witnessed:6} {t.differing:9}  {decisions}")


def judge(case, ours, inferred, theirs, tally, verbose):
    tally.cases += 1
    if verbose:
        print(case.text())
    if isinstance(ours, str):
        tally.fail(case, ours)
        return
    if isinstance(inferred, str):
        tally.fail(case, f"inference refuses it: {inferred}")
    elif inferred is not None:
        for found, text in zip(ours, inferred):
            complaint = "" if found is None else against_inference(found, text)
            if complaint:
                tally.fail(case, complaint)
    tally.elements += sum(y.size for y in ours if y is not None)
    if case.formula is not None:
        tally.formulas += 1
        for found, expected in zip(ours, case.formula()):
            if found is None or expected is None:
                continue
            share, complaint = against_formula(case, found, expected)
            tally.worst = max(tally.worst, share)
            if complaint:
                tally.fail(case, complaint)
    if case.decision:
        tally.decisions.setdefault(case.decision, 0)
    if not case.ort:
        if case.formula is None:
            tally.fail(case, "neither a formula nor onnxruntime judges it")
        return
    if isinstance(theirs, str):
        tally.fail(case, f"onnxruntime refuses it: {theirs}")
        return
    tally.witnessed += 1
    complaints = []
    if case.unspecified is not None:
        theirs = [y if y is None or y.shape != x.shape else numpy.where(mask, x, y)
                  for x, y, mask in zip(ours, theirs, case.unspecified())]
    for found, expected in zip(ours, theirs):
        if found is None:
            continue
        count, complaint = against_onnxruntime(case, found, expected)
        tally.differing += count
        complaints += [complaint] if complaint else []
    if complaints and case.decision:
        tally.decisions[case.decision] += 1
    elif complaints:
        tally.fail(case, "; ".join(complaints))
