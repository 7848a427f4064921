#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever a provider does, the run ends with a right report: status, phase, check, exit code.

usage: hostile_test.py OPSCONFORM HOSTILE_PROVIDER

A row of the table is one run with OPS_HOSTILE=PLACE=DEED. Expected are the cases that did not
pass, or a finding about the provider. A deed is done once in a process, in the kernel's places by
cases of rank 2 alone: what ends the process meets all of them, what it survives the first.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SELECTION = ["--op", "Relu", "--tier", "merge", "--filter", "Relu-14/float/shapes-*", "--jobs", "1"]
PATIENT, HASTY = "20", "3"  # seconds for a case: where none should hang, where one does

# Which cases do not pass.
NONE, RANK_2, FIRST, ALL, SOME = "none", "rank 2", "the first of rank 2", "all", "some"
ONE = "one"  # the one that opens and closes another instance, for the check thread_count

# place=deed: (cases that do not pass, their status, their check, words of the message,
#              finding about the provider: (status, phase, words) or None, exit code).
# A finding is of the check `lifecycle`, unless a fourth word says otherwise.
CRASH_6 = "killed by signal 6"
OPEN = ("CRASH", "open")
MORE = "more than before the provider was opened, expected at most"
LEAK = "; most of that came with the case Relu-14/float/shapes-0x3/"
TABLE = {
    "none=none": (NONE, None, None, "", None, 0),
    # While the library is loaded and opened: nothing can be run.
    "constructor=abort": (ALL, "NOT_RUN", "lifecycle", "", (*OPEN, CRASH_6), 1),
    "constructor=hang": (ALL, "NOT_RUN", "lifecycle", "", ("TIMEOUT", "open", "was killed"), 1),
    "constructor=exit": (ALL, "NOT_RUN", "lifecycle", "", (*OPEN, "exited with status 0"), 1),
    "query=segfault": (ALL, "NOT_RUN", "lifecycle", "", (*OPEN, "killed by signal 11"), 1),
    "query=hang": (ALL, "NOT_RUN", "lifecycle", "", ("TIMEOUT", "open", ""), 1),
    "query=umask": (NONE, None, None, "", ("FAIL", "close", "umask"), 1),
    "instance_create=abort": (ALL, "NOT_RUN", "lifecycle", "", (*OPEN, CRASH_6), 1),
    "instance_create=spin": (ALL, "NOT_RUN", "lifecycle", "", ("TIMEOUT", "open", ""), 1),
    "instance_create=folder": (NONE, None, None, "", ("FAIL", "close", "chdir"), 1),
    "instance_create=kill_parent": (ALL, "NOT_RUN", "lifecycle", "", (*OPEN, "signal 9"), 1),
    "instance_create=child": (NONE, None, None, "", ("FAIL", "close", "child process"), 1),
    "device_open=_exit": (ALL, "NOT_RUN", "lifecycle", "", (*OPEN, "exited with status 0"), 1),
    "device_open=close_files": (ALL, "NOT_RUN", "lifecycle", "", (*OPEN, "descriptor"), 1),
    "constructor=handle_signals": (NONE, None, None, "", ("FAIL", "close", "SIGSEGV"), 1),
    # In the calls of a case: that case is charged.
    "claim=abort": (ALL, "CRASH", "process", "in claim: the process was " + CRASH_6, None, 1),
    "create=segfault": (ALL, "CRASH", "process", "in create", None, 1),
    "destroy=abort": (ALL, "CRASH", "process", "in destroy", None, 1),
    "prepare=hang": (RANK_2, "TIMEOUT", "time", "in prepare", None, 1),
    "prepare=exit": (RANK_2, "CRASH", "process", "exited with status 0", None, 1),
    "prepared_destroy=abort": (RANK_2, "CRASH", "process", CRASH_6, None, 1),
    "execute=abort": (RANK_2, "CRASH", "process", "in execute: the process was " + CRASH_6, None, 1),
    "execute=segfault": (RANK_2, "CRASH", "process", "killed by signal 11", None, 1),
    "execute=hang": (RANK_2, "TIMEOUT", "time", "in execute", None, 1),
    "execute=spin": (RANK_2, "TIMEOUT", "time", "in execute", None, 1),
    "execute=stop": (RANK_2, "TIMEOUT", "time", "in execute", None, 1),
    "execute=terminate": (RANK_2, "CRASH", "process", "killed by signal 15", None, 1),
    "execute=_exit": (RANK_2, "CRASH", "process", "exited with status 0", None, 1),
    "execute=kill_group": (RANK_2, "CRASH", "process", "killed by signal 9", None, 1),
    "execute=kill_parent": (RANK_2, "CRASH", "process", "killed by signal 9", None, 1),
    "execute=fork": (RANK_2, "CRASH", "process", "made by fork", None, 1),
    "execute=child": (FIRST, "FAIL", "environment", "child process",
                      ("FAIL", "exit", "outlive"), 1),
    "execute=close_files": (RANK_2, "CRASH", "process", "descriptor of the harness", None, 1),
    "execute=replace_files": (RANK_2, "CRASH", "process", "descriptor of the harness", None, 1),
    "execute=flood": (NONE, None, None, "", None, 0),
    "execute=round": (FIRST, "FAIL", "environment", "floating-point", None, 1),
    "execute=block_signals": (FIRST, "FAIL", "environment", "blocks", None, 1),
    "execute=handle_signals": (FIRST, "FAIL", "environment", "SIGSEGV", None, 1),
    "execute=ignore_pipes": (FIRST, "FAIL", "environment", "sigaction", None, 1),
    "execute=folder": (FIRST, "FAIL", "environment", "chdir", None, 1),
    "execute=environment": (FIRST, "FAIL", "environment", "setenv", None, 1),
    "execute=umask": (FIRST, "FAIL", "environment", "umask", None, 1),
    "execute=timer": (FIRST, "FAIL", "environment", "setitimer", None, 1),
    "execute=forbid_files": (FIRST, "FAIL", "environment", "setrlimit", None, 1),
    "execute=crash_in_thread": (SOME, None, "process", CRASH_6, ("CRASH", None, CRASH_6), 1),
    "execute_lost": (ALL, "NOT_RUN", None, "", ("NOT_RUN", None, "fallen off the bus"), 6),
    # When all is done.
    "device_close=abort": (ONE, "CRASH", "process", CRASH_6, ("CRASH", "close", CRASH_6), 1),
    "device_close=hang": (ONE, "TIMEOUT", "time", "was killed", ("TIMEOUT", "close", ""), 1),
    "instance_destroy=_exit": (ONE, "CRASH", "process", "exited with status 0",
                               ("CRASH", "close", "exited with status 0"), 1),
    "destructor=abort": (NONE, None, None, "", ("CRASH", "exit", CRASH_6), 1),
    "destructor=hang": (NONE, None, None, "", ("TIMEOUT", "exit", ""), 1),
    "execute=crash_at_exit": (NONE, None, None, "", ("CRASH", "exit", CRASH_6), 1),
    "execute=hang_at_exit": (NONE, None, None, "", ("TIMEOUT", "exit", ""), 1),
    # What is left when all is closed.
    "execute=leak": (NONE, None, None, "", ("FAIL", "close", f"1024 MiB of memory from malloc {MORE} 64{LEAK}",
                                            "leak"), 1),
    "execute=map": (NONE, None, None, "", ("FAIL", "close", f"MiB of resident memory {MORE} 256{LEAK}",
                                           "leak"), 1),
    "execute=thread": (NONE, None, None, "", ("FAIL", "close", f"found 1 threads that go on running {MORE} 0{LEAK}",
                                              "leak"), 1),
    "prepared_destroy=leak": (NONE, None, None, "", ("FAIL", "close", LEAK, "leak"), 1),
    "instance_create=leak": (NONE, None, None, "", ("FAIL", "close", "MiB", "leak"), 1),
    "instance_create=thread": (NONE, None, None, "", ("FAIL", "close", "1 threads", "leak"), 1),
    "instance_destroy=leak": (NONE, None, None, "", ("FAIL", "close", "MiB", "leak"), 1),
    "device_close=thread": (NONE, None, None, "", ("FAIL", "close", "1 threads", "leak"), 1),
    "constructor=thread": (NONE, None, None, "", ("FAIL", "close", "started one"), 1),
    "execute=exit_badly": (NONE, None, None, "", ("CRASH", "exit", "status 7"), 1),
}
# The thread aborts during a later case, or when the repeated one is done: before or while the provider is closed.
BY_CHANCE = ("execute=crash_in_thread",)  # the finding may be missing
QUIET = ("PASS", "UNSUPPORTED")


def is_rank_2(case):
    return case["inputs"].count(",") == 1


def run(program, provider, deed, folder):
    path = pathlib.Path(folder) / f"{deed}.json"
    # A provider that has gone elsewhere is opened again, for the check thread_count.
    folder_of, name = os.path.split(provider)
    there = {"cwd": folder_of} if deed.endswith("folder") else {}
    given = f"./{name}" if there else provider
    words = [program, "--provider", given, *SELECTION, "--report", f"json:{path}",
             "--timeout", HASTY if deed.endswith(("hang", "spin", "stop", "hang_at_exit"))
             else PATIENT]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False, **there,
                          env={**os.environ, "OPS_HOSTILE": deed})
    return done, json.loads(path.read_text()) if path.exists() else None


def wrong_cases(report, who, status, check, text):
    """What is wrong about the cases that did not pass."""
    cases = [case for case in report["cases"] if case["id"] != "provider"]
    failed = [case for case in cases if case["status"] not in QUIET]
    if who == SOME:
        if not failed or len(failed) == len(cases):
            yield f"expected some cases to fail, found {len(failed)} of {len(cases)}"
    elif who == ONE:
        if len(failed) != 1:
            yield f"expected one case to fail, found {[case['id'] for case in failed]}"
    elif who == ALL and status == "NOT_RUN":
        if not any(case["status"] == "NOT_RUN" for case in cases):
            yield "expected cases that were not run"
    else:
        matrices = [case for case in cases if is_rank_2(case)]
        expected = {NONE: [], RANK_2: matrices, FIRST: matrices[:1], ALL: cases}[who]
        if [case["id"] for case in failed] != [case["id"] for case in expected]:
            yield f"expected {[case['id'] for case in expected]}, found {[case['id'] for case in failed]}"
    for case in failed:
        if status and case["status"] != status:
            yield f"{case['id']}: expected {status}, found {case['status']}"
        if check and case["check"] != check:
            yield f"{case['id']}: expected the check {check}, found {case['check']}"
        if text not in case["message"]:
            yield f"{case['id']}: expected '{text}' in '{case['message']}'"


def wrong_finding(report, finding):
    """What is wrong about the findings about the provider as a whole."""
    found = [case for case in report["cases"] if case["id"] == "provider"]
    if not finding:
        if found:
            yield f"expected no finding about the provider, found {found}"
        return
    status, phase, text, check = (*finding, "lifecycle")[:4]
    if len(found) != 1:
        yield f"expected one finding about the provider, found {found}"
    for case in found:
        if case["status"] != status or (phase and case["phase"] != phase):
            yield f"expected {status} in {phase}, found {case['status']} in {case['phase']}"
        if text not in case["message"]:
            yield f"expected '{text}' in '{case['message']}'"
        if case["check"] != check:
            yield f"expected a finding of the check {check}, found {case['check']}"


def judge(deed, done, report):
    who, status, check, text, finding, code = TABLE[deed]
    if report is None:
        yield f"no report, exit code {done.returncode}: {(done.stdout + done.stderr)[-800:]}"
        return
    if done.returncode != code:
        yield f"expected exit code {code}, found {done.returncode}"
    if report["summary"]["exit_code"] != done.returncode:
        yield "the report has another exit code than the program"
    yield from wrong_cases(report, who, status, check, text)
    if deed not in BY_CHANCE or any(case["id"] == "provider" for case in report["cases"]):
        yield from wrong_finding(report, finding)


def left_behind():
    """Processes that outlive the runs: those that were started with OPS_HOSTILE."""
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if b"\0OPS_HOSTILE=" in b"\0" + path.read_bytes():
                yield path.parent.name
        except OSError:
            pass


def main():
    program, provider = sys.argv[1:3]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(6) as threads:
        runs = [(deed, threads.submit(run, program, provider, deed, folder)) for deed in TABLE]
        for deed, future in runs:
            for problem in judge(deed, *future.result()):
                wrong += 1
                print(f"WRONG {deed}: {problem}")
    for pid in left_behind():
        wrong += 1
        print(f"WRONG process {pid} was left behind")
    print(f"{len(TABLE)} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
