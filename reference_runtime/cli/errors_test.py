#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of errors through opsrun: usage: errors_test.py OPSRUN ROOT BUILD

Each code is provoked, or stands in ELSEWHERE with what provokes it. Expected codes are those of the
catalogue's own words, written down here fault by fault. ROOT is the repository, BUILD its build folder.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSRUN, ROOT, BUILD = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
MODELS, MALFORMED = BUILD / "tests" / "session_models", BUILD / "tests" / "malformed_models"
MYNPU, PROBE = BUILD / "lib" / "libops_mynpu.so", BUILD / "lib" / "libops_probe.so"

# Malformed models of malformed_models.py.
OF_MODELS = {
    20: ["empty_file", "text_file", "truncated_file", "no_graph"],
    21: ["cycle", "wrong_order"],
    22: ["wrong_domain", "operator_too_new", "unknown_domain", "near_operator"],
    24: ["no_broadcast", "mixed_types", "matmul_dims", "type_not_allowed"],
    25: ["attribute_kind", "attribute_missing", "attribute_unknown"],
    26: ["too_few_inputs", "too_many_outputs", "required_input_absent"],
    27: ["dangling_input", "missing_output"],
    28: ["value_twice", "input_twice"],
    29: ["nested_too_deep", "functions_explode", "sparse_explodes"],
    30: ["external_outside", "external_absolute"],
    31: ["external_absent"],
    32: ["external_beyond_end"],
    33: ["raw_data_too_short", "too_many_values"],
    34: ["function_calls_itself"],
    51: ["unknown_element_type"],
    3: ["segment"],
}

# Codes that opsrun cannot be brought to print on any machine, and what shows them.
ELSEWHERE = {
    1: "what no more precise cause fits; every call of the API with a wrong argument (session_test)",
    4: "structs that are too small (loader tests, wrong_provider)",
    5: "needs a device that can be lost: late_test_provider, control of session tests",
    6: "opsrt_session_run_with and a token (session tests)",
    7: "a group that declines is placed elsewhere, which is no error (session_test: a_declined_group_runs_elsewhere)",
    8: "a defect",
    9: "what no more precise cause fits",
    10: "what no more precise cause fits",
    11: "calls of the API in a wrong order (session_test: a_profile_shows_copies_and_kernels)",
    12: "a query, no failure",
    13: "needs a device whose compiled code can be outdated",
    14: "a provider built with another sanitizer (loader tests)",
    15: "what no more precise cause fits",
    16: "events of a device that never end; the deadline of a run is 71",
    35: "bodies that onnx allows and the run refuses (control tests)",
    46: "opsrt_session_run with too few bytes (session tests); files know their size",
    53: "values that the API is given with strides (loader_value_test); the runtime copies for kernels",
    54: "a provider that breaks the ABI (session tests on probe; loader tests)",
    62: "a provider of another version (loader tests, wrong_provider)",
    63: "needs a device with a driver",
    65: "opsrt_provider_spec.device (session tests)",
    72: "values that control flow refuses (control tests)",
}


def run(*arguments, **options):
    return subprocess.run([OPSRUN, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False,
                          **options)


def rows():
    """The catalogue as its header states it: {number: (constant, status)}."""
    text = (ROOT / "sdk/include/ops/cause.h").read_text(encoding="utf-8")
    status = (ROOT / "sdk/include/ops/status.h").read_text(encoding="utf-8")
    numbers = {name: int(number) for name, number in re.findall(r"#define (OPS_(?:CAUSE|ERROR)_\w+) (\d+)\n", text + status)}
    listed = re.findall(r"X\((OPS_\w+),[\s\\]*(OPS_\w+),", text)
    return {numbers[name]: (name, of) for name, of in listed}, len(listed)


class Errors(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def model(self, nodes, inputs, outputs, domains=()):
        path = self.folder / "model.onnx"
        imports = [helper.make_opsetid("", 17), *(helper.make_opsetid(name, 1) for name in domains)]
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=imports, ir_version=8), path)
        return path

    def saved(self, array):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.npy"
        np.save(path, array)
        return path

    def code_of(self, *arguments, **options):
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        found = re.match(r"opsrun: OPS-E(\d{4}): ", done.stderr)
        self.assertIsNotNone(found, done.stderr)
        return int(found.group(1))

    def provoked(self):
        """(code, how, code found)."""
        for code, names in OF_MODELS.items():
            for name in names:
                yield code, name, self.code_of("check", MALFORMED / name / "model.onnx")

        def value(name, shape, kind=TensorProto.FLOAT):
            return helper.make_tensor_value_info(name, kind, shape)

        mlp = MODELS / "mlp" / "model.onnx"
        good = self.saved(np.zeros((2, 4), np.float32))
        for code, how, array in ((42, "size", np.zeros((2, 5), np.float32)), (43, "rank", np.zeros(4, np.float32)),
                                 (44, "type", np.zeros((2, 4)))):
            yield code, f"input of another {how}", self.code_of("run", mlp, "--input", f"x={self.saved(array)}")
        yield 40, "no such input", self.code_of("run", mlp, "--input", f"q={good}")
        yield 41, "no input", self.code_of("run", mlp)
        yield 45, "input twice", self.code_of("run", mlp, "--input", f"x={good}", "--input", f"x={good}")
        rank = self.model([helper.make_node("Conv", ["x", "w"], ["y"])], [value("x", [2]), value("w", [1, 2])],
                          [value("y", None)])
        yield 23, "Conv of a vector", self.code_of("check", rank)
        case = MODELS / "conv_net"
        words = [word for file in sorted(case.glob("in_*.npy")) for word in ("--input", f"{file.stem[3:]}={file}")]
        conv_net = [case / "model.onnx", *words]
        yield 50, "no fallback", self.code_of("run", *conv_net, "--provider", MYNPU, "--no-fallback")
        yield 64, "no such option", self.code_of("run", *conv_net, "--provider", MYNPU, "--option", "speed=9")
        yield 70, "failing queue", self.code_of("run", *conv_net, "--provider", MYNPU, "--option", "fail_op=Mul")
        yield 71, "deadline", self.code_of("run", *conv_net, "--provider", MYNPU, "--option", "delay_us=200000",
                                           "--timeout", "0.1")
        yield 2, "small device", self.code_of("run", *conv_net, "--provider", MYNPU, "--option", "memory_bytes=64")
        yield 60, "no such library", self.code_of("providers", "nonesuch")
        (self.folder / "text.so").write_text("no library", encoding="utf-8")
        yield 61, "no library", self.code_of("providers", self.folder / "text.so")
        yield 80, "no such file", self.code_of("check", self.folder / "missing.onnx")
        yield 81, "no such folder", self.code_of("run", *conv_net, "--profile", self.folder / "none" / "trace.json")
        yield 82, "no such command", self.code_of("fly")
        yield 82, "no such option", self.code_of("run", mlp, "--colour")
        yield 83, "no such pass", self.code_of("optimize", mlp, "-o", self.folder / "m", "--disable-pass", "no")
        gradient = helper.make_node("Gradient", ["x"], ["g"], "grad", domain="ai.onnx.preview.training", xs=["x"], y="y")
        derived = self.model([helper.make_node("Det", ["x"], ["y"]), gradient], [value("x", [2, 2])],
                             [value("g", [2, 2])], ["ai.onnx.preview.training"])
        yield 36, "derivative of Det", self.code_of("run", derived, "--input", f"x={self.saved(np.eye(2, dtype=np.float32))}")

    def test_every_code_is_reached(self):
        reached = set()
        for code, how, found in self.provoked():
            with self.subTest(how):
                self.assertEqual(found, code)
            reached.add(code)
        # Near misses of fusions carry theirs in the list that explain prints.
        self.assertIn("near misses (OPS-E0052)", run("explain", self.near_miss()).stdout)
        reached.add(52)
        listed, _ = rows()
        self.assertEqual(reached & set(ELSEWHERE), set())
        self.assertEqual(reached | set(ELSEWHERE), set(listed))

    def near_miss(self):
        """Conv + BatchNormalization whose scale is an input."""
        names = ["scale", "bias", "mean", "var"]
        return self.model([helper.make_node("Conv", ["x", "w"], ["c"], "c3"),
                           helper.make_node("BatchNormalization", ["c", *names], ["y"], "b3")],
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4]),
                           helper.make_tensor_value_info("w", TensorProto.FLOAT, [1, 1, 1, 1]),
                           *(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in names)],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 4, 4])])

    def test_numbers_are_unique(self):
        listed, count = rows()
        self.assertEqual(len(listed), count)

    def test_causes_stand_beside_their_status(self):
        """In every call that gives a cause, the status is the one of the catalogue; every cause is given."""
        listed, _ = rows()
        of = dict(listed.values())
        given = set()
        for folder in ("reference_runtime", "sdk", "providers", "examples"):
            for file in (ROOT / folder).rglob("*.c"):
                text = file.read_text(encoding="utf-8")
                given |= set(re.findall(r"OPS_CAUSE_\w+", text))
                given |= {f"OPS_CAUSE_{name}" for name in re.findall(r"INVALID\(\s*([A-Z_]+),", text)}
                for status, cause in re.findall(r"ops_error_set_cause\([^;]*?(OPS_ERROR_\w+),\s*(OPS_CAUSE_\w+)", text):
                    if not file.name.endswith("_test.c"):
                        self.assertIn(of[cause], (status, "OPS_CAUSE_ANY_STATUS"), f"{file}: {cause}")
        causes = {name for name, _ in listed.values() if name.startswith("OPS_CAUSE_")}
        # The first is for drivers, of which no provider here has one; the second is a note, no error.
        self.assertEqual(causes - given, {"OPS_CAUSE_CANNOT_FUSE"})

    def test_no_line_on_stderr_lacks_a_code(self):
        """Errors of opsrun go through the functions that print codes, and through no others."""
        for file in (ROOT / "reference_runtime/cli").glob("*.c"):
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if "stderr" not in line or line.lstrip().startswith(('"', "//")):
                    continue
                allowed = "CODE_FORMAT" in line or "CLEAR_LINE" in line or "isatty" in line or "log_level" in line or \
                    "pass %s" in line or "opsrun: validation: " in line
                allowed = allowed or line.strip() in ("vfprintf(stderr, format, args);", "fputc('\\n', stderr);") or \
                    "STDERR_FILENO" in line
                self.assertTrue(allowed, f"{file}:{number}: {line}")

    def test_explain(self):
        listed, _ = rows()
        for code in listed:
            text = run("explain", f"OPS-E{code:04d}").stdout
            self.assertTrue(text.startswith(f"OPS-E{code:04d}: "), text)
            for word in ("cause ", "to find it", "to fix it"):
                self.assertIn(word, text)
        self.assertEqual(run("explain", "ops-e12").stdout, run("explain", "OPS-E0012").stdout)
        for wrong in ("OPS-E9999", "OPS-E", "OPS-E12x", "OPS-E-1", "OPS-E99999999999999999999"):
            self.assertEqual(self.code_of("explain", wrong), 82)
        page = run("explain", "--errors").stdout
        self.assertEqual(len(re.findall(r"^## OPS-E\d{4}: ", page, re.MULTILINE)), len(listed))


if __name__ == "__main__":
    os.chdir(tempfile.gettempdir())
    unittest.main(argv=sys.argv[:1])
