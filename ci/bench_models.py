# SPDX-License-Identifier: Apache-2.0
"""The models of ci/bench that no package carries: made here, with seeded random weights.

  bert_base      the encoder of BERT-base (Devlin et al., 2019): 12 layers, width 768, 12 heads,
                 128 tokens, a mask, node by node as PyTorch exports it (opset 17)
  gpt2_step      one step of GPT-2 small (Radford et al., 2019): 12 layers, width 768, one token
                 after 128 cached ones; the cache goes in and comes out
  resnet50_int8  the light ResNet-50 with redrawn weights and folded normalisations, quantised by onnxruntime's tool: QDQ,
                 unsigned 8-bit activations, signed 8-bit weights per channel
  lstm           two bidirectional LSTM layers of 256 units over 100 steps, and a projection
  tiny_adds      1,000 Add of 4 elements in a row: the cost of dispatch
  graph_10k      10,000 nodes: the cost of loading

Each function returns (model, feeds).
"""
import logging
import math
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 20260102
OPSET = 17


class Builder:
    """A graph under construction: every method adds nodes and returns the name of their value."""

    def __init__(self):
        self.nodes, self.weights = [], []
        self.rng = np.random.default_rng(SEED)
        self.constants = {}

    def add(self, operator, *inputs, outputs=1, **attributes):
        name = f"{operator.lower()}_{len(self.nodes)}"
        outs = [name] if outputs == 1 else [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), outs, name=name, **attributes))
        return outs[0] if outputs == 1 else outs

    def constant(self, value, dtype=np.int64):
        array = np.asarray(value, dtype=dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = f"constant_{len(self.constants)}"
            self.weights.append(numpy_helper.from_array(array, self.constants[key]))
        return self.constants[key]

    def weight(self, *dims, scale=0.02, mean=0.0):
        name = f"weight_{len(self.weights)}"
        values = self.rng.standard_normal(dims, dtype=np.float32) * np.float32(scale)
        self.weights.append(numpy_helper.from_array(values + np.float32(mean), name))
        return name

    def linear(self, x, rows, columns):
        """x·W + b as MatMul and Add, as PyTorch exports nn.Linear on more than two dimensions."""
        return self.add("Add", self.weight(columns),
                        self.add("MatMul", x, self.weight(rows, columns)))

    def layer_norm(self, x, width):
        return self.add("LayerNormalization", x, self.weight(width, scale=0.1, mean=1.0),
                        self.weight(width), axis=-1, epsilon=1e-12)

    def gelu(self, x):
        scaled = self.add("Div", x, self.constant(math.sqrt(2.0), np.float32))
        inner = self.add("Add", self.add("Erf", scaled), self.constant(1.0, np.float32))
        return self.add("Mul", self.add("Mul", x, inner), self.constant(0.5, np.float32))

    def gelu_tanh(self, x):
        cube = self.add("Pow", x, self.constant(3.0, np.float32))
        inner = self.add("Add", x, self.add("Mul", cube, self.constant(0.044715, np.float32)))
        scaled = self.add("Mul", inner, self.constant(math.sqrt(2.0 / math.pi), np.float32))
        outer = self.add("Add", self.add("Tanh", scaled), self.constant(1.0, np.float32))
        return self.add("Mul", self.add("Mul", x, self.constant(0.5, np.float32)), outer)

    def model(self, name, inputs, outputs):
        def value(entry):
            return helper.make_tensor_value_info(*entry)
        graph = helper.make_graph(self.nodes, name, [value(i) for i in inputs],
                                  [value(o) for o in outputs], self.weights)
        return helper.make_model(graph, ir_version=8,
                                 opset_imports=[helper.make_opsetid("", OPSET)])


# ---- Transformers ---------------------------------------------------------------------------

LAYERS, WIDTH, HEADS, TOKENS = 12, 768, 12, 128
HEAD = WIDTH // HEADS


def _heads(b, x, tokens, order):
    shaped = b.add("Reshape", x, b.constant([1, tokens, HEADS, HEAD]))
    return b.add("Transpose", shaped, perm=order)


def _bert_attention(b, x, mask):
    query = _heads(b, b.linear(x, WIDTH, WIDTH), TOKENS, [0, 2, 1, 3])
    key = _heads(b, b.linear(x, WIDTH, WIDTH), TOKENS, [0, 2, 3, 1])
    values = _heads(b, b.linear(x, WIDTH, WIDTH), TOKENS, [0, 2, 1, 3])
    scores = b.add("Div", b.add("MatMul", query, key), b.constant(math.sqrt(HEAD), np.float32))
    weights = b.add("Softmax", b.add("Add", scores, mask), axis=-1)
    mixed = b.add("Transpose", b.add("MatMul", weights, values), perm=[0, 2, 1, 3])
    return b.linear(b.add("Reshape", mixed, b.constant([1, TOKENS, WIDTH])), WIDTH, WIDTH)


def bert_base():
    b = Builder()
    words = b.add("Gather", b.weight(30522, WIDTH), "input_ids")
    types = b.add("Gather", b.weight(2, WIDTH), "token_type_ids")
    summed = b.add("Add", b.add("Add", words, types), b.weight(1, TOKENS, WIDTH))
    x = b.layer_norm(summed, WIDTH)
    wide = b.add("Unsqueeze", b.add("Unsqueeze", "attention_mask", b.constant([1])), b.constant([2]))
    kept = b.add("Cast", wide, to=TensorProto.FLOAT)
    mask = b.add("Mul", b.add("Sub", b.constant(1.0, np.float32), kept),
                 b.constant(np.finfo(np.float32).min, np.float32))
    for _ in range(LAYERS):
        x = b.layer_norm(b.add("Add", _bert_attention(b, x, mask), x), WIDTH)
        inner = b.gelu(b.linear(x, WIDTH, 4 * WIDTH))
        x = b.layer_norm(b.add("Add", b.linear(inner, 4 * WIDTH, WIDTH), x), WIDTH)
    b.nodes[-1].output[0] = "last_hidden_state"
    names = ["input_ids", "attention_mask", "token_type_ids"]
    model = b.model("bert_base", [(n, TensorProto.INT64, [1, TOKENS]) for n in names],
                    [("last_hidden_state", TensorProto.FLOAT, [1, TOKENS, WIDTH])])
    mask_values = np.ones([1, TOKENS], np.int64)
    mask_values[:, -20:] = 0
    return model, {"input_ids": b.rng.integers(0, 30522, [1, TOKENS]),
                   "attention_mask": mask_values,
                   "token_type_ids": np.zeros([1, TOKENS], np.int64)}


def _conv1d(b, x, rows, columns):
    """GPT-2's Conv1D: PyTorch exports it as Reshape, Gemm, Reshape."""
    flat = b.add("Reshape", x, b.constant([-1, rows]))
    product = b.add("Gemm", flat, b.weight(rows, columns), b.weight(columns))
    return b.add("Reshape", product, b.constant([1, 1, columns]))


def _gpt2_attention(b, x, layer):
    query, key, values = b.add("Split", _conv1d(b, x, WIDTH, 3 * WIDTH),
                               b.constant([WIDTH] * 3), outputs=3, axis=2)
    query, key, values = (_heads(b, part, 1, [0, 2, 1, 3]) for part in (query, key, values))
    key = b.add("Concat", f"past_key_{layer}", key, axis=-2)
    values = b.add("Concat", f"past_value_{layer}", values, axis=-2)
    for kind, value in (("key", key), ("value", values)):
        b.nodes.append(helper.make_node("Identity", [value], [f"present_{kind}_{layer}"],
                                        name=f"present_{kind}_{layer}"))
    product = b.add("MatMul", query, b.add("Transpose", key, perm=[0, 1, 3, 2]))
    scores = b.add("Div", product, b.constant(math.sqrt(HEAD), np.float32))
    visible = b.add("Slice", b.constant(np.tril(np.ones([1, 1, 1024, 1024], bool)), bool),
                    b.constant([TOKENS, 0]), b.constant([TOKENS + 1, TOKENS + 1]),
                    b.constant([2, 3]))
    masked = b.add("Where", visible, scores, b.constant(np.finfo(np.float32).min, np.float32))
    mixed = b.add("MatMul", b.add("Softmax", masked, axis=-1), values)
    merged = b.add("Reshape", b.add("Transpose", mixed, perm=[0, 2, 1, 3]),
                   b.constant([1, 1, WIDTH]))
    return _conv1d(b, merged, WIDTH, WIDTH)


def gpt2_step():
    b = Builder()
    embedding = b.weight(50257, WIDTH)
    x = b.add("Add", b.add("Gather", embedding, "input_ids"),
              b.add("Gather", b.weight(1024, WIDTH), "position_ids"))
    for layer in range(LAYERS):
        x = b.add("Add", _gpt2_attention(b, b.layer_norm(x, WIDTH), layer), x)
        inner = b.gelu_tanh(_conv1d(b, b.layer_norm(x, WIDTH), WIDTH, 4 * WIDTH))
        x = b.add("Add", x, _conv1d(b, inner, 4 * WIDTH, WIDTH))
    b.add("MatMul", b.layer_norm(x, WIDTH), b.weight(WIDTH, 50257))
    b.nodes[-1].output[0] = "logits"
    cache = [f"{kind}_{layer}" for layer in range(LAYERS) for kind in ("key", "value")]
    model = b.model(
        "gpt2_step",
        [("input_ids", TensorProto.INT64, [1, 1]), ("position_ids", TensorProto.INT64, [1, 1])]
        + [(f"past_{c}", TensorProto.FLOAT, [1, HEADS, TOKENS, HEAD]) for c in cache],
        [("logits", TensorProto.FLOAT, [1, 1, 50257])]
        + [(f"present_{c}", TensorProto.FLOAT, [1, HEADS, TOKENS + 1, HEAD]) for c in cache])
    feeds = {f"past_{c}": b.rng.standard_normal([1, HEADS, TOKENS, HEAD], np.float32)
             for c in cache}
    feeds["input_ids"] = np.array([[42]])
    feeds["position_ids"] = np.array([[TOKENS]])
    return model, feeds


# ---- The others -----------------------------------------------------------------------------

def lstm(steps=100, width=256):
    b = Builder()
    x = "x"
    for size in (width, 2 * width):
        scale = 1.0 / math.sqrt(width)
        y, _, _ = b.add("LSTM", x, b.weight(2, 4 * width, size, scale=scale),
                        b.weight(2, 4 * width, width, scale=scale),
                        b.weight(2, 8 * width, scale=scale), outputs=3,
                        hidden_size=width, direction="bidirectional")
        x = b.add("Reshape", b.add("Transpose", y, perm=[0, 2, 1, 3]),
                  b.constant([steps, 1, 2 * width]))
    b.linear(x, 2 * width, 1000)
    b.nodes[-1].output[0] = "y"
    model = b.model("lstm", [("x", TensorProto.FLOAT, [steps, 1, width])],
                    [("y", TensorProto.FLOAT, [steps, 1, 1000])])
    return model, {"x": b.rng.standard_normal([steps, 1, width], np.float32)}


def fold_batch_norms(model):
    """Conv + BatchNormalization → Conv, in place, as a network is prepared for quantisation."""
    graph = model.graph
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    producers = {node.output[0]: node for node in graph.node}
    for norm in [node for node in graph.node if node.op_type == "BatchNormalization"]:
        conv = producers[norm.input[0]]
        scale, bias, mean, variance = (weights[name] for name in norm.input[1:5])
        epsilon = next((a.f for a in norm.attribute if a.name == "epsilon"), 1e-5)
        factor = scale / np.sqrt(variance + epsilon)
        name = conv.input[1]
        weights[name] = weights[name] * factor.reshape(-1, *[1] * (weights[name].ndim - 1))
        old_bias = weights[conv.input[2]] if len(conv.input) > 2 else 0.0
        conv.input[2:] = [name + "_folded_bias"]
        weights[conv.input[2]] = (old_bias - mean) * factor + bias
        conv.output[0] = norm.output[0]
        graph.node.remove(norm)
    used = {name for node in graph.node for name in node.input}
    del graph.initializer[:]
    graph.initializer.extend(numpy_helper.from_array(value.astype(value.dtype), name)
                             for name, value in weights.items() if name in used)
    kept = [value for value in graph.input if value.name in used and value.name not in weights]
    del graph.input[:]
    graph.input.extend(kept)


def resnet50_int8(float_model, feeds):
    """`float_model`: path of the prepared light ResNet-50; `feeds`: its inputs."""
    logging.disable(logging.WARNING)
    from onnxruntime import quantization

    class OneInput(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [feeds]

        def get_next(self):
            return self.left.pop() if self.left else None

    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "float.onnx"
        target = pathlib.Path(folder) / "int8.onnx"
        model = onnx.version_converter.convert_version(onnx.load(float_model), 13)
        fold_batch_norms(model)
        onnx.save(model, source)
        quantization.quantize_static(
            source, target, OneInput(), quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8, per_channel=True)
        return onnx.load(target), feeds


def tiny_adds(count=1000):
    b = Builder()
    x = "x"
    for _ in range(count):
        x = b.add("Add", x, b.weight(4, scale=1.0))
    b.nodes[-1].output[0] = "y"
    model = b.model("tiny_adds", [("x", TensorProto.FLOAT, [4])], [("y", TensorProto.FLOAT, [4])])
    return model, {"x": np.arange(4, dtype=np.float32)}


def graph_10k(count=10000):
    """Chains that meet, of operators that no optimizer may drop."""
    b = Builder()
    lanes = ["x"] * 10
    for index in range(count - len(lanes) + 1):
        lane, kind = index % len(lanes), index // len(lanes) % 4
        lanes[lane] = b.add(["Relu", "Mul", "Tanh", "Add"][kind], lanes[lane],
                            *([b.weight(8, scale=1.0)] if kind % 2 else []))
    total = lanes[0]
    for lane in lanes[1:]:
        total = b.add("Add", total, lane)
    b.nodes[-1].output[0] = "y"
    model = b.model("graph_10k", [("x", TensorProto.FLOAT, [8])], [("y", TensorProto.FLOAT, [8])])
    return model, {"x": np.linspace(-1, 1, 8, dtype=np.float32)}
