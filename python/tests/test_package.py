"""The package as a whole: versions, errors, what notebooks and terminals show."""

import html
import pickle
import re

import numpy as np
import pytest
from conftest import ROOT
from shared_specs import SHIFTED
from stress import run_threads

import kiln
from kiln import _tool, errors


def test_there_is_one_version():
    assert _tool.run("--version") == f"kiln {kiln.__version__}\n"
    header = (ROOT / "runtime/kiln/core/version.h").read_text()
    parts = re.findall(r"#define KILN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
    assert ".".join(parts) == kiln.__version__
    assert f'version = "{kiln.__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_every_rule_is_a_class():
    for rule in errors.RULES:
        cls = errors.of_rule(rule)
        assert issubclass(cls, kiln.Error) and cls.rule == rule and getattr(errors, cls.__name__) is cls
    with pytest.raises(AttributeError, match="has no attribute 'NoSuchError'"):
        errors.NoSuchError  # noqa: B018


TWO_MISTAKES = """\
kernel: wrong
inputs: {x: "f32[n]"}
outputs: {o: "f32[n]"}
body: |
  let a = y + 1
  o = f64(x)
"""


def test_all_that_is_wrong_is_there_with_its_place():
    with pytest.raises(kiln.Error) as caught:
        kiln.compile(TWO_MISTAKES)
    places = [(d.rule, d.line, d.column, d.end_line, d.end_column) for d in caught.value.diagnostics]
    assert places == [("name", 5, 11, 5, 12), ("type", 6, 7, 6, 13)]
    text = str(caught.value)
    assert text.count("error[") == 2 and "5 |   let a = y + 1\n     |           ^" in text
    assert caught.value.hint == caught.value.diagnostics[0].hint


def test_what_an_engine_finds_has_a_place_and_notes(tmp_path):
    spec = tmp_path / "shifted.yaml"
    spec.write_text(SHIFTED.replace("index: i}\noutputs", "index: i + 1}\noutputs"))
    with pytest.raises(errors.IndexRangeError) as caught:
        kiln.load(spec)(1, np.ones(100, np.float32), mode="interpret")
    assert caught.value.path == str(spec) and (caught.value.line, caught.value.column) == (8, 41)
    for note in caught.value.diagnostics[0].notes:
        assert isinstance(note, errors.Note) and str(note) == note.message


def test_errors_cross_processes():
    with pytest.raises(kiln.Error) as caught:
        kiln.compile(TWO_MISTAKES)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value) and str(copy) == str(caught.value)
    assert copy.diagnostics == caught.value.diagnostics and copy.line == 5


def test_the_first_compile_shows_a_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    k = kiln.compile(SHIFTED)
    assert k.predict(n=100, by=1).data and capsys.readouterr().err == ""
    x = np.arange(9, dtype=np.float32)
    assert np.array_equal(k(1, x), x * 2 + 1)
    assert re.fullmatch(r"compiling shifted … [0-9.]+ s\n", capsys.readouterr().err)
    again = kiln.compile(SHIFTED)
    assert again.signature == k.signature and np.array_equal(again(1, x), k(1, x))
    assert capsys.readouterr().err == ""


def test_a_spec_that_changes_before_the_first_call_is_refused(tmp_path):
    spec = tmp_path / "shifted.yaml"
    spec.write_text(SHIFTED)
    k = kiln.load(spec)
    spec.write_text(SHIFTED.replace("x * 2", "x * 3"))
    with pytest.raises(errors.CallError, match="shifted: .*shifted.yaml has changed since it was loaded: load it again"):
        k(1, np.ones(9, np.float32))


def test_the_first_call_of_many_threads_compiles_once(tmp_path, monkeypatch):
    runs = []
    run = _tool.run
    monkeypatch.setattr(_tool, "run", lambda *words, **how: (runs.append(words), run(*words, **how))[1])
    k = kiln.compile(SHIFTED)
    x = np.arange(9, dtype=np.float32)
    results = []
    run_threads(lambda _: results.append(k(1, x)))
    assert len(results) == 8 and all(np.array_equal(o, x * 2 + 1) for o in results)
    assert len(runs) == 2  # the signature, the library


def test_what_notebooks_show(shifted):
    assert shifted._repr_html_().startswith("<pre>shifted(by: i32, x: f32[n]) -&gt; o: f32[n]</pre>")
    assert "Doubles a vector" in shifted._repr_html_()
    prediction = shifted.predict(n=4096, by=1)
    assert str(prediction) == prediction.text and prediction.text in html.unescape(prediction._repr_html_())
    page = shifted.report(n=4096, by=1)
    assert page._repr_html_().startswith("<iframe srcdoc=\"&lt;!DOCTYPE html")
    assert "<script" not in page._repr_html_()
