#include "generator/render/view/dot_headers.h"

#include <set>

#include "generator/plan/walk.h"

namespace kiln::render {
namespace {

const char* HeaderOf(const stage::Dot& dot) { return dot.tap_count > 0 ? "taps" : "panels"; }

const char* HeaderOf(const stage::Pack& pack) {
  if (pack.scaled) return "scaled";
  return pack.value ? "computed" : "matrices";
}

const char* HeaderOf(const OperandPlan& operand, const Ref& ref) {
  if (operand.layout == OperandPlan::Layout::kRows) return nullptr;
  return ref.view.size() > 2 ? "stacks" : "panels";
}

}  // namespace

std::vector<std::string> DotHeaders(const std::vector<std::unique_ptr<Plan>>& plans) {
  std::set<std::string> names;
  const auto add = [&](const char* name) {
    if (name != nullptr) names.insert(name);
  };
  for (const auto& plan : plans) {
    const Kernel& kernel = *plan->kernel;
    for (const RefId r : IdsOf(kernel.refs)) add(HeaderOf(plan->operands[r], kernel[r]));
    for (const BodyPlan& body : plan->bodies) {
      ForEachStage(body.stages, [&](const Stage& stage) {
        if (const auto* dot = As<stage::Dot>(stage)) add(HeaderOf(*dot));
        if (const auto* pack = As<stage::Pack>(stage)) add(HeaderOf(*pack));
      });
    }
  }
  std::vector<std::string> headers;
  for (const std::string& name : names) headers.push_back("kiln/dot/" + name + "-inl.h");
  return headers;
}

}  // namespace kiln::render
