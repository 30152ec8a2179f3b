"""How long it takes to generate all kernels, and to compile one for all instruction sets: time of a core."""

import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

from kilnbench import native, race
from kilnbench.race import SECONDS, Case, Limit

TITLE = "generating and compiling"
CORES = 1
KERNELS = []
_COMPILE = ["-O3", "-std=c++20", "-ffp-contract=off", "-fwrapv", "-c", "-o", os.devnull]


def cases(cores, peers, quick):
    run = functools.partial(subprocess.run, cwd=native.ROOT, check=True, stdout=subprocess.DEVNULL)
    run(["cmake", "--build", "--preset", "release", "--target", "kiln"])
    specs = sorted(str(p) for p in (native.ROOT / "specs").glob("*.yaml"))
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made, "generated")
        generate = [str(native.BUILD / "kiln"), "generate", *specs, "-o", str(folder)]
        run(generate)

        def again():
            shutil.rmtree(folder)  # or nothing would be written
            run(generate)
        yield _case(f"generate the kernels of {len(specs)} specs", again, 1)
        compiler = [os.environ.get("CXX", "g++"), *_COMPILE, "-I", str(native.ROOT / "runtime"), "-I", str(folder)]
        compile_it = [*compiler, str(folder / "matmul_bf16.cc")]
        yield _case("compile matmul_bf16, all instruction sets", lambda: run(compile_it), 10)


def _case(label, action, most):
    return Case(label, {"Kiln": action}, [Limit("Kiln", most)], 1, SECONDS, clock=race.time_of_children)
