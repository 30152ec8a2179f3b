"""Products that know their matrices: circulant, triangular, complex, of a matrix with itself, distances."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from calls import dot, known, tiled, zero_at
from harness import SPECS, case, cdiv, close, iota, normal

f32 = jnp.float32


@case("circulant_matmul", SPECS + "circulant_matmul.yaml", depth=16)
def _():
    b, bn, m, n = 4, 8, 16, 11
    c, x = normal(1, (b, m)), normal(2, (m, n))

    def kernel(c, x, z):
        zero_at(pl.program_id(2) == 0, z)
        z[...] += dot(c[...], x[...])

    z = pl.pallas_call(
        kernel,
        grid=(m // b, cdiv(n, bn), m // b),
        in_specs=[
            pl.BlockSpec((b, b), lambda i, j, l: (0, (l - i) % (m // b))),
            pl.BlockSpec((b, bn), lambda i, j, l: (l, j)),
        ],
        out_specs=pl.BlockSpec((b, bn), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), f32),
        interpret=True,
    )(c, x)
    full = np.concatenate([np.roll(np.float64(c), i * b, axis=1) for i in range(m // b)])
    close(z, full @ np.float64(x), depth=16)
    return dict(c=c, x=x), dict(z=z)


@case("triangular_matmul", SPECS + "triangular_matmul.yaml", depth=18)
def _():
    b, bn, m, n = 4, 8, 18, 13
    x, y = normal(1, (m, m)), normal(2, (m, n))

    def kernel(x, y, z, acc):
        i, l = pl.program_id(0), pl.program_id(2)
        zero_at(l == 0, acc)
        right = known(y, m, jnp.minimum(l, i) * b, 0)

        @pl.when(l < i)
        def _():
            acc[...] += dot(x[...], right)

        @pl.when(l == i)
        def _():
            acc[...] += dot(jnp.where(iota((b, b), 1) <= iota((b, b), 0), x[...], 0.0), right)

        @pl.when(l == pl.num_programs(2) - 1)
        def _():
            z[...] = acc[...]

    z = pl.pallas_call(
        kernel,
        grid=(cdiv(m, b), cdiv(n, bn), cdiv(m, b)),
        in_specs=[
            pl.BlockSpec((b, b), lambda i, j, l: (i, jnp.minimum(l, i))),
            pl.BlockSpec((b, bn), lambda i, j, l: (jnp.minimum(l, i), j)),
        ],
        out_specs=pl.BlockSpec((b, bn), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), f32),
        scratch_shapes=[pltpu.VMEM((b, bn), f32)],
        interpret=True,
    )(x, y)
    close(z, np.tril(np.float64(x)) @ np.float64(y), depth=18)
    return dict(x=x, y=y), dict(z=z)


@case("complex_matmul", SPECS + "complex_matmul.yaml", depth=60)
def _():
    m, n, k, bm, bn, bk = 7, 6, 19, 4, 4, 8
    x_re, x_im, y_re, y_im = normal(1, (m, k)), normal(2, (m, k)), normal(3, (k, n)), normal(4, (k, n))

    def kernel(x_re, x_im, y_re, y_im, z_re, z_im, ac, bd, mixed):
        l = pl.program_id(2)
        zero_at(l == 0, ac, bd, mixed)
        a, b = known(x_re, k, l * bk, 1), known(x_im, k, l * bk, 1)
        c, d = known(y_re, k, l * bk, 0), known(y_im, k, l * bk, 0)
        ac[...] += dot(a, c)
        bd[...] += dot(b, d)
        mixed[...] += dot(a + b, c + d)

        @pl.when(l == pl.num_programs(2) - 1)
        def _():
            z_re[...] = ac[...] - bd[...]
            z_im[...] = mixed[...] - ac[...] - bd[...]

    grid, xs, ys, zs = tiled(m, n, k, bm, bn, bk)
    z_re, z_im = pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=[xs, xs, ys, ys],
        out_specs=[zs, zs],
        out_shape=[jax.ShapeDtypeStruct((m, n), f32)] * 2,
        scratch_shapes=[pltpu.VMEM((bm, bn), f32)] * 3,
        interpret=True,
    )(x_re, x_im, y_re, y_im)
    want = (np.float64(x_re) + 1j * np.float64(x_im)) @ (np.float64(y_re) + 1j * np.float64(y_im))
    close(z_re, want.real, depth=60)
    close(z_im, want.imag, depth=60)
    return dict(x_re=x_re, x_im=x_im, y_re=y_re, y_im=y_im), dict(z_re=z_re, z_im=z_im)


@case("gram", SPECS + "gram.yaml", depth=21)
def _():
    m, k, b, bk = 14, 21, 4, 8
    x = normal(1, (m, k))

    def kernel(x, across, g):
        l = pl.program_id(2)
        zero_at(l == 0, g)
        g[...] += dot(known(x, k, l * bk, 1), known(across, k, l * bk, 1).T)

    g = pl.pallas_call(
        kernel,
        grid=(cdiv(m, b), cdiv(m, b), cdiv(k, bk)),
        in_specs=[pl.BlockSpec((b, bk), lambda i, j, l: (i, l)), pl.BlockSpec((b, bk), lambda i, j, l: (j, l))],
        out_specs=pl.BlockSpec((b, b), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, m), f32),
        interpret=True,
    )(x, x)
    close(g, np.float64(x) @ np.float64(x).T, depth=21)
    return dict(x=x), dict(g=g)


@case("pairwise_distance", SPECS + "pairwise_distance.yaml", depth=12)
def _():
    m, n, d, bm, bn = 10, 19, 3, 4, 8
    x, y = normal(1, (m, d)), normal(2, (n, d))

    def kernel(x, y, squared, manhattan):
        xx = (x[...] ** 2).sum(axis=1, keepdims=True)
        yy = (y[...] ** 2).sum(axis=1)
        squared[...] = jnp.maximum(xx + yy - 2 * dot(x[...], y[...].T), 0)

        def step(c, total):
            return total + jnp.abs(x[:, pl.ds(c, 1)] - y[:, pl.ds(c, 1)].T)

        manhattan[...] = jax.lax.fori_loop(0, d, step, jnp.zeros((bm, bn), f32))

    block = pl.BlockSpec((bm, bn), lambda i, j: (i, j))
    squared, manhattan = pl.pallas_call(
        kernel,
        grid=(cdiv(m, bm), cdiv(n, bn)),
        in_specs=[pl.BlockSpec((bm, d), lambda i, j: (i, 0)), pl.BlockSpec((bn, d), lambda i, j: (j, 0))],
        out_specs=[block, block],
        out_shape=[jax.ShapeDtypeStruct((m, n), f32)] * 2,
        interpret=True,
    )(x, y)
    diff = np.float64(x)[:, None] - np.float64(y)
    close(squared, (diff**2).sum(-1), depth=12)
    close(manhattan, np.abs(diff).sum(-1), depth=12)
    return dict(x=x, y=y), dict(squared=squared, manhattan=manhattan)
