#!/usr/bin/env python3
"""Runs the tests with each mutant and writes who finds it: run.py BUILD_FOLDER [NAME...]."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import plant

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[1]
SECONDS = 900  # a mutant may make a program run for ever: that is found, too

# One that fails is enough, so those that are about the broken part come first.
SUITE = {"checker": ["front_test", "faults_test", "interpret_test", "cli_test every wrong spec*"],
         "planner": ["plan_test", "render_test"]}
# What finds a fault where no program does. A planner's fault shows in what kernels compute: those of
# the specs that were written for one, then those of the random specs that it changes. A checker's
# shows in random specs with a fault of their own. One way of compiling is enough for either.
NET = {"checker": ["--faults=1", "--count=200"],
       "planner": ["--changed", "--replay=tests/random/found", "--faults=0", "--count=1000"]}
ANY = ["--stop", "--quiet", "--no-shrink", "--flavour=native"]


def command_of(folder, program):
    """The program, and which of its tests. Most stand in one folder, faults_test in one of its own."""
    name, _, tests = program.partition(" ")
    own = folder / "tests" / name.removesuffix("_test") / name
    return [own if own.exists() else folder / "tests" / name, *([tests] if tests else [])]


def found_by(command, name, folder):
    """Whether the command fails under the mutant."""
    environment = dict(os.environ, KILN_MUTANT=name, XDG_CACHE_HOME=str(folder / "cache"))
    try:
        ended = subprocess.run(command, env=environment, cwd=SOURCES, timeout=SECONDS,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"{name}: {command[0].name} has not ended after {SECONDS} s", flush=True)
        return True
    return ended.returncode != 0


def try_mutant(name, part, folder, random):
    soak = [folder / "tests/random/soak", f"--folder={folder}/soak"]
    programs = []
    for program in SUITE[part]:
        if found_by(command_of(folder, program), name, folder):
            programs.append(program)
            break
    net = random.split() if random is not None else [] if programs else ANY + NET[part]
    if net and found_by(soak + net, name, folder):
        programs.append("random specs")
    return programs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="the mutants to run; all unless given")
    parser.add_argument("--random", help="run random specs for every mutant, with these arguments, and"
                        " not only where no program finds it; empty: for none")
    options = parser.parse_intermixed_args()
    folder = options.folder.resolve()

    behind = ("generator/plan/", "generator/planner/", "generator/render/")
    parts = {edit.name: "planner" if edit.file.startswith(behind) else "checker"
             for edit in plant.read_list()}
    every = list(parts)
    unknown = [name for name in options.names if name not in every]
    if unknown:
        sys.exit(f"no mutant {', '.join(unknown)}; tests/mutants/mutants.txt has them")
    programs = {program: command_of(folder, program) for suite in SUITE.values() for program in suite}
    programs["soak"] = [folder / "tests/random/soak", f"--folder={folder}/soak", *ANY,
                        "--replay=tests/random/found", "--count=0"]
    for program, command in sorted(programs.items()):
        if found_by(command, "none", folder):
            sys.exit(f"{program} fails without a mutant")
    file = HERE / "summary.json"
    before = json.loads(file.read_text())["mutants"] if file.exists() else []
    known = {mutant["name"]: mutant for mutant in before if mutant["name"] in every}
    names = options.names or every
    for at, name in enumerate(names, 1):
        start = time.monotonic()
        programs = try_mutant(name, parts[name], folder, options.random)
        why = known.get(name, {}).get("why")
        known[name] = {"name": name, "found_by": programs}
        if not programs and why:
            known[name]["why"] = why
        print(f"[{at}/{len(names)}] {name}: {', '.join(programs) or 'NOT FOUND'}"
              f" ({time.monotonic() - start:.0f} s)", flush=True)
        mutants = [known[one] for one in every if one in known]
        summary = {"found": sum(bool(m["found_by"]) for m in mutants), "of": len(mutants),
                   "by_random_specs": sum("random specs" in m["found_by"] for m in mutants),
                   "mutants": mutants}
        file.write_text(json.dumps(summary, indent=1) + "\n")
    survivors = [m["name"] for m in summary["mutants"] if not m["found_by"] and not m.get("why")]
    print(f"{summary['found']} of {summary['of']} are found")
    sys.exit(f"not found, and not explained: {', '.join(survivors)}" if survivors else 0)


if __name__ == "__main__":
    main()
