#include "kiln/core/list.h"

#include <memory>
#include <vector>

#include "tests/catch.h"

namespace kiln::list_testing {
namespace {

using internal::List;

TEST_CASE("a list does what a vector does") {
  List<int> list{1, 2, 3};
  std::vector<int> vector{1, 2, 3};
  const auto same = [&] { return list == List<int>(vector) && list.empty() == vector.empty(); };
  CHECK(same());
  for (int i = 0; i < 40; ++i) {
    list.push_back(i);
    vector.push_back(i);
  }
  CHECK(same());
  list.erase(list.begin() + 7);
  vector.erase(vector.begin() + 7);
  CHECK(same());
  CHECK(list.front() == 1);
  CHECK(list.back() == 39);
  // What was there before does not come again.
  for (const size_t size : {5, 9, 0, 3}) {
    list.resize(size);
    vector.resize(size);
    CHECK(same());
  }
  list.assign(4, 8);
  CHECK(list == List<int>{8, 8, 8, 8});
  List<int> copy = list;
  copy.pop_back();
  CHECK(copy == List<int>{8, 8, 8});
  const List<int> moved = std::move(list);
  CHECK(moved.size() == 4);
  list = copy;
  CHECK(list == copy);
}

TEST_CASE("a list keeps its memory, and not that of the elements it loses") {
  const auto held = std::make_shared<int>(1);
  List<std::shared_ptr<int>> list;
  for (int i = 0; i < 5; ++i) list.push_back(held);
  CHECK(held.use_count() == 6);
  const auto* const data = list.data();
  list.erase(list.begin());
  list.pop_back();
  CHECK(held.use_count() == 4);
  list.clear();
  CHECK(held.use_count() == 1);
  list.assign(5, held);
  CHECK(list.data() == data);
  CHECK(held.use_count() == 6);
}

}  // namespace
}  // namespace kiln::list_testing
