// Rows of a B of 8 bits or less an element, multiplied as they are stored: f32 is what its elements
// become in registers, and in what few rows of A add up.
#if defined(KILN_STORED_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_STORED_INL_H_
#undef KILN_STORED_INL_H_
#else
#define KILN_STORED_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <array>
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

/// Adds eight rows of B from r on, of columns that ColsAtOnce has counted.
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
      PrefetchToL2(from + 2 * ptrdiff_t{kStoredRows} * stride);
      return hn::LoadU(dw, reinterpret_cast<const uint32_t*>(from));
    };
    AddWords<W>(groups, rows, sums + c, sums_stride, words(0), words(1), words(2), words(3),
                words(4), words(5), words(6), words(7));
  }
}

/// Whether 64 elements become floats sooner than four vectors of them.
template <typename W>
constexpr bool kWidensLines =
    HWY_TARGET == HWY_AVX3_DL&& std::is_same_v<std::remove_const_t<W>, f8e4m3fn>;

#if HWY_TARGET == HWY_AVX3_DL
/// Byte `byte` of the bf16 of each e4m3 without a sign, which has them all.
constexpr std::array<uint8_t, 128> BytesOfE4m3(int byte) {
  std::array<uint8_t, 128> bytes{};
  for (uint32_t i = 1; i < 128; ++i) {
    uint32_t exponent = i >> 3, fraction = i & 7;
    if (exponent == 0) {  // to where a leading bit is
      for (exponent = 1; fraction < 8; --exponent) fraction <<= 1;
      fraction &= 7;
    }
    const uint32_t bits = i == 127 ? 0x7FC0 : ((exponent + 120) << 7 | fraction << 4);
    bytes[i] = static_cast<uint8_t>(bits >> (8 * byte));
  }
  return bytes;
}

/// A line of elements as floats, a vector after the other.
template <class V>
HWY_INLINE void WidenLine(const f8e4m3fn* from, V& v_0, V& v_1, V& v_2, V& v_3) {
  alignas(64) static constexpr std::array<uint8_t, 128> kLow = BytesOfE4m3(0),
                                                        kHigh = BytesOfE4m3(1);
  // Where each goes, so that they are in order once pairs of bf16 have been taken apart.
  alignas(64) static constexpr std::array<uint8_t, 64> kOrder = [] {
    std::array<uint8_t, 64> order{};
    for (size_t i = 0; i < 64; ++i)
      order[i] = static_cast<uint8_t>(i / 16 * 4 + i % 8 / 2 + i % 2 * 16 + i % 16 / 8 * 32);
    return order;
  }();
  const hn::ScalableTag<uint8_t> d8;
  const hn::ScalableTag<int32_t> d32;
  const hn::ScalableTag<float> d;
  const auto raw = hn::LoadU(d8, reinterpret_cast<const uint8_t*>(from));
  const __m512i bits = _mm512_permutexvar_epi8(hn::Load(d8, kOrder.data()).raw, raw.raw);
  const auto look_up = [&](const std::array<uint8_t, 128>& table) HWY_ATTR {
    return _mm512_permutex2var_epi8(hn::Load(d8, table.data()).raw, bits,
                                    hn::Load(d8, table.data() + 64).raw);
  };
  constexpr int kOrWhereBoth = 0xF8;
  const __m512i low = look_up(kLow);
  const __m512i high =
      _mm512_ternarylogic_epi32(look_up(kHigh), bits, _mm512_set1_epi8(-128), kOrWhereBoth);
  const auto upper = hn::Set(d32, static_cast<int32_t>(0xffff0000u));
  const auto split = [&](__m512i both, V& even, V& odd) HWY_ATTR {
    const hn::Vec<decltype(d32)> pairs{both};
    even = hn::BitCast(d, hn::ShiftLeft<16>(pairs));
    odd = hn::BitCast(d, hn::And(pairs, upper));
  };
  split(_mm512_unpacklo_epi8(low, high), v_0, v_1);
  split(_mm512_unpackhi_epi8(low, high), v_2, v_3);
}

/// Row i of eight of B from `from` on: asks for the one that is sixteen further, and widens a line.
template <class V>
HWY_INLINE void WidenRow(const f8e4m3fn* from, ptrdiff_t stride, size_t i, V& v_0, V& v_1, V& v_2,
                         V& v_3) {
  const f8e4m3fn* const row = from + static_cast<ptrdiff_t>(i) * stride;
  PrefetchToL2(row + 2 * ptrdiff_t{kStoredRows} * stride);
  WidenLine(row, v_0, v_1, v_2, v_3);
}

/// AddRowsOfLines for one row of A, whose sums stay in registers: to store lines would take as long
/// as to add them.
HWY_INLINE void AddLinesToOneRow(const float* groups, const f8e4m3fn* from, ptrdiff_t stride,
                                 size_t cols, float* sums) {
  const hn::ScalableTag<float> d;
  const size_t n = hn::Lanes(d);
  hn::Vec<decltype(d)> v_0, v_1, v_2, v_3;
  for (size_t c = 0; c < cols; c += kLineBytes, sums += kLineBytes) {
    auto sum_0 = hn::Load(d, sums), sum_1 = hn::Load(d, sums + n);
    auto sum_2 = hn::Load(d, sums + 2 * n), sum_3 = hn::Load(d, sums + 3 * n);
    for (size_t i = 0; i < kStoredRows; ++i) {
      WidenRow(from + c, stride, i, v_0, v_1, v_2, v_3);
      const auto group = hn::Set(d, groups[i]);
      sum_0 = hn::MulAdd(group, v_0, sum_0), sum_1 = hn::MulAdd(group, v_1, sum_1);
      sum_2 = hn::MulAdd(group, v_2, sum_2), sum_3 = hn::MulAdd(group, v_3, sum_3);
    }
    hn::Store(sum_0, d, sums), hn::Store(sum_1, d, sums + n);
    hn::Store(sum_2, d, sums + 2 * n), hn::Store(sum_3, d, sums + 3 * n);
  }
}

/// Adds eight rows of B from r on, of whole lines.
template <typename W>
HWY_INLINE void AddRowsOfLines(const FloatsOfRows& groups, size_t rows,
                               const Tile<const W, 2>& stored, size_t r, size_t first, size_t cols,
                               float* sums, size_t sums_stride) {
  const hn::ScalableTag<float> d;
  const size_t n = hn::Lanes(d);
  const W* from = stored.At(r, first);
  const auto stride = static_cast<ptrdiff_t>(stored.stride[0]);
  if (rows == 1) return AddLinesToOneRow(groups[0], from, stride, cols, sums);
  hn::Vec<decltype(d)> v_0, v_1, v_2, v_3;
  HWY_ALIGN float line[kStoredRows][kLineBytes];
  for (size_t c = 0; c < cols; c += kLineBytes, from += kLineBytes) {
    for (size_t i = 0; i < kStoredRows; ++i) {
      WidenRow(from, stride, i, v_0, v_1, v_2, v_3);
      hn::Store(v_0, d, line[i]), hn::Store(v_1, d, line[i] + n);
      hn::Store(v_2, d, line[i] + 2 * n), hn::Store(v_3, d, line[i] + 3 * n);
    }
    for (size_t v = 0; v < kLineBytes; v += hn::Lanes(d)) {
      const auto row = [&](size_t i) HWY_ATTR { return hn::Load(d, line[i] + v); };
      AddVectors<Dot<float>>(groups, rows, sums + c + v, sums_stride, row(0), row(1), row(2),
                             row(3), row(4), row(5), row(6), row(7));
    }
  }
}
#endif

/// How many of the columns from `first` on are added up many at once: whole vectors of words that
/// begin with a byte, and whole lines.
template <typename W>
HWY_INLINE size_t ColsAtOnce([[maybe_unused]] const Tile<const W, 2>& stored,
                             [[maybe_unused]] size_t first, size_t cols) {
  if constexpr (kIsPacked<W>) {
    const size_t step = kHalves * hn::Lanes(hn::ScalableTag<float>());
    const bool bytes = internal::PlaceOf(stored.At(0, first)) % 2 == 0 && stored.stride[0] % 2 == 0;
    return bytes ? cols / step * step : 0;
  } else {
    return kWidensLines<W> ? cols / kLineBytes * kLineBytes : 0;
  }
}

/// What is stored, for Fetch.
template <typename W>
struct StoredElements {
  const Tile<const W, 2>& stored;

  template <class At>
  HWY_INLINE auto operator()(At at, size_t r, size_t c) const {
    return Cast<W, float>(at.Load(stored.At(r, c)));
  }
};

/// Adds `count` rows of B from r on, of up to eight, for columns `begin` to `end` of `first` on.
template <typename W>
HWY_INLINE void AddRowsOfElements(const FloatsOfRows& groups, size_t rows,
                                  const Tile<const W, 2>& stored, size_t r, size_t count,
                                  size_t first, size_t begin, size_t end, float* sums,
                                  size_t sums_stride) {
  const hn::ScalableTag<float> d;
  const Whole<decltype(d)> at;
  const size_t n = hn::Lanes(d);
  const size_t whole = count == kStoredRows ? begin + (end - begin) / n * n : begin;
  const W* from = stored.At(r, first + begin);
  const auto stride = static_cast<ptrdiff_t>(stored.stride[0]);
  for (size_t c = begin; c < whole; c += n, from += n) {
    for (ptrdiff_t i = 0; (c - begin) % kLineBytes == 0 && i < ptrdiff_t{kStoredRows}; ++i)
      PrefetchToL2(AddressOf(from + (i + 2 * ptrdiff_t{kStoredRows}) * stride));
    const auto row = [&](ptrdiff_t i)
                         HWY_ATTR { return Cast<W, float>(at.Load(from + i * stride)); };
    AddVectors<Dot<float>>(groups, rows, sums + c, sums_stride, row(0), row(1), row(2), row(3),
                           row(4), row(5), row(6), row(7));
  }
  HWY_ALIGN float copy[kStoredRows * hn::MaxLanes(d)];
  const StoredElements<W> elements{stored};
  for (size_t c = whole; c < end; c += n) {
    const Computed<StoredElements<W>> b{elements, {r + count, first + end}};
    Fetch(b, r, first + c, kStoredRows, n, copy);
    const auto row = [&](size_t i) HWY_ATTR { return hn::Load(d, copy + i * n); };
    AddVectors<Dot<float>>(groups, rows, sums + c, sums_stride, row(0), row(1), row(2), row(3),
                           row(4), row(5), row(6), row(7));
  }
}

/// Adds the product of rows of A and what is stored in those of B in the range, of so many columns
/// from `first` on.
template <class Dot, class A, typename W>
HWY_NOINLINE void AddStoredRows(const A& a, size_t row, size_t rows, const Tile<const W, 2>& stored,
                                RowRange range, size_t first, size_t cols, float* sums,
                                size_t sums_stride) {
  const size_t at_once =
      range.end - range.begin < kStoredRows ? 0 : ColsAtOnce(stored, first, cols);
  FloatsOfRows groups;
  size_t k = range.begin;
  for (; k + kStoredRows <= range.end; k += kStoredRows) {
    LoadFloats<Dot>(a, row, rows, k, kStoredRows, groups);
    if constexpr (kIsPacked<W>) {
      AddRowsOfWords(groups, rows, stored, k, first, at_once, sums, sums_stride);
    } else if constexpr (kWidensLines<W>) {
      AddRowsOfLines(groups, rows, stored, k, first, at_once, sums, sums_stride);
    }
    AddRowsOfElements(groups, rows, stored, k, kStoredRows, first, at_once, cols, sums,
                      sums_stride);
  }
  if constexpr (kIsPacked<W>) {
    for (size_t r = 0; r < rows; ++r) PutInOrder(at_once, sums + r * sums_stride);
  }
  if (k == range.end) return;
  LoadFloats<Dot>(a, row, rows, k, range.end - k, groups);
  AddRowsOfElements(groups, rows, stored, k, range.end - k, first, 0, cols, sums, sums_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
