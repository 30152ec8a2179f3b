"""Stencils through halo blocks or neighbour blocks, pooling, relaxation, repeated elements."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from calls import halo, within
from harness import SPECS, case, cdiv, close, integers, iota, normal

f32, bf16, u8 = jnp.float32, jnp.bfloat16, jnp.uint8


def stencil2d_case(name, m, n):
    @case(name, "specs/stencil2d.yaml", set={"bm": 4, "bn": 8}, depth=5)
    def _():
        bm, bn, centre, side = 4, 8, -0.75, 0.4375
        u = normal(1, (m, n))
        grid = cdiv(m, bm), cdiv(n, bn)

        def kernel(centre, side, u, v):
            i, j = pl.program_id(0), pl.program_id(1)
            shape = (bm + 2, bn + 2)
            inside = within(i * bm - 1, m, shape, 0) & within(j * bn - 1, n, shape, 1)
            w = jnp.where(inside, u[...], 1.5)
            around = w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:]
            v[...] = centre[0] * w[1:-1, 1:-1] + side[0] * around

        v = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=2,
                grid=grid,
                in_specs=[pl.BlockSpec((halo(bm, grid[0], m), halo(bn, grid[1], n)),
                                       lambda i, j, *_: (i * bm, j * bn))],
                out_specs=pl.BlockSpec((bm, bn), lambda i, j, *_: (i, j)),
            ),
            out_shape=jax.ShapeDtypeStruct((m, n), f32),
            interpret=True,
        )(jnp.array([centre], f32), jnp.array([side], f32), u)
        w = np.pad(np.float64(u), 1, constant_values=1.5)
        close(v, centre * w[1:-1, 1:-1] + side * (w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:]), depth=5)
        return dict(centre=centre, side=side, u=u), dict(v=v)


stencil2d_case("stencil2d", 11, 21)
stencil2d_case("stencil2d_even", 8, 16)
stencil2d_case("stencil2d_one_row", 1, 9)


def stencil3d_case(name, shape, dtype, set={}):
    @case(name, SPECS + "stencil3d.yaml", set=set, depth=8)
    def _():
        block = (2, 4, 4)
        u = normal(1, shape, dtype)
        grid = tuple(cdiv(s, b) for s, b in zip(shape, block))
        tall = tuple(b + 2 for b in block)

        def kernel(u, v):
            start = [pl.program_id(a) * block[a] - 1 for a in range(3)]
            w, middle = u[...].astype(f32), (slice(1, -1),) * 3
            inside = [within(start[a], shape[a], tall, a) for a in range(3)]
            total = jnp.zeros(block, f32)
            for a in range(3):
                for s in (slice(0, -2), slice(2, None)):
                    side = middle[:a] + (s,) + middle[a + 1 :]
                    total += jnp.where(inside[a][side], w[side], w[middle]) - w[middle]
            v[...] = total

        v = pl.pallas_call(
            kernel,
            grid=grid,
            in_specs=[pl.BlockSpec(tuple(halo(*bgs) for bgs in zip(block, grid, shape)),
                                   lambda *g: tuple(p * b for p, b in zip(g, block)))],
            out_specs=pl.BlockSpec(block, lambda *g: g),
            out_shape=jax.ShapeDtypeStruct(shape, f32),
            interpret=True,
        )(u)
        w = np.pad(np.float64(u), 1, mode="edge")
        middle = (slice(1, -1),) * 3
        want = -6 * w[middle]
        for a in range(3):
            for s in (slice(0, -2), slice(2, None)):
                want += w[middle[:a] + (s,) + middle[a + 1 :]]
        close(v, want, depth=8)
        return dict(u=u), dict(v=v)


stencil3d_case("stencil3d", (5, 7, 9), f32)
stencil3d_case("stencil3d_bf16", (4, 4, 6), bf16, set={"T": "bf16"})


@case("neighbour_blocks", SPECS + "neighbour_blocks.yaml", depth=3)
def _():
    m, n, bm, bn = 16, 21, 4, 8
    x = normal(1, (m, n))
    steps = m // bm

    def kernel(mid, above, below, y):
        i = pl.program_id(0)
        up = jnp.where(i > 0, above[bm - 1 :], mid[0:1])
        down = jnp.where(i < steps - 1, below[0:1], mid[bm - 1 :])
        tall = jnp.concatenate([up, mid[...], down])
        y[...] = (tall[:bm] + tall[1 : bm + 1] + tall[2:]) / 3

    here = pl.BlockSpec((bm, bn), lambda i, j: (i, j))
    y = pl.pallas_call(
        kernel,
        grid=(steps, cdiv(n, bn)),
        in_specs=[
            here,
            pl.BlockSpec((bm, bn), lambda i, j: (jnp.maximum(i - 1, 0), j)),
            pl.BlockSpec((bm, bn), lambda i, j: (jnp.minimum(i + 1, steps - 1), j)),
        ],
        out_specs=here,
        out_shape=jax.ShapeDtypeStruct((m, n), f32),
        interpret=True,
    )(x, x, x)
    w = np.pad(np.float64(x), ((1, 1), (0, 0)), mode="edge")
    close(y, (w[:-2] + w[1:-1] + w[2:]) / 3, depth=3)
    return dict(mid=x), dict(y=y)


def pool_case(name, m, n, dtype, set={}):
    @case(name, SPECS + "max_pool.yaml", set=set, depth=2)
    def _():
        batch, bm, bn = 2, 2, 4
        x = integers(1, 0, 256, (batch, m, n), dtype)
        m_out, n_out = cdiv(m, 2), cdiv(n, 2)

        def kernel(x, top, mean):
            i, j = pl.program_id(1), pl.program_id(2)
            shape = (2 * bm, 2 * bn)
            inside = within(i * 2 * bm, m, shape, 0) & within(j * 2 * bn, n, shape, 1)
            v = jnp.where(inside, x[...], jnp.zeros_like(x)).reshape(bm, 2, bn, 2)
            top[...] = v.max(axis=(1, 3))
            mean[...] = v.astype(f32).mean(axis=(1, 3))

        block = pl.BlockSpec((None, bm, bn), lambda b, i, j: (b, i, j))
        top, mean = pl.pallas_call(
            kernel,
            grid=(batch, cdiv(m, 2 * bm), cdiv(n, 2 * bn)),
            in_specs=[pl.BlockSpec((None, 2 * bm, 2 * bn), lambda b, i, j: (b, i, j))],
            out_specs=[block, block],
            out_shape=[jax.ShapeDtypeStruct((batch, m_out, n_out), t) for t in (dtype, f32)],
            interpret=True,
        )(x)
        padded = np.pad(np.array(x), ((0, 0), (0, -m % 2), (0, -n % 2))).reshape(batch, m_out, 2, n_out, 2)
        close(top, padded.max(axis=(2, 4)))
        close(mean, padded.astype(float).mean(axis=(2, 4)), depth=2)
        return dict(x=x), dict(top=top, mean=mean)


pool_case("max_pool", 9, 19, u8)
pool_case("max_pool_i32", 8, 16, jnp.int32, set={"T": "i32"})


@case("blur_u8", SPECS + "blur_u8.yaml")
def _():
    m, n, b = 13, 22, 8
    x = integers(1, 0, 256, (m, n), u8)
    steps = cdiv(m, b), cdiv(n, b)

    def kernel(x, y):
        i, j = pl.program_id(0), pl.program_id(1)
        inside = within(i * b - 1, m, (b + 2, b + 2), 0) & within(j * b - 1, n, (b + 2, b + 2), 1)
        v = jnp.where(inside, x[...], u8(0)).astype(jnp.int32)
        across = v[:, :-2] + 2 * v[:, 1:-1] + v[:, 2:]
        both = across[:-2] + 2 * across[1:-1] + across[2:]
        y[...] = ((both + 8) >> 4).astype(u8)

    y = pl.pallas_call(
        kernel,
        grid=steps,
        in_specs=[pl.BlockSpec((halo(b, steps[0], m), halo(b, steps[1], n)), lambda i, j: (i * b, j * b))],
        out_specs=pl.BlockSpec((b, b), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), u8),
        interpret=True,
    )(x)
    v = np.pad(np.int32(x), 1)
    across = v[:, :-2] + 2 * v[:, 1:-1] + v[:, 2:]
    close(y, ((across[:-2] + 2 * across[1:-1] + across[2:] + 8) >> 4).astype(np.uint8))
    return dict(x=x), dict(y=y)


def upsample_case(name, m, n, dtype, set={}):
    @case(name, SPECS + "upsample.yaml", set=set)
    def _():
        bm, bn = 2, 4
        x = (normal(1, (m, n), scale=8) > 0) if dtype == jnp.bool_ else normal(1, (m, n), scale=8).astype(dtype)

        def kernel(x, y):
            y[...] = jnp.broadcast_to(x[...][:, None, :, None], (bm, 2, bn, 2)).reshape(2 * bm, 2 * bn)

        y = pl.pallas_call(kernel, grid=(cdiv(m, bm), cdiv(n, bn)),
                           in_specs=[pl.BlockSpec((bm, bn), lambda i, j: (i, j))],
                           out_specs=pl.BlockSpec((2 * bm, 2 * bn), lambda i, j: (i, j)),
                           out_shape=jax.ShapeDtypeStruct((2 * m, 2 * n), dtype), interpret=True)(x)
        close(y, np.repeat(np.repeat(np.array(x), 2, axis=0), 2, axis=1))
        return dict(x=x), dict(y=y)


upsample_case("upsample", 5, 11, f32)
upsample_case("upsample_bool", 4, 6, jnp.bool_, set={"T": "bool"})
upsample_case("upsample_bf16", 3, 8, bf16, set={"T": "bf16"})


@case("red_black", SPECS + "red_black.yaml", depth=24)
def _():
    m, n, rounds, omega = 7, 9, 3, 1.25
    u, f = normal(1, (m, n)), normal(2, (m, n))

    def kernel(omega, u, f, v, state):
        s = pl.program_id(0)

        @pl.when(s == 0)
        def _():
            state[...] = u[...]

        w = state[...]
        row, col = iota((m, n), 0), iota((m, n), 1)
        turn = ((row + col) % 2 == s % 2) & (0 < row) & (row < m - 1) & (0 < col) & (col < n - 1)
        around = jnp.roll(w, 1, 0) + jnp.roll(w, -1, 0) + jnp.roll(w, 1, 1) + jnp.roll(w, -1, 1)
        state[...] = jnp.where(turn, w + omega[0] * ((around - f[...]) / 4 - w), w)
        v[...] = state[...]

    whole = pl.BlockSpec((m, n), lambda s, _: (0, 0))
    v = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2 * rounds,), in_specs=[whole, whole],
                                               out_specs=whole, scratch_shapes=[pltpu.VMEM((m, n), f32)]),
        out_shape=jax.ShapeDtypeStruct((m, n), f32),
        input_output_aliases={1: 0},
        interpret=True,
    )(jnp.array([omega], f32), u, f)
    w, g = np.float64(u), np.float64(f)
    for s in range(2 * rounds):
        for r in range(1, m - 1):
            for c in range(1, n - 1):
                if (r + c) % 2 == s % 2:
                    w[r, c] += omega * ((w[r - 1, c] + w[r + 1, c] + w[r, c - 1] + w[r, c + 1] - g[r, c]) / 4 - w[r, c])
    close(v, w, depth=24)
    return dict(omega=omega, u=u, f=f), dict(v=v)
