"""Operators of PyTorch in many calls: threads, cores, memory."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stress import assert_nothing_is_kept, peak_kib, run_threads  # noqa: E402

import kiln.torch  # noqa: E402


def test_pytorch_says_how_many_cores(product, xy, monkeypatch):
    asked = []
    call = type(product.kernel.library).call
    monkeypatch.setattr(
        type(product.kernel.library), "call", lambda self, given, cores: (asked.append(cores), call(self, given, cores))
    )
    before = torch.get_num_threads()
    monkeypatch.setattr(kiln.torch, "_hardware_cores", 4)
    try:
        for threads in (1, 2, 4, 8):
            torch.set_num_threads(threads)
            product(1.0, *xy)
    finally:
        torch.set_num_threads(before)
    assert asked == [1, 2, 0, 0]


def test_threads_of_python_share_an_operator(product, xy):
    want = product(1.0, *xy)[0]
    wrong = []

    def work(_):
        for _ in range(100):
            x = xy[0].clone().requires_grad_()
            z, _ = product(1.0, x, xy[1])
            z.sum().backward()
            if not torch.equal(z, want):
                wrong.append(z)

    run_threads(work)
    assert not wrong


def test_many_calls_keep_nothing(product):
    x, y = torch.ones(8, 4, requires_grad=True), torch.ones(4, 4)

    def calls(count):
        for _ in range(count):
            product(1.0, x, y)[0].sum().backward()
            x.grad = None

    assert_nothing_is_kept(calls, 500, 5000, 4000, y)


def test_outputs_are_the_kernels_own_memory(shifted):
    """Neither input nor output is copied: a call of 64 MiB takes no more than its output."""
    operator = kiln.torch.operator(shifted)
    x = torch.ones(1 << 24)
    operator(1, x[:100])
    before = peak_kib()
    o = operator(1, x)
    grown = peak_kib() - before
    assert torch.equal(o[-3:], torch.full((3,), 3.0)) and grown < 72 * 1024
    assert np.shares_memory(o.numpy(), o.detach().numpy())
