#include <algorithm>
#include <numeric>

#include "generator/interpret/blocks.h"
#include "generator/interpret/copies.h"
#include "generator/interpret/evaluate.h"
#include "generator/interpret/grid.h"
#include "generator/interpret/tiles/map.h"
#include "generator/interpret/tiles/order.h"
#include "generator/interpret/tiles/reduce.h"

/// Tile expressions. Bind has checked that shapes agree; they are looked at here all the same,
/// because a slip there must not become a read out of bounds.
namespace kiln::interpret {
namespace {

[[noreturn]] void FailShapes(Run& run, Span span) {
  Fail(run, "shape", span, "the operands' shapes do not agree" + AtPoint(run));
}

Tile ReadBlock(Run& run, const Node& node) {
  Tile& tile = BlockAt(run, node.index).tile;
  const Box box = BoxOf(run, node.subscripts, tile.extents, SubjectOf(node));
  if (!run.copies.empty()) CheckRead(run, node.index, box, node.span);
  DropOrigins(tile);
  return SliceTile(tile, node.subscripts, box);
}

Tile Slice(Run& run, const Node& node) {
  const Tile tile = EvaluateTile(run, *node.args[0]);
  const Box box = BoxOf(run, node.subscripts, tile.extents, SubjectOf(*node.args[0]));
  return SliceTile(tile, node.subscripts, box);
}

/// Positions along one axis: one line, seen from everywhere.
Tile Iota(const Dims& extents, int axis) {
  Tile tile = MakeTile(false, {extents[axis]});
  std::iota(tile.ints.get(), tile.ints.get() + tile.cells, int64_t{0});
  tile.extents = extents;
  tile.strides = Dims(extents.rank());
  tile.strides[axis] = 1;
  return tile;
}

Tile Reshape(Run& run, const Tile& tile, const Dims& extents, Span span) {
  if (Product(extents) != tile.size()) {
    Fail(run, "shape", span, "a reshape changes the number of elements" + AtPoint(run));
  }
  Tile result = Compact(tile);
  result.extents = extents;
  result.strides = ContiguousStrides(extents);
  return result;
}

/// The elements [begin, begin + extent) of an axis.
Tile Part(const Tile& tile, int axis, int64_t begin, int64_t extent) {
  Tile part = tile;
  part.offset += begin * tile.strides[axis];
  part.extents[axis] = extent;
  return part;
}

Tile Concatenate(const std::vector<Tile>& parts, const Dims& extents, int axis) {
  Tile result = MakeTile(parts[0].floating, extents);
  int64_t begin = 0;
  for (const Tile& part : parts) {
    Paste(result, Part(result, axis, begin, part.extents[axis]), part, nullptr);
    begin += part.extents[axis];
  }
  return result;
}

Tile Roll(const Tile& tile, int axis, int64_t shift) {
  const int64_t extent = tile.extents[axis];
  if (extent == 0) return tile;
  const int64_t split = extent - ((shift % extent) + extent) % extent;  // the new first element
  return Concatenate({Part(tile, axis, split, extent - split), Part(tile, axis, 0, split)},
                     tile.extents, axis);
}

/// Each of `ids` is the number of a slab along an axis.
Tile Take(const Tile& tile, const Tile& ids, int axis, const Dims& extents) {
  Dims rows = tile.extents;
  rows[axis] = ids.cells;
  Tile result = MakeTile(tile.floating, rows);
  for (int64_t k = 0; k < ids.cells; ++k)
    Paste(result, Part(result, axis, k, 1), Part(tile, axis, ids.ints[k], 1), nullptr);
  result.extents = extents;
  result.strides = ContiguousStrides(extents);
  return result;
}

void CheckParts(Run& run, const std::vector<Tile>& parts, const Dims& extents, int axis,
                Span span) {
  int64_t sum = 0;
  for (const Tile& part : parts) {
    Dims rest = part.extents;
    sum += rest[axis];
    rest[axis] = extents[axis];
    if (!(rest == extents)) FailShapes(run, span);
  }
  if (sum != extents[axis]) FailShapes(run, span);
}

Tile Dot(Run& run, const Combining& how, const Tile& a, const Tile& b) {
  const int rank = a.rank();
  bool fits = a.extents[rank - 1] == b.extents[rank - 2];
  for (int d = 0; d + 2 < rank; ++d) fits = fits && a.extents[d] == b.extents[d];
  if (!fits) FailShapes(run, how.span);
  return DotTiles(how, a, b);
}

Tile Elementwise(Run& run, const Node& node, const std::vector<Tile>& args) {
  const Dims& extents = ExtentsOf(run, node.shape, node.span);
  for (const Tile& arg : args) Fit(run, arg, extents, node.span);
  const DType from = node.args[0]->dtype;
  if (ClassOf(node.op) == OpClass::kSpecial) {
    switch (AsSpecial(node.op)) {
      case SpecialOp::kWhere:
        return WhereTiles(extents, args[0], args[1], args[2]);
      case SpecialOp::kCast:
        return CastTile(args[0], from, node.dtype, run.wide);
      case SpecialOp::kBitcast:
        return BitcastTile(args[0], from, node.dtype);
    }
  }
  const Meaning* meaning = MeaningOf(node.op, from);
  if (!meaning)
    Fail(run, "type", node.span, "`" + std::string(Name(node.op)) + "` has no meaning here");
  const OriginId no_value = meaning->no_value && !IsFloat(from)
                                ? run.origins.Operation(meaning->why, node.span)
                                : kDefined;
  Tile result = MapTiles(*meaning, from, node.dtype, run.wide, extents, args, no_value);
  const int64_t* const decides = from == DType::kBool ? DecidingBool(node.op) : nullptr;
  if (decides) Decide(result, *decides, args);
  return result;
}

}  // namespace

Tile Fit(Run& run, const Tile& tile, const Dims& extents, Span span) {
  bool fits = tile.rank() <= extents.rank();
  for (int d = 0; fits && d < tile.rank(); ++d) {
    const int64_t extent = tile.extents[tile.rank() - 1 - d];
    fits = extent == 1 || extent == extents[extents.rank() - 1 - d];
  }
  if (!fits) FailShapes(run, span);
  return BroadcastTo(tile, extents);
}

namespace {

/// Of an operation that chooses among its arguments, or computes elements from those in their
/// place.
Tile Pointwise(Run& run, const Node& node) {
  if (node.shape.empty()) return FillTile(IsFloat(node.dtype), EvaluateScalar(run, node), {});
  if (node.op == Op::kIf) {
    const bool yes = EvaluateCondition(run, *node.args[0], "the condition of `if`");
    const Tile chosen = EvaluateTile(run, *node.args[yes ? 1 : 2]);
    return Fit(run, chosen, ExtentsOf(run, node.shape, node.span), node.span);
  }
  std::vector<Tile> args;
  for (const NodePtr& arg : node.args) args.push_back(EvaluateTile(run, *arg));
  return Elementwise(run, node, args);
}

Tile GivenTile(Run& run, const Node& node) {
  switch (AsLeaf(node.op)) {
    case LeafOp::kRead:
      return ReadBlock(run, node);
    case LeafOp::kInside:
      return InsideMask(run, node.index);
    case LeafOp::kAt:
      return ArrayCoordinates(run, node.index, node.axes[0]);
    case LeafOp::kLocal:
      if (node.shape.empty()) break;
      return run.locals[static_cast<size_t>(node.index)].tile;
    case LeafOp::kConst:
    case LeafOp::kAxis:
    case LeafOp::kDim:
    case LeafOp::kSteps:
    case LeafOp::kFirstStep:
    case LeafOp::kLastStep:
    case LeafOp::kFirstVisit:
    case LeafOp::kLastVisit:
      break;
  }
  return FillTile(IsFloat(node.dtype), EvaluateScalar(run, node), {});
}

Tile Moved(Run& run, const Node& node) {
  const auto extents = [&]() -> const Dims& { return ExtentsOf(run, node.shape, node.span); };
  const auto argument = [&] { return EvaluateTile(run, *node.args[0]); };
  switch (AsShape(node.op)) {
    case ShapeOp::kSlice:
      return Slice(run, node);
    case ShapeOp::kIota:
      return Iota(extents(), node.axes[0]);
    case ShapeOp::kBroadcast:
      return Fit(run, argument(), extents(), node.span);
    case ShapeOp::kTranspose:
      return Transpose(argument(), node.axes);
    case ShapeOp::kReshape:
      return Reshape(run, argument(), extents(), node.span);
    case ShapeOp::kRoll:
      return Roll(argument(), node.axes[0], EvaluateIndex(run, *node.args[1], "the shift of roll"));
    case ShapeOp::kTake: {
      const Tile tile = argument(), ids = Compact(EvaluateTile(run, *node.args[1]));
      const int axis = node.axes[0];
      CheckTaken(run, ids, tile.extents[axis], axis, SubjectOf(*node.args[0]), node.args[1]->span);
      return Take(tile, ids, axis, extents());
    }
    case ShapeOp::kTakeAlong: {
      const Tile tile = argument();
      return TakeAlongTile(tile, EvaluateTile(run, *node.args[1]), node.axes[0]);
    }
    case ShapeOp::kFlip:
      return FlipTile(argument(), node.axes);
    case ShapeOp::kConcat: {
      std::vector<Tile> args;
      for (const NodePtr& arg : node.args) args.push_back(EvaluateTile(run, *arg));
      CheckParts(run, args, extents(), node.axes[0], node.span);
      return Concatenate(args, extents(), node.axes[0]);
    }
  }
  __builtin_unreachable();
}

}  // namespace

Tile EvaluateTile(Run& run, const Node& node) {
  const Combining how{node.op, node.dtype, run.wide, node.span, &run.origins};
  switch (ClassOf(node.op)) {
    case OpClass::kLeaf:
      return GivenTile(run, node);
    case OpClass::kShape:
      return Moved(run, node);
    case OpClass::kFold:
    case OpClass::kLocation:
      return ReduceTile(how, EvaluateTile(run, *node.args[0]), node.axes, node.keep);
    case OpClass::kScan:
      return CumulateTile(how, EvaluateTile(run, *node.args[0]), node.axes[0]);
    case OpClass::kOrder: {
      const int axis = node.axes[0];
      const int64_t count = ExtentsOf(run, node.shape, node.span)[axis];
      const Tile tile = EvaluateTile(run, *node.args[0]);
      if (count > tile.extents[axis]) FailShapes(run, node.span);
      return OrderTile(how, tile, axis, node.descending, count);
    }
    case OpClass::kProduct: {
      const Tile left = EvaluateTile(run, *node.args[0]);
      return Dot(run, how, left, EvaluateTile(run, *node.args[1]));
    }
    case OpClass::kArithmetic:
    case OpClass::kComparison:
    case OpClass::kFunction:
    case OpClass::kSpecial:
    case OpClass::kLazy:
      return Pointwise(run, node);
  }
  __builtin_unreachable();
}

}  // namespace kiln::interpret
