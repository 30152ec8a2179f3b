"""Kernels that only move memory, against a loop that moves the same bytes."""

import numpy as np

from kilnbench import native
from kilnbench.race import BYTES, Case, Ratio, Work

TITLE = "memory-bound kernels"
KERNELS = ["add_2d", "add_1d", "add_vectors_f32", "sum_rows", "sum_columns", "softmax_f32", "layernorm_f32"]


def cases(cores, peers, quick):
    torch, probe = peers.get("torch"), native.Probe()
    m, n = (4096, 8192) if quick else (8192, 8192)  # 256 MiB each
    size = 4 * m * n
    x, y = (native.random((m, n), "f32", seed) for seed in (1, 2))
    z, w = (native.aligned((m, n), "f32") for _ in "zw")
    tx, ty, tw = (torch.view(a) for a in (x, y, w)) if torch else (None,) * 3

    def case(label, ours, stream, arrays, operations, peer, out, want):
        """`arrays` of that size are moved; `operations` for each element, as the spec is written. `want`
        computes what `out` is to hold."""
        def check():
            ours()
            error = np.abs(out - want()).max()
            if not error < 1e-4 * max(1.0, np.abs(out).max()):
                raise RuntimeError(f"the answers differ by {error}")
        contestants = {"Kiln": ours, "STREAM": stream}
        goals = [Ratio("Kiln", "STREAM", 0.95)]
        if torch:
            contestants["torch"] = peer
            goals.append(Ratio("Kiln", "torch", 1.0))
        moved = float(arrays * size)
        return Case(label, contestants, goals, moved, BYTES, cores, check, Work(float(operations * m * n), moved, "f32"))

    f = torch.torch if torch else None
    stream_add, stream_copy, stream_read = probe.add(x, y, z, cores), probe.copy(x, z, cores), probe.read(x, cores)
    flat = [(a.reshape(-1), "f32") for a in (x, y, z)]
    add = lambda: f.add(tx, ty, out=tw)
    yield case("add, blocks of a matrix", native.Kernel("add_2d", cores).bind((x, "f32"), (y, "f32"), (z, "f32")),
               stream_add, 3, 1, add, z, lambda: x + y)
    yield case("add, rows", native.Kernel("add_1d", cores).bind((x, "f32"), (y, "f32"), (z, "f32")),
               stream_add, 3, 1, add, z, lambda: x + y)
    yield case("add, vectors", native.Kernel("add_vectors_f32", cores).bind(*flat), stream_add, 3, 1, add, z, lambda: x + y)
    row, column = native.aligned((m,), "f32"), native.aligned((n,), "f32")
    sum_rows = native.Kernel("sum_rows", cores).bind((x, "f32"), (row, "f32"))
    yield case("sum of rows", sum_rows, stream_read, 1, 1, lambda: f.sum(tx, 1, out=torch.view(row)),
               row, lambda: x.sum(axis=1, dtype=np.float64))
    yield case("sum of columns", native.Kernel("sum_columns", cores).bind((x, "f32"), (column, "f32")), stream_read, 1, 1,
               lambda: f.sum(tx, 0, out=torch.view(column)), column, lambda: x.sum(axis=0, dtype=np.float64))
    for width in (n,) if quick else (1024, n):
        a, b = x.reshape(-1, width), z.reshape(-1, width)
        ta, tb = (torch.view(v) for v in (a, b)) if torch else (None, None)
        gain, shift = native.random((width,), "f32", 5), native.random((width,), "f32", 6)
        yield case(f"softmax of rows of {width}", native.Kernel("softmax_f32", cores).bind((a, "f32"), (b, "f32")),
                   stream_copy, 2, 5, lambda ta=ta, tb=tb: f.softmax(ta, 1, out=tb), b, lambda a=a: softmax(a))
        tg, ts = (torch.view(v) for v in (gain, shift)) if torch else (None, None)
        yield case(f"layernorm of rows of {width}",
                   native.Kernel("layernorm_f32", cores).bind((a, "f32"), (gain, "f32"), (shift, "f32"), (b, "f32")),
                   stream_copy, 2, 8, lambda ta=ta, tg=tg, ts=ts, w=width: f.nn.functional.layer_norm(ta, (w,), tg, ts),
                   b, lambda a=a, gain=gain, shift=shift: layernorm(a, gain, shift))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(x, gain, shift):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * gain + shift
