"""Things carried from step to step: sums, recurrences, running bests, counters."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import SPECS, case, cdiv, close, integers, iota, normal, rng

f32, i8, i32 = jnp.float32, jnp.int8, jnp.int32
SMEM = pltpu.MemorySpace.SMEM


def prefix_case(name, m, n, dtype, out, depth=1, exclusive=False, instance=""):
    @case(name, SPECS + "prefix_sum.yaml", instance=instance, depth=depth)
    def _():
        bm, bn = 4, 8
        x = normal(1, (m, n)) if dtype == f32 else integers(1, -100, 100, (m, n), dtype)

        def kernel(x, o, carry):
            j = pl.program_id(1)
            before = jnp.where(j == 0, jnp.zeros_like(carry), carry[...])
            v = jnp.where(j * bn + iota((bm, bn), 1) < n, x[...].astype(out), 0)
            here = jnp.cumsum(v, axis=1, dtype=out)
            o[...] = before + (here - v if exclusive else here)
            carry[...] = before + here[:, bn - 1 :]

        block = pl.BlockSpec((bm, bn), lambda i, j: (i, j))
        o = pl.pallas_call(kernel, grid=(cdiv(m, bm), cdiv(n, bn)), in_specs=[block], out_specs=block,
                           out_shape=jax.ShapeDtypeStruct((m, n), out), scratch_shapes=[pltpu.VMEM((bm, 1), out)],
                           interpret=True)(x)
        wide = np.float64 if dtype == f32 else np.int64
        want = np.cumsum(wide(x), axis=1) - (wide(x) if exclusive else 0)
        close(o, want, depth)
        return dict(x=x), dict(o=o)


prefix_case("prefix_sum", 7, 29, f32, f32, depth=29)
prefix_case("prefix_sum_i8", 9, 16, i8, i32, instance="prefix_sum_i8")
prefix_case("prefix_sum_exclusive", 5, 19, i32, i32, exclusive=True, instance="prefix_sum_exclusive")


@case("linear_recurrence", SPECS + "linear_recurrence.yaml", depth=24)
def _():
    n, d, bt, bd = 14, 11, 4, 8
    a, x, start = jnp.abs(normal(1, (n, d), scale=0.5)), normal(2, (n, d)), normal(3, (d,))

    def kernel(a, x, start, h, end_state):
        t = pl.program_id(1)

        @pl.when(t == 0)
        def _():
            end_state[...] = start[...]

        state = end_state[...]
        for r in range(bt):
            state = jnp.where(t * bt + r < n, a[r] * state + x[r], state)
            h[r, :] = state
        end_state[...] = state

    rows = pl.BlockSpec((bt, bd), lambda j, t: (t, j))
    one = pl.BlockSpec((bd,), lambda j, t: (j,))
    h, end_state = pl.pallas_call(
        kernel,
        grid=(cdiv(d, bd), cdiv(n, bt)),
        in_specs=[rows, rows, one],
        out_specs=[rows, one],
        out_shape=[jax.ShapeDtypeStruct((n, d), f32), jax.ShapeDtypeStruct((d,), f32)],
        interpret=True,
    )(a, x, start)
    want, state = np.zeros((n, d)), np.float64(start)
    for t in range(n):
        state = np.float64(a)[t] * state + np.float64(x)[t]
        want[t] = state
    close(h, want, depth=24)
    close(end_state, state, depth=24)
    return dict(a=a, x=x, start=start), dict(h=h, end_state=end_state)


def argmax_case(name, m, n, dtype, set={}):
    @case(name, SPECS + "running_argmax.yaml", set=set)
    def _():
        bm, bn = 4, 8
        x = integers(1, -9, 9, (m, n)).astype(dtype)  # many equal elements

        def kernel(x, high, high_at, low, low_at):
            j = pl.program_id(1)
            v = jnp.where(j * bn + iota((bm, bn), 1) < n, x[...], x[:, 0:1])
            v = v.astype(f32)  # bf16 has no argmax in the interpreter, and every value here is exact
            up, down = v.max(axis=1, keepdims=True).astype(dtype), v.min(axis=1, keepdims=True).astype(dtype)
            up_at = j * bn + jnp.argmax(v, axis=1, keepdims=True).astype(i32)
            down_at = j * bn + jnp.argmin(v, axis=1, keepdims=True).astype(i32)
            better, worse = (j == 0) | (up > high[...]), (j == 0) | (down < low[...])
            high_at[...] = jnp.where(better, up_at, high_at[...])
            high[...] = jnp.where(better, up, high[...])
            low_at[...] = jnp.where(worse, down_at, low_at[...])
            low[...] = jnp.where(worse, down, low[...])

        one = pl.BlockSpec((bm, 1), lambda i, j: (i, 0))
        shapes = [jax.ShapeDtypeStruct((m, 1), t) for t in (dtype, i32, dtype, i32)]
        high, high_at, low, low_at = pl.pallas_call(
            kernel, grid=(cdiv(m, bm), cdiv(n, bn)), in_specs=[pl.BlockSpec((bm, bn), lambda i, j: (i, j))],
            out_specs=[one] * 4, out_shape=shapes, interpret=True)(x)
        v = np.float64(x)
        close(high, v.max(axis=1, keepdims=True))
        close(high_at[:, 0], v.argmax(axis=1))
        close(low, v.min(axis=1, keepdims=True))
        close(low_at[:, 0], v.argmin(axis=1))
        return dict(x=x), dict(high=high, high_at=high_at, low=low, low_at=low_at)


argmax_case("running_argmax", 10, 29, i32)
argmax_case("running_argmax_bf16", 8, 24, jnp.bfloat16, set={"T": "bf16"})
argmax_case("running_argmax_i8", 5, 11, i8, set={"T": "i8"})


def running_max_case(name, m, n, dtype, set={}):
    @case(name, SPECS + "running_max.yaml", set=set)
    def _():
        bt, bn = 8, 4
        x = integers(1, 0, 1000, (m, n)).astype(dtype)

        def kernel(x, o, carry):
            t = pl.program_id(1)
            v = x[...]
            for s in range(3):
                shifted = jnp.maximum(v, jnp.roll(v, 1 << s, axis=0))
                v = jnp.where(iota((bt, bn), 0) >= 1 << s, shifted, v)
            v = jnp.where(t > 0, jnp.maximum(v, carry[...]), v)
            o[...] = v
            carry[...] = v[bt - 1 :]

        block = pl.BlockSpec((bt, bn), lambda j, t: (t, j))
        o = pl.pallas_call(kernel, grid=(cdiv(n, bn), cdiv(m, bt)), in_specs=[block], out_specs=block,
                           out_shape=jax.ShapeDtypeStruct((m, n), dtype), scratch_shapes=[pltpu.VMEM((1, bn), dtype)],
                           interpret=True)(x)
        close(o, np.maximum.accumulate(np.array(x), axis=0))
        return dict(x=x), dict(o=o)


running_max_case("running_max", 27, 6, i32)
running_max_case("running_max_u16", 24, 9, jnp.uint16, set={"T": "u16"})


@case("stream_positions", SPECS + "stream_positions.yaml")
def _():
    n, bn = 29, 8
    keep_it = rng(1).random(n) < 0.5

    def kernel(keep_it, position, kept, next):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            next[0] = 0

        position[...] = jnp.full_like(position, -1)
        for r in range(bn):
            @pl.when((i * bn + r < n) & keep_it[r])
            def _():
                position[r] = next[0]
                next[0] += 1
        kept[0] = next[0]

    block = pl.BlockSpec((bn,), lambda i: (i,))
    position, kept = pl.pallas_call(
        kernel, grid=(cdiv(n, bn),), in_specs=[block], out_specs=[block, pl.BlockSpec(memory_space=SMEM)],
        out_shape=[jax.ShapeDtypeStruct((n,), i32), jax.ShapeDtypeStruct((1,), i32)],
        scratch_shapes=[pltpu.SMEM((1,), i32)], interpret=True)(keep_it)
    close(position, np.where(keep_it, np.cumsum(keep_it) - 1, -1))
    close(kept[0], keep_it.sum())
    return dict(keep_it=keep_it), dict(position=position, kept=kept)


@case("rolled_sums", SPECS + "rolled_sums.yaml")
def _():
    m, n, bm = 8, 19, 4
    x = integers(1, -99, 99, (m, n)).astype(f32) / 4

    def kernel(x, running, turned, total, columns, whole, corner):
        x = x[...]
        i = pl.program_id(0)
        running[...] = jnp.cumsum(jnp.roll(x, 2, 1), 0)
        turned[...] = jnp.roll(x, (x[0, 0] * 4).astype(i32) % n + (2**31 - 1) % n, 1)
        total[...] = jnp.roll(x, i + 1, 1).sum(1) + jnp.roll(x, 1, 1).max(1)
        columns[...] = jnp.roll(x, -1, 1).sum(0, keepdims=True)
        a, b = (x * 4).astype(i32), (x * 2).astype(i32)
        whole[...] = jax.lax.dot(a, b.T, preferred_element_type=i32)
        corner[...] = (x[0:1, 0:1] * 2 * x[1:2, 0:1])[None]

    rows = pl.BlockSpec((bm, n), lambda i: (i, 0))
    out = pl.pallas_call(
        kernel, grid=(m // bm,), in_specs=[rows],
        out_specs=[rows, rows, pl.BlockSpec((bm,), lambda i: (i,)), pl.BlockSpec((1, n), lambda i: (i, 0)),
                   pl.BlockSpec((bm, bm), lambda i: (i, 0)), pl.BlockSpec((1, 1, 1), lambda i: (i, 0, 0))],
        out_shape=[jax.ShapeDtypeStruct(s, t) for s, t in (
            ((m, n), f32), ((m, n), f32), ((m,), f32), ((m // bm, n), f32), ((m, bm), i32), ((m // bm, 1, 1), f32))],
        interpret=True)(x)
    running, turned, total, columns, whole, corner = out
    b = np.array(x).reshape(-1, bm, n)
    close(running, np.roll(b, 2, 2).cumsum(1).reshape(m, n))
    close(turned, np.concatenate([np.roll(v, int(v[0, 0] * 4) + 2**31 - 1, 1) for v in b]))
    close(total, b.sum(2).reshape(m) + b.max(2).reshape(m))
    close(columns, np.roll(b.sum(1), -1, 1))
    close(whole, ((b * 4).astype(np.int32) @ (b * 2).astype(np.int32).transpose(0, 2, 1)).reshape(m, bm))
    close(corner, (b[:, 0, 0] * 2 * b[:, 1, 0])[:, None, None])
    return dict(x=x), dict(running=running, turned=turned, total=total, columns=columns, whole=whole, corner=corner)
