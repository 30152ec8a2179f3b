// Elements in order, and their positions, compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/order/sorts.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/order/keys-inl.h"
#include "kiln/order/network-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// A key of 32 bits in front of its position.
HWY_INLINE int64_t PairOf(int32_t key, size_t position) {
  return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(key)) << 32 | position);
}

/// Keys of values, which may be in the same place: xor'd with `turned`. Whether some are of several
/// bit patterns.
template <typename R>
HWY_NOINLINE bool MakeKeys(const R* values, size_t count, KeyOf<R> turned, KeyOf<R>* keys) {
  const TagFor<KeyOf<R>, LoopTag<R>> dk;
  const auto turn = hn::Set(dk, turned);
  auto special = hn::Zero(dk);
  ForLanes(LoopTag<R>(), count, [&](auto at, size_t i) KILN_INLINE_ATTR {
    const auto key = KeysOf<R>(at.Load(values + i));
    if constexpr (std::is_floating_point_v<R>) {
      special = hn::Or(special, hn::VecFromMask(dk, IsSpecial(key)));
    }
    hn::StoreU(hn::Xor(key, turn), dk, keys + i);
  });
  return !hn::AllTrue(dk, hn::Eq(special, hn::Zero(dk)));
}

/// To keys 0 and -0 are one.
template <typename R>
HWY_NOINLINE void JoinZeros(KeyOf<R>* keys, size_t count, KeyOf<R> turned) {
  const TagFor<KeyOf<R>, LoopTag<R>> dk;
  const auto negative = hn::Set(dk, static_cast<KeyOf<R>>(~turned)), zero = hn::Set(dk, turned);
  for (size_t i = 0; i < count; i += hn::Lanes(dk)) {
    const auto key = hn::LoadU(dk, keys + i);
    hn::StoreU(hn::IfThenElse(hn::Eq(key, negative), zero, key), dk, keys + i);
  }
}

template <typename R>
HWY_NOINLINE void MakeValues(const KeyOf<R>* keys, size_t count, KeyOf<R> turned, R* values) {
  const TagFor<KeyOf<R>, LoopTag<R>> dk;
  const auto turn = hn::Set(dk, turned);
  ForLanes(LoopTag<R>(), count, [&](auto at, size_t i) KILN_INLINE_ATTR {
    at.Store(OfKeys<R>(hn::Xor(hn::LoadU(dk, keys + i), turn)), values + i);
  });
}

/// Puts the elements with this key or that, in the order of the line, in place of those from
/// `first` on: to keys they are all alike.
template <typename T>
HWY_NOINLINE void PutBack(Line<const T> from, size_t count, Line<T> to, size_t first,
                          KeyOf<Rep<T>> a, KeyOf<Rep<T>> b) {
  using R = Rep<T>;
  constexpr size_t kBlock = 256;
  HWY_ALIGN R values[kBlock + hn::MaxLanes(LoopTag<T>())];
  HWY_ALIGN KeyOf<R> keys[kBlock + hn::MaxLanes(LoopTag<T>())];
  for (size_t i = 0; i < count; i += kBlock) {
    const Line<const T> block{from.first + Signed(i) * from.stride, from.stride};
    const size_t n = HWY_MIN(count - i, kBlock);
    MakeKeys<R>(ValuesOf<T>(block, n, values), n, 0, keys);
    for (size_t k = 0; k < n; ++k) {
      if (keys[k] == a || keys[k] == b)
        to.first[Signed(first++) * to.stride] = block.first[Signed(k) * from.stride];
    }
  }
}

template <Sorted kOrder, typename T>
void SortLineOf(Line<const T> from, size_t count, Line<T> to, int64_t* room) {
  using R = Rep<T>;
  using Key = KeyOf<R>;
  constexpr Key turned = kTurned<kOrder, Key>;
  Key* const keys = reinterpret_cast<Key*>(room);
  // In the place of keys, where they are not in the line's.
  R* const values = reinterpret_cast<R*>(room);
  const bool special = MakeKeys<R>(ValuesOf<T>(from, count, values), count, turned, keys);
  SortKeys(keys, count);
  const auto place = [&](Key key) {
    return static_cast<size_t>(std::lower_bound(keys, keys + count, key ^ turned) - keys);
  };
  const size_t nans = special ? place(kNanKey<R>) : count,
               zeros = special ? place(kOrder == kDescending ? Key{0} : Key{-1}) : count;
  R* const sorted = PlaceOf<T>(to, values);
  MakeValues<R>(keys, count, turned, sorted);
  Settle<T>(sorted, count, to);
  if constexpr (kIsFloating<T>) {
    if (!special) return;
    // Equals keep their order: NaNs have other bits than the key's, zeros signs.
    PutBack(from, count, to, nans, kNanKey<R>, kNanKey<R>);
    PutBack(from, count, to, zeros, 0, -1);
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

/// The first k positions of keys, which are at the beginning of the room.
HWY_NOINLINE void PositionsOf(const int64_t* keys, size_t count, size_t k, Line<int32_t> to,
                              int64_t* room) {
  int32_t* const positions =
      reinterpret_cast<int32_t*>(room + count + hn::Lanes(hn::ScalableTag<int64_t>()));
  FirstPositions(count, k, positions, [keys](int32_t a, int32_t b) {
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
  });
  for (size_t i = 0; i < k; ++i) to.first[Signed(i) * to.stride] = positions[i];
}

HWY_INLINE void StorePositions(const int64_t* pairs, size_t k, Line<int32_t> to) {
  for (size_t i = 0; i < k; ++i)
    to.first[Signed(i) * to.stride] = static_cast<int32_t>(pairs[i] & 0x7fffffff);
}

/// The same, of keys at its end: each is read before what is written reaches it.
HWY_NOINLINE void PositionsOf(const int32_t* keys, size_t count, size_t k, Line<int32_t> to,
                              int64_t* room) {
  for (size_t i = 0; i < count; ++i) room[i] = PairOf(keys[i], i);
  SortKeys(room, count);
  StorePositions(room, k, to);
}

/// Where keys that become positions are in the room, with a vector behind them.
template <typename Key>
HWY_INLINE Key* KeysIn(int64_t* room, size_t count) {
  if constexpr (sizeof(Key) == 8) return room;
  return reinterpret_cast<Key*>(room + RoomWords(count)) - count -
         hn::Lanes(hn::ScalableTag<Key>());
}

/// The first k positions by sorting all of them.
template <Sorted kOrder, typename T>
HWY_INLINE void AllPositions(Line<const T> from, size_t count, size_t k, bool join_zeros,
                             Line<int32_t> to, int64_t* room) {
  using R = Rep<T>;
  using Key = KeyOf<R>;
  constexpr Key turned = kTurned<kOrder, Key>;
  Key* const keys = KeysIn<Key>(room, count);
  const bool special =
      MakeKeys<R>(ValuesOf<T>(from, count, reinterpret_cast<R*>(keys)), count, turned, keys);
  if (special && join_zeros) JoinZeros<R>(keys, count, turned);
  PositionsOf(keys, count, k, to, room);
}

template <Sorted kOrder, typename T>
void ArgsortLineOf(Line<const T> from, size_t count, Line<int32_t> to, int64_t* room) {
  AllPositions<kOrder>(from, count, count, true, to, room);
}

/// The k largest so far as pairs, the first one first. Of a long line few elements are larger than
/// the k-th of those before them; one that equals it comes behind it.
class Largest {
 public:
  /// Of up to so many, each goes to its place at once, where vectors of pairs have no instruction
  /// for the smaller of two.
  static constexpr size_t kMaxInserted = kBitMasks ? 0 : 32;
  /// Of others there are so many more than k before they are sorted, and the rest forgotten.
  static constexpr size_t kMore = 24;
  static bool Suit(size_t k, size_t count) {
    return k > 0 && (k <= kMaxInserted || 2 * (k + kMore) <= count);
  }

  Largest(size_t k, int64_t* pairs) : k_(k), pairs_(pairs) {}

  /// Whether there are k, and the key of the last of them.
  bool full() const { return full_; }
  int32_t least() const { return least_; }

  HWY_INLINE void Add(int64_t pair) {
    if (k_ > kMaxInserted) {
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
    if (k_ <= kMaxInserted) return;
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

/// Adds those values that may be among the largest; the first of them is at `position`.
template <typename R>
HWY_INLINE void AddValues(const R* values, size_t count, size_t position, Largest& largest) {
  const TagFor<int32_t, LoopTag<R>> dk;
  ForLanes(LoopTag<R>(), count, [&](auto at, size_t i) KILN_INLINE_ATTR {
    const auto key = KeysOf<R>(at.Load(values + i));
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
      largest.Add(PairOf(~keys[lane], position + i + lane));
    }
    largest.Settle();
  });
}

template <typename R>
HWY_NOINLINE void AddBlock(const R* values, size_t count, size_t position, Largest& largest) {
  AddValues<R>(values, count, position, largest);
}

template <typename T>
HWY_INLINE void LargestPositions(Line<const T> from, size_t count, size_t k, Line<int32_t> to,
                                 int64_t* pairs) {
  using R = Rep<T>;
  Largest largest(k, pairs);
  if (AreValues(from)) {  // what is looked at in between stays in registers
    AddValues<R>(reinterpret_cast<const R*>(from.first), count, 0, largest);
  } else {
    constexpr size_t kBlock = 512;
    HWY_ALIGN R room[kBlock + hn::MaxLanes(LoopTag<T>())];
    for (size_t i = 0; i < count; i += kBlock) {
      const size_t n = HWY_MIN(count - i, kBlock);
      ReadLine<T>({from.first + Signed(i) * from.stride, from.stride}, n, room);
      AddBlock<R>(room, n, i, largest);
    }
  }
  largest.Sort();
  StorePositions(pairs, k, to);
}

template <typename T>
void TopOfLineOf(Line<const T> from, size_t count, size_t k, Line<int32_t> to, int64_t* room) {
  if constexpr (sizeof(T) != 8) {
    if (Largest::Suit(k, count)) return LargestPositions(from, count, k, to, room);
  }
  AllPositions<kDescending>(from, count, k, false, to, room);
}

#define KILN_SORTS(T)                                                                          \
  template void SortLineOf<kAscending, T>(Line<const T>, size_t, Line<T>, int64_t*);           \
  template void SortLineOf<kDescending, T>(Line<const T>, size_t, Line<T>, int64_t*);          \
  template void ArgsortLineOf<kAscending, T>(Line<const T>, size_t, Line<int32_t>, int64_t*);  \
  template void ArgsortLineOf<kDescending, T>(Line<const T>, size_t, Line<int32_t>, int64_t*); \
  template void TopOfLineOf<T>(Line<const T>, size_t, size_t, Line<int32_t>, int64_t*);
KILN_WITH_ORDERED(KILN_SORTS)
#undef KILN_SORTS

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
