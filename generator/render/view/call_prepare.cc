#include "generator/render/print/cpp.h"
#include "generator/render/view/call_view.h"
#include "generator/render/view/specialization_view.h"

/// Host code that a call runs before the grid starts.
namespace kiln::render {

void CallView::Prepare() {
  for (size_t k = 0; k < plan_.host_calls.size(); ++k) {
    const HostCallPlan& call = plan_.host_calls[k];
    const std::string made =
        scope_.New("made_" + (specialization_ < 0 ? "" : std::to_string(specialization_) + "_") +
                   std::to_string(k));
    if (k == 0) rest_.push_back("// What `prepare` makes.");
    if (call.of_user)
      Own(call, made);
    else
      Registered(call, made);
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

/// Sizes that follow from nothing else, then the array as the spec declares it.
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

void CallView::Registered(const HostCallPlan& call, const std::string& made) {
  memory_.push_back(call.results_type + " " + made + ";");
  std::string arguments, options;
  for (const auto& [given, option, flag] : call.arguments) {
    const std::string value = given ? Argument(*given, flag) : "std::nullopt";
    if (option.empty())
      arguments += value + ", ";
    else if (given)
      options += (options.empty() ? "." : ", .") + option + " = " + value;
  }
  if (call.has_options) arguments += "{" + options + "}, ";
  rest_.push_back("check.Take(" + call.function + "(" + arguments + "&" + made + "));");
  for (const auto& [ref, member, ends_with_zero, used] : call.results) {
    const std::string from = made + "." + member;
    if (kernel_[ref].role == Role::kScalar) {
      rest_.push_back("call." + names_[ref] + " = " + from + ";");
      continue;
    }
    Take(ref, from, ends_with_zero ? "kZero" : "kRepeat", used.empty() ? "" : made + "." + used);
  }
}

/// A function that the user declares in a header.
void CallView::Own(const HostCallPlan& call, const std::string& made) {
  std::string arguments;
  for (const HostCallPlan::Argument& argument : call.arguments) {
    arguments += (arguments.empty() ? "" : ", ") + Argument(*argument.given, argument.flag);
  }
  std::vector<std::string> arrays(call.results.size());
  for (size_t r = 0; r < arrays.size(); ++r) {
    const RefId ref = call.results[r].ref;
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
  for (size_t r = 0; r < arrays.size(); ++r) {
    if (!arrays[r].empty()) Take(call.results[r].ref, arrays[r], "kRepeat", "");
  }
}

}  // namespace kiln::render
