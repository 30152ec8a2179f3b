// y of a dot in place: what a register tile reads when x has so few rows that packing y would cost
// more than it saves.
#if defined(KILN_RIGHT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_RIGHT_ROWS_INL_H_
#undef KILN_RIGHT_ROWS_INL_H_
#else
#define KILN_RIGHT_ROWS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "hwy/cache_control.h"
#include "kiln/panels-inl.h"
#include "kiln/rows.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Right operand of a dot, row-major as in HBM. A block is in place unless it needs pads.
template <typename T, class As = T>
struct RightRows {
  using Element = T;
  using Multiply = DotOf<As>;
  using Word = typename Multiply::Word;
  using Y = typename Multiply::Y;
  using InMemory = Rows<T, 2>;
  static constexpr size_t kPer = kPerWord<Multiply, Y>;
  static_assert(kPer == 1 || std::is_same_v<T, Y>, "to be widened, not to be narrowed");

  struct Panel {
    const T* data;
    int64_t stride;
    size_t rows;  // of y: elements of k
    size_t cols;  // that exist, from the first of the panel on

    HWY_INLINE auto Load(size_t k, size_t v) const {
      const hn::ScalableTag<Word> d;
      const size_t n = hn::Lanes(d);
      const size_t count = cols >= (v + 1) * n ? n : cols - HWY_MIN(cols, v * n);
      const T* along[kPer];
      for (size_t i = 0; i < kPer; ++i) {
        along[i] = data + static_cast<int64_t>(k * kPer + i) * stride + v * n;
        // Rows of y are more streams than the hardware prefetcher follows.
        hwy::Prefetch(reinterpret_cast<const char*>(along[i]) + 256);
      }
      if constexpr (kPer == 1) {
        if constexpr (kMaskedAccess<RawBits<T>>) return Part<decltype(d)>(count).Load(along[0]);
        if (HWY_LIKELY(count == n)) return Whole<decltype(d)>().Load(along[0]);
        return Part<decltype(d)>(count).Load(along[0]);
      } else {
        static constexpr T kZeros[hn::MaxLanes(hn::ScalableTag<Word>())] = {};
        for (size_t i = 1; i < kPer; ++i) {
          if (HWY_UNLIKELY(k * kPer + i >= rows)) along[i] = kZeros;
        }
        return Flip<Multiply>(LoadFirstWords(d, along, count));
      }
    }
  };
  struct View {
    const T* data = nullptr;
    int64_t stride = 0;
    size_t rows = 0;
    size_t depth = 0;  // words of k
    size_t cols = 0;

    Panel At(size_t c) const { return {data + c, stride, rows, cols - c}; }
  };

  template <int R>
  static size_t Bytes(const Shape<R>& block) {
    return InMemory::Bytes(block);
  }
  template <int R>
  static bool IsInPlace(const Box<R>& box) {
    const auto dims = box.template ViewDims<2>();
    return InMemory::IsInPlace(box) && box.low[dims[0]] == 0 && box.low[dims[1]] == 0;
  }
  template <int R>
  static View InPlace(const Tensor<const T>& tensor, const Box<R>& box) {
    return Of(InMemory::InPlace(tensor, box), box);
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return Of(InMemory::ViewOf(data, box), box);
  }
  template <int R>
  static void Copy(const Tensor<const T>& from, const Box<R>& box, const Pad<T>& pad, void* to) {
    InMemory::Copy(from, box, pad, to);
  }

 private:
  template <int R>
  static View Of(const Tile<const T, 2>& tile, const Box<R>& box) {
    const size_t rows = ExtentOf<false>(box, 0);
    return {tile.data, tile.stride[0], rows, DivUp(rows, kPer), ExtentOf<false>(box, 1)};
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
