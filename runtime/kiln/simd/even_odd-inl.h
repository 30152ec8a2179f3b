// Loops over bf16 by lines of twice as many lanes as a vector of floats has: the even ones are
// computed first, and then the odd ones. To widen those takes a shift or a mask, where neighbours
// have to be moved apart first; and both are rounded and stored at once.
//
//   ForLanes(kEvenOdd, n, [&](auto at, size_t i) HWY_ATTR { at.Store(at.Load(x + i), z + i); });
//
// The function is called twice for a line, and what it stores of the even lanes waits in registers
// for the odd ones. So it must not load what it has stored. It loads and stores neighbours alone,
// and calls at.Store, and at.Load of others than bf16, as often and in the same order each time
// (generator/planner/decide/lanes/widths.h).
//
// Others than bf16 take two shuffles a line. On targets that widen by one instruction the loops are
// those of kFloats.
#if defined(KILN_EVEN_ODD_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_EVEN_ODD_INL_H_
#undef KILN_EVEN_ODD_INL_H_
#else
#define KILN_EVEN_ODD_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/reduce-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

using FloatLanes = hn::ScalableTag<float>;

/// The tag of such a loop: of the lanes that are computed at a time, half of those of a line.
struct EvenOdd : FloatLanes {};
constexpr EvenOdd kEvenOdd;

using LineTag = hn::Repartition<uint16_t, FloatLanes>;

/// What the even lanes of a line leave for the odd ones, in the order of loads and stores: their
/// own values to be stored, and what has been loaded of others than bf16.
struct LeftForOdd {
  static constexpr size_t kMost = 8;
  hn::Vec<FloatLanes> left[kMost];
  size_t kept = 0, taken = 0;

  template <class V>
  HWY_INLINE void Keep(V v) {
    left[kept++] = hn::BitCast(kFloats, v);
  }
  template <class V>
  HWY_INLINE V Take(V) {
    return hn::BitCast(hn::DFromV<V>(), left[taken++]);
  }
};

/// The first half of a line of 32-bit lanes, or the second.
template <bool kSecond, class V>
HWY_INLINE V HalfInOrder(V even, V odd) {
  const hn::DFromV<V> d;
#if HWY_TARGET <= HWY_AVX3
  alignas(64) static constexpr int32_t kTurns[] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                   21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                   11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i turns = _mm512_load_si512(kTurns + (kSecond ? 16 : 0));
  const auto a = hn::BitCast(kFloats, even), b = hn::BitCast(kFloats, odd);
  return hn::BitCast(d, hn::Vec<FloatLanes>{_mm512_permutex2var_ps(a.raw, turns, b.raw)});
#else
  const V lower = hn::InterleaveLower(d, even, odd), upper = hn::InterleaveUpper(d, even, odd);
  return kSecond ? hn::ConcatUpperUpper(d, upper, lower) : hn::ConcatLowerLower(d, upper, lower);
#endif
}

/// The even lanes of a line, or its odd ones. Where it `streams`, stores go past the caches, but
/// those by Cached().
template <bool kOdd>
struct HalfLine : AtLanes<FloatLanes, HalfLine<kOdd>> {
  LeftForOdd& half;
  bool streams;

  HWY_INLINE HalfLine(LeftForOdd& left, bool past_caches) : half(left), streams(past_caches) {}
  HWY_INLINE size_t lanes() const { return hn::Lanes(kFloats); }
  HWY_INLINE HalfLine Cached() const { return HalfLine(half, false); }

  HWY_INLINE auto Iota(int32_t first) const {
    const TagFor<int32_t, FloatLanes> d;
    const auto places = hn::Iota(d, 0);
    return hn::Add(hn::Add(places, places), hn::Set(d, first + int32_t{kOdd}));
  }

  template <typename T>
  HWY_INLINE auto Load(const T* p) const {
    if constexpr (std::is_same_v<T, bf16>) {
      const TagFor<uint32_t, FloatLanes> d;
      const auto both = hn::BitCast(d, hn::LoadU(LineTag(), RawPointer(p)));
      if constexpr (kOdd) return hn::BitCast(kFloats, hn::And(both, hn::Set(d, 0xFFFF0000u)));
      if constexpr (!kOdd) return hn::BitCast(kFloats, hn::ShiftLeft<16>(both));
    } else if constexpr (kOdd) {
      return half.Take(LoadWhole(kFloats, p));
    } else {
      const auto low = LoadWhole(kFloats, p), high = LoadWhole(kFloats, p + lanes());
      const hn::DFromV<decltype(low)> d;
      half.Keep(hn::ConcatOdd(d, high, low));
      return hn::ConcatEven(d, high, low);
    }
  }

  template <class V, typename T>
  HWY_INLINE void Store(V v, T* p) const {
    if constexpr (kOdd)
      StoreLine(half.Take(v), v, p);
    else
      half.Keep(v);
  }
  template <typename T>
  HWY_INLINE void Copy(const T* from, T* to) const {
    static_assert(sizeof(T) == 2);
    const hn::Repartition<RawBits<T>, FloatLanes> d;
    if constexpr (kOdd) Put(hn::LoadU(d, RawPointer(from)), d, to);
  }

  template <typename... Later>
  HWY_INLINE void PrefetchStream(Later... later) const {
    if constexpr (!kOdd) Ahead().PrefetchStream(later...);
  }
  template <typename... Later>
  HWY_INLINE void PrefetchParts(Later... later) const {
    if constexpr (!kOdd) {
      if (streams) Ahead().PrefetchParts(later...);
    }
  }

 private:
  HWY_INLINE auto Ahead() const {
    Streamed<FloatLanes> ahead;
    ahead.prefetches = streams && kPrefetchesStreams;
    return ahead;
  }
  template <class V, class D, typename T>
  HWY_INLINE void Put(V bits, D d, T* p) const {
    if (streams)
      hn::Stream(bits, d, RawPointer(p));
    else
      hn::StoreU(bits, d, RawPointer(p));
  }
  template <class V, typename T>
  HWY_INLINE void StoreLine(V even, V odd, T* p) const {
    if constexpr (std::is_same_v<T, bf16>) {
      Put(hn::BitCast(LineTag(), RoundedPairs(even, odd)), LineTag(), p);
    } else {
      const TagFor<RawBits<T>, FloatLanes> d;
      Put(ToStorage<T>(HalfInOrder<false>(even, odd)), d, p);
      Put(ToStorage<T>(HalfInOrder<true>(even, odd)), d, p + lanes());
    }
  }
};

/// The same place, of which the compiler does not know that it is. The odd lanes of bf16 are loaded
/// again: lines that wait for them would be more than there are registers, and would be stored
/// elsewhere meanwhile.
HWY_INLINE size_t SamePlace(size_t i) {
  asm("" : "+r"(i));
  return i;
}

/// Calls fn for both halves of the line from element i on.
template <class Fn>
HWY_INLINE void ForLine(const Fn& fn, size_t i, bool streams) {
  LeftForOdd half;
  fn(HalfLine<false>(half, streams), i);
  fn(HalfLine<true>(half, streams), SamePlace(i));
}

/// `few` elements of less than a line come first.
template <class Fn>
HWY_INLINE void ForLines(size_t few, size_t count, bool streams, const Fn& fn) {
  const size_t n = hn::Lanes(kFloats);
  size_t i = 0;
  for (size_t end = few;; end = count) {
    if (i + n <= end) fn(Whole<FloatLanes>(), i), i += n;
    if (i < end) fn(Part<FloatLanes>(end - i), i);
    i = end;
    if (i == count) return;
    for (; i + 2 * n <= count; i += 2 * n) ForLine(fn, i, streams);
  }
}

template <class Fn>
HWY_INLINE void ForLanes(EvenOdd, size_t count, Fn&& fn) {
  ForLines(0, count, false, fn);
}

/// As of other lanes. Elements of 16 bits are stored a line at a time.
template <size_t kStreams = 1, typename T, class Fn>
HWY_INLINE void StreamLanes(EvenOdd d, size_t count, bool stream, const T* to, Fn&& fn) {
  const size_t n = hn::Lanes(d);
  const size_t bytes = n * (sizeof(T) == 2 ? 4 : sizeof(T));
  const size_t beyond = reinterpret_cast<uintptr_t>(to) % bytes;
  const bool is_lines = (reinterpret_cast<uintptr_t>(to) | count * sizeof(T)) % kLineBytes == 0;
  const bool streams =
      stream && bytes >= 16 && beyond % sizeof(T) == 0 && (count >= 4 * n || is_lines);
  const size_t few = streams && beyond != 0 ? (bytes - beyond) / sizeof(T) : 0;
  ForLines(few, count, streams, fn);
}

/// Of what is folded a line is two vectors.
template <class Fn, class Into0, class Into1, class Into2, class Into3>
HWY_INLINE void FoldFour(EvenOdd, const Fn& fn, size_t i, const Into0& into_0, const Into1& into_1,
                         const Into2& into_2, const Into3& into_3) {
  LeftForOdd first, second;
  fn(HalfLine<false>(first, false), i, into_0);
  fn(HalfLine<true>(first, false), SamePlace(i), into_1);
  i += 2 * hn::Lanes(kFloats);
  fn(HalfLine<false>(second, false), i, into_2);
  fn(HalfLine<true>(second, false), SamePlace(i), into_3);
}

#else
constexpr auto kEvenOdd = kFloats;
#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_EVEN_ODD_INL_H_
