"""Moving and reducing: subscripts, reshapes, transpositions, every reduction, rank 0 to 5, coordinates and stays."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import SPECS, case, cdiv, close, integers, iota, normal

f32, bf16, i8, i32 = jnp.float32, jnp.bfloat16, jnp.int8, jnp.int32
SMEM = pltpu.MemorySpace.SMEM


def shapes(*pairs):
    return [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in pairs]


@case("subscripts", SPECS + "subscripts.yaml")
def _():
    start = np.array([3, 0, 2, 1], np.int32)
    x = integers(1, -99, 99, (4, 6, 8))

    def kernel(start, x, parts, lines, corner):
        i = pl.program_id(0)
        at = start[i]
        parts[...] = x[i, pl.ds(at, 3)]
        parts[0, 2:5] = x[3 - i, 5, 0:3]
        parts[:, 7] = x[0, 1:4, i]
        lines[i] = x[i, 0:2, 2:]
        lines[i, 1, pl.ds(i, 2)] = x[1, 2, pl.ds(at, 2)]
        corner[i] = x[2, at, i + 1]

    parts, lines, corner = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((4, 6, 8), lambda i, _: (0, 0, 0))],
            out_specs=[
                pl.BlockSpec((None, 3, 8), lambda i, _: (i, 0, 0)),
                pl.BlockSpec((4, 2, 6), lambda i, _: (0, 0, 0)),
                pl.BlockSpec(memory_space=SMEM),
            ],
        ),
        out_shape=shapes(((4, 3, 8), i32), ((4, 2, 6), i32), ((4,), i32)),
        interpret=True,
    )(start, x)
    v = np.array(x)
    want_parts, want_lines = np.zeros((4, 3, 8), np.int32), np.zeros((4, 2, 6), np.int32)
    for i, s in enumerate(start):
        want_parts[i] = v[i, s : s + 3]
        want_parts[i, 0, 2:5] = v[3 - i, 5, 0:3]
        want_parts[i, :, 7] = v[0, 1:4, i]
        want_lines[i] = v[i, 0:2, 2:]
        want_lines[i, 1, i : i + 2] = v[1, 2, s : s + 2]
    close(parts, want_parts)
    close(lines, want_lines)
    close(corner, v[2][start, np.arange(4) + 1])
    return dict(start=start, x=x), dict(parts=parts, lines=lines, corner=corner)


def shape_case(dtype):
    name = jnp.dtype(dtype).name.replace("float", "f").replace("int", "i")

    @case(f"shape_functions_{name}", SPECS + "shape_functions.yaml", set={} if dtype == f32 else {"T": name})
    def _():
        if dtype == jnp.bool_:
            x, y = normal(1, (4, 6)) > 0, normal(2, (2, 3, 4)) > 0
        else:
            x, y = normal(1, (4, 6), scale=20).astype(dtype), normal(2, (2, 3, 4), scale=20).astype(dtype)

        def functions(x, y, np):
            return dict(
                turned=x.T,
                last_two=np.swapaxes(y, 1, 2),
                cycled=np.transpose(y, (2, 0, 1)),
                folded=np.reshape(x, (3, 8)),
                stacked=np.concatenate([x, x[:, 2:4], y[0, 0:1, :].T, y[1].T[:, 0:1]], axis=1),
                piled=np.concatenate([x, x[1:3]], axis=0),
                rolled=np.roll(x, 2, axis=1),
                rolled_both=np.roll(np.roll(x, -1, axis=0), 7, axis=-1),
                spread=np.broadcast_to(x[None], (2, 4, 6)),
                squeezed=np.squeeze(x[2:3], 0),
                counted=np.arange(3, dtype=np.int32)[:, None] * 10 + np.arange(4, dtype=np.int32),
            )

        def kernel(x, y, *outs):
            values = functions(x[...], y[...], jnp)
            values["counted"] = iota((3, 4), 0) * 10 + iota((3, 4), 1)
            for o, value in zip(outs, values.values()):
                o[...] = value

        want = functions(np.array(x), np.array(y), np)
        outs = pl.pallas_call(kernel, out_shape=shapes(*((w.shape, w.dtype) for w in want.values())),
                              interpret=True)(x, y)
        outs = dict(zip(want, outs))
        for key, o in outs.items():
            close(o, want[key])
        return dict(x=x, y=y), outs


for dtype in (f32, bf16, i8, jnp.bool_):
    shape_case(dtype)


def reductions_case(name, shape, dtype, depth, instance=""):
    @case(name, SPECS + "reductions.yaml", instance=instance, depth=depth)
    def _():
        bb = 2
        batch, m, n = shape
        integer = jnp.issubdtype(dtype, jnp.integer)
        A = i32 if integer else f32
        x = integers(1, -9, 10, shape, dtype) if integer else normal(1, shape, dtype)

        def kernel(x, row_sum, kept_sum, block_sum, product, largest, smallest, where_largest, where_smallest,
                   any_high, all_high, many_high, running):
            v = x[...].astype(A)  # exact; the interpreter has no bf16 argmax
            row_sum[...] = v.sum(axis=2, dtype=A)
            kept_sum[...] = v.sum(axis=-1, keepdims=True, dtype=A)
            block_sum[...] = v.sum(axis=(1, 2), dtype=A)
            product[...] = v.prod(axis=1, dtype=A)
            largest[...] = v.max(axis=(1, 2), keepdims=True).astype(dtype)
            smallest[...] = v.min(axis=1).astype(dtype)
            where_largest[...] = jnp.argmax(v, axis=1).astype(i32)
            where_smallest[...] = jnp.argmin(v, axis=2, keepdims=True).astype(i32)
            any_high[...] = (v > 1).any(axis=1)
            all_high[...] = (v > -2).all(axis=(-1, -2))
            many_high[...] = (v > 0).astype(i32).sum(axis=2)
            running[...] = jnp.cumsum(v, axis=1)

        v = np.array(x).astype(np.float64 if not integer else np.int32)
        want = dict(
            row_sum=v.sum(2), kept_sum=v.sum(-1, keepdims=True), block_sum=v.sum((1, 2)),
            product=v.prod(1, dtype=v.dtype), largest=v.max((1, 2), keepdims=True), smallest=v.min(1),
            where_largest=v.argmax(1), where_smallest=v.argmin(2)[..., None], any_high=(v > 1).any(1),
            all_high=(v > -2).all((1, 2)), many_high=(v > 0).sum(2), running=v.cumsum(1))
        types = [A] * 4 + [dtype] * 2 + [i32] * 2 + [jnp.bool_] * 2 + [i32, A]

        def spec(shape):
            rest = shape[1:]
            return pl.BlockSpec((bb, *rest), lambda i: (i, *(0 for _ in rest)))

        outs = pl.pallas_call(
            kernel, grid=(cdiv(batch, bb),), in_specs=[spec(shape)], out_specs=[spec(w.shape) for w in want.values()],
            out_shape=shapes(*((w.shape, t) for w, t in zip(want.values(), types))), interpret=True)(x)
        outs = dict(zip(want, outs))
        for key, o in outs.items():
            close(o, want[key], depth)
        return dict(x=x), outs


reductions_case("reductions", (3, 4, 7), f32, 28)
reductions_case("reductions_bf16", (4, 3, 6), bf16, 18, instance="reductions_bf16")
reductions_case("reductions_i32", (5, 12, 6), i32, 0, instance="reductions_i32")
reductions_case("reductions_i8", (3, 5, 9), i8, 0, instance="reductions_i8")


def whole_case(name, shape, lift):
    @case(name, SPECS + "whole_array.yaml", depth=60)
    def _():
        x, shift = normal(1, shape) + lift, np.float32(-2.25)

        def kernel(x, shift, total, top, average, place, positive, shifted):
            v = x[...]
            total[...], top[...] = v.sum(), v.max()
            average[...] = v.mean()
            place[...] = jnp.argmax(v.reshape(-1)).astype(i32)
            positive[...] = (v > 0).all() | (v < -100).any()
            shifted[...] = v + shift[...]

        types = [((), f32)] * 3 + [((), i32), ((), jnp.bool_), (shape, f32)]
        outs = pl.pallas_call(kernel, out_shape=shapes(*types), interpret=True)(x, jnp.asarray(shift))
        outs = dict(zip("total top average place positive shifted".split(), outs))
        v = np.float64(x)
        want = dict(total=v.sum(), top=v.max(), average=v.mean(), place=v.argmax(),
                    positive=(v > 0).all() or (v < -100).any(), shifted=v + shift)
        for key, o in outs.items():
            close(o, want[key], depth=60)
        return dict(x=x, shift=np.array(shift)), outs


whole_case("whole_array", (2, 3, 5, 2), 0)
whole_case("whole_array_positive", (1, 4, 1, 3), 10)


def transpose_case(name, m, n, dtype=f32, set={}):
    @case(name, SPECS + "transpose.yaml", set=set)
    def _():
        bm, bn = 4, 8
        x = normal(1, (m, n), scale=20).astype(dtype)

        def kernel(x, y):
            y[...] = x[...].T

        y = pl.pallas_call(
            kernel, grid=(cdiv(m, bm), cdiv(n, bn)), in_specs=[pl.BlockSpec((bm, bn), lambda i, j: (i, j))],
            out_specs=pl.BlockSpec((bn, bm), lambda i, j: (j, i)), out_shape=jax.ShapeDtypeStruct((n, m), dtype),
            interpret=True)(x)
        close(y, np.array(x).T)
        return dict(x=x), dict(y=y)


transpose_case("transpose", 13, 19)
transpose_case("transpose_even_bf16", 8, 24, bf16, set={"T": "bf16"})
transpose_case("transpose_one_i8", 1, 9, i8, set={"T": "i8"})


@case("permute5", SPECS + "permute5.yaml")
def _():
    p, q, r, s, t = 3, 2, 5, 3, 7
    bc, be = 2, 4
    x = integers(1, -128, 128, (p, q, r, s, t), i8)

    def kernel(x, y):
        y[...] = jnp.transpose(x[...], (3, 2, 0, 1))

    y = pl.pallas_call(
        kernel, grid=(p, cdiv(r, bc), cdiv(t, be)),
        in_specs=[pl.BlockSpec((None, q, bc, s, be), lambda a, c, e: (a, 0, c, 0, e))],
        out_specs=pl.BlockSpec((be, None, s, q, bc), lambda a, c, e: (e, a, 0, 0, c)),
        out_shape=jax.ShapeDtypeStruct((t, p, s, q, r), i8), interpret=True)(x)
    close(y, np.transpose(np.array(x), (4, 0, 3, 1, 2)))
    return dict(x=x), dict(y=y)


@case("outer4", SPECS + "outer4.yaml", depth=1)
def _():
    a, b, c, d, ba, bd = 5, 3, 4, 6, 2, 4
    x, y = normal(1, (a, b)), normal(2, (c, d))

    def kernel(x, y, z):
        z[...] = x[...][:, :, None] * y[...]

    z = pl.pallas_call(
        kernel, grid=(cdiv(a, ba), c, cdiv(d, bd)),
        in_specs=[pl.BlockSpec((ba, b), lambda i, j, k: (i, 0)), pl.BlockSpec((None, bd), lambda i, j, k: (j, k))],
        out_specs=pl.BlockSpec((ba, b, None, bd), lambda i, j, k: (i, 0, j, k)),
        out_shape=jax.ShapeDtypeStruct((a, b, c, d), f32), interpret=True)(x, y)
    close(z, np.multiply.outer(np.float64(x), np.float64(y)), depth=1)
    return dict(x=x, y=y), dict(z=z)


@case("stays", SPECS + "stays.yaml")
def _():
    grid = (2, 3, 4)
    maps = [
        lambda p, i, j: (0, 0),
        lambda p, i, j: (i, 0),
        lambda p, i, j: (0, j // 2),
        lambda p, i, j: (jnp.maximum(i * j - 3, 0),),
    ]
    blocks = [(2, 3), (2, 4), (4, 2), (2,)]
    arrays = [jnp.zeros(s, f32) for s in ((2, 3), (6, 4), (4, 8), (8,))]

    def kernel(*refs):
        p, i, j = (pl.program_id(a) for a in range(3))
        mark = jnp.int32(0)
        for n, at in enumerate(maps):
            before = at(p, *(jnp.where(j > 0, v, w) for v, w in zip((i, j - 1), (i - 1, 3))))
            after = at(p, *(jnp.where(j < 3, v, w) for v, w in zip((i, j + 1), (i + 1, 0))))
            differ = [sum(jnp.int32(a != b) for a, b in zip(side, at(p, i, j))) > 0 for side in (before, after)]
            mark += jnp.where((i + j == 0) | differ[0], 1 << 2 * n, 0)
            mark += jnp.where((i == 2) & (j == 3) | differ[1], 2 << 2 * n, 0)
        refs[-1][...] = mark + jnp.where((j == 0) & (i == 2), 256, 0)

    marks = pl.pallas_call(
        kernel, grid=grid, in_specs=[pl.BlockSpec(b, m) for b, m in zip(blocks, maps)],
        out_specs=pl.BlockSpec((None, None, None), lambda *g: g), out_shape=jax.ShapeDtypeStruct(grid, i32),
        interpret=True)(*arrays)
    want = np.zeros(grid, np.int32)
    for n, at in enumerate(maps):
        for p in range(2):
            row = [tuple(int(v) for v in at(p, i, j)) for i in range(3) for j in range(4)]
            for s in range(12):
                want[p, s // 4, s % 4] += (s == 0 or row[s] != row[s - 1]) << 2 * n
                want[p, s // 4, s % 4] += (s == 11 or row[s] != row[s + 1]) << 2 * n + 1
    want[:, 2, 0] += 256
    close(marks, want)
    return dict(zip(("fixed", "slow", "pairs", "late"), arrays)), dict(marks=marks)


@case("coordinates", SPECS + "coordinates.yaml")
def _():
    m, n, bm, bn = 10, 7, 4, 4
    rows, cols = cdiv(m, bm), cdiv(n, bn)
    x = jnp.zeros((2, m, n), f32)

    def kernel(x, place, valid):
        row = pl.program_id(0) * bm - 2 + iota((bm + 3, bn), 0)
        col = pl.program_id(1) * bn + iota((bm + 3, bn), 1)
        place[...] = 100 * row + col
        valid[...] = (0 <= row) & (row < m) & (col < n)

    end = (rows - 1) * bm + bm + 3
    out = pl.BlockSpec((None, None, bm + 3, bn), lambda i, j: (i, j, 0, 0))
    shape = (rows, cols, bm + 3, bn)
    place, valid = pl.pallas_call(
        kernel, grid=(rows, cols),
        in_specs=[pl.BlockSpec((None, pl.Element(bm + 3, padding=(2, end - m - 2)), bn), lambda i, j: (0, i * bm, j))],
        out_specs=[out, out], out_shape=shapes((shape, i32), (shape, jnp.bool_)), interpret=True)(x)
    row = (np.arange(rows)[:, None] * bm - 2 + np.arange(bm + 3))[:, None, :, None]
    col = (np.arange(cols)[:, None] * bn + np.arange(bn))[None, :, None, :]
    close(place, 100 * row + col)
    close(valid, (0 <= row) & (row < m) & (col < n))
    return dict(x=x), dict(place=place, valid=valid)


@case("packed_rows", SPECS + "packed_rows.yaml")
def _():
    m, n, bm = 24, 21, 8
    x, w = normal(1, (m, n), jnp.bfloat16), normal(2, (m, n))
    q = integers(3, -128, 128, (m, n), jnp.int8)
    u32, u8, bf16 = jnp.uint32, jnp.uint8, jnp.bfloat16

    def kernel(x, q, w, pairs, quads, halves, even, swapped, bytes):
        packed = pltpu.bitcast(x[...], u32)
        pairs[...] = packed
        quads[...] = pltpu.bitcast(q[...], jnp.int32)
        halves[...] = pltpu.bitcast(q[...], bf16)
        even[...] = jax.lax.bitcast_convert_type(packed << 16, f32)
        swapped[...] = pltpu.bitcast((packed << 16) | (packed >> 16), bf16)
        bytes[...] = pltpu.bitcast(w[...], u8)

    def rows(count):
        return pl.BlockSpec((count, n), lambda i: (i, 0))

    shapes = [(m // 2, u32), (m // 4, jnp.int32), (m // 2, bf16), (m // 2, f32), (m, bf16), (4 * m, u8)]
    names = ("pairs", "quads", "halves", "even", "swapped", "bytes")
    outputs = dict(zip(names, pl.pallas_call(
        kernel, grid=(m // bm,), in_specs=[rows(bm)] * 3, out_specs=[rows(count * bm // m) for count, _ in shapes],
        out_shape=[jax.ShapeDtypeStruct((count, n), dtype) for count, dtype in shapes], interpret=True)(x, q, w)))
    bits = np.asarray(x).view(np.uint16).astype(np.uint32)
    close(outputs["pairs"], bits[0::2] | bits[1::2] << 16)
    close(outputs["even"], np.asarray(x)[0::2].astype(np.float32))
    close(outputs["swapped"], np.stack([x[1::2], x[0::2]], axis=1).reshape(m, n))
    close(outputs["bytes"], np.asarray(w).view(np.uint8).reshape(m, n, 4).transpose(0, 2, 1).reshape(4 * m, n))
    return dict(x=x, q=q, w=w), outputs


def windows_case(name, m, dtype, depth=0, set={}):
    """Values that keep what was there when they were read, of an input, of scratch and of what is updated in place."""

    @case(name, SPECS + "windows.yaml", set=set, depth=depth)
    def _():
        bm = 8
        x, z = (integers(seed, -99, 99, shape).astype(dtype) for seed, shape in ((1, (m, 4, 6)), (2, (m, 24))))
        ids = jnp.array([5, 0, 3, 3], i32)

        def kernel(x, z, ids, moved, turned, summed, most, taken, over, kept, s):
            parts = x[...].reshape(bm, 2, 2, 6)
            part = parts[:, 0, 1]
            moved[...] = jnp.roll(part, 2, axis=1) + part
            turned[...] = part[:, ::-1] - part
            summed[...] = jnp.cumsum(part, axis=1) + parts.sum(axis=(1, 2))
            most[...] = parts.max(axis=3).reshape(bm, 4)
            taken[...] = jnp.take(part, ids[...], axis=1, mode="clip")
            first, halves = z[:, 0:12], z[...].reshape(bm, 2, 12)
            row = x[...].reshape(bm, 24)
            s[...] = row
            old, seen = s[:, 0:6], s[...].reshape(bm, 6, 4)
            s[...] = row + 1
            over[...] = row
            over[:, 2:14] = first
            over[:, 0:6] = old
            over[:, 14:24] = over[:, 0:10]
            kept[...] = halves.reshape(bm, 24) + seen.reshape(bm, 24) + s[...]

        def rows(width):
            return pl.BlockSpec((bm, width), lambda i: (i, 0))

        widths = [6, 6, 6, 4, 4, 24, 24]
        found = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm),),
            in_specs=[pl.BlockSpec((bm, 4, 6), lambda i: (i, 0, 0)), rows(24), pl.BlockSpec((4,), lambda i: (0,))],
            out_specs=[rows(width) for width in widths],
            out_shape=[jax.ShapeDtypeStruct((m, width), dtype) for width in widths],
            scratch_shapes=[pltpu.VMEM((bm, 24), dtype)],
            input_output_aliases={1: 5},
            interpret=True,
        )(x, z, ids)
        parts, u = np.array(x), np.array(z)
        part, v = parts[:, 1], parts.reshape(m, 24)
        over = np.concatenate([v[:, 0:6], u[:, 4:12]], axis=1)
        wants = [np.roll(part, 2, axis=1) + part, part[:, ::-1] - part, np.cumsum(part, axis=1) + parts.sum(axis=1),
                 parts.max(axis=2), part[:, np.array(ids)], np.concatenate([over, over[:, 0:10]], axis=1), u + v + v + 1]
        for got, want in zip(found, wants):
            close(got, want, depth)
        return dict(x=x, z=z, ids=ids), dict(zip("moved turned summed most taken over kept".split(), found))


windows_case("windows", 21, jnp.float32)
windows_case("windows_i32", 16, i32, set={"T": "i32"})
