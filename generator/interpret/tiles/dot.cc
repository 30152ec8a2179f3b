#include <algorithm>

#include "generator/interpret/tiles/map.h"
#include "generator/interpret/tiles/reduce.h"

namespace kiln::interpret {
namespace {

struct Sizes {
  int64_t batch = 1, m = 0, n = 0, k = 0;
};

// Integers multiply and add as unsigned, which wraps.
double MultiplyAdd(double c, double a, double b) { return c + a * b; }
int64_t MultiplyAdd(int64_t c, int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(c) +
                              static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// One product of compact matrices. The order i, k, j walks along rows of b and c, so the inner
/// loop is a vector operation; four rows of c share each row of b.
template <typename T>
void Multiply(const Sizes& s, const T* a, const T* b, T* c) {
  std::fill_n(c, s.m * s.n, T{0});
  int64_t i = 0;
  for (; i + 4 <= s.m; i += 4) {
    T* c0 = c + i * s.n;
    T* c1 = c0 + s.n;
    T* c2 = c1 + s.n;
    T* c3 = c2 + s.n;
    for (int64_t k = 0; k < s.k; ++k) {
      const T* row = b + k * s.n;
      const T a0 = a[i * s.k + k];
      const T a1 = a[(i + 1) * s.k + k];
      const T a2 = a[(i + 2) * s.k + k];
      const T a3 = a[(i + 3) * s.k + k];
      for (int64_t j = 0; j < s.n; ++j) {
        c0[j] = MultiplyAdd(c0[j], a0, row[j]);
        c1[j] = MultiplyAdd(c1[j], a1, row[j]);
        c2[j] = MultiplyAdd(c2[j], a2, row[j]);
        c3[j] = MultiplyAdd(c3[j], a3, row[j]);
      }
    }
  }
  for (; i < s.m; ++i) {
    for (int64_t k = 0; k < s.k; ++k) {
      const T x = a[i * s.k + k];
      const T* row = b + k * s.n;
      for (int64_t j = 0; j < s.n; ++j) c[i * s.n + j] = MultiplyAdd(c[i * s.n + j], x, row[j]);
    }
  }
}

/// Row i of the result is undefined where row i of a has an undefined element, column j where
/// column j of b has one.
void DotOrigins(const Combining& how, const Sizes& s, const Tile& a, const Tile& b, Tile& c) {
  if (!a.origins && !b.origins) return;
  MakeOrigins(c);
  const auto first = [&](const Buffer<OriginId>& origins, int64_t begin, int64_t stride) {
    for (int64_t k = 0; k < s.k && origins; ++k) {
      const OriginId origin = origins[begin + k * stride];
      if (origin != kDefined) return how.origins->Reduced(origin, how.span);
    }
    return kDefined;
  };
  for (int64_t p = 0; p < s.batch; ++p) {
    OriginId* to = c.origins.get() + p * s.m * s.n;
    for (int64_t i = 0; i < s.m; ++i) {
      std::fill_n(to + i * s.n, s.n, first(a.origins, (p * s.m + i) * s.k, 1));
    }
    for (int64_t j = 0; j < s.n; ++j) {
      const OriginId column = first(b.origins, p * s.k * s.n + j, s.n);
      for (int64_t i = 0; i < s.m && column != kDefined; ++i) {
        if (to[i * s.n + j] == kDefined) to[i * s.n + j] = column;
      }
    }
  }
  DropOrigins(c);
}

}  // namespace

Tile DotTiles(const Combining& how, const Tile& left, const Tile& right) {
  const Tile a = Compact(left);
  const Tile b = Compact(right);
  const int rank = a.rank();
  Dims extents = a.extents;
  extents[rank - 1] = b.extents[rank - 1];
  Tile c = MakeTile(IsFloat(how.dtype), extents);
  Sizes s{1, a.extents[rank - 2], b.extents[rank - 1], a.extents[rank - 1]};
  for (int d = 0; d + 2 < rank; ++d) s.batch *= a.extents[d];
  for (int64_t p = 0; p < s.batch; ++p) {
    const int64_t at_a = p * s.m * s.k, at_b = p * s.k * s.n, at_c = p * s.m * s.n;
    if (c.floating)
      Multiply(s, a.floats.get() + at_a, b.floats.get() + at_b, c.floats.get() + at_c);
    else
      Multiply(s, a.ints.get() + at_a, b.ints.get() + at_b, c.ints.get() + at_c);
  }
  if (c.floating)
    RoundAll(how.dtype, how.wide, c.cells, c.floats.get());
  else
    WrapAll(how.dtype, c.cells, c.ints.get());
  DotOrigins(how, s, a, b, c);
  return c;
}

}  // namespace kiln::interpret
