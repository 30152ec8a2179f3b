// A product of few rows of A with an unpacked B where the CPU has AMX: by its tiles or, of one row,
// by vectors that add as it does.
#if defined(KILN_FEW_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_AMX_INL_H_
#undef KILN_FEW_AMX_INL_H_
#else
#define KILN_FEW_AMX_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kiln/core/version.h"
#include "kiln/dot/k_groups-inl.h"
#include "kiln/dot/tile_operands-inl.h"
#include "kiln/simd/float_mode.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether AMX, or what has its bits, multiplies so many rows with a B that is streamed. Bytes have
/// the same sums either way, and vectors are faster for very few rows.
template <class D>
HWY_INLINE bool StreamsByAmx([[maybe_unused]] size_t rows) {
  if constexpr (D::kAmx == AmxElements::kNone) return false;
  return UsesAmx<D>() && (D::kAmx == AmxElements::kBf16 || rows > 3);
}

#if HWY_TARGET == HWY_AVX3_DL

// B is multiplied in pieces: a line of each of the rows that an instruction multiplies.
template <class Dot>
constexpr size_t kAmxStep = kAmxKGroups* Dot::kKPerGroup;  // rows of B
constexpr size_t kAmxCols = 32;
constexpr size_t kAmxPieces = 8;  // that are made at a time

/// Pieces side by side, and what of B they are.
template <class Dot>
struct AmxPieces {
  HWY_ALIGN typename Dot::KGroup groups[kAmxPieces][kAmxKGroups * kAmxCols];
  size_t k = 0, c = 0, cols = 0;  // their first row, in k-groups, and column; 0: none yet

  size_t count() const { return DivUp(cols, kAmxCols); }
};

/// Makes k-group g of pieces out of `rows` rows of `b`; what these lack are zeros. Prefetches the
/// rows that are `ahead` elements further on.
template <class Dot, typename T>
HWY_INLINE void FillKGroup(const T* b, size_t rows, int64_t stride, int64_t ahead, size_t g,
                           AmxPieces<Dot>* pieces) {
  constexpr size_t kRows = Dot::kKPerGroup;
  const size_t here = HWY_MIN(rows - HWY_MIN(g * kRows, rows), kRows);
  const T* const row = b + static_cast<int64_t>(g * kRows) * stride;
  const auto store = [&](const T* from, int64_t apart, size_t piece) HWY_ATTR {
    StoreTwoVectors<Dot>(from, apart, pieces->groups[piece] + g * kAmxCols);
  };
  const size_t whole = here == kRows ? pieces->cols / kAmxCols : 0;
  for (size_t piece = 0; piece < whole; ++piece) {
    for (size_t i = 0; ahead != 0 && i < kRows; ++i)
      PrefetchToL2(row + static_cast<int64_t>(i) * stride + piece * kAmxCols + ahead);
    store(row + piece * kAmxCols, stride, piece);
  }
  for (size_t piece = whole; piece < pieces->count(); ++piece) {
    HWY_ALIGN T copy[kRows * kAmxCols] = {};
    for (size_t i = 0; i < here; ++i) {
      memcpy(static_cast<void*>(copy + i * kAmxCols),
             row + static_cast<int64_t>(i) * stride + piece * kAmxCols,
             HWY_MIN(pieces->cols - piece * kAmxCols, kAmxCols) * sizeof(T));
    }
    store(copy, int64_t{kAmxCols}, piece);
  }
}

/// sums[r][c] += A B for a strip of columns, by tiles: `fill(k, c, g, pieces)` makes k-group g of
/// rows of B from k on, of columns from c on. Pieces are made while those before them are
/// multiplied, so that neither memory nor AMX waits.
template <class Dot, class A, class Fill>
HWY_INLINE void AddByTiles(const A& a, size_t row, size_t rows, size_t b_rows, size_t cols,
                           const Fill& fill, typename Dot::Acc* sums, size_t sums_stride) {
  constexpr size_t kBytes = sizeof(typename Dot::KGroup);
  AmxPieces<Dot> pieces[2];
  AmxRegisters registers;
  AmxTile tile;
  tile.a_to_row = a.to_panel * ptrdiff_t{kBytes};
  tile.b_to_k = ptrdiff_t{kAmxCols * kBytes};
  tile.sums_to_row = static_cast<ptrdiff_t>(sums_stride * kBytes);
  tile.sums_to_vector = ptrdiff_t{kAmxCols / 2 * kBytes};
  const auto multiply = [&](const AmxPieces<Dot>& made, size_t piece) {
    if (piece >= made.count()) return;
    const size_t c = piece * kAmxCols;
    tile.b = reinterpret_cast<const char*>(made.groups[piece]);
    tile.depth = HWY_MIN(kAmxKGroups, a.depth - made.k);
    for (size_t r = 0, tile_rows = 0; r < rows; r += tile_rows) {
      tile_rows = AmxRowsOf(rows - r);
      tile.a = reinterpret_cast<const char*>(a.At(row + r) + made.k);
      tile.sums = reinterpret_cast<char*>(sums + r * sums_stride + made.c + c);
      registers.Multiply(Dot::kAmx, tile, tile_rows, made.cols - c > kAmxCols / 2 ? 2 : 1);
    }
  };
  size_t turn = 0;
  for (size_t k = 0; k < b_rows; k += kAmxStep<Dot>) {
    for (size_t c = 0; c < cols; c += kAmxPieces * kAmxCols, turn ^= 1) {
      AmxPieces<Dot>* const made = &pieces[turn];
      made->k = k / Dot::kKPerGroup;
      made->c = c;
      made->cols = HWY_MIN(cols - c, kAmxPieces * kAmxCols);
      for (size_t g = 0; g < kAmxKGroups; ++g) {
        fill(k, c, g, made);
        if (g % 2 == 1) multiply(pieces[turn ^ 1], g / 2);
      }
    }
  }
  for (size_t piece = 0; piece < kAmxPieces; ++piece) multiply(pieces[turn ^ 1], piece);
}

// Of one row memory is what there is to wait for, and it is fastest along long pieces of a few rows
// of B. So vectors do what an instruction of AMX does: they add the products of the even k of its
// step, those of the odd ones, then both to each other, and that to the sums; without subnormal
// numbers. The elements of a line of B are two vectors, of its even columns and of its odd ones.
constexpr size_t kColsAsAmx = 4096;

/// Sums of a step: of even and odd k, each of even and odd columns of a line.
using StepSumsOfLine = float[4][kAmxCols / 2];

/// Rows of B that are multiplied at a time, and the k-groups of A for them.
constexpr size_t kRowsAsAmx = 8;
using KGroupsAsAmx = int32_t[kRowsAsAmx / 2];

/// Those of a row of A for rows of B from k on; behind its last one they are zeros.
template <class A>
HWY_INLINE void LoadKGroupsAsAmx(const A& a, size_t row, size_t k, KGroupsAsAmx& groups) {
  const size_t first = HWY_MIN(k / 2, a.depth), count = HWY_MIN(a.depth - first, kRowsAsAmx / 2);
  memset(groups, 0, sizeof(groups));
  memcpy(groups, a.At(row) + first, count * sizeof(groups[0]));
}

/// Adds eight rows of B, each a line, to the sums of a step, and prefetches those that are `ahead`
/// elements further on.
HWY_INLINE void AddLinesAsAmx(const KGroupsAsAmx& groups, const bf16* b, int64_t stride,
                              int64_t ahead, StepSumsOfLine& sums) {
  const hn::ScalableTag<int32_t> dw;
  const hn::ScalableTag<float> d;
  const auto high = hn::Set(dw, static_cast<int32_t>(0xffff0000u));
  const auto first = [&](hn::Vec<decltype(dw)> pairs)
                         HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<16>(pairs)); };
  const auto second = [&](hn::Vec<decltype(dw)> pairs)
                          HWY_ATTR { return hn::BitCast(d, hn::And(pairs, high)); };
  auto even_even = hn::Load(d, sums[0]), even_odd = hn::Load(d, sums[1]);
  auto odd_even = hn::Load(d, sums[2]), odd_odd = hn::Load(d, sums[3]);
  for (int64_t k = 0; k < int64_t{kRowsAsAmx}; k += 2) {
    if (ahead != 0) {
      PrefetchToL2(b + k * stride + ahead);
      PrefetchToL2(b + (k + 1) * stride + ahead);
    }
    const auto a = hn::Set(dw, groups[k / 2]);
    const auto b_even = hn::LoadU(dw, reinterpret_cast<const int32_t*>(b + k * stride));
    const auto b_odd = hn::LoadU(dw, reinterpret_cast<const int32_t*>(b + (k + 1) * stride));
    even_even = hn::MulAdd(first(a), first(b_even), even_even);
    even_odd = hn::MulAdd(first(a), second(b_even), even_odd);
    odd_even = hn::MulAdd(second(a), first(b_odd), odd_even);
    odd_odd = hn::MulAdd(second(a), second(b_odd), odd_odd);
  }
  hn::Store(even_even, d, sums[0]);
  hn::Store(even_odd, d, sums[1]);
  hn::Store(odd_even, d, sums[2]);
  hn::Store(odd_odd, d, sums[3]);
}

/// The same for all of their lines. Not inline, as it is within the scope of FlushedSubnormals.
inline HWY_NOINLINE void AddRowsAsAmx(const KGroupsAsAmx& groups, const bf16* b, int64_t stride,
                                      int64_t ahead, size_t cols, StepSumsOfLine* sums) {
  for (size_t c = 0; c < cols; c += kAmxCols)
    AddLinesAsAmx(groups, b + c, stride, ahead, sums[c / kAmxCols]);
}

/// Adds the sums of a step to those of the product, and begins the next step. Not inline, either.
inline HWY_NOINLINE void FinishStepAsAmx(size_t cols, StepSumsOfLine* of_step, float* sums) {
  const hn::ScalableTag<float> d;
  for (size_t c = 0; c < cols; c += kAmxCols) {
    StepSumsOfLine& line = of_step[c / kAmxCols];
    const auto even = hn::Add(hn::Load(d, line[0]), hn::Load(d, line[2]));
    const auto odd = hn::Add(hn::Load(d, line[1]), hn::Load(d, line[3]));
    HWY_ALIGN float in_order[kAmxCols];
    hn::StoreInterleaved2(even, odd, d, in_order);
    for (size_t half = c; half < HWY_MIN(c + kAmxCols, cols); half += kAmxCols / 2) {
      const auto of_step_here = hn::Load(d, in_order + (half - c));
      hn::StoreU(hn::Add(hn::LoadU(d, sums + half), of_step_here), d, sums + half);
    }
    memset(line, 0, sizeof(line));
  }
}

/// AddByTiles for one row of bf16, by vectors. Not inline, either.
template <class A>
HWY_NOINLINE void AddRowAsTiles(const A& a, size_t row, const bf16* b, size_t b_rows,
                                int64_t stride, bool far, size_t cols, float* sums) {
  constexpr size_t kRows = kRowsAsAmx, kStep = kAmxStep<Dot<bf16>>;
  HWY_ALIGN StepSumsOfLine of_step[kColsAsAmx / kAmxCols] = {};
  HWY_DASSERT(cols <= kColsAsAmx);
  for (size_t k = 0; k < RoundUp(b_rows, kStep); k += kRows) {
    KGroupsAsAmx groups;
    LoadKGroupsAsAmx(a, row, k, groups);
    const size_t rows_left = HWY_MIN(b_rows - HWY_MIN(k, b_rows), kRows);
    const size_t whole = rows_left == kRows ? cols / kAmxCols * kAmxCols : 0;
    const bf16* const from = b + static_cast<int64_t>(k) * stride;
    AddRowsAsAmx(groups, from, stride, far ? int64_t{kRows} * stride : 0, whole, of_step);
    for (size_t c = whole; c < cols; c += kAmxCols) {
      HWY_ALIGN bf16 copy[kRows * kAmxCols] = {};
      for (size_t i = 0; i < rows_left; ++i) {
        memcpy(static_cast<void*>(copy + i * kAmxCols), from + static_cast<int64_t>(i) * stride + c,
               HWY_MIN(cols - c, kAmxCols) * sizeof(bf16));
      }
      AddLinesAsAmx(groups, copy, int64_t{kAmxCols}, /*ahead=*/0, of_step[c / kAmxCols]);
    }
    if ((k + kRows) % kStep == 0) FinishStepAsAmx(cols, of_step, sums);
  }
}

/// AddStreamedRows, where UsesAmx<Dot>().
template <class Dot, class A, typename T>
HWY_INLINE void AddStreamedRowsByAmx(const A& a, size_t row, size_t rows, const T* b, size_t b_rows,
                                     int64_t stride, bool far, size_t cols, typename Dot::Acc* sums,
                                     size_t sums_stride) {
  if constexpr (Dot::kAmx == AmxElements::kBf16) {
    if (rows == 1) {
      const internal::FlushedSubnormals like_amx;
      return AddRowAsTiles(a, row, b, b_rows, stride, far, cols, sums);
    }
  }
  const auto fill = [=](size_t k, size_t c, size_t g, AmxPieces<Dot>* pieces) HWY_ATTR {
    const int64_t ahead = far ? static_cast<int64_t>(kAmxStep<Dot>) * stride : 0;
    FillKGroup<Dot>(b + static_cast<int64_t>(k) * stride + c, b_rows - k, stride, ahead, g, pieces);
  };
  AddByTiles<Dot>(a, row, rows, b_rows, cols, fill, sums, sums_stride);
}

#endif  // HWY_AVX3_DL

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
