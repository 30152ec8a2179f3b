"""The Python on the pages runs, in order, and prints what stands below it; with KILN_UPDATE=1 that is written anew.

A block of "python torch" needs PyTorch, one of "python jax" JAX; where that is not installed they are left out.
"python file=NAME" is a file, written into the folder that the page runs in."""

import contextlib
import importlib.util
import io
import os
import re
from pathlib import Path

import api_reference
import pytest
from conftest import ROOT

UPDATE = os.environ.get("KILN_UPDATE") == "1"
BLOCK = re.compile(r"^```(python|text)(?: ([\w.=]+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Page:
    """A page that is run, and what it then ought to be."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.names: dict = {}
        self.printed: str | None = None  # by the last block; None: that was left out
        self.text = BLOCK.sub(self._run, path.read_text(encoding="utf-8"))
        self._end()

    def _run(self, block: re.Match) -> str:
        kind, info, code = block.groups()
        if kind == "text":
            printed, self.printed = self.printed, ""
            return block[0] if printed is None else f"```text\n{printed}```"
        self._end()
        if info and info.startswith("file="):
            Path(info.removeprefix("file=")).write_text(code, encoding="utf-8")
        elif info and importlib.util.find_spec(info) is None:
            self.printed = None
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, f"{self.name}: {code.splitlines()[0]}", "exec"), self.names)
            self.printed = out.getvalue()
        return block[0]

    def _end(self) -> None:
        assert not self.printed, f"{self.name}: no text block shows {self.printed!r}"
        self.printed = ""


def hold(path: Path, text: str) -> None:
    """The file is that text, or becomes it."""
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "page, needs",
    [("README.md", "numpy"), ("docs/python.md", "numpy"), ("docs/jax.md", "jax"), ("docs/tutorial-python.md", "numpy"),
     ("docs/scale.md", "numpy")],
)
def test_the_blocks_of_a_page(page, needs, tmp_path, monkeypatch):
    pytest.importorskip(needs)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    hold(ROOT / page, Page(ROOT / page).text)


def test_the_reference_is_what_the_docstrings_say():
    hold(ROOT / "docs/python-api.md", api_reference.page())
