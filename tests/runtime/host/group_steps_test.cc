// Steps of groups of rows against what their descriptions say, spelled out, on random arguments.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "tests/catch.h"
#include "tests/runtime/host/prepare_testing.h"

namespace kiln::prepare_test {
namespace {

struct Visit {
  int64_t group, tile;
  bool operator==(const Visit& other) const { return group == other.group && tile == other.tile; }
};

/// Group by group, tile by tile.
std::vector<Visit> VisitsOf(const Values& sizes, int64_t m, int64_t tm, int64_t start,
                            int64_t count, bool visit_empty) {
  std::vector<Visit> visits;
  const int64_t tiles = DivUp(m, tm);
  int64_t begin = 0;
  for (int64_t g = 0; g < static_cast<int64_t>(sizes.size()); ++g) {
    const int64_t end = begin + sizes[static_cast<size_t>(g)];
    const bool mine = start <= g && g < start + count;
    for (int64_t t = 0; mine && t < tiles; ++t) {
      if (std::max(begin, t * tm) < std::min(end, (t + 1) * tm)) visits.push_back({g, t});
    }
    if (mine && begin == end && visit_empty && tiles > 0)
      visits.push_back({g, std::min(begin / tm, tiles - 1)});
    begin = end;
  }
  return visits;
}

Values RandomSizes(Random& random, int64_t groups, int64_t m, int64_t tm) {
  Values sizes;
  int64_t left = m;
  for (int64_t g = 0; g < groups; ++g) {
    int64_t size = 0;
    switch (Draw(random, 0, 4)) {
      case 0:
        break;
      case 1:
        size = 1;
        break;
      case 2:
        size = tm * Draw(random, 0, 2);
        break;
      case 3:
        size = Draw(random, 0, 3 * tm);
        break;
      default:
        size = g + 1 == groups ? left : Draw(random, 0, left);
    }
    sizes.push_back(static_cast<int32_t>(std::min(size, left)));
    left -= sizes.back();
  }
  return sizes;
}

TEST_CASE("Group metadata visits each group's tiles, and no others") {
  Random random(1);
  int shared = 0, empty = 0, sharded = 0;
  for (int round = 0; round < 3000; ++round) {
    const int64_t tm = Draw(random, 1, 8);
    const int64_t m = Draw(random, 0, 40);
    const int64_t groups = Draw(random, 1, 9);
    const Values sizes = RandomSizes(random, groups, m, tm);
    GroupOptions options;
    options.visit_empty = Draw(random, 0, 1) == 1;
    if (Draw(random, 0, 2) == 0) {
      options.start = Draw(random, 0, groups);
      options.count = Draw(random, 0, groups - options.start);
      ++sharded;
    }
    CAPTURE(round, tm, m, sizes, options.start, options.visit_empty);
    GroupSteps steps;
    REQUIRE(MessageOf(GroupMetadata(Vector(sizes), m, tm, options, &steps)) == "");

    const auto want = VisitsOf(sizes, m, tm, options.start,
                               options.count.value_or(groups - options.start), options.visit_empty);
    REQUIRE(steps.visits == static_cast<int32_t>(want.size()));
    REQUIRE(steps.ids.values.size() == steps.tiles.values.size());
    std::vector<Visit> got;
    for (size_t i = 0; i < want.size(); ++i)
      got.push_back({steps.ids.values[i], steps.tiles.values[i]});
    CHECK((got == want));
    int64_t offset = 0;
    REQUIRE(steps.offsets.values.size() == sizes.size() + 1);
    for (size_t g = 0; g < sizes.size(); ++g) {
      CHECK(steps.offsets.values[g] == offset);
      offset += sizes[g];
      empty += sizes[g] == 0 && options.visit_empty;
    }
    CHECK(steps.offsets.values.back() == offset);
    // What follows is in range, as index maps may look one step ahead.
    for (const int32_t id : steps.ids.values) CHECK((id >= 0 && id < groups));
    for (const int32_t tile : steps.tiles.values)
      CHECK((tile >= 0 && tile < std::max<int64_t>(DivUp(m, tm), 1)));
    for (size_t i = 1; i < got.size(); ++i) {
      CHECK(got[i].tile >= got[i - 1].tile);  // a tile's visits follow each other
      shared += got[i].tile == got[i - 1].tile && got[i].group != got[i - 1].group;
    }
  }
  CHECK(shared > 500);
  CHECK(empty > 500);
  CHECK(sharded > 500);
}

TEST_CASE("Groups that do not fit are refused") {
  GroupSteps steps;
  const auto problem = [&](const Values& sizes, int64_t m, int64_t tm, GroupOptions options = {}) {
    return MessageOf(GroupMetadata(Vector(sizes), m, tm, options, &steps));
  };
  CHECK(problem({3, -1, 4}, 8, 4) == "call: group_metadata: group 1 has the negative size -1");
  CHECK(problem({3, 4, 2}, 8, 4) ==
        "call: group_metadata: the group sizes add up to more than the 8 rows there are: group 2 "
        "has 2 rows from row 7 on");
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  CHECK(problem({kMost, kMost, kMost}, kMost, 4).find("more than") != std::string::npos);
  CHECK(problem({3}, 8, 0) == "call: group_metadata: tm is 0, but a tile has at least one row");
  CHECK(problem({3}, -8, 4) == "call: group_metadata: m is -8, which is no number of rows");
  CHECK(problem({3, 5}, 8, 4, {.start = -1}) ==
        "call: group_metadata: start is -1, but there are 2 groups");
  CHECK(problem({3, 5}, 8, 4, {.start = 3}) ==
        "call: group_metadata: start is 3, but there are 2 groups");
  CHECK(problem({3, 5}, 8, 4, {.start = 1, .count = 2}) ==
        "call: group_metadata: count is 2, but from group 1 on there are 1");
}

TEST_CASE("Grouped rows visit every row in one stay, and fetch nothing for empty ones") {
  Random random(5);
  int without = 0;
  for (int round = 0; round < 1000; ++round) {
    const int64_t row_blocks = Draw(random, 1, 8);
    Values rows(static_cast<size_t>(Draw(random, 0, 12)));
    for (int32_t& r : rows) r = static_cast<int32_t>(Draw(random, 0, row_blocks - 1));
    const int64_t count = Draw(random, 0, static_cast<int64_t>(rows.size()));
    const bool all = Draw(random, 0, 1) == 0;
    const int64_t used = all ? static_cast<int64_t>(rows.size()) : count;
    Values row, block, real;
    for (int32_t r = 0; r < row_blocks; ++r) {
      const size_t before = row.size();
      for (int32_t i = 0; i < used; ++i) {
        if (rows[static_cast<size_t>(i)] != r) continue;
        row.push_back(r);
        block.push_back(i);
        real.push_back(1);
      }
      if (row.size() > before) continue;
      ++without;
      row.push_back(r);
      block.push_back(-1);
      real.push_back(0);
    }
    for (size_t t = 0; t < row.size(); ++t) {  // the next entry, or the last, or 0
      if (real[t]) continue;
      const auto next = std::find(real.begin() + static_cast<long>(t), real.end(), 1);
      if (next != real.end())
        block[t] = block[static_cast<size_t>(next - real.begin())];
      else
        block[t] = t > 0 ? block[t - 1] : 0;
    }
    CAPTURE(round, rows, used, row_blocks);
    RowSteps steps;
    const std::optional<int64_t> wanted = all ? std::nullopt : std::optional<int64_t>(count);
    REQUIRE(MessageOf(GroupedRows(Vector(rows), row_blocks, wanted, &steps)) == "");
    CHECK(steps.row.values == row);
    CHECK(steps.block.values == block);
    CHECK(steps.real.values == real);
    CHECK(steps.steps == static_cast<int32_t>(row.size()));
  }
  CHECK(without > 500);
}

TEST_CASE("Rows that are not there are refused") {
  RowSteps steps;
  const auto problem = [&](const Values& rows, int64_t row_blocks, std::optional<int64_t> count) {
    return MessageOf(GroupedRows(Vector(rows), row_blocks, count, &steps));
  };
  CHECK(problem({0, 3}, 3, {}) == "call: grouped_rows: rows[1] is 3, but there are 3 row blocks");
  CHECK(problem({0, -1}, 3, 2) == "call: grouped_rows: rows[1] is -1, but there are 3 row blocks");
  CHECK(problem({0, -1}, 3, 1) == "");  // past the used part
  CHECK(problem({0}, 3, 2) == "call: grouped_rows: count is 2, but rows has 1 entries");
}

}  // namespace
}  // namespace kiln::prepare_test
