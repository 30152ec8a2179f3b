// [index-range] of index maps. Each dimension's expression is evaluated over the axes it mentions:
// every value it takes in the whole grid, without walking the rest of the grid.
#include <algorithm>
#include <tuple>

#include "generator/check/grid/rules.h"

namespace kiln {
namespace {

/// The grid points at which one dimension of an index map is at fault.
struct DimDiagnostics {
  size_t dimension = 0;
  struct At {
    std::vector<int64_t> axes;
    LaneFault fault;  // kNone: the value itself is out of range
  };
  std::vector<At> first;  // as many as may be reported
  int64_t count = 0;
  bool skipped = false;  // too many points
};

std::string DimensionOf(const GridContext& context, int ref, size_t d) {
  const Ref& r = context.ref(ref);
  return (r.block.size() > 1 ? "dimension " + std::to_string(d) + " of " : "") + "`" + r.name + "`";
}

Span SpanOf(const Ref& ref, size_t d) {
  const Span span = ref.block[d].index_span;
  return span.end > span.begin ? span : ref.span;
}

// Bounded windows: 0 <= start, 0 <= extent <= size, start + extent <= n.
bool BoundedOutside(const DimSizes& dim, int64_t start, int64_t extent) {
  return start < 0 || extent < 0 || extent > dim.size || start > dim.extent - extent;
}

/// Lanes of the batch that are out of range or faulted; cheap when there are none.
void CollectOutside(const Sweep& sweep, const DimSizes& dim, int index, int extent, int limit,
                    DimDiagnostics& out) {
  const int64_t* at = sweep.program().Lanes(index);
  const int64_t* length = extent >= 0 ? sweep.program().Lanes(extent) : nullptr;
  const auto end = uint64_t(dim.Limit());
  if (!length && !sweep.program().AnyFault()) {
    uint64_t outside = 0;
    for (int i = 0; i < kLanes; ++i) outside |= uint64_t(uint64_t(at[i]) >= end);
    if (!outside) return;
  }
  for (int lane = 0; lane < sweep.count(); ++lane) {
    const bool fault = sweep.program().Faulted(lane);
    const bool outside =
        length ? BoundedOutside(dim, at[lane], length[lane]) : uint64_t(at[lane]) >= end;
    if (!fault && !outside) continue;
    const int64_t point = sweep.begin() + lane;
    if (int(out.first.size()) < limit) {
      const LaneFault why = fault ? sweep.program().FaultAt(lane) : LaneFault{};
      out.first.push_back({sweep.space().AxesAt(point), why});
    }
    if (__builtin_add_overflow(out.count, sweep.space().Weight(point), &out.count)) {
      out.count = INT64_MAX;
    }
  }
}

DimDiagnostics SweepDimension(GridContext& context, const BlockDim& block, const DimSizes& dim,
                              size_t d) {
  DimDiagnostics out;
  out.dimension = d;
  ProgramBuilder builder(context.binding);
  const int index = builder.Add(*block.index);
  const int extent = block.extent ? builder.Add(*block.extent) : -1;
  IndexProgram program = builder.Finish();
  const auto space = GridSpace::Make(context.binding, program.axis_use(), GridSpace::Unused::kOnce);
  out.skipped = !context.Spend(space, program);
  if (out.skipped) return out;
  Sweep sweep(context.binding, program, *space, &context.progress);
  const int limit = std::max(1, context.options.diagnostics_per_rule);
  while (sweep.Next()) CollectOutside(sweep, dim, index, extent, limit, out);
  return out;
}

/// What the dimension allows: "dimension 0 has 4 blocks of 128 (512 rows)".
std::string LimitText(const GridContext& context, int ref, size_t d, const DimSizes& dim) {
  const size_t rank = context.ref(ref).block.size();
  const std::string name = rank > 1 ? "dimension " + std::to_string(d) : "the array";
  const std::string elements = std::to_string(dim.extent) + " " + ElementsWord(rank, d);
  switch (dim.kind) {
    case BlockDim::Kind::kSqueezed:
      return name + " has " + elements;
    case BlockDim::Kind::kElement: {
      const bool halo = dim.halo_low + dim.halo_high > 0;
      return name + " takes offsets 0 to " + std::to_string(dim.Limit() - 1) + " (" + elements +
             (halo ? " and a halo of " + std::to_string(dim.halo_low) + " + " +
                         std::to_string(dim.halo_high)
                   : "") +
             ")";
    }
    case BlockDim::Kind::kBounded:
      return name + " takes at most " + std::to_string(dim.size) + " elements within " + elements;
    default:
      return name + " has " + Counted(dim.Limit(), "block") + " of " + std::to_string(dim.size) +
             " (" + elements + ")";
  }
}

bool IsConstantWorth(const Binding& binding, const Node& node, int64_t value) {
  if (node.op != Op::kConst && node.op != Op::kDim) return false;
  return EvaluateAt(binding, node, std::vector<int64_t>(binding.steps.size(), 0)) == value;
}

/// A product with the block size in it says "element offset".
bool HasProductWith(const Binding& binding, const Node& node, int64_t size) {
  if (node.op == Op::kMul) {
    for (const NodePtr& arg : node.args) {
      if (IsConstantWorth(binding, *arg, size)) return true;
    }
  }
  return std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return HasProductWith(binding, *arg, size); });
}

/// The factor of a product `e * size`, when the whole expression is one.
const Node* WithoutFactor(const Binding& binding, const Node& node, int64_t size) {
  if (node.op != Op::kMul) return nullptr;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (IsConstantWorth(binding, *node.args[i], size)) return node.args[1 - i].get();
  }
  return nullptr;
}

/// Whether every value of the index is a multiple of `size` and would be in range if divided.
bool WouldFitDivided(GridContext& context, const BlockDim& block, const DimSizes& dim) {
  ProgramBuilder builder(context.binding);
  const int index = builder.Add(*block.index);
  IndexProgram program = builder.Finish();
  const auto space = GridSpace::Make(context.binding, program.axis_use(), GridSpace::Unused::kOnce);
  if (!context.Spend(space, program)) return false;
  Sweep sweep(context.binding, program, *space);
  while (sweep.Next()) {
    const int64_t* at = program.Lanes(index);
    for (int lane = 0; lane < sweep.count(); ++lane) {
      if (program.Faulted(lane) || at[lane] < 0 || at[lane] % dim.size != 0) return false;
      if (at[lane] / dim.size >= dim.Limit()) return false;
    }
  }
  return true;
}

std::string OffsetHint(GridContext& context, const BlockDim& block, const DimSizes& dim) {
  if (dim.kind != BlockDim::Kind::kBlocked || dim.size <= 1) return "";
  const Binding& binding = context.binding;
  if (!HasProductWith(binding, *block.index, dim.size) && !WouldFitDivided(context, block, dim)) {
    return "";
  }
  std::string hint = "an index map gives a block index, not an element offset";
  if (const Node* factor = WithoutFactor(binding, *block.index, dim.size)) {
    hint += ": did you mean " + ToString(*factor, context.kernel) + " instead of " +
            ToString(*block.index, context.kernel) + "?";
  } else {
    hint += ": divide it by the block's " + std::to_string(dim.size);
  }
  return hint;
}

/// An index that is just an axis with more steps than there are blocks.
std::string StepsHint(const GridContext& context, const BlockDim& block, const DimSizes& dim) {
  if (block.index->op != Op::kAxis) return "";
  const auto axis = size_t(block.index->index);
  return "axis `" + context.kernel.axes[axis].name + "` has " +
         Counted(context.binding.steps[axis], "step") + "; " + std::to_string(dim.Limit()) +
         " would do";
}

const char* IndexNoun(BlockDim::Kind kind) {
  switch (kind) {
    case BlockDim::Kind::kElement:
      return "element offset ";
    case BlockDim::Kind::kBounded:
      return "window ";
    case BlockDim::Kind::kSqueezed:
    default:
      return "block index ";
  }
}

std::string OutsideMessage(const GridContext& context, int ref, size_t d, const DimSizes& dim,
                           const std::vector<int64_t>& axes, int64_t more) {
  const BlockDim& block = context.ref(ref).block[d];
  std::string message = IndexNoun(dim.kind) + BlockIndexAt(context.binding, ref, axes).text +
                        " of `" + context.ref(ref).name + "`" + AtPoint(context.kernel, axes) +
                        " is out of range: " + LimitText(context, ref, d, dim);
  std::string values = HostValues(context.binding, *block.index, axes);
  if (block.extent) {
    const std::string also = HostValues(context.binding, *block.extent, axes);
    if (!also.empty() && also != values) values += (values.empty() ? "" : ", ") + also;
  }
  if (!values.empty()) message += "; " + values;
  return message + AndMore(more, "grid point");
}

void Report(GridContext& context, int ref, const DimSizes& dim, const DimDiagnostics& found) {
  const Ref& r = context.ref(ref);
  const BlockDim& block = r.block[found.dimension];
  const Span span = SpanOf(r, found.dimension);
  int64_t left = found.count;
  for (const DimDiagnostics::At& at : found.first) {
    const int reportable = context.Left("index-range", ref);
    if (reportable <= 0) return;
    const bool last = reportable == 1 || &at == &found.first.back();
    const int64_t more = last ? left - 1 : 0;
    --left;
    if (at.fault.fault == EvalFault::kNone) {
      std::string hint = OffsetHint(context, block, dim);
      if (hint.empty()) hint = StepsHint(context, block, dim);
      context.Error("index-range", ref, span,
                    OutsideMessage(context, ref, found.dimension, dim, at.axes, more),
                    std::move(hint));
      continue;
    }
    const std::string where = AtPoint(context.kernel, at.axes);
    const bool placed = at.fault.span.end > at.fault.span.begin;
    context.Error(
        "index-range", ref, placed ? at.fault.span : span,
        FaultMessage(context.kernel, at.fault,
                     "the index of " + DimensionOf(context, ref, found.dimension), where) +
            AndMore(more, "grid point"));
  }
}

}  // namespace

void CheckMapRange(GridContext& context, int ref) {
  const auto sizes = SizesOf(context.binding, ref);
  if (!sizes || !MapIsKnown(context.binding, ref)) return;
  std::vector<DimDiagnostics> found;
  for (size_t d = 0; d < sizes->size(); ++d) {
    if ((*sizes)[d].kind == BlockDim::Kind::kAll) continue;
    DimDiagnostics one = SweepDimension(context, context.ref(ref).block[d], (*sizes)[d], d);
    if (one.skipped) {
      context.NotChecked("index-range", ref, SpanOf(context.ref(ref), d),
                         "whether the index of " + DimensionOf(context, ref, d) + " is in range");
      context.unchecked.insert(ref);
    }
    if (one.count > 0) found.push_back(std::move(one));
  }
  // The dimension that goes wrong first, in the order of the grid.
  std::stable_sort(found.begin(), found.end(),
                   [](const DimDiagnostics& a, const DimDiagnostics& b) {
                     return a.first[0].axes < b.first[0].axes;
                   });
  for (const DimDiagnostics& one : found) Report(context, ref, (*sizes)[one.dimension], one);
  if (!found.empty()) context.out_of_range.insert(ref);
}

}  // namespace kiln
