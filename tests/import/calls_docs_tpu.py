"""The kernels of JAX's documentation of Pallas for TPUs, written again and small: details, matmul, sparse, and what only
several devices have."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from calls_docs import add_matrices_kernel
from corpus import DeviceIdType, axes, call, like, normal, semaphore_signal, shard_map
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

f32, bf16 = jnp.float32, jnp.bfloat16


# ---- the TPU's details


@call("copy_by_hand")
def _():
    def add_copied_kernel(x_hbm_ref, o_ref, x_vmem, sem):
        copy = pltpu.make_async_copy(x_hbm_ref.at[0:8], x_vmem, sem)
        copy.start()
        copy.wait()
        o_ref[...] = x_vmem[...] + 1

    def f(x):
        return pl.pallas_call(
            add_copied_kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            scratch_shapes=[pltpu.VMEM((8, 128), x.dtype), pltpu.SemaphoreType.DMA],
        )(x)  # fmt: skip

    return f, (normal(0, (16, 128)),)


def pipelined(x, y, body, **how):
    def outer_kernel(x_hbm, y_hbm, o_hbm):
        block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        pltpu.emit_pipeline(body, grid=(2, 2), in_specs=[block, block], out_specs=[block], **how)(x_hbm, y_hbm, o_hbm)

    hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(outer_kernel, out_shape=like(x), in_specs=[hbm, hbm], out_specs=hbm)(x, y)


call("emit_pipeline", reference=lambda x, y: x + y)(
    lambda: (lambda x, y: pipelined(x, y, add_matrices_kernel), (normal(0, (16, 256)), normal(1, (16, 256))))
)


@call("emit_pipeline_accumulates", reference=lambda x, y: x @ y)
def _():
    def matmul_pipeline(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...] @ y_ref[...]

    def outer_kernel(x_hbm, y_hbm, o_hbm):
        pltpu.emit_pipeline(
            matmul_pipeline, grid=(2, 2),
            in_specs=[pl.BlockSpec((8, 32), lambda i, k: (i, k)), pl.BlockSpec((32, 128), lambda i, k: (k, 0))],
            out_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, 0))],
        )(x_hbm, y_hbm, o_hbm)  # fmt: skip

    def f(x, y):
        hbm = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(
            outer_kernel, out_shape=jax.ShapeDtypeStruct((16, 128), f32), in_specs=[hbm, hbm], out_specs=hbm
        )(x, y)

    return f, (normal(0, (16, 64)), normal(1, (64, 128)))


@call("random_bits_of_the_hardware", cannot="the random numbers of the hardware")
def _():
    def random_kernel(o_ref):
        pltpu.prng_seed(7)
        o_ref[...] = pltpu.prng_random_bits(o_ref.shape)

    return lambda: pl.pallas_call(random_kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.int32))(), ()


@call("regular_semaphore", cannot="a regular semaphore")
def _():
    def signal_kernel(x_ref, o_ref, ready):
        semaphore_signal(ready, 1)
        pl.semaphore_wait(ready, 1)
        o_ref[...] = x_ref[...]

    def f(x):
        return pl.pallas_call(
            signal_kernel, out_shape=like(x), scratch_shapes=[pltpu.SemaphoreType.REGULAR]
        )(x)  # fmt: skip

    return f, (normal(0, (8, 128)),)


@call("while_loop")
def _():
    def halvings_kernel(x_ref, o_ref):
        def body(state):
            x, count = state
            return x // 2, count + 1

        o_ref[0] = jax.lax.while_loop(lambda state: state[0] > 1, body, (x_ref[0], 0))[1]

    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    shape = jax.ShapeDtypeStruct((1,), jnp.int32)
    return lambda x: pl.pallas_call(halvings_kernel, out_shape=shape, in_specs=[smem], out_specs=smem)(x), (
        jnp.array([100], jnp.int32),
    )


# ---- matmul


def block_matmul(x, y, bm, bk, bn, transpose_rhs=False, activation=None):
    def matmul_kernel(x_ref, y_ref, z_ref, acc_ref, *, nsteps, transpose_rhs, activation):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        if transpose_rhs:
            dims = ((1,), (1,)), ((), ())
        else:
            dims = ((1,), (0,)), ((), ())
        acc_ref[...] += jax.lax.dot_general(x_ref[...], y_ref[...], dims, preferred_element_type=acc_ref.dtype)

        @pl.when(pl.program_id(2) == nsteps - 1)
        def _():
            z_ref[...] = activation(acc_ref[...]).astype(z_ref.dtype)

    (m, k), n = x.shape, y.shape[0 if transpose_rhs else 1]
    if transpose_rhs:
        y_spec = pl.BlockSpec((bn, bk), lambda i, j, k: (j, k))
    else:
        y_spec = pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))
    return pl.pallas_call(
        functools.partial(
            matmul_kernel, nsteps=k // bk, transpose_rhs=transpose_rhs, activation=activation or (lambda x: x)
        ),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=0,
            in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), y_spec],
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
            scratch_shapes=[pltpu.VMEM((bm, bn), f32)],
            grid=(m // bm, n // bn, k // bk),
        ),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        compiler_params=axes("parallel", "parallel", "arbitrary"),
    )(x, y)


call("matmul_blocks")(
    lambda: (functools.partial(block_matmul, bm=8, bk=16, bn=128), (normal(0, (16, 32)), normal(1, (32, 128))))
)
call("matmul_blocks_bf16_transposed")(
    lambda: (
        functools.partial(block_matmul, bm=8, bk=128, bn=32, transpose_rhs=True, activation=jax.nn.silu),
        (normal(0, (16, 256), bf16), normal(1, (64, 256), bf16, 0.1)),
    )
)


# ---- sparse


@call("dynamic_slice")
def _():
    def dynamic_slice_kernel(indices, x_ref, o_ref):
        del indices
        o_ref[...] = x_ref[...]

    def f(x, indices):
        return pl.pallas_call(
            dynamic_slice_kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1, grid=(1, 1),
                in_specs=[pl.BlockSpec((8, 128), lambda i, j, block_idx: (block_idx[0], block_idx[1]))],
                out_specs=pl.BlockSpec((8, 128), lambda *_: (0, 0)),
            ),
            out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
        )(indices, x)  # fmt: skip

    return f, (normal(0, (24, 256)), jnp.array([2, 1], jnp.int32))


@call("sparse_times_dense")
def _():
    def dsd_kernel(idxs_i_ref, idxs_k_ref, x_ref, y_ref, _, o_ref, accum_scratch):
        blk_idx = pl.program_id(1)
        is_start = blk_idx == 0
        changed_blocks = idxs_i_ref[blk_idx] != idxs_i_ref[jnp.maximum(blk_idx - 1, 0)]

        @pl.when(is_start | changed_blocks)
        def _():
            accum_scratch[...] = jnp.zeros_like(accum_scratch)

        accum_scratch[...] += jnp.dot(x_ref[0, :, :], y_ref[...], preferred_element_type=f32)
        next_block_change = idxs_i_ref[blk_idx] != idxs_i_ref[jnp.minimum(blk_idx + 1, pl.num_programs(1) - 1)]
        is_end = blk_idx == pl.num_programs(1) - 1

        @pl.when(is_end | next_block_change)
        def _():
            o_ref[...] = accum_scratch[...].astype(o_ref.dtype)

    def f(idxs_i, idxs_k, x, y, zeros):
        return pl.pallas_call(
            dsd_kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=2, grid=(2, 5),
                in_specs=[
                    pl.BlockSpec((1, 8, 16), lambda j, blk_idx, blk_idxs_i, blk_idxs_k: (blk_idx, 0, 0)),
                    pl.BlockSpec((16, 128), lambda j, blk_idx, blk_idxs_i, blk_idxs_k: (blk_idxs_k[blk_idx], j)),
                    pl.BlockSpec((8, 128), lambda j, blk_idx, blk_idxs_i, blk_idxs_k: (blk_idxs_i[blk_idx], j)),
                ],
                out_specs=pl.BlockSpec((8, 128), lambda j, blk_idx, blk_idxs_i, blk_idxs_k: (blk_idxs_i[blk_idx], j)),
                scratch_shapes=[pltpu.VMEM((8, 128), f32)],
            ),
            out_shape=jax.ShapeDtypeStruct((32, 256), f32), input_output_aliases={4: 0},
        )(idxs_i, idxs_k, x, y, zeros)  # fmt: skip

    i, k = jnp.array([0, 0, 1, 3, 3], jnp.int32), jnp.array([0, 2, 1, 0, 2], jnp.int32)
    return f, (i, k, normal(0, (5, 8, 16)), normal(1, (48, 256)), jnp.zeros((32, 256), f32))


@call("masked_dense_times_dense")
def _():
    def sparse_mask_kernel(block_mask_ref, prefetch_mask, prefetch_i, prefetch_j, x_ref, y_ref, mask_ref, o_ref, acc):
        i, j, k = pl.program_id(0), pl.program_id(1), pl.program_id(2)
        should_compute = block_mask_ref[i, j] != 0

        @pl.when(k == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)
            acc[...] = jnp.zeros_like(acc)

        @pl.when(should_compute)
        def _():
            acc[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=f32)

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = jax.lax.select(mask_ref[...], acc[...], jnp.zeros_like(acc)).astype(o_ref.dtype)

    mask = np.zeros((16, 256), bool)  # of blocks of 8 by 128
    mask[:8, :128] = np.tril(np.ones((8, 128), bool))
    mask[8:, 128:] = True
    block_mask = mask.reshape(2, 8, 2, 128).any((1, 3)).astype(np.int32)

    def x_map(i, j, k, block_mask, prefetch_mask, prefetch_i, prefetch_j):
        return jax.lax.select(block_mask[i, j] != 0, i, prefetch_i[i, j]), k

    def y_map(i, j, k, block_mask, prefetch_mask, prefetch_i, prefetch_j):
        return k, jax.lax.select(block_mask[i, j] != 0, j, prefetch_j[i, j])

    def f(block_mask, prefetch_mask, prefetch_i, prefetch_j, x, y, mask):
        return pl.pallas_call(
            sparse_mask_kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=4, grid=(2, 2, 2),
                in_specs=[
                    pl.BlockSpec((8, 16), x_map), pl.BlockSpec((16, 128), y_map),
                    pl.BlockSpec((8, 128), lambda i, j, k, *_: (i, j)),
                ],
                out_specs=pl.BlockSpec((8, 128), lambda i, j, k, *_: (i, j)),
                scratch_shapes=[pltpu.VMEM((8, 128), f32)],
            ),
            out_shape=jax.ShapeDtypeStruct((16, 256), f32),
        )(block_mask, prefetch_mask, prefetch_i, prefetch_j, x, y, mask)  # fmt: skip

    ids = np.array([[0, 1], [0, 1]], np.int32)
    given = [jnp.asarray(a) for a in (block_mask, ids, ids, ids)]
    return f, (*given, normal(0, (16, 32)), normal(1, (32, 256)), jnp.asarray(mask))


# ---- several devices


@call("right_permute", cannot="the index of a device", since=((0, 6, 1), "lax.axis_size"))
def _():
    def right_permute_kernel(x_ref, o_ref, send_sem, recv_sem):
        me = jax.lax.axis_index("x")
        copy = pltpu.make_async_remote_copy(
            src_ref=x_ref, dst_ref=o_ref, send_sem=send_sem, recv_sem=recv_sem,
            device_id=(jax.lax.rem(me + 1, jax.lax.axis_size("x")),), device_id_type=DeviceIdType.MESH,
        )  # fmt: skip
        copy.start()
        copy.wait()

    def one(x):
        hbm = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(
            right_permute_kernel, out_shape=like(x), in_specs=[hbm], out_specs=hbm,
            scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA],
        )(x)  # fmt: skip

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    spec = jax.sharding.PartitionSpec("x", None)
    return shard_map(one, mesh, spec, spec, check_vma=False), (normal(0, (16, 128)),)
