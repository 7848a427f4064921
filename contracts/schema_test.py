#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ci/check_contracts finds each kind of mismatch between a contract and the schema of ONNX.

usage: schema_test.py CHECK_CONTRACTS CONTRACT_DUMP

A right contract of LayerNormalization, Concat or Dropout is changed in one place each time; the
finding must name it. The schemas are those of the installed onnx package.
"""
import pathlib
import subprocess
import sys
import tempfile

NORM = """contract: 1
op: LayerNormalization
domain: ai.onnx
opset: {since: 17}
reference: "ONNX LayerNormalization-17"
kind: composite
judge: exact
semantic:
  types: {T: [float16, float], U: [float]}
  inputs:
    - {name: X, type: T}
    - {name: Scale, type: T}
    - {name: B, type: T, optional: true}
  outputs:
    - {name: Y, type: T}
    - {name: Mean, type: U, optional: true}
    - {name: InvStdDev, type: U, optional: true}
  attributes:
    axis: {type: int, default: -1}
    epsilon: {type: float, default: 1.0e-5}
    stash_type: {type: int, default: 1}
cases:
  fills: [uniform]
  rows:
    - {id: last, inputs: {X: [2, 5], Scale: [5], B: [5]}, attributes: {axis: 1}}
"""
CONCAT = """contract: 1
op: Concat
domain: ai.onnx
opset: {since: 13}
reference: "ONNX Concat-13"
kind: atomic
judge: exact
semantic:
  types: {T: [float]}
  inputs: [{name: inputs, type: T, variadic: true}]
  outputs: [{name: concat_result, type: T}]
  attributes: {axis: {type: int, required: true}}
cases:
  fills: [uniform]
  rows:
    - {id: two, inputs: {inputs: [[2, 5], [2, 3]]}, attributes: {axis: 1}}
  errors:
    - {id: no_axis, set: {axis: absent}}
"""
OLD = """contract: 1
op: Dropout
domain: ai.onnx
opset: {since: 10, until: 11}
reference: "ONNX Dropout-10"
kind: atomic
judge: exact
semantic:
  types: {T: [float], T1: [bool]}
  inputs: [{name: data, type: T}]
  outputs: [{name: output, type: T}, {name: mask, type: T1, optional: true}]
  attributes: {ratio: {type: float, default: 0.5}}
cases:
  fills: [uniform]
  rows:
    - {id: one, inputs: {data: [7]}}
"""
# What is changed into what, and a part of the finding.
CHANGES = (
    (NORM, "name: Scale", "name: Gain", "inputs are ['X', 'Gain', 'B'], the schema has"),
    (NORM, "    - {name: B, type: T, optional: true}\n", "", "inputs are ['X', 'Scale']"),
    (NORM, "name: Mean", "name: Average", "outputs are ['Y', 'Average', 'InvStdDev']"),
    (NORM, "[float16, float]", "[float16, float, int32]", "allows tensor(int32), the schema does not"),
    (NORM, "U: [float]", "U: [float, double]", "allows tensor(double), the schema does not"),
    (NORM, "name: Scale, type: T", "name: Scale, type: U", "has the type variable U, in the schema T"),
    (NORM, "name: B, type: T, optional: true", "name: B, type: T", "B is Single, in the schema Optional"),
    (NORM, "name: Scale, type: T", "name: Scale, type: T, optional: true",
     "Scale is Optional, in the schema Single"),
    (NORM, "name: Mean, type: U, optional: true", "name: Mean, type: U",
     "Mean is Single, in the schema Optional"),
    (NORM, "    stash_type: {type: int, default: 1}\n", "", "attributes are ['axis', 'epsilon'], the schema"),
    (NORM, "stash_type:", "stash:", "attributes are ['axis', 'epsilon', 'stash']"),
    (NORM, "axis: {type: int, default: -1}", "axis: {type: int, default: 1}",
     "attribute axis has the default 1, in the schema -1"),
    (NORM, "epsilon: {type: float, default: 1.0e-5}", "epsilon: {type: float, default: 1.0e-4}",
     "attribute epsilon has the default"),
    (NORM, "epsilon: {type: float, default: 1.0e-5}", "epsilon: {type: float}",
     "attribute epsilon has the default None"),
    (NORM, "stash_type: {type: int, default: 1}", "stash_type: {type: float, default: 1}",
     "attribute stash_type is FLOAT, in the schema INT"),
    (NORM, "since: 17", "since: 18", "since is 18, the schema's version then is 17"),
    (NORM, "op: LayerNormalization", "op: LayerNorm", "No schema registered for 'LayerNorm'"),
    (NORM, "domain: ai.onnx", "domain: com.microsoft", "onnxruntime has no such operator"),
    (CONCAT, "attributes: {axis: 1}", "attributes: {axis: 5}", "row two"),
    (CONCAT, "type: T, variadic: true", "type: T", "inputs is Single, in the schema Variadic"),
    (CONCAT, "required: true", "default: 0", "attribute axis: required is 0, in the schema 1"),
    (CONCAT, "[2, 3]", "[4, 3]", "row two"),
    (OLD, "until: 11", "until: 10", "until is 10, but no version of the schema begins at 11"),
)


def check(program, dump, text, folder):
    (folder / "c.yaml").write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-B", program, "--dump", dump, str(folder)],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    program, dump = sys.argv[1:]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for text in (NORM, CONCAT, OLD):
            status, said = check(program, dump, text, folder)
            if status != 0:
                wrong += 1
                print(f"a right contract is refused:\n{said}")
        for text, old, new, finding in CHANGES:
            changed = text.replace(old, new)
            if "Concat" in text and old == "type: T, variadic: true":
                changed = changed.replace("[[2, 5], [2, 3]]", "[2, 5]")
            if "LayerNormalization" in text and "name: Gain" in new:
                changed = changed.replace("Scale: [5]", "Gain: [5]")
            if old.strip().startswith("- {name: B"):
                changed = changed.replace(", B: [5]", "")
            status, said = check(program, dump, changed, folder)
            if status != 1 or finding not in said:
                wrong += 1
                print(f"{old!r} -> {new!r}: expected a finding with {finding!r}, found status {status}:\n{said}")
    print(f"{len(CHANGES)} changes, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
