"""A page for each question, from what is kept of it: cases with their goals and limits, and the pictures. And one that lists
them all."""

import json
import pathlib
from html import escape

from kilnbench import limits, table

_STYLE = """<style>
 body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1080px; padding: 0 1em; color: #1f2328 }
 table { border-collapse: collapse; font-size: 13px } th, td { padding: 3px 10px; text-align: left; vertical-align: top }
 th { border-bottom: 2px solid #d1d9e0 } .case td { border-top: 1px solid #d1d9e0 } .number { text-align: right; white-space: nowrap }
 .missed { color: #a14f12 } .small { color: #59636e } img { max-width: 100%; height: auto; margin: 1em 0 }
 @media (prefers-color-scheme: dark) { body { background: #15181c; color: #e6e9ed } a { color: #58a6dd }
  th, .case td { border-color: #343b44 } .missed { color: #e09a55 } .small { color: #9aa4af } }
</style>"""


def question(content, pictures):
    """`content` as it is kept in JSON; `pictures` are files beside the page."""
    title = table.title_text(content["question"], content["title"], content["cores"]).strip()
    body = [f"<p>{escape(_machine(content))}</p>", f"<p>{escape(_count(content))}</p>"]
    if not content["complete"]:
        body.append('<p class="missed">Some cases failed, or the run was interrupted.</p>')
    body += [f'<img src="{escape(name)}" alt="{escape(title)}">' for name in pictures]
    body.append("<table><tr><th>case<th>who<th>figure<th>goal<th>reached<th>limit</tr>")
    for result in content["results"]:
        body += _rows(result, content)
    body.append('</table><p class="small">A figure is the median over the rounds; what is reached is a ratio of speeds within '
                "a round, with the least and the greatest. Limits are shares of what dots out of registers and loops over "
                "memory reach on this machine.</p>")
    return _page(title, '<p><a href="index.html">All questions</a></p>' + "\n".join(body))


def _rows(result, content):
    """A line for each contestant, and more where it has several goals."""
    case, limit, rows = result["case"], limits.told(result, content["peaks"], content["bandwidth"]), []
    for who, figure in result["figures"].items():
        name, shown = who, f"{figure:.4g} {result['unit']}"
        for goal in [g for g in result["goals"] if g["of"] == who] or [None]:
            kind = ' class="case"' if case else ""
            rows.append(f'<tr{kind}><td>{escape(case)}<td>{escape(name)}<td class="number">{escape(shown)}{_goal(goal)}'
                        f"<td>{escape(limit)}</tr>")
            case = limit = name = shown = ""
    return rows


def _goal(goal):
    if goal is None:
        return "<td><td>"
    kind = "met" if goal["met"] else "missed"
    spread = f"{goal['median']:.3g} ({goal['min']:.3g} to {goal['max']:.3g})"
    if "most" in goal:
        beyond = f" beyond {goal['beyond']}" if "beyond" in goal else ""
        wanted = f"below {goal['most']:.4g}{beyond}"
    else:
        wanted = f"{goal['least']:.3g} of {goal['over']}"
    return f'<td>{escape(wanted)}<td class="{kind}">{spread}, {kind}'


def _machine(content):
    most = ", ".join(f"{dtype} {rate:.0f}" for dtype, rate in content["peaks"].items())
    return (f"{content.get('date', 'no date')}, {content.get('cpu', 'a CPU')}, {content['cores']} of its cores: out of registers "
            f"{most} (1e9 operations a second), memory {content['bandwidth']:.1f} GB/s.")


def _count(content):
    goals = [goal for result in content["results"] for goal in result["goals"]]
    met = sum(goal["met"] for goal in goals)
    return f"{met} of {len(goals)} goals are met in {len(content['results'])} cases."


def _page(title, body):
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{escape(title)}</title>{_STYLE}</head><body><h1>{escape(title)}</h1>{body}</body></html>\n")


def index(folder):
    """Of all questions that have a page in the folder."""
    rows = []
    for page in sorted(pathlib.Path(folder).glob("*_*.html"), key=_order):
        path = page.with_suffix(".json")
        content = json.loads(path.read_text())
        missed = [goal for result in content["results"] for goal in result["goals"] if not goal["met"]]
        kind = ' class="missed"' if missed else ""
        rows.append(f'<tr class="case"><td><a href="{path.stem}.html">{escape(content["question"])}</a><td>'
                    f'{escape(content["title"])}<td class="number">{content["cores"]}<td{kind}>{escape(_count(content))}<td>'
                    f'{escape(content.get("date", ""))}</tr>')
    head = "<table><tr><th>question<th>about<th>cores<th>goals<th>measured</tr>"
    return _page("Benchmarks of Kiln", head + "\n".join(rows) + "</table>")


def _order(path):
    name, _, cores = path.stem.partition("_")
    return name[:1], int(name[1:]) if name[1:].isdigit() else 0, cores
