// What gmm, tgmm and their kin say to arguments that do not fit, in every mode: a status with a
// message, and nothing is touched.
#include <functional>

#include "tests/generated/raw_call.h"

namespace kiln::test {
namespace {

constexpr int64_t kM = 20, kK = 6, kN = 5, kGroups = 3;
using Ints = std::vector<int32_t>;

// Where arguments are.
enum : size_t { kSizes, kOffset, kLhs, kRhs, kOut };

RawCall Gmm() {
  RawCall call("gmm_f32");
  call.Pass(Ints{7, 0, 13}, {kGroups}).Pass(0).Pass(Ones(kM * kK), {kM, kK});
  call.Pass(Ones(kGroups * kK * kN), {kGroups, kK, kN}).Pass(Ones(kM * kN), {kM, kN});
  return call;
}

RawCall Tgmm() {
  RawCall call("tgmm_f32");
  call.Pass(Ints{7, 0, 13}, {kGroups}).Pass(0).Pass(Ones(kM * kK), {kM, kK});
  call.Pass(Ones(kM * kN), {kM, kN}).Pass(Ones(kGroups * kK * kN), {kGroups, kK, kN});
  return call;
}

void SetSizes(RawCall& call, const Ints& sizes) {
  std::memcpy(call[kSizes].memory.data(), sizes.data(), sizes.size() * sizeof(int32_t));
}
void SetOffset(RawCall& call, int32_t offset) {
  std::memcpy(call[kOffset].memory.data(), &offset, sizeof(offset));
}

using Spoil = std::function<void(RawCall&)>;

/// The message of every machine; the output keeps its ones.
std::string Refusal(RawCall (*make)(), const Spoil& spoil) {
  std::string message;
  for (const Machine& machine : kMachines) {
    RawCall call = make();
    spoil(call);
    const std::vector<std::byte> before = call[kOut].memory;
    const RawResult result = call.Run(machine);
    INFO(machine.name << ": " << result.message);
    CHECK(result.code == "call");
    CHECK((call[kOut].memory == before));
    if (message.empty()) message = result.message;
    CHECK(result.message == message);
  }
  return message;
}

TEST_CASE("grouped matmuls take what fits") {
  for (const Machine& machine : kMachines) {
    for (const auto make : {Gmm, Tgmm}) {
      RawCall call = make();
      const RawResult result = call.Run(machine);
      INFO(machine.name << ": " << result.message);
      CHECK(result.code == "ok");
    }
    RawCall empty = Gmm();
    SetSizes(empty, {0, 0, 0});
    CHECK(empty.Run(machine).code == "ok");
    CHECK(empty[kOut].Values<float>() == std::vector<float>(kM * kN, 0.0f));
    RawCall gmm = Gmm();
    CHECK(gmm.Run(machine).code == "ok");
    CHECK(gmm[kOut].Values<float>() == std::vector<float>(kM * kN, float{kK}));
  }
}

TEST_CASE("group sizes that do not fit") {
  const auto with = [](RawCall (*make)(), const Ints& sizes) {
    return Refusal(make, [&](RawCall& call) { SetSizes(call, sizes); });
  };
  for (const auto& [make, name] : {std::pair{&Gmm, "gmm_f32"}, std::pair{&Tgmm, "tgmm_f32"}}) {
    const std::string start = std::string(name) + ": group_metadata: ";
    CHECK(with(make, {7, 0, 14}) ==
          start +
              "the group sizes add up to more than the 20 rows there are: "
              "group 2 has 14 rows from row 7 on");
    CHECK(with(make, {7, 0, 12}) ==
          std::string(name) +
              ": `partial or offsets[groups] == m or offsets[groups] == 0` must hold, but "
              "offsets[groups] is 19, groups is 3 and m is 20");
    CHECK(with(make, {7, -1, 14}) == start + "group 1 has the negative size -1");
    CHECK(with(make, {2147483647, 2147483647, 2}).find("add up to more than") != std::string::npos);
    CHECK(with(make, {-2147483647 - 1, 7, 13}).find("negative size") != std::string::npos);
  }
}

TEST_CASE("shards that are not there") {
  const auto at = [](RawCall (*make)(), int32_t offset) {
    return Refusal(make, [&](RawCall& call) { SetOffset(call, offset); });
  };
  CHECK(at(Gmm, -1) == "gmm_f32: group_metadata: start is -1, but there are 3 groups");
  CHECK(at(Gmm, 1) == "gmm_f32: group_metadata: count is 3, but from group 1 on there are 2");
  CHECK(at(Gmm, 4) == "gmm_f32: group_metadata: start is 4, but there are 3 groups");
  CHECK(at(Tgmm, 2147483647) ==
        "tgmm_f32: group_metadata: start is 2147483647, but there are 3 groups");
}

TEST_CASE("ranks, shapes and dtypes that do not fit") {
  const auto shaped = [](size_t argument, std::vector<int64_t> shape) {
    return Refusal(Gmm, [&](RawCall& call) { call[argument].shape = shape; });
  };
  CHECK(shaped(kLhs, {kM}) == "gmm_f32: lhs has shape [20], which has no dimension 1");
  CHECK(shaped(kRhs, {kGroups * kK, kN}) ==
        "gmm_f32: rhs has shape [18, 5], which has no dimension 2");
  CHECK(shaped(kSizes, {kGroups, 1}) == "gmm_f32: sizes has shape [3, 1], expected [3]");
  CHECK(shaped(kOut, {kM, kN, 1}) == "gmm_f32: out has shape [20, 5, 1], expected [20, 5]");
  CHECK(shaped(kRhs, {kGroups, kN, kK}) == "gmm_f32: rhs has shape [3, 5, 6], expected [3, 6, 6]");
  CHECK(shaped(kOut, {kN, kM}) == "gmm_f32: out has shape [5, 20], expected [20, 5]");
  CHECK(Refusal(Tgmm, [](RawCall& call) {
          call[kOut].shape = {kGroups, kN, kK};
        }) == "tgmm_f32: out has shape [3, 5, 6], expected [3, 6, 5]");

  const auto typed = [](size_t argument, DLDataType type) {
    return Refusal(Gmm, [&](RawCall& call) { call[argument].type = type; });
  };
  CHECK(typed(kLhs, {kDLBfloat, 16, 1}) == "gmm_f32: lhs is bf16, expected f32");
  CHECK(typed(kRhs, {kDLFloat, 64, 1}) == "gmm_f32: rhs is f64, expected f32");
  CHECK(typed(kSizes, {kDLInt, 64, 1}) == "gmm_f32: sizes is i64, expected i32");
  CHECK(typed(kOut, {kDLInt, 32, 1}) == "gmm_f32: out is i32, expected f32");
}

// ---- lists of blocks, starts of slices ----------------------------------------------------------

TEST_CASE("blocks in another order than that of their rows") {
  constexpr int64_t kBlock = 128;
  for (const Machine& machine : kMachines) {
    RawCall call("sparse_dense_f32");
    call.Pass(Ints{0, 2, 0}, {3}).Pass(Ints{0, 0, 1}, {3}).Pass(3);
    call.Pass(Ones(3 * kBlock * kBlock), {3, kBlock, kBlock});
    call.Pass(Ones(2 * kBlock * 7), {2 * kBlock, 7});
    call.Pass(Ones(3 * kBlock * 7), {3 * kBlock, 7}).Pass(Ones(3 * kBlock * 7), {3 * kBlock, 7});
    const RawResult result = call.Run(machine);
    INFO(machine.name << ": " << result.message);
    const bool emulated = machine.mode == KILN_EMULATED;
    CHECK(result.code == (emulated ? "revisit" : "assert"));
    const std::string expected = emulated ? "block (0, 0) of o (line 36) is left and come back to"
                                          : "the rows of blocks must not decrease";
    CHECK(result.message.find(expected) != std::string::npos);
    CHECK(result.message.find(" at grid point (j=0, t=2)") != std::string::npos);
  }
}

TEST_CASE("a slice that begins inside a block") {
  for (const Machine& machine : kMachines) {
    RawCall call("dynamic_slice");
    call.Pass(Ints{128, 100}, {2})
        .Pass(Ints(300 * 300), {300, 300})
        .Pass(Ints(128 * 128), {128, 128});
    const RawResult result = call.Run(machine);
    CHECK(result.code == "call");
    CHECK(result.message == "dynamic_slice: `starts[1] % bn == 0` must hold, but starts[1] is 100");
    RawCall outside("dynamic_slice");
    outside.Pass(Ints{384, 0}, {2})
        .Pass(Ints(300 * 300), {300, 300})
        .Pass(Ints(128 * 128), {128, 128});
    CHECK(outside.Run(machine).code == "index-range");
  }
}

}  // namespace
}  // namespace kiln::test
