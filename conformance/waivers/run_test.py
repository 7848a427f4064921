#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waives what opsconform finds in a spoilt provider, and checks what it makes of that.

usage: run_test.py OPSCONFORM FAULTY_LIBRARY CONTRACTS

The provider multiplies matrices with sums in float16: some cases fail, by errors that the first
report says. The expected statuses are those of the table in waivers.h.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

WAIVER = """  - provider: {provider}
    versions: "{versions}"
    cases: {cases}
    check: {check}
    largest_error: {error}
    reason: sums in float16, tracked as TICKET-1
    expires: {expires}
"""


class Tests:
    def __init__(self, words, folder):
        self.program, self.library, contracts = words
        self.folder = pathlib.Path(folder)
        self.contract = self.without_float16(pathlib.Path(contracts) / "ai.onnx" / "MatMul.yaml")
        self.wrong = 0

    def without_float16(self, contract):
        """A copy: in float16 the fault is near the limit, and other checks than `values` see it."""
        text = contract.read_text(encoding="utf-8")
        for old, new in (("uint64, float16, ", "uint64, "), ("{float16: float, ", "{"),
                         ("{T: [float16]}", "{T: [float]}")):
            if text.count(old) != 1:
                sys.exit(f"{contract}: expected '{old}' once")
            text = text.replace(old, new)
        copy = self.folder / "MatMul.yaml"
        copy.write_text(text, encoding="utf-8")
        return copy

    def expect(self, what, found, wanted):
        if found != wanted:
            self.wrong += 1
            print(f"WRONG {what}: expected {str(wanted)[:500]}, found {str(found)[:500]}")

    def judge(self, *waivers, fault="matmul_float16_accumulation", more=()):
        """Exit code, report, console of a run with these waivers."""
        report, file = self.folder / "r.json", self.folder / "waivers.yaml"
        file.write_text("format: 1\nwaivers:" + ("\n" + "".join(waivers) if waivers else " []\n"),
                        encoding="utf-8")
        done = subprocess.run(
            [self.program, "--provider", self.library, "--option", f"fault={fault}", "--contracts",
             self.contract, "--waivers", file, "--report", f"json:{report}", *more],
            capture_output=True, text=True, check=False)
        return done.returncode, json.loads(report.read_text(encoding="utf-8")), done.stdout

    def waiver(self, cases, **changes):
        row = {"provider": "faulty", "versions": ">=1 <2", "check": "values", "error": "1e300",
               "expires": "2999-12-31", "cases": json.dumps(cases), **changes}
        return WAIVER.format(**row)

    @staticmethod
    def by_status(report, status):
        return sorted(case["id"] for case in report["cases"] if case["status"] == status)

    def run(self):
        code, report, _ = self.judge()
        failing = {case["id"]: float(case["error"]) for case in report["cases"]
                   if case["status"] == "FAIL"}
        ids = sorted(failing)
        finite = [name for name in ids if math.isfinite(failing[name])]
        largest = max(failing[name] for name in finite)
        self.expect("without waivers", (code, len(finite) > 2, len(finite) < len(ids)),
                    (1, True, True))
        # Where the sums overflow the error is infinite.
        rest = self.waiver([name for name in ids if name not in finite], error="inf")

        code, report, said = self.judge(rest, self.waiver(finite, error=largest * 1.000001))
        self.expect("all waived", (code, self.by_status(report, "WAIVED")), (0, ids))
        waived = report["waivers"][1]
        self.expect("the waiver in the report",
                    (waived["state"], waived["waived"], waived["passed"], waived["seen_error"]),
                    ("used", len(finite), 0, largest))
        self.expect("the waiver of a case",
                    {case["waiver"] for case in report["cases"] if case["id"] in finite}, {1})
        self.expect("the waivers on the console", "2 of " in said and "2 used" in said, True)

        code, report, _ = self.judge(rest, self.waiver(finite, error=largest * 0.999))
        worse = [name for name in finite if failing[name] > largest * 0.999]
        self.expect("a larger error", (code, self.by_status(report, "FAIL")), (1, worse))

        code, report, _ = self.judge(rest, self.waiver(finite), fault="none")
        self.expect("repaired", (code, self.by_status(report, "XPASS")), (1, ids))

        code, report, _ = self.judge(rest, self.waiver(finite, expires="2020-01-31"))
        self.expect("expired", (code, self.by_status(report, "FAIL")),
                    (1, sorted([*finite, "provider"])))

        other = self.waiver(["Nothing-*"])
        code, report, _ = self.judge(self.waiver(ids, error="inf"), other)
        self.expect("unmatched", (code, self.by_status(report, "FAIL"), self.by_status(report, "WAIVED")),
                    (1, ["provider"], ids))
        self.expect("why", ["waivers.yaml:10" in case["message"] for case in report["cases"]
                            if case["id"] == "provider"], [True])
        code, _, _ = self.judge(self.waiver(ids, error="inf"), other, more=("--filter", ids[0]))
        self.expect("unmatched in a part of the cases", code, 6)  # nothing passed, nothing failed

        for change in ({"provider": "another"}, {"versions": ">=2"}, {"check": "guard"}):
            code, report, _ = self.judge(self.waiver(ids, **change), more=("--op", "MatMul"))
            self.expect(f"{change}", (code, self.by_status(report, "FAIL")), (1, ids))

        (self.folder / "bad.yaml").write_text("format: 1\nwaiver: []\n", encoding="utf-8")
        done = subprocess.run([self.program, "--provider", self.library, "--waivers",
                               self.folder / "bad.yaml"], capture_output=True, text=True, check=False)
        self.expect("a file with a wrong key", (done.returncode, "bad.yaml:2:1:" in done.stderr),
                    (4, True))
        return 1 if self.wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(Tests(sys.argv[1:], temporary).run())
