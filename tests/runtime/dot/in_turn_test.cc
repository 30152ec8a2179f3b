// Panels that are packed in turn, beside those that are packed at once, bit for bit: when each is
// there, where they are, and what products are that read them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/dot/in_turn_test.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
// Once per target.
#include "hwy/aligned_allocator.h"
#include "kiln/direct/direct.h"
#include "kiln/dot/matrices-inl.h"
#include "kiln/dot/panels-inl.h"
#include "tests/runtime/dot/matrices.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::in_turn_test {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT
using dot_test::Matrix;

/// A whole matrix as a block, which a format packs at once, or in turn.
template <typename T, bool kTransposed>
class Block final : public PackedLater {
 public:
  using Format = FormatOfB<T, T, kTransposed>;
  using View = typename Format::View;
  using KGroup = typename Format::KGroup;

  Block(const Matrix<T>& b, size_t depth, size_t cols)
      : depth_(depth), cols_(cols), bytes_(Format::Bytes(depth, cols)) {
    const auto k = static_cast<int64_t>(depth), n = static_cast<int64_t>(cols);
    array_.data = b.tile.data;
    array_.rank = 2;
    array_.shape = {kTransposed ? n : k, kTransposed ? k : n};
    array_.stride = {b.tile.stride[0], b.tile.stride[1]};
    box_.size = {array_.shape[0], array_.shape[1]};
    box_.high = box_.size;
    whole_ = hwy::AllocateAligned<uint8_t>(bytes_);
    panels_ = hwy::AllocateAligned<uint8_t>(bytes_);
    std::memset(whole_.get(), 0x55, bytes_);
    Format::Copy(array_, box_, NoPad(), whole_.get());
    Forget();
  }

  PanelsInTurn Panels() override { return {panels_.get(), &part}; }
  bool HasPanels() const override { return false; }
  void PackPiece(const PanelPiece& piece, void* to) override {
    ++pieces;
    Format::CopyPiece(array_, box_, NoPad(), piece, to);
  }

  /// As a step reads a block that no step has asked for. `is_last`: nor will another one.
  View Begin(bool is_last) {
    part = {.steps = 1, .is_last = is_last};
    return TheSame();
  }
  View TheSame() {
    View view = Format::ViewOf(panels_.get(), box_);
    view.turn = {this, &part, Format::HomeOf(array_, box_)};
    return view;
  }

  /// Whether the panel at c is what packing at once makes of it.
  bool IsRight(const View& view, size_t c, size_t width) const {
    const KGroup* const panel = view.InTurn().PanelAt(c);
    const auto* const expected =
        reinterpret_cast<const KGroup*>(whole_.get()) + c * (view.depth + 1);
    return std::memcmp(panel, expected, view.depth * width * sizeof(KGroup)) == 0;
  }
  /// How many columns of panels have been written to.
  size_t ColumnsInUse() const {
    const auto is_used = [](uint8_t byte) { return byte != 0x55; };
    const auto* const end = panels_.get() + bytes_;
    const auto last = std::find_if(std::make_reverse_iterator(end),
                                   std::make_reverse_iterator(end - bytes_), is_used);
    return DivUp(static_cast<size_t>(last.base() - panels_.get()),
                 (Format::Depth(depth_) + 1) * sizeof(KGroup));
  }
  void Forget() { std::memset(panels_.get(), 0x55, bytes_); }

  PackedPart part;
  int pieces = 0;

 private:
  const size_t depth_, cols_, bytes_;
  Tensor<const T> array_;
  Box<2> box_{};
  hwy::AlignedFreeUniquePtr<uint8_t[]> whole_, panels_;
};

constexpr size_t kRows = 64;  // of which packing in turn pays

/// What tiles of so many rows do to panels, one column of tiles after the other.
template <class Packed, class View>
std::string Walk(const Packed& packed, const View& view, size_t rows) {
  const size_t n = hn::Lanes(hn::ScalableTag<typename Packed::KGroup>());
  for (size_t c = 0, width = 0; c < view.cols; c += width) {
    const size_t vectors = TileVectors(DivUp(view.cols - c, n));
    width = vectors * n;
    for (size_t r = 0; r < rows; r += kTileRows) {
      view.InTurn().Advance(c, HWY_MAX(vectors, 2) * n);
      if (!packed.IsRight(view, c, HWY_MAX(vectors, 2) * n))
        return "the panel at " + std::to_string(c) + " is wrong in row " + std::to_string(r);
    }
  }
  return "";
}

template <typename T, bool kTransposed>
std::string CheckPanels(size_t depth, size_t cols) {
  std::mt19937 random(11);
  const Matrix<T> b = dot_test::Random<T>(random, depth, cols, kTransposed, 1);
  Block<T, kTransposed> block(b, depth, cols);
  constexpr size_t kTwoPanels =
      2 * kTileVectors * hn::MaxLanes(hn::ScalableTag<typename Block<T, kTransposed>::KGroup>());
  for (const bool once : {false, true}) {
    block.Forget();
    const auto view = block.Begin(once);
    view.InTurn().Begin(kRows, /*one_pass=*/true);
    if (const std::string error = Walk(block, view, kRows); !error.empty())
      return (once ? "once, " : "") + error;
    // Two of three vectors, or one of them and two of two.
    if (block.part.wraps && block.ColumnsInUse() > kTwoPanels + kTwoPanels / 3)
      return "more memory than that of two panels is used";
    // Another product of the same step, and of another one.
    view.InTurn().Begin(kRows, /*one_pass=*/true);
    if (const std::string error = Walk(block, view, kRows); !error.empty())
      return (once ? "once, again, " : "again, ") + error;
    ++block.part.steps;
    const auto again = block.TheSame();
    again.InTurn().Begin(kRows, /*one_pass=*/true);
    if (block.part.wraps) return "a block that is asked for again is thrown away";
    if (const std::string error = Walk(block, again, kRows); !error.empty())
      return (once ? "once, later, " : "later, ") + error;
    const int pieces = block.pieces;
    again.PackTheRest();
    if (block.pieces != pieces) return "panels that are there are packed again";
  }
  // All at once, after panels took turns, and after a part of it.
  const auto last = block.Begin(/*is_last=*/true);
  last.InTurn().Begin(kRows, /*one_pass=*/true);
  Walk(block, last, kRows);
  last.PackTheRest();
  if (const std::string error = Walk(block, last, 1); !error.empty())
    return "the rest after turns: " + error;
  for (const size_t calls : {0, 1, 3, 11}) {
    const auto view = block.Begin(/*is_last=*/false);
    view.InTurn().Begin(kRows, /*one_pass=*/true);
    for (size_t i = 0; i < calls; ++i)
      view.InTurn().Advance(0,
                            block.part.columns == 0 ? 1 : static_cast<size_t>(block.part.columns));
    view.PackTheRest();
    const int pieces = block.pieces;
    if (const std::string error = Walk(block, view, 1); !error.empty())
      return "the rest after " + std::to_string(calls) + ": " + error;
    if (block.pieces != pieces) return "something was not there";
  }
  return "";
}

/// Products of rows that are few and of more, with and without other steps that read the block.
template <typename T, bool kTransposed>
std::string CheckProducts(size_t depth, size_t cols) {
  using D = Dot<T>;
  using Acc = typename D::Acc;
  std::mt19937 random(12);
  const Matrix<T> b = dot_test::Random<T>(random, depth, cols, kTransposed, 1);
  Block<T, kTransposed> block(b, depth, cols);
  for (const size_t rows : {3, 40, 70}) {
    const Matrix<T> a = dot_test::Random<T>(random, rows, depth, false, 1);
    const auto memory = hwy::AllocateAligned<uint8_t>(PackedA<T>::Bytes(rows, depth));
    const auto view_a = PackA<T>(a.tile, rows, depth, memory.get());
    for (const bool once : {false, true}) {
      auto view_b = block.Begin(once);
      for (int time = 0; time < 3; ++time) {
        std::vector<Acc> z(rows * cols);
        MultiplyTiles<D>(RowRange(rows), view_a, view_b, TileSums(), Nothing(),
                         [&](auto at, auto sum, size_t r, size_t c)
                             HWY_ATTR { at.Store(sum, &z[r * cols + c]); });
        const std::string error = dot_test::FirstError(a, b, z, rows, depth, cols);
        if (!error.empty()) return error;
        if (time == 1) ++block.part.steps, view_b = block.TheSame();
      }
    }
  }
  return "";
}

/// What an operand of Direct makes of an array of 8 blocks of 600 by 100, larger than the L2: which
/// of them are packed in turn, and where they take turns.
std::string CheckOperand(Core& core, bool is_lent) {
  constexpr int64_t kDepth = 600, kCols = 100, kBlocks = 8;
  std::mt19937 random(13);
  const Matrix<float> b =
      dot_test::Random<float>(random, kDepth, static_cast<size_t>(kCols * kBlocks), false, 1);
  const std::array<int64_t, 2> shape{kDepth, kCols * kBlocks};
  const Tensor<const float> array(b.tile.data, 2, shape.data(), b.tile.stride.data());
  Direct::DotIn<float, 2> in(core, {"b", 0, 0}, kDotFormat<PackedB<float>, 2>, array,
                             {Blocked(kDepth), Blocked(kCols)});
  if (is_lent) in.LendTo(1);
  const auto begin = [&](int64_t block) {
    const auto view = ViewOf<PackedB<float>>(in.WaitIn({0, block}));
    if (view.IsPackedInTurn()) view.InTurn().Begin(kRows, /*one_pass=*/true);
    return view;
  };
  const auto first = begin(0);
  if (first.IsPackedInTurn() == is_lent) return "a lent block is packed in turn, or another is not";
  if (is_lent) return "";
  if (first.turn.part->columns != 0) return "something was packed before a tile needed it";
  if (first.turn.part->wraps) return "the first block is thrown away";
  if (!begin(1).turn.part->wraps) return "the second block is kept, although the first came once";
  if (begin(1).turn.part->wraps) return "a block that came back is thrown away";
  if (begin(2).turn.part->wraps) return "the next is thrown away, although the last came back";
  return "";
}
/// With a cache that holds nothing, as it may be larger than any array that a test makes.
std::string CheckOperands() {
  Options options;
  options.cpu.l2_bytes = 1;
  for (const bool is_lent : {false, true}) {
    Core core;
    core.Reset(0, 1, options, {"kernel", nullptr}, {});
    if (const std::string error = CheckOperand(core, is_lent); !error.empty()) return error;
  }
  return "";
}

template <typename T>
std::string CheckType(const char* type) {
  for (const size_t depth : {1, 37, 300, 1100}) {  // of the last k-groups of all types are many
    for (const size_t cols : {5, 48, 75, 112, 200}) {
      for (const std::string& error :
           {CheckPanels<T, false>(depth, cols), CheckPanels<T, true>(depth, cols),
            CheckProducts<T, false>(depth, cols), CheckProducts<T, true>(depth, cols)}) {
        if (!error.empty())
          return type + (": " + std::to_string(depth)) + " by " + std::to_string(cols) + ": " +
                 error;
      }
    }
  }
  return "";
}

std::string CheckAll() {
  for (const std::string& error :
       {CheckType<float>("f32"), CheckType<bf16>("bf16"), CheckType<int8_t>("i8")}) {
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::in_turn_test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tests/catch.h"
#include "tests/runtime/dot/each_target.h"

namespace kiln::in_turn_test {
HWY_EXPORT(CheckAll);
HWY_EXPORT(CheckOperands);

TEST_CASE("Panels that are packed in turn are those that are packed at once") {
  dot_test::ForEachTargetAndAmx([] { CHECK(KILN_DISPATCH(CheckAll)() == ""); });
}

TEST_CASE("Direct packs in turn what no output takes over, where it was while no step asks again") {
  dot_test::ForEachTarget([] { CHECK(KILN_DISPATCH(CheckOperands)() == ""); });
}

}  // namespace kiln::in_turn_test
#endif
