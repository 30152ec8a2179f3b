"""Convolutions of images with channels last, against oneDNN; pooling against a loop that moves the same bytes."""

import numpy as np

from kilnbench import native
from kilnbench.race import BYTES, Case, FLOPS, Ratio, Work

TITLE = "convolutions"
KERNELS = ["conv_1", "conv_2", "depthwise", "max_pool"]
_IMAGES = [(56, 64, 64), (28, 128, 128), (14, 256, 256)]  # rows and columns, channels, outputs
_QUICK = [(28, 128, 128)]


def cases(cores, peers, quick):
    torch = peers.get("torch")
    for step in (1, 2):
        for size, channels, outputs in _QUICK if quick else _IMAGES:
            yield _convolution(step, size * step, channels, outputs, cores, torch)
    for size, channels, _ in _QUICK if quick else _IMAGES:
        yield _depthwise(size, channels, cores, torch)
    yield _pooling(cores, torch)


def _convolution(step, size, channels, outputs, cores, torch):
    images = max(cores, 1)
    x = native.random((images, size, size, channels), "f32", 1)
    taps = native.random((3, 3, channels, outputs), "f32", 2)
    left = -(-size // step)
    y = native.aligned((images, left, left, outputs), "f32")
    ours = native.Kernel(f"conv_{step}", cores).bind((x, "f32"), (taps, "f32"), (y, "f32"))
    # oneDNN packs its filter at each call, as Kiln does.
    filters = np.ascontiguousarray(taps.transpose(3, 0, 1, 2))
    label = f"step {step}, {size} x {size} of {channels}, to {outputs}"
    return _case(label, ours, x, filters, y, 2.0 * y.size * 9 * channels, cores, torch, stride=step)


def _depthwise(size, channels, cores, torch):
    """Eight images, as one is little work."""
    x, taps = native.random((8, size, size, channels), "f32", 1), native.random((3, 3, channels), "f32", 2)
    y = native.aligned(x.shape, "f32")
    ours = native.Kernel("depthwise", cores).bind((x, "f32"), (taps, "f32"), (y, "f32"))
    filters = np.ascontiguousarray(taps.transpose(2, 0, 1))[:, :, :, None]
    label = f"depthwise, 8 of {size} x {size} of {channels}"
    return _case(label, ours, x, filters, y, 2.0 * y.size * 9, cores, torch, groups=channels)


def _case(label, ours, x, filters, y, operations, cores, torch, **how):
    """`filters` are [output, row, column, channel], and `how` is what torch is told of the convolution."""
    contestants, goals, check = {"Kiln": ours}, [], None
    if torch:
        f = torch.torch.nn.functional
        image, taps = (torch.view(a).permute(0, 3, 1, 2) for a in (x, filters))  # views of the same memory
        contestants["oneDNN"] = lambda: f.conv2d(image, taps, padding=1, **how)
        goals = [Ratio("Kiln", "oneDNN", 1.0)]

        def check():
            ours()
            # With an even size torch's stride of 2 begins in the border, as ours does.
            want = contestants["oneDNN"]().permute(0, 2, 3, 1).numpy()
            error = np.abs(y - want).max()
            if not error < 1e-3 * max(1.0, np.abs(want).max()):
                raise RuntimeError(f"the answers differ by {error}")
    moved = 4.0 * (x.size + filters.size + y.size)
    return Case(label, contestants, goals, operations, FLOPS, cores, check, Work(operations, moved, "f32"))


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
