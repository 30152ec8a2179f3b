import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("KILN_TOOL", str(ROOT / "build" / "kiln"))


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT
