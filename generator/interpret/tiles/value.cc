#include "generator/interpret/tiles/value.h"

#include <algorithm>
#include <new>

#include "generator/text/integer.h"

namespace kiln::interpret {
namespace {

template <typename T>
Buffer<T> CompactCells(const Tile& tile, const Buffer<T>& from) {
  const Dims strides = ContiguousStrides(tile.extents);
  Buffer<T> to = MakeBuffer<T>(tile.size());
  const Walk<2> walk(tile.extents, {tile.strides, strides}, {tile.offset, 0});
  const int64_t stride = walk.row_stride(0);
  walk.ForEachRow([&](const auto& at) {
    const T* source = from.get() + at[0];
    T* target = to.get() + at[1];
    if (stride == 1) {
      std::copy(source, source + walk.row_size(), target);
    } else {
      for (int64_t i = 0; i < walk.row_size(); ++i) target[i] = source[i * stride];
    }
  });
  return to;
}

template <typename T>
void PasteCells(const Tile& window, const Tile& value, const Tile* mask, T* to, const T* from) {
  const Dims& extents = window.extents;
  const Tile source = BroadcastTo(value, extents);
  const Tile guard = mask ? BroadcastTo(*mask, extents) : source;
  const Walk<3> walk(extents, {window.strides, source.strides, guard.strides},
                     {window.offset, source.offset, guard.offset});
  const int64_t to_stride = walk.row_stride(0), from_stride = walk.row_stride(1);
  const int64_t mask_stride = walk.row_stride(2);
  walk.ForEachRow([&](const auto& at) {
    T* row = to + at[0];
    for (int64_t i = 0; i < walk.row_size(); ++i) {
      if (mask && !(guard.ints[at[2] + i * mask_stride] & 1)) continue;
      row[i * to_stride] = from ? from[at[1] + i * from_stride] : T{};
    }
  });
}

/// Elements whose mask is undefined take the mask's origin.
void PasteMaskOrigins(const Tile& window, const Tile& mask, OriginId* to) {
  const Tile guard = BroadcastTo(mask, window.extents);
  const Walk<2> walk(window.extents, {window.strides, guard.strides},
                     {window.offset, guard.offset});
  walk.ForEachRow([&](const auto& at) {
    for (int64_t i = 0; i < walk.row_size(); ++i) {
      const OriginId origin = mask.origins[at[1] + i * walk.row_stride(1)];
      if (origin != kDefined) to[at[0] + i * walk.row_stride(0)] = origin;
    }
  });
}

template <typename T>
bool Shared(const Buffer<T>& buffer) {
  return buffer && buffer.use_count() > 1;
}

}  // namespace

bool operator==(const Dims& a, const Dims& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

int64_t Product(const Dims& extents) {
  int64_t product = 1;
  bool empty = false;
  bool overflow = false;
  for (const int64_t extent : extents) {
    empty = empty || extent == 0;
    overflow = overflow || __builtin_mul_overflow(product, extent, &product);
  }
  if (empty) return 0;
  if (overflow) throw std::bad_alloc();  // no memory has so many elements
  return product;
}

Dims ContiguousStrides(const Dims& extents) {
  Dims strides(extents.rank());
  int64_t stride = 1;
  for (int d = extents.rank(); d-- > 0;) {
    strides[d] = stride;
    stride = SaturatingMultiply(stride, extents[d]);  // with an extent of 0 nobody uses it
  }
  return strides;
}

Tile MakeTile(bool floating, const Dims& extents) {
  Tile tile;
  tile.floating = floating;
  tile.extents = extents;
  tile.strides = ContiguousStrides(extents);
  tile.cells = Product(extents);
  if (floating)
    tile.floats = MakeBuffer<double>(tile.cells);
  else
    tile.ints = MakeBuffer<int64_t>(tile.cells);
  return tile;
}

Tile FillTile(bool floating, const Scalar& value, const Dims& extents) {
  Tile tile = MakeTile(floating, Dims());
  if (floating)
    tile.floats[0] = value.f;
  else
    tile.ints[0] = value.i;
  if (value.origin != kDefined) {
    tile.origins = MakeBuffer<OriginId>(1);
    tile.origins[0] = value.origin;
  }
  return BroadcastTo(tile, extents);
}

Scalar ElementAt(const Tile& tile, int64_t cell) {
  Scalar value;
  if (tile.floating)
    value.f = tile.floats[cell];
  else
    value.i = tile.ints[cell];
  if (tile.origins) value.origin = tile.origins[cell];
  return value;
}

Tile BroadcastTo(const Tile& tile, const Dims& extents) {
  Tile view = tile;
  view.extents = extents;
  view.strides = Dims(extents.rank());
  const int added = extents.rank() - tile.rank();
  for (int d = 0; d < tile.rank(); ++d) {
    const bool repeats = tile.extents[d] == 1 && extents[d + added] != 1;
    view.strides[d + added] = repeats ? 0 : tile.strides[d];
  }
  return view;
}

Tile Transpose(const Tile& tile, const std::vector<int>& axes) {
  Tile view = tile;
  for (int d = 0; d < tile.rank(); ++d) {
    view.extents[d] = tile.extents[axes[static_cast<size_t>(d)]];
    view.strides[d] = tile.strides[axes[static_cast<size_t>(d)]];
  }
  return view;
}

bool IsCompact(const Tile& tile) {
  int64_t stride = 1;
  for (int d = tile.rank(); d-- > 0;) {
    if (tile.extents[d] != 1 && tile.strides[d] != stride) return false;
    stride *= tile.extents[d];
  }
  return tile.offset == 0 && tile.cells == stride;
}

Tile Compact(const Tile& tile) {
  if (IsCompact(tile)) {
    Tile same = tile;
    same.strides = ContiguousStrides(tile.extents);
    return same;
  }
  Tile copy;
  copy.floating = tile.floating;
  copy.extents = tile.extents;
  copy.strides = ContiguousStrides(tile.extents);
  copy.cells = tile.size();
  if (tile.floating)
    copy.floats = CompactCells(tile, tile.floats);
  else
    copy.ints = CompactCells(tile, tile.ints);
  if (tile.origins) copy.origins = CompactCells(tile, tile.origins);
  return copy;
}

void MakeWritable(Tile& tile) {
  if (!IsCompact(tile)) tile = Compact(tile);
  if (Shared(tile.floats)) tile.floats = CompactCells(tile, tile.floats);
  if (Shared(tile.ints)) tile.ints = CompactCells(tile, tile.ints);
  if (Shared(tile.origins)) tile.origins = CompactCells(tile, tile.origins);
}

void Paste(Tile& target, const Tile& window, const Tile& value, const Tile* mask) {
  if (target.floating) {
    PasteCells(window, value, mask, target.floats.get(), value.floats.get());
  } else {
    PasteCells(window, value, mask, target.ints.get(), value.ints.get());
  }
  const bool unclear = mask && mask->origins;
  if (!target.origins && !value.origins && !unclear) return;
  MakeOrigins(target);
  PasteCells(window, value, mask, target.origins.get(), value.origins.get());
  if (unclear) PasteMaskOrigins(window, *mask, target.origins.get());
}

void MakeOrigins(Tile& tile) {
  if (tile.origins) return;
  tile.origins = MakeBuffer<OriginId>(tile.cells);
  std::fill_n(tile.origins.get(), tile.cells, kDefined);
}

void DropOrigins(Tile& tile) {
  if (!tile.origins) return;
  OriginId any = kDefined;
  for (int64_t i = 0; i < tile.cells; ++i) any |= tile.origins[i];
  if (any == kDefined) tile.origins = nullptr;
}

}  // namespace kiln::interpret
