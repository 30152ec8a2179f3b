"""Specs that several files of tests compile."""

SHIFTED = """\
kernel: shifted
doc: Doubles a vector and adds a number.
params: {b: 64}
grid: {i: "cdiv(n, b)"}
dimension_semantics: parallel
scalars: {by: i32}
inputs:
  x: {array: "f32[n]", block: b, index: i}
outputs:
  o: {array: "f32[n]", block: b, index: i}
body: |
  o = x * 2 + f32(by)
golden:
  - {n: 100, by: 3, seed: 1}
"""
BOTH = """\
kernel: both
grid: {i: "cdiv(n, 64)"}
inputs:
  x: {array: "bf16[n]", block: "64", index: i}
outputs:
  o: {array: "bf16[n]", block: "64", index: i}
  p: {array: "f32[n]", block: "64", index: i}
body: |
  o = bf16(x + x)
  p = f32(x) * 3
"""
# Dimensions of the output that the input does not have, and the gradient.
SPREAD = """\
kernel: spread
inputs: {x: "f32[m]"}
outputs: {o: "f32[m, n]"}
body: |
  o = broadcast(expand(x, 1), [m, n])
"""
SPREAD_BACK = """\
kernel: spread_dx
inputs: {d_o: "f32[m, n]"}
outputs: {dx: "f32[m]"}
body: |
  dx = sum(d_o, axis=1)
"""
# z[m, n] = tanh(x[m, k] @ y[k, n]) * s, and its gradients.
TANH_PRODUCT = """\
kernel: tanh_product
params: {b: 16}
grid: {i: "cdiv(m, b)"}
scalars: {s: f32}
inputs:
  x: {array: "f32[m, k]", block: "b, k", index: "i, 0"}
  y: {array: "f32[k, n]"}
outputs:
  z: {array: "f32[m, n]", block: "b, n", index: "i, 0"}
  t: {array: "f32[m, n]", block: "b, n", index: "i, 0"}
body: |
  let a = tanh(dot(x, y))
  t = a
  z = a * s
"""
TANH_PRODUCT_DX = """\
kernel: tanh_product_dx
params: {b: 16}
grid: {i: "cdiv(m, b)"}
scalars: {s: f32}
inputs:
  dz: {array: "f32[m, n]", block: "b, n", index: "i, 0"}
  t: {array: "f32[m, n]", block: "b, n", index: "i, 0"}
  y: {array: "f32[k, n]"}
outputs:
  dx: {array: "f32[m, k]", block: "b, k", index: "i, 0"}
body: |
  dx = dot(dz * s * (1 - t * t), y.T)
"""
TANH_PRODUCT_DY = """\
kernel: tanh_product_dy
scalars: {s: f32}
inputs: {x: "f32[m, k]", dz: "f32[m, n]", t: "f32[m, n]"}
outputs: {d_y: "f32[k, n]"}
body: |
  d_y = dot(x.T, dz * s * (1 - t * t))
"""
# Rows of a cache from `at` on are written over; `before` is what was there.
UPDATE = """\
kernel: update
grid: {i: "m"}
scalars: {at: i32}
inputs:
  cache: {array: "f32[n, d]", block: "1, d", index: "i + at, 0"}
  x: {array: "f32[m, d]", block: "1, d", index: "i, 0"}
outputs:
  out: {array: "f32[n, d]", block: "1, d", index: "i + at, 0", alias: cache}
  before: {array: "f32[m, d]", block: "1, d", index: "i, 0"}
body: |
  before = cache
  out = x
"""
