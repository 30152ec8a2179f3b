#include "generator/predict/steps/operands.h"

#include <algorithm>

#include "generator/bind/memory.h"
#include "generator/check/grid/common.h"
#include "generator/data/array.h"

namespace kiln {
namespace {

using Kind = TimelineOperand::Kind;

TimelineDim DimOf(const DimSizes& sizes) {
  TimelineDim dim;
  dim.extent = sizes.extent;
  dim.size = sizes.size;
  dim.positions = std::max<int64_t>(sizes.Limit(), 1);
  dim.pitch = sizes.kind == BlockDim::Kind::kBlocked ? std::max<int64_t>(sizes.size, 1) : 1;
  if (sizes.kind == BlockDim::Kind::kElement) dim.origin = -sizes.halo_low;
  dim.squeezed = sizes.kind == BlockDim::Kind::kSqueezed;
  return dim;
}

Kind KindOf(const Ref& ref) {
  if (ref.role == Role::kPrefetch || ref.role == Role::kScalar) return Kind::kPrefetch;
  if (ref.role == Role::kScratch) return Kind::kScratch;
  if (ref.memory == Memory::kAny) return Kind::kInHbm;
  return ref.role == Role::kOutput ? Kind::kOutput : Kind::kInput;
}

TimelineOperand Named(const Kernel& kernel, int index) {
  const Ref& ref = kernel[RefId(index)];
  TimelineOperand operand;
  operand.name = ref.name;
  operand.kind = KindOf(ref);
  operand.ref = index;
  operand.line = kernel.source->Locate(ref.span.begin).line;
  operand.element_bits = RowOf(ref.dtype).bits;
  operand.buffers = ref.buffers;
  return operand;
}

/// An array in HBM is cut only by copies of the body, which may begin anywhere.
std::vector<TimelineDim> AnyPlace(const std::vector<int64_t>& extents) {
  std::vector<TimelineDim> dims;
  for (const int64_t extent : extents)
    dims.push_back({extent, extent, std::max<int64_t>(extent, 1), 1, 0, false});
  return dims;
}

bool AreKnown(const std::vector<int64_t>& extents) {
  return std::find(extents.begin(), extents.end(), -1) == extents.end();
}

}  // namespace

std::vector<TimelineOperand> TimelineOperands(const Binding& binding) {
  const Kernel& kernel = *binding.kernel;
  std::vector<TimelineOperand> operands;
  for (const Memory memory : {Memory::kVmem, Memory::kSmem}) {
    for (const MemoryUser& user : MemoryUsers(binding, memory)) {
      TimelineOperand operand = Named(kernel, user.ref);
      const auto ref = static_cast<size_t>(user.ref);
      operand.in_smem = memory == Memory::kSmem;
      operand.memory_bytes = user.bytes;
      operand.buffers = user.copies;
      const bool pipelined = operand.kind == Kind::kInput || operand.kind == Kind::kOutput;
      const std::vector<int64_t>& extents = pipelined ? binding.arrays[ref] : user.shape;
      operand.type = ToString(kernel.refs[ref].dtype, extents);
      if (const auto sizes = pipelined ? SizesOf(binding, user.ref) : std::nullopt) {
        for (const DimSizes& dim : *sizes) operand.dims.push_back(DimOf(dim));
      } else {
        operand.dims = AnyPlace(extents);
        for (TimelineDim& dim : operand.dims) dim.positions = 1;
      }
      operands.push_back(std::move(operand));
    }
  }
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    const Ref& ref = kernel.refs[r];
    const bool array = ref.role == Role::kInput || ref.role == Role::kOutput;
    if (!array || ref.memory != Memory::kAny || !AreKnown(binding.arrays[r])) continue;
    TimelineOperand operand = Named(kernel, static_cast<int>(r));
    operand.type = ToString(ref.dtype, binding.arrays[r]);
    operand.dims = AnyPlace(binding.arrays[r]);
    operand.buffers = 0;
    operands.push_back(std::move(operand));
  }
  std::stable_sort(
      operands.begin(), operands.end(),
      [](const TimelineOperand& a, const TimelineOperand& b) { return a.ref < b.ref; });
  return operands;
}

int32_t OperandOf(const std::vector<TimelineOperand>& operands, int ref) {
  for (size_t o = 0; o < operands.size(); ++o) {
    if (operands[o].ref == ref) return static_cast<int32_t>(o);
  }
  return -1;
}

int64_t MemoryBytes(const std::vector<TimelineOperand>& operands, bool in_smem) {
  int64_t bytes = 0;
  for (const TimelineOperand& operand : operands) {
    if (operand.in_smem != in_smem) continue;
    if (__builtin_add_overflow(bytes, operand.memory_bytes, &bytes)) return INT64_MAX;
  }
  return bytes;
}

}  // namespace kiln
