#!/usr/bin/env python3
"""Runs the package's tests that concern JAX with releases of it, each in an environment of its own under
build/jax-versions, and writes what came out into tests/jax_versions/summary.json and docs/jax-versions.md."""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python" / "tests" / "wheel")]

import page  # noqa: E402
from pythons import VERSIONS as PYTHONS  # noqa: E402
from pythons import find_python  # noqa: E402

FOLDER = ROOT / "build" / "jax-versions"
#: Of each minor release the first and the last, one that is too old, and whatever is the newest.
RELEASES = ["0.5.3", "0.6.0", "0.6.2", "0.7.0", "0.7.2", "0.8.0", "0.8.3", "0.9.0", "0.9.2", "0.10.0", "0.10.2", "0.11.0",
            "0.11.2", "0.12.0", "newest"]  # fmt: skip
#: The oldest Python of a release, where the package's own oldest is older.
OLDEST_PYTHON = [((0, 11), "3.12")]
TESTS = [
    *(f"python/tests/test_{name}.py" for name in (
        "jax", "jax_gradient", "jax_native", "jax_native_shipped", "jax_processes", "jax_releases", "pallas",
        "pallas_corpus", "pallas_indices", "pallas_operations")),
    "python/tests/test_load_library.py::test_inside_jit",
    "python/tests/test_docs.py::test_the_blocks_of_a_page[README.md-numpy]",
    "python/tests/test_docs.py::test_the_blocks_of_a_page[docs/jax.md-jax]",
]  # fmt: skip
#: About the recorded summary itself, which is being made.
LEFT_OUT = ["test_the_releases_that_are_known_are_those_tested"]


def parse():
    parser = argparse.ArgumentParser(prog="./dev test-jax-versions", description=__doc__)
    parser.add_argument(
        "releases", nargs="*", metavar="VERSION", help=f"of JAX, or newest; without: {' '.join(RELEASES)}"
    )
    parser.add_argument("--with", dest="others", metavar="PACKAGES", default="", help="what is installed beside JAX")
    options = parser.parse_args()
    for release in options.releases:
        if release != "newest" and not re.fullmatch(r"\d+(\.\d+){2,3}", release):
            parser.error(f'"{release}" is no version of JAX: write 0.10.2, or newest')
    return options


def numbers(release):
    return tuple(map(int, re.findall(r"\d+", release)))


def python_for(release):
    """The oldest Python here that it can have, as the package's users may have that."""
    least = max([PYTHONS[0], *(p for since, p in OLDEST_PYTHON if numbers(release) >= since)], key=numbers)
    for version in PYTHONS[PYTHONS.index(least) :]:
        found = find_python(version)
        if found:
            return found
    sys.exit(f"JAX {release} needs Python {least} or later, which is not here")


def newest():
    """By the newest Python here, which is the one that has it."""
    python = next(filter(None, map(find_python, reversed(PYTHONS))))
    words = [python, "-m", "pip", "index", "versions", "jax"]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    found = re.match(r"jax \((.*)\)", told.stdout)
    if found is None:
        sys.exit(f"cannot ask PyPI which JAX is the newest: {told.stderr}")
    return found[1]


def environment(release, others):
    """Its Python; made anew when what is installed in it changes."""
    folder, packages = FOLDER / release, [f"jax=={release}", f"jaxlib=={release}", *others]
    pins, wanted = folder / "pins", " ".join(packages)
    if not pins.is_file() or pins.read_text() != wanted:
        subprocess.run([python_for(release), "-m", "venv", "--clear", folder], check=True)
        command = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        subprocess.run(command, check=True)
        pins.write_text(wanted)
    return folder / "bin" / "python"


def versions_of(python):
    program = """
import json, platform
from importlib.metadata import version
print(json.dumps({"python": platform.python_version(), **{p: version(p) for p in ("numpy", "ml_dtypes", "scipy")}}))"""
    return json.loads(subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout)


def run(release, python):
    """What the tests say; or the message that the release is refused with."""
    package = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    words = [python, "-c", "import kiln.pallas"]
    loaded = subprocess.run(words, env=package, capture_output=True, text=True, check=False)
    if loaded.returncode:
        message = loaded.stderr.strip().splitlines()[-1]
        if "Kiln needs JAX" in message:
            return {"refused": message.rpartition("UnknownJax: ")[2]}
        return {"passed": 0, "failed": {"import kiln.pallas": message}, "left out": {}, "other texts": 0}
    report = FOLDER / f"{release}.xml"
    report.unlink(missing_ok=True)
    words = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", f"--junitxml={report}"]
    words += ["-o", "junit_family=xunit1", *TESTS]
    words += [word for name in LEFT_OUT for word in ("--deselect", f"python/tests/test_jax_releases.py::{name}")]
    with (FOLDER / f"{release}.log").open("w") as log:
        subprocess.run(words, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False)
    if not report.is_file():
        sys.exit(f"the tests did not run: see {FOLDER / release}.log")
    return outcomes(xml.parse(report))


def outcomes(report):
    failed, lacks, other_texts, passed = {}, collections.Counter(), 0, 0
    for test in report.iter("testcase"):
        other_texts += sum(p.get("name") == "other text" for p in test.iter("property"))
        bad, skipped = test.find("failure"), test.find("skipped")
        bad = test.find("error") if bad is None else bad
        if bad is not None:
            failed[test.get("name")] = bad.get("message", "").splitlines()[0][:200]
        elif skipped is not None:
            lacks[skipped.get("message")] += 1
        else:
            passed += 1
    return {"passed": passed, "failed": failed, "left out": dict(sorted(lacks.items())), "other texts": other_texts}


def main():
    options = parse()
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = HERE / "summary.json"
    summary = json.loads(file.read_text()) if file.exists() else {}
    bad = 0
    for asked in options.releases or RELEASES:
        release = newest() if asked == "newest" else asked
        python = environment(release, options.others.split())
        result = {**versions_of(python), **run(release, python)}
        summary[release] = result
        bad += bool(result.get("failed"))
        print(f"JAX {release}, Python {result['python']}: {page.verdict(result)}", flush=True)
        for name, message in result.get("failed", {}).items():
            print(f"  {name}: {message}", flush=True)
        summary = dict(sorted(summary.items(), key=lambda item: numbers(item[0])))
        file.write_text(json.dumps(summary, indent=1) + "\n")
        if any("passed" in each for each in summary.values()):
            page.PAGE.write_text(page.text(summary))
    print(f"wrote {file.relative_to(ROOT)} and {page.PAGE.relative_to(ROOT)}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
