"""Timing: all contestants of a case take turns on the same data, so that whatever the machine does to one it does to
all. What counts is the ratio of two in the same round."""

import dataclasses
import os
import resource
import statistics
import sys
import time
import typing

ROUNDS = 7
TURN_SECONDS = 0.15  # at least, by enough calls
_CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


@dataclasses.dataclass(frozen=True)
class Unit:
    """What is reported of a call's time: so much work a second, or so much time for each thing that it does."""
    name: str
    scale: float
    is_rate: bool

    def figure(self, amount, seconds):
        return amount / seconds / self.scale if self.is_rate else seconds / amount / self.scale


FLOPS = Unit("GF/s", 1e9, True)
OPERATIONS = Unit("GOP/s", 1e9, True)  # of integers
BYTES = Unit("GB/s", 1e9, True)
NANOSECONDS = Unit("ns", 1e-9, False)
SECONDS = Unit("s", 1.0, False)


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A goal: `of` is to be at least so many times as fast as `over`. With `beside`, a pair of others: at least so many
    times what the first of them is over the second."""
    of: str
    over: str
    least: float
    beside: tuple = None


@dataclasses.dataclass(frozen=True)
class Limit:
    """A goal: the figure of `of` is to stay below `most`. With `beyond`, another one: what it is more than that of it."""
    of: str
    most: float
    beyond: str = None


@dataclasses.dataclass(frozen=True)
class Share:
    """A goal: the figure of `of` is to be at least so much of what the machine can do out of registers."""
    of: str
    least: float


@dataclasses.dataclass(frozen=True)
class Work:
    """For the roofline: operations, bytes of memory with each array moved once, and the type of the dots."""
    operations: float
    bytes: float
    dtype: str


@dataclasses.dataclass
class Case:
    """`contestants` by name are functions without arguments; a call does `amount`, which `unit` makes a figure of.
    `check` compares the answers; it runs first."""
    label: str
    contestants: dict
    goals: list
    amount: float
    unit: Unit
    cores: int = 1
    check: typing.Callable = None
    work: Work = None
    clock: typing.Callable = None  # seconds; without: by the cores
    amounts: dict = dataclasses.field(default_factory=dict)  # of those who do more for the same answer


def use_cores(count):
    """The last so many CPUs for this process and all threads that libraries have started in it: a library that computes
    in threads of its own has no more of the machine than the others have."""
    chosen = _CPUS[-count:]
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), chosen)
        except ProcessLookupError:  # it has ended meanwhile
            pass


def clock_of(case):
    """On one core the time of all threads of this process: other programs on the machine do not count, and whoever
    computes in threads of its own is not faster for it. On several, real time."""
    return case.clock or (time.perf_counter if case.cores > 1 else time.process_time)


def time_of_children():
    """Of the processes that were started, and have ended: as little disturbed by others as time of one's own."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def turn(function, calls, clock):
    """Seconds a call."""
    start = clock()
    for _ in range(calls):
        function()
    return (clock() - start) / calls


def race(case, rounds=ROUNDS, seconds=TURN_SECONDS):
    """Seconds a call of each contestant, by round."""
    clock = clock_of(case)
    if case.check is not None:
        case.check()  # fills the outputs, and compares them
    calls = {}
    for name, function in case.contestants.items():
        function()
        calls[name] = max(1, round(seconds / max(turn(function, 1, clock), 1e-7)))
    times = {name: [] for name in case.contestants}
    for _ in range(rounds):
        for name, function in case.contestants.items():
            times[name].append(turn(function, calls[name], clock))
    return times


def result(case, times, peaks):
    """What is kept of a race: the figures and the goals, each by its median, least and greatest over the rounds."""
    figures = {name: case.unit.figure(case.amounts.get(name, case.amount), statistics.median(t))
               for name, t in times.items()}
    peak = peaks.get(case.work.dtype) if case.work and case.unit in (FLOPS, OPERATIONS) else None
    kept = {"case": case.label, "cores": case.cores, "unit": case.unit.name, "figures": figures,
            "goals": [_outcome(case, goal, times, peak) for goal in case.goals if peak or not isinstance(goal, Share)]}
    if case.work is not None:
        kept["work"] = dataclasses.asdict(case.work)
    if peak:
        kept["peak"] = peak
    return kept


def _outcome(case, goal, times, peak):
    if isinstance(goal, Ratio):
        by_round = _speedups(times, goal.of, goal.over)
        if goal.beside:
            by_round = [a / b for a, b in zip(by_round, _speedups(times, *goal.beside))]
        told = {"over": goal.over, "least": goal.least}
        if goal.beside:
            told["beside"] = list(goal.beside)
    else:
        by_round = [case.unit.figure(case.amount, t) for t in times[goal.of]]
        told = {"most": goal.most} if isinstance(goal, Limit) else {"over": "the peak", "least": goal.least}
        if isinstance(goal, Limit) and goal.beyond:
            by_round = [f - case.unit.figure(case.amount, t) for f, t in zip(by_round, times[goal.beyond])]
            told["beyond"] = goal.beyond
        if isinstance(goal, Share):
            by_round = [figure / peak for figure in by_round]
    median = statistics.median(by_round)
    met = bool(median < told["most"] if "most" in told else median >= told["least"])  # numpy's are no JSON
    return {"of": goal.of, **told, "median": median, "min": min(by_round), "max": max(by_round), "met": met}


def _speedups(times, fast, slow):
    return [s / f for f, s in zip(times[fast], times[slow])]


def load_warning():
    busy = os.getloadavg()[0]
    if busy > 0.7:
        print(f"note: other programs run here (load {busy:.1f}): on one core ratios hold and rates may not, on several "
              "neither does", file=sys.stderr)
