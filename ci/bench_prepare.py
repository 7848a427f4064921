# SPDX-License-Identifier: Apache-2.0
"""The models of ci/bench and ci/levels: where they come from, and how far their outputs may differ."""
import hashlib
import json
import math
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
import onnx

import bench_models
import models_inputs
from script import ROOT

MADE = ["bert_base", "gpt2_step", "lstm", "tiny_adds", "graph_10k"]
INT8 = "resnet50_int8"
NAMES = [*models_inputs.sources(), *MADE, INT8]
NO_MODELS = {"tiny_adds", "graph_10k"}  # of dispatch and loading; not in the geometric mean


def prepared_by_ci_models(build, name):
    subprocess.run([ROOT / "ci" / "models", "--prepare-only", "--models", name, "--build", build],
                   check=True, stdout=subprocess.DEVNULL)
    folder = next((build / "models").glob(f"{name}-*"))
    listing = json.loads((folder / "listing.json").read_text(encoding="utf-8"))
    return folder / "model.onnx", {n: folder / f for n, f in listing["inputs"].items()}


def make(build, name):
    if name == INT8:
        path, files = prepared_by_ci_models(build, "light_resnet50")
        return bench_models.resnet50_int8(path, {n: np.load(f) for n, f in files.items()})
    return getattr(bench_models, name)()


def prepare(build, name):
    """(model file, input name -> file); made once, anew when its script changes."""
    if name not in MADE and name != INT8:
        return prepared_by_ci_models(build, name)
    key = hashlib.sha256((ROOT / "ci" / "bench_models.py").read_bytes()).hexdigest()[:16]
    folder = build / "bench" / f"{name}-{key}"
    if not folder.exists():
        for stale in (build / "bench").glob(f"{name}-*"):
            shutil.rmtree(stale)
        model, feeds = make(build, name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = pathlib.Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder.parent))
        onnx.save(model, unfinished / "model.onnx")
        for index, (key, value) in enumerate(feeds.items()):
            np.save(unfinished / f"{index:03}.npy", value)
        (unfinished / "inputs.json").write_text(json.dumps(list(feeds)), encoding="utf-8")
        unfinished.rename(folder)
    names = json.loads((folder / "inputs.json").read_text(encoding="utf-8"))
    return folder / "model.onnx", {n: folder / f"{i:03}.npy" for i, n in enumerate(names)}


def difference(ours, theirs, name):
    """Largest difference of outputs, name -> array, in units of what `name` may differ by: 1e-3·|value| + 1e-4,
    of the quantised model two steps of its 8-bit softmax. Infinite if names, shapes or types differ."""
    if not theirs or sorted(ours) != sorted(theirs):
        return math.inf
    worst = 0.0
    for key, want in theirs.items():
        got = ours[key]
        if got.shape != want.shape or got.dtype != want.dtype:
            return math.inf
        want, got = want.astype(np.float64), got.astype(np.float64)
        limit = 2 / 255 if name == INT8 else 1e-3 * np.abs(want) + 1e-4
        worst = max(worst, float((np.abs(got - want) / limit).max(initial=0.0)))
    return worst
