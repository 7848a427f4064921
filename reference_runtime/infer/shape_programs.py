# SPDX-License-Identifier: Apache-2.0
"""Random programs that compute with shapes, for compare_shapes.py.

A program takes Shape of two inputs and applies operators on small integer vectors and scalars, as
exporters write them. It is built together with its values in numpy, so that every step is valid for
the sizes that it was built with.
"""
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
MAX_LENGTH = 8
MAX_VALUE = 1 << 30


class Program:
    """A graph that grows; `known` has the value of each name."""

    def __init__(self, seed, inputs):
        self.random = random.Random(seed)
        self.inputs = inputs  # name: [(symbol, size), ...]
        self.nodes, self.weights, self.known = [], [], {}
        for name, dims in inputs.items():
            self.apply("Shape", [name], np.array([size for _, size in dims], np.int64))

    def constant(self, value, dtype=np.int64):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def apply(self, op, inputs, *values, **attributes):
        """Adds a node if its values are small enough to go on with."""
        if any(v.size > MAX_LENGTH or v.ndim > 1 or (v.size and np.abs(v.astype(np.float64)).max() > MAX_VALUE)
               for v in values):
            return
        names = [f"v{len(self.known) + i}" for i in range(len(values))]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        self.known.update(zip(names, values))

    def pick(self, want=lambda v: True, dtype=np.int64):
        names = [n for n, v in self.known.items() if v.dtype == dtype and want(v)]
        return self.random.choice(names) if names else None

    def step(self):
        STEPS[self.random.randrange(len(STEPS))](self)

    def model(self, symbolic):
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [
            symbol if symbolic else size for symbol, size in dims]) for name, dims in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), None)
                   for n, v in self.known.items()]
        graph = helper.make_graph(self.nodes, "program", infos, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def fitting(program, name, dtype=np.int64):
    """A value that broadcasts with `name`."""
    size = program.known[name].size
    return program.pick(lambda v: v.size in (1, size) or size == 1, dtype)


def overflows(function, *values, **more):
    """Whether a product is larger than what programs go on with, before it wraps around."""
    result = np.asarray(function(*(v.astype(np.float64) for v in values), **more), np.float64)
    return result.size > 0 and np.abs(result).max() > MAX_VALUE


def binary(op, function, allowed=lambda a, b: True):
    def step(p):
        a = p.pick()
        b = fitting(p, a)
        x, y = p.known[a], p.known[b]
        if allowed(x, y) and not overflows(function, x, y):
            p.apply(op, [a, b], np.asarray(function(x, y)))
    return step


def truths(op, function):
    def step(p):
        a = p.pick(dtype=np.bool_)
        if a:
            b = fitting(p, a, np.bool_)
            p.apply(op, [a, b], np.asarray(function(p.known[a], p.known[b])))
    return step


def unary(op, function, dtype=np.int64):
    def step(p):
        a = p.pick(dtype=dtype)
        if a:
            p.apply(op, [a], np.asarray(function(p.known[a])))
    return step


def reduction(op, function, axes_as_input):
    def step(p):
        a, keep = p.pick(lambda v: v.ndim == 1 and v.size > 0), p.random.randrange(2)
        if not a or overflows(function, p.known[a]):
            return
        value = np.asarray(function(p.known[a], axis=0, keepdims=bool(keep)))
        inputs = [a, p.constant([0])] if axes_as_input and p.random.randrange(2) else [a]
        p.apply(op, inputs, value, keepdims=keep)
    return step


def variadic(op, function):
    def step(p):
        first = p.pick()
        size = p.known[first].size
        names = [first] + [p.pick(lambda v: v.size in (1, size)) for _ in range(p.random.randrange(1, 3))]
        if None not in names:
            value = p.known[first]
            for name in names[1:]:
                value = np.asarray(function(value, p.known[name]))
            p.apply(op, names, value)
    return step


def gather(p):
    a = p.pick(lambda v: v.ndim == 1 and v.size > 0)
    size = p.known[a].size
    rank = p.random.randrange(2)
    indices = np.array([p.random.randrange(-size, size) for _ in range(p.random.randrange(1, 4) if rank else 1)])
    indices = indices if rank else indices[0]
    p.apply("Gather", [a, p.constant(indices)], np.asarray(p.known[a][indices]))


def gather_elements(p):
    a = p.pick(lambda v: v.ndim == 1 and v.size > 0)
    size = p.known[a].size
    indices = np.array([p.random.randrange(-size, size) for _ in range(3)])
    p.apply("GatherElements", [a, p.constant(indices)], p.known[a][indices])


def slice_(p):
    a = p.pick(lambda v: v.ndim == 1)
    start, end = (p.random.choice([-9, -3, -2, -1, 0, 1, 2, 3, 9]) for _ in range(2))
    step = p.random.choice([1, 1, 1, 2, -1, -2])
    end = np.iinfo(np.int64).max if step > 0 and p.random.random() < 0.3 else end
    value, n = p.known[a], p.known[a].size
    low, high = (0, n) if step > 0 else (-1, n - 1)
    first = min(max(start + n if start < 0 else start, 0), high)
    last = min(max(end + n if end < 0 else end, low), high)
    picked = value[np.arange(first, last, step)]
    p.apply("Slice", [a] + [p.constant([k]) for k in (start, end, 0, step)], picked)


def concat(p):
    names = [p.pick(lambda v: v.ndim == 1) for _ in range(p.random.randrange(1, 4))]
    p.apply("Concat", names, np.concatenate([p.known[n] for n in names]), axis=0)


def squeeze(p):
    a = p.pick(lambda v: v.shape == (1,))
    if a:
        p.apply("Squeeze", [a, p.constant([0])], p.known[a].reshape(()))


def unsqueeze(p):
    a = p.pick(lambda v: v.ndim == 0)
    if a:
        p.apply("Unsqueeze", [a, p.constant([0])], p.known[a].reshape(1))


def reshape(p):
    a = p.pick()
    p.apply("Reshape", [a, p.constant([-1])], p.known[a].reshape(-1))


def split(p):
    a = p.pick(lambda v: v.ndim == 1 and v.size > 1)
    at = p.random.randrange(1, p.known[a].size)
    sizes = p.constant([at, p.known[a].size - at])
    p.apply("Split", [a, sizes], p.known[a][:at], p.known[a][at:], axis=0)


def expand(p):
    a, n = p.pick(lambda v: v.size == 1), p.random.randrange(1, 5)
    if a:
        p.apply("Expand", [a, p.constant([n])], np.broadcast_to(p.known[a], (n,)))


def tile(p):
    a, n = p.pick(lambda v: v.ndim == 1), p.random.randrange(3)
    p.apply("Tile", [a, p.constant([n])], np.tile(p.known[a], n))


def pad(p):
    a, pads = p.pick(lambda v: v.ndim == 1), [p.random.randrange(3), p.random.randrange(3)]
    p.apply("Pad", [a, p.constant(pads), p.constant(7)], np.pad(p.known[a], pads, constant_values=7))


def range_(p):
    start, end, step = p.random.randrange(-2, 3), p.random.randrange(6), p.random.choice([1, 2, -1])
    value = np.arange(start, end, step, dtype=np.int64)
    p.apply("Range", [p.constant(start), p.constant(end), p.constant(step)], value)


def constant_of_shape(p):
    fill, n = p.random.randrange(-1, 3), p.random.randrange(5)
    value = numpy_helper.from_array(np.array([fill], np.int64))
    p.apply("ConstantOfShape", [p.constant([n])], np.full(n, fill, np.int64), value=value)


def where(p):
    c = p.pick(dtype=np.bool_)
    if not c:
        return
    x, y = fitting(p, c), fitting(p, c)
    sizes = {p.known[n].size for n in (c, x, y)} - {1}
    if len(sizes) < 2:
        p.apply("Where", [c, x, y], np.where(p.known[c], p.known[x], p.known[y]))


def scatter(op):
    def step(p):
        a = p.pick(lambda v: v.ndim == 1 and v.size > 1)
        u = p.pick(lambda v: v.shape == (1,))
        if not a or not u:
            return
        at, value = p.random.randrange(-p.known[a].size, p.known[a].size), p.known[a].copy()
        value[at] = p.known[u][0]
        p.apply(op, [a, p.constant([[at]] if op == "ScatterND" else [at]), u], value)
    return step


def clip(p):
    a, low, high = p.pick(), p.random.randrange(-2, 3), p.random.randrange(3, 50)
    p.apply("Clip", [a, p.constant(low), p.constant(high)], np.clip(p.known[a], low, high))


def cumsum(p):
    a, reverse = p.pick(lambda v: v.ndim == 1), p.random.randrange(2)
    value = p.known[a][::-1].cumsum()[::-1] if reverse else p.known[a].cumsum()
    p.apply("CumSum", [a, p.constant(0)], np.ascontiguousarray(value), reverse=reverse)


def compress(p):
    a = p.pick(lambda v: v.ndim == 1 and v.size > 0)
    keep = np.array([p.random.random() < 0.6 for _ in range(p.known[a].size)])
    p.apply("Compress", [a, p.constant(keep, np.bool_)], p.known[a][keep], axis=0)


def cast(p):
    """There and back through another type, which holds the numbers exactly."""
    a = p.pick(lambda v: not v.size or np.abs(v).max() < 1 << 24)
    to = p.random.choice([TensorProto.INT32, TensorProto.FLOAT, TensorProto.DOUBLE])
    if a:
        name = f"t{len(p.nodes)}"
        p.nodes.append(helper.make_node("Cast", [a], [name], to=to))
        p.apply("Cast", [name], p.known[a], to=TensorProto.INT64)


def matrix(p):
    """Through a matrix that is transposed and sliced, as exporters reverse and pair paddings."""
    a = p.pick(lambda v: v.ndim == 1 and v.size in (4, 6, 8))
    if not a:
        return
    value, step = p.known[a].reshape(-1, 2), p.random.choice([1, -1, 2])
    start, end = (-1, np.iinfo(np.int64).min) if step < 0 else (0, np.iinfo(np.int64).max)
    names = [f"m{len(p.nodes)}{letter}" for letter in "abcd"]
    p.nodes += [
        helper.make_node("Reshape", [a, p.constant([-1, 2])], [names[0]]),
        helper.make_node("Slice", [names[0]] + [p.constant([k]) for k in (start, end, 0, step)], [names[1]]),
        helper.make_node("Transpose", [names[1]], [names[2]], perm=[1, 0]),
        helper.make_node("Concat", [names[2], names[2]], [names[3]], axis=0)]
    value = np.concatenate([value[::step].T] * 2)
    if value.size > MAX_LENGTH:
        value = value[1:2]
        row = f"m{len(p.nodes)}e"
        p.nodes.append(helper.make_node("Slice", [names[3], p.constant([1]), p.constant([2])], [row]))
        names.append(row)
    p.apply("Reshape", [names[-1], p.constant([-1])], value.reshape(-1))


def to_bool(p):
    a = p.pick()
    p.apply("Cast", [a], p.known[a] != 0, to=TensorProto.BOOL)


def from_bool(p):
    a = p.pick(dtype=np.bool_)
    if a:
        p.apply("Cast", [a], p.known[a].astype(np.int64), to=TensorProto.INT64)


def size(p):
    a = p.random.choice([*p.inputs, p.pick()])
    dims = [n for _, n in p.inputs[a]] if a in p.inputs else p.known[a].shape
    p.apply("Size", [a], np.array(np.prod(dims, dtype=np.int64)))


def new_constant(p):
    value = np.array([p.random.randrange(-3, 9) for _ in range(p.random.randrange(1, 4))])
    p.apply("Identity", [p.constant(value)], value)


def truncated(a, b):
    return np.trunc(a / b).astype(np.int64)


STEPS = [
    binary("Add", np.add), binary("Sub", np.subtract), binary("Mul", np.multiply),
    binary("Div", truncated, lambda a, b: np.all(b != 0)),
    binary("Mod", np.mod, lambda a, b: np.all(b != 0)),
    binary("Pow", np.power, lambda a, b: np.all((b >= 0) & (b < 4))),
    binary("Equal", np.equal), binary("Less", np.less), binary("Greater", np.greater),
    binary("LessOrEqual", np.less_equal), binary("GreaterOrEqual", np.greater_equal),
    truths("And", np.logical_and), truths("Or", np.logical_or), truths("Xor", np.logical_xor),
    unary("Not", np.logical_not, np.bool_), unary("Neg", np.negative), unary("Abs", np.abs),
    unary("Sign", np.sign), unary("Identity", np.array), unary("Transpose", np.array),
    unary("Shape", lambda v: np.array(v.shape, np.int64)),
    reduction("ReduceProd", np.prod, True), reduction("ReduceSum", np.sum, True),
    reduction("ReduceMin", np.min, True), reduction("ReduceMax", np.max, True),
    variadic("Max", np.maximum), variadic("Min", np.minimum),
    gather, gather, gather_elements, slice_, slice_, concat, concat, squeeze, squeeze, unsqueeze,
    unsqueeze, reshape, split, expand, tile, pad, range_, constant_of_shape, where, where,
    scatter("ScatterElements"), scatter("ScatterND"), clip, cumsum, compress, cast, cast, matrix, matrix, to_bool, from_bool,
    size, new_constant,
]


def make_program(seed, steps=40):
    sizes = random.Random(seed + 1)
    inputs = {}
    for name, rank in (("x", 4), ("y", 2)):
        dims = [sizes.randrange(1, 12) for _ in range(rank)]
        inputs[name] = [(f"{name}{axis}is{size}", size) for axis, size in enumerate(dims)]
    program = Program(seed, inputs)
    for _ in range(steps):
        program.step()
    return program


def settings(program):
    return [f"{symbol}={size}" for dims in program.inputs.values() for symbol, size in dims]


def run(program):
    """The values in onnxruntime, without optimisation."""
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(program.model(False).SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    feeds = {name: np.zeros([n for _, n in dims], np.float32) for name, dims in program.inputs.items()}
    return dict(zip(program.known, session.run(list(program.known), feeds)))
