"""The program `kiln`, which checks, generates and compiles; this package only calls what it made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import errors


def find() -> str:
    """$KILN_TOOL, else the program that came with this package, else the one on the PATH."""
    chosen = os.environ.get("KILN_TOOL")
    if chosen:
        return chosen
    own = Path(__file__).parent / "_install" / "bin" / "kiln"
    if own.exists():
        return str(own)
    found = shutil.which("kiln")
    if found is None:
        raise errors.Error("there is no program `kiln`: install the package, or set KILN_TOOL to its path")
    return found


def run(*words: str, progress: bool = False) -> str:
    """Its standard output; an exception for what it says is wrong. With `progress`, what it says of its
    progress goes to standard error as it comes."""
    command = [find(), *words]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False,
        ) if not progress else _run_with_progress(command)  # fmt: skip
    except OSError as error:
        raise errors.Error(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode == 0:
        return done.stdout
    found = errors.from_json(done.stdout)
    if found is not None:
        raise found
    said = done.stderr.strip() or f"exit status {done.returncode}"
    # "error[call]: …", of a call that names no line of the spec
    for line in said.splitlines():
        if line.startswith("error[") and "]: " in line:
            rule, message = line[len("error[") :].split("]: ", 1)
            raise errors.from_call(rule, message)
    raise errors.Error(said)


def _run_with_progress(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Errors have lines of their own; all else on standard error is progress or a warning."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        said = b""
        while piece := os.read(process.stderr.fileno(), 4096):
            said += piece
            if "compiling".encode() in said:
                sys.stderr.write(piece.decode("utf-8", "replace"))
                sys.stderr.flush()
        out = process.stdout.read()
    return subprocess.CompletedProcess(
        command, process.returncode, out.decode("utf-8", "replace"), said.decode("utf-8", "replace")
    )
