# SPDX-License-Identifier: Apache-2.0
"""Cases of ci/oracle_microsoft: products and convolutions with something fused to them."""
import ml_dtypes
import numpy

from oracle_microsoft_case import Case

FLOAT16, FLOAT, DOUBLE, BFLOAT16 = (numpy.float16, numpy.float32, numpy.float64,
                                    ml_dtypes.bfloat16)


def reals(rng, shape, dtype=FLOAT):
    return numpy.asarray(rng.uniform(-2, 2, shape)).astype(dtype)


def wide(array):
    return array.astype(numpy.float64)


# --- Activations: name, how many parameters, formula, which operators of onnxruntime know it ----


def softplus(x, a, b):
    return numpy.logaddexp(0, x)


ACTIVATIONS = {
    "Relu": (0, lambda x, a, b: numpy.maximum(x, 0), "conv gemm"),
    "Tanh": (0, lambda x, a, b: numpy.tanh(x), "conv gemm"),
    "Sigmoid": (0, lambda x, a, b: 1 / (1 + numpy.exp(-x)), "conv gemm"),
    "LeakyRelu": (1, lambda x, a, b: numpy.where(x < 0, a * x, x), "conv gemm"),
    "HardSigmoid": (2, lambda x, a, b: numpy.clip(a * x + b, 0, 1), "conv gemm"),
    "Clip": (2, lambda x, a, b: numpy.clip(x, min(a, b), max(a, b)), "conv"),
    "HardSwish": (0, lambda x, a, b: x * numpy.clip(x / 6 + 0.5, 0, 1), "conv"),
    "Elu": (1, lambda x, a, b: numpy.where(x < 0, a * numpy.expm1(x), x), "gemm"),
    "Celu": (1, lambda x, a, b: numpy.where(x < 0, a * numpy.expm1(x / a), x), "gemm"),
    "Selu": (2, lambda x, a, b: b * numpy.where(x > 0, x, a * numpy.expm1(x)), "gemm"),
    "Softplus": (0, softplus, "gemm"),
    "Softsign": (0, lambda x, a, b: x / (1 + numpy.abs(x)), "gemm"),
    "ThresholdedRelu": (1, lambda x, a, b: numpy.where(x > a, x, 0), "gemm"),
}


def draw_activation(rng, index):
    """Name, its parameters as float32 in float64, its function of one array."""
    name = list(ACTIVATIONS)[index % len(ACTIVATIONS)]
    count, function, _ = ACTIVATIONS[name]
    a, b = numpy.sort(rng.uniform(0.1, 1.5, 2).astype(FLOAT).astype(DOUBLE))
    return name, [a, b][:count], lambda x: function(x, a, b)


# --- FusedMatMul ----------------------------------------------------------------------------


def arrange(array, trans_batch, trans):
    if array.ndim < 2:
        return array
    if trans_batch:
        array = numpy.moveaxis(array, 0, -2)
    return numpy.swapaxes(array, -1, -2) if trans else array


def stored(array, trans_batch, trans):
    """The inverse of `arrange`."""
    if array.ndim < 2:
        return array
    array = numpy.swapaxes(array, -1, -2) if trans else array
    return numpy.ascontiguousarray(numpy.moveaxis(array, -2, 0) if trans_batch else array)


def fused_matmul_shapes(rng, batches):
    m, k, n = rng.integers(1, 9, 3)
    batch = tuple(rng.integers(1, 4, batches))
    return batch + (m, k), batch + (k, n)


def fused_matmul(rng):
    for flags in range(16):
        ta, tb, ba, bb = (flags >> i & 1 for i in range(4))
        for batches in ([1, 2] if ba or bb else [0, 1, 2]):
            for dtype in (FLOAT, DOUBLE, FLOAT16, BFLOAT16):
                left, right = fused_matmul_shapes(rng, batches)
                a, b = reals(rng, left, dtype), reals(rng, right, dtype)
                alpha = float(FLOAT(rng.choice([1.0, 0.125, -1.7])))
                attributes = {"transA": ta, "transB": tb, "transBatchA": ba, "transBatchB": bb,
                              "alpha": alpha}
                yield Case("FusedMatMul", [stored(a, ba, ta), stored(b, bb, tb)],
                           {k: v for k, v in attributes.items() if v or rng.random() < 0.3},
                           formula=lambda a=a, b=b, s=alpha if alpha else 1.0:
                               [s * (wide(a) @ wide(b))],
                           ort=dtype in (FLOAT, DOUBLE), ulps=2 if dtype != DOUBLE else 16)


def fused_matmul_broadcast(rng):
    for left, right in [((3,), (3,)), ((3,), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (5, 4, 2)),
                        ((3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 2))]:
        a, b = reals(rng, left), reals(rng, right)
        for ta, tb in [(0, 0), (1, 0), (0, 1), (1, 1)]:
            odd = ta and len(left) > 2 and len(right) == 1
            yield Case("FusedMatMul", [stored(a, 0, ta), stored(b, 0, tb)],
                       {"transA": ta, "transB": tb, "alpha": 0.5},
                       formula=lambda a=a, b=b: [0.5 * (wide(a) @ wide(b))], ulps=2,
                       decision="fusedmatmul-vector" if odd else "")


# --- FusedGemm --------------------------------------------------------------------------------


def fused_gemm(rng):
    for index in range(2 * len(ACTIVATIONS)):
        name, parameters, function = draw_activation(rng, index)
        for dtype in (FLOAT, DOUBLE, FLOAT16):
            ta, tb = rng.integers(0, 2, 2)
            m, k, n = rng.integers(1, 12, 3)
            alpha, beta = (float(FLOAT(x)) for x in rng.uniform(-1.5, 1.5, 2))
            a, b = reals(rng, (m, k), dtype), reals(rng, (k, n), dtype)
            shapes = [None, (m, n), (n,), (1, n), (m, 1), (1,), ()]
            shape = shapes[rng.integers(0, len(shapes))]
            c = None if shape is None else reals(rng, shape, dtype)
            attributes = {"transA": int(ta), "transB": int(tb), "alpha": alpha, "beta": beta,
                          "activation": name}
            second = "activation_gamma" if name == "Selu" else "activation_beta"
            attributes.update(zip(["activation_alpha", second], parameters))

            def expected(a=a, b=b, c=c, alpha=alpha, beta=beta, function=function):
                y = alpha * (wide(a) @ wide(b))
                return [function(y if c is None else y + beta * wide(c))]

            yield Case("FusedGemm", [stored(a, 0, ta), stored(b, 0, tb), c], attributes, expected,
                       ort=dtype == FLOAT and "gemm" in ACTIVATIONS[name][2], rtol=1e-4, atol=1e-5,
                       ulps=2 if dtype != DOUBLE else 64)


def fused_gemm_integers(rng):
    for dtype in (numpy.int32, numpy.int64, numpy.uint32, numpy.uint64):
        info = numpy.iinfo(dtype)
        a = rng.integers(info.min, info.max, (4, 3), dtype, endpoint=True)
        b = rng.integers(0, 3, (3, 5)).astype(dtype)
        with numpy.errstate(over="ignore"):
            product = a @ b
        yield Case("FusedGemm", [a, b], {"activation": "Relu"}, ort=False,
                   formula=lambda y=product: [numpy.maximum(y, 0)])


# --- FusedConv ----------------------------------------------------------------------------


def convolve(x, w, strides, dilations, pads, group):
    """The definition, in float64."""
    spatial = x.ndim - 2
    before, after = pads[:spatial], pads[spatial:]
    x = numpy.pad(wide(x), [(0, 0), (0, 0), *zip(before, after)])
    span = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations)]
    out = [(n - e) // s + 1 for n, e, s in zip(x.shape[2:], span, strides)]
    y = numpy.zeros((x.shape[0], w.shape[0], *out))
    per_in, per_out = w.shape[1], w.shape[0] // group
    for at in numpy.ndindex(*w.shape[2:]):
        window = tuple(slice(t * d, t * d + (o - 1) * s + 1, s)
                       for t, d, o, s in zip(at, dilations, out, strides))
        for g in range(group):
            taps = wide(w)[(slice(g * per_out, (g + 1) * per_out), slice(None), *at)]
            part = x[(slice(None), slice(g * per_in, (g + 1) * per_in), *window)]
            y[:, g * per_out:(g + 1) * per_out] += numpy.einsum("oc,nc...->no...", taps, part)
    return y


def fused_conv(rng):
    for index in range(2 * len(ACTIVATIONS)):
        name, parameters, function = draw_activation(rng, index)
        for dtype, spatial in ((FLOAT, 2), (FLOAT, 1), (DOUBLE, 2), (FLOAT16, 3)):
            group = int(rng.integers(1, 3))
            n, c, m = rng.integers(1, 3), group * rng.integers(1, 4), group * rng.integers(1, 4)
            kernel = rng.integers(1, 4, spatial)
            strides, dilations = rng.integers(1, 3, (2, spatial)).tolist()
            pads = rng.integers(0, 3, 2 * spatial).tolist()
            image = kernel * 2 + rng.integers(0, 4, spatial)
            x = reals(rng, (n, c, *image), dtype)
            w = reals(rng, (m, c // group, *kernel), dtype)
            bias = reals(rng, m, dtype) if rng.random() < 0.6 else None
            y = convolve(x, w, strides, dilations, pads, group)
            z = reals(rng, y.shape, dtype) if rng.random() < 0.4 else None
            attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": group,
                          "kernel_shape": kernel.tolist(), "activation": name}
            if parameters:
                attributes["activation_params"] = parameters
            if bias is not None:
                y = y + wide(bias).reshape(-1, *[1] * spatial)
            if z is not None:
                y = y + wide(z)
            yield Case("FusedConv", [x, w, bias, z], attributes,
                       lambda y=y, function=function: [function(y)],
                       ort=dtype == FLOAT and "conv" in ACTIVATIONS[name][2], rtol=1e-4, atol=1e-5,
                       ulps=2 if dtype != DOUBLE else 64)


CASES = {
    "FusedMatMul": lambda rng: [*fused_matmul(rng), *fused_matmul_broadcast(rng)],
    "FusedGemm": lambda rng: [*fused_gemm(rng), *fused_gemm_integers(rng)],
    "FusedConv": lambda rng: list(fused_conv(rng)),
}
