#include "generator/planner/decide/live_depth.h"

#include <algorithm>
#include <optional>

#include "generator/plan/walk.h"
#include "generator/planner/decide/mask_bounds.h"

namespace kiln {
namespace {

/// An operand that is packed from `where(low <= coordinate < high, input, 0)`.
struct Masked {
  stage::Pack* pack = nullptr;
  Place input;  // in the loops of the pack
  ElementPtr low, high;
};

class LiveDepths {
 public:
  explicit LiveDepths(const Plan& plan) : plan_(plan) {}

  void Run(Stages& body) {
    body_ = &body;
    unread_.clear();
    List(body);
    EraseUnread(body);
  }

 private:
  void List(Stages& stages) {
    for (Stage& stage : stages) {
      if (const auto* dot = As<stage::Dot>(stage))
        Dot(stages, *dot);
      else
        ForEachList(stage, [&](Stages& list) { List(list); });
    }
  }

  void Dot(Stages& list, const stage::Dot& dot) {
    const std::optional<Masked> a = MaskedOf(list, dot.a);
    const std::optional<Masked> b = MaskedOf(list, dot.b);
    if (!a || !b || !SameBound(a->low, b->low) || !SameBound(a->high, b->high)) {
      return;
    }
    for (const Masked* m : {&*a, &*b}) {
      unread_.push_back(m->pack->place.buffer);
      m->pack->place = m->input;
      m->pack->low = a->low;
      m->pack->high = a->high;
      m->pack->live = dot.a.panels;
    }
  }

  std::optional<Masked> MaskedOf(Stages& list, const PanelSource& source) const {
    if (!source.panels) return {};
    stage::Pack* pack = nullptr;
    for (Stage& s : list) {
      auto* own = As<stage::Pack>(s);
      if (own && own->panels == source.panels && !pack) pack = own;
    }
    if (!pack) return {};
    const stage::Store* store = OnlyStore(pack->place.buffer);
    const auto* where = store && !store->mask ? AsOp(*store->value, Op::kWhere) : nullptr;
    if (!where || !IsZero(*where->args[2])) return {};
    const Place* read = LoadedBy(*where->args[1]);
    if (!read || !IsInput(read->buffer)) return {};
    Masked masked;
    masked.pack = pack;
    masked.input = *read;
    if (!MoveToPack(*pack, store->place, &masked.input)) return {};
    const bool is_a = plan_[pack->panels].side == Side::kA;
    const LoopId depth = LoopOfDepth(store->place, pack->place, is_a ? pack->col : pack->row);
    if (!depth) return {};
    const MaskBounds bounds = BoundsOf(plan_, where->args[0], depth);
    if (!bounds.exact) return {};
    masked.low = bounds.low;
    masked.high = bounds.high;
    return masked;
  }

  bool IsInput(BufferId buffer) const {
    const Ref* ref = plan_.RefOf(buffer);
    return ref && ref->role == Role::kInput;
  }

  /// The store that gives a value its elements, if nothing but one pack reads them.
  const stage::Store* OnlyStore(BufferId buffer) const {
    if (!IsTemp(plan_, buffer) || plan_[buffer].same_as) return nullptr;
    const stage::Store* store = nullptr;
    int stores = 0, reads = 0;
    ForEachStage(*body_, [&](const Stage& s) {
      const auto* own = As<stage::Store>(s);
      if (!own || own->place.buffer != buffer) return;
      store = own;
      ++stores;
    });
    ForEachPlace(*body_,
                 [&](const Place& p, bool writes) { reads += p.buffer == buffer && !writes; });
    return stores == 1 && reads == 1 ? store : nullptr;
  }

  /// The loop of the store that runs over the dimension which the pack's `loop` runs over.
  static LoopId LoopOfDepth(const Place& store, const Place& pack, LoopId loop) {
    for (size_t d = 0; d < pack.at.size(); ++d) {
      if (pack.at[d].loop == loop) return store.at[d].loop;
    }
    return {};
  }

  /// Puts the pack's coordinates in place of the store's.
  static bool MoveToPack(const stage::Pack& pack, const Place& store, Place* input) {
    for (Coordinate& c : input->at) {
      if (!c.IsPlain()) return false;
      if (!c.loop) continue;
      const auto d = std::find_if(store.at.begin(), store.at.end(), [&](const Coordinate& at) {
        return at.loop == c.loop && at.IsPlain();
      });
      if (d == store.at.end()) return false;
      c = pack.place.at.begin()[d - store.at.begin()];
    }
    return true;
  }

  /// Whether two bounds are the same number: blocks that walk alike begin at the same coordinate.
  bool SameBound(const ElementPtr& a, const ElementPtr& b) const {
    if (!a || !b) return !a && !b;
    return SameElement(WithFirstOrigins(a), WithFirstOrigins(b));
  }
  ElementPtr WithFirstOrigins(const ElementPtr& bound) const {
    return Changed(bound, [&](const ElementPtr& e) -> ElementPtr {
      const auto* edge = As<element::Edge>(e);
      if (!edge || edge->which != element::Edge::Which::kOrigin) return nullptr;
      for (const RefId r : IdsOf(plan_.kernel->refs)) {
        if (r == edge->ref) break;
        for (size_t axis = 0; axis < (*plan_.kernel)[r].view_dims.size(); ++axis) {
          const element::Edge first{edge->which, r, axis};
          if (WalkAlike(first, *edge)) return MakeElement(e->dtype, first);
        }
      }
      return nullptr;
    });
  }
  bool WalkAlike(const element::Edge& edge_a, const element::Edge& edge_b) const {
    const BlockDim *a = DimOf(edge_a), *b = DimOf(edge_b);
    return a && b && a->size == b->size &&
           ToString(*a->index, *plan_.kernel) == ToString(*b->index, *plan_.kernel);
  }
  const BlockDim* DimOf(const element::Edge& edge) const {
    const Ref& ref = (*plan_.kernel)[edge.ref];
    if (ref.block.empty()) return nullptr;
    const BlockDim& dim = ref.DimOf(edge.axis);
    return dim.kind == BlockDim::Kind::kBlocked && dim.index ? &dim : nullptr;
  }

  /// Masked copies that the dots do without.
  void EraseUnread(Stages& stages) const {
    for (Stage& s : stages) ForEachList(s, [&](Stages& list) { EraseUnread(list); });
    std::erase_if(stages, [&](const Stage& s) {
      const auto* store = As<stage::Store>(s);
      return (store && std::count(unread_.begin(), unread_.end(), store->place.buffer) > 0) ||
             (IsNest(s) && BodyOf(s)->empty());
    });
  }

  const Plan& plan_;
  Stages* body_ = nullptr;
  std::vector<BufferId> unread_;
};

}  // namespace

void FindLiveDepths(Plan& plan) {
  LiveDepths depths(plan);
  for (BodyPlan& body : plan.bodies) depths.Run(body.stages);
}

}  // namespace kiln
