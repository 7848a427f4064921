#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""opsrun as a black box: usage: cli_test.py OPSRUN MODELS MYNPU PROBE

MODELS is the folder that session_test_models.py writes. Expected outputs are those of that script.
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSRUN, MODELS, MYNPU, PROBE = sys.argv[1:5]
MODELS = pathlib.Path(MODELS)


def opsrun(*arguments):
    command = [OPSRUN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def inputs_of(name):
    case = MODELS / name
    arguments = [case / "model.onnx"]
    for file in sorted(case.glob("in_*.npy")):
        arguments += ["--input", f"{file.stem[3:]}={file}"]
    return arguments


class Cli(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.out = self.folder / "out"

    def tearDown(self):
        self.scratch.cleanup()

    def succeed(self, *arguments):
        result = opsrun(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def fail_with(self, words, *arguments):
        """Ends with 2, one line on stderr that has all `words`, and leaves no file."""
        before = sorted(self.folder.rglob("*"))
        result = opsrun(*arguments)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def run_and_compare(self, name, *more):
        self.succeed("run", *inputs_of(name), "--output-dir", self.out, *more)
        files = sorted(file.name for file in self.out.iterdir())
        self.assertEqual(files, sorted(f"{file.stem[4:]}.npy" for file in (MODELS / name).glob("out_*.npy")))
        for file in (MODELS / name).glob("out_*.npy"):
            got, expected = np.load(self.out / f"{file.stem[4:]}.npy"), np.load(file)
            self.assertEqual(got.dtype, expected.dtype)
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)

    def write_model(self, nodes, inputs, outputs, **more):
        graph = helper.make_graph(nodes, "g", inputs, outputs, **more)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        path = self.folder / "model.onnx"
        onnx.save(model, path)
        return path

    def test_bench_prints_times(self):
        text = self.succeed("bench", *inputs_of("branches"), "--repeat", 3)
        whole = "\n".join(line for line in text.splitlines() if not line.startswith(" "))  # without parts of loading
        times = [float(word) for word in re.findall(r"([0-9.]+) ms", whole)]
        self.assertEqual(len(times), 6, text)
        load, first, median, fastest, most, slowest = times
        self.assertTrue(0 < fastest <= median <= most <= slowest and load > 0 and first > 0, text)

    def test_bench_follows(self):
        arguments = ["bench", *inputs_of("branches"), "--follow", "--output-dir", self.out]
        result = subprocess.run([OPSRUN, *map(str, arguments)], input="2\n3\n", text=True,
                                capture_output=True, timeout=120, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        counts = [len(line.split()) for line in result.stdout.splitlines()]
        self.assertEqual(counts, [1, 2, 3])
        self.assertTrue(all(float(word) > 0 for word in result.stdout.split()))
        self.assertTrue(any(self.out.glob("*.npy")))
        for line in ("0", "-1", "two", "1 1", "1000001"):
            result = subprocess.run([OPSRUN, *map(str, arguments)], input=line + "\n", text=True,
                                    capture_output=True, timeout=120, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"'{line}'", result.stderr)

    def test_outputs_are_files(self):
        self.run_and_compare("branches")

    def test_every_type_of_output(self):
        self.run_and_compare("types")

    def test_providers_by_path_and_by_name(self):
        self.run_and_compare("conv_net", "--provider", MYNPU, "--option", "delay_us=50")
        self.run_and_compare("conv_net", "--provider", "reference", "--no-fallback", "--workers", "2")
        self.run_and_compare("packed", "--provider", PROBE, "--provider", MYNPU, "--no-memory-reuse")

    def test_names_become_file_names(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("a/b.c:0", "../é")]
        nodes = [helper.make_node("Neg", ["x"], ["a/b.c:0"]), helper.make_node("Abs", ["x"], ["../é"])]
        path = self.write_model(nodes, [x], outputs)
        np.save(self.folder / "x.npy", np.array([1, -2], np.float32))
        self.succeed("run", path, "--input", f"x={self.folder}/x.npy", "--output-dir", self.out)
        self.assertEqual(sorted(f.name for f in self.out.iterdir()), ["_____.npy", "a_b_c_0.npy"])
        np.testing.assert_array_equal(np.load(self.out / "a_b_c_0.npy"), [-1, 2])

    def test_names_that_collide_stay_apart(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("y.0", "y:0")]
        nodes = [helper.make_node("Neg", ["x"], ["y.0"]), helper.make_node("Abs", ["x"], ["y:0"])]
        path = self.write_model(nodes, [x], outputs)
        np.save(self.folder / "x.npy", np.array([1, -2], np.float32))
        self.succeed("run", path, "--input", f"x={self.folder}/x.npy", "--output-dir", self.out)
        self.assertEqual(sorted(f.name for f in self.out.iterdir()), ["y_0.npy", "y_0_1.npy"])

    def test_what_numpy_lacks_becomes_a_tensor_proto(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        y = helper.make_tensor_value_info("y", TensorProto.BFLOAT16, [2])
        path = self.write_model([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16)], [x], [y])
        np.save(self.folder / "x.npy", np.array([1, -2.5], np.float32))
        self.succeed("run", path, "--input", f"x={self.folder}/x.npy", "--output-dir", self.out)
        tensor = onnx.TensorProto.FromString((self.out / "y.pb").read_bytes())
        self.assertEqual(tensor.data_type, TensorProto.BFLOAT16)
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor).astype(np.float32), [1, -2.5])

    def test_inputs_as_tensor_proto(self):
        tensor = onnx.numpy_helper.from_array(np.load(MODELS / "mlp" / "in_x.npy"), "anything")
        (self.folder / "x.pb").write_bytes(tensor.SerializeToString())
        self.succeed("run", MODELS / "mlp" / "model.onnx", f"--input=x={self.folder}/x.pb",
                     "--output-dir", self.out)
        np.testing.assert_allclose(np.load(self.out / "y.npy"), np.load(MODELS / "mlp" / "out_y.npy"),
                                   rtol=1e-5, atol=1e-6)

    def write_value(self, name, proto):
        path = self.folder / name
        path.write_bytes(proto.SerializeToString())
        return path

    def test_sequences_and_optionals_are_files(self):
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        sequence = helper.make_sequence_type_proto(tensor)
        inputs = [helper.make_value_info("s", sequence),
                  helper.make_value_info("o", helper.make_optional_type_proto(sequence))]
        nodes = [helper.make_node("SequenceErase", ["s", "first"], ["t"]),
                 helper.make_node("OptionalGetElement", ["o"], ["u"]),
                 helper.make_node("Optional", ["t"], ["p"])]
        outputs = [helper.make_value_info("t", sequence), helper.make_value_info("u", sequence),
                   helper.make_value_info("p", helper.make_optional_type_proto(sequence))]
        first = numpy_helper.from_array(np.array(0, np.int64), "first")
        graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=[first])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        onnx.save(model, self.folder / "model.onnx")
        parts = [np.arange(n, dtype=np.float32) for n in range(3)]
        given = numpy_helper.from_list(parts)
        optional = onnx.OptionalProto(elem_type=onnx.OptionalProto.SEQUENCE)
        optional.sequence_value.CopyFrom(given)
        self.succeed("run", self.folder / "model.onnx", "--input",
                     f"s={self.write_value('s.pb', given)}", "--input",
                     f"o={self.write_value('o.pb', optional)}", "--output-dir", self.out)
        read = {name: (self.out / f"{name}.pb").read_bytes() for name in "tup"}
        for name, expected in [("t", parts[1:]), ("u", parts)]:
            found = numpy_helper.to_list(onnx.SequenceProto.FromString(read[name]))
            self.assertEqual([part.tolist() for part in found], [part.tolist() for part in expected])
        found = onnx.OptionalProto.FromString(read["p"])
        self.assertEqual(len(numpy_helper.to_list(found.sequence_value)), 2)

    def run_ml(self, node, inputs, outputs, file):
        graph = helper.make_graph([node], "g", inputs, outputs)
        model = helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)])
        onnx.save(model, self.folder / "model.onnx")
        self.succeed("run", self.folder / "model.onnx", "--input", f"x={file}", "--output-dir",
                     self.out)

    def test_maps_are_files(self):
        # What onnx writes is read: keys of both kinds.
        floats = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        for key_type, keys, name in [(TensorProto.STRING, ["b", "", "a"], "string_vocabulary"),
                                     (TensorProto.INT64, [300, -1, 7], "int64_vocabulary")]:
            info = onnx.ValueInfoProto(name="x")
            info.type.map_type.key_type = key_type
            info.type.map_type.value_type.CopyFrom(
                helper.make_tensor_type_proto(TensorProto.FLOAT, []))
            given = dict(zip(keys, map(np.float32, [1.5, 2.5, -3])))
            node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml",
                                    **{name: sorted(keys)})
            raw = [key.encode() if isinstance(key, str) else key for key in keys]
            values = numpy_helper.from_list(list(given.values()))
            file = self.write_value("x.pb", helper.make_map("m", key_type, raw, values))
            self.run_ml(node, [info], [floats], file)
            np.testing.assert_array_equal(np.load(self.out / "y.npy"),
                                          [given[key] for key in sorted(keys)])
        # What opsrun writes, onnx reads.
        np.save(self.folder / "x.npy", np.array([[1, 2], [3, 4]], np.float32))
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])
        for key_type, labels, name in [(TensorProto.STRING, ["no", "yes"], "classlabels_strings"),
                                       (TensorProto.INT64, [-5, 1000], "classlabels_int64s")]:
            info = onnx.ValueInfoProto(name="y")
            element = info.type.sequence_type.elem_type.map_type
            element.key_type = key_type
            element.value_type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, []))
            node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", **{name: labels})
            self.run_ml(node, [x], [info], self.folder / "x.npy")
            maps = onnx.SequenceProto.FromString((self.out / "y.pb").read_bytes())
            self.assertEqual(maps.elem_type, onnx.SequenceProto.MAP)
            found = [numpy_helper.to_dict(part) for part in maps.map_values]
            expected = [key.encode() if isinstance(key, str) else key for key in labels]
            self.assertEqual([{key: float(value) for key, value in part.items()} for part in found],
                             [dict(zip(expected, row)) for row in ([1, 2], [3, 4])])

    def test_sparse_constants_are_written_out(self):
        values = numpy_helper.from_array(np.array([1.5, -2, 3], np.float32), "w")
        dense = np.array([[0, 1.5, 0], [0, -2, 3]], np.float32)
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
        np.save(self.folder / "x.npy", np.full((2, 3), 10, np.float32))
        for indices in ([1, 4, 5], [[0, 1], [1, 1], [1, 2]]):
            sparse = helper.make_sparse_tensor(
                values, numpy_helper.from_array(np.array(indices, np.int64), "i"), [2, 3])
            constant = helper.make_node("Constant", [], ["w"], sparse_value=sparse)
            add = helper.make_node("Add", ["x", "w"], ["y"])
            for path in (self.write_model([constant, add], [x], [y]),
                         self.write_model([add], [x], [y], sparse_initializer=[sparse])):
                self.succeed("run", path, "--input", f"x={self.folder}/x.npy", "--output-dir", self.out)
                np.testing.assert_array_equal(np.load(self.out / "y.npy"), 10 + dense)

    def test_reports(self):
        text = self.succeed("run", *inputs_of("conv_net"), "--provider", MYNPU, "--placement", "--memory",
                            "--repeat", "3")
        self.assertIn("mynpu runs 6 of 8 nodes", text)
        self.assertIn("reference runs 2 of 8 nodes", text)
        self.assertIn("3 runs: first", text)
        self.assertIn("lower bound", text)
        self.assertIn("y: float[2,8,8,6]", text)
        self.assertIn("conv1", self.succeed("profile", *inputs_of("conv_net")))

    def test_profile_is_a_trace(self):
        trace = self.folder / "trace.json"
        self.succeed("run", *inputs_of("conv_net"), "--provider", MYNPU, "--option", "delay_us=200",
                     "--profile", trace)
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        names = {(e["name"], e["pid"], e["args"]["name"]) for e in events if e["ph"] == "M"}
        device = [pid for what, pid, name in names if what == "process_name" and name == "mynpu"]
        self.assertEqual(len(device), 1)
        spans = [e for e in events if e["ph"] == "X" and e["pid"] == device[0]]
        copies = [e for e in spans if e["cat"] == "copy"]
        kernels = [e for e in spans if e["cat"] == "kernel"]
        self.assertGreaterEqual(len(kernels), 6)
        self.assertGreaterEqual(len(copies), 2)
        self.assertTrue({e["tid"] for e in copies}.isdisjoint({e["tid"] for e in kernels}))
        self.assertIn("conv1", {e["name"] for e in kernels})
        self.assertTrue(all(e["args"]["bytes"] > 0 for e in copies))
        for track in {e["tid"] for e in spans}:  # a stream does one thing at a time
            ends = 0
            for span in sorted((e for e in spans if e["tid"] == track), key=lambda e: e["ts"]):
                self.assertGreaterEqual(span["ts"], ends - 0.002)
                ends = span["ts"] + span["dur"]

    def test_rewritten_nodes_keep_their_origins(self):
        trace = self.folder / "trace.json"
        text = self.succeed("run", *inputs_of("conv_net"), "--level", 2, "--profile", trace)
        self.assertIn("(from sigmoid_g, mul_m)", text)
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        self.assertIn("sigmoid_g, mul_m", {e["args"].get("origins") for e in events})

    def test_optimize_writes_a_model(self):
        out = self.folder / "better.onnx"
        text = self.succeed("optimize", MODELS / "conv_net" / "model.onnx", "-o", out, "--level", 2)
        before = len(onnx.load(MODELS / "conv_net" / "model.onnx").graph.node)
        onnx.checker.check_model(onnx.load(out), full_check=True)
        self.assertLessEqual(len(onnx.load(out).graph.node), before)
        self.assertEqual(self.succeed("check", out).split()[-1], "sound")
        listed = self.succeed("optimize", "--list-passes")
        for line in text.splitlines():
            self.assertIn(line.split()[0], listed)

    def test_optimize_refuses(self):
        model, out = MODELS / "mlp" / "model.onnx", self.folder / "m.onnx"
        self.fail_with(["-o OUT"], "optimize", model)
        self.fail_with(["expected a number from 0 to 3"], "optimize", model, "-o", out,
                       "--level", 4)
        self.fail_with(["there is no pass 'no' to disable; there are"], "optimize", model, "-o",
                       out, "--disable-pass", "no")
        self.fail_with(["none"], "optimize", model, "-o", self.folder / "none" / "m.onnx")
        self.assertFalse(out.exists())

    def test_log_level(self):
        arguments = ["run", *inputs_of("conv_net"), "--provider", MYNPU]
        self.assertEqual(opsrun(*arguments).stderr, "")
        quiet = opsrun(*arguments, "--log-level", "info").stderr
        loud = opsrun(*arguments, "--log-level", "debug").stderr
        self.assertNotIn("not fused into Swish", quiet)
        self.assertIn("opsrun: pass swish: Sigmoid", loud)
        self.assertIn("not fused into Swish, only a less preferred provider claims it", loud)
        self.fail_with(["expected debug, info, warning or error"], *arguments, "--log-level", "all")

    def test_explain(self):
        text = self.succeed("explain", MODELS / "conv_net" / "model.onnx", "--provider", MYNPU)
        for part in ("load\n", "open providers", "passes\n", "constant_folding", "placement\n", "planned"):
            self.assertIn(part, text)
        self.assertIn("not fused into Swish, only a less preferred provider claims it", text)

    def test_explain_shows_layouts(self):
        model = MODELS / "conv_net" / "model.onnx"
        for more in (["--provider", "reference"], ["--provider", "cpu", "--level", 2]):
            text = self.succeed("explain", model, *more)
            self.assertIn("layouts\n0 nodes in private layouts, 0 reorders of 0 bytes", text)
        rows = self.succeed("explain", model, "--provider", "cpu")
        rows = rows[rows.index("layouts\n"):rows.index("memory ")].splitlines()[1:]
        reorders = [row for row in rows[:-1] if "(reorder)" in row]
        self.assertTrue(rows[-1].startswith(
            f"{len(rows) - 1 - len(reorders)} nodes in private layouts, {len(reorders)} reorders"))

    def test_check(self):
        self.assertIn("sound", self.succeed("check", MODELS / "mlp" / "model.onnx"))

    def test_providers(self):
        text = self.succeed("providers", MYNPU, "reference")
        for part in ("mynpu 1.0.0 by Example", "memory host device", "MatMul 1+", "asynchronous", "reference "):
            self.assertIn(part, text)

    def test_help(self):
        for command in ("run", "profile", "check", "providers"):
            self.assertIn("usage: opsrun", self.succeed(command, "--help"))
        self.assertIn("COMMAND", self.succeed("--help"))

    def test_capture(self):
        npu = [*inputs_of("conv_net"), "--provider", MYNPU, "--repeat", "4", "--memory"]
        self.assertRegex(self.succeed("run", *npu), r"[1-9] captures, [1-9]\d* replays")
        self.assertIn("0 captures, 0 replays", self.succeed("run", *npu, "--no-capture"))
        model = [MODELS / "conv_net" / "model.onnx", "--provider", MYNPU]
        text = self.succeed("explain", *model)
        self.assertIn("graph capture\nmynpu        6 of 6 kernels\n", text)
        self.assertIn("reference    0 of 2 kernels  (works on the calling thread)", text)
        self.assertIn("(capture is switched off)", self.succeed("explain", *model, "--no-capture"))

    def test_warmup(self):
        model = MODELS / "mlp" / "model.onnx"
        x = MODELS / "mlp" / "in_x.npy"
        text = self.succeed("run", model, "--input", f"x={x}", "--level", 0, "--warmup-shapes", "x=1-40x4", "--memory")
        self.assertIn("warmed up for 40 shapes: 40 plans built, 120 prepares", text)
        self.assertIn("40 plans built, 0 evicted, 120 prepares", text)  # the run needed none of its own
        pair = MODELS / "group_plain" / "model.onnx"
        text = self.succeed("bench", pair, "--warmup-shapes", "x=2-4x4,w=2-4x4", "--warmup-shapes", "x=7x4,w=7x4",
                            *inputs_of("group_plain")[1:], "--repeat", 2)
        self.assertIn("warmed up for 4 shapes: 4 plans built", text)
        for spec in ("x", "=4", "x=", "x=4x", "x=3-1x4", "x=1-3x1-4", "x=1-9999x4", "x=ax4", "x=1x4,", "x=-1x4"):
            words = ["--warmup-shapes", "rank"] if spec == "x=" else ["--warmup-shapes", "expected NAME=DIM"]
            self.fail_with(words, "run", model, "--input", f"x={x}", f"--warmup-shapes={spec}")
        self.fail_with(["dimension 1 must be 4"], "run", model, "--input", f"x={x}", "--warmup-shapes", "x=2x5")
        self.fail_with(["'q' does not exist"], "run", model, "--input", f"x={x}", "--warmup-shapes", "q=2x5")

    def test_timeout(self):
        slow = ["--provider", MYNPU, "--option", "delay_us=400000"]
        self.fail_with(["kernel timed out", "0.05 s", "mynpu"], "run", *inputs_of("conv_net"), *slow, "--timeout", "0.05",
                       "--output-dir", self.out)
        self.assertIn("y: float", self.succeed("run", *inputs_of("conv_net"), "--timeout", "600"))
        for text in ("0", "-1", "soon", "nan", ""):
            self.fail_with(["--timeout", "expected seconds"], "run", *inputs_of("mlp"), f"--timeout={text}")

    def test_bad_usage(self):
        model = MODELS / "mlp" / "model.onnx"
        self.fail_with(["no command"])
        self.fail_with(["unknown command 'fly'"], "fly")
        self.fail_with(["--colour"], "run", model, "--colour")
        self.fail_with(["needs a value"], "run", model, "--input")
        self.fail_with(["NAME=FILE"], "run", model, "--input", "x")
        self.fail_with(["before any --provider"], "run", model, "--option", "a=b")
        self.fail_with(["from 1 to"], "run", model, "--repeat", "0")
        self.fail_with(["one model"], "run")
        self.fail_with(["one model"], "check", model, model)
        self.fail_with(["--repeat"], "check", model, "--repeat", "3")
        for option in ("--output-dir", "--profile", "--repeat", "--workers"):
            self.fail_with([option, "twice"], "run", model, option, "1", f"{option}=2")

    def test_bad_models(self):
        whole = (MODELS / "conv_net" / "model.onnx").read_bytes()
        bad = self.folder / "bad.onnx"
        for command in ("run", "check"):
            self.fail_with(["missing.onnx"], command, self.folder / "missing.onnx")
            for content in (b"", b"not a model at all", whole[: len(whole) // 2]):
                bad.write_bytes(content)
                self.fail_with(["bad.onnx"], command, bad)
            bad.unlink()

    def test_broken_graphs(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
        cycle = [helper.make_node("Add", ["x", "b"], ["a"], "first"), helper.make_node("Neg", ["a"], ["b"], "second"),
                 helper.make_node("Abs", ["b"], ["y"], "third")]
        self.fail_with(["first"], "check", self.write_model(cycle, [x], [y]))
        unknown = [helper.make_node("Frobnicate", ["x"], ["y"], "strange")]
        self.fail_with(["strange", "Frobnicate"], "check", self.write_model(unknown, [x], [y]))
        self.fail_with(["strange", "Frobnicate"], "run", self.write_model(unknown, [x], [y]), "--output-dir", self.out)

    def test_bad_inputs(self):
        model = MODELS / "mlp" / "model.onnx"
        x = self.folder / "x.npy"
        self.fail_with(["'x' is missing", "x: float[N,4]"], "run", model, "--output-dir", self.out)
        self.fail_with(["x.npy"], "run", model, "--input", f"x={x}", "--output-dir", self.out)
        for array, word in ((np.zeros((2, 4)), "double"), (np.zeros((2, 5), np.float32), "must be 4"),
                            (np.zeros(4, np.float32), "rank")):
            np.save(x, array)
            self.fail_with(["'x'", "float[N,4]", word], "run", model, "--input", f"x={x}", "--output-dir", self.out)
        np.save(x, np.zeros((2, 4), np.float32))
        self.fail_with(["'q' does not exist"], "run", model, "--input", f"q={x}")
        self.fail_with(["twice"], "run", model, "--input", f"x={x}", "--input", f"x={x}")
        x.write_bytes(b"\x93NUMPY\x01")
        self.fail_with(["x.npy"], "run", model, "--input", f"x={x}")

    def test_bad_providers(self):
        self.fail_with(["/no/such/libops_x.so"], "run", *inputs_of("mlp"), "--provider", "/no/such/libops_x.so",
                       "--output-dir", self.out)
        self.fail_with(["speed"], "run", *inputs_of("mlp"), "--provider", MYNPU, "--option", "speed=11")
        for delay in ("99999999999999999999", "-1", ""):
            self.fail_with(["delay_us"], "run", *inputs_of("mlp"), "--provider", MYNPU, "--option", f"delay_us={delay}")
        self.fail_with(["sigmoid_g", "mynpu:"], "run", *inputs_of("conv_net"), "--provider", MYNPU, "--no-fallback",
                       "--output-dir", self.out)
        self.fail_with(["nonesuch"], "providers", "nonesuch")

    def test_nothing_is_written_on_failure(self):
        self.fail_with(["the_bad_one", "index 9"], "run", *inputs_of("fail"), "--provider", PROBE, "--output-dir",
                       self.out, "--profile", self.folder / "trace.json")
        self.fail_with(["mul_m"], "run", *inputs_of("conv_net"), "--provider", MYNPU, "--option", "fail_op=Mul",
                       "--output-dir", self.out)
        self.fail_with(["nowhere"], "run", *inputs_of("mlp"), "--output-dir", self.out, "--profile",
                       self.folder / "nowhere" / "trace.json")
        (self.folder / "file").write_text("", encoding="utf-8")
        self.fail_with(["file"], "run", *inputs_of("mlp"), "--output-dir", self.folder / "file")
        self.fail_with(["file"], "run", *inputs_of("mlp"), "--output-dir", self.folder / "file" / "below",
                       "--profile", self.folder / "trace.json")

    def test_what_is_no_file_stays(self):
        socket = self.folder / "fifo"
        os.mkfifo(socket)
        self.fail_with(["fifo", "not a file"], "run", *inputs_of("mlp"), "--profile", socket)
        self.fail_with(["fifo", "not a file"], "run", *inputs_of("mlp"), "--profile", socket, "--output-dir", self.out)
        self.assertTrue(socket.is_fifo())
        socket.unlink()

    def test_full_disk_and_lost_output(self):
        def no_growth():
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

        words = [OPSRUN, "run", *map(str, inputs_of("mlp"))]
        for more in (["--output-dir", self.out], ["--profile", self.folder / "p"]):
            done = subprocess.run(words + list(map(str, more)), capture_output=True, text=True, timeout=60,
                                  preexec_fn=no_growth, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(list(self.folder.iterdir()), [])
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("standard output", done.stderr)

    def test_all_outputs_or_none(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("a", "b")]
        nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Abs", ["x"], ["b"])]
        model = self.write_model(nodes, [x], outputs)
        np.save(self.folder / "x.npy", np.ones(2, np.float32))
        (self.folder / "full" / "b.npy").mkdir(parents=True)
        done = opsrun("run", model, "--input", f"x={self.folder / 'x.npy'}", "--output-dir", self.folder / "full")
        self.assertEqual(done.returncode, 2)
        self.assertIn("b.npy", done.stderr)
        self.assertEqual([path.name for path in (self.folder / "full").iterdir()], ["b.npy"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
