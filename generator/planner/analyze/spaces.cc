#include "generator/planner/analyze/spaces.h"

#include <algorithm>

#include "generator/planner/analyze/operands.h"

namespace kiln {
SpaceAnalysis::SpaceAnalysis(const Kernel& kernel, int zeroed) : kernel_(kernel) {
  for (const Ref& ref : kernel.refs) {
    Classes classes = Fresh(ref.view);
    const int r = static_cast<int>(refs_.size());
    const bool blocked = !ref.block.empty();
    for (size_t a = 0; a < classes.size(); ++a) {
      if (classes[a] < 0) continue;
      if (blocked) members_[classes[a]].push_back({r, static_cast<int>(a)});
      if (ref.role == Role::kScratch && r != zeroed)
        carried_[static_cast<size_t>(classes[a])].push_back(r);
    }
    refs_.push_back(classes);
  }
  for (const Local& local : kernel.locals) locals_.push_back(Fresh(local.shape));
  Visit(kernel.body);
  Visit(kernel.epilogue);
  NumberAll();
}

int SpaceAnalysis::NewClass(const Size& extent) {
  parent_.push_back(static_cast<int>(parent_.size()));
  extents_.push_back(extent);
  pinned_.push_back(false);
  carried_.emplace_back();
  return parent_.back();
}

int SpaceAnalysis::Find(int c) {
  while (parent_[static_cast<size_t>(c)] != c) c = parent_[static_cast<size_t>(c)];
  return c;
}

void SpaceAnalysis::Join(int a, int b) {
  if (a < 0 || b < 0) return;
  a = Find(a), b = Find(b);
  if (a == b) return;
  if (b < a) std::swap(a, b);
  const size_t to = static_cast<size_t>(a), from = static_cast<size_t>(b);
  parent_[from] = a;
  pinned_[to] = pinned_[to] || pinned_[from];
  carried_[to].insert(carried_[to].end(), carried_[from].begin(), carried_[from].end());
  for (const Member& m : members_[b]) members_[a].push_back(m);
  members_.erase(b);
}

/// Joins as numpy aligns: from the right.
void SpaceAnalysis::JoinAll(const Classes& a, const Classes& b) {
  for (size_t k = 1; k <= std::min(a.size(), b.size()); ++k) Join(a[a.size() - k], b[b.size() - k]);
}

void SpaceAnalysis::Pin(int c) {
  if (c >= 0) pinned_[static_cast<size_t>(Find(c))] = true;
}

SpaceAnalysis::Classes SpaceAnalysis::Fresh(const Shape& shape) {
  Classes classes;
  for (const Size& extent : shape) classes.push_back(extent.IsOne() ? -1 : NewClass(extent));
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
    if (s.range) left.push_back(s.size.IsOne() ? -1 : NewClass(s.size));
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
      for (int axis : node.axes) Pin(args[0][static_cast<size_t>(axis)]);
      return args[0];
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
      return Window(refs_[static_cast<size_t>(node.index)],
                    kernel_.refs[static_cast<size_t>(node.index)].view, node.subscripts);
    case LeafOp::kLocal:
      return locals_[static_cast<size_t>(node.index)];
    case LeafOp::kInside:
    case LeafOp::kAt:
      return refs_[static_cast<size_t>(node.index)];
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
    for (int axis : node.axes) Pin(classes[static_cast<size_t>(axis)]);
  };
  switch (AsShape(node.op)) {
    case ShapeOp::kIota:
      return Fresh(node.shape);
    case ShapeOp::kSlice:
      return Window(args[0], node.args[0]->shape, node.subscripts);
    case ShapeOp::kTranspose: {
      Classes turned;
      for (int axis : node.axes) turned.push_back(args[0][static_cast<size_t>(axis)]);
      return turned;
    }
    case ShapeOp::kBroadcast: {
      Classes classes = Fresh(node.shape);
      JoinAll(classes, args[0]);
      return classes;
    }
    case ShapeOp::kReshape: {
      // Only dimensions of extent 1 come or go: the others keep their places.
      Classes kept, classes = Fresh(node.shape);
      Shape from, to;
      for (const Size& s : node.args[0]->shape)
        if (!s.IsOne()) from.push_back(s);
      for (const Size& s : node.shape)
        if (!s.IsOne()) to.push_back(s);
      if (from == to) {
        for (int c : args[0])
          if (c >= 0) kept.push_back(c);
        size_t next = 0;
        for (int& c : classes)
          if (c >= 0) c = kept[next++];
        return classes;
      }
      for (int c : args[0]) Pin(c);
      for (int c : classes) Pin(c);
      return classes;
    }
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
      pin_axes(args[0]);
      return args[0];
  }
  __builtin_unreachable();
}

SpaceAnalysis::Classes SpaceAnalysis::Reduced(const Node& node, const std::vector<Classes>& args) {
  Classes left;
  for (size_t d = 0; d < args[0].size(); ++d) {
    const bool gone =
        std::find(node.axes.begin(), node.axes.end(), static_cast<int>(d)) != node.axes.end();
    if (!gone)
      left.push_back(args[0][d]);
    else if (node.keep)
      left.push_back(-1);
    if (gone) Pin(args[0][d]);
  }
  return left;
}

SpaceAnalysis::Classes SpaceAnalysis::Multiplied(const Node& node,
                                                 const std::vector<Classes>& args) {
  const size_t rank = node.shape.size();
  Classes left = args[0];
  for (size_t d = 0; d + 2 < rank; ++d) Join(left[d], args[1][d]);
  const int k_left = args[0][rank - 1], k_right = args[1][rank - 2];
  Join(k_left, k_right);
  // Zeros on both sides may be left out of the sum; anything else has to be in it.
  if (!PaddedWithZero(*node.args[0], static_cast<int>(rank) - 1) ||
      !PaddedWithZero(*node.args[1], static_cast<int>(rank) - 2)) {
    Pin(k_left);
    Pin(k_right);
  }
  left[rank - 1] = args[1][rank - 1];
  return left;
}

/// Whether `operand` is an array's own block whose elements past the edge of `axis` are zeros.
bool SpaceAnalysis::PaddedWithZero(const Node& operand, int axis) const {
  const DotOperand dot = OperandOfDot(operand);
  const Node* value = dot.value;
  while (value->op == Op::kCast && IsFloat(value->dtype)) value = value->args[0].get();
  if (value->op != Op::kRead || !value->subscripts.empty()) return false;
  const Ref& ref = kernel_.refs[static_cast<size_t>(value->index)];
  const int rank = static_cast<int>(operand.shape.size());
  if (dot.transposed) axis = axis == rank - 1 ? rank - 2 : rank - 1;
  return ref.role == Role::kInput && !ref.block.empty() && IsZero(ref.pad) &&
         axis < static_cast<int>(ref.view_dims.size());
}

void SpaceAnalysis::Visit(const Actions& actions) {
  for (const Action& action : actions) {
    Match(
        action,
        [&](const action::Define& define) {
          const Classes value = Of(*define.value);
          JoinAll(locals_[static_cast<size_t>(define.local)], value);
        },
        [&](const action::Store& store) { VisitStore(store); },
        [&](const action::When& when) { VisitScalar(*when.condition); },
        [&](const action::For& loop) { VisitScalar(*loop.low), VisitScalar(*loop.high); },
        [&](const action::Assert& check) { VisitScalar(*check.condition); },
        [&](const action::Copy& copy) {
          VisitScalar(*copy.slot);
          for (const kiln::Window* window : {&copy.source, &copy.target}) {
            for (const Subscript& subscript : window->subscripts) VisitScalar(*subscript.start);
          }
          for (int c : refs_[static_cast<size_t>(copy.source.ref)]) Pin(c);
          for (int c : refs_[static_cast<size_t>(copy.target.ref)]) Pin(c);
        },
        [&](const action::Wait& wait) { VisitScalar(*wait.slot); });
    ForEachBlock(action, [&](const Actions& block) { Visit(block); });
  }
}

void SpaceAnalysis::VisitStore(const action::Store& store) {
  const bool local = store.ref < 0;
  const Classes value = Of(*store.value);
  const Classes& whole =
      local ? locals_[static_cast<size_t>(store.local)] : refs_[static_cast<size_t>(store.ref)];
  const Shape& extents = local ? kernel_.locals[static_cast<size_t>(store.local)].shape
                               : kernel_.refs[static_cast<size_t>(store.ref)].view;
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

/// All operands of the class are cut at the same edge by the same index, and nothing outlives a
/// change of that index.
bool SpaceAnalysis::MayClip(int root) const {
  if (pinned_[static_cast<size_t>(root)]) return false;
  const auto found = members_.find(root);
  if (found == members_.end()) return false;
  const BlockDim* first = nullptr;
  Size array;
  for (const Member& m : found->second) {
    const Ref& ref = kernel_.refs[static_cast<size_t>(m.ref)];
    if (ref.memory == Memory::kAny) return false;
    const size_t dim = static_cast<size_t>(ref.view_dims[static_cast<size_t>(m.view_axis)]);
    const BlockDim& block = ref.block[dim];
    if (block.kind != BlockDim::Kind::kBlocked) return false;
    if (!first) {
      first = &block;
      array = ref.array[dim];
      continue;
    }
    if (!(array == ref.array[dim]) || !(block.size == first->size) ||
        ToString(*block.index, kernel_) != ToString(*first->index, kernel_)) {
      return false;
    }
  }
  const std::vector<int>& carried = carried_[static_cast<size_t>(root)];
  if (carried.empty()) return true;
  if (first->index->op != Op::kAxis) return false;
  const int axis = first->index->index;
  return kernel_.axes[static_cast<size_t>(axis)].parallel ||
         std::all_of(carried.begin(), carried.end(),
                     [&](int scratch) { return BeginsAnew(kernel_, scratch, axis); });
}

/// Decides what is clipped and numbers the spaces.
void SpaceAnalysis::NumberAll() {
  for (size_t c = 0; c < parent_.size(); ++c) {
    const int root = Find(static_cast<int>(c));
    if (numbers_.count(root)) continue;
    if (!MayClip(root)) {
      numbers_[root] = SpaceOf(extents_[static_cast<size_t>(root)]);
      continue;
    }
    // Outputs first: their part inside the array is what counts.
    const std::vector<Member>& members = members_[root];
    const Member* best = &members[0];
    for (const Member& m : members) {
      if (kernel_.refs[static_cast<size_t>(m.ref)].role == Role::kOutput) best = &m;
    }
    numbers_[root] = static_cast<int>(spaces_.size());
    spaces_.push_back({extents_[static_cast<size_t>(root)], true, best->ref, best->view_axis});
  }
  for (Classes& classes : refs_) classes = Number(classes);
  for (Classes& classes : locals_) classes = Number(classes);
}

int SpaceAnalysis::SpaceOf(const Size& extent) {
  const auto [it, added] =
      by_extent_.try_emplace(extent.ToString(), static_cast<int>(spaces_.size()));
  if (added) spaces_.push_back({extent, false, -1, -1});
  return it->second;
}

std::vector<int> SpaceAnalysis::Number(const Classes& classes) {
  std::vector<int> numbers;
  for (int c : classes) numbers.push_back(c < 0 ? -1 : numbers_.at(Find(c)));
  return numbers;
}

std::vector<int> SpaceAnalysis::SpacesOf(const Node& node) {
  const auto known = nodes_.find(&node);
  if (known != nodes_.end()) return Number(known->second);
  std::vector<int> spaces;
  for (const Size& extent : node.shape) spaces.push_back(extent.IsOne() ? -1 : SpaceOf(extent));
  return spaces;
}

}  // namespace kiln
