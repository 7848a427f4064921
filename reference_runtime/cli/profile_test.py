#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""opsrun profile as a black box: usage: profile_test.py OPSRUN MODELS MYNPU SCHEMA [BROWSER]

The report is held to its JSON schema and to counts worked out from the models' shapes; the trace
to the Trace Event Format as its specification (Google, "Trace Event Format") states it, by a reader
of this file; the page to a browser, if there is one.
"""
import html.parser
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSRUN, MODELS, MYNPU, SCHEMA = sys.argv[1:5]
BROWSER = sys.argv[5] if len(sys.argv) > 5 else None
MODELS = pathlib.Path(MODELS)
SCHEMA = json.loads(pathlib.Path(SCHEMA).read_text(encoding="utf-8"))


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


class Profile(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def model(self, nodes, inputs, outputs, constants=()):
        path = self.folder / "model.onnx"
        graph = helper.make_graph(nodes, "g", inputs, outputs,
                                  [numpy_helper.from_array(array, name) for name, array in constants])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    def profile(self, model, *more):
        """Runs, and returns the report and what was printed."""
        report = self.folder / "op_profile.json"
        done = subprocess.run([OPSRUN, "profile", str(model), "--json", str(report), *map(str, more)],
                              capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        found = json.loads(report.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(SCHEMA).validate(found)
        self.check_sums(found)
        return found, done.stdout

    def check_sums(self, report):
        """What holds of every report."""
        nodes, operators = report["nodes"], report["operators"]
        for rows in (nodes, operators):
            self.assertEqual(sum(row["time_ns"]["sum"] for row in rows), report["runs"]["launch_ns"])
            self.assertAlmostEqual(sum(row["share"] for row in rows), 1.0, places=9)
            self.assertEqual([row["share"] for row in rows], sorted((row["share"] for row in rows), reverse=True))
        for row in nodes + operators:
            time = row["time_ns"]
            self.assertLessEqual(time["min"], time["median"])
            self.assertLessEqual(time["median"], time["p95"])
            self.assertLessEqual(time["min"] * row["count"], time["sum"])
        self.assertEqual(sum(row["nodes"] for row in operators), len(nodes))
        self.assertEqual(sum(row["prepares"] for row in nodes), report["prepares"]["count"])

    # ---- The report ----

    def test_every_model_and_placement_makes_a_report(self):
        for name in ("conv_net", "mlp", "shape_chain", "branches", "static_mlp"):
            for more in ((), ("--provider", MYNPU), ("--provider", "cpu", "--level", 3)):
                inputs = [word for file in sorted((MODELS / name).glob("in_*.npy"))
                          for word in ("--input", f"{file.stem[3:]}={file}")]
                report, _ = self.profile(MODELS / name / "model.onnx", *inputs, *more, "--runs", 3)
                self.assertEqual(report["runs"]["count"], 3)

    def test_figures_are_those_of_the_shapes(self):
        weights = np.ones((128, 32), np.float32)
        model = self.model([helper.make_node("MatMul", ["x", "w"], ["a"], "product"),
                            helper.make_node("Relu", ["a"], ["y"], "rectified"),
                            helper.make_node("Relu", ["a"], ["z"], "again")],
                           [value("x", [64, 128])], [value("y", None), value("z", None)], [("w", weights)])
        report, text = self.profile(model, "--runs", 4, "--level", 0)
        rows = {row["name"]: row for row in report["nodes"]}
        self.assertEqual(set(rows), {"product", "rectified", "again"})
        product, relu = rows["product"], rows["rectified"]
        self.assertEqual(product["flops"], 2 * 64 * 128 * 32)
        self.assertEqual(product["bytes_read"], 4 * (64 * 128 + 128 * 32))
        self.assertEqual(product["bytes_written"], 4 * 64 * 32)
        self.assertAlmostEqual(product["intensity"], 2 * 64 * 128 * 32 / (4 * (64 * 128 + 128 * 32 + 64 * 32)))
        self.assertEqual((relu["flops"], relu["bytes_read"], relu["bytes_written"]), (2048, 8192, 8192))
        self.assertEqual([rows[name]["count"] for name in rows], [4] * 3)
        operators = {row["op"]: row for row in report["operators"]}
        self.assertEqual((operators["Relu"]["nodes"], operators["Relu"]["count"]), (2, 8))
        self.assertEqual(operators["Relu"]["flops"], 2048)  # of one launch
        self.assertEqual(report["prepares"], {"count": 3, "after_first_run": 0, "plans_built": 1, "plans_evicted": 0})
        device, = report["devices"]
        self.assertEqual((device["provider"], device["peak_source"]), ("reference", "measured"))
        self.assertLessEqual(product["flops_per_second"], device["peak_flops"])
        self.assertIn("product", text)

    def test_memory_over_time_is_that_of_the_live_values(self):
        # Not in place, since x is the caller's and both a and b are read again.
        model = self.model([helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["b"]),
                            helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Add", ["b", "c"], ["d"]),
                            helper.make_node("ReduceSum", ["d"], ["y"], keepdims=0)],
                           [value("x", [1000])], [value("y", [])])
        report, _ = self.profile(model, "--level", 0, "--no-memory-reuse", "--provider", "cpu")
        memory, = [m for m in report["memory"] if m["kind"] == "host"]
        live = [sample[1] for sample in memory["timeline"]]
        # a; a b; a b c; b c d, which is as much; d y; and nothing at the end.
        self.assertEqual(live, [4000, 8000, 12000, 4004, 0])
        times = [sample[0] for sample in memory["timeline"]]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(memory["peak_bytes"], 12000)

    def test_copies_are_counted_and_advised(self):
        case = MODELS / "conv_net"
        inputs = [word for file in sorted(case.glob("in_*.npy")) for word in ("--input", f"{file.stem[3:]}={file}")]
        report, text = self.profile(case / "model.onnx", *inputs, "--provider", MYNPU, "--option", "delay_us=300")
        copies = [row for row in report["nodes"] if row["kind"] == "copy"]
        self.assertEqual(sum(row["count"] for row in copies), report["copies"]["count"])
        self.assertGreater(report["copies"]["bytes"], 0)
        rules = {advice["rule"]: advice for advice in report["advice"]}
        self.assertIn("fallback", rules)  # two of the eight nodes
        self.assertIn("on reference", rules["fallback"]["evidence"])
        self.assertIn(rules["fallback"]["evidence"], text)
        self.assertEqual({device["provider"] for device in report["devices"]}, {"mynpu", "reference"})

    def test_inputs_are_made_up(self):
        model = self.model([helper.make_node("Neg", ["x"], ["y"])], [value("x", ["N", 3])], [value("y", ["N", 3])])
        report, _ = self.profile(model, "--runs", 2)
        self.assertEqual(report["nodes"][0]["bytes_read"], 12)

    # ---- The trace ----

    def check_trace(self, trace):
        """Structure by the Trace Event Format; spans of a track are nested or apart."""
        self.assertIn(trace["displayTimeUnit"], ("ms", "ns"))
        events, names, tracks = trace["traceEvents"], set(), {}
        for event in events:
            self.assertIn(event["ph"], ("X", "M", "C"))
            for key in ("pid", "tid"):
                self.assertIsInstance(event[key], int)
            self.assertIsInstance(event["name"], str)
            self.assertIsInstance(event["args"], dict)
            if event["ph"] == "M":
                self.assertIn(event["name"], ("process_name", "thread_name"))
                names.add((event["name"], event["pid"], event["tid"] if event["name"] == "thread_name" else 0))
                continue
            self.assertGreaterEqual(event["ts"], 0)
            if event["ph"] == "C":
                self.assertTrue(all(isinstance(number, (int, float)) for number in event["args"].values()))
                continue
            self.assertGreaterEqual(event["dur"], 0)
            self.assertIsInstance(event["cat"], str)
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
        for (process, thread), spans in tracks.items():
            self.assertIn(("process_name", process, 0), names)
            self.assertIn(("thread_name", process, thread), names)
            ends = []
            for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
                end = span["ts"] + span["dur"]
                while ends and ends[-1] <= span["ts"] + 0.0015:
                    ends.pop()
                if ends:
                    self.assertLessEqual(end, ends[-1] + 0.0015, span)
                ends.append(end)
        return events

    def test_the_trace_is_complete(self):
        path, case = self.folder / "trace.json", MODELS / "conv_net"
        inputs = [word for file in sorted(case.glob("in_*.npy")) for word in ("--input", f"{file.stem[3:]}={file}")]
        for more in (["--provider", MYNPU], ["--provider", "cpu", "--level", 3]):
            self.profile(case / "model.onnx", *inputs, *more, "--runs", 3, "--trace", path)
            events = self.check_trace(json.loads(path.read_text(encoding="utf-8")))
            kinds = {event["cat"] for event in events if event["ph"] == "X"}
            self.assertLessEqual({"run", "kernel", "compile"}, kinds)
            self.assertIn("copy" if MYNPU in more else "reorder" if "reorder" in kinds else "kernel", kinds)
            counters = [event for event in events if event["ph"] == "C"]
            self.assertTrue(any(event["args"]["live"] > 0 for event in counters))
            self.assertTrue(any(event["args"].get("flops", 0) > 0 for event in events))
            prepared = {event["name"] for event in events if event.get("cat") == "compile"}
            self.assertIn("plan and prepare", prepared)
            self.assertGreater(len(prepared), 3)

    def test_bodies_are_nested(self):
        body = helper.make_graph([helper.make_node("Add", ["s", "s"], ["t"], "twice"),
                                  helper.make_node("Identity", ["go"], ["on"])], "body",
                                 [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("s", [4])],
                                 [value("on", [], TensorProto.BOOL), value("t", [4])])
        model = self.model([helper.make_node("Loop", ["n", "", "x"], ["y"], "loop", body=body)],
                           [value("x", [4])], [value("y", [4])], [("n", np.array(5, np.int64))])
        path = self.folder / "trace.json"
        report, _ = self.profile(model, "--level", 0, "--runs", 2, "--trace", path)
        self.assertEqual([row["count"] for row in report["nodes"] if row["op"] == "Add"], [10])
        events = self.check_trace(json.loads(path.read_text(encoding="utf-8")))
        self.assertEqual(sum(event.get("cat") == "control" for event in events), 2)

    # ---- The page ----

    def check_self_contained(self, page):
        found = []

        class Reader(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                found.append(tag)
                for name, _ in attributes:
                    if name in ("src", "href", "srcset", "action"):
                        raise AssertionError(f"<{tag} {name}> leads out of the page")

        Reader().feed(page)
        self.assertEqual(found.count("script"), 2)
        for word in ("http:", "https:", "@import", "url(", "fetch(", "XMLHttpRequest"):
            self.assertNotIn(word, page)
        data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
        return json.loads(data.group(1))

    def open_page(self, path):
        """The document as a browser leaves it; its scripts must not have failed."""
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                               "--window-size=1280,2000", f"--user-data-dir={self.folder / 'browser'}",
                               f"--screenshot={self.folder / 'page.png'}", "--dump-dom", "--virtual-time-budget=5000",
                               path.as_uri()], capture_output=True, text=True, timeout=120, check=False)
        self.assertNotIn("CONSOLE", done.stderr)
        return done.stdout

    def test_the_page(self):
        path = self.folder / "page.html"
        case = MODELS / "conv_net"
        inputs = [word for file in sorted(case.glob("in_*.npy")) for word in ("--input", f"{file.stem[3:]}={file}")]
        report, _ = self.profile(case / "model.onnx", *inputs, "--provider", MYNPU, "--html", path)
        data = self.check_self_contained(path.read_text(encoding="utf-8"))
        self.assertEqual({row["name"] for row in data["nodes"]}, {row["name"] for row in report["nodes"]})
        self.assertIn("mynpu", {span[0] for span in data["timeline"]})
        if BROWSER:
            shown = self.open_page(path)
            self.assertEqual(shown.count('<td class="text name"'), 2 * len(report["operators"]))
            self.assertEqual(shown.count('class="advice"'), len(report["advice"]))
            self.assertEqual(shown.count('class="card"'), 6)

    def test_hostile_names_stay_text(self):
        name = '</script><script>document.title="taken"</script>&"\'\\'
        model = self.model([helper.make_node("Neg", ["x"], ["y"], name)], [value("x", [2])], [value("y", [2])])
        path = self.folder / "page.html"
        self.profile(model, "--html", path)
        data = self.check_self_contained(path.read_text(encoding="utf-8"))
        self.assertEqual(data["nodes"][0]["name"], name)
        if BROWSER:
            self.assertIn("<title>Profile of ", self.open_page(path))

    def test_ten_thousand_nodes(self):
        nodes = [helper.make_node("Add", [f"v{i}", "one"], [f"v{i + 1}"], f"node{i}") for i in range(10000)]
        model = self.model(nodes, [value("v0", [16])], [value("v10000", [16])], [("one", np.ones(16, np.float32))])
        path = self.folder / "page.html"
        report, _ = self.profile(model, "--level", 0, "--runs", 2, "--html", path)
        self.assertEqual(len(report["nodes"]), 10000)
        if BROWSER:
            self.assertIn("Timeline", self.open_page(path))

    def test_targets(self):
        model = self.model([helper.make_node("Neg", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])
        for option in ("--json", "--html", "--trace"):
            done = subprocess.run([OPSRUN, "profile", str(model), option, str(self.folder / "none" / "file")],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("none", done.stderr)
            done = subprocess.run([OPSRUN, "profile", str(model), option, str(self.folder)],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertIn("not a file", done.stderr)
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["model.onnx"])

    # ---- Progress ----

    def on_terminal(self, *arguments):
        """What the command writes to a terminal that is its stderr."""
        main, other = pty.openpty()
        process = subprocess.Popen([OPSRUN, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=other)
        os.close(other)
        text = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
        os.close(main)
        self.assertEqual(process.wait(timeout=120), 0)
        return text.decode()

    def test_long_runs_show_progress(self):
        case = MODELS / "mlp"
        words = [case / "model.onnx", "--provider", MYNPU, "--option", "delay_us=20000"]
        words += [word for file in sorted(case.glob("in_*.npy")) for word in ("--input", f"{file.stem[3:]}={file}")]
        for command, count in (("run", "--repeat"), ("bench", "--repeat"), ("profile", "--runs")):
            shown = self.on_terminal(command, *words, count, 40)
            lines = re.findall(r"(\d+) of 40 runs, [\d.]+ per second, \d+ s left", shown)
            self.assertGreater(len(lines), 1, shown)
            self.assertEqual(lines, sorted(lines, key=int))
            self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown))  # nothing stays
            self.assertEqual(self.on_terminal(command, *words, count, 40, "--quiet"), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
