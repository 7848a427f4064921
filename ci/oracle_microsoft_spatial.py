# SPDX-License-Identifier: Apache-2.0
"""Cases of ci/oracle_microsoft: sampling, and inverses of matrices."""
import numpy
from onnx import helper
from onnx.reference import ReferenceEvaluator

from oracle_microsoft_case import Case
from oracle_microsoft_products import DOUBLE, FLOAT, FLOAT16, reals, wide


def onnx_grid_sample(x, grid, attributes):
    """The operator of opset 20, which has other names of modes, by onnx.reference."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(attributes["mode"], attributes["mode"])
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], **{**attributes, "mode": mode})
    info = [helper.make_tensor_value_info(name, 11, None) for name in ("x", "grid", "y")]
    graph = helper.make_graph([node], "sample", info[:2], info[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return ReferenceEvaluator(model).run(None, {"x": wide(x), "grid": wide(grid)})


def grid_sample(rng):
    for mode in ["bilinear", "nearest", "bicubic"]:
        for padding in ["zeros", "border", "reflection"]:
            for align in [0, 1]:
                for dtype in [FLOAT, DOUBLE]:
                    n, c, h, w, rows, columns = rng.integers(1, 6, 6)
                    x = reals(rng, (n, c, h + 1, w + 1), dtype)
                    grid = rng.uniform(-1.4, 1.4, (n, rows, columns, 2)).astype(dtype)
                    attributes = {"mode": mode, "padding_mode": padding, "align_corners": align}
                    cubic = mode == "bicubic" and padding == "border" and dtype == FLOAT
                    yield Case("GridSample", [x, grid], attributes,
                               lambda x=x, g=grid, a=attributes: onnx_grid_sample(x, g, a),
                               ort=dtype == FLOAT, rtol=1e-4, atol=1e-4,
                               ulps=16 if dtype == FLOAT else 2.0 ** 33,  # ref: places in float
                               decision="gridsample-cubic-border" if cubic else "")


def inverse(rng):
    for index in range(30):
        dtype = [FLOAT, DOUBLE, FLOAT16][index % 3]
        size = int(rng.integers(1, 9))
        batch = tuple(rng.integers(1, 4, rng.integers(0, 3)))
        x = reals(rng, (*batch, size, size), DOUBLE) + 3 * size ** 0.5 * numpy.eye(size)
        x = numpy.take(x, rng.permutation(size), axis=-2).astype(dtype)
        yield Case("Inverse", [x], {}, lambda x=x: [numpy.linalg.inv(wide(x))],
                   ulps=2 if dtype != DOUBLE else 64, rtol=2e-3 if dtype == FLOAT16 else 1e-4,
                   atol=1e-3 if dtype == FLOAT16 else 1e-5)
    for x in ([[1, 2], [2, 4]], [[0, 0], [0, 0]]):
        yield Case("Inverse", [numpy.array(x, FLOAT)], {}, decision="inverse-singular",
                   formula=lambda: [numpy.full((2, 2), numpy.nan)])


CASES = {"GridSample": lambda rng: list(grid_sample(rng)), "Inverse": lambda rng: list(inverse(rng))}
