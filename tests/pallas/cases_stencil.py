"""Windows: convolutions, stencils through halo blocks or neighbour blocks, pooling, repeated elements.

interpret=True moves an element block that would run past the padded array back into it, so the padding here is as
long as the last block needs; Kiln reads on (undefined, or `pad`).
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import case, close, integers, normal

f32, bf16, f16, u8 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.uint8
SPECS = "tests/pallas/specs/"


def cdiv(a, b):
    return -(-a // b)


def iota(shape, axis):
    return jax.lax.broadcasted_iota(jnp.int32, shape, axis)


def halo(block, steps, size, before=1, after=1):
    """An element dimension of `block` elements and a halo, padded up to where its last block ends."""
    return pl.Element(before + block + after, padding=(before, steps * block - size + after))


def within(start, size, shape, axis):
    place = start + iota(shape, axis)
    return (0 <= place) & (place < size)


def conv1d_case(name, m, n, dtype, depth, set={}):
    @case(name, "specs/conv1d.yaml", set={"bm": 4, "bn": 8} | set, depth=depth)
    def _():
        bm, bn, taps = 4, 8, 4
        n_out = n - taps + 1
        x, w = normal(1, (m, n), dtype), normal(2, (taps,), dtype)

        def kernel(x, w, y):
            v, f = x[...].astype(f32), w[...].astype(f32)
            y[...] = sum(v[:, t : t + bn] * f[t] for t in range(taps))

        steps = cdiv(n_out, bn)
        y = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm), steps),
            in_specs=[
                pl.BlockSpec((bm, halo(bn, steps, n_out, 0, taps - 1)), lambda i, j: (i, j * bn)),
                pl.BlockSpec((taps,), lambda i, j: (0,)),
            ],
            out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)),
            out_shape=jax.ShapeDtypeStruct((m, n_out), f32),
            interpret=True,
        )(x, w)
        want = [np.correlate(row, np.float64(w), "valid") for row in np.float64(x)]
        close(y, want, depth)
        return dict(x=x, w=w), dict(y=y)


conv1d_case("conv1d", 7, 30, f32, 4)
conv1d_case("conv1d_even", 8, 19, f32, 4)
conv1d_case("conv1d_bf16", 5, 14, bf16, 4, set={"T": "bf16"})


def channels_case(name, n, c_in, c_out, stride, dtype, depth, set={}):
    @case(name, SPECS + "conv1d_channels.yaml", set=set, depth=depth)
    def _():
        batch, taps, bn, bo = 2, 3, 4, 8
        n_out = cdiv(n, stride)
        steps, size = cdiv(n_out, bn), bn * stride + taps - stride
        x, w, bias = normal(1, (batch, n, c_in), dtype), normal(2, (taps, c_in, c_out), dtype), normal(3, (c_out,))

        def kernel(x, w, bias, y):
            j = pl.program_id(1)
            inside = within(j * bn * stride - 1, n, (size, c_in), 0)
            v = jnp.where(inside, x[...], jnp.zeros_like(x))
            acc = sum(jnp.dot(v[k : k + bn * stride : stride], w[k], preferred_element_type=f32) for k in range(taps))
            y[...] = jax.nn.relu(acc + bias[...]).astype(y.dtype)

        end = (steps - 1) * bn * stride + size
        y = pl.pallas_call(
            kernel,
            grid=(batch, steps, cdiv(c_out, bo)),
            in_specs=[
                pl.BlockSpec((None, pl.Element(size, padding=(1, max(1, end - n - 1))), c_in),
                             lambda b, j, o: (b, j * bn * stride, 0)),
                pl.BlockSpec((taps, c_in, bo), lambda b, j, o: (0, 0, o)),
                pl.BlockSpec((bo,), lambda b, j, o: (o,)),
            ],
            out_specs=pl.BlockSpec((None, bn, bo), lambda b, j, o: (b, j, o)),
            out_shape=jax.ShapeDtypeStruct((batch, n_out, c_out), dtype),
            interpret=True,
        )(x, w, bias)
        v = np.pad(np.float64(x), ((0, 0), (1, 1), (0, 0)))
        want = sum(v[:, k : k + n : stride] @ np.float64(w)[k] for k in range(taps)) + np.float64(bias)
        close(y, want.clip(0), depth)
        return dict(x=x, w=w, bias=bias), dict(y=y)


channels_case("conv1d_channels", 21, 5, 11, 2, bf16, 1)
channels_case("conv1d_channels_stride1", 13, 3, 8, 1, f32, 10, set={"T": "f32", "stride": 1})


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


@case("depthwise_conv2d", SPECS + "depthwise_conv2d.yaml", depth=2)
def _():
    shape = batch, h, w, channels = 2, 6, 9, 7
    bh = bw = bc = 4
    x, taps = normal(1, shape, f16), normal(2, (3, 3, channels), f16)
    steps = cdiv(h, bh), cdiv(w, bw)

    def kernel(x, taps, y):
        i, j = pl.program_id(1), pl.program_id(2)
        tall = (bh + 2, bw + 2, bc)
        inside = within(i * bh - 1, h, tall, 0) & within(j * bw - 1, w, tall, 1)
        v, f = jnp.where(inside, x[...], f16(0)).astype(f32), taps[...].astype(f32)
        y[...] = sum(v[dy : dy + bh, dx : dx + bw] * f[dy, dx] for dy in range(3) for dx in range(3)).astype(f16)

    y = pl.pallas_call(
        kernel,
        grid=(batch, *steps, cdiv(channels, bc)),
        in_specs=[
            pl.BlockSpec((None, halo(bh, steps[0], h), halo(bw, steps[1], w), bc),
                         lambda b, i, j, c: (b, i * bh, j * bw, c)),
            pl.BlockSpec((3, 3, bc), lambda b, i, j, c: (0, 0, c)),
        ],
        out_specs=pl.BlockSpec((None, bh, bw, bc), lambda b, i, j, c: (b, i, j, c)),
        out_shape=jax.ShapeDtypeStruct(shape, f16),
        interpret=True,
    )(x, taps)
    v = np.pad(np.float64(x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    want = sum(v[:, dy : dy + h, dx : dx + w] * np.float64(taps)[dy, dx] for dy in range(3) for dx in range(3))
    close(y, want, depth=2)
    return dict(x=x, taps=taps), dict(y=y)


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


@case("causal_conv", SPECS + "causal_conv.yaml", depth=6)
def _():
    n, d, taps, bt, bd = 14, 11, 3, 4, 8
    x, w = normal(1, (n, d)), normal(2, (taps, d))

    def kernel(x, w, y, window):
        t = pl.program_id(1)
        window[0 : taps - 1] = jnp.where(t == 0, 0.0, window[bt : bt + taps - 1])
        window[taps - 1 :] = x[...]
        y[...] = jax.nn.silu(sum(window[k : k + bt] * w[k] for k in range(taps)))

    rows = pl.BlockSpec((bt, bd), lambda j, t: (t, j))
    y = pl.pallas_call(
        kernel,
        grid=(cdiv(d, bd), cdiv(n, bt)),
        in_specs=[rows, pl.BlockSpec((taps, bd), lambda j, t: (0, j))],
        out_specs=rows,
        out_shape=jax.ShapeDtypeStruct((n, d), f32),
        scratch_shapes=[pltpu.VMEM((bt + taps - 1, bd), f32)],
        interpret=True,
    )(x, w)
    v = np.pad(np.float64(x), ((taps - 1, 0), (0, 0)))
    z = sum(v[k : k + n] * np.float64(w)[k] for k in range(taps))
    close(y, z / (1 + np.exp(-z)), depth=6)
    return dict(x=x, w=w), dict(y=y)


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


@case("conv2d_dots", SPECS + "conv2d_dots.yaml")
def _():
    n, h, w, c, o, bh = 2, 6, 5, 3, 4, 4
    x, taps = integers(1, -9, 9, (n, h, w, c)).astype(f32), integers(2, -9, 9, (3, 3, c, o)).astype(f32)
    padded = np.pad(np.array(x), ((0, 0), (1, 1 + bh), (1, 1), (0, 0)))

    def kernel(x, taps, y):
        acc = jnp.zeros((bh * w, o), f32)
        for dy in range(3):
            for dx in range(3):
                window = x[0, pl.ds(pl.program_id(1) * bh + dy, bh), dx:dx + w]
                acc += jnp.dot(window.reshape(bh * w, c), taps[dy, dx], precision="highest")
        y[...] = acc.reshape(1, bh, w, o)

    y = pl.pallas_call(
        kernel, grid=(n, -(-h // bh)),
        in_specs=[pl.BlockSpec((1, *padded.shape[1:]), lambda b, i: (b, 0, 0, 0)),
                  pl.BlockSpec(taps.shape, lambda b, i: (0, 0, 0, 0))],
        out_specs=pl.BlockSpec((1, bh, w, o), lambda b, i: (b, i, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((n, h, w, o), f32), interpret=True)(jnp.array(padded), taps)
    want = sum(np.einsum("nhwc,co->nhwo", padded[:, dy:dy + h, dx:dx + w], np.array(taps)[dy, dx])
               for dy in range(3) for dx in range(3))
    close(y, want)
    return dict(x=x, taps=taps), dict(y=y)
