# SPDX-License-Identifier: Apache-2.0
"""Whole models on the GPU: the provider cuda against whichever GPU path is installed.

usage: gpu_models.py OPSRUN PROVIDER BUILD

One line of JSON for each model: {"name", "ms", "yardstick", "yardstick_ms", "ratio", "difference"}, medians over
the same number of runs. The yardstick is onnxruntime with its CUDA provider; without one, torchvision's
model of the same architecture (other weights, the same work) with TF32 off, inputs and outputs on
the host as ours; without both there is none, and the line says why. `difference` is the largest from
onnxruntime's outputs on the processor, in units of what ci/bench allows: above 1 the row is WRONG.

Exit 0: all models ran and were right; 1: one did not.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from script import enter_venv  # noqa: E402

enter_venv()

import numpy as np  # noqa: E402

from bench_prepare import difference, prepare  # noqa: E402

RUNS = 20
# Model, and torchvision's builder of the same architecture.
MODELS = [("light_resnet50", "resnet50"), ("light_squeezenet", "squeezenet1_0"),
          ("light_vgg19", "vgg19"), ("light_densenet121", "densenet121"), ("bert_base", None)]


def median_ms(run):
    run()
    run()
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return 1e3 * float(np.median(seconds))


def ours(opsrun, provider, build, path, inputs):
    """Milliseconds of one run, and the outputs."""
    with tempfile.TemporaryDirectory() as folder:
        command = [opsrun, "bench", path, "--follow", "--output-dir", folder, "--provider", provider,
                   "--provider", build / "lib" / "libops_reference.so"]
        for name, file in inputs.items():
            command += ["--input", f"{name}={file}"]
        done = subprocess.run(command, input=f"2\n{RUNS}\n", capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-500:])
        seconds = [float(word) for word in done.stdout.splitlines()[2].split()]
        outputs = {file.name: np.load(file) for file in pathlib.Path(folder).glob("*.npy")}
    return 1e3 * float(np.median(seconds)), outputs


def onnxruntime_session(path, provider):
    import onnxruntime
    if provider not in onnxruntime.get_available_providers():
        raise ImportError(f"onnxruntime {onnxruntime.__version__} has no {provider}")
    return onnxruntime.InferenceSession(str(path), providers=[provider])


def by_onnxruntime(path, feeds):
    session = onnxruntime_session(path, "CUDAExecutionProvider")
    return "onnxruntime CUDA", median_ms(lambda: session.run(None, feeds))


def by_torch(builder, feeds):
    import torch
    import torchvision
    if builder is None:
        raise ImportError("torchvision has no such model")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    model = getattr(torchvision.models, builder)(weights=None).eval().cuda()
    (value,) = feeds.values()
    with torch.inference_mode():
        return "PyTorch", median_ms(lambda: model(torch.from_numpy(value).cuda()).cpu())


def yardstick(path, builder, feeds):
    reasons = []
    for measure in (lambda: by_onnxruntime(path, feeds), lambda: by_torch(builder, feeds)):
        try:
            return measure()
        except Exception as error:  # pylint: disable=broad-exception-caught
            reasons.append(f"{type(error).__name__}: {error}")
    return "none: " + "; ".join(reasons)[:300], None


def expected(path, feeds):
    session = onnxruntime_session(path, "CPUExecutionProvider")
    names = [value.name for value in session.get_outputs()]
    return {re.sub(r"[^A-Za-z0-9]", "_", name) + ".npy": value
            for name, value in zip(names, session.run(names, feeds))}


def measure(opsrun, provider, build, name, builder):
    path, inputs = prepare(build, name)
    feeds = {key: np.load(file) for key, file in inputs.items()}
    ms, outputs = ours(opsrun, provider, build, path, inputs)
    theirs, theirs_ms = yardstick(path, builder, feeds)
    row = {"name": name, "ms": round(ms, 4), "yardstick": theirs}
    if theirs_ms:
        row |= {"yardstick_ms": round(theirs_ms, 4), "ratio": round(ms / theirs_ms, 3)}
    row["difference"] = round(difference(outputs, expected(path, feeds), name), 4)
    return row


def main():
    opsrun, provider, build = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    wrong = False
    for name, builder in MODELS:
        try:
            row = measure(opsrun, provider, build, name, builder)
        except Exception as error:  # pylint: disable=broad-exception-caught
            row = {"name": name, "error": f"{type(error).__name__}: {error}"[:500]}
        wrong = wrong or not row.get("difference", 2) <= 1
        print(json.dumps(row), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
