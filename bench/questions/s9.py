"""Rows in order: sorted, their largest, and running sums, against PyTorch's. It gives positions of a sort as well; there
is no call of it that gives the values alone."""

import numpy as np

from kilnbench import native
from kilnbench.race import Case, Ratio, Unit, Work

TITLE = "sorts, the largest, running sums"
KERNELS = ["sort_f32", "top_8_f32", "cumsum_f32"]
_ELEMENTS = Unit("M elements/s", 1e6, True)
_K = 8


def cases(cores, peers, quick):
    torch = peers.get("torch")
    for m, n in [(1024, 1024)] if quick else [(4096, 128), (1024, 1024), (256, 8192)]:
        x = native.random((m, n), "f32", 1)
        yield _sort(x, cores, torch)
        yield _largest(x, cores, torch)
        yield _running(x, cores, torch)


def _case(label, x, ours, peer, goal, moved, cores, check):
    contestants, goals = {"Kiln": ours}, []
    if peer is not None:
        contestants["torch"] = peer
        goals.append(Ratio("Kiln", "torch", goal))
    m, n = x.shape
    return Case(f"{label} {m}x{n}", contestants, goals, float(x.size), _ELEMENTS, cores, check,
                Work(float(x.size), float(moved), "f32"))


def _same(what, got, want):
    if not np.array_equal(got, want):
        raise RuntimeError(f"{what} differs")


def _sort(x, cores, torch):
    z, ids = native.aligned(x.shape, "f32"), np.empty(x.shape, "i8")
    ours, peer = native.Kernel("sort_f32", cores).bind((x, "f32"), (z, "f32")), None
    if torch:
        f, tx, out = torch.torch, torch.view(x), (torch.torch.empty(x.shape), torch.torch.from_numpy(ids))
        peer = lambda: f.sort(tx, dim=1, out=out)

    def check():
        ours()
        _same("what is sorted", z, np.sort(x, axis=1))
    return _case("sort", x, ours, peer, 1.0, x.nbytes + z.nbytes, cores, check)


def _largest(x, cores, torch):
    m = x.shape[0]
    z, ids = native.aligned((m, _K), "f32"), native.aligned((m, _K), "i32")
    ours, peer = native.Kernel("top_8_f32", cores).bind((x, "f32"), (z, "f32"), (ids, "i32")), None
    if torch:
        f, tx = torch.torch, torch.view(x)
        out = f.empty((m, _K)), f.empty((m, _K), dtype=f.int64)
        peer = lambda: f.topk(tx, _K, dim=1, out=out)

    def check():
        ours()
        places = np.argsort(-x, axis=1, kind="stable")[:, :_K]
        _same("where the largest are", ids, places)
        _same("what is largest", z, np.take_along_axis(x, places, axis=1))
    return _case(f"top {_K}", x, ours, peer, 2.0, x.nbytes, cores, check)


def _running(x, cores, torch):
    z = native.aligned(x.shape, "f32")
    ours, peer = native.Kernel("cumsum_f32", cores).bind((x, "f32"), (z, "f32")), None
    if torch:
        f, tx, out = torch.torch, torch.view(x), torch.torch.empty(x.shape)
        peer = lambda: f.cumsum(tx, 1, out=out)

    def check():
        ours()
        error = np.abs(z - np.cumsum(x, axis=1, dtype="f8")).max()
        if not error < 1e-3:
            raise RuntimeError(f"the running sums differ by {error}")
    return _case("cumsum", x, ours, peer, 1.0, x.nbytes + z.nbytes, cores, check)
