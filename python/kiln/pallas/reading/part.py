"""What the parts of `Equation` use of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from ..grids import Transform
    from ..ir import Block, Operation, Range, Value, Window


class Part:
    """Base of what `Equation` inherits, for whoever checks types: `Equation` has all of this."""

    if TYPE_CHECKING:
        reader: Any
        body: Block
        environment: dict[Any, Any]
        eqn: Any
        params: dict[str, Any]
        place: Any

        def value(self, atom: Any) -> Value: ...
        def out(self, variable: Any) -> Value: ...
        def entry(self, entry: Any) -> Value | Range: ...
        def concrete(self, atom: Any) -> np.ndarray | None: ...
        def window(self, ref: Any, transforms: list[Transform], copied: bool = False) -> Window: ...
        def made(self, name: str, inputs: list[Value], shape: tuple[int, ...], **more: Any) -> Value: ...
        def emit(self, name: str, inputs: list[Value] | None = None, **attributes: Any) -> Operation: ...
        def effect(self, name: str, windows: list[Window], inputs: list[Value]) -> None: ...
