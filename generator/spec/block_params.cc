#include "generator/spec/block_params.h"

#include <algorithm>

#include "generator/spec/pipeline.h"

namespace kiln {
namespace {

void AddNames(const Expr& expr, std::set<std::string>& names) {
  if (expr.kind == Expr::Kind::kName) names.insert(expr.name);
  for (const ExprPtr& arg : expr.args) {
    if (arg) AddNames(*arg, names);
  }
}

/// Params are computed from those before them.
void AddSources(const Spec& spec, std::set<std::string>& names) {
  for (size_t p = spec.params.size(); p-- > 0;) {
    if (names.count(spec.params[p].name.name) > 0) AddNames(*spec.params[p].value, names);
  }
}

/// The names whose values may reach a result.
class Values {
 public:
  explicit Values(const Spec& spec) : spec_(spec) {
    for (const DimSpec& dim : spec.dims) Add(dim.fixed);
    for (const LetSpec& let : spec.lets) Add(let.value);
    for (const auto* entries : {&spec.inputs, &spec.outputs}) {
      for (const OperandEntry& entry : *entries) {
        for (const OperandSpec& alternative : entry.alternatives) {
          for (const ExprPtr& e : {alternative.condition, alternative.pad, alternative.init})
            Add(e);
        }
      }
    }
    Add(spec.body);
    Add(spec.epilogue);
    AddSources(spec, names_);
  }

  const std::set<std::string>& names() const { return names_; }

 private:
  void Add(const std::vector<Stmt>& statements) {
    for (const Stmt& s : statements) {
      // Extents of a `var`, bounds of a `for` and what a copy moves are sizes.
      if (s.kind != Stmt::Kind::kCopy && s.kind != Stmt::Kind::kWait) {
        Add(s.value);
        Add(s.target);
        for (const Naming& other : s.others) Add(other.value);
      }
      Add(s.condition);
      Add(s.body);
      Add(s.orelse);
    }
  }

  void Add(const ExprPtr& e) {
    if (!e) return;
    if (e->kind == Expr::Kind::kName) names_.insert(e->name);
    const bool product = e->kind == Expr::Kind::kBinary && e->name == "*";
    for (size_t a = 0; a < e->args.size(); ++a) {
      const ExprPtr& arg = e->args[a];
      const bool shape = arg && arg->kind == Expr::Kind::kList && e->name != "concat";
      if (!arg || shape) continue;
      if (e->kind == Expr::Kind::kSubscript && a > 0) continue;  // where, not what
      if (product && IsOfAxes(*e->args[1 - a])) continue;        // i * bm
      Add(arg);
    }
    for (const Keyword& keyword : e->keywords) Add(keyword.value);
  }

  /// A number of blocks, such as `i` or `i + 1`: it names axes of the grid and nothing else.
  bool IsOfAxes(const Expr& e) const {
    std::set<std::string> names;
    AddNames(e, names);
    return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::any_of(spec_.grid.begin(), spec_.grid.end(),
                         [&](const AxisSpec& axis) { return axis.name.name == name; });
    });
  }

  const Spec& spec_;
  std::set<std::string> names_;
};

}  // namespace

std::set<std::string> NamesIn(const Spec& spec, const Expr& expr) {
  std::set<std::string> names;
  AddNames(expr, names);
  AddSources(spec, names);
  return names;
}

std::set<std::string> BlockParams(const Spec& original) {
  Diagnostics ignored;
  const Spec spec = ApplyPipeline(original, ignored);
  std::set<std::string> blocks;
  for (const auto* entries : {&spec.inputs, &spec.outputs}) {
    for (const OperandEntry& entry : *entries) {
      for (const OperandSpec& alternative : entry.alternatives) {
        if (!alternative.block) continue;
        for (const BlockEntry& block : *alternative.block) {
          if (block.size) blocks.merge(NamesIn(spec, *block.size));
        }
      }
    }
  }
  const Values values(spec);
  std::set<std::string> params;
  for (const ParamSpec& param : spec.params) {
    const std::string& name = param.name.name;
    if (blocks.count(name) > 0 && values.names().count(name) == 0) params.insert(name);
  }
  return params;
}

}  // namespace kiln
