"""The command `kiln` of an installed package: the program that came with it."""

import os
import sys

from . import _tool


def main() -> None:
    tool = _tool.find()
    os.execv(tool, ["kiln", *sys.argv[1:]])
