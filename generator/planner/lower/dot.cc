#include <algorithm>

#include "generator/planner/lower/lowering.h"

namespace kiln {

/// Casts that a copy into panels does by itself, because they lose nothing.
static const Node* WithoutWidening(const Node* node) {
  while (node->op == Op::kCast) {
    const DType from = node->args[0]->dtype;
    const bool widens = node->dtype != DType::kF64 && IsNarrowFloat(from) && IsFloat(node->dtype) &&
                        Holds(node->dtype, from);
    if (!widens) break;
    node = node->args[0].get();
  }
  return node;
}

void Lowering::EmitDot(const Target& target, const Node& node) {
  const size_t rank = node.shape.size();
  Loops batch_loops;
  const Spaces spaces = spaces_.SpacesOf(node);
  const Spaces batch_spaces(spaces.begin(), spaces.end() - 2);
  Point point = LoopsOver(batch_spaces, &batch_loops);
  const Point batch = point;
  const auto or_one = [&](SpaceId space) { return space ? space : spaces_.SpaceOf(Size(1)); };

  stage::Dot dot;
  const SpaceId row_space = or_one(spaces[rank - 2]), col_space = or_one(spaces[rank - 1]);
  dot.row = NewLoop(row_space);
  dot.col = NewLoop(col_space);
  dot.depth = or_one(spaces_.SpacesOf(*node.args[0])[rank - 1]);
  const Node* a = OperandOfDot(*node.args[0]).value;
  const Node* b = OperandOfDot(*node.args[1]).value;
  dot.element = DotElement(a->dtype, b->dtype);

  Stages inner;
  dot.a = Source(*node.args[0], Side::kA, dot.element, batch, dot.row, dot.depth, &inner);
  dot.b = Source(*node.args[1], Side::kB, dot.element, batch, dot.col, dot.depth, &inner);
  dot.sum = NewVariable("sum", node.dtype, false);

  Coordinate row, col;
  // As in every nest, an extent of 1 has no loop in a place.
  if (spaces[rank - 2]) row.loop = dot.row;
  if (spaces[rank - 1]) col.loop = dot.col;
  point.push_back(row);
  point.push_back(col);
  dot.body = {Of(stage::Store{PlaceAt(target, point), Variable(dot.sum), nullptr})};
  inner.push_back(Of(std::move(dot)));
  EmitWithin(batch_loops, std::move(inner));
}

/// `outer`: the loop of the tile's side.
PanelSource Lowering::Source(const Node& operand, Side side, DType element, const Point& batch,
                             LoopId outer, SpaceId depth, Stages* packs) {
  const DotOperand dot = OperandOfDot(operand);
  const Node* value = WithoutWidening(dot.value);
  PanelSource source;
  source.transposed = dot.transposed;
  if (value->op == Op::kRead && value->subscripts.empty() &&
      plan_.operands[RefId(value->index)].layout != OperandPlan::Layout::kRows) {
    source.ref = RefId(value->index);
    return source;
  }
  stage::Pack pack;
  const bool is_a = side == Side::kA;
  const LoopId inner = NewLoop(depth);
  pack.row = is_a ? outer : inner;
  pack.col = is_a ? inner : outer;
  Coordinate r, c;
  r.loop = pack.row;
  c.loop = pack.col;
  Point point = batch;
  point.push_back(dot.transposed ? c : r);
  point.push_back(dot.transposed ? r : c);
  // An extent of 1 has no coordinate in a buffer's place, but a panel still has that row.
  const ElementPtr read = ReadForPack(*value, element, Aligned(point, value->shape), pack);
  pack.place = *LoadedBy(*read);
  Panels panels;
  panels.side = side;
  panels.element = element;
  const size_t rank = value->shape.size();
  panels.rows = operand.shape[rank - 2];
  panels.cols = operand.shape[rank - 1];
  panels.row_space = plan_[pack.row].space;
  panels.col_space = plan_[pack.col].space;
  pack.panels = source.panels = plan_.panels.Add(panels);
  packs->push_back(Of(std::move(pack)));
  return source;
}

/// What is packed, in a buffer of its own unless it is in one already.
ElementPtr Lowering::ReadForPack(const Node& of, DType element, const Point& point,
                                 const stage::Pack& pack) {
  const Node* value = &of;
  const auto plain = [&](const ElementPtr& e) {
    const Place* place = LoadedBy(*e);
    if (!place) return false;
    int rows = 0, cols = 0;
    for (const Coordinate& at : place->at) {
      const bool chosen =
          at.offset && (DependsOn(*at.offset, pack.row) || DependsOn(*at.offset, pack.col));
      if (at.around || chosen) return false;
      rows += at.loop == pack.row;
      cols += at.loop == pack.col;
    }
    return rows <= 1 && cols <= 1;
  };
  ElementPtr read;
  const bool leaf = value->op == Op::kRead || value->op == Op::kLocal || value->op == Op::kSlice;
  if (leaf) read = Value(*value, point);
  if (read && plain(read)) return read;
  // A bf16 product of f32 values is rounded while it is packed, not in a buffer of its own; an
  // f64 product packs only f64.
  const auto packs_as_float = [](DType t) { return IsFloat(t) && t != DType::kF64; };
  if (value->op == Op::kCast && value->dtype == element && packs_as_float(element) &&
      packs_as_float(value->args[0]->dtype)) {
    value = value->args[0].get();
  }
  return value->op == Op::kLocal ? Value(*value, point) : Materialised(*value, point);
}

}  // namespace kiln
