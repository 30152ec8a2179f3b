"""What the questions about attention share: its kernels by the kind of what a query sees, and operations that count for a
peak, which are those of the pairs of a query and a key that it sees."""

import dataclasses
import functools

import numpy as np

from kilnbench import native
from kilnbench.race import Work
from questions.families import matmul

KINDS = ("causal", "full", "window", "cap")
HEADS, WINDOW, CAP = 8, 512, 30.0
SIZES = {"f32": 4, "bf16": 2}
_GROUP = 4  # heads of queries that share a head of keys


@dataclasses.dataclass
class Problem:
    """`heads` of queries of n positions with elements of `width`."""
    kind: str
    dtype: str
    n: int
    width: int

    def __post_init__(self):
        self.group = 1 if self.kind == "full" else _GROUP
        self.scale = float(self.width) ** -0.5
        self.q, self.d_o = (self._random(HEADS, seed) for seed in (1, 4))
        self.k, self.v = (self._random(HEADS // self.group, seed) for seed in (2, 3))
        self.o = native.aligned(self.q.shape, self.dtype)

    def _random(self, heads, seed):
        return native.random((heads, self.n, self.width), self.dtype, seed)

    @property
    def label(self):
        told = {"window": f"window of {WINDOW}", "cap": f"causal, cap {CAP:.0f}"}.get(self.kind, self.kind)
        shared = f", {self.group} heads share" if self.group > 1 else ""
        return f"{self.dtype} {HEADS}x{self.n}x{self.width} {told}{shared}"

    def sees(self):
        row, column = np.arange(self.n)[:, None], np.arange(self.n)[None, :]
        if self.kind == "full":
            return np.ones((self.n, self.n), bool)
        return (column <= row) & (row - column < (WINDOW if self.kind == "window" else self.n))

    @functools.cached_property
    def pairs(self):
        return HEADS * int(self.sees().sum())

    def work(self, products, arrays):
        """Of so many products of each pair; `arrays` are moved once."""
        return Work(2.0 * products * self.pairs * self.width, float(sum(a.nbytes for a in arrays)), self.dtype)

    def typed(self, *arrays):
        return [(array, self.dtype) for array in arrays]

    def forward(self, cores, emulated=False):
        kernel = native.Kernel(f"attention_{self.kind}_{self.dtype}", cores, emulated=emulated)
        return kernel.bind(self.scale, *self.typed(self.q, self.k, self.v, self.o))

    def backward(self, cores, emulated=False):
        """(dq, dkv, the arrays of gradients), after a forward pass that keeps what they need. Causal alone."""
        lse = native.aligned((HEADS, 1, self.n), "f32")
        forward = native.Kernel(f"attention_kept_{self.dtype}", cores)
        forward.bind(self.scale, *self.typed(self.q, self.k, self.v, self.o), (lse, "f32"))()
        dq, dk, dv = (native.aligned(a.shape, self.dtype) for a in (self.q, self.k, self.v))
        given = [self.scale, *self.typed(self.q, self.k, self.v, self.o), (lse, "f32"), (self.d_o, self.dtype)]
        by_queries = native.Kernel(f"attention_dq_{self.dtype}", cores, emulated=emulated).bind(*given, (dq, self.dtype))
        by_keys = native.Kernel(f"attention_dkv_{self.dtype}", cores, emulated=emulated)
        return by_queries, by_keys.bind(*given, *self.typed(dk, dv)), (dq, dk, dv)

    def wide(self, array, head):
        return matmul.plain(array[head], self.dtype).astype("f8")

    def probabilities(self, head):
        s = self.wide(self.q, head) @ self.wide(self.k, head // self.group).T * self.scale
        s = CAP * np.tanh(s / CAP) if self.kind == "cap" else s
        p = np.exp(np.where(self.sees(), s, -np.inf) - s.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def check_forward(self, head=HEADS - 1):
        want = self.probabilities(head) @ self.wide(self.v, head // self.group)
        matmul.compare(self.dtype, self.o[head], want, f"head {head}")

    def check_backward(self, dq, dk, dv):
        """Of the last head of keys, to which all heads of queries that share it add."""
        shared = HEADS // self.group - 1
        want_dk, want_dv = np.zeros((2, self.n, self.width))
        for head in range(shared * self.group, HEADS):
            p, d_o, v = self.probabilities(head), self.wide(self.d_o, head), self.wide(self.v, shared)
            ds = p * (d_o @ v.T - (self.wide(self.o, head) * d_o).sum(axis=1, keepdims=True)) * self.scale
            want_dk += ds.T @ self.wide(self.q, head)
            want_dv += p.T @ d_o
        matmul.compare(self.dtype, dq[-1], ds @ self.wide(self.k, shared), "dq")
        matmul.compare(self.dtype, dk[shared], want_dk, "dk")
        matmul.compare(self.dtype, dv[shared], want_dv, "dv")


class Paged:
    """One query a sequence; keys and values are in pages of a pool, in any order."""
    heads, group, width, page = 2, 8, 128, 16

    def __init__(self, dtype, batch=32, longest=4096):
        rng = np.random.default_rng(5)
        self.dtype, self.scale = dtype, float(self.width) ** -0.5
        self.lengths = rng.integers(longest // 4, longest, batch, np.int32)
        used = -(-self.lengths // self.page)
        order = rng.permutation(int(used.sum())).astype("i4")
        self.table = np.zeros((batch, longest // self.page), "i4")
        for b, start in enumerate(np.cumsum(used) - used):
            self.table[b, :used[b]] = order[start:start + used[b]]
        pool = (self.heads, len(order), self.page, self.width)
        self.k, self.v = native.random(pool, dtype, 2), native.random(pool, dtype, 3)
        self.q = native.random((batch, self.heads, self.group, self.width), dtype, 1)
        self.o = native.aligned(self.q.shape, dtype)
        self.label = f"{dtype} paged decode, {batch} sequences of {longest // 4} to {longest}"

    @property
    def moved(self):
        return 2 * int(self.lengths.sum()) * self.heads * self.width * SIZES[self.dtype]

    def work(self):
        return Work(4.0 * int(self.lengths.sum()) * self.heads * self.group * self.width, float(self.moved), self.dtype)

    def call(self, cores, emulated=False):
        return native.Kernel(f"paged_attention_{self.dtype}", cores, emulated=emulated).bind(
            (self.lengths, "i32"), (self.table, "i32"), self.scale,
            *[(a, self.dtype) for a in (self.q, self.k, self.v, self.o)])

    def check(self):
        for b in (0, len(self.lengths) - 1):
            slots = self.table[b, :-(-self.lengths[b] // self.page)]
            k, v = (matmul.plain(a[0][slots].reshape(-1, self.width)[:self.lengths[b]], self.dtype).astype("f8")
                    for a in (self.k, self.v))
            s = matmul.plain(self.q[b, 0], self.dtype) @ k.T * self.scale
            p = np.exp(s - s.max(axis=1, keepdims=True))
            matmul.compare(self.dtype, self.o[b, 0], p / p.sum(axis=1, keepdims=True) @ v, f"sequence {b}")
