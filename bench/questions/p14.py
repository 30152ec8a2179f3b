"""What a call of a small kernel costs from C, from Python and inside of `jax.jit`. Beside the last one stands a custom call
of XLA that does nothing, as the rest is JAX's."""

import ctypes
import json
import os
import subprocess

from kilnbench import native
from kilnbench.race import NANOSECONDS, Case, Limit

TITLE = "calls from C, Python and JAX"
CORES = 1
KERNELS = ["add_vectors_f32"]
_CALLS = 1000
_SIZE = 64


def cases(cores, peers, quick):
    probe = native.Probe()
    arrays = [(native.random((_SIZE,), "f32", s), "f32") for s in (1, 2, 3)]
    kernel = probe.calls(native.Kernel("add_vectors_f32", 1), arrays, _CALLS)
    yield Case("a call from C", {"Kiln": kernel}, [Limit("Kiln", 3000)], _CALLS, NANOSECONDS)

    kernel = native.package().load(str(native.ROOT / "specs" / "add_vectors.yaml:add_vectors_f32"))
    x, y, z = (array for array, _ in arrays)
    contestants = {"Kiln": _many(lambda: kernel(x, y)), "Kiln, out=": _many(lambda: kernel(x, y, out=z))}
    yield Case("a call from Python, with numpy", contestants, [Limit(name, 15000) for name in contestants], _CALLS, NANOSECONDS,
               check=lambda: _expect_equal(kernel(x, y), x + y))
    try:
        import jax
    except ImportError:
        return
    yield _jit(jax, kernel, x, y)


def _jit(jax, kernel, x, y):
    import kiln.jax
    told = subprocess.run([os.environ["KILN_TOOL"], "cache", "build", str(native.ROOT / "bench" / "ffi_nothing.cc"),
                           f"--include={jax.ffi.include_dir()}"], check=True, stdout=subprocess.PIPE)
    library = ctypes.CDLL(json.loads(told.stdout)["library"])
    jax.ffi.register_ffi_target("bench_nothing", jax.ffi.pycapsule(library.bench_nothing), platform="cpu")
    like = jax.ShapeDtypeStruct((_SIZE,), "float32")
    added = jax.jit(lambda x, y: kiln.jax.call(kernel, x, y))
    nothing = jax.jit(lambda x, y: jax.ffi.ffi_call("bench_nothing", like)(x, y))
    a, b = jax.numpy.asarray(x), jax.numpy.asarray(y)
    contestants = {"Kiln": _many(lambda: added(a, b).block_until_ready()),
                   "a custom call that is empty": _many(lambda: nothing(a, b).block_until_ready())}
    return Case("a call in jax.jit", contestants, [Limit("Kiln", 5000, beyond="a custom call that is empty")], _CALLS,
                NANOSECONDS, check=lambda: _expect_equal(added(a, b), x + y))


def _many(call):
    def calls():
        for _ in range(_CALLS):
            call()
    return calls


def _expect_equal(got, want):
    if not (got == want).all():
        raise RuntimeError("not the sum")
