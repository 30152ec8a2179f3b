"""The shipped kernels: a gallery, and for each a page with its spec, its generated text and a report of a call."""

import dataclasses
import os
import posixpath
import re
import subprocess

import yaml

from pages import Link, Page, Section, between, slug, text
from project import Project
from prose import code, lexer_of, sentence

CALLS = "docs/site/gallery.yaml"
GALLERY = "specs/README.md"


@dataclasses.dataclass
class Kernel:
    name: str
    group: str
    arguments: list[str]  # of the call that is shown
    doc: str
    instances: list[str]  # the names of its generated files
    time: str = ""  # what `kiln predict` says first: 1.03 ms, bound by HBM
    machine: str = ""

    @property
    def spec(self) -> str:
        return f"specs/{self.name}.yaml"

    @property
    def report(self) -> str:
        return f"reports/{self.name}.html"


def shipped(project: Project, wrong: list[str]) -> list[Kernel]:
    """In the order of the gallery, which has to name each of specs/ and nothing else."""
    groups = yaml.safe_load(project.read(CALLS))
    named = {name for calls in groups.values() for name in calls}
    there = {posixpath.basename(path).removesuffix(".yaml") for path in project.inside("specs")
             if path.endswith(".yaml") and not path.endswith(".lock.yaml")}
    wrong += [f"{CALLS}: specs/{name}.yaml is in no group" for name in sorted(there - named)]
    wrong += [f"{CALLS}: there is no specs/{name}.yaml" for name in sorted(named - there)]
    kernels = []
    for group, calls in groups.items():
        for name, arguments in calls.items():
            if name in there:
                spec = yaml.safe_load(project.read(f"specs/{name}.yaml"))
                kernels.append(Kernel(name, group, arguments.split(), spec["doc"], list(spec.get("instances", [name]))))
    return kernels


def write_reports(project: Project, kernels: list[Kernel], kiln: str, site: str, wrong: list[str]) -> None:
    os.makedirs(os.path.join(site, "reports"))
    for kernel in kernels:
        call = [kernel.spec, *kernel.arguments]
        _run(project, [kiln, "report", *call, "-o", os.path.join(site, kernel.report)], wrong)
        said = _run(project, [kiln, "predict", *call], wrong).partition("\n")[0]
        first = re.fullmatch(r"\S+ on (\S+): (.*)", said)
        if first:
            kernel.machine, kernel.time = first.groups()
        elif said:
            wrong.append(f"{kernel.spec}: kiln predict begins otherwise than this script expects: {said}")


def _run(project: Project, command: list[str], wrong: list[str]) -> str:
    """What the command prints, or nothing."""
    ran = subprocess.run(command, cwd=project.root, capture_output=True, text=True, timeout=120)
    if ran.returncode:
        wrong.append(f"{' '.join(command)}: {ran.stderr.strip()}")
        return ""
    return ran.stdout


def generated(project: Project, kernel: Kernel) -> list[str]:
    """The C++ made from a spec."""
    paths = [f"generated/{name}{end}" for name in kernel.instances for end in (".cc", ".h")]
    return [path for path in paths if path in project.files]


def add_gallery(project: Project, page: Page, kernels: list[Kernel]) -> None:
    """Below the text of the page of specs/."""
    taken = {section.id for section in page.sections}
    parts, group = [], ""
    for kernel in kernels:
        if kernel.group != group:
            group, name = kernel.group, slug(kernel.group, taken)
            parts += ["</ul>\n" if parts else "", f'<h2 id="{name}">{text(group)}</h2>\n<ul class="kernels">\n']
            page.sections.append(Section(2, name, group))
        page.sections[-1].words.append(f"{kernel.name}: {kernel.doc}")
        parts.append(_card(project, page, kernel))
    page.body += "".join(parts) + "</ul>\n"


def _card(project: Project, page: Page, kernel: Kernel) -> str:
    def link(url, words):
        return f'<a href="{between(page.url, url)}">{words}</a>'
    texts = [path for path in generated(project, kernel) if path.endswith(".cc")]
    cplusplus = [link(project.url(path), text(posixpath.basename(path))) for path in texts]
    return (f"<li><h3>{link(project.url(kernel.spec), text(kernel.name))}</h3>\n"
            f"<p>{sentence(kernel.doc)}</p>\n"
            f'<p class="note">predicted for {kernel.machine}: {kernel.time}</p>\n'
            f"<p>{' · '.join([link(kernel.report, 'report'), *cplusplus])}</p></li>\n")


def kernel_page(project: Project, kernel: Kernel) -> Page:
    url = project.url(kernel.spec)
    command = f"kiln report {kernel.spec} {' '.join(kernel.arguments)} -o {kernel.name}.html"
    texts = generated(project, kernel)
    items = "".join(f'<li><a href="{between(url, project.url(path))}"><code>{path}</code></a></li>\n' for path in texts)
    cplusplus = f'<h2 id="generated">Generated C++</h2>\n<ul>\n{items}</ul>\n' if texts else ""
    body = (
        f"<h1>{text(kernel.name)}</h1>\n<p>{sentence(kernel.doc)}</p>\n"
        f'<p><a class="button" href="{between(url, kernel.report)}">Open its report</a></p>\n'
        f"<p>It shows a call step by step on {kernel.machine}, with {kernel.time}, as predicted. "
        f"This makes it:</p>\n{code(command, lexer_of('text'))}"
        f'<h2 id="spec">The spec</h2>\n<p><code>{kernel.spec}</code></p>\n'
        f"{code(project.read(kernel.spec), lexer_of('yaml'))}{cplusplus}")
    sections = [Section(1, "", kernel.name, [kernel.doc, *kernel.instances]), Section(2, "spec", "The spec")]
    if texts:
        sections.append(Section(2, "generated", "Generated C++"))
    return Page(kernel.spec, url, kernel.name, body, sections, [Link(0, path, path, "") for path in texts])
