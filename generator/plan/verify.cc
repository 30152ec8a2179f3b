#include "generator/plan/verify.h"

#include <algorithm>
#include <set>

#include "generator/plan/walk.h"

/// The passes before this one change loops, places and buffers independently of each other. Each
/// keeps what they agreed on; this looks at what is left, and shares no code with them.
namespace kiln {
namespace {

class Verifier {
 public:
  Verifier(const Plan& plan, const BodyPlan& body) : plan_(plan), name_(body.name) {}

  void Visit(const Stages& stages) {
    const std::set<int> variables = variables_;
    for (const Stage& stage : stages) Visit(stage);
    variables_ = variables;
  }

  const std::string& flaw() const { return flaw_; }

 private:
  using Kind = Stage::Kind;

  void Fail(const std::string& what) {
    if (!flaw_.empty()) return;
    flaw_ = what + (name_.empty() ? "" : ", in body " + name_);
  }

  void Visit(const Stage& stage) {
    // A dot's sums start in its tiles; a reduction's value comes after the statements of its body.
    const bool tiles = stage.kind == Kind::kDot, folds = stage.kind == Kind::kReduce;
    for (const ElementPtr& e : {stage.low, stage.high}) Look(e);
    if (tiles) {
      CheckPanels(stage.a, Side::kA, stage);
      CheckPanels(stage.b, Side::kB, stage);
    }
    const std::set<int> loops = loops_, variables = variables_;
    for (int loop : {stage.loop, stage.row, stage.col, stage.pack_row, stage.pack_col}) {
      if (loop >= 0) loops_.insert(loop);
    }
    Look(stage.start);
    if (tiles || stage.kind == Kind::kFor) variables_.insert(stage.variable);
    if (!folds) LookAtOwn(stage);
    if (folds) {
      for (const Stage& inner : stage.body) Visit(inner);
      LookAtOwn(stage);
    } else {
      Visit(stage.body);
      Visit(stage.orelse);
    }
    loops_ = loops;
    variables_ = variables;
    const bool defines = stage.kind == Kind::kDefine || folds;
    if (defines) variables_.insert(stage.variable);
    if (stage.kind == Kind::kAssign) CheckVariable(stage.variable);
  }

  /// What the stage itself computes, reads and writes.
  void LookAtOwn(const Stage& stage) {
    for (const ElementPtr& e : {stage.value, stage.mask}) Look(e);
    for (const Place* place : {&stage.place, &stage.from}) {
      for (const Coordinate& c : place->at) Look(c.offset);
    }
    if (stage.kind == Kind::kStore) CheckPlace(stage.place, "stores to", /*stores=*/true);
    if (stage.kind == Kind::kPack) CheckPlace(stage.place, "packs");
  }

  void Look(const ElementPtr& value) {
    ForEachElement(value, [&](const Element& e) {
      if (e.kind == Element::Kind::kLoad) CheckPlace(e.place, "reads");
      if (e.kind == Element::Kind::kLoop) CheckLoop(e.index);
      if (e.kind == Element::Kind::kVariable) CheckVariable(e.index);
    });
  }

  void CheckLoop(int loop) {
    if (!loops_.count(loop)) Fail("loop i" + std::to_string(loop) + " is used outside of it");
  }

  void CheckVariable(int variable) {
    if (variables_.count(variable)) return;
    Fail("`" + plan_.variables[static_cast<size_t>(variable)].name +
         "` is used where it is not defined");
  }

  void CheckPlace(const Place& place, const char* does, bool stores = false) {
    const Buffer& buffer = plan_.buffers[static_cast<size_t>(place.buffer)];
    const auto fail = [&](size_t d, const char* how) {
      Fail(std::string(does) + " `" + buffer.name + "` " + how + " along " + std::to_string(d));
    };
    if (place.at.size() != buffer.extents.size()) return fail(place.at.size(), "of another rank");
    for (size_t d = 0; d < place.at.size(); ++d) {
      const Coordinate& c = place.at[d];
      if (c.loop >= 0) CheckLoop(c.loop);
      if (d < buffer.dropped.size() && buffer.dropped[d]) continue;
      const int walked = c.loop < 0 ? -1 : plan_.loops[static_cast<size_t>(c.loop)];
      const int own = buffer.spaces[d];
      const bool clipped = own >= 0 && plan_.spaces[static_cast<size_t>(own)].clipped;
      if (clipped && (walked != own || c.offset || c.around)) return fail(d, "past its edge");
      const bool stops = walked >= 0 && plan_.spaces[static_cast<size_t>(walked)].clipped;
      if (stores && stops && walked != own) return fail(d, "only up to another's edge");
      // Under an offset, and where only a call tells extents apart, a stage of its own checks.
      if (walked < 0 || c.offset || c.around) continue;
      const Size rest = buffer.extents[d] - plan_.spaces[static_cast<size_t>(walked)].extent;
      if (rest.Constant() && *rest.Constant() < 0) return fail(d, "by a loop of a larger extent");
    }
  }

  /// The tiles of a dot walk as many rows and columns as its panels have.
  void CheckPanels(const PanelSource& source, Side side, const Stage& dot) {
    if (source.ref < 0) return;
    const std::vector<int>& spaces = plan_.buffers[static_cast<size_t>(source.ref)].spaces;
    const size_t rank = spaces.size();
    const bool is_a = side == Side::kA;
    const int outer = plan_.loops[static_cast<size_t>(is_a ? dot.row : dot.col)];
    const int of_outer = is_a == source.transposed ? spaces[rank - 1] : spaces[rank - 2];
    const int of_depth = is_a == source.transposed ? spaces[rank - 2] : spaces[rank - 1];
    if ((of_outer >= 0 && of_outer != outer) || (of_depth >= 0 && of_depth != dot.depth)) {
      Fail("multiplies panels of `" + plan_.buffers[static_cast<size_t>(source.ref)].name +
           "` over other extents than theirs");
    }
  }

  const Plan& plan_;
  const std::string name_;
  std::set<int> loops_, variables_;  // in scope
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
