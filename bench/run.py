#!/usr/bin/env python3
"""Answers the questions of bench/README.md: builds what they need, lets Kiln and its peers take turns, prints ratios."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

# A peer is what it is by itself: whoever set OPENBLAS_CORETYPE=Haswell, say, did not want to halve its rates here.
for name in list(os.environ):
    if name.startswith(("OPENBLAS_", "MKL_", "OMP_", "KMP_", "DNNL_", "ONEDNN_", "ATEN_", "XLA_")):
        del os.environ[name]
os.environ["MKL_DYNAMIC"] = "FALSE"  # as many threads as asked for
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import questions  # noqa: E402

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
INTERRUPTED = 130  # as shells call it


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("question", nargs="*", help=f"some of {' '.join(questions.NAMES)}; without: all")
    parser.add_argument("--cores", type=int, default=1, choices=range(1, len(os.sched_getaffinity(0)) + 1))
    parser.add_argument("--quick", action="store_true", help="few shapes, to see whether a change helps")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("-o", metavar="FOLDER",
                        help="of the results: bench/results, unless --quick or --only leave some out, of which nothing is kept")
    options = parser.parse_args()
    if options.o is None and not options.quick and not options.only:
        options.o = str(RESULTS)
    asked = [q.upper() for q in options.question] or questions.NAMES
    unknown = [q for q in asked if q not in questions.NAMES]
    if unknown:
        parser.error(f"there is no question {unknown[0]}; there are {' '.join(questions.NAMES)}")
    return options, {name: questions.load(name) for name in asked}


class Run:
    """Questions one after the other. `results` by question grow as cases are done: they are there after Ctrl-C."""

    def __init__(self, options, modules):
        self.options, self.modules, self.results = options, modules, {}

    def all(self):
        from kilnbench import native, race
        native.build(sorted({k for m in self.modules.values() for k in m.KERNELS} | {"bench_probe"}))
        race.load_warning()
        for name, module in self.modules.items():
            # Some questions are about so many cores, whatever was asked for.
            self.one(name, module, getattr(module, "CORES", self.options.cores))

    def one(self, name, module, cores):
        from kilnbench import peers, race, table
        race.use_cores(cores)
        peaks, bandwidth = self.machine(cores)
        found = peers.available(cores)
        if not self.results:
            print(table.machine_text(peaks, bandwidth, found, cores))
        print(table.title_text(name, module.TITLE, cores), table.heading(), sep="\n", flush=True)
        self.results[name] = []
        try:
            for case in module.cases(cores, found, self.options.quick):
                if self.options.only in case.label:
                    outcome = race.result(case, race.race(case, self.options.rounds), peaks)
                    self.results[name].append(outcome)
                    print(table.result_text(outcome), flush=True)
        finally:
            if self.options.o and self.results[name]:
                keep(self.options.o, name, module.TITLE, cores, peaks, bandwidth, self.results[name])

    def machine(self, cores, known={}):  # noqa: B006: measured once for all questions
        from kilnbench import machine
        if cores not in known:
            known[cores] = machine.measure(cores)
        return known[cores]


def keep(folder, name, title, cores, peaks, bandwidth, results):
    """Writes NAME_CORES.json, and beside it the pictures that there is something for."""
    from kilnbench import charts, roofline
    content = {"question": name, "title": title, "cores": cores, "peaks": peaks, "bandwidth": bandwidth, "results": results}
    on = f"{cores} core{'s' if cores > 1 else ''}"
    files = {".json": json.dumps(content, indent=1) + "\n",
             ".svg": charts.ratios(f"{name}  {title}, {on}", results),
             "_roofline.svg": roofline.draw(f"{name}  {title}, {on}", peaks, bandwidth, results)}
    os.makedirs(folder, exist_ok=True)
    for suffix, text in files.items():
        if text:
            pathlib.Path(folder, f"{name.lower()}_{cores}{suffix}").write_text(text)


def main():
    options, modules = parse()
    # Now, so that --help needs none of the peers' environment.
    from kilnbench import table
    run, status = Run(options, modules), 0
    try:
        run.all()
    except KeyboardInterrupt:
        print("\ninterrupted" + (f"; what was measured is in {options.o}" if options.o and run.results else ""))
        status = INTERRUPTED
    except subprocess.CalledProcessError as error:
        print(f"this failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        status = 1
    print(table.summary_text(run.results))
    return status


if __name__ == "__main__":
    sys.exit(main())
