"""What `kiln predict` and `kiln report` say, for notebooks and programs."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Prediction:
    """Of one call on a TPU. `data` is what `kiln predict --json` prints."""

    data: dict[str, Any]
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class Report:
    """A page of HTML that needs nothing else."""

    html: str

    def save(self, path: str) -> None:
        """Writes the page into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __repr__(self) -> str:
        return f"<kiln.Report of {len(self.html)} bytes: .save(path), or show it in a notebook>"

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:600px;border:0"></iframe>'
