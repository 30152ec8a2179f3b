#include "generator/bind/host.h"

#include <limits>
#include <set>

#include "tests/catch.h"
#include "tests/ir/kernel_builder.h"

namespace kiln::host_test {
namespace {

using namespace build;
using Values = std::vector<int64_t>;

HostValue Of(const Array& array) { return {&array, {}}; }
HostValue Of(int64_t number) { return {nullptr, number}; }

std::vector<Values> Results(const HostResult& result) {
  if (const auto* why = std::get_if<std::string>(&result)) FAIL(*why);
  std::vector<Values> values;
  for (const Array& array : std::get<std::vector<Array>>(result)) values.push_back(ValuesOf(array));
  return values;
}

std::string Problem(const HostResult& result) {
  const auto* why = std::get_if<std::string>(&result);
  return why ? *why : "none";
}

HostResult Groups(const Values& sizes, int64_t m, int64_t tm, HostValue start = {},
                  HostValue count = {}, bool visit_empty = false) {
  const Array array = Ints({static_cast<int64_t>(sizes.size())}, sizes);
  return GroupMetadata({Of(array), Of(m), Of(tm), start, count, Of(visit_empty)});
}

TEST_CASE("group_metadata by hand") {
  // Tiles of 4 rows: | 0 0 0 1 | 1 1 3 3 |; group 2 is empty.
  std::vector<Values> r = Results(Groups({3, 3, 0, 2}, 8, 4));
  CHECK(r[0] == Values{0, 3, 6, 6, 8});
  CHECK(Values(r[1].begin(), r[1].begin() + 4) == Values{0, 1, 1, 3});
  CHECK(Values(r[2].begin(), r[2].begin() + 4) == Values{0, 0, 1, 1});
  CHECK(r[3] == Values{4});
  CHECK(r[1].size() == 6);  // cdiv(m, tm) + groups
  // The empty group is visited where it would be.
  r = Results(Groups({3, 3, 0, 2}, 8, 4, {}, {}, true));
  CHECK(Values(r[1].begin(), r[1].begin() + 5) == Values{0, 1, 1, 2, 3});
  CHECK(Values(r[2].begin(), r[2].begin() + 5) == Values{0, 0, 1, 1, 1});
  CHECK(r[3] == Values{5});
}

TEST_CASE("group_metadata with a ragged last tile") {
  // 10 rows in tiles of 4: | 0 0 0 0 | 0 1 1 1 | 1 2 |
  std::vector<Values> r = Results(Groups({5, 4, 1}, 10, 4));
  CHECK(Values(r[1].begin(), r[1].begin() + 5) == Values{0, 0, 1, 1, 2});
  CHECK(Values(r[2].begin(), r[2].begin() + 5) == Values{0, 1, 1, 2, 2});
  CHECK(r[3] == Values{5});
  // An empty group at the end, within the ragged tile.
  r = Results(Groups({10, 0}, 10, 4, {}, {}, true));
  CHECK(Values(r[1].begin(), r[1].begin() + 4) == Values{0, 0, 0, 1});
  CHECK(Values(r[2].begin(), r[2].begin() + 4) == Values{0, 1, 2, 2});
  CHECK(r[3] == Values{4});
}

TEST_CASE("group_metadata is Pallas' make_group_metadata") {
  struct Case {
    Values sizes;
    int64_t m, tm, start, count;
    bool visit_empty;
    Values ids, tiles;
    int64_t visits;
  };
  // jax 0.10.2; random sizes, aligned ones, shards, and sums below m.
  const Case cases[] = {
      {{32, 0, 0, 0, 0}, 32, 8, 0, 5, false, {0, 0, 0, 0, 4, 4, 4, 4}, {0, 1, 2, 3, 3, 3, 3, 3}, 4},
      {{6, 0, 0, 0, 34},
       40,
       8,
       0,
       5,
       true,
       {0, 1, 2, 3, 4, 4, 4, 4, 4},
       {0, 0, 0, 0, 0, 1, 2, 3, 4},
       9},
      {{0, 0, 0, 1, 1, 0}, 2, 2, 4, 1, false, {4, 5, 5, 5, 5, 3}, {0, 0, 0, 0, 0, 0}, 1},
      {{4, 1, 3}, 8, 2, 0, 3, true, {0, 0, 1, 2, 2, 2}, {0, 1, 2, 2, 3, 3}, 5},
      {{3, 0, 0, 0, 3}, 6, 2, 0, 5, false, {0, 0, 4, 4, 4, 4, 4}, {0, 1, 1, 2, 2, 2, 2}, 4},
      {{0, 0, 0, 4}, 4, 2, 3, 1, true, {3, 3, 0, 1, 2}, {0, 1, 0, 0, 0}, 2},
      {{0, 1, 1, 0, 1, 3},
       6,
       2,
       0,
       6,
       false,
       {1, 2, 4, 5, 5, 5, 5, 5},
       {0, 0, 1, 1, 2, 2, 2, 2},
       5},
      {{4, 0, 0, 6, 0, 2},
       12,
       3,
       0,
       6,
       true,
       {0, 0, 1, 2, 3, 3, 3, 4, 5},
       {0, 1, 1, 1, 1, 2, 3, 3, 3},
       9},
      {{2, 5, 0, 5}, 12, 4, 1, 3, false, {1, 1, 3, 3, 3, 0}, {0, 1, 1, 2, 2, 0}, 4},
      {{0, 1, 0, 4, 1, 2},
       8,
       2,
       0,
       6,
       true,
       {0, 1, 2, 3, 3, 3, 4, 5, 5},
       {0, 0, 0, 0, 1, 2, 2, 3, 3},
       8},
      {{0, 8}, 8, 8, 0, 2, false, {1, 1}, {0, 0}, 1},
      {{39, 0, 1, 0, 0},
       40,
       8,
       4,
       1,
       true,
       {4, 0, 0, 0, 0, 0, 1, 2, 3},
       {4, 0, 1, 2, 3, 4, 4, 4, 4},
       1},
      {{4, 2, 0, 0}, 6, 3, 0, 4, false, {0, 0, 1, 3, 3}, {0, 1, 1, 1, 1}, 3},
      {{8}, 8, 8, 0, 1, true, {0}, {0}, 1},
      {{0, 2}, 2, 2, 1, 1, false, {1, 1}, {0, 0}, 1},
      {{0, 8, 0, 8, 16}, 32, 8, 0, 5, true, {0, 1, 2, 3, 4, 4, 4, 4}, {0, 0, 1, 1, 2, 3, 3, 3}, 6},
      {{8, 0}, 8, 8, 0, 2, false, {0, 1}, {0, 0}, 1},
      {{0, 0, 0, 6, 2}, 8, 2, 4, 1, true, {4, 4, 0, 1, 2, 3, 3, 3}, {3, 3, 0, 0, 0, 0, 1, 2}, 1},
      {{1, 0, 3, 2, 0, 2}, 8, 4, 0, 6, false, {0, 2, 3, 5, 5, 5, 5}, {0, 0, 1, 1, 1, 1, 1}, 4},
      {{5, 1}, 6, 3, 0, 2, true, {0, 0, 1}, {0, 1, 1}, 3},
      {{4, 2, 2}, 8, 2, 2, 1, false, {2, 2, 2, 0, 0, 1}, {3, 3, 3, 0, 1, 2}, 1},
      {{0, 3, 1}, 4, 2, 0, 3, true, {0, 1, 1, 2}, {0, 0, 1, 1}, 4},
      {{0, 1, 2, 3, 0, 0}, 6, 3, 0, 6, false, {1, 2, 3, 5, 5, 5, 5}, {0, 0, 1, 1, 1, 1, 1}, 3},
      {{6, 0, 9, 0, 0},
       15,
       3,
       1,
       4,
       true,
       {1, 2, 2, 2, 3, 4, 4, 0, 0},
       {2, 2, 3, 4, 4, 4, 4, 0, 1},
       6},
      {{3, 0, 2}, 12, 4, 0, 3, false, {0, 2, 2, 2, 2}, {0, 0, 1, 2, 2}, 3},
      {{4, 0, 4, 0}, 16, 4, 0, 4, true, {0, 1, 2, 3, 3, 3, 3}, {0, 1, 1, 2, 2, 3, 3}, 4},
      {{1, 2, 0}, 16, 4, 1, 2, true, {1, 2, 2, 2, 2, 0}, {0, 0, 1, 2, 3, 0}, 2},
  };
  for (const Case& c : cases) {
    const std::vector<Values> r =
        Results(Groups(c.sizes, c.m, c.tm, Of(c.start), Of(c.count), c.visit_empty));
    CAPTURE(c.sizes, c.m, c.tm, c.start, c.count, c.visit_empty);
    CHECK(r[1].size() == c.ids.size() + 1);
    CHECK(Values(r[1].begin(), r[1].end() - 1) == c.ids);
    CHECK(Values(r[2].begin(), r[2].end() - 1) == c.tiles);
    CHECK(r[3] == Values{c.visits});
  }
}

TEST_CASE("group_metadata visits every row of its groups once") {
  uint64_t state = 1;
  const auto random = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % n);
  };
  for (int trial = 0; trial < 300; ++trial) {
    const int64_t tm = 1 + random(9);
    Values sizes(static_cast<size_t>(1 + random(6)));
    int64_t m = random(2) * random(9);  // rows of no group
    for (int64_t& size : sizes) m += size = random(3) == 0 ? 0 : random(20);
    const auto groups = static_cast<int64_t>(sizes.size());
    const int64_t start = random(static_cast<uint64_t>(groups));
    const int64_t count = random(static_cast<uint64_t>(groups - start + 1));
    const bool empty = random(2) == 1;
    CAPTURE(sizes, m, tm, start, count, empty);
    const std::vector<Values> r = Results(Groups(sizes, m, tm, Of(start), Of(count), empty));
    Values rows(static_cast<size_t>(m), 0);
    std::set<int64_t> seen;
    REQUIRE(r[3][0] <= static_cast<int64_t>(r[1].size()));
    for (size_t t = 0; t < r[1].size(); ++t) {
      const auto id = static_cast<size_t>(r[1][t]);
      REQUIRE(id < sizes.size());
      REQUIRE(r[2][t] >= 0);
      if (static_cast<int64_t>(t) >= r[3][0]) continue;
      REQUIRE(r[2][t] * tm < m);
      if (t > 0) CHECK(r[2][t] >= r[2][t - 1]);
      CHECK(r[1][t] >= start);
      CHECK(r[1][t] < start + count);
      seen.insert(r[1][t]);
      const int64_t begin = std::max(r[0][id], r[2][t] * tm);
      const int64_t end = std::min(r[0][id + 1], (r[2][t] + 1) * tm);
      CHECK((sizes[id] == 0 ? empty : begin < end));
      for (int64_t row = begin; row < end; ++row) ++rows[static_cast<size_t>(row)];
    }
    for (int64_t row = 0; row < m; ++row) {
      const bool mine =
          row >= r[0][static_cast<size_t>(start)] && row < r[0][static_cast<size_t>(start + count)];
      CHECK(rows[static_cast<size_t>(row)] == mine);
    }
    if (empty && m > 0) CHECK(static_cast<int64_t>(seen.size()) == count);
  }
}

TEST_CASE("group_metadata without rows or groups") {
  CHECK(Results(Groups({0, 0}, 0, 4))[3] == Values{0});
  CHECK(Results(Groups({0, 0}, 0, 4, {}, {}, true))[3] == Values{0});
  CHECK(Results(Groups({}, 0, 4)) == std::vector<Values>{{0}, {}, {}, {0}});
  CHECK(Results(Groups({4}, 4, std::numeric_limits<int64_t>::max()))[3] == Values{1});
}

TEST_CASE("group_metadata names what is wrong") {
  CHECK(Problem(Groups({3, -1}, 8, 4)) == "group 1 has the negative size -1");
  CHECK(Problem(Groups({7, 3}, 8, 4)) ==
        "the group sizes add up to more than the 8 rows there are: group 1 ends at row 10");
  CHECK(Problem(Groups({3}, 8, 0)) == "`tm` is 0, but a tile has at least one row");
  CHECK(Problem(Groups({3}, -8, 4)) == "`m` is -8, but it cannot be negative");
  CHECK(Problem(Groups({3}, int64_t{1} << 31, 4)) ==
        "`m` is 2147483648, which does not fit the i32 offsets");
  CHECK(Problem(Groups({8}, 8, 4, Of(2))) == "`start` is 2, but there are 1 groups");
  CHECK(Problem(Groups({8}, 8, 4, Of(-1))) == "`start` is -1, but there are 1 groups");
  CHECK(Problem(Groups({4, 4}, 8, 4, Of(1), Of(2))) ==
        "`count` is 2, but from group 1 on there are 1");
  CHECK(Problem(Groups({0}, 2147483647, 1)) ==
        "there would be 2147483647 row tiles, more than 134217728: choose a larger `tm`");
}

TEST_CASE("sparsify_mask as in the guide") {
  struct Case {
    Values shape, mask, block_mask, prefetch_mask, prefetch_i, prefetch_j;
    int64_t blocks;
  };
  const Case cases[] = {
      // the guide's own function on blocks of 2 x 2, with jax 0.10.2
      {{6, 6},
       {1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0,
        1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1},
       {1, 0, 0, 1, 1, 0, 1, 1, 1},
       {0, 1, 1, 1, 0, 1, 1, 1, 0},
       {0, 1, 1, 1, 1, 2, 2, 2, 2},
       {0, 0, 0, 0, 1, 0, 0, 1, 2},
       2},
      {{6, 6},
       {0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0,
        1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
       {0, 1, 0, 1, 1, 0, 0, 0, 0},
       {1, 1, 1, 1, 0, 0, 0, 0, 0},
       {0, 0, 1, 1, 1, 2, 2, 2, 2},
       {1, 1, 0, 0, 1, 2, 2, 2, 2},
       2},
      {{6, 8},
       {1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
        0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
       {1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1},
       {4, 3, 3, 2, 1, 1, 1, 0, 0, 0, 0, 0},
       {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2},
       {0, 2, 2, 3, 2, 2, 2, 3, 3, 3, 3, 3},
       5},
  };
  for (const Case& c : cases) {
    for (const DType dtype : {DType::kI32, DType::kBool}) {
      const Array mask = Ints(c.shape, c.mask, dtype);
      CHECK(Results(SparsifyMask({Of(mask), Of(2), Of(2)})) ==
            std::vector<Values>{
                c.block_mask, c.prefetch_mask, c.prefetch_i, c.prefetch_j, {c.blocks}});
    }
  }
}

TEST_CASE("sparsify_mask of ragged and empty masks") {
  // Blocks of 2 x 2 over 3 x 3: the corner is 1 x 1 and differs from the full block.
  const Array ones = Ints({3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  std::vector<Values> r = Results(SparsifyMask({Of(ones), Of(2), Of(2)}));
  CHECK(r[0] == Values{1, 1, 1, 1});
  CHECK(r[1] == Values{3, 2, 1, 0});
  CHECK(r[4] == Values{4});
  const Array zeros = Ints({4, 4}, {});
  r = Results(SparsifyMask({Of(zeros), Of(2), Of(2)}));
  CHECK(r == std::vector<Values>{{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, {1, 1, 1, 1}, {0}});
  const Array none = Ints({0, 4}, {});
  CHECK(Results(SparsifyMask({Of(none), Of(2), Of(2)}))[0].empty());
  CHECK(Problem(SparsifyMask({Of(zeros), Of(0), Of(2)})) ==
        "`bm` is 0, but a block has at least one element");
  CHECK(Problem(SparsifyMask({Of(zeros), Of(2), Of(-2)})) ==
        "`bn` is -2, but a block has at least one element");
}

TEST_CASE("block_coo lists blocks with a nonzero row by row") {
  Array x = Array::Zeros(DType::kF32, {4, 5});
  x.SetFloat(3, -0.0);                                       // not a nonzero
  x.SetFloat(4, 1);                                          // block (0, 2)
  x.SetFloat(10, std::numeric_limits<double>::quiet_NaN());  // block (1, 0)
  x.SetFloat(18, 1e-30);                                     // block (1, 1)
  CHECK(Results(BlockCoo({Of(x), Of(2), Of(2)})) == std::vector<Values>{{0, 1, 1}, {2, 0, 1}, {3}});
  const Array zeros = Array::Zeros(DType::kBF16, {4, 4});
  CHECK(Results(BlockCoo({Of(zeros), Of(2), Of(2)})) == std::vector<Values>{{}, {}, {0}});
}

TEST_CASE("grouped_rows visits every row, in one stay each") {
  const Array rows = Ints({6}, {3, 1, 3, 1, 0, 77});
  CHECK(Results(GroupedRows({Of(rows), Of(6), Of(5)})) ==
        std::vector<Values>{
            {0, 1, 1, 2, 3, 3, 4, 5}, {4, 1, 3, 0, 0, 2, 2, 2}, {1, 1, 1, 0, 1, 1, 0, 0}, {8}});
  const Array none = Ints({0}, {});
  CHECK(Results(GroupedRows({Of(none), Of(2), {}})) ==
        std::vector<Values>{{0, 1}, {0, 0}, {0, 0}, {2}});
  CHECK(Results(GroupedRows({Of(none), Of(0), {}}))[3] == Values{0});
  CHECK(Problem(GroupedRows({Of(rows), Of(6), {}})) ==
        "`rows[5]` is 77, but there are 6 row blocks");
  CHECK(Problem(GroupedRows({Of(rows), Of(6), Of(7)})) == "`count` is 7, but `rows` has 6 entries");
  CHECK(Problem(GroupedRows({Of(rows), Of(-1), Of(0)})) ==
        "`row_blocks` is -1, but it cannot be negative");
}

struct Call {
  KernelBuilder b;
  NodePtr groups = b.AddDim("groups"), m = b.AddDim("m");
  int sizes = b.AddRef("sizes", Role::kArgument, DType::kI32, {groups});
  int offsets = b.AddRef("offsets", Role::kPrefetch, DType::kI32, {m});
  int ids = b.AddRef("ids", Role::kPrefetch, DType::kI32, {m});
  int tiles = b.AddRef("tiles", Role::kPrefetch, DType::kI32, {m});
  int visits = b.AddRef("visits", Role::kScalar, DType::kI32, {});
  HostCall call = {{offsets, ids, tiles, visits},
                   "group_metadata",
                   "",
                   {{"", sizes, nullptr}, {"", -1, m}, {"tm", -1, Int(4)}},
                   {}};

  std::string Why() const {
    const auto match = MatchHostCall(*FindHostFunction("group_metadata"), call, b.kernel);
    const auto* why = std::get_if<std::string>(&match);
    return why ? *why : "none";
  }
};

TEST_CASE("Calls are matched with signatures") {
  Call c;
  CHECK(c.Why() == "none");
  const auto match = MatchHostCall(*FindHostFunction("group_metadata"), c.call, c.b.kernel);
  CHECK(std::get<std::vector<int>>(match) == std::vector<int>{0, 1, 2, -1, -1, -1});
  c.call.arguments.push_back({"visit_empt", -1, Int(1)});
  CHECK(c.Why() == "`group_metadata` has no argument `visit_empt`; did you mean `visit_empty`?");
  c.call.arguments.back().keyword = "m";
  CHECK(c.Why() == "`m` is given twice");
  c.call.arguments.resize(2);
  CHECK(c.Why() == "`group_metadata` needs `tm`");
  c.call.arguments[0].ref = c.visits;
  CHECK(c.Why() == "`sizes` must be an integer array of rank 1, but `visits` is i32[]");
  c.call.arguments[0] = {"", -1, Int(3)};
  CHECK(c.Why() == "`sizes` must be an integer array of rank 1");
}

TEST_CASE("Results are matched with their declarations") {
  Call c;
  c.call.results.pop_back();
  CHECK(c.Why() == "`group_metadata` makes 4 results, but 3 are named");
  c.call.results.push_back(c.ids);
  CHECK(c.Why() == "the result `visits` is an i32 scalar, but `ids` is declared i32[m]");
}

TEST_CASE("The registry describes itself") {
  CHECK(FindHostFunction("group_metadat") == nullptr);
  CHECK(HostFunctionNames() ==
        std::vector<std::string>{"group_metadata", "sparsify_mask", "block_coo", "grouped_rows"});
  CHECK(Signature(*FindHostFunction("group_metadata")) ==
        "offsets, ids, tiles, visits = "
        "group_metadata(sizes, m, tm, start=0, count=all, visit_empty=false)");
  for (const std::string& name : HostFunctionNames()) {
    CHECK(HostReference().find("### `" + name + "`") != std::string::npos);
  }
}

}  // namespace
}  // namespace kiln::host_test
