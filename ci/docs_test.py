#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what the documentation tells its readers to do.

usage: ci/docs_test.py BUILD

Of each page below, every block ```sh is run line after line in one folder, from which the
repository looks as from its root; `# exit N` behind a command is the exit code it must end with (0
else). The lines of a block ```text must stand in what the commands before it have printed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["docs/read_a_failing_report.md", "docs/gate_a_release.md"]
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.M | re.S)
EXIT = re.compile(r"\s+# exit (\d+)$")


def commands(block):
    """The commands of a block with their exit codes; a here-document is part of its command."""
    lines = iter(block.splitlines())
    for line in lines:
        match = EXIT.search(line)
        command = EXIT.sub("", line)
        document = re.search(r"<<'(\w+)'$", line)
        if document:
            for more in lines:
                command += "\n" + more
                if more == document.group(1):
                    break
        yield command, int(match.group(1)) if match else 0


def follow(page, build):
    """Runs a page; returns what went wrong."""
    wrong, said, count = [], "", 0
    text = (ROOT / page).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for name, target in (("build", build), ("contracts", ROOT / "contracts"), ("ci", ROOT / "ci")):
            (pathlib.Path(folder) / name).symlink_to(target)
        for kind, block in BLOCK.findall(text):
            if kind == "text":
                wrong += [f"not printed: {line}" for line in block.splitlines() if line not in said]
                continue
            for command, code in commands(block):
                done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True,
                                      text=True, check=False)
                said += done.stdout
                count += 1
                if done.returncode != code:
                    wrong.append(f"expected exit code {code}, found {done.returncode}: {command}\n"
                                 f"{(done.stdout + done.stderr)[-600:]}")
    if count < 5:
        wrong.append(f"only {count} commands were found")
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    failed = False
    for page in PAGES:
        for text in follow(page, pathlib.Path(sys.argv[1]).resolve()):
            failed = True
            print(f"{page}: {text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
