import os
import sys
from pathlib import Path

import pytest
import shared_specs

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.append(str(ROOT / "tests" / "import"))  # the corpus, and names of JAX
os.environ.setdefault("KILN_TOOL", str(ROOT / "build" / "kiln"))
# Before JAX looks at them: two devices, for shard_map, and messages without an advice of its own.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_TRACEBACK_FILTERING", "off")
os.chdir(ROOT)

pytest_plugins = ["kiln.testing"]


@pytest.fixture(scope="session")
def shifted():
    import kiln

    return kiln.compile(shared_specs.SHIFTED)


@pytest.fixture(scope="session")
def both():
    import kiln

    return kiln.compile(shared_specs.BOTH)


# The kernels that tests of PyTorch share.


@pytest.fixture(scope="session")
def forward():
    import kiln

    return kiln.compile(shared_specs.TANH_PRODUCT)


@pytest.fixture(scope="session")
def product(forward):
    import kiln.torch

    backward = (shared_specs.TANH_PRODUCT_DX, shared_specs.TANH_PRODUCT_DY)
    return kiln.torch.operator(forward, backward=[kiln.compile(text) for text in backward])


@pytest.fixture(scope="session")
def update():
    import kiln

    return kiln.compile(shared_specs.UPDATE)


@pytest.fixture
def xy():
    import torch

    random = torch.Generator().manual_seed(1)
    return torch.randn(37, 11, generator=random), torch.randn(11, 5, generator=random)
