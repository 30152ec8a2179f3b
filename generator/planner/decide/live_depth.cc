#include "generator/planner/decide/live_depth.h"

#include <algorithm>
#include <optional>

#include "generator/plan/walk.h"
#include "generator/planner/decide/mask_bounds.h"

namespace kiln {
namespace {

using Kind = Element::Kind;

/// An operand that is packed from `where(low <= coordinate < high, input, 0)`.
struct Masked {
  Stage* pack = nullptr;
  Place input;  // in the loops of the pack
  ElementPtr low, high;
};

bool IsZero(const Element& e) {
  return e.kind == Kind::kConst && e.int_value == 0 && e.float_value == 0;
}

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
      if (stage.kind == Stage::Kind::kDot) {
        Dot(stages, stage);
        continue;
      }
      List(stage.body);
      List(stage.orelse);
    }
  }

  void Dot(Stages& list, const Stage& dot) {
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
    if (source.panels < 0) return {};
    const auto pack = std::find_if(list.begin(), list.end(), [&](const Stage& s) {
      return s.kind == Stage::Kind::kPack && s.panels == source.panels;
    });
    if (pack == list.end()) return {};
    const Stage* store = OnlyStore(pack->place.buffer);
    if (!store || store->mask || store->value->kind != Kind::kOp ||
        store->value->op != Op::kWhere || !IsZero(*store->value->args[2])) {
      return {};
    }
    const Element& read = *store->value->args[1];
    if (read.kind != Kind::kLoad || !IsInput(read.place.buffer)) return {};
    Masked masked;
    masked.pack = &*pack;
    masked.input = read.place;
    if (!MoveToPack(*pack, store->place, &masked.input)) return {};
    const bool is_a = plan_.panels[static_cast<size_t>(pack->panels)].side == Side::kA;
    const int depth = LoopOf(store->place, pack->place, is_a ? pack->pack_col : pack->pack_row);
    if (depth < 0) return {};
    const MaskBounds bounds = BoundsOf(plan_, store->value->args[0], depth);
    if (!bounds.exact) return {};
    masked.low = bounds.low;
    masked.high = bounds.high;
    return masked;
  }

  bool IsInput(int buffer) const {
    const int ref = plan_.buffers[static_cast<size_t>(buffer)].ref;
    return ref >= 0 && plan_.kernel->refs[static_cast<size_t>(ref)].role == Role::kInput;
  }

  /// The store that gives a value its elements, if nothing but one pack reads them.
  const Stage* OnlyStore(int buffer) const {
    const Buffer& b = plan_.buffers[static_cast<size_t>(buffer)];
    if (b.ref >= 0 || b.same_as >= 0) return nullptr;
    const Stage* store = nullptr;
    int stores = 0, reads = 0;
    ForEachStage(*body_, [&](const Stage& s) {
      if (s.kind != Stage::Kind::kStore || s.place.buffer != buffer) return;
      store = &s;
      ++stores;
    });
    ForEachPlace(*body_,
                 [&](const Place& p, bool writes) { reads += p.buffer == buffer && !writes; });
    return stores == 1 && reads == 1 ? store : nullptr;
  }

  /// The loop of the store that runs over the dimension which the pack's `loop` runs over.
  static int LoopOf(const Place& store, const Place& pack, int loop) {
    for (size_t d = 0; d < pack.at.size(); ++d) {
      if (pack.at[d].loop == loop) return store.at[d].loop;
    }
    return -1;
  }

  /// Puts the pack's coordinates in place of the store's.
  static bool MoveToPack(const Stage& pack, const Place& store, Place* input) {
    for (Coordinate& c : input->at) {
      if (c.offset || c.around) return false;
      if (c.loop < 0) continue;
      const auto d = std::find_if(store.at.begin(), store.at.end(), [&](const Coordinate& at) {
        return at.loop == c.loop && !at.offset && !at.around;
      });
      if (d == store.at.end()) return false;
      c = pack.place.at[static_cast<size_t>(d - store.at.begin())];
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
      if (e->kind != Kind::kOrigin) return nullptr;
      for (int r = 0; r < e->index; ++r) {
        for (int axis = 0; axis < Rank(r); ++axis) {
          if (!WalkAlike(r, axis, e->index, e->axis)) continue;
          auto first = std::make_shared<Element>(*e);
          first->index = r;
          first->axis = axis;
          return first;
        }
      }
      return nullptr;
    });
  }
  int Rank(int ref) const {
    return static_cast<int>(plan_.kernel->refs[static_cast<size_t>(ref)].view_dims.size());
  }
  bool WalkAlike(int ref_a, int axis_a, int ref_b, int axis_b) const {
    const BlockDim *a = DimOf(ref_a, axis_a), *b = DimOf(ref_b, axis_b);
    return a && b && a->size == b->size &&
           ToString(*a->index, *plan_.kernel) == ToString(*b->index, *plan_.kernel);
  }
  const BlockDim* DimOf(int ref, int axis) const {
    const Ref& r = plan_.kernel->refs[static_cast<size_t>(ref)];
    if (r.block.empty()) return nullptr;
    const BlockDim& dim = r.block[static_cast<size_t>(r.view_dims[static_cast<size_t>(axis)])];
    return dim.kind == BlockDim::Kind::kBlocked && dim.index ? &dim : nullptr;
  }

  /// Masked copies that the dots do without.
  void EraseUnread(Stages& stages) const {
    for (Stage& s : stages) {
      EraseUnread(s.body);
      EraseUnread(s.orelse);
    }
    std::erase_if(stages, [&](const Stage& s) {
      const bool nest = s.kind == Stage::Kind::kLoop || s.kind == Stage::Kind::kLanes;
      const bool unread =
          s.kind == Stage::Kind::kStore &&
          std::find(unread_.begin(), unread_.end(), s.place.buffer) != unread_.end();
      return unread || (nest && s.body.empty());
    });
  }

  const Plan& plan_;
  Stages* body_ = nullptr;
  std::vector<int> unread_;
};

}  // namespace

void FindLiveDepths(Plan& plan) {
  LiveDepths depths(plan);
  for (BodyPlan& body : plan.bodies) depths.Run(body.stages);
}

}  // namespace kiln
