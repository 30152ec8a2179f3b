#include "generator/elaborate/elaborate.h"

/// The blocks of an operand and their index map.
namespace kiln {

bool Elaborator::BlockShape(const std::vector<BlockEntry>& entries, Span span, Ref& ref) {
  if (entries.size() != ref.array.size()) {
    Error("shape", span,
          "`block` has " + std::to_string(entries.size()) + " entries and the array `" + ref.name +
              "` has rank " + std::to_string(ref.array.size()),
          "one entry a dimension; null for a dimension the body does not see");
    ref.block.clear();
    blocks_known_ = false;
    return false;
  }
  bool ok = true;
  for (size_t d = 0; d < entries.size(); ++d) {
    const BlockEntry& entry = entries[d];
    BlockDim dim;
    dim.span = entry.span;
    dim.index = MakeInt(0, DType::kIndex, entry.span);
    switch (entry.kind) {
      case BlockEntry::Kind::kSize:
        dim.kind = BlockDim::Kind::kBlocked;
        break;
      case BlockEntry::Kind::kAll:
        dim.kind = BlockDim::Kind::kAll;
        break;
      case BlockEntry::Kind::kSqueezed:
        dim.kind = BlockDim::Kind::kSqueezed;
        break;
      case BlockEntry::Kind::kElement:
        dim.kind = BlockDim::Kind::kElement;
        break;
      case BlockEntry::Kind::kBounded:
        dim.kind = BlockDim::Kind::kBounded;
        break;
    }
    if (entry.kind == BlockEntry::Kind::kAll) dim.size = ref.array[d];
    if (entry.kind == BlockEntry::Kind::kSqueezed) dim.size = 1;
    if (entry.size) {
      const auto size = ElaborateSize(*entry.size);
      ok = ok && size.has_value();
      dim.size = size.value_or(1);
      if (const auto value = dim.size.Constant(); value && *value < 1) {
        Error("shape", entry.span, "a block of extent " + std::to_string(*value),
              "at least 1; `all` is the whole dimension");
        ok = false;
      } else if (!value) {
        Oblige(dim.size, 1, "shape", entry.span,
               "a block of `" + ref.name + "` must have an extent of at least 1",
               Obligation::Kind::kAtLeast);
      }
    }
    const auto halo = [&](const ExprPtr& e) {
      const auto size = e ? ElaborateSize(*e) : std::optional<Size>(0);
      ok = ok && size.has_value();
      if (size && size->Constant().value_or(0) < 0)
        Error("shape", entry.span, "a halo cannot be negative");
      return size.value_or(0);
    };
    dim.halo_low = halo(entry.halo_low);
    dim.halo_high = halo(entry.halo_high);
    ref.block.push_back(std::move(dim));
  }
  return ok;
}

bool Elaborator::IndexMap(const std::vector<ExprPtr>& index, Span span, Ref& ref) {
  if (index.size() != ref.block.size()) {
    if (ref.block.empty() && !ref.array.empty()) return false;  // the block was at fault
    Error("shape", span,
          "`index` has " + std::to_string(index.size()) + " entries and the array `" + ref.name +
              "` has rank " + std::to_string(ref.block.size()),
          "one entry a dimension, squeezed ones included; 0 where there is one block");
    return false;
  }
  for (size_t d = 0; d < index.size(); ++d) {
    BlockDim& dim = ref.block[d];
    dim.index_span = index[d]->span;
    if (dim.kind == BlockDim::Kind::kBounded) {
      BoundedIndex(*index[d], dim);
      continue;
    }
    if (index[d]->kind == Expr::Kind::kCall && index[d]->name == "ds") {
      Error("shape", index[d]->span, "ds(start, size) is the index of a `bounded` block only",
            "write bounded(512) in `block` for this dimension");
      continue;
    }
    NodePtr node = ElaborateIndex(*index[d], kMapSetting);
    if (!node) continue;
    const auto constant = ConstInt(node);
    if (dim.kind == BlockDim::Kind::kAll && constant != 0) {
      Error("index-range", index[d]->span,
            "dimension " + std::to_string(d) + " of `" + ref.name +
                "` is one whole block; its index is 0",
            "give the dimension a block size to step through it");
      continue;
    }
    if (constant && *constant < 0) {
      Error("index-range", index[d]->span,
            "block index " + std::to_string(*constant) + " of `" + ref.name + "` is negative");
      continue;
    }
    dim.index = node;
  }
  return true;
}

bool Elaborator::BoundedIndex(const Expr& entry, BlockDim& dim) {
  if (entry.kind != Expr::Kind::kCall || entry.name != "ds" || entry.args.size() != 2) {
    Error("shape", entry.span, "the index of a `bounded` block is a run-time range",
          "write ds(start, size)");
    return false;
  }
  dim.index = ElaborateIndex(*entry.args[0], kMapSetting);
  dim.extent = ElaborateIndex(*entry.args[1], kMapSetting);
  if (!dim.index) dim.index = MakeInt(0, DType::kIndex, entry.span);
  return dim.extent != nullptr;
}

}  // namespace kiln
