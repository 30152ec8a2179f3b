#include "generator/planner/analyze/host_calls.h"

#include <algorithm>

#include "generator/bind/host.h"

namespace kiln {
namespace {

/// A function that the user declares in a header.
HostCallPlan PlanOwn(const HostCall& call) {
  HostCallPlan plan;
  plan.function = call.function;
  plan.of_user = true;
  for (const HostArgument& argument : call.arguments)
    plan.arguments.push_back({&argument, "", false});
  for (const int result : call.results) plan.results.push_back({RefId(result), "", false, ""});
  return plan;
}

HostCallPlan PlanRegistered(const Kernel& kernel, const HostCall& call) {
  const HostFunction& function = *FindHostFunction(call.function);
  const auto match = std::get<std::vector<int>>(MatchHostCall(function, call, kernel));
  HostCallPlan plan;
  plan.function = function.cpp_function;
  plan.results_type = function.cpp_results;
  // Optional parameters, if there are several, are a struct.
  const auto& parameters = function.parameters;
  plan.has_options =
      std::count_if(parameters.begin(), parameters.end(),
                    [](const HostParameter& p) { return !p.by_default.empty(); }) > 1;
  for (size_t p = 0; p < match.size(); ++p) {
    const HostParameter& parameter = parameters[p];
    const bool option = plan.has_options && !parameter.by_default.empty();
    const HostArgument* given =
        match[p] < 0 ? nullptr : &call.arguments[static_cast<size_t>(match[p])];
    plan.arguments.push_back({given, std::string(option ? parameter.name : ""),
                              parameter.kind == HostParameter::Kind::kFlag});
  }
  for (size_t r = 0; r < call.results.size(); ++r) {
    const HostReturn& result = function.results[r];
    const auto used = static_cast<size_t>(result.used);
    plan.results.push_back({RefId(call.results[r]), std::string(result.name),
                            result.end == HostReturn::End::kZero,
                            std::string(result.used < 0 ? "" : function.results[used].name)});
  }
  return plan;
}

}  // namespace

std::vector<HostCallPlan> PlanHostCalls(const Kernel& kernel) {
  std::vector<HostCallPlan> plans;
  for (const HostCall& call : kernel.prepare)
    plans.push_back(call.header.empty() ? PlanRegistered(kernel, call) : PlanOwn(call));
  return plans;
}

}  // namespace kiln
