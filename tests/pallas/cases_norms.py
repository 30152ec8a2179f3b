"""Normalisations: layernorm, rmsnorm, groupnorm, softmax in one block and online, losses, moments."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import SPECS, case, cdiv, close, normal, rng

f32, bf16, f16 = jnp.float32, jnp.bfloat16, jnp.float16


def columns(j, bn, n, shape):
    """Which elements of a block of columns are within the array."""
    return j * bn + jax.lax.broadcasted_iota(jnp.int32, shape, 1) < n


def layernorm_case(name, m, n, dtype=f32, bm=4, depth=12, set={}):
    @case(name, SPECS + "layernorm.yaml", set=set, depth=depth)
    def _():
        x = normal(1, (m, n), dtype, scale=2) + dtype(0.5)
        gamma, beta = normal(2, (n,)), normal(3, (n,))

        def kernel(x, gamma, beta, y, mean, rstd):
            v = x[...].astype(f32)
            mu = v.mean(axis=1, keepdims=True)
            centred = v - mu
            r = jax.lax.rsqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
            y[...] = (centred * r * gamma[...] + beta[...]).astype(y.dtype)
            mean[...] = mu[:, 0]
            rstd[...] = r[:, 0]

        rows = pl.BlockSpec((bm, n), lambda i: (i, 0))
        whole = pl.BlockSpec((n,), lambda i: (0,))
        one = pl.BlockSpec((bm,), lambda i: (i,))
        y, mean, rstd = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm),),
            in_specs=[rows, whole, whole],
            out_specs=[rows, one, one],
            out_shape=[jax.ShapeDtypeStruct((m, n), dtype)] + [jax.ShapeDtypeStruct((m,), f32)] * 2,
            interpret=True,
        )(x, gamma, beta)
        v = np.float64(x)
        sd = np.sqrt(v.var(axis=1) + 1e-5)
        want = (v - v.mean(1)[:, None]) / sd[:, None] * np.float64(gamma) + np.float64(beta)
        close(y, want, depth)
        close(mean, v.mean(1), depth)
        close(rstd, 1 / sd, depth)
        return dict(x=x, gamma=gamma, beta=beta), dict(y=y, mean=mean, rstd=rstd)


layernorm_case("layernorm", 10, 19)
layernorm_case("layernorm_wide_tile", 10, 19, bm=16, set={"bm": 16})
layernorm_case("layernorm_bf16", 9, 16, bf16, bm=3, set={"T": "bf16", "bm": 3})


def rmsnorm_case(name, dtype, depth, batch, rows, n, bm=4, bn=8, set={}):
    @case(name, SPECS + "rmsnorm.yaml", set=set, depth=depth)
    def _():
        x, weight, eps = normal(1, (batch, rows, n), dtype), normal(2, (n,), dtype), 0.0009765625

        def kernel(eps, x, weight, o, squares):
            p, j = pl.program_id(2), pl.program_id(3)
            v = x[...].astype(f32)

            @pl.when(p == 0)
            def _():
                start = jnp.where(j == 0, 0.0, squares[...])
                known = jnp.where(columns(j, bn, n, (bm, bn)), v * v, 0.0)
                squares[...] = start + known.sum(axis=1, keepdims=True)

            @pl.when(p == 1)
            def _():
                scale = jax.lax.rsqrt(squares[...] / n + eps[0])
                o[...] = (v * scale * weight[...].astype(f32)).astype(o.dtype)

        o = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1,
                grid=(batch, cdiv(rows, bm), 2, cdiv(n, bn)),
                in_specs=[
                    pl.BlockSpec((None, bm, bn), lambda b, i, p, j, _: (b, i, j)),
                    pl.BlockSpec((bn,), lambda b, i, p, j, _: (p * j,)),
                ],
                out_specs=pl.BlockSpec((None, bm, bn), lambda b, i, p, j, _: (b, i, p * j)),
                scratch_shapes=[pltpu.VMEM((bm, 1), f32)],
            ),
            out_shape=jax.ShapeDtypeStruct(x.shape, dtype),
            interpret=True,
        )(jnp.array([eps], f32), x, weight)
        v = np.float64(x)
        close(o, v / np.sqrt((v * v).mean(-1, keepdims=True) + eps) * np.float64(weight), depth)
        return dict(eps=eps, x=x, weight=weight), dict(o=o)


rmsnorm_case("rmsnorm", bf16, 1, 2, 7, 21)
rmsnorm_case("rmsnorm_f32", f32, 16, 3, 6, 24, bm=3, set={"T": "f32", "bm": 3})


def softmax_rows_case(name, m, n, dtype, depth, set={}):
    @case(name, SPECS + "softmax_rows.yaml", set=set, depth=depth)
    def _():
        bm, bn = 4, 32
        x = normal(1, (m, n), dtype, scale=3)

        def kernel(x, o):
            known = jnp.where(columns(0, bn, n, (bm, bn)), x[...].astype(f32), -jnp.inf)
            e = jnp.exp(known - known.max(axis=1, keepdims=True))
            o[...] = (e / e.sum(axis=1, keepdims=True)).astype(o.dtype)

        block = pl.BlockSpec((bm, bn), lambda i: (i, 0))
        o = pl.pallas_call(kernel, grid=(cdiv(m, bm),), in_specs=[block], out_specs=block,
                           out_shape=jax.ShapeDtypeStruct((m, n), dtype), interpret=True)(x)
        e = np.exp(np.float64(x))
        close(o, e / e.sum(axis=1, keepdims=True), depth)
        return dict(x=x), dict(o=o)


softmax_rows_case("softmax_rows", 10, 29, f32, 32)
softmax_rows_case("softmax_rows_exact_width", 8, 32, f32, 32)
softmax_rows_case("softmax_rows_narrow_f16", 5, 3, f16, 2, set={"T": "f16"})


@case("softmax_online", SPECS + "softmax_online.yaml", depth=30)
def _():
    m, n, bm, bn = 11, 27, 4, 8
    x = normal(1, (m, n), scale=4)

    def kernel(x, o, top, total):
        pass_, j = pl.program_id(1), pl.program_id(2)
        known = jnp.where(columns(j, bn, n, (bm, bn)), x[...], -jnp.inf)

        @pl.when((pass_ == 0) & (j == 0))
        def _():
            top[...] = jnp.full_like(top, -jnp.inf)
            total[...] = jnp.zeros_like(total)

        @pl.when(pass_ == 0)
        def _():
            before = top[...]
            after = jnp.maximum(before, known.max(axis=1))
            total[...] = total[...] * jnp.exp(before - after) + jnp.exp(known - after[:, None]).sum(axis=1)
            top[...] = after

        @pl.when(pass_ == 1)
        def _():
            o[...] = jnp.exp(x[...] - top[...][:, None]) / total[...][:, None]

    o = pl.pallas_call(
        kernel,
        grid=(cdiv(m, bm), 2, cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, bn), lambda i, p, j: (i, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, p, j: (i, jnp.where(p == 1, j, 0))),
        out_shape=jax.ShapeDtypeStruct((m, n), f32),
        scratch_shapes=[pltpu.VMEM((bm,), f32), pltpu.VMEM((bm,), f32)],
        interpret=True,
    )(x)
    e = np.exp(np.float64(x))
    close(o, e / e.sum(axis=1, keepdims=True), depth=30)
    return dict(x=x), dict(o=o)


def cross_entropy_case(name, m, classes, dtype, bm=8, bn=16, set={}):
    @case(name, SPECS + "cross_entropy.yaml", set=set, depth=48)
    def _():
        logits = normal(1, (m, classes), dtype, scale=3)
        label = rng(2).integers(0, classes, m).astype(np.int32)

        def kernel(logits, label, loss, lse, top, total, chosen):
            j = pl.program_id(1)

            @pl.when(j == 0)
            def _():
                top[...] = jnp.full_like(top, -jnp.inf)
                total[...] = jnp.zeros_like(total)
                chosen[...] = jnp.zeros_like(chosen)

            z = jnp.where(columns(j, bn, classes, (bm, bn)), logits[...].astype(f32), -jnp.inf)
            new_top = jnp.maximum(top[...], z.max(axis=1, keepdims=True))
            total[...] = total[...] * jnp.exp(top[...] - new_top) + jnp.exp(z - new_top).sum(axis=1, keepdims=True)
            top[...] = new_top
            hit = j * bn + jax.lax.broadcasted_iota(jnp.int32, (bm, bn), 1) == label[...][:, None]
            chosen[...] += jnp.where(hit, z, 0.0).sum(axis=1, keepdims=True)

            @pl.when(j == pl.num_programs(1) - 1)
            def _():
                lse[...] = (top[...] + jnp.log(total[...]))[:, 0]
                loss[...] = (top[...] + jnp.log(total[...]) - chosen[...])[:, 0]

        one = pl.BlockSpec((bm,), lambda i, j: (i,))
        loss, lse = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm), cdiv(classes, bn)),
            in_specs=[pl.BlockSpec((bm, bn), lambda i, j: (i, j)), one],
            out_specs=[one, one],
            out_shape=[jax.ShapeDtypeStruct((m,), f32)] * 2,
            scratch_shapes=[pltpu.VMEM((bm, 1), f32)] * 3,
            interpret=True,
        )(logits, label)
        z = np.float64(logits)
        want = np.log(np.exp(z).sum(axis=1))
        close(lse, want, depth=48)
        close(loss, want - z[np.arange(m), label], depth=48)
        return dict(logits=logits, label=label), dict(loss=loss, lse=lse)


cross_entropy_case("cross_entropy", 19, 37, bf16)
cross_entropy_case("cross_entropy_f32", 16, 48, f32, bm=4, bn=8, set={"T": "f32", "bm": 4, "bn": 8})


@case("column_moments", SPECS + "column_moments.yaml", depth=24)
def _():
    m, n, bm, bn = 14, 19, 4, 8
    x, valid = normal(1, (m, n)), rng(2).random(m) < 0.7

    def kernel(x, valid, mean, variance, count):
        i = pl.program_id(1)

        @pl.when(i == 0)
        def _():
            mean[...] = jnp.zeros_like(mean)
            variance[...] = jnp.zeros_like(variance)
            count[0] = 0

        use = valid[...] & (i * bm + jax.lax.iota(jnp.int32, bm) < m)
        masked = jnp.where(use[:, None], x[...], 0.0)
        count[0] += use.sum()
        mean[...] += masked.sum(axis=0)
        variance[...] += (masked * masked).sum(axis=0)

        @pl.when(i == pl.num_programs(1) - 1)
        def _():
            mu = mean[...] / count[0].astype(f32)
            mean[...] = mu
            variance[...] = variance[...] / count[0].astype(f32) - mu * mu

    one = pl.BlockSpec((bn,), lambda j, i: (j,))
    mean, variance = pl.pallas_call(
        kernel,
        grid=(cdiv(n, bn), cdiv(m, bm)),
        in_specs=[pl.BlockSpec((bm, bn), lambda j, i: (i, j)), pl.BlockSpec((bm,), lambda j, i: (i,))],
        out_specs=[one, one],
        out_shape=[jax.ShapeDtypeStruct((n,), f32)] * 2,
        scratch_shapes=[pltpu.SMEM((1,), jnp.int32)],
        interpret=True,
    )(x, valid)
    v = np.float64(x)[valid]
    close(mean, v.mean(axis=0), depth=24)
    close(variance, v.var(axis=0), depth=24)
    return dict(x=x, valid=valid), dict(mean=mean, variance=variance)


@case("groupnorm", SPECS + "groupnorm.yaml", depth=2)
def _():
    batch, c, h, w, groups = 3, 6, 5, 7, 2
    size = c // groups
    x, gamma, beta = normal(1, (batch, c, h, w), f16), normal(2, (c,)), normal(3, (c,))

    def kernel(x, gamma, beta, y):
        v = x[...].astype(f32)
        d = v - v.mean(axis=(0, 1, 2), keepdims=True)
        norm = d * jax.lax.rsqrt((d * d).mean(axis=(0, 1, 2), keepdims=True) + 1e-3)
        y[...] = (norm * gamma[...].reshape(size, 1, 1) + beta[...].reshape(size, 1, 1)).astype(f16)

    block = pl.BlockSpec((None, size, h, w), lambda b, g: (b, g, 0, 0))
    channel = pl.BlockSpec((size,), lambda b, g: (g,))
    y = pl.pallas_call(kernel, grid=(batch, groups), in_specs=[block, channel, channel], out_specs=block,
                       out_shape=jax.ShapeDtypeStruct(x.shape, f16), interpret=True)(x, gamma, beta)
    v = np.float64(x).reshape(batch, groups, -1)
    v = (v - v.mean(2, keepdims=True)) / np.sqrt(v.var(2, keepdims=True) + 1e-3)
    close(y, v.reshape(x.shape) * np.float64(gamma)[:, None, None] + np.float64(beta)[:, None, None], depth=2)
    return dict(x=x, gamma=gamma, beta=beta), dict(y=y)


def clip_case(name, limit):
    @case(name, SPECS + "clip_norm.yaml", depth=20)
    def _():
        m, n, bm, bn = 9, 13, 4, 8
        x = normal(1, (m, n))

        def kernel(x, limit, y, norm, squares):
            sweep, i, j = (pl.program_id(a) for a in range(3))

            @pl.when(sweep == 0)
            def _():
                start = jnp.where((i == 0) & (j == 0), 0.0, squares[0])
                row = i * bm + jax.lax.broadcasted_iota(jnp.int32, (bm, bn), 0)
                known = jnp.where((row < m) & columns(j, bn, n, (bm, bn)), x[...], 0.0)
                squares[0] = start + (known**2).sum()
                norm[...] = jnp.sqrt(squares[0])

            @pl.when(sweep == 1)
            def _():
                y[...] = x[...] * jnp.minimum(1.0, limit[...] / norm[...])

        y, norm = pl.pallas_call(
            kernel,
            grid=(2, cdiv(m, bm), cdiv(n, bn)),
            in_specs=[pl.BlockSpec((bm, bn), lambda s, i, j: (i, j)), pl.BlockSpec((), lambda s, i, j: ())],
            out_specs=[pl.BlockSpec((bm, bn), lambda s, i, j: (s * i, s * j)), pl.BlockSpec((), lambda s, i, j: ())],
            out_shape=[jax.ShapeDtypeStruct((m, n), f32), jax.ShapeDtypeStruct((), f32)],
            scratch_shapes=[pltpu.SMEM((1,), f32)],
            interpret=True,
        )(x, jnp.array(limit, f32))
        want = np.sqrt((np.float64(x) ** 2).sum())
        close(norm, want, depth=20)
        close(y, np.float64(x) * min(1, limit / want), depth=20)
        return dict(x=x, limit=np.array(limit, np.float32)), dict(y=y, norm=norm)


clip_case("clip_norm", 2.5)
clip_case("clip_norm_within", 100.0)
