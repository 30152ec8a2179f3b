#include "generator/render/view/banner.h"

#include <algorithm>
#include <array>

#include "generator/render/view/specialization_view.h"

namespace kiln::render {
namespace {

using Layout = OperandPlan::Layout;
constexpr size_t kColumns = 6;  // name, type, block, index, pad, how it is held
using Row = std::array<std::string, kColumns>;

std::string LayoutText(const OperandPlan& operand) {
  switch (operand.layout) {
    case Layout::kPackedA:
      return operand.unpacked ? "unpacked, or packed as A" : "packed as A";
    case Layout::kPackedAT:
      return "packed as A, transposed";
    case Layout::kPackedB:
      return operand.rows_per_b ? "unpacked, or packed as B" : "packed as B";
    case Layout::kPackedBT:
      return "packed as B, transposed";
    default:
      return "in rows";
  }
}

std::string GridText(const Kernel& kernel) {
  std::vector<std::string> axes;
  for (const Axis& axis : kernel.axes) {
    axes.push_back(axis.name + ": " + ToString(*axis.steps, kernel) +
                   (axis.parallel ? " parallel" : ""));
  }
  return axes.empty() ? "one step" : Joined(axes);
}

Row RowOf(const Plan& plan, RefId r) {
  const Kernel& kernel = *plan.kernel;
  const Ref& ref = kernel[r];
  Row row{ref.name, std::string(Name(ref.dtype)) + (ref.array.empty() ? "" : ToString(ref.array))};
  if (ref.role == Role::kSemaphore) {
    row[1] = "semaphore";
    return row;
  }
  if (ref.role == Role::kArgument || ref.memory == Memory::kAny) {
    row[5] = ref.role == Role::kArgument ? "for host code" : "stays in HBM";
    return row;
  }
  if (ref.block.empty()) {
    if (r == plan.accumulator)
      row[5] = "accumulators, tile by tile";
    else if (ref.role == Role::kScratch)
      row[5] = "scratch";
    else if (ref.role == Role::kPrefetch)
      row[5] = "prefetched";
    return row;
  }
  std::vector<std::string> block, index;
  for (const BlockDim& dim : ref.block) {
    block.push_back(dim.kind == BlockDim::Kind::kAll        ? "all"
                    : dim.kind == BlockDim::Kind::kSqueezed ? "null"
                                                            : dim.size.ToString());
    const std::string start = ToString(*dim.index, kernel);
    index.push_back(dim.extent ? "ds(" + start + ", " + ToString(*dim.extent, kernel) + ")"
                               : start);
  }
  row[2] = "block (" + Joined(block) + ")";
  row[3] = "index (" + Joined(index) + ")";
  if (ref.pad) row[4] = "pad " + ToString(*ref.pad, kernel);
  row[5] = LayoutText(plan.operands[r]);
  return row;
}

}  // namespace

std::vector<std::string> BannerLines(const Plan& plan) {
  std::vector<Row> rows;
  for (const RefId r : IdsOf(plan.kernel->refs)) rows.push_back(RowOf(plan, r));
  std::array<size_t, kColumns> width{4};  // "grid"
  for (const Row& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::vector<std::string> lines{"grid" + std::string(width[0] - 4 + 2, ' ') +
                                 GridText(*plan.kernel)};
  for (const Row& row : rows) {
    std::string line;
    for (size_t c = 0; c < kColumns; ++c) {
      if (width[c] == 0) continue;
      line += row[c] + std::string(width[c] - row[c].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace kiln::render
