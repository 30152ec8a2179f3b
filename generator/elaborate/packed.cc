#include <optional>

#include "generator/elaborate/elaborate.h"

/// What elements of 4 bits cannot do, of which memory has two a byte: be read one by one by the
/// host, and be written from two blocks, or by two cores, into one byte.
namespace kiln {
namespace {

/// Whether every block of a dimension begins with a whole byte.
bool BeginsWithBytes(const BlockDim& dim, const Size& extent) {
  using Kind = BlockDim::Kind;
  const bool moves = dim.kind == Kind::kElement || dim.kind == Kind::kBounded;
  if (dim.kind == Kind::kAll || dim.size == extent) return !moves;
  const std::optional<int64_t> size = dim.size.Constant();
  return dim.kind == Kind::kBlocked && size && *size % 2 == 0;
}

}  // namespace

/// The dtype of what the host reads.
DType Elaborator::HostDType(const Ident& name) {
  const DType dtype = ResolveDType(name).value_or(DType::kI32);
  if (!IsPacked(dtype)) return dtype;
  Error("type", name.span,
        "the host reads no " + std::string(Name(dtype)) + ", two of which are a byte",
        "pass " + std::string(IsUnsigned(dtype) ? "u8" : "i8") + " or i32");
  return DType::kI32;
}

void Elaborator::PackedBlocks(const Ref& ref) {
  if (!IsPacked(ref.dtype) || ref.role != Role::kOutput || ref.memory == Memory::kAny) return;
  if (ref.block.empty() || ref.block.size() != ref.array.size()) return;
  const BlockDim& last = ref.block.back();
  if (BeginsWithBytes(last, ref.array.back())) return;
  Error("shape", last.span,
        "blocks of `" + ref.name + "` share bytes: two of " + std::string(Name(ref.dtype)) +
            " along the last dimension are one",
        "make it `all`, or blocks of an even constant number of elements");
}

}  // namespace kiln
