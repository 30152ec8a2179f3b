"""Memory by hand: copies and semaphores between HBM and VMEM, scalar memory, arrays updated in place.

The kernels with copies run under InterpretParams, where data moves when the semaphore is waited for and an array in
HBM cannot be read directly.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import SPECS, case, cdiv, close, integers, iota, normal, rng

f32, bf16, f16, i32, i64, u16 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32, jnp.int64, jnp.uint16
SMEM = pltpu.MemorySpace.SMEM
HBM = pl.BlockSpec(memory_space=pl.ANY)


def tpu_call(kernel, grid, in_specs, out_specs, out_shape, scratch, prefetch=0):
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=prefetch, grid=grid, in_specs=in_specs,
                                        out_specs=out_specs, scratch_shapes=scratch)
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=out_shape, interpret=pltpu.InterpretParams())


def in_place_case(name, m, n, dtype=i32, set={}):
    @case(name, SPECS + "shift_in_place.yaml", set=set)
    def _():
        bm, bn = 2, 4
        x = integers(1, -99, 99, (m, n)).astype(dtype)

        def kernel(x, y):
            y[...] = (x[...] + pl.program_id(0) * iota((bm, bn), 1) + 1).astype(dtype)

        block = pl.BlockSpec((bm, bn), lambda i, j: (2 * i, j))
        y = pl.pallas_call(kernel, grid=(cdiv(m, 2 * bm), cdiv(n, bn)), in_specs=[block], out_specs=block,
                           out_shape=jax.ShapeDtypeStruct((m, n), dtype), input_output_aliases={0: 0},
                           interpret=True)(x)
        block_row = np.arange(m)[:, None] // bm
        want = np.array(x) + np.where(block_row % 2 == 0, block_row // 2 * (np.arange(n) % bn) + 1, 0)
        close(y, want.astype(np.dtype(dtype)))
        return dict(x=x), dict(y=y)


in_place_case("shift_in_place", 9, 11)
in_place_case("shift_in_place_i8", 7, 4, jnp.int8, set={"T": "i8"})


def buffer_case(name, m, n):
    @case(name, SPECS + "double_buffer.yaml", depth=m)
    def _():
        bm = 4
        chunks = m // bm
        x = normal(1, (m, n))

        def kernel(x, total, top, buffer, arrived):
            def fetch(c, slot):
                return pltpu.make_async_copy(x.at[pl.ds(c * bm, bm)], buffer.at[slot], arrived.at[slot])

            fetch(0, 0).start()
            total[...], top[...] = jnp.zeros_like(total), jnp.full_like(top, -jnp.inf)

            @pl.loop(0, chunks)
            def _(c):
                slot = c % 2

                @pl.when(c + 1 < chunks)
                def _():
                    fetch(c + 1, 1 - slot).start()

                fetch(c, slot).wait()
                total[...] += buffer[slot].sum(axis=0)
                top[...] = jnp.maximum(top[...], buffer[slot].max(axis=0))

        whole = pl.BlockSpec((n,), lambda: (0,))
        total, top = tpu_call(kernel, (), [HBM], [whole, whole], [jax.ShapeDtypeStruct((n,), f32)] * 2,
                              [pltpu.VMEM((2, bm, n), f32), pltpu.SemaphoreType.DMA((2,))])(x)
        close(total, np.float64(x).sum(axis=0), depth=m)
        close(top, np.float64(x).max(axis=0), depth=m)
        return dict(x=x), dict(total=total, top=top)


buffer_case("double_buffer", 20, 7)
buffer_case("double_buffer_one_chunk", 4, 5)


def stream_case(name, m, n, k, dtype, set={}):
    @case(name, SPECS + "weight_stream.yaml", set=set, depth=k)
    def _():
        bm, bk = 4, 8
        x, w = normal(1, (m, k), dtype), normal(2, (k, n), dtype)
        steps = cdiv(m, bm) * (k // bk)

        def kernel(x, w, z, tile, ready):
            l = pl.program_id(1)
            now = pl.program_id(0) * (k // bk) + l

            def fetch(step):
                rows = pl.ds(step % (k // bk) * bk, bk)
                return pltpu.make_async_copy(w.at[rows], tile.at[step % 2], ready.at[step % 2])

            @pl.when(now == 0)
            def _():
                fetch(0).start()

            @pl.when(now + 1 < steps)
            def _():
                fetch(now + 1).start()

            fetch(now).wait()
            part = jnp.dot(x[...], tile[now % 2], preferred_element_type=f32)
            z[...] = jnp.where(l == 0, part, z[...] + part)

        z = tpu_call(kernel, (cdiv(m, bm), k // bk), [pl.BlockSpec((bm, bk), lambda i, l: (i, l)), HBM],
                     pl.BlockSpec((bm, n), lambda i, l: (i, 0)), jax.ShapeDtypeStruct((m, n), f32),
                     [pltpu.VMEM((2, bk, n), dtype), pltpu.SemaphoreType.DMA((2,))])(x, w)
        close(z, np.float64(x) @ np.float64(w), depth=k)
        return dict(x=x, w=w), dict(z=z)


stream_case("weight_stream", 11, 9, 24, bf16)
stream_case("weight_stream_f32", 8, 5, 16, f32, set={"T": "f32"})


def dma_gather_case(name, ids, d, dtype, set={}):
    @case(name, SPECS + "dma_gather.yaml", set=set)
    def _():
        vocab, bt, tokens = 6, 4, len(ids)
        table = normal(1, (vocab, d), dtype)
        ids_array = np.array(ids, np.int32)

        def kernel(ids, table, o, rows, arrived):
            i = pl.program_id(0)
            used = jnp.minimum(bt, tokens - i * bt)

            def fetch(r):
                return pltpu.make_async_copy(table.at[pl.ds(ids[i * bt + r], 1)], rows.at[pl.ds(r, 1)], arrived.at[0])

            @pl.loop(0, used)
            def _(r):
                fetch(r).start()

            @pl.loop(0, used)
            def _(r):
                fetch(r).wait()

            o[...] = rows[...] * 2

        o = tpu_call(kernel, (cdiv(tokens, bt),), [HBM], pl.BlockSpec((bt, d), lambda i, _: (i, 0)),
                     jax.ShapeDtypeStruct((tokens, d), dtype),
                     [pltpu.VMEM((bt, d), dtype), pltpu.SemaphoreType.DMA((1,))], prefetch=1)(ids_array, table)
        close(o, np.array(table)[ids_array] * 2)
        return dict(ids=ids_array, table=table), dict(o=o)


dma_gather_case("dma_gather", [3, 3, 0, 5, 1, 2, 0, 4, 5, 5], 7, f32)
dma_gather_case("dma_gather_f16", [5, 4, 3, 2], 8, f16, set={"T": "f16"})


def dma_store_case(name, m, n):
    @case(name, SPECS + "dma_store.yaml")
    def _():
        bm, bn = 4, 8
        x = integers(1, -99, 99, (m, n))
        grid = m // bm, n // bn

        def kernel(x, y, tile, sent):
            i, j = pl.program_id(0), pl.program_id(1)
            now = i * grid[1] + j
            slot = now % 2

            def send(step):
                i, j, slot = step // grid[1], step % grid[1], step % 2
                return pltpu.make_async_copy(tile.at[slot], y.at[pl.ds(j * bn, bn), pl.ds(i * bm, bm)], sent.at[slot])

            @pl.when(now >= 2)
            def _():
                send(now - 2).wait()

            tile[slot] = x[...].T * 3
            send(now).start()

            @pl.when(now == grid[0] * grid[1] - 1)
            def _():
                send(now).wait()

                @pl.when(now >= 1)
                def _():
                    send(now - 1).wait()

        y = tpu_call(kernel, grid, [pl.BlockSpec((bm, bn), lambda i, j: (i, j))], HBM,
                     jax.ShapeDtypeStruct((n, m), i32),
                     [pltpu.VMEM((2, bn, bm), i32), pltpu.SemaphoreType.DMA((2,))])(x)
        close(y, np.array(x).T * 3)
        return dict(x=x), dict(y=y)


dma_store_case("dma_store", 12, 24)
dma_store_case("dma_store_one_tile", 4, 8)


@case("dma_permute", SPECS + "dma_permute.yaml")
def _():
    b, n, order = 2, 9, np.array([3, 0, 4, 1, 2], np.int32)
    x = integers(1, 0, 1 << 16, (b * len(order), n), u16)

    def kernel(order, x, y, sem):
        t = pl.program_id(0)
        copy = pltpu.make_async_copy(x.at[pl.ds(order[t] * b, b)], y.at[pl.ds(t * b, b)], sem.at[0])
        copy.start()
        copy.wait()

    y = tpu_call(kernel, (len(order),), [HBM], HBM, jax.ShapeDtypeStruct(x.shape, u16),
                 [pltpu.SemaphoreType.DMA((1,))], prefetch=1)(order, x)
    close(y, np.array(x).reshape(-1, b, n)[order].reshape(x.shape))
    return dict(order=order, x=x), dict(y=y)


@case("paged_scores", SPECS + "paged_scores.yaml", depth=6)
def _():
    lengths = np.array([7, 0, 16, 4], np.int32)
    table = np.array([[6, 1, 0, 0], [0, 0, 0, 0], [2, 8, 3, 7], [5, 0, 0, 0]], np.int32)
    (batch, pages), slots, page, d = table.shape, 9, 4, 5
    q, k_pages = normal(1, (batch, d)), normal(2, (slots, page, d))

    def kernel(table, lengths, q, k_pages, score, keys, sem):
        b = pl.program_id(0)
        used = (lengths[b] + page - 1) // page

        def fetch(p):
            return pltpu.make_async_copy(k_pages.at[table[b, p]], keys.at[p % 2], sem.at[p % 2])

        score[...] = jnp.zeros_like(score)

        @pl.when(used > 0)
        def _():
            fetch(0).start()

        @pl.loop(0, used)
        def _(p):
            @pl.when(p + 1 < used)
            def _():
                fetch(p + 1).start()

            fetch(p).wait()
            s = (keys[p % 2] * q[...]).sum(axis=1)
            score[pl.ds(p * page, page)] = jnp.where(p * page + jax.lax.iota(i32, page) < lengths[b], s, 0.0)

    score = tpu_call(kernel, (batch,), [pl.BlockSpec((None, d), lambda b, *_: (b, 0)), HBM],
                     pl.BlockSpec((None, pages * page), lambda b, *_: (b, 0)),
                     jax.ShapeDtypeStruct((batch, pages * page), f32),
                     [pltpu.VMEM((2, page, d), f32), pltpu.SemaphoreType.DMA((2,))], prefetch=2)(
        table, lengths, q, k_pages)
    keys = np.float64(k_pages)[table].reshape(batch, -1, d)
    want = np.einsum("bkd,bd->bk", keys, np.float64(q)) * (np.arange(pages * page) < lengths[:, None])
    close(score, want, depth=6)
    return dict(table=table, lengths=lengths, q=q, k_pages=k_pages), dict(score=score)


@case("smem_table", SPECS + "smem_table.yaml", x64=True)
def _():
    n, bn = 14, 4
    steps = cdiv(n, bn)
    pair = np.array([[0, 1], [10, 63], [62, 5], [2, 30]], np.int32)
    x = integers(1, -(1 << 20), 1 << 20, (n,), i64)

    def kernel(pair, x, y, fib, calls):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            calls[0] = jnp.int32(0)
            fib[0], fib[1] = jnp.int64(0), jnp.int64(1)

            @pl.loop(2, 64)
            def _(r):
                fib[r] = fib[r - 1] + fib[r - 2]

        calls[0] += jnp.int32(1)
        y[...] = x[...] * fib[pair[i, 0]] - fib[pair[i, 1]] + calls[0].astype(i64)

    block = pl.BlockSpec((bn,), lambda i, _: (i,))
    y = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(steps,), in_specs=[block], out_specs=block,
                                               scratch_shapes=[pltpu.SMEM((64,), i64), pltpu.SMEM((1,), i32)]),
        out_shape=jax.ShapeDtypeStruct((n,), i64), interpret=True)(pair, x)
    fib = [0, 1]
    while len(fib) < 64:
        fib.append(fib[-1] + fib[-2])
    step = np.arange(n) // bn
    fib = np.array(fib)
    close(y, np.array(x) * fib[pair[step, 0]] - fib[pair[step, 1]] + step + 1)
    return dict(pair=pair, x=x), dict(y=y)


@case("copied_row", SPECS + "copied_row.yaml")
def _():
    n = 5
    x, rows = normal(1, (n, 8)), normal(2, (2, 8))

    def kernel(x, rows, y, scaled, row, arrived):
        i = pl.program_id(0)
        whole = pltpu.make_async_copy(x, y, arrived.at[1])

        @pl.when(i == 0)
        def _():
            whole.start()

        one = pltpu.make_async_copy(rows.at[pl.ds(i, 1)], row, arrived.at[0])
        one.start()
        one.wait()

        @pl.when(i == 1)
        def _():
            whole.wait()

        scaled[...] = row[...] * 10

    y, scaled = tpu_call(
        kernel, (2,), [HBM, pl.BlockSpec((2, 8), lambda i: (0, 0))], [HBM, pl.BlockSpec((1, 8), lambda i: (i, 0))],
        [jax.ShapeDtypeStruct((n, 8), f32), jax.ShapeDtypeStruct((2, 8), f32)],
        [pltpu.VMEM((1, 8), f32), pltpu.SemaphoreType.DMA((2,))])(x, rows)
    close(y, x)
    close(scaled, np.array(rows) * np.float32(10))
    return dict(x=x, rows=rows), dict(y=y, scaled=scaled)


@case("ragged_pages", SPECS + "ragged_pages.yaml", depth=3)
def _():
    groups, most, pool, n = 5, 8, 7, 5
    kv, x = normal(1, (pool, 4, 8)), normal(2, (30, n))
    pages = np.array(rng(3).integers(0, pool, 3 * groups), np.int32)
    starts, lengths = np.array([0, 5, 13, 22, 25], np.int32), np.array([5, 8, 0, 3, 5], np.int32)

    def kernel(pages, starts, lengths, kv, x, o, r, buffer, rows, arrived):
        i = pl.program_id(0)
        slot, count = i % 2, lengths[i]
        for p in range(3):
            pltpu.make_async_copy(kv.at[pages[3 * i + p]], buffer.at[slot, p], arrived.at[slot, 0]).start()
        ragged = pltpu.make_async_copy(x.at[pl.ds(starts[i], count)], rows.at[pl.ds(0, count)], arrived.at[slot, 1])
        ragged.start()
        pltpu.make_async_copy(buffer.at[slot], buffer.at[slot], arrived.at[slot, 0]).wait()
        o[0] = jnp.sum(buffer[slot], axis=0)
        ragged.wait()
        r[0] = jnp.where(iota((most, n), 0) < count, rows[...], 0)

    def group(*shape):
        return pl.BlockSpec((1, *shape), lambda i, *_: (i, 0, 0))

    o, r = pl.pallas_call(
        kernel, grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=3, grid=(groups,), in_specs=[HBM] * 2,
            out_specs=[group(4, 8), group(most, n)],
            scratch_shapes=[pltpu.VMEM((2, 3, 4, 8), f32), pltpu.VMEM((most, n), f32),
                            pltpu.SemaphoreType.DMA((2, 2))]),
        out_shape=[jax.ShapeDtypeStruct((groups, 4, 8), f32), jax.ShapeDtypeStruct((groups, most, n), f32)],
        interpret=pltpu.InterpretParams())(pages, starts, lengths, kv, x)
    close(o, np.float64(kv)[pages].reshape(groups, 3, 4, 8).sum(axis=1), depth=3)
    want = np.zeros((groups, most, n))
    for g, (start, length) in enumerate(zip(starts, lengths)):
        want[g, :length] = np.asarray(x)[start : start + length]
    close(r, want)
    return dict(pages=pages, starts=starts, lengths=lengths, kv=kv, x=x), dict(o=o, r=r)
