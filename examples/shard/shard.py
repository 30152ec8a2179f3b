"""python shard.py [PROCESSES]: two layers of a transformer over several processes of JAX, with Kiln's kernels inside.

Each process has one CPU device of a mesh. `shard_map` gives it its shard of the weights, the kernels multiply it, and
`psum` adds up what all have. What comes out is held against one device with all weights, and against plain JAX."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import kiln
import kiln.jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

SPECS = Path(__file__).resolve().parents[2] / "specs"
AXIS = "ranks"
WIDTH, HIDDEN = 96, 160
TOKENS, EXPERTS, CHOSEN = 120, 8, 2


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def weights(seed: int, *shape: int) -> np.ndarray:
    return random(seed, *shape) / np.float32(np.sqrt(shape[-2]))


def mlp(x, up, bias, down):
    """A tensor-parallel MLP: this process has some columns of `up` and the same rows of `down`."""
    hidden = kiln.jax.call(GELU_PRODUCT, x, up, bias)  # gelu is its epilogue
    return kiln.jax.call(PRODUCT, hidden, down)


def plain_mlp(x, up, bias, down):
    return jax.nn.gelu(x @ up + bias, approximate=False) @ down


def experts(sizes, first, rows, up, down):
    """Rows sorted by expert, through the experts `first` to `first + len(up)`; zeros for those of other processes."""
    hidden = jax.nn.silu(kiln.jax.call(GROUPED_PRODUCT, sizes, first, rows, up))
    return kiln.jax.call(GROUPED_PRODUCT, sizes, first, hidden, down)


def route(x, router):
    """For each token the experts that it goes to, and the shares that they have in the result."""
    share, expert = jax.lax.top_k(jax.nn.softmax(x @ router), CHOSEN)
    return share / share.sum(axis=1, keepdims=True), expert


def moe(x, router, through):
    """A mixture of experts: `through` takes the rows through all of them, wherever they are."""
    share, expert = route(x, router)
    order = jnp.argsort(expert.ravel())
    sizes = jnp.bincount(expert.ravel(), length=EXPERTS).astype(jnp.int32)
    out = through(sizes, x[order // CHOSEN])
    back = jnp.zeros_like(out).at[order].set(out).reshape(TOKENS, CHOSEN, WIDTH)
    return (back * share[:, :, None]).sum(axis=1)


def plain_moe(x, router, up, down):
    share, expert = route(x, router)
    every = jnp.einsum("teh,ehw->tew", jax.nn.silu(jnp.einsum("tw,ewh->teh", x, up)), down)
    return (jnp.take_along_axis(every, expert[:, :, None], axis=1) * share[:, :, None]).sum(axis=1)


def sharded(mesh: Mesh):
    """Both layers, as one process of the mesh sees them."""
    shard = EXPERTS // mesh.size
    parallel_mlp = jax.shard_map(
        lambda *a: jax.lax.psum(mlp(*a), AXIS),
        mesh=mesh, in_specs=(P(), P(None, AXIS), P(AXIS), P(AXIS)), out_specs=P(), check_vma=False,
    )  # fmt: skip
    parallel_experts = jax.shard_map(
        lambda sizes, rows, up, down: jax.lax.psum(
            experts(sizes, jax.lax.axis_index(AXIS) * shard, rows, up, down), AXIS
        ),
        mesh=mesh, in_specs=(P(), P(), P(AXIS), P(AXIS)), out_specs=P(), check_vma=False,
    )  # fmt: skip
    return parallel_mlp, lambda x, router, up, down: moe(
        x, router, lambda sizes, rows: parallel_experts(sizes, rows, up, down)
    )


def place(mesh: Mesh, spec: P, value: np.ndarray) -> jax.Array:
    """Each process makes its own part."""
    return jax.make_array_from_callback(value.shape, NamedSharding(mesh, spec), lambda index: value[index])


def worst(got: jax.Array, want: jax.Array) -> float:
    return float(np.max(np.abs(np.asarray(got.addressable_data(0)) - np.asarray(want))))


def work(address: str, processes: int, number: int) -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, processes, number)
    mesh = Mesh(jax.devices(), (AXIS,))
    assert mesh.size == processes == jax.process_count(), mesh
    alone = jax.local_devices()[0]
    x = random(1, TOKENS, WIDTH)
    layers = {
        "tensor-parallel MLP": (
            0, mlp, plain_mlp,
            [(P(), x), (P(None, AXIS), weights(2, WIDTH, HIDDEN)), (P(AXIS), random(3, HIDDEN)),
             (P(AXIS), weights(4, HIDDEN, WIDTH))],
        ),
        "expert-parallel MoE": (
            1, lambda x, router, up, down: moe(x, router, lambda sizes, rows: experts(sizes, 0, rows, up, down)),
            plain_moe,
            [(P(), x), (P(), weights(5, WIDTH, EXPERTS)), (P(AXIS), weights(6, EXPERTS, WIDTH, HIDDEN)),
             (P(AXIS), weights(7, EXPERTS, HIDDEN, WIDTH))],
        ),
    }  # fmt: skip
    parallel = sharded(mesh)
    for name, (which, one_device, plain, arrays) in layers.items():
        call = jax.jit(parallel[which])
        shards = [place(mesh, spec, value) for spec, value in arrays]
        y = jax.block_until_ready(call(*shards))
        start = time.perf_counter()
        y = jax.block_until_ready(call(*shards))
        seconds = time.perf_counter() - start
        values = [jax.device_put(value, alone) for _, value in arrays]
        from_one = worst(y, jax.jit(one_device)(*values))
        from_plain = worst(y, jax.jit(plain)(*values))
        print(
            f"process {number} of {processes}: {name}: {from_one:.1e} from one device, {from_plain:.1e} from plain JAX; "
            f"{1e3 * seconds:.2f} ms; {sum(s.addressable_data(0).size for s in shards)} floats here",
            flush=True,
        )
        # Sums of up to 160 terms in f32 whose results are of magnitude 1, cut into a piece for each process.
        assert from_one < 1e-5 and from_plain < 1e-5 < 0.5 < np.max(y.addressable_data(0)), name
    jax.distributed.shutdown()


def launch(processes: int) -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [sys.executable, __file__, "--work", address, str(processes)]
    started = [subprocess.Popen([*command, str(number)]) for number in range(processes)]
    # One that fails leaves the others waiting.
    while any(p.poll() is None for p in started):
        if any(p.poll() for p in started):
            for p in started:
                p.kill()
        time.sleep(0.1)
    return max(abs(p.returncode) for p in started)


if __name__ == "__main__":
    if "--work" not in sys.argv:
        sys.exit(launch(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
    GELU_PRODUCT = kiln.load(f"{SPECS}/matmul.yaml:matmul_f32", bm=64, bn=128, bk=128)
    PRODUCT = kiln.load(f"{SPECS}/matmul_scratch.yaml:matmul_scratch_f32")
    GROUPED_PRODUCT = kiln.load(f"{SPECS}/gmm.yaml:gmm_f32", tm=64)
    work(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
