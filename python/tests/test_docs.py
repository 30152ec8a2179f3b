"""The blocks of the pages run, in order, and print what stands below them. A block of "python torch" needs PyTorch,
one of "python jax" JAX; where that is not installed they are left out."""

import contextlib
import importlib.util
import io
import re

import pytest
from conftest import ROOT


def runnable(page: str) -> list[tuple[str, str]]:
    """Code and what it prints."""
    text = (ROOT / page).read_text(encoding="utf-8")
    pairs: list[tuple[str, str]] = []
    left_out = False
    for kind, needs, block in re.findall(r"^```(python|text) ?(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if kind == "python":
            left_out = bool(needs) and importlib.util.find_spec(needs) is None
            if not left_out:
                pairs.append((block, ""))
        elif not left_out:
            assert pairs and not pairs[-1][1], f"a text of {page} follows no code"
            pairs[-1] = (pairs[-1][0], block)
    return pairs


@pytest.mark.parametrize("page, needs, least", [("docs/python.md", "numpy", 6), ("docs/jax.md", "jax", 3)])
def test_the_blocks_of_a_page(page, needs, least):
    pytest.importorskip(needs)
    blocks = runnable(page)
    assert len(blocks) >= least
    names: dict = {}
    for i, (code, want) in enumerate(blocks):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"{page} block {i}", "exec"), names)
        assert out.getvalue() == want, f"{page} block {i}"
