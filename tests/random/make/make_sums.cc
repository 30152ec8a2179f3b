#include <algorithm>

#include "tests/random/make/maker.h"

/// Statements that add up over steps, in the output itself or in scratch.
namespace kiln::soak {

/// `ref = 0` in the first step of the axes from `axes` on, then something is added in each.
void Maker::Accumulate(RefInfo& ref, size_t axes, const std::string& set, Block& to) {
  double steps = 1;
  for (size_t a = axes; a < axes_.size(); ++a) steps *= static_cast<double>(axes_[a].steps);
  const std::string first = FirstOf(axes);
  Value start = WeakLiteral(ref.dtype == DType::kBool ? DType::kI32 : ref.dtype);
  if (ref.dtype == DType::kBool) start = Literal(ref.dtype);
  if (!set.empty() && first.empty())
    to.push_back({set + " = $0", {start.term}, {}, {}});
  else if (!set.empty())
    to.push_back({"when " + first + ":", {}, {{set + " = $0", {start.term}, {}, {}}}, {}});
  ref.facts = FactsOf(ref.dtype, ref.view.size());
  for (size_t d = 0; d < ref.edges.size(); ++d) {
    if (!ref.edges[d].empty()) ref.facts.edges[d] = {ref.edges[d]};
  }
  Value value = ValueFor(ref, ref.view, ref.edges, kDepth);
  // In any order, as blocks of another size add up in another one: what is not exact is loose.
  if (!SumsExactly(value.facts, steps + 1, ref.dtype) && !ref.loose) value = SmallValue(ref);
  if (Accumulates(ref.dtype))
    to.push_back(
        {ref.name + " " + PickEntry("assign", {"+=", "+=", "-="}) + " $0", {value.term}, {}, {}});
  else if (dice_.Chance(0.5) || ref.dtype == DType::kBool || RowOf(ref.dtype).powers)
    to.push_back({ref.name + " = max(" + ref.name + ", $0)", {value.term}, {}, {}});
  else
    to.push_back({ref.name + " = " + std::string(kiln::Name(ref.dtype)) + "(" + ref.name + " + $0)",
                  {value.term},
                  {},
                  {}});
  ref.facts.bound = value.facts.bound * (steps + 1) + 100;
  ref.facts.grain = std::min(value.facts.grain, start.facts.grain);
  Fit(ref.facts, ref.dtype);
  ref.readable = true;
}

/// Of few bits, so that many of it add up exactly.
Value Maker::SmallValue(const RefInfo& ref) {
  const Extents shape = ref.view;
  std::vector<Value> small;
  for (const Value& leaf : LeavesFor(ref.dtype, shape)) {
    const size_t missing = shape.size() - leaf.shape.size();
    const auto fitting =
        WithEdges(leaf, {ref.edges.begin() + static_cast<long>(missing), ref.edges.end()});
    if (fitting && leaf.facts.same && leaf.facts.bound <= 4 && leaf.facts.grain >= 0.25)
      small.push_back(*fitting);
  }
  if (!small.empty()) return dice_.Pick(small);
  ++need_same_;
  Value bits = Make(DType::kBool, shape, 3);
  --need_same_;
  const size_t missing = shape.size() - bits.shape.size();
  const auto fitting =
      WithEdges(bits, {ref.edges.begin() + static_cast<long>(missing), ref.edges.end()});
  return Cast(ref.dtype, fitting ? *fitting : Literal(DType::kBool));
}

/// A buffer like the output that is summed into, and what writes it back.
void Maker::AccumulateInScratch(RefInfo& ref, size_t axes, Block& to) {
  static const std::vector<DType> wide = {DType::kF32, DType::kF32, DType::kI32,
                                          DType::kF64, DType::kI64, DType::kU32};
  RefInfo buffer = ref;
  buffer.name = Name("s");
  buffer.role = RefInfo::Role::kScratch;
  buffer.whole_index = false;
  buffer.dtype = PickDType(wide);
  if (!IsFloat(buffer.dtype)) buffer.loose = false;
  buffer.readable = false;
  AddScratch(buffer, "");
  Accumulate(buffer, axes, buffer.name, to);
  refs_.push_back(buffer);
  const std::string last = LastOf(axes);
  if (last.empty() || Want("key spec.epilogue", 0.4)) {
    if (draft_.epilogue.empty() && Want("key spec.epilogue", 0.6)) {
      StoreFrom(ref, buffer, draft_.epilogue);
      ref.readable = false;  // in the body
      return;
    }
  }
  if (last.empty()) {
    StoreFrom(ref, buffer, to);
    return;
  }
  Statement statement{"when " + last + ":", {}, {}, {}};
  Enter();
  StoreFrom(ref, buffer, statement.body);
  Leave();
  to.push_back(statement);
  ref.readable = false;  // only in that step
}

/// `ref = T(f(buffer))`
void Maker::StoreFrom(RefInfo& ref, const RefInfo& buffer, Block& to) {
  Value value = ReadOf(buffer);
  const bool decides = !IsFloat(ref.dtype) && IsFloat(buffer.dtype);
  if (decides && buffer.loose) {
    StoreWhole(ref, to);
    return;
  }
  value = Cast(ref.dtype, value);
  to.push_back({ref.name + " = $0", {value.term}, {}, {}});
  Widen(ref, value, true);
}

void Maker::AddScratch(const RefInfo& buffer, const std::string& memory) {
  std::string type = std::string(kiln::Name(buffer.dtype)) + "[";
  for (size_t d = 0; d < buffer.view.size(); ++d) type += (d > 0 ? ", " : "") + buffer.view[d].text;
  type += "]";
  if (buffer.view.empty()) type = std::string(kiln::Name(buffer.dtype));
  if (memory.empty())
    draft_.scratch.push_back({buffer.name, {{"", type}}});
  else
    draft_.scratch.push_back({buffer.name, {{"array", type}, {"memory", memory}}});
}

/// A buffer of this step.
void Maker::Temporary(Block& to) {
  RefInfo buffer;
  buffer.name = Name("s");
  buffer.role = RefInfo::Role::kScratch;
  buffer.dtype = AnyDType();
  if (!refs_.empty()) buffer.view = dice_.Pick(refs_).view;
  buffer.edges.resize(buffer.view.size());
  buffer.facts = FactsOf(buffer.dtype, buffer.view.size());
  buffer.loose = IsFloat(buffer.dtype) && dice_.Chance(0.3);
  int64_t elements = 1;
  for (const Extent& extent : buffer.view) elements *= extent.value;
  AddScratch(buffer, elements <= 16 && Want("key scratch.memory", 0.3)
                         ? PickEntry("word scratch.memory", {"vmem", "smem"})
                         : "");
  StoreWhole(buffer, to);
  refs_.push_back(buffer);
  if (dice_.Chance(0.4)) StorePart(refs_.back(), to);
}

}  // namespace kiln::soak
