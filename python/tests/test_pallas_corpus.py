"""The corpus of tests/import: specs as they are recorded, what cannot be said, and planted mistakes."""

import warnings
from pathlib import Path

import pytest

pytest.importorskip("jax")

import against_record  # noqa: E402
import corpus  # noqa: E402
import gallery  # noqa: E402
import mistakes  # noqa: E402
import record  # noqa: E402
from jax_names import RELEASE, needs  # noqa: E402

import kiln.pallas  # noqa: E402

CASES = corpus.load()


def made(name):
    needs(*CASES[name].since)
    return CASES[name].make()


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if not c.cannot and not c.refused])
def test_an_imported_spec_is_the_one_on_record(name, record_property):
    """`./dev record` writes them, by one release of JAX; in another one they are the same but for lines of JAX's sources
    in comments, or compute the same."""
    f, args = made(name)
    specs = kiln.pallas.to_specs(f, *args)
    for folder, spec in zip(record.record_names(name, len(specs)), specs, strict=True):
        if RELEASE == record.RELEASE:
            assert spec.text == (record.RECORDS / folder / f"{spec.name}.yaml").read_text()
        elif not against_record.is_recorded(folder, spec):
            record_property("other text", folder)
            assert against_record.difference_of(folder, spec) == ""


@pytest.mark.skipif(RELEASE != record.RELEASE, reason="the gallery has the texts of one release of JAX")
def test_the_gallery_shows_what_there_is():
    """`python3 tests/import/gallery.py` writes it."""
    for path, text in gallery.files().items():
        assert path.read_text() == text


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.cannot])
def test_what_the_language_lacks_is_named(name):
    f, args = made(name)
    with pytest.raises(kiln.pallas.CannotSay) as error:
        kiln.pallas.to_specs(f, *args)
    assert error.value.construct == CASES[name].cannot
    assert error.value.place is not None


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.refused])
def test_a_wrong_kernel_of_the_documentation_is_refused(name):
    f, args = made(name)
    with pytest.warns(kiln.pallas.KilnWarning):
        assert CASES[name].refused in {found.rule for found in kiln.pallas.check(f, *args)}


@pytest.mark.parametrize("name", mistakes.MISTAKES)
def test_a_planted_mistake_is_found_at_its_line(name):
    rule, make = mistakes.MISTAKES[name]
    f, args = make()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = kiln.pallas.check(f, *args, run=True)
    lines = Path(mistakes.__file__).read_text().splitlines()
    assert rule in {each.rule for each in found}
    places = {each.place for each in found if each.rule == rule}
    assert any(file == mistakes.__file__ and "# mistake" in lines[line - 1] for file, line in places), places
    assert (said[0].filename, said[0].lineno) == found[0].place
