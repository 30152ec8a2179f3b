#include "generator/planner/fuse/hoist.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/names.h"

namespace kiln {
namespace {

/// Variables that change within the stage.
std::set<VariableId> AssignedIn(const Stage& stage) {
  std::set<VariableId> variables;
  ForEachStage({stage}, [&](const Stage& s) {
    if (const auto* assign = As<stage::Assign>(s)) variables.insert(assign->variable);
  });
  return variables;
}

class Hoisting {
 public:
  explicit Hoisting(Plan& plan) : plan_(plan) {}

  /// A list of stages that follow each other, within the loops and after the definitions so far.
  void Run(Stages& stages) {
    const std::vector<Named> named_outside = named_;
    const std::set<VariableId> visible_outside = visible_;
    for (size_t i = 0; i < stages.size(); ++i) {
      assigned_ = AssignedIn(stages[i]);
      written_ = WrittenIn(stages[i]);
      std::erase_if(named_, [&](const Named& n) { return !IsFixed(n.value, true); });
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
    VariableId variable;
  };

  /// When an expression is evaluated, as seen from in front of a stage of the list.
  struct When {
    bool surely = true;  // whatever the data
    bool often = false;  // once an iteration of a loop of the stage
  };

  // ---- lists ------------------------------------------------------------------------------------

  /// What stands in the stage, and what it leaves to those after it.
  void Enter(Stage& stage) {
    using namespace stage;
    Match(
        stage,
        [&](stage::Loop& s) {
          loops_.insert(s.loop);
          Run(s.body);
          loops_.erase(s.loop);
        },
        [&](If& s) {
          Run(s.body);
          Run(s.orelse);
        },
        [&](For& s) {
          visible_.insert(s.variable);
          Run(s.body);
          visible_.erase(s.variable);
        },
        [&](While& s) {
          visible_.insert(s.turn);
          Run(s.before);
          Run(s.body);
          visible_.erase(s.turn);
        },
        [&](Define& s) {
          visible_.insert(s.variable);
          if (IsHostRead(*s.value) && !plan_[s.variable].changes)
            named_.push_back({s.value, s.variable});
        },
        [&](Reduce& s) {
          for (const Fold& fold : s.folds) visible_.insert(fold.variable);
        },
        [](OneOf<Lanes, Rows, EachRow, AtEdges, Assign, Store, Dot, Tap, Pack, Along, Request,
                 Assert, Range, Touch, Copy, Wait> auto&) {});
  }

  void Rewrite(Stage& stage, When when) {
    span_ = stage.span;
    // The statements of a reduction are those of its lanes, as its value is; what is computed
    // before the condition of a `while` belongs to it.
    const bool lists_first = Is<stage::Reduce, stage::While>(stage);
    const bool guards = Is<stage::If, stage::For, stage::While>(stage);
    const When own{when.surely, when.often || lists_first};
    const When inside{when.surely && !guards, true};
    if (lists_first) RewriteLists(stage, inside);
    if (auto* define = As<stage::Define>(stage)) return RewriteDefinition(*define, own);
    if (auto* dot = As<stage::Dot>(stage)) {
      // A tile begins once an iteration.
      dot->low = Whole(dot->low, own);
      dot->high = Whole(dot->high, own);
      dot->start = Whole(dot->start, inside);
    } else {
      ForEachPart(stage,
                  Overloaded{[&](ElementPtr& e) { e = Whole(e, own); },
                             [&](Place& place, Access) { RewriteOffsets(place, own); }, Ignore()});
    }
    ForEachPart(stage, Overloaded{[&](Prefetch& prefetch) {
                                    RewriteOffsets(prefetch.place,
                                                   {.surely = false, .often = true});
                                  },
                                  Ignore()});
    if (!lists_first) RewriteLists(stage, inside);
  }

  void RewriteLists(Stage& stage, When inside) {
    ForEachList(stage, [&](Stages& list) {
      for (Stage& s : list) Rewrite(s, inside);
      std::erase_if(list, [&](const Stage& s) {
        const auto* define = As<stage::Define>(s);
        return define && moved_.count(define->variable);
      });
    });
  }

  /// A definition names its value by itself; if all of it moves, it moves under its name.
  void RewriteDefinition(stage::Define& define, When when) {
    const Variable variable = plan_[define.variable];
    if (!when.often) {
      define.value = Parts(define.value, when);
      return;
    }
    define.value = Whole(define.value, when, variable.name);
    const auto* named = As<element::Named>(define.value);
    const bool moves =
        named && IsFixed(define.value) && !plan_[named->variable].changes && !variable.changes;
    if (moves) moved_[define.variable] = define.value;
  }

  void RewriteOffsets(Place& place, When when) {
    for (Coordinate& c : place.at) {
      c.offset = Whole(c.offset, when);
      if (c.offset && when.surely && when.often) c.offset = NamedIndex(c.offset);
    }
  }

  /// An index that is read from memory is read once, where the stage does not change it.
  ElementPtr NamedIndex(const ElementPtr& offset) {
    const Place* read = nullptr;
    ForEachLoad(offset, [&](const Place& place) { read = &place; });
    if (!read || !IsFixed(offset, /*read_too=*/true)) return offset;
    if (const ElementPtr known = Known(offset)) return known;
    const Ref* ref = plan_.RefOf(read->buffer);
    return Name(offset, ref ? Singular(ref->name) : "chosen");
  }

  // ---- expressions ------------------------------------------------------------------------------

  ElementPtr Whole(const ElementPtr& e, When when, const std::string& name = "") {
    return e ? WorthNaming(Rewritten(e, when), when, name) : e;
  }

  ElementPtr Rewritten(const ElementPtr& e, When when) {
    const auto* named = As<element::Named>(e);
    if (named && moved_.count(named->variable)) return moved_.at(named->variable);
    ElementPtr now = Parts(e, when);
    if (const ElementPtr known = Known(now)) return known;
    if (when.surely && IsHostRead(*now) && IsFixed(now)) return Name(now, Singular(ArrayOf(*now)));
    return now;
  }

  /// The same with names for what it is made of.
  ElementPtr Parts(const ElementPtr& e, When when) {
    Element copy = *e;
    auto* load = std::get_if<element::Load>(&copy.what);
    if (load) RewriteOffsets(load->place, when);
    auto* operation = std::get_if<element::Operation>(&copy.what);
    if (!operation) return std::make_shared<const Element>(copy);
    std::vector<ElementPtr>& args = operation->args;
    const auto part = [&](size_t k) {
      return When{when.surely && (k == 0 || !IsLazy(*e)), when.often};
    };
    for (size_t k = 0; k < args.size(); ++k) args[k] = Rewritten(args[k], part(k));
    const auto whole = std::make_shared<const Element>(copy);
    if (IsFixed(whole, /*read_too=*/true)) return whole;  // as a whole, if at all
    for (size_t k = 0; k < args.size(); ++k) args[k] = WorthNaming(args[k], part(k));
    return std::make_shared<const Element>(copy);
  }

  ElementPtr WorthNaming(const ElementPtr& e, When when, const std::string& name = "") {
    const bool worth =
        when.surely && when.often && IsWorthAName(e) && IsFixed(e, /*read_too=*/true);
    if (!worth) return e;
    const ElementPtr known = Known(e);
    return known ? known : Name(e, name.empty() ? NameOf(*e) : name);
  }

  ElementPtr Known(const ElementPtr& e) const {
    for (const Named& n : named_) {
      if (SameElement(n.value, e)) return NamedElement(plan_, n.variable);
    }
    return nullptr;
  }

  ElementPtr Name(const ElementPtr& value, const std::string& name) {
    const VariableId variable = plan_.variables.Add({name, value->dtype, false});
    visible_.insert(variable);
    named_.push_back({value, variable});
    defines_.push_back({span_, stage::Define{variable, value}});
    return NamedElement(plan_, variable);
  }

  std::set<BufferId> WrittenIn(const Stage& stage) const {
    std::set<BufferId> written;
    ForEachPlace(stage, [&](const Place& place, bool writes) {
      if (writes) written.insert(RootOf(plan_, place.buffer));
    });
    return written;
  }

  /// Whether nothing in the stage at hand writes to the buffer, under whatever name.
  bool IsUnchanged(BufferId buffer) const {
    const Ref* ref = plan_.RefOf(buffer);
    const bool shared = ref && plan_.kernel->BorrowerOf(plan_[buffer].ref.number()) >= 0;
    return !shared && (!ref || ref->alias < 0) && written_.count(RootOf(plan_, buffer)) == 0;
  }

  /// Whether the value is the same through the whole of the stage at hand. `read_too`: though it
  /// be read from memory that others could change.
  bool IsFixed(const ElementPtr& root, bool read_too = false) const {
    bool fixed = true;
    ForEachElement(root, [&](const Element& e) {
      if (const auto* iteration = As<element::Iteration>(e))
        fixed = fixed && loops_.count(iteration->loop);
      if (const auto* named = As<element::Named>(e)) fixed = fixed && StaysAsItIs(named->variable);
      const Place* place = LoadedBy(e);
      if (!place) return;
      fixed = fixed && (IsHostRead(e) || (read_too && IsUnchanged(place->buffer))) &&
              std::all_of(place->at.begin(), place->at.end(),
                          [&](const Coordinate& c) { return !c.loop || loops_.count(c.loop); });
    });
    return fixed;
  }
  bool StaysAsItIs(VariableId variable) const {
    return visible_.count(variable) && !assigned_.count(variable);
  }

  const std::string& ArrayOf(const Element& load) const {
    return plan_.RefOf(LoadedBy(load)->buffer)->name;
  }
  bool IsHostRead(const Element& e) const {
    const Place* place = LoadedBy(e);
    const Ref* ref = place ? plan_.RefOf(place->buffer) : nullptr;
    return ref && ref->role == Role::kPrefetch;
  }

  Plan& plan_;
  std::set<LoopId> loops_;        // around the list
  std::set<VariableId> visible_;  // variables that the list may use
  std::vector<Named> named_;
  // Variables whose definition has moved, and what they are now.
  std::map<VariableId, ElementPtr> moved_;
  // Of the stage at hand.
  std::set<VariableId> assigned_;  // variables that change within it
  std::set<BufferId> written_;     // roots of the buffers that change within it
  Stages defines_;                 // to go in front of it
  Span span_;
};

bool Tests(const Element& e) {
  const auto* operation = As<element::Operation>(e);
  return operation && IsComparison(operation->op);
}

const std::vector<ElementPtr>& ArgsOf(const Element& e) { return As<element::Operation>(e)->args; }

/// The middle of a chain of comparisons within `e`, if it is more than a name.
ElementPtr MiddleIn(const ElementPtr& e) {
  const auto* operation = As<element::Operation>(e);
  if (!operation) return nullptr;
  const std::vector<ElementPtr>& args = operation->args;
  if (operation->op == Op::kBitAnd && e->dtype == DType::kBool) {
    const auto* both = AsOp(*args[0], Op::kBitAnd);
    const Element &left = both ? *both->args[1] : *args[0], &right = *args[1];
    if (Tests(left) && Tests(right)) {
      const ElementPtr& middle = ArgsOf(left)[1];
      if (Is<element::Operation>(*middle) && SameElement(middle, ArgsOf(right)[0])) return middle;
    }
  }
  for (size_t k = 0; k < args.size(); ++k) {
    if (k > 0 && IsLazy(*e)) break;
    if (const ElementPtr middle = MiddleIn(args[k])) return middle;
  }
  return nullptr;
}

/// What a statement of its own computes; a middle within it gets a name in front.
ElementPtr* ValueOf(Stage& stage) {
  using namespace stage;
  return Match(
      stage, [](OneOf<Define, Assign, Store> auto& s) { return &s.value; },
      [](OneOf<If, Assert> auto& s) { return &s.condition; }, [](Range& s) { return &s.start; },
      [](OneOf<Copy, Wait> auto& s) {
        std::vector<ElementPtr>& at = s.on.at;
        const auto found = std::find_if(at.begin(), at.end(), MiddleIn);
        return found == at.end() ? nullptr : &*found;
      },
      // The lanes of a reduction are its alone, and a condition of turns is theirs.
      [](OneOf<stage::Loop, Lanes, Rows, EachRow, AtEdges, Reduce, Dot, Tap, Pack, Along, Request,
               For, While, Touch> auto&) { return static_cast<ElementPtr*>(nullptr); });
}

void NameMiddles(Plan& plan, Stages& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i], [&](Stages& list) { NameMiddles(plan, list); });
    const auto middle_of = [&]() -> ElementPtr {
      const ElementPtr* value = ValueOf(stages[i]);
      const auto* store = As<stage::Store>(stages[i]);
      const ElementPtr middle = value ? MiddleIn(*value) : nullptr;
      return middle || !store ? middle : MiddleIn(store->mask);
    };
    while (const ElementPtr middle = middle_of()) {
      bool in_array = false;
      ForEachElement(middle, [&](const Element& e) {
        const auto* edge = As<element::Edge>(e);
        in_array = in_array || (edge && edge->which == element::Edge::Which::kOrigin);
      });
      const VariableId variable =
          plan.variables.Add({in_array ? "coordinate" : "middle", middle->dtype, false});
      const Change name = [&](const ElementPtr& e) -> ElementPtr {
        return SameElement(e, middle) ? NamedElement(plan, variable) : nullptr;
      };
      ElementPtr& value = *ValueOf(stages[i]);
      value = Changed(value, name);
      if (auto* store = As<stage::Store>(stages[i])) store->mask = Changed(store->mask, name);
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(i),
                    {stages[i].span, stage::Define{variable, middle}});
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
