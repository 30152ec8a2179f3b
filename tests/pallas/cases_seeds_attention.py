"""Attention as JAX ships it: flash attention with its gradients, splash attention, paged and ragged paged attention."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import flash_attention as flash
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ref_ragged_paged_attention
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as splash_mask

from harness import case, close, normal, rng

f32, bf16 = jnp.float32, jnp.bfloat16


def softmax_of(s, seen):
    """In double precision, with the logarithm of the sum of each row; rows that see nothing are 0."""
    e = np.where(seen, np.exp(s), 0)
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total), np.log(np.where(total == 0, 1, total))


def gradients_of(q, k, v, d_o, seen, scale):
    """Of attention, in double precision: o, lse, dq, dk and dv; heads of queries share those of keys."""
    group = q.shape[0] // k.shape[0]
    q, k, v, d_o = (np.float64(x) for x in (q, k.repeat(group, 0), v.repeat(group, 0), d_o))
    p, lse = softmax_of(q @ k.swapaxes(1, 2) * scale, seen)
    o = p @ v
    delta = (o * d_o).sum(-1, keepdims=True)
    ds = p * (d_o @ v.swapaxes(1, 2) - delta)

    def shared(x):
        return x.reshape(-1, group, *x.shape[1:]).sum(1)

    row = lambda x: x.swapaxes(1, 2)  # noqa: E731
    return dict(
        o=o, lse=row(lse), dq=ds @ k * scale,
        dk=shared(ds.swapaxes(1, 2) @ q) * scale, dv=shared(p.swapaxes(1, 2) @ d_o),
    )  # fmt: skip


def attention_cases(name, dtype, depth, run, heads=(1, 1), n=256, d=3, scale=0.35):
    """Cases of the three specs that make up causal attention with gradients, from what `run` gives for all of them."""
    group = heads[0] // heads[1]
    narrow = set() if dtype == f32 else {"lse"}  # depth counts roundings to bf16, and these have none

    @functools.cache
    def made():
        q, d_o = normal(1, (heads[0], n, d), dtype), normal(4, (heads[0], n, d), dtype)
        k, v = normal(2, (heads[1], n, d), dtype), normal(3, (heads[1], n, d), dtype)
        inputs = dict(q=q, k=k, v=v, d_o=d_o, scale=scale)
        got = run(scale=scale, q=q, k=k, v=v, d_o=d_o)
        want = gradients_of(q, k, v, d_o, np.tri(n, dtype=bool), scale)
        for each in got.keys() - narrow:
            close(got[each], want[each], depth)
        return inputs | got

    def one(suffix, spec, arguments, outputs, **params):
        sizes = dict(T="bf16" if dtype == bf16 else "f32", group=group, bq=32, bk=64) | params

        @case(name + suffix, f"specs/{spec}.yaml", set=sizes, depth=depth)
        def _():
            values = made()
            return {a: values[a] for a in arguments}, {o: values[o] for o in outputs if o not in narrow}

    one("", "attention", ("scale", "q", "k", "v"), ("o", "lse"), keep=True)
    one("_dq", "attention_dq", ("scale", "q", "k", "v", "o", "lse", "d_o"), ("dq",))
    one("_dkv", "attention_dkv", ("scale", "q", "k", "v", "o", "lse", "d_o"), ("dk", "dv"))


def run_flash(q, k, v, d_o, scale):
    sizes = flash.BlockSizes(
        block_q=128, block_k_major=128, block_k=128, block_b=1, block_q_major_dkv=128, block_k_major_dkv=128,
        block_k_dkv=128, block_q_dkv=128, block_k_major_dq=128, block_k_dq=128, block_q_dq=128,
    )  # fmt: skip
    call = functools.partial(flash.flash_attention, causal=True, sm_scale=scale, block_sizes=sizes)
    with pltpu.force_tpu_interpret_mode():
        o, transposed = jax.vjp(lambda *qkv: call(*(x[None] for x in qkv))[0], q, k, v)
        dq, dk, dv = transposed(d_o)
        _, l, m = flash._flash_attention(
            q[None], k[None], v[None], None, None, True, True, scale, sizes, False)  # fmt: skip
    return dict(o=o, lse=(m + jnp.log(l))[0, :, None], dq=dq, dk=dk, dv=dv)


def splash_kernel(masks, bq, bk, **options):
    sizes = splash.BlockSizes(
        block_q=bq, block_kv=bk, block_kv_compute=bk, block_q_dkv=bq, block_kv_dkv=bk, block_kv_dkv_compute=bk,
        block_q_dq=bq, block_kv_dq=bk,
    )  # fmt: skip
    return splash.make_splash_mha(
        mask=splash_mask.MultiHeadMask(masks), head_shards=1, q_seq_shards=1, block_sizes=sizes, interpret=True,
        **options,
    )  # fmt: skip


def run_splash(q, k, v, d_o, scale):
    """Splash attention's gradients, with heads that share keys; it leaves the scale to its caller."""
    masks = [splash_mask.CausalMask((q.shape[1], k.shape[1]))] * q.shape[0]
    call = splash_kernel(masks, 128, 128)
    o, transposed = jax.vjp(lambda q, k, v: call(q * dtype_of(q, scale), k, v), q, k, v)
    dq, dk, dv = transposed(d_o)
    _, (lse,) = splash_kernel(masks, 128, 128, save_residuals=True)(q * dtype_of(q, scale), k, v)
    return dict(o=o, lse=lse[:, None], dq=dq, dk=dk, dv=dv)


def dtype_of(x, scale):
    return jnp.asarray(scale, x.dtype)


attention_cases("seed_flash", f32, 16, run_flash)
attention_cases("seed_flash_bf16", bf16, 1, run_flash, d=6)
attention_cases("seed_splash_causal", f32, 16, run_splash, heads=(2, 1), n=128, d=4, scale=0.5)


def splash_case(name, arrays, group, d, depth, dtype=f32, bq=8, bk=128, cap=None, keep=False):
    """Heads whose masks are `arrays`; what Pallas makes of these is given to the spec as it is."""

    @case(
        name, "specs/splash_attention.yaml", depth=depth,
        set=dict(T="bf16" if dtype == bf16 else "f32", group=group, bq=bq, bk=bk, cap=cap or 0.0, keep=keep),
    )  # fmt: skip
    def _():
        masks, heads = np.stack(arrays), len(arrays)
        m, n = masks.shape[1:]
        q = normal(1, (heads, m, d), dtype)
        k, v = normal(2, (heads // group, n, d), dtype), normal(3, (heads // group, n, d), dtype)
        made = splash_kernel(
            [splash_mask.NumpyMask(a) for a in arrays], bq, bk, attn_logits_soft_cap=cap, save_residuals=keep
        )
        got = made(q, k, v)
        got = dict(o=got[0], lse=got[1][0][:, None]) if keep else dict(o=got)
        s = np.float64(q) @ np.float64(k.repeat(group, 0)).swapaxes(1, 2)
        p, lse = softmax_of(cap * np.tanh(s / cap) if cap else s, masks)
        close(got["o"], p @ np.float64(v.repeat(group, 0)), depth)
        if keep:
            close(got["lse"], lse.swapaxes(1, 2), depth)
        info = made.fwd_mask_info
        lists = {name: jnp.int32(getattr(info, name)) for name in ("data_next", "block_mask", "mask_next")}
        return lists | dict(scale=1.0, q=q, k=k, v=v, masks=jnp.asarray(info.partial_mask_blocks, bool)), got


def causal(m, n):
    return np.tri(m, n, n - m, dtype=bool)


def window(m, n, before):
    return causal(m, n) & ~np.tri(m, n, n - m - before, dtype=bool)


splash_case("seed_splash_window", [window(48, 384, 60)] * 2, 2, 4, 16)
splash_case("seed_splash_window_bf16", [window(32, 384, 100)] * 2, 1, 4, 1, bf16, cap=10.0)
splash_case("seed_splash_mixed", [causal(24, 256), window(24, 256, 30)], 2, 4, 16, keep=True)
splash_case("seed_splash_mixed_own_keys", [window(16, 256, 9), causal(16, 256)], 1, 4, 16)


def pages_case(name, dtype, depth, inline, lengths, run, group=4):
    @case(name, "specs/paged_attention.yaml", depth=depth,
          set=dict(T="bf16" if dtype == bf16 else "f32", group=group, run=run))  # fmt: skip
    def _():
        batch, heads, d, page, slots, pages = len(lengths), 2, 16, 4, 12, 4
        q = normal(1, (batch, heads * group, d), dtype, 0.25)
        k, v = (normal(s, (heads, slots, page, d), dtype) for s in (2, 3))
        table = jnp.asarray(rng(4).permutation(4 * slots)[: batch * pages].reshape(batch, pages) % slots, jnp.int32)
        counts = jnp.array(lengths, jnp.int32)
        with pltpu.force_tpu_interpret_mode():
            o = paged_attention(q, k, v, counts, table, pages_per_compute_block=2, inline_seq_dim=inline)
        o = o.reshape(batch, heads, group, d)
        want = np.zeros(o.shape)
        for b, length in enumerate(lengths):
            rows = [np.float64(x)[:, table[b]].reshape(heads, -1, d)[:, :length] for x in (k, v)]
            p, _ = softmax_of(np.float64(q[b].reshape(heads, group, d)) @ rows[0].swapaxes(1, 2), True)
            want[b] = p @ rows[1]
        close(o, want, depth)
        arguments = dict(lengths=counts, table=table, scale=1.0, q=q.reshape(o.shape), k_pages=k, v_pages=v)
        return arguments, dict(o=o)


pages_case("seed_paged_f32", f32, 16, True, [13, 0, 9, 16], 3)
pages_case("seed_paged_f32_grid", f32, 16, False, [13, 1, 9], 1)
pages_case("seed_paged_bf16", bf16, 1, True, [5, 12, 16], 8, group=8)


def ragged_case(name, dtype, depth, queries, lengths, tokens, run=2, bq=8, group=2, heads=2, per_step=1):
    """By the plain function that the module has beside its kernel: neither of JAX's interpreters runs the kernel itself
    (tests/import has its record by Kiln's)."""

    @case(
        name, "specs/ragged_paged_attention.yaml", depth=depth,
        set=dict(T="bf16" if dtype == bf16 else "f32", bq=bq, run=run, heads=per_step),
    )  # fmt: skip
    def _():
        d, page, slots, pages, batch = 16, 4, 10, 5, len(queries)
        q = normal(1, (tokens, heads, group, d), dtype)
        k, v = (normal(s, (heads, slots, page, d), dtype) for s in (2, 3))
        table = jnp.asarray(rng(4).integers(0, slots, (batch, pages)), jnp.int32)
        # Theirs are in one array, a head of keys and a head of values in turn.
        both = jnp.stack([k, v], axis=1).reshape(2 * heads, slots, page, d).transpose(1, 2, 0, 3)
        starts = jnp.asarray(np.cumsum([0, *queries]), jnp.int32)
        used = int(starts[-1])
        o = ref_ragged_paged_attention(
            q[:used].reshape(used, heads * group, d), both, jnp.array(lengths, jnp.int32), table, starts,
            jnp.array([batch], jnp.int32), sm_scale=0.25,
        )  # fmt: skip
        o = jnp.pad(o.reshape(used, heads, group, d), ((0, tokens - used), (0, 0), (0, 0), (0, 0)))
        arguments = dict(queries=jnp.array(queries, jnp.int32), lengths=jnp.array(lengths, jnp.int32), table=table)
        return arguments | dict(scale=0.25, q=q, k_pages=k, v_pages=v), dict(o=o)


ragged_case("seed_ragged_paged_f32", f32, 16, [1, 11, 0, 5, 1], [17, 11, 0, 20, 1], 20)
ragged_case("seed_ragged_paged_decode", f32, 16, [1, 1, 1], [17, 9, 4], 3, run=8, per_step=2)
ragged_case("seed_ragged_paged_bf16", bf16, 1, [9, 2, 6], [12, 20, 6], 17, bq=4)
