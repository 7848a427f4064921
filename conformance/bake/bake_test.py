#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores cases and replays them; stores failing cases and sees them fail again.

usage: bake_test.py OPSCONFORM FAULTY_LIBRARY ORACLE_LIBRARY MYNPU_LIBRARY

The judge of the replay is the official runner's comparison (--onnx-tests), another code than the
one that stored the values.
"""
import json
import pathlib
import subprocess
import sys
import tempfile


class Tests:
    def __init__(self, program, faulty, oracle, cpu, folder):
        self.program, self.faulty, self.oracle, self.cpu = program, faulty, oracle, cpu
        self.folder = pathlib.Path(folder)
        self.wrong = 0

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True,
                              timeout=120, check=False)

    def check(self, holds, what):
        if not holds:
            self.wrong += 1
            print(f"WRONG: {what}")

    def expect(self, words, code, *texts):
        done = self.run(*words)
        said = done.stdout + done.stderr
        missing = [text for text in texts if text not in said]
        self.check(done.returncode == code and not missing,
                   f"{words}: exit code {done.returncode}, expected {code}; missing {missing}\n"
                   f"{said[-1500:]}")
        return done

    @staticmethod
    def stored(store):
        """The ids of the finished cases below a folder."""
        return sorted(json.loads((model.parent / "case.json").read_text(encoding="utf-8"))["id"]
                      for model in store.glob("*/*/model.onnx"))

    def usage(self):
        lib = ["--provider", self.faulty, "--op", "Relu"]
        self.expect(["bake"], 4, "the folder that receives the cases is missing")
        self.expect(["bake", "--op"], 4, "the folder that receives the cases is missing")
        self.expect(["bake", "--help"], 0, "opsconform bake DIR")
        self.expect([*lib, "bake"], 4, "expected an option, found 'bake'")
        for word in ("--provider", "--report", "--require", "--save-failing"):
            value = "json:f" if word == "--report" else "f"
            self.expect(["bake", self.folder / "d", word, value], 4, f"{word}: bake")
        self.expect([*lib, "--mode", "support", "--save-failing", "d"], 4, "--save-failing belongs")
        self.check(not (self.folder / "d").exists(), "wrong use leaves nothing")

    def bake(self):
        """What bake stores is a suite of official form, which another provider passes."""
        store = self.folder / "baked"
        words = ["--op", "AveragePool", "--filter", "*/float/*"]
        listed = self.run("--mode", "list", *words).stdout.splitlines()
        valid = [line for line in listed if "/error/" not in line]
        self.expect(["bake", "/no/folder/d", "--op", "Relu", "--filter", "*/float/shapes-7/*"], 1,
                    "folder '/no/folder/d' cannot be made", "is not stored")
        self.expect(["bake", store, "--op", "Relu", "--filter", "none"], 6)
        self.expect(["bake", store, *words], 0, f"{len(valid)} cases stored below {store}")
        self.check(self.stored(store) == sorted(valid) and len(valid) > 20, "every valid case")
        self.expect(["bake", store, *words], 0, f"{len(valid)} cases stored")
        self.expect(["--provider", self.cpu, "--onnx-tests", store], 0, f"{len(valid)} PASS")

    def models(self):
        """What the oracle gives for models is what it gave when their cases were stored."""
        store, outputs = self.folder / "source", self.folder / "outputs"
        self.expect(["bake", store, "--filter", "Relu-*/float/*/uniform"], 0)
        self.expect(["bake", outputs, "--onnx-tests", store], 0, "cases stored below")
        files = [path.relative_to(store) for path in store.glob("*/*/*/output_*.pb")]
        self.check(len(files) > 3, "there are outputs")
        for file in files:
            self.check((store / file).read_bytes() == (outputs / file).read_bytes(),
                       f"{file} is the same")

    def judge_data(self):
        """The dot judge's arrays and the limits of the contract lie beside the values."""
        store = self.folder / "dot"
        self.expect(["bake", store, "--filter", "MatMul-13/float16/square/uniform"], 0, "1 cases")
        case = next(store.glob("*/*"))
        about = json.loads((case / "case.json").read_text(encoding="utf-8"))
        output = about["outputs"][0]
        self.check(about["judge"] == "dot" and about["opset"] == 13, "judge and opset")
        self.check((output["type"], output["accumulate"]) == ("float16", "float"), "types")
        self.check(output["k"] > 1 and output["random_fill"] and not output["exact"], "limits")
        files = sorted(path.name for path in (case / "test_data_set_0").iterdir())
        self.check(files == ["input_0.pb", "input_1.pb", "magnitude_0.pb", "output_0.pb",
                             "wide_0.pb"], f"files: {files}")

    def save_failing(self):
        """Stored are the cases that fail, and they fail again where they are replayed."""
        store = self.folder / "failing"
        report = self.folder / "r.json"
        lib = ["--provider", self.faulty, "--op", "Softmax"]
        self.expect([*lib, "--save-failing", store], 0)
        self.check(not store.exists(), "without failures nothing is stored")
        fault = ["--option", "fault=softmax_wrong_axis"]
        self.expect([*lib, *fault, "--save-failing", store, "--report", f"json:{report}"], 1,
                    "failing cases stored below")
        cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
        failed = sorted(case["id"] for case in cases
                        if case["status"] not in ("PASS", "UNSUPPORTED"))
        self.check(self.stored(store) == failed and failed, "every failing case is stored")
        self.expect(["--provider", self.faulty, *fault, "--onnx-tests", store], 1,
                    f"{len(failed)} FAIL")
        self.expect(["--provider", self.oracle, "--onnx-tests", store], 0, f"{len(failed)} PASS")


def main():
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(*sys.argv[1:5], folder)
        for test in (tests.usage, tests.bake, tests.models, tests.judge_data, tests.save_failing):
            test()
        print("ok" if tests.wrong == 0 else f"{tests.wrong} wrong")
    return 1 if tests.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
