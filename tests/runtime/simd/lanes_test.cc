#include <sys/mman.h>
#include <unistd.h>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/lanes_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/across-inl.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/rows-inl.h"
#include "kiln/simd/stream-inl.h"

#ifndef KILN_LANES_TEST_ONCE
#define KILN_LANES_TEST_ONCE
namespace kiln::lanes_testing::of_lanes {

/// Memory that ends at a page nobody may touch, and begins after one.
class Guarded {
 public:
  Guarded() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* all = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = static_cast<uint8_t*>(all);
    if (mprotect(base_ + page_, page_, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~Guarded() { munmap(base_, 3 * page_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  /// Room for `count` elements at the end or at the beginning.
  template <typename T>
  T* Place(size_t count, bool at_end) {
    uint8_t* at = base_ + page_ + (at_end ? page_ - count * sizeof(T) : 0);
    return reinterpret_cast<T*>(at);
  }

 private:
  size_t page_;
  uint8_t* base_;
};

constexpr size_t kMost = 67;

}  // namespace kiln::lanes_testing::of_lanes
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_lanes {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

template <typename T>
std::string Named(const char* what, size_t count) {
  return std::string(what) + " " + std::string(Name(kDTypeOf<T>)) + " " + std::to_string(count);
}

/// Load and Store of `count` elements move their bits and touch nothing else.
template <typename T, class D>
void CheckCopies(D d, const std::vector<T>& values) {
  Guarded from_pages, to_pages;
  for (size_t count = 0; count <= kMost; ++count) {
    for (const bool at_end : {false, true}) {
      T* const from = from_pages.Place<T>(count, at_end);
      T* const to = to_pages.Place<T>(count, at_end);
      for (size_t i = 0; i < count; ++i) from[i] = values[i];
      for (size_t i = 0; i < count; ++i) to[i] = values[i + 1];
      ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR { at.Store(at.Load(from + i), to + i); });
      size_t same = 0;
      for (size_t i = 0; i < count; ++i) same += Same(to[i], from[i]);
      Expect(same == count, Named<T>("copy", count));
    }
  }
}

/// Strided access and StoreIf, with whatever is between and beside the elements left as it was.
template <typename T, class D>
void CheckSparse(D d, const std::vector<T>& values) {
  for (size_t count = 0; count <= kMost; ++count) {
    for (const ptrdiff_t stride : {1, 2, 3, 4, 5, 6, 7, 8, 9, -2}) {
      const Room<T> to(9 * kMost), want(9 * kMost);
      for (size_t i = 0; i < 9 * kMost; ++i) *want(i) = *to(i) = values[i % values.size()];
      const ptrdiff_t first = stride < 0 ? 3 * kMost : 1;
      for (size_t i = 0; i < count; ++i) {
        *want(static_cast<size_t>(first + static_cast<ptrdiff_t>(i) * stride)) = values[i];
      }
      const Room<T> from(values);
      ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
        T* const p = to() + first + static_cast<ptrdiff_t>(i) * stride;
        at.StoreStrided(at.Load(from(i)), p, stride, Likely<3>());
        at.StoreStrided(at.LoadStrided(p, stride, Likely<3>()), p, stride);
        at.StoreStrided(at.LoadStrided(p, stride), p, stride);
      });
      size_t same = 0;
      for (size_t i = 0; i < 9 * kMost; ++i) same += Same(*to(i), *want(i));
      Expect(same == 9 * kMost, Named<T>("strided", count));
    }

    const Room<T> turned(count), all(values);
    ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
      at.Store(at.LoadReversed(all(count - 1 - i)), turned(i));
    });
    size_t backwards = 0;
    for (size_t i = 0; i < count; ++i) backwards += Same(*turned(i), *all(count - 1 - i));
    Expect(backwards == count, Named<T>("reversed", count));

    Guarded pages;
    for (const bool at_end : {false, true}) {
      T* const to = pages.Place<T>(count, at_end);
      const Room<T> from(values);
      const Room<bool> mask(kMost);
      for (size_t i = 0; i < count; ++i) *mask(i) = i * i % 3 == 1 || i % 7 == 0;
      for (size_t i = 0; i < count; ++i) to[i] = values[i + 1];
      ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
        at.StoreIf(at.Load(mask(i)), at.Load(from(i)), to + i);
      });
      size_t same = 0;
      for (size_t i = 0; i < count; ++i) same += Same(to[i], values[*mask(i) ? i : i + 1]);
      Expect(same == count, Named<T>("masked", count));
    }
  }
}

/// A Part of no lanes touches no memory at all.
template <typename T, class D>
void CheckNothing(D) {
  const Part<D> nothing(0);
  T* const nowhere = nullptr;
  const auto v = nothing.Load(nowhere);
  nothing.Store(v, nowhere);
  nothing.StoreStrided(nothing.LoadStrided(nowhere, 5), nowhere, 5);
  nothing.StoreIf(nothing.Splat(true), v, nowhere);
  Expect(nothing.lanes() == 0, "lanes() of nothing");
}

template <class D>
void CheckSplats(D d) {
  for (size_t count = 0; count <= kMost; ++count) {
    size_t next = 0, wrong = 0;
    const Room<int32_t> iota(kMost), splat(kMost);
    const Room<bool> no(kMost), yes(kMost);
    const Room<float> f(kMost);
    const Room<uint32_t> u(kMost);
    ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
      wrong += i != next;
      next += at.lanes();
      at.Store(at.Iota(static_cast<int32_t>(i) - 5), iota(i));
      at.Store(at.Splat(int32_t{-7}), splat(i));
      at.Store(at.Splat(false), no(i));
      at.Store(at.Splat(true), yes(i));
      at.Store(at.Splat(2.5f), f(i));
      at.Store(at.Splat(uint32_t{0xFFFFFFFE}), u(i));
    });
    for (size_t i = 0; i < count; ++i) {
      wrong += *iota(i) != static_cast<int32_t>(i) - 5;
      wrong += *splat(i) != -7 || *no(i) || !*yes(i) || *f(i) != 2.5f || *u(i) != 0xFFFFFFFE;
    }
    Expect(wrong == 0 && next == count, "splats " + std::to_string(count));
  }
}

void CheckRows() {
  for (size_t count = 0; count <= 13; ++count) {
    size_t next = 0, wrong = 0, singles = 0;
    ForRows(count, [&](auto rows, size_t first) HWY_ATTR {
      static_assert(rows() > 0);
      wrong += first != next;
      next += rows();
      singles += rows() == 1;
    });
    Expect(wrong == 0 && next == count && singles == count % 4, "rows " + std::to_string(count));
  }
}

/// Four rows at a time, and then each that is left.
void CheckFourRows() {
  for (size_t count = 0; count <= 13; ++count) {
    size_t next = 0, wrong = 0, singles = 0;
    const auto four = [&](size_t a, size_t b, size_t c, size_t d) HWY_ATTR {
      wrong += a != next || b != next + 1 || c != next + 2 || d != next + 3;
      next += 4;
    };
    ForFourRows(count, four, [&](size_t row) HWY_ATTR {
      wrong += row != next;
      next += 1;
      ++singles;
    });
    Expect(wrong == 0 && next == count && singles == count % 4,
           "four rows " + std::to_string(count));
    next = wrong = 0;
    ForFourRows(count, four);
    Expect(wrong == 0 && next == count - count % 4, "fours of " + std::to_string(count));
    size_t covered = 0, alone = 0;
    CoverFourRows(
        count,
        [&](size_t a, size_t b, size_t c, size_t d) HWY_ATTR {
          wrong += a > covered || b != a + 1 || c != a + 2 || d != a + 3;
          covered = d + 1;
        },
        [&](size_t row) HWY_ATTR {
          wrong += row != alone;
          ++alone;
        });
    Expect(wrong == 0 && covered + alone == count && (covered == 0 || alone == 0),
           "rows covered by fours " + std::to_string(count));
  }
}

/// What is held is what was loaded, of each type and number of lanes.
template <class D>
void CheckHeld(D d) {
  const auto v = hn::Iota(d, 3);
  Expect(hn::AllTrue(d, hn::Eq(Held(v), v)), "held");
}

/// As many rows at a time as there are lanes, and then all that are left.
template <class D>
void CheckRowsAsLanes(D d) {
  const size_t lanes = hn::Lanes(d);
  for (size_t count = 0; count <= 3 * lanes; ++count) {
    size_t next = 0, wrong = 0, calls = 0;
    ForRows(d, count, [&](auto rows, size_t first) HWY_ATTR {
      wrong += first != next || rows() != HWY_MIN(lanes, count - first);
      next += rows();
      ++calls;
    });
    Expect(wrong == 0 && next == count && calls == (count + lanes - 1) / lanes,
           "rows as lanes " + std::to_string(count));
  }
}

/// A matrix whose rows have a gap behind them is transposed, and nothing around it is read.
template <typename T, class D>
void CheckTransposed(D d, const std::vector<T>& values, size_t rows, size_t columns) {
  Guarded pages;
  const size_t pitch = columns + 1;
  for (const bool at_end : {false, true}) {
    T* const matrix = pages.Place<T>(rows * pitch - 1, at_end);
    const auto value = [&](size_t i) { return values[i % values.size()]; };
    for (size_t i = 0; i < rows * pitch - 1; ++i) matrix[i] = value(i);
    const Room<T> turned(rows * columns);
    const auto stride = static_cast<ptrdiff_t>(pitch);
    ForRows(d, columns, [&](auto some, size_t first) HWY_ATTR {
      ForLanes(d, rows, [&](auto at, size_t row) HWY_ATTR {
        PrefetchAcross(at, matrix + row * pitch + first, stride, row, rows);
        const Across across(at, some, matrix + row * pitch + first, stride);
        for (size_t c = first; c < first + some(); ++c)
          at.Store(across.Column(c - first), turned(c * rows + row));
      });
    });
    size_t same = 0;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c)
        same += Same(*turned(c * rows + r), value(r * pitch + c));
    }
    Expect(same == rows * columns, Named<T>("transposed", rows) + " x " + std::to_string(columns));
  }
}

/// Elements that are kApart apart: what is between them stays, and nothing beside the first and the
/// last one is read or written.
template <size_t kApart, typename T, class D>
void CheckApart(D d, const std::vector<T>& values) {
  Guarded pages;
  constexpr ptrdiff_t kStride = kApart;
  const size_t lanes = hn::Lanes(d);
  for (const size_t count : {size_t{1}, lanes / 2 + 1, lanes - 1, lanes, lanes + 1, 2 * lanes}) {
    const size_t n = count == 0 ? 0 : kApart * (count - 1) + 1;
    for (const bool at_end : {false, true}) {
      T* const line = pages.Place<T>(n, at_end);
      for (size_t i = 0; i < n; ++i) line[i] = values[i % values.size()];
      const Room<T> some(count), others(count);
      for (size_t i = 0; i < count; ++i) *others(i) = values[i % values.size()];
      ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
        at.Store(at.LoadStrided(line + kApart * i, kStride, Likely<kApart>()), some(i));
        at.StoreStrided(at.Load(others(i)), line + kApart * i, kStride, Likely<kApart>());
      });
      size_t same = 0;
      for (size_t i = 0; i < count; ++i) same += Same(*some(i), values[kApart * i % values.size()]);
      for (size_t i = 0; i < n; ++i)
        same += Same(line[i], values[(i % kApart == 0 ? i / kApart : i) % values.size()]);
      Expect(same == count + n, Named<T>("apart", kApart));
    }
  }
  if constexpr (kApart > 2) CheckApart<kApart - 1>(d, values);
}

/// Loads around the end of a line read nothing that is beside it.
template <typename T, class D>
void CheckLines(D d, const std::vector<T>& values) {
  Guarded pages;
  for (size_t n = 1; n <= kMost; ++n) {
    for (const bool at_end : {false, true}) {
      T* const line = pages.Place<T>(n, at_end);
      for (size_t i = 0; i < n; ++i) line[i] = values[i];
      const Room<T> turned(n);
      size_t same = 0;
      for (const size_t by : {size_t{0}, size_t{1}, n / 2, n - 1, n}) {
        ForLanes(d, n, [&](auto at, size_t i) HWY_ATTR {
          at.Store(at.LoadAround(line, i + by, n), turned(i));
        });
        same = 0;
        for (size_t i = 0; i < n; ++i) same += Same(*turned(i), line[(i + by) % n]);
        Expect(same == n, Named<T>("around", n));
      }
    }
  }
}

template <typename T, class D>
void CheckAll(D d) {
  // Loads of f16 may make NaN quiet: that is Same.
  const std::vector<T> values = Elements<T>();
  CheckCopies<T>(d, values);
  CheckSparse<T>(d, values);
  CheckApart<8>(d, values);
  CheckLines<T>(d, values);
  const size_t lanes = HWY_MIN(hn::Lanes(d), 16);  // all of it has to fit into a page
  for (const size_t rows : {size_t{1}, lanes, lanes + 1}) {
    for (const size_t columns : {size_t{1}, lanes - 1, lanes, lanes + 3})
      CheckTransposed<T>(d, values, rows, columns);
  }
  CheckNothing<T>(d);
  CheckHeld(d);
}

/// 32 elements behind each one of a tile whose rows have gaps, or its last one.
void CheckLaterElements() {
  for (const size_t columns : {1, 3, 16, 31, 32, 33, 80}) {
    for (const size_t rows : {1, 2, 5, 20}) {
      const std::vector<int32_t> memory(rows * (columns + 3));
      const auto stride = static_cast<int64_t>(columns) + 3;
      Tile<const int32_t, 2> matrix{memory.data(), {stride, 1}, {}, {rows, columns}};
      const Tile<const int32_t, 1> line{memory.data(), {1}, {}, {columns}};
      size_t wrong = 0;
      for (size_t i = 0; i < rows * columns; ++i) {
        const size_t later = HWY_MIN(i + 32, rows * columns - 1);
        wrong += LaterOf(matrix, i / columns, i % columns) !=
                 matrix.At(later / columns, later % columns);
      }
      for (size_t i = 0; i < columns; ++i)
        wrong += LaterOf(line, i) != line.At(HWY_MIN(i + 32, columns - 1));
      matrix.high = {rows, 0};
      wrong += LaterOf(matrix, 0, columns - 1) != matrix.At(0, columns - 1);
      Expect(wrong == 0, "elements behind those of " + std::to_string(columns) + " columns");
    }
  }
}

/// What comes after an element of a row of 1 KiB or more is prefetched 16 to 128 KiB ahead: in a
/// later row, or in the row itself.
void CheckLater() {
  const auto* const at = reinterpret_cast<const float*>(uintptr_t{1} << 40);  // never read
  for (size_t count = 256; count < 50000; count += 250) {
    for (const ptrdiff_t stride :
         {static_cast<ptrdiff_t>(count), ptrdiff_t{50000}, ptrdiff_t{-50000}}) {
      const ptrdiff_t later = LaterRow(at, at + stride, count) - at;
      const bool in_row = count * sizeof(float) >= 4 * kLaterBytes;
      const ptrdiff_t rows = in_row ? 1 : later / stride;
      const size_t ahead = in_row ? static_cast<size_t>(later) : static_cast<size_t>(rows) * count;
      Expect((in_row || later == rows * stride) && ahead * sizeof(float) >= kLaterBytes &&
                 ahead * sizeof(float) <= 8 * kLaterBytes,
             "later than a row of " + std::to_string(count));
    }
  }
}

void TestLanes() {
  ForEachType([](auto type) {
    using T = decltype(type);
    if constexpr (sizeof(T) < 8) CheckAll<T>(kFloats);
    CheckAll<T>(kDoubles);
  });
  CheckSplats(kFloats);
  CheckSplats(kDoubles);
  CheckRows();
  CheckFourRows();
  CheckRowsAsLanes(kFloats);
  CheckRowsAsLanes(kDoubles);
  CheckLater();
  CheckLaterElements();
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_lanes
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_lanes {
HWY_EXPORT(TestLanes);

TEST_CASE("Lanes read and write their elements and no others", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestLanes)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_lanes
#endif
