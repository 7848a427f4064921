# SPDX-License-Identifier: Apache-2.0
"""opsconform --model on networks whose verdict is known.

usage: models_test.py OPSCONFORM CPU FAULTY MYNPU

Right providers pass at every level; a MatMul that adds up in float16, a provider that takes no node, and a
model that cannot be asked are each named. The graphs are those where partitions go wrong: values that
leave a fused group, groups that would close a cycle, subgraphs that read their surroundings.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSCONFORM, CPU, FAULTY, MYNPU = sys.argv[1:5]
RNG = np.random.default_rng(7)


def floats(name, *shape):
    return numpy_helper.from_array((RNG.standard_normal(shape) / 4).astype(np.float32), name)


def model(nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(
        nodes, "graph",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs],
        [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made


def F(name, *shape):
    return name, TensorProto.FLOAT, shape


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"{op}_{outputs.split()[0]}",
                            **attributes)


def perceptron():
    return model([node("MatMul", "x w", "h"), node("Add", "h b", "s"), node("Relu", "s", "r"),
                  node("MatMul", "r v", "m"), node("Softmax", "m", "y")],
                 [("x", [9, 300])], [F("y", 9, 17)],
                 [floats("w", 300, 64), floats("b", 64), floats("v", 64, 17)])


def leaving_values():
    """What a fusion would swallow is read again and leaves the graph."""
    return model([node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Relu", "c", "r"),
                  node("Add", "c r", "s"), node("Sigmoid", "c", "g"), node("Mul", "s g", "y")],
                 [("x", [1, 4, 7, 7])], [F("y", 1, 6, 7, 7), F("c", 1, 6, 7, 7)],
                 [floats("w", 6, 4, 3, 3)])


def cycle():
    """Relu and Add may be one group only without the Cos between them, which few providers take."""
    return model([node("Relu", "x", "r"), node("Cos", "r", "k"), node("Det", "q", "d"),
                  node("Add", "r k", "a"), node("Mul", "a d", "y")],
                 [("x", [5, 8]), ("q", [3, 3])], [F("y", 5, 8)])


def implicit_inputs():
    """Both branches of an If read values of the graph around it, one through a branch of its own."""
    def branch(name, nodes):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(
            nodes[-1].output[0], TensorProto.FLOAT, [6, 6])])
    inner = branch("inner", [node("MatMul", "r r", "i")])
    other = branch("other", [node("Neg", "x", "o")])
    then = branch("then", [helper.make_node("If", ["flag"], ["t"], then_branch=inner,
                                            else_branch=other)])
    otherwise = branch("otherwise", [node("Add", "x r", "e")])
    return model([node("Relu", "x", "r"), node("ReduceSum", "r", "z", keepdims=0),
                  node("Greater", "z zero", "flag"),
                  helper.make_node("If", ["flag"], ["b"], then_branch=then, else_branch=otherwise),
                  node("Mul", "b r", "y")],
                 [("x", [6, 6])], [F("y", 6, 6)],
                 [numpy_helper.from_array(np.float32(0), "zero")])


def shared_weights():
    """One constant belongs to two nodes, as itself and transposed; an input leaves as it came."""
    return model([node("MatMul", "x w", "a"), node("Transpose", "w", "t", perm=[1, 0]),
                  node("MatMul", "a t", "b"), node("Add", "b x", "y"), node("Identity", "x", "z"),
                  node("ArgMax", "b", "i", axis=1)],
                 [("x", [8, 24])],
                 [F("y", 8, 24), F("z", 8, 24), ("i", TensorProto.INT64, [8, 1])],
                 [floats("w", 24, 16)])


def loop():
    body = helper.make_graph(
        [node("MatMul", "state w", "next"), node("Tanh", "next", "kept"),
         node("Identity", "go", "still")], "body",
        [helper.make_tensor_value_info("step", TensorProto.INT64, []),
         helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", TensorProto.FLOAT, [4, 12])],
        [helper.make_tensor_value_info("still", TensorProto.BOOL, []),
         helper.make_tensor_value_info("kept", TensorProto.FLOAT, [4, 12])])
    return model([helper.make_node("Loop", ["count", "", "x"], ["s"], body=body),
                  node("Add", "s x", "y")],
                 [("x", [4, 12])], [F("y", 4, 12)],
                 [floats("w", 12, 12), numpy_helper.from_array(np.int64(5), "count")])


def sequence_input():
    graph = helper.make_graph(
        [node("SequenceLength", "s", "n")], "graph",
        [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("n", TensorProto.INT64, [])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


GRAPHS = [perceptron, leaving_values, cycle, implicit_inputs, shared_weights, loop]


def run(folder, made, provider, *words):
    path = folder / "net.onnx"
    onnx.save(made, path)
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([OPSCONFORM, "--provider", provider, "--model", path, "--timeout", "120",
                           "--report", f"json:{report}", *words], capture_output=True, text=True)
    cases = json.loads(report.read_text())["cases"] if report.exists() else []
    return done, cases


def expect(condition, what, done):
    if condition:
        return
    sys.exit(f"models_test: {what}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}")


def statuses(cases):
    return [case["status"] for case in cases if case["id"].startswith("model/")]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for graph in GRAPHS:
            for provider in (CPU, MYNPU):
                done, cases = run(folder, graph(), provider)
                expect(done.returncode == 0 and statuses(cases) == ["PASS"] * 4,
                       f"{graph.__name__} on {provider}", done)
                expect([c["id"] for c in cases] == [f"model/net/level-{n}" for n in range(4)],
                       "ids", done)
        done, cases = run(folder, perceptron(), FAULTY, "--option",
                          "fault=matmul_float16_accumulation")
        expect(done.returncode == 1 and set(statuses(cases)) == {"FAIL"} and
               all(c["check"] == "values" for c in cases), "a MatMul in float16", done)
        expect("--model" in cases[0]["repeat"] and "--seed" in cases[0]["repeat"], "repeat line",
               done)
        alone = model([node("Det", "q", "d")], [("q", [3, 3])], [F("d")])
        done, cases = run(folder, alone, FAULTY)
        expect(done.returncode == 6 and set(statuses(cases)) == {"UNSUPPORTED"},
               "a provider that takes no node", done)
        done, cases = run(folder, sequence_input(), CPU)
        expect(done.returncode == 1 and set(statuses(cases)) == {"UNTRUSTED"} and
               "'s'" in cases[0]["message"], "an input that cannot be drawn", done)
        done, _ = run(folder, alone, CPU, "--op", "Relu")
        expect(done.returncode == 4 and "--op belongs to contracts, --model" in done.stderr,
               "an option without meaning", done)
    print(f"models_test: {len(GRAPHS)} graphs on 2 providers and 4 verdicts are right")


main()
