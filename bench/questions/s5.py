"""Attention: forward and backward against the peak and PyTorch's, decoding from pages against a loop that reads them."""

from kilnbench import compiled, native
from kilnbench.race import BYTES, FLOPS, Case, Share
from questions.families import attention, fused

TITLE = "attention"
_OF = [f"{kind}_{dtype}" for dtype in ("f32", "bf16") for kind in (*attention.KINDS, "kept", "dq", "dkv")]
KERNELS = [f"attention_{name}" for name in _OF] + ["paged_attention_f32", "paged_attention_bf16"]
_SDPA, _FLEX, _READS = "torch SDPA", "flex_attention", "a loop that reads the pages"


def cases(cores, peers, quick):
    torch = peers.get("torch")
    for dtype in ("f32", "bf16"):
        for width in (128,) if quick else (64, 128):
            for kind in attention.KINDS[:1] if quick else attention.KINDS:
                yield _forward(attention.Problem(kind, dtype, 2048, width), cores, torch)
            yield from _backward(attention.Problem("causal", dtype, 2048, width), cores, torch)
        yield _paged(dtype, cores, torch)


def _case(label, contestants, wanted, work, cores, check, share=None, unit=FLOPS):
    goals = [Share("Kiln", share)] if share else []
    goals += fused.goals(contestants, wanted)
    return Case(label, contestants, goals, work.operations if unit is FLOPS else work.bytes, unit, cores, check, work)


def _forward(problem, cores, torch):
    contestants = {"Kiln": problem.forward(cores)}
    answers = {}
    if torch:
        for name, make in _of_torch(problem.kind).items():
            call = compiled.attempt(name, problem.label, lambda make=make: make(problem, torch))
            if call:
                contestants[name] = answers[name] = call
    if fused.has_jax():
        made = [(array, problem.dtype) for array in (problem.q, problem.k, problem.v)]
        call = compiled.attempt("XLA", problem.label,
                                lambda: compiled.Xla(lambda *given: _xla(problem, *given), made, [(problem.o, problem.dtype)]))
        if call:
            contestants["XLA"] = call

    def check():
        contestants["Kiln"]()
        problem.check_forward()
        ours = fused.as_float(problem.o, problem.dtype)
        for name, call in answers.items():
            fused.compare(name, [call()[0].float().numpy()], [ours], [(problem.o, problem.dtype)])
        if "XLA" in contestants:
            contestants["XLA"]()
            fused.compare("XLA", contestants["XLA"].answers(), [ours], [(problem.o, problem.dtype)])
    work = problem.work(2, (problem.q, problem.k, problem.v, problem.o))
    share = 0.85 if problem.width == 128 else None
    return _case(problem.label, contestants, {_SDPA: 1.0, _FLEX: 1.0, "XLA": 1.0}, work, cores, check, share)


def _of_torch(kind):
    """SDPA bends no scores, and has kernels of its own where nothing is masked but what comes later."""
    ways = {_SDPA: _sdpa} if kind != "cap" else {}
    return {**ways, _FLEX: _flex} if kind in ("cap", "window") else ways


def _tensors(problem, torch, *arrays):
    """As PyTorch has them: a batch of one in front."""
    return [torch.view(array, problem.dtype)[None] for array in arrays]


def _sdpa(problem, torch):
    q, k, v = _tensors(problem, torch, problem.q, problem.k, problem.v)
    f, causal, mask = torch.torch.nn.functional, problem.kind == "causal", None
    if problem.kind == "window":
        mask = torch.torch.from_numpy(problem.sees())
    return lambda: f.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=problem.scale,
                                                  enable_gqa=problem.group > 1)


def _flex(problem, torch):
    from torch.nn.attention import flex_attention
    q, k, v = _tensors(problem, torch, problem.q, problem.k, problem.v)
    window = attention.WINDOW if problem.kind == "window" else problem.n

    def sees(batch, head, row, column):
        return (column <= row) & (row - column < window)

    def bent(score, batch, head, row, column):
        return attention.CAP * torch.torch.tanh(score / attention.CAP)
    mask = flex_attention.create_block_mask(sees, 1, 1, problem.n, problem.n, device="cpu")
    call = torch.torch.compile(flex_attention.flex_attention, fullgraph=True, dynamic=False)
    score = bent if problem.kind == "cap" else None
    return lambda: call(q, k, v, score_mod=score, block_mask=mask, scale=problem.scale, enable_gqa=problem.group > 1)


def _xla(problem, q, k, v):
    import jax.numpy as jnp
    heads, n, d = k.shape
    grouped = q.reshape(heads, problem.group, n, d)
    s = jnp.einsum("hgnd,hmd->hgnm", grouped, k, preferred_element_type="float32") * problem.scale
    s = attention.CAP * jnp.tanh(s / attention.CAP) if problem.kind == "cap" else s
    s = jnp.where(problem.sees(), s, -jnp.inf)
    p = jnp.exp(s - s.max(axis=3, keepdims=True))
    p = p / p.sum(axis=3, keepdims=True)
    return jnp.einsum("hgnm,hmd->hgnd", p.astype(v.dtype), v, preferred_element_type="float32").reshape(q.shape)


def _backward(problem, cores, torch):
    by_queries, by_keys, gradients = problem.backward(cores)
    arrays = (problem.q, problem.k, problem.v, problem.o, problem.d_o)

    def both():
        by_queries()
        by_keys()

    def check():
        both()
        problem.check_backward(*gradients)
    for name, call, products, made in (("dq", by_queries, 3, gradients[:1]), ("dk and dv", by_keys, 4, gradients[1:])):
        share = 0.75 if problem.width == 128 else None
        yield _case(f"{problem.label}, {name}", {"Kiln": call}, {}, problem.work(products, (*arrays, *made)), cores, check,
                    share)
    contestants = {"Kiln": both}
    call = torch and compiled.attempt(_SDPA, f"{problem.label}, backward", lambda: _sdpa_backward(problem, torch, gradients[0]))
    if call:
        contestants[_SDPA] = call
        # Five products are what a backward pass takes at least; ours computes two of them twice, as it is two kernels.
        yield _case(f"{problem.label}, backward", contestants, {_SDPA: 1.0}, problem.work(5, (*arrays, *gradients)), cores,
                    check)


def _sdpa_backward(problem, torch, dq):
    """Of heads that share none, as its kernel knows no others."""
    q, k, v, d_o = _tensors(problem, torch, problem.q, problem.k, problem.v, problem.d_o)
    k, v = (t.repeat_interleave(problem.group, 1) for t in (k, v))
    ops = torch.torch.ops.aten
    o, lse = ops._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True, scale=problem.scale)
    backward = ops._scaled_dot_product_flash_attention_for_cpu_backward
    return lambda: backward(d_o, q, k, v, o, lse, 0.0, True, scale=problem.scale)


def _paged(dtype, cores, torch):
    paged = attention.Paged(dtype)
    part = min(paged.moved // 2, paged.k.nbytes) // 256 * 256
    reads = [native.Probe().read(a.reshape(-1).view("u1")[:part].view("f4"), cores) for a in (paged.k, paged.v)]
    contestants = {"Kiln": paged.call(cores), _READS: lambda: [read() for read in reads]}
    if torch:
        call = compiled.attempt("torch", paged.label, lambda: _gathered(paged, torch))
        if call:
            contestants["torch, gathered"] = call

    def check():
        contestants["Kiln"]()
        paged.check()
    return _case(paged.label, contestants, {_READS: 0.9, "torch, gathered": 1.0}, paged.work(), cores, check, unit=BYTES)


def _gathered(paged, torch):
    f, q = torch.torch.nn.functional, torch.view(paged.q, paged.dtype)
    pools = [torch.view(a, paged.dtype) for a in (paged.k, paged.v)]
    tables = [torch.torch.from_numpy(row[:-(-n // paged.page)]).long() for row, n in zip(paged.table, paged.lengths)]

    def call():
        for b, slots in enumerate(tables):
            k, v = (pool[:, slots].reshape(paged.heads, -1, paged.width)[:, :paged.lengths[b]] for pool in pools)
            f.scaled_dot_product_attention(q[b], k, v, scale=paged.scale)
    return call
