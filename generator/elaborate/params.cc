#include <algorithm>
#include <map>

#include "generator/elaborate/elaborate.h"

/// `params`, with what instances and --set say of them.
namespace kiln {
namespace {

std::string ParamText(const Symbol& symbol) {
  if (symbol.kind == Symbol::Kind::kTypeParam) return std::string(Name(symbol.dtype));
  const Node& value = *symbol.value;
  if (value.dtype == DType::kBool) return value.int_value ? "true" : "false";
  if (IsFloat(value.dtype)) {
    Expr expr;
    expr.kind = Expr::Kind::kFloat;
    expr.float_value = value.float_value;
    return ToString(expr);
  }
  return std::to_string(value.int_value);
}

const char* ParamKind(const Symbol& symbol) {
  if (symbol.kind == Symbol::Kind::kTypeParam) return "a dtype";
  if (symbol.value->dtype == DType::kBool) return "a bool";
  return IsFloat(symbol.value->dtype) ? "a float" : "an integer";
}

/// Integers stand in for floats; otherwise a parameter keeps its kind.
bool SameKind(const Symbol& declared, Symbol& given) {
  const std::string a = ParamKind(declared), b = ParamKind(given);
  if (a == "a float" && b == "an integer") {
    given.value = MakeFloat(static_cast<double>(given.value->int_value), DType::kWeakFloat,
                            given.value->span);
    return true;
  }
  return a == b;
}

}  // namespace

std::vector<std::string> Elaborator::ParamNames() const {
  std::vector<std::string> names;
  for (const ParamSpec& param : spec_.params) names.push_back(param.name.name);
  return names;
}

Symbol Elaborator::ParamValue(const Expr& expr, bool& ok) {
  Symbol symbol;
  ok = true;
  if (expr.kind == Expr::Kind::kIf) {  // `bf16 if small else f32`
    const auto condition = ElaborateStaticCondition(*expr.args[1]);
    ok = condition.has_value();
    return ok ? ParamValue(*expr.args[*condition ? 0 : 2], ok) : symbol;
  }
  if (expr.kind == Expr::Kind::kName) {
    if (const auto dtype = DTypeNamed(expr.name)) {
      symbol.kind = Symbol::Kind::kTypeParam;
      symbol.dtype = *dtype;
      return symbol;
    }
  }
  symbol.kind = Symbol::Kind::kValueParam;
  symbol.value = Elaborate(expr, kParamSetting);
  ok = symbol.value != nullptr;
  if (ok && !IsConst(symbol.value)) {
    const bool integer = !IsFloat(symbol.value->dtype) && symbol.value->shape.empty();
    Error("type", expr.span, "a parameter must be a constant: an integer, float, bool or dtype",
          integer ? "this one overflows 64 bits or divides by zero" : "");
    ok = false;
  }
  if (ok && !IsWeak(symbol.value->dtype) && symbol.value->dtype != DType::kBool) {
    auto weak = std::make_shared<Node>(*symbol.value);
    weak->dtype = IsFloat(weak->dtype) ? DType::kWeakFloat : DType::kWeakInt;
    symbol.value = weak;
  }
  if (ok && symbol.value->dtype ==
                DType::kWeakInt) {  // not a literal any more: see the page on weak types
    symbol.value = MakeInt(symbol.value->int_value, DType::kWeakInt, expr.span, false);
  }
  return symbol;
}

bool Elaborator::ParseOverride(const std::string& name, const std::string& value, Span span,
                               Symbol& out) {
  Diagnostics quiet;
  Text text{value, std::vector<uint32_t>(value.size() + 1, span.begin)};
  const ExprPtr expr = ParseExpr(text, quiet);
  bool ok = expr != nullptr;
  if (ok) {
    Elaborator probe(*this, quiet);
    out = probe.ParamValue(*expr, ok);
  }
  if (ok) return true;
  const auto found = quiet.Sorted();
  Error("type", span,
        "`" + name + "=" + value + "` is not a value for the parameter `" + name + "`" +
            (found.empty() ? "" : ": " + found.front().message));
  return false;
}

void Elaborator::CheckParamValue(const ParamSpec& set) {
  const Symbol* const declared = Find(set.name.name);
  Symbol given;
  if (!declared || !ParseOverride(set.name.name, ToString(*set.value), set.value->span, given))
    return;
  if (SameKind(*declared, given)) return;
  Error("type", set.value->span,
        "`" + set.name.name + "=" + ToString(*set.value) + "` is " + ParamKind(given) +
            ", and the parameter is " + ParamKind(*declared));
}

void Elaborator::Params(const CheckOptions& options) {
  std::map<std::string, std::string> given;
  for (const InstanceSpec& instance : spec_.instances) {
    if (instance.name.name != kernel_.instance) continue;
    for (const ParamSpec& set : instance.set) {
      const auto names = ParamNames();
      if (std::find(names.begin(), names.end(), set.name.name) == names.end()) {
        Error("key", set.name.span,
              "the instance sets `" + set.name.name + "`, which is not a parameter",
              DidYouMean(set.name.name, names));
      }
      given[set.name.name] = ToString(*set.value);
    }
  }
  for (const auto& [name, value] : options.set) {
    const auto names = ParamNames();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string hint = DidYouMean(name, names);
      if (hint.empty()) {
        hint = names.empty() ? "the spec has no params"
                             : "--set takes all that follows: sizes and arguments come before it";
      }
      Error("key", spec_.kernel.span,
            "--set " + name + "=" + value + ": `" + name + "` is not a parameter of this spec",
            hint);
    }
    given[name] = value;
  }
  for (const ParamSpec& param : spec_.params) {
    bool ok = false;
    Symbol symbol = ParamValue(*param.value, ok);
    if (!ok) continue;
    if (const auto override_text = given.find(param.name.name); override_text != given.end()) {
      Symbol chosen;
      // After an error the spec's own value stands in, so that its uses are not reported too.
      if (ParseOverride(param.name.name, override_text->second, param.name.span, chosen)) {
        if (SameKind(symbol, chosen)) {
          symbol = chosen;
        } else {
          Error("type", param.name.span,
                "`" + param.name.name + "=" + override_text->second + "` is " + ParamKind(chosen) +
                    ", and the parameter is " + ParamKind(symbol));
        }
      }
    }
    if (symbol.kind == Symbol::Kind::kTypeParam && FindFunction(param.name.name)) {
      Error("name", param.name.span,  // a dtype's name is called, as functions are
            "`" + param.name.name + "` is a function and cannot name a dtype as well",
            "choose another name");
      continue;
    }
    kernel_.params.push_back({param.name.name, ParamText(symbol)});
    Declare(param.name, symbol);
  }
}

}  // namespace kiln
