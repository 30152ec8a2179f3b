"""Every block of docs/python.md runs, in order, and prints what stands below it."""

import contextlib
import io
import re

from conftest import ROOT


def test_the_blocks_of_the_tutorial():
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|text)\n(.*?)```", page, re.DOTALL)
    assert sum(kind == "python" for kind, _ in blocks) >= 6
    names: dict = {}
    printed = ""
    for i, (kind, text) in enumerate(blocks):
        if kind == "text":
            assert printed == text
            printed = ""
            continue
        assert printed == "", f"what is printed before block {i} is not on the page"
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, f"docs/python.md block {i}", "exec"), names)
        printed = out.getvalue()
    assert printed == ""
