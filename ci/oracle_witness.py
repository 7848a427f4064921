# SPDX-License-Identifier: Apache-2.0
"""The witnesses of ci/oracle: onnx.reference and onnxruntime on one case, each with a time limit.

A witness may crash or hang: cases run in processes of their own, and one that dies costs the case
in its hands.
"""
import json
import multiprocessing
import signal
import time
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import oracle_cases
import oracle_judge

WITNESSES = ["onnx.reference", "onnxruntime"]
TIME_LIMIT = 15  # seconds for one case and witness

# Element types that numpy lacks pass through a Cast to one that holds all their values.
CARRIERS = {TensorProto.BFLOAT16: TensorProto.FLOAT, TensorProto.FLOAT8E4M3FN: TensorProto.FLOAT,
            TensorProto.FLOAT8E4M3FNUZ: TensorProto.FLOAT, TensorProto.FLOAT8E5M2: TensorProto.FLOAT,
            TensorProto.FLOAT8E5M2FNUZ: TensorProto.FLOAT, TensorProto.FLOAT8E8M0: TensorProto.FLOAT,
            TensorProto.FLOAT4E2M1: TensorProto.FLOAT, TensorProto.INT4: TensorProto.INT8,
            TensorProto.UINT4: TensorProto.UINT8, TensorProto.INT2: TensorProto.INT8,
            TensorProto.UINT2: TensorProto.UINT8}


class Unsupported(Exception):
    """The witness does not run this case."""


class TooLong(Exception):
    """The witness does not end in time."""


# ---- onnx.reference ---------------------------------------------------------------------------

def run_reference(model, values):
    from onnx.reference import ReferenceEvaluator  # pylint: disable=import-outside-toplevel
    evaluator = ReferenceEvaluator(model)
    names = [info.name for info in oracle_cases.inputs_of(model)]
    return evaluator.run(None, dict(zip(names, values)))


# ---- onnxruntime ------------------------------------------------------------------------------

def carry(model):
    """The model with Casts around every element type that numpy lacks, and the inputs' types."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    nodes, carried = list(graph.node), {}
    for info in oracle_cases.inputs_of(changed):
        element = info.type.tensor_type.elem_type
        if element in CARRIERS:
            inner = info.name + "·narrow"
            for node in nodes:
                node.input[:] = [inner if name == info.name else name for name in node.input]
            keep = {"saturate": 0} if "FLOAT8" in TensorProto.DataType.Name(element) else {}
            nodes.insert(0, helper.make_node("Cast", [info.name], [inner], to=element, **keep))
            info.type.tensor_type.elem_type = CARRIERS[element]
            carried[info.name] = helper.tensor_dtype_to_np_dtype(CARRIERS[element])
    for info in graph.output:
        element = info.type.tensor_type.elem_type
        if element in CARRIERS:
            outer = info.name + "·wide"
            nodes.append(helper.make_node("Cast", [info.name], [outer], to=CARRIERS[element]))
            info.type.tensor_type.elem_type = CARRIERS[element]
            info.name = outer
    del graph.node[:]
    graph.node.extend(nodes)
    return changed, carried


def run_onnxruntime(model, values):
    import onnxruntime  # pylint: disable=import-outside-toplevel
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    changed, carried = carry(model)
    session = onnxruntime.InferenceSession(changed.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    feeds = {info.name: value.astype(carried[info.name]) if info.name in carried else value
             for info, value in zip(oracle_cases.inputs_of(changed), values)}
    outputs = session.run(None, feeds)
    for index, info in enumerate(model.graph.output):
        element = info.type.tensor_type.elem_type
        if element in CARRIERS:
            outputs[index] = outputs[index].astype(helper.tensor_dtype_to_np_dtype(element))
    return outputs


RUNNERS = {"onnx.reference": run_reference, "onnxruntime": run_onnxruntime}

# In what a witness computes a result of a narrow type: numpy in the type itself.
ACCUMULATES = {"onnx.reference": {np.dtype(np.float16): np.float16,
                                  np.dtype(ml_dtypes.bfloat16): ml_dtypes.bfloat16},
               "onnxruntime": {}}


def on_alarm(number, frame):
    raise TooLong()


def ask(witness, model, values):
    """The witness's outputs; Unsupported with its reason, TooLong."""
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(TIME_LIMIT)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return RUNNERS[witness](model, values)
    except TooLong:
        raise
    except Exception as error:  # pylint: disable=broad-exception-caught
        raise Unsupported(f"{type(error).__name__}: {error}") from error
    finally:
        signal.alarm(0)


# ---- One case ---------------------------------------------------------------------------------

def read_doubles(folder, kind, index):
    path = folder / f"{kind}_{index}.pb"
    if not path.exists():
        return None
    return numpy_helper.to_array(TensorProto.FromString(path.read_bytes()))


def contract_limits(case, witness):
    """A function of the output's number that gives its `limits`."""
    about = json.loads((case.folder / "case.json").read_text(encoding="utf-8"))
    data = case.folder / "test_data_set_0"

    def of_output(index):
        magnitude, exact = read_doubles(data, "magnitude", index), read_doubles(data, "wide", index)

        others = {kind: read_doubles(data, kind, index) for kind in ("deviation", "lower", "upper")}

        def limits(expected):
            return oracle_judge.of_contract(
                expected, about["outputs"][index], about["judge"], magnitude, exact,
                ACCUMULATES[witness].get(expected.dtype), others)
        return limits
    return of_output


def count_floats(values):
    return sum(value.size for value in values
               if isinstance(value, np.ndarray) and oracle_judge.is_float(value))


def model_limits(case, model, inputs):
    """A function of the output's number that gives its `limits`."""
    infos = list(model.graph.output)
    sets = sorted(case.outputs.glob("test_data_set_*"))
    rounds, single = oracle_cases.rounds(model), oracle_cases.elementwise(model)
    given = count_floats(inputs)
    moved = [oracle_cases.read_values(folder, "output", infos) for folder in sets
             if not folder.name.endswith("_0")]

    def of_output(index):
        def limits(expected):
            base = oracle_judge.wide(expected)
            if not rounds:
                return base, np.zeros(base.shape)
            others = [values[index] for values in moved
                      if isinstance(values[index], np.ndarray)]
            terms = given / max(1, expected.size)
            return base, oracle_judge.of_models(expected, others, single, terms)
        return limits
    return of_output


def shapes_alone(values):
    """Of random results: their shapes and types."""
    return [np.zeros_like(value) if isinstance(value, np.ndarray) else value for value in values]


def judge(case, witness, model, values, expected):
    got = ask(witness, model, values)
    if oracle_cases.is_random(model):
        expected, got = shapes_alone(expected), shapes_alone(got)
    limits = (contract_limits(case, witness) if case.kind == "contract"
              else model_limits(case, model, values))
    if len(got) != len(expected):
        return oracle_judge.Difference("shape", f"{len(expected)} outputs, the witness gives "
                                                f"{len(got)}")
    for index, (ours, theirs) in enumerate(zip(expected, got)):
        difference = oracle_judge.compare(ours, theirs, limits(index))
        if difference:
            difference.message = f"output {index}: {difference.message}"
            return difference
    return None


def types_of(model):
    names = []
    for info in list(model.graph.input) + list(model.graph.output):
        if info.type.WhichOneof("value") == "tensor_type":
            name = TensorProto.DataType.Name(info.type.tensor_type.elem_type).lower()
            if name not in names:
                names.append(name)
    return names


def run_case(case, witnesses, announce):
    """A list of (witness, verdict, kind, message, seconds) and the types of the case. `announce`
    is called with each witness that is asked."""
    model = onnx.load(case.folder / "model.onnx")
    values = oracle_cases.read_values(case.folder / "test_data_set_0", "input",
                                      oracle_cases.inputs_of(model))
    if not case.refused:
        expected = oracle_cases.read_values(case.outputs / "test_data_set_0", "output",
                                            list(model.graph.output))
    rows = []
    for witness in witnesses:
        if witness in case.ended:
            rows.append((witness, "unsupported", "", case.ended[witness], 0))
            continue
        announce(witness)
        start = time.monotonic()
        kind = message = ""
        try:
            if case.refused:
                ask(witness, model, values)
                verdict, kind = "disagree", "error"
                message = f"the reference provider refuses: {case.refused}"
            else:
                difference = judge(case, witness, model, values, expected)
                verdict = "disagree" if difference else "agree"
                if difference:
                    kind, message = difference.kind, difference.message
        except Unsupported as error:
            verdict, message = "unsupported", str(error)
        except TooLong:
            verdict, message = "unsupported", f"not done after {TIME_LIMIT} s"
        rows.append((witness, verdict, kind, message[:600], time.monotonic() - start))
    return rows, types_of(model)


# ---- Processes --------------------------------------------------------------------------------

def work(pipe, cases, witnesses):
    for index, case in enumerate(cases):
        pipe.send(("begin", index, None))
        try:
            done = run_case(case, witnesses, lambda name: pipe.send(("ask", 0, name)))
            pipe.send(("end", index, done))
        except Exception as error:  # pylint: disable=broad-exception-caught
            pipe.send(("broken", index, f"{type(error).__name__}: {error}"))
    pipe.send(("done", 0, None))


class Worker:
    """A process with a share of the cases; `results` is called for each that is done."""

    def __init__(self, cases, witnesses, on_result):
        self.cases, self.witnesses, self.on_result = cases, witnesses, on_result
        self.start()

    def start(self):
        self.current = self.witness = None
        self.pipe, child = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=work,
                                               args=(child, self.cases, self.witnesses))
        self.process.start()
        child.close()

    def go_on(self):
        """The process is gone: the case is run again without the witness that ended it."""
        if self.current is None or self.witness is None:
            raise RuntimeError(f"a worker ended with {self.process.exitcode} by itself")
        self.cases = self.cases[self.current:]
        self.cases[0].ended[self.witness] = f"ends the process with {self.process.exitcode}"
        self.start()
        return True

    def receive(self):
        """False when everything is done."""
        try:
            word, index, body = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return self.go_on()
        if word == "begin":
            self.current, self.witness = index, None
        elif word == "ask":
            self.witness = body
        elif word == "end":
            self.on_result(self.cases[index], body, None)
        elif word == "broken":
            self.on_result(self.cases[index], None, body)
        return word != "done"


def run_all(cases, witnesses, jobs, on_result):
    """Every case through the witnesses; `on_result(case, result or None, trouble or None)`."""
    shares = [cases[i::jobs] for i in range(jobs)]
    workers = [Worker(share, witnesses, on_result) for share in shares if share]
    while workers:
        ready = multiprocessing.connection.wait([worker.pipe for worker in workers])
        workers = [worker for worker in workers
                   if worker.pipe not in ready or worker.receive()]
