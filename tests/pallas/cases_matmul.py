"""Products: quantised, gated, batched, mapped, transposed, structured, by expert, and things made of dot."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.megablox.gmm import make_group_metadata

from harness import case, close, integers, normal

f32, bf16, f16, i8, i32, f64 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int8, jnp.int32, jnp.float64
SPECS = "tests/pallas/specs/"


def cdiv(a, b):
    return -(-a // b)


def iota(shape, axis):
    return jax.lax.broadcasted_iota(jnp.int32, shape, axis)


def known(ref, k, start, axis):
    """The block with zeros past the end of the dimension of the contraction."""
    v = ref[...]
    return jnp.where(start + iota(v.shape, axis) < k, v, jnp.zeros_like(v))


def dot(a, b, out=f32):
    return jnp.dot(a, b, preferred_element_type=out)


def zero_at(condition, *refs):
    @pl.when(condition)
    def _():
        for ref in refs:
            ref[...] = jnp.zeros_like(ref)


def tiled(m, n, k, bm, bn, bk):
    """Grid and blocks of the usual product."""
    grid = (cdiv(m, bm), cdiv(n, bn), cdiv(k, bk))
    x = pl.BlockSpec((bm, bk), lambda i, j, l: (i, l))
    y = pl.BlockSpec((bk, bn), lambda i, j, l: (l, j))
    z = pl.BlockSpec((bm, bn), lambda i, j, l: (i, j))
    return grid, x, y, z


def quantised_case(name, m, n, k, out, bm, depth, instance=""):
    @case(name, SPECS + "quantised_matmul.yaml", instance=instance, depth=depth)
    def _():
        bn = bk = 8
        x, w = integers(1, -128, 128, (m, k), i8), integers(2, -128, 128, (k, n), i8)
        x_scale, w_scale = jnp.abs(normal(3, (m,))) / 64, jnp.abs(normal(4, (n,))) / 64

        def kernel(x, w, x_scale, w_scale, z, acc):
            l = pl.program_id(2)
            zero_at(l == 0, acc)
            acc[...] += dot(known(x, k, l * bk, 1), known(w, k, l * bk, 0), i32)

            @pl.when(l == pl.num_programs(2) - 1)
            def _():
                z[...] = (acc[...].astype(f32) * x_scale[...][:, None] * w_scale[...]).astype(out)

        grid, xs, ys, zs = tiled(m, n, k, bm, bn, bk)
        z = pl.pallas_call(
            kernel,
            grid=grid,
            in_specs=[xs, ys, pl.BlockSpec((bm,), lambda i, j, l: (i,)), pl.BlockSpec((bn,), lambda i, j, l: (j,))],
            out_specs=zs,
            out_shape=jax.ShapeDtypeStruct((m, n), out),
            scratch_shapes=[pltpu.VMEM((bm, bn), i32)],
            interpret=True,
        )(x, w, x_scale, w_scale)
        want = np.int64(x) @ np.int64(w) * np.float64(x_scale)[:, None] * np.float64(w_scale)
        close(z, want, depth)
        return dict(x=x, w=w, x_scale=x_scale, w_scale=w_scale), dict(z=z)


quantised_case("quantised_matmul", 13, 11, 21, f32, 8, depth=3)
quantised_case("quantised_matmul_bf16", 33, 16, 24, bf16, 16, depth=1, instance="quantised_matmul_bf16")


@case("affine_matmul", SPECS + "affine_matmul.yaml")
def _():
    m, n, k, bm, bn, bk, zx, zw = 19, 10, 37, 8, 8, 16, 131, 7
    x, w = integers(1, 0, 256, (m, k), jnp.uint8), integers(2, 0, 256, (k, n), jnp.uint8)

    def kernel(zx, zw, x, w, z, rows, cols):
        l = pl.program_id(2)
        zero_at(l == 0, z, rows, cols)
        a, b = known(x, k, l * bk, 1), known(w, k, l * bk, 0)
        z[...] += dot(a.astype(i32), b.astype(i32), i32)
        rows[...] += a.astype(i32).sum(axis=1, keepdims=True)
        cols[...] += b.astype(i32).sum(axis=0, keepdims=True)

        @pl.when(l == pl.num_programs(2) - 1)
        def _():
            z[...] -= zw[0] * rows[...] + zx[0] * cols[...] - k * zx[0] * zw[0]

    z = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(cdiv(m, bm), cdiv(n, bn), cdiv(k, bk)),
            in_specs=[
                pl.BlockSpec((bm, bk), lambda i, j, l, *_: (i, l)),
                pl.BlockSpec((bk, bn), lambda i, j, l, *_: (l, j)),
            ],
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, l, *_: (i, j)),
            scratch_shapes=[pltpu.VMEM((bm, 1), i32), pltpu.VMEM((1, bn), i32)],
        ),
        out_shape=jax.ShapeDtypeStruct((m, n), i32),
        interpret=True,
    )(jnp.array([zx]), jnp.array([zw]), x, w)
    close(z, (np.int32(x) - zx) @ (np.int32(w) - zw))
    return dict(zx=zx, zw=zw, x=x, w=w), dict(z=z)


def gated_case(name, m, hidden, k, dtype, depth, bm=8, bf=16, bk=16, set={}):
    @case(name, SPECS + "gated_mlp.yaml", set=set, depth=depth)
    def _():
        x, gate, up = normal(1, (m, k), dtype), normal(2, (k, hidden), dtype, 0.5), normal(3, (k, hidden), dtype, 0.5)

        def kernel(x, gate, up, h, gate_acc, up_acc):
            l = pl.program_id(2)
            zero_at(l == 0, gate_acc, up_acc)
            a = known(x, k, l * bk, 1)
            gate_acc[...] += dot(a, known(gate, k, l * bk, 0))
            up_acc[...] += dot(a, known(up, k, l * bk, 0))

            @pl.when(l == pl.num_programs(2) - 1)
            def _():
                h[...] = (jax.nn.silu(gate_acc[...]) * up_acc[...]).astype(h.dtype)

        grid, xs, ys, zs = tiled(m, hidden, k, bm, bf, bk)
        h = pl.pallas_call(kernel, grid=grid, in_specs=[xs, ys, ys], out_specs=zs,
                           out_shape=jax.ShapeDtypeStruct((m, hidden), dtype),
                           scratch_shapes=[pltpu.VMEM((bm, bf), f32)] * 2, interpret=True)(x, gate, up)
        g, u = np.float64(x) @ np.float64(gate), np.float64(x) @ np.float64(up)
        close(h, g / (1 + np.exp(-g)) * u, depth)
        return dict(x=x, gate=gate, up=up), dict(h=h)


gated_case("gated_mlp", 13, 35, 40, bf16, depth=1)
gated_case("gated_mlp_f32", 16, 8, 12, f32, depth=16, bf=4, bk=4, set={"T": "f32", "bf": 4, "bk": 4})


def batched_case(name, batch, m, n, k, dtype, depth, bb=2, bm=4, bn=8, bk=8, set={}):
    @case(name, SPECS + "batched_matmul.yaml", set=set, depth=depth)
    def _():
        x, y = normal(1, (batch, m, k), dtype), normal(2, (batch, n, k), dtype)

        def kernel(x, y, z):
            l = pl.program_id(3)
            zero_at(l == 0, z)
            z[...] += jax.lax.dot_general(known(x, k, l * bk, 2), known(y, k, l * bk, 2),
                                          (((2,), (2,)), ((0,), (0,))), preferred_element_type=f32)

        z = pl.pallas_call(
            kernel,
            grid=(cdiv(batch, bb), cdiv(m, bm), cdiv(n, bn), cdiv(k, bk)),
            in_specs=[
                pl.BlockSpec((bb, bm, bk), lambda b, i, j, l: (b, i, l)),
                pl.BlockSpec((bb, bn, bk), lambda b, i, j, l: (b, j, l)),
            ],
            out_specs=pl.BlockSpec((bb, bm, bn), lambda b, i, j, l: (b, i, j)),
            out_shape=jax.ShapeDtypeStruct((batch, m, n), f32),
            interpret=True,
        )(x, y)
        close(z, np.einsum("bik,bjk->bij", np.float64(x), np.float64(y)), depth)
        return dict(x=x, y=y), dict(z=z)


batched_case("batched_matmul", 5, 7, 11, 19, f32, depth=19)
batched_case("batched_matmul_f16", 4, 8, 8, 16, f16, depth=16, set={"T": "f16"})


@case("vmap_matmul", SPECS + "vmap_matmul.yaml", depth=13)
def _():
    batch, m, n, k, bm, bn, bk = 3, 6, 9, 13, 4, 8, 8
    x, y = normal(1, (batch, m, k)), normal(2, (k, n))

    def kernel(x, y, z):
        l = pl.program_id(2)
        zero_at(l == 0, z)
        z[...] += dot(known(x, k, l * bk, 1), known(y, k, l * bk, 0))

    grid, xs, ys, zs = tiled(m, n, k, bm, bn, bk)
    call = pl.pallas_call(kernel, grid=grid, in_specs=[xs, ys], out_specs=zs,
                          out_shape=jax.ShapeDtypeStruct((m, n), f32), interpret=True)
    z = jax.vmap(call, in_axes=(0, None), out_axes=2)(x, y)
    close(z, np.einsum("bik,kj->ijb", np.float64(x), np.float64(y)), depth=13)
    return dict(x=x, y=y), dict(z=z)


def options_case(name, m, n, k, dtype=f32, acc=f32, lhs=False, rhs=False, bias=False, b=8, depth=1, instance="",
                 set={}, x64=False):
    @case(name, SPECS + "matmul_options.yaml", instance=instance, set=set, depth=depth, x64=x64)
    def _():
        if jnp.issubdtype(dtype, jnp.floating):
            x, y, bias_value = normal(1, (m, k), dtype), normal(2, (k, n), dtype), normal(3, (n,), acc)
        else:
            top = 100 if dtype == i8 else 1 << 20  # the products of the i32 case wrap
            x, y = integers(1, -top, top, (m, k), dtype), integers(2, -top, top, (k, n), dtype)
            bias_value = integers(3, -99, 99, (n,), acc)

        def kernel(x, y, *rest):
            bias_ref, z, total = rest if bias else (None, *rest)
            l = pl.program_id(2)
            zero_at(l == 0, total)
            left, right = known(x, k, l * b, 0 if lhs else 1), known(y, k, l * b, 1 if rhs else 0)
            total[...] += dot(left.T if lhs else left, right.T if rhs else right, acc)

            @pl.when(l == pl.num_programs(2) - 1)
            def _():
                z[...] = total[...] + bias_ref[...] if bias else total[...]

        grid, xs, ys, zs = tiled(m, n, k, b, b, b)
        xs = pl.BlockSpec((b, b), lambda i, j, l: (l, i)) if lhs else xs
        ys = pl.BlockSpec((b, b), lambda i, j, l: (j, l)) if rhs else ys
        given = dict(x=x.T if lhs else x, y=y.T if rhs else y) | (dict(bias=bias_value) if bias else {})
        z = pl.pallas_call(
            kernel,
            grid=grid,
            in_specs=[xs, ys] + [pl.BlockSpec((b,), lambda i, j, l: (j,))] * bias,
            out_specs=zs,
            out_shape=jax.ShapeDtypeStruct((m, n), acc),
            scratch_shapes=[pltpu.VMEM((b, b), acc)],
            interpret=True,
        )(*given.values())
        wide = np.int64 if jnp.issubdtype(acc, jnp.integer) else np.float64
        want = wide(x) @ wide(y) + (wide(bias_value) if bias else 0)
        close(z, want.astype(np.int32) if acc == i32 else want, depth)
        return given, dict(z=z)


options_case("matmul_options", 13, 11, 20, depth=20)
options_case("matmul_nt", 9, 17, 10, rhs=True, depth=10, instance="matmul_nt")
options_case("matmul_tn", 9, 17, 10, lhs=True, bias=True, depth=11, instance="matmul_tn")
options_case("matmul_tt", 12, 7, 18, lhs=True, rhs=True, depth=18, instance="matmul_tt")
options_case("matmul_tt_bf16_blocks_of_4", 6, 7, 9, bf16, f32, lhs=True, rhs=True, b=4, depth=9, instance="matmul_tt",
             set={"T": "bf16", "bm": 4, "bn": 4, "bk": 4})
options_case("matmul_f64", 10, 9, 21, f64, f64, bias=True, depth=22, instance="matmul_f64", x64=True)
options_case("matmul_i8", 17, 9, 23, i8, i32, bias=True, instance="matmul_i8")
options_case("matmul_i32", 9, 8, 11, i32, i32, instance="matmul_i32")


def variants_case(name, m, n, k, bm, bn, bk):
    @case(name, SPECS + "matmul_variants.yaml", depth=k)
    def _():
        x, y = normal(1, (m, k)), normal(2, (k, n))

        def kernel(x, y, z):
            l = pl.program_id(2)
            zero_at(l == 0, z)
            z[...] += dot(known(x, k, l * bk, 1), known(y, k, l * bk, 0))

        grid, xs, ys, zs = tiled(m, n, k, bm, bn, bk)
        z = pl.pallas_call(kernel, grid=grid, in_specs=[xs, ys], out_specs=zs,
                           out_shape=jax.ShapeDtypeStruct((m, n), f32), interpret=True)(x, y)
        close(z, np.float64(x) @ np.float64(y), depth=k)
        return dict(x=x, y=y), dict(z=z)


variants_case("matmul_variants_small", 7, 20, 40, bm=8, bn=16, bk=32)
variants_case("matmul_variants_middle", 20, 40, 20, bm=8, bn=32, bk=8)
variants_case("matmul_variants_bare", 20, 9, 20, bm=16, bn=16, bk=8)


@case("lora_matmul", SPECS + "lora_matmul.yaml", depth=2)
def _():
    m, n, k, r, bm, bn, bk = 11, 21, 48, 4, 8, 16, 16
    x, w, a, b = (normal(s, shape, bf16, 0.5) for s, shape in ((1, (m, k)), (2, (k, n)), (3, (k, r)), (4, (r, n))))

    def kernel(x, w, a, b, z, acc, low):
        l = pl.program_id(2)
        zero_at(l == 0, acc, low)
        acc[...] += dot(x[...], w[...])
        low[...] += dot(x[...], a[...])

        @pl.when(l == pl.num_programs(2) - 1)
        def _():
            z[...] = (acc[...] + 0.5 * dot(low[...].astype(bf16), b[...])).astype(bf16)

    grid, xs, ys, zs = tiled(m, n, k, bm, bn, bk)
    z = pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=[xs, ys, pl.BlockSpec((bk, r), lambda i, j, l: (l, 0)), pl.BlockSpec((r, bn), lambda i, j, l: (0, j))],
        out_specs=zs,
        out_shape=jax.ShapeDtypeStruct((m, n), bf16),
        scratch_shapes=[pltpu.VMEM((bm, bn), f32), pltpu.VMEM((bm, r), f32)],
        interpret=True,
    )(x, w, a, b)
    x64, w64, a64, b64 = (np.float64(v) for v in (x, w, a, b))
    close(z, x64 @ w64 + 0.5 * (x64 @ a64) @ b64, depth=2)
    return dict(x=x, w=w, a=a, b=b), dict(z=z)


def matvec_case(name, m, k, dtype=f32, set={}):
    @case(name, SPECS + "matvec.yaml", set=set, depth=k)
    def _():
        bm, bk = 4, 8
        x, v = normal(1, (m, k), dtype), normal(2, (k,), dtype)

        def kernel(x, v, y):
            l = pl.program_id(1)
            products = x[...].astype(f32) * v[...].astype(f32)
            part = jnp.where(l * bk + iota((bm, bk), 1) < k, products, 0.0).sum(axis=1)
            y[...] = jnp.where(l == 0, part, y[...] + part)

        y = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm), cdiv(k, bk)),
            in_specs=[pl.BlockSpec((bm, bk), lambda i, l: (i, l)), pl.BlockSpec((bk,), lambda i, l: (l,))],
            out_specs=pl.BlockSpec((bm,), lambda i, l: (i,)),
            out_shape=jax.ShapeDtypeStruct((m,), f32),
            interpret=True,
        )(x, v)
        close(y, np.float64(x) @ np.float64(v), depth=k)
        return dict(x=x, v=v), dict(y=y)


matvec_case("matvec", 11, 27)
matvec_case("matvec_bf16", 9, 16, bf16, set={"T": "bf16"})


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


@case("expert_matmul", SPECS + "expert_matmul.yaml", depth=1)
def _():
    m, n, k, experts, bm, bn, bk = 18, 13, 21, 3, 4, 8, 8
    expert = np.array([2, 0, -1, 0, 1], np.int32)
    x, w = normal(1, (m, k), f16), normal(2, (experts, k, n), f16)

    def kernel(expert, x, w, z, acc):
        i, l = pl.program_id(0), pl.program_id(2)
        zero_at(l == 0, acc)

        @pl.when(expert[i] >= 0)
        def _():
            acc[...] += dot(known(x, k, l * bk, 1), known(w, k, l * bk, 0))

        @pl.when(l == pl.num_programs(2) - 1)
        def _():
            z[...] = jax.nn.relu(acc[...]).astype(f16)

    z = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(len(expert), cdiv(n, bn), cdiv(k, bk)),
            in_specs=[
                pl.BlockSpec((bm, bk), lambda i, j, l, e: (i, l)),
                pl.BlockSpec((None, bk, bn), lambda i, j, l, e: (jnp.maximum(e[i], 0), l, j)),
            ],
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, l, e: (i, j)),
            scratch_shapes=[pltpu.VMEM((bm, bn), f32)],
        ),
        out_shape=jax.ShapeDtypeStruct((m, n), f16),
        interpret=True,
    )(expert, x, w)
    of_row = np.repeat(expert, bm)[:m]
    want = np.einsum("mk,mkn->mn", np.float64(x), np.float64(w)[of_row]).clip(0) * (of_row >= 0)[:, None]
    close(z, want, depth=1)
    return dict(expert=expert, x=x, w=w), dict(z=z)


def group_scale_case(name, sizes):
    @case(name, SPECS + "group_scale.yaml", depth=1)
    def _():
        tm, bn, n = 4, 8, 13
        m, groups = sum(sizes), len(sizes)
        x, scale = normal(1, (m, n)), normal(2, (groups, n))
        (offsets, ids, tiles), visits = make_group_metadata(
            group_sizes=jnp.array(sizes, i32), m=m, tm=tm, start_group=jnp.int32(0), num_nonzero_groups=groups,
            visit_empty_groups=False)

        def kernel(offsets, ids, tiles, x, scale, y):
            v = pl.program_id(1)
            row = tiles[v] * tm + iota((tm, bn), 0)
            mine = (offsets[ids[v]] <= row) & (row < offsets[ids[v] + 1])
            y[...] = jnp.where(mine, x[...] * scale[...], y[...])

        y = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=3,
                grid=(cdiv(n, bn), visits),
                in_specs=[
                    pl.BlockSpec((tm, bn), lambda j, v, offsets, ids, tiles: (tiles[v], j)),
                    pl.BlockSpec((None, bn), lambda j, v, offsets, ids, tiles: (ids[v], j)),
                ],
                out_specs=pl.BlockSpec((tm, bn), lambda j, v, offsets, ids, tiles: (tiles[v], j)),
            ),
            out_shape=jax.ShapeDtypeStruct((m, n), f32),
            interpret=True,
        )(offsets, ids, tiles, x, scale)
        close(y, np.float64(x) * np.float64(scale)[np.repeat(np.arange(groups), sizes)], depth=1)
        return dict(sizes=np.array(sizes, np.int32), x=x, scale=scale), dict(y=y)


group_scale_case("group_scale", [3, 0, 6, 1, 6])
group_scale_case("group_scale_aligned", [4, 8, 0, 0, 4])


def group_sum_case(name, sizes, m):
    @case(name, SPECS + "group_sum.yaml", depth=8)
    def _():
        tm, bn, n = 4, 8, 11
        groups = len(sizes)
        x = normal(1, (m, n))
        (offsets, ids, tiles), visits = make_group_metadata(
            group_sizes=jnp.array(sizes, i32), m=m, tm=tm, start_group=jnp.int32(0), num_nonzero_groups=groups,
            visit_empty_groups=True)

        def kernel(offsets, ids, tiles, x, total):
            v = pl.program_id(1)
            g = ids[v]
            row = tiles[v] * tm + iota((tm, bn), 0)
            part = jnp.where((offsets[g] <= row) & (row < offsets[g + 1]), x[...], 0.0).sum(axis=0)
            fresh = (v == 0) | (g != ids[jnp.maximum(v - 1, 0)])
            total[...] = jnp.where(fresh, 0.0, total[...]) + part

        total = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=3,
                grid=(cdiv(n, bn), visits),
                in_specs=[pl.BlockSpec((tm, bn), lambda j, v, offsets, ids, tiles: (tiles[v], j))],
                out_specs=pl.BlockSpec((None, bn), lambda j, v, offsets, ids, tiles: (ids[v], j)),
            ),
            out_shape=jax.ShapeDtypeStruct((groups, n), f32),
            interpret=True,
        )(offsets, ids, tiles, x)
        want, end = np.zeros((groups, n)), np.cumsum(sizes)
        for g, size in enumerate(sizes):
            want[g] = np.float64(x)[end[g] - size : end[g]].sum(axis=0)
        close(total, want, depth=8)
        return dict(sizes=np.array(sizes, np.int32), x=x), dict(total=total)


group_sum_case("group_sum", [0, 5, 0, 2, 6, 3], 16)
group_sum_case("group_sum_rows_left", [4, 0, 7], 20)


@case("head_scores", SPECS + "head_scores.yaml", depth=6)
def _():
    batch, heads, m, n, d, bb, bk = 3, 2, 4, 5, 21, 2, 8
    q, k = normal(1, (batch, heads, m, d), bf16), normal(2, (batch, heads, n, d), bf16)

    def kernel(q, k, s):
        l = pl.program_id(1)
        zero_at(l == 0, s)
        part = jnp.einsum("bhmd,bhnd->bhmn", known(q, d, l * bk, 3), known(k, d, l * bk, 3),
                          preferred_element_type=f32)
        s[...] = (s[...].astype(f32) + part).astype(bf16)

    def block(rows):
        return pl.BlockSpec((bb, heads, rows, bk), lambda b, l: (b, 0, 0, l))

    s = pl.pallas_call(
        kernel, grid=(cdiv(batch, bb), cdiv(d, bk)), in_specs=[block(m), block(n)],
        out_specs=pl.BlockSpec((bb, heads, m, n), lambda b, l: (b, 0, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((batch, heads, m, n), bf16), interpret=True)(q, k)
    close(s, np.einsum("bhmd,bhnd->bhmn", np.float64(q), np.float64(k)), depth=6)
    return dict(q=q, k=k), dict(s=s)


@case("gated_rows", SPECS + "gated_rows.yaml")
def _():
    n, k, d = 5, 9, 20
    x, w, v = integers(1, -4, 5, (n, k)).astype(f32), integers(2, -4, 5, (1, k)).astype(f32), normal(3, (n, d))

    def kernel(x, w, v, y, sign):
        score = dot(x[...], w[...].T)
        y[...] = jnp.where(jnp.broadcast_to(score[0] > 0, (d,)), v[...], v[...] * 0.25)
        other = dot(w[...], x[...].T)
        sign[...] = ((other > 0).astype(i32) - (score < 0).astype(i32)).reshape(1)

    row = pl.BlockSpec((None, d), lambda i: (i, 0))
    y, sign = pl.pallas_call(
        kernel, grid=(n,), in_specs=[pl.BlockSpec((1, k), lambda i: (i, 0)), pl.BlockSpec((1, k), lambda i: (0, 0)), row],
        out_specs=[row, pl.BlockSpec((1,), lambda i: (i,))],
        out_shape=[jax.ShapeDtypeStruct((n, d), f32), jax.ShapeDtypeStruct((n,), i32)], interpret=True)(x, w, v)
    score = np.array(x) @ np.array(w)[0]
    assert 0 < np.sum(score > 0) < n
    close(y, np.where(score[:, None] > 0, v, np.array(v) * 0.25))
    close(sign, np.sign(score).astype(np.int32))
    return dict(x=x, w=w, v=v), dict(y=y, sign=sign)


@case("widened_dots", SPECS + "widened_dots.yaml", depth=33, x64=True)
def _():
    m, n, k = 1, 5, 33
    x, z, w = normal(1, (m, k), f16), normal(2, (n, k)), normal(3, (k, m), bf16)
    y = normal(4, (k, n), f64)

    def kernel(x, z, w, y, half, gram, brain):
        wide = z[...].astype(f64)
        half[...] = dot(x[...].astype(f64), y[...], f64)
        gram[...] = dot(wide, wide.T, f64)
        brain[...] = dot(y[...].T, w[...].astype(f64), f64)

    half, gram, brain = pl.pallas_call(
        kernel, out_shape=[jax.ShapeDtypeStruct((m, n), f64), jax.ShapeDtypeStruct((n, n), f64),
                           jax.ShapeDtypeStruct((n, m), f64)], interpret=True)(x, z, w, y)
    close(half, np.float64(x) @ np.array(y), 33)
    close(gram, np.float64(z) @ np.float64(z).T, 33)
    close(brain, np.array(y).T @ np.float64(w), 33)
    return dict(x=x, z=z, w=w, y=y), dict(half=half, gram=gram, brain=brain)
