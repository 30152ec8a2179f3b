#include "generator/planner/rewrite/neighbours.h"

#include "generator/ir/tile_node.h"
#include "generator/planner/analyze/nodes.h"
#include "generator/planner/analyze/regroup.h"
#include "generator/planner/rewrite/joined_shapes.h"

namespace kiln {

Neighbours::Neighbours(const Kernel& kernel) : kernel_(kernel) {
  for (const Ref& ref : kernel.refs) refs_.push_back(FreshOf(ref));
  for (const Local& local : kernel.locals) locals_.push_back(Fresh(local.shape));
  Visit(kernel.body);
  Visit(kernel.epilogue);
  for (const RefId r : IdsOf(kernel.refs))
    if (!named_.count(r)) BreakAll(refs_[r]);
}

size_t Neighbours::NewBond(bool breaks) {
  parent_.push_back(parent_.size());
  broken_.push_back(breaks);
  return parent_.size() - 1;
}

size_t Neighbours::Root(size_t bond) const {
  while (parent_[bond] != bond) bond = parent_[bond];
  return bond;
}

void Neighbours::Tie(size_t a, size_t b) {
  a = Root(a), b = Root(b);
  broken_[a] = broken_[a] || broken_[b];
  parent_[b] = a;
}

void Neighbours::BreakAll(const Bonds& bonds) {
  for (const size_t bond : bonds) Break(bond);
}

Neighbours::Bonded Neighbours::Hold(const Bonds& bonds) const {
  Bonded hold;
  for (const size_t bond : bonds) hold.push_back(!broken_[Root(bond)]);
  return hold;
}

/// Whether a subscript takes elements side by side that are in range in every call.
bool Neighbours::IsRun(const Subscript& s, const Size& extent) const {
  if (!s.range || s.stride != 1 || s.count || !s.start) return false;
  const Size start = SizeOf(s.start, kernel_);
  const Node* const atom = start.AsAtom();
  const std::optional<int64_t> left = (extent - start - s.size).Constant();
  return left && *left >= 0 &&
         (start.Constant().value_or(-1) >= 0 || (atom && atom->op == Op::kDim));
}

/// A dimension of one element is none to join, but two of them are broadcast together.
Neighbours::Bonds Neighbours::Fresh(const Shape& shape) {
  Bonds bonds;
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    const bool is_empty = shape[d].Constant() == 0 || shape[d + 1].Constant() == 0;
    bonds.push_back(NewBond(is_empty || shape[d].IsOne() != shape[d + 1].IsOne()));
  }
  return bonds;
}

/// Of an array blocks have both dimensions whole, so that nothing is left to decide about them. A
/// matrix may be a part of a wider one, of whose rows a copy would have to be made.
Neighbours::Bonds Neighbours::FreshOf(const Ref& ref) {
  Bonds bonds = Fresh(ref.view);
  if (ref.role == Role::kScratch && ref.memory == Memory::kVmem && !IsPacked(ref.dtype))
    return bonds;
  const bool may = ref.memory == Memory::kVmem && !IsPacked(ref.dtype) && IsPipelined(ref) &&
                   ref.array.size() > 2;
  for (size_t d = 0; d < bonds.size(); ++d) {
    const bool follows =
        may && !ref.view[d].IsOne() && ref.view_dims[d + 1] == ref.view_dims[d] + 1;
    if (!follows || !IsWhole(ref, d) || !IsWhole(ref, d + 1)) Break(bonds[d]);
  }
  return bonds;
}

void Neighbours::Align(const Bonds& to, const Shape& shape, const Bonds& value,
                       const Shape& of_value) {
  const size_t missing = shape.size() - of_value.size();
  for (size_t d = 0; d < to.size(); ++d) {
    if (d + 1 < missing) continue;
    if (d >= missing)
      Tie(to[d], value[d - missing]);  // of which one is broken that has one of the two
    else if (!of_value[d + 1 - missing].IsOne() || shape[d + 1].IsOne())
      Break(to[d]);
  }
}

void Neighbours::Follow(const Bonds& to, const std::vector<size_t>& of_from, const Bonds& from,
                        const std::vector<bool>& is_run, const std::vector<bool>& is_kept) {
  std::vector<bool> follows(from.size());
  for (size_t d = 0; d < to.size(); ++d) {
    const size_t first = of_from[d];
    if (of_from[d + 1] != first + 1 || !is_run[first] || !is_kept[first + 1]) {
      Break(to[d]);
      continue;
    }
    Tie(to[d], from[first]);
    follows[first] = true;
  }
  for (size_t d = 0; d < from.size(); ++d)
    if (!follows[d]) Break(from[d]);
}

Neighbours::Bonds Neighbours::Window(const Bonds& whole, const Shape& extents,
                                     const std::vector<Subscript>& subscripts, const Shape& shape) {
  if (subscripts.empty()) return whole;
  const Bonds bonds = Fresh(shape);
  std::vector<size_t> left;
  std::vector<bool> is_run, is_kept;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Subscript& s = subscripts[d];
    if (s.start) Visit(*s.start);
    if (s.count) Visit(*s.count);
    if (s.range) left.push_back(d);
    is_run.push_back(IsRun(s, extents[d]));
    is_kept.push_back(IsWholeRange(s, extents[d]));
  }
  Follow(bonds, left, whole, is_run, is_kept);
  return bonds;
}

const Neighbours::Bonds& Neighbours::Visit(const Node& node) {
  const auto known = nodes_.find(&node);
  if (known != nodes_.end()) return known->second;
  for (const NodePtr& arg : node.args) Visit(*arg);
  return nodes_[&node] = Compute(node);
}

Neighbours::Bonds Neighbours::Compute(const Node& node) {
  if (IsElementwise(node.op) || node.op == Op::kBroadcast || ClassOf(node.op) == OpClass::kLazy) {
    const Bonds bonds = Fresh(node.shape);
    for (const NodePtr& arg : node.args) Align(bonds, node.shape, nodes_.at(arg.get()), arg->shape);
    return bonds;
  }
  switch (node.op) {
    case Op::kRead: {
      const RefId ref(node.index);
      named_.insert(ref);
      return Window(refs_[ref], kernel_[ref].view, node.subscripts, node.shape);
    }
    case Op::kLocal:
      return node.index >= 0 ? locals_[LocalId(node.index)] : Fresh(node.shape);
    case Op::kSlice:
      return Window(nodes_.at(node.args[0].get()), node.args[0]->shape, node.subscripts,
                    node.shape);
    case Op::kReshape:
      return Reshaped(node);
    case Op::kTranspose: {
      const Bonds bonds = Fresh(node.shape);
      const std::vector<bool> all(node.axes.size(), true);
      Follow(bonds, {node.axes.begin(), node.axes.end()}, nodes_.at(node.args[0].get()), all, all);
      return bonds;
    }
    case Op::kIota:
    case Op::kRoll:
    case Op::kFlip:
    case Op::kConcat:
    case Op::kTakeAlong:
      return AlongAxes(node);
    case Op::kTake:
      return Taken(node);
    default:
      break;
  }
  const OpClass of = ClassOf(node.op);
  if (of == OpClass::kScan || of == OpClass::kOrder) return AlongAxes(node);
  if (IsFold(node.op) || (of == OpClass::kLocation && node.axes.size() == 1)) return Folded(node);
  // All else looks at each dimension by itself.
  if (node.op == Op::kInside || node.op == Op::kAt) BreakAll(refs_[RefId(node.index)]);
  for (const NodePtr& arg : node.args) BreakAll(nodes_.at(arg.get()));
  const Bonds bonds = Fresh(node.shape);
  BreakAll(bonds);
  return bonds;
}

/// Both of a pair are folded, or none.
Neighbours::Bonds Neighbours::Folded(const Node& node) {
  const Bonds& arg = nodes_.at(node.args[0].get());
  const Bonds bonds = Fresh(node.shape);
  size_t at = 0;  // of the result
  for (size_t d = 0; d < arg.size(); ++d) {
    const bool first = HasAxis(node, d), second = HasAxis(node, d + 1);
    if (first != second) Break(arg[d]);
    const bool stays = node.keep || !first;
    if (stays && at < bonds.size()) {
      const bool is_pair = node.keep || !second;
      if (is_pair)
        Tie(bonds[at], arg[d]);
      else
        Break(bonds[at]);
    }
    at += stays;
  }
  return bonds;
}

/// Groups of dimensions that are one in the other shape may be one in both. Others keep what they
/// are.
Neighbours::Bonds Neighbours::Reshaped(const Node& node) {
  const Shape &from = node.args[0]->shape, &to = node.shape;
  const Bonds& arg = nodes_.at(node.args[0].get());
  const Bonds bonds = Fresh(to);
  const auto both_one = [](const Shape& shape, size_t d) {
    return shape[d].IsOne() && shape[d + 1].IsOne();
  };
  std::vector<bool> free_from(arg.size()), free_to(bonds.size());
  for (size_t d = 0; d < arg.size(); ++d) free_from[d] = both_one(from, d);
  for (size_t d = 0; d < bonds.size(); ++d) free_to[d] = both_one(to, d);
  const auto free_within = [](const std::vector<size_t>& dims, const Shape& shape,
                              const Size& product, std::vector<bool>& is_free) {
    Shape part;
    for (const size_t d : dims) part.push_back(shape[d]);
    if (!(Product(part) == product)) return;
    for (size_t k = 0; k + 1 < dims.size(); ++k)
      if (dims[k + 1] == dims[k] + 1) is_free[dims[k]] = true;
  };
  const std::vector<Group> groups = GroupsOf(from, to);
  for (size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    if (group.to.size() == 1) free_within(group.from, from, to[group.to[0]], free_from);
    if (group.from.size() == 1) free_within(group.to, to, from[group.from[0]], free_to);
    if (g + 1 == groups.size()) break;
    const size_t a = group.from.back(), b = group.to.back();
    const Group& next = groups[g + 1];
    const bool stay = group.from.size() == 1 && group.to.size() == 1 && next.from.size() == 1 &&
                      next.to.size() == 1;
    if (!stay || next.from[0] != a + 1 || next.to[0] != b + 1) continue;
    Tie(bonds[b], arg[a]);
    free_from[a] = free_to[b] = true;
  }
  for (size_t d = 0; d < arg.size(); ++d)
    if (!free_from[d]) Break(arg[d]);
  for (size_t d = 0; d < bonds.size(); ++d)
    if (!free_to[d]) Break(bonds[d]);
  return bonds;
}

/// Dimensions stay what they are; what is along an axis needs it by itself. But values one after
/// the other along an axis are so with those behind it, too.
Neighbours::Bonds Neighbours::AlongAxes(const Node& node) {
  const Bonds bonds = Fresh(node.shape);
  for (size_t d = 0; d < bonds.size(); ++d) {
    for (const NodePtr& arg : node.args)
      if (!arg->shape.empty()) Tie(bonds[d], nodes_.at(arg.get())[d]);
    const bool is_along = HasAxis(node, d) && node.op != Op::kConcat;
    if (is_along || HasAxis(node, d + 1)) Break(bonds[d]);
  }
  return bonds;
}

/// Those of the indices are where the axis was.
Neighbours::Bonds Neighbours::Taken(const Node& node) {
  const Bonds &from = nodes_.at(node.args[0].get()), &ids = nodes_.at(node.args[1].get());
  const Bonds bonds = Fresh(node.shape);
  BreakAll(ids);
  const auto axis = static_cast<size_t>(node.axes[0]);
  const size_t taken = node.args[1]->shape.size();
  std::vector<bool> follows(bonds.size());
  for (size_t d = 0; d < from.size(); ++d) {
    if (d == axis || d + 1 == axis) {
      Break(from[d]);
      continue;
    }
    const size_t at = d < axis ? d : d + taken - 1;
    Tie(bonds[at], from[d]);
    follows[at] = true;
  }
  for (size_t d = 0; d < bonds.size(); ++d)
    if (!follows[d]) Break(bonds[d]);
  return bonds;
}

void Neighbours::Visit(const Actions& actions) {
  ForEachAction(actions, [&](const Action& action) {
    ForEachExpression(action, [&](const Node& node) { Visit(node); });
    if (const auto* define = As<action::Define>(action)) {
      const LocalId local(define->local);
      Align(locals_[local], kernel_[local].shape, nodes_.at(define->value.get()),
            define->value->shape);
    }
    if (const auto* store = As<action::Store>(action)) VisitStore(*store);
    if (const auto* copy = As<action::Copy>(action)) {
      BreakAll(refs_[RefId(copy->source.ref)]);
      BreakAll(refs_[RefId(copy->target.ref)]);
    }
    const auto* wait = As<action::Wait>(action);
    if (wait && wait->window) BreakAll(refs_[RefId(wait->window->ref)]);
  });
}

void Neighbours::VisitStore(const action::Store& store) {
  const RefId ref(store.ref);
  const LocalId local(store.local);
  if (ref) named_.insert(ref);
  const Bonds whole = ref ? refs_[ref] : locals_[local];
  const Shape& extents = ref ? kernel_[ref].view : kernel_[local].shape;
  const Bonds target = Window(whole, extents, store.subscripts, store.shape);
  for (const NodePtr& value : {store.value, store.mask})
    if (value) Align(target, store.shape, nodes_.at(value.get()), value->shape);
}

}  // namespace kiln
