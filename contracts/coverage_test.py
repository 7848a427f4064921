#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator that models use most, and every kernel of the cpu provider, has a contract.

usage: coverage_test.py CONTRACT_DUMP OPSRUN LIBRARY CONTRACTS

The operators are those of CONTRACTS/schema/most_used.txt, which ci/operator_census counts.
"""
import json
import pathlib
import re
import subprocess
import sys

# A case is one node of tensors: these take subgraphs or give sequences (contracts/README.md).
NOT_TENSORS = {"If", "Loop", "Scan", "SequenceEmpty"}
WANTED = 120
FOREVER = 10**9
KERNEL = re.compile(r"^  ([\w.]+) (\d+)(\+|-(\d+))?  ")


def most_used(contracts):
    lines = (contracts / "schema/most_used.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[1] for line in lines if not line.startswith("#")]


def kernels(opsrun, library):
    """(domain, operator, first opset, last opset) of each definition."""
    text = subprocess.run([opsrun, "providers", library], capture_output=True, text=True,
                          check=True).stdout
    for line in text.splitlines():
        found = KERNEL.match(line)
        if not found:
            continue
        domain, _, name = found[1].rpartition(".")
        since = int(found[2])
        until = FOREVER if found[3] == "+" else int(found[4] or since)
        yield domain or "ai.onnx", name, since, until


def main():
    dump, opsrun, library, folder = sys.argv[1:]
    contracts = pathlib.Path(folder)
    have = {}
    for item in json.loads(subprocess.run([dump, folder], capture_output=True, text=True,
                                          check=True).stdout):
        have.setdefault((item["domain"], item["op"]), []).append((item["since"], item["until"]))
    wrong = []
    used = most_used(contracts)
    tensors = [name for name in used if name not in NOT_TENSORS]
    if len(tensors) < WANTED:
        wrong.append(f"most_used.txt has {len(tensors)} operators of tensors, expected {WANTED}")
    wrong += [f"{name} has no contract" for name in tensors if ("ai.onnx", name) not in have]
    wrong += [f"{name} has a contract: take it out of NOT_TENSORS" for name in NOT_TENSORS
              if ("ai.onnx", name) in have]
    count = 0
    for domain, name, since, until in kernels(opsrun, library):
        count += 1
        meanings = have.get((domain, name), [])
        if not any(a <= until and since <= b for a, b in meanings):
            wrong.append(f"no contract for the kernel {domain}/{name}, opset {since} to {until}; "
                         f"there are {sorted(meanings)}")
    if count < 100:
        wrong.append(f"{count} kernels read from opsrun providers, expected at least 100")
    for line in wrong:
        print(line)
    print(f"{len(have)} operators have contracts, {len(tensors)} are among the most used, "
          f"{count} kernels were looked up: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
