#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A provider that claims only in groups is judged; each way it can be wrong is seen.

usage: grouped_test.py OPSCONFORM GROUPED_LIBRARY
"""
import json
import pathlib
import subprocess
import sys
import tempfile

# fault: exit code, statuses that must occur, statuses that must not, check, part of the message
ROWS = {
    "none": (0, {"PASS"}, {"FAIL", "NOT_RUN", "UNTRUSTED"}, "", ""),
    "pairs": (0, {"PASS", "UNSUPPORTED"}, {"FAIL", "NOT_RUN"}, "", "claimed only in groups"),
    "alone": (1, {"FAIL"}, {"CRASH"}, "unwritten", "first run: output 0"),
    "chain": (1, {"FAIL", "PASS"}, {"CRASH"}, "values", " behind it: output 0"),
    "operand": (1, {"FAIL", "PASS"}, {"CRASH"}, "values", "behind it: output 0"),
    "never": (6, {"UNSUPPORTED"}, {"PASS", "FAIL"}, "", "no group is proposed and compiled"),
    "declines": (6, {"UNSUPPORTED"}, {"PASS", "FAIL"}, "", "no group is proposed and compiled"),
    "wavers": (1, {"FAIL"}, set(), "claim", "asked twice for a group of the node alone"),
}


def run(program, library, fault, op, folder):
    report = pathlib.Path(folder) / "report.json"
    done = subprocess.run([program, "--provider", library, "--option", f"fault={fault}", "--op", op,
                           "--filter", "*/float/*", "--report", f"json:{report}"],
                          capture_output=True, text=True, timeout=300, check=False)
    return done, json.loads(report.read_text(encoding="utf-8"))["cases"]


def judge(program, library, fault, row, folder):
    code, wanted, banned, check, text = row
    wrong = []
    for op in ("Relu", "Neg") if fault != "none" else ("Relu", "Neg", "Add"):
        done, cases = run(program, library, fault, op, folder)
        statuses = {case["status"] for case in cases}
        messages = [case["message"] for case in cases if case["status"] != "PASS"
                    and case.get("check", "") == check]
        if done.returncode != code or not wanted <= statuses or banned & statuses:
            wrong.append(f"{op}: exit code {done.returncode}, expected {code}; {statuses}")
        if text and not any(text in message for message in messages):
            wrong.append(f"{op}: no message of check '{check}' says '{text}': {messages[:3]}")
    return wrong


def main():
    program, library = sys.argv[1:3]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for fault, row in ROWS.items():
            wrong = judge(program, library, fault, row, folder)
            failed += bool(wrong)
            print(f"{fault}: {'; '.join(wrong) or 'as expected'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
