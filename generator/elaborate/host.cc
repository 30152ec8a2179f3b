#include "generator/bind/host.h"

#include <algorithm>
#include <set>

#include "generator/elaborate/elaborate.h"

/// What host code reads and makes before the grid starts: arguments, prefetch, scalars, prepare.
namespace kiln {

void Elaborator::HostArrays() {
  std::set<std::string> made;
  for (const PrepareSpec& prepare : spec_.prepare) {
    for (const Ident& result : prepare.results) made.insert(result.name);
  }
  const auto add = [&](const ArraySpec& array, Role role) {
    Ref ref;
    ref.name = array.name.name;
    ref.span = array.name.span;
    ref.role = role;
    ref.memory = role == Role::kPrefetch ? Memory::kSmem : Memory::kAny;
    ref.dtype = HostDType(array.type.dtype);
    ref.prepared = role == Role::kPrefetch && made.count(ref.name) > 0;
    ArrayShape(array.type.shape, ref);
    ref.view = ref.array;
    AddRef(std::move(ref));
  };
  for (const ArraySpec& array : spec_.arguments) add(array, Role::kArgument);
  for (const ArraySpec& array : spec_.prefetch) add(array, Role::kPrefetch);
  for (const ScalarSpec& scalar : spec_.scalars) {
    Ref ref;
    ref.name = scalar.name.name;
    ref.span = scalar.name.span;
    ref.role = Role::kScalar;
    ref.memory = Memory::kSmem;
    ref.dtype = HostDType(scalar.dtype);
    ref.prepared = made.count(ref.name) > 0;
    AddRef(std::move(ref));
  }
}

void Elaborator::Prepare() {
  std::set<std::string> seen;
  for (const PrepareSpec& prepare : spec_.prepare) {
    HostCall call;
    call.span = prepare.span;
    call.header = prepare.header;
    if (!prepare.call || prepare.call->kind != Expr::Kind::kCall) {
      Error("syntax", prepare.span, "a prepare entry calls a function: offsets, ids = f(x)");
      continue;
    }
    call.function = prepare.call->name;
    const HostFunction* function = FindHostFunction(call.function);
    if (call.header.empty() && !function) {
      std::string hint = DidYouMean(call.function, HostFunctionNames());
      if (hint.empty())
        hint = "a function of your own names its header: {call: \"…\", header: \"my.h\"}";
      Error("name", prepare.call->name_span, "`" + call.function + "` is not a prepare function",
            hint);
    }
    for (const Ident& result : prepare.results) {
      const Symbol* symbol = Find(result.name);
      const int ref = symbol && symbol->kind == Symbol::Kind::kRef ? symbol->index : -1;
      const bool fits = ref >= 0 && (kernel_[RefId(ref)].role == Role::kPrefetch ||
                                     kernel_[RefId(ref)].role == Role::kScalar);
      if (!fits) {
        Error("name", result.span,
              "`" + result.name + "` is not declared in `prefetch` or `scalars`",
              "declare what prepare makes: prefetch: {" + result.name + ": \"i32[…]\"}");
      } else if (!seen.insert(result.name).second) {
        Error("name", result.span, "`" + result.name + "` is made twice");
      }
      call.results.push_back(ref);
    }
    HostArguments(*prepare.call, call);
    if (function && call.header.empty()) CheckHostCall(*function, *prepare.call, call);
    kernel_.prepare.push_back(std::move(call));
  }
}

void Elaborator::HostArguments(const Expr& expr, HostCall& call) {
  const auto add = [&](const std::string& keyword, const Expr& value) {
    HostArgument argument;
    argument.keyword = keyword;
    const Symbol* symbol = RefNamed(value);
    if (symbol && kernel_[RefId(symbol->index)].role != Role::kScalar) {
      argument.ref = symbol->index;
    } else {
      Setting setting = kConditionSetting;
      setting.name = "an argument of prepare";
      argument.value = ElaborateIndex(value, setting);
    }
    call.arguments.push_back(std::move(argument));
  };
  for (const ExprPtr& value : expr.args) add("", *value);
  for (const Keyword& keyword : expr.keywords) add(keyword.name.name, *keyword.value);
}

void Elaborator::CheckHostCall(const HostFunction& function, const Expr& expr,
                               const HostCall& call) {
  const bool complete =
      std::find(call.results.begin(), call.results.end(), -1) == call.results.end() &&
      std::all_of(call.arguments.begin(), call.arguments.end(),
                  [](const HostArgument& a) { return a.ref >= 0 || a.value; });
  if (!complete) return;  // already reported
  const auto match = MatchHostCall(function, call, kernel_);
  if (const auto* why = std::get_if<std::string>(&match)) {
    Error("type", expr.span, *why, "write " + Signature(function));
  }
}

}  // namespace kiln
