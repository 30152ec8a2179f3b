"""The shipped kernels that docs/gallery.md shows: calls that are predicted, and calls that are timed beside JAX."""

import dataclasses
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

f32, bf16, i8, i32 = jnp.float32, jnp.bfloat16, jnp.int8, jnp.int32
SCALE = 128**-0.5


@dataclasses.dataclass
class Race:
    """The same work by Kiln and by what XLA makes of the plain text, on one core."""

    sizes: str
    run: Callable[[Callable], Callable[[], Any]]  # from `load(spec, **params)` to a call of the shipped kernels
    plain: Callable[[], Any]


@dataclasses.dataclass
class Entry:
    what: str
    sizes: str  # in words, of the call that is predicted
    call: dict[str, Any]  # dimensions, scalars, and the arrays that index maps read
    params: dict[str, Any]  # blocks for a TPU
    race: Callable[[], Race]


def normal(seed, *shape, dtype=f32):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape, np.float32)).astype(dtype)


def pairs(pages, *dims, seed=3):
    """A pool's pages in no order, a row of them a sequence."""
    return np.random.default_rng(seed).permutation(pages).reshape(dims).astype(np.int32)


# ---- attention with gradients

HEADS = dict(hq=32, hk=8, m=4096, n=4096, d=128, scale=SCALE)


def attention_arrays(n=2048):
    return [normal(1, 8, n, 128), normal(2, 2, n, 128), normal(3, 2, n, 128), normal(4, 8, n, 128)]


def plain_attention(q, k, v, seen):
    k, v = (jnp.repeat(x, q.shape[0] // k.shape[0], axis=0) for x in (k, v))
    s = jnp.where(seen, jnp.einsum("hmd,hnd->hmn", q, k) * SCALE, -jnp.inf)
    return jnp.einsum("hmn,hnd->hmd", jax.nn.softmax(s, axis=-1), v)


def attention_race():
    q, k, v, _ = attention_arrays()
    seen = jnp.tri(q.shape[1], dtype=bool)

    def run(load):
        forward = load("attention", T="f32")
        return lambda: forward(SCALE, q, k, v)

    f = jax.jit(plain_attention)
    return Race("8 heads on 2, 2048 x 128, f32", run, lambda: f(q, k, v, seen))


def gradients_race():
    q, k, v, d_o = attention_arrays()
    seen = jnp.tri(q.shape[1], dtype=bool)

    def run(load):
        forward, dq = load("attention", T="f32", keep=True), load("attention_dq", T="f32")
        dkv = load("attention_dkv", T="f32")

        def call():
            o, lse = forward(SCALE, q, k, v)
            return dq(SCALE, q, k, v, o, lse, d_o), *dkv(SCALE, q, k, v, o, lse, d_o)

        return call

    @jax.jit
    def f(q, k, v, d_o):
        return jax.vjp(lambda q, k, v: plain_attention(q, k, v, seen), q, k, v)[1](d_o)

    return Race("forward and backward, 8 heads on 2, 2048 x 128, f32", run, lambda: f(q, k, v, d_o))


# ---- splash attention


def window(n, before):
    return np.tri(n, dtype=bool) & ~np.tri(n, k=-before, dtype=bool)


def lists_of(mask, bq, bk):
    """What Pallas' splash attention makes of a mask: a list of blocks for each block of queries, for all heads."""
    tiles = mask.shape[0] // bq
    blocks = mask.reshape(tiles, bq, -1, bk).swapaxes(1, 2)
    used, full = blocks.any((2, 3)), blocks.all((2, 3))
    kinds = {}
    data, kind, number = (np.zeros((1, tiles, used.sum(1).max()), np.int32) for _ in range(3))
    for i in range(tiles):
        for w, j in enumerate(np.flatnonzero(used[i])):
            data[0, i, w], kind[0, i, w] = j, 1 + full[i, j]
            if not full[i, j]:
                number[0, i, w] = kinds.setdefault(blocks[i, j].tobytes(), len(kinds))
    masks = np.stack([np.frombuffer(k, bool).reshape(bq, bk) for k in kinds])
    return dict(data_next=data, block_mask=kind, mask_next=number), masks


def splash_call(n, before, bq, bk):
    lists, masks = lists_of(window(n, before), bq, bk)
    tiles, width = lists["data_next"].shape[1:]
    return lists | dict(lists=1, tiles=tiles, width=width, kinds=len(masks))


def splash_race():
    q, k, v, _ = attention_arrays()
    mask = window(q.shape[1], 256)
    lists, masks = lists_of(mask, 128, 128)

    def run(load):
        kernel = load("splash_attention", T="f32")
        return lambda: kernel(scale=SCALE, q=q, k=k, v=v, masks=masks, **lists)

    f = jax.jit(plain_attention)
    seen = jnp.asarray(mask)
    return Race("8 heads on 2, 2048 x 128, a window of 256, f32", run, lambda: f(q, k, v, seen))


# ---- pages


def paged_call(batch, length, page=16, **dims):
    pages = length // page
    table = pairs(batch * pages, batch, pages)
    lengths = np.full(batch, length, np.int32)
    return dict(batch=batch, slots=batch * pages, page=page, pages=pages, d=128, lengths=lengths, table=table, **dims)


def paged_race():
    call = paged_call(8, 2048)
    lengths, table = jnp.asarray(call["lengths"]), jnp.asarray(call["table"])
    q = normal(1, 8, 8, 8, 128)
    k, v = (normal(s, 8, call["slots"], 16, 128) for s in (2, 3))

    def run(load):
        kernel = load("paged_attention", T="f32")
        return lambda: kernel(lengths, table, SCALE, q, k, v)

    @jax.jit
    def f(lengths, table, q, k, v):
        k, v = (x[:, table].reshape(8, 8, 2048, 128) for x in (k, v))
        s = jnp.einsum("bhgd,hbnd->bhgn", q, k) * SCALE
        s = jnp.where(jnp.arange(2048) < lengths[:, None, None, None], s, -jnp.inf)
        return jnp.einsum("bhgn,hbnd->bhgd", jax.nn.softmax(s, axis=-1), v)

    return Race("8 sequences of 2048, 64 heads on 8, 128 wide, f32", run, lambda: f(lengths, table, q, k, v))


QUERIES, LENGTHS = [1] * 6 + [250, 500], [2048, 1500, 700, 1024, 333, 1800, 250, 1500]


def ragged_call(**dims):
    call = paged_call(8, 2048, **dims)
    lists = dict(queries=np.array(QUERIES, np.int32), lengths=np.array(LENGTHS, np.int32))
    return call | lists | dict(tokens=sum(QUERIES))


def ragged_race():
    call = ragged_call()
    queries, lengths, table = (jnp.asarray(call[name]) for name in ("queries", "lengths", "table"))
    q = normal(1, call["tokens"], 8, 8, 128)
    k, v = (normal(s, 8, call["slots"], 16, 128) for s in (2, 3))

    def run(load):
        kernel = load("ragged_paged_attention", T="f32")
        return lambda: kernel(queries=queries, lengths=lengths, table=table, scale=SCALE, q=q, k_pages=k, v_pages=v)

    @jax.jit
    def f(table, q, k, v):  # for these lengths alone: XLA is compiled anew for others
        out, start = [], 0
        for b, (count, length) in enumerate(zip(QUERIES, LENGTHS, strict=True)):
            keys, values = (x[:, table[b]].reshape(8, -1, 128)[:, :length] for x in (k, v))
            s = jnp.einsum("thgd,hnd->htgn", q[start : start + count], keys) * SCALE
            seen = jnp.arange(length) <= jnp.arange(count)[:, None, None] + length - count
            p = jax.nn.softmax(jnp.where(seen, s, -jnp.inf), axis=-1)
            out.append(jnp.einsum("htgn,hnd->thgd", p, values))
            start += count
        return jnp.concatenate(out)

    return Race("6 tokens that decode, 250 and 500 that do not, 64 heads on 8, f32", run, lambda: f(table, q, k, v))


# ---- rows


def rope_race():
    x, angle = normal(1, 32, 4096, 128), normal(2, 4096, 64)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)

    def run(load):
        kernel = load("rope", T="f32")
        return lambda: kernel(x, cosine, sine)

    @jax.jit
    def f(x, c, s):
        a, b = x[..., :64], x[..., 64:]
        return jnp.concatenate([a * c - b * s, b * c + a * s], axis=-1)

    return Race("32 heads, 4096 x 128, f32", run, lambda: f(x, cosine, sine))


def plain_norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-6) * weight


def rmsnorm_race():
    x, weight = normal(1, 4096, 2048), normal(2, 2048)

    def run(load):
        kernel = load("rmsnorm", T="f32")
        return lambda: kernel(x, weight)

    f = jax.jit(plain_norm)
    return Race("4096 x 2048, f32", run, lambda: f(x, weight))


def rmsnorm_gradient_race():
    x, weight, dy = normal(1, 4096, 2048), normal(2, 2048), normal(3, 4096, 2048)

    def run(load):
        kernel = load("rmsnorm_grad", T="f32")
        return lambda: kernel(x, weight, dy)

    @jax.jit
    def f(x, weight, dy):
        return jax.vjp(plain_norm, x, weight)[1](dy)

    return Race("4096 x 2048, f32", run, lambda: f(x, weight, dy))


def loss_arrays():
    return normal(1, 1024, 32768), jnp.asarray(np.random.default_rng(2).integers(0, 32768, (1024, 1)), i32)


def loss_race():
    logits, target = loss_arrays()

    def run(load):
        kernel = load("cross_entropy", T="f32")
        return lambda: kernel(logits, target)

    @jax.jit
    def f(logits, target):
        lse = jax.nn.logsumexp(logits, axis=1, keepdims=True)
        return lse - jnp.take_along_axis(logits, target, axis=1), lse

    return Race("1024 x 32768, f32", run, lambda: f(logits, target))


def loss_gradient_race():
    logits, target = loss_arrays()
    lse, dloss = jax.nn.logsumexp(logits, axis=1, keepdims=True), normal(3, 1024, 1)

    def run(load):
        kernel = load("cross_entropy_grad", T="f32")
        return lambda: kernel(logits, target, lse, dloss)

    @jax.jit
    def f(logits, target, lse, dloss):
        return (jnp.exp(logits - lse) - (jnp.arange(32768) == target)) * dloss

    return Race("1024 x 32768, f32", run, lambda: f(logits, target, lse, dloss))


# ---- products


def swiglu_race():
    x, gate, up = normal(1, 1024, 1024), normal(2, 1024, 2048), normal(3, 1024, 2048)

    def run(load):
        kernel = load("swiglu", T="f32")
        return lambda: kernel(x, gate, up)

    f = jax.jit(lambda x, gate, up: jax.nn.silu(x @ gate) * (x @ up))
    return Race("1024 x 1024 x 2048, f32", run, lambda: f(x, gate, up))


SIZES = [300, 0, 700, 128, 20, 400, 244, 256]


def gated_groups_race():
    sizes = jnp.array(SIZES, i32)
    lhs, gate, up = normal(1, 2048, 512), normal(2, 8, 512, 1024), normal(3, 8, 512, 1024)

    def run(load):
        kernel = load("gmm_swiglu", T="f32")
        return lambda: kernel(sizes, lhs, gate, up)

    @jax.jit
    def f(sizes, lhs, gate, up):
        return jax.nn.silu(jax.lax.ragged_dot(lhs, gate, sizes)) * jax.lax.ragged_dot(lhs, up, sizes)

    return Race("8 groups, 2048 x 512 x 1024, f32", run, lambda: f(sizes, lhs, gate, up))


def weights_race():
    x, scale = normal(1, 16, 4096), abs(normal(3, 14336)) + 0.1
    w = jnp.asarray(np.random.default_rng(2).integers(-128, 128, (4096, 14336)), i8)

    def run(load):
        kernel = load("matmul_weights_int8", T="f32")
        return lambda: kernel(x, w, scale)

    f = jax.jit(lambda x, w, scale: (x @ w.astype(f32)) * scale)
    return Race("16 x 4096 x 14336, f32 times i8", run, lambda: f(x, w, scale))


def small_weights_race():
    x, scale = normal(1, 16, 4096), abs(normal(3, 32, 14336)) + 0.1
    w = jnp.asarray(np.random.default_rng(2).integers(-8, 8, (4096, 14336)), i8).astype(jnp.int4)

    def run(load):
        kernel = load("matmul_int4", T="f32")
        return lambda: kernel(x, w, scale)

    f = jax.jit(lambda x, w, scale: x @ (w.astype(f32).reshape(32, 128, -1) * scale[:, None]).reshape(4096, -1))
    return Race("16 x 4096 x 14336, f32 times i4", run, lambda: f(x, w, scale))


TPU = dict(bq=512, bk=512)
ENTRIES = {
    "attention": Entry(
        "Causal attention with an online softmax, for heads of queries that share keys.", "32 heads on 8, 4096 x 128",
        HEADS, TPU | dict(T="bf16", keep=True), attention_race,
    ),
    "attention_dq": Entry(
        "Its gradient for queries; nothing of the size of the scores is kept or stored.", "32 heads on 8, 4096 x 128",
        HEADS, TPU, gradients_race,
    ),
    "attention_dkv": Entry(
        "Its gradients for keys and values, summed over the heads that share them.", "32 heads on 8, 4096 x 128",
        HEADS, TPU, gradients_race,
    ),
    "splash_attention": Entry(
        "Attention under a mask of blocks, through a list of the blocks that are seen, in the arrays that Pallas' splash "
        "attention makes.", "32 heads on 8, 4096 x 128, a window of 1024",
        HEADS | splash_call(4096, 1024, 512, 512), TPU, splash_race,
    ),
    "paged_attention": Entry(
        "One query a sequence to keys and values in pages; the pages of a step are copied while the one before is "
        "computed.", "8 sequences of 2048, 64 heads on 8, pages of 16",
        paged_call(8, 2048, hk=8, scale=SCALE), dict(run=16), paged_race,
    ),
    "ragged_paged_attention": Entry(
        "Sequences that decode and sequences that begin, side by side in one array, to keys and values in pages.",
        "756 tokens of 8 sequences, 64 heads on 8, pages of 16",
        ragged_call(hk=8, group=8, scale=SCALE), dict(run=16, heads=8), ragged_race,
    ),
    "rope": Entry(
        "Rotary positions, forwards and backwards.", "32 heads, 4096 x 128",
        dict(heads=32, m=4096, half=64), dict(bm=1024), rope_race,
    ),
    "rmsnorm": Entry(
        "Each row divided by the root of the mean of its squares, and scaled.", "8192 x 4096", dict(m=8192, n=4096),
        dict(bm=128), rmsnorm_race,
    ),
    "rmsnorm_grad": Entry(
        "The gradients of RMSNorm for its rows and its weight, in one pass.", "8192 x 4096", dict(m=8192, n=4096),
        dict(bm=128), rmsnorm_gradient_race,
    ),
    "swiglu": Entry(
        "The gated half of an MLP, both products in one pass over x.", "4096 x 4096 x 14336",
        dict(m=4096, k=4096, n=14336), dict(bm=1024), swiglu_race,
    ),
    "gmm_swiglu": Entry(
        "The same for experts: each group of rows has weights of its own.", "8 groups, 4096 x 2048 x 4096",
        dict(m=4096, k=2048, n=4096, groups=8, sizes=np.array(SIZES, np.int32) * 2), dict(tm=256, tk=1024, tn=512),
        gated_groups_race,
    ),
    "matmul_weights_int8": Entry(
        "A product with weights of 8 bits, scaled by column.", "16 x 4096 x 14336", dict(m=16, k=4096, n=14336),
        dict(bm=16, bn=1024, bk=1024), weights_race,
    ),
    "matmul_int4": Entry(
        "The same with weights of 4 bits, two in a byte, and a scale for every 128 of them along k.", "16 x 4096 x 14336",
        dict(m=16, k=4096, n=14336), dict(bm=16, bn=1024), small_weights_race,
    ),
    "cross_entropy": Entry(
        "The loss of each row and what its gradient needs, in one pass over the logits.", "4096 x 32768",
        dict(m=4096, n=32768), dict(bm=256), loss_race,
    ),
    "cross_entropy_grad": Entry(
        "The gradient of the logits, from the kept sums.", "4096 x 32768", dict(m=4096, n=32768), dict(bm=256),
        loss_gradient_race,
    ),
}  # fmt: skip
