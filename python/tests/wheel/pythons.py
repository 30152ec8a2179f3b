"""The Pythons of this machine that tests make environments with."""

import os
import shutil
import subprocess
from pathlib import Path

#: Those that the package is for, the oldest first.
VERSIONS = ["3.11", "3.12", "3.13"]


def find_python(version: str) -> str | None:
    """One that can make environments, on the PATH or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
    for candidate in filter(None, candidates):
        test = [str(candidate), "-c", "import ensurepip, venv"]
        if subprocess.run(test, capture_output=True, check=False).returncode == 0:
            return str(candidate)
    return None
