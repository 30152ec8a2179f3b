"""Element by element: masks, conditions and scalars, and what layers make of them."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from calls import wide
from harness import SPECS, case, cdiv, close, integers, iota, normal, rng

f32, bf16, f16, f64 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.float64
i8, i32, i64 = jnp.int8, jnp.int32, jnp.int64


def logic_case(name, m, n, share):
    @case(name, SPECS + "logic.yaml")
    def _():
        bm, bn = 4, 8
        a, b = (jnp.asarray(rng(s).random((m, n)) < p) for s, p in ((1, share), (2, 1 - share)))
        a, b = a.at[:, :bn].set(False), b.at[0, 0].set(False)

        def kernel(a, b, both, exactly_one, implies, limited, count, any_in_row, all_in_row):
            i, j = pl.program_id(0), pl.program_id(1)
            inside = (i * bm + iota((bm, bn), 0) < m) & (j * bn + iota((bm, bn), 1) < n)
            p, q = a[...] & inside, b[...] | ~inside
            both[...], exactly_one[...], implies[...] = p & q, p ^ q, ~p | q
            limited[...] = jnp.minimum(jnp.maximum(p, ~q), jnp.maximum(p, q))
            any_in_row[...] = jnp.where(j == 0, False, any_in_row[...]) | p.any(axis=1)
            all_in_row[...] = jnp.where(j == 0, True, all_in_row[...]) & q.all(axis=1)
            count[...] = jnp.where(~p.any() & ~q.all(), -1, p.astype(i32) + 2 * q.astype(i32))

        block, row = pl.BlockSpec((bm, bn), lambda i, j: (i, j)), pl.BlockSpec((bm,), lambda i, j: (i,))
        names = "both exactly_one implies limited count any_in_row all_in_row".split()
        outs = dict(zip(names, pl.pallas_call(
            kernel, grid=(cdiv(m, bm), cdiv(n, bn)), in_specs=[block, block], out_specs=[block] * 5 + [row] * 2,
            out_shape=[jax.ShapeDtypeStruct((m, n), t) for t in (jnp.bool_,) * 4 + (i32,)]
            + [jax.ShapeDtypeStruct((m,), jnp.bool_)] * 2, interpret=True)(a, b)))
        p, q = np.array(a), np.array(b)
        for name, want in dict(both=p & q, exactly_one=p ^ q, implies=~p | q, limited=(p | ~q) & (p | q),
                               any_in_row=p.any(1), all_in_row=q.all(1)).items():
            close(outs[name], want)
        count = p + 2 * q
        for r in range(0, m, bm):
            for c in range(0, n, bn):
                if not p[r : r + bm, c : c + bn].any() and not q[r : r + bm, c : c + bn].all():
                    count[r : r + bm, c : c + bn] = -1
        close(outs["count"], count)
        return dict(a=a, b=b), outs


logic_case("logic", 10, 21, 0.3)
logic_case("logic_rare", 8, 16, 0.02)


def piecewise_case(name, m, n):
    @case(name, SPECS + "piecewise.yaml", depth=1)
    def _():
        tall, bn = 8, 8
        x = normal(1, (m, n))
        rows, cols = cdiv(m, tall), cdiv(n, bn)

        def kernel(x, y):
            i, j = pl.program_id(0), pl.program_id(1)
            v = x[...]
            rest = v * (i * 10 + j).astype(f32) if rows > 2 else 0 * v
            rest = jnp.where(j % 2 != 0, jnp.where(v > 0, v, 0.5 * v), rest)
            rest = jnp.where((i == 0) | ((i == rows - 1) & (j == cols - 1)), -v, rest)
            rest = jnp.where((i == 0) & (j < cols // 2), v + 1, rest)
            y[...] = jnp.where(v > 1.25, 99, rest)

        block = pl.BlockSpec((tall, bn), lambda i, j: (i, j))
        y = pl.pallas_call(kernel, grid=(rows, cols), in_specs=[block], out_specs=block,
                           out_shape=jax.ShapeDtypeStruct((m, n), f32), interpret=True)(x)
        want = np.array(x)
        for i in range(rows):
            for j in range(cols):
                v = want[i * tall : i * tall + tall, j * bn : j * bn + bn]
                if i == 0 and j < cols // 2:
                    w = v + 1
                elif i == 0 or (i == rows - 1 and j == cols - 1):
                    w = -v
                elif j % 2:
                    w = np.where(v > 0, v, 0.5 * v)
                else:
                    w = v * (i * 10 + j) if rows > 2 else 0 * v
                v[...] = np.where(v > 1.25, 99, w)
        close(y, want, depth=1)
        return dict(x=x), dict(y=y)


piecewise_case("piecewise", 21, 27)
piecewise_case("piecewise_two_rows", 16, 16)


def masks_case(name, m, n, dtype, set={}):
    @case(name, SPECS + "mask_stores.yaml", set=set)
    def _():
        b = 4
        x = normal(1, (m, n), dtype) if dtype != i8 else integers(1, -99, 99, (m, n), i8)

        def kernel(x, upper, striped):
            i, j = pl.program_id(0), pl.program_id(1)
            v = x[...]
            above = i * b + iota((b, b), 0) <= j * b + iota((b, b), 1)
            upper[...] = jnp.where(above, v, dtype(-1))
            striped[...] = jnp.full((b, b), 7, dtype)
            striped[1] = v[2]
            striped[2:, 1:3] = v[2:, 1:3]
            striped[0, pl.ds(i % 3, 2)] = jnp.full((2,), 5, dtype)
            striped[3, 3] = dtype(2)

        block = pl.BlockSpec((b, b), lambda i, j: (i, j))
        upper, striped = pl.pallas_call(
            kernel, grid=(cdiv(m, b), cdiv(n, b)), in_specs=[block], out_specs=[block, block],
            out_shape=[jax.ShapeDtypeStruct((m, n), dtype)] * 2, interpret=True)(x)
        v = np.array(x)
        close(upper, np.where(np.arange(m)[:, None] <= np.arange(n), v, np.full_like(v, -1)))
        row, col, want = np.arange(m)[:, None], np.arange(n), np.full_like(v, 7)
        start = row // b % 3
        want = np.where((row % b == 0) & (start <= col % b) & (col % b < start + 2), np.full_like(v, 5), want)
        want = np.where(row % b == 1, np.pad(v, ((0, 1), (0, 0)))[1:], want)
        want = np.where((row % b >= 2) & (col % b >= 1) & (col % b < 3), v, want)
        want = np.where((row % b == 3) & (col % b == 3), np.full_like(v, 2), want)
        close(striped, want)
        return dict(x=x), dict(upper=upper, striped=striped)


masks_case("mask_stores", 15, 18, f32)
masks_case("mask_stores_i8", 12, 9, i8, set={"T": "i8"})
masks_case("mask_stores_bf16", 7, 13, bf16, set={"T": "bf16"})


def affine_case(name, m, n, dtype=f32, per_row=True, with_shift=True, instance=""):
    @case(name, SPECS + "row_affine.yaml", instance=instance, depth=2)
    def _():
        bm, bn, gain = 4, 8, 1.5
        x = normal(1, (m, n), dtype)
        if per_row:
            a, a_spec = normal(2, (m, 1)), pl.BlockSpec((bm, 1), lambda i, j, _: (i, 0))
        elif dtype == f32:
            a, a_spec = normal(2, (1, 1)), pl.BlockSpec((1, 1), lambda i, j, _: (0, 0))
        else:
            a, a_spec = normal(2, (1, n), dtype), pl.BlockSpec((1, bn), lambda i, j, _: (0, j))
        given = dict(x=x, a=a) | (dict(b=normal(3, (n,), dtype)) if with_shift else {})

        def kernel(gain, x, a, *rest):
            y = rest[-1]
            v = gain[0] * wide(a[...]) * wide(x[...])
            if with_shift:
                v += wide(rest[0][...])
            if per_row:
                v += (pl.program_id(0) * bm < m // 2).astype(f32)
            y[...] = v.astype(dtype)

        block = pl.BlockSpec((bm, bn), lambda i, j, _: (i, j))
        y = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1, grid=(cdiv(m, bm), cdiv(n, bn)),
                in_specs=[block, a_spec] + [pl.BlockSpec((bn,), lambda i, j, _: (j,))] * with_shift, out_specs=block),
            out_shape=jax.ShapeDtypeStruct((m, n), dtype), interpret=True)(jnp.array([gain], f32), *given.values())
        want = gain * np.float64(a) * np.float64(x)
        want = want + (np.float64(given["b"]) if with_shift else 0)
        if per_row:
            want = want + (np.arange(m) // bm * bm < m // 2)[:, None]
        close(y, want, depth=2)
        return dict(gain=gain) | given, dict(y=y)


affine_case("row_affine", 10, 13)
affine_case("row_affine_scalar", 8, 8, per_row=False, with_shift=False, instance="row_affine_scalar")
affine_case("row_affine_f16", 6, 19, f16, per_row=False, instance="row_affine_f16")


@case("rope", SPECS + "rope.yaml", depth=2)
def _():
    n, heads, half, bn = 11, 3, 4, 4
    x, position = normal(1, (n, heads, 2 * half), bf16), integers(2, 0, 30, (n,))

    def kernel(x, position, y):
        frequency = jnp.exp2(iota((1, half), 1).astype(f32) * -1.5)
        angle = position[...][:, None].astype(f32) * frequency
        a, b = x[:, :half].astype(f32), x[:, half:].astype(f32)
        c, s = jnp.cos(angle), jnp.sin(angle)
        y[...] = jnp.concatenate([a * c - b * s, a * s + b * c], axis=1).astype(bf16)

    block = pl.BlockSpec((bn, None, 2 * half), lambda i, h: (i, h, 0))
    y = pl.pallas_call(kernel, grid=(cdiv(n, bn), heads), in_specs=[block, pl.BlockSpec((bn,), lambda i, h: (i,))],
                       out_specs=block, out_shape=jax.ShapeDtypeStruct(x.shape, bf16), interpret=True)(x, position)
    turn = np.exp(1j * np.float64(position)[:, None] * 2.0 ** (-1.5 * np.arange(half)))[:, None]
    z = (np.float64(x)[..., :half] + 1j * np.float64(x)[..., half:]) * turn
    close(y, np.concatenate([z.real, z.imag], axis=2), depth=2)
    return dict(x=x, position=position), dict(y=y)


def quantise_case(name, m, n, dtype, seed, set={}):
    @case(name, SPECS + "quantise_rows.yaml", set=set, depth=1)
    def _():
        bm, bn = 4, 8
        x = normal(seed, (m, n), dtype).at[2].set(0)

        def kernel(x, q, scale):
            p, j = pl.program_id(1), pl.program_id(2)
            v = x[...].astype(f32)
            v = jnp.where(j * bn + iota((bm, bn), 1) < n, v, 0)

            @pl.when(p == 0)
            def _():
                high = jnp.maximum(jnp.where(j == 0, 0.0, scale[...]), jnp.abs(v).max(axis=1, keepdims=True))
                done = jnp.where(high > 0, high / 127, 1)
                scale[...] = jnp.where(j == cdiv(n, bn) - 1, done, high)

            @pl.when(p == 1)
            def _():
                q[...] = jnp.clip(jnp.round(v / scale[...]), -127, 127).astype(i8)

        q, scale = pl.pallas_call(
            kernel, grid=(cdiv(m, bm), 2, cdiv(n, bn)), in_specs=[pl.BlockSpec((bm, bn), lambda i, p, j: (i, j))],
            out_specs=[
                pl.BlockSpec((bm, bn), lambda i, p, j: (i, p * j)),
                pl.BlockSpec((bm, 1), lambda i, p, j: (i, 0)),
            ],
            out_shape=[jax.ShapeDtypeStruct((m, n), i8), jax.ShapeDtypeStruct((m, 1), f32)], interpret=True)(x)
        v = np.float64(x)
        high = np.abs(v).max(axis=1, keepdims=True)
        want = np.where(high > 0, high / 127, 1)
        close(scale, want, depth=1)
        tie = np.abs(v / want % 1 - 0.5)
        assert tie.min() > 1e-4, "a quotient too close to a half"
        close(q, np.round(v / want).astype(np.int8))
        return dict(x=x), dict(q=q, scale=scale)


quantise_case("quantise_rows", 10, 21, f32, seed=1)
quantise_case("quantise_rows_bf16", 8, 16, bf16, seed=5, set={"T": "bf16"})


@case("adam", SPECS + "adam.yaml", depth=4)
def _():
    n, bn, rate, step = 29, 8, 0.125, 3
    p, g, m, v = normal(1, (n,)), normal(2, (n,), bf16), normal(3, (n,)), jnp.abs(normal(4, (n,)))

    def kernel(rate, step, p, g, m, v, p_out, m_out, v_out):
        grad, t = g[...].astype(f32), step[0].astype(f32)
        m_new, v_new = 0.75 * m[...] + 0.25 * grad, 0.9375 * v[...] + 0.0625 * grad**2
        m_hat, v_hat = m_new / (1 - 0.75**t), v_new / (1 - 0.9375**t)
        p_out[...] = p[...] - rate[0] * m_hat / (jnp.sqrt(v_hat) + 1e-6)
        m_out[...], v_out[...] = m_new, v_new

    block = pl.BlockSpec((bn,), lambda i, *_: (i,))
    outs = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=2, grid=(cdiv(n, bn),), in_specs=[block] * 4,
                                               out_specs=[block] * 3),
        out_shape=[jax.ShapeDtypeStruct((n,), f32)] * 3, input_output_aliases={2: 0, 4: 1, 5: 2}, interpret=True,
    )(jnp.array([rate], f32), jnp.array([step], i32), p, g, m, v)
    a, b, c, d = (np.float64(t) for t in (p, g, m, v))
    c, d = 0.75 * c + 0.25 * b, 0.9375 * d + 0.0625 * b * b
    a = a - rate * c / (1 - 0.75**step) / (np.sqrt(d / (1 - 0.9375**step)) + 1e-6)
    for o, want in zip(outs, (a, c, d)):
        close(o, want, depth=4)
    return dict(rate=rate, step=step, p=p, g=g, m=m, v=v), dict(zip(("p_out", "m_out", "v_out"), outs))


def kinds_case(name, flip):
    @case(name, SPECS + "scalar_kinds.yaml", depth=1, x64=True)
    def _():
        n, bn, offset, gain, low, bits = 11, 4, -(1 << 40), 1e-3 + 2.0**-40, -0.125, 3
        x = normal(1, (n,), f64, scale=200)

        def kernel(flip, offset, gain, low, bits, x, y, k):
            v = x[...]
            y[...] = jnp.where(flip[0] != 0, -v, jnp.maximum(gain[0] * v, low[0].astype(f64)))
            k[...] = (v.astype(i64) + offset[0]) << bits[0].astype(i64)

        scalars = [np.array([v], t) for v, t in ((flip, np.int32), (offset, np.int64), (gain, np.float64),
                                                 (low, np.float16), (bits, np.uint8))]
        block = pl.BlockSpec((bn,), lambda i, *_: (i,))
        y, k = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=5, grid=(cdiv(n, bn),), in_specs=[block],
                                                   out_specs=[block, block]),
            out_shape=[jax.ShapeDtypeStruct((n,), t) for t in (f64, i64)], interpret=True)(*scalars, x)
        v = np.array(x)
        close(y, -v if flip else np.maximum(gain * v, low), depth=1)
        close(k, (v.astype(np.int64) + offset) << bits)
        return dict(flip=flip, offset=offset, gain=gain, low=low, bits=bits, x=x), dict(y=y, k=k)


kinds_case("scalar_kinds", False)
kinds_case("scalar_kinds_flip", True)
