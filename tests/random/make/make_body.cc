// The body: which statements stand in it, and the names that each of its blocks has.
#include <algorithm>

#include "tests/random/make/maker.h"

namespace kiln::soak {

/// A change of part of a ref, perhaps under a condition or in a loop.
void Maker::AnyChange(RefInfo& ref, Block& to) {
  const size_t kind = dice_.Weighted({4, Weight("statement when", 1.2), Weight("statement for", 1),
                                      Weight("statement while", 0.5)});
  if (kind == 0) {
    StorePart(ref, to);
    return;
  }
  Statement statement;
  Enter();
  if (kind == 1) {
    statement = {"when $0:", {Condition(3).term}, {}, {}};
    if (dice_.Chance(0.3)) Define(statement.body);
    StorePart(ref, statement.body);
    Leave();
    Enter();
    if (dice_.Chance(0.4)) StorePart(ref, statement.orelse);
  } else if (kind == 3) {
    statement = RepeatChange(ref, to);
  } else {
    // Of more turns than are written out, those that change all elements go inside of the loops
    // over them.
    const bool many = dice_.Chance(0.3);
    const Extent few{"3", 3};
    const Extent extent = many                                    ? Extent{"35", 35}
                          : ref.view.empty() || dice_.Chance(0.4) ? few
                                                                  : dice_.Pick(ref.view);
    const auto change = [&](Block& body) {
      if (many && dice_.Chance(0.7))
        Update(ref, ref.name, ref.view, ref.edges, body);
      else
        StorePart(ref, body);
    };
    const std::string loop = Name("r");
    std::string range = extent.text;
    if (dice_.Chance(0.2)) range = "1, " + extent.text;
    if (dice_.Chance(0.2)) range = "min(" + extent.text + ", " + IndexBelow({"4", 4}, 1) + ")";
    statement = {"for " + loop + " in range(" + range + "):", {}, {}, {}};
    loops_.push_back({{loop, {}}, DType::kI32, {extent}, FactsOf(DType::kI32, 1)});
    Forget(ref);  // each round reads what the one before has left
    change(statement.body);
    if (dice_.Chance(0.3)) change(statement.body);
    Forget(ref);
  }
  Leave();
  to.push_back(statement);
}

/// A loop that counts its turns, and may end before the last of them.
Statement Maker::RepeatChange(RefInfo& ref, Block& before) {
  const std::string turn = Name("w"), most = std::to_string(dice_.Between(1, 4));
  before.push_back({"var " + turn + " = 0", {}, {}, {}});
  Forget(ref);  // each turn reads what the one before has left
  Statement loop{"while " + turn + " < " + most, {}, {}, {}};
  if (dice_.Chance(0.5)) {
    loop.text += " and $0";
    loop.args = {Condition(2).term};
  }
  loop.text += dice_.Chance(0.6) ? ", most=" + most + ":" : ":";
  StorePart(ref, loop.body);
  loop.body.push_back({turn + " += 1", {}, {}, {}});
  Forget(ref);
  return loop;
}

/// A value under a name.
void Maker::Define(Block& to) {
  if (Want("function top_k", 0.06) && DefineTop(to)) return;
  const bool var = Want("statement var", 0.3);
  const DType dtype = AnyDType();
  Extents shape;
  if (dice_.Chance(0.7) && !refs_.empty()) shape = dice_.Pick(refs_).view;
  const bool same = dice_.Chance(0.6) || !IsFloat(dtype);
  if (same) ++need_same_;
  Value value = var ? MakeClean(dtype, shape, 3) : MakeWhole(dtype, shape, 3);
  if (same) --need_same_;
  const std::string name = Name(var ? "v" : "t");
  if (!var) {
    if (!Want("statement several names", 0.1)) {
      to.push_back({"let " + name + " = $0", {value.term}, {}, {}});
    } else {
      Value second = MakeWhole(AnyDType(), shape, 2);
      const std::string other = Name("t");
      to.push_back({"let " + name + ", " + other + " = $0, $1", {value.term, second.term}, {}, {}});
      second.term = {other, {}};
      scope_.push_back(second);
    }
    value.term = {name, {}};
    scope_.push_back(value);
    return;
  }
  RefInfo ref;
  ref.name = name;
  ref.role = RefInfo::Role::kVar;
  ref.dtype = dtype;
  ref.view = shape;
  ref.edges.resize(shape.size());
  ref.facts = value.facts;
  ref.facts.same = true;
  ref.loose = !value.facts.same;
  std::string type;
  if (Want("statement typed var", 0.3)) {
    type = ": " + std::string(kiln::Name(dtype));
    for (size_t d = 0; d < shape.size(); ++d) type += (d == 0 ? "[" : ", ") + shape[d].text;
    if (!shape.empty()) type += "]";
  }
  to.push_back({"var " + name + type + " = $0", {value.term}, {}, {}});
  refs_.push_back(ref);
  if (dice_.Chance(0.5)) {
    RefInfo changed = refs_.back();
    AnyChange(changed, to);
    changed.readable = true;
    for (RefInfo& known : refs_) {
      if (known.name == name) known = changed;
    }
  }
}

void Maker::Assertion(Block& to) {
  std::vector<std::string> texts;
  for (const AxisInfo& axis : axes_) texts.push_back(axis.name + " < " + axis.steps_text);
  for (const DimInfo& dim : dims_) texts.push_back(dim.name + " > 0");
  ++need_same_;
  const Value value = MakeClean(DType::kI32, {}, 3);
  --need_same_;
  if (texts.empty() || dice_.Chance(0.5))
    to.push_back({"assert $0 % 2 < 2, \"the remainder is small\"", {value.term}, {}, {}});
  else
    to.push_back({"assert " + dice_.Pick(texts) + ", \"it is in range\"", {}, {}, {}});
}

void Maker::Enter() {
  marks_.push_back({scope_.size(), refs_.size(), loops_.size()});
  made_.clear();
}

/// Names of a block end with it; buffers do not, but hold nothing that later steps may read.
void Maker::Leave() {
  const Mark mark = marks_.back();
  marks_.pop_back();
  scope_.resize(mark.scope);
  loops_.resize(mark.loops);
  refs_.resize(std::min(refs_.size(), mark.refs));
  made_.clear();
}

void Maker::Body() {
  Block& body = draft_.body;
  std::vector<std::pair<size_t, size_t>> outputs;  // by ref: the axes it walks
  for (size_t r = 0; r < refs_.size(); ++r) {
    if (refs_[r].role == RefInfo::Role::kOutput)
      outputs.emplace_back(r, output_axes_[outputs.size()]);
  }
  for (const auto& [r, axes] : outputs) {
    const int64_t before = dice_.Between(0, 2);
    for (int64_t s = 0; s < before; ++s) Any(body);
    RefInfo ref = refs_[r];
    StoreOutput(ref, axes, body);
    refs_[r] = ref;
  }
  if (dice_.Chance(0.2)) Any(body);
}

void Maker::Any(Block& to) {
  const double copies = Weight("statement copy", Weight("word operand.memory any", 0.4));
  switch (dice_.Weighted(
      {4, Weight("key spec.scratch", 1.5), Weight("statement assert", 0.4), copies, copies})) {
    case 0:
      Define(to);
      break;
    case 1:
      Temporary(to);
      break;
    case 3:
      CopyIn(to);
      break;
    case 4:
      CopyOut(to);
      break;
    default:
      Assertion(to);
  }
}

}  // namespace kiln::soak
