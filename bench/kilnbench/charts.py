"""Results as pictures: a bar for each ratio beside its goal, and the roofline of the machine. Plain SVG."""

from xml.sax.saxutils import escape

_STYLE = """<style>
 text { font: 13px system-ui, sans-serif; fill: #222 } .small { font-size: 11px; fill: #666 }
 .met { fill: #2f7fb8 } .missed { fill: #c9742b } .goal { stroke: #222; stroke-width: 2 } .axis { stroke: #bbb }
 .roof { fill: none; stroke: #222; stroke-width: 1.5 }
 @media (prefers-color-scheme: dark) {
  svg { background: #15181c } text { fill: #ddd } .small { fill: #999 } .goal, .roof { stroke: #ddd } .axis { stroke: #444 } }
</style>"""


def _svg(width, height, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img">{_STYLE}{"".join(body)}</svg>\n')


def ratios(title, results):
    """Each ratio as a bar from 0, its goal as a tick; colours say whether it is met, and so does the text."""
    rows = [(r["case"], ratio) for r in results for ratio in r["ratios"]]
    if not rows:
        return None
    most = max(max(ratio["max"], ratio["goal"]) for _, ratio in rows)
    left, right, line = 420, 860, 22
    scale = (right - left) / most
    body = [f'<text x="10" y="22">{escape(title)}</text>']
    for i, (case, ratio) in enumerate(rows):
        y = 40 + i * line
        met = ratio["median"] >= ratio["goal"]
        end = left + ratio["median"] * scale
        body.append(f'<text x="10" y="{y + 12}">{escape(case)} <tspan class="small">over {escape(ratio["over"])}</tspan></text>')
        body.append(f'<rect class="{"met" if met else "missed"}" x="{left}" y="{y}" height="15" width="{end - left:.1f}"/>')
        goal = left + ratio["goal"] * scale
        body.append(f'<line class="goal" x1="{goal:.1f}" x2="{goal:.1f}" y1="{y - 2}" y2="{y + 17}"/>')
        body.append(f'<text class="small" x="{right + 8}" y="{y + 12}">{ratio["median"]:.2f}, '
                    f'{"met" if met else "missed"}: {ratio["goal"]:.2f}</text>')
    return _svg(right + 130, 50 + len(rows) * line, body)
