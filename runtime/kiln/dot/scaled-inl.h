// A B of few bits an element, such as quantised weights, and a scale of each column. Few rows of A
// multiply what is stored, in f32, and scale their sums; for more rows B is scaled, rounded and
// packed.
#if defined(KILN_SCALED_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_SCALED_INL_H_
#undef KILN_SCALED_INL_H_
#else
#define KILN_SCALED_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/dot/computed-inl.h"
#include "kiln/dot/stored-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rows of A in all of a call, up to which they multiply what is stored. (Those of a step would be
/// others in Direct, whose blocks are its own, and sums have other bits than with a packed B.)
constexpr size_t kRowsOfStored = 8;

/// The scale of elements that have none.
struct NoScale {};

/// Elements of B as floats: what is stored, times scale(at, row, column), which is the same for the
/// rows of a run of kRun; 0: of all rows.
template <size_t kRun, typename W, class Scale>
struct ScaledElements {
  static constexpr size_t kRows = kRun;

  Tile<const W, 2> stored;
  Scale scale;

  template <class At>
  HWY_INLINE auto operator()(At at, size_t r, size_t c) const {
    PrefetchRowsAhead(stored.At(r, c), stored.At(r + 1, c));
    const auto value = StoredElements<W>{stored}(at, r, c);
    if constexpr (std::is_same_v<Scale, NoScale>) {
      return value;
    } else {
      return hn::Mul(value, scale(at, r, c));
    }
  }
};

template <typename KGroup, class Elements>
struct ViewOfScaledB : ViewOfComputedB<KGroup, Elements> {
  bool as_stored;
};

/// How many rows of A there are: in a step, and in all of the call.
struct RowsOfA {
  size_t of_step, of_call;
};

/// As PackBOf, of `stored` times `scale`.
template <class As, size_t kRun = 0, typename W, class Scale>
HWY_INLINE auto PackScaledB(const Tile<const W, 2>& stored, size_t k, size_t cols, RowsOfA rows,
                            void* to, const Scale& scale) {
  using Elements = ScaledElements<kRun, W, Scale>;
  using View = ViewOfScaledB<typename PackedB<As>::KGroup, Elements>;
  static_assert(std::is_same_v<typename DotOf<As>::Acc, float>);
  const bool as_stored = rows.of_call <= kRowsOfStored;
  const size_t of_step = as_stored ? 0 : rows.of_step;  // none: nothing is packed
  return View{PackBOf<As>(of_step, k, cols, to, Elements{stored, scale}), as_stored};
}

/// sum + added * the scale of what is stored.
template <class At, class Elements, class V>
HWY_INLINE V AddScaled(At at, const Elements& of, size_t r, size_t c, V added, V sum) {
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(of.scale)>, NoScale>) {
    return hn::Add(sum, added);
  } else {
    return hn::MulAdd(added, of.scale(at, r, c), sum);
  }
}

/// AddStoredRows run by run, which are added up and scaled by themselves.
template <class Dot, class A, class Elements>
HWY_INLINE void AddRuns(const A& a, size_t row, size_t rows, const Elements& of, size_t depth,
                        size_t first, size_t cols, float* sums, size_t sums_stride) {
  const hn::ScalableTag<float> d;
  HWY_ALIGN float of_run[kRowsAtATime * SumsStride(StreamedCols(kRowsAtATime))];
  for (size_t k = 0; k < depth; k += Elements::kRows) {
    for (size_t r = 0; r < rows; ++r)
      memset(of_run + r * sums_stride, 0, RoundUp(cols, hn::Lanes(d)) * sizeof(float));
    AddStoredRows<Dot>(a, row, rows, of.stored, {k, HWY_MIN(k + Elements::kRows, depth)}, first,
                       cols, of_run, sums_stride);
    for (size_t r = 0; r < rows * sums_stride; r += sums_stride) {
      ForLanes(kFloats, cols, [&](auto at, size_t c) HWY_ATTR {
        const auto added = hn::Load(d, of_run + r + c), sum = hn::Load(d, sums + r + c);
        hn::Store(AddScaled(at, of, k, first + c, added, sum), d, sums + r + c);
      });
    }
  }
}

/// MultiplyStreamed, of a B as it is stored.
template <class Dot, class A, class B, class Start, class Finish>
HWY_INLINE void MultiplyAsStored(RowRange range, const A& a, const B& b, const Start& start,
                                 const Finish& finish) {
  const auto elements = b.fn;
  constexpr bool kRuns = decltype(b.fn)::kRows != 0;
  const auto add = [&](size_t row, size_t rows, size_t strip, size_t cols, float* sums,
                       size_t sums_stride) HWY_ATTR {
    if constexpr (kRuns) {
      AddRuns<Dot>(a, row, rows, elements, b.rows, strip, cols, sums, sums_stride);
    } else {
      AddStoredRows<Dot>(a, row, rows, elements.stored, RowRange(b.rows), strip, cols, sums,
                         sums_stride);
    }
  };
  const auto multiply = [&](const auto& first, const auto& last) HWY_ATTR {
    MultiplyInStrips<Dot>(ColumnTag<Dot>(), range.begin, range.end, a, b.cols, StoredCols, add,
                          first, last);
  };
  if constexpr (kRuns) {
    multiply(start, finish);
  } else {  // the sums of a single run are scaled on their way to those that there are
    multiply([](auto, size_t, size_t) HWY_ATTR { return hn::Zero(hn::ScalableTag<float>()); },
             [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
               finish(at, AddScaled(at, elements, 0, c, sum, start(at, r, c)), r, c);
             });
  }
}

/// MultiplyComputed for a B that is scaled.
template <class Dot, class A, class KGroup, class Elements, class Sums, class Start = Nothing,
          class Finish = Nothing, class To = NoTile>
HWY_INLINE void MultiplyComputed(RowRange rows, const A& a,
                                 const ViewOfScaledB<KGroup, Elements>& b, const Sums& sums,
                                 const Start& start = Start(), const Finish& finish = Finish(),
                                 const To& to = To()) {
  if (!b.as_stored) {
    const ViewOfComputedB<KGroup, Elements>& computed = b;
    return MultiplyComputed<Dot>(rows, a, computed, sums, start, finish, to);
  }
  if constexpr (std::is_same_v<Sums, StepSums<float>>) {
    if (!sums.step.last) return MultiplyComputed<Dot>(rows, a, b, sums.ThatAreKept());
  }
  WithSums<Dot>(sums, start, finish, [&](const auto& first, const auto& last) HWY_ATTR {
    MultiplyAsStored<Dot>(rows, a, b, first, last);
  });
}
template <class Dot, class A, class KGroup, class Elements>
HWY_INLINE void MultiplyComputed(RowRange rows, const A& a,
                                 const ViewOfScaledB<KGroup, Elements>& b,
                                 const SumsInRows<float>& sums) {
  if (!b.as_stored) {
    const ViewOfComputedB<KGroup, Elements>& computed = b;
    return MultiplyComputed<Dot>(rows, a, computed, sums);
  }
  WithSums(sums, [&](const auto& first, const auto& last)
                     HWY_ATTR { MultiplyAsStored<Dot>(rows, a, b, first, last); });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
