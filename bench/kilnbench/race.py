"""Timing: all contestants of a case take turns on the same data, so that whatever the machine does to one it does to
all. What counts is the ratio of two in the same round."""

import os
import statistics
import sys
import time

ROUNDS = 7
TURN_SECONDS = 0.15  # at least, by enough calls


def clock_for(cores):
    """On one core the calling thread's own time: other programs on the machine do not count. On several, real time."""
    return time.thread_time if cores == 1 else time.perf_counter


class Case:
    """`contestants` by name are functions without arguments. `goals` are (faster, slower, least ratio): `faster` is to
    take at most 1/ratio of the time of `slower`. `amount` is what a call does, in `unit`s of 1e9 a second."""

    def __init__(self, question, label, contestants, goals, amount, unit, cores=1, check=None, peak=None):
        self.question, self.label, self.contestants, self.goals = question, label, contestants, goals
        self.amount, self.unit, self.cores, self.check, self.peak = amount, unit, cores, check, peak


def _turn(function, calls, clock):
    start = clock()
    for _ in range(calls):
        function()
    return (clock() - start) / calls


def race(case, rounds=ROUNDS, turn=TURN_SECONDS):
    """Seconds a call of each contestant, by round."""
    clock = clock_for(case.cores)
    if case.check is not None:
        case.check()  # fills the outputs, and compares them
    calls = {}
    for name, function in case.contestants.items():
        function()
        calls[name] = max(1, round(turn / max(_turn(function, 1, clock), 1e-7)))
    times = {name: [] for name in case.contestants}
    for _ in range(rounds):
        for name, function in case.contestants.items():
            times[name].append(_turn(function, calls[name], clock))
    return times


def result(case, times):
    """What is kept of a race: rates, and for each goal the median, least and greatest ratio over the rounds."""
    ratios = []
    for fast, slow, least in case.goals:
        by_round = [s / f for f, s in zip(times[fast], times[slow])]
        ratios.append({"of": fast, "over": slow, "goal": least, "median": statistics.median(by_round),
                       "min": min(by_round), "max": max(by_round)})
    rates = {name: case.amount / statistics.median(t) / 1e9 for name, t in times.items()}
    return {"question": case.question, "case": case.label, "cores": case.cores, "unit": case.unit, "rates": rates,
            "peak": case.peak, "ratios": ratios}


def load_warning():
    busy = os.getloadavg()[0]
    if busy > 0.7:
        print(f"note: other programs run here (load {busy:.1f}); ratios hold, rates may not", file=sys.stderr)
