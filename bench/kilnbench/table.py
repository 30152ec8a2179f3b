"""Results as text: a line a case."""


def print_machine(peaks, peers, cores):
    most = ", ".join(f"{dtype} {rate:.0f}" for dtype, rate in peaks.items())
    print(f"{cores} core{'s' if cores > 1 else ''}; out of registers, 1e9 operations a second: {most}; "
          f"peers: {', '.join(peers) or 'none is installed'}")


def print_title(name, title, cores):
    print(f"\n{name}  {title}, {cores} core{'s' if cores > 1 else ''}")


def print_result(result):
    rates = "  ".join(f"{name} {rate:.1f}" for name, rate in result["rates"].items())
    peak = result["peak"]
    of_peak = f" ({100 * result['rates']['Kiln'] / peak:.0f} % of the peak)" if peak and "Kiln" in result["rates"] else ""
    print(f"  {result['case']:28} {result['unit']}: {rates}{of_peak}")
    for ratio in result["ratios"]:
        met = "ok  " if ratio["median"] >= ratio["goal"] else "MISS"
        print(f"    {met} {ratio['of']} / {ratio['over']} {ratio['median']:.3f} "
              f"({ratio['min']:.3f} to {ratio['max']:.3f}), goal {ratio['goal']}", flush=True)
