"""Markdown, as a forge reads it, to pages: links lead to pages of the site, headings have a forge's anchors, and
tables and code scroll by themselves."""

import re

import pygments
from markdown_it import MarkdownIt
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

from pages import Link, Page, Section, between, slug
from project import Project

ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")  # https:, mailto:


def code(source: str, lexer) -> str:
    """A block of code that scrolls by itself, and by the keyboard."""
    tokens = pygments.highlight(source, lexer, HtmlFormatter(nowrap=True))
    return f'<pre tabindex="0"><code>{tokens}</code></pre>\n'


def lexer_of(language: str, file_name: str = ""):
    try:
        return get_lexer_for_filename(file_name) if file_name else get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return TextLexer(stripnl=False)


def reader() -> MarkdownIt:
    """CommonMark with tables. HTML is let through for <br>, as forges do; all of it is this project's own."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    rules = markdown.renderer.rules

    def fence(tokens, at, options, env):
        return code(tokens[at].content, lexer_of((tokens[at].info.split() or ["text"])[0]))

    def heading_close(tokens, at, options, env):
        anchor = tokens[at - 2].attrGet("id")
        return (f' <a class="anchor" href="#{anchor}" aria-label="Link to this section">#</a>'
                f"</{tokens[at].tag}>\n")

    rules["heading_close"] = heading_close
    rules["fence"] = rules["code_block"] = fence
    rules["table_open"] = lambda *_: '<div class="scroll" tabindex="0"><table>\n'
    rules["table_close"] = lambda *_: "</table></div>\n"
    return markdown


def sentence(source: str) -> str:
    """One line of a spec, say, in which `x` is code."""
    return MarkdownIt("zero", {"html": False}).enable("backticks").renderInline(source)


def plain(token) -> str:
    """The text of a heading or a paragraph, without its marks."""
    parts = {"softbreak": " ", "hardbreak": " ", "html_inline": " "}
    return "".join(parts.get(part.type, part.content) for part in token.children or ())


class Prose:
    """Turns files of Markdown into pages, and says in `wrong` which links lead to nothing."""

    def __init__(self, project: Project, wrong: list[str]) -> None:
        self._project = project
        self._wrong = wrong
        self._markdown = reader()

    def page(self, path: str) -> Page:
        tokens = self._markdown.parse(self._project.read(path))
        page = Page(path, self._project.url(path), path, "")
        taken: set[str] = set()
        for at, token in enumerate(tokens):
            if token.type == "heading_open":
                self._head(page, token, plain(tokens[at + 1]), taken)
            elif token.type == "inline" and tokens[at - 1].type != "heading_open":
                self._words(page, plain(token))
            elif token.type in ("fence", "code_block"):
                self._words(page, token.content)
            if token.type == "inline":
                self._lead(page, token)
        page.body = self._markdown.renderer.render(tokens, self._markdown.options, {})
        return page

    def _head(self, page: Page, token, title: str, taken: set[str]) -> None:
        section = Section(int(token.tag[1]), slug(title, taken), title)
        if not page.sections:
            page.title = title
        page.sections.append(section)
        token.attrSet("id", section.id)

    def _words(self, page: Page, words: str) -> None:
        if not page.sections:
            page.sections.append(Section(1, "", page.title))
        page.sections[-1].words.append(words)

    def _lead(self, page: Page, token) -> None:
        """Turns the links of one paragraph into links between pages."""
        for part in token.children or ():
            name = {"link_open": "href", "image": "src"}.get(part.type)
            href = part.attrGet(name) if name else None
            if href is None or ELSEWHERE.match(href):
                continue
            line = token.map[0] + 1
            target, _, fragment = href.partition("#")
            found = self._project.find(page.path, target)
            if found is None:
                self._wrong.append(f"{page.path}:{line}: a link to nothing: {href}")
                continue
            url = self._project.url(found)
            page.links.append(Link(line, href, found, fragment))
            within = between(page.url, url) if url != page.url else ""
            part.attrSet(name, within + ("#" + fragment if fragment or not within else ""))
