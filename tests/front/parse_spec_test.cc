// Spec files as a whole: every key, every error of a key, positions, and text that is no spec.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>

#include "generator/front/spec.h"
#include "tests/catch.h"

namespace kiln {
namespace {

struct Parsed {
  std::shared_ptr<const Source> source;
  Diagnostics diagnostics;
  std::unique_ptr<Spec> spec;
};

Parsed Parse(const std::string& text, const std::string& path = "-") {
  Parsed parsed;
  parsed.source = std::make_shared<const Source>(path, text);
  parsed.spec = ParseSpec(parsed.source, parsed.diagnostics);
  CHECK((parsed.spec == nullptr) == parsed.diagnostics.HasErrors());
  return parsed;
}

/// "rule line:column message | hint" of each finding.
std::string Findings(const std::string& text, const std::string& path = "-") {
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
const std::string kHead = "kernel: k\noutputs: {z: \"f32[m]\"}\nbody: z = x\n";

std::string FindingsBelow(const std::string& rest) { return Findings(kHead + rest); }

std::string Shown(const std::string& text) {
  const Parsed parsed = Parse(text);
  INFO(Render(parsed.diagnostics, *parsed.source));
  REQUIRE(parsed.spec);
  return ToString(*parsed.spec);
}

constexpr const char* kEverything = R"yaml(kernel: k
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
)yaml";

TEST_CASE("every key, in one spelling") {
  const std::string shown = Shown(kEverything);
  CHECK(shown == R"yaml(kernel: k
doc: "a \"word\": more"
params:
  T: bf16
  bm: 512
  fast: true
  half: bm // 2
dims:
  m:
    multiple_of: 8
    min: 1
    max: 65536
  k: 4096
  n:
require:
  - p == cdiv(m, bm)
  - m > 0
let:
  t: i * 2
scalars:
  group_offset: i32
arguments:
  sizes: i32[groups]
prefetch:
  ids: i32[tiles + 1]
prepare:
  - call: ids = group_metadata(sizes, m, bm, start=0)
  - call: a, b = f(sizes)
    header: my/pages.h
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
  bias:
    array: f32[n]
    like: z
    memory: smem
  w:
    - if: fast
      array: T
    - if: not fast
      array: f32[k]
  below:
    view: x
    index: i, 0, 0, 0, 0
  s:
    array: f32
outputs:
  z:
    array: T[m]
    block: bm
    index: i
    init: undefined
  y:
    array: T[m]
    init: 0
    alias: x
scratch:
  acc:
    array: f32[bm, 8]
  flags:
    array: i32[8]
    memory: smem
  sem:
    semaphore: dma
    count: 2
body: |
  when first(l):
    acc = 0
  acc += dot(x, y)
epilogue: |
  z = T(acc)
variants:
  - when: m <= 64
    set: {bm: 64}
vmap:
  axis: b
  dim: batch
  over:
    x: 0
    z: 1
instances:
  k_bf16: {}
  k_f32: {T: f32, bm: 256}
golden:
  - {m: 256, seed: 1}
  - {m: 8, ids: "random:1", sizes: "[1, 2]"}
)yaml");
  CHECK(Shown(shown) == shown);  // the text form reads as itself
}

TEST_CASE("lists and text mean the same") {
  const auto operand = [](const std::string& keys) {
    return Shown(kHead + "inputs: {x: {array: \"f32[a, b, c]\", " + keys + "}}\n");
  };
  CHECK(operand("block: [null, bm, 8]") == operand("block: \"null, bm, 8\""));
  CHECK(operand("block: [all, ~, 8]") == operand("block: \"all , null,8\""));
  CHECK(operand("index: [i, 0, off]") == operand("index: \"i, 0, off\""));
  CHECK(operand("block: null") == operand("block: [null]"));
  CHECK(operand("block: [\"f(a, b)\", \"element(3)\"]") ==
        operand("block: \"f(a, b), element(3)\""));
  const auto top = [](const std::string& rest) { return Shown(kHead + rest); };
  CHECK(top("dimension_semantics: [parallel, arbitrary]\n") ==
        top("dimension_semantics: parallel,arbitrary\n"));
  CHECK(top("dims: [m, n]\n") == top("dims: m, n\n"));
  CHECK(top("require: a == b\n") == top("require: [\"a == b\"]\n"));
  CHECK(top("prepare: a = f(b)\n") == top("prepare: [{call: a = f(b)}]\n"));
}

TEST_CASE("what is absent stays absent, what is empty is not") {
  const Parsed parsed =
      Parse(kHead + "inputs: {x: {array: f32, block: [], index: \"\"}, y: f32}\n");
  REQUIRE(parsed.spec);
  const OperandSpec& x = parsed.spec->inputs[0].alternatives[0];
  CHECK((x.block && x.block->empty()));
  CHECK((x.index && x.index->empty()));
  const OperandSpec& y = parsed.spec->inputs[1].alternatives[0];
  CHECK_FALSE(y.block);
  CHECK_FALSE(y.index);
  CHECK_FALSE(parsed.spec->vmap);
  CHECK(parsed.spec->grid.empty());
  CHECK(Shown(kHead) == Shown(kHead + "grid: {}\nparams:\ninstances:\ngolden:\n"));
  CHECK(Parse(kHead + "dims: []\n").spec->dims_closed);
  CHECK_FALSE(Parse(kHead + "dims: {}\n").spec->dims_closed);
}

TEST_CASE("names that YAML 1.1 took for something else") {
  CHECK(Findings("kernel: k\n"
                 "params: {on: 1, y: 2, n: 3, off: 4, no: 5}\n"
                 "outputs: {yes: \"f32[n]\"}\n"
                 "body: yes = on\n") == "");
}

TEST_CASE("a block entry's forms") {
  const auto block = [](const std::string& text) {
    return FindingsBelow("inputs: {x: {array: f32, block: \"" + text + "\"}}\n");
  };
  const std::string at = "syntax 4:34 ";
  CHECK(block("element(18, halo=(1, 1)), bounded( b * 2 ), element(f(a, b), halo = (k, 0))") == "");
  CHECK(block("element(18, halo=1)") ==
        "syntax 4:51 `halo` is a pair: the elements before and after | write `element(size, "
        "halo=(before, after))`\n");
  CHECK(block("element(18, 1)") ==
        "syntax 4:46 expected `halo=(before, after)` | write `element(size, halo=(before, "
        "after))`\n");
  CHECK(block("element()") ==
        at + "`element` takes a size and a halo | write `element(18, halo=(1, 1))`\n");
  CHECK(block("bounded(1, 2)") == at + "`bounded` takes a size | write `bounded(512)`\n");
  CHECK(block("elemnt(18)") ==
        at + "`elemnt` is no form of a block entry | did you mean `element`?\n");
  CHECK(block("bm, , 8") ==
        "syntax 4:38 a block entry is missing here | `null` squeezes a dimension, `all` takes the "
        "whole of it\n");
  CHECK(FindingsBelow("inputs: {x: {array: f32, block: }}\n").find("`block`") == std::string::npos);
}

TEST_CASE("places inside values") {
  // In a literal block, in quotes with escapes, in a list, in folded text.
  CHECK(Findings("kernel: k\noutputs:\n  z: f32[m]\nbody: |\n  z = 1\n  z = 2 +\n")
            .starts_with("syntax 6:10 "));
  CHECK(FindingsBelow("let: {a: \"b \\\" c\"}\n").starts_with("syntax 4:13 "));
  CHECK(FindingsBelow("let: {a: 'b ? c'}\n").starts_with("syntax 4:13 "));
  CHECK(FindingsBelow("inputs:\n  x:\n    array: f32\n    index: [i, \"j +\"]\n")
            .starts_with("syntax 7:20 "));
  CHECK(FindingsBelow("let:\n  a: b +\n     c ? d\n").starts_with("syntax 6:8 "));
  CHECK(FindingsBelow("params:\r\n  a: 1 ? 2\r\n").starts_with("syntax 5:8 "));
}

TEST_CASE("unknown keys, at every level") {
  const Parsed parsed = Parse("kernel: k\noutput: {z: f32}\nbody: z = 1\n");
  CHECK(Render(parsed.diagnostics, *parsed.source) ==
        "-:1:1: error[key]: the key `outputs` is missing\n"
        "   1 | kernel: k\n"
        "     | ^~~~~~\n"
        "  hint: for example `outputs: {z: \"f32[m]\"}`\n"
        "-:2:1: error[key]: `output` is not a key of a spec\n"
        "   2 | output: {z: f32}\n"
        "     | ^~~~~~\n"
        "  hint: did you mean `outputs`? known keys: kernel, doc, params, dims, require, let, "
        "scalars, prefetch, arguments, prepare, grid, dimension_semantics, inputs, outputs, "
        "scratch, body, epilogue, variants, vmap, instances, golden\n");
  CHECK(FindingsBelow("inputs: {x: {array: f32, blok: 1}}\n") ==
        "key 4:26 `blok` is not a key of `operand` | did you mean `block`? known keys: array, "
        "block, index, like, view, memory, pad, init, buffers, alias, if\n");
  CHECK(FindingsBelow("scratch: {s: {array: f32, mem: smem}}\n") ==
        "key 4:27 `mem` is not a key of `scratch` | known keys: array, memory, semaphore, count\n");
  CHECK(FindingsBelow("dims: {m: {multiple: 8}}\n") ==
        "key 4:12 `multiple` is not a key of `dim` | did you mean `multiple_of`? known keys: "
        "multiple_of, min, max\n");
}

TEST_CASE("keys that are missing") {
  CHECK(Findings("doc: nothing\n") ==
        "key 1:1 the key `kernel` is missing | for example `kernel: matmul`\n"
        "key 1:1 the key `outputs` is missing | for example `outputs: {z: \"f32[m]\"}`\n"
        "key 1:1 the key `body` is missing | for example `body: z = x + y`\n");
  CHECK(Findings("kernel: k\noutputs: {}\nbody: z = 1\n") ==
        "key 2:1 a kernel needs at least one output | for example `z: f32[m]` below `outputs:`\n");
  CHECK(Findings("kernel: k\noutputs: {z: f32}\nbody:\n") ==
        "key 3:1 `body` has no value; it takes statements | for example `body: z = x + y`\n");
  CHECK(FindingsBelow("variants: [{set: {}}]\nvmap: {axis: b}\n") ==
        "key 4:12 the key `when` is missing | for example `when: \"m <= 64\"`\n"
        "key 5:1 the key `dim` is missing | for example `dim: batch`\n"
        "key 5:1 the key `over` is missing | for example `over: {x: 0, z: 0}`\n");
  CHECK(FindingsBelow("scratch: {a: {count: 2}}\n")
            .starts_with("key 4:11 the buffer `a` needs either `array` or `semaphore`"));
}

TEST_CASE("values of another form") {
  CHECK(FindingsBelow("params: [a]\n") ==
        "key 4:1 `params` takes a mapping of params to expressions, not a list | for example "
        "`params: {T: bf16, bm: 512}`\n");
  CHECK(FindingsBelow("grid: 4\n") ==
        "key 4:7 `grid` takes a mapping of axes to expressions, not text | for example `grid: {i: "
        "\"cdiv(m, bm)\"}`\n");
  CHECK(
      FindingsBelow("params: {a: , b: [1], c: null}\n") ==
      "key 4:10 `a` has no value; it takes an expression | for example `params: {T: bf16, bm: "
      "512}`\n"
      "key 4:15 `b` takes an expression, not a list | for example `params: {T: bf16, bm: 512}`\n"
      "key 4:26 `c` takes an expression, not `null` | for example `params: {T: bf16, bm: 512}`\n");
  CHECK(FindingsBelow("inputs: {x: {array: f32, memory: hbm, index: [null]}}\n") ==
        "key 4:34 `memory` takes `vmem`, `smem` or `any`, not `hbm`\n"
        "key 4:47 an entry of `index` takes an expression, not `null` | for example `index: i, "
        "l`\n");
  CHECK(FindingsBelow("dimension_semantics: parallel, arbitary\n") ==
        "key 4:32 `dimension_semantics` takes `parallel` or `arbitrary`, not `arbitary` | did you "
        "mean `arbitrary`?\n");
  CHECK(FindingsBelow("prepare: {call: a = f(b), header: \"x\\\" y\"}\n")
            .starts_with("syntax 4:35 `x\" y` is not the name of a header"));
}

TEST_CASE("names") {
  const auto name = [](const std::string& word) {
    return FindingsBelow("let: {" + word + ": 1}\n");
  };
  for (const char* word : {"a", "_", "_a", "mean", "max", "steps", "T", "x9", "kernel", "mean_"}) {
    CAPTURE(word);
    CHECK(name(word) == "");
  }
  for (const char* word : {"let", "all", "inf", "when", "class", "xor", "co_await", "NAN", "f32",
                           "bool", "__a", "_A", "3d", "a-b", "a b", "größe"}) {
    CAPTURE(word);
    CHECK(name(word).starts_with("name 4:7 "));
  }
  CHECK(name("class") ==
        "name 4:7 `class` is a word of C++, which names become part of | choose "
        "another name\n");
  CHECK(name(std::string(64, 'a')) == "");
  CHECK(name(std::string(65, 'a')) ==
        "name 4:7 the name `" + std::string(60, 'a') + "…` has 65 characters; the limit is 64\n");
  // Everywhere that gives something a name.
  const std::string text =
      "kernel: int\nparams: {int: 1}\ndims: [int]\nlet: {int: 1}\nscalars: {int: i32}\n"
      "prefetch: {int: i32}\narguments: {int: i32}\ngrid: {int: 1}\ninputs: {int: f32}\n"
      "outputs: {int: f32}\nscratch: {int: f32}\ninstances: {int: {}}\n"
      "vmap: {axis: int, dim: int, over: {}}\nbody: z = 1\n";
  const std::string found = Findings(text);
  CHECK(std::count(found.begin(), found.end(), '\n') == 14);
  for (int line = 1; line <= 13; ++line) {
    CHECK(found.find("name " + std::to_string(line) + ":") != std::string::npos);
  }
}

TEST_CASE("a kernel is called like its file") {
  CHECK(Findings(kHead, "specs/k.yaml") == "");
  CHECK(Findings(kHead, "k.kiln.yaml") != "");
  CHECK(Findings(kHead, "") == "");
  CHECK(Findings(kHead, "/tmp/mm.yaml") ==
        "key 1:9 the kernel `k` is in a file called `mm` | a kernel has the name of its file: "
        "rename one of the two\n");
}

TEST_CASE("statements keep their lines") {
  const std::string head = "kernel: k\noutputs: {z: f32}\n";
  CHECK(Findings(head + "body: >\n  z = 1\n  z = 2\n") ==
        "syntax 3:7 YAML joins the lines of this `body` into one | write `body: |` and the "
        "statements below it\n");
  CHECK(Findings(head + "body:\n  z = 1\n  z = 2\n") ==
        "syntax 4:3 YAML joins the lines of this `body` into one | write `body: |` and the "
        "statements below it\n");
  CHECK(Findings(head + "body: 'z = 1\n  z = 2'\n").starts_with("syntax 3:8 YAML joins"));
  CHECK(Findings(head + "body: 'z = 1'\n") == "");
  CHECK(Findings(head + "body: \"z = 1\\nz = 2\"\n") == "");
  CHECK(Findings(head + "body: |\n  z = 1\n  when z > 0:\n    z = 2\n") == "");
}

TEST_CASE("errors that have nothing to do with each other come together") {
  const std::string found = Findings(
      "kernel: class\nparams: {a: 1, a: 2}\nfoo: 1\nlet: {b: f(x, y), c: 1 ? 2}\n"
      "grid: {i: [1]}\noutputs: {z: \"f32[\"}\nbody: |\n  z = = 1\n");
  for (const char* place : {"name 1:9", "key 2:16", "key 3:1", "yaml-split 4:10", "key 5:8",
                            "syntax 6:", "syntax 8:7"}) {
    CAPTURE(found, place);
    CHECK(found.find(place) != std::string::npos);
  }
  CHECK(std::count(found.begin(), found.end(), '\n') == 7);
}

TEST_CASE("the shipped specs read, and their text form reads as itself") {
  for (const auto& file : std::filesystem::directory_iterator(KILN_SOURCE_DIR "/specs")) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path().string());
    std::ifstream in(file.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const Parsed parsed = Parse(text.str(), file.path().string());
    INFO(Render(parsed.diagnostics, *parsed.source));
    REQUIRE(parsed.spec);
    const std::string shown = ToString(*parsed.spec);
    CHECK(Shown(shown) == shown);
  }
}

/// One small change of a text: a byte flipped, bytes left out, bytes put in, pieces swapped.
std::string Mutate(std::string text, std::mt19937& random) {
  static const std::string kSpecial = "[]{}(),:#&*!|>'\"%@`-?\n\t \\~<=0a\r\xC3\xFF";
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const size_t changes = 1 + below(3);
  for (size_t i = 0; i < changes && !text.empty(); ++i) {
    const size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text[at] = kSpecial[below(kSpecial.size())];
        break;
      case 2:
        text.insert(at, 1, kSpecial[below(kSpecial.size())]);
        break;
      case 3:
        text.erase(at, 1 + below(8));
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      case 5:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST_CASE("changed text never crashes the reader") {
  std::mt19937 random(20240817);
  int good = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = Mutate(kEverything, random);
    const auto source = std::make_shared<const Source>("-", text);
    Diagnostics diagnostics;
    const auto spec = ParseSpec(source, diagnostics);
    if ((spec == nullptr) != diagnostics.HasErrors()) FAIL(text);
    if (spec) {
      ++good;
      ToString(*spec);
    }
    for (const Diagnostic& d : diagnostics.Sorted()) {
      if (d.message.empty() || d.rule.empty() || d.span.begin > text.size() + 1) FAIL(text);
    }
    Render(diagnostics, *source);
    if (i % 10 == 0) CHECK_NOTHROW(nlohmann::json::parse(RenderJson(diagnostics, *source)));
  }
  CHECK(good > 100);  // the changes are small enough to leave some specs right
}

}  // namespace
}  // namespace kiln
