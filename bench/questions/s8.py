"""Products that libraries do not have as one call: thousands of small ones, one of normalised rows, and two with SwiGLU."""

import ctypes as c

import numpy as np

from kilnbench import compiled, native
from kilnbench.race import FLOPS, Case, Work
from questions.families import fused, matmul
from questions.families.fused import Fused

TITLE = "small and fused products"
KERNELS = [f"{k}_{t}" for k in ("small", "squares_16", "squares_32", "rmsnorm_matmul", "swiglu") for t in ("f32", "bf16")]
_COUNT = 8192
_BATCH = "MKL, batched"


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for side in (16,) if quick else (16, 32):
            yield _small(f"squares_{side}_{dtype}", "", dtype, side, cores, peers)
            yield _small(f"small_{dtype}", ", sizes of the call", dtype, side, cores, peers)
        for m in (512,) if quick else (64, 512):
            yield _rmsnorm(dtype, (m, 2048, 2048), cores, peers)
            yield _swiglu(dtype, (m, 2816, 1024), cores, peers)


def _case(made, work, cores, peers, more=None):
    """`more`: a peer besides, by name."""
    calls, answers = fused.peers_of(made, peers)
    for name, call in (more or {}).items():
        calls[name], answers[name] = call, call.answers
    contestants = {"Kiln": made.ours, **calls}
    wanted = dict.fromkeys((fused.TORCH, fused.INDUCTOR, _BATCH), 1.2)
    return Case(made.label, contestants, fused.goals(contestants, wanted), work.operations, FLOPS, cores,
                fused.checked(made, calls, answers), work)


def _typed(dtype, *arrays):
    return [(array, dtype) for array in arrays]


def _work(operations, dtype, arrays, outs):
    return Work(float(operations), float(sum(a.nbytes for a, _ in arrays + outs)), dtype)


def _small(kernel, told, dtype, side, cores, peers):
    x, y = (native.random((_COUNT, side, side), dtype, seed) for seed in (1, 2))
    z = native.aligned(x.shape, dtype)
    arrays, outs = _typed(dtype, x, y), _typed(dtype, z)
    made = Fused(f"{_COUNT} of {side}x{side}, {dtype}{told}", native.Kernel(kernel, cores).bind(*arrays, *outs), arrays, outs,
                 lambda: matmul.plain(x, dtype) @ matmul.plain(y, dtype), lambda torch, x, y: torch.bmm(x, y),
                 lambda x, y: x @ y)
    mkl, more = peers.get("MKL"), {}
    if mkl and dtype == "f32":  # what LIBXSMM does, MKL's kernels do that are made at run time
        call = compiled.attempt(_BATCH, made.label, lambda: _Batched(mkl, x, y))
        more = {_BATCH: call} if call else {}
    return _case(made, _work(2 * _COUNT * side**3, dtype, arrays, outs), cores, peers, more)


class _Batched:
    """MKL's products of matrices that are one behind the other."""

    def __init__(self, mkl, x, y):
        self.function, self.arrays = mkl.library.cblas_sgemm_batch_strided, (x, y, native.aligned(x.shape, "f32"))
        count, side = x.shape[:2]
        left, right, out = (c.c_void_p(a.ctypes.data) for a in self.arrays)
        step, n = c.c_int32(side * side), c.c_int32(side)
        self.given = [101, 111, 111, n, n, n, c.c_float(1), left, n, step, right, n, step, c.c_float(0), out, n, step,
                      c.c_int32(count)]

    def __call__(self):
        self.function(*self.given)

    def answers(self):
        return [self.arrays[2]]


def _rmsnorm(dtype, shape, cores, peers):
    m, n, k = shape
    x, w, weight = native.random((m, k), dtype, 1), native.random((k, n), dtype, 2), native.random((k,), dtype, 3)
    z = native.aligned((m, n), dtype)
    arrays, outs = _typed(dtype, x, weight, w), _typed(dtype, z)

    def want():
        wide = matmul.plain(x, dtype)
        unit = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-6) * matmul.plain(weight, dtype)
        return unit @ matmul.plain(w, dtype)

    def torch(torch, x, weight, w):
        return torch.nn.functional.rms_norm(x, (k,), weight, 1e-6) @ w

    def jax(x, weight, w):
        wide = x.astype("float32")
        unit = wide / ((wide * wide).mean(axis=1, keepdims=True) + 1e-6) ** 0.5 * weight
        return unit.astype(x.dtype) @ w
    made = Fused(f"rmsnorm and {matmul.label(*shape)}, {dtype}", native.Kernel(f"rmsnorm_matmul_{dtype}", cores).bind(
        *arrays, *outs), arrays, outs, want, torch, jax)
    return _case(made, _work(2 * m * n * k, dtype, arrays, outs), cores, peers)


def _swiglu(dtype, shape, cores, peers):
    m, n, k = shape
    x, (gate, up) = native.random((m, k), dtype, 1), (native.random((k, n), dtype, seed) for seed in (2, 3))
    y = native.aligned((m, n), dtype)
    arrays, outs = _typed(dtype, x, gate, up), _typed(dtype, y)

    def want():
        a, b = (matmul.plain(x, dtype) @ matmul.plain(w, dtype) for w in (gate, up))
        return a / (1 + np.exp(-a)) * b

    def torch(torch, x, gate, up):
        return torch.nn.functional.silu(x @ gate) * (x @ up)

    def jax(x, gate, up):
        import jax
        return jax.nn.silu(x @ gate) * (x @ up)
    made = Fused(f"SwiGLU {matmul.label(*shape)}, {dtype}", native.Kernel(f"swiglu_{dtype}", cores).bind(*arrays, *outs),
                 arrays, outs, want, torch, jax)
    return _case(made, _work(4 * m * n * k, dtype, arrays, outs), cores, peers)
