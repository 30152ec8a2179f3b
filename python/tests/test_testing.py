"""The fixtures find what they are for."""

import numpy as np
import pytest
from conftest import SHIFTED

import kiln.testing
from kiln.testing import _assert_close, _bits

X = np.random.default_rng(1).standard_normal(300).astype(np.float32)


def test_three_engines_agree(kiln_engines, shifted):
    assert np.array_equal(kiln_engines(shifted, 3, X), shifted(3, X))


def test_engines_that_differ_are_found(shifted, monkeypatch):
    honest = type(shifted).__call__

    def lies(self, *inputs, mode="direct", **named):
        return honest(self, *inputs, mode=mode, **named) + np.float32(mode == liar)

    monkeypatch.setattr(type(shifted), "__call__", lies)
    liar = "emulate"
    with pytest.raises(AssertionError, match="o: direct and emulated differ in their bits"):
        kiln.testing.engines_agree(shifted, 3, X)
    liar = "interpret"
    with pytest.raises(AssertionError, match="o: 1 from the interpreter, where "):
        kiln.testing.engines_agree(shifted, 3, X)


def test_nan_is_nan_and_zero_has_a_sign():
    nan = np.array([np.nan, 0.0], np.float32)
    assert _bits(nan) == _bits(-nan * np.array([1, -1], np.float32))
    assert _bits(nan) != _bits(np.array([np.nan, -0.0], np.float32))
    with pytest.raises(AssertionError, match="other infinities or NaN"):
        _assert_close("o", np.array([1.0]), np.array([np.nan]))


def test_golden_files_are_recorded_and_checked(tmp_path, kiln_golden):
    spec = tmp_path / "shifted.yaml"
    spec.write_text(SHIFTED)
    kiln.testing.golden(spec, record=True)
    assert (tmp_path / "golden" / "shifted.json").exists()
    kiln_golden(spec)
    spec.write_text(SHIFTED.replace("x * 2", "x * 3"))
    with pytest.raises(AssertionError, match="shifted.yaml: "):
        kiln_golden(spec)
