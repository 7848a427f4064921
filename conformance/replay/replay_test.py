#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bakes cases of every judge and replays them: on providers that are right, on one that is wrong,
from files that are damaged.

usage: replay_test.py OPSCONFORM OPSREPLAY CPU MYNPU FAULTY REFERENCE
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# operator, filter: an operator of each judge
BAKED = [("Relu", "*/float/*"), ("Softmax", "*/float/*shapes*"), ("MatMul", "*/float/*uniform"),
         ("LSTM", "*/float+int32/plain/*"), ("QuantizeLinear", "*/odd_scale/*"), ("TopK", "*/along_axis/*"),
         ("NonMaxSuppression", "*/plain/*"), ("RandomNormal", "*/plain/*"), ("Dropout", "*/training/*"),
         ("Bernoulli", "*/plain/*"), ("Cast", "*"), ("ConstantOfShape", "*")]
# opsreplay may need the C library, its parts, and nothing else.
LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


class Tests:
    def __init__(self, conform, replay, folder):
        self.conform, self.replay_program, self.folder, self.wrong = conform, replay, folder, 0

    def check(self, holds, what):
        if not holds:
            self.wrong += 1
            print(f"WRONG: {what}")

    def run(self, *words):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300,
                              check=False)

    def bake(self):
        for op, pattern in BAKED:
            done = self.run(self.conform, "bake", self.folder / op, "--op", op, "--filter", pattern, "--tier",
                            "merge")
            self.check(done.returncode == 0, f"bake {op}: {done.stdout[-300:]}{done.stderr[-300:]}")

    def replay(self, code, provider, *words, at=None):
        done = self.run(self.replay_program, "--provider", provider, *words, at or self.folder)
        self.check(done.returncode == code, f"{provider} {words}: exit code {done.returncode}, expected {code}\n"
                   + done.stdout[-900:] + done.stderr[-300:])
        return done.stdout

    def right(self, cpu, mynpu, reference):
        said = self.replay(0, cpu)
        self.check(int(re.search(r"(\d+) PASS", said)[1]) > 30 and ", 0 FAIL" in said, said[-200:])
        self.replay(0, mynpu)  # memory of its own, streams
        said = self.replay(0, reference)  # knows every operator
        self.check("0 UNSUPPORTED, 0 UNTRUSTED, 0 broken" in said, said[-200:])

    def faults(self, faulty):
        self.replay(0, faulty)
        for fault, op in (("relu_drop_last", "Relu"), ("softmax_wrong_axis", "Softmax"),
                          ("matmul_float16_accumulation", "MatMul")):
            said = self.replay(1, faulty, "--option", f"fault={fault}", at=self.folder / op)
            failed = [line for line in said.splitlines() if " FAIL  " in line]
            self.check(failed and all(line.startswith(op) for line in failed), f"{fault}: {said[-400:]}")
        # What touches guarded memory dies; the case is the last that was printed.
        for fault in ("segfault", "write_past_output"):
            done = self.run(self.replay_program, "--provider", faulty, "--option", f"fault={fault}",
                            self.folder / "Relu")
            last = done.stdout.splitlines()[-1:]
            self.check(done.returncode < 0 and last and re.fullmatch(r"Relu-\S+ ", last[0]),
                       f"{fault}: {done.returncode}, {last}")

    def damage(self, cpu):
        case = next((self.folder / "Relu").glob("*/*/case.bin"))
        good = case.read_bytes()
        for name, bad in (("cut", good[:-1]), ("empty", b""), ("longer", good + b"x"),
                          ("other", good[:len(good) // 2] + bytes([good[len(good) // 2] ^ 1])
                           + good[len(good) // 2 + 1:])):
            case.write_bytes(bad)
            said = self.replay(5, cpu, at=case.parent)
            self.check("BROKEN  '" in said and "byte" in said, f"{name}: {said}")
        case.write_bytes(good)

    def usage(self, cpu):
        empty = self.folder / "nothing"
        empty.mkdir()
        self.replay(6, cpu, at=empty)
        self.replay(5, cpu, at=self.folder / "missing")
        self.replay(4, "/no/such/lib.so")
        for words in (["--provider", cpu], [self.folder], ["--oracle", "x", self.folder]):
            done = self.run(self.replay_program, *words)
            self.check(done.returncode == 4 and "usage" in done.stderr, f"{words}: {done.returncode}")

    def lean(self):
        done = self.run("readelf", "-d", self.replay_program)
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", done.stdout))
        sanitized = any("asan" in name or "tsan" in name or "ubsan" in name for name in needed)
        self.check(sanitized or needed <= LIBRARIES, f"opsreplay needs {needed - LIBRARIES}")


def main():
    conform, replay, cpu, mynpu, faulty, reference = sys.argv[1:7]
    with tempfile.TemporaryDirectory() as name:
        tests = Tests(conform, replay, pathlib.Path(name))
        tests.bake()
        tests.right(cpu, mynpu, reference)
        tests.faults(faulty)
        tests.damage(cpu)
        tests.usage(cpu)
        tests.lean()
        print("ok" if tests.wrong == 0 else f"{tests.wrong} wrong")
    return 1 if tests.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
