"""Executables of JAX that one process makes and another one runs."""

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

pytest.importorskip("jax")

from conftest import ROOT  # noqa: E402
from shared_specs import SHIFTED  # noqa: E402

COMMON = """\
import os, sys
import numpy as np
import jax
import kiln, kiln.jax
from jax.experimental import serialize_executable
import pickle
folder = sys.argv[1]
x = np.arange(100, dtype=np.float32)
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
"""
# The cache of JAX, with everything in it that takes a while to compile or not.
JIT = COMMON + """\
jax.config.update("jax_compilation_cache_dir", folder + "/jax")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
k = kiln.load(folder + "/shifted.yaml", b=64)
assert np.array_equal(jax.jit(lambda x: kiln.jax.call(k, 3, x) * 1)(x), x * 2 + 3)
print("hit" if "/jax/compilation_cache/cache_hits" in hits else "missed", k.signature.hash)
"""
SAVE = COMMON + """\
k = kiln.load(folder + "/shifted.yaml", b=64)
compiled = jax.jit(k).lower(3, x).compile()
with open(folder + "/executable", "wb") as out:
    pickle.dump(serialize_executable.serialize(compiled), out)
print(k.library.path)
"""
RUN = COMMON + """\
with open(folder + "/executable", "rb") as saved:
    compiled = serialize_executable.deserialize_and_load(*pickle.load(saved))
try:
    o = jax.block_until_ready(compiled(3, x))
    print("equal" if np.array_equal(o, x * 2 + 3) else "other")
except jax.errors.JaxRuntimeError as error:
    print(error)
"""


def run(text, folder):
    done = subprocess.run(
        [sys.executable, "-c", text, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "XLA_FLAGS": ""}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shifted.yaml").write_text(SHIFTED)
    return tmp_path


def test_the_compilation_cache_of_jax_stays_valid(folder):
    first, second = run(JIT, folder).split(), run(JIT, folder).split()
    assert first[0] == "missed" and second[0] == "hit" and first[1] == second[1]
    # Another text is another kernel, though it is called the same.
    (folder / "shifted.yaml").write_text(SHIFTED.replace("x * 2 + f32(by)", "f32(by) + 2 * x"))
    third = run(JIT, folder).split()
    assert third[0] == "missed" and third[1] != first[1]


def test_an_executable_finds_its_kernel_by_the_hash_of_its_text(folder):
    # A text that no entry of the cache has yet.
    (folder / "shifted.yaml").write_text(SHIFTED.replace("adds a number", f"adds a number {uuid.uuid4()}"))
    library = Path(run(SAVE, folder))
    (folder / "shifted.yaml").unlink()
    assert run(RUN, folder) == "equal"
    shutil.rmtree(library.parent)
    said = run(RUN, folder)
    assert said.startswith("NOT_FOUND: the kernel shifted is not loaded: kiln: the cache has no kernel shifted with a ")
    assert "load its spec first" in said
