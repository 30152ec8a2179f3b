// Stores: every output is stored whole in each of its stays, and nothing is read before it is set.
#include <algorithm>

#include "tests/random/make/maker.h"

namespace kiln::soak {
namespace {

std::string ConjunctionOf(const char* function, const std::vector<AxisInfo>& axes, size_t from) {
  std::string text;
  for (size_t a = from; a < axes.size(); ++a)
    text += (text.empty() ? "" : " and ") + (function + ("(" + axes[a].name + ")"));
  return text;
}

}  // namespace

/// `first(j) and first(l)` of the axes from that one on; empty if there are none.
std::string Maker::FirstOf(size_t from) { return ConjunctionOf("first", axes_, from); }
std::string Maker::LastOf(size_t from) { return ConjunctionOf("last", axes_, from); }

/// A value for part of a ref: of `shape`, which broadcasts, with no edges but the ref's own.
Value Maker::ValueFor(const RefInfo& ref, const Extents& shape,
                      const std::vector<std::string>& edges, int depth) {
  if (!ref.loose) ++need_same_;
  Value value = Reduced(ref.dtype, shape, depth).value_or(Make(ref.dtype, shape, depth));
  if (!ref.loose) --need_same_;
  const size_t missing = shape.size() - value.shape.size();
  const std::vector<std::string> allowed(edges.begin() + static_cast<long>(missing), edges.end());
  const auto fitting = WithEdges(value, allowed);
  return fitting ? *fitting : Literal(ref.dtype);
}

/// Now and then a product or a sum outermost, as kernels that pay have.
std::optional<Value> Maker::Reduced(DType dtype, const Extents& shape, int depth) {
  const bool computes = ComputeType(dtype) == dtype && dtype != DType::kBool;
  if (plain_ || !computes || depth < 3 || !dice_.Chance(0.35)) return std::nullopt;
  const bool product =
      shape.size() >= 2 && (dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kF64);
  auto value = product && dice_.Chance(0.7) ? MakeDot(dtype, shape, depth - 1)
                                            : MakeReduction(dtype, shape, depth - 1);
  if (!value || !Broadcasts(value->shape, shape) || (need_same_ > 0 && !value->facts.same))
    return std::nullopt;
  return value;
}

/// What the ref may hold after that store, beside what it held.
void Maker::Widen(RefInfo& ref, const Value& value, bool only) {
  made_.clear();
  ref.facts.bound = only ? value.facts.bound : std::max(ref.facts.bound, value.facts.bound);
  ref.facts.grain = only ? value.facts.grain : std::min(ref.facts.grain, value.facts.grain);
  Fit(ref.facts, ref.dtype);
  ref.readable = true;
}

void Maker::StoreWhole(RefInfo& ref, Block& to) {
  const Value value = ValueFor(ref, ref.view, ref.edges, kDepth);
  to.push_back({ref.name + " = $0", {value.term}, {}, {}});
  Widen(ref, value, true);
}

/// A window of the ref: a subscript for each dimension, and what is left of its shape.
Maker::Region Maker::AnyWindow(const RefInfo& ref) {
  Region window;
  std::vector<std::string> entries;
  for (size_t d = 0; d < ref.view.size(); ++d) {
    const Extent& extent = ref.view[d];
    const size_t kind = extent.value < 1 ? 0 : dice_.Weighted({3, 3, extent.value > 1 ? 3.5 : 0});
    if (kind == 0) {
      entries.push_back(":");
      window.shape.push_back(extent);
      window.edges.push_back(ref.edges[d]);
      continue;
    }
    if (kind == 1) {
      entries.push_back(IndexBelow(extent, 1));
      continue;
    }
    const int64_t size = dice_.Between(1, extent.value - 1);
    entries.push_back(Some("store", size, extent.value, 1));
    window.shape.push_back({std::to_string(size), size});
    window.edges.emplace_back();
  }
  size_t last = entries.size();
  while (last > 1 && entries[last - 1] == ":" && dice_.Chance(0.6)) --last;
  for (size_t e = 0; e < last; ++e) window.text += (e > 0 ? ", " : "") + entries[e];
  if (last == entries.size() && last > 1 && entries[0] == ":" && Want("subscript ...", 0.15)) {
    window.text = "...";
    for (size_t e = 1; e < last; ++e) window.text += ", " + entries[e];
  }
  return window;
}

/// Changes a part of what has been stored already.
void Maker::StorePart(RefInfo& ref, Block& to) {
  if (ref.view.empty() || Want("store whole again", 0.15)) {
    Update(ref, ref.name, ref.view, ref.edges, to);
    return;
  }
  if (Want("store mask", 0.25)) return StoreMasked(ref, {"", ref.view, ref.edges}, to);
  const Region window = AnyWindow(ref);
  if (!window.shape.empty() && Want("store masked window", 0.25))
    return StoreMasked(ref, window, to);
  Update(ref, ref.name + "[" + window.text + "]", window.shape, window.edges, to);
}

/// Where a mask holds, in all of the ref or in a window.
void Maker::StoreMasked(RefInfo& ref, const Region& window, Block& to) {
  const bool one_place = !window.shape.empty() && dice_.Chance(0.3);
  ++need_same_;
  Value mask = MakeWhole(DType::kBool, window.shape, one_place ? 0 : 3);
  --need_same_;
  if (one_place) {
    const auto last = static_cast<int64_t>(window.shape.size()) - 1;
    const auto axis = static_cast<size_t>(dice_.Between(0, last));
    if (window.shape[axis].value == 0) return;
    mask = {OnePlace(window.shape, axis), DType::kBool, window.shape,
            FactsOf(DType::kBool, window.shape.size())};
  }
  const auto fitting = WithEdges(mask, window.edges);
  if (!fitting) return;
  const Value value = ValueFor(ref, window.shape, window.edges, 2);
  const bool adds = Accumulates(ref.dtype) && dice_.Chance(0.25);
  const std::string target = ref.name + (window.text.empty() ? "" : "[" + window.text + "]");
  if (one_place && window.text.empty() && ref.readable && Accumulates(ref.dtype) &&
      dice_.Chance(0.5)) {
    to.push_back(
        {ref.name + " = where($0, $1, " + ref.name + ")", {mask.term, value.term}, {}, {}});
    return Widen(ref, value, false);
  }
  to.push_back(
      {target + "[$0] " + (adds ? "+=" : "=") + " $1", {fitting->term, value.term}, {}, {}});
  Widen(ref, value, false);
  if (adds) Forget(ref);
}

/// What is added up may be rounded.
void Maker::Forget(RefInfo& ref) {
  made_.clear();
  ref.facts.bound = kUnbounded;
  ref.facts.grain = 0;
  Fit(ref.facts, ref.dtype);
}

void Maker::Update(RefInfo& ref, const std::string& target, const Extents& shape,
                   const std::vector<std::string>& edges, Block& to) {
  std::string op = "=";
  if (Accumulates(ref.dtype)) op = PickEntry("assign", {"=", "+=", "-=", "*=", "="});
  const Value value = ValueFor(ref, shape, edges, 3);
  to.push_back({target + " " + op + " $0", {value.term}, {}, {}});
  Widen(ref, value, false);
  if (op != "=") Forget(ref);
}

/// Row by row, all of it.
void Maker::StoreByRows(RefInfo& ref, Block& to) {
  const size_t d = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(ref.view.size()) - 1));
  const Extent extent = ref.view[d];
  const std::string loop = Name("r");
  Statement statement{
      "for " + loop + " in range(" + (dice_.Chance(0.3) ? "0, " : "") + extent.text + "):",
      {},
      {},
      {}};
  Enter();
  loops_.push_back({{loop, {}}, DType::kI32, {extent}, FactsOf(DType::kI32, 1)});
  Extents rest = ref.view;
  std::vector<std::string> edges = ref.edges;
  rest.erase(rest.begin() + static_cast<long>(d));
  edges.erase(edges.begin() + static_cast<long>(d));
  if (dice_.Chance(0.3)) Define(statement.body);
  const Value value = ValueFor(ref, rest, edges, 3);
  std::string text;
  for (size_t e = 0; e < d; ++e) text += ":, ";
  statement.body.push_back({ref.name + "[" + text + loop + "] = $0", {value.term}, {}, {}});
  Leave();
  to.push_back(statement);
  Widen(ref, value, true);
}

/// Either branch stores all of it.
void Maker::StoreInBranches(RefInfo& ref, Block& to) {
  const Value condition = Condition(3);
  Statement statement{"when $0:", {condition.term}, {}, {}};
  Enter();
  StoreWhole(ref, statement.body);
  Leave();
  const Facts first = ref.facts;
  ref.readable = false;
  Enter();
  if (dice_.Chance(0.3)) {
    StoreInBranches(ref, statement.orelse);
  } else {
    StoreWhole(ref, statement.orelse);
  }
  Leave();
  to.push_back(statement);
  ref.facts.bound = std::max(ref.facts.bound, first.bound);
  ref.facts.grain = std::min(ref.facts.grain, first.grain);
}

void Maker::StoreOutput(RefInfo& ref, size_t axes, Block& to) {
  const bool starts = inits_.count(ref.name) > 0;
  const bool reduces = axes < axes_.size();
  const std::string last = LastOf(axes), first = FirstOf(axes);
  const bool rows = !ref.view.empty();
  switch (dice_.Weighted({5, reduces ? 6.0 : 0.7, reduces ? 4.0 : 0.7, rows ? 1.2 : 0, 1,
                          reduces ? 1.5 : 0, starts ? 0.0 : 1.0})) {
    case 0:
      StoreWhole(ref, to);
      break;
    case 1:
      Accumulate(ref, axes, ref.name, to);
      break;
    case 2:
      AccumulateInScratch(ref, axes, to);
      return;
    case 3:
      StoreByRows(ref, to);
      break;
    case 4:
      StoreInBranches(ref, to);
      break;
    case 5: {
      Statement statement{"when " + (dice_.Chance(0.5) ? last : first) + ":", {}, {}, {}};
      Enter();
      StoreWhole(ref, statement.body);
      if (dice_.Chance(0.5)) StorePart(ref, statement.body);
      Leave();
      to.push_back(statement);
      ref.readable = false;
      return;
    }
    case 6:
      StoreOnInit(ref, axes, to);
      return;
  }
  const int64_t parts = dice_.Chance(0.5) ? 0 : dice_.Between(1, 3);
  for (int64_t p = 0; p < parts; ++p) AnyChange(ref, to);
}

/// The output's `init` is what is left where nothing is stored.
void Maker::StoreOnInit(RefInfo& ref, size_t axes, Block& to) {
  for (OperandDraft& operand : draft_.operands) {
    if (operand.name == ref.name) StartWith(operand, ref);
  }
  ref.readable = true;
  if (dice_.Chance(0.5)) {
    Accumulate(ref, axes, "", to);
    return;
  }
  // What earlier steps of the stay have left is only known not to be exact.
  Forget(ref);
  const int64_t parts = dice_.Between(1, 3);
  for (int64_t p = 0; p < parts; ++p) AnyChange(ref, to);
}

}  // namespace kiln::soak
