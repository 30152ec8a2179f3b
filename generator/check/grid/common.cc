#include "generator/check/grid/common.h"

#include <algorithm>

#include "generator/text/integer.h"

namespace kiln {
namespace {

std::string Join(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) out += (i ? separator : "") + parts[i];
  return out;
}

int64_t StartOf(const DimSizes& dim, int64_t index) {
  switch (dim.kind) {
    case BlockDim::Kind::kAll:
      return 0;
    case BlockDim::Kind::kBlocked:
      return SaturatingMultiply(index, dim.size);
    case BlockDim::Kind::kElement:
      return SaturatingAdd(index, -dim.halo_low);
    default:
      return index;
  }
}

}  // namespace

int GridContext::Left(RuleLabel rule, int ref) const {
  return options.diagnostics_per_rule - reported_[{rule, ref}];
}

void GridContext::Error(RuleLabel rule, int ref, Span span, std::string message, std::string hint,
                        std::vector<Note> notes) {
  if (Left(rule, ref) <= 0) return;
  ++reported_[{rule, ref}];
  diagnostics.Error(rule, span, std::move(message), std::move(hint), std::move(notes));
}

bool GridContext::Spend(int64_t points, int64_t cost) {
  long long work = 0;
  if (__builtin_mul_overflow(points, cost, &work) || work > work_) return false;
  work_ -= work;
  return true;
}

bool GridContext::Spend(const std::optional<GridSpace>& space, const IndexProgram& program,
                        int64_t sweeps) {
  long long points = 0;
  return space && !__builtin_mul_overflow(space->size(), sweeps, &points) &&
         Spend(points, program.Cost());
}

void GridContext::NotChecked(RuleLabel rule, int ref, Span span, const std::string& what,
                             const std::string& why) {
  if (!not_checked_.insert({rule, ref}).second) return;
  const int64_t points = binding.StepCount();
  diagnostics.Warning(
      rule, span,
      what + " is not checked: " +
          (!why.empty() ? why
                        : "the grid has " +
                              (points == INT64_MAX ? "more than 2^63" : std::to_string(points)) +
                              " points, too many to try"),
      "check it at smaller sizes that are cut into blocks the same way");
}

int64_t DimSizes::Limit() const {
  switch (kind) {
    case BlockDim::Kind::kAll:
      return 1;
    case BlockDim::Kind::kBlocked:
      return size > 0 ? CeilDivide(extent, size) : extent == 0;
    case BlockDim::Kind::kSqueezed:
      return extent;
    case BlockDim::Kind::kElement:
      return SaturatingAdd(extent, SaturatingAdd(halo_low, halo_high));
    case BlockDim::Kind::kBounded:
      return SaturatingAdd(extent, 1);
  }
  return 0;
}

std::pair<int64_t, int64_t> DimSizes::Elements(int64_t index, int64_t bounded_extent) const {
  const int64_t start = StartOf(*this, index);
  const int64_t length = kind == BlockDim::Kind::kBounded ? bounded_extent : size;
  return {std::clamp<int64_t>(start, 0, extent),
          std::clamp<int64_t>(SaturatingAdd(start, length), 0, extent)};
}

std::optional<std::vector<DimSizes>> SizesOf(const Binding& binding, int ref) {
  const Ref& r = binding.kernel->refs[size_t(ref)];
  if (size_t(ref) >= binding.arrays.size()) return std::nullopt;
  const std::vector<int64_t>& extents = binding.arrays[size_t(ref)];
  if (extents.size() != r.block.size()) return std::nullopt;
  std::vector<DimSizes> out;
  for (size_t d = 0; d < r.block.size(); ++d) {
    const BlockDim& dim = r.block[d];
    const bool all = dim.kind == BlockDim::Kind::kAll;
    const bool squeezed = dim.kind == BlockDim::Kind::kSqueezed;
    const bool element = dim.kind == BlockDim::Kind::kElement;
    const auto size = all        ? extents[d]
                      : squeezed ? std::optional<int64_t>(1)
                                 : Evaluate(dim.size, binding);
    const auto low = element ? Evaluate(dim.halo_low, binding) : 0;
    const auto high = element ? Evaluate(dim.halo_high, binding) : 0;
    if (extents[d] < 0 || !size || *size < 0 || !low || *low < 0 || !high || *high < 0) {
      return std::nullopt;
    }
    out.push_back({dim.kind, extents[d], *size, *low, *high});
  }
  return out;
}

bool IsPipelined(const Kernel& kernel, int ref) {
  const Ref& r = kernel.refs[size_t(ref)];
  return (r.role == Role::kInput || r.role == Role::kOutput) && r.memory != Memory::kAny;
}

BlockIndex BlockIndexAt(const Binding& binding, int ref, const std::vector<int64_t>& axes) {
  BlockIndex out;
  std::vector<std::string> texts;
  for (const BlockDim& dim : binding.kernel->refs[size_t(ref)].block) {
    const bool all = dim.kind == BlockDim::Kind::kAll;
    const auto index = all ? std::optional<int64_t>(0) : EvaluateAt(binding, *dim.index, axes);
    const auto extent = dim.extent ? EvaluateAt(binding, *dim.extent, axes) : 0;
    out.index.push_back(index.value_or(0));
    out.extent.push_back(extent.value_or(0));
    const auto text = [](const std::optional<int64_t>& value) {
      return value ? std::to_string(*value) : std::string("?");
    };
    texts.push_back(dim.extent ? "ds(" + text(index) + ", " + text(extent) + ")" : text(index));
  }
  out.text = texts.size() == 1 ? texts[0] : "(" + Join(texts, ", ") + ")";
  return out;
}

std::string PointText(const Kernel& kernel, const std::vector<int64_t>& axes) {
  std::vector<std::string> parts;
  for (size_t a = 0; a < axes.size(); ++a) {
    parts.push_back(kernel.axes[a].name + "=" + std::to_string(axes[a]));
  }
  return "(" + Join(parts, ", ") + ")";
}

std::string AtPoint(const Kernel& kernel, const std::vector<int64_t>& axes) {
  return axes.empty() ? "" : " at grid point " + PointText(kernel, axes);
}

std::string AndMore(int64_t count, const std::string& noun) {
  return count > 0 ? " (and " + std::to_string(count) + " more " + noun + (count > 1 ? "s)" : ")")
                   : "";
}

std::string ElementsWord(size_t rank, size_t dimension) {
  return rank != 2 ? "elements" : dimension == 0 ? "rows" : "columns";
}

std::string Counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string Listed(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    out += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    out += "`" + names[i] + "`";
  }
  return out;
}

std::string HostValues(const Binding& binding, const Node& node, const std::vector<int64_t>& axes,
                       const std::map<int, int64_t>& loops, Locals* locals) {
  std::vector<std::string> parts;
  const auto add = [&](const Node& part) {
    std::string more = HostValues(binding, part, axes, loops, locals);
    if (!more.empty() && std::find(parts.begin(), parts.end(), more) == parts.end()) {
      parts.push_back(std::move(more));
    }
  };
  for (const Subscript& subscript : node.subscripts) add(*subscript.start);
  for (const NodePtr& arg : node.args) add(*arg);
  const auto value =
      node.op == Op::kRead ? EvaluateAt(binding, node, axes, locals, loops) : std::nullopt;
  if (value) {
    std::vector<std::string> at;
    for (const Subscript& subscript : node.subscripts) {
      at.push_back(
          std::to_string(EvaluateAt(binding, *subscript.start, axes, locals, loops).value_or(0)));
    }
    const std::string& name = binding.kernel->refs[size_t(node.index)].name;
    parts.push_back("`" + name + (at.empty() ? "" : "[" + Join(at, ", ") + "]") + "` is " +
                    std::to_string(*value));
  }
  return Join(parts, ", ");
}

std::string FaultMessage(const Kernel& kernel, const LaneFault& fault, const std::string& what,
                         const std::string& where) {
  if (fault.fault == EvalFault::kDivideByZero) return what + " divides by zero" + where;
  if (fault.fault == EvalFault::kOverflow) return what + " overflows 64 bits" + where;
  const Ref& ref = kernel.refs[size_t(fault.ref)];
  const std::string dimension =
      ref.array.size() > 1 ? "dimension " + std::to_string(fault.dimension) + " of " : "";
  return "subscript " + std::to_string(fault.at) + " of prefetch array `" + ref.name + "` in " +
         what + where + " is out of range: " + dimension + "`" + ref.name + "` has " +
         Counted(fault.extent, "element");
}

}  // namespace kiln
