import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("KILN_TOOL", str(ROOT / "build" / "kiln"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples/train")]

pytest_plugins = ["kiln.testing"]
