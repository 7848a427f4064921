#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What happens around the folder of compiled programs does no harm to results.

usage: cache_test.py OPSRUN LIBRARY FULL_DISK

A small model runs with the provider while files of the folder are damaged, the disk takes no more,
the folder cannot be made, processes are killed in the middle, and many begin at once. Outputs are
compared with numpy's each time.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

PROCESSES = 64
KILLS = 8
WRONG = []


def model(path):
    nodes = [helper.make_node("Mul", ["x", "y"], ["a"]), helper.make_node("Add", ["a", "x"], ["b"]),
             helper.make_node("Relu", ["b"], ["z"])]
    info = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [5, 7]) for n in "xyz"]
    graph = helper.make_graph(nodes, "g", info[:2], info[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


class Runs:
    def __init__(self, opsrun, library, folder):
        self.folder, self.cache = folder, folder / "programs"
        model(folder / "model.onnx")
        generator = np.random.default_rng(1)
        x, y = (generator.standard_normal((5, 7)).astype(np.float32) for _ in "xy")
        np.save(folder / "x.npy", x), np.save(folder / "y.npy", y)
        # one rounding for each step, as ONNX says for three operators, or fewer when they are fused
        self.expected = np.maximum(x.astype(np.float64) * y + x, 0)
        self.words = [opsrun, "run", folder / "model.onnx", "--input", f"x={folder / 'x.npy'}",
                      "--input", f"y={folder / 'y.npy'}", "--no-fallback", "--provider", library]

    def start(self, out, cache=None, **more):
        out.mkdir(exist_ok=True)
        return subprocess.Popen(
            [*self.words, "--option", f"cache={cache or self.cache}", "--output-dir", out],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)

    def judge(self, what, process, out):
        """The messages of a run, whose output is checked."""
        said = process.communicate(timeout=300)[1]
        if process.returncode != 0:
            WRONG.append(f"{what}: exit code {process.returncode}: {said[-500:]}")
        elif not np.allclose(np.load(out / "z.npy"), self.expected, rtol=1e-6, atol=1e-6):
            WRONG.append(f"{what}: wrong results")
        return said

    def run(self, what, **more):
        out = self.folder / "out"
        (out / "z.npy").unlink(missing_ok=True)
        return self.judge(what, self.start(out, **more), out)

    def programs(self):
        return {file: file.read_bytes() for file in sorted(self.cache.glob("*.program"))}


def expect(holds, what):
    if not holds:
        WRONG.append(what)


def damage(data):
    yield "empty", b""
    yield "cut", data[:len(data) // 2]
    yield "longer", data + b"x"
    middle = len(data) * 3 // 4
    yield "another byte", data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:]
    yield "size of 2^60", data[:40] + (1 << 60).to_bytes(8, "little") + data[48:]
    yield "noise", random.Random(1).randbytes(len(data))


def damaged(runs):
    runs.run("empty folder")
    good = runs.programs()
    expect(good, "no program was written")
    before = {file: file.stat().st_mtime_ns for file in good}
    runs.run("full folder")
    expect({file: file.stat().st_mtime_ns for file in good} == before, "a good program was written again")
    for file, data in good.items():
        for name, bad in damage(data):
            file.write_bytes(bad)
            said = runs.run(f"damaged, {name}")
            expect(not said, f"damaged, {name}: said {said!r}")
            expect(file.read_bytes() != bad, f"damaged, {name}: the file was left")


def stale(runs):
    old, young = (runs.cache / f"{name}.part" for name in ("old", "young"))
    old.touch(), young.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    runs.run("unfinished files")
    expect(not old.exists(), "an old unfinished file was left")
    expect(young.exists(), "an unfinished file of the moment was removed")
    young.unlink()


def empty(runs):
    for file in runs.cache.glob("*"):
        file.unlink()


def no_room(runs, full_disk):
    empty(runs)
    said = runs.run("no room", env={**os.environ, "LD_PRELOAD": full_disk})
    expect("cannot write a program: No space left" in said and "Make room" in said,
           f"no room: said {said!r}")
    expect(said.count("\n") == 1, f"no room: more than one line: {said!r}")
    expect(not list(runs.cache.glob("*")), "no room: files were left")


def no_folder(runs):
    file = runs.folder / "file"
    file.write_text("in the way", encoding="utf-8")
    said = runs.run("no folder", cache=file / "programs")
    expect(str(file) in said and "option cache" in said, f"no folder: said {said!r}")


def killed(runs):
    generator = random.Random(2)
    for turn in range(KILLS):
        empty(runs)
        process = runs.start(runs.folder / "out")
        time.sleep(generator.uniform(0.02, 0.4))
        process.kill()
        process.communicate()
        runs.run(f"after kill {turn}")


def many(runs):
    empty(runs)
    outs = [runs.folder / f"out{i}" for i in range(PROCESSES)]
    processes = [runs.start(out) for out in outs]
    for i, (process, out) in enumerate(zip(processes, outs)):
        said = runs.judge(f"process {i} of {PROCESSES}", process, out)
        expect(not said, f"process {i}: said {said!r}")
    expect(not list(runs.cache.glob("*.part")), "many: unfinished files were left")
    runs.run("after many")


def main():
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(sys.argv[1], sys.argv[2], pathlib.Path(folder))
        for part in (damaged, stale, no_room, no_folder, killed, many):
            begin = time.monotonic()
            part(runs, *sys.argv[3:] if part is no_room else ())
            print(f"{part.__name__}: {time.monotonic() - begin:.1f} s")
    for line in WRONG:
        print(f"WRONG {line}")
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
