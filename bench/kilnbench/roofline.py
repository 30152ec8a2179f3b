"""The roofline of the machine, as it was while the cases ran: what memory allows at so many operations a byte, what
the arithmetic allows by type, and each case of a question as a point with its name."""

import math

from kilnbench import svg

_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 1010, 60, 560  # of the field, in pixels
_DOT = 5


class Scale:
    """Logarithmic, from a power of two to another one."""

    def __init__(self, values, start, end):
        self.low = math.floor(math.log2(min(values)) - 0.5)
        self.high = math.ceil(math.log2(max(values)) + 1)  # room for names
        self.start, self.step = start, (end - start) / (self.high - self.low)

    def __call__(self, value):
        return self.start + (math.log2(value) - self.low) * self.step

    def ticks(self):
        return [2.0**e for e in range(self.low, self.high + 1)]


def points_of(results):
    """(operations a byte, operations a second in 1e9, type, name) of what leads each case that is about the machine."""
    points = []
    for result in results:
        work = result.get("work")
        if work and work["operations"]:
            figure = next(iter(result["figures"].values()))
            intensity = work["operations"] / work["bytes"]
            rate = figure * intensity if result["unit"] == "GB/s" else figure
            points.append((intensity, rate, work["dtype"], result["case"]))
    return points


def draw(title, peaks, bandwidth, results):
    """None: there are no points."""
    points = points_of(results)
    if not points:
        return None
    roofs = {dtype: peaks[dtype] for dtype in sorted({p[2] for p in points}) if dtype in peaks}
    x = Scale([p[0] for p in points] + [peak / bandwidth for peak in roofs.values()], _LEFT, _RIGHT)
    y = Scale([p[1] for p in points] + list(roofs.values()), _BOTTOM, _TOP)
    lines = _roof_lines(x, y, roofs, bandwidth)
    labels = _roof_labels(x, y, roofs, bandwidth)
    dots = [(x(p[0]), y(p[1]), p[2], p[3]) for p in points]
    body = _axes(x, y) + [svg.line(*ends, "line") for ends in lines] + [drawn for _, drawn in labels]
    body += _named(dots, lines, [area for area, _ in labels])
    return svg.page(_RIGHT + 20, _BOTTOM + 60, f"{title}: roofline", body)


def _axes(x, y):
    body = []
    for value in x.ticks():
        body.append(svg.line(x(value), _TOP, x(value), _BOTTOM, "axis"))
        body.append(svg.text(x(value), _BOTTOM + 18, _number(value), "small", "middle"))
    for value in y.ticks():
        body.append(svg.line(_LEFT, y(value), _RIGHT, y(value), "axis"))
        body.append(svg.text(_LEFT - 8, y(value) + 4, _number(value), "small", "end"))
    body.append(svg.text((_LEFT + _RIGHT) / 2, _BOTTOM + 42, "operations a byte, each array moved once", "small", "middle"))
    body.append(svg.text(12, _TOP - 14, "1e9 operations a second", "small"))
    return body


def _number(value):
    return f"{value:.0f}" if value >= 1 else f"1/{1 / value:.0f}"


def _roof_lines(x, y, roofs, bandwidth):
    """The slope of memory up to the highest roof, and each roof from the slope on."""
    lowest = max(2.0**x.low, 2.0**y.low / bandwidth)
    ridge = max(roofs.values(), default=2.0**x.high * bandwidth) / bandwidth
    slope = (x(lowest), y(lowest * bandwidth), x(ridge), y(ridge * bandwidth))
    return [slope] + [(x(peak / bandwidth), y(peak), _RIGHT, y(peak)) for peak in roofs.values()]


def _roof_labels(x, y, roofs, bandwidth):
    """(area, drawn): at the right ends of roofs, and along the slope."""
    labels = []
    for dtype, peak in roofs.items():
        told = f"{dtype} out of registers, {peak:.0f}"
        labels.append(_placed(_RIGHT - 6 - svg.width_of(told, 11), y(peak) - 17, told))
    told = f"memory, {bandwidth:.1f} GB/s"
    lowest = max(2.0**x.low, 2.0**y.low / bandwidth) * 1.15
    labels.append(_placed(x(lowest) + 10, y(lowest * bandwidth) - 8, told))  # under it
    return labels


def _placed(left, top, told):
    return (left, top, left + svg.width_of(told, 11), top + 14), svg.text(left, top + 11, told, "label")


def _named(dots, lines, taken):
    """The points with their names, each as near as there is room: apart from roofs, points and the other names."""
    leaders, labels, names = [], [], list(taken)
    marks = [_around(px, py) for px, py, _, _ in dots]
    for px, py, _, name in sorted(dots):
        area, anchor = _room(px, py, name, lines + leaders, names, marks)
        names.append(area)
        if math.dist(anchor, (px, py)) > 3 * _DOT:
            leaders.append((px, py, *anchor))
        labels.append(svg.text(area[0] + 4, area[1] + 11, name, "label"))
    return [svg.line(*ends, "thin") for ends in leaders] + labels + [_mark(px, py, dtype) for px, py, dtype, _ in dots]


def _centre(area):
    return (area[0] + area[2]) / 2, (area[1] + area[3]) / 2


def _band(line):
    return line[0], line[1] - 1, line[2], line[3] + 1


def _around(px, py):
    return px - _DOT - 1, py - _DOT - 1, px + _DOT + 1, py + _DOT + 1


def _room(px, py, name, lines, names, marks):
    """A free area near a point, and where the line from the point to it ends: that goes behind few other things."""
    own = _around(px, py)
    others = names + [mark for mark in marks if not overlap(mark, own)]
    others += [_band(line) for line in lines if line[1] == line[3]]  # roofs
    best = None
    for distance, area, anchor in _places(px, py, svg.width_of(name, 11) + 8):
        if best and distance >= best[0]:
            break
        inside = _LEFT < area[0] and area[2] < _RIGHT and _TOP < area[1] and area[3] < _BOTTOM
        if (not inside or any(overlap(area, other) for other in names + marks)
                or any(crosses(area, line) for line in lines)):
            continue
        behind = sum(crosses(other, (px, py, *anchor)) for other in others)
        nearer = sum(math.dist(anchor, _centre(mark)) < distance - 1 for mark in marks)  # it would seem to be theirs
        badness = distance + 60 * behind + 40 * nearer
        if best is None or badness < best[0]:
            best = badness, area, anchor
    return best[1:] if best else (area, anchor)


def _places(px, py, wide, high=14):
    """Areas on rings around a point, the nearest first."""
    for ring in range(1, 50):
        distance = _DOT + 7 * ring
        for turn in range(32):
            dx, dy = (f(2 * math.pi * turn / 32) for f in (math.cos, math.sin))
            x, y = px + distance * dx, py + distance * dy
            left = x - (wide if dx < -0.3 else 0 if dx > 0.3 else wide / 2)
            top = y - (high if dy < -0.3 else 0 if dy > 0.3 else high / 2)
            yield distance, (left, top, left + wide, top + high), (x, y)


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def crosses(area, ends):
    """Whether a straight line goes through an area: some of it is left after cutting off what is outside each side."""
    x1, y1, x2, y2 = ends
    first, last = 0.0, 1.0
    for start, delta, low, high in ((x1, x2 - x1, area[0], area[2]), (y1, y2 - y1, area[1], area[3])):
        if delta == 0:
            if not low < start < high:
                return False
            continue
        enter, leave = sorted(((low - start) / delta, (high - start) / delta))
        first, last = max(first, enter), min(last, leave)
    return first < last


def _mark(px, py, dtype):
    """A shape for each type, as colours alone are not for everyone."""
    if dtype == "bf16":
        return svg.box(px - _DOT + 0.5, py - _DOT + 0.5, 2 * _DOT - 1, 2 * _DOT - 1, dtype)
    if dtype == "i8":
        return f'<path class="i8" d="M{px:.1f} {py - _DOT - 1:.1f} l{_DOT + 1} {2 * _DOT} h-{2 * _DOT + 2} z"/>'
    return f'<circle class="{dtype}" cx="{px:.1f}" cy="{py:.1f}" r="{_DOT}"/>'
