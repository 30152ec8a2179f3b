#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/planner/analyze/regroup.h"
#include "generator/planner/lower/lowering.h"

/// Reshapes and slices as other ways to look at the same elements, so that nothing is copied.
namespace kiln {
namespace {

/// `index` may be null.
ElementPtr Times(const ElementPtr& index, int64_t by) {
  if (!index || by == 1) return index;
  return MakeOp(Op::kMul, DType::kIndex, {index, IndexConstant(by)});
}

bool AreFixed(const std::vector<Subscript>& subscripts, const Kernel& kernel);

/// What a subscript may say so that it means the same wherever the view is read.
bool IsFixed(const Node& node, const Kernel& kernel) {
  if (node.op == Op::kRead) {
    const Role role = kernel[RefId(node.index)].role;
    if (role != Role::kPrefetch && role != Role::kScalar) return false;
  }
  if (node.op == Op::kLocal && kernel[LocalId(node.index)].kind == Local::Kind::kVar) return false;
  return AreFixed(node.subscripts, kernel) &&
         std::all_of(node.args.begin(), node.args.end(),
                     [&](const NodePtr& arg) { return IsFixed(*arg, kernel); });
}

bool AreFixed(const std::vector<Subscript>& subscripts, const Kernel& kernel) {
  return std::all_of(subscripts.begin(), subscripts.end(), [&](const Subscript& s) {
    return (!s.start || IsFixed(*s.start, kernel)) && !s.count;
  });
}

/// Whether lanes of the window are neighbours in what it is a window of.
bool KeepsLanes(const std::vector<Subscript>& subscripts) {
  return subscripts.empty() || (subscripts.back().range && subscripts.back().stride == 1);
}

}  // namespace

/// Whether a reshape only divides dimensions, and the last one, if it does, into lines so short
/// that vectors had better run across them: in a buffer of its own shape few lanes of each would be
/// in use.
bool Lowering::DividesIntoShortLines(const Node& reshape) const {
  constexpr int64_t kShort = 8;
  const std::vector<Group> groups = GroupsOf(reshape.args[0]->shape, reshape.shape);
  if (groups.empty() || groups.back().to.size() == 1) return false;
  const std::optional<int64_t> line = reshape.shape[groups.back().to.back()].Constant();
  return line && *line <= kShort && std::all_of(groups.begin(), groups.end(), [](const Group& g) {
           return g.from.size() == 1;
         });
}

/// An input that keeps its elements through a step, and that the body sees as rows.
bool Lowering::IsConstantInput(RefId id) const {
  const Ref& ref = kernel_[id];
  return ref.role == Role::kInput && ref.memory == Memory::kVmem && !copied_[id] &&
         kernel_.BorrowerOf(id.number()) < 0 &&
         plan_.operands[id].layout == OperandPlan::Layout::kRows;
}

/// Whether the elements of a let's view are those of a ref, and not made where they are read, nor
/// those of a let that has memory of its own.
bool Lowering::IsOfRef(const Node& view) const {
  if (view.op == Op::kLocal) {
    const auto of = views_.find(LocalId(view.index));
    return of != views_.end() && IsOfRef(*of->second);
  }
  const bool moves = view.op == Op::kSlice || view.op == Op::kReshape;
  return view.op == Op::kRead || (moves && IsOfRef(*view.args[0]));
}

/// Whether the value is made of an input's elements by subscripts and reshapes.
bool Lowering::ReadsConstantInput(const Node& node) const {
  switch (node.op) {
    case Op::kRead:
      return IsConstantInput(RefId(node.index));
    case Op::kLocal: {
      const auto view = views_.find(LocalId(node.index));
      return view != views_.end() && IsOfRef(*view->second);
    }
    case Op::kSlice:
    case Op::kReshape:
      return ReadsConstantInput(*node.args[0]);
    default:
      return false;
  }
}

/// Whether a `let` need not copy its value: a window of an input, or of scratch that is not written
/// any more, seen in another shape perhaps, whose lanes are the ref's own.
bool Lowering::IsWindow(const Node& node, LocalId let) const {
  switch (node.op) {
    case Op::kRead: {
      const RefId ref(node.index);
      return (IsConstantInput(ref) || (IsPlainScratch(ref) && !written_after_[let].count(ref))) &&
             AreFixed(node.subscripts, kernel_) && KeepsLanes(node.subscripts);
    }
    case Op::kLocal:
      return views_.count(LocalId(node.index)) > 0;
    case Op::kSlice:
      return AreFixed(node.subscripts, kernel_) && KeepsLanes(node.subscripts) &&
             IsWindow(*node.args[0], let);
    case Op::kReshape: {
      if (!IsWindow(*node.args[0], let)) return false;
      if (!RegroupsDimensions(node) || IsJoinable(node)) return true;
      const std::vector<Group> groups = GroupsOf(node.args[0]->shape, node.shape);
      const bool splits = std::all_of(groups.begin(), groups.end(),
                                      [](const Group& g) { return g.from.size() == 1; });
      return !groups.empty() && splits &&
             (groups.back().to.size() == 1 || DividesIntoShortLines(node));
    }
    default:
      return false;
  }
}

/// Whether an element takes a few fast operations on elements of windows, of other lets and of
/// scalars, and cannot fail.
bool Lowering::IsMadeOfWindows(const Node& node, LocalId let) const {
  const auto are_args = [&] {
    return std::all_of(node.args.begin(), node.args.end(),
                       [&](const NodePtr& arg) { return IsMadeOfWindows(*arg, let); });
  };
  if (node.shape.empty()) return IsFixed(node, kernel_) && !MayHaveNoValue(node);
  switch (ClassOf(node.op)) {
    case OpClass::kLeaf:
      if (node.op == Op::kLocal) return kernel_[LocalId(node.index)].kind == Local::Kind::kLet;
      return IsWindow(node, let);
    case OpClass::kShape:
      return IsWindow(node, let) || (node.op == Op::kBroadcast && are_args());
    case OpClass::kArithmetic:
    case OpClass::kFunction:
      return IsFloat(node.dtype) && RowOf(node.op).cpu == CpuCost::kFast && are_args();
    default:
      return node.op == Op::kCast && node.dtype != DType::kIndex && are_args();
  }
}

/// Where the elements of a reshape are in its argument; none: only a copy has them so.
std::optional<Lowering::Point> Lowering::SeenThrough(const Node& reshape, const Point& point) {
  const Shape &from = reshape.args[0]->shape, &to = reshape.shape;
  const std::vector<Group> groups = GroupsOf(from, to);
  if (groups.empty()) return std::nullopt;
  const size_t divided = dividing_ ? dividing_->loops.size() : 0;
  const auto give_up = [&] {
    if (dividing_) dividing_->loops.resize(divided);
    return std::nullopt;
  };
  Point whole(from.size());
  for (const Group& group : groups) {
    const bool around = std::any_of(group.to.begin(), group.to.end(),
                                    [&](size_t d) { return point[d].around.has_value(); });
    if (around) return give_up();
    if (group.from.size() == 1) {
      whole[group.from[0]] = Joined(point, to, group.to);
    } else if (!Divide(point[group.to[0]], to[group.to[0]], from, group.from, &whole)) {
      return give_up();
    }
  }
  return whole;
}

/// The coordinate in a dimension of which `dims` are parts, outermost first.
Coordinate Lowering::Joined(const Point& point, const Shape& shape,
                            const std::vector<size_t>& dims) {
  Coordinate joined = point[dims.back()];
  if (joined.offset && IsZero(*joined.offset)) joined.offset = nullptr;
  Size inner = shape[dims.back()];
  for (size_t k = dims.size() - 1; k-- > 0; inner = inner * shape[dims[k]]) {
    const Coordinate& outer = point[dims[k]];
    if (!outer.loop && (!outer.offset || IsZero(*outer.offset))) continue;
    const std::optional<int64_t> constant = inner.Constant();
    if (!joined.loop && constant) {
      joined = {outer.loop,
                AddOffsets(joined.offset, Times(outer.offset, *constant)),
                {},
                outer.stride * *constant};
      continue;
    }
    ElementPtr index;
    if (outer.loop) {
      index = MakeElement(DType::kIndex, element::Iteration{outer.loop});
      index = Times(index, outer.stride);
    }
    const ElementPtr size = Scalar(*inner.ToNode());
    const ElementPtr shift =
        MakeOp(Op::kMul, DType::kIndex, {AddOffsets(index, outer.offset), size});
    joined.offset = AddOffsets(joined.offset, shift);
  }
  return joined;
}

/// Whether vectors along so many elements are better than a copy of them, along which vectors would
/// run on.
static bool IsLongLine(const Size& line) {
  constexpr int64_t kLeast = 32;
  return line.Constant().value_or(0) >= kLeast;
}

/// The coordinates in dimensions that are parts of one of extent `all`: its loop is divided into
/// loops over them, where the statement at hand can do that. The loop of a slice that begins the
/// dimension is shorter: it has to be so many turns of the parts within.
bool Lowering::Divide(const Coordinate& c, const Size& all, const Shape& shape,
                      const std::vector<size_t>& dims, Point* whole) {
  if (!c.loop && !c.offset) return true;  // 0
  if (!dividing_ || !c.loop || !c.IsPlain()) return false;
  if (c.loop == dividing_->lanes && !(dividing_->lanes_too && IsLongLine(shape[dims.back()])))
    return false;
  if (spaces_.spaces()[plan_[c.loop].space].clipped && !dividing_->may_stop) return false;
  Loops parts;
  Shape extents;
  for (const size_t d : dims) extents.push_back(shape[d]);
  if (const Size& walked = spaces_.spaces()[plan_[c.loop].space].extent; !(walked == all)) {
    Size within = 1;
    for (size_t k = 1; k < extents.size(); ++k) within = within * extents[k];
    const std::optional<int64_t> turn = within.Constant();
    const std::optional<Size> turns = turn && *turn > 0 ? walked.DividedBy(*turn) : std::nullopt;
    if (!turns) return false;
    extents[0] = *turns;
  }
  for (const DividedLoop& divided : dividing_->loops) {
    if (divided.loop != c.loop) continue;
    if (!(divided.extents == extents)) return false;
    parts = divided.parts;
  }
  if (parts.empty()) {
    for (const Size& extent : extents) parts.push_back(NewLoop(spaces_.SpaceOf(extent)));
    dividing_->loops.push_back({c.loop, parts, extents});
  }
  for (size_t k = 0; k < dims.size(); ++k) (*whole)[dims[k]].loop = parts[k];
  return true;
}

/// Puts the parts of divided loops in their place.
void Lowering::PutParts(const Dividing& dividing, Stage& stage, Loops* loops) {
  for (const DividedLoop& divided : dividing.loops) {
    // The iteration of the loop is that of its last part, after those of the others.
    ElementPtr before;
    for (size_t k = 0; k + 1 < divided.parts.size(); ++k) {
      const ElementPtr part = MakeElement(DType::kIndex, element::Iteration{divided.parts[k]});
      const ElementPtr size = Scalar(*divided.extents[k + 1].ToNode());
      before = MakeOp(Op::kMul, DType::kIndex, {AddOffsets(before, part), size});
    }
    const auto put = [&](Place& place) {
      for (Coordinate& c : place.at) {
        if (c.loop != divided.loop) continue;
        c.loop = divided.parts.back();
        c.offset = AddOffsets(c.offset, Times(before, c.stride));
      }
    };
    ChangeElements(stage, [&](const ElementPtr& e) -> ElementPtr {
      const auto* iteration = As<element::Iteration>(e);
      if (iteration && iteration->loop == divided.loop)
        return AddOffsets(before,
                          MakeElement(DType::kIndex, element::Iteration{divided.parts.back()}));
      const Place* loaded = LoadedBy(*e);
      if (!loaded) return nullptr;
      Place place = *loaded;
      put(place);
      return LoadOf(std::move(place), e->dtype);
    });
    ForEachPart(stage, Overloaded{[&](Place& place, Access) { put(place); }, Ignore()});
    if (!loops) continue;
    const auto at = loops->erase(std::find(loops->begin(), loops->end(), divided.loop));
    loops->insert(at, divided.parts.begin(), divided.parts.end());
  }
}

}  // namespace kiln
