# SPDX-License-Identifier: Apache-2.0
"""onnxruntime at the other end of ci/bench: the counterpart of `opsrun bench --follow`.

usage: bench_onnxruntime.py MODEL THREADS OUTPUT_DIR NAME=FILE…

Prints "baseline BYTES", the resident memory before onnxruntime is imported: what the interpreter
and numpy take is not its. Then speaks as `opsrun bench --follow` does.
"""
import pathlib
import re
import sys
import time

import numpy as np


def resident_bytes():
    text = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return sum(int(n) for n in re.findall(r"Rss(?:Anon|File):\s+(\d+) kB", text)) * 1024


def main():
    path, threads, output_dir = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    feeds = {name: np.load(file) for name, file in (a.split("=", 1) for a in sys.argv[4:])}
    print("baseline", resident_bytes(), flush=True)
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    print(f"{time.perf_counter() - start:.9f}", flush=True)
    names = [value.name for value in session.get_outputs()]
    values = []
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            values = session.run(names, feeds)
            seconds.append(f"{time.perf_counter() - start:.9f}")
        print(*seconds, flush=True)
    output_dir.mkdir(exist_ok=True)
    for name, value in zip(names, values):
        np.save(output_dir / (re.sub(r"[^A-Za-z0-9]", "_", name) + ".npy"), value)


if __name__ == "__main__":
    main()
