# SPDX-License-Identifier: Apache-2.0
"""Cases of ci/oracle_microsoft: what transformers are made of. The formulas are written from the
operators' definitions, in float64."""
import ml_dtypes
import numpy

from oracle_microsoft_case import Case

FLOAT, DOUBLE, FLOAT16, BFLOAT16 = (numpy.float32, numpy.float64, numpy.float16,
                                    ml_dtypes.bfloat16)
SMALL = (FLOAT, FLOAT16, BFLOAT16)
ALL = (FLOAT, DOUBLE, FLOAT16, BFLOAT16)
INF = numpy.inf


def reals(rng, shape, dtype=FLOAT, low=-2.0, high=2.0):
    return rng.uniform(low, high, shape).astype(dtype)


def wide(x):
    return numpy.asarray(x).astype(DOUBLE)


def number(rng, low, high):
    return int(rng.integers(low, high))


def chance(rng, share=0.5):
    return bool(rng.random() < share)


def ints(values):
    return numpy.asarray(values, numpy.int32)


def ulps(dtype):
    """Doubles summed in another order differ by more than a rounding."""
    return 64 if dtype == DOUBLE else 1


def plain(attributes):
    """Attributes without those that are left out."""
    return {k: v for k, v in attributes.items() if v is not None}


# --- Gelu ----------------------------------------------------------------------------------------


def erf(x):
    from math import erf as scalar
    return numpy.vectorize(scalar, otypes=[DOUBLE])(x)


def gelu(x):
    return 0.5 * x * (1 + erf(x / numpy.sqrt(2)))


def fast_gelu(x):
    return 0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x ** 3)))


def quick_gelu(x, alpha):
    return x / (1 + numpy.exp(-alpha * x))


def shape(rng, least=1):
    return tuple(rng.integers(0 if chance(rng, 0.1) else 1, 7, number(rng, least, 5)))


def gelus(op, function):
    def draw(rng):
        for dtype in ALL * 2:
            x = reals(rng, shape(rng, 0), dtype, -6, 6)
            yield Case(op, [x], formula=lambda x=x: [function(wide(x))], ort=dtype == FLOAT,
                       ulps=2 * ulps(dtype), atol=1e-5)
    return lambda rng: list(draw(rng))


def quick_gelus(rng):
    for dtype in ALL * 2:
        x = reals(rng, shape(rng, 0), dtype, -6, 6)
        alpha = None if chance(rng) else float(FLOAT(rng.uniform(-2, 2)))
        used = wide(FLOAT(1.702 if alpha is None else alpha))
        yield Case("QuickGelu", [x], plain({"alpha": alpha}),
                   lambda x=x, a=used: [quick_gelu(wide(x), a)], ort=dtype == FLOAT,
                   ulps=ulps(dtype), rtol=1e-4, atol=1e-5)


def bias_gelus(op, function, optional):
    def draw(rng):
        for dtype in ALL * 3:
            x = reals(rng, shape(rng), dtype, -4, 4)
            bias = None if optional and chance(rng, 0.3) else reals(rng, x.shape[-1:], dtype)
            y = wide(x) if bias is None else wide(x) + wide(bias)
            yield Case(op, [x, bias], formula=lambda y=y: [function(y)], ort=dtype == FLOAT,
                       ulps=2 * ulps(dtype), atol=1e-5)
    return lambda rng: list(draw(rng))


# --- Normalisation ---------------------------------------------------------------------------------


def normalise(x, scale, bias=None, epsilon=1e-12, axes=-1, center=True):
    """Result, mean and inverse deviation."""
    mean = x.mean(axes, keepdims=True) if center else 0.0
    inverse = 1 / numpy.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)
    y = (x - mean) * inverse * wide(scale)
    return y if bias is None else y + wide(bias), mean + 0 * inverse, inverse


def simplified(rng):
    for domain in ("", "com.microsoft"):
        for dtype in ALL * 2:
            scale_type = ALL[number(rng, 0, 4)] if chance(rng, 0.3) else dtype
            x = reals(rng, rng.integers(1, 6, number(rng, 1, 5)), dtype)
            axis = number(rng, -x.ndim, x.ndim)
            scale = reals(rng, x.shape[axis:], scale_type)
            epsilon = None if chance(rng) else 0.25
            stash = None if chance(rng) else [1, 11][number(rng, 0, 2)]
            axes = tuple(range(axis % x.ndim, x.ndim))

            def expected(x=x, scale=scale, axes=axes, epsilon=epsilon):
                value = wide(FLOAT(1e-5 if epsilon is None else epsilon))
                y, _, inverse = normalise(wide(x), scale, None, value, axes, center=False)
                return [y, inverse]

            yield Case("SimplifiedLayerNormalization", [x, scale],
                       plain({"axis": axis, "epsilon": epsilon, "stash_type": stash}), expected,
                       outputs=[1, 1], domain=domain, ulps=ulps(scale_type) * 2,
                       ort=not domain and scale_type == dtype != BFLOAT16 and stash != 11,
                       rtol=2e-3 if dtype == FLOAT16 else 1e-5,
                       atol=2e-3 if dtype == FLOAT16 else 1e-5)


def skip_norms(op, center):
    def draw(rng):
        for index in range(18):
            dtype = SMALL[index % 3]
            batch, length, size = (number(rng, 1, 6) for _ in range(3))
            rank = number(rng, 2, 4)
            x = reals(rng, (batch, length, size)[3 - rank:], dtype)
            skips = [x.shape] if rank == 2 else [x.shape, (1, length, size), (length, size)]
            skip = reals(rng, skips[number(rng, 0, len(skips))], dtype)
            gamma = reals(rng, size, dtype)
            beta = reals(rng, size, dtype) if center and chance(rng, 0.7) else None
            bias = reals(rng, size, dtype) if chance(rng) else None
            epsilon = None if size > 1 and chance(rng) else 0.125
            wanted = [1, *(1 if chance(rng, 0.7) else "" for _ in range(3))]

            def expected(x=x, skip=skip, gamma=gamma, beta=beta, bias=bias, epsilon=epsilon):
                total = wide(x) + wide(skip) + (0 if bias is None else wide(bias))
                value = wide(FLOAT(1e-12 if epsilon is None else epsilon))
                y, mean, inverse = normalise(total, gamma, beta, value, -1, center)
                return [y, mean, inverse, total]

            inputs = [x, skip, gamma, beta, bias] if center else [x, skip, gamma, bias]
            loose = 1e-4 if dtype == FLOAT else 2e-2
            yield Case(op, inputs, plain({"epsilon": epsilon}), expected, outputs=wanted,
                       ulps=2, ort=dtype != BFLOAT16,
                       rtol=loose, atol=loose)
    return lambda rng: list(draw(rng))


def embed_norm(rng):
    for index in range(24):
        dtype = (FLOAT, FLOAT16)[index % 2]
        batch, length, size = (number(rng, 1, 6) for _ in range(3))
        size += 1
        ids = rng.integers(0, 9, (batch, length)).astype(numpy.int32)
        words, places = reals(rng, (9, size), dtype), reals(rng, (8, size), dtype)
        segments = reals(rng, (2, size), dtype) if chance(rng) else None
        kinds = None if segments is None else rng.integers(0, 2, (batch, length)).astype(numpy.int32)
        gamma, beta = reals(rng, size, dtype), reals(rng, size, dtype)
        ends = rng.integers(0, length + 1, (batch, 1))
        mask = ints(numpy.arange(length) < ends) if chance(rng) else None
        at = None
        if chance(rng):
            at = rng.integers(0, 8, ([1, batch][number(rng, 0, 2)], length)).astype(numpy.int32)
        epsilon = None if chance(rng) else 0.25

        def expected(ids=ids, words=words, places=places, segments=segments, kinds=kinds,
                     gamma=gamma, beta=beta, mask=mask, at=at, epsilon=epsilon):
            total = wide(words)[ids] + wide(places)[numpy.arange(ids.shape[1]) if at is None else at]
            if segments is not None:
                total = total + wide(segments)[kinds]
            value = wide(FLOAT(1e-12 if epsilon is None else epsilon))
            count = numpy.zeros(len(ids), numpy.int32) if mask is None else ints(mask.sum(1))
            return [normalise(total, gamma, beta, value)[0], count, total]

        yield Case("EmbedLayerNormalization",
                   [ids, kinds, words, places, segments, gamma, beta, mask, at],
                   plain({"epsilon": epsilon, "mask_index_type": None if mask is None else 1}),
                   expected, outputs=[1, 1, 1], ulps=2, ort=dtype == FLOAT, rtol=1e-4, atol=1e-4)


# --- Rotary embedding ---------------------------------------------------------------------------------


def rotate(x, cosine, sine, interleaved):
    """x [..., length, size]; cosine and sine broadcast to [..., length, pairs]."""
    half, y = cosine.shape[-1], x.copy()
    first, second = ((slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else
                     (slice(0, half), slice(half, 2 * half)))
    u, v = x[..., first], x[..., second]
    y[..., first], y[..., second] = u * cosine - v * sine, v * cosine + u * sine
    return y


def by_heads(x, heads):
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    batch, length, hidden = x.shape
    return x.reshape(batch, length, heads, hidden // heads).transpose(0, 2, 1, 3)


def by_tokens(x):
    batch, heads, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)


def angles(rng, rows, half, dtype):
    turn = rng.uniform(-3, 3, (rows, half))
    return numpy.cos(turn).astype(dtype), numpy.sin(turn).astype(dtype)


def rotary(rng):
    for index in range(36):
        dtype = SMALL[index % 3]
        batch, heads, length, pairs = (number(rng, 1, 5) for _ in range(4))
        size = 2 * pairs
        turned = 2 * number(rng, 1, pairs + 1) if chance(rng) else None
        half = pairs if turned is None else turned // 2
        cosine, sine = angles(rng, 12, half, dtype)
        at = (rng.integers(0, 12, (batch, length)) if chance(rng) else
              rng.integers(0, 12 - length, 1)).astype(numpy.int64)
        x = reals(rng, (batch, heads, length, size), dtype)
        flat = chance(rng)
        interleaved = number(rng, 0, 2)
        given = heads if (turned is not None or chance(rng)) else None
        attributes = {"interleaved": interleaved, "rotary_embedding_dim": turned,
                      "num_heads": given, "scale": 2.0 if chance(rng, 0.2) else None,
                      "is_packed_batching": 1 if chance(rng, 0.2) else None}
        places = at if at.ndim == 2 else at + numpy.arange(length)[None] + numpy.zeros((batch, 1), int)

        def expected(x=x, cosine=cosine, sine=sine, places=places, interleaved=interleaved,
                     flat=flat):
            y = rotate(wide(x), wide(cosine)[places][:, None], wide(sine)[places][:, None],
                       interleaved)
            return [by_tokens(y) if flat else y]

        yield Case("RotaryEmbedding", [by_tokens(x) if flat else x, at, cosine, sine],
                   plain(attributes), expected, ulps=1,
                   ort=dtype != BFLOAT16, rtol=2e-3 if dtype == FLOAT16 else 1e-5,
                   atol=2e-3 if dtype == FLOAT16 else 1e-5)


# --- Attention --------------------------------------------------------------------------------------------


def softmax(scores, sink=None):
    """Rows without any score are zero."""
    high = scores.max(-1, keepdims=True, initial=-INF)
    if sink is not None:
        high = numpy.maximum(high, sink)
    e = numpy.exp(scores - numpy.where(numpy.isfinite(high), high, 0))
    total = e.sum(-1, keepdims=True) + (0 if sink is None else numpy.exp(sink - high))
    return e / numpy.where(total == 0, 1, total)


def attend(q, k, v, scale, add=0.0):
    """All [batch, heads, positions, size]; result and scores before softmax."""
    scores = scale * (q @ k.transpose(0, 1, 3, 2)) + add
    return softmax(scores) @ v, scores


def draw_mask(rng, forms, batch, queries, past, fresh, filter_value):
    """A mask and what it adds to scores, [batch, 1, queries or 1, past + fresh]."""
    total, form = past + fresh, forms[number(rng, 0, len(forms))]
    keys = numpy.arange(total)
    if form == "none":
        return None, numpy.zeros((batch, 1, 1, total))
    if form in ("lengths", "packed", "ranges"):
        ends = rng.integers(1, total + 1, batch)
        starts = rng.integers(0, ends)
        keep = keys < ends[:, None]
        if form == "ranges":
            keep &= keys >= starts[:, None]
        tail = {"lengths": [], "ranges": starts, "packed": numpy.arange(2 * batch + 2)}[form]
        mask, keep = ints([*ends, *tail]), keep[:, None, None]
    elif form == "keys":
        keep = rng.random((batch, total)) < 0.7
        mask, keep = ints(keep), keep[:, None, None]
    elif form == "new keys":
        keep = rng.random((batch, fresh)) < 0.7
        mask = ints(keep)
        keep = numpy.concatenate([numpy.ones((batch, past), bool), keep], 1)[:, None, None]
    elif form == "uniform":
        mask = ints(rng.integers(0, 2, (batch, 1)))
        keep = (mask > 0)[:, None, None]
    elif form == "scores":
        keep = rng.random((batch, queries, total)) < 0.7
        mask, keep = ints(keep), keep[:, None]
    else:  # square
        most = total + number(rng, 0, 3)
        mask = ints(rng.random((batch, 1, most, most)) < 0.7)
        keep = mask[:, :, past:past + queries, :total] > 0
    return mask, numpy.where(keep, 0.0, filter_value) + numpy.zeros((batch, 1, 1, total))


def causal(queries, past, total):
    return numpy.where(numpy.arange(total) <= past + numpy.arange(queries)[:, None], 0.0, -INF)


def draw_score_bias(rng, batch, heads, queries, total, dtype):
    if chance(rng, 0.6):
        return None
    leading = [[1, batch][number(rng, 0, 2)], [1, heads][number(rng, 0, 2)]]
    return reals(rng, (*leading, queries, total), dtype)


def add_of(*parts):
    return sum(wide(part) for part in parts if part is not None)


def attention(rng):
    for index in range(120):
        dtype = SMALL[index % 3] if index % 4 == 0 else FLOAT
        batch, length, heads, size = (number(rng, 1, 5) for _ in range(4))
        rotary_on = chance(rng, 0.15)
        turned = None
        if rotary_on:
            size = [size * 2, 32, 40][number(rng, 0, 3)]
            turned = 32 if size > 32 else None
        has_past, width = chance(rng), number(rng, 1, 8)
        v_size = size if has_past or chance(rng) else number(rng, 1, 6)
        columns = heads * (2 * size + v_size)
        x, w = reals(rng, (batch, length, width), dtype), reals(rng, (width, columns), dtype, -1, 1)
        bias = reals(rng, columns, dtype) if chance(rng, 0.8) else None
        past = number(rng, 0, 4) if has_past else 0
        share = has_past and chance(rng, 0.3)
        room = past + length + (number(rng, 0, 3) if share else 0)
        cache = reals(rng, (2, batch, heads, room if share else past, size), dtype) if has_past else None
        value = -10000.0 if chance(rng, 0.7) else -3.0
        is_causal = number(rng, 0, 2)
        forms = ["none", "lengths", "packed", "ranges", "keys", "uniform", "scores"]
        if not is_causal:
            forms.append("square")
        mask, add = draw_mask(rng, forms, batch, length, past, length, value)
        score_bias = draw_score_bias(rng, batch, heads, length, past + length, dtype)
        scale = None if chance(rng) else float(FLOAT(rng.uniform(0.1, 1)))
        want = v_size == size
        attributes = {"num_heads": heads, "unidirectional": is_causal, "scale": scale,
                      "mask_filter_value": None if value == -10000.0 else value,
                      "qkv_hidden_sizes": None if v_size == size and chance(rng) else
                      [heads * size, heads * size, heads * v_size],
                      "past_present_share_buffer": 1 if share else None,
                      "do_rotary": 1 if rotary_on else None, "rotary_embedding_dim": turned}

        def expected(x=x, w=w, bias=bias, cache=cache, past=past, share=share, add=add, room=room,
                     score_bias=score_bias, is_causal=is_causal, scale=scale, heads=heads, size=size,
                     rotary_on=rotary_on, turned=turned, length=length, v_size=v_size):
            qkv = wide(x) @ wide(w) + (0 if bias is None else wide(bias))
            hidden = heads * size
            q, k, v = (by_heads(part, heads) for part in
                       (qkv[..., :hidden], qkv[..., hidden:2 * hidden], qkv[..., 2 * hidden:]))
            if rotary_on:
                half = (turned or size) // 2
                turn = (past + numpy.arange(length))[:, None] * 10000.0 ** (-numpy.arange(half) / half)
                q, k = (rotate(part, numpy.cos(turn), numpy.sin(turn), False) for part in (q, k))
            old = None if cache is None else wide(cache)
            if cache is not None:
                k = numpy.concatenate([old[0][:, :, :past], k], 2)
                v = numpy.concatenate([old[1][:, :, :past], v], 2)
            extra = add_of(add, score_bias, causal(length, past, past + length) if is_causal else None)
            y, _ = attend(q, k, v, size ** -0.5 if scale is None else scale, extra)
            if v_size != size:
                return [by_tokens(y)]
            present = numpy.stack([k, v])
            if share:
                present = numpy.concatenate([present, old[:, :, :, past + length:]], 3)
            return [by_tokens(y), present]

        known = (dtype == FLOAT and bias is not None and not rotary_on and not share
                 and (mask is None or mask.ndim != 4)
                 and not (has_past and score_bias is not None))
        yield Case("Attention",
                   [x, w, bias, mask, cache, score_bias, ints(past) if share else None],
                   plain(attributes), expected, outputs=[1, 1] if want else [1],
                   constants=(6,) if share else (), ulps=3, ort=known, rtol=5e-3, atol=5e-3)


def multi_head(rng):
    for index in range(160):
        dtype = SMALL[index % 3] if index % 4 == 0 else FLOAT
        batch, queries, fresh, heads, size = (number(rng, 1, 5) for _ in range(5))
        form = ["apart", "apart", "packed kv", "packed qkv", "cached"][number(rng, 0, 5)]
        v_size = size if "packed" in form or chance(rng, 0.7) else number(rng, 1, 6)
        if form == "packed qkv":
            fresh = queries
        q, k, v = (reals(rng, (batch, heads, n, d), dtype) for n, d in
                   ((queries, size), (fresh, size), (fresh, v_size)))
        bias = reals(rng, heads * (2 * size + v_size), dtype) if chance(rng) else None
        has_past = form != "cached" and chance(rng)
        past = number(rng, 0, 4) if has_past else 0
        share = has_past and chance(rng, 0.4)
        total = past + fresh
        room = total + (number(rng, 0, 3) if share else 0)
        caches = [reals(rng, (batch, heads, room if share else past, d), dtype) if has_past else None
                  for d in (size, v_size)]
        beams = None
        if share and chance(rng):
            width = [d for d in range(1, batch + 1) if batch % d == 0][-1 if chance(rng) else 0]
            beams = rng.integers(0, width, (batch // width, width, room)).astype(numpy.int32)
        value = -10000.0 if chance(rng, 0.7) else -3.0
        mask, add = draw_mask(rng, ["none", "none", "lengths", "packed", "keys", "new keys", "scores"],
                              batch, queries, past, fresh, value)
        score_bias = draw_score_bias(rng, batch, heads, queries, total, dtype)
        is_causal = number(rng, 0, 2)
        scale = None if chance(rng) else float(FLOAT(rng.uniform(0.1, 1)))
        attributes = {"num_heads": heads, "unidirectional": is_causal, "scale": scale,
                      "mask_filter_value": None if value == -10000.0 else value}
        show = not is_causal and chance(rng, 0.4)

        def expected(q=q, k=k, v=v, bias=bias, caches=caches, past=past, room=room, beams=beams,
                     add=add, score_bias=score_bias, is_causal=is_causal, scale=scale, form=form,
                     heads=heads, size=size, total=total, queries=queries):
            q, k, v = wide(q), wide(k), wide(v)
            if bias is not None:
                parts = numpy.split(wide(bias), [heads * size, 2 * heads * size])
                parts = [part.reshape(heads, 1, -1) for part in parts]
                q = q + parts[0]
                if form != "cached":
                    k, v = k + parts[1], v + parts[2]
            presents = [k, v]
            if caches[0] is not None:
                olds = [wide(cache) for cache in caches]
                presents = [numpy.concatenate([old[:, :, :past], new], 2)
                            for old, new in zip(olds, (k, v))]
                k, v = presents
                presents = [numpy.concatenate([new, old[:, :, total:]], 2) if old.shape[2] == room
                            and room > past else new for old, new in zip(olds, presents)]
                if beams is not None:
                    width = beams.shape[1]
                    for joined, old, which in ((k, olds[0], 0), (v, olds[1], 1)):
                        joined = joined.copy()
                        for b in range(len(q)):
                            for j in range(past):
                                source = b // width * width + beams[b // width, b % width, j]
                                joined[b, :, j] = old[source, :, j]
                        k, v = (joined, v) if which == 0 else (k, joined)
            extra = add_of(add, score_bias, causal(queries, past, total) if is_causal else None)
            y, scores = attend(q, k, v, size ** -0.5 if scale is None else scale, extra)
            return [by_tokens(y), *presents, scores]

        inputs = [by_tokens(q), by_tokens(k), by_tokens(v)]
        if form == "cached":
            inputs = [by_tokens(q), k, v]
        elif form == "packed kv":
            inputs = [by_tokens(q), numpy.stack([k, v]).transpose(1, 3, 2, 0, 4), None]
        elif form == "packed qkv":
            inputs = [numpy.stack([q, k, v]).transpose(1, 3, 2, 0, 4), None, None]
        names = [1, 1, 1, 1] if show else [1, 1, 1]
        if not share and chance(rng, 0.3):
            names = [1]
        decision = ""
        if is_causal and 1 < queries < total - past or is_causal and queries == 1 < fresh:
            decision = "multiheadattention-causal"
        if has_past and past and len(names) == 1:
            decision = "attention-past-alone"
        known = (dtype == FLOAT and "packed" not in form and not show
                 and (v_size == size or form == "apart" and not has_past)
                 and not (mask is not None and mask.shape[-1] == fresh != total)
                 and not (share and fresh != 1) and not (share and queries != 1))
        yield Case("MultiHeadAttention",
                   [*inputs, bias, mask, score_bias, *caches, ints([past]) if share else None, beams],
                   plain(attributes), expected, outputs=names, constants=(8,) if share else (),
                   ulps=3, ort=known, rtol=5e-3, atol=5e-3,
                   decision=decision if known else "", note=form)


# --- GroupQueryAttention ------------------------------------------------------------------------------------


def group_attend(q, k, v, positions, keys, scale, window=0, is_causal=True, softcap=0.0, bias=None,
                 sink=None):
    """One row of a batch. q [heads, Q, size], k and v [kv_heads, K, size], positions of both.
    Result, scores before softmax, softmax; what is not attended to is 0 in both."""
    groups = len(q) // len(k)
    k, v = numpy.repeat(k, groups, 0), numpy.repeat(v, groups, 0)
    scores = scale * (q @ k.transpose(0, 2, 1))
    if softcap:
        scores = softcap * numpy.tanh(scores / softcap)
    behind = positions[:, None] - keys
    sees = numpy.ones(behind.shape, bool)
    if is_causal:
        sees &= behind >= 0
    if window > 0:
        sees &= behind < window
    if bias is not None:
        scores = scores + bias
    share = softmax(numpy.where(sees, scores, -INF), None if sink is None else sink[:, None, None])
    return share @ v, numpy.where(sees, scores, 0), share


def code(x, scale, kind):
    """What a quantised cache holds, as numbers before packing."""
    if kind == "float8":
        return numpy.clip(x / scale, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    low, high = (-128, 127) if kind == "int8" else (-8, 7)
    return numpy.clip(numpy.rint(x / scale), low, high)


def pack(codes):
    return ((codes[..., ::2] + 8).astype(int) | (codes[..., 1::2] + 8).astype(int) << 4).astype(numpy.uint8)


def unpack(packed):
    return numpy.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1).astype(DOUBLE) - 8


def rms(x, weight, epsilon):
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * wide(weight)


def resident(total, capacity, window):
    step = capacity - window + 1
    return total if total <= capacity else total - step * -(-(total - capacity) // step)


def group_case(rng, mode, dtype):
    """A case of one of the modes: prompt, ragged (a prompt with padding), decode, chunk, empty (no
    new keys), padded (with query_seqlens), window (a windowed cache)."""
    kv_heads = number(rng, 1, 4)
    heads = kv_heads * number(rng, 1, 4)
    half = 8 * number(rng, 1, 3)
    size = [16, 32, 48][number(rng, -(-half // 8) - 1, 3)]
    batch = 1 if mode in ("chunk", "window", "empty") else number(rng, 1, 4)
    length = 1 if mode == "decode" else number(rng, 1, 5)
    is_causal = 1 if mode in ("padded", "window") or chance(rng, 0.8) else 0
    window = number(rng, 1, 5) if is_causal and (mode == "window" or chance(rng, 0.3)) else -1
    # Tokens after the step, tokens of the step, by row.
    fresh = 0 if mode == "empty" else length
    if mode in ("prompt", "ragged"):
        totals = numpy.full(batch, length)
    else:
        totals = length + rng.integers(0 if mode == "window" else 1, 9, batch)
    tokens = numpy.full(batch, length)
    if mode == "padded":
        tokens = rng.integers(1, length + 1, batch)
    limit = int(totals.max())
    if mode == "ragged":
        totals = tokens = rng.integers(1, length + 1, batch)
    firsts = totals - tokens
    prompt = mode in ("prompt", "ragged")
    quantised = not prompt and chance(rng, 0.35)
    kind = ["int8", "int4", "float8"][number(rng, 0, 3)] if quantised else "plain"
    per_channel = [chance(rng), chance(rng)]
    if prompt:
        held = None
    elif mode == "window":
        held = window + number(rng, 0, 4)
    elif mode == "padded":
        held = limit + length
    else:
        held = limit + number(rng, 0, 3) if chance(rng) else int((totals - fresh).max())
        if mode == "empty":
            held = limit
    room = max(limit, held or 0) if mode != "window" else held
    q = reals(rng, (batch, heads, length, size), dtype)
    k, v = (reals(rng, (batch, kv_heads, fresh, size), dtype) for _ in range(2))
    # The past, by position, of which a cache shows a part.
    scales, pasts, caches = [None, None], [None, None], [None, None]
    for side in range(2):
        if held is None:
            continue
        count = limit + 1
        if quantised:
            wanted = (1, kv_heads, 1, size) if per_channel[side] else (1,)
            scales[side] = reals(rng, wanted, FLOAT, 0.02, 0.05) * (8 if kind == "int4" else 1)
        numbers = reals(rng, (batch, kv_heads, count, size), dtype)
        if quantised:
            codes = code(wide(numbers), wide(scales[side]), kind)
            pasts[side] = wide(codes) * wide(scales[side])
            stored = {"int8": lambda c: c.astype(numpy.int8), "int4": pack,
                      "float8": lambda c: c}[kind](codes)
        else:
            pasts[side], stored = wide(numbers), numbers
        cache = rng.integers(0, 9, (batch, kv_heads, held, stored.shape[-1])).astype(stored.dtype)
        for b in range(batch):
            cached = totals[b] if fresh == 0 else firsts[b]
            n = resident(cached, held, window) if mode == "window" else cached
            cache[b, :, :n] = stored[b, :, cached - n:cached]
        caches[side] = cache
    do_rotary = chance(rng)
    cosine, sine = angles(rng, max(room, limit) + 16, half, dtype)
    at = None
    if do_rotary and chance(rng, 0.4):
        at = rng.integers(0, len(cosine) - length, (batch, length)).astype(numpy.int64)
    interleaved = number(rng, 0, 2)
    bias = draw_score_bias(rng, batch, heads, length, limit, dtype)
    sink = reals(rng, heads, dtype) if chance(rng, 0.25) else None
    smooth = chance(rng, 0.25)
    softcap = 1.5 if chance(rng, 0.3) else 0.0
    scale = None if chance(rng) else float(FLOAT(rng.uniform(0.1, 1)))
    norms = [reals(rng, size, dtype) for _ in range(2)] if chance(rng, 0.15) else [None, None]
    epsilons = {"qk_norm_epsilon": 0.5, "k_norm_epsilon": 0.25} if chance(rng) else {}
    show = number(rng, 0, 3)
    packed = fresh == length and chance(rng, 0.3)

    def expected():
        y = numpy.zeros((batch, heads, length, size))
        shown = numpy.zeros((batch, heads, length, limit))
        presents = [numpy.zeros((batch, kv_heads, room, size)) for _ in range(2)]
        for b in range(batch):
            places = firsts[b] + numpy.arange(tokens[b])
            turns = places
            if at is not None:
                turns = at[b, :tokens[b]]
                if length == limit and mode != "padded":
                    turns = at[0, 0] + numpy.arange(tokens[b])
            part = [wide(q[b, :, :tokens[b]]), wide(k[b, :, :tokens[b]]), wide(v[b, :, :tokens[b]])]
            for side in range(2):
                if norms[side] is not None:
                    name = "qk_norm_epsilon" if side == 0 else "k_norm_epsilon"
                    part[side] = rms(part[side], norms[side], wide(FLOAT(epsilons.get(name, 1e-6))))
                if do_rotary and part[side].shape[1]:
                    part[side] = rotate(part[side], wide(cosine)[turns], wide(sine)[turns], interleaved)
            joined = []
            for side in range(2):
                new = part[1 + side]
                if quantised:
                    s = wide(scales[side])
                    s = s[0] if s.ndim == 4 else s
                    new = wide(code(new, s, kind)) * s
                cached = totals[b] if fresh == 0 else firsts[b]
                old = new[:, :0] if held is None else pasts[side][b, :, :cached]
                joined.append(numpy.concatenate([old, new], 1))
                n = resident(totals[b], held, window) if mode == "window" else totals[b]
                presents[side][b, :, :n] = joined[side][:, totals[b] - n:]
            keys = numpy.arange(totals[b])
            extra = None
            if bias is not None:
                extra = wide(bias)[b % len(bias), :, :tokens[b], :totals[b]]
            drop = wide(sink) if sink is not None else numpy.zeros(heads) if smooth else None
            result, scores, share = group_attend(
                part[0], *joined, places, keys, size ** -0.5 if scale is None else scale,
                window, is_causal, softcap, extra, drop)
            y[b, :, :tokens[b]] = result
            shown[b, :, :tokens[b], :totals[b]] = scores if show == 1 else share
        if quantised:
            for side in range(2):
                codes = code(presents[side], wide(scales[side]), kind)
                presents[side] = (pack(codes) if kind == "int4" else
                                  codes.astype(numpy.int8) if kind == "int8" else codes)
                for b in range(batch):  # rows that hold nothing are zero bytes
                    n = resident(totals[b], held, window) if mode == "window" else totals[b]
                    presents[side][b, :, n:] = 0
        return [by_tokens(y), *presents, shown]

    def unspecified():
        rows = numpy.arange(length) >= tokens[:, None]
        lengths = [resident(t, held, window) if mode == "window" else t for t in totals]
        beyond = numpy.arange(room) >= ints(lengths)[:, None]
        columns = numpy.arange(limit) >= totals[:, None]
        return [rows[:, :, None], *(beyond[:, None, :, None],) * 2,
                rows[:, None, :, None] | columns[:, None, None, :]]

    query = by_tokens(q)
    inputs = [query, by_tokens(k), by_tokens(v)]
    if packed:
        inputs = [numpy.concatenate(inputs, 2), None, None]
    elif fresh == 0:
        inputs = [query, *(numpy.zeros((batch, 0, kv_heads * size), dtype),) * 2]
    kinds = ["PER_CHANNEL" if c else "PER_TENSOR" for c in per_channel]
    attributes = {
        "num_heads": heads, "kv_num_heads": kv_heads, "scale": scale, "softcap": softcap or None,
        "do_rotary": int(do_rotary), "rotary_interleaved": interleaved, "causal": is_causal,
        "local_window_size": window, "smooth_softmax": 1 if smooth else None,
        "qk_output": show or None, "sliding_window_cache": 1 if mode == "window" else None,
        "k_quant_type": kinds[0] if quantised else None,
        "v_quant_type": kinds[1] if quantised else None,
        "kv_cache_bit_width": {"int8": 8, "int4": 4, "float8": 8}[kind] if quantised else None,
        **(epsilons if norms[0] is not None else {})}
    # The pairs are given where they are used, or now and then in vain.
    tables = [cosine, sine] if do_rotary or chance(rng, 0.1) else [None, None]
    growing = held is not None and mode != "window" and held < limit
    known = (dtype in (FLOAT, FLOAT16) and norms[0] is None and kind != "float8"
             and not (quantised and per_channel[0] != per_channel[1])
             and not (kind == "int4" and mode == "window" and size % 32 != 0)
             and not (growing and mode in ("decode", "chunk") and held != limit - length)
             and not (show and mode == "window"))
    loose = 5e-3 if dtype == FLOAT else 2e-2
    wanted = [1, 1, 1, 1] if show else [1, 1, 1]
    alone = known and not quantised and mode in ("chunk", "decode", "empty") and not show and chance(rng, 0.3)
    if alone:
        wanted = [1]
    return Case("GroupQueryAttention",
                [*inputs, *caches, ints(totals - 1), ints([limit]), *tables, at, bias, sink, *scales,
                 *norms, ints(tokens) if mode == "padded" else None],
                plain(attributes), expected, outputs=wanted,
                decision="attention-past-alone" if alone else "", constants=(6,), ulps=3, ort=known, rtol=loose, atol=loose,
                steps=255 if kind == "int4" else 1, share=0.02, unspecified=unspecified, note=f"{mode} {kind}")


def group_query(rng):
    for index in range(280):
        mode = ["prompt", "ragged", "decode", "chunk", "empty", "padded", "window"][index % 7]
        dtype = SMALL[index // 7 % 3] if index % 4 == 0 else FLOAT
        yield group_case(rng, mode, dtype)


CASES = {
    "Gelu": gelus("Gelu", gelu),
    "QuickGelu": lambda rng: list(quick_gelus(rng)),
    "FastGelu": bias_gelus("FastGelu", fast_gelu, True),
    "BiasGelu": bias_gelus("BiasGelu", gelu, False),
    "SimplifiedLayerNormalization": lambda rng: list(simplified(rng)),
    "SkipLayerNormalization": skip_norms("SkipLayerNormalization", True),
    "SkipSimplifiedLayerNormalization": skip_norms("SkipSimplifiedLayerNormalization", False),
    "EmbedLayerNormalization": lambda rng: list(embed_norm(rng)),
    "RotaryEmbedding": lambda rng: list(rotary(rng)),
    "Attention": lambda rng: list(attention(rng)),
    "MultiHeadAttention": lambda rng: list(multi_head(rng)),
    "GroupQueryAttention": lambda rng: list(group_query(rng)),
}
