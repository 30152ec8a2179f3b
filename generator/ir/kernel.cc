#include "generator/ir/kernel.h"

#include <algorithm>

namespace kiln {
namespace {

template <typename List>
int FindNamed(const List& list, std::string_view name) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

size_t Ref::LastDimOf(size_t view_axis) const {
  size_t dim = view_dims[view_axis];
  while (std::count(joined.begin(), joined.end(), dim + 1) > 0) ++dim;
  return dim;
}

bool Ref::IsInRow(size_t dim) const {
  return std::count(joined.begin(), joined.end(), dim) > 0 && LastDimOf(view.size() - 1) >= dim &&
         view_dims.back() < dim;
}

Size Ref::ExtentOf(size_t view_axis) const {
  Size extent = 1;
  for (size_t d = view_dims[view_axis]; d <= LastDimOf(view_axis); ++d) extent = extent * array[d];
  return extent;
}

int Kernel::FindRef(std::string_view wanted) const { return FindNamed(refs, wanted); }
int Kernel::FindDim(std::string_view wanted) const { return FindNamed(dims, wanted); }
int Kernel::FindAxis(std::string_view wanted) const { return FindNamed(axes, wanted); }

int Kernel::BorrowerOf(int ref) const {
  const auto borrows = [&](const Ref& output) {
    return output.alias >= 0 && output.alias == ArrayOf(ref);
  };
  const auto borrower = std::find_if(refs.begin(), refs.end(), borrows);
  return borrower == refs.end() ? -1 : static_cast<int>(borrower - refs.begin());
}

bool Kernel::HasAliases() const {
  return std::any_of(refs.begin(), refs.end(), [](const Ref& r) { return r.alias >= 0; });
}

Span MapSpan(const Ref& ref) {
  Span span;
  for (const BlockDim& dim : ref.block) {
    if (dim.index_span.end <= dim.index_span.begin) continue;
    span = span.end == 0 ? dim.index_span : Cover(span, dim.index_span);
  }
  return span.end == 0 ? ref.span : span;
}

bool MayHaveNoValue(const Node& node) {
  const bool divides = IsDivision(node.op);
  if ((!divides && node.op != Op::kPow) || IsFloat(node.args[0]->dtype)) return false;
  const Node* second = node.args[1].get();
  while (second->op == Op::kCast && !IsFloat(second->args[0]->dtype))
    second = second->args[0].get();
  if (second->op != Op::kConst) return true;
  return divides ? second->int_value == 0 : second->int_value < 0;
}

Size ReachOf(const Subscript& subscript) {
  if (!subscript.range) return 1;
  if (subscript.stride == 1) return subscript.size;
  return (subscript.size - Size(1)) * Size(subscript.stride) + Size(1);
}

const std::string& GeneratedName(const Kernel& kernel) {
  return kernel.instance.empty() ? kernel.name : kernel.instance;
}

}  // namespace kiln
