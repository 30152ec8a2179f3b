"""Generated kernels and the probe, called through ctypes as C programs call them."""

import ctypes as c
from concurrent import futures
import functools
import os
import pathlib
import subprocess
import sys

import numpy as np

from kilnbench.abi import DLTensor, Options, Status

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-release"
_CODES = {"f32": (2, 32), "bf16": (4, 16), "f8": (10, 8), "i4": (0, 4), "i8": (0, 8), "i32": (0, 32)}  # f8: e4m3fn
_NUMPY = {"f32": "f4", "bf16": "u2", "f8": "u1", "i4": "u1", "i8": "i1", "i32": "i4"}


def hold_to(isa):
    """Kernels and the probe are compiled for an instruction set from here on, in a folder of their own."""
    global BUILD
    BUILD = ROOT / f"build-{isa.lower()}"
    subprocess.run(["cmake", "--preset", "release", "-B", BUILD, f"-DKILN_BENCH_TARGETS={isa}"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)


def build(names):
    """Builds modules of bench/CMakeLists.txt."""
    targets = [t if t == "bench_probe" else f"bench_{t}" for t in names]
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", *targets], cwd=ROOT, check=True)


def package():
    """The Python package of this checkout, with a program that compiles kernels as fast as those here are."""
    subprocess.run(["cmake", "--build", BUILD, "--target", "kiln"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    os.environ["KILN_TOOL"] = str(BUILD / "kiln")
    sys.path.insert(0, str(ROOT / "python"))
    import kiln
    return kiln


def aligned(shape, dtype):
    """Zeros from the start of a page on, and of memory that is there: no page faults while timing."""
    kind = np.dtype(_NUMPY.get(dtype, dtype))
    count = int(np.prod(shape))
    raw = np.zeros(count * kind.itemsize + 4096, np.uint8)
    raw.fill(0)
    start = -raw.ctypes.data % 4096
    return raw[start:start + count * kind.itemsize].view(kind).reshape(shape)


def random(shape, dtype, seed=1):
    """Small values, so that no type overflows."""
    rng = np.random.default_rng(seed)
    array = aligned(shape, dtype)
    flat = array.reshape(-1)
    step = 1 << 22  # of large arrays a piece at a time
    for i in range(0, flat.size, step):
        piece = flat[i:i + step]
        if dtype == "i8":
            piece[:] = rng.integers(-128, 128, piece.size, np.int8)
        else:
            values = rng.random(piece.size, np.float32) - np.float32(0.5)
            piece[:] = to_bf16(values) if dtype == "bf16" else values
    return array


def to_bf16(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def tensor(array, dtype, extents=None):
    """`extents` where those of the array are of bytes, in which elements are packed."""
    code, bits = _CODES[dtype]
    extents = extents or array.shape
    shape = (c.c_int64 * len(extents))(*extents)
    made = DLTensor(array.ctypes.data, (c.c_int32 * 2)(1, 0), len(extents), code | bits << 8 | 1 << 16, shape, None, 0)
    made.keep = (array, shape)
    return made


class Kernel:
    """A kernel's module with a context: `Kernel("mm_f32", cores=1)(x, y, z)`."""

    def __init__(self, name, cores=1, emulated=False, recorded=False):
        self.library = c.CDLL(str(BUILD / "bench" / f"{name}.so"))
        self.function = self.library[f"kiln_{name}"]
        options = Options()
        self.library.kiln_options_init(c.byref(options))
        options.cores, options.mode, options.events = cores, int(emulated), int(recorded)
        self.library.kiln_context_new.restype = c.c_void_p
        self.context = c.c_void_p(self.library.kiln_context_new(c.byref(options)))
        self.status = Status()

    def bind(self, *arguments):
        """A function without arguments that calls the kernel; `(array, dtype)` pairs and numbers go in."""
        scalars = {int: c.c_int32, float: c.c_float}
        made = [scalars[type(a)](a) if type(a) in scalars else tensor(*a) for a in arguments]
        passed = [c.byref(a) if isinstance(a, DLTensor) else a for a in made]
        function, context, status, pointer = self.function, self.context, self.status, c.byref(self.status)

        def call():
            if function(*passed, context, pointer) != 0:
                raise RuntimeError(status.message.decode())

        call.keep = (made, self)
        return call

    def __del__(self):
        self.library.kiln_context_free(self.context)


def together(tasks):
    """A function that runs all of them at once: foreign code, so that Python's lock does not matter."""
    if len(tasks) == 1:
        return tasks[0]
    pool = futures.ThreadPoolExecutor(len(tasks) - 1)

    def call():
        others = [pool.submit(task) for task in tasks[1:]]
        tasks[0]()
        for other in others:
            other.result()
    return call


class Probe:
    def __init__(self):
        self.library = c.CDLL(str(BUILD / "bench" / "probe.so"))
        for name in ("probe_f32", "probe_bf16", "probe_i8"):
            getattr(self.library, name).restype = c.c_double

    def dots(self, dtype, steps=1 << 21):
        """A function that computes dots out of registers, and how many operations those are."""
        function, sink = getattr(self.library, f"probe_{dtype}"), c.c_double()
        count = function(c.c_int64(1), c.byref(sink)) * steps
        return (lambda: function(c.c_int64(steps), c.byref(sink))), count

    def add(self, x, y, z, cores=1):
        return self._over(self.library.probe_add, (x, y, z), cores)

    def copy(self, x, z, cores=1):
        return self._over(self.library.probe_copy, (x, z), cores)

    def read(self, x, cores=1):
        return self._over(self.library.probe_read, (x,), cores)

    @staticmethod
    def _over(loop, arrays, cores):
        """A loop over memory, of which each core has its part."""
        part = arrays[0].size // cores // 64 * 64  # whole vectors
        starts = [4 * part * core for core in range(cores)]
        call = together([functools.partial(loop, *[c.c_void_p(a.ctypes.data + start) for a in arrays], c.c_size_t(part))
                         for start in starts])
        call.keep = arrays  # as it has their addresses only
        return call

    def calls(self, kernel, arrays, count):
        """Calls of a kernel of three arrays, without Python between them; of no kernel, those of an empty function."""
        made = [tensor(*a) for a in arrays]
        function = c.cast(kernel.function if kernel else self.library.probe_nothing, c.c_void_p)
        passed = [function, *[c.byref(m) for m in made], kernel.context if kernel else None, c.c_int64(count)]

        def call():
            self.library.probe_calls(*passed)

        call.keep = kernel  # as its context goes with it
        return call
