"""What an epilogue costs beside the plain product: a residual, and gelu also where the product is small."""

from questions import p4

TITLE = "epilogues"
KERNELS = p4.KERNELS


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for side in (512,) if quick else (512, 1024, 2048):
            for fused in ("gelu", "residual"):
                yield p4.case(dtype, (side, side, side), fused, cores, peers.get("torch"))
