# SPDX-License-Identifier: Apache-2.0
"""Tests of ci/gpu on a stand-in for a build folder: parts that pass, fail, hang, and no GPU."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

SUMMARY = {"summary": {"total": 2, "PASS": 1, "FAIL": 1},
           "cases": [{"id": "Relu-14/a", "status": "PASS"},
                     {"id": "Add-14/b", "status": "FAIL", "message": "off by one"}]}
OPSRUN = """#!/bin/sh
[ -z "$NO_GPU" ] || { echo "driver too old or missing: need CUDA 12.0, found none"; exit 2; }
echo "device 0: Fake GPU"
"""
# Writes the report that --report names; hangs if told to, but not when merging.
OPSCONFORM = f"""#!{sys.executable}
import json, os, sys, time
if os.environ.get("HANG") and sys.argv[1] != "merge":
    time.sleep(60)
report = [a[5:] for a in sys.argv if a.startswith("json:")][0]
open(report, "w").write(json.dumps({SUMMARY!r}))
print("the last words")
sys.exit(int(os.environ.get("CONFORM", "0")))
"""
BENCH = """#!/bin/sh
echo '{"name": "add", "ms": 1.5, "ratio": 1.1}'
"""


class GpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        for name, text in (("opsrun", OPSRUN), ("opsconform", OPSCONFORM), ("cuda_bench", BENCH)):
            path = self.build / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (self.build / "lib").mkdir()
        (self.build / "lib" / "libops_cuda.so").touch()

    def gpu(self, *arguments, parts="device,conform,nodes", **environment):
        report = self.build / "report.json"
        done = subprocess.run(
            [sys.executable, HERE / "gpu", "--build", self.build, "--no-build", "--parts", parts,
             "--report", report, *arguments], env={**os.environ, **environment},
            capture_output=True, text=True, check=False)
        result = json.loads(report.read_text()) if report.exists() else None
        return done, result, {row["name"]: row for row in result["parts"]} if result else {}

    def test_all_passes(self):
        done, result, parts = self.gpu()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Fake GPU", result["device"])
        self.assertEqual([row["status"] for row in parts.values()], ["passed"] * 3)
        self.assertEqual(parts["nodes"]["figures"]["rows"], [{"name": "add", "ms": 1.5, "ratio": 1.1}])
        self.assertEqual(parts["conform"]["figures"]["summary"]["total"], 2)

    def test_a_failure_is_reported_and_the_rest_runs(self):
        done, _, parts = self.gpu(CONFORM="1")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(parts["conform"]["status"], "failed")
        self.assertIn("the last words", parts["conform"]["reason"])
        self.assertEqual(parts["conform"]["figures"]["failures"], ["FAIL Add-14/b: off by one"])
        self.assertEqual(parts["nodes"]["status"], "passed")

    def test_a_part_that_hangs_is_ended(self):
        done, _, parts = self.gpu(HANG="1", OPS_GPU_TIME="0.02")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(parts["conform"]["status"], "timed out")
        self.assertLess(parts["conform"]["seconds"], 30)
        self.assertEqual(parts["conform"]["figures"]["summary"]["total"], 2)  # of its journal
        self.assertEqual(parts["nodes"]["status"], "passed")

    def test_without_a_gpu_each_part_says_so(self):
        done, result, parts = self.gpu(parts="device,conform,onnx,nodes,models", NO_GPU="1")
        self.assertEqual(done.returncode, 6)
        self.assertIsNone(result["device"])
        for row in parts.values():
            self.assertEqual(row["status"], "skipped")
            self.assertIn("no GPU: driver too old or missing", row["reason"])

    def test_without_a_build(self):
        (self.build / "lib" / "libops_cuda.so").unlink()
        done, _, parts = self.gpu()
        self.assertEqual(done.returncode, 6)
        self.assertIn("no CUDA Toolkit was found", parts["nodes"]["reason"])

    def test_wrong_use(self):
        done, result, _ = self.gpu(parts="nothing")
        self.assertEqual((done.returncode, result), (2, None))
        self.assertIn("unknown part 'nothing'", done.stderr)


if __name__ == "__main__":
    unittest.main()
