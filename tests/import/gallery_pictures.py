"""The pictures of docs/gallery.md: for each machine a bar of all of a call's time, as the report's headline has it."""

WIDTH, LABEL, ROW = 760, 120, 34
#: What `kiln predict --json` calls it in a core, in words, its colour.
PARTS = (
    ("mxu", "matmul unit", "#3b6fb6"), ("vpu", "vector unit", "#4f9d69"), ("wait", "waiting for copies", "#d98c3f"),
    ("overhead", "steps", "#8a6fb0"), ("dispatch", "dispatch", "#9aa0a6"),
)  # fmt: skip


def parts(told):
    """Seconds by part, which add up to those of the call."""
    (core,) = told["cores"]
    return core | dict(dispatch=told["seconds"] - core["seconds"])


def said(told):
    """ "292 us, bound by HBM"."""
    return f"{time(told['seconds'])}, bound by {told['bound']}"


def time(seconds):
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"


def bars(told):
    """The machines' bars to one scale, and what the colours are."""
    longest = max(each["seconds"] for each in told.values())
    scale = (WIDTH - LABEL - 10) / longest
    shapes = []
    for row, (machine, each) in enumerate(told.items()):
        top, left, seconds = 8 + row * ROW, LABEL, parts(each)
        shapes.append(text(8, top + 16, f"{machine}: {time(each['seconds'])}"))
        for key, words, colour in PARTS:
            wide = seconds[key] * scale
            shapes.append(
                f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="24" fill="{colour}">'
                f"<title>{words}: {time(seconds[key])}</title></rect>"
            )
            left += wide
    left, top = LABEL, 8 + len(told) * ROW
    for _, words, colour in PARTS:
        shapes += [f'<rect x="{left}" y="{top}" width="12" height="12" fill="{colour}"/>', text(left + 17, top + 11, words)]
        left += 36 + 7 * len(words)
    height = top + 22
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="13">\n<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def text(x, y, words):
    return f'<text x="{x}" y="{y}" fill="#222222">{words}</text>'
