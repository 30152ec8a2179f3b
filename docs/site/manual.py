"""The order in which the pages are read, which is that of the links of docs/README.md."""

import dataclasses
import posixpath

from markdown_it import MarkdownIt

from pages import Page
from project import Project
from prose import plain

MANUAL = "docs/README.md"
OTHER = "Folders"  # READMEs that the manual does not name


@dataclasses.dataclass
class Entry:
    title: str
    path: str


@dataclasses.dataclass
class Group:
    title: str
    entries: list[Entry] = dataclasses.field(default_factory=list)


def read_manual(project: Project, pages: dict[str, Page], wrong: list[str]) -> list[Group]:
    """A group for each heading of the manual; a folder without a README brings its pages."""
    groups: list[Group] = []
    tokens = MarkdownIt().parse(project.read(MANUAL))
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            groups.append(Group(plain(tokens[at + 1])))
        elif token.type == "inline" and groups:
            groups[-1].entries += _entries(project, pages, token)
    named = {entry.path for group in groups for entry in group.entries} | {MANUAL}
    wrong += [f"{MANUAL}: no section has a link to {path}" for path in project.markdown()
              if path.startswith("docs/") and path not in named]
    others = [Entry(path.removesuffix("/README.md"), path) for path in project.markdown() if path not in named]
    return [*groups, Group(OTHER, others)]


def _entries(project: Project, pages: dict[str, Page], token) -> list[Entry]:
    entries, open_link = [], None
    for part in token.children or ():
        if part.type == "link_open":
            open_link, title = part.attrGet("href"), ""
        elif part.type == "link_close" and open_link is not None:
            found = project.find(MANUAL, open_link.partition("#")[0])
            if found in pages:
                entries.append(Entry(title, found))
            if found in project.folders:
                entries += [Entry(_short(pages[path].title), path) for path in pages
                            if posixpath.dirname(path) == found]
            open_link = None
        elif open_link is not None:
            title += part.content
    return entries


def _short(title: str) -> str:
    """[alias] of "[alias] an aliased input is …"."""
    return title.partition("]")[0] + "]" if title.startswith("[") else title
