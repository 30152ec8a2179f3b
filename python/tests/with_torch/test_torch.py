"""Kernels on tensors of PyTorch: `./dev test-torch`. Left out where it is not installed."""

import pytest

torch = pytest.importorskip("torch")

import kiln  # noqa: E402
import kiln.torch  # noqa: E402

F8 = [torch.float8_e4m3fn, torch.float8_e5m2]


def same_type(kernel: str, dtype: str) -> str:
    return (
        f"kernel: {kernel}\ninputs: {{x: '{dtype}[m, n]'}}\noutputs: {{o: '{dtype}[m, n]'}}\n"
        f"body: |\n  o = {dtype}(x + x)\n"
    )


def test_tensors_in_and_out(shifted, both):
    x = torch.arange(100.0)
    o = shifted(3, x)
    assert isinstance(o, torch.Tensor) and torch.equal(o, x * 2 + 3)
    assert torch.equal(shifted(torch.tensor(3), torch.nn.Parameter(x, requires_grad=False)), o)
    out = torch.empty(100)
    assert shifted(3, x, out=out) is out and torch.equal(out, o)
    for mode in ("interpret", "emulate"):
        assert torch.equal(shifted(3, x, mode=mode), o)
    b = x.to(torch.bfloat16)
    for mode in ("direct", "interpret", "emulate"):
        o, p = both(b, mode=mode)
        assert torch.equal(o, b + b) and torch.equal(p, b.float() * 3)


@pytest.mark.parametrize("dtype", F8, ids=str)
def test_floats_of_8_bits(dtype):
    name = {"torch.float8_e4m3fn": "f8e4m3fn", "torch.float8_e5m2": "f8e5m2"}[str(dtype)]
    k = kiln.compile(same_type(f"twice_{name}", name))
    x = torch.linspace(-9, 9, 60).reshape(4, 15).to(dtype)
    want = (x.float() * 2).to(dtype)
    for mode in ("direct", "interpret"):
        got = k(x, mode=mode)
        assert got.dtype == dtype and torch.equal(got.view(torch.uint8), want.view(torch.uint8))
    operator = kiln.torch.operator(k)
    assert torch.equal(operator(x).view(torch.uint8), want.view(torch.uint8))


class Named(torch.Tensor):
    pass


def test_a_subclass_of_tensor_is_a_tensor(shifted):
    x = torch.arange(10.0).as_subclass(Named)
    assert isinstance(shifted(3, x), torch.Tensor)


WRONG = [
    (lambda k, x: k(3, x.double()), "shifted: x is f64, expected f32"),
    (lambda k, x: k(3, x.to("meta")), "shifted: x cannot be passed without a copy: "),
    (lambda k, x: k(3, x.requires_grad_()), "shifted: x cannot be passed without a copy: "),
    (lambda k, x: k(3, x[::2]), "shifted: x has stride 2 in its last dimension, expected 1"),
    (lambda k, x: k(3, x.expand(2, 10)), "shifted: x is of rank 2, expected rank 1"),
    (lambda k, x: k(3, x.to_sparse()), "shifted: x cannot be passed without a copy: "),
    (lambda k, x: k(3, x.to(torch.complex64)), "shifted: x is c64, expected f32"),
    (lambda k, x: k(3, x, out=torch.empty(1).expand(10)), "shifted: o has stride 0 in its last dimension"),
    (lambda k, x: k(3, x, out=x), "shifted: o overlaps x in memory"),
    (lambda k, x: k(torch.tensor([1, 2]), x), "shifted: by has more than one element, expected a scalar"),
    (lambda k, x: k(torch.tensor(1.5), x), "shifted: by is 1.5, expected i32"),
]


@pytest.mark.parametrize("call, message", WRONG, ids=[m for _, m in WRONG])
def test_a_wrong_tensor_is_an_exception(shifted, call, message):
    with pytest.raises(kiln.Error) as caught:
        call(shifted, torch.arange(10.0))
    assert str(caught.value).startswith(message)
