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
  std::vector<int> batch_loops;
  std::vector<int> spaces = spaces_.SpacesOf(node);
  const std::vector<int> batch_spaces(spaces.begin(), spaces.end() - 2);
  Point point = LoopsOver(batch_spaces, &batch_loops);
  const Point batch = point;

  const int row_space = spaces[rank - 2] >= 0 ? spaces[rank - 2] : spaces_.SpaceOf(Size(1));
  const int col_space = spaces[rank - 1] >= 0 ? spaces[rank - 1] : spaces_.SpaceOf(Size(1));
  const int depth = spaces_.SpacesOf(*node.args[0])[rank - 1];

  Stage dot = StageOf(Stage::Kind::kDot, span_);
  dot.row = NewLoop(row_space);
  dot.col = NewLoop(col_space);
  dot.depth = depth >= 0 ? depth : spaces_.SpaceOf(Size(1));
  const Node* a = OperandOfDot(*node.args[0]).value;
  const Node* b = OperandOfDot(*node.args[1]).value;
  dot.element = DotElement(a->dtype, b->dtype);

  Stages inner;
  dot.a = Source(*node.args[0], Side::kA, dot.element, batch, dot.row, dot.depth, &inner);
  dot.b = Source(*node.args[1], Side::kB, dot.element, batch, dot.depth, dot.col, &inner);
  dot.variable = NewVariable("sum", node.dtype, false);

  Coordinate row, col;
  // As in every nest, an extent of 1 has no loop in a place.
  if (spaces[rank - 2] >= 0) row.loop = dot.row;
  if (spaces[rank - 1] >= 0) col.loop = dot.col;
  point.push_back(row);
  point.push_back(col);
  Stage store = StageOf(Stage::Kind::kStore, span_);
  store.place = PlaceAt(target, point);
  store.value = Variable(dot.variable);
  dot.body = {store};
  inner.push_back(std::move(dot));
  if (batch_loops.empty()) {
    for (Stage& stage : inner) Emit(std::move(stage));
    return;
  }
  Emit(Nest(batch_loops, std::move(inner), false));
}

/// `row` and `col` are the loop of the tile's side and the space of the depth, in the order of the
/// matrix as multiplied.
PanelSource Lowering::Source(const Node& operand, Side side, DType element, const Point& batch,
                             int row, int col, Stages* packs) {
  const DotOperand dot = OperandOfDot(operand);
  const Node* value = WithoutWidening(dot.value);
  PanelSource source;
  source.transposed = dot.transposed;
  if (value->op == Op::kRead && value->subscripts.empty() &&
      plan_.operands[static_cast<size_t>(value->index)].layout != OperandPlan::Layout::kRows) {
    source.ref = value->index;
    return source;
  }
  const size_t rank = value->shape.size();
  Stage pack = StageOf(Stage::Kind::kPack, span_);
  const bool is_a = side == Side::kA;
  pack.pack_row = is_a ? row : NewLoop(row);  // the depth is given as a space
  pack.pack_col = is_a ? NewLoop(col) : col;
  Coordinate r, c;
  r.loop = pack.pack_row;
  c.loop = pack.pack_col;
  Point point = batch;
  point.push_back(dot.transposed ? c : r);
  point.push_back(dot.transposed ? r : c);
  // An extent of 1 has no coordinate in a buffer's place, but a panel still has that row.
  Point aligned = Aligned(point, value->shape);

  const auto plain = [&](const ElementPtr& e) {
    if (e->kind != Element::Kind::kLoad) return false;
    int rows = 0, cols = 0;
    for (const Coordinate& at : e->place.at) {
      if (at.around) return false;
      rows += at.loop == pack.pack_row;
      cols += at.loop == pack.pack_col;
    }
    return rows <= 1 && cols <= 1;
  };
  ElementPtr read;
  const bool leaf = value->op == Op::kRead || value->op == Op::kLocal || value->op == Op::kSlice;
  if (leaf) read = Value(*value, aligned);
  if (!read || !plain(read)) {
    // A bf16 product of f32 values is rounded while it is packed, not in a buffer of its own; an
    // f64 product packs only f64.
    const auto packs_as_float = [](DType t) { return IsFloat(t) && t != DType::kF64; };
    if (value->op == Op::kCast && value->dtype == element && packs_as_float(element) &&
        packs_as_float(value->args[0]->dtype)) {
      value = value->args[0].get();
    }
    if (value->op == Op::kLocal) {
      read = Value(*value, aligned);
    } else {
      read = Materialised(*value, aligned);
    }
  }
  pack.place = read->place;
  Panels panels;
  panels.side = side;
  panels.element = element;
  panels.rows = operand.shape[rank - 2];
  panels.cols = operand.shape[rank - 1];
  pack.panels = source.panels = static_cast<int>(plan_.panels.size());
  plan_.panels.push_back(panels);
  packs->push_back(std::move(pack));
  return source;
}

}  // namespace kiln
