#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs opsconform the wrong way and checks exit codes, messages, and that nothing is written.

usage: cli_test.py OPSCONFORM FAULTY_LIBRARY ORACLE_LIBRARY MYNPU_LIBRARY CONTRACTS

Exit codes as the documentation lists them: 4 for usage and contract errors with place and
remedy, 6 where nothing was selected or nothing passed.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

CONTRACT = """contract: 1
op: Relu
domain: ai.onnx
opset: {since: 14}
"""


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=120,
                          check=False)


class Tests:
    def __init__(self, program, library, oracle, mynpu, contracts, folder):
        self.program, self.library, self.oracle, self.mynpu = program, library, oracle, mynpu
        self.contracts_folder = pathlib.Path(contracts)
        self.folder = pathlib.Path(folder)
        self.wrong = 0

    def expect(self, words, code, *texts, report=False):
        path = self.folder / "r.json"
        path.unlink(missing_ok=True)
        done = run(self.program, *words, "--report", f"json:{path}")
        said = done.stdout + done.stderr
        problems = [f"missing in the output: {text!r}" for text in texts if text not in said]
        if done.returncode != code:
            problems.append(f"expected exit code {code}, found {done.returncode}")
        if path.exists() != report:
            problems.append("a report was written" if path.exists() else "no report was written")
        if list(self.folder.glob("r.json.*")):
            problems.append("a temporary file was left")
        if problems:
            self.wrong += 1
            print(f"WRONG {words}: {'; '.join(problems)}\n{said[-1500:]}")
        return done

    def usage(self):
        lib = ["--provider", self.library]
        self.expect([], 4, "--provider LIB is missing")
        self.expect(["--provider", "/no/such.so"], 4, "/no/such.so")
        self.expect([*lib, "--frobnicate"], 4, "unknown option '--frobnicate'", "--help")
        self.expect([*lib, "extra"], 4, "expected an option, found 'extra'")
        self.expect([*lib, "--seed", "-1"], 4, "--seed", "'-1'")
        self.expect([*lib, "--shard", "3/2"], 4, "--shard", "I/N")
        self.expect([*lib, "--timeout", "0"], 4, "--timeout")
        self.expect([*lib, "--jobs", "many"], 4, "--jobs")
        self.expect([*lib, "--profile", "lax"], 4, "strict, standard or embedded")
        self.expect([*lib, "--option", "novalue"], 4, "KEY=VALUE")
        self.expect([*lib, "--option", "fault=nonsense", "--op", "Relu"], 4, "nonsense")
        self.expect([*lib, "--op", "Frobnicate"], 4, "Frobnicate")
        self.expect([*lib, "--provider", self.library], 4, "given twice")
        for option, value in (("--seed", "1"), ("--jobs", "1"), ("--shard", "1/2"),
                              ("--timeout", "1"), ("--tier", "full"), ("--profile", "strict"),
                              ("--mode", "support")):
            self.expect([*lib, option, value, option, value], 4, f"{option} is given twice")
        same = str(self.folder / "same")
        self.expect([*lib, "--report", f"json:{same}", "--report", f"junit:{same}"], 4, same,
                    "another report")
        self.expect([*lib, "--report", "json:/no/folder/r.json"], 4, "/no/folder/r.json")
        self.expect(["--mode", "list"], 4, "--mode list runs nothing")
        self.expect([*lib, "--against", "cpu"], 4, "--against belongs to --mode perf")
        self.expect([*lib, "--baseline", "f"], 4, "--baseline belongs to --mode perf")
        self.expect([*lib, "--mode", "perf", "--update-baseline"], 4, "needs --baseline FILE")
        self.expect([*lib, "--mode", "perf", "--shard", "1/2"], 4, "--shard")
        self.expect([*lib, "--mode", "support", "--require", "f"], 4, "--require belongs to")
        self.expect(["--provider", self.oracle, "--op", "Relu"], 4, "cannot judge itself")

    def later(self):
        self.expect(["--provider", self.library, "--validate"], 4,
                    "not available in this version")

    def contracts(self):
        lib = ["--provider", self.library]
        self.expect([*lib, "--contracts", "/no/contracts"], 4, "/no/contracts")
        bad = self.folder / "Bad.yaml"
        bad.write_text(CONTRACT + "colour: blue\n", encoding="utf-8")
        self.expect([*lib, "--contracts", str(bad)], 4, "Bad.yaml:5:", "colour")

        text = (self.contracts_folder / "ai.onnx" / "Relu.yaml").read_text(encoding="utf-8")
        # Documents are read in order of their opsets; the first of these stands last in the file.
        line = len(text.splitlines()) - text.splitlines()[::-1].index("op: Relu")
        bad.write_text(text.replace("op: Relu", "op: Rellu"), encoding="utf-8")
        self.expect([*lib, "--contracts", str(bad)], 4, f"Bad.yaml:{line}:5:",
                    'op "Rellu" (ai.onnx): no such operator; nearest: Relu')

    def stray_kernel(self):
        """A provider whose table misspells an operator: the faulty one with a letter changed."""
        bad = self.folder / "libops_misspelt.so"
        data = pathlib.Path(self.library).read_bytes()
        bad.write_bytes(data.replace(b"Softmax\0", b"Softmix\0"))
        self.expect(["--provider", str(bad), "--op", "Relu"], 1,
                    "kernel 'Softmix' (ai.onnx): no such operator; nearest: Softmax",
                    report=True)
        cases = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))["cases"]
        found = [case for case in cases if case["status"] not in ("PASS", "UNSUPPORTED")]
        if [(case["id"], case["check"]) for case in found] != [("provider", "operator")]:
            self.wrong += 1
            print(f"WRONG a misspelt operator: {found[:2]}")

    def require(self):
        lib = ["--provider", self.library, "--filter", "[RA]elu-*/float/shapes-7/*"]
        file = self.folder / "require.txt"
        for text, *said in (("Frobnicate float\n", "require.txt:1:", "Frobnicate"),
                            ("# c\nRelu floaty\n", "require.txt:2:", "floaty"),
                            ("Relu\n", "require.txt:1:", "Relu"),
                            ("Relu float\nRelu float\n", "require.txt:2:", "second"),
                            ("opset\nRelu float\n", "require.txt:1:", "found 'nothing'"),
                            ("opset 0\nRelu float\n", "require.txt:1:", "found '0'"),
                            ("opset 13\nopset 14\n", "require.txt:2:", "a second opset"),
                            ("opset 13\n", "no operator is listed"),
                            ("Relu float !\n", "require.txt:1:", "after '!'"),
                            ("Relu !*\n", "require.txt:1:", "expected types"),
                            ("Relu" + " float" + " !a" * 9 + "\n", "require.txt:1:", "too many patterns"),
                            ("* floaty\n", "require.txt:1:", "floaty"),
                            ("", "no operator")):
            file.write_text(text, encoding="utf-8")
            self.expect([*lib, "--require", str(file)], 4, *said)
        self.expect([*lib, "--require", "/no/file"], 4, "/no/file")
        file.write_text("Relu float  # what a release needs\n", encoding="utf-8")
        self.expect([*lib, "--require", str(file)], 0, report=True)
        file.write_text("Relu *\n", encoding="utf-8")
        half = ["--provider", self.library, "--filter", "Relu-*/float16/shapes-7/*"]
        self.expect([*half, "--require", str(file)], 1, "require", report=True)
        self.expect(half, 6, "UNSUPPORTED", report=True)

    def profiles(self):
        """Bare names are the shipped profiles; every one of them is read."""
        relu = ["--provider", self.library, "--filter", "Relu-14/float/*"]
        narrow = str(pathlib.Path(self.library).with_name("libops_hostile.so"))  # Relu alone
        conv = ["--provider", narrow, "--filter", "Conv-22/float/*"]
        old = ["--provider", narrow, "--filter", "Softmax-11/float/*"]
        file = self.folder / "table.txt"
        self.expect([*relu, "--require", "cnm"], 4, "no profile of that name",
                    "all, cnn, quantised, transformer")
        for path in sorted((self.contracts_folder / "profiles").glob("*.txt")):
            self.expect([*relu, "--require", path.stem], 0, report=True)
        # What the provider lacks: nothing passed, unless the release must have it.
        self.expect(conv, 6, report=True)
        self.expect([*conv, "--require", "cnn"], 1, "required by 'cnn' but not claimed", "CLAIMS-5",
                    report=True)
        self.expect([*conv, "--require", "all"], 1, "required by 'all'", report=True)
        self.expect([*conv, "--require", "quantised"], 6, report=True)
        for text, code in (("Conv float\n", 1), ("Conv float !Conv-22/*\n", 6), ("Conv float16\n", 6),
                           ("* float\nConv double\n", 6), ("* *\n", 1), ("opset 22\n* *\n", 1)):
            file.write_text(text)
            self.expect([*conv, "--require", str(file)], code, report=True)
        # Meanings that ended before the opset of the table.
        for text, code in (("Softmax float\n", 1), ("opset 12\nSoftmax float\n", 1),
                           ("opset 13\nSoftmax float\n", 6)):
            file.write_text(text)
            self.expect([*old, "--require", str(file)], code, report=True)
        # Other floating-point types of a case: BatchNormalization of float with statistics in double.
        mixed = ["--provider", self.library, "--filter", "BatchNormalization-15/float+float+double/*"]
        for text, code in (("BatchNormalization float\n", 6), ("BatchNormalization float double\n", 1)):
            file.write_text(text)
            self.expect([*mixed, "--require", str(file)], code, report=True)

    def streams(self):
        """A report that cannot grow, a console that is full, streams that are closed."""
        words = [self.program, "--provider", self.library, "--op", "Relu", "--filter",
                 "Relu-*/float/shapes-7/*", "--report", f"json:{self.folder / 'r.json'}"]

        def no_growth():
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

        def close_all():
            os.closerange(0, 3)

        with open("/dev/full", "w", encoding="utf-8") as full:
            for code, report, more in ((5, False, {"preexec_fn": no_growth}), (5, True, {"stdout": full}),
                                       (0, True, {"preexec_fn": close_all})):
                (self.folder / "r.json").unlink(missing_ok=True)
                more.setdefault("stdout", subprocess.DEVNULL)
                done = subprocess.run(words, stderr=subprocess.DEVNULL, timeout=120, check=False, **more)
                left = sorted(path.name for path in self.folder.glob("r.json*"))
                if done.returncode != code or left != ["r.json"] * report:
                    self.wrong += 1
                    print(f"WRONG {more}: expected exit code {code}, found {done.returncode}, {left}")

    def failed_stream(self):
        """A stream that has failed stays so: the case is blamed, and no other one."""
        folder = self.folder / "two"
        folder.mkdir()
        for op in ("Add", "Relu"):
            shutil.copy(self.contracts_folder / "ai.onnx" / f"{op}.yaml", folder)
        self.expect(["--provider", self.mynpu, "--option", "fail_op=Add", "--jobs", "1",
                     "--contracts", str(folder)], 1, report=True)
        # Cases about the provider as a whole run the first node they are given, an Add here.
        cases = [case for case in json.loads((self.folder / "r.json").read_text(encoding="utf-8"))["cases"]
                 if case["op"] != "provider"]
        wrong = [case for case in cases if case["status"] not in
                 (("FAIL", "UNSUPPORTED") if case["op"] == "Add" else ("PASS", "UNSUPPORTED"))]
        blamed = [case for case in cases if case["status"] == "FAIL"]
        wrong += [case for case in blamed if "option fail_op" not in case["message"]
                  or case["check"] not in ("status", "error_path")]
        if wrong or len(blamed) < 10:
            self.wrong += 1
            print(f"WRONG a stream that failed: {len(blamed)} blamed, {wrong[:2]}")

    def selection(self):
        lib = ["--provider", self.library]
        self.expect([*lib, "--filter", "no such case"], 6, "no case matches the filter 'no such case'",
                    report=True)
        ids = run(self.program, "--mode", "list", "--op", "Relu").stdout.split()
        shards = []
        for i in (1, 2, 3):
            done = run(self.program, "--mode", "list", "--op", "Relu", "--shard", f"{i}/3")
            shards += done.stdout.split()
        if sorted(ids) != sorted(shards) or len(set(ids)) != len(ids) or len(ids) < 50:
            self.wrong += 1
            print("WRONG the shards are not a partition of the cases")
        merge = run(self.program, "--mode", "list", "--op", "Relu", "--tier", "merge").stdout
        listed = run(self.program, "--mode", "list", "--op", "Relu", "--tier", "exhaustive")
        counts = f"merge {len(merge.split())}, full {len(ids)}, exhaustive "
        if counts not in listed.stderr:
            self.wrong += 1
            print(f"WRONG --mode list says {listed.stderr!r}, expected {counts!r}")
        if not set(ids) < set(listed.stdout.split()):
            self.wrong += 1
            print("WRONG tier full is not a proper part of tier exhaustive")
        if not set(merge.split()) < set(ids):
            self.wrong += 1
            print("WRONG tier merge is not a proper part of tier full")
        self.expect([*lib, "--mode", "support", "--op", "Relu"], 0, "Relu", "float",
                    report=True)

    def seeds(self):
        words = ["--provider", self.library, "--filter", "MatMul-*/float/square/uniform"]
        errors = []
        for seed in ("0", "0", "1"):
            self.expect([*words, "--seed", seed], 0, report=True)
            report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
            errors.append((report["cases"][0]["seed"], report["cases"][0]["error"]))
        if errors[0] != errors[1] or errors[0] == errors[2]:
            self.wrong += 1
            print(f"WRONG the seed does not decide the inputs: {errors}")

    def plain(self):
        for words, text in ((["--help"], "exit codes"), (["--version"], "provider ABI")):
            done = run(self.program, *words)
            if done.returncode != 0 or text not in done.stdout:
                self.wrong += 1
                print(f"WRONG {words}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(*sys.argv[1:6], folder)
        for test in (tests.usage, tests.later, tests.contracts, tests.stray_kernel, tests.require, tests.profiles, tests.streams, tests.failed_stream, tests.selection,
                     tests.seeds, tests.plain):
            test()
        print("ok" if tests.wrong == 0 else f"{tests.wrong} wrong")
    return 1 if tests.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
