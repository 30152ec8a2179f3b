"""Kernels under `torch.compile` and `torch.export`."""

import pytest

torch = pytest.importorskip("torch")

import kiln.torch  # noqa: E402


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_with_gradients(product, xy, backend):
    def loss(x, y, s):
        z, _ = product(s, torch.relu(x), y)
        return (z * z).sum()

    compiled = torch.compile(loss, backend=backend, fullgraph=True)
    results = []
    for function in (loss, compiled):
        x, y = (v.clone().requires_grad_() for v in xy)
        value = function(x, y, 2.0)
        results.append((value.detach(), *torch.autograd.grad(value, (x, y))))
    for a, b in zip(*results, strict=True):
        assert torch.allclose(a, b, rtol=1e-5, atol=1e-5)


def test_one_graph_for_all_sizes(product):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(lambda x, y: product(1.0, x, y)[0] + 1, backend=backend, fullgraph=True, dynamic=True)
    for m in (7, 37, 64):
        x, y = torch.randn(m, 11), torch.randn(11, 5)
        assert torch.allclose(compiled(x, y), torch.tanh(x @ y) + 1, atol=1e-6)
    assert len(graphs) == 1


def test_compiled_in_place(update):
    in_place = kiln.torch.operator(update, in_place=True)

    def step(cache, x, at):
        before = in_place(at, cache, x)
        return cache.sum() + before.sum()

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    cache = torch.zeros(9, 4)
    for at in (1, 2, 3):
        compiled(cache, torch.full((2, 4), float(at)), at)
    assert cache[:, 0].tolist() == [0, 1, 2, 3, 3, 0, 0, 0, 0]


def test_a_wrong_call_is_found_while_compiling(product, xy):
    compiled = torch.compile(lambda x, y: product(1.0, x, y)[0], backend="aot_eager", fullgraph=True)
    with pytest.raises(Exception, match=r"tanh_product: y has shape \[12, 5\], expected \[k, n\]"):
        compiled(xy[0], torch.zeros(12, 5))


def test_exported(product, xy):
    class Module(torch.nn.Module):
        def forward(self, x, y):
            return product(1.0, x, y)[0]

    program = torch.export.export(Module(), xy)
    assert product.name in str(program.graph)
    assert torch.equal(program.module()(*xy), product(1.0, *xy)[0])
