import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("KILN_TOOL", str(ROOT / "build" / "kiln"))
# Before JAX looks at them: two devices, for shard_map, and messages without an advice of its own.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_TRACEBACK_FILTERING", "off")
os.chdir(ROOT)

pytest_plugins = ["kiln.testing"]

SHIFTED = """\
kernel: shifted
doc: Doubles a vector and adds a number.
params: {b: 64}
grid: {i: "cdiv(n, b)"}
dimension_semantics: parallel
scalars: {by: i32}
inputs:
  x: {array: "f32[n]", block: b, index: i}
outputs:
  o: {array: "f32[n]", block: b, index: i}
body: |
  o = x * 2 + f32(by)
golden:
  - {n: 100, by: 3, seed: 1}
"""

BOTH = """\
kernel: both
grid: {i: "cdiv(n, 64)"}
inputs:
  x: {array: "bf16[n]", block: "64", index: i}
outputs:
  o: {array: "bf16[n]", block: "64", index: i}
  p: {array: "f32[n]", block: "64", index: i}
body: |
  o = bf16(x + x)
  p = f32(x) * 3
"""


@pytest.fixture(scope="session")
def shifted():
    import kiln

    return kiln.compile(SHIFTED)


@pytest.fixture(scope="session")
def both():
    import kiln

    return kiln.compile(BOTH)
