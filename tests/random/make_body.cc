#include <algorithm>

#include "tests/random/maker.h"

/// Statements: every output is stored whole in each of its stays.
namespace kiln::soak {
namespace {

constexpr int kDepth = 4;

}  // namespace

void Maker::Assign(const RefInfo& ref, const std::string& target, std::vector<Term> subscripts,
                   const Value& value, Block& to) {
  (void)ref;
  subscripts.push_back(value.term);
  to.push_back({target + " = $" + std::to_string(subscripts.size() - 1), subscripts, {}, {}});
}

/// `first(j) and first(l)` of the axes from that one on; empty if there are none.
std::string Maker::FirstOf(size_t from) {
  std::string text;
  for (size_t a = from; a < axes_.size(); ++a)
    text += (text.empty() ? "" : " and ") + ("first(" + axes_[a].name + ")");
  return text;
}

std::string Maker::LastOf(size_t from) {
  std::string text;
  for (size_t a = from; a < axes_.size(); ++a)
    text += (text.empty() ? "" : " and ") + ("last(" + axes_[a].name + ")");
  return text;
}

void Maker::StoreWhole(RefInfo& ref, Block& to) {
  if (!ref.loose) ++need_same_;
  Value value = Make(ref.dtype, ref.view, kDepth);
  if (!ref.loose) --need_same_;
  // Aligned at the last dimension.
  const size_t missing = ref.view.size() - value.shape.size();
  const std::vector<std::string> allowed(ref.edges.begin() + static_cast<long>(missing), ref.edges.end());
  auto fitting = WithEdges(value, allowed);
  if (!fitting) fitting = Literal(ref.dtype);
  Assign(ref, ref.name, {}, *fitting, to);
  ref.readable = true;
  ref.facts.bound = fitting->facts.bound;
  ref.facts.grain = fitting->facts.grain;
  Fit(ref.facts, ref.dtype);
}

void Maker::Store(RefInfo& ref, Block& to) { StoreWhole(ref, to); }

/// A value under a name.
void Maker::Define(Block& to) {
  const bool var = Want("statement var", 0.3);
  const DType dtype = AnyDType();
  Extents shape;
  if (dice_.Chance(0.7) && !refs_.empty()) shape = dice_.Pick(refs_).view;
  const bool same = dice_.Chance(0.6);
  if (same) ++need_same_;
  Value value = var ? MakeClean(dtype, shape, 3) : MakeWhole(dtype, shape, 3);
  if (same) --need_same_;
  const std::string name = Name(var ? "v" : "t");
  to.push_back({(var ? "var " : "let ") + name + " = $0", {value.term}, {}, {}});
  value.term = {name, {}};
  scope_.push_back(value);
}

void Maker::Body() {
  Block& body = draft_.body;
  const int64_t lets = dice_.Between(0, 2);
  for (int64_t l = 0; l < lets; ++l) Define(body);
  for (RefInfo& ref : refs_) {
    if (ref.role == RefInfo::Role::kOutput) Store(ref, body);
  }
}

}  // namespace kiln::soak
