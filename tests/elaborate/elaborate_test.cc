// Types, shapes and folding of expressions, by the kernel's own text form.
#include <memory>
#include <string>

#include "generator/check/check_spec.h"
#include "generator/ir/kernel.h"
#include "tests/catch.h"
#include "tests/elaborate/probe.h"

namespace kiln::elaborate_test {
namespace {

/// The line that defines `t` in the kernel's text: "let t: f32[8, 16] = x + 1.0".
std::string Defined(const std::string& expression) {
  std::string messages;
  const auto kernel = CheckBody("  o = x\n  var t = " + expression + "\n", messages);
  if (!kernel) return messages;
  const std::string text = ToString(*kernel);
  const size_t begin = text.find("var t: ") + 7;
  return text.substr(begin, text.find('\n', begin) - begin);
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

TEST_CASE("a window of weak values has the type of those that nothing decides") {
  CHECK(Defined("where(mask, 2, 0.5)[0:4]") ==
        "f32[4, 16] = where(mask, 2.0, 0.5)[ds(0, 4), ds(0, 16)]");
  CHECK(Defined("where(mask, 2, 1)[3, 0]") == "i32 = where(mask, 2, 1)[3, 0]");
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
  CHECK(
      Copying("  copy x[" + rows + "] -> buffer[0, " + rows + "], sem[0, 0]\n  wait sem[0, 0]\n") ==
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

}  // namespace kiln::elaborate_test
