#include <algorithm>
#include <set>

#include "generator/front/elaborate.h"
#include "generator/front/host.h"

/// The sections of a spec other than operands.
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

std::vector<std::string> Names(const std::vector<ParamSpec>& params) {
  std::vector<std::string> names;
  for (const ParamSpec& param : params) names.push_back(param.name.name);
  return names;
}

}  // namespace

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
  symbol.value = Elaborate(expr, kParamPlace);
  ok = symbol.value != nullptr;
  if (ok && !IsConst(symbol.value)) {
    Error("type", expr.span, "a parameter must be a constant: an integer, float, bool or dtype");
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

void Elaborator::Params(const CheckOptions& options) {
  std::map<std::string, std::string> given;
  for (const InstanceSpec& instance : spec_.instances) {
    if (instance.name.name != kernel_.instance) continue;
    for (const ParamSpec& set : instance.set) {
      const auto names = Names(spec_.params);
      if (std::find(names.begin(), names.end(), set.name.name) == names.end()) {
        Error("key", set.name.span,
              "the instance sets `" + set.name.name + "`, which is not a parameter",
              DidYouMean(set.name.name, names));
      }
      given[set.name.name] = ToString(*set.value);
    }
  }
  for (const auto& [name, value] : options.set) {
    const auto names = Names(spec_.params);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string hint = DidYouMean(name, names);
      if (hint.empty() && names.empty()) hint = "the spec has no params";
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
    if (ParseDType(param.name.name) || FindFunction(param.name.name)) {
      Error("name", param.name.span, "`" + param.name.name + "` is a name of the language",
            "choose another name");
      continue;
    }
    kernel_.params.push_back({param.name.name, ParamText(symbol)});
    Declare(param.name, symbol);
  }
}

/// Every bare name in an argument's or operand's shape that is declared nowhere else is a
/// dimension, in the order of the arguments.
void Elaborator::Dims() {
  std::set<std::string> taken;
  for (const ParamSpec& p : spec_.params) taken.insert(p.name.name);
  for (const ScalarSpec& s : spec_.scalars) taken.insert(s.name.name);
  for (const LetSpec& l : spec_.lets) taken.insert(l.name.name);
  for (const AxisSpec& a : spec_.grid) taken.insert(a.name.name);
  std::vector<Ident> found;
  const auto add = [&](const Ident& name) {
    if (taken.insert(name.name).second) found.push_back(name);
  };
  const auto scan = [&](const std::vector<ExprPtr>& shape) {
    for (const ExprPtr& e : shape) {
      if (e && e->kind == Expr::Kind::kName) add({e->name, e->span});
    }
  };
  for (const ArraySpec& a : spec_.arguments) scan(a.type.shape);
  for (const ArraySpec& a : spec_.prefetch) scan(a.type.shape);
  for (const auto* entries : {&spec_.inputs, &spec_.outputs}) {
    for (const OperandEntry& entry : *entries) {
      const OperandSpec* chosen = ChooseAlternative(entry);
      if (chosen && chosen->array) scan(chosen->array->shape);
    }
  }
  std::vector<std::string> closed;
  for (const DimSpec& d : spec_.dims) closed.push_back(d.name.name);
  for (const DimSpec& d : spec_.dims) {  // fixed sizes need no argument to bind them
    const bool bound = std::any_of(found.begin(), found.end(),
                                   [&](const Ident& f) { return f.name == d.name.name; });
    if (bound) continue;
    if (!d.fixed && taken.count(d.name.name) == 0) {
      std::vector<std::string> names;
      for (const Ident& f : found) names.push_back(f.name);
      std::string hint = DidYouMean(d.name.name, names);
      if (hint.empty())
        hint = "a dimension is bound by standing alone in an operand's shape: f32[" + d.name.name +
               "]";
      Error("name", d.name.span, "no argument's shape binds the dimension `" + d.name.name + "`",
            hint);
    }
    add(d.name);
  }
  for (const Ident& name : found) {
    if (spec_.dims_closed && std::find(closed.begin(), closed.end(), name.name) == closed.end()) {
      Error("name", name.span, "`" + name.name + "` is not among the listed `dims`",
            DidYouMean(name.name, closed));
    }
    Dim dim;
    dim.name = name.name;
    dim.span = name.span;
    for (const DimSpec& d : spec_.dims) {
      if (d.name.name != name.name) continue;
      if (d.fixed) dim.fixed = ElaborateStaticInt(*d.fixed, "a fixed dimension");
      if (d.multiple_of)
        dim.multiple_of = ElaborateStaticInt(*d.multiple_of, "multiple_of").value_or(1);
      if (d.min) dim.min = ElaborateStaticInt(*d.min, "min").value_or(0);
      if (d.max) dim.max = ElaborateStaticInt(*d.max, "max");
      if (dim.multiple_of < 1) Error("key", d.name.span, "multiple_of must be at least 1");
      if (dim.fixed && *dim.fixed < 0) Error("key", d.name.span, "a dimension cannot be negative");
    }
    Symbol symbol;
    symbol.kind = Symbol::Kind::kDim;
    symbol.index = static_cast<int>(kernel_.dims.size());
    if (ParseDType(name.name) || !Declare(name, symbol)) continue;
    kernel_.dims.push_back(dim);
  }
}

void Elaborator::Lets() {
  for (size_t i = 0; i < spec_.lets.size(); ++i) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::kLet;
    symbol.index = static_cast<int>(i);
    visible_lets_ = static_cast<int>(i) + 1;
    Declare(spec_.lets[i].name, symbol);
  }
}

void Elaborator::CheckLets() {
  Place place = kBodyPlace;  // the most liberal arithmetic; a use may be stricter
  place.name = "a let";
  place.body = false;
  for (size_t i = 0; i < spec_.lets.size(); ++i) {
    visible_lets_ = static_cast<int>(i);
    ++let_depth_;
    Elaborate(*spec_.lets[i].value, place);
    --let_depth_;
  }
  visible_lets_ = static_cast<int>(spec_.lets.size());
}

void Elaborator::GridAxes() {
  for (const AxisSpec& axis : spec_.grid) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::kAxis;
    symbol.index = static_cast<int>(kernel_.axes.size());
    Declare(axis.name, symbol);
    kernel_.axes.push_back({axis.name.name, axis.name.span, nullptr, false});
  }
  bool arbitrary = false;
  if (!spec_.semantics.empty() && spec_.semantics.size() != kernel_.axes.size()) {
    Error("key", spec_.semantics_span,
          "dimension_semantics names " + std::to_string(spec_.semantics.size()) +
              " axes and the grid has " + std::to_string(kernel_.axes.size()));
    return;
  }
  for (size_t i = 0; i < spec_.semantics.size(); ++i) {
    const Ident& word = spec_.semantics[i];
    if (word.name == "parallel") {
      if (arbitrary) {
        Error("key", word.span,
              "`" + kernel_.axes[i].name + "` is parallel after an arbitrary axis",
              "parallel axes come first in the grid");
      }
      kernel_.axes[i].parallel = true;
    } else if (word.name == "arbitrary") {
      arbitrary = true;
    } else {
      Error("key", word.span, "`" + word.name + "` is not a dimension semantics",
            DidYouMean(word.name, {"parallel", "arbitrary"}).empty()
                ? "parallel or arbitrary"
                : DidYouMean(word.name, {"parallel", "arbitrary"}));
    }
  }
}

void Elaborator::GridSteps() {
  for (size_t i = 0; i < spec_.grid.size(); ++i) {
    NodePtr steps = ElaborateIndex(*spec_.grid[i].steps, kStepsPlace);
    if (steps && ConstInt(steps).value_or(0) < 0) {
      Error("index-range", spec_.grid[i].steps->span,
            "the axis `" + spec_.grid[i].name.name + "` has " + std::to_string(*ConstInt(steps)) +
                " steps");
    }
    kernel_.axes[i].steps = steps ? steps : MakeInt(1, DType::kIndex, spec_.grid[i].name.span);
  }
}

void Elaborator::ArrayShape(const std::vector<ExprPtr>& shape, Ref& ref) {
  if (shape.size() > 8) {
    Error("shape", ref.span,
          "`" + ref.name + "` has rank " + std::to_string(shape.size()) + "; the limit is 8");
  }
  for (const ExprPtr& e : shape) {
    const auto size = ElaborateSize(*e);
    if (size && size->Constant().value_or(0) < 0) {
      Error("shape", e->span, "a negative extent, " + size->ToString());
    }
    ref.array.push_back(size.value_or(1));
  }
}

int Elaborator::AddRef(Ref ref) {
  const int index = static_cast<int>(kernel_.refs.size());
  Symbol symbol;
  symbol.kind = Symbol::Kind::kRef;
  symbol.index = index;
  if (ParseDType(ref.name)) {
    Error("name", ref.span, "`" + ref.name + "` is a dtype", "choose another name");
  }
  Declare({ref.name, ref.span}, symbol);
  kernel_.refs.push_back(std::move(ref));
  return index;
}

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
    ref.dtype = ResolveDType(array.type.dtype).value_or(DType::kI32);
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
    ref.dtype = ResolveDType(scalar.dtype).value_or(DType::kI32);
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
      const bool fits =
          ref >= 0 && (kernel_.refs[static_cast<size_t>(ref)].role == Role::kPrefetch ||
                       kernel_.refs[static_cast<size_t>(ref)].role == Role::kScalar);
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
    if (symbol && kernel_.refs[static_cast<size_t>(symbol->index)].role != Role::kScalar) {
      argument.ref = symbol->index;
    } else {
      Place place = kConditionPlace;
      place.name = "an argument of prepare";
      argument.value = ElaborateIndex(value, place);
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

void Elaborator::Requires() {
  Place place = kConditionPlace;
  place.name = "a `require` condition";
  for (const ExprPtr& expr : spec_.require) {
    NodePtr condition = ElaborateCondition(*expr, place);
    if (!condition) continue;
    if (const auto known = ConstBool(condition)) {
      if (!*known) Error("call", expr->span, "this requirement can never hold: " + ToString(*expr));
      continue;
    }
    kernel_.require.push_back({condition, ToString(*expr)});
  }
}

void Elaborator::Scratch() {
  for (const ScratchSpec& scratch : spec_.scratch) {
    Ref ref;
    ref.name = scratch.name.name;
    ref.span = scratch.name.span;
    if (!scratch.array) {
      ref.role = Role::kSemaphore;
      ref.memory = Memory::kSmem;
      if (scratch.semaphore.name != "dma") {
        Error("key", scratch.semaphore.span,
              "`" + scratch.semaphore.name + "` is not a kind of semaphore", "there is: dma");
      }
      if (scratch.count)
        ref.count = ElaborateStaticInt(*scratch.count, "the count of semaphores").value_or(1);
      if (ref.count < 1) Error("key", scratch.name.span, "there must be at least one semaphore");
    } else {
      ref.role = Role::kScratch;
      ref.memory = MemoryNamed(scratch.memory, false);
      ref.dtype = ResolveDType(scratch.array->dtype).value_or(DType::kF32);
      ArrayShape(scratch.array->shape, ref);
      ref.view = ref.array;
    }
    AddRef(std::move(ref));
  }
}

Memory Elaborator::MemoryNamed(const Ident& name, bool any_allowed) {
  if (name.name.empty() || name.name == "vmem") return Memory::kVmem;
  if (name.name == "smem") return Memory::kSmem;
  if (name.name == "any" && any_allowed) return Memory::kAny;
  const std::string known = any_allowed ? "vmem, smem, any" : "vmem, smem";
  std::string hint = DidYouMean(name.name, {"vmem", "smem", "any"});
  Error("key", name.span,
        "`" + name.name + "` is not a memory " + (name.name == "any" ? "for scratch" : "space"),
        hint.empty() || name.name == "any" ? "there are: " + known : hint);
  return Memory::kVmem;
}

void Elaborator::Body() {
  kernel_.body = ElaborateBlock(spec_.body);
  if (spec_.epilogue.empty()) return;
  assigned_.clear();
  kernel_.epilogue = ElaborateBlock(spec_.epilogue);
  for (int ref : assigned_) {
    const bool output = kernel_.refs[static_cast<size_t>(ref)].role == Role::kOutput;
    auto& list = kernel_.epilogue_outputs;
    if (output && std::find(list.begin(), list.end(), ref) == list.end()) list.push_back(ref);
  }
  std::sort(kernel_.epilogue_outputs.begin(), kernel_.epilogue_outputs.end());
  if (kernel_.epilogue_outputs.empty() && !diagnostics_.HasErrors()) {
    Error("coverage", spec_.epilogue.front().span, "the epilogue assigns no output",
          "it runs when an output it assigns is written back; move this to the body");
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

void Elaborator::Variants() {
  Place place = kConditionPlace;
  place.name = "a variant's condition";
  const auto names = Names(spec_.params);
  for (const VariantSpec& variant : spec_.variants) {
    Variant out;
    out.span = variant.span;
    out.when =
        variant.when ? ElaborateCondition(*variant.when, place) : MakeBool(true, variant.span);
    for (const ParamSpec& set : variant.set) {
      if (std::find(names.begin(), names.end(), set.name.name) == names.end()) {
        Error("key", set.name.span,
              "the variant sets `" + set.name.name + "`, which is not a parameter",
              DidYouMean(set.name.name, names));
      }
      out.set.emplace_back(set.name.name, ToString(*set.value));
    }
    if (out.when) kernel_.variants.push_back(std::move(out));
  }
}

}  // namespace kiln
