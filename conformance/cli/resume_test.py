#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed, interrupted, cut and sharded, against the one run that was not.

usage: resume_test.py OPSCONFORM PROVIDER

PROVIDER is the faulty provider. Every report must equal that of an uninterrupted run in
everything but times.
"""
import json
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time

SELECTION = ["--tier", "merge", "--filter", "Re[ls]*", "--option", "fault=relu_drop_last"]


def strip(report):
    """The report without times, and without what says how it was come by."""
    del report["summary"]["seconds"], report["environment"]["started"]
    for case in report["cases"]:
        del case["seconds"]
    return report


class Tests:
    def __init__(self, program, provider, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.words = [program, "--provider", provider, *SELECTION]
        self.journal = self.folder / "journal"
        self.report = self.folder / "report.json"
        self.whole = None
        self.wrong = 0

    def run(self, *words, code=1, says=()):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=300, check=False)
        said = done.stdout + done.stderr
        problems = [f"missing in the output: {text!r}" for text in says if text not in said]
        if done.returncode != code:
            problems.append(f"expected exit code {code}, found {done.returncode}")
        if problems:
            self.complain(f"{' '.join(map(str, words))}: {'; '.join(problems)}\n{said[-1500:]}")
        return said

    def complain(self, text):
        self.wrong += 1
        print(f"WRONG {text}")

    def resumed(self, *more):
        return [*self.words, "--resume", self.journal, "--report", f"json:{self.report}", *more]

    def compare(self, what):
        found = strip(json.loads(self.report.read_text()))
        self.report.unlink()
        if found == self.whole:
            return
        cases = [pair for pair in zip(found["cases"], self.whole["cases"]) if pair[0] != pair[1]]
        keys = [key for key in self.whole if found.get(key) != self.whole[key]]
        self.complain(f"{what}: {keys} differ from one run; {len(cases)} cases: {cases[:1]}")

    def one_run(self):
        self.run(*self.words, "--report", f"json:{self.report}")
        self.whole = strip(json.loads(self.report.read_text()))
        total = self.whole["summary"]["total"]
        if total < 200 or self.whole["summary"]["FAIL"] < 5:
            self.complain(f"the selection proves little: {self.whole['summary']}")

    def start_until(self, lines, number):
        """Starts a run, sends it signal `number` when its journal has `lines` lines more."""
        before = self.journal.read_bytes().count(b"\n") if self.journal.exists() else 0
        with subprocess.Popen([str(word) for word in self.resumed()], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as process:
            while process.poll() is None:
                if self.journal.exists() and \
                        self.journal.read_bytes().count(b"\n") >= before + lines:
                    process.send_signal(number)
                    break
                time.sleep(0.002)
            said = process.communicate()[0]
        return process.returncode, said

    def killed(self):
        """kill -9, again and again."""
        kills = 0
        for lines in (1, 5, 20, 40, 40, 60):
            kills += self.start_until(lines, signal.SIGKILL)[0] == -signal.SIGKILL
        if kills < 3:
            self.complain(f"only {kills} of 6 runs lived long enough to be killed")
        self.run(*self.resumed(), says=["have a result in"])
        self.compare("killed and resumed")
        self.run(*self.resumed())
        self.compare("resumed with nothing left to do")
        self.run(self.program, "merge", self.journal, "--report", f"json:{self.report}")
        self.compare("the journal of a run that was killed, merged")

    def interrupted(self):
        self.journal.unlink()
        self.report.unlink(missing_ok=True)
        code, said = self.start_until(60, signal.SIGINT)
        lines = said.splitlines()
        if code != 1 and code != 6:
            self.complain(f"Ctrl-C: expected exit code 1 or 6, found {code}\n{said[-1500:]}")
        if not any("interrupted; go on with" in line for line in lines):
            self.complain(f"Ctrl-C: no line that resumes\n{said[-1500:]}")
            return
        summary = json.loads(self.report.read_text())["summary"]
        if summary["NOT_RUN"] == 0 or summary["total"] != self.whole["summary"]["total"]:
            self.complain(f"Ctrl-C: expected cases that were not run, found {summary}")
        self.run(*shlex.split(lines[-1]))
        self.compare("interrupted, and the line it printed")

    def cut(self):
        data = self.journal.read_bytes()
        places = random.Random(5)
        for size in [0, 1, len(data) - 1, *(places.randrange(len(data)) for _ in range(8))]:
            self.journal.write_bytes(data[:size])
            self.run(*self.resumed())
            self.compare(f"cut at byte {size} of {len(data)}")
        middle = data.index(b"\n", len(data) // 2)
        self.journal.write_bytes(data[:middle - 60] + b"#" + data[middle - 59:])
        self.run(*self.resumed(), code=4, says=["does not fit its sum"])
        self.run(self.program, "merge", self.journal, code=4, says=["does not fit its sum"])
        self.journal.write_bytes(data)

    def other_runs(self):
        """What does not match the journal is refused by name, and leaves it as it is."""
        data = self.journal.read_bytes()
        for more, text in ((["--seed", "3"], "seed is '0', expected '3'"),
                           (["--profile", "strict"], "profile is 'standard', expected 'strict'"),
                           (["--timeout", "77"], "timeout is '10', expected '77'"),
                           (["--shard", "1/2"], "shard is '', expected '1/2'"),
                           (["--option", "more=1"], "options is")):
            self.run(*self.resumed(*more), code=4, says=[text])
        if self.journal.read_bytes() != data:
            self.complain("a run that was refused changed the journal")
        if self.report.exists():
            self.complain("a run that was refused wrote a report")
        self.run(*self.words, "--resume", self.folder, code=5, says=["journal"])
        self.run(*self.resumed("--mode", "support"), code=4, says=["--resume belongs to"])

    def shards(self):
        names = [self.folder / f"shard{i}" for i in (1, 2, 3, 4)]
        for i, name in enumerate(names):
            self.run(*self.words, "--shard", f"{i + 1}/4", "--resume", name)
        merge = [self.program, "merge", "--report", f"json:{self.report}"]
        self.run(*merge, *reversed(names))
        self.compare("four shards")
        self.run(*merge, *names[:3], code=4, says=["1 of 4 shards are missing: 4/4"])
        self.run(*merge, *names, names[1], code=4, says=["shard 2/4 is there twice"])
        self.run(*merge, *names[:3], self.journal, code=4, says=["shard_count is '1'"])
        data = names[2].read_bytes()
        lines = data.splitlines(keepends=True)
        names[2].write_bytes(b"".join(lines[:-3]))
        lost = [json.loads(line)["result"]["id"] for line in lines[-3:-1]]
        self.run(*merge, *names, code=4, says=["no result of 2 of its", *lost, "--resume"])
        if self.report.exists():
            self.complain("a merge that was refused wrote a report")
        self.run(self.program, "merge", code=4, says=["name the journals"])
        self.run(self.program, "merge", self.folder / "none", code=4, says=["cannot be read"])

    def all(self):
        self.one_run()
        self.killed()
        self.interrupted()
        self.cut()
        self.other_runs()
        self.shards()
        return self.wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        wrong = Tests(*sys.argv[1:3], folder).all()
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
