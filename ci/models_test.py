# SPDX-License-Identifier: Apache-2.0
"""Tests of ci/models: its judges refuse what they must, and no weight is left a fill."""
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

import models_inputs
import models_prepare

RTOL, ATOL = 1e-3, 1e-5
SMALL = "light_squeezenet"


def run(model, feeds):
    return models_prepare.session(model.SerializeToString()).run(None, feeds)


class ConditioningTest(unittest.TestCase):
    def setUp(self):
        self.model = onnx.load(models_inputs.sources()[SMALL])
        self.feeds = {"data_0": models_inputs.make_input(SMALL, (1, 3, 224, 224))}
        self.mirrored = {"data_0": models_inputs.mirrored(self.feeds["data_0"])}

    def check(self):
        models_prepare.check_conditioning(
            run(self.model, self.feeds), run(self.model, self.mirrored), RTOL, ATOL)

    def test_the_model_as_it_comes_is_refused(self):
        with self.assertRaisesRegex(models_prepare.Unfit, "near constant"):
            self.check()

    def test_the_prepared_model_is_fit(self):
        models_prepare.redraw_weights(self.model, SMALL)
        models_prepare.scale_logits(self.model, self.feeds)
        self.check()
        onnx.checker.check_model(self.model)

    def test_a_saturated_softmax_is_refused(self):
        one_hot = np.zeros((1, 1000), np.float32)
        one_hot[0, 7] = 1
        with self.assertRaisesRegex(models_prepare.Unfit, "hardly depends"):
            models_prepare.check_conditioning([one_hot], [one_hot.copy()], RTOL, ATOL)

    def test_not_finite_is_refused(self):
        values = np.array([1.0, np.nan], np.float32)
        with self.assertRaisesRegex(models_prepare.Unfit, "not finite"):
            models_prepare.check_conditioning([values], [values], RTOL, ATOL)


class RedrawTest(unittest.TestCase):
    def redraw(self, name):
        model = onnx.load(models_inputs.sources()[name])
        models_prepare.redraw_weights(model, name)
        return model

    def test_no_weight_is_a_fill(self):
        for name in ("light_squeezenet", "light_shufflenet", "light_densenet121"):
            model = self.redraw(name)
            self.assertNotIn("ConstantOfShape", {node.op_type for node in model.graph.node})
            for tensor in model.graph.initializer:
                values = numpy_helper.to_array(tensor)
                if values.dtype == np.float32:
                    self.assertGreater(float(values.std()), 1e-3, f"{name}: {tensor.name}")

    def test_he_variance(self):
        model = self.redraw("light_squeezenet")
        weights = next(numpy_helper.to_array(t) for t in model.graph.initializer
                       if list(t.dims) == [256, 64, 3, 3])
        fan_in = weights[0].size
        self.assertAlmostEqual(float(weights.var()) * fan_in / 2, 1.0, delta=0.05)

    def test_the_same_seed_gives_the_same_weights(self):
        first, second = (self.redraw("light_squeezenet") for _ in range(2))
        self.assertEqual(first.SerializeToString(), second.SerializeToString())


if __name__ == "__main__":
    unittest.main()
