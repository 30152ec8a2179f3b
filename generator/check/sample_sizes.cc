#include "generator/check/sample_sizes.h"

#include <algorithm>
#include <set>

#include "generator/bind/bind.h"
#include "generator/check/grid/check_grid.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

constexpr int64_t kMaxSteps = 100000;

/// Three blocks of every constant block size along the dimension; without any, 12. None: such a
/// size does not fit 64 bits.
std::optional<int64_t> SampleOf(const Kernel& kernel, size_t index) {
  const Dim& dim = kernel.dims[index];
  std::optional<int64_t> unit = dim.multiple_of;
  bool blocked = false;
  for (const Ref& ref : kernel.refs) {
    for (size_t d = 0; d < ref.block.size(); ++d) {
      const auto size = ref.block[d].size.Constant();
      const bool blocks = ref.block[d].kind == BlockDim::Kind::kBlocked ||
                          ref.block[d].kind == BlockDim::Kind::kBounded;
      if (!blocks || !size || ref.array[d].ToString() != dim.name) continue;
      if (*size < 1) return std::nullopt;  // a diagnostic of its own
      unit = CheckedLcm(*unit, *size);
      if (!unit) return std::nullopt;
      blocked = true;
    }
  }
  std::optional<int64_t> value = blocked ? CheckedMultiply(*unit, 3) : CheckedLcm(*unit, 12);
  if (dim.max && (!value || *value > *dim.max)) value = *dim.max / *unit * *unit;
  if (value && *value < dim.min) value = CheckedRoundUp(dim.min, *unit);
  return value;
}

void DimsOf(const Node& node, std::set<int>& dims) {
  if (node.op == Op::kDim) dims.insert(node.index);
  for (const NodePtr& arg : node.args) DimsOf(*arg, dims);
}

/// A dimension that the grid does not step over may be tied to the others in ways the spec does
/// not say, so range and coverage of such operands are left to real sizes.
bool TiedToGrid(const Kernel& kernel, const Ref& ref) {
  std::set<int> grid;
  for (const Axis& axis : kernel.axes) DimsOf(*axis.steps, grid);
  bool tied = true;
  for (size_t d = 0; d < ref.block.size(); ++d) {
    if (ref.block[d].kind == BlockDim::Kind::kAll) continue;
    const auto check = [&](const Node& atom) {
      std::set<int> dims;
      DimsOf(atom, dims);
      for (int dim : dims) tied = tied && grid.count(dim) > 0;
    };
    ref.array[d].ForEachAtom(check);
  }
  return tied;
}

const Ref* RefAt(const Kernel& kernel, Span span) {
  for (const Ref& ref : kernel.refs) {
    if (ref.span.begin == span.begin) return &ref;
    for (const BlockDim& dim : ref.block) {
      if (dim.index_span.end > 0 && dim.index_span.begin == span.begin) return &ref;
      if (dim.span.end > 0 && dim.span.begin == span.begin) return &ref;
    }
  }
  return nullptr;
}

}  // namespace

bool CheckSampleSizes(const Kernel& kernel, Diagnostics& diagnostics) {
  Inputs inputs;
  std::string sizes;
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    if (kernel.dims[i].fixed) continue;
    const auto sample = SampleOf(kernel, i);
    if (!sample) return false;
    inputs.dims[kernel.dims[i].name] = *sample;
    sizes += (sizes.empty() ? "" : ", ") + kernel.dims[i].name + "=" + std::to_string(*sample);
  }
  Diagnostics binding_found;
  const auto binding = Bind(kernel, inputs, /*partial=*/true, binding_found);
  // Sizes that the spec's own conditions refuse prove nothing.
  if (!binding || binding_found.HasErrors() || binding->steps.size() != kernel.axes.size())
    return false;
  if (binding->StepCount() > kMaxSteps) return false;
  Diagnostics found;
  GridCheckOptions options;
  options.vmem_bytes = options.smem_bytes = 0;
  options.work = kMaxGridWork / 10;  // not requested, so it must not take long
  CheckGrid(*binding, options, found);
  for (Diagnostic& diagnostic : found.Sorted()) {
    const Ref* ref = RefAt(kernel, diagnostic.span);
    const bool by_size = diagnostic.rule == "coverage" || diagnostic.rule == "index-range";
    const bool sampled = !sizes.empty();  // otherwise the spec fixes them all and this is exact
    if (by_size && sampled && (!ref || !TiedToGrid(kernel, *ref))) continue;
    if (sampled && diagnostic.severity == Severity::kWarning) continue;  // too large to try
    if (sampled) diagnostic.message += " (tried with " + sizes + ")";
    diagnostics.Add(std::move(diagnostic));
  }
  return true;
}

}  // namespace kiln
