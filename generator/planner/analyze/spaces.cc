#include "generator/planner/analyze/spaces.h"

#include <algorithm>

namespace kiln {

SpaceAnalysis::SpaceAnalysis(const Kernel& kernel, RefId zeroed) : kernel_(kernel) {
  for (const RefId r : IdsOf(kernel.refs)) {
    const Ref& ref = kernel[r];
    const Classes classes = Fresh(ref.view);
    const bool blocked = !ref.block.empty();
    for (size_t a = 0; a < classes.size(); ++a) {
      if (!classes[a]) continue;
      if (blocked) members_[classes[a]].push_back({r, a});
      if (ref.role == Role::kScratch && r != zeroed) classes_[classes[a]].carried.push_back(r);
    }
    refs_.push_back(classes);
  }
  for (const Local& local : kernel.locals) locals_.push_back(Fresh(local.shape));
  Visit(kernel.body);
  Visit(kernel.epilogue);
  NumberAll();
}

SpaceAnalysis::ClassId SpaceAnalysis::NewClass(const Size& extent) {
  const ClassId added = classes_.Add({{}, extent, false, {}});
  classes_[added].parent = added;
  return added;
}

SpaceAnalysis::ClassId SpaceAnalysis::Find(ClassId c) const {
  while (classes_[c].parent != c) c = classes_[c].parent;
  return c;
}

void SpaceAnalysis::Join(ClassId a, ClassId b) {
  if (!a || !b) return;
  a = Find(a), b = Find(b);
  if (a == b) return;
  if (b < a) std::swap(a, b);
  Class &to = classes_[a], &from = classes_[b];
  from.parent = a;
  to.pinned = to.pinned || from.pinned;
  to.carried.insert(to.carried.end(), from.carried.begin(), from.carried.end());
  for (const Member& m : members_[b]) members_[a].push_back(m);
  members_.erase(b);
}

/// Joins as numpy aligns: from the right.
void SpaceAnalysis::JoinAll(const Classes& a, const Classes& b) {
  for (size_t k = 1; k <= std::min(a.size(), b.size()); ++k) Join(a[a.size() - k], b[b.size() - k]);
}

void SpaceAnalysis::Pin(ClassId c) {
  if (c) classes_[Find(c)].pinned = true;
}

SpaceAnalysis::Classes SpaceAnalysis::Fresh(const Shape& shape) {
  Classes classes;
  for (const Size& extent : shape) classes.push_back(extent.IsOne() ? ClassId() : NewClass(extent));
  return classes;
}

SpaceAnalysis::Classes SpaceAnalysis::Of(const Node& node) {
  const auto known = nodes_.find(&node);
  if (known != nodes_.end()) return known->second;
  return nodes_[&node] = Compute(node);
}

/// The axes left of a tile under subscripts: a whole range keeps its class.
SpaceAnalysis::Classes SpaceAnalysis::Window(const Classes& whole, const Shape& extents,
                                             const std::vector<Subscript>& subscripts) {
  if (subscripts.empty()) return whole;
  Classes left;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Subscript& s = subscripts[d];
    if (s.start) VisitScalar(*s.start);
    if (IsWholeRange(s, extents[d])) {
      left.push_back(whole[d]);
      continue;
    }
    Pin(whole[d]);
    if (s.range) left.push_back(s.size.IsOne() ? ClassId() : NewClass(s.size));
  }
  return left;
}

/// Tile expressions within scalar ones (subscripts, conditions) look across all they reduce.
void SpaceAnalysis::VisitScalar(const Node& node) {
  if (!node.shape.empty()) {
    Of(node);
    return;
  }
  if (node.op == Op::kRead || node.op == Op::kSlice || !node.args.empty()) Of(node);
}

SpaceAnalysis::Classes SpaceAnalysis::Compute(const Node& node) {
  std::vector<Classes> args;
  for (const NodePtr& arg : node.args) args.push_back(Of(*arg));
  switch (ClassOf(node.op)) {
    case OpClass::kLeaf:
      return Given(node);
    case OpClass::kShape:
      return Moved(node, args);
    case OpClass::kFold:
    case OpClass::kLocation:
      return Reduced(node, args);
    case OpClass::kScan:
      for (const size_t axis : node.axes) Pin(args[0][axis]);
      return args[0];
    case OpClass::kOrder: {
      const auto axis = static_cast<size_t>(node.axes[0]);
      Pin(args[0][axis]);
      Classes classes = args[0];
      const Size& count = node.shape[axis];
      if (!(count == node.args[0]->shape[axis]))
        classes[axis] = count.IsOne() ? ClassId() : NewClass(count);
      return classes;
    }
    case OpClass::kProduct:
      return Multiplied(node, args);
    case OpClass::kArithmetic:
    case OpClass::kComparison:
    case OpClass::kFunction:
    case OpClass::kSpecial:
    case OpClass::kLazy: {
      Classes classes = Fresh(node.shape);
      for (const Classes& arg : args) JoinAll(classes, arg);
      return classes;
    }
  }
  __builtin_unreachable();
}

SpaceAnalysis::Classes SpaceAnalysis::Given(const Node& node) {
  switch (AsLeaf(node.op)) {
    case LeafOp::kRead:
      return Window(refs_[RefId(node.index)], kernel_[RefId(node.index)].view, node.subscripts);
    case LeafOp::kLocal:
      return locals_[LocalId(node.index)];
    case LeafOp::kInside:
    case LeafOp::kAt:
      return refs_[RefId(node.index)];
    case LeafOp::kConst:
    case LeafOp::kAxis:
    case LeafOp::kDim:
    case LeafOp::kSteps:
    case LeafOp::kFirstStep:
    case LeafOp::kLastStep:
    case LeafOp::kFirstVisit:
    case LeafOp::kLastVisit:
      return Fresh(node.shape);
  }
  __builtin_unreachable();
}

SpaceAnalysis::Classes SpaceAnalysis::Moved(const Node& node, const std::vector<Classes>& args) {
  const auto pin_axes = [&](const Classes& classes) {
    for (const size_t axis : node.axes) Pin(classes[axis]);
  };
  switch (AsShape(node.op)) {
    case ShapeOp::kIota:
      return Fresh(node.shape);
    case ShapeOp::kSlice:
      return Window(args[0], node.args[0]->shape, node.subscripts);
    case ShapeOp::kTranspose: {
      Classes turned;
      for (const size_t axis : node.axes) turned.push_back(args[0][axis]);
      return turned;
    }
    case ShapeOp::kBroadcast: {
      Classes classes = Fresh(node.shape);
      JoinAll(classes, args[0]);
      return classes;
    }
    case ShapeOp::kReshape:
      return Reshaped(node, args[0]);
    case ShapeOp::kConcat: {
      Classes classes = Fresh(node.shape);
      for (const Classes& arg : args) {
        for (size_t d = 0; d < arg.size(); ++d) {
          if (static_cast<int>(d) == node.axes[0])
            Pin(arg[d]);
          else
            Join(classes[d], arg[d]);
        }
      }
      pin_axes(classes);
      return classes;
    }
    case ShapeOp::kRoll:
    case ShapeOp::kFlip:
      pin_axes(args[0]);
      return args[0];
    case ShapeOp::kTakeAlong:
      pin_axes(args[0]);
      for (size_t d = 0; d < args[0].size(); ++d)
        if (static_cast<int>(d) != node.axes[0]) Join(args[1][d], args[0][d]);
      return args[1];
    case ShapeOp::kTake: {
      // All indices are looked at, be it to see whether they are in range.
      pin_axes(args[0]);
      for (const ClassId c : args[1]) Pin(c);
      Classes classes = args[0];
      const auto at = classes.erase(classes.begin() + node.axes[0]);
      classes.insert(at, args[1].begin(), args[1].end());
      return classes;
    }
  }
  __builtin_unreachable();
}

SpaceAnalysis::Classes SpaceAnalysis::Reshaped(const Node& node, const Classes& arg) {
  Classes classes = Fresh(node.shape);
  Shape from, to;
  for (const Size& s : node.args[0]->shape)
    if (!s.IsOne()) from.push_back(s);
  for (const Size& s : node.shape)
    if (!s.IsOne()) to.push_back(s);
  if (from != to) {
    // Rows that stay as long as they are end where they did.
    const bool same_rows = arg.back() && classes.back() && from.back() == to.back();
    for (size_t d = 0; d + same_rows < arg.size(); ++d) Pin(arg[d]);
    for (size_t d = 0; d + same_rows < classes.size(); ++d) Pin(classes[d]);
    if (same_rows) classes.back() = arg.back();
    return classes;
  }
  // Only dimensions of extent 1 come or go: the others keep their places.
  Classes kept;
  for (const ClassId c : arg)
    if (c) kept.push_back(c);
  size_t next = 0;
  for (ClassId& c : classes)
    if (c) c = kept[next++];
  return classes;
}

SpaceAnalysis::Classes SpaceAnalysis::Reduced(const Node& node, const std::vector<Classes>& args) {
  Classes left;
  for (size_t d = 0; d < args[0].size(); ++d) {
    const bool gone = std::count(node.axes.begin(), node.axes.end(), d) > 0;
    if (!gone)
      left.push_back(args[0][d]);
    else if (node.keep)
      left.push_back({});
    if (gone) Pin(args[0][d]);
  }
  return left;
}

SpaceAnalysis::Classes SpaceAnalysis::Multiplied(const Node& node,
                                                 const std::vector<Classes>& args) {
  const size_t rank = node.shape.size();
  Classes left = args[0];
  for (size_t d = 0; d + 2 < rank; ++d) Join(left[d], args[1][d]);
  const ClassId k_left = args[0][rank - 1], k_right = args[1][rank - 2];
  Join(k_left, k_right);
  // Zeros on both sides may be left out of the sum; anything else has to be in it.
  if (!PaddedWithZero(*node.args[0], rank - 1) || !PaddedWithZero(*node.args[1], rank - 2)) {
    Pin(k_left);
    Pin(k_right);
  }
  left[rank - 1] = args[1][rank - 1];
  // Each row is a product of its own: where a reshape looks at all rows of A, not all of these need
  // be computed.
  const bool regroups = node.args[0]->op == Op::kReshape && RegroupsDimensions(*node.args[0]);
  if (regroups && left[rank - 2]) left[rank - 2] = NewClass(node.shape[rank - 2]);
  return left;
}

/// Whether `operand` is an array's own block whose elements past the edge of `axis` are zeros.
bool SpaceAnalysis::PaddedWithZero(const Node& operand, size_t axis) const {
  const DotOperand dot = OperandOfDot(operand);
  const Node* value = dot.value;
  while (value->op == Op::kCast && IsFloat(value->dtype)) value = value->args[0].get();
  if (value->op != Op::kRead || !value->subscripts.empty()) return false;
  const Ref& ref = kernel_[RefId(value->index)];
  const size_t rank = operand.shape.size();
  if (dot.transposed) axis = axis == rank - 1 ? rank - 2 : rank - 1;
  return ref.role == Role::kInput && !ref.block.empty() && IsZero(ref.pad) &&
         axis < ref.view_dims.size();
}

void SpaceAnalysis::Visit(const Actions& actions) {
  for (const Action& action : actions) {
    Match(
        action,
        [&](const action::Define& define) {
          const Classes value = Of(*define.value);
          JoinAll(locals_[LocalId(define.local)], value);
        },
        [&](const action::Store& store) { VisitStore(store); },
        [&](const action::When& when) { VisitScalar(*when.condition); },
        [&](const action::For& loop) { VisitScalar(*loop.low), VisitScalar(*loop.high); },
        [&](const action::While& loop) { VisitScalar(*loop.condition); },
        [&](const action::Assert& check) { VisitScalar(*check.condition); },
        [&](const action::Copy& copy) {
          for (const NodePtr& at : copy.slot) VisitScalar(*at);
          VisitWindow(copy.source);
          VisitWindow(copy.target);
          for (const ClassId c : refs_[RefId(copy.source.ref)]) Pin(c);
          for (const ClassId c : refs_[RefId(copy.target.ref)]) Pin(c);
        },
        [&](const action::Wait& wait) {
          for (const NodePtr& at : wait.slot) VisitScalar(*at);
          if (wait.window) VisitWindow(*wait.window);
        });
    ForEachBlock(action, [&](const Actions& block) { Visit(block); });
  }
}

void SpaceAnalysis::VisitWindow(const kiln::Window& window) {
  for (const Subscript& subscript : window.subscripts) {
    VisitScalar(*subscript.start);
    if (subscript.count) VisitScalar(*subscript.count);
  }
}

void SpaceAnalysis::VisitStore(const action::Store& store) {
  const RefId ref(store.ref);
  const LocalId local(store.local);
  const Classes value = Of(*store.value);
  const Classes& whole = ref ? refs_[ref] : locals_[local];
  const Shape& extents = ref ? kernel_[ref].view : kernel_[local].shape;
  const Classes target = Window(whole, extents, store.subscripts);
  // All of a window is stored, what is past an edge of the value too: a pad is as good as any.
  size_t axis = 0;
  for (size_t d = 0; d < store.subscripts.size(); ++d) {
    if (!store.subscripts[d].range) continue;
    if (!IsWholeRange(store.subscripts[d], extents[d])) Pin(target[axis]);
    ++axis;
  }
  if (store.mask) JoinAll(target, Of(*store.mask));
  JoinAll(target, value);
}

}  // namespace kiln
