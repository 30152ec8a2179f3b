#include <algorithm>
#include <map>
#include <set>

#include "generator/elaborate/elaborate.h"
#include "generator/syntax/names.h"

/// Run-time dimensions: which names they are, and what `dims` says of them.
namespace kiln {

/// Every bare name in an argument's or operand's shape that is declared nowhere else is a
/// dimension, in the order of the arguments.
std::vector<Ident> Elaborator::FindDims() {
  std::set<std::string> taken;
  for (const ParamSpec& p : spec_.params) taken.insert(p.name.name);
  for (const ScalarSpec& s : spec_.scalars) taken.insert(s.name.name);
  for (const LetSpec& l : spec_.lets) taken.insert(l.name.name);
  for (const AxisSpec& a : spec_.grid) taken.insert(a.name.name);
  std::vector<Ident> found;
  const auto scan = [&](const std::vector<ExprPtr>& shape) {
    for (const ExprPtr& e : shape) {
      const bool name = e && e->kind == Expr::Kind::kName;
      if (name && taken.insert(e->name).second) found.push_back({e->name, e->span});
    }
  };
  for (const ArraySpec& a : spec_.arguments) scan(a.type.shape);
  for (const ArraySpec& a : spec_.prefetch) scan(a.type.shape);
  for (const auto* entries : {&spec_.inputs, &spec_.outputs}) {
    for (const OperandEntry& entry : *entries) {
      const Diagnostics before = diagnostics_;  // a faulty condition is reported with the operand
      const OperandSpec* chosen = ChooseAlternative(entry);
      diagnostics_ = before;
      if (chosen && chosen->array) scan(chosen->array->shape);
    }
  }
  return found;
}

/// Listed dims that no shape binds: a fixed one needs no argument, any other is an error.
void Elaborator::AddUnboundDims(std::vector<Ident>& found) {
  for (const DimSpec& d : spec_.dims) {
    const auto same = [&](const Ident& f) { return f.name == d.name.name; };
    if (std::any_of(found.begin(), found.end(), same)) continue;
    if (!d.fixed) {
      std::vector<std::string> names;
      for (const Ident& f : found) names.push_back(f.name);
      std::string hint = DidYouMean(d.name.name, names);
      if (hint.empty()) {
        hint = "a dimension is bound by standing alone in an operand's shape: f32[" + d.name.name +
               "]";
      }
      Error("name", d.name.span, "no argument's shape binds the dimension `" + d.name.name + "`",
            hint);
    }
    found.push_back(d.name);
  }
}

void Elaborator::Constrain(Dim& dim) {
  for (const DimSpec& d : spec_.dims) {
    if (d.name.name != dim.name) continue;
    if (d.fixed) dim.fixed = ElaborateStaticInt(*d.fixed, "a fixed dimension");
    if (d.multiple_of) {
      dim.multiple_of = ElaborateStaticInt(*d.multiple_of, "multiple_of").value_or(1);
    }
    if (d.min) dim.min = ElaborateStaticInt(*d.min, "min").value_or(0);
    if (d.max) dim.max = ElaborateStaticInt(*d.max, "max");
    if (dim.multiple_of < 1) {
      Error("key", d.name.span, "multiple_of must be at least 1");
      dim.multiple_of = 1;
    }
    if (dim.fixed && *dim.fixed < 0) Error("key", d.name.span, "a dimension cannot be negative");
    if (dim.max && *dim.max < dim.min) {
      Error("key", d.name.span, "`max` is less than `min`, so no size would do");
    }
  }
}

void Elaborator::Dims() {
  std::vector<Ident> found = FindDims();
  AddUnboundDims(found);
  std::vector<std::string> listed;
  for (const DimSpec& d : spec_.dims) listed.push_back(d.name.name);
  for (const Ident& name : found) {
    const bool known = std::find(listed.begin(), listed.end(), name.name) != listed.end();
    if (spec_.dims_closed && !known) {
      Error("name", name.span, "`" + name.name + "` is not among the listed `dims`",
            DidYouMean(name.name, listed));
    }
    Dim dim;
    dim.name = name.name;
    dim.span = name.span;
    Constrain(dim);
    CheckNewName(name, diagnostics_);
    Symbol symbol;
    symbol.kind = Symbol::Kind::kDim;
    symbol.index = static_cast<int>(kernel_.dims.size());
    if (Declare(name, symbol)) kernel_.dims.push_back(dim);
  }
}

/// A dimension that is named once, and nowhere else, is probably a typo.
void Elaborator::CountDimUses() {
  std::map<std::string, int> uses;
  const std::string& text = spec_.source->text();
  for (size_t i = 0; i < text.size();) {
    const auto word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    if (text[i] == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && word(text[end])) ++end;
    if (end > i) ++uses[text.substr(i, end - i)];
    i = std::max(end, i + 1);
  }
  for (const Dim& dim : kernel_.dims) {
    if (uses[dim.name] > 1 || dim.fixed) continue;
    std::vector<std::string> others;
    for (const Dim& other : kernel_.dims) {
      if (other.name != dim.name) others.push_back(other.name);
    }
    for (const Param& param : kernel_.params) others.push_back(param.name);
    const std::string near = DidYouMean(dim.name, others);
    if (!near.empty()) {
      diagnostics_.Warning("name", dim.span, "the dimension `" + dim.name + "` is used only here",
                           near);
    }
  }
}

}  // namespace kiln
