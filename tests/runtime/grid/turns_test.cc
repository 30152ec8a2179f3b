#include "kiln/grid/turns.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kiln/core/shared.h"
#include "kiln/grid/grid.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

/// "0:0-2": which turns a core gets, and whose.
std::string Take(Turns& turns, int core, int64_t each) {
  const Turns::Some some = turns.Take(core, [&](int) { return each; });
  if (some.core < 0) return "none";
  return std::to_string(some.core) + ":" + std::to_string(some.begin) + "-" +
         std::to_string(some.end);
}

TEST_CASE("A core takes a quarter of its turns at a time, from the front") {
  Turns turns;
  turns.Reset(1);
  std::string text;
  for (int i = 0; i < 7; ++i) text += Take(turns, 0, 8) + " ";
  CHECK(text == "0:0-2 0:2-3 0:3-4 0:4-5 0:5-6 0:6-7 0:7-8 ");
  CHECK(Take(turns, 0, 8) == "none");
}

TEST_CASE("A core without turns takes the last ones of those that have begun") {
  Turns turns;
  turns.Reset(3);
  CHECK(Take(turns, 0, 0) == "none");
  CHECK(Take(turns, 2, 8) == "2:0-2");
  CHECK(Take(turns, 0, 0) == "2:7-8");
  CHECK(Take(turns, 2, 8) == "2:2-3");
  turns.Reset(3);
  CHECK(Take(turns, 2, 8) == "2:0-2");
}

/// Cores with what they have in common, outside of any context.
struct TeamOfCores {
  Turns turns;
  SharedMemory shared;
  std::vector<Core> cores;

  explicit TeamOfCores(int count) : cores(static_cast<size_t>(count)) { Begin(); }
  void Begin() {
    const int count = static_cast<int>(cores.size());
    turns.Reset(count);
    shared.Reset();
    for (int c = 0; c < count; ++c)
      cores[c].Reset(c, count, {}, {"kernel", nullptr}, {nullptr, nullptr, &turns, &shared});
  }
};

/// A walk over a grid that goes on whenever it is asked to.
template <int R>
struct Walker {
  Grid<R> grid;
  Point<R> at;

  Walker(const Index<R>& steps, int parallel, Core& core)
      : grid(steps, parallel, core), at(grid.First()) {}
  std::string Step() {
    if (!at.more) return "-";
    std::string text;
    for (int a = 0; a < R; ++a) text += std::to_string(at[a]);
    at = grid.Next(at);
    return text;
  }
};

TEST_CASE("Cores that have turns begin the axes that are not cut at different places") {
  TeamOfCores team(2);
  Walker<3> first({4, 2, 2}, 2, team.cores[0]), second({4, 2, 2}, 2, team.cores[1]);
  std::string texts[2];
  for (int i = 0; i < 8; ++i) {
    texts[0] += first.Step() + " ";
    texts[1] += second.Step() + " ";
  }
  CHECK(texts[0] == "000 001 010 011 100 101 110 111 ");
  CHECK(texts[1] == "210 211 200 201 310 311 300 301 ");
  CHECK(first.Step() == "-");
  CHECK(second.Step() == "-");
}

TEST_CASE("A core that is done walks on where a slow one has not been, whole runs at a time") {
  TeamOfCores team(2);
  Walker<2> slow({16, 2}, 1, team.cores[0]), fast({16, 2}, 1, team.cores[1]);
  CHECK(slow.Step() == "00");
  std::vector<std::string> seen;
  for (std::string step = fast.Step(); step != "-"; step = fast.Step()) seen.push_back(step);
  REQUIRE(seen.size() > 16);
  CHECK(seen[15] == "151");
  CHECK(seen[16] == "70");
  CHECK(seen[17] == "71");
  for (std::string step = slow.Step(); step != "-"; step = slow.Step()) seen.push_back(step);
  CHECK(seen.size() == 31);
  CHECK(std::set<std::string>(seen.begin(), seen.end()).size() == 31);
}

TEST_CASE("Threads that race for turns walk each step once") {
  constexpr int kCores = 4;
  constexpr int64_t kRows = 61, kColumns = 7;
  TeamOfCores team(kCores);
  std::vector<std::atomic<int>> visits(kRows * kColumns);
  for (int round = 0; round < 20; ++round) {
    team.Begin();
    std::vector<std::thread> threads;
    for (int c = 0; c < kCores; ++c) {
      threads.emplace_back([&, c] {
        const Grid<2> grid({kRows, kColumns}, 2, team.cores[c]);
        for (auto at = grid.First(); at.more; at = grid.Next(at)) {
          ++visits[at[0] * kColumns + at[1]];
          if (at.run != at[0] * kColumns + at[1]) ++visits[0];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(std::all_of(visits.begin(), visits.end(),
                      [&](const std::atomic<int>& count) { return count == round + 1; }));
  }
}

TEST_CASE("Cores that have turns find no step in a grid with an axis of none") {
  TeamOfCores team(2);
  for (Core& core : team.cores) {
    CHECK(Walker<3>({4, 2, 0}, 2, core).Step() == "-");
    CHECK(Walker<3>({4, 0, 2}, 2, core).Step() == "-");
    CHECK(Walker<3>({0, 4, 2}, 2, core).Step() == "-");
  }
}

TEST_CASE("Walks of more turns than can be counted are cut, and no more") {
  TeamOfCores team(2);
  Walker<2> walker({INT64_MAX, 2}, 2, team.cores[1]);
  const int64_t half = INT64_MAX / 2 + 1;
  for (const Index<2>& expected :
       {Index<2>{half, 1}, Index<2>{half, 0}, Index<2>{half + 1, 1}, Index<2>{half + 1, 0}}) {
    CHECK(walker.at.index == expected);
    walker.Step();
  }
  CHECK(walker.grid.end(0) == INT64_MAX);
}

TEST_CASE("A shared block is packed by the first core that needs it, once a call") {
  SharedMemory memory;
  for (int call = 0; call < 3; ++call) {
    memory.Reset();
    SharedBlocks* const blocks = memory.Take(0, 4, 100);
    REQUIRE(blocks != nullptr);
    CHECK(memory.Take(0, 4, 100) == blocks);
    CHECK(memory.Take(1, 4, 100) != blocks);
    CHECK(blocks->At(3) - blocks->At(0) == 300);
    CHECK(blocks->Claim(2));
    blocks->SayPacked(2);
    CHECK(!blocks->Claim(2));
    CHECK(blocks->Claim(1));
    blocks->SayPacked(1);
  }
}

TEST_CASE("Who needs a block that another packs waits for it") {
  constexpr int kThreads = 4, kBlocks = 50;
  SharedMemory memory;
  for (int call = 0; call < 20; ++call) {
    memory.Reset();
    std::atomic<int> packed{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        SharedBlocks* const blocks = memory.Take(0, kBlocks, sizeof(int));
        for (int b = 0; b < kBlocks; ++b) {
          int* const value = reinterpret_cast<int*>(blocks->At(b));
          if (blocks->Claim(b)) {
            *value = 1000 * call + b;
            ++packed;
            blocks->SayPacked(b);
          }
          if (*value != 1000 * call + b) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(packed == kBlocks);
    CHECK(wrong == 0);
  }
}

TEST_CASE("There is a status if there is no memory for shared blocks") {
  TeamOfCores team(2);
  CHECK(team.cores[0].Share(int64_t{1} << 40, int64_t{1} << 20) == nullptr);
  CHECK(std::string(team.cores[0].status().message) ==
        "kernel: [memory] no memory for 1099511627776 blocks of 1048576 bytes");
}

}  // namespace
}  // namespace kiln
