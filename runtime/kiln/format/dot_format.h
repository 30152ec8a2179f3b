// Formats of operands of dots, of which each instruction set has its own, as seen by what knows
// none: the grid, which is compiled once for all of them, and what is compiled once for each rank,
// whatever the type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kiln/core/block.h"
#include "kiln/core/machine.h"
#include "kiln/core/packed_later.h"
#include "kiln/core/tensor.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// A view of an operand's block, which only the format that made it can read.
struct DotView {
  alignas(8) std::byte bytes[176];
};
/// Read by the format.
template <class Format>
typename Format::View ViewOf(const DotView& made) {
  using View = typename Format::View;
  static_assert(sizeof(View) <= sizeof(DotView) && std::is_trivially_copyable_v<View>);
  View view;
  std::memcpy(static_cast<void*>(&view), made.bytes, sizeof(View));
  return view;
}

namespace internal {

/// A block of an operand of a dot, of which a format makes a view.
template <int R>
struct DotBlock {
  const void* tensor;  // a Tensor of the format's elements
  const Box<R>& box;
  const void* copy;  // what the format makes of it, or null: it is read where it is
  const Cpu& cpu;
  int64_t others = 0;            // rows or columns of the other operand that it is multiplied with
  int64_t array_bytes = 0;       // of what it is a block of, if that is known
  PackedLater* later = nullptr;  // who packs it in turn, or if that turns out to pay
  PackedPart* packed = nullptr;  // what is there of a copy in turn; null: all of it
};

}  // namespace internal

/// A format, whatever its type: a table of its functions.
template <int R>
struct DotFormat {
  size_t bits;  // of an element
  size_t (*bytes)(const void* tensor, const Shape<R>& block);
  bool (*is_in_place)(const void* tensor, const Box<R>& box);
  /// Whether packing does not pay in products with so many rows or columns of the other operand;
  /// null: that does not matter.
  bool (*is_in_place_for)(const Cpu& cpu, int64_t others, const void* tensor, const Box<R>& box);
  void (*copy)(const void* tensor, const Box<R>& box, const void* pad, void* to);
  /// The same of a piece of the panels of B; null: the format has none.
  void (*copy_piece)(const void* tensor, const Box<R>& box, const void* pad,
                     const PanelPiece& piece, void* to);
  void (*set_view)(const internal::DotBlock<R>& block, DotView* view);
};

namespace internal {

/// The table of a format, and the functions in it.
template <class Format, int R>
struct TableOf {
  using T = typename Format::Element;
  using View = typename Format::View;

  static const Tensor<const T>& TensorOf(const void* tensor) {
    return *static_cast<const Tensor<const T>*>(tensor);
  }
  static size_t Bytes(const void* tensor, const Shape<R>& block) {
    if constexpr (requires { Format::Bytes(TensorOf(tensor), block); })
      return Format::Bytes(TensorOf(tensor), block);
    else
      return Format::Bytes(block);
  }
  static bool IsInPlace(const void* tensor, const Box<R>& box) {
    return Format::IsInPlace(TensorOf(tensor), box);
  }
  static bool IsInPlaceFor(const Cpu& cpu, int64_t others, const void* tensor,
                           const Box<R>& box) requires(Format::kChoosesByOther) {
    return Format::IsInPlaceFor(cpu, others, TensorOf(tensor), box);
  }
  static void Copy(const void* tensor, const Box<R>& box, const void* pad, void* to) {
    Format::Copy(TensorOf(tensor), box, *static_cast<const Pad<T>*>(pad), to);
  }
  static constexpr bool kPacksInTurn = requires { Format::kPacksInTurn; };
  static void CopyPiece(const void* tensor, const Box<R>& box, const void* pad,
                        const PanelPiece& piece, void* to) requires(kPacksInTurn) {
    Format::CopyPiece(TensorOf(tensor), box, *static_cast<const Pad<T>*>(pad), piece, to);
  }
  static View ViewOf(const DotBlock<R>& block) {
    if (block.copy != nullptr) return Format::ViewOf(block.copy, block.box);
    const Tensor<const T>& tensor = TensorOf(block.tensor);
    if constexpr (Format::kChoosesByOther) {
      return Format::InPlaceFor(block.cpu, block.others, tensor, block.box);
    } else {
      return Format::InPlace(tensor, block.box);
    }
  }
  static void SetView(const DotBlock<R>& block, DotView* to) {
    View view = ViewOf(block);
    if constexpr (requires { view.l2_bytes; }) view.l2_bytes = Unsigned(block.cpu.l2_bytes);
    if constexpr (Format::kChoosesByOther) {
      view.array_bytes = Unsigned(block.array_bytes);
      view.last_cache_bytes = Unsigned(block.cpu.last_cache_bytes);
    }
    if constexpr (requires { view.turn; }) {
      view.turn.later = block.later;
      view.turn.part = block.packed;
    }
    if constexpr (kPacksInTurn) {
      if (block.array_bytes > block.cpu.l2_bytes)
        view.turn.home = Format::HomeOf(TensorOf(block.tensor), block.box);
    }
    std::memcpy(to->bytes, static_cast<const void*>(&view), sizeof(View));
  }
  static constexpr DotFormat<R> Make() {
    DotFormat<R> table{kBitsOf<T>, Bytes, IsInPlace, nullptr, Copy, nullptr, SetView};
    if constexpr (Format::kChoosesByOther) table.is_in_place_for = IsInPlaceFor;
    if constexpr (kPacksInTurn) table.copy_piece = CopyPiece;
    return table;
  }
};

}  // namespace internal

/// The table of a format. Formats that choose by the other operand where a block is have
/// IsInPlaceFor(cpu, others, tensor, box) and InPlaceFor of the same beside IsInPlace and InPlace.
template <class Format, int R>
inline constexpr DotFormat<R> kDotFormat = internal::TableOf<Format, R>::Make();

}  // namespace kiln::inline KILN_ABI
