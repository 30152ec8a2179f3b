#!/usr/bin/env python3
"""Answers the questions of bench/README.md: builds what they need, lets Kiln and its peers take turns, prints ratios."""

import argparse
import json
import os
import pathlib
import statistics
import sys

os.environ.setdefault("MKL_DYNAMIC", "FALSE")  # as many threads as asked for
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import questions  # noqa: E402

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def measure_peaks(cores):
    """What one core can do at most, times the cores."""
    from kilnbench import native, race
    probe, clock, peaks = native.Probe(), race.clock_for(1), {}
    for dtype in ("f32", "bf16", "i8"):
        call, amount = probe.dots(dtype)
        if amount:
            call()
            peaks[dtype] = amount / statistics.median(race._turn(call, 1, clock) for _ in range(7)) / 1e9 * cores
    return peaks


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("question", nargs="*", help=f"some of {' '.join(questions.NAMES)}; without: all")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="few shapes, to see whether a change helps")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("-o", default=str(RESULTS), help="folder of the results")
    options = parser.parse_args()
    asked = [q.upper() for q in options.question] or questions.NAMES
    unknown = [q for q in asked if q not in questions.NAMES]
    if unknown:
        parser.error(f"there is no question {unknown[0]}; there are {' '.join(questions.NAMES)}")

    # Now, so that --help needs none of the peers' environment.
    from kilnbench import charts, native, peers, race, table

    modules = {name: questions.load(name) for name in asked}
    native.build(sorted({k for m in modules.values() for k in m.KERNELS} | {"bench_probe"}))
    race.load_warning()
    peaks = measure_peaks(options.cores)
    found = peers.available(options.cores)
    table.print_machine(peaks, found, options.cores)
    for name, module in modules.items():
        table.print_title(name, module.TITLE, options.cores)
        results = []
        for case in module.cases(options.cores, found, peaks, options.quick):
            if options.only in case.label:
                results.append(race.result(case, race.race(case, options.rounds)))
                table.print_result(results[-1])
        if not options.quick and not options.only:
            base = f"{name.lower()}_{options.cores}"
            content = {"title": module.TITLE, "peaks": peaks, "results": results}
            write(options.o, f"{base}.json", json.dumps(content, indent=1) + "\n")
            picture = charts.ratios(f"{name}  {module.TITLE}", results)
            if picture:
                write(options.o, f"{base}.svg", picture)


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
