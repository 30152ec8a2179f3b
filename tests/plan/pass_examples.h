// A small kernel for each pass of the planner, of which it changes something.
#pragma once

namespace kiln {

inline constexpr const char* kMatmul = R"yaml(kernel: k
grid: {i: "cdiv(m, 256)", l: "cdiv(k, 256)"}
dimension_semantics: [parallel, arbitrary]
inputs:
  x: {array: "f32[m, k]", block: "256, 256", index: "i, l", pad: 0}
  y: {array: "f32[k, 256]", block: "256, 256", index: "l, 0", pad: 0}
outputs:
  z: {array: "f32[m, 256]", block: "256, 256", index: "i, 0"}
scratch:
  acc: f32[256, 256]
body: |
  when first(l):
    acc = 0
  acc += dot(x, y)
  when last(l):
    z = max(acc, 0)
)yaml";

inline constexpr const char* kInOutput = R"yaml(kernel: k
grid: {i: "cdiv(m, 256)", l: "cdiv(k, 256)"}
dimension_semantics: [parallel, arbitrary]
inputs:
  x: {array: "f32[m, k]", block: "256, 256", index: "i, l", pad: 0}
  y: {array: "f32[k, 256]", block: "256, 256", index: "l, 0", pad: 0}
outputs:
  z: {array: "f32[m, 256]", block: "256, 256", index: "i, 0"}
body: |
  when first(l):
    z = 0
  z += dot(x, y)
)yaml";

inline constexpr const char* kRows = R"yaml(kernel: k
grid: {i: "cdiv(m, 8)"}
inputs: {x: {array: "f32[m, 512]", block: "8, 512", index: "i, 0"}}
outputs: {o: {array: "f32[m, 512]", block: "8, 512", index: "i, 0"}}
body: |
  let e = exp(x - max(x, axis=1, keep=true))
  o = e / sum(e, axis=1, keep=true)
)yaml";

inline constexpr const char* kScores = R"yaml(kernel: k
inputs: {x: "f32[8, 16]", y: "f32[16, 64]"}
outputs: {o: "f32[8, 64]"}
body: |
  let s = dot(x, y)
  let e = exp(s - max(s, axis=1, keep=true))
  o = e / sum(e, axis=1, keep=true)
)yaml";

inline constexpr const char* kFading = R"yaml(kernel: k
grid: {j: 4}
inputs:
  x: {array: "bf16[16, 16]", block: "16, 16", index: "0, 0"}
  y: {array: "bf16[64, 16]", block: "16, 16", index: "j, 0"}
  z: {array: "bf16[64, 32]", block: "16, 32", index: "j, 0"}
outputs:
  o: {array: "f32[16, 32]", block: "16, 32", index: "0, 0"}
scratch: {top: "f32[16, 1]"}
body: |
  when first(j):
    top = -inf
    o = 0
  let s = dot(x, y.T)
  let largest = max(top, max(s, axis=1, keep=true))
  let p = exp(s - largest)
  o *= exp(top - largest)
  o += dot(bf16(p), z)
  top = largest
)yaml";

inline constexpr const char* kColumns = R"yaml(kernel: k
grid: {i: "cdiv(m, 32)"}
inputs:
  x: {array: "f32[m, 512]", block: "32, 512", index: "i, 0", pad: 0}
outputs:
  o: {array: "f32[m, 512]", block: "32, 512", index: "i, 0"}
body: |
  let s = sum(x, axis=0)
  o = x / s
)yaml";

inline constexpr const char* kSums = R"yaml(kernel: k
grid: {i: "cdiv(m, 32)"}
inputs:
  x: {array: "f32[m, 512]", block: "32, 512", index: "i, 0", pad: 0}
outputs:
  y: {array: "f32[m, 512]", block: "32, 512", index: "i, 0"}
  s: f32[512]
body: |
  when first(i):
    s = 0
  let u = x - mean(x, axis=1, keep=true)
  y = u
  s += sum(u, axis=0)
)yaml";

inline constexpr const char* kTransposed = R"yaml(kernel: k
inputs:
  x: f32[64, 128]
  b: f32[128]
outputs:
  o: f32[128, 64]
body: |
  o = (x + b).T
)yaml";

inline constexpr const char* kSelected = R"yaml(kernel: k
grid: {i: "cdiv(m, 256)", l: "cdiv(k, 128)"}
dimension_semantics: [parallel, arbitrary]
prefetch:
  ends: i32[2]
inputs:
  x: {array: "f32[m, k]", block: "256, 128", index: "i, l", pad: 0}
  y: {array: "f32[k, 128]", block: "128, 128", index: "l, 0", pad: 0}
outputs:
  z: {array: "f32[m, 128]", block: "256, 128", index: "i, 0", init: 0}
scratch:
  acc: f32[256, 128]
body: |
  let mine = ends[0] <= at(z, 0) < ends[1]
  when first(l):
    acc = 0
  acc += dot(x, y)
  when last(l):
    z[mine] = acc
)yaml";

inline constexpr const char* kStatistics = R"yaml(kernel: k
inputs:
  x: f32[8, 512]
outputs:
  s: f32[8, 1]
  t: f32[8, 1]
body: |
  s = mean(x, axis=1, keep=true)
  t = mean(x * x, axis=1, keep=true)
)yaml";

inline constexpr const char* kCheap = R"yaml(kernel: k
inputs:
  x: f32[8, 512]
outputs:
  o: f32[8, 512]
body: |
  let v = x * 2
  o = v - max(v, axis=1, keep=true)
)yaml";

inline constexpr const char* kTwice = R"yaml(kernel: k
grid: {l: "cdiv(k, 256)"}
inputs:
  x: {array: "f32[8, k]", block: "8, 256", index: "0, l", pad: 0}
  y: {array: "f32[k, 256]", block: "256, 256", index: "l, 0", pad: 0}
outputs:
  z: {array: "f32[8, 256]", block: "all, all", index: "0, 0"}
scratch:
  acc: f32[8, 256]
body: |
  when first(l):
    acc = 0
  acc += dot(exp(x), y)
  when last(l):
    z = acc
)yaml";

inline constexpr const char* kVisited = R"yaml(kernel: k
arguments:
  sizes: i32[groups]
prepare:
  - offsets, ids, tiles, visits = group_metadata(sizes, m, 8)
prefetch:
  offsets: i32[groups + 1]
  ids: i32[cdiv(m, 8) + groups]
  tiles: i32[cdiv(m, 8) + groups]
scalars:
  visits: i32
grid: {t: visits}
inputs:
  x: {array: "f32[m, 128]", block: "8, 128", index: "tiles[t], 0"}
outputs:
  o: {array: "f32[m, 128]", block: "8, 128", index: "tiles[t], 0", init: 0}
body: |
  when first(o):
    o = 0
  o += x
)yaml";

inline constexpr const char* kWindows = R"yaml(kernel: k
inputs:
  x: f32[34, 8]
  w: f32[3, 8, 16]
outputs:
  o: f32[32, 16]
body: |
  var acc: f32[32, 16] = 0
  for t in range(0, 3):
    acc += dot(x[ds(t, 32)], w[t])
  o = acc
)yaml";

inline constexpr const char* kSmoothed = R"yaml(kernel: k
inputs:
  x: f32[8, 258]
  w: f32[3]
outputs:
  o: f32[8, 256]
body: |
  o = 0
  for t in range(0, 3):
    o += x[:, ds(t, 256)] * w[t]
)yaml";

inline constexpr const char* kPoints = R"yaml(kernel: k
grid: {i: "cdiv(n, 256)"}
inputs: {x: {array: "f32[n, 3]", block: "256, all", index: "i, 0"}}
outputs:
  o: {array: "f32[n, 3]", like: x}
body: |
  let e = x - max(x, axis=1, keep=true)
  o = e * rsqrt(sum(e * e, axis=1, keep=true))
)yaml";

inline constexpr const char* kTaken = R"yaml(kernel: k
inputs:
  x: f64[8, 512]
outputs:
  o: {array: "f64[8, 512]", alias: x}
body: |
  o = x * 2
)yaml";

inline constexpr const char* kVectors = R"yaml(kernel: k
inputs:
  w: f32[64, 512]
  h: f16[64, 512]
  x: f32[512, 4]
outputs:
  o: f32[64, 4]
body: |
  o = dot(w, x) + dot(h, x)
)yaml";

inline constexpr const char* kFilter = R"yaml(kernel: k
inputs:
  x: {array: "f32[m, n]", block: ["element(m + 8, halo=(4, 4))", all], index: [0, 0], pad: 0}
  w: f32[9, n]
outputs:
  o: f32[m, n]
scratch:
  sum: f32[m, n]
body: |
  sum = 0
  for t in range(9):
    sum += x[ds(t, m)] * w[t] + exp(w[t])
    sum += x[ds(t, m)] * x[ds(t, m)]
    sum += x[ds(t, m)] / w[t]
    sum += x[ds(t, m)] / x[ds(t, m)]
  o = sum
)yaml";

inline constexpr const char* kHeads = R"yaml(kernel: k
inputs: {q: "f32[8, m, d]", k: "i8[n, d]"}
outputs: {o: "f32[8, m, n]"}
body: |
  for h in range(8):
    o[h] = dot(q[h], f32(k).T * 0.5)
)yaml";

inline constexpr const char* kBags = R"yaml(kernel: k
inputs: {ids: "i32[16, 20]", table: "f32[v, d]"}
outputs: {o: "f32[16, d]"}
body: |
  o = sum(take(table, ids, axis=0), axis=1)
)yaml";

// Other scratch that copies set has lanes of a loop that read it, too.
inline constexpr const char* kPaged = R"yaml(kernel: k
prefetch:
  table: i32[2]
inputs:
  q: f32[4, 96]
  pages: {array: "f32[8, 64, 96]", memory: any}
outputs:
  o: f32[4, 128]
  p: f32[4, 128]
scratch:
  keys: f32[2, 64, 96]
  both: f32[128, 96]
  sem: {semaphore: dma}
body: |
  for i in range(2):
    copy pages[table[i]] -> keys[i], sem
    wait sem, keys[i]
    copy pages[table[i]] -> both[ds(i * 64, 64)], sem
    wait sem, both[ds(i * 64, 64)]
  o = dot(q, reshape(keys, [128, 96]).T)
  p = dot(q, both.T) + sum(both)
)yaml";

// Rows that copies bring and take away.
inline constexpr const char* kByHand = R"yaml(kernel: k
inputs: {x: {array: "f32[8, 64, 96]", memory: any}}
outputs: {o: {array: "f32[8, 64, 96]", memory: any}}
scratch:
  rows: f32[2, 64, 96]
  twice: f32[64, 96]
  sem: {semaphore: dma, count: 2}
body: |
  for i in range(8):
    copy x[i] -> rows[i % 2], sem[0]
    wait sem[0]
    twice = rows[i % 2] * 2.0
    copy twice -> o[i], sem[1]
    wait sem[1]
)yaml";

// A block of narrow floats over which two nests go.
inline constexpr const char* kNarrow = R"yaml(kernel: k
inputs: {x: "bf16[4, n, m]"}
outputs: {o: "bf16[4, n, m]"}
body: |
  let v = f32(x)
  o = bf16(v - sum(v, axis=[0, 1], keep=true))
)yaml";

inline constexpr const char* kSplitHeads = R"yaml(kernel: k
inputs: {x: "f32[n, h, d]"}
outputs: {o: "f32[h, n, d]"}
body: |
  o = transpose(x, [1, 0, 2])
)yaml";

// Pixels and their neighbours, of which an image's border lacks some.
inline constexpr const char* kBordered = R"yaml(kernel: k
inputs: {x: {array: "f32[n, c]", block: "element(n + 2, halo=(1, 1)), all", index: "0, 0", pad: 0}}
outputs: {o: "f32[n, c]"}
body: |
  o = max(x[0:n], x[2:n + 2])
)yaml";

struct PassExample {
  const char* pass;
  const char* spec;
};

inline constexpr PassExample kPassExamples[] = {
    {"operands", kMatmul},
    {"host", kVisited},
    {"index", kMatmul},
    {"watch", kTaken},
    {"lower", kMatmul},
    {"once", kHeads},
    {"bring", kSums},
    {"fuse", kMatmul},
    {"carry", kMatmul},
    {"taps", kWindows},
    {"unroll", kSmoothed},
    {"turns", kFilter},
    {"short-rows", kPoints},
    {"one-pass", kStatistics},
    {"contract", kRows},
    {"recompute", kCheap},
    {"widen", kNarrow},
    {"split", kScores},
    {"row-values", kFading},
    {"share", kTwice},
    {"scratch", kMatmul},
    {"clip", kMatmul},
    {"live", kSelected},
    {"free", kMatmul},
    {"narrow", kFading},
    {"unpacked", kMatmul},
    {"prefetch", kRows},
    {"sums", kInOutput},
    {"one-body", kMatmul},
    {"visits", kVisited},
    {"by-hand", kByHand},
    {"hoist", kSelected},
    {"across", kTransposed},
    {"edges", kBordered},
    {"rows", kColumns},
    {"four-rows", kFilter},
    {"read-order", kSplitHeads},
    {"chosen", kBags},
    {"vectors", kNarrow},
    {"stream", kRows},
    {"computed", kTwice},
    {"columns", kVectors},
    {"store-rows", kPoints},
    {"pages", kPaged},
};

}  // namespace kiln
