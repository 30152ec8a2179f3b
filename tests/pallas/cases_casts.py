"""Casts and bitcasts between all types."""
import jax
import jax.numpy as jnp
import numpy as np

from calls import float_to_int, short, tiles
from harness import SPECS, case, close, normal, rng

f32, bf16, f16, f64 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.float64
i8, u8, i16, u16, i32, u32, i64 = jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32, jnp.uint32, jnp.int64

NARROW = dict(to_i8=i8, to_u8=u8, to_i16=i16, to_u16=u16, to_i32=i32, to_u32=u32, to_bool=jnp.bool_, to_bf16=bf16,
              to_f16=f16, to_f32=f32)


def from_float_case(dtype):
    @case(f"casts_from_{short(dtype)}", SPECS + "casts_from_float.yaml",
          set={} if dtype == f32 else {"T": short(dtype)})
    def _():
        x = [0.0, -0.0, 0.5, -0.5, 0.99, -0.99, 1.5, -1.5, 126.9, 127.0, 128.0, -128.0, -129.0, 255.0, 255.9, 256.0,
             -1.0, 32767.5, 32768.0, -32768.9, -32769.0, 65535.9, 65536.0, 2147483520.0, 2147483648.0, -2147483648.0,
             -3e9, 4294967040.0, 4294967296.0, 1e20, -1e20, np.inf, -np.inf, np.nan, 3.14159, -2.71828, 65519.0,
             65520.0, 1e-7, 6e-8, 2e-8, 1.00390625, 1.01171875, 3e38, 1e-30]
        with np.errstate(over="ignore"):
            x = jnp.asarray(np.array(x).astype(dtype))

        outs = tiles(lambda v: [v.astype(t) for t in NARROW.values()], (16,), [x], list(NARROW.values()))
        outs = dict(zip(NARROW, outs))
        for name, t in NARROW.items():
            got, v = outs[name], np.array(x)
            if jnp.issubdtype(t, jnp.integer):
                close(got, float_to_int(v, np.dtype(t)))
            elif t != jnp.bool_:
                with np.errstate(over="ignore"):
                    close(got, v.astype(t))
        close(outs["to_bool"], np.array(x) != 0)
        return dict(x=x), outs


for dtype in (f32, bf16, f16):
    from_float_case(dtype)


def from_int_case(dtype):
    @case(f"casts_from_{short(dtype)}", SPECS + "casts_from_int.yaml", set={} if dtype == i32 else {"T": short(dtype)})
    def _():
        if dtype == jnp.bool_:
            x = rng(1).random(21) < 0.5
        else:
            info = np.iinfo(np.dtype(dtype))
            corners = [0, 1, 127, 128, 255, 256, 257, 32767, 32768, 65519, 65520, 65536, 16777217, 16777219]
            corners += [-c for c in corners] + [info.min, info.max, info.max - 1]
            x = np.array([c for c in corners if info.min <= c <= info.max], np.dtype(dtype))
        outs = tiles(lambda v: [v.astype(t) for t in NARROW.values()], (16,), [jnp.asarray(x)], list(NARROW.values()))
        outs = dict(zip(NARROW, outs))
        for name, t in NARROW.items():
            with np.errstate(over="ignore"):
                close(outs[name], x.astype(t))
        return dict(x=x), outs


for dtype in (i32, u32, i8, u8, i16, u16, jnp.bool_):
    from_int_case(dtype)


@case("casts_64", SPECS + "casts_64.yaml", x64=True)
def _():
    x = np.array([0.5, -1.75, 1e10, -1e18, 1e300, -1e300, np.nan, np.inf, 2.0**53 + 2, 127.99, -129, 1 + 2.0**-24,
                  1 + 3 * 2.0**-24])
    k = np.array([0, -1, 1 << 40, -(1 << 62), (1 << 63) - 1, -(1 << 63), 65535, 65536, (1 << 53) + 1, 3000000007,
                  -3000000007, 1 << 31, 255])

    def body(x, k):
        return (x.astype(i64), x.astype(f32), x.astype(i8), k.astype(f64), k.astype(u16), k.astype(i32),
                (k * 3000000007 + x.astype(i64)) ^ (k >> 7))

    names = "x_i64 x_f32 x_i8 k_f64 k_u16 k_i32 mixed".split()
    outs = dict(zip(names, tiles(body, (8,), [jnp.asarray(x), jnp.asarray(k)], [i64, f32, i8, f64, u16, i32, i64])))
    close(outs["x_i64"], float_to_int(x, np.int64))
    close(outs["x_i8"], float_to_int(x, np.int8))
    with np.errstate(over="ignore"):
        close(outs["x_f32"], x.astype(np.float32))
        close(outs["mixed"], (k * 3000000007 + float_to_int(x, np.int64)) ^ (k >> 7))
    close(outs["k_f64"], k.astype(np.float64))
    close(outs["k_u16"], k.astype(np.uint16))
    close(outs["k_i32"], k.astype(np.int32))
    return dict(x=x, k=k), outs


@case("bitcasts", SPECS + "bitcasts.yaml")
def _():
    x, h = normal(1, (21,), scale=9) + 0.01, normal(2, (21,), bf16)
    cast = jax.lax.bitcast_convert_type

    def body(x, h):
        s = cast(x, i32)
        return (cast(x, u32), s ^ ((s >> 31) & 0x7FFFFFFF), cast(s + 0x00800000, f32),
                cast(cast(h, u16).astype(u32) << 16, f32), cast(h, u16), cast(cast(h, i16), f16))

    names = "bits order twice widened half_bits as_f16".split()
    outs = dict(zip(names, tiles(body, (8,), [x, h], [u32, i32, f32, f32, u16, f16])))
    v = np.array(x)
    close(outs["bits"], v.view(np.uint32))
    assert np.array_equal(np.argsort(outs["order"]), np.argsort(v))
    close(outs["twice"], v * 2)
    close(outs["widened"], np.float32(h))
    close(outs["half_bits"], np.array(h).view(np.uint16))
    close(outs["as_f16"], np.array(h).view(np.float16))
    return dict(x=x, h=h), outs
