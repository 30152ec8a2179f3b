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
  std::optional<stage::Tap> tap;
  if (chained_.count(&node) > 0) tap = TapOf(*node.args[0], dot.element, batch, dot.row, dot.depth);
  if (!tap) dot.a = Source(*node.args[0], Side::kA, dot.element, batch, dot.row, dot.depth, &inner);
  PanelSource right =
      Source(*node.args[1], Side::kB, dot.element, batch, dot.col, dot.depth, &inner);
  if (tap) {
    tap->b = std::move(right);
    dot.taps = {Of(*std::move(tap))};
    dot.tap_count = 1;
    if (dot.element != DType::kF32 && dot.element != DType::kF64) {
      Panels rows;
      rows.element = dot.element;
      rows.rows = node.shape[rank - 2], rows.cols = node.args[0]->shape[rank - 1];
      rows.row_space = row_space, rows.col_space = dot.depth;
      rows.taps = 1;
      dot.gathered = plan_.panels.Add(rows);
    }
  } else {
    dot.b = std::move(right);
  }
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
  if (value->op == Op::kRead &&
      plan_.operands[RefId(value->index)].layout != OperandPlan::Layout::kRows) {
    source.ref = RefId(value->index);
    const Ref& ref = kernel_[source.ref];
    for (size_t d = 0; d + 2 < value->subscripts.size(); ++d)
      source.matrix.push_back(CheckedStart(ref.name, value->subscripts[d], ref.view[d]));
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

/// A window of an input whose elements are multiplied as they are, and whose rows a register tile
/// can read, in place if elements are floats: they are evenly apart, or so within each other, and
/// of each the elements are neighbours. (All of a block as it is may have rows that are far apart,
/// and is packed.)
std::optional<stage::Tap> Lowering::TapOf(const Node& operand, DType element, const Point& batch,
                                          LoopId row, SpaceId depth) {
  const Node& value = *OperandOfDot(operand).value;
  const bool whole = value.op == Op::kRead && value.subscripts.empty();
  const bool plain = element == DType::kF32 || element == DType::kF64 || element == DType::kBF16 ||
                     element == DType::kI8;
  if (&value != &operand || value.dtype != element || !plain || whole ||
      !ReadsConstantInput(value)) {
    return std::nullopt;
  }
  stage::Tap tap;
  tap.depth = NewLoop(depth);
  Coordinate r, c;
  r.loop = row;
  c.loop = tap.depth;
  Point point = batch;
  point.push_back(r);
  point.push_back(c);
  Dividing dividing{tap.depth, {}, /*may_stop=*/true};
  Dividing* const outside = std::exchange(dividing_, &dividing);
  Stage load = Of(stage::Assign{{}, Value(value, Aligned(point, value.shape))});
  dividing_ = outside;
  PutParts(dividing, load, nullptr);
  tap.place = *LoadedBy(*As<stage::Assign>(load)->value);
  tap.rows = dividing.loops.empty() ? Loops{row} : dividing.loops.front().parts;
  if (!plan_.RefOf(tap.place.buffer)) return std::nullopt;  // it had to be copied
  const auto turns = [&](LoopId loop) { return spaces_.spaces()[plan_[loop].space].extent; };
  Size rows = 1;  // a window whose size is another text may have as many in every call
  for (const LoopId loop : tap.rows) rows = rows * turns(loop);
  if (!(rows == turns(row))) return std::nullopt;
  for (size_t d = 0; d < tap.place.at.size(); ++d) {
    const Coordinate& at = tap.place.at[d];
    const auto chooses = [&](LoopId loop) { return at.offset && DependsOn(*at.offset, loop); };
    const bool along = at.loop == tap.depth;
    if (at.around || chooses(tap.depth) || std::any_of(tap.rows.begin(), tap.rows.end(), chooses) ||
        (along && (d + 1 < tap.place.at.size() || at.stride != 1))) {
      return std::nullopt;
    }
  }
  return tap;
}

namespace {

/// Whether it is one element of a prefetch array, which has no place in a step.
bool IsLookedUp(const Plan& plan, const Place& place) {
  const Ref* ref = plan.RefOf(place.buffer);
  return ref && ref->role == Role::kPrefetch &&
         std::none_of(place.at.begin(), place.at.end(),
                      [](const Coordinate& c) { return bool(c.loop); });
}

}  // namespace

/// What is packed, in a buffer of its own unless it is in one already.
ElementPtr Lowering::ReadForPack(const Node& of, DType element, const Point& point,
                                 const stage::Pack& pack) {
  const Node* value = &of;
  const auto plain = [&](const ElementPtr& e) {
    const Place* place = LoadedBy(*e);
    if (!place || IsLookedUp(plan_, *place)) return false;
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
  const bool leaf = value->op == Op::kRead || value->op == Op::kLocal || value->op == Op::kSlice ||
                    value->op == Op::kReshape;
  if (leaf) read = Value(*value, point);
  if (read && plain(read)) return read;
  // A bf16 product of f32 values is rounded while it is packed, not in a buffer of its own; an
  // f64 product packs only f64.
  const auto packs_as_float = [](DType t) { return IsFloat(t) && t != DType::kF64; };
  if (value->op == Op::kCast && value->dtype == element && packs_as_float(element) &&
      packs_as_float(value->args[0]->dtype)) {
    value = value->args[0].get();
  }
  const bool in_buffer = value->op == Op::kLocal && !views_.count(LocalId(value->index));
  return in_buffer ? Value(*value, point) : Materialised(*value, point);
}

}  // namespace kiln
