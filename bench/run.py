#!/usr/bin/env python3
"""Answers the questions of bench/README.md: builds what they need, lets Kiln and its peers take turns, prints ratios."""

import argparse
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys

# A peer is what it is by itself: whoever set OPENBLAS_CORETYPE=Haswell, say, did not want to halve its rates here.
for name in list(os.environ):
    if name.startswith(("OPENBLAS_", "MKL_", "OMP_", "KMP_", "DNNL_", "ONEDNN_", "ATEN_", "XLA_")):
        del os.environ[name]
os.environ["MKL_DYNAMIC"] = "FALSE"  # as many threads as asked for
# What holds each of them to instructions that a CPU without AVX-512 has, before any is loaded.
AVX2 = {"OPENBLAS_CORETYPE": "Haswell", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}
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
    parser.add_argument("--isa", choices=["AVX2"], help="compile kernels for it and hold peers to it, as on a CPU that has no "
                        "more (what the Python package compiles is not held: P13 to P15)")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("-o", metavar="FOLDER",
                        help="of the results: bench/results; with --quick or --only they are not kept unless this says where")
    options = parser.parse_args()
    if options.o is None and not options.quick and not options.only:
        options.o = str(RESULTS / options.isa.lower() if options.isa else RESULTS)
    asked = [q.upper() for q in options.question] or questions.NAMES
    unknown = [q for q in asked if q not in questions.NAMES]
    if unknown:
        parser.error(f"there is no question {unknown[0]}; there are {' '.join(questions.NAMES)}")
    return options, {name: questions.load(name) for name in asked}


class Run:
    """Questions one after the other. `results` by question grow as cases are done: they are there after Ctrl-C."""

    def __init__(self, options, modules):
        self.options, self.modules, self.results = options, modules, {}
        self.failed = self.interrupted = False
        signal.signal(signal.SIGINT, self.interrupt)

    def interrupt(self, *arguments):
        self.interrupted = True  # a library may make another error of what is raised now
        raise KeyboardInterrupt

    def all(self):
        from kilnbench import compiled, native, race
        if self.options.isa:
            os.environ.update(AVX2)
            compiled.hold_to_256_bits()
            native.hold_to(self.options.isa)
        compiled.keep_memory()
        native.build(sorted({k for m in self.modules.values() for k in m.KERNELS} | {"bench_probe"}))
        race.load_warning()
        for name, module in self.modules.items():
            # Some questions are about so many cores, whatever was asked for.
            self.one(name, module, getattr(module, "CORES", self.options.cores))

    def one(self, name, module, cores):
        from kilnbench import machine, peers, race, table
        race.use_cores(cores)
        peaks, bandwidth = self.machine(cores)
        found = peers.available(cores)
        if not self.results:
            print(table.machine_text(peaks, bandwidth, found, cores))
        print(table.title_text(name, module.TITLE, cores), table.heading(), sep="\n", flush=True)
        cpu = machine.model() + (f", held to {self.options.isa}" if self.options.isa else "")
        content = {"question": name, "title": module.TITLE, "cores": cores, "complete": False, "cpu": cpu,
                   "date": datetime.date.today().isoformat(), "peaks": peaks, "bandwidth": bandwidth, "results": []}
        self.results[name] = content["results"]
        try:
            cases = (c for c in module.cases(cores, found, self.options.quick) if self.options.only in c.label)
            # A list: one that fails does not end the others.
            content["complete"] = all([self.add(case, peaks, content["results"]) for case in cases])
        finally:
            if self.options.o and content["results"]:
                keep(self.options.o, content)

    def add(self, case, peaks, results):
        from kilnbench import race, table
        try:
            outcome = race.result(case, race.race(case, self.options.rounds), peaks)
        except RuntimeError as error:  # wrong answers are for people to look at; the other cases go on
            if self.interrupted:
                raise KeyboardInterrupt from error
            print(f"  {case.label}\n    FAILED: {error}", flush=True)
            self.failed = True
            return False
        results.append(outcome)
        print(table.result_text(outcome), flush=True)
        return True

    def machine(self, cores, known={}):  # noqa: B006: measured once for all questions
        from kilnbench import machine
        if cores not in known:
            known[cores] = machine.measure(cores)
        return known[cores]


def keep(folder, content):
    """Writes NAME_CORES.json, beside it the pictures that there is something for and a page with them, and the list of
    all pages."""
    from kilnbench import charts, pages, roofline, table
    results, stem = content["results"], f"{content['question'].lower()}_{content['cores']}"
    title = table.title_text(content["question"], content["title"], content["cores"]).strip()
    pictures = {f"{stem}.svg": charts.ratios(title, results),
                f"{stem}_roofline.svg": roofline.draw(title, content["peaks"], content["bandwidth"], results)}
    pictures = {name: text for name, text in pictures.items() if text}
    files = {f"{stem}.json": json.dumps(content, indent=1) + "\n", **pictures,
             f"{stem}.html": pages.question(content, pictures)}
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        pathlib.Path(folder, name).write_text(text)
    pathlib.Path(folder, "index.html").write_text(pages.index(folder))


def main():
    options, modules = parse()
    # Now, so that --help needs none of the peers' environment.
    from kilnbench import table
    run = Run(options, modules)
    try:
        run.all()
        status = int(run.failed)
    except KeyboardInterrupt:
        kept = options.o and any(run.results.values())
        print("\ninterrupted" + (f"; what was measured is in {options.o}" if kept else ""))
        status = INTERRUPTED
    except subprocess.CalledProcessError as error:
        print(f"this failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        status = 1
    if any(run.results.values()):
        print(table.summary_text(run.results))
    return status


if __name__ == "__main__":
    sys.exit(main())
