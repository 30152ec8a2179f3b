"""Kernels as operators of PyTorch: schemas, gradients, batches, aliases."""

import pytest

torch = pytest.importorskip("torch")

from shared_specs import SPREAD, SPREAD_BACK, TANH_PRODUCT, TANH_PRODUCT_DX  # noqa: E402

import kiln  # noqa: E402
import kiln.torch  # noqa: E402
from kiln import errors  # noqa: E402


def test_an_operator_computes_what_its_kernel_does(product, xy):
    x, y = xy
    z, t = product(2.0, x, y)
    assert torch.allclose(t, torch.tanh(x @ y), atol=1e-6) and torch.equal(z, t * 2)
    for a, b in zip((z, t), product(y=y, x=x, s=2.0), strict=True):
        assert torch.equal(a, b)


def test_its_schema_is_its_signature(product, update):
    assert product.schema == f"{product.name}(float s, Tensor x, Tensor y) -> (Tensor, Tensor)"
    assert kiln.torch.operator(update, in_place=True).schema.endswith(
        "(SymInt at, Tensor(a!) cache, Tensor x) -> Tensor"
    )
    assert str(product.op) == f"kiln.{product.name}.default"
    assert product.name in repr(product)


def test_the_same_kernel_is_the_same_operator(forward, product):
    assert kiln.torch.operator(kiln.compile(TANH_PRODUCT)) is kiln.torch.operator(forward)
    assert kiln.torch.operator(forward) is not product


def check(operator, *inputs):
    torch.library.opcheck(operator.op, inputs)


def test_opcheck(product, update, xy):
    x, y = xy
    check(product, 2.0, x, y)
    check(product, 2.0, x.clone().requires_grad_(), y.clone().requires_grad_())
    check(product, 2.0, x.clone().requires_grad_(), y)
    check(product, 2.0, torch.randn(11, 37).T.requires_grad_(), torch.randn(11, 10)[:, ::2])
    check(kiln.torch.operator(update), 1, torch.zeros(9, 4), torch.ones(2, 4))
    check(kiln.torch.operator(update, in_place=True), 1, torch.zeros(9, 4), torch.ones(2, 4))
    check(kiln.torch.operator(kiln.compile(SPREAD)), torch.ones(3), 4)


def test_gradients_are_those_of_pytorch(product, xy):
    def gradients(function):
        x, y = (v.clone().requires_grad_() for v in xy)
        z = function(x, y)
        return torch.autograd.grad((z * torch.arange(5.0)).sum(), (x, y))

    got = gradients(lambda x, y: product(2.0, x, y)[0])
    want = gradients(lambda x, y: torch.tanh(x @ y) * 2)
    for g, w in zip(got, want, strict=True):
        assert torch.allclose(g, w, rtol=1e-5, atol=1e-5)


def test_a_gradient_of_ones_is_not_copied_by_hand(product, xy):
    """`sum` gives a gradient whose strides are 0, which the kernel itself does not read."""
    x, y = (v.clone().requires_grad_() for v in xy)
    product(1.0, x, y)[0].sum().backward()
    want = (1 - torch.tanh(xy[0] @ xy[1]) ** 2) @ xy[1].T
    assert torch.allclose(x.grad, want, rtol=1e-5, atol=1e-5)


def test_a_batch(product, xy):
    """A call for each: with and without the dimension, wherever it stands, and with the gradients of each."""
    x, y = torch.stack([xy[0], xy[0] * 2, xy[0] * 3], dim=1), xy[1]
    each = [product(0.5, x[:, i], y) for i in range(3)]
    z, t = torch.vmap(lambda x: product(0.5, x, y), in_dims=1)(x)
    assert torch.equal(z, torch.stack([z for z, _ in each])) and torch.equal(t, torch.stack([t for _, t in each]))
    z = torch.vmap(lambda x: product(0.5, x, y)[0], in_dims=1, out_dims=2)(x)
    assert torch.equal(z, torch.stack([z for z, _ in each], dim=2))

    leaf = x.clone().requires_grad_()
    torch.vmap(lambda x: product(0.5, x, y)[0], in_dims=1)(leaf).sum().backward()
    for i in range(3):
        one = x[:, i].clone().requires_grad_()
        product(0.5, one, y)[0].sum().backward()
        assert torch.equal(leaf.grad[:, i], one.grad)

    spread = kiln.torch.operator(kiln.compile(SPREAD))
    assert torch.equal(torch.vmap(lambda x: spread(x, n=2))(torch.arange(6.0).reshape(3, 2))[2], torch.tensor([[4.0, 4], [5, 5]]))


def test_dimensions_that_no_input_has(xy):
    operator = kiln.torch.operator(kiln.compile(SPREAD), backward=[kiln.compile(SPREAD_BACK)])
    x = torch.arange(3.0, requires_grad=True)
    o = operator(x, n=4)
    assert o.shape == (3, 4)
    o.sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 4.0))


def test_what_has_no_gradient_says_so(forward, product, xy):
    x, y = (v.clone().requires_grad_() for v in xy)
    only_x = kiln.torch.operator(forward, backward=[kiln.compile(TANH_PRODUCT_DX)])
    z, t = only_x(2.0, x, y.detach())
    assert z.requires_grad and not t.requires_grad
    z.sum().backward()
    z, _ = only_x(2.0, x, y)
    with pytest.raises(errors.CallError, match="tanh_product: no backward kernel gives dy, the gradient of y; detach y"):
        z.sum().backward()
    z, _ = kiln.torch.operator(forward)(2.0, x, y)
    with pytest.raises(errors.CallError, match="tanh_product: no backward kernel gives dx"):
        z.sum().backward()
    z, _ = product(2.0, x, y)
    (dx,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    with pytest.raises(errors.CallError, match="tanh_product_dx: no backward kernel gives dy"):
        dx.sum().backward()


def test_aliases_are_copies_or_written_in_place(update):
    cache, x = torch.zeros(9, 4), torch.ones(2, 4)
    out, before = kiln.torch.operator(update)(3, cache, x)
    assert torch.equal(cache, torch.zeros(9, 4)) and torch.equal(before, torch.zeros(2, 4))
    in_place = kiln.torch.operator(update, in_place=True)
    address = cache.data_ptr()
    before = in_place(3, cache, x)
    assert cache.data_ptr() == address and torch.equal(cache, out) and torch.equal(before, torch.zeros(2, 4))
    with pytest.raises(errors.CallError, match="cache requires grad, and is written in place"):
        in_place(3, cache.requires_grad_(), x)
    with torch.no_grad():
        in_place(3, cache, x)
    with pytest.raises(errors.CallError, match="update: cache has stride 2 in its last dimension, expected 1"):
        in_place(3, torch.zeros(9, 8)[:, ::2], x)


def test_in_place_is_refused_where_it_means_nothing(forward, update):
    with pytest.raises(ValueError, match="in_place: no output of tanh_product aliases an input"):
        kiln.torch.operator(forward, in_place=True)
    with pytest.raises(ValueError, match="in_place has no gradients"):
        kiln.torch.operator(update, backward=[update], in_place=True)


def test_wrong_tensors_are_exceptions_of_an_operator(product, xy):
    x, y = xy
    with pytest.raises(errors.CallError, match="tanh_product: x is f64, expected f32"):
        product(1.0, x.double(), y)
    with pytest.raises(errors.CallError, match=r"tanh_product: y has shape \[12, 5\], expected \[11, 5\]"):
        product(1.0, x, torch.zeros(12, 5))
    with pytest.raises(RuntimeError, match="missing value for argument 'y'"):
        product(1.0, x)
    # While it is traced, too: before there is a graph.
    with pytest.raises(errors.CallError, match="tanh_product: x is torch.float64, expected torch.float32"):
        product(1.0, x.double().to("meta"), y.to("meta"))
    with pytest.raises(errors.CallError, match=r"tanh_product: y has shape \[12, 5\], expected \[k, n\]"):
        product(1.0, x.to("meta"), torch.zeros(12, 5, device="meta"))
    with pytest.raises(errors.CallError, match="tanh_product: x is of rank 1, expected rank 2"):
        product(1.0, x[0].to("meta"), y.to("meta"))
    with pytest.raises(NotImplementedError):
        product(1.0, x.to_sparse(), y)


def test_zero_sizes(product):
    z, _ = product(1.0, torch.zeros(0, 3), torch.zeros(3, 2))
    assert z.shape == (0, 2)
    with pytest.raises(errors.CallError, match="a block of `x` must have an extent of at least 1"):
        product(1.0, torch.zeros(4, 0), torch.zeros(0, 2))
