// Lines side by side in order, compiled once for each instruction set: a lane is a line, and a
// network compares whole rows of elements.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/order/side_by_side.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/order/keys-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Calls compare(i, j), i < j, so that n elements of which it puts the smaller first get into
/// order: Batcher's odd-even merges, which suit any number.
template <class Compare>
HWY_INLINE void WithNetwork(size_t n, const Compare& compare) {
  for (size_t sorted = 1; sorted < n; sorted *= 2) {
    for (size_t apart = sorted; apart > 0; apart /= 2) {
      for (size_t begin = apart % sorted; begin + apart < n; begin += 2 * apart) {
        const size_t end = begin + HWY_MIN(apart, n - begin - apart);
        for (size_t i = begin; i < end; ++i)
          if ((i ^ (i + apart)) < 2 * sorted) compare(i, i + apart);
      }
    }
  }
}

/// Keys of as many lines as are taken at a time.
template <typename Key>
inline constexpr size_t kLinesOfRow = kBytesOfRow / sizeof(Key);

/// Puts the keys of each of `lines` lines in order, which rows of kLinesOfRow have one of each.
template <typename Key>
HWY_INLINE void SortRowsOf(Key* keys, size_t count, size_t lines) {
  constexpr size_t kRow = kLinesOfRow<Key>;
  const hn::ScalableTag<Key> d;
  WithNetwork(count, [&](size_t i, size_t j) KILN_INLINE_ATTR {
    Key *const row = keys + i * kRow, *const other = keys + j * kRow;
    for (size_t l = 0; l < lines; l += hn::Lanes(d)) {
      const auto a = hn::LoadU(d, row + l), b = hn::LoadU(d, other + l);
      hn::StoreU(hn::Min(a, b), d, row + l);
      hn::StoreU(hn::Max(a, b), d, other + l);
    }
  });
}
/// The loop over a whole row is written out.
template <typename Key>
HWY_NOINLINE void SortRows(Key* keys, size_t count, size_t lines) {
  if (lines == kLinesOfRow<Key>)
    SortRowsOf(keys, count, kLinesOfRow<Key>);
  else
    SortRowsOf(keys, count, lines);
}

/// Keys of a strip of lines; whether some are of several bit patterns.
template <typename T>
HWY_INLINE bool KeysOfStrip(Line<const T> from, size_t count, size_t lines, KeyOf<Rep<T>> turned,
                            KeyOf<Rep<T>>* keys) {
  using Key = KeyOf<Rep<T>>;
  const TagFor<Key, LoopTag<Rep<T>>> dk;
  const auto turn = hn::Set(dk, turned);
  auto special = hn::Zero(dk);
  for (size_t i = 0; i < count; ++i) {
    const T* const row = from.first + Signed(i) * from.stride;
    ForLanes(LoopTag<Rep<T>>(), lines, [&](auto at, size_t l) KILN_INLINE_ATTR {
      const auto key = KeysOf<Rep<T>>(at.Load(row + l));
      if constexpr (kIsFloating<T>) special = hn::Or(special, hn::VecFromMask(dk, IsSpecial(key)));
      hn::StoreU(hn::Xor(key, turn), dk, keys + i * kLinesOfRow<Key> + l);
    });
  }
  return !hn::AllTrue(dk, hn::Eq(special, hn::Zero(dk)));
}

template <Sorted kOrder, typename T>
void SortLinesOf(Line<const T> from, size_t count, Line<T> to, size_t lines, int64_t* room) {
  using Key = KeyOf<Rep<T>>;
  constexpr Key turned = kTurned<kOrder, Key>;
  const TagFor<Key, LoopTag<Rep<T>>> dk;
  const auto turn = hn::Set(dk, turned);
  const size_t strip = kLinesOfRow<Key>;
  Key* const keys = reinterpret_cast<Key*>(room);
  for (size_t first = 0; first < lines; first += strip) {
    const size_t n = HWY_MIN(lines - first, strip);
    const Line<const T> in{from.first + first, from.stride};
    const Line<T> out{to.first + first, to.stride};
    // Equals that have other bits keep their order, which the network does not know.
    if (hn::Lanes(dk) > strip || KeysOfStrip<T>(in, count, n, turned, keys)) {
      for (size_t l = 0; l < n; ++l)
        SortLineOf<kOrder, T>({in.first + l, in.stride}, count, {out.first + l, out.stride}, room);
      continue;
    }
    SortRows(keys, count, n);
    for (size_t i = 0; i < count; ++i) {
      T* const row = out.first + Signed(i) * out.stride;
      ForLanes(LoopTag<Rep<T>>(), n, [&](auto at, size_t l) KILN_INLINE_ATTR {
        const auto key = hn::LoadU(dk, keys + i * strip + l);
        at.Store(OfKeys<Rep<T>>(hn::Xor(key, turn)), row + l);
      });
    }
  }
}

#define KILN_SORTS(T)                                                                         \
  template void SortLinesOf<kAscending, T>(Line<const T>, size_t, Line<T>, size_t, int64_t*); \
  template void SortLinesOf<kDescending, T>(Line<const T>, size_t, Line<T>, size_t, int64_t*);
KILN_WITH_ORDERED(KILN_SORTS)
#undef KILN_SORTS

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
