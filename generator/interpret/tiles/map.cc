#include "generator/interpret/tiles/map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace kiln::interpret {
namespace {

// Arguments that are not contiguous are gathered in pieces of this size, so that each operation
// is one plain loop. 3 x 8 KiB stay in the first-level cache.
constexpr int64_t kPiece = 1024;

template <typename T>
void CastEach(int64_t count, int64_t* values) {
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(values[i]);
}

template <typename T>
const T* Gather(const T* from, int64_t stride, int64_t count, T* room) {
  if (stride == 1) return from;
  if (stride == 0) {
    std::fill_n(room, count, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) room[i] = from[i * stride];
  }
  return room;
}

/// The strides that make `tile` cover `extents`.
Dims StridesFor(const Tile& tile, const Dims& extents) {
  return BroadcastTo(tile, extents).strides;
}

/// Calls use(count, args, to) for pieces of rows of all arguments side by side.
template <typename In, typename Use>
void ForEachPiece(const Dims& extents, const std::vector<Tile>& args, Use&& use) {
  std::array<Dims, 4> strides;  // three arguments and the result
  std::array<int64_t, 4> offsets{};
  for (size_t k = 0; k < 3; ++k) {
    strides[k] = k < args.size() ? StridesFor(args[k], extents) : Dims(extents.rank());
    offsets[k] = k < args.size() ? args[k].offset : 0;
  }
  strides[3] = ContiguousStrides(extents);
  const Walk<4> walk(extents, strides, offsets);
  In room[3][kPiece];
  walk.ForEachRow([&](const std::array<int64_t, 4>& at) {
    for (int64_t begin = 0; begin < walk.row_size(); begin += kPiece) {
      const int64_t count = std::min(kPiece, walk.row_size() - begin);
      const In* pointers[3] = {};
      for (size_t k = 0; k < args.size(); ++k) {
        const int64_t stride = walk.row_stride(k);
        const In* from = ValuesOf<In>(args[k]).get() + at[k] + begin * stride;
        pointers[k] = Gather(from, stride, count, room[k]);
      }
      use(count, pointers, at[3] + begin);
    }
  });
}

/// Gives each element of `tile` the first origin that its arguments have.
void MergeOrigins(Tile& tile, const std::vector<Tile>& args) {
  for (const Tile& arg : args) {
    if (!arg.origins) continue;
    MakeOrigins(tile);
    const Walk<2> walk(tile.extents, {StridesFor(arg, tile.extents), tile.strides},
                       {arg.offset, 0});
    const int64_t stride = walk.row_stride(0);
    walk.ForEachRow([&](const auto& at) {
      const OriginId* from = arg.origins.get() + at[0];
      OriginId* to = tile.origins.get() + at[1];
      for (int64_t i = 0; i < walk.row_size(); ++i) {
        if (to[i] == kDefined) to[i] = from[i * stride];
      }
    });
  }
}

void MarkNoValue(Tile& tile, const std::vector<Tile>& args, bool (*no_value)(int64_t),
                 OriginId origin) {
  ForEachPiece<int64_t>(tile.extents, args,
                        [&](int64_t count, const int64_t* const* in, int64_t at) {
                          for (int64_t i = 0; i < count; ++i) {
                            if (!no_value(in[1][i])) continue;
                            MakeOrigins(tile);
                            if (tile.origins[at + i] == kDefined) tile.origins[at + i] = origin;
                          }
                        });
}

template <typename T>
void Select(Tile& tile, const Tile& mask, const Tile& yes, const Tile& no) {
  const Dims& extents = tile.extents;
  const bool track = mask.origins || yes.origins || no.origins;
  if (track) MakeOrigins(tile);
  const Walk<4> walk(
      extents,
      {StridesFor(mask, extents), StridesFor(yes, extents), StridesFor(no, extents), tile.strides},
      {mask.offset, yes.offset, no.offset, 0});
  const int64_t mask_stride = walk.row_stride(0);
  const int64_t strides[2] = {walk.row_stride(2), walk.row_stride(1)};
  const Tile* sides[2] = {&no, &yes};
  walk.ForEachRow([&](const std::array<int64_t, 4>& at) {
    const int64_t* choice = mask.ints.get() + at[0];
    const int64_t offsets[2] = {at[2], at[1]};
    const T* from[2] = {ValuesOf<T>(no).get() + at[2], ValuesOf<T>(yes).get() + at[1]};
    T* to = ValuesOf<T>(tile).get() + at[3];
    for (int64_t i = 0; i < walk.row_size(); ++i) {
      const int64_t side = choice[i * mask_stride] & 1;
      to[i] = from[side][i * strides[side]];
    }
    if (!track) return;
    for (int64_t i = 0; i < walk.row_size(); ++i) {
      const int64_t side = choice[i * mask_stride] & 1;
      OriginId origin = mask.origins ? mask.origins[at[0] + i * mask_stride] : kDefined;
      if (origin == kDefined && sides[side]->origins) {
        origin = sides[side]->origins[offsets[side] + i * strides[side]];
      }
      tile.origins[at[3] + i] = origin;
    }
  });
}

void CastEach(int64_t count, const double* from, double* to, DType dtype, bool wide) {
  std::copy_n(from, count, to);
  RoundAll(dtype, wide, count, to);
}
void CastEach(int64_t count, const double* from, int64_t* to, DType dtype, bool) {
  for (int64_t i = 0; i < count; ++i) to[i] = FloatToInt(from[i], dtype);
}
void CastEach(int64_t count, const int64_t* from, int64_t* to, DType dtype, bool) {
  std::copy_n(from, count, to);
  WrapAll(dtype, count, to);
}
void CastEach(int64_t count, const int64_t* from, double* to, DType dtype, bool wide) {
  for (int64_t i = 0; i < count; ++i) {
    // Straight to float, since by way of double an i64 would round twice.
    const bool by_f32 = dtype == DType::kF32 || RowOf(dtype).powers;
    to[i] = by_f32 && !wide ? static_cast<float>(from[i]) : static_cast<double>(from[i]);
  }
  RoundAll(dtype, wide, count, to);
}

template <typename From, typename To>
void CastValues(const Tile& compact, Tile& result, DType dtype, bool wide) {
  ValuesOf<To>(result) = MakeBuffer<To>(compact.cells);
  CastEach(compact.cells, ValuesOf<From>(compact).get(), ValuesOf<To>(result).get(), dtype, wide);
}

}  // namespace

void RoundAll(DType dtype, bool wide, int64_t count, double* values) {
  if (wide || dtype == DType::kF64 || dtype == DType::kWeakFloat) return;
  if (dtype == DType::kF32) {
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(values[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = RoundTo(values[i], dtype);
  }
}

void WrapAll(DType dtype, int64_t count, int64_t* values) {
  switch (dtype) {
    case DType::kBool:
      for (int64_t i = 0; i < count; ++i) values[i] = values[i] != 0;
      break;
    case DType::kI4:
    case DType::kU4:
      for (int64_t i = 0; i < count; ++i) values[i] = Wrap(values[i], dtype);
      break;
    case DType::kI8:
      return CastEach<int8_t>(count, values);
    case DType::kU8:
      return CastEach<uint8_t>(count, values);
    case DType::kI16:
      return CastEach<int16_t>(count, values);
    case DType::kU16:
      return CastEach<uint16_t>(count, values);
    case DType::kI32:
      return CastEach<int32_t>(count, values);
    case DType::kU32:
      return CastEach<uint32_t>(count, values);
    case DType::kI64:
    case DType::kIndex:
    case DType::kWeakInt:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kF8E8M0FNU:
    case DType::kBF16:
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kWeakFloat:
      break;
  }
}

Scalar MapScalars(const Meaning& meaning, DType from, DType to, bool wide,
                  const std::array<Scalar, 3>& args, OriginId no_value) {
  Scalar result;
  for (const Scalar& arg : args) {
    if (result.origin == kDefined) result.origin = arg.origin;
  }
  if (IsFloat(from)) {
    const double* in[3] = {&args[0].f, &args[1].f, &args[2].f};
    if (!IsFloat(to)) {
      meaning.tests(1, in, &result.i);
      return result;
    }
    meaning.floats(1, in, &result.f);
    RoundAll(to, wide, 1, &result.f);
    return result;
  }
  const int64_t* in[3] = {&args[0].i, &args[1].i, &args[2].i};
  meaning.ints(1, in, &result.i);
  WrapAll(to, 1, &result.i);
  if (meaning.no_value && meaning.no_value(args[1].i) && result.origin == kDefined) {
    result.origin = no_value;
  }
  return result;
}

Tile MapTiles(const Meaning& meaning, DType from, DType to, bool wide, const Dims& extents,
              const std::vector<Tile>& args, OriginId no_value) {
  Tile result = MakeTile(IsFloat(to), extents);
  if (!IsFloat(from)) {
    ForEachPiece<int64_t>(extents, args, [&](int64_t count, const int64_t* const* in, int64_t at) {
      meaning.ints(count, in, result.ints.get() + at);
      WrapAll(to, count, result.ints.get() + at);
    });
  } else if (IsFloat(to)) {
    ForEachPiece<double>(extents, args, [&](int64_t count, const double* const* in, int64_t at) {
      meaning.floats(count, in, result.floats.get() + at);
      RoundAll(to, wide, count, result.floats.get() + at);
    });
  } else {
    ForEachPiece<double>(extents, args, [&](int64_t count, const double* const* in, int64_t at) {
      meaning.tests(count, in, result.ints.get() + at);
    });
  }
  MergeOrigins(result, args);
  if (meaning.no_value && !IsFloat(from)) MarkNoValue(result, args, meaning.no_value, no_value);
  return result;
}

Scalar Decided(Scalar result, int64_t decides, const std::array<Scalar, 3>& args, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    if (args[k].origin == kDefined && args[k].i == decides) result.origin = kDefined;
  }
  return result;
}

void Decide(Tile& result, int64_t decides, const std::vector<Tile>& args) {
  if (!result.origins) return;
  for (const Tile& arg : args) {
    const Walk<2> walk(result.extents, {StridesFor(arg, result.extents), result.strides},
                       {arg.offset, 0});
    const int64_t stride = walk.row_stride(0);
    walk.ForEachRow([&](const auto& at) {
      for (int64_t i = 0; i < walk.row_size(); ++i) {
        const int64_t from = at[0] + i * stride;
        const bool defined = !arg.origins || arg.origins[from] == kDefined;
        if (defined && arg.ints[from] == decides) result.origins[at[1] + i] = kDefined;
      }
    });
  }
  DropOrigins(result);
}

Tile WhereTiles(const Dims& extents, const Tile& mask, const Tile& yes, const Tile& no) {
  Tile result = MakeTile(yes.floating, extents);
  if (result.floating)
    Select<double>(result, mask, yes, no);
  else
    Select<int64_t>(result, mask, yes, no);
  DropOrigins(result);
  return result;
}

Tile CastTile(const Tile& tile, DType from, DType to, bool wide) {
  const Tile compact = Compact(tile);
  Tile result = compact;
  result.floating = IsFloat(to);
  result.floats = nullptr;
  result.ints = nullptr;
  if (IsFloat(from)) {
    if (IsFloat(to))
      CastValues<double, double>(compact, result, to, wide);
    else
      CastValues<double, int64_t>(compact, result, to, wide);
  } else {
    if (IsFloat(to))
      CastValues<int64_t, double>(compact, result, to, wide);
    else
      CastValues<int64_t, int64_t>(compact, result, to, wide);
  }
  return result;
}

Scalar CastScalar(const Scalar& value, DType from, DType to, bool wide) {
  Scalar result;
  result.origin = value.origin;
  if (IsFloat(from)) {
    if (IsFloat(to))
      CastEach(1, &value.f, &result.f, to, wide);
    else
      CastEach(1, &value.f, &result.i, to, wide);
  } else {
    if (IsFloat(to))
      CastEach(1, &value.i, &result.f, to, wide);
    else
      CastEach(1, &value.i, &result.i, to, wide);
  }
  return result;
}

Scalar BitcastScalar(const Scalar& value, DType from, DType to) {
  const uint64_t bits = IsFloat(from) ? BitsOfFloat(value.f, from) : static_cast<uint64_t>(value.i);
  Scalar result;
  result.origin = value.origin;
  if (IsFloat(to))
    result.f = FloatFromBits(bits, to);
  else
    result.i = Wrap(static_cast<int64_t>(bits), to);
  return result;
}

Tile BitcastTile(const Tile& tile, DType from, DType to) {
  const Tile compact = Compact(tile);
  Tile result = MakeTile(IsFloat(to), tile.extents);
  result.origins = compact.origins;
  for (int64_t i = 0; i < compact.cells; ++i) {
    const Scalar value = BitcastScalar(ElementAt(compact, i), from, to);
    if (result.floating)
      result.floats[i] = value.f;
    else
      result.ints[i] = value.i;
  }
  return result;
}

}  // namespace kiln::interpret
