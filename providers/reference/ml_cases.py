#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of ai.onnx.ml and of strings in the format of onnx_cases.py.

usage: ml_cases.py FILE

Expected values come from onnxruntime, on random models. Where it departs from the specification
(docs/operator_decisions.md lists how) the case is left out here and tested by hand in ml_test.c.
"""
import sys

sys.dont_write_bytecode = True

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import onnx_cases

SEED = 20240611
ML = "ai.onnx.ml"
random = numpy.random.RandomState(SEED)


def real(*shape, dtype=numpy.float32):
    return (random.rand(*shape) * 4 - 2).astype(dtype)


def whole(*shape, low=-4, high=5, dtype=numpy.int64):
    return random.randint(low, high, size=shape).astype(dtype)


def text(*values, shape=None):
    array = numpy.array(values, object)
    return array if shape is None else array.reshape(shape)


def floats(count, low=-1, high=1):
    return [float(numpy.float32(value)) for value in random.uniform(low, high, count)]


def features():
    for shape in [(5,), (3, 4), (2, 3, 4)]:
        yield "Binarizer", 1, {"threshold": 0.25}, [real(*shape)], 1
        yield "Scaler", 1, {"scale": [2.5], "offset": [0.5]}, [real(*shape)], 1
        n = shape[-1]
        x = whole(*shape, low=0, high=3).astype(numpy.float32)
        if len(shape) < 3:  # onnxruntime takes dimension 1 for the features
            yield "Scaler", 1, {"scale": floats(n), "offset": floats(n)}, [whole(*shape)], 1
            yield ("Imputer", 1, {"replaced_value_float": 1.0, "imputed_value_floats": floats(n)},
                   [x], 1)
        x = numpy.where(x == 1, numpy.float32("nan"), x)
        yield ("Imputer", 1, {"replaced_value_float": float("nan"),
                              "imputed_value_floats": [7.5]}, [x], 1)
        yield ("Imputer", 1, {"replaced_value_int64": 1, "imputed_value_int64s": [9]},
               [whole(*shape, low=0, high=3)], 1)
        yield "ArrayFeatureExtractor", 1, {}, [real(*shape), whole(3, low=0, high=n)], 1
        yield ("ArrayFeatureExtractor", 1, {},
               [whole(*shape, dtype=numpy.int32), whole(2, 2, low=0, high=n)], 1)
        yield ("OneHotEncoder", 1, {"cats_int64s": [-1, 0, 2, 3]}, [whole(*shape)], 1)
        yield ("OneHotEncoder", 1, {"cats_int64s": [-1, 0, 2, 3]}, [real(*shape)], 1)
    yield ("OneHotEncoder", 1, {"cats_strings": ["a", "", "cd"]},
           [text("cd", "x", "", "a", shape=(2, 2))], 1)
    yield ("ArrayFeatureExtractor", 1, {}, [text("a", "b", "c", "d", "e", "f", shape=(2, 3)),
                                            whole(1, 2, low=0, high=3)], 1)
    for norm in ["MAX", "L1", "L2"]:
        yield "Normalizer", 1, {"norm": norm}, [real(3, 5)], 1
        yield "Normalizer", 1, {"norm": norm}, [real(4, dtype=numpy.float64)], 1
        yield "Normalizer", 1, {"norm": norm}, [whole(3, 5, dtype=numpy.int32)], 1
        yield "Normalizer", 1, {"norm": norm}, [numpy.zeros((2, 3), numpy.float32)], 1
    for dims in [[3, 2], [2, 4]]:
        yield "FeatureVectorizer", 1, {"inputdimensions": dims}, [real(2, 3), real(2, 2)], 1
    yield "FeatureVectorizer", 1, {"inputdimensions": [3, 2]}, [whole(3), whole(2)], 1


def labels():
    words = text("b", "a", "zz", "", "c", "b", shape=(2, 3))
    yield "LabelEncoder", 1, {"classes_strings": ["a", "b", "c"], "default_int64": -7}, [words], 1
    yield ("LabelEncoder", 1, {"classes_strings": ["a", "b", "c"], "default_string": "none"},
           [whole(7, low=-2, high=6)], 1)
    keys = {"s": ["a", "b", ""], "i": [0, 1, -3], "f": [0.5, -1.0, 2.0]}
    inputs = {"s": words, "i": whole(9), "f": numpy.float32([0.5, 2, 3, -1, -2])}
    names = {"s": "strings", "i": "int64s", "f": "floats"}
    defaults = {"s": {"default_string": "?"}, "i": {"default_int64": 77},
                "f": {"default_float": 0.125}}
    for opset in [2, 4]:
        for key in keys:
            for value in keys:
                yield ("LabelEncoder", opset,
                       {f"keys_{names[key]}": keys[key], f"values_{names[value]}": keys[value],
                        **defaults[value]}, [inputs[key]], 1)
    for key_type, value_type in [(numpy.int64, numpy.float32), (numpy.float64, numpy.float64)]:
        yield ("LabelEncoder", 4,
               {"keys_tensor": numpy.array([1, 2, 3], key_type),
                "values_tensor": numpy.array([5, 6, 7], value_type),
                "default_tensor": numpy.array([9], value_type)},
               [numpy.array([[3, 1, 8]], key_type)], 1)
    mapper = {"cats_int64s": [4, -1, 2], "cats_strings": ["x", "y", ""]}
    yield "CategoryMapper", 1, {**mapper, "default_string": "D"}, [whole(8)], 1
    yield "CategoryMapper", 1, {**mapper, "default_int64": 5}, [text("", "x", "q", "y")], 1


TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


def linear():
    for transform in TRANSFORMS:
        for classes in [2, 3]:
            attributes = {"coefficients": floats(classes * 4), "intercepts": floats(classes),
                          "post_transform": transform}
            yield ("LinearClassifier", 1,
                   {**attributes, "classlabels_ints": list(range(5, 5 + classes))}, [real(6, 4)], 2)
            yield ("LinearClassifier", 1,
                   {**attributes, "classlabels_strings": ["p", "q", "r"][:classes]},
                   [whole(3, 4)], 2)
        yield ("LinearRegressor", 1, {"coefficients": floats(12), "intercepts": floats(3),
                                      "targets": 3, "post_transform": transform}, [real(5, 4)], 1)
    yield ("LinearClassifier", 1,
           {"coefficients": floats(4), "intercepts": [0.1], "post_transform": "LOGISTIC",
            "classlabels_ints": [3, 4]}, [real(6, 4)], 2)
    yield "LinearClassifier", 1, {"coefficients": floats(4), "intercepts": [0.1]}, [real(6, 4)], 2
    yield "LinearRegressor", 1, {"coefficients": floats(4)}, [real(5, 4)], 1
    yield "LinearRegressor", 1, {"coefficients": floats(4)}, [real(4)], 1


def vectors():
    for kernel in ["LINEAR", "POLY", "RBF", "SIGMOID"]:
        common = {"kernel_type": kernel, "kernel_params": [0.4, 0.3, 3.0]}
        yield ("SVMRegressor", 1, {**common, "coefficients": floats(7), "n_supports": 7,
                                   "support_vectors": floats(21), "rho": [0.2]}, [real(4, 3)], 1)
        yield ("SVMRegressor", 1, {**common, "coefficients": floats(7), "n_supports": 7,
                                   "support_vectors": floats(21), "rho": [0.2], "one_class": 1},
               [real(4, 3)], 1)
        for per_class in [[3, 2], [2, 3, 4], [2, 1, 3, 2]]:
            classes, count = len(per_class), sum(per_class)
            pairs = classes * (classes - 1) // 2
            model = {**common, "vectors_per_class": per_class, "rho": floats(pairs),
                     "support_vectors": floats(3 * count),
                     "coefficients": floats((classes - 1) * count),
                     "classlabels_ints": list(range(10, 10 + classes))}
            yield "SVMClassifier", 1, model, [real(5, 3)], 2
            for transform in TRANSFORMS if classes > 2 else ["NONE", "LOGISTIC"]:
                yield "SVMClassifier", 1, {**model, "post_transform": transform}, [real(4, 3)], 2
            model = {**model, "prob_a": floats(pairs, -2, -1), "prob_b": floats(pairs)}
            yield "SVMClassifier", 1, model, [real(5, 3)], 2
    yield ("SVMClassifier", 1, {"kernel_params": [0.0, 0.0, 0.0], "coefficients": floats(9),
                                "rho": [0.2], "classlabels_ints": [4, 5, 6]}, [real(6, 3)], 2)
    yield ("SVMRegressor", 1, {"kernel_params": [0.0, 0.0, 0.0], "coefficients": floats(3),
                               "rho": [0.2]}, [real(4, 3)], 1)


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def forest(trees, depth, targets, prefix, positive, targets_of=None):
    """Attributes of full trees whose leaves vote for up to two targets."""
    a = {f"nodes_{name}": [] for name in ["treeids", "nodeids", "featureids", "values", "modes",
                                          "truenodeids", "falsenodeids",
                                          "missing_value_tracks_true"]}
    votes = {f"{prefix}_{name}": [] for name in ["treeids", "nodeids", "ids", "weights"]}
    for tree in range(trees):
        inner = 2**depth - 1
        for node in range(2 * inner + 1):
            leaf = node >= inner
            a["nodes_treeids"].append(tree)
            a["nodes_nodeids"].append(node)
            a["nodes_featureids"].append(0 if leaf else int(random.randint(4)))
            a["nodes_values"].append(0.0 if leaf else float(random.randint(-3, 4)) / 2)
            a["nodes_modes"].append("LEAF" if leaf else MODES[random.randint(len(MODES))])
            a["nodes_truenodeids"].append(0 if leaf else 2 * node + 1)
            a["nodes_falsenodeids"].append(0 if leaf else 2 * node + 2)
            a["nodes_missing_value_tracks_true"].append(0 if leaf else int(random.randint(2)))
            for target in (targets_of or range(targets)) if leaf else []:
                votes[f"{prefix}_treeids"].append(tree)
                votes[f"{prefix}_nodeids"].append(node)
                votes[f"{prefix}_ids"].append(target)
                votes[f"{prefix}_weights"].extend(floats(1, 0.05 if positive else -1, 1))
    return {**a, **votes}


def rows_with_gaps(count, dtype=numpy.float32):
    x = random.randint(-4, 5, size=(count, 4)).astype(dtype) / 2
    if x.dtype.kind == "f":
        x[random.rand(count, 4) < 0.15] = numpy.nan
    return x.astype(dtype)


def as_double(model, prefix):
    """The same model with its parameters as tensors of double."""
    model = dict(model)
    for name in ["nodes_values", f"{prefix}_weights"]:
        model[f"{name}_as_tensor"] = numpy.array(model.pop(name), numpy.float64)
    return model


def trees():
    for targets in [1, 3]:
        for aggregate in ["SUM", "AVERAGE", "MIN", "MAX"]:
            model = {**forest(5, 3, targets, "target", False), "n_targets": targets,
                     "aggregate_function": aggregate}
            yield "TreeEnsembleRegressor", 1, model, [rows_with_gaps(20)], 1
            yield ("TreeEnsembleRegressor", 3, {**model, "base_values": floats(targets)},
                   [rows_with_gaps(20)], 1)
            yield ("TreeEnsembleRegressor", 3, as_double(model, "target"),
                   [rows_with_gaps(20, numpy.float64)], 1)
        for transform in TRANSFORMS if targets > 1 else []:
            yield ("TreeEnsembleRegressor", 1,
                   {**forest(3, 2, targets, "target", False), "n_targets": targets,
                    "post_transform": transform}, [rows_with_gaps(9)], 1)
    for transform in TRANSFORMS:
        model = {**forest(4, 3, 3, "class", True), "post_transform": transform}
        yield ("TreeEnsembleClassifier", 1, {**model, "classlabels_int64s": [7, 8, 9]},
               [rows_with_gaps(20)], 2)
        yield ("TreeEnsembleClassifier", 3,
               {**model, "classlabels_strings": ["x", "y", "z"], "base_values": floats(3)},
               [rows_with_gaps(20)], 2)
        yield ("TreeEnsembleClassifier", 3,
               {**as_double(model, "class"), "classlabels_int64s": [7, 8, 9]},
               [rows_with_gaps(20, numpy.float64)], 2)
    for positive, transform in [(True, "NONE"), (False, "NONE"), (False, "LOGISTIC")]:
        model = {**forest(4, 3, 2, "class", positive, [0]), "post_transform": transform}
        yield ("TreeEnsembleClassifier", 1, {**model, "classlabels_int64s": [3, 4]},
               [rows_with_gaps(20)], 2)
        yield ("TreeEnsembleClassifier", 1, {**model, "classlabels_strings": ["n", "p"],
                                             "base_values": [0.25]}, [rows_with_gaps(20)], 2)
    yield ("TreeEnsembleClassifier", 1,
           {**forest(4, 3, 2, "class", False, [1]), "classlabels_int64s": [3, 4]},
           [rows_with_gaps(20)], 2)


def ensemble(trees, depth, targets, dtype, members):
    """TreeEnsemble: full trees, whose leaves are apart from the nodes."""
    inner = 2**depth - 1
    a = {name: [] for name in ["nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids",
                               "nodes_trueleafs", "nodes_falseleafs", "leaf_targetids",
                               "nodes_missing_value_tracks_true", "tree_roots"]}
    splits, modes, weights, sets = [], [], [], []
    for tree in range(trees):
        a["tree_roots"].append(tree * inner)
        for node in range(inner):
            mode = int(random.randint(7 if members else 6))
            modes.append(mode)
            splits.append(0.0 if mode == 6 else random.randint(-3, 4) / 2)
            sets += [-2.0, -1.0, 1.0, 2.0, numpy.nan][random.randint(4):] if mode == 6 else []
            a["nodes_featureids"].append(int(random.randint(4)))
            a["nodes_missing_value_tracks_true"].append(int(random.randint(2)))
            for side, child in [("true", 2 * node + 1), ("false", 2 * node + 2)]:
                leaf = child >= inner
                a[f"nodes_{side}leafs"].append(int(leaf))
                a[f"nodes_{side}nodeids"].append(
                    tree * (inner + 1) + child - inner if leaf else tree * inner + child)
        a["leaf_targetids"] += [int(random.randint(targets)) for _ in range(inner + 1)]
        weights += floats(inner + 1)
    if members:
        a["membership_values"] = numpy.array(sets, dtype)
    return {**a, "n_targets": targets, "nodes_splits": numpy.array(splits, dtype),
            "nodes_modes": numpy.array(modes, numpy.uint8),
            "leaf_weights": numpy.array(weights, dtype)}


def ensembles():
    for dtype in [numpy.float32, numpy.float64]:
        for aggregate in range(4):
            for targets in [1, 3]:
                yield ("TreeEnsemble", 5, {**ensemble(6, 3, targets, dtype, False),
                                           "aggregate_function": aggregate},
                       [rows_with_gaps(20, dtype)], 1)
        # Sets in one tree: onnxruntime walks it in the order of its nodes.
        # Whole numbers: onnxruntime truncates what it looks up in a set.
        yield ("TreeEnsemble", 5, ensemble(3, 3, 2, dtype, True),
               [whole(20, 4, dtype=dtype)], 1)
        for transform in [0, 3]:  # it numbers SOFTMAX and LOGISTIC the other way round
            yield ("TreeEnsemble", 5, {**ensemble(4, 2, 3, dtype, False),
                                       "post_transform": transform},
                   [rows_with_gaps(9, dtype)], 1)


def strings():
    """Operators of ai.onnx that move strings."""
    x = text("a", "", "ccc", "d d", "é", "f", shape=(2, 3))
    yield "Identity", ("", 13), {}, [x], 1
    yield "Transpose", ("", 13), {}, [x], 1
    yield "Reshape", ("", 13), {}, [x, numpy.int64([3, -1])], 1
    yield "Concat", ("", 13), {"axis": 1}, [x, x], 1
    yield "Split", ("", 13), {"axis": 1}, [x, numpy.int64([1, 2])], 2
    yield "Slice", ("", 13), {}, [x, numpy.int64([2]), numpy.int64([-9]), numpy.int64([1]),
                                  numpy.int64([-1])], 1
    yield "Gather", ("", 13), {"axis": 1}, [x, whole(2, 2, low=-3, high=3)], 1
    yield "GatherND", ("", 13), {}, [x, numpy.int64([[1, 2], [0, 0]])], 1
    yield "GatherElements", ("", 13), {"axis": 1}, [x, whole(2, 1, low=0, high=3)], 1
    yield "ScatterElements", ("", 13), {"axis": 1}, [x, numpy.int64([[2], [0]]),
                                                     text("N", "M", shape=(2, 1))], 1
    yield "ScatterND", ("", 13), {}, [x, numpy.int64([[1]]), text("q", "r", "s", shape=(1, 3))], 1
    yield "Expand", ("", 13), {}, [text("a", "b"), numpy.int64([3, 2])], 1
    yield "Tile", ("", 13), {}, [x, numpy.int64([2, 1])], 1
    yield "Squeeze", ("", 13), {}, [text("a", shape=(1, 1)), numpy.int64([0])], 1
    yield "Unsqueeze", ("", 13), {}, [x, numpy.int64([1])], 1
    yield "Flatten", ("", 13), {"axis": 0}, [x], 1
    yield "Where", ("", 9), {}, [numpy.array([True, False, True]), x, text("w")], 1
    yield "Equal", ("", 19), {}, [x, text("a", "x", "ccc")], 1
    yield "Shape", ("", 13), {}, [x], 1
    yield "Size", ("", 13), {}, [x], 1
    yield "Compress", ("", 11), {"axis": 1}, [x, numpy.array([True, False, True])], 1
    yield "Constant", ("", 13), {"value_strings": ["a", "b", ""]}, [], 1
    yield "OneHot", ("", 11), {}, [whole(3, low=0, high=3), numpy.int64(3), text("off", "on")], 1
    numbers = text("1", "-2.5", "1e3", "nan", "-INF", "+inf", "0.1", "3.4028236e38")
    for to in [TensorProto.FLOAT, TensorProto.DOUBLE]:
        yield "Cast", ("", 13), {"to": to}, [numbers], 1
    for to in [TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8]:
        yield "Cast", ("", 13), {"to": to}, [text("0", "100", "+12", "7")], 1
    for dtype in [numpy.int64, numpy.int32, numpy.int8]:
        yield "Cast", ("", 13), {"to": TensorProto.STRING}, [whole(9, dtype=dtype)], 1
    yield "Cast", ("", 13), {"to": TensorProto.STRING}, [numpy.uint64([2**64 - 1, 0])], 1
    yield "Cast", ("", 13), {"to": TensorProto.STRING}, [numpy.float32(
        [0.5, -1.25, 314.15926, 0.001, float("nan"), float("inf"), -float("inf")])], 1


def words(*shape, letters="ab c"):
    """Random texts without white space at their ends."""
    count = int(numpy.prod(shape))
    return text(*["x" + "".join(random.choice(list(letters), random.randint(0, 9))) + "y"
                  for _ in range(count)], shape=shape)


def texts():
    """Operators of ai.onnx that work on strings."""
    yield "StringConcat", ("", 20), {}, [words(3, 1), words(2)], 1
    yield "StringConcat", ("", 20), {}, [words(2, 2, 3), words(1)], 1
    for splits in [{}, {"maxsplit": 0}, {"maxsplit": 1}, {"maxsplit": 3}, {"maxsplit": 99}]:
        yield "StringSplit", ("", 20), splits, [words(2, 4)], 2
        yield "StringSplit", ("", 20), {"delimiter": "a", **splits}, [words(7)], 2
        yield "StringSplit", ("", 20), {"delimiter": "bb", **splits}, [words(2, 2, letters="b")], 2
    for pattern in ["x.*y", "xa*b*y", "(xa|xb).y", "x[^a]+", r"x\w*\s?\S*y", "x(?:ab|ba)*y", "",
                    "(?i)X.*Y", "^x.{2,4}y$", r"x\Q.\Ey|xy", r"\pL+", "[[:alpha:] ]{4,}"]:
        yield "RegexFullMatch", ("", 20), {"pattern": pattern}, [words(4, 10)], 1
    for tokens in [whole(60, low=0, high=4), text(*"abcd" * 15)]:
        pool = [0, 1, 3] + [0, 1, 1, 1, 2, 3, 3, 0] + [0, 1, 2, 1, 1, 1, 3, 0, 1]
        strings = tokens.dtype == object
        pool = {"pool_strings": ["abcd"[i] for i in pool]} if strings else {"pool_int64s": pool}
        random.shuffle(tokens)
        for mode in ["TF", "IDF", "TFIDF"]:
            for shortest, longest, skips in [(1, 1, 3), (1, 3, 0), (2, 3, 2), (3, 3, 5), (1, 2, 1)]:
                model = {**pool, "mode": mode, "ngram_counts": [0, 3, 11],
                         "ngram_indexes": [4, 0, 1, 2, 9, 5, 6, 7, 8, 3], "max_skip_count": skips,
                         "min_gram_length": shortest, "max_gram_length": longest}
                if mode != "TF":
                    model["weights"] = floats(10)
                yield "TfIdfVectorizer", ("", 9), model, [tokens.reshape(6, 10)], 1
                yield "TfIdfVectorizer", ("", 9), model, [tokens], 1


class Case:
    """Looks like a case of onnx.backend.test, as far as onnx_cases.write_case looks."""

    def __init__(self, name, model, inputs, outputs):
        self.name, self.model, self.rtol, self.atol = name, model, 2e-5, 1e-5
        self.data_sets = [(inputs, outputs)]


def info(name, array):
    kind = (TensorProto.STRING if array.dtype.kind in "OU"
            else helper.np_dtype_to_tensor_dtype(array.dtype))
    return helper.make_tensor_value_info(name, kind, list(array.shape))


def make_case(number, op, opset, attributes, inputs, output_count):
    domain, version = opset if isinstance(opset, tuple) else (ML, opset)
    inputs = [numpy.asarray(value) for value in inputs]
    names = [f"x{i}" for i in range(len(inputs))]
    outputs = [f"y{i}" for i in range(output_count)]
    attributes = {key: numpy_helper.from_array(value) if isinstance(value, numpy.ndarray) else value
                  for key, value in attributes.items()}
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    graph = helper.make_graph([node], op, [info(*pair) for pair in zip(names, inputs)],
                              [onnx.ValueInfoProto(name=name) for name in outputs])
    imports = {"": 13, domain: version}
    model = helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid(*entry) for entry in imports.items()])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    results = [numpy.asarray(result) for result in session.run(None, dict(zip(names, inputs)))]
    del model.graph.output[:]
    model.graph.output.extend(info(*pair) for pair in zip(outputs, results))
    return Case(f"ml_{number}_{op}_{version}", model, inputs, results)


def main():
    groups = [features, labels, linear, vectors, trees, ensembles, strings, texts]
    rows = [row for group in groups for row in group()]
    cases = [make_case(i, *row) for i, row in enumerate(rows)]
    writer = onnx_cases.Writer()
    writer.parts.append(onnx_cases.MAGIC)
    writer.items(cases, lambda case: onnx_cases.write_case(writer, case, 0))
    with open(sys.argv[1], "wb") as file:
        file.write(b"".join(writer.parts))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
