// Two arrays in HBM and a tile in VMEM, for tests of copies by hand.
#pragma once

#include <algorithm>
#include <array>

#include "kiln/direct/direct.h"
#include "kiln/emulate/dma.h"
#include "kiln/emulate/emulated.h"
#include "tests/runtime/runtime_testing.h"

namespace kiln::dma_test {

inline constexpr Semaphore kSent{"sent", 7, 2, 9};
inline constexpr Operand kX{"x", 0, 5};
inline constexpr Operand kY{"y", 1, 6};
inline constexpr int64_t kRows = 4, kCols = 6;

/// x and y in HBM, a tile in VMEM, and one core's copies between them.
struct Bench {
  Sample<float, 2> x{{kRows, kCols}};
  Sample<float, 2> y{{kRows, kCols}};
  LoneCore lone;
  Copies copies;
  Tile<float, 2> tile;

  explicit Bench(const Options& options = EmulatedOptions(), int32_t x_lent_to = -1)
      : lone(options), copies(lone.core) {
    Fill(y.tensor, 0.0f);
    copies.Reads(kX, x_lent_to);
    copies.Writes(kY);
    void* const memory = lone.core.Allocate(TileSize<float>(kRows, kCols) * sizeof(float));
    tile = MakeTile(static_cast<float*>(memory), kRows, kCols);
    std::fill_n(tile.data, TileSize<float>(kRows, kCols), 0.0f);
    lone.core.BeginStep(0);
  }

  using Cuts = std::array<Cut, 2>;
  static Cuts Part(int64_t row, int64_t rows, int64_t col, int64_t cols) {
    return {CutRange(row, rows, kRows), CutRange(col, cols, kCols)};
  }
  CopyEnd OfX(const Cuts& cuts) { return PartOf(kX, Tensor<const float>(x.tensor), cuts); }
  CopyEnd OfY(const Cuts& cuts) { return PartOf(kY, y.tensor, cuts); }
  CopyEnd OfTile(const Cuts& cuts) { return PartOf("tile", tile, cuts); }

  bool Start(const CopyEnd& from, const CopyEnd& to, int64_t slot = 0) {
    return copies.Start(kSent, slot, sizeof(float), from, to);
  }
  bool Wait(int64_t slot = 0) { return copies.Wait(kSent, slot); }
  const OperandRecord& RecordOf(const Operand& operand) {
    return *lone.core.records()[static_cast<size_t>(operand.ordinal)];
  }
};

}  // namespace kiln::dma_test
