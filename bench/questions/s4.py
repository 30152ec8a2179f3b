"""Weights of few bits, dequantised in the kernel as the plain way to write it is: of one row, where reading them is the
limit, and of many, beside a product in bf16."""

import numpy as np

from kilnbench import native
from kilnbench.race import BYTES, FLOPS, Case, Ratio, Work
from questions.families import matmul

TITLE = "weights of 4 and 8 bits"
_KINDS = {"i4": "matmul_int4", "i8": "matmul_w8", "f8": "matmul_f8"}
_GROUPS = (32, 128)
KERNELS = [f"{kernel}_{group}" for kernel in _KINDS.values() for group in _GROUPS] + ["mm_bf16"]
_ROW = (1, 16384, 8192)  # M, N, K
_ROWS = (256, 4096, 4096)
_READS, _BF16 = "a loop that reads the weights", "Kiln, weights of bf16"
_PER_BYTE = {"i4": 2, "i8": 1, "f8": 1}


def cases(cores, peers, quick):
    for dtype in _KINDS:
        for group in (128,) if quick else _GROUPS:
            for shape in (_ROW, _ROWS):
                yield _case(dtype, group, shape, cores)


def _case(dtype, group, shape, cores):
    m, n, k = shape
    x, scale = native.random((m, k), "bf16", 1), native.random((k // group, n), "f32", 3)
    packed = _weights(dtype, k, n)
    z = native.aligned((m, n), "bf16")
    ours = native.Kernel(f"{_KINDS[dtype]}_{group}", cores).bind(
        (x, "bf16"), (packed, dtype, (k, n)), (scale, "f32"), (z, "bf16"))
    wide, y = native.aligned((k, n), "bf16"), native.aligned((m, n), "bf16")
    for start in range(0, k, group):  # a group at a time
        rows = _values(packed[start:start + group], dtype) * scale[start // group]
        wide[start:start + group] = native.to_bf16(rows)
    plain = native.Kernel("mm_bf16", cores).bind((x, "bf16"), (wide, "bf16"), (y, "bf16"))
    contestants, goals = {"Kiln": ours, _BF16: plain}, [Ratio("Kiln", _BF16, 0.9)]
    if m == 1:
        contestants[_READS] = native.Probe().read(packed.reshape(-1).view("f4"), cores)
        goals = [Ratio("Kiln", _READS, 0.85)]

    def check():
        ours(), plain()
        matmul.compare("bf16", z, native.from_bf16(y), "weights of bf16")
    work = Work(2.0 * m * n * k, float(packed.nbytes + scale.nbytes + x.nbytes + z.nbytes), "bf16")
    amount, unit = (float(packed.nbytes), BYTES) if m == 1 else (work.operations, FLOPS)
    return Case(f"{dtype}, a scale for {group}, {matmul.label(m, n, k)}", contestants, goals, amount, unit, cores, check, work,
                amounts={_BF16: float(wide.nbytes)} if m == 1 else {})


def _weights(dtype, k, n):
    bits = native.aligned((k, n // _PER_BYTE[dtype]), "u1")
    bits[:] = np.random.default_rng(2).integers(0, 256, bits.shape, np.uint8)
    if dtype == "f8":
        bits &= 0xBF  # no NaN, and nothing that is large
    return bits


def _values(bits, dtype):
    """As f32: two of i4 are in a byte, the first in its low half."""
    if dtype == "i8":
        return bits.view("i1").astype("f4")
    if dtype == "i4":
        values = np.empty((bits.shape[0], 2 * bits.shape[1]), "f4")
        values[:, 0::2] = (bits << 4).view("i1") >> 4
        values[:, 1::2] = bits.view("i1") >> 4
        return values
    return _E4M3[bits]


def _e4m3():
    bits = np.arange(256)
    exponent, fraction = bits >> 3 & 15, bits & 7
    size = np.where(exponent == 0, fraction / 8 * 2.0**-6, (1 + fraction / 8) * 2.0 ** (exponent - 7.0))
    return np.where(bits & 0x80, -size, size).astype("f4")


_E4M3 = _e4m3()
