#include "generator/plan/verify.h"

#include <algorithm>
#include <set>
#include <utility>

#include "generator/plan/scaled.h"
#include "generator/plan/walk.h"

/// The passes before this one change loops, places and buffers independently of each other. Each
/// keeps what they agreed on; this looks at what is left, and shares no code with them.
namespace kiln {
namespace {

class Verifier {
 public:
  Verifier(const Plan& plan, const BodyPlan& body) : plan_(plan), name_(body.name) {}

  void Visit(const Stages& stages) {
    const std::set<VariableId> variables = variables_;
    for (const Stage& stage : stages) Visit(stage);
    variables_ = variables;
  }

  const std::string& flaw() const { return flaw_; }

 private:
  void Fail(const std::string& what) {
    if (!flaw_.empty()) return;
    flaw_ = what + (name_.empty() ? "" : ", in body " + name_);
  }

  /// What a loop adds up is no value before its end: no iteration stores what there is of it.
  void CheckSums(const stage::Loop& loop) {
    std::set<VariableId> begun;
    ForEachStage(loop.body, [&](const Stage& s) {
      const auto* assign = As<stage::Assign>(s);
      if (assign && variables_.count(assign->variable) > 0) begun.insert(assign->variable);
    });
    if (begun.empty()) return;
    const auto uses_begun = [&](const Stage& s) {
      bool uses = false;
      ForEachElement(s, [&](const Element& e) {
        const auto* named = As<element::Named>(e);
        uses = uses || (named && begun.count(named->variable) > 0);
      });
      return uses;
    };
    ForEachStage(loop.body, [&](const Stage& s) {
      const auto* define = As<stage::Define>(s);
      if (define && uses_begun(s)) begun.insert(define->variable);
      if (Is<stage::Store>(s) && uses_begun(s)) Fail("a loop stores a sum that is not complete");
    });
  }

  void Visit(const Stage& of) {
    using namespace stage;
    Match(
        of,
        [&](const stage::Loop& s) {
          CheckSums(s);
          Within({s.loop}, [&] { Visit(s.body); });
        },
        [&](const Lanes& s) { WithLanes(s.loop, [&] { Visit(s.body); }); },
        [&](const Rows& s) {
          std::vector<LoopId> rows = s.others;
          rows.push_back(s.loop);
          Within(rows, [&] { Visit(s.body); });
          Within({s.loop}, [&] { Visit(s.rest); });
        },
        [&](const EachRow& s) { Within({s.loop}, [&] { Visit(s.body); }); },
        [&](const AtEdges& s) {
          for (const EdgeWindow& window : s.around) {
            if (window.loop) CheckLoop(window.loop);
          }
          Visit(s.body);
        },
        [&](const Define& s) {
          Look(s.value);
          variables_.insert(s.variable);
        },
        [&](const Assign& s) {
          Look(s.value);
          CheckVariable(s.variable);
        },
        [&](const Store& s) {
          Look(s.value);
          Look(s.mask);
          for (const ElementPtr& behind : s.row) Look(behind);
          Look(s.place);
          CheckPlace(s.place, "stores to", /*stores=*/true);
          if (s.mask && lanes_) CheckNeighbours(s.place);
        },
        [&](const Reduce& s) {
          Within({s.loop}, [&] {
            // The values come after the statements of its body, and see their variables.
            const std::set<VariableId> variables = variables_;
            for (const Stage& inner : s.body) Visit(inner);
            for (const Fold& fold : s.folds) Look(fold.value);
            variables_ = variables;
          });
          for (const Fold& fold : s.folds) variables_.insert(fold.variable);
        },
        [&](const Dot& s) { VisitDot(s); }, [&](const Tap& s) { VisitTap(s); },
        [&](const Pack& s) {
          Look(s.low);
          Look(s.high);
          Within({s.row, s.col}, [&] {
            if (s.value) return VisitComputed(s);
            Look(s.place);
            CheckPlace(s.place, "packs");
          });
        },
        [&](const Along& s) {
          Within({s.loop, s.into, s.lines}, [&] {
            Look(s.from);
            Look(s.to);
            CheckPlace(s.from, "reads");
            CheckPlace(s.to, "stores to", /*stores=*/true);
            if (s.room) CheckPlace(*s.room, "stores to", /*stores=*/true);
          });
        },
        [&](const Request& s) { Look(s.by); },
        [&](const If& s) {
          Look(s.condition);
          Visit(s.body);
          Visit(s.orelse);
        },
        [&](const For& s) {
          Look(s.low);
          Look(s.high);
          With(s.variable, [&] { Visit(s.body); });
        },
        [&](const While& s) {
          Look(s.most);
          With(s.turn, [&] {
            for (const Stage& inner : s.before) Visit(inner);
            Look(s.condition);
            Visit(s.body);
          });
        },
        [&](const Assert& s) { Look(s.condition); },
        [&](const Range& s) {
          for (const ElementPtr& e : {s.start, s.size, s.extent}) Look(e);
        },
        [&](const Touch& s) {
          Look(s.window.begin);
          if (s.ahead) Look(s.ahead->begin);
        },
        [&](const Copy& s) {
          for (const ElementPtr& at : s.on.at) Look(at);
          Look(s.from);
          Look(s.to);
        },
        [&](const Wait& s) {
          for (const ElementPtr& at : s.on.at) Look(at);
          if (s.window) Look(*s.window);
        });
  }

  /// The value comes after the statements of its body, and sees their variables.
  void VisitComputed(const stage::Pack& pack) {
    const std::set<VariableId> variables = variables_;
    for (const Stage& inner : pack.body) Visit(inner);
    Look(pack.value);
    variables_ = variables;
    if (pack.scaled && !ScaledBy(plan_, pack)) Fail("what is scaled is no product of few bits");
  }

  /// Sums start in the tiles.
  void VisitDot(const stage::Dot& dot) {
    Look(dot.low);
    Look(dot.high);
    Look(dot.a);
    Look(dot.b);
    CheckPanels(dot.a, Side::kA, dot);
    CheckPanels(dot.b, Side::kB, dot);
    if (dot.gathered && plan_[dot.gathered].taps != dot.tap_count)
      Fail("gathers other taps than there is memory for");
    const stage::Dot* const outside = std::exchange(dot_, &dot);
    Visit(dot.taps);
    dot_ = outside;
    Within({dot.row, dot.col}, [&] {
      Look(dot.start);
      WithLanes(dot.col, [&] { With(dot.sum, [&] { Visit(dot.body); }); });
    });
  }

  /// The rows of a window are those of the dot, in the order of its loops.
  void VisitTap(const stage::Tap& tap) {
    if (!dot_) return Fail("a tap stands outside of its dot");
    const std::set<LoopId> outside = loops_;
    loops_.insert(tap.rows.begin(), tap.rows.end());
    loops_.insert(tap.depth);
    Look(tap.place);
    CheckPlace(tap.place, "taps");
    loops_ = outside;
    Look(tap.b);
    CheckPanels(tap.b, Side::kB, *dot_);
    Size rows = 1;
    for (const LoopId loop : tap.rows) rows = rows * plan_.SpaceOf(loop).extent;
    const bool same =
        rows == plan_.SpaceOf(dot_->row).extent && plan_[tap.depth].space == dot_->depth;
    if (!same)
      Fail("a window of `" + plan_[tap.place.buffer].name + "` has other extents than its dot");
  }

  template <typename Do>
  void Within(const std::vector<LoopId>& loops, const Do& look) {
    const std::set<LoopId> outside = loops_;
    loops_.insert(loops.begin(), loops.end());
    look();
    loops_ = outside;
  }
  template <typename Do>
  void WithLanes(LoopId loop, const Do& look) {
    const LoopId outside = std::exchange(lanes_, loop);
    Within({loop}, look);
    lanes_ = outside;
  }
  template <typename Do>
  void With(VariableId variable, const Do& look) {
    const std::set<VariableId> outside = variables_;
    variables_.insert(variable);
    look();
    variables_ = outside;
  }

  void Look(const ElementPtr& value) {
    ForEachElement(value, [&](const Element& e) {
      if (const Place* place = LoadedBy(e)) CheckPlace(*place, "reads");
      if (const auto* iteration = As<element::Iteration>(e)) CheckLoop(iteration->loop);
      if (const auto* named = As<element::Named>(e)) CheckVariable(named->variable);
    });
  }
  void Look(const PanelSource& source) {
    for (const ElementPtr& at : source.matrix) Look(at);
  }
  void Look(const Place& place) {
    for (const Coordinate& c : place.at) Look(c.offset);
  }

  void Look(const CopyWindow& window) {
    Look(window.begin);
    for (const CopyWindow::Dimension& dimension : window.dimensions) Look(dimension.count);
  }

  void CheckLoop(LoopId loop) {
    if (loops_.count(loop)) return;
    Fail("loop i" + std::to_string(loop.number()) + " is used outside of it");
  }

  void CheckVariable(VariableId variable) {
    if (variables_.count(variable)) return;
    Fail("`" + plan_[variable].name + "` is used where it is not defined");
  }

  /// Vectors are stored under a mask where their lanes are side by side.
  void CheckNeighbours(const Place& place) {
    if (AreNeighbours(plan_, place, lanes_)) return;
    Fail("stores under a mask to lanes of `" + plan_[place.buffer].name +
         "` that are no neighbours");
  }

  void CheckPlace(const Place& place, const char* does, bool stores = false) {
    const Buffer& buffer = plan_[place.buffer];
    const auto fail = [&](size_t d, const char* how) {
      Fail(std::string(does) + " `" + buffer.name + "` " + how + " along " + std::to_string(d));
    };
    if (place.at.size() != buffer.extents.size()) return fail(place.at.size(), "of another rank");
    for (size_t d = 0; d < place.at.size(); ++d) {
      const Coordinate& c = place.at[d];
      if (c.loop) CheckLoop(c.loop);
      if (d < buffer.dropped.size() && buffer.dropped[d]) continue;
      const SpaceId walked = c.loop ? plan_[c.loop].space : SpaceId();
      const SpaceId own = buffer.spaces[d];
      if (own && plan_[own].clipped && (walked != own || !c.IsPlain()))
        return fail(d, "past its edge");
      if (stores && walked && plan_[walked].clipped && walked != own)
        return fail(d, "only up to another's edge");
      // Under an offset, and where only a call can distinguish extents, a stage of its own checks.
      if (!walked || !c.IsPlain()) continue;
      const Size rest = buffer.extents[d] - plan_[walked].extent;
      if (rest.Constant() && *rest.Constant() < 0) return fail(d, "by a loop of a larger extent");
    }
  }

  /// The tiles of a dot walk as many rows and columns as its panels have.
  void CheckPanels(const PanelSource& source, Side side, const stage::Dot& dot) {
    if (!source.ref) return;
    const Buffer& buffer = plan_[BufferOf(source.ref)];
    const std::vector<SpaceId>& spaces = buffer.spaces;
    const size_t rank = spaces.size();
    const bool is_a = side == Side::kA;
    const SpaceId outer = plan_[is_a ? dot.row : dot.col].space;
    const SpaceId of_outer = is_a == source.transposed ? spaces[rank - 1] : spaces[rank - 2];
    const SpaceId of_depth = is_a == source.transposed ? spaces[rank - 2] : spaces[rank - 1];
    if ((of_outer && of_outer != outer) || (of_depth && of_depth != dot.depth))
      Fail("multiplies panels of `" + buffer.name + "` over other extents than theirs");
  }

  const Plan& plan_;
  const std::string name_;
  const stage::Dot* dot_ = nullptr;  // around a tap
  // In scope.
  std::set<LoopId> loops_;
  LoopId lanes_;  // whose iterations are computed by vectors
  std::set<VariableId> variables_;
  std::string flaw_;
};

}  // namespace

std::string FlawOf(const Plan& plan) {
  for (const BodyPlan& body : plan.bodies) {
    Verifier verifier(plan, body);
    verifier.Visit(body.stages);
    if (!verifier.flaw().empty()) return verifier.flaw();
  }
  return "";
}

}  // namespace kiln
