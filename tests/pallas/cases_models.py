"""What language models are made of besides attention: the Pallas kernels of tests/import/calls_models.py, which
`kiln.pallas` reads into specs there, on the inputs of those that ship; and two that have more to them."""
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm

from harness import case, close, integers, normal

sys.path.append(str(pathlib.Path(__file__).parents[1] / "import"))
import calls_models as models  # noqa: E402

f32, bf16 = jnp.float32, jnp.bfloat16


def interpreted(f, *args, **options):
    with pltpu.force_tpu_interpret_mode():
        return f(*args, **options)


def silu(x):
    return x / (1 + np.exp(-x))


# ---- rotary positions


def rope_case(name, dtype, depth, turn):
    @case(name, "specs/rope.yaml", set=dict(T="bf16" if dtype == bf16 else "f32", turn=turn, bm=24), depth=depth)
    def _():
        heads, m, half = 3, 32, 8
        x = normal(1, (heads, m, 2 * half), dtype)
        angle = np.arange(m)[:, None] * 0.5 ** np.arange(half)
        cosine, sine = f32(np.cos(angle)), f32(np.sin(angle))
        y = interpreted(models.rope, f32(x), cosine, sine * turn).astype(dtype)
        a, b = np.split(np.float64(x), 2, axis=2)
        c, s = np.cos(angle), turn * np.sin(angle)
        close(y, np.concatenate([a * c - b * s, b * c + a * s], axis=2), depth)
        return dict(x=x, cosine=cosine, sine=sine), dict(y=y)


rope_case("rope_shipped_f32", f32, 4, 1.0)
rope_case("rope_shipped_bf16", bf16, 1, 1.0)
rope_case("rope_shipped_back", f32, 4, -1.0)


# ---- norms


def rmsnorm_gradient(x, weight, dy, bm, eps):
    """dx, and dweight summed over the rows of each block in turn."""

    def kernel(x, weight, dy, dx, dweight):
        @pl.when(pl.program_id(0) == 0)
        def _():
            dweight[...] = jnp.zeros_like(dweight)

        wide = x[...].astype(f32)
        shrink = jax.lax.rsqrt(jnp.mean(wide * wide, axis=1, keepdims=True) + eps)
        unit, dunit = wide * shrink, dy[...].astype(f32) * weight[...].astype(f32)
        dx[...] = (shrink * (dunit - unit * jnp.mean(dunit * unit, axis=1, keepdims=True))).astype(dx.dtype)
        dweight[...] += jnp.sum(dy[...].astype(f32) * unit, axis=0)

    (m, n), rows = x.shape, pl.BlockSpec((bm, x.shape[1]), lambda i: (i, 0))
    whole = pl.BlockSpec((n,), lambda i: (0,))
    return pl.pallas_call(
        kernel, grid=(m // bm,), in_specs=[rows, whole, rows], out_specs=[rows, whole],
        out_shape=[jax.ShapeDtypeStruct((m, n), x.dtype), jax.ShapeDtypeStruct((n,), f32)], interpret=True,
    )(x, weight, dy)  # fmt: skip


def rmsnorm_gradient_case(name, dtype, depth, m, n, bm, eps=0.125):
    """eps is large: a row of one element, as the tests try it at other sizes, has no gradient but for it."""

    @case(name, "specs/rmsnorm_grad.yaml", set=dict(T="bf16" if dtype == bf16 else "f32", bm=bm, eps=eps), depth=depth)
    def _():
        x, weight, dy = normal(1, (m, n), dtype), normal(2, n, dtype), normal(3, (m, n), dtype)
        dx, dweight = rmsnorm_gradient(x, weight, dy, 4, eps)
        v, dunit = np.float64(x), np.float64(dy) * np.float64(weight)
        square = np.mean(v * v, axis=1, keepdims=True) + eps
        close(dx, (dunit - v * np.mean(dunit * v, axis=1, keepdims=True) / square) / np.sqrt(square), depth)
        if dtype == bf16:  # depth counts roundings to bf16, and the sum has none
            return dict(x=x, weight=weight, dy=dy), dict(dx=dx)
        close(dweight, np.sum(np.float64(dy) * v / np.sqrt(square), axis=0), depth)
        return dict(x=x, weight=weight, dy=dy), dict(dx=dx, dweight=dweight)


rmsnorm_gradient_case("rmsnorm_grad_f32", f32, 32, 20, 19, 8)
rmsnorm_gradient_case("rmsnorm_grad_bf16", bf16, 1, 12, 32, 12)


# ---- products


@case("swiglu_shipped", "specs/swiglu.yaml", set=dict(bm=8, bn=128, bk=64), depth=2)
def _():
    x, gate, up = normal(0, (16, 128), bf16), *(normal(s, (128, 32), bf16, 0.1) for s in (1, 2))
    y = interpreted(models.swiglu, x, gate, up, blocks=(8, 64, 32))
    g, u = (np.float64(x) @ np.float64(w) for w in (gate, up))
    close(y, silu(g) * u, depth=2)
    return dict(x=x, gate=gate, up=up), dict(y=y)


def gated_groups_case(name, sizes, m, dtype, depth):
    """Two of megablox' products, and what is between them."""

    @case(name, "specs/gmm_swiglu.yaml", set=dict(T="bf16" if dtype == bf16 else "f32", tm=8, tk=8, tn=8), depth=depth)
    def _():
        k, n, groups = 20, 12, len(sizes)
        lhs = normal(1, (m, k), dtype)
        gate, up = (normal(s, (groups, k, n), dtype, 0.25) for s in (2, 3))
        counts = jnp.array(sizes, jnp.int32)
        products = [gmm(lhs, w, counts, preferred_element_type=f32, tiling=(8, 8, 8), interpret=True) for w in (gate, up)]
        out = (jax.nn.silu(products[0]) * products[1]).astype(dtype)
        want, ends = np.zeros((m, n)), np.cumsum(sizes)
        for g, end in enumerate(ends):
            rows = np.float64(lhs[end - sizes[g] : end])
            want[end - sizes[g] : end] = silu(rows @ np.float64(gate[g])) * (rows @ np.float64(up[g]))
        close(out, want, depth)
        return dict(sizes=counts, lhs=lhs, gate=gate, up=up), dict(out=out)


gated_groups_case("gmm_swiglu_f32", [5, 0, 12, 7], 24, f32, 48)
gated_groups_case("gmm_swiglu_bf16", [11, 13], 24, bf16, 1)


@case("matmul_weights_int8_shipped", "specs/matmul_weights_int8.yaml", set=dict(bm=8, bn=48, bk=40), depth=1)
def _():
    x, w = normal(0, (16, 128), bf16), integers(1, -128, 128, (128, 64), jnp.int8)
    scale = jnp.abs(normal(2, 64, scale=0.1)) + 1 / 64
    y = interpreted(models.quantised_matmul, x, w, scale[None], blocks=(8, 64, 64))
    close(y, np.float64(x) @ np.float64(w) * np.float64(scale), depth=1)
    return dict(x=x, w=w, scale=scale), dict(y=y)


# ---- the loss


@case("cross_entropy_shipped", "specs/cross_entropy.yaml", set=dict(bm=5, bn=100), depth=16)
def _():
    logits, target = normal(0, (8, 384), bf16, scale=3), integers(1, 0, 384, (8, 1))
    loss, lse = interpreted(models.cross_entropy, logits, target)
    z = np.float64(logits)
    want = np.log(np.exp(z).sum(axis=1, keepdims=True))
    close(lse, want, depth=16)
    close(loss, want - np.take_along_axis(z, np.asarray(target), axis=1), depth=16)
    return dict(logits=logits, target=target), dict(loss=loss, lse=lse)


@case("cross_entropy_grad_shipped", "specs/cross_entropy_grad.yaml", set=dict(bm=5, bn=100), depth=1)
def _():
    logits, target = normal(0, (8, 384), bf16, scale=3), integers(1, 0, 384, (8, 1))
    lse, dloss = jax.nn.logsumexp(f32(logits), axis=1, keepdims=True), normal(2, (8, 1))
    dlogits = interpreted(models.cross_entropy_gradient, logits, target, lse, dloss)
    p = np.exp(np.float64(logits) - np.float64(lse))
    np.put_along_axis(p, np.asarray(target), np.take_along_axis(p, np.asarray(target), axis=1) - 1, axis=1)
    close(dlogits, p * np.float64(dloss), depth=1)
    return dict(logits=logits, target=target, lse=lse, dloss=dloss), dict(dlogits=dlogits)
