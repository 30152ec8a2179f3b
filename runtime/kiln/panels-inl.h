// The operands of a dot as formats: what a copy makes of a block, and what a register tile reads.
//
//   LeftPanels<T>         x of dot(x, y)
//   LeftPanelsT<T>        x of dot(x.T, y), where the array is [k, m]
//   LeftRows<T>           x of dot(x, y) where it lies, if that is as fast
//   RightPanels<T>        y of dot(x, y)
//   RightPanelsT<T>       y of dot(x, y.T), where the array is [n, k]
//   PackLeft<As>(tile)    the same of a value in VMEM, where it is used
//
// T is the array's type; a second argument says how it is multiplied if that is not T x T: a wider
// type (LeftPanels<bf16, float> beside an f32 operand) or a dot (LeftPanels<uint8_t, Dot<uint8_t,
// int8_t>>).
#if defined(KILN_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_PANELS_INL_H_
#undef KILN_PANELS_INL_H_
#else
#define KILN_PANELS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <array>
#include <type_traits>

#include "kiln/block.h"
#include "kiln/dot-inl.h"
#include "kiln/pack-inl.h"
#include "kiln/poison.h"
#include "kiln/rows.h"
#include "kiln/tensor.h"
#include "kiln/tile.h"
#include "kiln/tiles-inl.h"
#include "kiln/views-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Fills the start values of a panel of x: what is to be added for the flip of y.
template <class D>
HWY_INLINE void LeftStarts(typename D::Word* panel, size_t depth) {
  using Word = typename D::Word;
  Word* const starts = panel + kPanelRows * depth;
  memset(starts, 0, kPanelRows * sizeof(Word));
  if constexpr (D::kFlip != 0) {
    const hn::ScalableTag<Word> d;
    const size_t n = hn::Lanes(d);
    const size_t count = kPanelRows * depth;
    const auto ones = hn::Set(d, 0x01010101);
    HWY_ALIGN Word lanes[hn::MaxLanes(hn::ScalableTag<Word>())] = {};
    auto sum = hn::Zero(d);
    auto sum_1 = sum, sum_2 = sum, sum_3 = sum;  // else each step waits for the one before
    size_t i = 0;
    for (; i + 4 * n <= count; i += 4 * n) {
      sum = D::Step(hn::LoadU(d, panel + i), ones, sum);
      sum_1 = D::Step(hn::LoadU(d, panel + i + n), ones, sum_1);
      sum_2 = D::Step(hn::LoadU(d, panel + i + 2 * n), ones, sum_2);
      sum_3 = D::Step(hn::LoadU(d, panel + i + 3 * n), ones, sum_3);
    }
    sum = hn::Add(hn::Add(sum, sum_1), hn::Add(sum_2, sum_3));
    for (; i + n <= count; i += n) sum = D::Step(hn::LoadU(d, panel + i), ones, sum);
    memcpy(lanes, panel + i, (count - i) * sizeof(Word));
    hn::Store(D::Step(hn::Load(d, lanes), ones, sum), d, lanes);
    constexpr Word kBy = std::is_signed_v<typename D::X> ? -128 : 128;
    for (size_t lane = 0; lane < n; ++lane) starts[lane % kPanelRows] += kBy * lanes[lane];
  }
}

/// Packs (rows, k).
template <class D, typename T>
HWY_NOINLINE void PackLeftFrom(const Source<T>& x, typename D::Word* to) {
  using X = typename D::X;
  const size_t rows = RoundUp(x.extent[0], kPanelRows);
  const size_t depth = WordsOf<D>(x.extent[1]);
  const size_t panel = LeftPanelWords(depth);

  if (x.IsTransposed()) {
    constexpr size_t kWords = 4, kRows = 64;  // whole lines of 16 panels
    HWY_ALIGN X buffer[kWords * D::kPerWord * kRows];
    const Source<T> columns = x.Transposed();
    for (size_t k = 0; k < depth; k += kWords) {
      const size_t count = HWY_MIN(kWords, depth - k);
      for (size_t r = 0; r < rows; r += kRows) {
        const size_t chunk = HWY_MIN(kRows, rows - r);
        const auto from = Fetch(columns, k * D::kPerWord, r, count * D::kPerWord, chunk, buffer);
        LeftAcrossK<D>(from, count, chunk, panel, to + r / kPanelRows * panel + kPanelRows * k);
      }
    }
    for (size_t r = 0; r < rows; r += kPanelRows) LeftStarts<D>(to + r / kPanelRows * panel, depth);
  } else {
    constexpr size_t kWords = 256;
    HWY_ALIGN X buffer[kPanelRows * kWords * D::kPerWord];
    for (size_t r = 0; r < rows; r += kPanelRows, to += panel) {
      for (size_t k = 0; k < depth; k += kWords) {
        const size_t count = HWY_MIN(kWords, depth - k);
        const auto from = Fetch(x, r, k * D::kPerWord, kPanelRows, count * D::kPerWord, buffer);
        LeftAlongK<D>(from, count, to + kPanelRows * k);
      }
      LeftStarts<D>(to, depth);  // while the panel is close
    }
  }
}

/// Packs (k, columns).
template <class D, typename T>
HWY_NOINLINE void PackRightFrom(const Source<T>& y, typename D::Word* to) {
  using Word = typename D::Word;
  using Y = typename D::Y;
  constexpr size_t kMaxCols = kTileVectors * hn::MaxLanes(hn::ScalableTag<Word>());
  const size_t n = hn::Lanes(hn::ScalableTag<Word>());
  const size_t cols = PaddedCols<Word>(y.extent[1]);
  const size_t depth = WordsOf<D>(y.extent[0]);

  if (y.IsTransposed()) {
    constexpr size_t kWords = 64;
    HWY_ALIGN Y buffer[kMaxCols * kWords * D::kPerWord];
    const Source<T> rows = y.Transposed();
    for (size_t c = 0, width = 0; c < cols; c += width) {
      width = PanelVectors<Word>(c, cols) * n;
      for (size_t k = 0; k < depth; k += kWords) {
        const size_t count = HWY_MIN(kWords, depth - k);
        const auto from = Fetch(rows, c, k * D::kPerWord, width, count * D::kPerWord, buffer);
        RightAlongK<D>(from, count, width, to + c * (depth + 1) + width * k);
      }
    }
  } else {
    constexpr size_t kPanels = 16;
    HWY_ALIGN Y buffer[D::kPerWord * kPanels * kMaxCols];
    for (size_t k = 0; k < depth; ++k) {  // a row at a time, as memory likes it
      for (size_t c = 0, end = 0; c < cols; c = end) {
        for (size_t p = 0; p < kPanels && end < cols; ++p) end += PanelVectors<Word>(end, cols) * n;
        const auto from = Fetch(y, ElementOf<D>(k), c, D::kPerWord, end - c, buffer);
        for (size_t panel = c, width = 0; panel < end; panel += width) {
          width = PanelVectors<Word>(panel, cols) * n;
          RightAcrossK<D>(Fetched<Y>{from.data + (panel - c), from.stride}, width,
                          to + panel * (depth + 1) + width * k);
        }
      }
    }
  }
}

/// A block as a source, its dimensions in the order of the array or the other way around.
template <bool kTransposed, typename T, int R>
Source<T> SourceOf(const Tensor<const T>& array, const Box<R>& box, const Pad<T>& pad) {
  Source<T> source;
  source.data = array.template At<R>(box.start);
  const std::array<int, 2> dims = box.template ViewDims<2>();
  for (int v = 0; v < 2; ++v) {
    const int d = dims[kTransposed ? 1 - v : v];
    source.stride[v] = array.stride[d];
    source.low[v] = static_cast<size_t>(box.low[d]);
    source.high[v] = static_cast<size_t>(box.high[d]);
    source.extent[v] = static_cast<size_t>(box.clipped[d] ? box.high[d] : box.size[d]);
  }
  source.pad = pad.value;
  return source;
}

/// A tile of VMEM as an operand of these extents: the tile's, or those of its transpose.
template <bool kTransposed, typename T>
Source<std::remove_const_t<T>> SourceOf(const Tile<T, 2>& tile, size_t extent_0, size_t extent_1) {
  constexpr int kFirst = kTransposed ? 1 : 0;
  return {tile.data,
          {tile.stride[kFirst], tile.stride[1 - kFirst]},
          {0, 0},
          {extent_0, extent_1},
          {extent_0, extent_1},
          {}};
}

/// The extents of dimension v of a packed block.
template <bool kTransposed, int R>
size_t ExtentOf(const Box<R>& box, int v) {
  const int d = box.template ViewDims<2>()[kTransposed ? 1 - v : v];
  return static_cast<size_t>(box.clipped[d] ? box.high[d] : box.size[d]);
}
template <bool kTransposed, int R>
size_t SizeOf(const Shape<R>& block, int v) {
  return static_cast<size_t>(block.size[block.template ViewDims<2>()[kTransposed ? 1 - v : v]]);
}

/// Left operand of a dot.
template <typename T, class As, bool kTransposed>
struct LeftFormat {
  using Element = T;
  using Multiply = DotOf<As>;
  using Word = typename Multiply::Word;

  using View = LeftView<Word>;

  static size_t Depth(size_t k) { return WordsOf<Multiply>(k); }
  static size_t Bytes(size_t rows, size_t k) {
    return DivUp(rows, kPanelRows) * LeftPanelWords(Depth(k)) * sizeof(Word);
  }
  template <int R>
  static size_t Bytes(const Shape<R>& block) {
    return Bytes(SizeOf<kTransposed>(block, 0), SizeOf<kTransposed>(block, 1));
  }
  template <int R>
  static bool IsInPlace(const Tensor<const T>&, const Box<R>&) {
    return false;
  }
  template <int R>
  static View InPlace(const Tensor<const T>&, const Box<R>&) {
    return {};  // never asked for
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return View::OfPanels(static_cast<const Word*>(data), ExtentOf<kTransposed>(box, 0),
                          Depth(ExtentOf<kTransposed>(box, 1)));
  }
  template <int R>
  static void Copy(const Tensor<const T>& from, const Box<R>& box, const Pad<T>& pad, void* to) {
    PackLeftFrom<Multiply>(SourceOf<kTransposed>(from, box, pad), static_cast<Word*>(to));
  }
};
template <typename T, class As = T>
using LeftPanels = LeftFormat<T, As, false>;
template <typename T, class As = T>
using LeftPanelsT = LeftFormat<T, As, true>;

/// One whose words lie in its rows, if it is to be read there: a register tile does that as fast as
/// from panels, and nothing is packed. Short pieces of rows far apart would compete for sets of the
/// caches; words of several elements have to be aligned.
template <typename T>
struct LeftRows : LeftPanels<T> {
  using D = DotOf<T>;
  using Word = typename LeftPanels<T>::Word;
  static constexpr bool kCanLie = kIsPlain<D, T> && D::kFlip == 0;
  using View = LeftView<Word, std::conditional_t<kCanLie, AnySteps, PanelSteps>>;

  static constexpr int64_t kLong = 512;  // words

  template <int R>
  static bool IsInPlace(const Tensor<const T>& tensor, const Box<R>& box) {
    if constexpr (!kCanLie) return false;
    const auto [row, column] = box.template ViewDims<2>();
    if (!Rows<T, 2>::IsInPlace(tensor, box) || !IsAligned(tensor, box, column)) return false;
    const auto depth = static_cast<int64_t>(ExtentOf<false>(box, 1));
    const int64_t stride = tensor.stride[row];
    return depth >= kLong * kPerWord || (-2 * depth <= stride && stride <= 2 * depth);
  }
  template <int R>
  static View InPlace(const Tensor<const T>& tensor, const Box<R>& box) {
    if constexpr (!kCanLie) {
      return {};  // never asked for
    } else {
      const int64_t stride = tensor.stride[box.template ViewDims<2>()[0]];
      return View::OfRows(reinterpret_cast<const Word*>(tensor.template At<R>(box.start)),
                          ExtentOf<false>(box, 0), WordsOf<D>(ExtentOf<false>(box, 1)),
                          stride / kPerWord);
    }
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    const auto panels = LeftPanels<T>::ViewOf(data, box);
    return View::OfPanels(panels.words, panels.rows, panels.depth);
  }

 private:
  static constexpr int64_t kPerWord{D::kPerWord};

  template <int R>
  static bool IsAligned(const Tensor<const T>& tensor, const Box<R>& box, int column) {
    if constexpr (kPerWord == 1) return true;
    int64_t odd = box.size[column] % kPerWord | (box.high[column] - box.low[column]) % kPerWord;
    for (int d = 0; d < R; ++d) odd |= d == column ? 0 : tensor.stride[d] % kPerWord;
    const auto address = reinterpret_cast<uintptr_t>(tensor.template At<R>(box.start));
    return odd == 0 && address % sizeof(Word) == 0;
  }
};

/// Right operand of a dot.
template <typename T, class As, bool kTransposed>
struct RightFormat {
  using Element = T;
  using Multiply = DotOf<As>;
  using Word = typename Multiply::Word;

  using View = RightView<Word, kRowsMayLie<Multiply, T>>;

  static size_t Depth(size_t k) { return WordsOf<Multiply>(k); }
  static size_t Bytes(size_t k, size_t cols) {
    return PaddedCols<Word>(cols) * (Depth(k) + 1) * sizeof(Word);
  }
  template <int R>
  static size_t Bytes(const Shape<R>& block) {
    return Bytes(SizeOf<kTransposed>(block, 0), SizeOf<kTransposed>(block, 1));
  }
  template <int R>
  static bool IsInPlace(const Tensor<const T>&, const Box<R>&) {
    return false;
  }
  /// Whether to pack y does not pay, if each element meets so many rows of x.
  template <int R>
  static bool IsInPlaceFor(int64_t rows, const Tensor<const T>& tensor, const Box<R>& box) {
    if (kTransposed || !std::is_same_v<T, typename Multiply::Y>) return false;
    return Rows<T, 2>::IsInPlace(tensor, box) && WayFor(rows, tensor, box) != RightWay::kPanels;
  }
  template <int R>
  static View InPlaceFor(int64_t rows, const Tensor<const T>& tensor, const Box<R>& box) {
    const T* const first = tensor.template At<R>(box.start);
    const size_t k = ExtentOf<false>(box, 0), cols = ExtentOf<false>(box, 1);
    const auto [row, column] = box.template ViewDims<2>();
    const auto stride = static_cast<size_t>(tensor.stride[row]);
    if constexpr (kRowsMayLie<Multiply, T>) {
      if (WayFor(rows, tensor, box) == RightWay::kTiles)
        return View::OfRows(first, k, cols, stride, tensor.stride[row] != tensor.shape[column]);
    }
    return View::AlongRows(first, Depth(k), k, cols, stride);
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return View::OfPanels(static_cast<const Word*>(data), Depth(ExtentOf<kTransposed>(box, 0)),
                          ExtentOf<kTransposed>(box, 1));
  }
  template <int R>
  static void Copy(const Tensor<const T>& from, const Box<R>& box, const Pad<T>& pad, void* to) {
    PackRightFrom<Multiply>(SourceOf<kTransposed>(from, box, pad), static_cast<Word*>(to));
  }

 private:
  template <int R>
  static RightWay WayFor(int64_t rows, const Tensor<const T>& tensor, const Box<R>& box) {
    const int row = box.template ViewDims<2>()[0];
    return RightWayFor<Multiply, T>(rows, tensor.shape[row], tensor.stride[row]);
  }
};
template <typename T, class As = T>
using RightPanels = RightFormat<T, As, false>;
template <typename T, class As = T>
using RightPanelsT = RightFormat<T, As, true>;

/// Packs a tile of VMEM where a dot uses it, as it would be packed for a dot of `As`. The T forms
/// are for the transpose of the tile; extents are always those of the operand. `to` has
/// LeftPanels<As>::Bytes(rows, k).
template <class As, bool kTransposed = false, typename T>
LeftView<typename DotOf<As>::Word> PackLeft(const Tile<T, 2>& x, size_t rows, size_t k, void* to) {
  using Format = LeftPanels<As>;
  auto* const words = static_cast<typename Format::Word*>(to);
  PackLeftFrom<DotOf<As>>(SourceOf<kTransposed>(x, rows, k), words);
  return Format::View::OfPanels(words, rows, Format::Depth(k));
}
template <class As, typename T>
auto PackLeftT(const Tile<T, 2>& x, size_t rows, size_t k, void* to) {
  return PackLeft<As, true>(x, rows, k, to);
}

/// `to` has RightPanels<As>::Bytes(k, cols).
template <class As, bool kTransposed = false, typename T>
auto PackRight(const Tile<T, 2>& y, size_t k, size_t cols, void* to) {
  using Format = RightPanels<As>;
  auto* const words = static_cast<typename Format::Word*>(to);
  PackRightFrom<DotOf<As>>(SourceOf<kTransposed>(y, k, cols), words);
  return RightView<typename Format::Word>::OfPanels(words, Format::Depth(k), cols);
}
template <class As, typename T>
auto PackRightT(const Tile<T, 2>& y, size_t k, size_t cols, void* to) {
  return PackRight<As, true>(y, k, cols, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
