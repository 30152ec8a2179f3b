"""What the pictures share: one look, light and dark as the reader's screen is. Plain SVG."""

from xml.sax.saxutils import escape

_STYLE = """<style>
 text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 11px; fill: #59636e }
 .label { font-size: 11px; paint-order: stroke; stroke: #fff; stroke-width: 3px }
 .page { fill: #fff } .axis { stroke: #d1d9e0 } .line { fill: none; stroke: #1f2328; stroke-width: 1.5 }
 .thin { stroke: #818b98; stroke-width: 1 } .met { fill: #2f7fb8 } .missed { fill: #c9742b }
 .f32 { fill: #2f7fb8 } .bf16 { fill: #c9742b } .i8 { fill: #3f8f4f }
 @media (prefers-color-scheme: dark) {
  text { fill: #e6e9ed } .small { fill: #9aa4af } .page { fill: #15181c } .label { stroke: #15181c }
  .axis { stroke: #343b44 } .line { stroke: #e6e9ed }
  .thin { stroke: #808a95 } .met, .f32 { fill: #58a6dd } .missed, .bf16 { fill: #e09a55 } .i8 { fill: #6cbf7c } }
</style>"""
_WIDE = {13: 7.7, 11: 6.2}  # of a character, by size of the font; rather too much than too little


def page(width, height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img"><title>{escape(title)}</title>{_STYLE}'
            f'<rect class="page" width="100%" height="100%"/>{text(12, 24, title)}{"".join(body)}</svg>\n')


def width_of(content, size=13):
    return _WIDE[size] * len(content)


def text(x, y, content, kind="", anchor="start"):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def box(x, y, width, height, kind):
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
