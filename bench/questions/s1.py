"""Products of few rows, as decoding makes them, and of few columns: all of one operand passes by once, so memory is the
limit."""

from kilnbench import native
from kilnbench.race import BYTES, Case, Ratio, Work
from questions.families import matmul

TITLE = "decode products"
KERNELS = ["mm_f32", "mm_bf16", "mm_i8", "mm_f32_yt", "mm_bf16_yt"]
_READS = "a loop that reads B"
_READS_A = "a loop that reads A"
_WEIGHTS = [(2048, 2048), (4096, 4096), (11008, 4096), (4096, 11008)]  # N, K
_QUICK = [(4096, 4096)]


def cases(cores, peers, quick):
    probe = native.Probe()
    for dtype in ("f32", "bf16", "i8"):
        for n, k in _QUICK if quick else _WEIGHTS:
            y = native.random((k, n), dtype, 2)
            for m in (1, 8) if quick else (1, 2, 4, 8):
                yield _case(dtype, (m, n, k), y, cores, peers, probe)
    for dtype in ("f32", "bf16"):  # as PyTorch has the weights of a layer
        for n, k in _QUICK if quick else _WEIGHTS:
            y = native.random((n, k), dtype, 2)
            for m in (1, 8) if quick else (1, 2, 4, 8):
                yield _case(dtype, (m, n, k), y, cores, peers, probe, transposed=True)
    for dtype in ("f32", "bf16", "i8"):  # the same weights times vectors
        for m, k in _QUICK if quick else _WEIGHTS:
            x = native.random((m, k), dtype, 2)
            for n in (1, 8) if quick else (1, 2, 4, 8):
                yield _case_of_columns(dtype, (m, n, k), x, cores, peers, probe)


def _case(dtype, shape, y, cores, peers, probe, transposed=False):
    """B has more bytes than any cache; what else there is, A and the output, has a thousandth of them."""
    m, n, k = shape
    x = native.random((m, k), dtype, 1)
    z, w = native.aligned((m, n), matmul.OUT[dtype]), native.aligned((m, n), matmul.OUT[dtype])
    kernel = native.Kernel(f"mm_{dtype}" + ("_yt" if transposed else ""), cores)
    ours = kernel.bind((x, dtype), (y, dtype), (z, matmul.OUT[dtype]))
    contestants = {"Kiln": ours, _READS: probe.read(y.reshape(-1).view("f4"), cores)}
    check = None
    peer = peers.get("torch" if dtype == "bf16" else "MKL" if dtype == "f32" else None)
    if peer is not None:
        contestants[peer.name] = peer.matmul(x, y, w, *(["bf16"] if dtype == "bf16" else []), rhs_transposed=transposed)
        check = matmul.check_close((z, ours), (w, contestants[peer.name]), dtype, k)
    label = f"{dtype} {matmul.label(*shape)}" + (", B transposed" if transposed else "")
    return Case(label, contestants, [Ratio("Kiln", _READS, 0.92)], y.nbytes, BYTES, cores,
                check, Work(2.0 * m * n * k, y.nbytes, dtype))


def _case_of_columns(dtype, shape, x, cores, peers, probe):
    m, n, k = shape
    y = native.random((k, n), dtype, 1)
    z, w = native.aligned((m, n), matmul.OUT[dtype]), native.aligned((m, n), matmul.OUT[dtype])
    ours = native.Kernel(f"mm_{dtype}", cores).bind((x, dtype), (y, dtype), (z, matmul.OUT[dtype]))
    contestants = {"Kiln": ours, _READS_A: probe.read(x.reshape(-1).view("f4"), cores)}
    check = None
    peer = peers.get("torch" if dtype == "bf16" else "MKL" if dtype == "f32" else None)
    if peer is not None:
        contestants[peer.name] = peer.matmul(x, y, w, *(["bf16"] if dtype == "bf16" else []))
        check = matmul.check_close((z, ours), (w, contestants[peer.name]), dtype, k)
    label = f"{dtype} {matmul.label(*shape)}, few columns"
    return Case(label, contestants, [Ratio("Kiln", _READS_A, 0.92)], x.nbytes, BYTES, cores,
                check, Work(2.0 * m * n * k, x.nbytes, dtype))
