"""Convolutions: in one dimension and two, by channels, strided, causal, by dots."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from calls import halo, within
from harness import SPECS, case, cdiv, close, integers, normal

f32, bf16, f16 = jnp.float32, jnp.bfloat16, jnp.float16


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


def filter_rows_case(name, m, c, n, dtype, sums, x64=False, depth=0, set={}):
    """A filter of three rows over images of three columns; rows past the last block are zeros."""

    @case(name, SPECS + "filter_rows.yaml", set=set, x64=x64, depth=depth)
    def _():
        bm = 8
        x, w = (integers(seed, -9, 9, shape).astype(dtype) for seed, shape in ((1, (2 * m + 2, 3, c)), (2, (3, c, n))))
        padded = jnp.pad(x, ((0, 2 * bm), (0, 0), (0, 0)))

        def kernel(x, w, looped, listed, stepped, paired):
            first = pl.program_id(0) * 2 * bm

            def product(rows, column, tap, stride=1):
                window = x[pl.ds(first, 2 * bm + 2)][rows:rows + stride * (bm - 1) + 1:stride, column]
                return jnp.dot(window, w[tap], preferred_element_type=sums)

            looped[...] = (1 + sum(product(t, t, t) for t in range(3))) * 2
            listed[...] = product(2, 0, 2) + product(0, 1, 1) + product(1, 0, 0)
            stepped[...] = sum(product(t, 1, t, stride=2) for t in range(3))
            pairs = [x[pl.ds(first, 2 * bm + 2)][t:t + 2 * bm:4, 1:3].reshape(bm, c) for t in range(3)]
            paired[...] = sum(jnp.dot(p, w[t], preferred_element_type=sums) for t, p in enumerate(pairs))

        found = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm),),
            in_specs=[pl.BlockSpec(padded.shape, lambda i: (0, 0, 0)), pl.BlockSpec(w.shape, lambda i: (0, 0, 0))],
            out_specs=[pl.BlockSpec((bm, n), lambda i: (i, 0))] * 4,
            out_shape=[jax.ShapeDtypeStruct((m, n), sums)] * 4,
            interpret=True,
        )(padded, w)
        rows, v, f = np.arange(m), np.float64(padded), np.float64(w)
        start, inner = rows // bm * 2 * bm, rows % bm
        taps = range(3)
        close(found[0], 2 + 2 * sum(v[start + inner + t, t] @ f[t] for t in taps), depth)
        close(found[1], sum(v[start + inner + r, c] @ f[t] for r, c, t in ((2, 0, 2), (0, 1, 1), (1, 0, 0))), depth)
        close(found[2], sum(v[start + 2 * inner + t, 1] @ f[t] for t in taps), depth)
        close(found[3], sum(v[start + inner // 2 * 4 + t, 1 + inner % 2] @ f[t] for t in taps), depth)
        return dict(x=x, w=w), dict(zip("looped listed stepped paired".split(), found))


filter_rows_case("filter_rows", 21, 5, 19, f32, f32)
filter_rows_case("filter_rows_wide", 16, 9, 66, f32, f32)
filter_rows_case("filter_rows_f64", 13, 4, 9, jnp.float64, jnp.float64, x64=True, set={"T": "f64", "A": "f64"})
filter_rows_case("filter_rows_bf16", 21, 5, 19, jnp.bfloat16, f32, set={"T": "bf16"})
filter_rows_case("filter_rows_i8", 21, 5, 19, jnp.int8, jnp.int32, set={"T": "i8", "A": "i32"})
