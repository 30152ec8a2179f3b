"""What a page of the site is: its HTML, the sections that search finds, and where it leads."""

import dataclasses
import html
import posixpath
import re
import urllib.parse


@dataclasses.dataclass
class Section:
    """A heading with the text below it, up to the next one."""

    level: int
    id: str
    title: str
    words: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Link:
    """A reference from one page to another one of the site."""

    line: int
    href: str  # as it is written
    path: str  # of the file or folder in the project
    fragment: str


@dataclasses.dataclass
class Page:
    path: str  # of the file in the project, which may be a folder's
    url: str  # of the page in the site
    title: str
    body: str  # HTML
    sections: list[Section] = dataclasses.field(default_factory=list)
    links: list[Link] = dataclasses.field(default_factory=list)

    def has_anchor(self, fragment: str) -> bool:
        return not fragment or any(section.id == fragment for section in self.sections)


def slug(title: str, taken: set[str]) -> str:
    """The anchor that a forge gives to a heading; the second of a name ends in -1."""
    name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    free, count = name, 0
    while free in taken:
        count += 1
        free = f"{name}-{count}"
    taken.add(free)
    return free


def text(value: str) -> str:
    return html.escape(value, quote=True)


def between(page: str, url: str) -> str:
    """`url` as a link from `page`, both within the site."""
    return urllib.parse.quote(posixpath.relpath(url, posixpath.dirname(page) or "."))
