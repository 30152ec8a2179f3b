"""Backward kernels find their places by the names of their arguments."""

import json
import re

import pytest

from kiln import _tool, errors
from kiln._gradients import Backward, Source, pair
from kiln._signature import Signature, signature_of


def signature(folder, inputs: str, outputs: str, name: str = "back") -> Signature:
    stores = "".join(f"  {output} = 0\n" for output in re.findall(r"(\w+):", outputs))
    spec = folder / f"{name}.yaml"
    spec.write_text(
        f"kernel: {name}\nscalars: {{s: f32}}\ninputs: {{{inputs}}}\noutputs: {{{outputs}}}\nbody: |\n{stores}"
    )
    return signature_of(json.loads(_tool.run("compile", str(spec), "--signature", "--format=json")))


@pytest.fixture
def forward(tmp_path):
    return signature(tmp_path, 'x: "f32[m, k]", ids: "i32[m]"', 'z: "f32[m]", t: "bf16[m]"', "fore")


def test_names_are_places(tmp_path, forward):
    back = signature(tmp_path, 't: "bf16[m]", d_z: "f32[m]", ids: "i32[m]"', 'dx: "f32[m, k]"')
    found = pair(forward, [back])
    assert found.kernels == (
        Backward((Source("input", 0), Source("output", 1), Source("gradient", 0), Source("input", 2)), (1,)),
    )
    assert found.used("gradient") == [0] and found.used("output") == [1] and found.used("input") == [0, 2]
    assert [bool(found.missing(i)) for i in range(3)] == [False, False, False]
    assert pair(forward, []).missing(1) == (
        "fore: no backward kernel gives dx, the gradient of x; detach x if none is wanted"
    )


WRONG = [
    ('w: "f32[m]"', 'dx: "f32[m, k]"',
     "its input w is no argument or gradient of fore; there are d_t, d_z, dt, dz, ids, s, t, x, z"),
    ('dz: "f32[m]"', 'dw: "f32[m, k]"',
     "its output dw is the gradient of no array of floats among the inputs of fore; there are d_x, dx"),
    ('dz: "f32[m]"', 'ds: "f32[m]"',
     "its output ds is the gradient of no array of floats among the inputs of fore; there are d_x, dx"),
    ('dz: "f32[m]"', 'dids: "i32[m]"',
     "its output dids is the gradient of no array of floats among the inputs of fore; there are d_x, dx"),
    ('dz: "f64[m]"', 'dx: "f32[m, k]"', "its argument dz: f64[m] does not fit z: f32[m] of fore"),
    ('dz: "f32[m]"', 'dx: "f32[m]"', "its argument dx: f32[m] does not fit x: f32[m, k] of fore"),
    ('dz: "f32[m]"', 'dx: "f32[m, k]", d_x: "f32[m, k]"',
     "its output d_x is one of back already, in the pair with fore"),
]  # fmt: skip


@pytest.mark.parametrize("inputs, outputs, message", WRONG, ids=[m for _, _, m in WRONG])
def test_kernels_that_are_no_pair(tmp_path, forward, inputs, outputs, message):
    with pytest.raises(errors.CallError) as caught:
        pair(forward, [signature(tmp_path, inputs, outputs)])
    assert str(caught.value) == f"back: {message}"


def test_a_name_that_says_two_things(tmp_path):
    fore = signature(tmp_path, 'dz: "f32[m]"', 'z: "f32[m]"', "fore")
    with pytest.raises(errors.CallError, match="its input dz is more than one argument or gradient of fore"):
        pair(fore, [signature(tmp_path, 'dz: "f32[m]"', 'ddz: "f32[m]"')])
    assert pair(fore, [signature(tmp_path, 'd_z: "f32[m]"', 'd_dz: "f32[m]"')]).kernels[0].targets == (1,)
