#pragma once

#include <memory>
#include <string>

#include "generator/spec/spec.h"
#include "tests/catch.h"

/// Spec files as a whole, for tests of the reader.
namespace kiln::spec_testing {

struct Parsed {
  std::shared_ptr<const Source> source;
  Diagnostics diagnostics;
  std::unique_ptr<Spec> spec;
};

inline Parsed Parse(const std::string& text, const std::string& path = "-") {
  Parsed parsed;
  parsed.source = std::make_shared<const Source>(path, text);
  parsed.spec = ParseSpec(parsed.source, parsed.diagnostics);
  CHECK((parsed.spec == nullptr) == parsed.diagnostics.HasErrors());
  return parsed;
}

/// "rule line:column message | hint" of each diagnostic.
inline std::string Messages(const std::string& text, const std::string& path = "-") {
  const Parsed parsed = Parse(text, path);
  std::string out;
  for (const Diagnostic& d : parsed.diagnostics.Sorted()) {
    const LineColumn at = parsed.source->Locate(d.span.begin);
    out += d.rule + " " + std::to_string(at.line) + ":" + std::to_string(at.column) + " " +
           d.message + (d.hint.empty() ? "" : " | " + d.hint) + "\n";
  }
  return out;
}

/// What every spec needs, in three lines.
inline const std::string kHead = "kernel: k\noutputs: {z: \"f32[m]\"}\nbody: z = x\n";

inline std::string MessagesBelow(const std::string& rest) { return Messages(kHead + rest); }

inline std::string Shown(const std::string& text) {
  const Parsed parsed = Parse(text);
  INFO(Render(parsed.diagnostics, *parsed.source));
  REQUIRE(parsed.spec);
  return ToString(*parsed.spec);
}

inline constexpr const char* kEverything = R"yaml(kernel: k
doc: "a \"word\": more"
params: {T: bf16, bm: 512, fast: true, half: bm // 2}
dims:
  m: {multiple_of: 8, max: 65536, min: 1}
  k: 4096
  n:
require:
  - p == cdiv(m, bm)
  - m>0
let:
  t: i*2
scalars: {group_offset: i32}
arguments: {sizes: "i32[groups]"}
prefetch:
  ids: i32[tiles+1]
prepare:
  - ids = group_metadata(sizes, m, bm, start=0)
  - {call: "a, b = f(sizes)", header: my/pages.h}
grid:
  i: cdiv(m, bm)
  j: 4
dimension_semantics: parallel, arbitrary
inputs:
  x:
    array: T[m, k, 4, 18, n]
    block: bm, all, null, element(16, halo=(1, 1)), bounded(512)
    index: i, 0, ids[t], j, ds(i, 4)
    pad: -inf
    buffers: 3
  bias: {array: "f32[n]", like: z, memory: smem}
  w:
    - {if: fast, array: T}
    - if: not fast
      array: f32[k]
  below: {view: x, index: [i, 0, 0, 0, 0]}
  s: f32
outputs:
  z: {array: "T[m]", block: [bm], index: [i], init: undefined}
  y: {array: "T[m]", alias: x, init: 0}
scratch:
  acc: f32[bm, 8]
  flags: {array: "i32[8]", memory: smem}
  sem: {semaphore: dma, count: 2}
body: |
  when first(l):   # a comment
    acc = 0
  acc += dot(x, y)
epilogue: z = T(acc)
variants:
  - {when: "m <= 64", set: {bm: 64}}
vmap: {axis: b, dim: batch, over: {x: 0, z: 1}}
instances:
  k_bf16:
  k_f32: {T: f32, bm: 256}
golden:
  - {m: 256, seed: 1}
  - {m: 8, ids: random:1, sizes: [1, 2]}
reference:
  z: dot(x,y)
  total: "@total.npy"
)yaml";

}  // namespace kiln::spec_testing
