# SPDX-License-Identifier: Apache-2.0
"""Cases of ci/oracle_microsoft: sampling."""
import numpy

from oracle_microsoft_case import Case


def grid_sample(rng):
    for mode in ["bilinear", "nearest", "bicubic"]:
        for padding in ["zeros", "border", "reflection"]:
            for align in [0, 1]:
                n, c, h, w, high, wide = rng.integers(1, 6, 6)
                x = rng.uniform(-2, 2, (n, c, h + 1, w + 1)).astype(numpy.float32)
                grid = rng.uniform(-1.4, 1.4, (n, high, wide, 2)).astype(numpy.float32)
                attributes = {"mode": mode, "padding_mode": padding, "align_corners": align}
                cubic = mode == "bicubic" and padding == "border"
                yield Case("GridSample", [x, grid], attributes, rtol=1e-4, atol=1e-4,
                           decision="gridsample-cubic-border" if cubic else "")


CASES = {"GridSample": lambda rng: list(grid_sample(rng))}
