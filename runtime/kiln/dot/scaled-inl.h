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
#include <utility>

#include "kiln/core/version.h"
#include "kiln/dot/computed-inl.h"
#include "kiln/simd/convert-inl.h"
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
    const auto value = Stored(at, r, c);
    if constexpr (std::is_same_v<Scale, NoScale>) {
      return value;
    } else {
      return hn::Mul(value, scale(at, r, c));
    }
  }

  template <class At>
  HWY_INLINE auto Stored(At at, size_t r, size_t c) const {
    return Cast<W, float>(at.Load(stored.At(r, c)));
  }
};

/// What is stored, for Fetch.
template <class Elements>
struct StoredElements {
  const Elements& elements;

  template <class At>
  HWY_INLINE auto operator()(At at, size_t r, size_t c) const {
    return elements.Stored(at, r, c);
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

// Eight rows of B are multiplied at a time, as the dot of f32 does.
constexpr size_t kStoredRows = kDeep<Dot<float>>;
using FloatsOfRows = KGroupsOfRows<Dot<float>>;

/// `count` elements of rows of A, from k on, as floats; what eight lack are zeros.
template <class Dot, class A>
HWY_INLINE void LoadFloats(const A& a, size_t row, size_t rows, size_t k, size_t count,
                           FloatsOfRows& to) {
  const ptrdiff_t to_k = a.ToK();
  for (size_t r = 0; r < rows; ++r) {
    const auto* const groups = a.At(row + r);
    for (size_t i = 0; i < kStoredRows; ++i) {
      float element = 0;
      if (i < count && Dot::kKPerGroup == 1) {
        const size_t group = ElementOf<Dot>(k + i);  // swapping pairs undoes itself
        memcpy(&element, groups + static_cast<ptrdiff_t>(group) * to_k, sizeof(element));
      } else if (i < count) {
        uint32_t pair;  // of bf16
        memcpy(&pair, groups + static_cast<ptrdiff_t>((k + i) / 2) * to_k, sizeof(pair));
        pair = (k + i) % 2 == 0 ? pair << 16 : pair & 0xffff0000u;
        memcpy(&element, &pair, sizeof(element));
      }
      to[r][i] = element;
    }
  }
}

/// How many elements of 4 bits a lane of 32 has.
constexpr size_t kHalves = 8;

/// Element `i` of each lane, the first being in the lowest bits, as floats.
template <typename W, size_t i, class V>
HWY_INLINE auto NthElements(V words) {
  const hn::ScalableTag<float> d;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  alignas(64) static constexpr float kUnsigned[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                      8, 9, 10, 11, 12, 13, 14, 15};
  alignas(64) static constexpr float kSigned[16] = {0,  1,  2,  3,  4,  5,  6,  7,
                                                    -8, -7, -6, -5, -4, -3, -2, -1};
  const auto values = hn::Load(d, std::is_same_v<W, i4> ? kSigned : kUnsigned);
  const auto shifted = hn::ShiftRight<4 * i>(words);  // its upper bits are not looked at
  return hn::Vec<decltype(d)>{_mm512_permutexvar_ps(shifted.raw, values.raw)};
#else
  const hn::RebindToSigned<decltype(d)> di;
  const auto at_top = hn::ShiftLeft<28 - 4 * i>(words);
  if constexpr (std::is_same_v<W, i4>) {
    return hn::ConvertTo(d, hn::ShiftRight<28>(hn::BitCast(di, at_top)));
  } else {
    return hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<28>(at_top)));
  }
#endif
}

/// Adds eight rows of elements of 4 bits, a vector of words of each. Those in the same place of
/// their words make a vector of sums.
template <typename W, class V>
HWY_INLINE void AddWords(const FloatsOfRows& groups, size_t rows, float* sums, size_t sums_stride,
                         V w_0, V w_1, V w_2, V w_3, V w_4, V w_5, V w_6, V w_7) {
  const size_t n = hn::Lanes(hn::ScalableTag<float>());
  const auto add = [&]<size_t... i>(std::index_sequence<i...>) HWY_ATTR {
    (AddVectors<Dot<float>>(groups, rows, sums + i * n, sums_stride, NthElements<W, i>(w_0),
                            NthElements<W, i>(w_1), NthElements<W, i>(w_2), NthElements<W, i>(w_3),
                            NthElements<W, i>(w_4), NthElements<W, i>(w_5), NthElements<W, i>(w_6),
                            NthElements<W, i>(w_7)),
     ...);
  };
  add(std::make_index_sequence<kHalves>());
}

/// Puts so many sums, as AddWords leaves them, in the order of columns.
HWY_INLINE void PutInOrder(size_t cols, float* sums) {
  const hn::ScalableTag<float> d;
  const size_t n = hn::Lanes(d);
  HWY_ALIGN float ordered[kHalves * hn::MaxLanes(d)];
  for (size_t c = 0; c < cols; c += kHalves * n, sums += kHalves * n) {
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
    for (size_t i = 0; i < kHalves; ++i) {
      for (size_t lane = 0; lane < n; ++lane) ordered[lane * kHalves + i] = sums[i * n + lane];
    }
    memcpy(sums, ordered, kHalves * n * sizeof(float));
#else
    const auto sum = [&](size_t i) HWY_ATTR { return hn::Load(d, sums + i * n); };
    hn::StoreInterleaved4(sum(0), sum(1), sum(2), sum(3), d, ordered);
    hn::StoreInterleaved4(sum(4), sum(5), sum(6), sum(7), d, ordered + 4 * n);
    const hn::FixedTag<float, 4> d4;
    for (size_t lane = 0; lane < n; ++lane) {
      hn::Store(hn::Load(d4, ordered + 4 * lane), d4, sums + kHalves * lane);
      hn::Store(hn::Load(d4, ordered + 4 * (n + lane)), d4, sums + kHalves * lane + 4);
    }
#endif
  }
}

/// How many of the columns from `first` on AddWords can add up: whole vectors of words, where they
/// begin with a byte.
template <typename W>
HWY_INLINE size_t ColsOfWords(const Tile<const W, 2>& stored, size_t first, size_t cols) {
  if constexpr (kIsPacked<W>) {
    const bool bytes = internal::PlaceOf(stored.At(0, first)) % 2 == 0 && stored.stride[0] % 2 == 0;
    return bytes ? cols / (kHalves * hn::Lanes(hn::ScalableTag<float>())) *
                       (kHalves * hn::Lanes(hn::ScalableTag<float>()))
                 : 0;
  } else {
    return 0;
  }
}

/// Adds eight rows of B from r on, of columns that ColsOfWords has counted.
template <typename W>
HWY_INLINE void AddRowsOfWords(const FloatsOfRows& groups, size_t rows,
                               const Tile<const W, 2>& stored, size_t r, size_t first, size_t cols,
                               float* sums, size_t sums_stride) {
  const hn::ScalableTag<uint32_t> dw;
  const size_t step = kHalves * hn::Lanes(dw);
  const auto stride = static_cast<ptrdiff_t>(stored.stride[0]) / 2;
  const uint8_t* bytes = AddressOf(stored.At(r, first));
  for (size_t c = 0; c < cols; c += step, bytes += step / 2) {
    const auto words = [&](ptrdiff_t i) HWY_ATTR {
      const uint8_t* const from = bytes + i * stride;
      hwy::Prefetch(from + 2 * ptrdiff_t{kStoredRows} * stride);
      return hn::LoadU(dw, reinterpret_cast<const uint32_t*>(from));
    };
    AddWords<W>(groups, rows, sums + c, sums_stride, words(0), words(1), words(2), words(3),
                words(4), words(5), words(6), words(7));
  }
}

/// Adds `count` rows of B from r on, of up to eight, for columns `begin` to `end` of `first` on.
template <class Elements>
HWY_INLINE void AddRowsOfElements(const FloatsOfRows& groups, size_t rows, const Elements& of,
                                  size_t r, size_t count, size_t first, size_t begin, size_t end,
                                  float* sums, size_t sums_stride) {
  const hn::ScalableTag<float> d;
  const Whole<decltype(d)> at;
  const size_t n = hn::Lanes(d);
  const size_t whole = count == kStoredRows ? begin + (end - begin) / n * n : begin;
  const auto* from = of.stored.At(r, first + begin);
  const auto stride = static_cast<ptrdiff_t>(of.stored.stride[0]);
  using W = std::remove_cvref_t<decltype(*from)>;
  for (size_t c = begin; c < whole; c += n, from += n) {
    for (ptrdiff_t i = 0; (c - begin) % kLineBytes == 0 && i < ptrdiff_t{kStoredRows}; ++i)
      hwy::Prefetch(AddressOf(from + (i + 2 * ptrdiff_t{kStoredRows}) * stride));
    const auto row = [&](ptrdiff_t i)
                         HWY_ATTR { return Cast<W, float>(at.Load(from + i * stride)); };
    AddVectors<Dot<float>>(groups, rows, sums + c, sums_stride, row(0), row(1), row(2), row(3),
                           row(4), row(5), row(6), row(7));
  }
  HWY_ALIGN float copy[kStoredRows * hn::MaxLanes(d)];
  const StoredElements<Elements> stored{of};
  for (size_t c = whole; c < end; c += n) {
    const Computed<StoredElements<Elements>> b{stored, {r + count, first + end}};
    Fetch(b, r, first + c, kStoredRows, n, copy);
    const auto row = [&](size_t i) HWY_ATTR { return hn::Load(d, copy + i * n); };
    AddVectors<Dot<float>>(groups, rows, sums + c, sums_stride, row(0), row(1), row(2), row(3),
                           row(4), row(5), row(6), row(7));
  }
}

/// Adds the product of rows of A and what is stored in rows of B from `begin` to `end`, of so many
/// columns from `first` on.
template <class Dot, class A, class Elements>
HWY_NOINLINE void AddStoredRows(const A& a, size_t row, size_t rows, const Elements& of,
                                RowRange range, size_t first, size_t cols, float* sums,
                                size_t sums_stride) {
  constexpr bool kWords = kIsPacked<std::remove_cvref_t<decltype(*of.stored.data)>>;
  const size_t words =
      range.end - range.begin < kStoredRows ? 0 : ColsOfWords(of.stored, first, cols);
  FloatsOfRows groups;
  size_t k = range.begin;
  for (; k + kStoredRows <= range.end; k += kStoredRows) {
    LoadFloats<Dot>(a, row, rows, k, kStoredRows, groups);
    if constexpr (kWords)
      AddRowsOfWords(groups, rows, of.stored, k, first, words, sums, sums_stride);
    AddRowsOfElements(groups, rows, of, k, kStoredRows, first, words, cols, sums, sums_stride);
  }
  if constexpr (kWords) {
    for (size_t r = 0; r < rows; ++r) PutInOrder(words, sums + r * sums_stride);
  }
  if (k == range.end) return;
  LoadFloats<Dot>(a, row, rows, k, range.end - k, groups);
  AddRowsOfElements(groups, rows, of, k, range.end - k, first, 0, cols, sums, sums_stride);
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
    AddStoredRows<Dot>(a, row, rows, of, {k, HWY_MIN(k + Elements::kRows, depth)}, first, cols,
                       of_run, sums_stride);
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
      AddStoredRows<Dot>(a, row, rows, elements, RowRange(b.rows), strip, cols, sums, sums_stride);
    }
  };
  const auto multiply = [&](const auto& first, const auto& last) HWY_ATTR {
    MultiplyInStrips<Dot>(ColumnTag<Dot>(), range.begin, range.end, a, b.cols, StoredCols, add,
                          first, last);
  };
  if constexpr (kRuns) return multiply(start, finish);
  // A single run: its sums are scaled on their way to those that there are.
  const auto zero = [](auto, size_t, size_t)
                        HWY_ATTR { return hn::Zero(hn::ScalableTag<float>()); };
  const auto scale = [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
    finish(at, AddScaled(at, elements, 0, c, sum, start(at, r, c)), r, c);
  };
  if constexpr (!kRuns) multiply(zero, scale);
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
