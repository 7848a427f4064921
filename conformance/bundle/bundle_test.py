#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Certifies runs, then cheats in every way that comes to mind.

usage: bundle_test.py OPSCONFORM BUNDLE_TOOL MYNPU_LIBRARY FAULTY_LIBRARY CONTRACTS

A bundle with one changed byte must be refused; so must one whose owner changed what it says and
signed it again, wherever the verdict can be derived. The sums of the journal are computed here as
journal/journal.h describes them, with Python's hashlib.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def sealed(lines):
    """The lines of a journal, closed by their sums."""
    before, out = "", []
    for line in lines:
        body = json.dumps({k: v for k, v in line.items() if k != "sum"}, separators=(",", ":"))[:-1]
        before = hashlib.sha256((before + body).encode()).hexdigest()[:32]
        out.append(f'{body},"sum":"{before}"}}\n')
    return "".join(out)


class Tests:
    def __init__(self, words, folder):
        self.program, self.tool, self.mynpu, self.faulty, contracts = words
        self.contracts = pathlib.Path(contracts)
        self.folder = pathlib.Path(folder)
        self.key = self.folder / "key"
        self.wrong = 0

    def run_program(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout + done.stderr

    def expect(self, what, words, code, *texts):
        found, said = self.run_program(*words)
        problems = [f"missing: {text!r}" for text in texts if text not in said]
        if found != code:
            problems.append(f"expected exit code {code}, found {found}")
        if problems:
            self.wrong += 1
            print(f"WRONG {what}: {'; '.join(problems)}\n{said[-800:]}")

    def verify(self, what, code, *texts, bundle="bundle", key="key.pub"):
        self.expect(what, ["verify-bundle", self.folder / bundle, "--public-key", self.folder / key],
                    code, *texts)

    def copy(self, change, reseal=True):
        """A copy of the bundle with something changed, signed again by its owner."""
        bundle = self.folder / "copy"
        shutil.rmtree(bundle, ignore_errors=True)
        shutil.copytree(self.folder / "bundle", bundle)
        change(bundle)
        if reseal:
            subprocess.run([self.tool, "reseal", bundle, self.key], check=True)

    # ---- Making -------------------------------------------------------------------------------

    def make(self):
        """Two shards of a run over one operator, a waiver, a fault score."""
        contract = self.folder / "Add.yaml"
        shutil.copy(self.contracts / "ai.onnx" / "Add.yaml", contract)
        for shard in ("1/2", "2/2"):
            code, said = self.run_program("--provider", self.mynpu, "--contracts", contract, "--shard",
                                          shard, "--resume", self.folder / f"{shard[0]}.jsonl")
            if code:
                sys.exit(f"a shard of mynpu ends with {code}: {said[-500:]}")
        (self.folder / "faults.json").write_text(json.dumps(
            {"full": {"faults": 62, "caught": 61, "controls": 12, "false_alarms": 0,
                      "survivors": ["x"]}}), encoding="utf-8")
        (self.folder / "waivers.yaml").write_text("format: 1\nwaivers: []\n", encoding="utf-8")
        self.expect("a new key", ["certify", "--new-key", self.key], 0, "key.pub")
        self.expect("a key over a key", ["certify", "--new-key", self.key], 4, "never written over")
        if os.stat(self.key).st_mode & 0o077:
            self.wrong += 1
            print("WRONG: others may read the secret key")
        self.words = [self.folder / "1.jsonl", self.folder / "2.jsonl", "--key", self.key,
                      "--waivers", self.folder / "waivers.yaml", "--faults",
                      self.folder / "faults.json"]
        self.expect("certify", ["certify", *self.words, "-o", self.folder / "bundle"], 0,
                    "61 of 62 faults caught, 0 false alarms of 12 controls", "exit code 0")
        self.expect("a second time", ["certify", *self.words, "-o", self.folder / "bundle"], 1,
                    "never written over")
        self.verify("the bundle", 0, "61 of 62 faults caught", "signature and verdict hold")
        self.expect("without a key", ["verify-bundle", self.folder / "bundle"], 0, "--public-key FILE")

    def refusals_of_certify(self):
        out = self.folder / "none"
        self.expect("a shard is missing", ["certify", *self.words[1:], "-o", out], 4, "shard")
        self.expect("no key", ["certify", *self.words[:2], "-o", out], 4, "--key")
        self.expect("a public key", ["certify", *self.words[:2], "--key", f"{self.key}.pub", "-o", out],
                    4, "ops-secret-key-1")
        self.expect("other contracts", ["certify", *self.words, "--contracts", self.contracts, "-o",
                                        out], 4, "not those of the run")
        journal = self.folder / "failing.jsonl"
        self.run_program("--provider", self.faulty, "--option", "fault=relu_drop_last", "--contracts",
                         self.contracts / "ai.onnx" / "Relu.yaml", "--resume", journal)
        self.expect("a run that failed", ["certify", journal, "--key", self.key, "-o", out], 1,
                    "nothing to certify")
        if out.exists() or (self.folder / "none.partial").exists():
            self.wrong += 1
            print("WRONG: half a bundle was left")

    # ---- Changing files -----------------------------------------------------------------------

    def bytes(self):
        done = subprocess.run([self.tool, "flip", self.folder / "bundle", self.folder / "key.pub"],
                              capture_output=True, text=True, check=False)
        if done.returncode or int(done.stdout) < 2500:
            self.wrong += 1
            print(f"WRONG: changed bytes: {done.stdout} {done.stderr}")
        print(f"{done.stdout.strip()} bundles with one changed byte were refused")

    def files(self):
        self.expect("no bundle", ["verify-bundle", self.folder / "nothing"], 4)
        self.run_program("certify", "--new-key", self.folder / "other")
        self.verify("another key", 1, "another key", key="other.pub")
        for what, change, *texts in (
                ("a file more", lambda b: (b / "reports" / "more.txt").write_text("x"), "not signed"),
                ("a hidden file", lambda b: (b / ".hidden").write_text("x"), "no file that a bundle"),
                ("a file less", lambda b: (b / "reports" / "report.csv").unlink(), "is missing"),
                ("no signature", lambda b: (b / "manifest.sig").unlink(),),
                ("a link", lambda b: ((b / "waivers.yaml").unlink(),
                                      (b / "waivers.yaml").symlink_to(self.folder / "waivers.yaml")),
                 "no file that a bundle"),
                ("a longer file", lambda b: (b / "waivers.yaml").open("a").write("# x\n"),
                 "not the file that was signed")):
            self.copy(change, reseal=False)
            code = 4 if what == "no signature" else 1
            self.verify(what, code, *texts, bundle="copy")

    # ---- Changing what it says, with the key --------------------------------------------------

    @staticmethod
    def edit(path, change):
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        path.write_text(json.dumps(document), encoding="utf-8")

    def journal(self, change, name="00001.jsonl"):
        """Changes the lines of a journal of the copy; its sums are those of the new lines."""
        def apply(bundle):
            path = bundle / "journals" / name
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            path.write_text(sealed(change(lines)), encoding="utf-8")
        return apply

    @staticmethod
    def first(lines, wanted):
        return next(line["result"] for line in lines if "result" in line and wanted(line["result"]))

    def result(self, wanted, **changes):
        def change(lines):
            found = self.first(lines, wanted)
            for key, value in changes.items():
                found.pop(key, None)
                if value is not None:
                    found[key] = value
            return lines
        return self.journal(change)

    def lies(self):
        self.copy(lambda bundle: None)
        self.verify("signed again", 0, bundle="copy")
        self.copy(self.journal(lambda lines: lines))
        self.verify("sums computed again", 0, bundle="copy")

        def measured(result):
            return result["status"] == "PASS" and result.get("limit", 0) > 0

        def without(key):
            def change(lines):
                at = next(i for i, line in enumerate(lines) if key in line)
                return lines[:at] + lines[at + 1:]
            return change

        for what, change, text in (
                ("an error beyond its limit", self.result(measured, error=1e9), "beyond its limit"),
                ("a limit that the contract does not give",
                 self.result(measured, limit=1e12), "the contract allows"),
                ("nothing was compared", self.result(measured, checks=["claim"]), "nothing was compared"),
                ("a pass with a failed check", self.result(measured, check="values"),
                 "a check is said to have failed"),
                ("a failure", self.result(measured, status="FAIL", check="guard"), "does not follow"),
                ("a crash", self.result(measured, status="CRASH", check="process"), "does not follow"),
                ("a failure within its limit", self.result(measured, status="FAIL", check="values"),
                 "within its limit"),
                ("unsupported instead", self.result(measured, status="UNSUPPORTED", measured=None,
                                                    error=None, limit=None), "does not follow"),
                ("a result is missing", self.journal(without("result")), ""),
                ("a shard is missing", lambda b: (b / "journals" / "00002.jsonl").unlink(), "shard"),
                ("a shard twice", lambda b: shutil.copy(b / "journals" / "00001.jsonl",
                                                        b / "journals" / "00002.jsonl"), "twice"),
                ("a looser contract", lambda b: (b / "contracts" / "Add.yaml").open("a").write("# x\n"),
                 "not what the run was held to"),
                ("a better report", lambda b: self.edit(
                    b / "reports" / "report.json",
                    lambda d: d["cases"][0].update(status="PASS" if d["cases"][0]["status"] != "PASS"
                                                   else "UNSUPPORTED")), "says something else"),
                ("a shorter report", lambda b: self.edit(b / "reports" / "report.json",
                                                         lambda d: d["cases"].pop()), "does not follow"),
                ("no report", lambda b: (b / "reports" / "report.json").unlink(), "missing"),
                ("other counts", lambda b: self.edit(b / "manifest.json",
                                                     lambda d: d["verdict"].update(PASS=1)),
                 "does not follow"),
                ("another provider", lambda b: self.edit(b / "manifest.json",
                                                         lambda d: d.update(version="9")),
                 "different ones"),
                ("another file", lambda b: self.edit(b / "manifest.json",
                                                     lambda d: d.update(provider_sha256="0" * 64)),
                 "different ones"),
                ("waivers that are unmatched", lambda b: (b / "waivers.yaml").write_text(
                    "format: 1\nwaivers:\n  - provider: mynpu\n    versions: \"*\"\n"
                    "    cases: [Nothing]\n    largest_error: 1\n    reason: does not matter here\n"
                    "    expires: 2999-01-01\n"), "does not follow")):
            self.copy(change)
            self.verify(what, 1, text, bundle="copy")

    def run(self):
        self.make()
        self.refusals_of_certify()
        self.bytes()
        self.files()
        self.lies()
        return 1 if self.wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(Tests(sys.argv[1:], temporary).run())
