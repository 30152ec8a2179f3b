// Types, shapes and folding of expressions, by the kernel's own text form.
#include <cctype>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "generator/check/check_spec.h"
#include "generator/ir/kernel.h"
#include "generator/syntax/foreign.h"
#include "tests/catch.h"

namespace kiln::elaborate_test {
namespace {

constexpr const char* kHead = R"(kernel: probe
params: {T: bf16, b: 8, scale: 0.5, flag: false}
grid:
  i: cdiv(m, b)
  l: 4
prefetch:
  ids: i32[count]
scalars: {offset: i32}
inputs:
  x: {array: "f32[m, n]", block: "b, 16", index: "i, 0", pad: 0}
  h: {array: "T[m, n]", block: "b, 16", index: "i, 0", pad: 0}
  q: {array: "i8[m, n]", block: "b, 16", index: "i, 0", pad: 0}
  u: {array: "u32[m]", block: b, index: i, pad: 0}
  mask: {array: "bool[m, n]", block: "b, 16", index: "i, 0", pad: false}
  w: {array: "f64[m, n]", block: "b, 16", index: "i, 0", pad: 0}
outputs:
  o: {array: "f32[m, n]", block: "b, 16", index: "i, 0"}
body: |
)";

std::unique_ptr<Kernel> CheckBody(const std::string& body, std::string& messages) {
  auto source = std::make_shared<const Source>("-", kHead + body);
  Diagnostics diagnostics;
  auto spec = ParseSpec(source, diagnostics);
  std::unique_ptr<Kernel> kernel;
  if (spec) kernel = CheckSpec(*spec, {}, diagnostics);
  messages = Render(diagnostics, *source);
  return kernel;
}

/// The line that defines `t` in the kernel's text: "let t: f32[8, 16] = x + 1.0".
std::string Defined(const std::string& expression) {
  std::string messages;
  const auto kernel = CheckBody("  o = x\n  var t = " + expression + "\n", messages);
  if (!kernel) return messages;
  const std::string text = ToString(*kernel);
  const size_t begin = text.find("var t: ") + 7;
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// "error[type]: …", the first diagnostic without its place.
std::string Refused(const std::string& body) {
  std::string messages;
  if (CheckBody(body, messages)) return "accepted";
  const size_t begin = messages.find("error[");
  return messages.substr(begin, messages.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("values keep or widen their types as the language says") {
  CHECK(Defined("x + 1") == "f32[8, 16] = x + 1.0");
  CHECK(Defined("h") == "bf16[8, 16] = h");
  CHECK(Defined("h + h") == "f32[8, 16] = f32(h) + f32(h)");
  CHECK(Defined("h + x") == "f32[8, 16] = f32(h) + x");
  CHECK(Defined("max(h, 0)") == "bf16[8, 16] = max(h, 0.0)");
  CHECK(Defined("where(mask, h, 0)") == "bf16[8, 16] = where(mask, h, 0.0)");
  CHECK(Defined("-q") == "i32[8, 16] = -i32(q)");
  CHECK(Defined("q * q") == "i32[8, 16] = i32(q) * i32(q)");
  CHECK(Defined("mask & ~mask") == "bool[8, 16] = mask & ~mask");
  CHECK(Defined("sum(mask)") == "i32 = sum(i32(mask), axis=[0, 1])");
  CHECK(Defined("max(h, axis=1, keep=true)") == "bf16[8, 1] = max(h, axis=1, keep=true)");
  CHECK(Defined("argmax(x, axis=-1)") == "i32[8] = argmax(x, axis=1)");
  CHECK(Defined("dot(h, h.T)") == "f32[8, 8] = dot(h, transpose(h, [1, 0]))");
  CHECK(Defined("dot(q, q.T)") == "i32[8, 8] = dot(q, transpose(q, [1, 0]))");
  CHECK(Defined("u << 3") == "u32[8] = u << 3");
  CHECK(Defined("bitcast(u32, x)") == "u32[8, 16] = bitcast(u32, x)");
  CHECK(Defined("x < 1") == "bool[8, 16] = x < 1.0");
  CHECK(Defined("0 <= x < 1") == "bool[8, 16] = (0.0 <= x) & (x < 1.0)");
}

TEST_CASE("weak values take the other side's type") {
  CHECK(Defined("u + i") == "u32[8] = u + i");
  CHECK(Defined("i * b + 3") == "i32 = i * 8 + 3");
  CHECK(Defined("w * scale") == "f64[8, 16] = w * 0.5");
  CHECK(Defined("w * sqrt(4.0)") == "f64[8, 16] = w * 2.0");
  CHECK(Defined("x * (2 + 3)") == "f32[8, 16] = x * 5.0");
  CHECK(Defined("scale * 3") == "f32 = 1.5");
  CHECK(Defined("x * f32(n)") == "f32[8, 16] = x * f32(n)");
  CHECK(Defined("offset + i") == "i32 = offset + i");
  CHECK(Defined("ids[i * 2 + offset]") == "i32 = ids[i * 2 + offset]");
}

TEST_CASE("generation-time choices fold away before their branches are read") {
  CHECK(Defined("x if T == bf16 else nonsense(y)") == "f32[8, 16] = x");
  CHECK(Defined("x if flag and nonsense else h * 2") == "f32[8, 16] = f32(h) * 2.0");
}

TEST_CASE("a loop of one turn is that turn") {
  const auto text = [](const std::string& body) {
    std::string messages;
    const auto kernel = CheckBody(body, messages);
    INFO(messages);
    REQUIRE(kernel);
    const std::string all = ToString(*kernel);
    return all.substr(all.find("o = "));
  };
  CHECK(text("  o = x\n  for k in range(16 // (2 * b)):\n    o[:, ds(k * 16, 2 * b)] = h * "
             "f32(k)\n") == text("  o = x\n  o[:, 0:16] = h * f32(0)\n"));
  CHECK(text("  o = x\n  for k in range(b, b + 1):\n    for r in range(k - 1, k):\n      o[r] = "
             "f32(r)\n") == text("  o = x\n  o[7] = f32(7)\n"));
  CHECK(text("  o = x\n  for k in range(2):\n    o[k] = f32(k)\n").find("for k") !=
        std::string::npos);
  CHECK(Refused("  o = x\n  for k in range(1):\n    let k = 2\n").find("error[name]") == 0);
  CHECK(Refused("  o = x\n  for k in range(1):\n    o[k] = 1\n  o[k] = 2\n").find("error[name]") ==
        0);
}

TEST_CASE("shapes follow numpy") {
  CHECK(Defined("x[0]") == "f32[16] = x[0, ds(0, 16)]");
  CHECK(Defined("x[:, 2:4]") == "f32[8, 2] = x[ds(0, 8), ds(2, 2)]");
  CHECK(Defined("x[l * 2:(l + 1) * 2]") == "f32[2, 16] = x[ds(l * 2, 2), ds(0, 16)]");
  CHECK(Defined("x[..., ds(l, 4)]") == "f32[8, 4] = x[ds(0, 8), ds(l, 4)]");
  CHECK(Defined("expand(u, 1) + u") == "u32[8, 8] = reshape(u, [8, 1]) + u");
  CHECK(Defined("reshape(x, [4, -1])") == "f32[4, 32] = reshape(x, [4, 32])");
  CHECK(Defined("concat([x, x], axis=1)") == "f32[8, 32] = concat([x, x], axis=1)");
  CHECK(Defined("broadcast(0, [b, 4])") == "i32[8, 4] = broadcast(0, [8, 4])");
  CHECK(Defined("sum(x, axis=[0, 1])") == "f32 = sum(x, axis=[0, 1])");
  CHECK(Defined("transpose(expand(x, 0), [2, 0, 1])") ==
        "f32[16, 1, 8] = transpose(reshape(x, [1, 8, 16]), [2, 0, 1])");
}

TEST_CASE("mixed types, bad casts and bad shapes are refused by rule") {
  CHECK(Refused("  o = h + q\n") == "error[type]: `+` mixes f32 and i32");
  CHECK(Refused("  o = x * i\n") ==
        "error[type]: `*` with f32: an integer does not become f32 by itself");
  CHECK(Refused("  o = x * b\n") ==
        "error[type]: `*` with f32: an integer does not become f32 by itself");
  CHECK(Refused("  o = h\n") == "error[type]: a value of type bf16 into `o` (f32)");
  CHECK(Refused("  o = exp(q)\n") == "error[type]: `exp` needs floats, not i32");
  CHECK(Refused("  o = x & x\n") == "error[type]: `&` needs integers, not f32");
  CHECK(Refused("  o = dot(x, w.T)\n") == "error[type]: `dot` of f32 and f64");
  CHECK(Refused("  o = x[8, 0]\n").substr(0, 18) == "error[index-range]");
  CHECK(Refused("  o = x[0:-1]\n").substr(0, 18) == "error[index-range]");
  CHECK(Refused("  o = bitcast(i16, x[0])\n") ==
        "error[type]: bitcast of f32 to i16: the widths differ");
  CHECK(Refused("  o = bitcast(bool, x)\n") ==
        "error[type]: bitcast of f32 to bool: bools have no bits of their own");
  CHECK(Refused("  let t = bitcast(u32, h[0:3])\n") ==
        "error[shape]: bitcast of bf16 to u32 needs a multiple of 2 rows");
}

TEST_CASE("a bool is no extent") {
  CHECK(Refused("  o = x\n  var t: f32[true] = 0\n") ==
        "error[type]: a shape needs an integer, not bool");
  CHECK(Refused("  o = x\n  let t = iota([b > 3])\n") ==
        "error[type]: a shape needs an integer, not bool");
  CHECK(Refused("  o = x\n  let t = cumsum(x, axis=false)\n") ==
        "error[type]: an axis needs an integer, not bool");
}

TEST_CASE("a mask must have its target's shape; a subscript need not be one") {
  std::string messages;
  CHECK(CheckBody("  o = 0\n  o[mask] = x\n  o[mask & (x > 0)] = 1\n", messages));
  CHECK(CheckBody("  o = 0\n  o[l] = x[0]\n  o[ds(l, 2), 0:4] = 1\n", messages));
  CHECK(Refused("  o[x[0] > 0] = 1\n").substr(0, 12) == "error[shape]");
}

TEST_CASE("a window and a mask of it, one after the other") {
  std::string messages;
  CHECK(CheckBody("  o = 0\n  o[l][x[0] > 0] = x[0]\n  o[:, 0:4][mask[:, 0:4]] += 1\n", messages));
  CHECK(Refused("  o[0:4][mask] = 1\n") ==
        "error[shape]: the mask has shape [8, 16] and `o` [4, 16]");
  CHECK(Refused("  o[0][1] = 1\n") ==
        "error[type]: what follows a window of `o` must be a mask of it");
  CHECK(Refused("  o[mask][mask] = 1\n") ==
        "error[type]: what follows a window of `o` must be a mask of it");
  CHECK(Refused("  o[0, 1][mask] = 1\n") == "error[shape]: one element of `o` takes no mask");
}

TEST_CASE("a bitcast between widths is slices and shifts") {
  CHECK(Defined("bitcast(i32, h)") ==
        "i32[4, 16] = bitcast(i32, u32(bitcast(u16, h[ds(0, 4, stride=2), ds(0, 16)])) | "
        "u32(bitcast(u16, h[ds(1, 4, stride=2), ds(0, 16)])) << 16)");
  CHECK(Defined("bitcast(u16, x)").substr(0, 12) == "u16[16, 16] ");
}

TEST_CASE("`take` puts the shape of its indices in place of an axis") {
  CHECK(Defined("take(x, iota([3, 5], 1), axis=0)") ==
        "f32[3, 5, 16] = take(x, iota([3, 5], axis=1), axis=0)");
  CHECK(Defined("take(h, u % 4, 1)") == "bf16[8, 8] = take(h, u % 4, axis=1)");
  CHECK(Refused("  o = x\n  let t = take(x, x[0], axis=1)\n") ==
        "error[type]: `take` chooses by integers, not by f32");
  CHECK(Refused("  o = x\n  let t = take(x, l, axis=1)\n") ==
        "error[shape]: `take` chooses by a tile of integers, not by one");
  CHECK(Refused("  o = x\n  let t = take(x, u)\n") == "error[syntax]: `take` needs an axis");
  CHECK(Refused("  o = x\n  let t = take(x, u, axis=2)\n") ==
        "error[shape]: axis 2 of the value, which has rank 2");
}

TEST_CASE("strides of slices") {
  CHECK(Defined("x[::2, 1:16:4]") == "f32[4, 4] = x[ds(0, 4, stride=2), ds(1, 4, stride=4)]");
  CHECK(Defined("x[0:7:3, ds(l, 4, stride=4)]") ==
        "f32[3, 4] = x[ds(0, 3, stride=3), ds(l, 4, stride=4)]");
  CHECK(Refused("  o = 0\n  o[ds(2, 4, stride=2)] = 1\n") ==
        "error[index-range]: the slice [2:9:2] of `o` (dimension 0) is out of range: its extent is "
        "8");
  CHECK(Refused("  o = x[::0]\n") == "error[shape]: a stride of 0; strides begin at 1");
  CHECK(Refused("  o = x[::-1]\n") == "error[shape]: a stride of -1; strides begin at 1");
  CHECK(Refused("  o = x[::l]\n") == "error[name]: `l` is a grid axis; a stride cannot use it");
  CHECK(Refused("  o = x[ds(0, 4, step=2)]\n") ==
        "error[syntax]: ds takes a start and a size: ds(start, size)");
}

/// The body of a kernel with buffers and semaphores, from the statements behind `o = 0`.
std::string Copying(const std::string& body) {
  auto source = std::make_shared<const Source>("-", R"(kernel: probe
grid: {i: 4}
prefetch: {lengths: "i32[4]"}
inputs:
  x: {array: "f32[64]", memory: any}
outputs: {o: "f32[8]"}
scratch:
  buffer: f32[2, 8]
  sem: {semaphore: dma, count: "2, 3"}
body: |
  o = 0
)" + body);
  Diagnostics diagnostics;
  auto spec = ParseSpec(source, diagnostics);
  std::unique_ptr<Kernel> kernel;
  if (spec) kernel = CheckSpec(*spec, {}, diagnostics);
  const std::string text = kernel ? ToString(*kernel) : Render(diagnostics, *source);
  const size_t begin = kernel ? text.find("= 0.0\n") + 6 : text.find("error[");
  return kernel ? text.substr(begin) : text.substr(begin, text.find('\n', begin) - begin);
}

TEST_CASE("semaphores of two dimensions, and waits for bytes") {
  CHECK(Copying("  copy x[0:8] -> buffer[0], sem[1, 2]\n  wait sem[1, 2], buffer[0]\n") ==
        "  copy x[ds(0, 8)] -> buffer[0, ds(0, 8)], sem[1, 2]\n"
        "  wait sem[1, 2], buffer[0, ds(0, 8)]\n");
  CHECK(Copying("  wait sem[1]\n") == "error[shape]: one semaphore is needed, not a range of them");
  CHECK(Copying("  wait sem\n") == "error[shape]: `sem` has 6 semaphores");
  CHECK(Copying("  wait sem[0, 3]\n") ==
        "error[index-range]: the subscript 3 of `sem` (dimension 1) is out of range: its extent is "
        "3");
}

TEST_CASE("sizes known at run time, in copies and waits alone") {
  const std::string rows = "ds(0, lengths[i], most=8)";
  CHECK(Copying("  copy x[" + rows + "] -> buffer[0, " + rows + "], sem[0, 0]\n  wait sem[0, 0]\n") ==
        "  copy x[ds(0, lengths[i], most=8)] -> buffer[0, ds(0, lengths[i], most=8)], sem[0, 0]\n"
        "  wait sem[0, 0]\n");
  CHECK(Copying("  copy x[" + rows + "] -> buffer[0], sem[0, 0]\n") ==
        "error[shape]: only one end of the copy has a size known at run time");
  CHECK(Copying("  copy x[ds(0, 9, most=8)] -> buffer[0], sem[0, 0]\n") ==
        "error[index-range]: the size 9 of a slice of `x` (dimension 0) is out of range: most=8");
  CHECK(Copying("  o = buffer[0, " + rows + "]\n") ==
        "error[shape]: a value has a fixed shape: `most=` stands in copies and waits alone");
  CHECK(Copying("  copy x[ds(0, 4, stride=2)] -> buffer[0, 0:4], sem[0, 0]\n") ==
        "error[type]: a copy moves neighbours; this window of `x` has a stride of 2");
}

TEST_CASE("several names are given values that see none of them") {
  std::string messages;
  CHECK(CheckBody("  let s, t = x[0], 3\n  var u1, v1 = s, t\n  v1 += 1\n  o = u1 + f32(v1)\n",
                  messages));
  CHECK(messages == "");
  CHECK(Refused("  o = x\n  let s, t = x, s\n") == "error[name]: `s` is not defined");
  CHECK(Refused("  o = x\n  let s, s = x, h\n") ==
        "error[name]: `s` is already a name defined earlier; all names of a spec share one "
        "namespace");
  CHECK(Refused("  o = x\n  let s, t = (x, h) if offset else (x, h)\n") ==
        "error[type]: a condition must be a bool, not i32");
}

TEST_CASE("a chain of doubling lets is refused, not followed") {
  std::string lets = "let:\n  a0: m\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "a" + std::to_string(i - 1);
    lets += "  a" + std::to_string(i) + ": " + before + " + " + before + "\n";
  }
  auto source = std::make_shared<const Source>("-", lets + kHead + "  o = x\n  var t = a59\n");
  Diagnostics diagnostics;
  auto spec = ParseSpec(source, diagnostics);
  REQUIRE(spec);
  CHECK(CheckSpec(*spec, {}, diagnostics) == nullptr);
}

/// The names that are called in a hint: "dot" of "write dot(a, b)".
std::vector<std::string> CallsIn(std::string_view hint) {
  std::vector<std::string> calls;
  size_t begin = hint.size();
  for (size_t at = 0; at < hint.size(); ++at) {
    const char c = hint[at];
    const bool word = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (word && begin == hint.size()) begin = at;
    if (c == '(' && begin != hint.size()) calls.emplace_back(hint.substr(begin, at - begin));
    if (!word) begin = hint.size();
  }
  return calls;
}

TEST_CASE("hints for words of other systems name functions that exist, for words that do not") {
  for (const ForeignWord& row : ForeignWords()) {
    std::istringstream in{std::string(row.words)};
    for (std::string word; in >> word;) {
      INFO(word);
      CHECK_FALSE(FindFunction(word));
      CHECK(HintForForeign(word) == row.hint);
    }
    for (const std::string& name : CallsIn(row.hint)) {
      INFO(row.hint << ": " << name);
      CHECK((FindFunction(name) || ParseDType(name) || name == "ds" || name == "range"));
    }
  }
}

TEST_CASE("a word of another system is answered by Kiln's") {
  CHECK(Refused("  o = pow(x, 2)\n") == "error[name]: there is no function `pow`");
  std::string messages;
  CHECK_FALSE(CheckBody("  o = pow(x, 2)\n  o = x * pi\n", messages));
  CHECK(messages.find("hint: write a ** b") != std::string::npos);
  CHECK(messages.find("hint: write 3.141592653589793") != std::string::npos);
}

TEST_CASE("an argument of another system is answered by Kiln's") {
  const std::pair<const char*, const char*> cases[] = {
      {"cumsum(x, axis=0, reverse=true)",
       "hint: sums from the end are those of all less those before: "
       "sum(x, axis=0, keep=true) - cumsum(x, axis=0) + x\n"},
      {"sum(x, axis=1, keepdims=true)", "hint: write keep=true\n"},
      {"sum(x, dim=1)", "hint: write axis=…\n"},
      {"gelu(x, approximate=true)", "hint: gelu_tanh(x) is the approximation by tanh"},
      {"dot(x, x.T, precision=1)", "hint: dot sums up in f32"},
      {"cumsum(x, axle=0)", "hint: write cumsum(x, axis=0)\n"},
  };
  for (const auto& [expression, part] : cases) {
    std::string messages;
    CHECK_FALSE(CheckBody(std::string("  o = ") + expression + "\n", messages));
    INFO(messages);
    CHECK(messages.find(part) != std::string::npos);
  }
  for (const ForeignArgument& row : ForeignArguments()) {
    for (const std::string& name : CallsIn(row.hint)) {
      INFO(row.hint << ": " << name);
      CHECK((FindFunction(name) || ParseDType(name)));
    }
  }
}

TEST_CASE("a subscript from the end says what it is from the start") {
  std::string messages;
  CHECK_FALSE(CheckBody("  o = x[:, -1]\n  o = x[0:-2]\n", messages));
  CHECK(messages.find("the subscript -1 of `x` (dimension 1) is out of range: its extent is 16") !=
        std::string::npos);
  CHECK(messages.find("hint: count from the start: 15\n") != std::string::npos);
  CHECK(messages.find("hint: count from the start: 6\n") != std::string::npos);
  auto source = std::make_shared<const Source>(
      "-", "kernel: k\ninputs: {x: \"f32[n]\"}\noutputs: {o: f32}\nbody: o = x[-1]\n");
  Diagnostics diagnostics;
  const auto spec = ParseSpec(source, diagnostics);
  CHECK_FALSE(CheckSpec(*spec, {}, diagnostics));
  CHECK(Render(diagnostics, *source).find("hint: count from the start: n - 1\n") !=
        std::string::npos);
}

TEST_CASE("a name that nothing defines is reported once, with what would define it") {
  auto source = std::make_shared<const Source>("-", R"yaml(kernel: k
params: {bq: 8}
let: {group: hq // hk}
grid: {h: hk, i: "cdiv(m, bq)"}
inputs:
  q: {array: "f32[hk, hq // hk, m, d]", block: "null, all, bq, all", index: "h, 0, i, 0"}
  k: {array: "f32[hk, n, d]", block: "null, all, all", index: "h // group, 0, 0"}
outputs:
  o: {array: "f32[hk, hq // hk, m, d]", like: q}
scratch: {acc: "f32[hq // hk, bq, d]"}
body: o = q
)yaml");
  Diagnostics diagnostics;
  const auto spec = ParseSpec(source, diagnostics);
  REQUIRE(spec);
  CHECK_FALSE(CheckSpec(*spec, {}, diagnostics));
  const std::string told = Render(diagnostics, *source);
  INFO(told);
  CHECK(told.find("-:6:23: error[name]: `hq` is not defined (and at 4 more places)\n") !=
        std::string::npos);
  CHECK(
      told.find("hint: a dimension stands by itself in the shape of an argument, f32[hq, …]; other "
                "names are params, axes, scalars and lets\n") != std::string::npos);
  CHECK(told.find("is not defined", told.find("is not defined") + 1) == std::string::npos);
}

TEST_CASE("of shapes that follow from one that is at fault nothing is said") {
  auto source = std::make_shared<const Source>("-", R"yaml(kernel: k
grid: {g: groups}
inputs: {x: {array: "f32[groups * 4, n]", block: "4, all", index: "g, 0"}}
outputs: {y: {array: "f32[groups * 4, n]", like: x}}
body: y = x + iota([4, n], 0)
)yaml");
  Diagnostics diagnostics;
  const auto spec = ParseSpec(source, diagnostics);
  REQUIRE(spec);
  CHECK_FALSE(CheckSpec(*spec, {}, diagnostics));
  const std::string told = Render(diagnostics, *source);
  INFO(told);
  CHECK(told.find("`groups` is not defined (and at 2 more places)") != std::string::npos);
  CHECK(told.find("error[shape]") == std::string::npos);
}

}  // namespace kiln::elaborate_test
