# SPDX-License-Identifier: Apache-2.0
"""Cases of ci/oracle_microsoft: quantised operators.

The formulas compute real values in float64 and quantise as ONNX's QuantizeLinear does. onnxruntime
computes in float, so its results may be a step away where the quotient is near a tie; every
deviation beyond that is a decision.
"""
import ml_dtypes
import numpy

from oracle_microsoft_case import Case
from oracle_microsoft_products import DOUBLE, FLOAT, FLOAT16, BFLOAT16, reals, stored, wide

BYTES = (numpy.uint8, numpy.int8)


def numbers(rng, shape, dtype):
    info = numpy.iinfo(dtype)
    return numpy.asarray(rng.integers(info.min, info.max, shape, endpoint=True)).astype(dtype)


def scale(rng, shape=(), low=0.005, high=0.1):
    return numpy.asarray(rng.uniform(low, high, shape)).astype(FLOAT)


def zero(rng, dtype, shape=()):
    return numbers(rng, shape, dtype)


def maybe(rng, array):
    return None if array is None or rng.random() < 0.25 else array


def real(x, x_scale, x_zero):
    """The real values of a quantised tensor."""
    return (wide(x) - (0 if x_zero is None else wide(x_zero))) * wide(x_scale)


def quantize(value, y_scale, y_zero, dtype):
    info = numpy.iinfo(dtype)
    rounded = numpy.rint(value / wide(y_scale)) + (0 if y_zero is None else wide(y_zero))
    return numpy.clip(rounded, info.min, info.max).astype(dtype)


NEAR = {"steps": 1, "share": 0.05}  # onnxruntime's float against ties


def spelled_out(inputs, dtype, places):
    """The inputs with a zero point of 0 in place of one that is left out: onnxruntime takes
    the type of the result from there."""
    return [numpy.zeros((), dtype) if x is None and i in places else x
            for i, x in enumerate(inputs)]


# --- Elementwise ----------------------------------------------------------------------------


def broadcasting_shapes(rng):
    shape = rng.integers(1, 6, rng.integers(0, 5))
    left = [n if rng.random() < 0.7 else 1 for n in shape]
    right = [n if rng.random() < 0.7 else 1 for n in shape]
    cut = rng.integers(0, len(shape) + 1) if rng.random() < 0.4 else 0
    return tuple(left), tuple(right[cut:])


def qlinear_binary(op, function, spread):
    def draw(rng):
        for index in range(40):
            dtype = BYTES[index % 2]
            left, right = broadcasting_shapes(rng)
            a, b = numbers(rng, left, dtype), numbers(rng, right, dtype)
            sa, sb, sc = scale(rng), scale(rng), scale(rng, (), *spread)
            za, zb, zc = (maybe(rng, zero(rng, dtype)) for _ in range(3))

            def expected(a=a, b=b, q=(sa, za, sb, zb, sc, zc), dtype=dtype):
                value = function(real(a, q[0], q[1]), real(b, q[2], q[3]))
                return [quantize(value, q[4], q[5], dtype)]

            inputs = [a, sa, za, b, sb, zb, sc, zc]
            yield Case(op, inputs, {}, expected, witness=spelled_out(inputs, dtype, (2, 5, 7)),
                       **NEAR)
    return lambda rng: list(draw(rng))


def qlinear_unary(op, function, attributes_of, spread):
    def draw(rng):
        for index in range(30):
            dtype = BYTES[index % 2]
            x = numbers(rng, tuple(rng.integers(1, 9, rng.integers(0, 4))), dtype)
            sx, sy = scale(rng), scale(rng, (), *spread)
            zx, zy = maybe(rng, zero(rng, dtype)), maybe(rng, zero(rng, dtype))
            attributes = attributes_of(rng)
            yield Case(op, [x, sx, zx, sy, zy], attributes,
                       lambda x=x, q=(sx, zx, sy, zy), a=attributes, dtype=dtype:
                           [quantize(function(real(x, q[0], q[1]), a), q[2], q[3], dtype)],
                       # A table of onnxruntime: an element in it is wrong wherever it occurs.
                       steps=1, share=0.2)
    return lambda rng: list(draw(rng))


def leaky(x, attributes):
    return numpy.where(x < 0, wide(FLOAT(attributes.get("alpha", 0.01))) * x, x)


# --- Concat -----------------------------------------------------------------------------------


def qlinear_concat(rng):
    for index in range(30):
        dtype = BYTES[index % 2]
        rank = rng.integers(1, 5)
        axis = int(rng.integers(-rank, rank))
        base, parts, values = rng.integers(1, 5, rank), [], []
        for _ in range(rng.integers(1, 5)):
            shape = base.copy()
            shape[axis] = rng.integers(1, 6)
            x, sx, zx = numbers(rng, tuple(shape), dtype), scale(rng), zero(rng, dtype)
            parts += [x, sx, zx]
            values.append(real(x, sx, zx))
        sy, zy = scale(rng), zero(rng, dtype)
        yield Case("QLinearConcat", [sy, zy, *parts], {"axis": axis},
                   lambda v=values, axis=axis, sy=sy, zy=zy, dtype=dtype:
                       [quantize(numpy.concatenate(v, axis), sy, zy, dtype)], steps=1, share=0.2)


# --- Softmax ----------------------------------------------------------------------------------


def softmax(x, axis, opset):
    axes = tuple(range(axis % x.ndim, x.ndim)) if opset < 13 else axis
    e = numpy.exp(x - x.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


def qlinear_softmax(rng):
    for index in range(40):
        dtype = BYTES[index % 2]
        shape = tuple(rng.integers(1, 9, rng.integers(1, 5)))
        opset, axis = int(rng.choice([11, 13])), int(rng.integers(-len(shape), len(shape)))
        x, sx = numbers(rng, shape, dtype), scale(rng, (), 0.01, 0.08)
        zx = maybe(rng, zero(rng, dtype))
        whole = rng.random() < 0.6
        sy = numpy.asarray(1 / 256 if whole else rng.uniform(0.004, 0.1)).astype(FLOAT)
        zy = numpy.asarray(numpy.iinfo(dtype).min if rng.random() < 0.5 else 0).astype(dtype)
        expected = quantize(softmax(real(x, sx, zx), axis, opset), sy, zy, dtype)
        yield Case("QLinearSoftmax", [x, sx, zx, sy, zy], {"axis": axis, "opset": opset},
                   lambda y=expected: [y], decision="" if whole else "qlinearsoftmax-scale",
                   **NEAR)


# --- Pools ----------------------------------------------------------------------------------


def channels_first(x):
    return numpy.moveaxis(x, -1, 1)


def channels_last(x):
    return numpy.ascontiguousarray(numpy.moveaxis(x, 1, -1))


def draw_window(rng, spatial):
    kernel = rng.integers(1, 4, spatial)
    pads = [int(rng.integers(0, k)) for k in [*kernel, *kernel]]
    attributes = {"kernel_shape": kernel.tolist(), "strides": rng.integers(1, 4, spatial).tolist(),
                  "pads": pads, "ceil_mode": int(rng.integers(0, 2))}
    style = rng.choice(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if style != "NOTSET":
        attributes.update(auto_pad=str(style), ceil_mode=0)
        del attributes["pads"]
    image = kernel + rng.integers(0, 5, spatial)
    return attributes, image


def padding(image, attributes, dilations):
    """Begin and end of the padding, and the number of windows, along each axis."""
    rows = []
    pads = attributes.get("pads", [0] * 2 * len(image))
    for d, n in enumerate(image):
        s = attributes["strides"][d]
        span = (attributes["kernel_shape"][d] - 1) * dilations[d] + 1
        begin, end = pads[d], pads[d + len(image)]
        style = attributes.get("auto_pad", "NOTSET")
        if style.startswith("SAME"):
            total = max(0, (-(-n // s) - 1) * s + span - n)
            begin = total // 2 if style == "SAME_UPPER" else total - total // 2
            end = total - begin
        room = n + begin + end - span
        out = (-(-room // s) if attributes["ceil_mode"] else room // s) + 1
        if attributes["ceil_mode"] and (out - 1) * s >= n + begin:
            out -= 1  # a window may not begin behind the data
        rows.append((begin, end, out))
    return rows


def pool_decision(image, attributes, dilations):
    """By which decision onnxruntime's pools of such a window differ; "" for none."""
    kernel, strides = attributes["kernel_shape"], attributes["strides"]
    if not attributes.get("auto_pad", "").startswith("SAME"):
        return ""
    if any(d > 1 and k > 1 for d, k in zip(dilations, kernel)):
        return "pool-same-dilation"
    gaps = any((-(-n // s) - 1) * s + k < n for n, k, s in zip(image, kernel, strides))
    return "pool-same-gaps" if gaps else ""


def pool(x, attributes, dilations, reduce):
    """`reduce` of the values in each window, NaN for padding, None what lies beyond it."""
    image = x.shape[2:]
    rows = padding(image, attributes, dilations)
    out = [r[2] for r in rows]
    y = numpy.zeros((*x.shape[:2], *out))
    for at in numpy.ndindex(*out):
        taps, padded = [[]], 1
        for d, n in enumerate(image):
            begin, end, _ = rows[d]
            first = at[d] * attributes["strides"][d] - begin
            line = [first + k * dilations[d] for k in range(attributes["kernel_shape"][d])]
            padded *= sum(i < n + end for i in line)
            taps = [t + [i] for t in taps for i in line if 0 <= i < n]
        values = numpy.stack([x[(slice(None), slice(None), *t)] for t in taps])
        y[(slice(None), slice(None), *at)] = reduce(values, padded)
    return y


def qlinear_average_pool(rng):
    for index in range(48):
        dtype = BYTES[index % 2]
        spatial = int(rng.integers(1, 4))
        attributes, image = draw_window(rng, spatial)
        last, count = int(rng.integers(0, 2)), int(rng.integers(0, 2))
        x = numbers(rng, (rng.integers(1, 3), rng.integers(1, 5), *image), dtype)
        sx, sy = scale(rng), scale(rng, (), 0.02, 0.1)
        zx, zy = maybe(rng, zero(rng, dtype)), maybe(rng, zero(rng, dtype))

        def mean(values, padded, count=count):
            return values.sum(axis=0) / (padded if count else len(values))

        y = quantize(pool(real(x, sx, zx), attributes, [1] * spatial, mean), sy, zy, dtype)
        full = {**attributes, "channels_last": last, "count_include_pad": count}
        inputs = [channels_last(x) if last else x, sx, zx, sy, zy]
        hanging = attributes["ceil_mode"] and count
        yield Case("QLinearAveragePool", inputs, full,
                   lambda y=channels_last(y) if last else y: [y],
                   decision="qlinearaveragepool-ceil" if hanging else
                   pool_decision(x.shape[2:], attributes, [1] * spatial),
                   witness=spelled_out(inputs, dtype, (2, 4)), **NEAR)


def average_pool_by_hand(rng):
    """Where decisions always make a difference: counts of the last window, gaps of SAME."""
    del rng
    x = numpy.arange(3, 24, 3, dtype=numpy.uint8).reshape(1, 1, 7)
    one, none = FLOAT(1).reshape(()), numpy.zeros((), numpy.uint8)
    parameters = [one, none, one, none]
    yield Case("QLinearAveragePool", [x[..., :6], *parameters], {"kernel_shape": [3], "strides": [3], "pads": [1, 0],
                                              "ceil_mode": 1, "count_include_pad": 1},
               lambda: [numpy.array([[[3, 12, 18]]], numpy.uint8)],
               decision="qlinearaveragepool-ceil")
    yield Case("QLinearAveragePool", [x, *parameters],
               {"kernel_shape": [1], "strides": [4], "auto_pad": "SAME_UPPER"},
               lambda: [numpy.array([[[3, 15]]], numpy.uint8)], decision="pool-same-gaps")


def qlinear_global_average_pool(rng):
    for index in range(30):
        dtype = BYTES[index % 2]
        last = int(rng.integers(0, 2))
        x = numbers(rng, (*rng.integers(1, 5, 2), *rng.integers(1, 7, rng.integers(1, 4))), dtype)
        sx, sy = scale(rng), scale(rng, (), 0.02, 0.1)
        zx, zy = zero(rng, dtype), zero(rng, dtype)
        axes = tuple(range(2, x.ndim))
        y = quantize(real(x, sx, zx).mean(axis=axes, keepdims=True), sy, zy, dtype)
        yield Case("QLinearGlobalAveragePool", [channels_last(x) if last else x, sx, zx, sy, zy],
                   {"channels_last": last} if last or rng.random() < 0.5 else {},
                   lambda y=channels_last(y) if last else y: [y], **NEAR)


def max_pool_by_hand(rng):
    del rng
    x = numpy.arange(1, 9, dtype=numpy.int8).reshape(1, 8, 1)  # SAME: 2 columns left over, 3 added
    for attributes, y, decision in [
            ({"kernel_shape": [1], "strides": [5]}, [1, 6], "pool-same-gaps"),
            ({"kernel_shape": [2], "dilations": [3]}, [3, 4, 5, 6, 7, 8, 6, 7], "pool-same-dilation")]:
        yield Case("NhwcMaxPool", [x], {**attributes, "auto_pad": "SAME_UPPER"}, decision=decision,
                   formula=lambda y=y: [numpy.array(y, numpy.int8).reshape(1, -1, 1)])


def nhwc_max_pool(rng):
    for index in range(40):
        dtype = BYTES[index % 2]
        spatial = int(rng.integers(1, 4))
        attributes, image = draw_window(rng, spatial)
        dilations = rng.integers(1, 3, spatial).tolist()
        image = image + [(k - 1) * (d - 1) for k, d in zip(attributes["kernel_shape"], dilations)]
        x = numbers(rng, (rng.integers(1, 3), rng.integers(1, 5), *image), dtype)
        y = pool(x, attributes, dilations, lambda values, padded: values.max(axis=0)).astype(dtype)
        yield Case("NhwcMaxPool", [channels_last(x)], {**attributes, "dilations": dilations},
                   lambda y=channels_last(y): [y],
                   decision=pool_decision(x.shape[2:], attributes, dilations))


# --- Products ---------------------------------------------------------------------------------


def per_column(rng, make, n):
    return make(rng) if rng.random() < 0.5 else make(rng, (n,))


def product_operands(rng, left, right):
    m, k, n = rng.integers(1, 12, 3)
    batch = tuple(rng.integers(1, 4, rng.integers(0, 3)))
    cut = int(rng.integers(0, len(batch) + 1))
    return numbers(rng, batch + (m, k), left), numbers(rng, batch[cut:] + (k, n), right), n


def in_each_matrix(parameter, b):
    """A parameter for the columns of B in the only form that onnxruntime knows for a stack."""
    if parameter is None or parameter.size == 1 or b.ndim < 3:
        return parameter
    return numpy.broadcast_to(parameter, (*b.shape[:-2], 1, b.shape[-1]))


def integer_sum(a, za, b, zb):
    left = a.astype(numpy.int64) - (0 if za is None else za.astype(numpy.int64))
    right = b.astype(numpy.int64) - (0 if zb is None else zb.astype(numpy.int64))
    return left @ right


def matmul_integer_to_float(rng):
    for index in range(60):
        left, right = BYTES[index % 2], BYTES[index // 2 % 2]
        a, b, n = product_operands(rng, left, right)
        dtype = FLOAT16 if index % 10 == 9 else FLOAT
        sa, sb = scale(rng).astype(dtype), per_column(rng, scale, n).astype(dtype)
        za = maybe(rng, zero(rng, left))
        zb = maybe(rng, zero(rng, right, sb.shape))
        bias = maybe(rng, reals(rng, n, dtype))

        def expected(a=a, b=b, sa=sa, sb=sb, za=za, zb=zb, bias=bias):
            y = integer_sum(a, za, b, zb) * (wide(sa) * wide(sb))
            return [y if bias is None else y + wide(bias)]

        yield Case("MatMulIntegerToFloat", [a, b, sa, sb, za, zb, bias], {}, expected, ulps=1,
                   witness=[a, b, sa, in_each_matrix(sb, b), za, in_each_matrix(zb, b), bias],
                   ort=dtype == FLOAT and (left, right) != (numpy.int8, numpy.uint8), rtol=1e-5,
                   atol=1e-5)
    for left in BYTES:  # a scale and a zero point for each column of A
        a, b, n = product_operands(rng, left, numpy.int8)
        k = a.shape[-1]
        sa, za, sb = scale(rng, k), zero(rng, left, k), scale(rng)
        yield Case("MatMulIntegerToFloat", [a, b, sa, sb, za], {}, ort=False,
                   formula=lambda a=a, b=b, sa=sa, za=za, sb=sb:
                       [real(a, sa, za) @ real(b, sb, None)])


def dynamic_quantized(a):
    """What DynamicQuantizeLinear makes of A, in float as its function body: values, scale."""
    low, high = min(FLOAT(0), a.min()), max(FLOAT(0), a.max())
    step = FLOAT(high - low) / FLOAT(255)
    if step == 0:
        return numpy.zeros(a.shape), 0.0
    origin = numpy.rint(numpy.clip((FLOAT(0) - low) / step, 0, 255))
    return numpy.clip(numpy.rint(a / step) + origin, 0, 255) - origin, DOUBLE(step)


def dynamic_quantize_matmul(rng):
    for index in range(40):
        right = BYTES[index % 2]
        a, b, n = product_operands(rng, numpy.uint8, right)
        a = reals(rng, a.shape)
        a = a + FLOAT(3) if index % 7 == 3 else a * FLOAT(0) if index % 7 == 5 else a
        sb = per_column(rng, scale, n)
        zb, bias = maybe(rng, zero(rng, right, sb.shape)), maybe(rng, reals(rng, n))

        def expected(a=a, b=b, sb=sb, zb=zb, bias=bias):
            values, step = dynamic_quantized(a)
            y = (values @ integer_sum(numpy.eye(b.shape[-2], dtype=numpy.int8), None, b, zb)
                 * (step * wide(sb)))
            return [y if bias is None else y + wide(bias)]

        yield Case("DynamicQuantizeMatMul", [a, b, sb, zb, bias], {}, expected,
                   witness=[a, b, in_each_matrix(sb, b), in_each_matrix(zb, b), bias],
                   rtol=1e-5, atol=1e-5)


def qgemm(rng):
    for index in range(60):
        left, right = [(numpy.uint8, numpy.uint8), (numpy.uint8, numpy.int8), (numpy.int8, numpy.int8),
                       (numpy.int8, numpy.uint8)][index % 4]
        m, k, n = rng.integers(1, 12, 3)
        a, b = numbers(rng, (m, k), left), numbers(rng, (k, n), right)
        ta, tb = int(rng.integers(0, 2)), int(rng.integers(0, 2))
        sa, sb, alpha = scale(rng), per_column(rng, scale, n), float(FLOAT(rng.uniform(0.2, 2)))
        za, zb = zero(rng, left), zero(rng, right, sb.shape)
        shape = [None, (m, n), (n,), (1, n), (m, 1), ()][rng.integers(0, 6)]
        c = None if shape is None else numpy.asarray(rng.integers(-4000, 4000, shape)).astype(
            numpy.int32)
        quantized = index % 3 != 0
        sy = scale(rng, (), 0.5, 3) if quantized else None
        zy = zero(rng, left) if quantized else None

        def expected(a=a, b=b, c=c, za=za, zb=zb, sa=sa, sb=sb, alpha=alpha, sy=sy, zy=zy):
            total = integer_sum(a, za, b, zb) + (0 if c is None else c.astype(numpy.int64))
            y = total * (alpha * (wide(sa) * wide(sb)))
            return [y if sy is None else quantize(y, sy, zy, zy.dtype)]

        yield Case("QGemm", [stored(a, 0, ta), sa, za, stored(b, 0, tb), sb, zb, c, sy, zy],
                   {"transA": ta, "transB": tb, "alpha": alpha}, expected,
                   ort=(left, right) != (numpy.int8, numpy.uint8), rtol=1e-5, atol=1e-4, **NEAR)


# --- MatMulNBits ------------------------------------------------------------------------------


def pack(values, bits):
    """Numbers of the last axis as a stream of bits, lowest first, filled up to whole bytes."""
    stream = (values[..., None] >> numpy.arange(bits)) & 1
    stream = stream.reshape(*values.shape[:-1], -1)
    fill = -stream.shape[-1] % 8
    stream = numpy.pad(stream, [(0, 0)] * (stream.ndim - 1) + [(0, fill)])
    return numpy.packbits(stream.astype(numpy.uint8), axis=-1, bitorder="little")


def matmul_nbits_case(rng, bits, dtype, form, groups, flat):
    block = int(rng.choice([16, 32, 64]))
    n, k = int(rng.integers(1, 20)), int(rng.integers(1, 150))
    blocks = -(-k // block)
    a = reals(rng, (*rng.integers(1, 4, rng.integers(0, 3)), k), dtype)
    weights = rng.integers(0, 2 ** bits, (n, blocks, block))
    scales = numpy.asarray(rng.uniform(0.05, 0.5, (n, blocks))).astype(dtype)
    zeros, real_zeros = None, numpy.full((n, blocks), 2.0 ** (bits - 1))
    if form == "packed":
        whole = rng.integers(0, 2 ** bits, (n, blocks))
        zeros, real_zeros = pack(whole, bits), whole.astype(DOUBLE)
    if form == "unpacked":
        zeros = reals(rng, (n, blocks), dtype) * dtype(2 ** (bits - 2))
        real_zeros = wide(zeros)
    index = None
    if groups:
        index = rng.integers(0, blocks, k if rng.random() < 0.5 else blocks * block).astype(
            numpy.int32)
    bias = maybe(rng, reals(rng, n, dtype))
    group = numpy.arange(k) // block if index is None else index[:k]

    def expected():
        w = (weights.reshape(n, -1)[:, :k] - real_zeros[:, group]) * wide(scales)[:, group]
        y = wide(a) @ w.T
        return [y if bias is None else y + wide(bias)]

    # What onnxruntime's CPU provider does not have, and where it goes wrong.
    no_kernel = dtype != FLOAT or bits not in (2, 4, 8) or (bits == 8 and (groups or form == "unpacked"))
    no_kernel = no_kernel or (bits == 2 and groups and form == "unpacked")
    wrong = groups and (bits == 2 or form == "packed")
    inputs = [a, pack(weights, bits), scales, zeros, index, bias]
    if flat:
        inputs[2:4] = [scales.reshape(-1), None if zeros is None else zeros.reshape(-1)]
    return Case("MatMulNBits", inputs, {"bits": bits, "block_size": block, "N": n, "K": k}, expected,
                ort=not no_kernel, decision="matmulnbits-groups" if wrong and not no_kernel else "",
                rtol=1e-4, atol=1e-3, ulps=1, constants=(1, 2, 3))


def matmul_nbits(rng):
    for bits in (2, 4, 8):
        for form in ("none", "packed", "unpacked"):
            for dtype in (FLOAT, FLOAT16, BFLOAT16):
                for groups in (0, 1):
                    yield matmul_nbits_case(rng, bits, dtype, form, groups, rng.random() < 0.3)
    for bits in (3, 5, 6, 7):
        yield matmul_nbits_case(rng, bits, FLOAT, "packed", 0, False)
    a, bias = reals(rng, (3, 32)), reals(rng, 5)
    empty = numpy.zeros((0, 2, 8), numpy.uint8)
    for addend in (None, bias):
        yield Case("MatMulNBits", [a, empty, numpy.zeros((0, 2), FLOAT), None, None, addend],
                   {"bits": 4, "block_size": 16, "N": 5, "K": 32}, constants=(1, 2),
                   formula=lambda b=addend: [numpy.zeros((3, 5)) + (0 if b is None else wide(b))])


CASES = {
    "QLinearAdd": qlinear_binary("QLinearAdd", numpy.add, (0.02, 0.2)),
    "QLinearMul": qlinear_binary("QLinearMul", numpy.multiply, (0.2, 1.0)),
    "QLinearLeakyRelu": qlinear_unary(
        "QLinearLeakyRelu", leaky,
        lambda rng: {} if rng.random() < 0.3 else {"alpha": float(FLOAT(rng.uniform(0, 1)))},
        (0.005, 0.1)),
    "QLinearSigmoid": qlinear_unary("QLinearSigmoid", lambda x, a: 1 / (1 + numpy.exp(-x)),
                                    lambda rng: {}, (0.002, 0.01)),
    "QLinearConcat": lambda rng: list(qlinear_concat(rng)),
    "QLinearSoftmax": lambda rng: list(qlinear_softmax(rng)),
    "QLinearAveragePool": lambda rng: [*qlinear_average_pool(rng), *average_pool_by_hand(rng)],
    "QLinearGlobalAveragePool": lambda rng: list(qlinear_global_average_pool(rng)),
    "NhwcMaxPool": lambda rng: [*nhwc_max_pool(rng), *max_pool_by_hand(rng)],
    "MatMulIntegerToFloat": lambda rng: list(matmul_integer_to_float(rng)),
    "DynamicQuantizeMatMul": lambda rng: list(dynamic_quantize_matmul(rng)),
    "QGemm": lambda rng: list(qgemm(rng)),
    "MatMulNBits": lambda rng: list(matmul_nbits(rng)),
}
