#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that a model file may hold, through opsrun: usage: formats_test.py OPSRUN [sanitized]

Models are written by the onnx package, and what they must compute is what that package reads from
them, or numpy. A sanitized opsrun maps more memory than the limit that one test sets, which is left
away then.
"""
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSRUN = sys.argv[1]
SANITIZED = sys.argv[2:] == ["sanitized"]
NEWEST_OPSET = onnx.defs.onnx_opset_version()
MAX_IR = onnx.IR_VERSION
GIB = 1 << 30

# The fields that hold an element type beside raw_data, as onnx.proto lists them.
TYPES = [t for t in TensorProto.DataType.values() if t != TensorProto.UNDEFINED]
TYPED_FIELDS = ["float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data"]


def opsrun(*arguments, memory=None):
    limit = (lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))) if memory and not SANITIZED else None
    return subprocess.run([OPSRUN, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          check=False, preexec_fn=limit)


def tensor_of(elem_type, raw):
    """Five elements that every type has: an odd number, so that the last byte of narrow types is
    not full."""
    name = "w"
    if elem_type == TensorProto.STRING:
        return helper.make_tensor(name, elem_type, [5], [b"", b"a", "\u00e9".encode(), b"b c", b"long " * 20])
    if elem_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        values = [0, 1, 1j, -1 + 2j, 0.5]
    elif elem_type == TensorProto.FLOAT8E8M0:
        values = [1, 2, 4, 0.5, 8]
    elif elem_type in (TensorProto.UINT2, TensorProto.UINT4, TensorProto.BOOL):
        values = [0, 1, 1, 0, 1]
    elif elem_type == TensorProto.INT2:
        values = [0, 1, -1, -2, 1]
    else:
        signed = np.issubdtype(np.dtype(helper.tensor_dtype_to_np_dtype(elem_type)), np.signedinteger)
        values = [0, 1, 2, 3, -1 if signed else 1]
    array = np.array(values).astype(helper.tensor_dtype_to_np_dtype(elem_type))
    if raw:
        return numpy_helper.from_array(array, name)
    return helper.make_tensor(name, elem_type, [5], array)


def model_of(graph, opset=NEWEST_OPSET, ir=None, **more):
    imports = [helper.make_opsetid("", opset), *more.pop("imports", [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir or MAX_IR, **more)


# Types that Identity does not take: their values are compared as floats.
CAST_ONLY = [TensorProto.FLOAT6E2M3, TensorProto.FLOAT6E3M2]


def identity_model(tensor):
    """y = w"""
    cast = tensor.data_type in CAST_ONLY
    node = (helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT) if cast else
            helper.make_node("Identity", ["w"], ["y"]))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT if cast else tensor.data_type, list(tensor.dims))
    return model_of(helper.make_graph([node], "g", [], [y], [tensor]))


def info(name, shape=(3,), elem=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem, shape)


class Formats(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def save(self, model, **external):
        path = self.folder / "model.onnx"
        onnx.save(model, path, **external)
        return path

    def run_model(self, path, memory=None, **inputs):
        """The outputs by name: arrays, or TensorProtos of types that numpy does not have."""
        arguments = []
        for name, value in inputs.items():
            np.save(self.folder / f"{name}.npy", value)
            arguments += ["--input", f"{name}={self.folder / name}.npy"]
        out = self.folder / "out"
        result = opsrun("run", path, "--output-dir", out, *arguments, memory=memory)
        self.assertEqual(result.returncode, 0, result.stderr)
        values = {f.stem: np.load(f) for f in out.glob("*.npy")}
        values.update((f.stem, TensorProto.FromString(f.read_bytes())) for f in out.glob("*.pb"))
        for file in out.iterdir():
            file.unlink()
        return values

    def check_tensor(self, model, tensor, **external):
        path = self.save(model, **external)
        found = self.run_model(path)["y"]
        found = numpy_helper.to_array(found) if isinstance(found, TensorProto) else found
        expected = numpy_helper.to_array(tensor)
        if tensor.data_type in CAST_ONLY:
            expected = expected.astype(np.float32)
        if tensor.data_type == TensorProto.STRING:
            self.assertEqual([str(s) for s in found], [str(s) for s in expected])
        else:
            self.assertEqual(found.tobytes(), expected.tobytes())

    def test_every_type_in_every_field(self):
        for elem_type in TYPES:
            for raw in (False, True):
                tensor = tensor_of(elem_type, raw)
                stored = "raw_data" if tensor.HasField("raw_data") else next(
                    f for f in TYPED_FIELDS if len(getattr(tensor, f)))
                with self.subTest(type=TensorProto.DataType.Name(elem_type), field=stored):
                    self.check_tensor(identity_model(tensor), tensor)

    def test_every_type_as_external_data(self):
        for elem_type in TYPES:
            tensor = tensor_of(elem_type, True)
            if not tensor.HasField("raw_data"):
                continue  # strings cannot be external
            with self.subTest(type=TensorProto.DataType.Name(elem_type)):
                self.check_tensor(identity_model(tensor), tensor_of(elem_type, True), save_as_external_data=True,
                                  location="w.bin", size_threshold=0)
                (self.folder / "w.bin").unlink()

    def test_every_ir_version(self):
        x = np.array([1, -2, 3], np.float32)
        weight = numpy_helper.from_array(np.array([5, 6, 7], np.float32), "w")
        for version in range(1, MAX_IR + 1):
            # Before version 4 an initializer had to be an input, too; before version 3 there were
            # no imports: operators are those of opset 1.
            inputs = [info("x")] + ([info("w")] if version < 4 else [])
            graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", inputs, [info("y")],
                                      [weight])
            model = model_of(graph, opset=1 if version < 3 else 7, ir=version)
            if version < 3:
                del model.opset_import[:]
            with self.subTest(ir_version=version):
                np.testing.assert_array_equal(self.run_model(self.save(model), x=x)["y"], x * [5, 6, 7])

    def test_an_initializer_that_is_an_input_is_a_default(self):
        weight = numpy_helper.from_array(np.array([5, 6, 7], np.float32), "w")
        graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [info("x"), info("w")],
                                  [info("y")], [weight])
        path, x = self.save(model_of(graph)), np.array([1, -2, 3], np.float32)
        np.testing.assert_array_equal(self.run_model(path, x=x)["y"], x * [5, 6, 7])
        np.testing.assert_array_equal(self.run_model(path, x=x, w=x)["y"], x * x)

    def test_sparse_initializers(self):
        values = numpy_helper.from_array(np.array([5, -1], np.float32), "w")
        for indices in (np.array([1, 5]), np.array([[0, 1], [1, 2]])):
            sparse = onnx.SparseTensorProto(values=values, dims=[2, 3],
                                            indices=numpy_helper.from_array(indices, ""))
            graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [info("x", (2, 3))],
                                      [info("y", (2, 3))], sparse_initializer=[sparse])
            x = np.ones((2, 3), np.float32)
            with self.subTest(indices=indices.ndim):
                found = self.run_model(self.save(model_of(graph)), x=x)["y"]
                np.testing.assert_array_equal(found, [[1, 6, 1], [1, 1, 0]])

    def test_functions_have_imports_of_their_own(self):
        """ReduceSum takes its axes as an attribute in opset 11 of the function, as an input in 13."""
        old = helper.make_function(
            "my", "OldSum", ["a"], ["b"],
            [helper.make_node("ReduceSum", ["a"], ["b"], axes=[0], keepdims=0)], [helper.make_opsetid("", 11)])
        outer = helper.make_function(
            "my", "Twice", ["a"], ["c"], [helper.make_node("OldSum", ["a"], ["b"], domain="my"),
                                          helper.make_node("Add", ["b", "b"], ["c"])],
            [helper.make_opsetid("", 14), helper.make_opsetid("my", 1)])
        axes = numpy_helper.from_array(np.array([0]), "axes")
        graph = helper.make_graph(
            [helper.make_node("Twice", ["x"], ["s"], domain="my"),
             helper.make_node("ReduceSum", ["x", "axes"], ["t"], keepdims=0),
             helper.make_node("Sub", ["s", "t"], ["y"])], "g", [info("x", (2, 3))], [info("y")], [axes])
        model = model_of(graph, 18, functions=[old, outer], imports=[helper.make_opsetid("my", 1)])
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(self.run_model(self.save(model), x=x)["y"], x.sum(0))

    def test_bodies_see_outer_values(self):
        """A body inside a body reads an input of the model and an initializer."""
        inner = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["inner_y"])], "inner", [],
                                  [info("inner_y")])
        no = helper.make_graph([helper.make_node("Neg", ["x"], ["no_y"])], "no", [], [info("no_y")])
        yes = helper.make_graph([helper.make_node("If", ["c"], ["yes_y"], then_branch=inner, else_branch=no)],
                                "yes", [], [info("yes_y")])
        other = helper.make_graph([helper.make_node("Abs", ["x"], ["other_y"])], "other", [], [info("other_y")])
        weight = numpy_helper.from_array(np.array([5, 6, 7], np.float32), "w")
        graph = helper.make_graph(
            [helper.make_node("If", ["c"], ["y"], then_branch=yes, else_branch=other)], "g",
            [info("x"), info("c", (), TensorProto.BOOL)], [info("y")], [weight])
        path, x = self.save(model_of(graph)), np.array([1, -2, 3], np.float32)
        np.testing.assert_array_equal(self.run_model(path, x=x, c=np.array(True))["y"], x * [5, 6, 7])
        np.testing.assert_array_equal(self.run_model(path, x=x, c=np.array(False))["y"], abs(x))

    def test_values_that_are_no_tensors(self):
        """seq(tensor), optional(seq(tensor)) and seq(map(int64, float)) as types of values."""
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
        sequence = helper.make_sequence_type_proto(tensor)
        optional = helper.make_optional_type_proto(sequence)
        nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
                 helper.make_node("Optional", ["s"], ["o"]),
                 helper.make_node("OptionalGetElement", ["o"], ["t"]),
                 helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0),
                 helper.make_node("OptionalHasElement", ["o"], ["h"])]
        graph = helper.make_graph(nodes, "g", [info("x")], [info("y", (6,)), info("h", (), TensorProto.BOOL)],
                                  value_info=[helper.make_value_info("s", sequence),
                                              helper.make_value_info("o", optional)])
        x = np.array([1, -2, 3], np.float32)
        found = self.run_model(self.save(model_of(graph, 18)), x=x)
        np.testing.assert_array_equal(found["y"], np.concatenate([x, x]))
        self.assertTrue(found["h"])
        maps = helper.make_sequence_type_proto(helper.make_map_type_proto(
            TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))
        zipped = helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[7, 8, 9])
        graph = helper.make_graph([zipped], "g", [info("x", (1, 3))], [helper.make_value_info("z", maps)])
        path = self.save(model_of(graph, 15, imports=[helper.make_opsetid("ai.onnx.ml", 3)]))
        np.save(self.folder / "x.npy", x.reshape(1, 3))
        result = opsrun("run", path, "--input", f"x={self.folder / 'x.npy'}")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_training_information_does_not_hinder(self):
        step = helper.make_graph([helper.make_node("Neg", ["w"], ["new"])], "step", [], [info("new")])
        weight = numpy_helper.from_array(np.array([5, 6, 7], np.float32), "w")
        graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [info("x")], [info("y")],
                                  [weight])
        model, x = model_of(graph), np.array([1, -2, 3], np.float32)
        model.training_info.append(helper.make_training_info(step, [("w", "new")], None, None))
        np.testing.assert_array_equal(self.run_model(self.save(model), x=x)["y"], x * [5, 6, 7])

    def test_more_than_two_gib(self):
        """2.5 GiB of weights in a file with holes, of which a few rows are read: mapped, so that the
        process never holds them. Its data segment is limited to 1 GiB."""
        columns = 1024
        rows = 5 * GIB // 2 // 4 // columns
        picked = [0, rows // 2, rows - 1]
        with open(self.folder / "w.bin", "wb") as file:
            file.truncate(rows * columns * 4)
            for number, row in enumerate(picked):
                file.seek(row * columns * 4)
                file.write(np.full(columns, number + 1, np.float32).tobytes())
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[rows, columns],
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(rows * columns * 4))):
            weight.external_data.add(key=key, value=value)
        graph = helper.make_graph([helper.make_node("Gather", ["w", "i"], ["y"], axis=0)], "g",
                                  [info("i", (3,), TensorProto.INT64)], [info("y", (3, columns))], [weight])
        found = self.run_model(self.save(model_of(graph)), memory=GIB, i=np.array(picked))["y"]
        np.testing.assert_array_equal(found, np.repeat([[1], [2], [3]], columns, 1).astype(np.float32))
        self.assertLess((self.folder / "w.bin").stat().st_blocks * 512, 1 << 20)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
