"""What an epilogue costs beside the plain product: a residual, gelu also where the product is small, and a relu where
the product has so few k or columns that it waits for what it stores and reads."""

from questions import p4

TITLE = "epilogues"
KERNELS = p4.KERNELS
_OF_FEW = [(25088, 256, 64), (2048, 2048, 64), (25088, 64, 256)]  # m, n, k


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for side in (512,) if quick else (512, 1024, 2048):
            for fused in ("gelu", "residual"):
                yield p4.case(dtype, (side, side, side), fused, cores, peers.get("torch"))
        for shape in _OF_FEW[:1] if quick else _OF_FEW:
            yield p4.case(dtype, shape, "relu", cores, peers.get("torch"))
