"""examples/mpi: a mixture of experts over ranks is equal to one rank, and nobody waits for ever."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture(scope="module")
def program(root, tmp_path_factory) -> Path:
    """Built as its README says, against an installation."""
    folder = tmp_path_factory.mktemp("mpi")
    prefix, build = folder / "prefix", folder / "build"
    for command in (
        ["cmake", "--install", Path(os.environ["KILN_TOOL"]).parent, "--prefix", prefix],
        ["cmake", "-S", root / "examples/mpi", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["cmake", "--build", build],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "moe_mpi"


def mpirun(program: Path, ranks: int, *words: str) -> list[str]:
    return ["mpirun", "--oversubscribe", "-n", str(ranks), str(program), *words]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_ranks_are_equal_to_one(program, ranks):
    """Bit for bit: the program holds what it gathers against one rank that has all experts, and against plain sums."""
    done = subprocess.run(
        mpirun(program, ranks), capture_output=True, text=True, env=ENVIRONMENT, timeout=120, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [int(n) for n in re.search(r"rows of each rank:((?: \d+)+);", done.stdout)[1].split()]
    assert len(rows) == ranks and sum(rows) == 509 * 2 and min(rows) > 0
    assert "largest difference from one rank 0.0e+00" in done.stdout


def test_a_rank_without_experts_adds_nothing(program):
    """It calls the kernels with an empty shard: there are eight experts."""
    done = subprocess.run(
        mpirun(program, 9), capture_output=True, text=True, env=ENVIRONMENT, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def start(program: Path, *words: str) -> tuple[subprocess.Popen, list[int]]:
    """Four ranks that have begun to compute, and would for hours, and the processes of these ranks."""
    running = subprocess.Popen(
        mpirun(program, 4, "10000000", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert running.stdout.readline() == "running\n"
    ranks = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
        if parent == running.pid:
            ranks.append(int(process.name))
    assert len(ranks) == 4
    return running, ranks


def end(running: subprocess.Popen, ranks: list[int], within: float) -> str:
    began = time.monotonic()
    try:
        _, said = running.communicate(timeout=within)
    finally:
        running.kill()
        for rank in ranks:
            if Path(f"/proc/{rank}").exists():
                os.kill(rank, signal.SIGKILL)
    print(f"ended after {time.monotonic() - began:.1f} s\n{said}")
    assert running.returncode != 0
    return said


def test_a_killed_rank_ends_the_others(program):
    running, ranks = start(program)
    os.kill(ranks[2], signal.SIGKILL)
    said = end(running, ranks, 30)
    assert "exited on signal 9 (Killed)" in said


def test_a_rank_that_hangs_ends_the_others(program):
    running, ranks = start(program, "5")
    os.kill(ranks[1], signal.SIGSTOP)
    said = end(running, ranks, 30)
    assert re.search(r"rank \d of 4: \w+( \w+)?: a rank has not come for 5 s", said)
