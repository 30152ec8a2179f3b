"""Loops within a step: iterations, sorting, searches, generations, random bits."""
import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import SPECS, case, cdiv, close, integers, iota, normal, rng

f32, f64, i8, i16, i32, u32 = jnp.float32, jnp.float64, jnp.int8, jnp.int16, jnp.int32, jnp.uint32
SMEM = pltpu.MemorySpace.SMEM


def with_scalars(kernel, scalars, grid, in_specs, out_specs, out_shape, scratch=()):
    """A call with scalars, which Pallas passes as prefetched arrays of one element."""
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=len(scalars), grid=grid, in_specs=in_specs,
                                        out_specs=out_specs, scratch_shapes=scratch)
    call = pl.pallas_call(kernel, grid_spec=spec, out_shape=out_shape, interpret=True)
    return lambda *inputs: call(*(jnp.asarray(s).reshape(1) for s in scalars), *inputs)


def newton_case(name, n, rounds, dtype, set={}):
    @case(name, SPECS + "newton_root.yaml", set=set, depth=4, x64=True)
    def _():
        bn = 8
        x = jnp.abs(normal(1, (n,), dtype, scale=4)) + dtype(0.125)

        def kernel(rounds, x, root):
            root[...] = jax.lax.fori_loop(0, rounds[0], lambda _, r: 0.5 * (r + x[...] / r), jnp.ones((bn,), dtype))

        root = with_scalars(kernel, [np.int32(rounds)], (cdiv(n, bn),), [pl.BlockSpec((bn,), lambda i, _: (i,))],
                            pl.BlockSpec((bn,), lambda i, _: (i,)), jax.ShapeDtypeStruct((n,), dtype))(x)
        want = np.ones(n)
        for _ in range(rounds):
            want = 0.5 * (want + np.float64(x) / want)
        close(root, want, depth=4)
        return dict(rounds=rounds, x=x), dict(root=root)


newton_case("newton_root", 21, 8, f64)
newton_case("newton_root_f32", 16, 3, f32, set={"T": "f32"})
newton_case("newton_root_no_rounds", 5, 0, f64)


def gcd_case(name, m, n, dtype, set={}, x64=False):
    @case(name, SPECS + "gcd.yaml", set=set, x64=x64)
    def _():
        bm = bn = 4
        scale = 1 << 33 if dtype == jnp.int64 else 1
        a, b = (jnp.asarray(rng(s).integers(0, 5000, size) * scale, dtype) for s, size in ((1, m), (2, n)))
        b = b.at[0].set(0)

        def kernel(a, b, g, rounds):
            def step(_, state):
                big, small, used = state
                busy = small != 0
                left = jnp.where(busy, jax.lax.rem(big, jnp.where(busy, small, 1)), small)
                return jnp.where(busy, small, big), left, used + busy.astype(i32)

            start = (jnp.broadcast_to(a[...][:, None], (bm, bn)), jnp.broadcast_to(b[...], (bm, bn)))
            g[...], _, rounds[...] = jax.lax.fori_loop(0, 24, step, (*start, jnp.zeros((bm, bn), i32)))

        block = pl.BlockSpec((bm, bn), lambda i, j: (i, j))
        g, rounds = pl.pallas_call(
            kernel, grid=(cdiv(m, bm), cdiv(n, bn)),
            in_specs=[pl.BlockSpec((bm,), lambda i, j: (i,)), pl.BlockSpec((bn,), lambda i, j: (j,))],
            out_specs=[block, block],
            out_shape=[jax.ShapeDtypeStruct((m, n), dtype), jax.ShapeDtypeStruct((m, n), i32)], interpret=True)(a, b)
        close(g, np.gcd(np.array(a)[:, None], np.array(b)))
        return dict(a=a, b=b), dict(g=g, rounds=rounds)


gcd_case("gcd", 9, 11, i32)
gcd_case("gcd_u32", 8, 5, u32, set={"T": "u32"})
gcd_case("gcd_i64", 6, 7, jnp.int64, set={"T": "i64"}, x64=True)


@case("mandelbrot", SPECS + "mandelbrot.yaml")
def _():
    m, n, bm, bn, rounds = 13, 21, 4, 8, 12
    left, top, step = -2.0, 1.125, 0.1875

    def kernel(left, top, step, count):
        i, j = pl.program_id(0), pl.program_id(1)
        cx = left[0] + step[0] * (j * bn + iota((bm, bn), 1)).astype(f32)
        cy = top[0] - step[0] * (i * bm + iota((bm, bn), 0)).astype(f32)

        def iterate(r, state):
            x, y, inside = state
            nx, ny = x * x - y * y + cx, 2 * x * y + cy
            still = (inside == r) & (nx * nx + ny * ny <= 4)
            return jnp.where(still, nx, x), jnp.where(still, ny, y), inside + still.astype(i32)

        zero = jnp.zeros((bm, bn), f32)
        count[...] = jax.lax.fori_loop(0, rounds, iterate, (zero, zero, jnp.zeros((bm, bn), i32)))[2].astype(jnp.uint8)

    scalars = [np.float32(v) for v in (left, top, step)]
    count = with_scalars(kernel, scalars, (cdiv(m, bm), cdiv(n, bn)), [],
                         pl.BlockSpec((bm, bn), lambda i, j, *_: (i, j)), jax.ShapeDtypeStruct((m, n), jnp.uint8))()
    c = left + step * np.arange(n) + 1j * (top - step * np.arange(m)[:, None])
    z, want = np.zeros_like(c), np.zeros((m, n), np.uint8)
    for r in range(rounds):
        nz = z * z + c
        squared = nz.real**2 + nz.imag**2
        assert np.all((np.abs(squared - 4) > 1e-3) | (squared == 4) | (want != r)), "a point too close to the circle"
        still = (want == r) & (squared <= 4)
        z, want = np.where(still, nz, z), want + still.astype(np.uint8)
    close(count, want)
    return dict(left=left, top=top, step=step), dict(count=count)


def sort_case(name, m, n, dtype, set={}):
    @case(name, SPECS + "sort_rows.yaml", set=set)
    def _():
        bm = 4
        x = integers(1, -300, 300, (m, n)).astype(dtype)

        def kernel(x, o):
            col = iota((bm, n), 1)

            def step(r, v):
                lower, upper = (col % 2 == r % 2) & (col + 1 < n), (col % 2 != r % 2) & (col > 0)
                low, high = jnp.minimum(v, jnp.roll(v, -1, axis=1)), jnp.maximum(v, jnp.roll(v, 1, axis=1))
                return jnp.where(lower, low, jnp.where(upper, high, v))

            o[...] = jax.lax.fori_loop(0, n, step, x[...])

        block = pl.BlockSpec((bm, n), lambda i: (i, 0))
        o = pl.pallas_call(kernel, grid=(cdiv(m, bm),), in_specs=[block], out_specs=block,
                           out_shape=jax.ShapeDtypeStruct((m, n), dtype), interpret=True)(x)
        close(o, np.sort(np.array(x), axis=1))
        return dict(x=x), dict(o=o)


sort_case("sort_rows", 10, 13, i16)
sort_case("sort_rows_f16", 4, 8, jnp.float16, set={"T": "f16"})


@case("search_sorted", SPECS + "search_sorted.yaml")
def _():
    entries, n, bq, rounds = 21, 11, 4, 5
    table = np.sort(np.array(normal(1, (entries,))))
    query = np.array(normal(2, (n,), scale=1.5))
    query[:3] = table[0], table[20], table[7]
    query[3:5] = -100, 100

    def kernel(table, query, place):
        for r in range(bq):
            def step(_, bounds):
                low, high = bounds
                middle = (low + high) // 2
                right = (low < high) & (table[jnp.minimum(middle, entries - 1)] < query[r])
                return jnp.where(right, middle + 1, low), jnp.where(right, high, middle)

            place[r] = jax.lax.fori_loop(0, rounds, step, (jnp.int32(0), jnp.int32(entries)))[0]

    block = pl.BlockSpec((bq,), lambda i: (i,), memory_space=SMEM)
    place = pl.pallas_call(kernel, grid=(cdiv(n, bq),), in_specs=[pl.BlockSpec(memory_space=SMEM), block],
                           out_specs=block, out_shape=jax.ShapeDtypeStruct((n,), i32), interpret=True)(table, query)
    close(place, np.searchsorted(table, query))
    return dict(table=table, query=query), dict(place=place)


def polynomial_case(name, n, dtype, set={}, x64=False):
    @case(name, SPECS + "polynomial.yaml", set=set, depth=10, x64=x64)
    def _():
        bn = 8
        coefficient, x = normal(1, (5,), dtype), normal(2, (n,), dtype)

        def kernel(coefficient, x, y, slope):
            def step(r, state):
                value, grow = state
                return value * x[...] + coefficient[4 - r], grow * x[...] + value

            zero = jnp.zeros((bn,), dtype)
            y[...], slope[...] = jax.lax.fori_loop(0, 5, step, (zero, zero))

        block = pl.BlockSpec((bn,), lambda i: (i,))
        y, slope = pl.pallas_call(
            kernel, grid=(cdiv(n, bn),), in_specs=[pl.BlockSpec(memory_space=SMEM), block], out_specs=[block, block],
            out_shape=[jax.ShapeDtypeStruct((n,), dtype)] * 2, interpret=True)(coefficient, x)
        p = np.polynomial.Polynomial(np.float64(coefficient))
        close(y, p(np.float64(x)), depth=10)
        close(slope, p.deriv()(np.float64(x)), depth=10)
        return dict(coefficient=coefficient, x=x), dict(y=y, slope=slope)


polynomial_case("polynomial", 21, f32)
polynomial_case("polynomial_f64", 16, f64, set={"T": "f64"}, x64=True)


@case("life", SPECS + "life.yaml")
def _():
    m, n, generations, limit = 7, 10, 4, 6
    board = integers(1, 0, 2, (m, n), i8)

    def kernel(generations, board, after, alive, state):
        g = pl.program_id(0)

        @pl.when(g == 0)
        def _():
            state[...] = board[...]
            alive[...] = jnp.zeros_like(alive)

        v = state[...].astype(i32)
        around = sum(jnp.roll(v, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
        lives = (around == 3) | (around == 2) & (v == 1)
        state[...] = lives.astype(i8)
        alive[g] = lives.sum()
        after[...] = state[...]

    after, alive = with_scalars(
        kernel, [np.int32(generations)], (jnp.int32(generations),), [pl.BlockSpec((m, n), lambda g, _: (0, 0))],
        [pl.BlockSpec((m, n), lambda g, _: (0, 0)), pl.BlockSpec((limit,), lambda g, _: (0,))],
        [jax.ShapeDtypeStruct((m, n), i8), jax.ShapeDtypeStruct((limit,), i32)], [pltpu.VMEM((m, n), i8)])(board)
    v, counts = np.int32(board), []
    for _ in range(generations):
        around = sum(np.roll(v, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
        v = ((around == 3) | (around == 2) & (v == 1)).astype(np.int32)
        counts.append(v.sum())
    close(after, v)
    close(alive, np.array(counts + [0] * (limit - generations)))
    return dict(generations=generations, board=board), dict(after=after, alive=alive)


@case("threefry", SPECS + "threefry.yaml")
def _():
    m, n, bm, bn, keys = 7, 11, 4, 8, np.array([0x13198A2E, 0x03707344], np.uint32)

    def kernel(key0, key1, high, low):
        i, j = pl.program_id(0), pl.program_id(1)
        k = (key0[0], key1[0], key0[0] ^ key1[0] ^ u32(0x1BD11BDA))
        place = (i * bm + iota((bm, bn), 0)) * n + j * bn + iota((bm, bn), 1)
        x0, x1 = jnp.broadcast_to(k[0], (bm, bn)), place.astype(u32) + k[1]
        for r in range(20):
            turn = ((13, 15, 26, 6), (17, 29, 16, 24))[r // 4 % 2][r % 4]
            x0 = x0 + x1
            x1 = (x1 << turn) | (x1 >> (32 - turn))
            x1 = x0 ^ x1
            if r % 4 == 3:
                s = r // 4 + 1
                x0, x1 = x0 + k[s % 3], x1 + k[(s + 1) % 3] + u32(s)
        high[...], low[...] = x0, x1

    block = pl.BlockSpec((bm, bn), lambda i, j, *_: (i, j))
    high, low = with_scalars(kernel, keys, (cdiv(m, bm), cdiv(n, bn)), [], [block, block],
                             [jax.ShapeDtypeStruct((m, n), u32)] * 2)()
    counts = np.concatenate([np.zeros(m * n, np.uint32), np.arange(m * n, dtype=np.uint32)])
    want = np.array(jax.extend.random.threefry_2x32(jnp.array(keys), jnp.array(counts)))
    close(high, want[: m * n].reshape(m, n))
    close(low, want[m * n :].reshape(m, n))
    return dict(key0=int(keys[0]), key1=int(keys[1])), dict(high=high, low=low)


@case("hash_bits", SPECS + "hash_bits.yaml")
def _():
    n, bn, seed, odds = 45, 16, 0x9E3779B9, 0.375
    x = integers(1, 0, 1 << 32, (n,), u32)

    def kernel(seed, odds, x, hash, unit, coin):
        h = x[...] ^ seed[0]
        h = (h ^ (h >> 16)) * u32(0x85EBCA6B)
        h = (h ^ (h >> 13)) * u32(0xC2B2AE35)
        h = h ^ (h >> 16)
        u = jax.lax.bitcast_convert_type((h >> 9) | u32(0x3F800000), f32) - 1
        hash[...], unit[...], coin[...] = h, u, u < odds[0]

    block = pl.BlockSpec((bn,), lambda i, *_: (i,))
    hash, unit, coin = with_scalars(
        kernel, [np.uint32(seed), np.float32(odds)], (cdiv(n, bn),), [block], [block] * 3,
        [jax.ShapeDtypeStruct((n,), t) for t in (u32, f32, jnp.bool_)])(x)
    h = np.array(x).astype(object) ^ seed
    h = (h ^ (h >> 16)) * 0x85EBCA6B % 2**32
    h = (h ^ (h >> 13)) * 0xC2B2AE35 % 2**32
    h = (h ^ (h >> 16)).astype(np.uint32)
    close(hash, h)
    close(unit, (h >> 9) / 2**23)
    close(coin, (h >> 9) / 2**23 < odds)
    return dict(seed=seed, odds=odds, x=x), dict(hash=hash, unit=unit, coin=coin)


@case("while_turns", SPECS + "while_turns.yaml")
def _():
    m, k, bm = 21, 37, 8
    x = jnp.asarray(rng(1).integers(1, 200, m), i32)
    keys = jnp.asarray(np.sort(rng(2).integers(0, 220, k)), i32)

    def kernel(x, keys, turns, place):
        def turn(state):
            n, count = state
            busy = n > 1
            return jnp.where(busy, jnp.where(n % 2 == 0, n // 2, 3 * n + 1), n), count + busy

        turns[...] = jax.lax.while_loop(lambda state: (state[0] > 1).any(), turn, (x[...], jnp.zeros(bm, i32)))[1]

        def search(r, _):
            def halve(state):
                low, high = state
                middle = (low + high) // 2
                below = keys[middle] < x[r]
                return jnp.where(below, middle + 1, low), jnp.where(below, high, middle)

            place[r] = jax.lax.while_loop(lambda state: state[0] < state[1], halve, (jnp.int32(0), jnp.int32(k)))[0]

        jax.lax.fori_loop(0, bm, search, None)

    rows = pl.BlockSpec((bm,), lambda i: (i,))
    # Past the edge it reads what the spec pads with.
    padded = jnp.pad(x, (0, -m % bm), constant_values=1)
    shape = jax.ShapeDtypeStruct(padded.shape, i32)
    turns, place = (out[:m] for out in pl.pallas_call(
        kernel, grid=(cdiv(m, bm),), in_specs=[rows, pl.BlockSpec(keys.shape, lambda i: (0,))], out_specs=[rows, rows],
        out_shape=[shape, shape], interpret=True)(padded, keys))

    def collatz(n):
        return 0 if n <= 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)

    close(turns, [collatz(int(n)) for n in x])
    close(place, np.searchsorted(np.array(keys), np.array(x)))
    return dict(x=x, keys=keys), dict(turns=turns, place=place)
