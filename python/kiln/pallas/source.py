"""The names that a kernel's Python source gives to things, found by its lines."""

from __future__ import annotations

import ast
import functools
import linecache
import re

from .cannot import Place

#: Names that specs cannot use: words of Kiln, of Python and of C++.
RESERVED = frozenset(
    """let var when else for in range assert copy wait and or not if true false inf nan where abs sign floor ceil round
    exp exp2 log log2 log1p tanh erf sigmoid sqrt rsqrt sin cos atan2 relu gelu gelu_tanh silu softplus clamp cdiv rem
    bitcast max min iota broadcast reshape transpose expand squeeze concat roll sum prod mean any all argmax argmin
    cumsum cumprod cummax cummin argsort top_k dot first last steps inside at ds while most take quot erfc expm1 cbrt
    tan sinh cosh asin acos atan asinh acosh atanh pipeline
    bool i4 u4 i8 u8 i16 u16 i32 u32 i64 bf16 f16 f32 f64 f8e4m3fn f8e5m2 f8e8m0fnu kernel
    alignas alignof and_eq asm auto bitand bitor break case catch char char8_t char16_t char32_t class compl concept
    const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do
    double dynamic_cast enum explicit export extern float friend goto inline int long mutable namespace new noexcept
    not_eq nullptr operator or_eq private protected public register reinterpret_cast requires return short signed
    sizeof static static_assert static_cast struct switch template this thread_local throw try typedef typeid typename
    union unsigned using virtual void volatile wchar_t xor xor_eq main std kiln hn hwy
    def lambda None True False pass import from as is yield with global nonlocal raise elif except finally del
    async await""".split()
)


@functools.lru_cache(None)
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None


@functools.lru_cache(None)
def _assignments(file: str) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Line -> where its statement begins, and the variables that it assigns."""
    found: dict[int, tuple[int, tuple[str, ...]]] = {}
    tree = _tree(file)
    for node in ast.walk(tree) if tree else ():
        target: ast.expr | None = None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            target = node.target
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        names = tuple(t.id for t in targets if isinstance(t, ast.Name))
        if names and len(names) == len(targets):
            assert isinstance(node, ast.stmt)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found.setdefault(line, (node.lineno, names))
    return found


def assigned(place: Place | None) -> tuple[int, tuple[str, ...]] | None:
    """The statement at a place, if it assigns variables: its first line, and the variables."""
    return _assignments(place[0]).get(place[1]) if place else None


def enclosing(place: Place | None) -> str | None:
    """The outermost function that the one at a place is defined in."""
    tree = _tree(place[0]) if place else None
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef) and node.lineno < place[1] <= (node.end_lineno or 0):  # type: ignore[index]
            return node.name
    return None


@functools.lru_cache(None)
def _subscripts(file: str) -> dict[int, list[tuple[str, bool]]]:
    """Line -> the names that are subscripted on it (`m_scratch_ref[…]`), and whether to store."""
    found: dict[int, list[tuple[str, bool]]] = {}
    tree = _tree(file)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Subscript):
            base = node.value
            if isinstance(base, ast.Attribute) and base.attr == "at":
                base = base.value
            if isinstance(base, ast.Name):
                found.setdefault(node.lineno, []).append((base.id, isinstance(node.ctx, ast.Store)))
    return found


def subscripted(place: Place | None, storing: bool) -> str | None:
    """The one name that is subscripted at a place for loading or storing; None if there are several or none."""
    on_line = _subscripts(place[0]).get(place[1], []) if place else []
    names = {name for name, stores in on_line if stores == storing} or {name for name, _ in on_line}
    return names.pop() if len(names) == 1 else None


def cleaned(name: str) -> str:
    """A Python name as a spec's: `q_tile_ref` is `q`."""
    name = re.sub(r"\W+", "_", name).strip("_")
    name = re.sub(r"(?:_tile)?(?:_hbm|_vmem|_smem|_any)?_ref$", "", name).strip("_")
    if not name or name[0].isdigit():
        name = "v" + name if name else "unused"
    return name[:50]


class Names:
    """Names in scopes: those of a block may come again when it is over."""

    def __init__(self) -> None:
        self._scopes: list[set[str]] = [set()]

    def fresh(self, wanted: str) -> str:
        wanted = cleaned(wanted)
        name, count = wanted, 2
        while name in RESERVED or any(name in scope for scope in self._scopes):
            name, count = f"{wanted}_{count}", count + 1
        self._scopes[-1].add(name)
        return name

    def enter(self) -> None:
        self._scopes.append(set())

    def leave(self) -> None:
        self._scopes.pop()
