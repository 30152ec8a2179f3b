#include "kiln/call/call.h"

#include <string>

#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

float g_data[1000];

std::string Input(const Tensor<const float>& tensor, std::initializer_list<int64_t> expected) {
  CallCheck check("kernel");
  check.Input(tensor, "x", expected);
  return check.status().message;
}
std::string Output(const Tensor<float>& tensor, std::initializer_list<int64_t> expected) {
  CallCheck check("kernel");
  check.Output(tensor, "z", expected);
  return check.status().message;
}

TEST_CASE("Shapes are what they have to be") {
  CHECK(Input({g_data, {3, 4}}, {3, 4}) == "");
  CHECK(Input({g_data, {}}, {}) == "");
  CHECK(Input({g_data, {3, 4}}, {5, 4}) == "kernel: x has shape [3, 4], expected [5, 4]");
  CHECK(Input({g_data, {3}}, {3, 4}) == "kernel: x has shape [3], expected [3, 4]");
  CHECK(Input({g_data, {}}, {1}) == "kernel: x has shape [], expected [1]");
  CHECK(Input({g_data, {1, 1, 1, 1, 1, 1, 1, 1, 1}}, {1}) ==
        "kernel: x has shape [1, 1, 1, 1, 1, 1, 1, 1, …], expected [1]");
  CHECK(Input({g_data, {3, -1}}, {3, -1}) == "kernel: x has a negative extent: [3, -1]");
  CHECK(Input({g_data, {3, 4}, {4}}, {3, 4}) == "kernel: x has not as many strides as dimensions");
}

TEST_CASE("A dimension is a size of the call") {
  CallCheck check("kernel");
  const Tensor<float> x(g_data, {3, 4});
  CHECK(check.Dim("m", x, "x", 0) == 3);
  CHECK(check.Dim("n", x, "x", 1) == 4);
  CHECK(check.ok());
  CHECK(check.Dim("k", x, "x", 2) == 0);
  CHECK(std::string(check.status().message) ==
        "kernel: x has shape [3, 4], which has no dimension 2");
}

TEST_CASE("Arrays without elements need no data") {
  CHECK(Input({nullptr, {0, 4}}, {0, 4}) == "");
  CHECK(Output({nullptr, {4, 0}}, {4, 0}) == "");
  CHECK(Input({nullptr, {1, 4}}, {1, 4}) == "kernel: x has no data");
}

TEST_CASE("Data is aligned to its elements") {
  const auto* const odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(g_data) + 2);
  CHECK(Input({odd, {4}}, {4}) == "kernel: x is not aligned to its elements of 4 bytes");
}

TEST_CASE("Rows are contiguous") {
  CHECK(Input({g_data, {3, 4}, {1, 3}}, {3, 4}) ==
        "kernel: x has stride 3 in its last dimension, expected 1");
  CHECK(Input({g_data, {3, 1}, {1, 3}}, {3, 1}) == "");
  CHECK(Input({g_data, {3, 4}, {10, 1}}, {3, 4}) == "");
}

TEST_CASE("Rows of packed elements begin with whole bytes") {
  auto* const data = reinterpret_cast<i4*>(g_data);
  CallCheck check("kernel");
  const Tensor<i4> odd(data, {3, 5});
  CHECK(odd.stride[0] == 6);
  check.Output(odd, "z", {3, 5});
  CHECK(check.ok());
  // From the first byte to the last, of which half is used.
  CHECK(check.arguments().begin()->end - check.arguments().begin()->begin == 9);
  check.Input(Tensor<const i4>(data + 9, {3, 5}, {-6, 1}), "x", {3, 5});
  CHECK(std::string(check.status().message) == "kernel: x overlaps z in memory");

  CallCheck strided("kernel");
  strided.Input(Tensor<const i4>(data, {3, 5}, {5, 1}), "x", {3, 5});
  CHECK(std::string(strided.status().message) ==
        "kernel: x has stride 5 in dimension 0: rows of i4 begin with whole bytes");
}

TEST_CASE("Packed arrays are filled and copied row by row") {
  unsigned char from[6] = {0x21, 0x03, 0x54, 0x06, 0x87, 0x09}, to[9] = {};
  CopyTensor(Tensor<const u4>(reinterpret_cast<const u4*>(from), {3, 3}),
             Tensor<u4>(reinterpret_cast<u4*>(to), {3, 3}, {6, 1}));
  CHECK(std::string(reinterpret_cast<char*>(to), 9) ==
        std::string("\x21\x03\0\x54\x06\0\x87\x09\0", 9));
  Fill(Tensor<u4>(reinterpret_cast<u4*>(to), {3, 3}, {6, 1}), u4{0xC});
  CHECK(std::string(reinterpret_cast<char*>(to), 9) ==
        std::string("\xCC\x0C\0\xCC\x0C\0\xCC\x0C\0", 9));
}

TEST_CASE("Inputs may repeat or reverse rows, outputs may not") {
  CHECK(Input({g_data, {3, 4}, {0, 1}}, {3, 4}) == "");
  CHECK(Input({g_data + 100, {3, 4}, {-4, 1}}, {3, 4}) == "");
  CHECK(Output({g_data, {3, 4}, {0, 1}}, {3, 4}) ==
        "kernel: z has stride 0 in dimension 0: an output needs positive ones");
  CHECK(Output({g_data + 100, {3, 4}, {-4, 1}}, {3, 4}) ==
        "kernel: z has stride -4 in dimension 0: an output needs positive ones");
  CHECK(Output({g_data, {3, 4}, {3, 1}}, {3, 4}) ==
        "kernel: z has stride 3 in dimension 0: elements that overlap");
  CHECK(Output({g_data, {3, 2, 4}, {4, 12, 1}}, {3, 2, 4}) == "");
  CHECK(Output({g_data, {1, 4}, {0, 1}}, {1, 4}) == "");
}

TEST_CASE("Sizes that no memory has") {
  const int64_t huge = int64_t{1} << 40;
  CHECK(Input({g_data, {huge, huge}}, {huge, huge}) == "kernel: x is larger than any memory");
  CHECK(Output({g_data, {huge, 4}, {huge, 1}}, {huge, 4}) == "kernel: z is larger than any memory");
}

TEST_CASE("An output overlaps no other argument") {
  const auto overlap = [](const Tensor<float>& x, const Tensor<float>& z) {
    CallCheck check("kernel");
    check.Input(x, "x", {4, 4});
    check.Output(z, "z", {4, 4});
    return std::string(check.status().message);
  };
  CHECK(overlap({g_data, {4, 4}}, {g_data + 16, {4, 4}}) == "");
  CHECK(overlap({g_data, {4, 4}}, {g_data + 15, {4, 4}}) == "kernel: z overlaps x in memory");
  CHECK(overlap({g_data, {4, 4}}, {g_data, {4, 4}}) == "kernel: z overlaps x in memory");
  CHECK(overlap({g_data + 12, {4, 4}, {-4, 1}}, {g_data, {4, 4}}) ==
        "kernel: z overlaps x in memory");
  // Columns 0 to 3 and 4 to 7 of one matrix, in any order; then 3 to 6.
  CHECK(overlap({g_data, {4, 4}, {8, 1}}, {g_data + 4, {4, 4}, {8, 1}}) == "");
  CHECK(overlap({g_data + 4, {4, 4}, {8, 1}}, {g_data, {4, 4}, {8, 1}}) == "");
  CHECK(overlap({g_data, {4, 4}, {8, 1}}, {g_data + 3, {4, 4}, {8, 1}}) ==
        "kernel: z overlaps x in memory");
  CHECK(overlap({g_data + 5, {4, 4}, {8, 1}}, {g_data, {4, 4}, {8, 1}}) ==
        "kernel: z overlaps x in memory");
}

TEST_CASE("Inputs may overlap each other") {
  CallCheck check("kernel");
  const Tensor<const float> x(g_data, {4});
  check.Input(x, "x", {4});
  check.Input(x, "y", {4});
  CHECK(check.ok());
}

TEST_CASE("An output that takes over an input's memory may be the input") {
  const Tensor<float> x(g_data, {4, 4});
  CallCheck check("kernel");
  check.Input(x, "x", {4, 4});
  check.Output(x, "z", {4, 4}, /*alias=*/"x");
  CHECK(check.ok());
  CallCheck shifted("kernel");
  shifted.Input(x, "x", {4, 4});
  shifted.Output(Tensor<float>(g_data + 4, {4, 4}), "z", {4, 4}, "x");
  CHECK(shifted.status().code == kAlias);
}

TEST_CASE("Constraints of sizes") {
  const auto message = [](const auto& fn) {
    CallCheck check("kernel");
    fn(check);
    return std::string(check.status().message);
  };
  CHECK(message([](CallCheck& c) { c.MultipleOf("m", 12, 4); }) == "");
  CHECK(message([](CallCheck& c) { c.MultipleOf("m", 12, 8); }) ==
        "kernel: m is 12, expected a multiple of 8");
  CHECK(message([](CallCheck& c) { c.Min("m", 0, 1); }) == "kernel: m is 0, expected at least 1");
  CHECK(message([](CallCheck& c) { c.Max("m", 9, 8); }) == "kernel: m is 9, expected at most 8");
  CHECK(message([](CallCheck& c) { c.Require(true, "m >= 2", {{"m", 2}}); }) == "");
  CHECK(message([](CallCheck& c) { c.Require(false, "m >= 2"); }) == "kernel: `m >= 2` must hold");
  CHECK(message([](CallCheck& c) {
          c.Require(false, "s < 0.5", {{"s", 0.75}});
        }) == "kernel: `s < 0.5` must hold, but s is 0.75");
  CHECK(message([](CallCheck& c) {
          c.Require(false, "p == q + m", {{"p", 3}, {"q", 0}, {"m", 1e12}});
        }) == "kernel: `p == q + m` must hold, but p is 3, q is 0 and m is 1000000000000");
  const std::string name(600, 'n');
  CHECK(message([&](CallCheck& c) {
          c.Require(false, "p", {{name.c_str(), 3}, {name.c_str(), 0}});
        }).substr(0, 40) == "kernel: `p` must hold, but " + name.substr(0, 13));
  CHECK(message([](CallCheck& c) { c.Expect(false, "a block has an extent of at least 1"); }) ==
        "kernel: a block has an extent of at least 1");
}

TEST_CASE("The first error is kept") {
  CallCheck check("kernel");
  check.Min("m", 0, 1);
  check.Max("n", 9, 8);
  CHECK(std::string(check.status().message) == "kernel: m is 0, expected at least 1");
  CHECK(check.status().code == kCall);
}

TEST_CASE("Arrays are filled and copied by their strides") {
  Sample<int32_t, 2> from({3, 4}), to({3, 4});
  Fill(to.tensor, 9);
  CHECK(*to.tensor.At<2>({2, 3}) == 9);
  CHECK(to.data[4] == 5);  // a gap
  CopyTensor<int32_t>(from.tensor, to.tensor);
  CHECK(to.data == from.data);
  int32_t scalar = 0;
  Fill(Tensor<int32_t>(&scalar, {}), 3);
  CHECK(scalar == 3);
}

TEST_CASE("A core knows how many bytes the arguments have, those of an alias once") {
  const Tensor<float> x(g_data, {10, 10}, {11, 1}), z(g_data + 500, {100});
  CallCheck check("kernel");
  check.Input(Tensor<const float>(x), "x", {10, 10});
  check.Output(x, "y", {10, 10}, "x");
  check.Output(z, "z", {100});
  Context context;
  int64_t bytes = 0;
  int64_t* const to = &bytes;
  const auto run = [](int64_t* const& at, Core& core) { *at = core.call_bytes(); };
  CHECK(check.Run<int64_t*>(context, {run, run}, to).ok());
  CHECK(bytes == 4 * (9 * 11 + 10) + 4 * 100);
}

}  // namespace
}  // namespace kiln
