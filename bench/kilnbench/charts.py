"""The goals of a question as a picture: a bar for each, as long as what was reached is of the goal."""

from kilnbench import svg

_ROW, _TOP, _BAR, _MOST = 22, 52, 300, 2.0  # pixels, and where bars end that would go on


def ratios(title, results):
    """One line stands for all goals; colours say which are met, and so does the text. None: there are no goals."""
    rows = [(result, goal) for result in results for goal in result["goals"]]
    if not rows:
        return None
    left = 32 + max(svg.width_of(result["case"]) for result, _ in rows)
    bars = left + 16 + max(svg.width_of(_pair(goal), 11) for _, goal in rows)
    width = bars + _BAR + 24 + max(svg.width_of(_labelled(*row), 11) for row in rows)
    height = _TOP + _ROW * len(rows) + 16
    at_goal = bars + _BAR / _MOST
    body = [svg.text(at_goal, 44, "goal", "small", "middle")]
    before = None
    for i, (result, goal) in enumerate(rows):
        y = _TOP + i * _ROW
        if result is not before:
            body.append(svg.line(12, y - 1, width - 12, y - 1, "axis"))
            body.append(svg.text(12, y + 15, result["case"]))
        before = result
        body.append(svg.text(left, y + 15, _pair(goal), "small"))
        body.append(_bar(bars, y, goal))
        body.append(svg.text(bars + _BAR + 14, y + 15, _labelled(result, goal), "small"))
    body.append(svg.line(at_goal, 48, at_goal, height - 12, "line"))
    return svg.page(width, height, title, body)


def _bar(x, y, goal):
    """With its spread over the rounds; an arrow's head where it goes on."""
    share = {key: _reached(goal, goal[key]) for key in ("median", "min", "max")}
    scale = _BAR / _MOST
    length, kind = min(share["median"], _MOST) * scale, "met" if goal["met"] else "missed"
    parts = [svg.box(x, y + 4, length, 13, kind)]
    least, most = sorted(min(share[key], _MOST) * scale for key in ("min", "max"))
    if most > least:
        parts.append(svg.line(x + least, y + 10.5, x + most, y + 10.5, "line"))
    if share["median"] > _MOST:
        parts.append(f'<path class="{kind}" d="M{x + length:.1f} {y + 2} l9 8.5 l-9 8.5 z"/>')
    return "".join(parts)


def _reached(goal, value):
    if "most" not in goal:
        return value / goal["least"]
    return goal["most"] / value if value > 0 else 2 * _MOST  # what is more than another may be less


def _pair(goal):
    if "most" in goal:
        return goal["of"] + (f" beyond {goal['beyond']}" if "beyond" in goal else "")
    return f"{goal['of']} over {goal['over']}" + (", beside " + goal["beside"][0].split(",")[0] if "beside" in goal else "")


def _labelled(result, goal):
    verdict = "met" if goal["met"] else "missed"
    if "most" in goal:
        return f"{goal['median']:.3g} {result['unit']}, {verdict}: below {goal['most']:.4g}"
    return f"{goal['median']:.3g}, {verdict}: {goal['least']:.3g}"
