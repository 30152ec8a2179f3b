"""Products: quantised, gated, batched, mapped, transposed, of low rank, by vectors, of mixed types."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from calls import dot, known, tiled, zero_at
from harness import SPECS, case, cdiv, close, integers, iota, normal

f32, bf16, f16, f64, i8, i32 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.float64, jnp.int8, jnp.int32


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
        kernel, grid=(n,),
        in_specs=[pl.BlockSpec((1, k), lambda i: (i, 0)), pl.BlockSpec((1, k), lambda i: (0, 0)), row],
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
