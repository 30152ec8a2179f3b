"""What the language cannot say, and the one table of it: an addition to the language deletes a line here."""

from __future__ import annotations

from pathlib import Path

#: (file, line) of a kernel's Python source.
Place = tuple[str, int]

#: Primitives of JAX that have no word in the language, each with what a person calls it.
CONSTRUCTS: dict[str, str] = {
    "digamma": "digamma", "igamma": "igamma", "lgamma": "lgamma", "nextafter": "nextafter",
    "population_count": "population_count", "clz": "clz", "reduce_precision": "reduce_precision",
    "scatter": "a scatter by an array of indices",
    "cumlogsumexp": "cumlogsumexp",
    "conv_general_dilated": "a convolution", "complex": "complex numbers",
    "prng_seed": "the random numbers of the hardware", "prng_random_bits": "the random numbers of the hardware",
    "prng_set_seed": "the random numbers of the hardware",
    "semaphore_signal": "a regular semaphore", "semaphore_wait": "a regular semaphore",
    "semaphore_read": "the value of a semaphore", "get_barrier_semaphore": "a barrier between devices",
    "axis_index": "the index of a device", "all_gather": "a collective", "psum": "a collective",
    "ppermute": "a collective",
    "core_map": "a kernel over a mesh of cores (core_map)",
}  # fmt: skip


class CannotSay(Exception):
    """A kernel that the language cannot describe: `construct` names what it lacks, `place` is its line of Python."""

    def __init__(self, construct: str, place: Place | None = None) -> None:
        self.construct, self.place = construct, place
        super().__init__(construct)

    def __str__(self) -> str:
        where = f"{Path(self.place[0]).name}:{self.place[1]}: " if self.place else ""
        return f"{where}Kiln's language cannot say {self.construct}"

    def at(self, place: Place | None) -> CannotSay:
        """The same, with a place if it had none."""
        if self.place is None:
            self.place = place
        return self


class NoOutputs(CannotSay):
    """A kernel that gives nothing, so that nobody sees whether it runs."""

    def __init__(self, place: Place | None = None) -> None:
        super().__init__("a kernel without outputs", place)


def primitive(name: str) -> str:
    """What a person calls a primitive that has no word in the language."""
    return CONSTRUCTS.get(name, f"the primitive {name}")
