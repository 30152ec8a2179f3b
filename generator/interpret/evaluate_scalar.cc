#include "generator/interpret/blocks.h"
#include "generator/interpret/copies.h"
#include "generator/interpret/evaluate.h"
#include "generator/interpret/grid.h"
#include "generator/interpret/tiles/map.h"

/// Scalar expressions, without the heap: index maps, conditions, loops over single elements.
namespace kiln::interpret {
namespace {

Scalar Integer(int64_t value, DType dtype = DType::kIndex) {
  Scalar scalar;
  scalar.i = Wrap(value, dtype);
  return scalar;
}

/// The element that subscripts pick. `tile` may be any view.
Scalar Pick(Run& run, const Tile& tile, const std::vector<Subscript>& subscripts,
            const Node& base) {
  int64_t cell = tile.offset;
  for (int d = 0; d < tile.rank(); ++d) {
    const Subscript& subscript = subscripts[static_cast<size_t>(d)];
    const int64_t at = EvaluateIndex(run, *subscript.start, "a subscript");
    if (at < 0 || at >= tile.extents[d]) BoxOf(run, subscripts, tile.extents, SubjectOf(base));
    cell += at * tile.strides[d];
  }
  return ElementAt(tile, cell);
}

Scalar ReadElement(Run& run, const Node& node) {
  const Tile& tile = BlockAt(run, node.index).tile;
  if (!run.copies.empty()) {
    CheckRead(run, node.index, BoxOf(run, node.subscripts, tile.extents, SubjectOf(node)),
              node.span);
  }
  return Pick(run, tile, node.subscripts, node);
}

Scalar Element(Run& run, const Node& node) {
  const Node& base = *node.args[0];
  if (base.op == Op::kLocal) {
    return Pick(run, run.locals[static_cast<size_t>(base.index)].tile, node.subscripts, base);
  }
  return Pick(run, EvaluateTile(run, base), node.subscripts, base);
}

Scalar Logic(Run& run, const Node& node) {
  const Scalar first = EvaluateScalar(run, *node.args[0]);
  const bool decided = (first.i != 0) == (node.op == Op::kOr);
  return decided || first.origin != kDefined ? first : EvaluateScalar(run, *node.args[1]);
}

Scalar Elementwise(Run& run, const Node& node) {
  std::array<Scalar, 3> args;
  for (size_t k = 0; k < node.args.size(); ++k) args[k] = EvaluateScalar(run, *node.args[k]);
  const DType from = node.args[0]->dtype;
  if (ClassOf(node.op) == OpClass::kSpecial) {
    switch (AsSpecial(node.op)) {
      case SpecialOp::kWhere:
        return args[0].origin != kDefined ? args[0] : args[args[0].i ? 1 : 2];
      case SpecialOp::kCast:
        return CastScalar(args[0], from, node.dtype, run.wide);
      case SpecialOp::kBitcast:
        return BitcastScalar(args[0], from, node.dtype);
    }
  }
  const Meaning* meaning = MeaningOf(node.op, from);
  if (!meaning)
    Fail(run, "type", node.span, "`" + std::string(Name(node.op)) + "` has no meaning here");
  const bool defined = args[0].origin == kDefined && args[1].origin == kDefined;
  if (node.dtype == DType::kIndex && defined && Overflows(node.op, args[0].i, args[1].i)) {
    Fail(run, "index-range", node.span,
         "`" + ToString(node, run.kernel) + "` overflows 64 bits" + AtPoint(run));
  }
  const bool no_value = meaning->no_value && !IsFloat(from) && meaning->no_value(args[1].i);
  const Scalar result =
      MapScalars(*meaning, from, node.dtype, run.wide, args,
                 no_value ? run.origins.Operation(meaning->why, node.span) : kDefined);
  const int64_t* const decides = from == DType::kBool ? DecidingBool(node.op) : nullptr;
  return decides ? Decided(result, *decides, args, node.args.size()) : result;
}

Scalar Constant(const Node& node) {
  Scalar value;
  value.f = node.float_value;
  value.i = node.int_value;
  return value;
}

/// The one element of what is computed as a tile.
Scalar OnlyElement(Run& run, const Node& node) {
  const Tile tile = EvaluateTile(run, node);
  return ElementAt(tile, tile.offset);
}

Scalar GivenScalar(Run& run, const Node& node) {
  const auto axis = static_cast<size_t>(node.index);
  switch (AsLeaf(node.op)) {
    case LeafOp::kConst:
      return Constant(node);
    case LeafOp::kAxis:
      return Integer(run.point[axis], node.dtype);
    case LeafOp::kSteps:
      return Integer(run.binding.steps[axis], node.dtype);
    case LeafOp::kDim:
      return Integer(run.binding.dims[axis].value_or(0), node.dtype);
    case LeafOp::kLocal: {
      const Scalar& value = run.locals[static_cast<size_t>(node.index)].scalar;
      const bool loop = run.kernel.locals[axis].kind == Local::Kind::kLoop;
      return loop ? Integer(value.i, node.dtype) : value;
    }
    case LeafOp::kRead:
      return ReadElement(run, node);
    case LeafOp::kFirstStep:
      return Integer(run.point[axis] == 0);
    case LeafOp::kLastStep:
      return Integer(run.point[axis] == run.binding.steps[axis] - 1);
    case LeafOp::kFirstVisit:
      return Integer(IsFirstVisit(run, node.index));
    case LeafOp::kLastVisit:
      return Integer(IsLastVisit(run, node.index));
    case LeafOp::kInside:
    case LeafOp::kAt:
      return OnlyElement(run, node);
  }
  __builtin_unreachable();
}

Scalar LazyValue(Run& run, const Node& node) {
  switch (AsLazy(node.op)) {
    case LazyOp::kAnd:
    case LazyOp::kOr:
      return Logic(run, node);
    case LazyOp::kIf: {
      const bool yes = EvaluateCondition(run, *node.args[0], "the condition of `if`");
      return EvaluateScalar(run, *node.args[yes ? 1 : 2]);
    }
  }
  __builtin_unreachable();
}

}  // namespace

Scalar EvaluateScalar(Run& run, const Node& node) {
  switch (ClassOf(node.op)) {
    case OpClass::kLeaf:
      return GivenScalar(run, node);
    case OpClass::kLazy:
      return LazyValue(run, node);
    case OpClass::kShape:
      if (node.op == Op::kSlice) return Element(run, node);
      return node.op == Op::kBroadcast ? EvaluateScalar(run, *node.args[0])
                                       : OnlyElement(run, node);
    case OpClass::kFold:
    case OpClass::kLocation:
    case OpClass::kScan:
    case OpClass::kOrder:
    case OpClass::kProduct:
      return OnlyElement(run, node);
    case OpClass::kArithmetic:
    case OpClass::kComparison:
    case OpClass::kFunction:
    case OpClass::kSpecial:
      return Elementwise(run, node);
  }
  __builtin_unreachable();
}

int64_t EvaluateIndex(Run& run, const Node& node, const char* what) {
  if (node.op == Op::kConst) return node.int_value;
  const Scalar value = EvaluateScalar(run, node);
  if (value.origin != kDefined) FailUndefined(run, node.span, what, value.origin);
  return value.i;
}

bool EvaluateCondition(Run& run, const Node& node, const char* what) {
  return EvaluateIndex(run, node, what) != 0;
}

}  // namespace kiln::interpret
