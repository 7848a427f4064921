# SPDX-License-Identifier: Apache-2.0
"""Reads conformance/faults/fault_list.h, the table of faults and controls."""
import collections
import re

Fault = collections.namedtuple("Fault", "name operators kinds checks statuses what source")
Control = collections.namedtuple("Control", "name operators kinds what")

KINDS = {"library", "model", "perf", "require", "provider"}  # words of the column of operators that name none
TEXT = r'(?:"[^"]*"\s*)+'
ROW = re.compile(rf"\bX\((\w+)((?:,\s*{TEXT})+)\)")


class TableError(Exception):
    pass


def split_operators(text):
    words = text.split()
    return [w for w in words if w not in KINDS], {w for w in words if w in KINDS}


def read_rows(path, text, number):
    """(name, texts) of the rows of one list; adjacent literals are one text."""
    rows = [(name, ["".join(re.findall(r'"([^"]*)"', field))
                    for field in re.findall(rf",\s*({TEXT})", rest)])
            for name, rest in ROW.findall(text)]
    if len(rows) != len(re.findall(r"\bX\(\w", text)) or not rows:
        raise TableError(f"{path.name}: a row is not X(name, \"…\", …)")
    for name, fields in rows:
        if len(fields) != number:
            raise TableError(f"{path.name}: {name} has {len(fields)} texts, expected {number}")
    return rows


def read_table(path):
    """(faults, controls), in the order of the file."""
    text = path.read_text(encoding="utf-8").replace("\\\n", "\n")
    parts = re.split(r"#define (?:FAULT|CONTROL)_LIST\(X\)", text)
    if len(parts) != 3:
        raise TableError(f"{path.name}: expected FAULT_LIST and CONTROL_LIST")
    faults = [Fault(name, *split_operators(fields[0]), fields[1].split(), fields[2].split(),
                    *fields[3:]) for name, fields in read_rows(path, parts[1], 5)]
    controls = [Control(name, *split_operators(fields[0]), *fields[1:])
                for name, fields in read_rows(path, parts[2], 2)]
    names = [row.name for row in faults + controls]
    double = {name for name in names if names.count(name) > 1}
    if double:
        raise TableError(f"{path.name}: twice: {', '.join(sorted(double))}")
    return faults, controls
