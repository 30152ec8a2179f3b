"""python check.py FOLDER: installs the wheel in FOLDER for every Python there is, and uses it.

That happens in a new environment, in another folder and, where this user may (root), with Kiln's checkout and
the libraries that it was built with out of sight, so that nothing but a compiler is left."""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from pythons import VERSIONS, find_python

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]

PACKAGES = ["numpy==2.4.6", "ml_dtypes==0.6.0"]
MYPY = ["mypy==2.4.1", "pytest==9.2.0"]
#: Modules of the package that keep to mypy's strict rules.
OWN = ["", "_gradients", "_library", "_signature", "_sizes", "_tensors", "_tool", "errors", "kernel", "report",
       "testing", "torch"]  # fmt: skip
#: What only builds of Kiln may need.
DEBIAN = ["libhwy-dev", "libhwy1", "libyaml-cpp-dev", "libyaml-cpp0.7", "libcli11-dev", "nlohmann-json3-dev",
          "libdlpack-dev"]  # fmt: skip


def run(*command: object, **more: object) -> subprocess.CompletedProcess:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


def hidden() -> list[str]:
    """What a command begins with that does not see the checkout or the libraries."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        print("the checkout and the system's libraries stay visible, as `unshare --mount` is not allowed")
        return []
    lines = [f"mount -t tmpfs none '{ROOT}'"]
    told = subprocess.run(["dpkg", "-L", *DEBIAN], capture_output=True, text=True, check=False).stdout
    for name in sorted(set(told.splitlines())):
        path = Path(name)
        if path.is_file() and not path.is_symlink() and ("/include/" in name or ".so" in name or name.endswith(".a")):
            lines.append(f"mount --bind /dev/null '{name}'")
    return ["unshare", "--mount", "sh", "-ec", "\n".join([*lines, 'exec "$@"']), "sh"]


def check_contents(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for wanted in ("kiln/py.typed", "kiln/_install/bin/kiln", "kiln/_install/include/hwy/highway.h",
                       "kiln/_install/include/kiln/c.h", "kiln/_install/lib/libkiln_runtime.a"):  # fmt: skip
            assert wanted in names, f"{wanted} is not in {wheel.name}"
        assert "py3-none" in wheel.name, wheel.name


def check_types(python: Path, folder: Path) -> None:
    """mypy's errors are those that the program expects, of the installed package and its own code."""
    shutil.copy(HERE / "typed_program.py", folder)
    expected = [
        (number, match[1])
        for number, line in enumerate((folder / "typed_program.py").read_text().splitlines(), 1)
        if (match := re.search(r"# error: (.*)$", line))
    ]
    mypy = [python, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
    own = [word for module in OWN for word in ("-m", f"kiln.{module}" if module else "kiln")]
    run(*mypy, "--ignore-missing-imports", "--follow-imports=silent", *own, cwd=folder)
    told = subprocess.run([*mypy, "typed_program.py"], capture_output=True, text=True, cwd=folder, check=False).stdout
    found = [(int(n), rule) for n, rule in re.findall(r"^typed_program.py:(\d+): error: .*\[(.*)\]$", told, re.M)]
    assert found == expected, told


def check(python: str, wheel: Path, prefix: list[str], types: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="kiln-wheel-") as scratch:
        folder = Path(scratch)
        run(python, "-m", "venv", folder / "env")
        own = folder / "env" / "bin" / "python"
        run(own, "-m", "pip", "install", "-q", wheel, *PACKAGES, *(MYPY if types else []))
        work = folder / "work"
        work.mkdir()
        shutil.copy(ROOT / "README.md", work)
        shutil.copy(HERE / "installed.py", folder)
        environment = {"PATH": f"{own.parent}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
        done = run(*prefix, own, folder / "installed.py", cwd=work, env=environment)
        version = run(own, "--version").stdout.strip()
        print(f"{version}: the README's example, three engines; {done.stdout.splitlines()[0]}")
        if types:
            check_types(own, work)
            print(f"{version}: mypy --strict finds the mistakes of {HERE.name}/typed_program.py and no others")


def main(folder: str) -> None:
    (wheel,) = Path(folder).resolve().glob("kiln-*.whl")
    check_contents(wheel)
    prefix = hidden()
    for version in VERSIONS:
        python = find_python(version)
        if python is None:
            print(f"Python {version} is not installed here")
            continue
        check(python, wheel, prefix, types=version == VERSIONS[0])


if __name__ == "__main__":
    main(sys.argv[1])
