"""What the model is made of, as Kiln's kernels: each one paired with those that compute its gradients."""

from pathlib import Path

import kiln
import kiln.jax

HERE = Path(__file__).resolve().parent / "kernels"
SHIPPED = Path(__file__).resolve().parents[2] / "specs"

linear = kiln.jax.differentiable(
    f"{SHIPPED}/matmul_scratch.yaml:matmul_scratch_f32",
    [f"{SHIPPED}/matmul_grad_x.yaml:matmul_grad_x_f32", f"{SHIPPED}/matmul_grad_y.yaml:matmul_grad_y_f32"],
)

rmsnorm = kiln.jax.differentiable(kiln.load(SHIPPED / "rmsnorm.yaml", T="f32"), HERE / "rmsnorm_grad.yaml")

_attention = kiln.jax.differentiable(
    HERE / "attention.yaml", [HERE / "attention_dq.yaml", HERE / "attention_dkv.yaml"]
)

_gated = kiln.jax.differentiable(HERE / "gated.yaml", [HERE / "gated_dx.yaml", HERE / "gated_dw.yaml"])

_cross_entropy = kiln.jax.differentiable(HERE / "cross_entropy.yaml", HERE / "cross_entropy_grad.yaml")


# The first output is the result; the others are what the backward kernels need of the forward one.


def attention(q, k, v):
    return _attention(q, k, v)[0]


def gated(x, gate, up):
    return _gated(x, gate, up)[0]


def cross_entropy(logits, target):
    return _cross_entropy(logits, target)[0]
