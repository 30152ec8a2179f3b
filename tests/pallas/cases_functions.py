"""Every function and operator of the language on every type it has."""
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

from calls import float_to_int, short, tiles, wide
from harness import SPECS, case, close, normal, rng

f32, bf16, f16, f64 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.float64
i8, u8, i16, u16, i32, u32, i64 = jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32, jnp.uint32, jnp.int64


def unary_case(spec, dtype, functions, want, scale, depth, m=9, n=21):
    """`functions` and `want` map the name of an output to what makes it, of a jnp and of an f64 numpy array."""

    @case(f"{spec}_{short(dtype)}", SPECS + spec + ".yaml", set={} if dtype == f32 else {"T": short(dtype)},
          depth=depth, x64=dtype == f64)
    def _():
        x = normal(1, (m, n), dtype, scale)
        outs = tiles(lambda v: [f(wide(v)) for f in functions.values()], (4, 8), [x], [dtype] * len(functions))
        outs = dict(zip(functions, outs))
        for name, o in outs.items():
            close(o, want[name](np.float64(x)), depth)
        return dict(x=x), outs


for dtype in (f32, bf16, f16, f64):
    unary_case(
        "unary_rounding", dtype,
        dict(abs=jnp.abs, sign=jnp.sign, floor=jnp.floor, ceil=jnp.ceil, round=jnp.round, relu=jax.nn.relu,
             negative=lambda v: -v),
        dict(abs=np.abs, sign=np.sign, floor=np.floor, ceil=np.ceil, round=np.round, relu=lambda v: np.maximum(v, 0),
             negative=lambda v: -v),
        scale=3, depth=0)
    unary_case(
        "unary_exponential", dtype,
        dict(exp_x=jnp.exp, exp2_x=jnp.exp2, log_x=lambda v: jnp.log(abs(v) + 0.25),
             log2_x=lambda v: jnp.log2(abs(v) + 0.25), log1p_x=lambda v: jnp.log1p(abs(v) + 0.25),
             sqrt_x=lambda v: jnp.sqrt(abs(v) + 0.25), rsqrt_x=lambda v: jax.lax.rsqrt(abs(v) + 0.25)),
        dict(exp_x=np.exp, exp2_x=np.exp2, log_x=lambda v: np.log(abs(v) + 0.25),
             log2_x=lambda v: np.log2(abs(v) + 0.25), log1p_x=lambda v: np.log1p(abs(v) + 0.25),
             sqrt_x=lambda v: np.sqrt(abs(v) + 0.25), rsqrt_x=lambda v: 1 / np.sqrt(abs(v) + 0.25)),
        scale=2, depth=2)
    unary_case(
        "unary_smooth", dtype,
        dict(tanh_x=jnp.tanh, erf_x=jax.lax.erf, sigmoid_x=jax.nn.sigmoid, sin_x=jnp.sin, cos_x=jnp.cos,
             gelu_x=lambda v: jax.nn.gelu(v, approximate=False), gelu_tanh_x=jax.nn.gelu, silu_x=jax.nn.silu),
        dict(tanh_x=np.tanh, erf_x=scipy.special.erf, sigmoid_x=scipy.special.expit, sin_x=np.sin, cos_x=np.cos,
             gelu_x=lambda v: v * 0.5 * (1 + scipy.special.erf(v / np.sqrt(2))),
             gelu_tanh_x=lambda v: 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))),
             silu_x=lambda v: v * scipy.special.expit(v)),
        scale=2, depth=3)


def quietly(function):
    def of(x):
        with np.errstate(invalid="ignore"):  # NaN where it has no value
            return function(x)
    return of


for dtype in (f32, bf16, f64):
    unary_case(
        "unary_inverse", dtype,
        dict(expm1_x=jnp.expm1, cbrt_x=jnp.cbrt, erfc_x=jax.lax.erfc, tan_x=jnp.tan, asin_x=jnp.arcsin,
             acos_x=jnp.arccos, atan_x=jnp.arctan, sinh_x=jnp.sinh, cosh_x=jnp.cosh, asinh_x=jnp.arcsinh,
             acosh_x=jnp.arccosh, atanh_x=jnp.arctanh),
        dict(expm1_x=np.expm1, cbrt_x=np.cbrt, erfc_x=scipy.special.erfc, tan_x=np.tan, asin_x=quietly(np.arcsin),
             acos_x=quietly(np.arccos), atan_x=np.arctan, sinh_x=np.sinh, cosh_x=np.cosh, asinh_x=np.arcsinh,
             acosh_x=quietly(np.arccosh), atanh_x=quietly(np.arctanh)),
        scale=2, depth=3)


def float_case(dtype, m=7, n=19):
    @case(f"float_arithmetic_{short(dtype)}", SPECS + "float_arithmetic.yaml",
          set={} if dtype == f32 else {"T": short(dtype)}, depth=3, x64=dtype == f64)
    def _():
        x = normal(1, (m, n), dtype, scale=3)
        # Of small divisors the floors are the same however the quotient is rounded.
        y = jnp.asarray(rng(2).choice([-2.5, -1, -0.5, 0.75, 1.5, 2, 3], n), dtype)
        names = "sums products quotients floors mods rems powers larger smaller limited".split()

        def body(x, y):
            a, b = wide(x), wide(y)
            return (a + b - 2 * (b - 1), a * b * -0.5, a / b + 1 / b, a // b, a % b,
                    jax.lax.rem(a, jnp.broadcast_to(b, a.shape)), (abs(a) + 1) ** b + a**2,
                    jnp.maximum(x, y), jnp.minimum(x, y), jnp.clip(a, -1.5, 2))

        outs = dict(zip(names, tiles(body, (4, 8), [x, y], [dtype] * len(names))))
        a, b = np.float64(x), np.float64(y)
        want = (a + b - 2 * (b - 1), a * b * -0.5, a / b + 1 / b, a // b, a % b, np.fmod(a, b),
                (abs(a) + 1) ** b + a**2, np.maximum(a, b), np.minimum(a, b), np.clip(a, -1.5, 2))
        for o, w in zip(outs.values(), want):
            close(o, w, depth=3)
        return dict(x=x, y=y), outs


for dtype in (f32, bf16, f16, f64):
    float_case(dtype)


def angles_case(dtype, m=9, n=21):
    @case(f"angles_{short(dtype)}", SPECS + "angles.yaml", set={} if dtype == f32 else {"T": short(dtype)},
          depth=3, x64=dtype == f64)
    def _():
        special = [0.0, -0.0, np.inf, -np.inf, 1, -1, np.nan, 1e-3]
        y = np.array(normal(1, (m, n), dtype, scale=4))
        y[0, :8], y[:8, 0] = special, special
        x = np.array(normal(2, (n,), dtype, scale=4))
        x[:8] = special
        y[1, :8] = np.nan
        y[2:5, 1:8] = np.array([[0.0], [-0.0], [np.inf]])
        y, x = jnp.asarray(y, dtype), jnp.asarray(x, dtype)
        outs = dict(zip(("angle", "softplus_y"), tiles(
            lambda y, x: (jnp.arctan2(wide(y), jnp.broadcast_to(wide(x), y.shape)), jax.nn.softplus(wide(y))),
            (4, 8), [y, x], [dtype] * 2)))
        a, b = np.float64(y), np.float64(x)
        close(outs["angle"], np.arctan2(a, np.broadcast_to(b, a.shape)), depth=3)
        with np.errstate(invalid="ignore"):  # of NaN
            close(outs["softplus_y"], np.logaddexp(a, 0), depth=3)
        return dict(y=y, x=x), outs


for dtype in (f32, bf16, f16, f64):
    angles_case(dtype)


@case("float_specials", SPECS + "float_specials.yaml")
def _():
    values = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan], np.float32)
    x, y = (jnp.asarray(v.ravel()) for v in np.meshgrid(values, values))

    def body(x, y):
        return (x < y, x == y, x != y, (-jnp.inf < x) & (x <= y), jnp.maximum(x, y), jnp.minimum(x, y),
                jnp.where((x == jnp.inf) | (x == -jnp.inf), jnp.nan, x + y), x.astype(i32), x // y)

    types = [jnp.bool_] * 4 + [f32] * 3 + [i32, f32]
    names = "less same other within larger smaller marked whole floors".split()
    outs = dict(zip(names, tiles(body, (4,), [x, y], types)))
    a, b = np.array(x), np.array(y)
    close(outs["less"], a < b)
    close(outs["same"], a == b)
    close(outs["other"], a != b)
    close(outs["within"], (-np.inf < a) & (a <= b))
    close(outs["larger"], np.maximum(a, b))
    close(outs["smaller"], np.minimum(a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        close(outs["marked"], np.where(np.isinf(a), np.nan, a + b))
        close(outs["floors"], np.floor_divide(a, b))
    close(outs["whole"], float_to_int(a, np.int32))
    return dict(x=x, y=y), outs


def int_pairs(dtype, shape):
    """Pairs that overflow, with the extremes of the type among them; the second is never 0."""
    info = jnp.iinfo(dtype)
    draw = rng(1)
    x, y = (draw.integers(info.min, info.max, shape, dtype=np.dtype(dtype), endpoint=True) for _ in range(2))
    x.flat[:4] = info.min, info.max, info.min, 0
    y.flat[:4] = 1, info.max, info.max, info.min
    small = draw.integers(-9, 10, shape)  # so that quotients are of every size
    y = np.where(draw.random(shape) < 0.5, small.astype(y.dtype), y)
    return x, np.where(y == 0, 3, y).astype(x.dtype)


def int_case(dtype, m=6, n=13):
    @case(f"int_arithmetic_{short(dtype)}", SPECS + "int_arithmetic.yaml",
          set={} if dtype == i32 else {"T": short(dtype)}, x64=dtype == i64)
    def _():
        x, y = (jnp.asarray(v) for v in int_pairs(dtype, (m, n)))
        names = "sums differences products floors mods rems larger smaller mixed less".split()

        def body(x, y):
            # In the type itself: after the last step wraps, that is the same as in 32 bits.
            return (x + y, x - y, x * y, x // y, x % y, jax.lax.rem(x, y), jnp.maximum(x, y), jnp.minimum(x, y),
                    (x & y) ^ (x | dtype(5)) ^ ~y, x < y)

        outs = dict(zip(names, tiles(body, (4, 8), [x, y], [dtype] * 9 + [jnp.bool_])))
        a, b = (np.array(v).astype(object) for v in (x, y))
        rem = np.vectorize(lambda p, q: abs(p) % abs(q) * (1 if p >= 0 else -1), otypes=[object])
        bits = 8 * np.dtype(dtype).itemsize

        def wrap(v):
            v = v % (1 << bits)
            return (v if jnp.iinfo(dtype).min == 0 else (v + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)).astype(
                np.dtype(dtype))

        want = (a + b, a - b, a * b, a // b, a % b, rem(a, b), np.maximum(a, b), np.minimum(a, b))
        for name, w in zip(names, want):
            close(outs[name], wrap(w))
        x, y = np.array(x), np.array(y)
        close(outs["mixed"], (x & y) ^ (x | x.dtype.type(5)) ^ ~y)
        close(outs["less"], x < y)
        return dict(x=x, y=y), outs


for dtype in (i32, u32, i8, u8, i16, u16, i64):
    int_case(dtype)


def shift_case(dtype):
    @case(f"int_shifts_{short(dtype)}", SPECS + "int_shifts.yaml", set={} if dtype == i32 else {"T": short(dtype)},
          x64=dtype == i64)
    def _():
        bits = 8 * np.dtype(dtype).itemsize
        x, _ = int_pairs(dtype, 45)
        by = (np.arange(45) * 7 % (2 * bits)).astype(x.dtype)
        by[:6] = 0, 1, bits - 1, bits, bits + 1, 2 * bits - 1

        # A narrow type is shifted in 32 bits and then cut: for these distances the same as in the type itself.
        outs = tiles(lambda x, by: (x << by, x >> by, ((wide(x) << 3) >> 2).astype(dtype)), (8,),
                     [jnp.asarray(x), jnp.asarray(by)], [dtype] * 3)
        want_left = [int(v) << int(b) for v, b in zip(x, by)]
        want_right = [int(v) >> int(b) for v, b in zip(x, by)]
        mask = (1 << bits) - 1
        unsigned = f"u{np.dtype(dtype).itemsize}"
        close(np.array(outs[0]).view(unsigned), np.array([v & mask for v in want_left], unsigned))
        close(outs[1], np.array(want_right, x.dtype))
        return dict(x=x, by=by), dict(left=outs[0], right=outs[1], both=outs[2])


for dtype in (i32, u32, i8, u8, i16, i64):
    shift_case(dtype)


def signed_case(dtype):
    @case(f"int_signed_{short(dtype)}", SPECS + "int_signed.yaml", set={} if dtype == i32 else {"T": short(dtype)},
          x64=dtype == i64)
    def _():
        info = np.iinfo(np.dtype(dtype))
        x, _ = int_pairs(dtype, 29)
        x[:6] = info.min, info.min + 1, info.max, 0, -1, 7
        names = "magnitude direction negative limited cube half odd".split()

        def body(x):
            return jnp.abs(x), jnp.sign(x), -x, jnp.clip(x, -100, 77), x**3, x // dtype(2), x % dtype(2) == 1

        outs = dict(zip(names, tiles(body, (8,), [jnp.asarray(x)], [dtype] * 6 + [jnp.bool_])))
        with np.errstate(over="ignore"):
            close(outs["magnitude"], np.abs(x))
            close(outs["cube"], x * x * x)
            close(outs["negative"], (0 * x - x).astype(x.dtype))
        close(outs["direction"], np.sign(x))
        close(outs["limited"], np.clip(x, -100, 77))
        close(outs["half"], x // x.dtype.type(2))
        close(outs["odd"], x % 2 == 1)
        return dict(x=x), outs


for dtype in (i32, i8, i16, i64):
    signed_case(dtype)
