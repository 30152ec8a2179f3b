// The loop over register tiles: 8 rows of A by three vectors of columns of B, or by the two or one
// that are left of them, where there are 32 vector registers; 4 rows elsewhere. What a kernel does
// with the sums is compiled into it; the tiles themselves are not (tile-inl.h).
#if defined(KILN_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TILES_INL_H_
#undef KILN_TILES_INL_H_
#else
#define KILN_TILES_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/dot/few/columns-inl.h"
#include "kiln/dot/few/rows-inl.h"
#include "kiln/dot/row_range-inl.h"
#include "kiln/dot/sums-inl.h"
#include "kiln/dot/tile_operands-inl.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The rows of A up to which B is streamed, by rows or by columns.
template <class D>
HWY_INLINE int64_t FewRows(bool by_columns = false, bool in_l2 = false) {
  if (by_columns) return UsesAmx<D>() ? 0 : FewRowsByColumns(in_l2);
  return UsesAmx<D>() ? int64_t{kAmxRows} : kFewRows<D>;
}

/// How a dot reads a B whose rows are `stride` elements apart.
template <class D, typename T>
BAccess ChooseBAccess(const Cpu& cpu, int64_t rows, int64_t depth, int64_t stride) {
  return kiln::ChooseBAccess(cpu, {rows, depth, stride * int64_t{sizeof(T)}}, FewRows<D>(),
                             kCanReadUnpackedB<D, T>, kTilesOf8Rows);
}

/// Vectors of columns of a tile, and of a panel of B, where `left` remain. Four are two and two, as
/// a tile of one vector loads B for each multiplication.
HWY_INLINE size_t TileVectors(size_t left) {
  return left == kTileVectors + 1 ? 2 : HWY_MIN(left, kTileVectors);
}

/// Rows of a tile where `left` remain.
template <bool kMayBeAmx>
HWY_INLINE size_t RowsOfTile(size_t left, bool amx) {
  if (kMayBeAmx && amx) return AmxRowsOf(left);
  // Ever smaller tiles, as nothing outside of the block may be read.
  size_t rows = kTileRows;
  while (rows > left) rows /= 2;
  return rows;
}

template <class D>
HWY_INLINE size_t PassRows(size_t row_bytes, size_t pass_bytes) {
  constexpr size_t kMost = kMostTileRows<D>;
  return HWY_MAX(pass_bytes / HWY_MAX(row_bytes, 1) / kMost, 1) * kMost;
}

/// Calls fn(tile_rows, vectors, r, c) for each register tile: rows from r on, by so
/// many vectors of n columns from c on. `row_bytes` is the size of a row of A, and `pass_bytes`
/// that of the rows that stay in the L2 while all panels of B are read.
template <class D, class Fn>
HWY_INLINE void ForTiles(size_t n, RowRange rows, size_t cols, size_t row_bytes, size_t pass_bytes,
                         const Fn& fn) {
  constexpr bool kMayBeAmx = D::kAmx != AmxElements::kNone;
  const bool amx = UsesAmx<D>();
  const size_t pass_rows = PassRows<D>(row_bytes, pass_bytes);
  for (size_t begin = rows.begin; begin < rows.end; begin += pass_rows) {
    const size_t end = HWY_MIN(begin + pass_rows, rows.end);
    for (size_t c = 0, vectors = 0; c < cols; c += vectors * n) {
      vectors = TileVectors(DivUp(cols - c, n));
      for (size_t r = begin, tile_rows = 0; r < end; r += tile_rows) {
        tile_rows = RowsOfTile<kMayBeAmx>(end - r, amx);
        fn(tile_rows, vectors, r, c);
      }
    }
  }
}

/// No output, or several.
struct NoTile {};
HWY_INLINE bool StreamsPieces(size_t, NoTile) { return false; }

/// Whether the rows of register tiles can be whole lines of an output, as streaming stores must be:
/// a vector of bf16 is half a line. (Such tiles are functions of their own,
/// which take time to compile.)
template <class To>
constexpr bool kMayStream = false;
constexpr size_t kTileFloats = kTileVectors * hn::MaxLanes(hn::ScalableTag<float>());
template <typename T, int V>
constexpr bool kMayStream<Tile<T, V>> = sizeof(T) * kTileFloats % kLineBytes == 0;

/// In place of a start or a finish.
struct Nothing {
  template <class... Any>
  HWY_INLINE void operator()(const Any&...) const {}
};

/// Whether tiles take so long that asking for what they read and store is nothing to them, as it is
/// not with vectors of less than a line; nor is it in a product of so few rows that it is over
/// soon.
constexpr bool kTilesPrefetch = kTileFloats * sizeof(float) >= kTileVectors * kLineBytes;
constexpr size_t kLeastRowsToPrefetch = 64;

/// The lanes of a tile as it begins. What it reads and stores is in the L2 by then: each tile asks
/// for what the one below it needs, since a tile does not take long enough to wait for its own.
template <class At>
struct AsTileBegins : At {
  bool is_odd;  // of the vectors of a row, which may have their lines in common

  template <typename T>
  HWY_INLINE void PrefetchRead(const T* p, ptrdiff_t to_row) const {
    if (is_odd && sizeof(T) * hn::Lanes(this->tag()) < kLineBytes) return;
    PrefetchToL2(p + static_cast<ptrdiff_t>(kTileRows) * to_row);
  }
  template <typename T>
  HWY_INLINE void PrefetchStored(const T* p, ptrdiff_t to_row) const {
    if constexpr (!At::kStoresPastCaches) PrefetchRead(p, to_row);
  }
};

/// Whether `start` returns what sums begin with.
template <class D, class Start>
constexpr bool kStartGives =
    !std::is_void_v<std::invoke_result_t<const Start&, Whole<D>, size_t, size_t>>;

/// A vector of int32 has the columns of one of floats.
template <class Dot>
using ColumnTag =
    hn::ScalableTag<std::conditional_t<sizeof(typename Dot::Acc) == 8, double, float>>;

/// Calls fn with what begins and what ends a sum where no register tile does: `start` and `finish`,
/// and the loads and stores of sums that stay.
template <class Dot, class Sums, class Start, class Finish, class Fn>
HWY_INLINE void WithSums(const Sums& sums, const Start& start, const Finish& finish, const Fn& fn) {
  using Acc = typename Dot::Acc;
  constexpr hn::ScalableTag<Acc> da;
  fn(
      [&](auto at, size_t r, size_t c) HWY_ATTR {
        if constexpr (kStartGives<ColumnTag<Dot>, Start>) {
          return start(at, r, c);
        } else {
          start(at, r, c);
          return sums.FromZero() ? hn::Zero(da) : hn::Load(da, SumsAt<Acc>(sums, r, c));
        }
      },
      [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR {
        if (sums.IsKept()) hn::Store(sum, da, SumsAt<Acc>(sums, r, c));
        finish(at, sum, r, c);
      });
}
/// The same of sums that are rows of a block, which nothing else begins or ends.
template <typename Acc, class Fn>
HWY_INLINE void WithSums(const SumsInRows<Acc>& sums, const Fn& fn) {
  constexpr hn::ScalableTag<Acc> da;
  fn([&](auto at, size_t r, size_t c)
         HWY_ATTR { return sums.from_zero ? hn::Zero(da) : at.Load(sums.At(r, c)); },
     [&](auto at, auto sum, size_t r, size_t c) HWY_ATTR { at.Store(sum, sums.At(r, c)); });
}

/// The tiles of a dot: what they multiply, and memory for the sums of one.
template <class Dot, class A, class B>
struct TilesOf {
  using Acc = typename Dot::Acc;
  using D = ColumnTag<Dot>;
  using Arithmetic = typename Dot::Arithmetic;
  static constexpr bool kMayBeAmx = Arithmetic::kAmx != AmxElements::kNone;
  static constexpr hn::ScalableTag<Acc> da{};
  static constexpr size_t kMostRows = kMostTileRows<Arithmetic>;

  TilesOf(const A& of_a, const B& of_b)
      : a(of_a), b(of_b), tile(of_a.template OperandsOf<Arithmetic>()) {
    if constexpr (kMayBeAmx) {
      if (UsesAmx<Arithmetic>()) tile.amx = &amx;
    }
  }

  /// Calls fn(tile_rows, vectors, r, c) for each tile of these rows.
  template <class Fn>
  HWY_INLINE void ForEach(RowRange rows, const Fn& fn) {
    // AMX reads so much of the L2 that more than a quarter would be lost to what passes by.
    const size_t pass = tile.amx != nullptr ? a.l2_bytes / 4 : a.l2_bytes / 2;
    const size_t row_bytes = a.depth * sizeof(*a.groups);
    const size_t count = rows.end - rows.begin;
    b.BeginTurns(tile.amx != nullptr ? 0 : count,
                 /*one_pass=*/count <= PassRows<Arithmetic>(row_bytes, pass));
    ForTiles<Arithmetic>(n, rows, b.cols, row_bytes, pass, fn);
  }

  /// Whether all columns of vectors from c on exist.
  bool IsWhole(size_t vectors, size_t c) const { return c + vectors * n <= b.cols; }

  /// Adds to tile.sums.
  HWY_INLINE void Multiply(size_t rows, size_t vectors, size_t r, size_t c) {
    tile.a = a.At(r);
    b.SetColumns(r, c, vectors, IsWhole(vectors, c) && vectors == kTileVectors, &tile);
    if (kTilesOf8Rows && c == 0 && a_is_far) a.SetPrefetch(r + 2 * kTileRows, &tile);
    MultiplyTile(tile, rows, vectors);
  }

  /// Puts the sums into memory of the tile, or of a block of `block_rows`: vectors of a row of the
  /// tile are then one after the other.
  HWY_INLINE void SetSums(Acc* sums, size_t block_rows) {
    tile.sums = sums;
    tile.sums_to_row = static_cast<ptrdiff_t>(n);
    tile.sums_to_vector = static_cast<ptrdiff_t>(block_rows * n);
  }

  /// The same between `start` and `finish`, which know each vector by its row and column.
  /// `kMayStream`, `streams`: whether whole vectors may be, and are, stored past the caches.
  template <bool kMayStream, class Start, class Finish>
  HWY_INLINE void MultiplyBetween(size_t rows, size_t vectors, size_t r, size_t c,
                                  const Start& start, const Finish& finish,
                                  [[maybe_unused]] bool streams = false) {
    const auto for_vectors = [&](const auto& fn) HWY_ATTR {
      if (!IsWhole(vectors, c)) return ForParts(rows, vectors, r, c, fn);
      if constexpr (kMayStream) {
        if (streams) return ForWhole(Streamed<D>(), rows, vectors, r, c, fn);
      }
      ForWhole(Whole<D>(), rows, vectors, r, c, fn);
    };
    if (!std::is_same_v<Start, Nothing> && (kStartGives<D, Start> || prefetches)) {
      for_vectors([&](auto lanes, [[maybe_unused]] Acc* sum, size_t i, size_t j) HWY_ATTR {
        const AsTileBegins<decltype(lanes)> at{lanes, /*is_odd=*/j == c + n};
        if constexpr (kStartGives<D, Start>) {
          hn::Store(start(at, i, j), da, sum);
        } else {
          start(at, i, j);
        }
      });
    }
    Multiply(rows, vectors, r, c);
    if constexpr (!std::is_same_v<Finish, Nothing>) {
      for_vectors([=, d = da](auto at, const Acc* sum, size_t i, size_t j)
                      HWY_ATTR { finish(at, hn::Load(d, sum), i, j); });
    }
  }

  const A& a;
  B b;
  const bool a_is_far = a.IsFar();
  bool prefetches = false;  // what `finish` reads and stores
  const size_t n = hn::Lanes(da);
  TileOperands<Arithmetic, typename A::ItsSteps> tile;
  std::conditional_t<kMayBeAmx, AmxRegisters, NoAmx> amx;
  HWY_ALIGN Acc own[kMostRows * kTileVectors * hn::MaxLanes(da)];

 private:
  /// Calls fn(at, sum, r, c) for the vectors of the tile: where their sums are, row and column.
  /// A copy of fn: no store can change what it holds, which need not be loaded for each vector.
  template <class At, class Fn>
  HWY_INLINE void ForWhole(At at, size_t rows, size_t vectors, size_t r, size_t c, Fn fn) const {
    for (size_t i = 0; i < rows; ++i) {
      for (size_t v = 0; v < vectors; ++v) fn(at, SumsOf(i, v), r + i, c + v * n);
    }
  }
  /// The last vector has a part of the columns.
  template <class Fn>
  HWY_INLINE void ForParts(size_t rows, size_t vectors, size_t r, size_t c, const Fn& fn) const {
    for (size_t i = 0; i < rows; ++i) {
      for (size_t v = 0; v < vectors && c + v * n < b.cols; ++v)
        fn(Part<D>(HWY_MIN(b.cols - c - v * n, n)), SumsOf(i, v), r + i, c + v * n);
    }
  }
  HWY_INLINE Acc* SumsOf(size_t i, size_t vector) const {
    return tile.sums + static_cast<ptrdiff_t>(vector) * tile.sums_to_vector + i * n;
  }
};

/// Adds A @ B to accumulators. The library compiles this and its like for rows of sums, for the
/// dots that it packs for.
template <class Dot, class A, class B>
HWY_NOINLINE void AddTiles(RowRange rows, const A& a, const B& b,
                           const Accumulators<typename Dot::Acc>& sums);

/// The rows of A @ B in register tiles. For each vector of a tile `start(at, r, c)` is called
/// before it is computed, and returns what its sums begin with or nothing; `finish(at, sum, r, c)`
/// gets them. Steps that are not the last of a reduction have neither. `to`: the tile of an output,
/// if `finish` does nothing but store to (r, c) of that: a large one is written by streaming
/// stores.
template <class Dot, class A, class B, class Sums, class Start = Nothing, class Finish = Nothing,
          class To = NoTile>
HWY_INLINE void MultiplyTiles(RowRange rows, const A& a, const B& any_b, const Sums& sums,
                              const Start& start = Start(), const Finish& finish = Finish(),
                              const To& to = To()) {
  using Acc = typename Dot::Acc;
  using Tiles = TilesOf<Dot, A, B>;
  constexpr bool kGives = kStartGives<ColumnTag<Dot>, Start>;

  if constexpr (std::is_same_v<Sums, StepSums<Acc>>) {
    static_assert(!kGives);
    if (!sums.step.last) return AddTiles<Dot>(rows, a, any_b, sums.ThatAreKept());
  }
  if (a.streamed != nullptr) {
    any_b.PackTheRest();
    return WithSums<Dot>(sums, start, finish, [&](const auto& first, const auto& last) HWY_ATTR {
      MultiplyFewColumns<Dot>(ColumnTag<Dot>(), rows.needed_begin, rows.needed_end, a, any_b, first,
                              last);
    });
  }
  const B b = any_b.For(rows.Needed(), FewRows<typename Dot::Arithmetic>(any_b.by_columns));
  if (b.streamed != nullptr) {
    return WithSums<Dot>(sums, start, finish, [&](const auto& first, const auto& last) HWY_ATTR {
      MultiplyStreamed<Dot>(ColumnTag<Dot>(), rows.needed_begin, rows.needed_end, a, b, first,
                            last);
    });
  }

  Tiles tiles(a, b);
  tiles.prefetches = kTilesPrefetch && rows.end - rows.begin >= kLeastRowsToPrefetch;
  tiles.tile.from_zero = sums.FromZero() && !kGives;
  [[maybe_unused]] const bool streams = StreamsPieces(kTileVectors * tiles.n, to);
  tiles.ForEach(rows, [&](size_t tile_rows, size_t vectors, size_t r, size_t c) HWY_ATTR {
    if (sums.IsKept()) {
      tiles.SetSums(SumsAt<Acc>(sums, r, c), RoundUp(sums.rows, kTileRows));
    } else {
      tiles.SetSums(tiles.own, Tiles::kMostRows);
    }
    tiles.template MultiplyBetween<kMayStream<To>>(tile_rows, vectors, r, c, start, finish,
                                                   streams);
  });
}

template <class Dot, class A, class B>
HWY_NOINLINE void AddTiles(RowRange rows, const A& a, const B& b,
                           const Accumulators<typename Dot::Acc>& sums) {
  MultiplyTiles<Dot>(rows, a, b, sums);
}

/// Adds A @ B to rows of a block. Tiles of whole vectors work on them where they are.
template <class Dot, class A, class B>
HWY_NOINLINE void AddTiles(RowRange rows, const A& a, const B& any_b,
                           const SumsInRows<typename Dot::Acc>& sums) {
  using Tiles = TilesOf<Dot, A, B>;
  const B b = any_b.For(rows.Needed(), FewRows<typename Dot::Arithmetic>(any_b.by_columns));
  WithSums(sums, [&](const auto& start, const auto& finish) HWY_ATTR {
    if (a.streamed != nullptr) {
      any_b.PackTheRest();
      return MultiplyFewColumns<Dot>(ColumnTag<Dot>(), rows.needed_begin, rows.needed_end, a, any_b,
                                     start, finish);
    }
    if (b.streamed != nullptr) {
      return MultiplyStreamed<Dot>(ColumnTag<Dot>(), rows.needed_begin, rows.needed_end, a, b,
                                   start, finish);
    }
    Tiles tiles(a, b);
    auto& tile = tiles.tile;
    const bool from_far = sums.from_zero && sums.Bytes(rows.end - rows.begin) > 4 * a.l2_bytes;
    tiles.ForEach(rows, [&](size_t tile_rows, size_t vectors, size_t r, size_t c) HWY_ATTR {
      if (!tiles.IsWhole(vectors, c)) {
        tile.from_zero = false;
        tiles.SetSums(tiles.own, Tiles::kMostRows);
        return tiles.template MultiplyBetween<false>(tile_rows, vectors, r, c, start, finish);
      }
      tile.from_zero = sums.from_zero;
      tile.sums = sums.At(r, c);
      tile.sums_to_row = sums.to_row, tile.sums_to_vector = static_cast<ptrdiff_t>(tiles.n);
      for (size_t i = 0; from_far && i < tile_rows; ++i) {
        for (size_t v = 0; v < vectors; ++v)
          PrefetchToL2(sums.At(r + kTileRows + i, c + v * tiles.n));
      }
      tiles.Multiply(tile_rows, vectors, r, c);
    });
  });
}
template <class Dot, class A, class B>
HWY_INLINE void MultiplyTiles(RowRange rows, const A& a, const B& b,
                              const SumsInRows<typename Dot::Acc>& sums) {
  AddTiles<Dot>(rows, a, b, sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
