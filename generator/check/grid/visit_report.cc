#include "generator/check/grid/visit_report.h"

#include <algorithm>

#include "generator/check/grid/rules.h"

namespace kiln {
namespace {

using Point = std::vector<int64_t>;

/// One operand's block at one grid point.
struct Side {
  int ref = -1;
  Point point;
  BlockIndex block;
  Box elements;
};

/// The prefetch arrays that an index map reads.
void CollectHosts(const Node& node, const Kernel& kernel, std::vector<std::string>& names) {
  if (node.op == Op::kRead) {
    const std::string& name = kernel.refs[size_t(node.index)].name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const NodePtr& arg : node.args) CollectHosts(*arg, kernel, names);
  for (const Subscript& subscript : node.subscripts) CollectHosts(*subscript.start, kernel, names);
}

class Reporter {
 public:
  Reporter(GridContext& context, const std::vector<CellWindow>& windows, size_t writers,
           const Cells& cells, const GridSpace& space)
      : context_(context), windows_(windows), writers_(writers), cells_(cells), space_(space) {}

  void Report(size_t window, Conflict::Kind kind, const ConflictsOfKind& found);
  void ReportUnvisited(const Unvisited& unvisited);

 private:
  Side SideOf(const CellWindow& window, int64_t step) const;
  Side WriterOf(int64_t cell, int64_t step, const CellWindow* preferred,
                const Side* not_this) const;
  std::string BlockText(const Side& side) const;
  std::string At(const Side& side) const;
  std::vector<size_t> Differing(const Side& a, const Side& b, bool parallel) const;
  std::vector<std::string> NamesOf(const std::vector<size_t>& axes) const;

  void Revisit(const Side& a, const Side& b, const std::string& more);
  void Race(const Side& a, const Side& b, const std::string& more);
  void Alias(const Side& write, const Side& read, const std::string& more);
  void ReadRace(const Side& write, const Side& read, const std::string& more);
  std::string SortHint(int ref) const;
  bool StaysAlong(size_t axis, const Side& a, const Side& b) const;
  std::string MinorHint(const Side& a, const Side& b) const;
  std::string PipelineHint(const Side& a, const Side& b) const;
  std::string ParallelHint(const Side& a, const Side& b) const;
  std::string BlockOf(const CellWindow& window, const Box& elements) const;
  std::string CoverageHint(int ref, const Box& elements) const;

  GridContext& context_;
  const std::vector<CellWindow>& windows_;
  size_t writers_;
  const Cells& cells_;
  const GridSpace& space_;
};

Side Reporter::SideOf(const CellWindow& window, int64_t step) const {
  Side side;
  side.ref = window.ref;
  side.point = space_.AxesAt(step);
  side.block = BlockIndexAt(context_.binding, window.ref, side.point);
  side.elements = ElementsAt(window.sizes, side.block);
  return side;
}

/// The output block that covers the cell at a step.
Side Reporter::WriterOf(int64_t cell, int64_t step, const CellWindow* preferred,
                        const Side* not_this) const {
  const Box at = cells_.ElementsOf(cell);
  const auto covers = [&](const Side& side) { return !Intersect(side.elements, at).empty(); };
  if (preferred) {
    Side side = SideOf(*preferred, step);
    if (covers(side)) return side;
  }
  Side side;
  for (size_t w = 0; w < writers_; ++w) {
    side = SideOf(windows_[w], step);
    const bool same = not_this && not_this->ref == side.ref && not_this->point == side.point;
    if (!same && covers(side)) return side;
  }
  return side;
}

std::string Reporter::BlockText(const Side& side) const {
  const bool whole =
      std::all_of(context_.ref(side.ref).block.begin(), context_.ref(side.ref).block.end(),
                  [](const BlockDim& dim) { return dim.kind == BlockDim::Kind::kAll; });
  const std::string name = "`" + context_.ref(side.ref).name + "`";
  return whole ? "all of " + name : "block " + side.block.text + " of " + name;
}

std::string Reporter::At(const Side& side) const {
  return side.point.empty() ? "the only grid step" : PointText(context_.kernel, side.point);
}

std::vector<size_t> Reporter::Differing(const Side& a, const Side& b, bool parallel) const {
  std::vector<size_t> out;
  for (size_t axis = 0; axis < a.point.size(); ++axis) {
    if (context_.kernel.axes[axis].parallel == parallel && a.point[axis] != b.point[axis]) {
      out.push_back(axis);
    }
  }
  return out;
}

std::vector<std::string> Reporter::NamesOf(const std::vector<size_t>& axes) const {
  std::vector<std::string> names;
  for (const size_t axis : axes) names.push_back(context_.kernel.axes[axis].name);
  return names;
}

std::string Reporter::SortHint(int ref) const {
  std::vector<std::string> names;
  for (const BlockDim& dim : context_.ref(ref).block) {
    CollectHosts(*dim.index, context_.kernel, names);
  }
  if (names.empty()) return "the steps that visit one block must follow each other";
  return "sort " + Listed(names) + " so that the steps that visit one block follow each other";
}

/// Whether only other axes lead away from the block between the two visits.
bool Reporter::StaysAlong(size_t axis, const Side& a, const Side& b) const {
  constexpr int64_t kEnough = 1000;
  Point point = b.point;
  const int64_t from = std::max(a.point[axis] + 1, b.point[axis] - kEnough);
  for (point[axis] = from; point[axis] < b.point[axis]; ++point[axis]) {
    if (BlockIndexAt(context_.binding, b.ref, point).text != b.block.text) return false;
  }
  return true;
}

/// Of visits by two pipelines; empty: they are of one.
std::string Reporter::PipelineHint(const Side& a, const Side& b) const {
  std::vector<size_t> differ = Differing(a, b, false);
  const std::vector<Axis>& axes = context_.kernel.axes;
  differ.erase(std::remove_if(differ.begin(), differ.end(),
                              [&](size_t axis) { return !axes[axis].outside; }),
               differ.end());
  if (differ.empty() || !context_.ref(b.ref).in_pipeline) return "";
  const std::string names = Listed(NamesOf(differ));
  return "a pipeline writes back what it holds when it ends, at each step of the grid outside: "
         "use " +
         names + " in the index, or give " + names + " to the grid of the pipeline";
}

/// Coming back is harmless when the axes that separate the visits are minor to all others.
std::string Reporter::MinorHint(const Side& a, const Side& b) const {
  if (const std::string hint = PipelineHint(a, b); !hint.empty()) return hint;
  const std::vector<size_t> differ = Differing(a, b, false);
  const std::vector<Axis>& axes = context_.kernel.axes;
  const bool minor = differ.empty() || differ.front() + differ.size() == axes.size();
  if (minor || (differ.size() == 1 && !StaysAlong(differ[0], a, b))) return SortHint(b.ref);
  std::string order;
  const auto add = [&](size_t axis) { order += (order.empty() ? "" : ", ") + axes[axis].name; };
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (std::find(differ.begin(), differ.end(), axis) == differ.end()) add(axis);
  }
  for (const size_t axis : differ) add(axis);
  return "make " + Listed(NamesOf(differ)) + " the minormost " +
         (differ.size() == 1 ? "axis" : "axes") + " of the grid, in the order " + order +
         ", so that all visits of a block follow each other";
}

std::string Reporter::ParallelHint(const Side& a, const Side& b) const {
  return "make " + Listed(NamesOf(Differing(a, b, true))) +
         " `arbitrary` in dimension_semantics, or let different steps along it write different "
         "blocks";
}

void Reporter::Revisit(const Side& a, const Side& b, const std::string& more) {
  const Ref& ref = context_.ref(b.ref);
  const bool same = a.ref == b.ref && a.block.text == b.block.text;
  if (same) {
    context_.Error("revisit", b.ref, MapSpan(ref),
                   BlockText(b) + " is left and come back to: visited at " + At(a) +
                       " and again at " + At(b) + "; what the first visit wrote is lost" + more,
                   MinorHint(a, b));
    return;
  }
  const std::string shared = ElementsText(Intersect(a.elements, b.elements));
  context_.Error("revisit", b.ref, MapSpan(ref),
                 BlockText(b) + " at " + At(b) + " overlaps " + BlockText(a) + " at " + At(a) +
                     " in " + shared + "; " +
                     (a.point == b.point ? "both are written back, in no order"
                                         : "the later copy-out overwrites the earlier one") +
                     more,
                 "let the blocks of outputs be disjoint");
}

void Reporter::Race(const Side& a, const Side& b, const std::string& more) {
  const bool same = a.ref == b.ref && a.block.text == b.block.text;
  const std::vector<std::string> names = NamesOf(Differing(a, b, true));
  const std::string axes = (names.size() == 1 ? "axis " : "axes ") + Listed(names);
  std::string message =
      "grid points " + At(a) + " and " + At(b) + " differ along the parallel " + axes;
  if (same) {
    message += " and both write " + BlockText(b) + more;
  } else {
    message += " and write overlapping blocks: " + BlockText(a) + " and " + BlockText(b) +
               " share " + ElementsText(Intersect(a.elements, b.elements)) + more;
  }
  context_.Error("race", b.ref, MapSpan(context_.ref(b.ref)), std::move(message),
                 ParallelHint(a, b));
}

void Reporter::Alias(const Side& write, const Side& read, const std::string& more) {
  context_.Error("alias", read.ref, MapSpan(context_.ref(read.ref)),
                 BlockText(read) + " is copied in at " + At(read) + ", after " + At(write) +
                     " has visited " + BlockText(write) +
                     ", which shares its memory: whether it holds old or new values depends on the "
                     "pipeline" +
                     more,
                 "read the block no later than the first step that visits it, or drop the alias",
                 {{context_.ref(write.ref).span,
                   "`" + context_.ref(write.ref).name + "` takes over the memory here"}});
}

void Reporter::ReadRace(const Side& write, const Side& read, const std::string& more) {
  const std::vector<std::string> names = NamesOf(Differing(write, read, true));
  context_.Error("race", read.ref, MapSpan(context_.ref(read.ref)),
                 "grid point " + At(read) + " reads " + BlockText(read) + ", whose memory " +
                     At(write) + " writes as " + BlockText(write) +
                     "; they differ along the parallel " + (names.size() == 1 ? "axis " : "axes ") +
                     Listed(names) + more,
                 "make " + Listed(names) + " `arbitrary` in dimension_semantics, or drop the alias",
                 {{context_.ref(write.ref).span,
                   "`" + context_.ref(write.ref).name + "` takes over the memory here"}});
}

void Reporter::Report(size_t window, Conflict::Kind kind, const ConflictsOfKind& found) {
  const CellWindow& w = windows_[window];
  if (found.count > 0) context_.conflicting.insert(w.ref);
  const bool reads = kind == Conflict::Kind::kAlias || kind == Conflict::Kind::kReadRace;
  for (size_t i = 0; i < found.first.size(); ++i) {
    const Conflict& c = found.first[i];
    const int64_t left = i + 1 == found.first.size() ? found.count - int64_t(i) - 1 : 0;
    const std::string more = AndMore(left, w.single ? "block" : "overlapping block");
    const Side later = reads ? SideOf(w, c.later) : WriterOf(c.cell, c.later, &w, nullptr);
    const Side earlier = WriterOf(c.cell, c.earlier, nullptr, &later);
    switch (kind) {
      case Conflict::Kind::kRevisit:
        Revisit(earlier, later, more);
        break;
      case Conflict::Kind::kRace:
        Race(earlier, later, more);
        break;
      case Conflict::Kind::kAlias:
        Alias(earlier, later, more);
        break;
      case Conflict::Kind::kReadRace:
        ReadRace(earlier, later, more);
        break;
    }
  }
}

/// Why the end of a dimension is not reached: its axis has too few steps.
std::string Reporter::CoverageHint(int ref, const Box& elements) const {
  const Ref& r = context_.ref(ref);
  const CellWindow& window = windows_[0];
  for (size_t d = 0; d < r.block.size(); ++d) {
    const DimSizes& dim = window.sizes[d];
    if (dim.kind == BlockDim::Kind::kAll || r.block[d].index->op != Op::kAxis) continue;
    const auto axis = size_t(r.block[d].index->index);
    const int64_t steps = context_.binding.steps[axis];
    if (steps >= dim.Limit() || elements.high[d] <= dim.Elements(steps - 1, 0).second) continue;
    const Axis& a = context_.kernel.axes[axis];
    const std::string text = a.steps ? ToString(*a.steps, context_.kernel) : "";
    std::string hint = "axis `" + a.name + "` has " + Counted(steps, "step") + ", " +
                       std::to_string(dim.Limit()) + " are needed";
    if (a.steps && a.steps->op == Op::kFloorDiv) {
      hint = "`" + text + "` drops the ragged rest: use cdiv(" +
             ToString(*a.steps->args[0], context_.kernel) + ", " +
             ToString(*a.steps->args[1], context_.kernel) + ")";
    }
    return hint;
  }
  return "let some step visit every block, or give the output an `init` for those that none does";
}

/// The block index at which a window would cover these elements.
std::string Reporter::BlockOf(const CellWindow& window, const Box& elements) const {
  std::string out;
  for (size_t d = 0; d < window.sizes.size(); ++d) {
    const bool whole = window.sizes[d].kind == BlockDim::Kind::kAll;
    out += (d ? ", " : "") + std::to_string(whole ? 0 : elements.low[d] / window.sizes[d].size);
  }
  return window.sizes.size() == 1 ? out : "(" + out + ")";
}

void Reporter::ReportUnvisited(const Unvisited& unvisited) {
  if (unvisited.count == 0) return;
  for (size_t w = 0; w < writers_; ++w) {
    const Ref& ref = context_.ref(windows_[w].ref);
    if (ref.init || ref.init_undefined || ref.alias >= 0) return;
  }
  const CellWindow& window = windows_[0];
  const Box elements = cells_.ElementsOf(unvisited.first);
  const std::string name = "`" + context_.ref(window.ref).name + "`";
  const std::string many = unvisited.elements < 1e15
                               ? std::to_string(int64_t(unvisited.elements)) + " elements"
                               : "very many elements";
  std::string message;
  if (space_.size() == 0) {
    message = "the grid has no steps, so no block of " + name + " is ever written";
  } else if (!window.single || cells_.count() == 1) {
    message = "no step visits " + ElementsText(elements) + " of " + name +
              (unvisited.count > 1 ? "; " + many + " in all" : "");
  } else {
    const std::string block = BlockOf(window, elements) + " of " + name;
    message = unvisited.count == 1
                  ? "no step visits block " + block + " (" + ElementsText(elements) + ")"
                  : "no step visits " + std::to_string(unvisited.count) + " of the " +
                        std::to_string(cells_.count()) + " blocks of " + name + "; the first is " +
                        BlockOf(window, elements) + " (" + ElementsText(elements) + ")";
  }
  context_.Error("coverage", window.ref, MapSpan(context_.ref(window.ref)), std::move(message),
                 space_.size() == 0 ? "" : CoverageHint(window.ref, elements));
}

}  // namespace

double ElementCountOf(const Box& box) {
  double count = 1;
  for (size_t d = 0; d < box.low.size(); ++d) count *= double(box.high[d] - box.low[d]);
  return count;
}

void ReportVisits(GridContext& context, const std::vector<CellWindow>& windows, size_t writers,
                  const Cells& cells, const GridSpace& space,
                  const std::vector<ConflictList>& conflicts, const Unvisited& unvisited) {
  Reporter reporter(context, windows, writers, cells, space);
  for (size_t w = 0; w < windows.size(); ++w) {
    for (size_t kind = 0; kind < conflicts[w].size(); ++kind) {
      reporter.Report(w, static_cast<Conflict::Kind>(kind), conflicts[w][kind]);
    }
  }
  reporter.ReportUnvisited(unvisited);
}

}  // namespace kiln
