"""Elements in order: sorts, the largest, reversals, repetitions, and what runs along an axis."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

from harness import SPECS, case, cdiv, close, integers, normal

f32, bf16, f16, i8, u8, i32 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int8, jnp.uint8, jnp.int32


def with_specials(x):
    """Zeros of both signs, infinities and NaN among the elements, and equal ones."""
    specials = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], np.float32)
    flat = np.array(x, np.float32).ravel()
    flat[1 :: flat.size // 13] = np.resize(specials, flat[1 :: flat.size // 13].shape)
    return jnp.asarray(flat.reshape(x.shape)).astype(x.dtype)


def ordered_case(name, m, n, dtype, set={}):
    @case(name, SPECS + "ordered.yaml", set=set)
    def _():
        bm, top = 4, 3
        floats = jnp.issubdtype(dtype, jnp.floating)
        x = with_specials(normal(1, (m, n), scale=3).astype(dtype)) if floats else integers(1, 0, 100, (m, n), dtype)

        def kernel(x, up, down, order, order_down, value, place, turned, twice):
            up[...] = jnp.sort(x[...], axis=1)
            down[...] = jnp.sort(x[...], axis=1, descending=True)
            order[...] = jnp.argsort(x[...], axis=1)
            order_down[...] = jnp.argsort(x[...], axis=1, descending=True)
            value[...], place[...] = jax.lax.top_k(x[...], top)
            turned[...] = jnp.flip(x[...], axis=1)
            twice[...] = jnp.repeat(x[...], 2, axis=1)

        def rows(width):
            return pl.BlockSpec((bm, width), lambda i: (i, 0))

        widths = [(n, dtype), (n, dtype), (n, i32), (n, i32), (top, dtype), (top, i32), (n, dtype), (2 * n, dtype)]
        found = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm),),
            in_specs=[rows(n)],
            out_specs=[rows(width) for width, _ in widths],
            out_shape=[jax.ShapeDtypeStruct((m, width), of) for width, of in widths],
            interpret=True,
        )(x)
        up, down, order, order_down, value, place, turned, twice = found
        v = np.float64(x)
        by_size = np.argsort(np.where(np.isnan(v), np.inf, v), axis=1, kind="stable")
        if not np.isnan(v).any():
            close(order, by_size)
            close(place, np.argsort(-v, axis=1, kind="stable")[:, :top])
        close(up, np.sort(v, axis=1))
        close(down, np.sort(v, axis=1)[:, ::-1])
        close(turned, v[:, ::-1])
        close(twice, np.repeat(v, 2, axis=1))
        close(value, np.take_along_axis(v, np.array(place), axis=1))
        close(np.take_along_axis(v, np.array(order_down), axis=1), np.sort(v, axis=1)[:, ::-1])
        names = "up down order order_down value place turned twice".split()
        return dict(x=x), dict(zip(names, found))


ordered_case("ordered", 10, 45, f32)
ordered_case("ordered_long", 2, 300, f32)
ordered_case("ordered_bf16", 7, 33, bf16, set={"T": "bf16"})
ordered_case("ordered_f16", 5, 20, f16, set={"T": "f16"})
ordered_case("ordered_i32", 6, 64, i32, set={"T": "i32"})
ordered_case("ordered_i8", 9, 40, i8, set={"T": "i8"})
ordered_case("ordered_u8", 4, 17, u8, set={"T": "u8"})


def scans_case(name, m, n, dtype, depth=0, set={}):
    @case(name, SPECS + "scans.yaml", set=set, depth=depth)
    def _():
        x = normal(1, (m, n)) if dtype == f32 else integers(1, -3, 4, (m, n), dtype)

        def kernel(x, sums, products, most, least, sums_down, most_back, sums_back, columns, turned):
            v = x[...]
            sums[...] = jax.lax.cumsum(v, axis=1)
            products[...] = jax.lax.cumprod(v, axis=1)
            most[...] = jax.lax.cummax(v, axis=1)
            least[...] = jax.lax.cummin(v, axis=0)
            sums_down[...] = jax.lax.cumsum(v, axis=0)
            most_back[...] = jax.lax.cummax(v, axis=0, reverse=True)
            sums_back[...] = jax.lax.cumsum(v, axis=1, reverse=True)
            columns[...] = jnp.sort(v, axis=0)
            turned[...] = jnp.flip(v)

        found = pl.pallas_call(kernel, out_shape=[jax.ShapeDtypeStruct((m, n), dtype)] * 9, interpret=True)(x)
        sums, products, most, least, sums_down, most_back, sums_back, columns, turned = found
        v = np.float64(x) if dtype == f32 else np.array(x, np.int32)
        close(sums, np.cumsum(v, axis=1, dtype=v.dtype), depth)
        with np.errstate(over="ignore"):
            close(products, np.cumprod(v, axis=1, dtype=v.dtype), depth)
        close(most, np.maximum.accumulate(v, axis=1))
        close(least, np.minimum.accumulate(v, axis=0))
        close(sums_down, np.cumsum(v, axis=0, dtype=v.dtype), depth)
        close(most_back, np.maximum.accumulate(v[::-1], axis=0)[::-1])
        close(sums_back, np.cumsum(v[:, ::-1], axis=1, dtype=v.dtype)[:, ::-1], depth)
        close(columns, np.sort(v, axis=0))
        close(turned, v[::-1, ::-1])
        names = "sums products most least sums_down most_back sums_back columns turned".split()
        return dict(x=x), dict(zip(names, found))


scans_case("scans", 7, 45, f32, depth=45)
scans_case("scans_i32", 20, 33, i32, set={"T": "i32"})
