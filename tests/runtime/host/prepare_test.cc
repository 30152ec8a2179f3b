// What a call does with what host functions make, or throw.
#include "kiln/host/prepare.h"

#include <initializer_list>
#include <new>

#include "tests/catch.h"
#include "tests/runtime/host/prepare_testing.h"

namespace kiln::prepare_test {
namespace {

TEST_CASE("What is made is continued or refused, as the spec declares it") {
  HostArray<int32_t> made;
  made.shape[0] = 2;
  made.values = {4, 7};
  CallCheck check("k");
  const auto values = [&](std::initializer_list<int64_t> declared, PastEnd end) {
    HostArray<int32_t> copy = made;
    const Tensor<const int32_t> tensor = Made(check, "ids", copy, declared, end);
    REQUIRE(check.ok());
    return Values(tensor.data, tensor.data + tensor.shape[0]);
  };
  CHECK(values({2}, PastEnd::kRepeat) == Values{4, 7});
  CHECK(values({4}, PastEnd::kRepeat) == Values{4, 7, 7, 7});
  CHECK(values({4}, PastEnd::kZero) == Values{4, 7, 0, 0});
  HostArray<int32_t> copy = made;
  Made(check, "ids", copy, {1}, PastEnd::kRepeat, /*used=*/1);
  CHECK(check.ok());
  Made(check, "ids", made, {1}, PastEnd::kRepeat);
  CHECK(check.status().code == kCall);
}

TEST_CASE("Nothing that host code throws leaves a call") {
  CHECK(MessageOf(Guarded("mine", []() -> Status { throw std::bad_alloc(); })) ==
        "memory: mine: there is no memory");
  CHECK(MessageOf(Guarded("mine", []() -> Status { throw 3; })) == "call: mine threw an exception");
}

}  // namespace
}  // namespace kiln::prepare_test
