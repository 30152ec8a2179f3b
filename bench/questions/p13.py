"""How long it takes to generate all kernels, and to compile one for all instruction sets."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from kilnbench import native
from kilnbench.race import Case

TITLE = "generating and compiling"
KERNELS = []
_COMPILE = ["-O3", "-std=c++20", "-ffp-contract=off", "-fwrapv", "-c", "-o", os.devnull]


def cases(cores, peers, peaks, quick):
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "kiln"], cwd=native.ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    specs = sorted(str(p) for p in (native.ROOT / "specs").glob("*.yaml"))
    folder = pathlib.Path(tempfile.mkdtemp())
    generate = [str(native.BUILD / "kiln"), "generate", *specs, "-o", str(folder)]
    subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)
    yield _seconds("generate all specs", lambda: (shutil.rmtree(folder), subprocess.run(generate, check=True, stdout=subprocess.DEVNULL)), 1.0)
    source = folder / "matmul_bf16.cc"
    command = [os.environ.get("CXX", "g++"), *_COMPILE, "-I", str(native.ROOT / "runtime"), "-I", str(folder), str(source)]
    yield _seconds("compile matmul_bf16, all sets", lambda: subprocess.run(command, check=True), 10.0)
    shutil.rmtree(folder)


def _seconds(label, action, most):
    """Measured against a sleep of the goal's length, so that it reads as all other goals do."""
    return Case("P13", f"{label} (goal {most:.0f} s)", {"Kiln": action, "goal": lambda: _busy(most)},
                [("Kiln", "goal", 1.0)], 1e9, "times", 2)


def _busy(seconds):
    time.sleep(seconds)
