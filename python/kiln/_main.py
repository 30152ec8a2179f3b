"""The command `kiln` of an installed package: the program that came with it, and `kiln import`, which is Python."""

import os
import sys

from . import _tool


def main() -> None:
    if sys.argv[1:2] == ["import"]:  # it traces Python functions, so it has to be a Python program
        from .pallas import command

        sys.exit(command.main(sys.argv[2:]))
    tool = _tool.find()
    os.execv(tool, ["kiln", *sys.argv[1:]])
