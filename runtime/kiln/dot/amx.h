// The tiles of Intel's AMX: eight registers of 16 rows of 64 bytes, and instructions that multiply
// two of them and add to a third. A row of A has sixteen k-groups of two bf16 or four bytes, as a
// row of an unpacked A has; B is in panels, as for other register tiles.
//
// An instruction adds up the products of its sixteen k-groups before it adds to a sum. So floats
// depend on where the sixteens begin: at the beginning of a block of K (DepthFor, pack-inl.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// Whether there are tiles of bf16 and of bytes, and the operating system lets this process use
/// them.
bool HasAmx();

/// What is multiplied: A times B.
enum class AmxElements { kNone, kBf16, kS8S8, kS8U8, kU8S8, kU8U8 };

/// K-groups that an instruction multiplies.
constexpr size_t kAmxKGroups = 16;
/// Rows of A and of sums that a register has.
constexpr size_t kAmxRows = 16;
/// Rows of the largest tile, which has two registers of A for each of its three of B.
constexpr size_t kAmxTileRows = 2 * kAmxRows;

/// Rows of a tile where `left` remain.
constexpr size_t AmxRowsOf(size_t left) {
  return left >= kAmxTileRows ? kAmxTileRows : left < kAmxRows ? left : kAmxRows;
}

/// K-groups from one row of a packed A to the next: whole lines, in ever other sets of a cache.
constexpr size_t AmxRowKGroups(size_t depth) {
  return (depth + kAmxKGroups - 1) / kAmxKGroups * kAmxKGroups + kAmxKGroups;
}

/// What is multiplied, and where its sums are. Strides are in bytes.
struct AmxTile {
  const char* a = nullptr;
  ptrdiff_t a_to_row = 0;
  const char* b = nullptr;  // k-group 0; there are zeros up to a multiple of kAmxKGroups
  ptrdiff_t b_to_k = 0;
  size_t depth = 0;  // k-groups of A
  char* sums = nullptr;
  ptrdiff_t sums_to_row = 0, sums_to_vector = 0;
  bool from_zero = false;
};

/// The registers of a thread while it multiplies. They are shared by all objects of the thread, and
/// released with its last one: one that lives as long as a call saves the others to set them up.
class AmxRegisters {
 public:
  AmxRegisters();
  AmxRegisters(const AmxRegisters&) = delete;
  AmxRegisters& operator=(const AmxRegisters&) = delete;
  ~AmxRegisters();

  /// Adds A times B to the sums of kAmxTileRows, or up to kAmxRows, by up to three vectors of
  /// columns.
  void Multiply(AmxElements elements, const AmxTile& tile, size_t rows, size_t vectors);
};

/// What AmxRegisters::Multiply does.
using AmxMultiply = void (*)(AmxElements, const AmxTile&, size_t rows, size_t vectors);

/// For tests, while no kernel runs: does without them, as on another CPU, or with `instead`, which
/// needs none.
void SetAmxForTest(bool used, AmxMultiply instead = nullptr);

}  // namespace kiln::inline KILN_ABI
