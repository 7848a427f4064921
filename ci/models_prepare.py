# SPDX-License-Identifier: Apache-2.0
"""Gives the light models of the onnx package weights under which mistakes show.

Their weights are fills of one value (ConstantOfShape nodes), under which a transposed, shifted or
truncated tensor computes the same as the right one. Every weight is redrawn here, seeded, by the
part it plays:

  weights of Conv and Gemm   normal, variance 2 / fan-in (He et al., "Delving Deep into
                             Rectifiers", 2015), which keeps the second moment through a ReLU
  biases                     normal, small
  BatchNormalization         scale and variance near 1, mean and bias small; halved scale where
                             the result joins a residual sum, or the sum would grow layer by layer
  the last weighted layer    scaled by one measured run, so that the logits have a standard
                             deviation of LOGIT_STD: a softmax neither flat nor one-hot

The outcome is judged by check_conditioning: a network whose output is near constant, saturated,
or blind to its input proves nothing and is refused.
"""
import hashlib
import math

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

SEED = 20260101
LOGIT_STD = 2.0
BIAS_STD = 0.1
RESIDUAL_SCALE = 0.5
PASS_THROUGH = {"Reshape", "Unsqueeze"}
TAIL = {"Softmax", "GlobalAveragePool", "Relu", "Reshape", "Dropout"}

# An output varies enough when its standard deviation is this share of its largest magnitude, and
# answers to its input when two inputs differ by so many tolerances.
MIN_SPREAD = 1e-2
MIN_RESPONSE = 20.0


class Unfit(Exception):
    """A prepared model whose output would prove nothing."""


def _rng(*parts):
    digest = hashlib.sha256("\0".join(map(str, (SEED,) + parts)).encode()).digest()
    return np.random.default_rng(list(digest[:16]))


class Roles:
    """What part each tensor of a graph plays: the operator that takes it, and as which input."""

    def __init__(self, graph):
        self.consumers = {}
        for node in graph.node:
            for index, name in enumerate(node.input):
                self.consumers.setdefault(name, []).append((node, index))

    def of(self, name):
        """(operator, input index, node), looking through reshapes; None without a consumer."""
        for node, index in self.consumers.get(name, []):
            if node.op_type in PASS_THROUGH:
                return self.of(node.output[0]) if index == 0 else None
            return node.op_type, index, node
        return None

    def joins_a_sum(self, node):
        return any(user.op_type == "Sum" for user, _ in self.consumers.get(node.output[0], []))


def _he_normal(rng, dims, fan_in):
    return rng.normal(0.0, math.sqrt(2.0 / fan_in), dims)


def _gemm_fan_in(node, dims):
    transposed = any(a.name == "transB" and a.i for a in node.attribute)
    return dims[-1] if transposed else dims[-2]


def _batch_norm(rng, dims, index, halved):
    if index == 1:
        return rng.uniform(0.8, 1.2, dims) * (RESIDUAL_SCALE if halved else 1.0)
    if index == 4:
        return rng.uniform(0.6, 1.5, dims)
    return rng.normal(0.0, BIAS_STD, dims)


def _draw(model_name, tensor_name, dims, role, roles):
    """New values for a tensor, or None when it is no weight."""
    operator, index, node = role
    rng = _rng(model_name, tensor_name)
    if operator in ("Conv", "Gemm") and index == 1:
        fan_in = math.prod(dims[1:]) if operator == "Conv" else _gemm_fan_in(node, dims)
        return _he_normal(rng, dims, fan_in)
    if operator in ("Conv", "Gemm", "Add"):
        return rng.normal(0.0, BIAS_STD, dims)
    if operator == "BatchNormalization":
        return _batch_norm(rng, dims, index, roles.joins_a_sum(node))
    if operator == "Mul":
        return rng.uniform(0.8, 1.2, dims)
    return None


def _initializer(name, values):
    return numpy_helper.from_array(np.ascontiguousarray(values, dtype=np.float32), name)


def redraw_weights(model, model_name):
    """Replaces every float weight in place; fills become initializers."""
    graph = model.graph
    roles = Roles(graph)
    shapes = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    drawn = {}
    for tensor in graph.initializer:
        role = roles.of(tensor.name)
        if tensor.data_type == onnx.TensorProto.FLOAT and role:
            drawn[tensor.name] = _draw(model_name, tensor.name, list(tensor.dims), role, roles)
    fills = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    for node in fills:
        name = node.output[0]
        role = roles.of(name)
        drawn[name] = role and _draw(model_name, name, shapes[node.input[0]].tolist(), role, roles)
    missing = [name for name, values in drawn.items() if values is None]
    if missing:
        raise Unfit(f"no rule gives a weight for {missing[0]}; extend _draw in ci/models_prepare.py")

    dropped = set(drawn) | {node.input[0] for node in fills}
    _keep(graph.initializer, lambda t: t.name not in dropped)
    _keep(graph.input, lambda v: v.name not in dropped)
    _keep(graph.node, lambda n: n.op_type != "ConstantOfShape")
    for name, values in drawn.items():
        graph.initializer.append(_initializer(name, values))
        # Up to IR version 3 every initializer is also an input.
        graph.input.append(onnx.helper.make_tensor_value_info(
            name, onnx.TensorProto.FLOAT, values.shape))


def _keep(repeated, wanted):
    kept = [item for item in repeated if wanted(item)]
    del repeated[:]
    repeated.extend(kept)


def _last_weighted(graph):
    """The Conv or Gemm that makes the logits, which only the operators of TAIL follow."""
    for node in reversed(graph.node):
        if node.op_type in ("Conv", "Gemm"):
            return node
        if node.op_type not in TAIL:
            break
    raise Unfit("the network does not end in a weighted layer and a softmax")


def _source_initializer(graph, name):
    producers = {node.output[0]: node for node in graph.node}
    while name in producers:
        name = producers[name].input[0]
    return next(t for t in graph.initializer if t.name == name)


def scale_logits(model, feeds):
    """One run with the logits as output; scales the layer that makes them to LOGIT_STD."""
    graph = model.graph
    last = _last_weighted(graph)
    softmax = graph.node[-1]
    name = softmax.input[0] if softmax.op_type == "Softmax" else softmax.output[0]
    outputs = list(graph.output)
    del graph.output[:]
    graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    logits, = session(model.SerializeToString()).run(None, feeds)
    del graph.output[:]
    graph.output.extend(outputs)
    factor = LOGIT_STD / float(logits.std())
    for weight in last.input[1:]:
        tensor = _source_initializer(graph, weight)
        tensor.CopyFrom(_initializer(tensor.name, numpy_helper.to_array(tensor) * factor))


def session(model):
    """An onnxruntime session of serialized bytes or a path, with its defaults, quiet."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def check_conditioning(outputs, others, rtol, atol):
    """Refuses outputs that are near constant or hardly depend on the input.

    `outputs` and `others` are the outputs for two different inputs, in the same order."""
    for index, (output, other) in enumerate(zip(outputs, others)):
        if output.dtype.kind != "f":
            continue
        if not np.isfinite(output).all():
            raise Unfit(f"output {index} is not finite")
        largest = float(np.abs(output).max())
        if float(output.std()) < MIN_SPREAD * largest or largest == 0.0:
            raise Unfit(f"output {index} is near constant: standard deviation {output.std():.3g}, "
                        f"largest magnitude {largest:.3g}")
        if output.shape == other.shape:
            response = float((np.abs(output - other) / (atol + rtol * np.abs(output))).max())
            if response < MIN_RESPONSE:
                raise Unfit(f"output {index} hardly depends on the input: two inputs differ by "
                            f"{response:.3g} tolerances, at least {MIN_RESPONSE:g} wanted")
