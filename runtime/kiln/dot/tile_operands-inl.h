// What a register tile multiplies, and where its sums are. Tiles themselves are in the library,
// compiled once for each instruction set.
#if defined(KILN_TILE_OPERANDS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TILE_OPERANDS_INL_H_
#undef KILN_TILE_OPERANDS_INL_H_
#else
#define KILN_TILE_OPERANDS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/dot/dot-inl.h"
#include "kiln/simd/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Of 16 registers twelve are sums, three have B and one A. Two vectors of columns would be eight
// sums, as many as the units are deep: 5 to 17 % slower (AVX2, f32, bf16 and int8).
constexpr size_t kTileVectors = 3;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr size_t kTileRows = 4;
#else
constexpr size_t kTileRows = 8;
#endif

constexpr size_t kPanelRows = 4;
constexpr bool kTilesOf8Rows = kTileRows > kPanelRows;

/// Whether register tiles can read a B of T unpacked: its k-groups are single elements.
template <class D, typename T>
constexpr bool kCanReadUnpackedB = kMaskedAccess<T>&& std::is_same_v<T, typename D::KGroup>;

/// K-groups from one row of A to the next, and from one k to the next. An A that is always packed
/// has them as constants, which saves registers in the tile.
struct PanelSteps {
  static constexpr ptrdiff_t to_row = 1, to_k = kPanelRows;
};
struct AnySteps {
  ptrdiff_t to_row = 1, to_k = kPanelRows;
};

/// Rows of the largest tile of a kind of arithmetic.
template <class D>
constexpr size_t kMostTileRows = D::kAmx == AmxElements::kNone ? kTileRows : kAmxTileRows;

/// In place of the registers of AMX where no tile has them.
struct NoAmx {};

/// What a tile asks for with every second k: a line, and then one a step further, as tiles of eight
/// rows do; or two lines of each of so many rows, and then the lines behind these, as the largest
/// tiles do.
struct LinesAhead {
  const char* first = nullptr;
  ptrdiff_t step = 0;
  size_t rows = 0;
  ptrdiff_t to_next_lines = 0;
  bool is_of_rows = false;
};

template <class D, class Steps>
struct TileOperands : Steps {
  using KGroup = typename D::KGroup;
  using Acc = typename D::Acc;

  const KGroup* a = nullptr;  // k-group 0 of the first row
  ptrdiff_t to_panel = 0;     // of A
  const KGroup* b = nullptr;  // k-group 0 of the first column
  ptrdiff_t b_to_k = 0;
  size_t depth = 0;  // k-groups
  size_t last = 0;   // from this one on, reading B past `cols` may leave the array
  size_t cols = 0;   // that exist, from the first on
  LinesAhead ahead;

  // A vector's lanes are neighbours. Rows that are not the tile's are not touched.
  Acc* sums = nullptr;
  ptrdiff_t sums_to_row = 0, sums_to_vector = 0;  // elements from a vector to the next
  bool from_zero = false;                         // else from what the sums are

  AmxRegisters* amx = nullptr;  // what multiplies, where the CPU has it
};

/// Adds A times B to the sums of 8, 4, 2 or 1 rows (8 if there are tiles of so many) by up to three
/// vectors of columns; with AMX, to those of as many rows as AmxRegisters multiply.
template <class D, class Steps>
void MultiplyTile(const TileOperands<D, Steps>& tile, size_t rows, size_t vectors);

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
