#include <algorithm>

#include "generator/planner/lower/lowering.h"

namespace kiln {

Target Lowering::WholeOf(int buffer, size_t rank) {
  Target target;
  target.buffer = buffer;
  for (size_t d = 0; d < rank; ++d) target.dimensions.push_back({static_cast<int>(d), nullptr});
  return target;
}

Place Lowering::PlaceAt(const Target& target, const Point& point) const {
  Place place;
  place.buffer = target.buffer;
  for (const Target::Dimension& d : target.dimensions) {
    Coordinate c = d.axis < 0 ? Coordinate{} : point[static_cast<size_t>(d.axis)];
    if (d.offset) {
      c.offset = c.offset ? MakeOp(Op::kAdd, DType::kIndex, {c.offset, d.offset}) : d.offset;
    }
    place.at.push_back(c);
  }
  return place;
}

int Lowering::NewLoop(int space) {
  plan_.loops.push_back(space);
  return static_cast<int>(plan_.loops.size()) - 1;
}

/// A point that walks all spaces; extents of 1 stay at 0.
Lowering::Point Lowering::LoopsOver(const std::vector<int>& spaces, std::vector<int>* loops) {
  Point point;
  for (int space : spaces) {
    Coordinate c;
    if (space >= 0) loops->push_back(c.loop = NewLoop(space));
    point.push_back(c);
  }
  return point;
}

/// Whether a place's lanes are one vector: the loop is in one coordinate and never wraps around.
static bool LanesFit(const Place& place, int loop) {
  int times = 0;
  for (const Coordinate& c : place.at) {
    if (c.loop != loop) continue;
    if (c.around) return false;
    ++times;
  }
  return times <= 1;
}

bool LanesFit(const Element& e, int loop) {
  if (e.kind == Element::Kind::kLoad && !LanesFit(e.place, loop)) return false;
  return std::all_of(e.args.begin(), e.args.end(),
                     [&](const ElementPtr& arg) { return LanesFit(*arg, loop); });
}

/// Whether a statement can be done by vectors along the loop.
static bool LanesFit(const Stage& stage, int loop) {
  if (stage.kind != Stage::Kind::kStore) return true;
  if (!LanesFit(stage.place, loop) || !LanesFit(*stage.value, loop)) return false;
  if (!stage.mask) return true;
  // Masked stores are made for neighbours.
  return LanesFit(*stage.mask, loop) && stage.place.at.back().loop == loop;
}

Stage Lowering::Nest(const std::vector<int>& loops, Stages inner, bool lanes) const {
  const bool by_lanes =
      lanes && !loops.empty() && std::all_of(inner.begin(), inner.end(), [&](const Stage& stage) {
        return LanesFit(stage, loops.back());
      });
  for (size_t k = loops.size(); k-- > 0;) {
    const bool innermost = k + 1 == loops.size();
    Stage loop = StageOf(innermost && by_lanes ? Stage::Kind::kLanes : Stage::Kind::kLoop, span_);
    loop.loop = loops[k];
    loop.body = std::move(inner);
    inner.clear();
    inner.push_back(std::move(loop));
  }
  return std::move(inner.front());
}

int Lowering::NewTemp(const std::string& name, DType dtype, const Shape& shape,
                      const std::vector<int>& spaces) {
  Buffer buffer;
  buffer.name = name;
  buffer.dtype = dtype;
  buffer.extents = shape;
  buffer.spaces = spaces;
  buffer.dropped.assign(shape.size(), false);
  plan_.buffers.push_back(std::move(buffer));
  return static_cast<int>(plan_.buffers.size()) - 1;
}

int Lowering::BufferOf(const Node& leaf) const {
  if (leaf.op == Op::kRead) return leaf.index;
  if (leaf.op == Op::kLocal) return local_buffer_[static_cast<size_t>(leaf.index)];
  return -1;
}

/// Whether the value reads the buffer, be it to look something up.
bool Lowering::ReadsBuffer(const Node& node, int buffer) const {
  if (BufferOf(node) == buffer) return true;
  return std::any_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return ReadsBuffer(*arg, buffer); }) ||
         std::any_of(node.subscripts.begin(), node.subscripts.end(),
                     [&](const Subscript& s) { return ReadsBuffer(*s.start, buffer); });
}

/// A value that has no expression at a point, as an element of a buffer that is filled first.
ElementPtr Lowering::Materialised(const Node& node, const Point& point) {
  if (node.op == Op::kReshape && RegroupsDimensions(node)) return SeenAnew(node, point);
  const auto [it, added] = temporary_.try_emplace(&node, -1);
  if (added) {
    const int buffer = NewTemp("", node.dtype, node.shape, spaces_.SpacesOf(node));
    temporary_[&node] = buffer;
    EmitInto(WholeOf(buffer, node.shape.size()), node, nullptr);
  }
  return Filled(temporary_[&node], node, point);
}

/// A mean is a quotient, which is computed where it is used, of a sum in a buffer.
ElementPtr Lowering::SumOf(const Node& mean, const Point& point) {
  const auto [it, added] = sums_.try_emplace(&mean, -1);
  if (added) {
    const int buffer = NewTemp("", mean.dtype, mean.shape, spaces_.SpacesOf(mean));
    sums_[&mean] = buffer;
    EmitReduce(WholeOf(buffer, mean.shape.size()), mean);
  }
  return Filled(sums_[&mean], mean, point);
}

/// An element of a buffer of that node's shape.
ElementPtr Lowering::Filled(int buffer, const Node& node, const Point& point) const {
  auto load = std::make_shared<Element>();
  load->kind = Element::Kind::kLoad;
  load->dtype = node.dtype;
  load->place = PlaceAt(WholeOf(buffer, node.shape.size()), point);
  return load;
}

namespace {

/// Whether statements of its own compute it, rather than an expression for each point.
bool HasStatements(Op op) {
  switch (ClassOf(op)) {
    case OpClass::kFold:
      return op != Op::kMean;  // a quotient
    case OpClass::kLocation:
    case OpClass::kScan:
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
  if (node.op == Op::kIf && !node.shape.empty()) return EmitIf(target, node, mask);
  if (mask || !HasStatements(node.op)) return EmitPointwise(target, node, mask);
  const Buffer& to = plan_.buffers[static_cast<size_t>(target.buffer)];
  if (ReadsBuffer(node, target.buffer) || to.dtype != node.dtype) {
    return EmitPointwise(target, node, mask);  // by way of a buffer
  }
  if (IsFold(node.op)) return EmitReduce(target, node);
  if (IsReduction(node.op)) return EmitArg(target, node);
  if (node.op == Op::kCumsum) return EmitCumsum(target, node);
  if (node.op == Op::kDot) return EmitDot(target, node);
  EmitConcat(target, node);
}

namespace {

/// Whether a value reads the target anywhere but at the point that is about to be stored.
bool ReadsElsewhere(const Element& value, const Place& place) {
  if (value.kind == Element::Kind::kLoad && value.place.buffer == place.buffer &&
      !SamePlace(value.place, place)) {
    return true;
  }
  for (const Coordinate& c : value.place.at) {
    if (c.offset && ReadsElsewhere(*c.offset, place)) return true;
  }
  return std::any_of(value.args.begin(), value.args.end(),
                     [&](const ElementPtr& arg) { return ReadsElsewhere(*arg, place); });
}

}  // namespace

void Lowering::EmitPointwise(const Target& target, const Node& node, const NodePtr& mask) {
  std::vector<int> loops;
  std::vector<int> spaces = spaces_.SpacesOf(node);
  // The target knows better where its edge is than a value that is broadcast into it.
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(target.buffer)];
  for (size_t d = 0; d < target.dimensions.size(); ++d) {
    const int axis = target.dimensions[d].axis;
    if (axis >= 0 && !target.dimensions[d].offset)
      spaces[static_cast<size_t>(axis)] = buffer.spaces[d];
  }
  const Point point = LoopsOver(spaces, &loops);
  Stage store = StageOf(Stage::Kind::kStore, span_);
  store.place = PlaceAt(target, point);
  store.value = Value(node, point);
  if (mask) store.mask = Value(*mask, point);
  const bool hazard = ReadsElsewhere(*store.value, store.place) ||
                      (store.mask && ReadsElsewhere(*store.mask, store.place));
  if (hazard) {
    // Everything is read before anything is written.
    const int temp = NewTemp("", node.dtype, node.shape, spaces);
    const Place there = PlaceAt(WholeOf(temp, node.shape.size()), point);
    Stage save = store;
    save.place = there;
    save.mask = nullptr;
    Emit(Nest(loops, {save}, true));

    std::vector<int> again;
    const Point second = LoopsOver(spaces, &again);
    auto load = std::make_shared<Element>();
    load->kind = Element::Kind::kLoad;
    load->dtype = node.dtype;
    load->place = PlaceAt(WholeOf(temp, node.shape.size()), second);
    store.place = PlaceAt(target, second);
    store.value = load;
    if (mask) {
      const int mask_temp = NewTemp("", DType::kBool, node.shape, spaces);
      Stage save_mask = StageOf(Stage::Kind::kStore, span_);
      std::vector<int> third;
      const Point mask_point = LoopsOver(spaces, &third);
      save_mask.place = PlaceAt(WholeOf(mask_temp, node.shape.size()), mask_point);
      save_mask.value = Value(*mask, mask_point);
      Emit(Nest(third, {save_mask}, true));
      auto load_mask = std::make_shared<Element>(*load);
      load_mask->dtype = DType::kBool;
      load_mask->place = PlaceAt(WholeOf(mask_temp, node.shape.size()), second);
      store.mask = load_mask;
    }
    return Emit(Nest(again, {store}, true));
  }
  Emit(Nest(loops, {store}, true));
}

void Lowering::EmitConcat(const Target& target, const Node& node) {
  const int axis = node.axes[0];
  Size begin = 0;
  for (const NodePtr& part : node.args) {
    Target window = target;
    for (Target::Dimension& d : window.dimensions) {
      if (d.axis != axis) continue;
      // With an offset, be it 0, the window is in the part's own space and not in the target's.
      const ElementPtr shift = Scalar(*begin.ToNode());
      if (!d.offset) {
        d.offset = shift;
      } else if (!(begin == Size(0))) {
        d.offset = MakeOp(Op::kAdd, DType::kIndex, {d.offset, shift});
      }
    }
    EmitInto(window, *part, nullptr);
    begin = begin + part->shape[static_cast<size_t>(axis)];
  }
}

void Lowering::EmitIf(const Target& target, const Node& node, const NodePtr& mask) {
  Stage stage = StageOf(Stage::Kind::kIf, span_);
  stage.value = Scalar(*node.args[0]);
  Stages* const outer = out_;
  const auto branch = [&](const NodePtr& value, Stages* into) {
    out_ = into;
    // What one branch filled the other one cannot use.
    const std::map<const Node*, int> temporaries = temporary_, sums = sums_;
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
