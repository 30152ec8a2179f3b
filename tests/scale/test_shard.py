"""examples/shard: layers over processes of JAX are equal to one device."""

import os
import re
import subprocess
import sys

import pytest


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_layers_over_processes(root, processes):
    environment = {**os.environ, "PYTHONPATH": str(root / "python"), "XLA_FLAGS": ""}
    command = [sys.executable, root / "examples/shard/shard.py", str(processes)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("process ")]
    print("\n".join(sorted(lines)))
    assert len(lines) == 2 * processes
    # Each has its part of the weights alone: two products of 96 x 160 and a bias, and the tokens.
    held = {int(re.search(r"(\d+) floats here", line)[1]) for line in lines if "MLP" in line}
    assert held == {120 * 96 + (2 * 96 * 160 + 160) // processes}
