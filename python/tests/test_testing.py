"""The fixtures find what they are for."""

import ml_dtypes
import numpy as np
import pytest
from shared_specs import SHIFTED

import kiln.testing
from kiln import errors
from kiln.testing import _assert_same_bits

X = np.random.default_rng(1).standard_normal(300).astype(np.float32)


def test_three_engines_agree(kiln_engines, shifted):
    assert np.array_equal(kiln_engines(shifted, 3, X), shifted(3, X))


def test_random_inputs_of_given_sizes(kiln_engines, shifted, both):
    assert kiln_engines(shifted, n=100, by=3).shape == (100,)
    assert kiln_engines(shifted, 3, n=7, seed=2).shape == (7,)
    o, p = kiln_engines(both, n=130)
    assert o.dtype == ml_dtypes.bfloat16 and p.shape == (130,)
    assert np.array_equal(kiln_engines(both, n=130)[1], p)
    with pytest.raises(errors.CallError, match="shifted: by is a scalar, of which no random one is made"):
        kiln_engines(shifted, n=100)
    with pytest.raises(errors.CallError, match=r"both: x is x: bf16\[n\], and n is not given"):
        kiln_engines(both)
    with pytest.raises(errors.CallError, match="shifted: 3 inputs, expected 2: by, x"):
        kiln_engines(shifted, 3, X, X)
    with pytest.raises(ValueError, match="params= is for specs"):
        kiln_engines(shifted, 3, X, params={"b": 32})


def test_random_inputs_of_every_kind():
    k = kiln.compile(
        "kernel: kinds\ninputs: {a: 'i8[n]', b: 'u16[n]', c: 'bool[n]', d: 'f8e5m2[2*n]', e: 'f64[m]', f: 'f8e8m0fnu[n]'}\n"
        "outputs: {o: 'f32[n, r]'}\nbody: |\n  o = 0\n"
    )
    made = kiln.testing.random_inputs(k, n=50, m=3, r=2)
    assert [str(made[name].dtype) for name in "abcde"] == ["int8", "uint16", "bool", "float8_e5m2", "float64"]
    assert str(made["f"].dtype) == "float8_e8m0fnu" and not np.isnan(made["f"].astype(np.float32)).any()
    assert made["a"].min() < 0 <= made["b"].min() and made["d"].shape == (100,) and made["r"] == 2
    assert "n" not in made and "m" not in made
    assert k(**made).shape == (50, 2)


def test_engines_that_differ_are_found(shifted, monkeypatch):
    honest = type(shifted).__call__

    def wrong(self, *inputs, **named):
        o = honest(self, *inputs, **named)
        o[7] += 1
        return o

    monkeypatch.setattr(type(shifted), "__call__", wrong)
    with pytest.raises(AssertionError, match=r"shifted: o\[7\] is 4.0 direct and 3.0 emulated, the first of 1 elements"):
        kiln.testing.engines_agree(shifted, 3, np.zeros(10, np.float32))


def test_a_wrong_interpreter_or_kernel_is_found(shifted, monkeypatch, tmp_path):
    """By a program that finds a difference in every comparison."""
    shifted(3, X)  # compiled
    tool = tmp_path / "kiln"
    tool.write_text('#!/bin/sh\ncase "$*" in *--compare*) echo "error[compare]: o: off" >&2; exit 1;; esac\n')
    tool.chmod(0o755)
    monkeypatch.setenv("KILN_TOOL", str(tool))
    with pytest.raises(AssertionError, match="shifted, emulated and interpreted: o: off"):
        kiln.testing.engines_agree(shifted, 3, X)


def test_what_an_engine_finds_is_an_error_and_no_difference(tmp_path, kiln_engines):
    spec = tmp_path / "shifted.yaml"
    spec.write_text(SHIFTED.replace("index: i}\noutputs", "index: i + 1}\noutputs"))
    with pytest.raises(errors.IndexRangeError, match="shifted.yaml:8:41"):
        kiln_engines(spec, 3, X)


def test_nan_is_nan_and_zero_has_a_sign():
    nan = np.array([np.nan, 0.0], np.float32)
    _assert_same_bits("o", nan, -nan * np.array([1, -1], np.float32))
    with pytest.raises(AssertionError, match=r"o\[1\] is 0.0 direct and -0.0 emulated"):
        _assert_same_bits("o", nan, np.array([np.nan, -0.0], np.float32))


def test_golden_files_are_recorded_and_checked(tmp_path, kiln_golden):
    spec = tmp_path / "shifted.yaml"
    spec.write_text(SHIFTED)
    kiln.testing.golden(spec, record=True)
    assert (tmp_path / "golden" / "shifted.json").exists()
    kiln_golden(spec)
    spec.write_text(SHIFTED.replace("x * 2", "x * 3"))
    with pytest.raises(AssertionError, match="shifted.yaml: "):
        kiln_golden(spec)
