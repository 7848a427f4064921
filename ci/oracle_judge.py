# SPDX-License-Identifier: Apache-2.0
"""Do two results of one case agree, within what rounding alone explains?

Tolerances follow from the types, never from results:

- integers, strings, shapes, element types: equal;
- cases of contracts: the contract's judge and limits, as conformance/compare states them, with
  the accumulation type that the witness really uses;
- models whose results round: SPARE units in the last place, times sqrt(K) where K input elements
  contribute to a result (probabilistic error analysis: Higham and Mary 2019), and SPARE times the
  largest movement of the reference provider's result when the inputs move by a few units
  (oracle_cases.py). The unit is that of the result itself for functions of single elements, else
  that of the largest result, for intermediate values may be as large (the normwise bounds of
  transforms and recurrences: Higham 2002, chapters 3 and 24);
- other models: equal, for there is nothing to round.

Zeros of both signs are equal, and so are NaNs of all payloads (IEEE 754-2019, 5.11 and 6.2).
"""
import ml_dtypes
import numpy as np

SPARE = 4

# Fraction bits, smallest exponent of a normal number.
FORMATS = {np.dtype(np.float64): (52, -1022), np.dtype(np.float32): (23, -126),
           np.dtype(np.float16): (10, -14), np.dtype(ml_dtypes.bfloat16): (7, -126),
           np.dtype(ml_dtypes.float8_e4m3fn): (3, -6), np.dtype(ml_dtypes.float8_e4m3fnuz): (3, -7),
           np.dtype(ml_dtypes.float8_e5m2): (2, -14), np.dtype(ml_dtypes.float8_e5m2fnuz): (2, -15),
           np.dtype(ml_dtypes.float4_e2m1fn): (1, 0), np.dtype(ml_dtypes.float8_e8m0fnu): (0, -127)}
NAMES = {"float": np.float32, "double": np.float64, "float16": np.float16,
         "bfloat16": ml_dtypes.bfloat16}


class Difference:
    """Why two values do not agree. `kind` is what decisions may be limited to: type, shape, text,
    nan, infinite, value, error."""

    def __init__(self, kind, message):
        self.kind, self.message = kind, message


def unit(values, dtype):
    """One unit in the last place of `dtype` at each of the values (float64)."""
    fraction, least = FORMATS[np.dtype(dtype)]
    with np.errstate(divide="ignore", invalid="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(values), values, 0))
    exponent = np.where(values == 0, least, np.maximum(exponent - 1, least))
    return np.ldexp(1.0, exponent - fraction)


def wide(array):
    """As float64, complex numbers as pairs."""
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], -1).astype(np.float64)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return array.astype(np.float64)


def is_float(array):
    return array.dtype in FORMATS or array.dtype.kind == "c"


def movement(base, moved):
    """How far results moved; infinite where they changed their class."""
    total = np.zeros(base.shape)
    for other in moved:
        if other.shape != base.shape:
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            step = np.abs(wide(other) - base)
        same = (wide(other) == base) | (np.isnan(base) & np.isnan(wide(other)))
        step = np.where(same, 0, np.where(np.isfinite(step), step, np.inf))
        total = np.maximum(total, step)
    return total


# ---- Tolerances -------------------------------------------------------------------------------

def of_models(expected, moved, elementwise, terms):
    """Of the output of a model that rounds; `moved`: what the reference provider gives for moved
    inputs; `terms`: the number of input elements, at most, behind one output element."""
    base = wide(expected)
    spread = movement(base, moved)
    if not is_float(expected):
        return spread
    dtype = {"c8": np.float32, "c16": np.float64}.get(expected.dtype.str[1:], expected.dtype)
    scale = base
    if not elementwise:
        finite = np.abs(base[np.isfinite(base)])
        scale = np.full(base.shape, finite.max() if finite.size else 0)
    return SPARE * (np.sqrt(max(1, terms)) * unit(scale, dtype) + spread)


def coarser(first, second):
    return min(first, second, key=lambda dtype: FORMATS[np.dtype(dtype)][0])


def of_contract(expected, about, judge, magnitude, reference, accumulates, others=None):
    """Of a case's output: `about` is its entry in case.json, `accumulates` the type that the
    witness computes a result of this type in, None for the contract's own."""
    base = wide(expected)
    others = others or {}
    if judge == "random":  # another generator is as right: types and shapes agree or do not
        return base, np.full(base.shape, np.inf)
    lower, upper = others.get("lower"), others.get("upper")
    if judge == "quantised" and expected.dtype not in FORMATS and lower is not None:
        return base, np.maximum(np.abs(base - lower), np.abs(upper - base))
    if expected.dtype not in FORMATS or judge in ("exact", "index") or about["exact"]:
        return base, np.zeros(base.shape)
    out, _ = FORMATS[expected.dtype]
    accumulate = NAMES.get(about["accumulate"], expected.dtype)
    if accumulates is not None:
        accumulate = coarser(accumulate, accumulates)
    spare = max(0, FORMATS[np.dtype(accumulate)][0] - out)
    if judge == "conditioned":
        # The deviations are those of the contract's accumulation; a witness may use a coarser one.
        named = NAMES.get(about["accumulate"], expected.dtype)
        wider = 2.0 ** (FORMATS[np.dtype(named)][0] - FORMATS[np.dtype(accumulate)][0])
        return reference, wider * 4 * others["deviation"] + unit(reference, expected.dtype)
    if judge == "dot":
        least = 2.0 ** FORMATS[expected.dtype][1]
        step = np.maximum(magnitude * 2.0 ** (-1 - out), least)
        limit = 2 * max(1, np.ceil(about["k"] / 2.0 ** (spare / 2)))
        return reference, np.where(magnitude == 0, 0, limit * step)
    limit = min(1 + about["ulp"] * 2.0 ** -spare, 2 ** (out / 2)) if spare else about["ulp"]
    return base, limit * unit(base, expected.dtype) + about["absolute"]


# ---- Comparing --------------------------------------------------------------------------------

def describe(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__


def worst(wrong, expected, got, tolerance):
    index = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return (f"{int(wrong.sum())} of {wrong.size} differ; at {list(map(int, index))} the reference "
            f"provider has {expected[index]!r}, the witness {got[index]!r}, allowed "
            f"{tolerance[index] if tolerance is not None else 0:.3g}")


def compare_numbers(expected, reference, tolerance, got):
    """The first kind of difference between arrays of one shape, or None."""
    a, b = reference, wide(got)
    exact = expected.dtype.kind in "iub" and not tolerance.any()
    checks = [("nan", np.isnan(a) != np.isnan(b)),
              ("infinite", (np.isinf(a) | np.isinf(b)) & (a != b) & ~np.isnan(a) & ~np.isnan(b))]
    with np.errstate(invalid="ignore"):
        far = np.abs(a - b) > tolerance
    finite = np.isfinite(a) & np.isfinite(b)
    checks.append(("value", (expected != got) if exact else far & finite))
    for kind, wrong in checks:
        wrong = wrong & ~np.isinf(tolerance)
        if wrong.any():
            return Difference(kind, worst(wrong, wide(expected), b, tolerance))
    return None


def compare_arrays(expected, got, limits):
    if expected.dtype.kind in "OUST":
        same = got.dtype.kind in "OUST" and expected.shape == got.shape and all(
            text(x) == text(y) for x, y in zip(expected.ravel(), got.ravel()))
        return None if same else Difference(
            "text" if expected.shape == got.shape else "shape",
            f"the reference provider has {expected.tolist()!r:.200}, the witness "
            f"{got.tolist()!r:.200}")
    if expected.shape != got.shape:
        return Difference("shape", f"the reference provider gives {describe(expected)}, the witness "
                                   f"{describe(got)}")
    if expected.dtype != got.dtype:
        return Difference("type", f"the reference provider gives {describe(expected)}, the witness "
                                  f"{describe(got)}")
    reference, tolerance = limits(expected)
    return compare_numbers(expected, reference, tolerance, got)


def text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def compare(expected, got, limits):
    """Values of any kind; `limits(array)` gives the reference and the tolerance of one."""
    if isinstance(expected, list) or isinstance(got, list):
        if not (isinstance(expected, list) and isinstance(got, list)
                and len(expected) == len(got)):
            return Difference("shape", f"the reference provider gives {describe(expected)}, the "
                                       f"witness {describe(got)}")
        return next(filter(None, (compare(a, b, limits) for a, b in zip(expected, got))), None)
    if expected is None or got is None:
        return None if expected is got else Difference(
            "shape", f"the reference provider gives {describe(expected)}, the witness "
                     f"{describe(got)}")
    return compare_arrays(np.asarray(expected), np.asarray(got), limits)
