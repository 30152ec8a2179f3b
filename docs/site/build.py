"""Makes a site of the project's Markdown, the files that it links to, and the shipped kernels with their reports.

    build.py KILN FOLDER [--project ROOT]    exit status 1: a list of what is wrong, and the site as it was before
"""

import argparse
import json
import os
import shutil
import string
import sys

from kernels import GALLERY, add_gallery, kernel_page, shipped, write_reports
from manual import MANUAL, Group, read_manual
from pages import Page, between, text
from project import AS_THEY_ARE, Project
from prose import Prose
from sources import folder_page, source_page

HERE = os.path.dirname(os.path.abspath(__file__))


def add_linked(project: Project, pages: dict[str, Page]) -> None:
    """Files and folders that pages link to and that are no pages yet."""
    targets = {link.path for page in pages.values() for link in page.links}
    missing = sorted(path for path in targets - pages.keys() if not path.endswith(AS_THEY_ARE))
    pages.update({path: source_page(project, path) for path in missing if path in project.files})
    pages.update({path: folder_page(project, path, pages) for path in missing if path in project.folders})


def wrong_anchors(pages: dict[str, Page]) -> list[str]:
    return [f"{page.path}:{link.line}: no such heading: {link.href}" for page in pages.values() for link in page.links
            if link.path in pages and not pages[link.path].has_anchor(link.fragment)]


def navigation(page: Page, groups: list[Group], pages: dict[str, Page]) -> str:
    """The manual's sections; the one of this page is open."""
    parts = []
    for group in groups:
        inside = any(entry.path == page.path for entry in group.entries)
        parts.append(f"<details{' open' if inside else ''}><summary>{text(group.title)}</summary>\n<ul>\n")
        for entry in group.entries:
            here = ' aria-current="page"' if entry.path == page.path else ""
            url = between(page.url, pages[entry.path].url)
            parts.append(f'<li><a href="{url}"{here}>{text(entry.title)}</a></li>\n')
        parts.append("</ul></details>\n")
    return "".join(parts)


def trail(page: Page, pages: dict[str, Page], project: Project) -> str:
    """Where the page's file is, with links to its folders."""
    parts = page.path.split("/")
    for at in range(1, len(parts)):
        folder = pages.get(project.find("", "/".join(parts[:at])))
        if folder and folder is not page:
            parts[at - 1] = f'<a href="{between(page.url, folder.url)}">{parts[at - 1]}</a>'
    return f'<p class="trail">{" / ".join(parts)}</p>\n'


def contents(page: Page) -> str:
    parts = [section for section in page.sections if section.level in (2, 3) and section.id]
    if len(parts) < 2:
        return ""
    items = "".join(f'<li class="level-{part.level}"><a href="#{part.id}">{text(part.title)}</a></li>\n'
                    for part in parts)
    return f'<details class="contents"><summary>On this page</summary>\n<ul>\n{items}</ul></details>\n'


def neighbours(page: Page, groups: list[Group], pages: dict[str, Page]) -> str:
    """Links to the page before and the one after, as the manual has them."""
    order = [entry for group in groups for entry in group.entries]
    at = next((at for at, entry in enumerate(order) if entry.path == page.path), None)
    if at is None:
        return ""

    def link(index, kind, words):
        if not 0 <= index < len(order):
            return "<span></span>"
        url = between(page.url, pages[order[index].path].url)
        return f'<a rel="{kind}" href="{url}">{words.format(text(order[index].title))}</a>'

    return link(at - 1, "prev", "← {}") + link(at + 1, "next", "{} →")


def search_index(pages: dict[str, Page]) -> str:
    """A script: opened from a disk, a page may load one, and no other file."""
    rows = [[page.url, page.title, section.id, section.title, " ".join(" ".join(section.words).split())]
            for page in pages.values() for section in page.sections]
    return "window.searchIndex = " + json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + ";\n"


def write_site(project: Project, pages: dict[str, Page], groups: list[Group], site: str) -> None:
    with open(os.path.join(HERE, "page.html"), encoding="utf-8") as file:
        frame = string.Template(file.read())
    for page in pages.values():
        _write(site, page.url, frame.substitute(
            title=text(page.title), root=between(page.url, "index.html").removesuffix("index.html"),
            manual=between(page.url, project.url(MANUAL)), navigation=navigation(page, groups, pages),
            trail=trail(page, pages, project), contents=contents(page), body=page.body,
            neighbours=neighbours(page, groups, pages)))
    _write(site, "search-index.js", search_index(pages))
    for name in ("style.css", "page.js", "search.js"):
        shutil.copy(os.path.join(HERE, name), site)
    for path in {link.path for page in pages.values() for link in page.links if link.path.endswith(AS_THEY_ARE)}:
        os.makedirs(os.path.dirname(os.path.join(site, path)), exist_ok=True)
        shutil.copy(os.path.join(project.root, path), os.path.join(site, path))


def _write(site: str, url: str, content: str) -> None:
    path = os.path.join(site, url)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def build(project: Project, kiln: str, site: str) -> list[str]:
    """Writes the site, and returns what is wrong with it."""
    wrong: list[str] = []
    prose = Prose(project, wrong)
    pages = {path: prose.page(path) for path in project.markdown()}
    kernels = shipped(project, wrong)
    write_reports(project, kernels, kiln, site, wrong)
    add_gallery(project, pages[GALLERY], kernels)
    pages.update({kernel.spec: kernel_page(project, kernel) for kernel in kernels})
    add_linked(project, pages)
    wrong += wrong_anchors(pages)
    write_site(project, pages, read_manual(project, pages, wrong), site)
    return wrong


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("kiln")
    arguments.add_argument("folder")
    arguments.add_argument("--project", default=os.path.dirname(os.path.dirname(HERE)))
    given = arguments.parse_args()
    site = os.path.abspath(given.folder)
    made = site + ".new"  # a site with mistakes leaves the one before
    shutil.rmtree(made, ignore_errors=True)
    wrong = build(Project(os.path.abspath(given.project)), os.path.abspath(given.kiln), made)
    if wrong:
        shutil.rmtree(made)
        sys.exit("\n".join(wrong))
    shutil.rmtree(site, ignore_errors=True)
    os.rename(made, site)


if __name__ == "__main__":
    main()
