"""What limits a case: the share that it has of the peak of its dots and of the loops over memory. `kiln bench` says the same
of a kernel alone."""

_BINDS = 0.6  # a share from which on it is the limit; below, it is instructions, or what a step and a call take


def shares(result, peaks, bandwidth):
    """Of the first contestant, by name; empty where the case is not about the machine."""
    work = result.get("work")
    if not work or result["unit"] not in ("GF/s", "GOP/s", "GB/s"):
        return {}
    figure = next(iter(result["figures"].values()))
    of_bytes = result["unit"] == "GB/s"
    intensity = work["operations"] / work["bytes"]
    found = {"memory": (figure if of_bytes else figure / intensity) / bandwidth}
    peak = peaks.get(work["dtype"])
    if peak and work["operations"]:
        found["peak"] = (figure * intensity if of_bytes else figure) / peak
    return found


def told(result, peaks, bandwidth):
    """A few words, or none."""
    found = shares(result, peaks, bandwidth)
    if not found:
        return ""
    who = max(found, key=found.get)
    rest = ", ".join(f"{share:.2f} of {name}" for name, share in found.items() if name != who)
    if who == "memory" and found[who] > 1.1:
        first = f"caches: {found[who]:.2f} of memory"
    elif found[who] >= _BINDS:
        first = f"{who}: {found[who]:.2f} of it"
    else:
        first = f"instructions: {found[who]:.2f} of {who}"
    return f"{first}; {rest}" if rest else first
