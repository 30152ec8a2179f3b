// Stacks of packed matrices: an operand of which each dot multiplies one matrix, such as the filter
// of a convolution, [rows, columns, channels, outputs].
#if defined(KILN_STACKS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_STACKS_INL_H_
#undef KILN_STACKS_INL_H_
#else
#define KILN_STACKS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <array>

#include "kiln/core/version.h"
#include "kiln/dot/panels-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Packed matrices side by side, in the order of the leading dimensions of their block.
template <class Matrix, int kLeading>
struct MatrixStack {
  Matrix first;
  size_t to_next = 0;  // k-groups
  std::array<int64_t, kLeading> counts{};
  size_t depth = 0, cols = 0;  // of each

  template <typename... I>
  HWY_INLINE Matrix At(I... at) const {
    static_assert(sizeof...(I) == kLeading, "one index a leading dimension");
    int64_t number = 0;
    int d = 0;
    ((number = number * counts[d++] + static_cast<int64_t>(at)), ...);
    Matrix matrix = first;
    matrix.groups += static_cast<size_t>(number) * to_next;
    return matrix;
  }
};

/// A block of kLeading dimensions and those of Packed, a format of matrices.
template <class Packed, int kLeading>
struct StackOf {
  using Element = typename Packed::Element;
  using KGroup = typename Packed::KGroup;
  using View = MatrixStack<typename Packed::View, kLeading>;
  static constexpr bool kChoosesByOther = false;

  template <int R>
  static size_t Bytes(const Shape<R>& block) {
    size_t count = 1;
    Shape<R> one = block;
    ForLeading(block, [&](int, int d) {
      count *= static_cast<size_t>(block.size[d]);
      one.squeezed[d] = true;
    });
    return count * Packed::Bytes(one);
  }
  template <int R>
  static bool IsInPlace(const Tensor<const Element>&, const Box<R>&) {
    return false;
  }
  template <int R>
  static View InPlace(const Tensor<const Element>&, const Box<R>&) {
    return {};  // never called
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    const Box<R> one = MatrixAt(box, 0);
    View view;
    view.first = Packed::ViewOf(data, one);
    view.to_next = Packed::Bytes(static_cast<const Shape<R>&>(one)) / sizeof(KGroup);
    ForLeading(box, [&](int v, int d) { view.counts[v] = box.size[d]; });
    view.depth = view.first.depth, view.cols = view.first.cols;
    return view;
  }
  template <int R>
  static void Copy(const Tensor<const Element>& from, const Box<R>& box, const Pad<Element>& pad,
                   void* to) {
    int64_t count = 1;
    ForLeading(box, [&](int, int d) { count *= box.size[d]; });
    const size_t bytes = Packed::Bytes(static_cast<const Shape<R>&>(MatrixAt(box, 0)));
    for (int64_t n = 0; n < count; ++n)
      Packed::Copy(from, MatrixAt(box, n), pad,
                   static_cast<char*>(to) + static_cast<size_t>(n) * bytes);
  }

 private:
  /// Calls fn(v, d) for each leading dimension of the view, which is d of the array.
  template <int R, class Fn>
  static void ForLeading(const Shape<R>& block, const Fn& fn) {
    const auto dims = block.template ViewDims<kLeading>();
    for (int v = 0; v < kLeading; ++v) fn(v, dims[v]);
  }
  /// The block of the n-th matrix; one that is outside of the array is all pad.
  template <int R>
  static Box<R> MatrixAt(const Box<R>& box, int64_t n) {
    Box<R> one = box;
    bool inside = true;
    const auto dims = box.template ViewDims<kLeading>();
    for (int v = kLeading; v-- > 0;) {
      const int d = dims[v];
      const int64_t size = box.size[d] > 0 ? box.size[d] : 1, i = n % size;
      n /= size;
      inside = inside && box.low[d] <= i && i < box.high[d];
      one.start[d] += i;
      one.size[d] = 1, one.low[d] = 0, one.high[d] = 1;
      one.squeezed[d] = true;
    }
    for (int d = 0; d < R && !inside; ++d) {
      if (!one.squeezed[d] && !one.clipped[d]) one.low[d] = one.high[d] = 0;
    }
    return one;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
