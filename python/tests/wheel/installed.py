"""Runs in an environment that has the wheel: what the README shows, and what the package says without a compiler."""

import os
import re
import subprocess
import sys
from pathlib import Path

import kiln
import numpy as np

readme = Path("README.md").read_text(encoding="utf-8")
Path("specs").mkdir()
Path("specs/sum_rows.yaml").write_text(re.search(r"```yaml\n(kernel: sum_rows.*?)```", readme, re.DOTALL)[1])

version = subprocess.run(["kiln", "--version"], check=True, capture_output=True, text=True).stdout
assert version == f"kiln {kiln.__version__}\n", version
assert Path(kiln.__file__).is_relative_to(sys.prefix), kiln.__file__

path = os.environ["PATH"]
os.environ["PATH"] = str(Path(sys.executable).parent)
try:
    kiln.load("specs/sum_rows.yaml")(np.ones((3, 4), np.float32))
    raise AssertionError("compiled without a compiler")
except kiln.Error as error:
    print(f"without a compiler: {error}")
    assert "compiler" in str(error), error
os.environ["PATH"] = path

names: dict = {}
blocks = re.findall(r"```python ?\n(.*?)```", readme, re.DOTALL)
assert blocks
for block in blocks:
    exec(block, names)

x = np.random.default_rng(1).standard_normal((100, 700)).astype(np.float32)
k = kiln.load("specs/sum_rows.yaml", bm=32)
for mode in ("direct", "emulate", "interpret"):
    assert np.allclose(k(x, mode=mode), x.sum(axis=1), rtol=1e-4, atol=1e-4), mode
assert "sum_rows" in k.plan() and k.report(m=100, n=700).html
