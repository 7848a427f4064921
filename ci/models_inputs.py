# SPDX-License-Identifier: Apache-2.0
"""Which models ci/models runs, on which inputs. Inputs are random, seeded by the model's name.

White noise averages out in a pooling layer and shows a text detector nothing, so inputs have
structure: coarse random patches under noise for classifiers, random strokes in rows for the text
models. Heights and widths differ where the model allows it, which shows swapped axes.
"""
import hashlib
import importlib.util
import pathlib

import numpy as np

PATCH = 16

# File name without .onnx -> shape of its one input.
TEXT_MODELS = {
    "ch_PP-OCRv4_det_infer": (1, 3, 256, 320),
    "ch_ppocr_mobile_v2.0_cls_infer": (1, 3, 48, 192),
    "ch_PP-OCRv4_rec_infer": (1, 3, 48, 320),
}
LIGHT_MODELS = [
    "light_bvlc_alexnet", "light_densenet121", "light_inception_v1", "light_inception_v2",
    "light_resnet50", "light_shufflenet", "light_squeezenet", "light_vgg19", "light_zfnet512",
]
QUICK_MODELS = ["ch_ppocr_mobile_v2.0_cls_infer", "light_shufflenet", "light_squeezenet"]


def _package_folder(package):
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"ci/models: error: the Python package {package} is missing; run ci/deps")
    return pathlib.Path(spec.submodule_search_locations[0])


def sources():
    """{name: path of the model as its package installs it}."""
    text = _package_folder("rapidocr_onnxruntime") / "models"
    light = _package_folder("onnx") / "backend" / "test" / "data" / "light"
    found = {name: text / f"{name}.onnx" for name in TEXT_MODELS}
    found.update({name: light / f"{name}.onnx" for name in LIGHT_MODELS})
    return found


def _rng(name):
    return np.random.default_rng(list(hashlib.sha256(name.encode()).digest()[:16]))


def patches(rng, shape):
    batch, channels, height, width = shape
    coarse = rng.normal(size=(batch, channels, -(-height // PATCH), -(-width // PATCH)))
    image = coarse.repeat(PATCH, axis=2).repeat(PATCH, axis=3)[:, :, :height, :width]
    return (0.8 * image + 0.6 * rng.normal(size=shape)).astype(np.float32)


def strokes(rng, shape):
    """Dark bars on light ground, in rows of characters; values from -1 to 1."""
    batch, channels, height, width = shape
    page = np.full((height, width), 0.9)
    rows = max(1, height // 48)
    row_height = height // rows
    for row in range(rows):
        top = row * row_height + row_height // 5
        bottom = row * row_height + row_height * 4 // 5
        left = int(rng.integers(4, 20))
        while left < width - 20:
            size = int((bottom - top) * rng.uniform(0.5, 0.9))
            if rng.random() < 0.85:
                _character(rng, page[top:bottom, left:left + size])
            left += size + 4
    page = np.broadcast_to(page, (batch, channels, height, width))
    return ((page + 0.02 * rng.normal(size=shape) - 0.5) / 0.5).astype(np.float32)


def _character(rng, box):
    for _ in range(int(rng.integers(3, 6))):
        axis = int(rng.integers(0, 2))
        start = int(rng.integers(0, max(1, box.shape[axis] - 3)))
        (box if axis == 0 else box.T)[start:start + 3] = 0.05


def make_input(name, shape):
    maker = strokes if name in TEXT_MODELS else patches
    return maker(_rng(name), tuple(shape))


def mirrored(values):
    """The same input read from right to left: another input of the same kind."""
    return np.ascontiguousarray(values[..., ::-1])
