#include "generator/syntax/names.h"

#include "generator/elaborate/elaborate.h"
#include "generator/syntax/foreign.h"

namespace kiln {
namespace {

std::string KindOf(const Symbol& symbol) {
  switch (symbol.kind) {
    case Symbol::Kind::kValueParam:
    case Symbol::Kind::kTypeParam:
      return "a parameter";
    case Symbol::Kind::kDim:
      return "a dimension";
    case Symbol::Kind::kAxis:
      return "a grid axis";
    case Symbol::Kind::kRef:
      return "an operand";
    case Symbol::Kind::kLet:
    case Symbol::Kind::kLocal:
    case Symbol::Kind::kConstant:
      return "a name defined earlier";
    case Symbol::Kind::kAbsent:
      return "an absent operand";
  }
  return "";
}

NodePtr Leaf(Op op, DType dtype, int index, Span span) {
  Node node;
  node.op = op;
  node.dtype = dtype;
  node.index = index;
  node.span = span;
  return std::make_shared<const Node>(std::move(node));
}

NodePtr At(const NodePtr& value, Span span) {
  auto copy = std::make_shared<Node>(*value);
  copy->span = span;
  return copy;
}

}  // namespace

bool Elaborator::Declare(const Ident& name, Symbol symbol) {
  symbol.span = name.span;
  if (const Symbol* other = Find(name.name)) {
    diagnostics_.Error("name", name.span,
                       "`" + name.name + "` is already " + KindOf(*other) +
                           "; all names of a spec share one namespace",
                       "choose another name",
                       {{other->span, "`" + name.name + "` is declared here"}});
    // A body's own name shadows all the same, so that its uses are not reported as well.
    if (scopes_.size() > 1) scopes_.back()[name.name] = std::move(symbol);
    return false;
  }
  scopes_.back()[name.name] = std::move(symbol);
  return true;
}

const Symbol* Elaborator::Find(std::string_view name) const {
  // The text of a `let` section entry sees the spec's names only, wherever it is used.
  const size_t visible = let_depth_ > 0 ? 1 : scopes_.size();
  for (size_t i = visible; i-- > 0;) {
    const auto found = scopes_[i].find(name);
    if (found == scopes_[i].end()) continue;
    if (found->second.kind == Symbol::Kind::kLet && found->second.index >= visible_lets_) continue;
    return &found->second;
  }
  return nullptr;
}

std::vector<std::string> Elaborator::VisibleNames() const {
  std::vector<std::string> names;
  for (const auto& scope : scopes_) {
    for (const auto& [name, symbol] : scope) {
      if (Find(name)) names.push_back(name);
    }
  }
  return names;
}

std::optional<DType> Elaborator::DTypeNamed(std::string_view name) const {
  if (const Symbol* symbol = Find(name); symbol && symbol->kind == Symbol::Kind::kTypeParam) {
    return symbol->dtype;
  }
  return ParseDType(name);
}

std::optional<DType> Elaborator::ResolveDType(const Ident& name) {
  if (const auto dtype = DTypeNamed(name.name)) return dtype;
  if (const Symbol* symbol = Find(name.name)) {
    Error("type", name.span, "`" + name.name + "` is " + KindOf(*symbol) + ", not a dtype");
    return std::nullopt;
  }
  std::vector<std::string> candidates;
  for (const DType known : ArrayTypes()) candidates.emplace_back(Name(known));
  for (const auto& [text, symbol] : scopes_.front()) {
    if (symbol.kind == Symbol::Kind::kTypeParam) candidates.push_back(text);
  }
  std::string hint = HintForDType(name.name, candidates);
  if (hint.empty()) hint = "dtypes:" + std::string(kDTypeNames);
  Error("type", name.span, "`" + name.name + "` is not a dtype", hint);
  return std::nullopt;
}

const Symbol* Elaborator::RefNamed(const Expr& expr) const {
  if (expr.kind != Expr::Kind::kName) return nullptr;
  const Symbol* symbol = Find(expr.name);
  return symbol && symbol->kind == Symbol::Kind::kRef ? symbol : nullptr;
}

NodePtr Elaborator::ElaborateName(const Expr& expr, const Setting& setting) {
  const Symbol* symbol = Find(expr.name);
  if (symbol) return ReadSymbol(expr, *symbol, setting);
  if (ParseDType(expr.name)) {
    return Error("type", expr.span, "`" + expr.name + "` is a dtype, not a value",
                 "write " + expr.name + "(x) to convert x");
  }
  // Where dimensions have one letter or two, a letter in common is no likeness.
  constexpr size_t kShort = 2;
  std::string hint = HintForForeign(expr.name);
  if (hint.empty() && (setting.body || expr.name.size() > kShort))
    hint = DidYouMean(expr.name, VisibleNames());
  if (FindFunction(expr.name))
    hint = "`" + expr.name + "` is a function; call it: " + expr.name + "(…)";
  if (scopes_.front().count(expr.name)) {  // though Find does not see it
    return Error("name", expr.span, "`" + expr.name + "` is a later entry of `let`",
                 "an entry sees those before it");
  }
  if (hint.empty() && !setting.body) {
    hint = "a dimension stands by itself in the shape of an argument, f32[" + expr.name +
           ", …]; other names are params, axes, scalars and lets";
  }
  diagnostics_.ErrorOnce("name", expr.span, "`" + expr.name + "` is not defined", hint);
  return nullptr;
}

/// An index, which keeps its name where it is a param.
NodePtr Elaborator::NamedConstant(const std::string& name, int64_t value, Span span) const {
  const auto constant = std::make_shared<Node>(*MakeInt(value, DType::kIndex, span));
  for (size_t p = 0; p < kernel_.params.size(); ++p) {
    if (kernel_.params[p].name == name) constant->param = static_cast<int>(p);
  }
  return constant;
}

NodePtr Elaborator::ReadSymbol(const Expr& expr, const Symbol& symbol, const Setting& setting) {
  const DType integer = setting.index ? DType::kIndex : DType::kWeakInt;
  const auto forbidden = [&](const char* why) {
    return Error(
        "name", expr.span,
        "`" + expr.name + "` is " + KindOf(symbol) + "; " + setting.name + " cannot use it", why);
  };
  switch (symbol.kind) {
    case Symbol::Kind::kValueParam:
    case Symbol::Kind::kConstant:
      if (!symbol.value) return nullptr;  // its declaration was at fault and has been reported
      if (setting.index && symbol.value->dtype == DType::kWeakInt) {
        return NamedConstant(expr.name, symbol.value->int_value, expr.span);
      }
      return At(symbol.value, expr.span);
    case Symbol::Kind::kTypeParam:
      return Error("type", expr.span, "`" + expr.name + "` is a dtype, not a value",
                   "write " + expr.name + "(x) to convert x");
    case Symbol::Kind::kDim: {
      if (!setting.dims) return forbidden("dimensions are known only when the kernel is called");
      const Dim& dim = kernel_[DimId(symbol.index)];
      if (dim.fixed) return MakeInt(*dim.fixed, integer, expr.span);
      return Leaf(Op::kDim, integer, symbol.index, expr.span);
    }
    case Symbol::Kind::kAxis:
      if (!setting.axes) return forbidden("it must be known before the grid starts");
      return Leaf(Op::kAxis, integer, symbol.index, expr.span);
    case Symbol::Kind::kRef:
      return ReadRef(symbol.index, expr.span, setting);
    case Symbol::Kind::kLet: {
      // Read again where it is used, so that it takes the arithmetic of the setting.
      const int saved = visible_lets_;
      visible_lets_ = symbol.index;
      ++let_depth_;
      NodePtr value = Elaborate(*spec_.lets[static_cast<size_t>(symbol.index)].value, setting);
      --let_depth_;
      visible_lets_ = saved;
      return value;
    }
    case Symbol::Kind::kLocal: {
      if (!setting.body) return forbidden("");
      const Local& local = kernel_[LocalId(symbol.index)];
      const DType dtype = local.kind == Local::Kind::kLoop ? integer : local.dtype;
      auto node = std::make_shared<Node>(*Leaf(Op::kLocal, dtype, symbol.index, expr.span));
      node->shape = local.shape;
      return ToIndex(node, setting);
    }
    case Symbol::Kind::kAbsent:
      return Error(
          "name", expr.span, "`" + expr.name + "` is absent here",
          "its condition `" + symbol.why + "` does not hold; guard the use by the same condition");
  }
  return nullptr;
}

NodePtr Elaborator::ReadRef(int index, Span span, const Setting& setting) {
  const Ref& ref = kernel_[RefId(index)];
  const bool host = ref.role == Role::kPrefetch || ref.role == Role::kScalar;
  if (ref.role == Role::kArgument) {
    return Error("name", span, "`" + ref.name + "` is read by host code only",
                 "let a `prepare` entry make a prefetch array of it");
  }
  if (ref.role == Role::kSemaphore) {
    return Error("type", span, "`" + ref.name + "` is a semaphore, not a value",
                 "use it in `copy a -> b, " + ref.name + "` and `wait " + ref.name + "`");
  }
  if (host ? !setting.host : !setting.body) {
    std::string hint = host ? "" : "only prefetch arrays and scalars can be read there";
    return Error("name", span,
                 "`" + ref.name + "` is an operand; " + setting.name + " cannot use it", hint);
  }
  if (ref.memory == Memory::kAny) {
    return Error("tier", span,
                 "`" + ref.name + "` stays in HBM (memory: any) and cannot be read directly",
                 spec_.first_inside
                     ? "let the pipeline bring it: " + ref.name + ": {block: …, index: …} in `over`"
                     : "copy it into a scratch buffer: copy " + ref.name + "[…] -> buffer, sem");
  }
  if (setting.index && !setting.body && IsFloat(ref.dtype)) {
    return Error("type", span,
                 "`" + ref.name + "` is " + std::string(Name(ref.dtype)) + ", and " + setting.name +
                     " is integer arithmetic",
                 "the body can look at floats: assert " + ref.name + " >= 0, \"…\"");
  }
  auto node = std::make_shared<Node>(*Leaf(Op::kRead, ref.dtype, index, span));
  node->shape = ref.view;
  return node;
}

NodePtr Elaborator::ToIndex(const NodePtr& node, const Setting& setting) {
  if (!node || !setting.index || !node->shape.empty()) return node;
  if (node->dtype == DType::kBool || node->dtype == DType::kIndex) return node;
  if (node->dtype == DType::kWeakInt) {
    std::string why;
    return Coerce(node, DType::kIndex, why);
  }
  if (IsFloat(node->dtype)) return node;  // reported where an integer is needed
  if (node->op == Op::kRead) {
    auto copy = std::make_shared<Node>(*node);
    copy->dtype = DType::kIndex;
    return copy;
  }
  return Cast(node, DType::kIndex, node->span);
}

}  // namespace kiln
