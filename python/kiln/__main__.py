"""`python -m kiln` is the command `kiln`, for where the package is not installed."""

from ._main import main

main()
