#!/usr/bin/env python3
"""Runs JAX's own tests of Pallas natively and compares what comes out with expected.txt. See README.md."""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXPECTED = HERE / "expected.txt"
FILES = ["pallas_test", "pallas_vmap_test", "indexing_test", "ops_test", "tpu_pallas_test"]
PATIENCE = 300  # seconds without an outcome, after which a test is said to have ended its process


def parse():
    parser = argparse.ArgumentParser(prog="./dev test-jax-suite", description=__doc__)
    parser.add_argument(
        "checkout", type=Path, help="a folder with JAX's sources, at the tag of the JAX that is installed"
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"some of {' '.join(FILES)}; without: all")
    parser.add_argument("-k", metavar="WORD", default="", help="tests whose name contains this, as pytest has it")
    parser.add_argument("--update", action="store_true", help="rewrite expected.txt by what came out of these files")
    parser.add_argument(
        "--resume", action="store_true", help="keep the outcomes of the last run, and run what has none"
    )
    parser.add_argument(
        "--mode", choices=["direct", "emulate", "interpret"], default="direct", help="which of Kiln's engines runs them"
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="so many files at once")
    options = parser.parse_args()
    folder = options.checkout / "tests" / "pallas"
    if not folder.is_dir():
        parser.error(f"there is no {folder}: name a folder with JAX's sources")
    unknown = [f for f in options.files if f not in FILES]
    if unknown:
        parser.error(f"there is no {unknown[0]} here; there are {' '.join(FILES)}")
    if options.update and options.k:
        parser.error("--update is for whole files: leave -k out")
    return options


class File:
    """One file of tests, in processes one after the other."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.outcomes = ROOT / "build" / "jax-suite" / f"{name}.jsonl"
        self.outcomes.parent.mkdir(parents=True, exist_ok=True)
        if not options.resume:
            self.outcomes.unlink(missing_ok=True)

    def run(self):
        while True:
            status = self.process()
            unfinished = self.unfinished()
            if unfinished is None:
                break
            self.report(test=unfinished, outcome="crashed", reason=status, native=0)
        return self.results()

    def process(self):
        """Of pytest, until it ends or hangs; how it ended."""
        environment = {
            **os.environ,
            "KILN_OUTCOMES": str(self.outcomes),
            "KILN_JAX_MODE": self.options.mode,
            "KILN_JAX_CHECKOUT": str(self.options.checkout.resolve()),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(HERE)]),
            "JAX_PLATFORMS": "cpu",
        }
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "plugin", "--tb=short",
                 f"{self.name}.py", *(["-k", self.options.k] if self.options.k else [])]  # fmt: skip
        folder = self.options.checkout / "tests" / "pallas"
        with self.outcomes.with_suffix(".log").open("a") as log:
            running = subprocess.Popen(
                words, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
            started = time.time()
            while running.poll() is None:
                time.sleep(0.5)
                heard = max(started, self.outcomes.stat().st_mtime if self.outcomes.exists() else 0)
                if time.time() - heard > PATIENCE:
                    os.killpg(running.pid, signal.SIGKILL)
                    running.wait()
                    return f"it does not end in {PATIENCE} s"
        return (
            signal.Signals(-running.returncode).name if running.returncode < 0 else f"exit status {running.returncode}"
        )

    def lines(self):
        return [json.loads(line) for line in self.outcomes.read_text().splitlines()] if self.outcomes.exists() else []

    def unfinished(self):
        last = self.lines()[-1:]
        return last[0]["test"] if last and last[0]["outcome"] == "started" else None

    def report(self, **what):
        with self.outcomes.open("a") as file:
            print(json.dumps(what), file=file)

    def results(self):
        """By test; the first outcome counts, as a test that fails may fail to clean up as well."""
        found = {}
        for line in self.lines():
            if line["outcome"] != "started":
                found.setdefault(line["test"], (line["outcome"], _shortened(line["reason"]), line["native"]))
        return found


def _shortened(reason):
    """One line, without what differs from run to run."""
    return re.sub(r"0x[0-9a-f]+|\S*/\S*:\d+:(\d+:)?", "…", " ".join(reason.split()))[:160].strip()


def expected(files):
    found = {}
    for line in EXPECTED.read_text().splitlines() if EXPECTED.exists() else ():
        if line and not line.startswith("#"):
            outcome, rest = line.split(maxsplit=1)
            test, reason = rest.split("  ", 1)  # names have spaces
            found[test] = (outcome, reason)
    return {t: w for t, w in found.items() if t.split("::")[0] in files}, found


def differences(came, listed, asked_all):
    for test, (outcome, reason, _) in sorted(came.items()):
        want = listed.get(test, ("passed", ""))
        if outcome == "skipped":  # by JAX itself
            continue
        if outcome != want[0] or outcome == "cannot" and reason != want[1]:
            yield f"{test}: {outcome} {reason}, expected {want[0]} {want[1]}".rstrip()
    if asked_all:
        yield from (f"{test}: was not run, expected {listed[test][0]}" for test in sorted(set(listed) - set(came)))


def write(everything, came, files):
    """A reason that somebody wrote for a failure stays as long as the test fails."""
    kept = {test: what for test, what in everything.items() if test.split("::")[0] not in files}
    for test, (outcome, reason, _) in came.items():
        before = everything.get(test, ("", ""))
        if outcome not in ("passed", "skipped"):
            kept[test] = before if outcome == before[0] == "failed" else (outcome, reason)
    lines = [f"{outcome:8}{test}  {reason}" for test, (outcome, reason) in sorted(kept.items())]
    head = (
        "# Tests of JAX 0.10.2 that do not pass natively, and why; see README.md. `run.py --update` writes this file."
    )
    EXPECTED.write_text("\n".join([head, *lines]) + "\n")


def summary(came):
    outcomes = collections.Counter(outcome for outcome, _, _ in came.values())
    native = sum(outcome == "passed" and calls > 0 for outcome, _, calls in came.values())
    print(
        ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()), f"of {len(came)} tests;", end=" "
    )
    print(f"{native} of those that passed made native calls")
    reasons = collections.Counter((o, r) for o, r, _ in came.values() if o != "passed")
    for (outcome, reason), count in reasons.most_common():
        print(f"  {count:4}  {outcome}: {reason}")


def main():
    options = parse()
    files = options.files or FILES
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        came = {}
        for name, found in zip(files, pool.map(lambda name: File(name, options).run(), files), strict=True):
            print(f"{name}: {len(found)} tests", flush=True)
            came |= found
    if not came:
        sys.exit("no test was run: see build/jax-suite/*.log")
    summary(came)
    listed, everything = expected(files)
    if options.update:
        write(everything, came, files)
        print(f"wrote {EXPECTED.relative_to(ROOT)}")
        return
    wrong = list(differences(came, listed, not options.k))
    print(*wrong, f"{len(wrong)} come out otherwise than {EXPECTED.relative_to(ROOT)} says", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
