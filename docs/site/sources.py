"""Pages of files that are no Markdown, and of folders without a README."""

import posixpath

from pages import Page, Section, between, text
from project import Project
from prose import code, lexer_of


def source_page(project: Project, path: str) -> Page:
    body = f"<h1>{text(path)}</h1>\n{code(project.read(path), lexer_of('', path))}"
    return Page(path, project.url(path), path, body, [Section(1, "", path)])


def folder_page(project: Project, path: str, pages: dict[str, Page]) -> Page:
    """What is in the folder, with links to what the site shows."""
    url, items = project.url(path), []
    for inside in project.inside(path):
        page = pages.get(project.find("", inside))
        name = text(posixpath.basename(inside) + ("/" if inside in project.folders else ""))
        item = f"<code>{name}</code>"
        if page:
            item = f'<a href="{between(url, page.url)}">{item}</a>'
            item += f" {text(page.title)}" if page.path.endswith(".md") else ""
        items.append(f"<li>{item}</li>\n")
    body = f"<h1>{text(path)}/</h1>\n<ul>\n{''.join(items)}</ul>\n"
    return Page(path, url, path + "/", body, [Section(1, "", path + "/")])
