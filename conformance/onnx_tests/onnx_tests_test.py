# SPDX-License-Identifier: Apache-2.0
"""Runs opsconform --onnx-tests on small folders of cases and checks verdicts and reports.

usage: onnx_tests_test.py OPSCONFORM FAULTY_LIBRARY REFERENCE_LIBRARY

Models and values are written with the onnx package; expected values are numpy's. The faulty
provider dies, hangs or answers wrongly on demand: only its case may suffer.
"""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import numpy as np
from onnx import TensorProto, helper, numpy_helper

X = np.array([[-1.5, 2.0, 0.0], [3.0, -4.0, 5.25]], np.float32)
RELU = np.maximum(X, 0)


def model(nodes, inputs, outputs, opset=14):
    def values(listing):
        return [helper.make_tensor_value_info(name, kind, shape)
                for name, kind, shape in listing]
    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def relu_model(shape=(2, 3)):
    return model([helper.make_node("Relu", ["x"], ["y"])], [("x", TensorProto.FLOAT, shape)],
                 [("y", TensorProto.FLOAT, shape)])


class Tests:
    def __init__(self, words, folder):
        self.program, self.faulty, self.reference = words
        self.folder = pathlib.Path(folder)
        self.wrong = 0

    def write(self, case, a_model, *data_sets, **tolerance):
        """Writes the case SUITE/NAME; a data set is ([inputs], [outputs])."""
        target = self.folder / "data" / case
        target.mkdir(parents=True)
        (target / "model.onnx").write_bytes(a_model.SerializeToString())
        for number, sides in enumerate(data_sets):
            data_set = target / f"test_data_set_{number}"
            data_set.mkdir()
            for kind, arrays in zip(("input", "output"), sides):
                for index, array in enumerate(arrays):
                    (data_set / f"{kind}_{index}.pb").write_bytes(
                        numpy_helper.from_array(array).SerializeToString())
        if tolerance:
            (target / "data.json").write_text(json.dumps(tolerance), encoding="utf-8")
        return target

    def expect(self, condition, text):
        if not condition:
            self.wrong += 1
            print(f"WRONG {text}")

    def run(self, *words, code, says=()):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True,
                              timeout=120, check=False)
        said = done.stdout + done.stderr
        self.expect(done.returncode == code,
                    f"{words}: expected exit code {code}, found {done.returncode}\n{said[-800:]}")
        for text in says:
            self.expect(text in said, f"{words}: missing {text!r} in\n{said[-800:]}")
        return done

    def judge(self, provider, code, *words, data="data"):
        report = self.folder / "r.json"
        report.unlink(missing_ok=True)
        done = self.run("--provider", provider, "--onnx-tests", self.folder / data, "--report",
                        f"json:{report}", "--report", f"junit:{self.folder / 'r.xml'}", *words,
                        code=code)
        return json.loads(report.read_text(encoding="utf-8")), done

    def cases(self):
        two = model([helper.make_node("Relu", ["x"], ["h"], name="first"),
                     helper.make_node("Floor", ["h"], ["y"], name="second")],
                    [("x", TensorProto.FLOAT, (2, 3))], [("y", TensorProto.FLOAT, (2, 3))])
        text = model([helper.make_node("Identity", ["x"], ["y"])],
                     [("x", TensorProto.STRING, (2,))], [("y", TensorProto.STRING, (2,))])
        words = np.array(["a", "b"], object)
        near = RELU + np.float32(0.004)
        self.write("good/test_relu", relu_model(), ([X], [RELU]), ([RELU], [RELU]))
        self.write("good/test_two", two, ([X], [np.floor(RELU)]))
        self.write("good/test_text", text, ([words], [words]))
        self.write("good/test_wide", relu_model(), ([X], [near]), atol=0.01, reason="it is wide")
        self.write("bad/test_value", relu_model(), ([X], [near]))
        self.write("bad/test_second_set", relu_model(), ([X], [RELU]), ([X], [near]))
        self.write("bad/test_type", relu_model(), ([X], [RELU.astype(np.float64)]))
        self.write("bad/test_shape", relu_model(("a", "b")), ([X], [RELU.reshape(3, 2)]))
        self.write("bad/test_text", text, ([words], [words[::-1]]))
        self.write("bad/test_no_data", relu_model())
        self.write("bad/test_no_input", relu_model(), ([], [RELU]))
        self.write("bad/test_no_output", relu_model(), ([X], []))
        self.write("bad/test_unknown", model(
            [helper.make_node("Frobnicate", ["x"], ["y"])], [("x", TensorProto.FLOAT, (2, 3))],
            [("y", TensorProto.FLOAT, (2, 3))]), ([X], [RELU]))
        self.sequences()
        broken = self.write("bad/test_broken", relu_model(), ([X], [RELU]))
        (broken / "model.onnx").write_bytes(b"no model")
        broken = self.write("bad/test_broken_file", relu_model(), ([X], [RELU]))
        (broken / "test_data_set_0" / "input_0.pb").write_bytes(b"\xff\xff\xff")

    def sequences(self):
        """A sequence as an output, right, with a wrong item, and with one too many."""
        kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
        graph = helper.make_graph(
            [helper.make_node("SequenceConstruct", ["x", "x"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
            [helper.make_value_info("y", kind)])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
        for case, items in (("good/test_sequence", [X, X]), ("bad/test_item", [X, RELU]),
                            ("bad/test_length", [X, X, X])):
            target = self.write(case, made, ([X], []))
            (target / "test_data_set_0" / "output_0.pb").write_bytes(
                numpy_helper.from_list(items, "y").SerializeToString())

    def verdicts(self):
        checks = {"test_value": "values", "test_second_set": "values", "test_type": "values",
                  "test_shape": "values", "test_text": "values", "test_item": "values",
                  "test_length": "values", "test_no_data": "files",
                  "test_no_input": "run", "test_no_output": "files", "test_unknown": "session",
                  "test_broken": "session", "test_broken_file": "files"}
        report, _ = self.judge(self.reference, 1)
        found = {case["id"]: case for case in report["cases"]}
        self.expect(len(found) == 18 and list(found) == sorted(found), f"ids: {list(found)}")
        for name, case in found.items():
            _, suite, short = name.split("/")
            if suite == "good":
                self.expect(case["status"] == "PASS", f"{name}: {case}")
            else:
                self.expect((case["status"], case["check"]) == ("FAIL", checks[short]),
                            f"{name}: {case['status']}, {case.get('check')}")
        wide = found["onnx/good/test_wide"]
        self.expect("it is wide" in wide["message"] and "atol 0.01" in wide["message"],
                    f"the tolerance is not named: {wide}")
        self.expect(found["onnx/bad/test_second_set"]["message"].startswith("test_data_set_1"),
                    "the second data set is not named")
        value = found["onnx/bad/test_value"]
        self.expect(value["error"] > 1 and value["limit"] == 1, f"no measure: {value}")
        self.expect(value["attempts"] == 2 and len(value["nodes"]) == 1,
                    f"the nodes of a repeated case: {value}")
        self.expect("onnx_tests" in report["environment"] and
                    "contracts" not in report["environment"], "the environment names contracts")
        suites = ElementTree.parse(self.folder / "r.xml").getroot()
        self.expect([suite.get("name") for suite in suites] == ["bad", "good"] and
                    suites.get("failures") == "13", "the JUnit report has other sums")

    def placement(self):
        report, done = self.judge(self.faulty, 0, data="data/good")
        found = {case["id"]: case for case in report["cases"]}
        nodes = [(node["node"], node["op"], node["provider"])
                 for node in found["onnx/good/test_two"]["nodes"]]
        self.expect(nodes == [("first", "Relu", "faulty"), ("second", "Floor", "reference")],
                    f"nodes of test_two: {nodes}")
        self.expect(found["onnx/good/test_two"]["nodes_run"] == {"faulty": 1, "reference": 1},
                    "sums of test_two")
        self.expect(report["nodes_run"] == {"faulty": 3, "reference": 3},
                    f"sums of the run: {report['nodes_run']}")
        self.expect("nodes run by" in done.stdout, "the console says nothing of nodes")
        report, _ = self.judge(self.reference, 0, data="data/good")
        self.expect(report["nodes_run"] == {"reference": 6}, "the oracle runs all alone")
        self.expect(report["summary"]["PASS"] == 5, "behind the oracle stands nobody")

    def fallback(self):
        """What the provider runs no node of is no PASS of its, and no proof; wrong it is FAIL."""
        report, _ = self.judge(self.faulty, 0, data="data/good")
        found = {case["id"].split("/")[-1]: case for case in report["cases"]}
        self.expect({name: case["status"] for name, case in found.items()} == {
            "test_relu": "PASS", "test_sequence": "UNSUPPORTED", "test_text": "UNSUPPORTED",
            "test_two": "PASS", "test_wide": "PASS"}, f"fallback: {found}")
        self.expect(found["test_text"]["message"] == "the provider takes no node: reference: 1",
                    f"who ran test_text: {found['test_text']}")
        report, _ = self.judge(self.faulty, 6, "--filter", "*/test_text", data="data/good")
        self.expect(report["summary"]["UNSUPPORTED"] == 1, f"nothing passes: {report['summary']}")
        report, _ = self.judge(self.faulty, 1, "--filter", "*/test_text", data="data/bad")
        self.expect(report["summary"]["FAIL"] == 1, f"a wrong fallback: {report['summary']}")

    def isolation(self):
        """A provider that dies or hangs costs its case."""
        seven = np.arange(7, dtype=np.float32)
        self.write("faults/test_matrix", relu_model(), ([X], [RELU]))
        self.write("faults/test_seven", relu_model((7,)), ([seven], [seven]))
        self.write("faults/test_vector", relu_model((5,)), ([seven[:5]], [seven[:5]]))
        for fault, name, status in (("segfault", "test_matrix", "CRASH"),
                                    ("calls_exit", "test_matrix", "CRASH"),
                                    ("hang", "test_seven", "TIMEOUT")):
            report, _ = self.judge(self.faulty, 1, "--option", f"fault={fault}", "--timeout", "3",
                                   data="data/faults")
            found = {case["id"].split("/")[-1]: case["status"] for case in report["cases"]}
            wanted = dict.fromkeys(("test_matrix", "test_seven", "test_vector"), "PASS")
            self.expect(found == {**wanted, name: status}, f"{fault}: {found}")

    def repeats(self):
        report, _ = self.judge(self.reference, 1, "--filter", "onnx/bad/test_value")
        self.expect(len(report["cases"]) == 1, "the filter selects one case")
        words = shlex.split(report["cases"][0]["repeat"])
        self.run(*words[1:], code=1, says=["FAIL onnx/bad/test_value"])
        self.run("--provider", self.reference, "--onnx-tests", self.folder / "data/good/test_relu",
                 code=0, says=["1 PASS"])

    def usage(self):
        lib = ["--provider", self.reference]
        tests = [*lib, "--onnx-tests", self.folder / "data"]
        self.run(*lib, "--onnx-tests", "/no/folder", code=4, says=["/no/folder"])
        (self.folder / "empty").mkdir()
        self.run(*lib, "--onnx-tests", self.folder / "empty", code=4, says=["found none"])
        for words in (["--op", "Relu"], ["--contracts", "c"], ["--seed", "3"], ["--tier", "merge"],
                      ["--mode", "support"], ["--profile", "strict"], ["--require", "f"]):
            self.run(*tests, *words, code=4, says=["belongs to contracts"])
        self.run(*tests, "--filter", "no such case", code=6)
        self.run("--provider", "/no/such.so", "--onnx-tests", self.folder / "data", code=4,
                 says=["/no/such.so"])
        done = self.run("--mode", "list", "--onnx-tests", self.folder / "data/good", code=0)
        self.expect(done.stdout.split() == [f"onnx/good/test_{name}" for name in
                                            ("relu", "sequence", "text", "two", "wide")], "the list of ids")
        self.write("json/test_relu", relu_model(), ([X], [RELU]), rtol="wide")
        self.run(*lib, "--onnx-tests", self.folder / "data/json", code=4, says=["data.json"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(sys.argv[1:4], folder)
        tests.cases()
        for test in (tests.verdicts, tests.placement, tests.fallback, tests.isolation,
                     tests.repeats, tests.usage):
            test()
        print("ok" if tests.wrong == 0 else f"{tests.wrong} wrong")
    return 1 if tests.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
