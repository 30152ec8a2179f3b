"""Peers that compile what they are given: torch.compile, whose inductor needs g++, and XLA through jax.jit. One that
cannot takes no part, and a line says so."""

import ctypes
import os

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_simd_bits = None  # of inductor's vectors: as many as the CPU has


def keep_memory():
    """What peers free stays with the process: one that makes its outputs anew pays for no page faults."""
    try:
        for option in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(option, 1 << 30)
    except (AttributeError, OSError):  # another C library
        pass


def hold_to_256_bits():
    """Inductor asks the CPU what it has, and no variable of the environment."""
    global _simd_bits
    _simd_bits = 256


def attempt(who, label, make):
    """What `make` makes, called once; None, and a line, if that fails."""
    try:
        call = make()
        call()
        return call
    except Exception as error:  # of whatever kind: it is not ours
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        print(f"  {who} takes no part in {label}: {first[:140]}", flush=True)
        return None


class Inductor:
    """The function compiled by torch.compile with its stores to `outs`, so that it writes where Kiln does. `torch` is the
    module, and the function's first argument."""

    def __init__(self, torch, function, tensors, outs):
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of processes beside what is timed
        self.tensors, self.outs = tensors, outs
        if _simd_bits:
            import torch._inductor.config as inductor
            inductor.cpp.simdlen = _simd_bits
        torch._dynamo.reset()  # it gives up on a function that it compiled for many others before

        def stored(given, into):
            made = function(torch, *given)
            for out, value in zip(into, made if isinstance(made, tuple) else (made,)):
                out.copy_(value)
        self.compiled = torch.compile(stored, fullgraph=True, dynamic=False)

    def __call__(self):
        self.compiled(self.tensors, self.outs)

    def answers(self):
        return self.outs


class Xla:
    """The function compiled by XLA. The outputs of a call are the memory of those of the next one."""

    def __init__(self, function, arrays, outs):
        import jax
        self.jax, self.arrays = jax, [_of_jax(*a) for a in arrays]
        self.made = tuple(jax.numpy.zeros_like(_of_jax(*a)) for a in outs)

        def given(made, *arguments):
            values = function(*arguments)
            values = values if isinstance(values, tuple) else (values,)
            return tuple(value.astype(out.dtype) for out, value in zip(made, values))
        jitted = jax.jit(given, donate_argnums=0, keep_unused=True)
        self.compiled = jitted.lower(self.made, *self.arrays).compile()

    def __call__(self):
        self.made = self.jax.block_until_ready(self.compiled(self.made, *self.arrays))

    def answers(self):
        import numpy as np
        return [np.asarray(value, np.float32) for value in self.made]


def _of_jax(array, dtype):
    import jax.numpy as jnp
    return jnp.asarray(array.view(jnp.bfloat16) if dtype == "bf16" else array)
