"""Convolutions of images with channels last, against oneDNN; pooling against a loop that moves the same bytes."""

import numpy as np

from kilnbench import native
from kilnbench.race import BYTES, Case, FLOPS, Ratio, Work

TITLE = "convolutions"
KERNELS = [f"{kernel}_{dtype}" for kernel in ("conv_1", "conv_2", "depthwise", "conv_grad") for dtype in ("f32", "bf16")]
KERNELS.append("max_pool")
_IMAGES = [(56, 64, 64), (28, 128, 128), (14, 256, 256)]  # rows and columns, channels, outputs
_QUICK = [(28, 128, 128)]


def cases(cores, peers, quick):
    torch = peers.get("torch")
    images = _QUICK if quick else _IMAGES
    for dtype in ("f32", "bf16"):
        for step in (1, 2):
            for size, channels, outputs in images:
                yield _convolution(dtype, step, size * step, channels, outputs, cores, torch)
        for size, channels, outputs in images:
            yield _gradient(dtype, size, channels, outputs, torch)
        for size, channels, _ in images:
            yield _depthwise(dtype, size, channels, cores, torch)
    yield _pooling(cores, torch)


def _convolution(dtype, step, size, channels, outputs, cores, torch):
    images = max(cores, 1)
    x = native.random((images, size, size, channels), dtype, 1)
    taps = native.random((3, 3, channels, outputs), dtype, 2)
    left = -(-size // step)
    y = native.aligned((images, left, left, outputs), dtype)
    ours = native.Kernel(f"conv_{step}_{dtype}", cores).bind((x, dtype), (taps, dtype), (y, dtype))
    # oneDNN packs its filter at each call, as Kiln does.
    filters = np.ascontiguousarray(taps.transpose(3, 0, 1, 2))
    label = f"{dtype}, step {step}, {size} x {size} of {channels}, to {outputs}"
    peer = torch and _of_torch(torch, dtype, x, filters, stride=step)
    return _case(label, dtype, ours, peer, (x, filters), y, 2.0 * y.size * 9 * channels, cores)


def _depthwise(dtype, size, channels, cores, torch):
    """Eight images, as one is little work."""
    x, taps = native.random((8, size, size, channels), dtype, 1), native.random((3, 3, channels), dtype, 2)
    y = native.aligned(x.shape, dtype)
    ours = native.Kernel(f"depthwise_{dtype}", cores).bind((x, dtype), (taps, dtype), (y, dtype))
    filters = np.ascontiguousarray(taps.transpose(2, 0, 1))[:, :, :, None]
    peer = torch and _of_torch(torch, dtype, x, filters, groups=channels)
    return _case(f"{dtype}, depthwise, 8 of {size} x {size} of {channels}", dtype, ours, peer, (x, filters), y,
                 2.0 * y.size * 9, cores)


def _gradient(dtype, size, channels, outputs, torch):
    """Of the filter, which all images add to, on one core."""
    x = native.random((2, size, size, channels), dtype, 1)
    g = native.random((2, size, size, outputs), dtype, 2)
    d = native.aligned((3, 3, channels, outputs), "f32")
    ours = native.Kernel(f"conv_grad_{dtype}", 1).bind((x, dtype), (g, dtype), (d, "f32"))

    def peer():
        image, grad = (torch.view(a, dtype).permute(0, 3, 1, 2) for a in (x, g))
        filters = torch.torch.empty((outputs, channels, 3, 3), dtype=image.dtype).contiguous(
            memory_format=torch.torch.channels_last)
        backward = torch.torch.ops.aten.convolution_backward
        return lambda: backward(grad, image, filters, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1,
                                [False, True, False])[1].permute(2, 3, 1, 0)
    return _case(f"{dtype}, filter's gradient, 2 of {size} x {size} of {channels}, to {outputs}", dtype, ours,
                 torch and peer(), (x, g), d, 2.0 * g.size * 9 * channels, 1)


def _of_torch(torch, dtype, x, filters, **how):
    """`filters` are [output, row, column, channel], and `how` is what torch is told of the convolution."""
    image, taps = (torch.view(a, dtype).permute(0, 3, 1, 2) for a in (x, filters))  # views of the same memory
    return lambda: torch.torch.nn.functional.conv2d(image, taps, padding=1, **how).permute(0, 2, 3, 1)


def _case(label, dtype, ours, peer, read, y, operations, cores):
    contestants, goals, check = {"Kiln": ours}, [], None
    if peer:
        contestants["oneDNN"] = peer
        goals = [Ratio("Kiln", "oneDNN", 1.0)]

        def check():
            ours()
            # With an even size torch's stride of 2 begins in the border, as ours does.
            want = peer().float().numpy()
            error = np.abs((native.from_bf16(y) if y.dtype == np.uint16 else y) - want).max()
            if not error < (1e-3 if dtype == "f32" else 1e-2) * max(1.0, np.abs(want).max()):
                raise RuntimeError(f"the answers differ by {error}")
    moved = float(sum(a.nbytes for a in (*read, y)))
    return Case(label, contestants, goals, operations, FLOPS, cores, check, Work(operations, moved, dtype))


def _pooling(cores, torch):
    x = native.random((16, 224, 224, 64), "f32", 1)
    y = native.aligned((16, 112, 112, 64), "f32")
    z = native.aligned(x.shape, "f32")
    ours = native.Kernel("max_pool", cores).bind((x, "f32"), (y, "f32"))
    # A copy of five eighths of it moves as many bytes: each is read and written.
    part = x.size * 5 // 8
    stream = native.Probe().copy(x.reshape(-1)[:part], z.reshape(-1)[:part], cores)
    contestants, goals = {"Kiln": ours, "STREAM": stream}, [Ratio("Kiln", "STREAM", 0.9)]
    if torch:
        image = torch.view(x).permute(0, 3, 1, 2)
        contestants["torch"] = lambda: torch.torch.nn.functional.max_pool2d(image, 2)
        goals.append(Ratio("Kiln", "torch", 1.0))

    def check():
        ours()
        if not np.array_equal(y, x.reshape(16, 112, 2, 112, 2, 64).max(axis=(2, 4))):
            raise RuntimeError("the answers differ")
    moved = 4.0 * (x.size + y.size)
    return Case("max pooling, 2 x 2", contestants, goals, moved, BYTES, cores, check, Work(3.0 * y.size, moved, "f32"))
