#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rewrite rule of mynpu on whole models: usage: rewrite_test.py OPSRUN MYNPU

PixelShuffle as exporters write it (Reshape, Transpose, Reshape) runs as DepthToSpace on a device
without Reshape and Transpose, and gives what numpy gives. Near misses stay as they are.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSRUN, MYNPU = sys.argv[1:3]
CRD, DCR = [0, 1, 4, 2, 5, 3], [0, 3, 4, 1, 5, 2]


def shuffle_model(perm, n=2, c=3, b=2, size=(4, 5), opset=17, batch=None, extra_output=False,
                  merged=None):
    """x -> Reshape 'split' -> Transpose 'shuffle' -> Reshape 'merge' -> Relu 'act' -> y."""
    h, w = size
    split = [n, c, b, b, h, w] if perm == CRD else [n, b, b, c, h, w]
    merged = merged or [n, c, h * b, w * b]
    nodes = [helper.make_node("Reshape", ["x", "to6"], ["six"], name="split"),
             helper.make_node("Transpose", ["six"], ["turned"], name="shuffle", perm=perm),
             helper.make_node("Reshape", ["turned", "to4"], ["four"], name="merge"),
             helper.make_node("Relu", ["four"], ["y"], name="act")]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    if extra_output:
        outputs.append(helper.make_tensor_value_info("six", TensorProto.FLOAT, None))
    graph = helper.make_graph(
        nodes, "pixel_shuffle",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch or n, c * b * b, h, w])],
        outputs, [helper.make_tensor("to6", TensorProto.INT64, [6], split),
                  helper.make_tensor("to4", TensorProto.INT64, [4], merged)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def expected(model, x):
    tables = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    perm = model.graph.node[1].attribute[0].ints
    return np.maximum(x.reshape(tables["to6"]).transpose(perm).reshape(tables["to4"]), 0)


class Rewrites(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def opsrun(self, *arguments):
        done = subprocess.run([OPSRUN, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def save(self, model):
        path = self.folder / "model.onnx"
        onnx.save(model, path)
        return path

    def run_model(self, model, *more, want=expected):
        sizes = [d.dim_value or 2 for d in model.graph.input[0].type.tensor_type.shape.dim]
        x = np.random.default_rng(1).standard_normal(sizes).astype(np.float32)
        np.save(self.folder / "x.npy", x)
        text = self.opsrun("run", self.save(model), "--input", f"x={self.folder / 'x.npy'}", "--provider",
                           MYNPU, "--placement", "--output-dir", self.folder / "out", *more)
        np.testing.assert_array_equal(np.load(self.folder / "out" / "y.npy"), want(model, x))
        return text

    def test_both_modes_run_on_the_device_alone(self):
        for level in (0, 3):
            for perm, b in ((CRD, 2), (DCR, 3), (CRD, 1), (DCR, 2)):
                model = shuffle_model(perm, b=b)
                if b == 1 and level > 0:
                    continue  # the optimizer removes it altogether
                text = self.run_model(model, "--no-fallback", "--level", level)
                self.assertIn("DepthToSpace         merge/DepthToSpace (from split, shuffle, merge)", text)
                self.assertIn("mynpu runs 2 of 2 nodes", text)

    def test_a_batch_with_a_name_is_followed(self):
        model = shuffle_model(CRD, batch="N", n=0, merged=[0, 3, 8, 10])
        text = self.run_model(model, want=lambda _, x: expected(shuffle_model(CRD), x))
        self.assertIn("mynpu runs 2 of 2 nodes", text)

    def test_switched_off(self):
        text = self.run_model(shuffle_model(CRD), "--no-rewrites")
        self.assertIn("mynpu runs 1 of 4 nodes", text)

    def test_near_misses(self):
        cases = {
            "the permutation is neither": shuffle_model([0, 1, 2, 4, 3, 5]),
            "the shapes are not known to be those of DepthToSpace":
                shuffle_model(CRD, merged=[2, 3, 10, 8]),
            "mode CRD from opset 11 on, found 10": shuffle_model(CRD, opset=10),
        }
        for reason, model in cases.items():
            text = self.opsrun("explain", self.save(model), "--provider", MYNPU, "--level", "0")
            self.assertIn(f"mynpu/pixel_shuffle: not applied to 'merge', ", text)
            self.assertIn(reason, text)
            self.run_model(model)

    def test_a_value_that_is_read_elsewhere_stays(self):
        text = self.run_model(shuffle_model(CRD, extra_output=True))
        self.assertIn("mynpu runs 1 of 4 nodes", text)

    def test_a_provider_in_front_that_has_them_keeps_them(self):
        text = self.opsrun("explain", self.save(shuffle_model(CRD)), "--provider", "reference", "--provider",
                           MYNPU, "--level", "0")
        self.assertIn("not applied, provider reference takes Reshape 'split'", text)

    def test_bodies_are_rewritten(self):
        inner = shuffle_model(CRD).graph
        body = helper.make_graph(inner.node, "then", [], [helper.make_tensor_value_info(
            "y", TensorProto.FLOAT, [2, 3, 8, 10])], inner.initializer)
        other = helper.make_graph([helper.make_node("ConstantOfShape", ["to4"], ["z"], name="zeros")], "else", [],
                                  [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 3, 8, 10])],
                                  [inner.initializer[1]])
        graph = helper.make_graph(
            [helper.make_node("If", ["c"], ["r"], name="if", then_branch=body, else_branch=other)], "g",
            [helper.make_tensor_value_info("c", TensorProto.BOOL, []),
             helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 12, 4, 5])],
            [helper.make_tensor_value_info("r", TensorProto.FLOAT, [2, 3, 8, 10])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        text = self.opsrun("explain", self.save(model), "--provider", MYNPU)
        self.assertIn("mynpu/pixel_shuffle: Reshape 'split'", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
