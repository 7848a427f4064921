# SPDX-License-Identifier: Apache-2.0
"""opsconform --mode perf from the command line to the report. No speed is asserted: what is
checked is who is measured, that wrong outputs are seen, and which baselines are refused.

usage: perf_test.py OPSCONFORM LIB_SLOWED LIB_FAULTY LIB_CPU CONTRACTS"""
import json
import pathlib
import subprocess
import sys
import tempfile

POINT = """performance:
  - {name: small, inputs: {X: [4, 33]}, type: float, bytes: "8*numel(X)", stages: {baseline: 0.8}}
"""


class Tests:
    def __init__(self, program, slowed, faulty, cpu, contracts, folder):
        self.program, self.slowed, self.faulty, self.cpu = program, slowed, faulty, cpu
        self.folder = folder
        text = (pathlib.Path(contracts) / "ai.onnx" / "Relu.yaml").read_text(encoding="utf-8")
        first = text[:text.index("\n---")] if "\n---" in text else text
        self.contract = folder / "Relu.yaml"
        self.contract.write_text(first[:first.index("performance:")] + POINT, encoding="utf-8")
        self.failures = 0

    def run(self, provider, *words, codes, says=()):
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        command = [self.program, "--provider", provider, "--mode", "perf", "--contracts",
                   str(self.contract), "--report", f"json:{report}", *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=600)
        if done.returncode not in codes or any(text not in done.stdout for text in says):
            self.failures += 1
            print(f"WRONG {words}: expected {codes} and {says}, found {done.returncode}\n"
                  f"{done.stdout}")
        return json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}

    def expect(self, found, wanted, what):
        if found == wanted:
            return
        self.failures += 1
        print(f"WRONG {what}: expected {wanted}, found {found}")

    def looks(self):
        report = self.run(self.cpu, codes=(0,), says=("Relu-14/perf/float/small", "ungated"))
        point = report["performance"][0]
        self.expect(point["gate"]["reference"], "none", "the reference without --against")
        samples = point["candidate"]["hot"]["samples"]
        self.expect(samples % (12 * 3) == 0 and samples > 0, True, f"whole blocks: {samples}")
        self.expect("yardstick" in point, True, "the yardstick")

    def sees_wrong_outputs(self):
        self.run(self.faulty, "--option", "fault=relu_drop_last", codes=(1,), says=("FAIL",))

    def compares(self):
        # Ten times slower is no matter of noise.
        report = self.run(self.slowed, "--option", "slower=900", "--against", self.cpu, codes=(2,),
                          says=("regression",))
        self.expect(report["performance"][0]["gate"]["reference"], "against", "the reference")

    def keeps_baselines(self):
        file = self.folder / "b.json"
        baseline = ["--baseline", str(file)]
        self.run(self.cpu, *baseline, codes=(4,), says=("no such file",))
        self.run(self.slowed, *baseline, "--update-baseline", codes=(0,), says=("1 points",))
        report = self.run(self.slowed, *baseline, "--option", "slower=900", codes=(2,))
        self.expect(report["performance"][0]["gate"]["reference"], "baseline", "the reference")
        self.run(self.cpu, *baseline, "--against", self.faulty, codes=(4,), says=("yardstick",))
        self.run(self.cpu, *baseline, "--jobs", "2", codes=(4,))
        kept = json.loads(file.read_text(encoding="utf-8"))
        kept["devices"][0]["fingerprint"] = "another"
        file.write_text(json.dumps(kept), encoding="utf-8")
        self.run(self.cpu, *baseline, codes=(4,), says=("fingerprint",))
        file.write_text("{}", encoding="utf-8")
        self.run(self.cpu, *baseline, codes=(4,), says=("format",))
        self.expect(file.read_text(encoding="utf-8"), "{}", "a baseline that was refused")

    def refuses(self):
        self.run("/no/provider.so", codes=(4,), says=("/no/provider.so",))
        self.run(self.cpu, "--against", "/no/yardstick.so", codes=(4,), says=("yardstick",))
        self.run(self.slowed, "--option", "slower=much", codes=(4,), says=("PERCENT",))


def main():
    with tempfile.TemporaryDirectory() as name:
        tests = Tests(*sys.argv[1:6], pathlib.Path(name))
        tests.looks()
        tests.sees_wrong_outputs()
        tests.compares()
        tests.keeps_baselines()
        tests.refuses()
    return 1 if tests.failures else 0


if __name__ == "__main__":
    sys.exit(main())
