#include <algorithm>

#include "generator/bind/host.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/call_view.h"
#include "generator/render/view/specialization_view.h"

/// Host code that a call runs before the grid starts.
namespace kiln::render {
void CallView::Prepare() {
  for (size_t k = 0; k < kernel_.prepare.size(); ++k) {
    const HostCall& call = kernel_.prepare[k];
    const std::string made =
        scope_.New("made_" + (specialization_ < 0 ? "" : std::to_string(specialization_) + "_") +
                   std::to_string(k));
    if (k == 0) rest_.push_back("// What `prepare` makes.");
    if (call.header.empty())
      Registered(call, made);
    else
      Own(call, made);
    rest_.push_back(kReturnFailure);
  }
  if (late_.empty()) return;
  rest_.insert(rest_.end(), late_.begin(), late_.end());
  rest_.push_back(kReturnFailure);
}

std::string CallView::Argument(const HostArgument& argument, bool flag) const {
  if (argument.ref >= 0) return "call." + names_[RefId(argument.ref)];
  const std::string value = Print(*argument.value);
  return flag && argument.value->dtype != DType::kBool ? "(" + value + ") != 0" : value;
}

/// Sizes that nothing else tells, then the array as the spec declares it.
void CallView::Take(RefId ref, const std::string& from, const std::string& end,
                    const std::string& used) {
  for (const DimId d : IdsOf(kernel_.dims)) {
    size_t dimension = 0;
    if (MakerOf(kernel_, d, &dimension) != ref) continue;
    rest_.push_back("call." + names_[d] + " = " + from + ".shape[" + std::to_string(dimension) +
                    "];");
  }
  rest_.push_back("call." + names_[ref] + " = Made(check, " + Quoted(kernel_[ref].name) + ", " +
                  from + ", " + Shape(kernel_[ref]) + ", PastEnd::" + end +
                  (used.empty() ? "" : ", " + used) + ");");
}

void CallView::Registered(const HostCall& call, const std::string& made) {
  const HostFunction& function = *FindHostFunction(call.function);
  const auto match = std::get<std::vector<int>>(MatchHostCall(function, call, kernel_));
  memory_.push_back(std::string(function.cpp_results) + " " + made + ";");

  // Optional parameters, if there are several, are a struct.
  const auto& parameters = function.parameters;
  const bool has_options =
      std::count_if(parameters.begin(), parameters.end(),
                    [](const HostParameter& p) { return !p.by_default.empty(); }) > 1;
  std::string arguments, options;
  for (size_t p = 0; p < match.size(); ++p) {
    const HostParameter& parameter = function.parameters[p];
    const bool flag = parameter.kind == HostParameter::Kind::kFlag;
    const bool given = match[p] >= 0;
    const std::string value =
        given ? Argument(call.arguments[static_cast<size_t>(match[p])], flag) : "std::nullopt";
    if (parameter.by_default.empty() || !has_options) {
      arguments += value + ", ";
    } else if (given) {
      options += (options.empty() ? "." : ", .") + std::string(parameter.name) + " = " + value;
    }
  }
  if (has_options) arguments += "{" + options + "}, ";
  rest_.push_back("check.Take(" + std::string(function.cpp_function) + "(" + arguments + "&" +
                  made + "));");
  for (size_t r = 0; r < call.results.size(); ++r) {
    const RefId ref(call.results[r]);
    const HostReturn& result = function.results[r];
    const std::string from = made + "." + std::string(result.name);
    if (kernel_[ref].role == Role::kScalar) {
      rest_.push_back("call." + names_[ref] + " = " + from + ";");
      continue;
    }
    const std::string used =
        result.used < 0
            ? ""
            : made + "." + std::string(function.results[static_cast<size_t>(result.used)].name);
    Take(ref, from, result.end == HostReturn::End::kZero ? "kZero" : "kRepeat", used);
  }
}

/// A function that the user declares in a header.
void CallView::Own(const HostCall& call, const std::string& made) {
  std::string arguments;
  for (const HostArgument& argument : call.arguments) {
    arguments += (arguments.empty() ? "" : ", ") + Argument(argument, false);
  }
  std::vector<std::string> arrays(call.results.size());
  for (size_t r = 0; r < call.results.size(); ++r) {
    const RefId ref(call.results[r]);
    arguments += arguments.empty() ? "&" : ", &";
    if (kernel_[ref].role == Role::kScalar) {
      arguments += "call." + names_[ref];
      continue;
    }
    arrays[r] = made + "_" + std::to_string(r);
    memory_.push_back("HostArray<" + StorageType(kernel_[ref].dtype) + "> " + arrays[r] + ";");
    arguments += arrays[r];
  }
  rest_.push_back("check.Take(Guarded(" + Quoted(call.function) +
                  ", [&] { return ::" + call.function + "(" + arguments + "); }));");
  for (size_t r = 0; r < call.results.size(); ++r) {
    if (!arrays[r].empty()) Take(RefId(call.results[r]), arrays[r], "kRepeat", "");
  }
}

}  // namespace kiln::render
