"""Element by element: every function and operator of the language on every type it has, casts, masks, choices."""
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import case, close, integers, normal, rng

f32, bf16, f16, f64 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.float64
i8, u8, i16, u16, i32, u32, i64 = (jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32, jnp.uint32, jnp.int64)
SPECS = "tests/pallas/specs/"


def cdiv(a, b):
    return -(-a // b)


def iota(shape, axis):
    return jax.lax.broadcasted_iota(jnp.int32, shape, axis)


def short(dtype):
    return dtype.__name__.replace("bfloat", "bf").replace("float", "f").replace("uint", "u").replace("int", "i")


def tiles(body, block, inputs, out_types, shape=None):
    """Runs `body` on every block. Inputs that lack the leading dimensions are blocked along the ones they have."""
    shape = shape or inputs[0].shape
    grid = tuple(cdiv(s, b) for s, b in zip(shape, block))

    def spec(rank):
        skip = len(block) - rank
        return pl.BlockSpec(block[skip:], lambda *g: g[skip:])

    def kernel(*refs):
        ins, outs = refs[: len(inputs)], refs[len(inputs) :]
        for ref, value in zip(outs, body(*(r[...] for r in ins))):
            ref[...] = value.astype(ref.dtype)

    return pl.pallas_call(
        kernel, grid=grid, in_specs=[spec(x.ndim) for x in inputs], out_specs=[spec(len(block))] * len(out_types),
        out_shape=[jax.ShapeDtypeStruct(shape, t) for t in out_types], interpret=True)(*inputs)


def wide(x):
    """What functions compute in: f32 for the 16-bit floats, at least i32 for integers."""
    if x.dtype in (bf16, f16):
        return x.astype(f32)
    return x.astype(i32) if x.dtype in (i8, u8, i16, u16, jnp.bool_) else x


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


def float_to_int(x, dtype):
    info = np.iinfo(dtype)
    v = np.nan_to_num(np.float64(x), nan=0, posinf=1e300, neginf=-1e300)
    return np.array([min(max(int(e), info.min), info.max) for e in v], dtype)


@case("float_specials", SPECS + "float_specials.yaml")
def _():
    values = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan], np.float32)
    x, y = (jnp.asarray(v.ravel()) for v in np.meshgrid(values, values))

    def body(x, y):
        return (x < y, x == y, x != y, (-jnp.inf < x) & (x <= y), jnp.maximum(x, y), jnp.minimum(x, y),
                jnp.where((x == jnp.inf) | (x == -jnp.inf), jnp.nan, x + y), x.astype(i32), x // y)

    types = [jnp.bool_] * 4 + [f32] * 3 + [i32, f32]
    outs = dict(zip("less same other within larger smaller marked whole floors".split(), tiles(body, (4,), [x, y], types)))
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
