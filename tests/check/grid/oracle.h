// What the rules about the visits of blocks mean: every pair of steps and every element looked at.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/check/grid/check_grid.h"
#include "tests/catch.h"
#include "tests/check/grid/grid_builder.h"

namespace kiln::grid_random_test {

using namespace build;
using Point = std::vector<int64_t>;

/// What the rules mean, element by element.
class Oracle {
 public:
  explicit Oracle(const Binding& binding) : binding_(binding), points_(AllPoints(binding.steps)) {}

  const std::vector<Point>& points() const { return points_; }

  int64_t Value(const Node& node, const Point& point) const {
    const EvalResult result = Evaluate(node, binding_, point.data());
    REQUIRE(result.fault == EvalFault::kNone);
    return result.value;
  }
  Point Block(int ref, const Point& point) const {
    Point block;
    for (const BlockDim& dim : RefAt(ref).block) {
      block.push_back(dim.kind == BlockDim::Kind::kAll ? 0 : Value(*dim.index, point));
      if (dim.extent) block.push_back(Value(*dim.extent, point));
    }
    return block;
  }
  /// By dimension, the elements that the block covers.
  std::vector<std::pair<int64_t, int64_t>> Elements(int ref, const Point& point) const {
    std::vector<std::pair<int64_t, int64_t>> out;
    for (size_t d = 0; d < RefAt(ref).block.size(); ++d) {
      const BlockDim& dim = RefAt(ref).block[d];
      const int64_t n = binding_.arrays[static_cast<size_t>(ref)][d];
      int64_t size = *dim.size.Constant();
      int64_t start = dim.kind == BlockDim::Kind::kAll ? 0 : Value(*dim.index, point);
      if (dim.kind == BlockDim::Kind::kBlocked) start *= size;
      if (dim.kind == BlockDim::Kind::kElement) start -= *dim.halo_low.Constant();
      if (dim.kind == BlockDim::Kind::kBounded) size = Value(*dim.extent, point);
      out.emplace_back(std::max<int64_t>(0, start), std::min(n, start + size));
    }
    return out;
  }
  bool InRange(int ref, size_t d, const Point& point) const {
    const BlockDim& dim = RefAt(ref).block[d];
    if (dim.kind == BlockDim::Kind::kAll) return true;
    const int64_t n = binding_.arrays[static_cast<size_t>(ref)][d];
    const int64_t index = Value(*dim.index, point), size = *dim.size.Constant();
    if (index < 0) return false;
    if (dim.kind == BlockDim::Kind::kBlocked) return index * size < n;
    if (dim.kind == BlockDim::Kind::kElement) {
      return index < n + *dim.halo_low.Constant() + *dim.halo_high.Constant();
    }
    const int64_t extent = Value(*dim.extent, point);
    return extent >= 0 && extent <= size && index + extent <= n;
  }
  Point Parallel(const Point& point) const {
    Point out;
    for (size_t a = 0; a < point.size(); ++a) {
      if (binding_.kernel->axes[a].parallel) out.push_back(point[a]);
    }
    return out;
  }
  bool Begins(int ref, size_t step) const {
    if (step == 0) return true;
    const Point &now = points_[step], &before = points_[step - 1];
    return Block(ref, now) != Block(ref, before) || Parallel(now) != Parallel(before);
  }
  bool Ends(int ref, size_t step) const {
    return step + 1 == points_.size() || Begins(ref, step + 1);
  }

 private:
  const Ref& RefAt(int ref) const { return binding_.kernel->refs[static_cast<size_t>(ref)]; }

  const Binding& binding_;
  std::vector<Point> points_;
};

inline bool Overlap(const std::vector<std::pair<int64_t, int64_t>>& a,
                    const std::vector<std::pair<int64_t, int64_t>>& b) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (std::max(a[d].first, b[d].first) >= std::min(a[d].second, b[d].second)) return false;
  }
  return true;
}

struct Stay {
  size_t step;
  Point parallel;
  std::vector<std::pair<int64_t, int64_t>> elements;
};

inline std::vector<Stay> StaysOf(const Oracle& oracle, const std::vector<int>& refs) {
  std::vector<Stay> stays;
  for (size_t step = 0; step < oracle.points().size(); ++step) {
    const Point& point = oracle.points()[step];
    for (const int ref : refs) {
      if (!oracle.Begins(ref, step)) continue;
      stays.push_back({step, oracle.Parallel(point), oracle.Elements(ref, point)});
    }
  }
  return stays;
}

inline bool Covered(const std::vector<Stay>& stays, const std::vector<int64_t>& extents) {
  for (const Point& element : AllPoints(extents)) {
    std::vector<std::pair<int64_t, int64_t>> one;
    for (const int64_t at : element) one.emplace_back(at, at + 1);
    bool found = false;
    for (const Stay& stay : stays) found = found || Overlap(stay.elements, one);
    if (!found) return false;
  }
  return true;
}

/// The rules that operands on one memory break.
inline std::set<std::string> Expected(const Oracle& oracle, const std::vector<int>& writers,
                                      const std::vector<int>& readers,
                                      const std::vector<int64_t>& extents, bool coverage) {
  std::set<std::string> rules;
  const std::vector<Stay> writes = StaysOf(oracle, writers);
  for (size_t a = 0; a < writes.size(); ++a) {
    for (size_t b = a + 1; b < writes.size(); ++b) {
      if (!Overlap(writes[a].elements, writes[b].elements)) continue;
      rules.insert(writes[a].parallel == writes[b].parallel ? "revisit" : "race");
    }
  }
  for (const Stay& read : StaysOf(oracle, readers)) {
    for (const Stay& write : writes) {
      if (!Overlap(read.elements, write.elements)) continue;
      if (read.parallel != write.parallel)
        rules.insert("race");
      else if (read.step > write.step)
        rules.insert("alias");
    }
  }
  if (coverage && !Covered(writes, extents)) rules.insert("coverage");
  return rules;
}

}  // namespace kiln::grid_random_test
