#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The templates for schedulers, run as the schedulers would run them, against one whole run.

usage: templates_test.py OPSCONFORM PROVIDER

The shell of each template is taken from its file and run once a shard with the variables that the
scheduler sets; every other shard is terminated once and run again. The reports that `merge` makes
must have the verdicts of a run in one piece.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import time

TEMPLATES = pathlib.Path(__file__).resolve().parent / "templates"
SHARDS = 4


def slurm(index):
    return [str(TEMPLATES / "slurm.sh")], {"SLURM_ARRAY_TASK_ID": str(index), "SLURM_ARRAY_TASK_MIN": "1",
                                           "SLURM_ARRAY_TASK_COUNT": str(SHARDS)}


def kubernetes(index):
    text = (TEMPLATES / "kubernetes.yml").read_text(encoding="utf-8")
    script = re.search(r"args:\n +- \|\n(.*?)\n +resources:", text, re.S).group(1)
    return ["-c", textwrap.dedent(script)], {"JOB_COMPLETION_INDEX": str(index - 1), "SHARDS": str(SHARDS),
                                             "JOURNALS": "."}


def verdicts(path):
    report = json.loads(path.read_text(encoding="utf-8"))
    return [(case["id"], case["status"]) for case in report["cases"]]


class Simulation:
    def __init__(self, program, provider, folder):
        self.program, self.provider, self.folder = program, provider, pathlib.Path(folder)
        self.environment = {**os.environ, "PROVIDER": provider, "TIER": "merge",
                            "PATH": f"{pathlib.Path(program).parent}:{os.environ['PATH']}"}

    def start(self, template, index):
        words, variables = template(index)
        return subprocess.Popen(["sh", *words], cwd=self.folder, env={**self.environment, **variables},
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def run_shard(self, template, index):
        """Runs a shard to its end; returns whether it was stopped on the way."""
        journal = self.folder / f"shard-{index}.jsonl"
        process = self.start(template, index)
        while index % 2 == 0 and process.poll() is None:
            if journal.exists() and journal.read_bytes().count(b"\n") > 30:
                process.terminate()
                break
            time.sleep(0.005)
        stopped = "interrupted" in process.communicate()[1]
        if stopped:
            self.start(template, index).communicate()
        return stopped

    def whole(self):
        path = self.folder / "whole.json"
        subprocess.run([self.program, "--provider", self.provider, "--tier", "merge", "--report",
                        f"json:{path}"], stdout=subprocess.DEVNULL, check=False)
        return verdicts(path)

    def merged(self):
        path = self.folder / "merged.json"
        journals = [self.folder / f"shard-{i}.jsonl" for i in range(1, SHARDS + 1)]
        subprocess.run([self.program, "merge", *journals, "--report", f"json:{path}"],
                       stdout=subprocess.DEVNULL, check=False)
        found = verdicts(path)
        for name in (path, *journals):
            name.unlink()
        return found


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(*(str(pathlib.Path(word).resolve()) for word in sys.argv[1:3]), folder)
        expected = simulation.whole()
        for template in (slurm, kubernetes):
            stops = sum(simulation.run_shard(template, index) for index in range(1, SHARDS + 1))
            found = simulation.merged()
            print(f"{template.__name__}: {SHARDS} shards, {stops} stopped, {len(found)} cases")
            if found != expected or stops == 0:
                wrong += 1
                print(f"WRONG {template.__name__}: expected the verdicts of one run, after a stop")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
