// [revisit], [race], [alias], [coverage]: the whole grid is walked once, stay by stay, with the
// steps at which stays that touch a cell of the memory begin. Cells are treated a chunk at a time,
// so that what must be remembered does not grow with the arrays.
#include <algorithm>
#include <array>
#include <limits>

#include "generator/check/grid/cells.h"
#include "generator/check/grid/rules.h"
#include "generator/check/grid/visit_report.h"

namespace kiln {
namespace {

// Cells whose state is held at a time: 128 MiB, twice that when something reads the memory.
constexpr int64_t kChunk = int64_t{1} << 24;
constexpr int64_t kUnvisited = -1;
// Of a stay that begins (at worst at every step) and of a cell that it touches, in additions.
constexpr int64_t kStayCost = 8, kCellCost = 4;

/// What is remembered of a cell that outputs visit.
struct LastStay {
  int64_t step : 62 = kUnvisited;  // at which it began
  uint64_t counted : 2 = 0;        // a bit each for a [revisit] and a [race] of this cell
};

/// One memory, walked in the order of the grid.
class Visits {
 public:
  Visits(GridContext& context, const MemoryGroup& group) : context_(context), group_(group) {}

  /// False when something is not bound, or too large, which is said.
  bool Prepare();
  void Run();

 private:
  bool Skip();
  int64_t Chunks() const { return (cells_->count() - 1) / kChunk + 1; }
  bool HasReaders() const { return windows_.size() > group_.writers.size(); }
  int64_t Sweeps() const { return Chunks() * (HasReaders() ? 2 : 1); }
  bool AddWindow(ProgramBuilder& builder, int ref);
  /// Calls `touch(window, cell, step)` for each cell of each stay of windows from … to-1, in the
  /// order of the grid.
  template <typename Touch>
  void Walk(size_t from, size_t to, Touch touch);
  void Write(size_t window, int64_t cell, int64_t step);
  void Read(size_t window, int64_t cell, int64_t step);
  void Record(size_t window, Conflict::Kind kind, int64_t earlier, int64_t later, int64_t cell);
  template <typename Touch>
  void TouchCells(size_t window, const Sweep& sweep, int lane, Touch touch);
  void CountUnvisited();
  bool SameCore(int64_t a, int64_t b) const {
    return a / space_->serial_size() == b / space_->serial_size();
  }

  GridContext& context_;
  const MemoryGroup& group_;
  std::vector<CellWindow> windows_;  // writers first
  std::optional<Cells> cells_;
  std::optional<GridSpace> space_;
  IndexProgram program_;
  // By cell of the chunk.
  std::vector<LastStay> last_;
  std::vector<int64_t> first_;           // first stay's step, for readers
  std::vector<uint8_t> read_;            // a bit each for a counted [alias] and a [race] of readers
  int64_t begin_ = 0, end_ = 0;          // the chunk
  bool exhausted_ = false;               // the blocks have more cells than can be walked
  std::vector<ConflictList> conflicts_;  // by window
  Unvisited unvisited_;
};

bool Visits::AddWindow(ProgramBuilder& builder, int ref) {
  auto sizes = SizesOf(context_.binding, ref);
  if (!sizes || !MapIsKnown(context_.binding, ref) || context_.out_of_range.count(ref))
    return false;
  CellWindow window;
  window.ref = ref;
  window.sizes = std::move(*sizes);
  for (const BlockDim& dim : context_.ref(ref).block) {
    const bool all = dim.kind == BlockDim::Kind::kAll;
    window.index.push_back(all ? -1 : builder.Add(*dim.index));
    window.extent.push_back(dim.extent ? builder.Add(*dim.extent) : -1);
  }
  windows_.push_back(std::move(window));
  return true;
}

bool Visits::Prepare() {
  ProgramBuilder builder(context_.binding);
  const auto unchecked = [&](int ref) { return context_.unchecked.count(ref) > 0; };
  if (std::any_of(group_.writers.begin(), group_.writers.end(), unchecked)) return Skip();
  for (const int ref : group_.writers) {
    if (!AddWindow(builder, ref)) return false;
  }
  for (const int ref : group_.readers) {
    if (!unchecked(ref)) AddWindow(builder, ref);  // one at fault is left out
  }
  program_ = builder.Finish();
  space_ = GridSpace::Make(context_.binding, program_.axis_use(), GridSpace::Unused::kTwice);
  // Twice: the borders of cells are found by a walk of their own.
  if (!context_.Spend(space_, program_, 2)) return Skip();
  bool too_many = false;
  cells_ = Cells::Make(context_, windows_, too_many);
  conflicts_.resize(windows_.size());
  if (too_many) return Skip();
  if (!cells_) return false;
  const int64_t stays = kStayCost * int64_t(windows_.size());
  return (context_.Spend(space_, program_, Sweeps() - 1) && context_.Spend(space_->size(), stays) &&
          context_.Spend(cells_->count())) ||
         Skip();
}

/// Says that nothing is said.
bool Visits::Skip() {
  const int ref = group_.writers.front();
  const Ref& r = context_.ref(ref);
  const std::string why =
      cells_ && cells_->count() > context_.binding.StepCount()
          ? "it has " + std::to_string(cells_->count()) + " blocks, too many to account for"
          : "";
  context_.NotChecked(
      "revisit", ref, MapSpan(r),
      "whether every block of `" + r.name + "` is visited, and none left and come back to", why);
  context_.unchecked.insert(group_.writers.begin(), group_.writers.end());
  return false;
}

/// The registers whose values distinguish the blocks of a window.
std::vector<int> IdentityOf(const CellWindow& window) {
  std::vector<int> out;
  for (const int reg : window.index) {
    if (reg >= 0) out.push_back(reg);
  }
  for (const int reg : window.extent) {
    if (reg >= 0) out.push_back(reg);
  }
  return out;
}

void Visits::Run() {
  const size_t writers = group_.writers.size();
  const bool readers = HasReaders();
  context_.progress.Split(Sweeps());
  for (begin_ = 0; begin_ < cells_->count(); begin_ = end_) {
    end_ = std::min(cells_->count(), begin_ + kChunk);
    const auto size = size_t(end_ - begin_);
    last_.assign(size, LastStay{});
    if (readers) first_.assign(size, kUnvisited);
    if (readers) read_.assign(size, 0);
    Walk(0, writers, [this](size_t w, int64_t cell, int64_t step) { Write(w, cell, step); });
    if (readers) {
      Walk(writers, windows_.size(),
           [this](size_t w, int64_t cell, int64_t step) { Read(w, cell, step); });
    }
    if (exhausted_) break;
    CountUnvisited();
  }
  if (exhausted_) Skip();
  ReportVisits(context_, windows_, writers, *cells_, *space_, conflicts_, unvisited_);
}

template <typename Touch>
void Visits::TouchCells(size_t window, const Sweep& sweep, int lane, Touch touch) {
  const CellWindow& w = windows_[window];
  if (w.single) {
    const int64_t cell = cells_->CellOf(w, sweep.program(), lane);
    if (cell >= begin_ && cell < end_) touch(cell);
    return;
  }
  const Box box = cells_->CellsOf(w, sweep.program(), lane);
  exhausted_ = exhausted_ || !context_.Spend(CountOf(box), kCellCost);
  if (!exhausted_) cells_->ForEach(box, begin_, end_, touch);
}

template <typename Touch>
void Visits::Walk(size_t from, size_t to, Touch touch) {
  std::vector<StayTracker> trackers;
  for (size_t w = from; w < to; ++w) {
    trackers.emplace_back(IdentityOf(windows_[w]), space_->RunOf(context_.ref(windows_[w].ref)));
  }
  std::vector<std::pair<int, size_t>> starts;  // lane, window
  Sweep sweep(context_.binding, program_, *space_, &context_.progress);
  while (!exhausted_ && sweep.Next()) {
    starts.clear();
    for (size_t w = from; w < to; ++w) {
      for (const int lane : trackers[w - from].Starts(sweep)) starts.emplace_back(lane, w);
    }
    if (to - from > 1) std::sort(starts.begin(), starts.end());
    for (const auto& [lane, w] : starts) {
      const int64_t step = sweep.begin() + lane;
      TouchCells(w, sweep, lane, [&, w = w](int64_t cell) { touch(w, cell, step); });
    }
  }
  context_.progress.NextPart();
}

/// A stay of an output begins at `step`. What an earlier stay left in the cell is lost. Parallel
/// axes are major, so that the stay just before shows both kinds of conflict.
void Visits::Write(size_t window, int64_t cell, int64_t step) {
  LastStay& last = last_[size_t(cell - begin_)];
  if (last.step == kUnvisited) {
    if (!first_.empty()) first_[size_t(cell - begin_)] = step;
    last.step = step;
    return;
  }
  const bool same = SameCore(last.step, step);
  const uint64_t bit = same ? 1 : 2;
  if ((last.counted & bit) == 0) {
    Record(window, same ? Conflict::Kind::kRevisit : Conflict::Kind::kRace, last.step, step, cell);
  }
  last.counted |= bit;
  last.step = step;
}

/// A block of an input is copied in at `step`. Should several cores write the cell, one of the
/// first and the last of them is another than the reader's.
void Visits::Read(size_t window, int64_t cell, int64_t step) {
  const auto at = size_t(cell - begin_);
  if (first_[at] == kUnvisited) return;
  const int64_t other = SameCore(first_[at], step) ? last_[at].step : first_[at];
  const bool race = !SameCore(other, step);
  if (!race && step <= first_[at]) return;
  const uint8_t bit = race ? 2 : 1;
  if (read_[at] & bit) return;
  read_[at] |= bit;
  Record(window, race ? Conflict::Kind::kReadRace : Conflict::Kind::kAlias,
         race ? other : first_[at], step, cell);
}

/// Keeps the first few of a kind, in the order of the grid, and counts all.
void Visits::Record(size_t window, Conflict::Kind kind, int64_t earlier, int64_t later,
                    int64_t cell) {
  ConflictsOfKind& list = conflicts_[window][size_t(kind)];
  const auto same_step = [&](const Conflict& c) { return c.later == later; };
  if (!windows_[window].single && std::any_of(list.first.begin(), list.first.end(), same_step)) {
    return;  // one block, several cells
  }
  ++list.count;
  const Conflict conflict{earlier, later, cell};
  const auto before = [](const Conflict& a, const Conflict& b) { return a.later < b.later; };
  list.first.insert(std::upper_bound(list.first.begin(), list.first.end(), conflict, before),
                    conflict);
  if (int(list.first.size()) > std::max(1, context_.options.diagnostics_per_rule)) {
    list.first.pop_back();
  }
}

void Visits::CountUnvisited() {
  for (int64_t cell = begin_; cell < end_; ++cell) {
    if (last_[size_t(cell - begin_)].step != kUnvisited) continue;
    if (unvisited_.count++ == 0) unvisited_.first = cell;
    unvisited_.elements += ElementCountOf(cells_->ElementsOf(cell));
  }
}

/// True for an output whose blocks are visited once each, all of them, by the form of its map:
/// every dimension is an axis of its own with as many steps as there are blocks, and the other
/// axes are serial, of the same pipeline, and minor to these.
bool IsDense(const Binding& binding, const MemoryGroup& group) {
  if (group.writers.size() != 1 || !group.readers.empty()) return false;
  const int ref = group.writers[0];
  const auto sizes = SizesOf(binding, ref);
  if (!sizes) return false;
  const Kernel& kernel = *binding.kernel;
  std::vector<bool> used(kernel.axes.size(), false);
  for (size_t d = 0; d < sizes->size(); ++d) {
    const DimSizes& dim = (*sizes)[d];
    if (dim.kind == BlockDim::Kind::kAll) continue;
    const bool plain =
        dim.kind == BlockDim::Kind::kBlocked || dim.kind == BlockDim::Kind::kSqueezed;
    const Node& index = *kernel.refs[size_t(ref)].block[d].index;
    if (!plain || index.op != Op::kAxis || used[size_t(index.index)]) return false;
    if (binding.steps[size_t(index.index)] != dim.Limit()) return false;
    used[size_t(index.index)] = true;
  }
  bool minor = false;
  for (size_t a = 0; a < used.size(); ++a) {
    if (binding.steps[a] < 1) return false;
    if (binding.steps[a] == 1) continue;
    const bool leaves =
        kernel.axes[a].parallel || (kernel.axes[a].outside && kernel.refs[size_t(ref)].in_pipeline);
    if (used[a] ? minor : leaves) return false;
    minor = minor || !used[a];
  }
  return true;
}

}  // namespace

std::vector<MemoryGroup> MemoryGroups(const Kernel& kernel) {
  // The array that each operand's memory belongs to: an alias takes over its input's.
  const auto memory_of = [&](int ref) {
    const int array = kernel.ArrayOf(ref);
    const int alias = kernel.refs[size_t(array)].alias;
    return alias >= 0 ? kernel.ArrayOf(alias) : array;
  };
  std::vector<MemoryGroup> groups(kernel.refs.size());
  for (size_t i = 0; i < kernel.refs.size(); ++i) {
    if (!IsPipelined(kernel, int(i))) continue;
    MemoryGroup& group = groups[size_t(memory_of(int(i)))];
    (kernel.refs[i].role == Role::kOutput ? group.writers : group.readers).push_back(int(i));
  }
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const MemoryGroup& group) { return group.writers.empty(); }),
               groups.end());
  return groups;
}

void CheckVisits(GridContext& context, const MemoryGroup& group) {
  Visits visits(context, group);
  if (!IsDense(context.binding, group) && visits.Prepare()) visits.Run();
}

}  // namespace kiln
