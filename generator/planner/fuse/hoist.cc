#include "generator/planner/fuse/hoist.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

using Kind = Element::Kind;

bool IsLazy(const Element& e) { return e.kind == Kind::kOp && ClassOf(e.op) == OpClass::kLazy; }

bool Divides(Op op) { return op == Op::kDiv || IsQuotient(op); }

/// Whether computing the element again for every vector costs more than a register.
bool IsCostly(const Element& e) {
  if (e.kind != Kind::kOp) return false;
  const bool joins = e.dtype == DType::kBool && (e.op == Op::kBitAnd || e.op == Op::kBitOr);
  return RowOf(e.op).cpu != CpuCost::kFast || joins;
}

bool HasCostly(const ElementPtr& e) {
  bool costly = false;
  ForEachElement(e, [&](const Element& x) { costly = costly || IsCostly(x); });
  return costly;
}

std::string NameOf(const Element& value) {
  if (value.dtype == DType::kBool) return "holds";
  if (value.kind == Kind::kOp && Divides(value.op)) return "quotient";
  return "fixed";
}

/// One element of `offsets` is an offset.
std::string Singular(const std::string& array) {
  const size_t n = array.size();
  const bool plural = n > 2 && array[n - 1] == 's' && array[n - 2] != 's';
  return plural ? array.substr(0, n - 1) : array;
}

void CollectAssigned(const Stage& stage, std::set<int>& variables) {
  if (stage.kind == Stage::Kind::kAssign) variables.insert(stage.variable);
  for (const Stage& s : stage.body) CollectAssigned(s, variables);
  for (const Stage& s : stage.orelse) CollectAssigned(s, variables);
}

bool IsOfLanes(const Stage& stage) { return stage.kind == Stage::Kind::kReduce; }

class Hoisting {
 public:
  explicit Hoisting(Plan& plan) : plan_(plan) {}

  /// A list of stages that follow each other, within the loops and after the definitions so far.
  void Run(Stages& stages) {
    const std::vector<Named> named_outside = named_;
    const std::set<int> visible_outside = visible_;
    for (size_t i = 0; i < stages.size(); ++i) {
      assigned_.clear();
      CollectAssigned(stages[i], assigned_);
      std::erase_if(named_, [&](const Named& n) { return !IsFixed(n.value); });
      span_ = stages[i].span;
      defines_.clear();
      Rewrite(stages[i], {});
      const Stages defines = std::move(defines_);
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(i), defines.begin(),
                    defines.end());
      i += defines.size();
      Enter(stages[i]);
    }
    named_ = named_outside;
    visible_ = visible_outside;
  }

 private:
  struct Named {
    ElementPtr value;
    int variable;
  };

  /// When an expression is evaluated, as seen from in front of a stage of the list.
  struct When {
    bool surely = true;  // whatever the data
    bool often = false;  // once an iteration of a loop of the stage
  };

  // ---- lists ------------------------------------------------------------------------------------

  /// What stands in the stage, and what it leaves to those after it.
  void Enter(Stage& stage) {
    switch (stage.kind) {
      case Stage::Kind::kLoop:
        loops_.insert(stage.loop);
        Run(stage.body);
        loops_.erase(stage.loop);
        return;
      case Stage::Kind::kIf:
        Run(stage.body);
        return Run(stage.orelse);
      case Stage::Kind::kFor:
        visible_.insert(stage.variable);
        Run(stage.body);
        visible_.erase(stage.variable);
        return;
      case Stage::Kind::kDefine:
        visible_.insert(stage.variable);
        if (IsHostRead(*stage.value) && !VariableOf(stage.variable).changes)
          named_.push_back({stage.value, stage.variable});
        return;
      case Stage::Kind::kReduce:
        visible_.insert(stage.variable);
        return;
      case Stage::Kind::kLanes:
      case Stage::Kind::kRows:
      case Stage::Kind::kEachRow:
      case Stage::Kind::kAssign:
      case Stage::Kind::kStore:
      case Stage::Kind::kDot:
      case Stage::Kind::kPack:
      case Stage::Kind::kAssert:
      case Stage::Kind::kRange:
      case Stage::Kind::kTouch:
      case Stage::Kind::kCopy:
      case Stage::Kind::kWait:
        return;
    }
  }

  void Rewrite(Stage& stage, When when) {
    span_ = stage.span;
    When own = when, inside = when;
    inside.often = true;
    own.often = own.often || IsOfLanes(stage);
    const auto rewrite_lists = [&] {
      for (Stages* list : {&stage.body, &stage.orelse}) {
        for (Stage& s : *list) Rewrite(s, inside);
        std::erase_if(*list, [&](const Stage& s) {
          return s.kind == Stage::Kind::kDefine && moved_.count(s.variable);
        });
      }
    };
    const bool guards = stage.kind == Stage::Kind::kIf || stage.kind == Stage::Kind::kFor;
    inside.surely = inside.surely && !guards;
    const bool comes_after = stage.kind == Stage::Kind::kReduce;
    if (comes_after) rewrite_lists();
    if (stage.kind == Stage::Kind::kDefine)
      RewriteDefinition(stage, own);
    else
      stage.value = Whole(stage.value, own);
    for (ElementPtr* e : {&stage.mask, &stage.low, &stage.high}) *e = Whole(*e, own);
    stage.start = Whole(stage.start, inside);
    RewriteOffsets(stage.place, own);
    RewriteOffsets(stage.from, own);
    for (Prefetch& prefetch : stage.prefetches)
      RewriteOffsets(prefetch.place, {.surely = false, .often = true});
    if (!comes_after) rewrite_lists();
  }

  /// A definition names its value by itself; if all of it moves, it moves under its name.
  void RewriteDefinition(Stage& stage, When when) {
    const Variable variable = VariableOf(stage.variable);
    if (!when.often) {
      stage.value = Parts(stage.value, when);
      return;
    }
    stage.value = Whole(stage.value, when, variable.name);
    const bool moves = stage.value->kind == Kind::kVariable && IsFixed(stage.value) &&
                       !VariableOf(stage.value->index).changes && !variable.changes;
    if (moves) moved_[stage.variable] = stage.value;
  }

  void RewriteOffsets(Place& place, When when) {
    for (Coordinate& c : place.at) c.offset = Whole(c.offset, when);
  }

  // ---- expressions ------------------------------------------------------------------------------

  ElementPtr Whole(const ElementPtr& e, When when, const std::string& name = "") {
    return e ? WorthNaming(Rewritten(e, when), when, name) : e;
  }

  ElementPtr Rewritten(const ElementPtr& e, When when) {
    if (e->kind == Kind::kVariable && moved_.count(e->index)) return moved_.at(e->index);
    ElementPtr now = Parts(e, when);
    if (const ElementPtr known = Known(now)) return known;
    if (when.surely && IsHostRead(*now) && IsFixed(now)) return Name(now, Singular(ArrayOf(*now)));
    return now;
  }

  /// The same with names for what it is made of.
  ElementPtr Parts(const ElementPtr& e, When when) {
    auto copy = std::make_shared<Element>(*e);
    const auto part = [&](size_t k) {
      return When{when.surely && (k == 0 || !IsLazy(*e)), when.often};
    };
    for (size_t k = 0; k < e->args.size(); ++k) copy->args[k] = Rewritten(e->args[k], part(k));
    RewriteOffsets(copy->place, when);
    if (IsFixed(copy)) return copy;  // as a whole, if at all
    for (size_t k = 0; k < e->args.size(); ++k) copy->args[k] = WorthNaming(copy->args[k], part(k));
    return copy;
  }

  ElementPtr WorthNaming(const ElementPtr& e, When when, const std::string& name = "") {
    const bool worth = when.surely && when.often && HasCostly(e) && IsFixed(e);
    if (!worth) return e;
    const ElementPtr known = Known(e);
    return known ? known : Name(e, name.empty() ? NameOf(*e) : name);
  }

  ElementPtr Known(const ElementPtr& e) const {
    for (const Named& n : named_) {
      if (SameElement(n.value, e)) return VariableElement(n.variable);
    }
    return nullptr;
  }

  ElementPtr Name(const ElementPtr& value, const std::string& name) {
    plan_.variables.push_back({name, value->dtype, false});
    Stage define = StageOf(Stage::Kind::kDefine, span_);
    define.variable = static_cast<int>(plan_.variables.size()) - 1;
    define.value = value;
    visible_.insert(define.variable);
    named_.push_back({value, define.variable});
    defines_.push_back(define);
    return VariableElement(define.variable);
  }

  /// Whether the value is the same through the whole of the stage at hand.
  bool IsFixed(const ElementPtr& root) const {
    bool fixed = true;
    ForEachElement(root, [&](const Element& e) {
      if (e.kind == Kind::kLoop) fixed = fixed && loops_.count(e.index);
      if (e.kind == Kind::kVariable)
        fixed = fixed && visible_.count(e.index) && !assigned_.count(e.index);
      if (e.kind == Kind::kLoad) {
        fixed = fixed && IsHostRead(e) &&
                std::all_of(e.place.at.begin(), e.place.at.end(), [&](const Coordinate& c) {
                  return c.loop < 0 || loops_.count(c.loop);
                });
      }
    });
    return fixed;
  }

  const Ref* RefOf(const Element& load) const {
    const int ref = plan_.buffers[static_cast<size_t>(load.place.buffer)].ref;
    return ref < 0 ? nullptr : &plan_.kernel->refs[static_cast<size_t>(ref)];
  }
  const std::string& ArrayOf(const Element& load) const { return RefOf(load)->name; }
  bool IsHostRead(const Element& e) const {
    if (e.kind != Kind::kLoad) return false;
    const Ref* ref = RefOf(e);
    return ref && ref->role == Role::kPrefetch;
  }

  const Variable& VariableOf(int variable) const {
    return plan_.variables[static_cast<size_t>(variable)];
  }
  ElementPtr VariableElement(int variable) const {
    auto e = std::make_shared<Element>();
    e->kind = Kind::kVariable;
    e->dtype = VariableOf(variable).dtype;
    e->index = variable;
    return e;
  }

  Plan& plan_;
  std::set<int> loops_;    // around the list
  std::set<int> visible_;  // variables that the list may use
  std::vector<Named> named_;
  std::map<int, ElementPtr> moved_;  // variables whose definition has moved, and what they are now
  // Of the stage at hand.
  std::set<int> assigned_;  // variables that change within it
  Stages defines_;          // to go in front of it
  Span span_;
};

bool Tests(const Element& e) { return e.kind == Kind::kOp && IsComparison(e.op); }

/// The middle of a chain of comparisons within `e`, if it is more than a name.
ElementPtr MiddleIn(const ElementPtr& e) {
  if (!e || e->kind != Kind::kOp) return nullptr;
  if (e->op == Op::kBitAnd && e->dtype == DType::kBool) {
    const ElementPtr& left = e->args[0]->op == Op::kBitAnd ? e->args[0]->args[1] : e->args[0];
    const ElementPtr& right = e->args[1];
    const bool chain = Tests(*left) && Tests(*right) && left->args[1]->kind == Kind::kOp &&
                       SameElement(left->args[1], right->args[0]);
    if (chain) return left->args[1];
  }
  for (size_t k = 0; k < e->args.size(); ++k) {
    if (k > 0 && IsLazy(*e)) break;
    if (const ElementPtr middle = MiddleIn(e->args[k])) return middle;
  }
  return nullptr;
}

void NameMiddles(Plan& plan, Stages& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    NameMiddles(plan, stages[i].body);
    NameMiddles(plan, stages[i].orelse);
    if (IsOfLanes(stages[i])) continue;  // their lanes are theirs alone
    ElementPtr middle;
    while ((middle = MiddleIn(stages[i].value)) || (middle = MiddleIn(stages[i].mask))) {
      bool in_array = false;
      ForEachElement(middle,
                     [&](const Element& e) { in_array = in_array || e.kind == Kind::kOrigin; });
      plan.variables.push_back({in_array ? "coordinate" : "middle", middle->dtype, false});
      auto variable = std::make_shared<Element>();
      variable->kind = Kind::kVariable;
      variable->dtype = middle->dtype;
      variable->index = static_cast<int>(plan.variables.size()) - 1;
      const Change name = [&](const ElementPtr& e) -> ElementPtr {
        return SameElement(e, middle) ? variable : nullptr;
      };
      Stage define = StageOf(Stage::Kind::kDefine, stages[i].span);
      define.variable = variable->index;
      define.value = middle;
      stages[i].value = Changed(stages[i].value, name);
      stages[i].mask = Changed(stages[i].mask, name);
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(i), define);
      ++i;
    }
  }
}

}  // namespace

void HoistConstants(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Hoisting(plan).Run(body.stages);
}

void NameMiddles(Plan& plan) {
  for (BodyPlan& body : plan.bodies) NameMiddles(plan, body.stages);
}

}  // namespace kiln
