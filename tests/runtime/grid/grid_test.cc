#include "kiln/grid/grid.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

/// "00 01 | 10 11 |": the points of each core, one group a core.
template <int R>
std::string StepsOfCores(const Index<R>& steps, int parallel, std::initializer_list<int> first,
                         int cores) {
  std::string text;
  for (int c = 0; c < cores; ++c) {
    LoneCore core({}, c, cores);
    const Grid<R> grid(steps, parallel, first, core.core);
    for (auto at = grid.First(); at.more; at = grid.Next(at)) {
      for (int a = 0; a < R; ++a) text += std::to_string(at[a]);
      text += ' ';
    }
    text += "| ";
  }
  return text;
}

TEST_CASE("A grid is walked in lexicographic order") {
  CHECK(StepsOfCores<2>({2, 3}, 0, {}, 1) == "00 01 02 10 11 12 | ");
  CHECK(StepsOfCores<3>({1, 2, 2}, 2, {}, 1) == "000 001 010 011 | ");
}

TEST_CASE("A grid without axes is one step of the first core") {
  CHECK(StepsOfCores<0>({}, 0, {}, 1) == " | ");
  CHECK(StepsOfCores<0>({}, 0, {}, 3) == " | | | ");
}

TEST_CASE("A grid with an axis of no steps has none") {
  CHECK(StepsOfCores<2>({2, 0}, 1, {}, 1) == "| ");
  CHECK(StepsOfCores<2>({0, 2}, 1, {}, 2) == "| | ");
}

TEST_CASE("Without a parallel axis the first core does all") {
  CHECK(StepsOfCores<1>({3}, 0, {}, 2) == "0 1 2 | | ");
}

TEST_CASE("Cores get contiguous ranges, which may differ by a step") {
  CHECK(StepsOfCores<1>({5}, 1, {}, 3) == "0 1 | 2 3 | 4 | ");
  CHECK(StepsOfCores<1>({2}, 1, {}, 3) == "0 | 1 | | ");
  CHECK(StepsOfCores<2>({3, 2}, 1, {}, 2) == "00 01 10 11 | 20 21 | ");
}

TEST_CASE("The first axis in order that has a step for each core is cut") {
  CHECK(StepsOfCores<2>({2, 2}, 2, {1, 0}, 2) == "00 10 | 01 11 | ");
  CHECK(StepsOfCores<2>({2, 2}, 2, {0, 1}, 2) == "00 01 | 10 11 | ");
  CHECK(StepsOfCores<2>({2, 1}, 2, {1, 0}, 2) == "00 | 10 | ");
}

TEST_CASE("If none has, that with the most steps is cut") {
  CHECK(StepsOfCores<2>({1, 2}, 2, {0, 1}, 4) == "00 | 01 | | | ");
  CHECK(StepsOfCores<2>({2, 1}, 2, {1, 0}, 4) == "00 | 10 | | | ");
}

TEST_CASE("The run changes with the parallel coordinates, and is the same on whatever core") {
  LoneCore alone;
  const Grid<3> whole({2, 3, 2}, 2, {1, 0}, alone.core);
  LoneCore second({}, 1, 2);
  const Grid<3> half({2, 3, 2}, 2, {1, 0}, second.core);
  for (auto at = half.First(); at.more; at = half.Next(at)) {
    CHECK(at.run == at[0] * 3 + at[1]);
    auto same = whole.First();
    while (same.index != at.index) same = whole.Next(same);
    CHECK(same.run == at.run);
  }
}

/// The parallel coordinates of each core in the order in which they come.
std::vector<std::string> StepsInTurns(uint64_t seed, int cores) {
  std::vector<std::string> turns;
  for (int c = 0; c < cores; ++c) {
    Options options = EmulatedOptions();
    options.shuffle = true;
    options.seed = seed;
    LoneCore core(options, c, cores);
    const Grid<3> grid({4, 3, 2}, 2, {0}, core.core);
    std::string last;
    for (auto at = grid.First(); at.more; at = grid.Next(at)) {
      const std::string turn = std::to_string(at[0]) + std::to_string(at[1]);
      CHECK(at.run == at[0] * 3 + at[1]);
      CHECK(at[2] == (turn == last ? 1 : 0));
      if (turn != last) turns.push_back(turn);
      last = turn;
    }
  }
  return turns;
}

TEST_CASE(
    "A shuffled grid takes each parallel coordinate once, in an order that the seed decides") {
  std::set<std::vector<std::string>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const int cores : {1, 2}) {
      std::vector<std::string> turns = StepsInTurns(seed, cores);
      CHECK(turns == StepsInTurns(seed, cores));
      if (cores == 1) orders.insert(turns);
      std::sort(turns.begin(), turns.end());
      CHECK(turns.size() == 12);
      CHECK(std::adjacent_find(turns.begin(), turns.end()) == turns.end());
    }
  }
  CHECK(orders.size() >= 19);
}

TEST_CASE("A range of huge axes does not overflow") {
  LoneCore last({}, 6, 7);
  const Grid<1> grid({INT64_MAX}, 1, last.core);
  CHECK(grid.end(0) == INT64_MAX);
}

}  // namespace
}  // namespace kiln
