#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/check/grid/check_grid.h"
#include "generator/check/grid/space.h"

/// What the rules of the grid check share: where diagnostics go, and how they name things.
namespace kiln {

struct GridContext {
  GridContext(const Binding& b, const GridCheckOptions& o, Diagnostics& d, int phases)
      : kernel(*b.kernel), binding(b), options(o), diagnostics(d), progress(o.progress, phases) {}

  const Kernel& kernel;
  const Binding& binding;
  const GridCheckOptions& options;
  Diagnostics& diagnostics;
  Progress progress;
  /// Operands whose index maps are at fault, so that nothing else is said about their blocks.
  std::set<int> out_of_range;
  /// Outputs with a [revisit] or [race], whose stays are not what was meant.
  std::set<int> conflicting;
  /// Operands whose index maps are too long to walk, so that nothing is known of their blocks.
  std::set<int> unchecked;

  const Ref& ref(int index) const { return kernel[RefId(index)]; }
  const std::vector<int64_t>& array(int ref) const {
    return binding.arrays[static_cast<size_t>(ref)];
  }
  /// How many diagnostics of `rule` about `ref` may still be reported.
  int Left(RuleLabel rule, int ref) const;
  void Error(RuleLabel rule, int ref, Span span, std::string message, std::string hint = "",
             std::vector<Note> notes = {});

  /// Takes a walk out of what the whole check may cost: `points` runs of a program of this Cost().
  /// False, and nothing taken, when that is too much.
  bool Spend(int64_t points, int64_t cost = 1);
  bool Spend(const std::optional<GridSpace>& space, const IndexProgram& program,
             int64_t sweeps = 1);
  /// Warns, once for a rule and an operand: "`what` is not checked: `why`".
  void NotChecked(RuleLabel rule, int ref, Span span, const std::string& what,
                  const std::string& why = "");
  /// Everything was checked.
  bool complete() const { return not_checked_.empty(); }

 private:
  int64_t work_ = options.work;
  std::set<std::pair<RuleLabel, int>> not_checked_;
  mutable std::map<std::pair<RuleLabel, int>, int> reported_;
};

/// The extents of an operand's block by dimension, with the index map in numbers.
struct DimSizes {
  BlockDim::Kind kind = BlockDim::Kind::kBlocked;
  int64_t extent = 0;  // of the array
  int64_t size = 0;    // of the block
  int64_t halo_low = 0, halo_high = 0;

  /// Valid indices are 0 … Limit()-1. For bounded dimensions: valid starts, and one more.
  int64_t Limit() const;
  /// The elements of the array that block `index` covers, clipped: [first, second).
  std::pair<int64_t, int64_t> Elements(int64_t index, int64_t bounded_extent) const;
};

/// Nullopt when the array's or the block's extents are not bound.
std::optional<std::vector<DimSizes>> SizesOf(const Binding& binding, int ref);

/// True for what the pipeline copies block by block: not `memory: any`, with a map that is known.
bool IsPipelined(const Kernel& kernel, int ref);

/// The index map's value at one grid point, a text a dimension: "4", "ds(3, 9)"; "?" at a fault.
struct BlockIndex {
  std::vector<int64_t> index;
  std::vector<int64_t> extent;  // of bounded dimensions, else 0
  std::string text;             // "(4, 0)", or "4" in one dimension
};
BlockIndex BlockIndexAt(const Binding& binding, int ref, const std::vector<int64_t>& axes);

/// "(i=4, l=0)".
std::string PointText(const Kernel& kernel, const std::vector<int64_t>& axes);
/// " at grid point (i=4, l=0)", or empty for a grid without axes.
std::string AtPoint(const Kernel& kernel, const std::vector<int64_t>& axes);
/// " (and 12 more grid points)", or empty for none.
std::string AndMore(int64_t count, const std::string& noun);
/// "rows" and "columns" of a matrix, "elements" otherwise.
std::string ElementsWord(size_t rank, size_t dimension);
/// "3 blocks", "1 block".
std::string Counted(int64_t count, const std::string& noun);
/// Names joined as in a sentence: "`a`, `b` and `c`".
std::string Listed(const std::vector<std::string>& names);

/// "`ids[3]` is 17" for every host element that `node` reads at the point, joined by commas.
std::string HostValues(const Binding& binding, const Node& node, const std::vector<int64_t>& axes,
                       const std::map<int, int64_t>& loops = {}, Locals* locals = nullptr);

/// The message of a fault inside `what` ("the index of dimension 0 of `x`"); `where` is AtPoint.
std::string FaultMessage(const Kernel& kernel, const LaneFault& fault, const std::string& what,
                         const std::string& where);

}  // namespace kiln
