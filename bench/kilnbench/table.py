"""Results as text. A row is a contestant with its figure, or one goal of its: how it is doing over whom."""

_CASE, _WHO, _OVER = 2, 26, 28  # characters: indentation of a case, and two columns


def machine_text(peaks, bandwidth, peers, cores):
    most = ", ".join(f"{dtype} {rate:.0f}" for dtype, rate in peaks.items())
    held = ", which all threads of the process share" if cores == 1 else ""
    return (f"{_cores(cores)}{held}; out of registers, 1e9 operations a second: {most}; "
            f"STREAM {bandwidth:.1f} GB/s; peers: {', '.join(map(_peer, peers.values())) or 'none is installed'}")


def title_text(name, title, cores):
    return f"\n{name}  {title}, {_cores(cores)}"


def heading():
    return _row("", "", "", "ratio", "over", "min", "max", "goal", "").rstrip()


def result_text(result):
    """The case, then each contestant; the goals of one follow each other, so that its column is read downwards."""
    lines = [" " * _CASE + result["case"]]
    for who, figure in result["figures"].items():
        share = f"{100 * figure / result['peak']:.0f} %" if "peak" in result else ""
        name, shown = who, f"{_digits(figure)} {result['unit']}"
        for goal in [g for g in result["goals"] if g["of"] == who] or [None]:
            cells = _goal_cells(goal) if goal else [""] * 6
            lines.append(_row(name, shown, share, *cells).rstrip())
            name = shown = share = ""
    return "\n".join(lines)


def summary_text(results):
    """`results` by question. What was met, and what was missed, by name."""
    goals = [(name, r, g) for name, of in results.items() for r in of for g in r["goals"]]
    missed = [entry for entry in goals if not entry[2]["met"]]
    lines = [f"\n{len(goals) - len(missed)} of {len(goals)} goals are met" + ("; missed:" if missed else "")]
    for name, result, goal in missed:
        ratio, over, _, _, most, _ = _goal_cells(goal)
        if "most" in goal:
            more = f" more than {goal['beyond']}" if "beyond" in goal else ""
            ratio, over = _digits(goal["median"]), result["unit"] + more
        lines.append(f"  {name:4} {result['case']}: {goal['of']}, {ratio} {over}; goal {most}")
    return "\n".join(lines)


def _goal_cells(goal):
    verdict = "ok" if goal["met"] else "MISS"
    if "most" in goal:
        more = f"{_digits(goal['median'])} more" if "beyond" in goal else ""
        than = goal.get("beyond", "less than")
        return more, than, _digits(goal["min"]), _digits(goal["max"]), _digits(goal["most"]), verdict
    over = goal["over"] + (", beside " + goal["beside"][0].split(",")[0] if "beside" in goal else "")
    return (f"{goal['median']:.3f}", over, f"{goal['min']:.3f}", f"{goal['max']:.3f}", f"{goal['least']:.2f}", verdict)


def _row(who, figure, share, ratio, over, least, most, goal, verdict):
    return (f"{'':{2 * _CASE}}{who:{_WHO}}{figure:>11} {share:>5} {ratio:>8}  {over:{_OVER}}{least:>7} {most:>7} {goal:>6}  "
            f"{verdict}")


def _digits(value):
    """Three at least: 0.0123, 1.23, 123, 1234."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _peer(peer):
    kernels = getattr(peer, "kernels", None)
    return f"{peer.name} ({kernels})" if kernels else peer.name


def _cores(count):
    return f"{count} core{'s' if count > 1 else ''}"
