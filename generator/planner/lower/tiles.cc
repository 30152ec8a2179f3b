#include <algorithm>

#include "generator/ir/tile_node.h"
#include "generator/plan/walk.h"
#include "generator/planner/lower/lowering.h"

namespace kiln {

Target Lowering::WholeOf(BufferId buffer, size_t rank) {
  Target target;
  target.buffer = buffer;
  for (size_t d = 0; d < rank; ++d) target.dimensions.push_back({d, nullptr});
  return target;
}

Place Lowering::PlaceAt(const Target& target, const Point& point) const {
  Place place;
  place.buffer = target.buffer;
  for (const Target::Dimension& d : target.dimensions) {
    place.at.push_back(InWindow(d.axis ? point[*d.axis] : Coordinate{}, d.stride, d.offset));
  }
  return place;
}

LoopId Lowering::NewLoop(SpaceId space) { return plan_.loops.Add({space}); }

/// A point that walks all spaces; extents of 1 stay at 0.
Lowering::Point Lowering::LoopsOver(const Spaces& spaces, Loops* loops) {
  Point point;
  for (const SpaceId space : spaces) {
    Coordinate c;
    if (space) loops->push_back(c.loop = NewLoop(space));
    point.push_back(c);
  }
  return point;
}

/// Whether a place's lanes are one vector: the loop, or an index that depends on it, is in one
/// coordinate, and wraps around only along lines of elements that have whole bytes.
static bool LanesFit(const Place& place, DType dtype, LoopId loop) {
  const auto varies = [&](const Element& e) { return DependsOn(e, loop); };
  int times = 0;
  for (const Coordinate& c : place.at) {
    const bool chosen = c.offset && varies(*c.offset);
    if (!chosen && c.loop != loop) continue;
    const bool in_line = &c == &place.at.back() && c.stride == 1 && !chosen && !IsPacked(dtype);
    if ((c.around && !in_line) || (chosen && c.loop)) return false;
    if (chosen) {
      const std::optional<Chosen> by = ChosenBy(c.offset, varies);
      if (!by || !LanesFit(*by->index, loop)) return false;
    }
    ++times;
  }
  return times <= 1;
}

bool LanesFit(const Element& e, LoopId loop) {
  if (const Place* place = LoadedBy(e)) return LanesFit(*place, e.dtype, loop);
  const auto* operation = As<element::Operation>(e);
  return !operation || std::all_of(operation->args.begin(), operation->args.end(),
                                   [&](const ElementPtr& arg) { return LanesFit(*arg, loop); });
}

/// Whether a statement can be done by vectors along the loop.
static bool LanesFit(const Plan& plan, const Stage& stage, LoopId loop) {
  const auto* store = As<stage::Store>(stage);
  if (!store) return true;
  if (!LanesFit(store->place, store->value->dtype, loop) || !LanesFit(*store->value, loop))
    return false;
  // Masked stores are made for neighbours.
  return !store->mask || (LanesFit(*store->mask, loop) && AreNeighbours(plan, store->place, loop));
}

Stage Lowering::Nest(const Loops& loops, Stages inner, bool lanes) const {
  const bool by_lanes =
      lanes && !loops.empty() && std::all_of(inner.begin(), inner.end(), [&](const Stage& stage) {
        return LanesFit(plan_, stage, loops.back());
      });
  for (size_t k = loops.size(); k-- > 0;) {
    const bool innermost = k + 1 == loops.size();
    Stage loop = innermost && by_lanes ? Of(stage::Lanes{loops[k], {}, std::move(inner)})
                                       : Of(stage::Loop{loops[k], std::move(inner)});
    inner = {std::move(loop)};
  }
  return std::move(inner.front());
}

void Lowering::EmitWithin(const Loops& loops, Stages inner) {
  if (!loops.empty()) return Emit(Nest(loops, std::move(inner), false));
  for (Stage& stage : inner) Emit(std::move(stage));
}

BufferId Lowering::NewTemp(const std::string& name, DType dtype, const Shape& shape,
                           const Spaces& spaces) {
  Buffer buffer;
  buffer.name = name;
  buffer.dtype = dtype;
  buffer.extents = shape;
  buffer.spaces = spaces;
  buffer.dropped.assign(shape.size(), false);
  return plan_.buffers.Add(std::move(buffer));
}

BufferId Lowering::BufferOfLeaf(const Node& leaf) const {
  if (leaf.op == Op::kRead) return BufferOf(RefId(leaf.index));
  return leaf.op == Op::kLocal ? local_buffer_[LocalId(leaf.index)] : BufferId();
}

/// Whether the value reads the buffer, be it to look something up.
bool Lowering::ReadsBuffer(const Node& node, BufferId buffer) const {
  if (BufferOfLeaf(node) == buffer) return true;
  return std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return ReadsBuffer(*arg, buffer); }) ||
         std::any_of(node.subscripts.begin(), node.subscripts.end(),
                     [&](const Subscript& s) { return ReadsBuffer(*s.start, buffer); });
}

/// A value that has no expression at a point, as an element of a buffer that is filled first.
ElementPtr Lowering::Materialised(const Node& node, const Point& point) {
  if (node.op == Op::kReshape && RegroupsDimensions(node)) return SeenAnew(node, point);
  const auto [it, added] = temporary_.try_emplace(&node);
  if (added) {
    const BufferId buffer = NewTemp("", node.dtype, node.shape, spaces_.SpacesOf(node));
    temporary_[&node] = buffer;
    EmitInto(WholeOf(buffer, node.shape.size()), node, nullptr);
  }
  return Filled(temporary_[&node], node, point);
}

/// A mean is a quotient, which is computed where it is used, of a sum in a buffer.
ElementPtr Lowering::SumOf(const Node& mean, const Point& point) {
  const auto [it, added] = sums_.try_emplace(&mean);
  if (added) {
    const BufferId buffer = NewTemp("", mean.dtype, mean.shape, spaces_.SpacesOf(mean));
    sums_[&mean] = buffer;
    EmitReduce(WholeOf(buffer, mean.shape.size()), mean);
  }
  return Filled(sums_[&mean], mean, point);
}

/// An element of a buffer of that node's shape.
ElementPtr Lowering::Filled(BufferId buffer, const Node& node, const Point& point) const {
  return LoadOf(PlaceAt(WholeOf(buffer, node.shape.size()), point), node.dtype);
}

namespace {

/// Whether statements of its own compute it, rather than an expression for each point.
bool HasStatements(Op op) {
  switch (ClassOf(op)) {
    case OpClass::kFold:
      return op != Op::kMean;  // a quotient
    case OpClass::kLocation:
    case OpClass::kScan:
    case OpClass::kOrder:
    case OpClass::kProduct:
      return true;
    case OpClass::kShape:
      return op == Op::kConcat;
    case OpClass::kLeaf:
    case OpClass::kArithmetic:
    case OpClass::kComparison:
    case OpClass::kFunction:
    case OpClass::kSpecial:
    case OpClass::kLazy:
      return false;
  }
  __builtin_unreachable();
}

}  // namespace

void Lowering::EmitInto(const Target& target, const Node& node, const NodePtr& mask) {
  const Undivided undivided(&dividing_);
  if (node.op == Op::kIf && !node.shape.empty()) return EmitIf(target, node, mask);
  const std::optional<Parts> parts = PartsAlong(node);
  if (mask || (!HasStatements(node.op) && !parts)) return EmitPointwise(target, node, mask);
  const Buffer& to = plan_[target.buffer];
  if (ReadsBuffer(node, target.buffer) || to.dtype != node.dtype) {
    return EmitPointwise(target, node, mask);  // by way of a buffer
  }
  if (IsFold(node.op)) return EmitReduce(target, node);
  if (IsReduction(node.op)) return EmitArg(target, node);
  if (ClassOf(node.op) == OpClass::kScan) return EmitScan(target, node);
  if (ClassOf(node.op) == OpClass::kOrder) return EmitAlong(target, node);
  if (node.op == Op::kDot) return EmitDot(target, node);
  EmitParts(target, node, *parts);
}

namespace {

/// Whether a value reads the target anywhere but at the point that is about to be stored.
bool ReadsElsewhere(const Element& value, const Place& place) {
  const Place* loaded = LoadedBy(value);
  if (loaded && loaded->buffer == place.buffer && !SamePlace(*loaded, place)) return true;
  bool reads = false;
  ForEachPart(value,
              [&](const ElementPtr& part) { reads = reads || ReadsElsewhere(*part, place); });
  return reads;
}

}  // namespace

void Lowering::EmitPointwise(const Target& target, const Node& node, const NodePtr& mask) {
  Loops loops;
  Spaces spaces = spaces_.SpacesOf(node);
  // The target knows better where its edge is than a value that is broadcast into it.
  const Buffer& buffer = plan_[target.buffer];
  for (size_t d = 0; d < target.dimensions.size(); ++d) {
    const Target::Dimension& dimension = target.dimensions[d];
    if (dimension.axis && !dimension.offset) spaces[*dimension.axis] = buffer.spaces[d];
  }
  const Point point = LoopsOver(spaces, &loops);
  stage::Store store;
  store.place = PlaceAt(target, point);
  Dividing dividing{loops.empty() ? LoopId() : loops.back(), {}, false, /*lanes_too=*/true};
  Dividing* const outside = std::exchange(dividing_, &dividing);
  store.value = Value(node, point);
  if (mask) store.mask = Value(*mask, point);
  dividing_ = outside;
  const bool hazard = ReadsElsewhere(*store.value, store.place) ||
                      (store.mask && ReadsElsewhere(*store.mask, store.place));
  if (hazard) {
    // Everything is read before anything is written.
    const auto whole = [&](BufferId temp, const Point& at) {
      return PlaceAt(WholeOf(temp, node.shape.size()), at);
    };
    const BufferId temp = NewTemp("", node.dtype, node.shape, spaces);
    EmitDivided(dividing, loops, Of(stage::Store{whole(temp, point), store.value, nullptr}));

    Loops again;
    const Point second = LoopsOver(spaces, &again);
    store.place = PlaceAt(target, second);
    store.value = LoadOf(whole(temp, second), node.dtype);
    if (mask) {
      const BufferId mask_temp = NewTemp("", DType::kBool, node.shape, spaces);
      Loops third;
      const Point at = LoopsOver(spaces, &third);
      const stage::Store save{whole(mask_temp, at), Value(*mask, at), nullptr};
      Emit(Nest(third, {Of(save)}, true));
      store.mask = LoadOf(whole(mask_temp, second), DType::kBool);
    }
    return Emit(Nest(again, {Of(store)}, true));
  }
  EmitDivided(dividing, std::move(loops), Of(store));
}

/// A store within loops, of which some are divided.
void Lowering::EmitDivided(const Dividing& dividing, Loops loops, Stage store) {
  PutParts(dividing, store, &loops);
  Emit(Nest(loops, {std::move(store)}, true));
}

/// Each part of a concatenation goes where its elements belong.
void Lowering::EmitParts(const Target& target, const Node& node, const Parts& parts) {
  const auto count = static_cast<int64_t>(parts.concat->args.size());
  const auto along = static_cast<size_t>(parts.concat->axes[0]);
  Size begin = 0;
  for (const NodePtr& part : parts.concat->args) {
    Shape shape = node.shape;
    shape[parts.axis] =
        parts.by_turns ? *shape[parts.axis].DividedBy(count) : part->shape[along] * parts.each;
    Target window = target;
    for (Target::Dimension& d : window.dimensions) {
      if (d.axis != parts.axis) continue;
      // With an offset, be it 0, the window is in the part's own space and not in the target's.
      const ElementPtr shift = Scalar(*(begin * Size(d.stride)).ToNode());
      if (!d.offset || !(begin == Size(0))) d.offset = AddOffsets(d.offset, shift);
      if (parts.by_turns) d.stride *= count;
    }
    begin = begin + (parts.by_turns ? Size(1) : shape[parts.axis]);
    EmitInto(window, *InShape(part, shape), nullptr);
  }
}

/// The value in another shape.
NodePtr Lowering::InShape(const NodePtr& node, const Shape& shape) {
  if (node->shape == shape) return node;
  if (node->op == Op::kReshape) return InShape(node->args[0], shape);
  made_.push_back(Share(TileNode(Op::kReshape, node->dtype, shape, node->span, {node})));
  return made_.back();
}

void Lowering::EmitIf(const Target& target, const Node& node, const NodePtr& mask) {
  stage::If stage;
  stage.condition = Scalar(*node.args[0]);
  const auto branch = [&](const NodePtr& value, Stages* into) {
    Stages* const outer = std::exchange(out_, into);
    // What one branch filled the other one cannot use.
    const Temporaries temporaries = temporary_, sums = sums_;
    EmitBroadcast(target, value, node.shape, mask);
    temporary_ = temporaries;
    sums_ = sums;
    out_ = outer;
  };
  branch(node.args[1], &stage.body);
  branch(node.args[2], &stage.orelse);
  Emit(std::move(stage));
}

}  // namespace kiln
