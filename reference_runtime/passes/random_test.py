#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random models through the optimizer: level 1 must give the bits of level 0, level 2 nearly them.

usage: random_test.py OPSRUN [--count N] [--seed N] [--provider NAME] [--keep DIR]

A model is a chain of steps on a pool of values: elementwise functions, arithmetic with constants that
are often neutral, moves (Transpose, Reshape, Slice, Concat, Split, Pad, Squeeze …), casts, sums of
products with what exporters write behind them, and pieces of the formulas that fusions look for, so
that patterns meet by chance and overlap. Shapes are known or not. --keep stores models that differ.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
UNARY = ["Relu", "Neg", "Abs", "Exp", "Sigmoid", "Tanh", "Identity", "Erf", "Floor", "Dropout",
         "Softplus", "HardSigmoid"]
BINARY = ["Add", "Sub", "Mul", "Div", "Max", "Min"]


class Maker:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.values, self.opsets = [], [], [], {"": OPSET}
        self.inputs, self.feeds = [], {}

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def chance(self, share):
        return self.rng.random() < share

    def constant(self, array):
        array = np.asarray(array)
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def floats(self, *dims):
        if self.chance(0.3):
            return self.constant(np.full(dims, self.pick([0.0, 1.0, -0.0, 0.5, 2.0]), np.float32))
        return self.constant(self.rng.uniform(-1, 1, dims).astype(np.float32))

    def add(self, operator, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names,
                                           name=f"n{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def keep(self, name, shape):
        self.values.append((name, tuple(shape)))

    def start(self):
        for i in range(int(self.rng.integers(1, 4))):
            shape = tuple(int(each) for each in self.rng.integers(1, 5, self.pick([2, 3, 4, 4])))
            dims = [f"d{i}_{k}" if self.chance(0.2) else each for k, each in enumerate(shape)]
            self.inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, dims))
            array = self.rng.uniform(-2, 2, shape).astype(np.float32)
            if self.chance(0.3):
                array.reshape(-1)[0] = self.pick([0.0, -0.0, np.nan, np.inf])
            self.feeds[f"x{i}"] = array
            self.keep(f"x{i}", shape)

    # Each step takes a value of the pool and adds what it makes of it.

    def unary(self, x, shape):
        self.keep(self.add(self.pick(UNARY), x), shape)

    def arithmetic(self, x, shape):
        dims = [each if self.chance(0.5) else 1 for each in shape][int(self.rng.integers(3)):]
        pair = [x, self.floats(*dims)]
        if self.chance(0.3):
            pair.reverse()
        self.keep(self.add(self.pick(BINARY), *pair), shape)

    def two(self, x, shape):
        others = [name for name, other in self.values if other == shape]
        self.keep(self.add(self.pick(BINARY), x, self.pick(others)), shape)

    def transpose(self, x, shape):
        perm = [int(each) for each in self.rng.permutation(len(shape))]
        y = self.add("Transpose", x, perm=perm)
        shape = tuple(shape[each] for each in perm)
        self.keep(y, shape)
        if self.chance(0.5):
            y = self.add(self.pick(UNARY[:7]), y)
            back = [int(each) for each in np.argsort(perm)]
            self.keep(self.add("Transpose", y, perm=back), tuple(shape[each] for each in back))

    def reshape(self, x, shape):
        count, dims = int(np.prod(shape)), []
        while count > 1 and len(dims) < 4:
            divisor = self.pick([each for each in range(1, count + 1) if count % each == 0])
            dims.append(divisor)
            count //= divisor
        dims = (dims or [1]) + ([count] if count > 1 else [])
        if self.chance(0.3):
            shown = list(dims)
            shown[int(self.rng.integers(len(dims)))] = -1
        else:
            shown = dims
        self.keep(self.add("Reshape", x, self.constant(np.array(shown, np.int64))), dims)

    def by_shape(self, x, shape):
        """Reshape to a shape that is computed from the value's own."""
        own = self.add("Shape", x)
        first = self.add("Gather", own, self.constant(np.array([0], np.int64)))
        rest = int(np.prod(shape[1:]))
        target = self.add("Concat", first, self.constant(np.array([rest], np.int64)), axis=0)
        self.keep(self.add("Reshape", x, target), (shape[0], rest))

    def cut(self, x, shape):
        axis = int(self.rng.integers(len(shape)))
        size = shape[axis]
        start, end = sorted(int(each) for each in self.rng.integers(0, size + 1, 2))
        if start == end or self.chance(0.4):
            start, end = 0, size
        step = self.pick([1, 1, 2])
        ends = self.pick([end, np.iinfo(np.int64).max]) if end == size else end
        y = self.add("Slice", x, *(self.constant(np.array([each], np.int64))
                                   for each in (start, ends, axis, step)))
        self.keep(y, shape[:axis] + (-(-(end - start) // step),) + shape[axis + 1:])

    def join(self, x, shape):
        axis = int(self.rng.integers(len(shape)))
        parts = [x] if self.chance(0.3) else [x, self.pick([n for n, s in self.values if s == shape])]
        self.keep(self.add("Concat", *parts, axis=axis),
                  shape[:axis] + (shape[axis] * len(parts),) + shape[axis + 1:])

    def split(self, x, shape):
        axis = int(self.rng.integers(len(shape)))
        if shape[axis] < 2:
            return
        sizes = [1, shape[axis] - 1]
        parts = self.add("Split", x, self.constant(np.array(sizes, np.int64)), outputs=2, axis=axis)
        if self.chance(0.5):
            self.keep(self.add("Concat", *parts, axis=axis), shape)
        for part, size in zip(parts, sizes):
            self.keep(part, shape[:axis] + (size,) + shape[axis + 1:])

    def pad(self, x, shape):
        pads = [int(each) for each in self.rng.integers(0, 2, 2 * len(shape))]
        if self.chance(0.3):
            pads = [0] * len(pads)
        self.keep(self.add("Pad", x, self.constant(np.array(pads, np.int64))),
                  tuple(s + pads[i] + pads[i + len(shape)] for i, s in enumerate(shape)))

    def squeeze(self, x, shape):
        ones = [i for i, each in enumerate(shape) if each == 1]
        if ones and len(shape) > 1:
            axis = self.pick(ones)
            self.keep(self.add("Squeeze", x, self.constant(np.array([axis], np.int64))),
                      shape[:axis] + shape[axis + 1:])
        elif len(shape) < 4:
            axis = int(self.rng.integers(len(shape) + 1))
            self.keep(self.add("Unsqueeze", x, self.constant(np.array([axis], np.int64))),
                      shape[:axis] + (1,) + shape[axis:])

    def cast(self, x, shape):
        kind = self.pick([TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.FLOAT16])
        self.keep(self.add("Cast", self.add("Cast", x, to=kind), to=TensorProto.FLOAT), shape)

    def clip(self, x, shape):
        low, high = sorted(self.rng.uniform(-1, 1, 2).astype(np.float32))
        y = self.add("Clip", x, self.constant(low), self.constant(high))
        self.keep(self.add("Relu", y) if self.chance(0.5) else y, shape)

    def matmul(self, x, shape):
        if len(shape) < 2:
            return
        width = int(self.rng.integers(1, 5))
        y = self.add("MatMul", x, self.floats(shape[-1], width))
        shape = shape[:-1] + (width,)
        if self.chance(0.6):
            y = self.add("Add", y, self.floats(width))
        if self.chance(0.3):
            y = self.add(self.pick(["Mul", "Div"]), y, self.constant(np.float32(4)))
        self.keep(y, shape)

    def gemm(self, x, shape):
        if len(shape) != 2:
            return
        width = int(self.rng.integers(1, 5))
        turned = self.chance(0.5)
        left = self.add("Transpose", x) if turned else x
        y = self.add("Gemm", left, self.floats(shape[0] if turned else shape[1], width),
                     self.floats(width))
        self.keep(y, (shape[1] if turned else shape[0], width))

    def conv(self, x, shape):
        if len(shape) != 4 or min(shape[2:]) < 2:
            return
        filters = int(self.rng.integers(1, 4))
        source, pads = x, [0, 0, 0, 0]
        if self.chance(0.4):
            source = self.add("Pad", x, self.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)))
            pads = [1, 1, 1, 1]
        weights = self.constant(self.rng.uniform(-1, 1, (filters, shape[1], 2, 2)).astype(np.float32))
        y = self.add("Conv", source, weights, *([self.floats(filters)] if self.chance(0.5) else []))
        shape = (shape[0], filters, shape[2] + pads[0] * 2 - 1, shape[3] + pads[1] * 2 - 1)
        if self.chance(0.5):
            ones = [self.constant(self.rng.uniform(0.5, 2, filters).astype(np.float32))
                    for _ in range(4)]
            y = self.add("BatchNormalization", y, *ones)
        elif self.chance(0.5):
            y = self.add(self.pick(["Mul", "Add", "Sub"]), y, self.floats(filters, 1, 1))
        if self.chance(0.5):
            y = self.add("Relu", y)
        self.keep(y, shape)

    def gelu(self, x, shape):
        inner = self.add("Erf", self.add("Div", x, self.constant(np.float32(2 ** 0.5))))
        outer = self.add("Mul", x, self.add("Add", inner, self.constant(np.float32(1))))
        self.keep(self.add("Mul", outer, self.constant(np.float32(0.5))), shape)
        if self.chance(0.2):
            self.keep(inner, shape)

    def norm(self, x, shape):
        mean = self.add("ReduceMean", x, axes=[-1])
        apart = self.add("Sub", x, mean)
        spread = self.add("ReduceMean", self.add("Mul", apart, apart), axes=[-1])
        root = self.add("Sqrt", self.add("Add", spread, self.constant(np.float32(1e-2))))
        y = self.add("Div", apart, root)
        self.keep(self.add("Mul", y, self.floats(shape[-1])), shape)

    def swish(self, x, shape):
        self.keep(self.add("Mul", x, self.add("Sigmoid", x)), shape)

    def quantized(self, x, shape):
        scale, zero = self.constant(np.float32(0.05)), self.constant(np.uint8(self.pick([0, 128])))
        y = self.add("QuantizeLinear", self.add("Relu", x) if self.chance(0.5) else x, scale, zero)
        self.keep(self.add("DequantizeLinear", y, scale, zero), shape)

    STEPS = [unary, unary, arithmetic, arithmetic, two, transpose, transpose, reshape, by_shape, cut,
             join, split, pad, squeeze, cast, clip, matmul, gemm, conv, conv, gelu, norm, swish,
             quantized]

    def model(self):
        self.start()
        for _ in range(int(self.rng.integers(4, 16))):
            name, shape = self.pick(self.values[-2:] if self.chance(0.85) else self.values)
            if 0 < int(np.prod(shape)) <= 4096 and len(shape) > 0:
                self.pick(self.STEPS)(self, name, shape)
        made = [(name, shape) for name, shape in self.values if not name.startswith("x")]
        chosen = {made[-1][0]: made[-1][1]} if made else {}
        for name, shape in made:
            if self.chance(0.15):
                chosen[name] = shape
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * len(shape))
                   for name, shape in chosen.items()]
        graph = helper.make_graph(self.nodes, "random", self.inputs, outputs, self.weights)
        return helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid(domain, version) for domain, version in self.opsets.items()])


def differs(before, after, level):
    if before.shape != after.shape or before.dtype != after.dtype:
        return f"shape {before.shape} became {after.shape}"
    if level == 1:
        same = (before.view(np.uint32) == after.view(np.uint32)) | (np.isnan(before) & np.isnan(after))
        return None if same.all() else f"{before[~same][0]!r} became {after[~same][0]!r}"
    # What overflows or cancels is not judged by a fusion's rounding.
    with np.errstate(all="ignore"):
        scale = np.nanmax(np.abs(before[np.isfinite(before)]), initial=1.0)
        same = np.isclose(before, after, rtol=1e-3, atol=1e-4 * scale, equal_nan=True)
        same |= ~np.isfinite(before) | ~np.isfinite(after)
    return None if same.all() else f"{before[~same][0]!r} became {after[~same][0]!r}"


def judge(arguments, seed, folder):
    """None, or what went wrong."""
    maker = Maker(seed)
    model = maker.model()
    if not model.graph.output:
        return None
    path = folder / "model.onnx"
    onnx.save(model, path)
    inputs = []
    for name, array in maker.feeds.items():
        np.save(folder / f"{name}.npy", array)
        inputs += ["--input", f"{name}={folder / name}.npy"]
    results = []
    for level in range(3):
        out = folder / str(level)
        done = subprocess.run([arguments.opsrun, "run", path, "--level", str(level), "--provider",
                               arguments.provider, *inputs, "--output-dir", out],
                              capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            return f"level {level}: {done.stderr.strip()}" if level or done.returncode != 2 else None
        results.append({each.name: np.load(out / f"{each.name}.npy") for each in model.graph.output})
    for level in (1, 2):
        if level == 1 and arguments.provider != "reference":
            continue
        # A rounding that falls on a step of Floor or of a quantised tensor is no fault of a fusion.
        if level == 2 and any(n.op_type in ("Floor", "QuantizeLinear") for n in model.graph.node):
            continue
        for name, before in results[0].items():
            what = differs(before, results[level][name], level)
            if what:
                return f"level {level}, {name}: {what}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opsrun")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--provider", default="reference")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    failed = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            what = judge(arguments, seed, folder)
            if not what:
                continue
            failed += 1
            print(f"seed {seed}: {what}")
            if arguments.keep:
                shutil.copytree(folder, arguments.keep / str(seed), dirs_exist_ok=True)
    print(f"{arguments.count} models, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
