#include "generator/interpret/tiles/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "generator/interpret/tiles/map.h"

namespace kiln::interpret {
namespace {

/// A reduction's result before extents of 1 are dropped, and its strides along the argument's
/// dimensions: 0 where it reduces.
struct Target {
  Dims extents, strides;
};

Target TargetOf(const Tile& tile, const std::vector<int>& axes) {
  Target target{tile.extents, {}};
  for (const int axis : axes) target.extents[axis] = 1;
  target.strides = ContiguousStrides(target.extents);
  for (const int axis : axes) target.strides[axis] = 0;
  return target;
}

/// to = f(to, x) for every element x of the tile, in row-major order.
template <typename T, typename F>
void Accumulate(const Tile& tile, const Target& target, T start, Tile& result, F f) {
  T* to = ValuesOf<T>(result).get();
  std::fill_n(to, result.cells, start);
  const Walk<2> walk(tile.extents, {tile.strides, target.strides}, {tile.offset, 0});
  const int64_t stride = walk.row_stride(0);
  const bool into_one = walk.row_stride(1) == 0;
  walk.ForEachRow([&](const auto& at) {
    const T* from = ValuesOf<T>(tile).get() + at[0];
    T* row = to + at[1];
    if (into_one) {
      T sum = *row;
      for (int64_t i = 0; i < walk.row_size(); ++i) sum = f(sum, from[i * stride]);
      *row = sum;
    } else {
      for (int64_t i = 0; i < walk.row_size(); ++i) row[i] = f(row[i], from[i * stride]);
    }
  });
}

/// The first origin of the elements behind each element of the result; none where a defined bool
/// decides it.
void ReduceOrigins(const Combining& how, const Tile& tile, const Target& target, Tile& result) {
  if (!tile.origins) return;
  MakeOrigins(result);
  const Walk<2> walk(tile.extents, {tile.strides, target.strides}, {tile.offset, 0});
  const int64_t* const decides = how.dtype == DType::kBool ? DecidingBool(how.op) : nullptr;
  walk.ForEachRow([&](const auto& at) {
    for (int64_t i = 0; i < walk.row_size(); ++i) {
      const OriginId origin = tile.origins[at[0] + i * walk.row_stride(0)];
      OriginId& to = result.origins[at[1] + i * walk.row_stride(1)];
      if (origin != kDefined && to == kDefined) to = how.origins->Reduced(origin, how.span);
    }
  });
  if (decides) {
    walk.ForEachRow([&](const auto& at) {
      for (int64_t i = 0; i < walk.row_size(); ++i) {
        const int64_t from = at[0] + i * walk.row_stride(0);
        if (tile.origins[from] == kDefined && tile.ints[from] == *decides)
          result.origins[at[1] + i * walk.row_stride(1)] = kDefined;
      }
    });
  }
  DropOrigins(result);
}

void ReduceFloats(const Combining& how, const Tile& tile, const Target& target, Tile& result) {
  const auto sum = [](double a, double x) { return a + x; };
  switch (AsFold(how.op)) {
    case FoldOp::kSum:
      return Accumulate(tile, target, 0.0, result, sum);
    case FoldOp::kProd:
      return Accumulate(tile, target, 1.0, result, [](double a, double x) { return a * x; });
    case FoldOp::kReduceMax:
      return Accumulate(tile, target, LeastFloat(how.dtype), result,
                        [](double a, double x) { return x > a || std::isnan(x) ? x : a; });
    case FoldOp::kReduceMin:
      return Accumulate(tile, target, GreatestFloat(how.dtype), result,
                        [](double a, double x) { return x < a || std::isnan(x) ? x : a; });
    case FoldOp::kMean: {
      Accumulate(tile, target, 0.0, result, sum);
      const double count = static_cast<double>(tile.size()) / static_cast<double>(result.cells);
      for (int64_t i = 0; i < result.cells; ++i) result.floats[i] /= count;
      return;
    }
    case FoldOp::kAny:  // of bools only
    case FoldOp::kAll:
      return;
  }
}

void ReduceInts(const Combining& how, const Tile& tile, const Target& target, Tile& result) {
  const auto wrapping = [](uint64_t x) { return static_cast<int64_t>(x); };
  const auto bits = [](int64_t x) { return static_cast<uint64_t>(x); };
  switch (AsFold(how.op)) {
    case FoldOp::kSum:
      return Accumulate<int64_t>(tile, target, 0, result,
                                 [&](int64_t a, int64_t x) { return wrapping(bits(a) + bits(x)); });
    case FoldOp::kProd:
      return Accumulate<int64_t>(tile, target, 1, result,
                                 [&](int64_t a, int64_t x) { return wrapping(bits(a) * bits(x)); });
    case FoldOp::kReduceMax:
      return Accumulate<int64_t>(tile, target, MinOf(how.dtype), result,
                                 [](int64_t a, int64_t x) { return std::max(a, x); });
    case FoldOp::kReduceMin:
      return Accumulate<int64_t>(tile, target, MaxOf(how.dtype), result,
                                 [](int64_t a, int64_t x) { return std::min(a, x); });
    case FoldOp::kAny:
      return Accumulate<int64_t>(tile, target, 0, result,
                                 [](int64_t a, int64_t x) { return a | x; });
    case FoldOp::kAll:
      return Accumulate<int64_t>(tile, target, 1, result,
                                 [](int64_t a, int64_t x) { return a & x; });
    case FoldOp::kMean:  // of floats only
      return;
  }
}

/// Positions along the axes, as if they were flattened into one.
template <typename T, typename Better>
void Locate(const Combining& how, const Tile& tile, const Target& target,
            const std::vector<int>& axes, Tile& result, Better better) {
  constexpr int64_t kNone = -1;
  std::fill_n(result.ints.get(), result.cells, kNone);
  std::vector<T> best(static_cast<size_t>(result.cells));
  Dims along(tile.rank());
  int64_t count = 1;
  for (size_t k = axes.size(); k-- > 0;) {
    along[axes[k]] = count;
    count *= tile.extents[axes[k]];
  }
  const Walk<3> walk(tile.extents, {tile.strides, target.strides, along}, {tile.offset, 0, 0});
  walk.ForEachRow([&](const auto& at) {
    for (int64_t i = 0; i < walk.row_size(); ++i) {
      const T x = ValuesOf<T>(tile)[at[0] + i * walk.row_stride(0)];
      const int64_t to = at[1] + i * walk.row_stride(1);
      if (result.ints[to] != kNone && !better(x, best[static_cast<size_t>(to)])) continue;
      best[static_cast<size_t>(to)] = x;
      result.ints[to] = at[2] + i * walk.row_stride(2);
    }
  });
  if (count > 0 || result.cells == 0) return;
  MakeOrigins(result);
  std::fill_n(result.origins.get(), result.cells,
              how.origins->Operation(Origin::Kind::kEmpty, how.span));
}

void LocateBest(const Combining& how, const Tile& tile, const Target& target,
                const std::vector<int>& axes, Tile& result) {
  const bool largest = how.op == Op::kArgmax;
  if (tile.floating) {
    Locate<double>(how, tile, target, axes, result, [largest](double x, double best) {
      if (std::isnan(best)) return false;
      return std::isnan(x) || (largest ? x > best : x < best);
    });
  } else {
    Locate<int64_t>(how, tile, target, axes, result,
                    [largest](int64_t x, int64_t best) { return largest ? x > best : x < best; });
  }
}

/// Each element and the one before it along the axis: `count` lanes of `length`, `inner` apart.
template <typename T, typename F>
void Running(T* values, int64_t lanes, int64_t length, int64_t inner, F add) {
  for (int64_t lane = 0; lane < lanes; ++lane) {
    T* row = values + lane * length * inner;
    for (int64_t i = inner; i < length * inner; ++i) row[i] = add(row[i - inner], row[i]);
  }
}

}  // namespace

Tile ReduceTile(const Combining& how, const Tile& tile, const std::vector<int>& axes, bool keep) {
  const Target target = TargetOf(tile, axes);
  Tile result = MakeTile(IsFloat(how.dtype), target.extents);
  if (!IsFold(how.op)) {
    LocateBest(how, tile, target, axes, result);
  } else if (tile.floating) {
    ReduceFloats(how, tile, target, result);
    RoundAll(how.dtype, how.wide, result.cells, result.floats.get());
  } else {
    ReduceInts(how, tile, target, result);
    WrapAll(how.dtype, result.cells, result.ints.get());
  }
  ReduceOrigins(how, tile, target, result);
  if (keep) return result;
  Dims kept;
  for (int d = 0; d < tile.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) kept.Append(tile.extents[d]);
  }
  result.extents = kept;
  result.strides = ContiguousStrides(kept);
  return result;
}

namespace {

double RunningFloat(ScanOp op, double before, double x) {
  switch (op) {
    case ScanOp::kCumsum:
      return before + x;
    case ScanOp::kCumprod:
      return before * x;
    case ScanOp::kCummax:
      return x > before || std::isnan(x) ? x : before;
    case ScanOp::kCummin:
      return x < before || std::isnan(x) ? x : before;
  }
  __builtin_unreachable();
}

int64_t RunningInt(ScanOp op, int64_t before, int64_t x) {
  const uint64_t a = static_cast<uint64_t>(before), b = static_cast<uint64_t>(x);
  switch (op) {
    case ScanOp::kCumsum:
      return static_cast<int64_t>(a + b);
    case ScanOp::kCumprod:
      return static_cast<int64_t>(a * b);
    case ScanOp::kCummax:
      return std::max(before, x);
    case ScanOp::kCummin:
      return std::min(before, x);
  }
  __builtin_unreachable();
}

}  // namespace

Tile CumulateTile(const Combining& how, const Tile& tile, int axis) {
  const ScanOp op = AsScan(how.op);
  Tile result = tile;
  MakeWritable(result);
  int64_t lanes = 1;
  for (int d = 0; d < axis; ++d) lanes *= tile.extents[d];
  const int64_t length = tile.extents[axis];
  const int64_t inner = result.strides[axis];
  if (result.floating) {
    Running(result.floats.get(), lanes, length, inner,
            [op](double a, double x) { return RunningFloat(op, a, x); });
    RoundAll(how.dtype, how.wide, result.cells, result.floats.get());
  } else {
    Running(result.ints.get(), lanes, length, inner,
            [op](int64_t a, int64_t x) { return RunningInt(op, a, x); });
    WrapAll(how.dtype, result.cells, result.ints.get());
  }
  if (result.origins) {
    for (int64_t i = 0; i < result.cells; ++i) {
      OriginId& origin = result.origins[i];
      if (origin != kDefined) origin = how.origins->Reduced(origin, how.span);
    }
    Running(result.origins.get(), lanes, length, inner,
            [](OriginId before, OriginId own) { return before != kDefined ? before : own; });
  }
  return result;
}

}  // namespace kiln::interpret
