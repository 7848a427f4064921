#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows a page of docs step by step: writes its files, runs its commands.

usage: walkthrough_test.py PAGE OPS LIBRARY

Blocks of the page, in order: ```yaml file=PATH is written below an empty folder; ```bash is run there by
bash -e with $OPS and $LIB. The first line may ask for more: expect=CODE (0 else), says="TEXT" (in stdout
or stderr; \\" stands for a quote).
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(yaml|bash)(.*?)\n(.*?)^```$", re.M | re.S)


def read_wishes(text):
    code = re.search(r"\bexpect=(\d+)", text)
    said = re.search(r'\bsays="((?:[^"\\]|\\.)*)"', text)
    name = re.search(r"\bfile=(\S+)", text)
    return (int(code[1]) if code else 0, said[1].replace('\\"', '"') if said else "",
            name[1] if name else None)


def run(script, folder, environment, code, said):
    done = subprocess.run(["bash", "-ec", script], cwd=folder, env=environment, capture_output=True,
                          text=True, timeout=300, check=False)
    output = done.stdout + done.stderr
    if done.returncode == code and said in output:
        return True
    print(f"expected exit code {code} and {said!r}, found {done.returncode}:\n{script}\n{output[-2000:]}")
    return False


def main():
    page, ops, library = sys.argv[1:]
    environment = dict(os.environ, OPS=ops, LIB=library)
    files = scripts = wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, wishes, text in BLOCK.findall(pathlib.Path(page).read_text(encoding="utf-8")):
            code, said, target = read_wishes(wishes)
            if kind == "yaml" and target:
                path = folder / target
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                files += 1
            elif kind == "bash":
                scripts += 1
                wrong += not run(text, folder, environment, code, said)
    print(f"{files} files, {scripts} commands, {wrong} wrong")
    return 1 if wrong or not files or not scripts else 0


if __name__ == "__main__":
    sys.exit(main())
