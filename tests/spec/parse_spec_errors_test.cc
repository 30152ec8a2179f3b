// Every error of a key, with the whole message.
#include <algorithm>

#include "tests/spec/spec_testing.h"

namespace kiln::parse_spec_errors_test {
namespace {

using namespace spec_testing;

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
        "scratch, body, epilogue, pipeline, variants, vmap, instances, golden, reference\n");
  CHECK(MessagesBelow("inputs: {x: {array: f32, blok: 1}}\n") ==
        "key 4:26 `blok` is not a key of `operand` | did you mean `block`? known keys: array, "
        "block, index, like, view, memory, pad, init, buffers, alias, if\n");
  CHECK(MessagesBelow("scratch: {s: {array: f32, mem: smem}}\n") ==
        "key 4:27 `mem` is not a key of `scratch` | known keys: array, memory, semaphore, count\n");
  CHECK(MessagesBelow("dims: {m: {multiple: 8}}\n") ==
        "key 4:12 `multiple` is not a key of `dim` | did you mean `multiple_of`? known keys: "
        "multiple_of, min, max\n");
}

TEST_CASE("keys that are missing") {
  CHECK(Messages("doc: nothing\n") ==
        "key 1:1 the key `kernel` is missing | for example `kernel: matmul`\n"
        "key 1:1 the key `outputs` is missing | for example `outputs: {z: \"f32[m]\"}`\n"
        "key 1:1 the key `body` is missing | for example `body: z = x + y`\n");
  CHECK(Messages("kernel: k\noutputs: {}\nbody: z = 1\n") ==
        "key 2:1 a kernel needs at least one output | for example `z: f32[m]` below `outputs:`\n");
  CHECK(Messages("kernel: k\noutputs: {z: f32}\nbody:\n") ==
        "key 3:1 `body` has no value; it takes statements | for example `body: z = x + y`\n");
  CHECK(MessagesBelow("variants: [{set: {}}]\nvmap: {axis: b}\n") ==
        "key 4:12 the key `when` is missing | for example `when: \"m <= 64\"`\n"
        "key 5:1 the key `dim` is missing | for example `dim: batch`\n"
        "key 5:1 the key `over` is missing | for example `over: {x: 0, z: 0}`\n");
  CHECK(MessagesBelow("scratch: {a: {count: 2}}\n")
            .starts_with("key 4:11 the buffer `a` needs either `array` or `semaphore`"));
}

TEST_CASE("values of another form") {
  CHECK(MessagesBelow("params: [a]\n") ==
        "key 4:1 `params` takes a mapping of params to expressions, not a list | for example "
        "`params: {T: bf16, bm: 512}`\n");
  CHECK(MessagesBelow("grid: 4\n") ==
        "key 4:7 `grid` takes a mapping of axes to expressions, not text | for example `grid: {i: "
        "\"cdiv(m, bm)\"}`\n");
  CHECK(
      MessagesBelow("params: {a: , b: [1], c: null}\n") ==
      "key 4:10 `a` has no value; it takes an expression | for example `params: {T: bf16, bm: "
      "512}`\n"
      "key 4:15 `b` takes an expression, not a list | for example `params: {T: bf16, bm: 512}`\n"
      "key 4:26 `c` takes an expression, not `null` | for example `params: {T: bf16, bm: 512}`\n");
  CHECK(MessagesBelow("inputs: {x: {array: f32, memory: hbm, index: [null]}}\n") ==
        "key 4:34 `memory` takes `vmem`, `smem` or `any`, not `hbm`\n"
        "key 4:47 an entry of `index` takes an expression, not `null` | for example `index: i, "
        "l`\n");
  CHECK(MessagesBelow("dimension_semantics: parallel, arbitary\n") ==
        "key 4:32 `dimension_semantics` takes `parallel` or `arbitrary`, not `arbitary` | did you "
        "mean `arbitrary`?\n");
  CHECK(MessagesBelow("prepare: {call: a = f(b), header: \"x\\\" y\"}\n")
            .starts_with("syntax 4:35 `x\" y` is not the name of a header"));
}

TEST_CASE("names") {
  const auto name = [](const std::string& word) {
    return MessagesBelow("let: {" + word + ": 1}\n");
  };
  for (const char* word : {"a", "_", "_a", "mean", "max", "steps", "T", "x9", "kernel", "mean_",
                           "INT", "EPS", "M", "errno_", "a_b_c"}) {
    CAPTURE(word);
    CHECK(name(word) == "");
  }
  for (const char* word :
       {"let",  "all",  "inf",  "when",      "class",   "xor",    "co_await", "NAN",   "f32",
        "bool", "__a",  "_A",   "a__b",      "INT_MAX", "EINVAL", "M_PI",     "errno", "std",
        "hwy",  "kiln", "main", "HWY_ALIGN", "assert",  "3d",     "a-b",      "a b",   "größe"}) {
    CAPTURE(word);
    CHECK(name(word).starts_with("name 4:7 "));
  }
  CHECK(name("class") ==
        "name 4:7 `class` is a word of C++, which names become part of | choose "
        "another name\n");
  CHECK(
      name("INT_MAX") ==
      "name 4:7 `INT_MAX` is, or may be, a macro of the headers that the generated C++ includes | "
      "choose another name\n");
  CHECK(name("a__b") ==
        "name 4:7 names like `a__b` belong to the C++ compiler | one `_` at a time, and no capital "
        "after one at the beginning\n");
  CHECK(name("hwy") ==
        "name 4:7 `hwy` is a name that the generated C++ has its own use for | choose another "
        "name\n");
  CHECK(name(std::string(64, 'a')) == "");
  CHECK(name(std::string(65, 'a')) ==
        "name 4:7 the name `" + std::string(60, 'a') + "…` has 65 characters; the limit is 64\n");
  // Everywhere that gives something a name.
  const std::string text =
      "kernel: int\nparams: {int: 1}\ndims: [int]\nlet: {int: 1}\nscalars: {int: i32}\n"
      "prefetch: {int: i32}\narguments: {int: i32}\ngrid: {int: 1}\ninputs: {int: f32}\n"
      "outputs: {int: f32}\nscratch: {int: f32}\ninstances: {int: {}}\n"
      "vmap: {axis: int, dim: int, over: {}}\nbody: z = 1\n";
  const std::string found = Messages(text);
  CHECK(std::count(found.begin(), found.end(), '\n') == 14);
  for (int line = 1; line <= 13; ++line) {
    CHECK(found.find("name " + std::to_string(line) + ":") != std::string::npos);
  }
}

TEST_CASE("a kernel is called like its file") {
  CHECK(Messages(kHead, "specs/k.yaml") == "");
  CHECK(Messages(kHead, "k.kiln.yaml") != "");
  CHECK(Messages(kHead, "") == "");
  CHECK(Messages(kHead, "/tmp/mm.yaml") ==
        "key 1:9 the kernel `k` is in a file called `mm` | a kernel has the name of its file: "
        "rename one of the two\n");
}

TEST_CASE("errors that have nothing to do with each other come together") {
  const std::string found = Messages(
      "kernel: class\nparams: {a: 1, a: 2}\nfoo: 1\nlet: {b: f(x, y), c: 1 ? 2}\n"
      "grid: {i: [1]}\noutputs: {z: \"f32[\"}\nbody: |\n  z = = 1\n");
  for (const char* place : {"name 1:9", "key 2:16", "key 3:1", "yaml-split 4:10", "key 5:8",
                            "syntax 6:", "syntax 8:7"}) {
    CAPTURE(found, place);
    CHECK(found.find(place) != std::string::npos);
  }
  CHECK(std::count(found.begin(), found.end(), '\n') == 7);
}

}  // namespace
}  // namespace kiln::parse_spec_errors_test
