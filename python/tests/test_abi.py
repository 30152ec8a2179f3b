"""The structures that the package hands to a kernel's library are those of the C interface."""

import re
from pathlib import Path

import pytest

from kiln import _library

HEADER = Path(__file__).parents[2] / "runtime" / "kiln" / "call" / "c.h"


def members(name: str) -> list[str]:
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), text, re.S)
    assert body
    return [re.sub(r"\[.*\]", "", m.split()[-1]).lstrip("*") for m in body[1].split(";") if m.split()]


@pytest.mark.parametrize(
    ("name", "structure"),
    [("kiln_status", _library._Status), ("kiln_options", _library._Options)],
)
def test_structures_are_those_of_the_header(name: str, structure: type) -> None:
    assert [field for field, _ in structure._fields_] == members(name)
