// Elements in order, and their positions, compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/order/sorts.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/order/keys-inl.h"
#include "kiln/order/network-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {

/// A key of 32 bits in front of its position.
HWY_INLINE int64_t PairOf(int32_t key, size_t position) {
  return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(key)) << 32 | position);
}

template <Sorted kOrder, class V>
HWY_INLINE V Directed(V key) {
  if constexpr (kOrder == kDescending) {
    return hn::Not(key);
  } else {
    return key;
  }
}

/// Puts the elements of which is(x) holds, in the order of the line, in place of those from `first`
/// on: to keys they are all alike.
template <typename T, class Is>
HWY_NOINLINE void PutBack(Line<const T> from, size_t count, Line<T> to, size_t first,
                          const Is& is) {
  for (size_t i = 0; i < count; ++i) {
    const T x = from.first[Signed(i) * from.stride];
    if (is(x)) to.first[Signed(first++) * to.stride] = x;
  }
}

template <typename T>
HWY_INLINE KeyOf<T> OneKey(T x) {
  KeyOf<T> key[hn::MaxLanes(LoopTag<T>())];
  const Part<LoopTag<T>> one(1);
  hn::StoreU(KeysOf<T, Zeros::kApart>(one.Load(&x)), TagFor<KeyOf<T>, LoopTag<T>>(), key);
  return key[0];
}

template <Sorted kOrder, typename T>
void SortLineOf(Line<const T> from, size_t count, Line<T> to, int64_t* room) {
  using Key = KeyOf<T>;
  using D = LoopTag<T>;
  const TagFor<Key, D> dk;
  Key* const keys = reinterpret_cast<Key*>(room);
  auto special = hn::Zero(dk);  // whether some key is that of several bit patterns
  ForLine<T>(from, count, [&]([[maybe_unused]] auto at, size_t i, auto v) KILN_INLINE_ATTR {
    const auto key = KeysOf<T, Zeros::kApart>(v);
    if constexpr (kIsFloating<T>) {
      const auto alike = hn::Or(hn::Eq(key, hn::Set(dk, std::numeric_limits<Key>::max())),
                                hn::Eq(key, hn::Set(dk, Key{-1})));
      special = hn::Or(special, hn::VecFromMask(dk, alike));
    }
    hn::StoreU(Directed<kOrder>(key), dk, keys + i);
  });
  SortKeys(keys, count);
  ForLanes(D(), count, [&](auto at, size_t i) KILN_INLINE_ATTR {
    StoreToLine(at, ValuesOf<T>(Directed<kOrder>(hn::LoadU(dk, keys + i))), to, i);
  });
  if constexpr (kIsFloating<T>) {
    if (hn::AllTrue(dk, hn::Eq(special, hn::Zero(dk)))) return;
    // Equals keep their order: NaNs have other bits than the key's, zeros signs.
    const Key nan =
        kOrder == kDescending ? std::numeric_limits<Key>::min() : std::numeric_limits<Key>::max();
    const auto place = [&](Key key) {
      return static_cast<size_t>(std::lower_bound(keys, keys + count, key) - keys);
    };
    PutBack(from, count, to, place(nan),
            [](T x) { return OneKey(x) == std::numeric_limits<Key>::max(); });
    PutBack(from, count, to, place(-1), [](T x) {
      const Key key = OneKey(x);
      return key == 0 || key == -1;
    });
  }
}

/// Positions of keys that need all 64 bits.
template <class Before>
HWY_INLINE void FirstPositions(size_t count, size_t k, int32_t* positions, const Before& before) {
  for (size_t i = 0; i < count; ++i) positions[i] = static_cast<int32_t>(i);
  if (k < count)
    std::partial_sort(positions, positions + k, positions + count, before);
  else
    std::sort(positions, positions + count, before);
}

template <Sorted kOrder, Zeros kZeros, typename T>
HWY_INLINE void WidePositions(Line<const T> from, size_t count, size_t k, Line<int32_t> to,
                              int64_t* room) {
  const TagFor<int64_t, LoopTag<T>> dk;
  int64_t* const keys = room;
  int32_t* const positions = reinterpret_cast<int32_t*>(room + count + hn::Lanes(dk));
  ForLine<T>(from, count, [&](auto, size_t i, auto v) KILN_INLINE_ATTR {
    hn::StoreU(Directed<kOrder>(KeysOf<T, kZeros>(v)), dk, keys + i);
  });
  FirstPositions(count, k, positions, [keys](int32_t a, int32_t b) {
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
  });
  for (size_t i = 0; i < k; ++i) to.first[Signed(i) * to.stride] = positions[i];
}

HWY_INLINE void StorePositions(const int64_t* pairs, size_t k, Line<int32_t> to) {
  for (size_t i = 0; i < k; ++i)
    to.first[Signed(i) * to.stride] = static_cast<int32_t>(pairs[i] & 0x7fffffff);
}

/// The first k positions by sorting all of them.
template <Sorted kOrder, Zeros kZeros, typename T>
HWY_INLINE void AllPositions(Line<const T> from, size_t count, size_t k, Line<int32_t> to,
                             int64_t* room) {
  const TagFor<int32_t, LoopTag<T>> dk;
  ForLine<T>(from, count, [&](auto at, size_t i, auto v) KILN_INLINE_ATTR {
    alignas(64) int32_t keys[hn::MaxLanes(dk)];
    hn::StoreU(Directed<kOrder>(KeysOf<T, kZeros>(v)), dk, keys);
    for (size_t lane = 0; lane < at.lanes(); ++lane) room[i + lane] = PairOf(keys[lane], i + lane);
  });
  SortKeys(room, count);
  StorePositions(room, k, to);
}

template <Sorted kOrder, typename T>
void ArgsortLineOf(Line<const T> from, size_t count, Line<int32_t> to, int64_t* room) {
  if constexpr (sizeof(T) == 8) {
    WidePositions<kOrder, Zeros::kEqual, T>(from, count, count, to, room);
  } else {
    AllPositions<kOrder, Zeros::kEqual, T>(from, count, count, to, room);
  }
}

/// The k largest so far as pairs, the first one first. Of a long line few elements are larger than
/// the k-th of those before them; one that equals it comes behind it.
class Largest {
 public:
  /// Of so few each goes to its place at once, where vectors of pairs have no instruction for the
  /// smaller of two.
  static constexpr size_t kFew = kBitMasks ? 0 : 32;
  /// Of others there are so many more than k before they are sorted, and the rest forgotten.
  static constexpr size_t kMore = 24;
  static bool Suit(size_t k, size_t count) {
    return k > 0 && (k <= kFew || 2 * (k + kMore) <= count);
  }

  Largest(size_t k, int64_t* pairs) : k_(k), pairs_(pairs) {}

  /// Whether there are k, and the key of the last of them.
  bool full() const { return full_; }
  int32_t least() const { return least_; }

  HWY_INLINE void Add(int64_t pair) {
    if (k_ > kFew) {
      pairs_[count_++] = pair;
      return;
    }
    if (count_ == k_ && pair > pairs_[--count_]) {
      ++count_;
      return;
    }
    size_t place = count_++;
    for (; place > 0 && pairs_[place - 1] > pair; --place) pairs_[place] = pairs_[place - 1];
    pairs_[place] = pair;
    if (count_ == k_) Know();
  }
  HWY_INLINE void Settle() {
    if (count_ > k_ + kMore) Sort();
  }
  void Sort() {
    if (k_ <= kFew) return;
    SortKeys(pairs_, count_);
    count_ = k_;
    Know();
  }

 private:
  HWY_INLINE void Know() {
    least_ = ~static_cast<int32_t>(pairs_[k_ - 1] >> 32);
    full_ = true;
  }

  const size_t k_;
  int64_t* const pairs_;
  size_t count_ = 0;
  int32_t least_ = 0;
  bool full_ = false;
};

template <typename T>
HWY_INLINE void LargestPositions(Line<const T> from, size_t count, size_t k, Line<int32_t> to,
                                 int64_t* pairs) {
  const TagFor<int32_t, LoopTag<T>> dk;
  Largest largest(k, pairs);
  ForLine<T>(from, count, [&](auto at, size_t i, auto v) KILN_INLINE_ATTR {
    const auto key = KeysOf<T, Zeros::kApart>(v);
    uint64_t larger = ~uint64_t{0};  // of the lanes, a bit each
    if (largest.full()) {
      const auto mask = hn::Gt(key, hn::Set(dk, largest.least()));
      if (hn::AllFalse(dk, mask)) return;
      larger = 0;
      hn::StoreMaskBits(dk, mask, reinterpret_cast<uint8_t*>(&larger));
    }
    alignas(64) int32_t keys[hn::MaxLanes(dk)];
    hn::StoreU(key, dk, keys);
    if (at.lanes() < 64) larger &= (uint64_t{1} << at.lanes()) - 1;
    for (; larger != 0; larger &= larger - 1) {
      const size_t lane = hwy::Num0BitsBelowLS1Bit_Nonzero64(larger);
      largest.Add(PairOf(~keys[lane], i + lane));
    }
    largest.Settle();
  });
  largest.Sort();
  StorePositions(pairs, k, to);
}

template <typename T>
void TopOfLineOf(Line<const T> from, size_t count, size_t k, Line<int32_t> to, int64_t* room) {
  if constexpr (sizeof(T) == 8) {
    WidePositions<kDescending, Zeros::kApart, T>(from, count, k, to, room);
  } else if (Largest::Suit(k, count)) {
    LargestPositions<T>(from, count, k, to, room);
  } else {
    AllPositions<kDescending, Zeros::kApart, T>(from, count, k, to, room);
  }
}

#define KILN_SORTS(T)                                                                          \
  template void SortLineOf<kAscending, T>(Line<const T>, size_t, Line<T>, int64_t*);           \
  template void SortLineOf<kDescending, T>(Line<const T>, size_t, Line<T>, int64_t*);          \
  template void ArgsortLineOf<kAscending, T>(Line<const T>, size_t, Line<int32_t>, int64_t*);  \
  template void ArgsortLineOf<kDescending, T>(Line<const T>, size_t, Line<int32_t>, int64_t*); \
  template void TopOfLineOf<T>(Line<const T>, size_t, size_t, Line<int32_t>, int64_t*);
KILN_SORTS(i4)
KILN_SORTS(u4)
KILN_SORTS(int8_t)
KILN_SORTS(uint8_t)
KILN_SORTS(int16_t)
KILN_SORTS(uint16_t)
KILN_SORTS(int32_t)
KILN_SORTS(uint32_t)
KILN_SORTS(int64_t)
KILN_SORTS(f8e4m3fn)
KILN_SORTS(f8e5m2)
KILN_SORTS(bf16)
KILN_SORTS(f16)
KILN_SORTS(float)
KILN_SORTS(double)
#undef KILN_SORTS

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
