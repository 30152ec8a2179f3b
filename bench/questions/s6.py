"""Kernels that memory is to limit, beside loops that move the same bytes and beside compilers that fuse."""

import numpy as np

from kilnbench import native
from kilnbench.race import Work
from questions import p9
from questions.families.fused import Fused, memory_case

TITLE = "memory-bound kernels, beside compilers"
KERNELS = ["softmax_f32", "layernorm_f32", "layernorm_grad", "cross_entropy_f32", "cross_entropy_bf16", "adam", "max_pool",
           "to_channels_first", "to_channels_last", "side_by_side", "cumsum_f32", "rope_f32", "rope_bf16", "group_norm_f32",
           "group_norm_bf16"]
_ROWS = 1 << 25  # elements of the largest array: 128 MiB of f32, past the caches


def cases(cores, peers, quick):
    for width in (8192,) if quick else (1024, 8192):
        for make in (_softmax, _layernorm, _layernorm_grad, _cumsum, _side_by_side):
            yield make(width, cores, peers)
    for dtype in ("f32", "bf16"):
        yield _cross_entropy(dtype, cores, peers)
        yield _rope(dtype, cores, peers)
        yield _group_norm(dtype, cores, peers)
    for make in (_adam, _pool, _channels_first, _channels_last):
        yield make(cores, peers)


def _case(kernel, label, arguments, arrays, outs, operations, want, torch, jax, cores, peers, moved=None, work_type="f32"):
    """`arguments` of ours in their order; `operations` for each element of the first of `arrays`."""
    ours = native.Kernel(kernel, cores).bind(*arguments)
    written = sum(array.nbytes for array, _ in outs)
    moved = moved or sum(array.nbytes for array, _ in arrays) + written
    work = Work(float(operations * arrays[0][0].size), float(moved), work_type)
    return memory_case(Fused(label, ours, arrays, outs, want, torch, jax), peers, cores, moved, written, work)


def _f32(*arrays):
    return [(array, "f32") for array in arrays]


def _rows(width, *seeds):
    return [native.random((_ROWS // width, width), "f32", seed) for seed in seeds]


def _softmax(n, cores, peers):
    (x,) = _rows(n, 1)
    z = native.aligned(x.shape, "f32")
    return _case("softmax_f32", f"softmax of rows of {n}", _f32(x, z), _f32(x), _f32(z), 5, lambda: p9.softmax(x),
                 lambda torch, x: torch.softmax(x, 1), lambda x: _jax().nn.softmax(x, axis=1), cores, peers)


def _jax():
    import jax
    return jax


def _layernorm(n, cores, peers):
    (x,) = _rows(n, 1)
    gain, shift, z = native.random((n,), "f32", 5), native.random((n,), "f32", 6), native.aligned(x.shape, "f32")

    def jax(x, gain, shift):
        centred = x - x.mean(axis=1, keepdims=True)
        return centred * _jax().lax.rsqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * gain + shift
    return _case("layernorm_f32", f"layernorm of rows of {n}", _f32(x, gain, shift, z), _f32(x, gain, shift), _f32(z), 8,
                 lambda: p9.layernorm(x, gain, shift),
                 lambda torch, x, gain, shift: torch.nn.functional.layer_norm(x, (n,), gain, shift), jax, cores, peers)


def _layernorm_grad(n, cores, peers):
    x, dy = _rows(n, 1, 2)
    gamma, dx = native.random((n,), "f32", 5), native.aligned(x.shape, "f32")
    sums = [native.aligned((n,), "f32") for _ in range(2)]
    mean = x.mean(axis=1, keepdims=True)
    rstd = 1 / np.sqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5)

    def want():
        unit, dunit = (x - mean) * rstd, dy * gamma
        dx = rstd * (dunit - dunit.mean(axis=1, keepdims=True) - unit * (dunit * unit).mean(axis=1, keepdims=True))
        return dx, (dy * unit).sum(axis=0, dtype="f8"), dy.sum(axis=0, dtype="f8")

    def torch(torch, x, gamma, dy, mean, rstd):
        backward = torch.ops.aten.native_layer_norm_backward
        return tuple(backward(dy, x, [n], mean, rstd, gamma, gamma, [True, True, True]))

    def jax(x, gamma, dy, mean, rstd):
        unit, dunit = (x - mean) * rstd, dy * gamma
        dx = rstd * (dunit - dunit.mean(axis=1, keepdims=True) - unit * (dunit * unit).mean(axis=1, keepdims=True))
        return dx, (dy * unit).sum(axis=0), dy.sum(axis=0)
    # Peers are given mean and 1 / deviation as their forward pass keeps them; ours computes them again.
    arrays = _f32(x, gamma, dy, mean.astype("f4"), rstd.astype("f4"))
    return _case("layernorm_grad", f"layernorm backward, rows of {n}", _f32(x, gamma, dy, dx, *sums), arrays, _f32(dx, *sums),
                 16, want, torch, jax, cores, peers)


def _cumsum(n, cores, peers):
    (x,) = _rows(n, 1)
    z = native.aligned(x.shape, "f32")
    return _case("cumsum_f32", f"running sums of rows of {n}", _f32(x, z), _f32(x), _f32(z), 1,
                 lambda: np.cumsum(x, axis=1, dtype="f8"), lambda torch, x: torch.cumsum(x, 1),
                 lambda x: _jax().numpy.cumsum(x, axis=1), cores, peers)


def _side_by_side(n, cores, peers):
    x, y = (native.random((_ROWS // 2 // n, n), "f32", seed) for seed in (1, 2))
    z = native.aligned((x.shape[0], 2 * n), "f32")
    return _case("side_by_side", f"concat of rows of {n}", _f32(x, y, z), _f32(x, y), _f32(z), 0,
                 lambda: np.concatenate([x, y], axis=1), lambda torch, x, y: torch.cat([x, y], 1),
                 lambda x, y: _jax().numpy.concatenate([x, y], axis=1), cores, peers)


def _cross_entropy(dtype, cores, peers, classes=32768):
    m = _ROWS // classes
    logits = native.random((m, classes), dtype, 1)
    target = np.random.default_rng(2).integers(0, classes, (m, 1), np.int32)
    loss, lse = native.aligned((m, 1), "f32"), native.aligned((m, 1), "f32")
    wide = np.int64(target)

    def want():
        x = matrix(logits, dtype)
        total = np.log(np.exp(x).sum(axis=1, keepdims=True, dtype="f8"))
        return total - np.take_along_axis(x, wide, 1), total

    def torch(torch, x, target):
        total = torch.logsumexp(x.float(), 1, keepdim=True)
        return total - torch.gather(x, 1, target.long()).float(), total

    def jax(x, target):
        x = x.astype("float32")
        total = _jax().nn.logsumexp(x, axis=1, keepdims=True)
        return total - _jax().numpy.take_along_axis(x, target, 1), total
    arrays, outs = [(logits, dtype), (target, "i32")], _f32(loss, lse)
    return _case(f"cross_entropy_{dtype}", f"cross-entropy of {classes} classes, {dtype}", arrays + outs, arrays, outs, 4,
                 want, torch, jax, cores, peers, work_type=dtype)


def matrix(array, dtype):
    return native.from_bf16(array) if dtype == "bf16" else array


def _rope(dtype, cores, peers, positions=4096, half=64):
    heads = _ROWS // positions // half // 2
    x, y = native.random((heads, positions, 2 * half), dtype, 1), native.aligned((heads, positions, 2 * half), dtype)
    angle = np.arange(positions)[:, None] / 10000.0 ** (np.arange(half) / half)
    cosine, sine = np.cos(angle).astype("f4"), np.sin(angle).astype("f4")

    def turned(concat, x, cosine, sine):
        low, high = x[:, :, :half], x[:, :, half:]
        return concat(low * cosine - high * sine, high * cosine + low * sine)

    def torch(torch, x, cosine, sine):
        return turned(lambda *parts: torch.cat(parts, 2), x, cosine, sine).to(x.dtype)

    def jax(x, cosine, sine):
        return turned(lambda *parts: _jax().numpy.concatenate(parts, axis=2), x, cosine, sine)
    arrays, outs = [(x, dtype), *_f32(cosine, sine)], [(y, dtype)]
    return _case(f"rope_{dtype}", f"rope of {heads} heads, {dtype}", arrays + outs, arrays, outs, 3,
                 lambda: turned(lambda *parts: np.concatenate(parts, axis=2), matrix(x, dtype), cosine, sine), torch, jax,
                 cores, peers, work_type=dtype)


def _group_norm(dtype, cores, peers, size=32, channels=256, groups=32):
    x = native.random((_ROWS // size // size // channels, size, size, channels), dtype, 1)
    gain, shift = (native.random((channels,), "f32", seed) for seed in (2, 3))
    y = native.aligned(x.shape, dtype)

    def want():
        grouped = matrix(x, dtype).reshape(-1, size * size, groups, channels // groups)
        centred = grouped - grouped.mean(axis=(1, 3), keepdims=True, dtype="f8")
        unit = centred / np.sqrt((centred * centred).mean(axis=(1, 3), keepdims=True) + 1e-5)
        return unit.reshape(x.shape) * gain + shift

    def torch(torch, x, gain, shift):
        first = torch.nn.functional.group_norm(x.permute(0, 3, 1, 2), groups, gain.to(x.dtype), shift.to(x.dtype), 1e-5)
        return first.permute(0, 2, 3, 1)

    def jax(x, gain, shift):
        grouped = x.astype("float32").reshape(-1, size * size, groups, channels // groups)
        centred = grouped - grouped.mean(axis=(1, 3), keepdims=True)
        unit = centred * _jax().lax.rsqrt((centred * centred).mean(axis=(1, 3), keepdims=True) + 1e-5)
        return (unit.reshape(x.shape) * gain + shift).astype(x.dtype)
    arrays, outs = [(x, dtype), *_f32(gain, shift)], [(y, dtype)]
    return _case(f"group_norm_{dtype}", f"group norm of {size} x {size} of {channels}, {dtype}", arrays + outs, arrays, outs, 8,
                 want, torch, jax, cores, peers, work_type=dtype)


def _adam(cores, peers):
    g, p, m, v = (native.random((_ROWS,), "f32", seed) for seed in (1, 2, 3, 4))
    v += 0.51  # roots of it, which divide
    outs = _f32(*(native.aligned((_ROWS,), "f32") for _ in range(3)))
    rate, beta1, beta2, eps, clip, correct1, correct2 = 1e-3, 0.9, 0.95, 1e-8, 1.0, 1.5, 1.2

    def step(g, p, m, v, norm, least, root):
        g = g * least(clip / norm, 1.0)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        return p - rate * (m * correct1) / (root(v * correct2) + eps), m, v

    def torch(torch, g, p, m, v):
        return step(g, p, m, v, torch.linalg.vector_norm(g), lambda a, b: torch.clamp(a, max=b), torch.sqrt)

    def jax(g, p, m, v):
        numpy = _jax().numpy
        return step(g, p, m, v, numpy.sqrt((g * g).sum()), numpy.minimum, numpy.sqrt)
    scalars = [rate, beta1, beta2, eps, clip, correct1, correct2]
    return _case("adam", "Adam, clipped by the norm", [*scalars, *_f32(g, p, m, v), *outs], _f32(g, p, m, v), outs, 16,
                 lambda: step(g, p, m, v, np.float32(np.sqrt((g * g).sum(dtype="f8"))), min, np.sqrt), torch, jax, cores, peers,
                 moved=8 * g.nbytes)  # the gradient twice


def _pool(cores, peers):
    x, y = native.random((8, 224, 224, 64), "f32", 1), native.aligned((8, 112, 112, 64), "f32")

    def torch(torch, x):
        return torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)
    return _case("max_pool", "max pooling, 2 x 2", _f32(x, y), _f32(x), _f32(y), 0.75,
                 lambda: x.reshape(8, 112, 2, 112, 2, 64).max(axis=(2, 4)), torch,
                 lambda x: x.reshape(8, 112, 2, 112, 2, 64).max(axis=(2, 4)), cores, peers)


def _channels_first(cores, peers):
    return _channels("to_channels_first", "NHWC to NCHW, 64 channels", (8, 256 * 256, 64), cores, peers)


def _channels_last(cores, peers):
    return _channels("to_channels_last", "NCHW to NHWC, 64 channels", (8, 64, 256 * 256), cores, peers)


def _channels(kernel, label, shape, cores, peers):
    x, z = native.random(shape, "f32", 1), native.aligned((shape[0], shape[2], shape[1]), "f32")
    return _case(kernel, label, _f32(x, z), _f32(x), _f32(z), 0, lambda: x.transpose(0, 2, 1),
                 lambda torch, x: x.transpose(1, 2).contiguous(), lambda x: x.transpose(0, 2, 1), cores, peers)
