# SPDX-License-Identifier: Apache-2.0
"""Reads conformance/faults/faults.def, the table of faults and controls."""
import collections
import re

Fault = collections.namedtuple("Fault", "name operators kinds checks statuses what source")
Control = collections.namedtuple("Control", "name operators kinds what")

KINDS = {"library", "model", "perf", "require", "provider"}  # words of the column of operators that name none
ROW = re.compile(r'^(FAULT|CONTROL)\((\w+)((?:,\s*"[^"]*")+)\)$', re.MULTILINE)


class TableError(Exception):
    pass


def split_operators(text):
    words = text.split()
    return [w for w in words if w not in KINDS], {w for w in words if w in KINDS}


def read_table(path):
    """(faults, controls), in the order of the file."""
    text = path.read_text(encoding="utf-8")
    faults, controls = [], []
    for macro, name, rest in ROW.findall(text):
        fields = re.findall(r'"([^"]*)"', rest)
        if len(fields) != (5 if macro == "FAULT" else 2):
            raise TableError(f"{path.name}: {name} has {len(fields)} texts")
        operators, kinds = split_operators(fields[0])
        if macro == "FAULT":
            faults.append(Fault(name, operators, kinds, fields[1].split(),
                                fields[2].split(), *fields[3:]))
        else:
            controls.append(Control(name, operators, kinds, fields[1]))
    rows = len(re.findall(r"^(?:FAULT|CONTROL)\(\w", text, re.MULTILINE))
    if rows != len(faults) + len(controls):
        raise TableError(f"{path.name}: {rows} rows, {len(faults) + len(controls)} could be read")
    names = [row.name for row in faults + controls]
    double = {name for name in names if names.count(name) > 1}
    if double:
        raise TableError(f"{path.name}: twice: {', '.join(sorted(double))}")
    return faults, controls
