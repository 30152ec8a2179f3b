"""Loss curves as SVG, which any browser shows."""

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 800, 400, 50, 30, 20
# The first is wide and pale, so that the others stay visible on top of it.
STYLES = ['stroke="#f4a259" stroke-width="6"', 'stroke="#1d3557" stroke-width="1.5"',
          'stroke="#2a9d8f" stroke-width="1" stroke-dasharray="4 4"']  # fmt: skip


def curves(losses: dict[str, list[float]]) -> str:
    steps = max(map(len, losses.values()))
    low, high = min(map(min, losses.values())), max(map(max, losses.values()))

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - 10) * step / max(steps - 1, 1)

    def y(loss: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - loss) / max(high - low, 1e-9)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             f'font-size="12"><rect width="100%" height="100%" fill="white"/>']  # fmt: skip
    for i in range(5):
        loss, step = low + (high - low) * i / 4, (steps - 1) * i // 4
        parts.append(f'<text x="{LEFT - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:.2f}</text>')
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(loss):.1f}" y2="{y(loss):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(step):.1f}" y="{HEIGHT - 10}" text-anchor="middle">{step}</text>')
    for i, ((name, values), style) in enumerate(zip(losses.items(), STYLES, strict=False)):
        points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" {style}/>')
        parts.append(f'<line x1="600" x2="640" y1="{40 + 20 * i}" y2="{40 + 20 * i}" {style}/>')
        parts.append(f'<text x="650" y="{44 + 20 * i}">loss, {name}</text>')
    return "\n".join([*parts, "</svg>\n"])
