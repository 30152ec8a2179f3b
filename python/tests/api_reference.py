"""docs/python-api.md, from the docstrings of what the package's modules list in __all__; test_docs.py writes it."""

import ast
import re
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "kiln"
MODULES = ["kiln", "kiln.errors", "kiln.testing", "kiln.torch", "kiln.jax", "kiln.pallas"]


class Module:
    """The text of a module, which is not imported: PyTorch and JAX need not be there."""

    def __init__(self, name: str) -> None:
        parts = name.split(".")[1:]
        path = PACKAGE.joinpath(*parts)
        self.name = name
        self.folder = path if path.is_dir() else path.parent
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        text = file.read_text(encoding="utf-8")
        self.lines = text.splitlines()
        self.tree = ast.parse(text)

    def public(self) -> list[str]:
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
                return list(ast.literal_eval(node.value))
        raise AssertionError(f"{self.name} has no __all__")

    def find(self, name: str) -> tuple[ast.AST, list[str]]:
        """The definition and the text that it stands in, of this module or of one that it comes from."""
        # What is imported when it is used stands below `if TYPE_CHECKING`.
        for node in [n for top in self.tree.body for n in (top.body if isinstance(top, ast.If) else [top])]:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
                return node, self.lines
            if isinstance(node, ast.ImportFrom) and node.level and any(alias.name == name for alias in node.names):
                folder = self.folder.parents[node.level - 2] if node.level > 1 else self.folder
                inside = folder.relative_to(PACKAGE.parent).parts
                return Module(".".join([*inside, *(node.module or "").split(".")])).find(name)
            target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
            if isinstance(target, ast.Name) and target.id == name:
                return node, self.lines
        raise AssertionError(f"{self.name} has no {name}")


def page() -> str:
    parts = [
        "# The Python package, name by name",
        "Written from the docstrings by `./dev docs`. [python.md](python.md) shows how the names are used, "
        "[tutorial-python.md](tutorial-python.md) goes from an empty file to a kernel.",
    ]
    for name in MODULES:
        module = Module(name)
        parts += [f"## {name}", prose(ast.get_docstring(module.tree, clean=False))]
        for public in module.public():
            parts += entry(public, *module.find(public))
    return "\n\n".join(parts) + "\n"


def entry(name: str, node: ast.AST, lines: list[str]) -> list[str]:
    if isinstance(node, ast.ClassDef):
        head = f"### class `{name}`"
        members = [member(name, m) for m in node.body if not getattr(m, "name", "_").startswith("_")]
        call = next((m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__call__"), None)
        called = [] if call is None else [member(name, call)]
        return [head, prose(docs(node)), *fields(node, lines), *called, *members]
    if isinstance(node, ast.FunctionDef):
        return [f"### `{name}`", signature(name, node), prose(docs(node))]
    return [f"### `{name}`", f"`{ast.unparse(node)}`"]


def fields(node: ast.ClassDef, lines: list[str]) -> list[str]:
    """What is declared with a type, with the comment behind it."""
    found = []
    for m in node.body:
        if isinstance(m, ast.AnnAssign):
            comment = lines[m.lineno - 1].partition("  # ")[2]
            found.append(f"- `{ast.unparse(m)}`" + (f": {comment}" if comment else ""))
    return ["\n".join(found)] if found else []


def member(of: str, node: ast.AST) -> str:
    assert isinstance(node, ast.FunctionDef)
    is_property = any("property" in ast.unparse(d) for d in node.decorator_list)
    if is_property:
        return f"**`.{node.name}`** `-> {ast.unparse(node.returns)}`\n\n{prose(docs(node))}"
    title = "call" if node.name == "__call__" else f".{node.name}"
    shown = of.lower() if node.name == "__call__" else node.name
    return f"**`{title}`**\n\n{signature(shown, node)}\n\n{prose(docs(node))}"


def docs(node: ast.AST) -> str:
    text = ast.get_docstring(node)
    assert text, f"{getattr(node, 'name', node)} has no docstring"
    return text


def signature(name: str, node: ast.FunctionDef) -> str:
    arguments = node.args
    if arguments.args and arguments.args[0].arg == "self":
        arguments.args.pop(0)
    return f"```py\n{name}({ast.unparse(arguments)}) -> {ast.unparse(node.returns)}\n```"


def prose(text: str) -> str:
    """As the docstring has it, with its indented examples as code."""
    return re.sub(r"(?:^    .*\n?)+", lambda code: f"```py\n{textwrap.dedent(code[0]).rstrip()}\n```\n", text, flags=re.M).strip()
