#include <algorithm>

#include "tests/random/make/maker.h"

/// What is known before the grid starts: scalars, tables and host code, and what a file says beside
/// the kernel: constraints, variants, instances, batching.
namespace kiln::soak {
namespace {

const std::vector<std::string>& Types() {
  static const std::vector<std::string> types = [] {
    std::vector<std::string> names;
    for (const DType dtype : ArrayTypes()) {
      if (!IsPacked(dtype)) names.emplace_back(kiln::Name(dtype));
    }
    return names;
  }();
  return types;
}

std::string Number(int64_t value) { return std::to_string(value); }

}  // namespace

/// Scalars and small arrays of every type that the body reads.
void Maker::AddScalars() {
  if (Want("key spec.scalars", AsksFor("scalar ") ? 0.9 : 0.12)) {
    const std::string type = PickEntry("scalar", Types()), name = Name("c");
    draft_.scalars.push_back({name, type});
    draft_.sizes[name] = type == "bool" ? dice_.Between(0, 1) : dice_.Between(0, 7);
    const DType dtype = *ParseDType(type);
    Value value{{name, {}}, dtype, {}, FactsOf(dtype, 0)};
    value.facts.bound = 7;
    value.facts.grain = 1;
    scope_.push_back(value);
  }
  if (Want("key spec.prefetch", AsksFor("prefetch ") ? 0.9 : 0.12)) {
    const std::string type = PickEntry("prefetch", Types()), name = Name("q");
    const int64_t size = dice_.Between(1, 6);
    draft_.prefetch.push_back({name, type + "[" + Number(size) + "]"});
    const DType dtype = *ParseDType(type);
    Facts facts = FactsOf(dtype, 0);
    FillInput(name, dtype, facts);
    scope_.push_back(
        {{name + "[" + Number(dice_.Between(0, size - 1)) + "]", {}}, dtype, {}, facts});
    facts.edges.resize(1);
    scope_.push_back({{name, {}}, dtype, {{Number(size), size}}, facts});
  }
  if (!axes_.empty() && Want("key spec.let", 0.1)) {
    const AxisInfo& axis = dice_.Pick(axes_);
    const std::string name = Name("l");
    draft_.lets.push_back({name, axis.name + " * 2 + " + Number(dice_.Between(0, 3))});
    Value value{{"i32(" + name + ")", {}}, DType::kI32, {}, FactsOf(DType::kI32, 0)};
    value.facts.bound = 512;
    scope_.push_back(value);
  }
  if (Want("key spec.prepare", AsksFor("argument ") ? 0.9 : 0.08)) AddPrepared();
  if (Want("key prepare.header", 0.01)) AddOwnTable();
}

/// A table that host code makes is read by the body as any other.
void Maker::AddMade(const std::string& name, const std::string& shape, const std::string& at) {
  draft_.prefetch.push_back({name, "i32[" + shape + "]"});
  Value value{{name + "[" + at + "]", {}}, DType::kI32, {}, FactsOf(DType::kI32, 0)};
  value.facts.bound = 4096;
  scope_.push_back(value);
}

/// Made by a function of the user's own, whose header every batch has.
void Maker::AddOwnTable() {
  const int64_t size = dice_.Between(1, 6), factor = dice_.Between(1, 5);
  const std::string name = Name("q");
  AddMade(name, Number(size), Number(dice_.Between(0, size - 1)));
  draft_.fills[name] = {Fill::Kind::kMultiples, 0, factor, 1};
  draft_.prepare.push_back(
      {{"call", "\"" + name + " = own_multiples(" + Number(size) + ", " + Number(factor) + ")\""},
       {"header", "own_multiples.h"}});
}

void Maker::AddPrepared() {
  // It alone takes arrays of any dtype.
  const std::string function =
      AsksFor("argument ")
          ? "block_coo"
          : PickEntry("host", {"group_metadata", "sparsify_mask", "block_coo", "grouped_rows"});
  const std::string from = Name("h"), count = Name("c");
  const int64_t rows = dice_.Between(1, 12), cols = dice_.Between(1, 9);
  const int64_t bm = dice_.Between(1, 5), bn = dice_.Between(1, 4);
  const int64_t down = (rows + bm - 1) / bm, across = (cols + bn - 1) / bn;
  std::string results, call;
  const auto made = [&](const std::string& shape, const std::string& at) {
    const std::string name = Name("q");
    AddMade(name, shape, at);
    results += name + ", ";
  };
  if (function == "group_metadata") {
    const int64_t groups = dice_.Between(1, 5);
    draft_.arguments.push_back({from, "i32[" + Number(groups) + "]"});
    draft_.fills[from] = {Fill::Kind::kSums, 0, rows, 1};
    made(Number(groups + 1), Number(groups));
    made(Number(down + groups), "0");
    made(Number(down + groups), Number(down + groups - 1));
    call = Number(rows) + ", " + Number(bm) + (dice_.Chance(0.4) ? ", visit_empty=true" : "");
  } else if (function == "grouped_rows") {
    draft_.arguments.push_back({from, "i32[" + Number(cols) + "]"});
    draft_.fills[from] = {Fill::Kind::kInteger, 0, rows - 1, 1};
    for (int r = 0; r < 3; ++r) made(Number(rows + cols), "0");
    call = Number(rows);
  } else {
    const std::string type = function == "block_coo" ? PickEntry("argument", Types()) : "bool";
    draft_.arguments.push_back({from, type + "[" + Number(rows) + ", " + Number(cols) + "]"});
    draft_.fills[from] = {Fill::Kind::kInteger, 0, 3, 0.4};
    call = Number(bm) + ", " + Number(bn);
    if (function == "block_coo") {
      for (int r = 0; r < 2; ++r) made(Number(down * across), Number(down * across - 1));
    } else {
      for (int r = 0; r < 4; ++r)
        made(Number(down) + ", " + Number(across), Number(down - 1) + ", 0");
    }
  }
  draft_.scalars.push_back({count, "i32"});
  Value value{{count, {}}, DType::kI32, {}, FactsOf(DType::kI32, 0)};
  value.facts.bound = 4096;
  scope_.push_back(value);
  const std::string text = results + count + " = " + function + "(" + from + ", " + call + ")";
  if (dice_.Chance(0.5))
    draft_.prepare.push_back({{"", text}});
  else
    draft_.prepare.push_back({{"call", "\"" + text + "\""}});
}

/// Conditions that hold, and constraints that the sizes satisfy.
void Maker::AddConstraints() {
  if (Want("key spec.require", 0.08)) {
    for (const DimInfo& dim : dims_) {
      if (dice_.Chance(0.5))
        draft_.require.push_back(dim.name + " <= " + Number(dim.size + dice_.Between(0, 3)));
    }
    for (const Key& scalar : draft_.scalars) {
      const bool integer = scalar.value[0] == 'i' || scalar.value[0] == 'u';
      if (integer && dice_.Chance(0.5)) draft_.require.push_back(scalar.name + " >= 0");
    }
  }
  if (!dims_.empty() && Want("key spec.dims", 0.1)) {
    for (const DimInfo& dim : dims_) {
      if (!dice_.Chance(0.6)) continue;
      if (dim.size > 0 && dice_.Chance(0.3)) {
        draft_.dims.push_back({dim.name, Number(dim.size)});
        continue;
      }
      int64_t factor = dice_.Pick({2, 3, 4, 8});
      if (dim.size % factor != 0) factor = std::max<int64_t>(dim.size, 1);
      std::string text = "multiple_of: " + Number(factor);
      if (dice_.Chance(0.5)) text += ", min: " + Number(dice_.Between(0, dim.size));
      if (dice_.Chance(0.5)) text += ", max: " + Number(dim.size + dice_.Between(0, 9));
      draft_.dims.push_back({dim.name, "{" + text + "}"});
    }
  }
}

/// A larger block for an axis, which cuts no dimension that was not cut before.
std::optional<Key> Maker::OtherBlock() {
  for (int tries = 0; tries < 4; ++tries) {
    if (axes_.empty()) return std::nullopt;
    const AxisInfo& axis = dice_.Pick(axes_);
    if (axis.kind != AxisInfo::Kind::kTiled || !axis.permutation.empty() ||
        tabled_.count(axis.name))
      continue;
    const int64_t size = dims_[static_cast<size_t>(axis.dim)].size;
    const int64_t block = axis.block.value * dice_.Between(2, 3);
    const bool ragged = size % axis.block.value != 0;
    if (!ragged && size % block != 0) continue;
    return Key{axis.block.text, Number(block)};
  }
  return std::nullopt;
}

void Maker::AddVariants() {
  if (Want("key spec.variants", AsksFor("key variant.") || AsksFor("word variant.") ? 0.9 : 0.08)) {
    const auto other = OtherBlock();
    if (other) {
      const DimInfo& dim = dice_.Pick(dims_);
      const bool holds = dice_.Chance(0.7);
      std::string text = "- when: " + dim.name + (holds ? " >= " : " > ") + Number(dim.size) +
                         "\n  set: {" + other->name + ": " + other->value + "}\n";
      if (Want("key variant.blocks", 0.3))
        text += "  blocks: " + PickEntry("word variant.blocks", {"own", "fixed"}) + "\n";
      draft_.extra.emplace_back("variants", text);
      varied_ = true;
    }
  }
  if (Want("key spec.instances", 0.06)) {
    const auto other = OtherBlock();
    if (other && !varied_) {
      draft_.instances = {{"one", {}}, {"two", {*other}}};
      draft_.instance = dice_.Chance(0.7) ? "two" : "one";
    }
  }
  if (Want("key spec.golden", 0.03)) {
    std::string text = "- {seed: 1";
    for (const auto& [name, size] : draft_.sizes) text += ", " + name + ": " + Number(size);
    draft_.extra.emplace_back("golden", text + "}\n");
  }
}

/// All of it once more for each of a few problems.
void Maker::AddBatching() {
  int64_t steps = 1;
  for (const AxisInfo& axis : axes_) steps *= std::max<int64_t>(axis.steps, 1);
  if (steps > 60 || !views_.empty() || !likes_.empty() || draft_.axes.size() >= 4 ||
      !Want("key spec.vmap", 0.05))
    return;
  const std::string axis = Name("z"), dim = Name("n");
  draft_.sizes[dim] = dice_.Between(1, 3);
  std::string text = "axis: " + axis + "\ndim: " + dim + "\nover:\n";
  for (size_t r = 0; r < plans_.size(); ++r) {
    const bool output = refs_[r].role == RefInfo::Role::kOutput;
    if (!output && dice_.Chance(0.4)) continue;
    const int64_t rank = static_cast<int64_t>(plans_[r].size());
    const int64_t at = dice_.Between(0, rank);
    text += "  " + refs_[r].name + ": " + Number(dice_.Chance(0.25) ? at - rank - 1 : at) + "\n";
  }
  draft_.extra.emplace_back("vmap", text);
}

}  // namespace kiln::soak
