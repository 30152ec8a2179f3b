"""python cuda_stand_ins.py FOLDER: lets the CUDA build of PyTorch in site-packages FOLDER compute on the CPU alone.

PyPI has no other build of it for Linux, and the CUDA libraries that this one links are gigabytes. Only four small ones
are used where there is no GPU (they are installed from PyPI); each of the others gets a library in its place that has
the functions by name, and ends the process should one be called."""

import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARIES = [
    "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libcufft.so.12", "libcurand.so.10", "libcusolver.so.12",
    "libcusparse.so.12", "libcusparseLt.so.0", "libnccl.so.2", "libnvrtc.so.13",
]  # fmt: skip
USERS = ["libtorch_cuda.so", "libtorch_cuda_linalg.so", "libtorch_python.so"]


def wanted_symbols(folder: Path) -> set[str]:
    """ "cublasCreate_v2@libcublas.so.13", or "ncclSend" where a library gives its symbols no version."""
    told = subprocess.run(
        ["nm", "-D", "--undefined-only", *(folder / user for user in USERS)], check=True, capture_output=True, text=True
    ).stdout
    return {line.split()[-1] for line in told.splitlines() if line.startswith(" ")}


def symbols_of(library: str, wanted: set[str]) -> tuple[list[str], bool]:
    """The library's own among them, and whether they have its name for a version."""
    versioned = sorted(symbol.partition("@")[0] for symbol in wanted if symbol.endswith(f"@{library}"))
    if versioned:
        return versioned, True
    prefix = library.removeprefix("lib").partition(".")[0]
    return sorted(symbol for symbol in wanted if symbol.startswith(prefix) and "@" not in symbol), False


def make(library: str, wanted: set[str], folder: Path) -> None:
    symbols, versioned = symbols_of(library, wanted)
    with tempfile.TemporaryDirectory() as scratch:
        source, versions = Path(scratch, "stand_in.c"), Path(scratch, "versions")
        source.write_text("".join(f"void {symbol}(void) {{ __builtin_trap(); }}\n" for symbol in symbols))
        versions.write_text(f"{library} {{ global: *; }};\n")
        script = [f"-Wl,--version-script={versions}"] if versioned else []
        subprocess.run(
            ["cc", "-w", "-shared", "-fPIC", *script, f"-Wl,-soname,{library}", "-o", folder / library, source],
            check=True,
        )


def main(site_packages: str) -> None:
    folder = Path(site_packages, "torch", "lib")
    if not (folder / USERS[0]).exists():
        return  # a build for the CPU
    wanted = wanted_symbols(folder)
    for library in LIBRARIES:
        make(library, wanted, folder)


if __name__ == "__main__":
    main(sys.argv[1])
