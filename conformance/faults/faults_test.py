#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs opsconform on the faulty provider and checks that each fault is found where it is.

usage: faults_test.py OPSCONFORM LIBRARY CONTRACTS [FAULT...]

For every fault: exit code 1, the operator that is wrong, the status and the check that name the
mistake, and no other case touched. The correct provider must pass every case. The reports are
read back with Python's own JSON and XML parsers.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

OPERATORS = ("Relu", "Softmax", "MatMul", "Sub")  # Sub: what the rewrite of the library is about
TIMEOUT = "15"


def shape(case):
    """The shape of the first input."""
    return [int(n) for n in re.findall(r"-?\d+", case["inputs"].split("]")[0].split("[")[1])]


def count(case):
    product = 1
    for n in shape(case):
        product *= n
    return product


def plain(case):
    return "/error/" not in case["id"]


# fault: operator, statuses, checks, which of its claimed cases must fail (None: at least one)
FAULTS = {
    "relu_drop_last": ("Relu", {"FAIL"}, {"unwritten", "values"}, lambda c: count(c) > 0),
    "matmul_float16_accumulation": ("MatMul", {"FAIL"}, {"values", "state"}, None),
    "softmax_wrong_axis": ("Softmax", {"FAIL"}, {"values", "invariants"}, None),
    "write_past_output": ("Relu", {"CRASH"}, {"guard"}, lambda c: True),
    # A thread that reads late finds its page taken away, or all of its memory gone.
    "read_after_run": ("Relu", {"CRASH", "FLAKY"}, {"async", "process"}, None),
    "segfault": ("Relu", {"CRASH"}, {"process"}, lambda c: len(shape(c)) == 2),
    "hang": ("Relu", {"TIMEOUT"}, {"time"}, lambda c: count(c) == 7),
    "calls_exit": ("Relu", {"CRASH"}, {"process"}, lambda c: len(shape(c)) == 2),
    "changes_rounding": ("Relu", {"FAIL"}, {"environment"}, lambda c: len(shape(c)) == 2),
    "fork_returns": ("Relu", {"CRASH", "FLAKY"}, {"process"}, None),
    "leaves_child": ("Relu", {"CRASH"}, {"process"}, lambda c: len(shape(c)) == 2),
    "static_scratch": ("Relu", {"FAIL", "FLAKY"}, {"concurrency"}, None),
    "workspace_kind": ("Relu", {"FAIL"}, {"shape"}, lambda c: True),
    "workspace_alignment": ("Relu", {"FAIL"}, {"shape"}, lambda c: True),
    "workspace_huge": ("Relu", {"FAIL"}, {"status"}, lambda c: True),
    "claim_then_unsupported": ("Relu", {"FAIL"}, {"claim"}, lambda c: len(shape(c)) == 3),
}


# Faults that are data races: where the harness is built with ThreadSanitizer, its report is as
# right a finding as the check's, and the status is FAIL where the process lived on. A message may
# hold the report's end only, without its first line; the exit code is ThreadSanitizer's own.
RACES = {"static_scratch", "read_after_run"}
RACE_REPORT = re.compile("ThreadSanitizer: data race|the process exited with status 66")


class Wrong(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Wrong(text)


def copy_contracts(source, folder):
    """Only the operators that the faulty provider has."""
    target = folder / "contracts"
    target.mkdir()
    for operator in OPERATORS:
        shutil.copy(pathlib.Path(source) / "ai.onnx" / f"{operator}.yaml", target)
    return target


def run(program, library, contracts, fault, folder):
    report, junit = folder / f"{fault}.json", folder / f"{fault}.xml"
    done = subprocess.run(
        [program, "--provider", library, "--option", f"fault={fault}",
         "--contracts", contracts, "--timeout", TIMEOUT, "--jobs", "2", "--report", f"json:{report}",
         "--report", f"junit:{junit}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, check=False)
    check(report.exists() and junit.exists(), f"no report was written:\n{done.stdout}")
    return done, json.loads(report.read_text(encoding="utf-8")), ElementTree.parse(junit)


def check_reports(done, report, junit):
    summary, cases = report["summary"], report["cases"]
    check(summary["exit_code"] == done.returncode, "exit code of the report and of the program")
    check(summary["total"] == len(cases), "total and the number of cases")
    statuses = [case["status"] for case in cases]
    for status in ("PASS", "FAIL", "CRASH", "TIMEOUT", "UNSUPPORTED", "WAIVED", "XPASS",
                   "UNTRUSTED", "FLAKY", "NOT_RUN"):
        check(summary[status] == statuses.count(status), f"the count of {status}")
    check(len({case["id"] for case in cases}) == len(cases), "two cases with one id")
    # The provider itself comes last.
    opened = any(status != "NOT_RUN" for status in statuses[:-1])
    check(len(report["oracle"].get("sha256", "")) == 64 * opened, "the oracle's hash")
    root = junit.getroot()
    check(int(root.get("tests")) == len(cases), "JUnit: tests")
    check(int(root.get("failures")) == statuses.count("FAIL") + statuses.count("FLAKY"),
          "JUnit: failures")
    check(len(root.findall(".//testcase")) == len(cases), "JUnit: testcases")


def check_none(done, report):
    bad = [c for c in report["cases"] if c["status"] not in ("PASS", "UNSUPPORTED")]
    check(done.returncode == 0 and not bad, f"the correct provider fails: {bad[:3]}")
    check(report["summary"]["PASS"] >= 100, "fewer than 100 cases ran")


def check_opening(done, report):
    """Judged all the same; what opening left behind is a finding about the provider."""
    bad = [c for c in report["cases"] if c["status"] not in ("PASS", "UNSUPPORTED")]
    check(done.returncode == 1 and bad, "nothing was found")
    check(all(c["id"].startswith("provider") for c in bad)
          and all("floating-point" in c["message"] for c in bad), f"another finding: {bad[:3]}")
    check(any(c["id"] == "provider" and c["check"] == "lifecycle" for c in bad),
          f"nobody blames the opening: {bad[:3]}")


def check_dead(done, report):
    """Nothing can be judged: one block says why, however many cases there are."""
    statuses = [c["status"] for c in report["cases"]]
    check(done.returncode == 1 and statuses.count("CRASH") == 1
          and statuses.count("NOT_RUN") == len(statuses) - 1, "one CRASH, and nothing was run")
    blocks = re.findall("^NOT_RUN ", done.stdout, re.MULTILINE)
    check(len(blocks) == 1 and "more cases were not run" in done.stdout,
          f"{len(blocks)} blocks for one reason")


def check_fault(fault, done, report):
    operator, statuses, checks, must_fail = FAULTS[fault]
    check(done.returncode == 1, f"expected exit code 1, found {done.returncode}")
    claimed = [c for c in report["cases"] if c["status"] != "UNSUPPORTED"]
    failed = [c for c in claimed if c["status"] != "PASS"]
    check(any(c["status"] != "FLAKY" for c in failed), "no case fails")
    for case in failed:
        where = f"{case['id']}: {case['status']} {case.get('check')}: {case.get('message')}"
        raced = fault in RACES and RACE_REPORT.search(case.get("message", ""))
        check(case.get("op") == operator, f"another operator is blamed: {where}")
        check(case["status"] in statuses or (raced and case["status"] == "FAIL"),
              f"expected {statuses}, found {where}")
        check(case["check"] in checks or raced or not plain(case),
              f"expected {checks}, found {where}")
        if not plain(case) and case["check"] in ("values", "unwritten"):
            check(case["message"].startswith("after the refusal the valid node")
                  and case["inputs"], f"which node failed is not said: {where}")
        check(case["id"] in case["repeat"], f"the line that repeats it: {case['repeat']}")
    if must_fail:
        names = {c["id"] for c in failed}
        for case in claimed:
            if case["op"] == operator and plain(case):
                check((case["id"] in names) == must_fail(case),
                      f"{case['id']} is {case['status']}")


def check_repeat(program, report, library):
    """The printed line alone reproduces the verdict."""
    case = next(c for c in report["cases"] if c["status"] in ("FAIL", "CRASH"))
    words = case["repeat"].split()
    check(words[0] == "opsconform" and words[2] == library, f"the line {case['repeat']}")
    done = subprocess.run([program] + words[1:], capture_output=True, text=True, timeout=60,
                          check=False)
    check(done.returncode == 1 and case["id"] in done.stdout,
          f"the line does not repeat the failure: {case['repeat']}\n{done.stdout}")


def main():
    program, library, source = sys.argv[1:4]
    wanted = sys.argv[4:] or ["none", "rounds_at_open", "dies_at_open", *FAULTS]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        contracts = copy_contracts(source, pathlib.Path(name))
        for fault in wanted:
            try:
                done, report, junit = run(program, library, contracts, fault,
                                          pathlib.Path(name))
                check_reports(done, report, junit)
                if fault == "none":
                    check_none(done, report)
                elif fault == "rounds_at_open":
                    check_opening(done, report)
                elif fault == "dies_at_open":
                    check_dead(done, report)
                else:
                    check_fault(fault, done, report)
                    if fault == "relu_drop_last":
                        check_repeat(program, report, library)
                print(f"ok    {fault}: {report['summary']['PASS']} passed")
            except Wrong as error:
                wrong += 1
                print(f"WRONG {fault}: {error}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
