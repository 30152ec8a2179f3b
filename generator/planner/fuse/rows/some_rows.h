#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "generator/plan/plan.h"

namespace kiln {

/// What has another value in another row.
class OwnOfRows {
 public:
  /// Rows are iterations of these loops, around `stages`.
  OwnOfRows(std::vector<LoopId> rows, const Stages& stages);

  bool Has(const ElementPtr& e) const;
  bool Has(const Stage& stage) const;

 private:
  const std::vector<LoopId> rows_;
  std::set<VariableId> variables_;
};

/// Another iteration of a loop, so many behind the one that the loop is.
struct LaterRow {
  LoopId of, loop;
  int64_t behind = 1;
};

/// The statements of some rows, which share their turns and what they read.
class SomeRows {
 public:
  /// `later`: by what each row differs from the first.
  SomeRows(Plan& plan, const Stages& stages, std::vector<std::vector<LaterRow>> later);

  Stages Of(const Stages& stages);

  /// What rows see first of inputs of which they share windows: far from each other, so that no CPU
  /// sees what is next.
  std::vector<Prefetch> ReadFirst(const Stages& stages) const;
  /// Where rows begin that `lanes` of what Of has made read and store: compilers would rather
  /// compute that again for each vector.
  std::vector<Place> Beginnings(const stage::Lanes& lanes) const;

 private:
  struct Other {
    std::vector<LaterRow> later;
    std::map<VariableId, VariableId> variables;
  };

  std::optional<std::vector<size_t>> StatementsBehind(const Stages& run) const;
  Stages OneByOne(const Stages& run);
  Stages Skewed(const Stages& run, const std::vector<size_t>& behind);
  Stage InOther(Other& other, Stage stage);
  Stages ReadOnce(const Stages& run);
  bool Changes(const Place& place, const Stages& run) const;
  Place OfFirstRow(Place place) const;

  Plan& plan_;
  std::vector<Other> others_;
  const OwnOfRows own_;
};

}  // namespace kiln
