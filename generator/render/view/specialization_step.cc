#include "generator/plan/plan.h"
#include "generator/render/view/body_view.h"
#include "generator/render/view/mentions.h"
#include "generator/render/view/specialization_view.h"

/// What one step sees, what it does, and what the grid has to know of the instruction set.
namespace kiln::render {

void SpecializationView::InStep(const std::string& type, const std::string& name,
                                const std::string& value) {
  step_.push_back({type, name, value, ""});
}

void SpecializationView::OperandInStep(RefId r, const std::string& value) {
  const Ref& ref = kernel_[r];
  const std::string& name = names_[r];
  if (IsOfDot(r)) {
    step_.push_back({"DotView", name, value, "ViewOf<" + Format(r) + ">"});
  } else {
    const bool by_parts = plan_.operands[r].has_edges;
    InStep((by_parts ? "EdgedTile<" : "Tile<") + Type(ref) + ", " +
               std::to_string(ref.view.size()) + ">",
           name, value);
    step_.back().by_parts = by_parts;
  }
}

/// What a step knows besides its operands.
void SpecializationView::Given() {
  const std::string rank = std::to_string(kernel_.axes.size());
  const std::string steps = "const std::array<int64_t, " + rank + ">&";
  InStep("Core&", "core", "core");
  InStep("const Call&", "call", "call");
  InStep("const Point<" + rank + ">", "point", "at");
  InStep(steps, "steps", "steps");
  if (HasCopies()) InStep("Copies&", "copies", "copies");
}

void SpecializationView::Bodies() {
  const bool several = plan_.bodies.size() > 1;
  const bool of_any_step = plan_.HasOneBody() && plan_.Finishes();
  const auto [first, last] = EndsOfReduction();
  const std::string ends = plan_.Finishes() ? first + "\n" + last : several ? first : std::string();
  std::vector<Fields> bodies;
  for (const BodyPlan& body : plan_.bodies) {
    Fields f = BodyView(plan_, names_, spec_file_).Make(body.stages);
    f.SetList("locals", Locals({f}, of_any_step ? ends : ""));
    f.Set("tag", several ? body.name : "");
    f.SetFlag("of_any_step", of_any_step);
    bodies.push_back(std::move(f));
  }
  std::erase_if(step_, [&](const StepMember& m) {
    const bool if_asked_for = m.name == "call" || m.name == "point" || m.name == "steps";
    return if_asked_for && !Mentions(bodies, m.name) && !Mentions(ends, m.name);
  });
  fields_.Set("first", first);
  fields_.Set("last", last);
  fields_.SetFlag("finishes", plan_.Finishes());
  fields_.SetFlag("has_bodies", several);
  fields_.SetList("locals_of_ends", Locals({}, several ? ends : ""));
  fields_.SetList("bodies", std::move(bodies));
}

void SpecializationView::Step() {
  std::vector<std::pair<std::string, std::string>> members;
  std::vector<std::string> values;
  for (const StepMember& member : step_) {
    members.emplace_back(member.type, member.name);
    values.push_back(member.value);
  }
  std::vector<Fields> lines = Declarations(members);
  for (Fields& line : lines) line.SetFlag("is_point", line.Find("names")->text == "point");
  fields_.SetList("step_members", std::move(lines));
  fields_.SetList("step_values", Enumerated("value", values, "};"));
}

/// What the instruction set decides.
void SpecializationView::FromTarget() {
  std::vector<std::pair<std::string, std::string>> members;
  std::vector<std::string> values;
  for (const TargetMember& member : target_) {
    members.emplace_back(member.type, member.name);
    values.push_back(member.value);
  }
  // Parameters that the text does not mention have no names.
  const std::vector<Fields>& depths = fields_.Find("depths")->items;
  const bool reads_call = Mentions(Joined(values), "call") || Mentions(depths, "call");
  fields_.Set("call_of_target", reads_call ? " call" : "");
  fields_.Set("core_of_target", depths.empty() ? "" : " core");
  const bool reads_blocks = Mentions(Joined(values), "blocks");
  fields_.Set("blocks_of_target", !depths.empty() ? ", Blocks& blocks"
                                  : reads_blocks  ? ", const Blocks& blocks"
                                                  : "");
  fields_.Set("blocks_for_target", !depths.empty() || reads_blocks ? ", blocks" : "");
  fields_.SetFlag("has_target", !target_.empty());
  fields_.SetList("target_members", Declarations(members));
  fields_.SetList("target_values", Enumerated("value", values, "};"));
}

/// Whether a step is the first of its reduction, and whether it is the last.
std::pair<std::string, std::string> SpecializationView::EndsOfReduction() const {
  if (plan_.reduction_stay) {
    const std::string& output = names_[plan_.reduction_stay];
    return {"first_" + output, "last_" + output};
  }
  std::string first, last;
  for (const AxisId axis : plan_.reduction_axes) {
    const std::string a = std::to_string(axis.number());
    first += (first.empty() ? "" : " && ") + ("point[" + a + "] == 0");
    last += (last.empty() ? "" : " && ") + ("point[" + a + "] + 1 == steps[" + a + "]");
  }
  return {first, last};
}

/// What a body has a member of Step as: values do not change there.
std::string SpecializationView::LocalType(const StepMember& member) {
  if (!member.view.empty() || member.type.ends_with('*')) return "const auto";
  const bool complete = member.type.starts_with("const ") || member.type.ends_with('&');
  return complete ? member.type : "const " + member.type;
}

/// What the stages and the line mention of a step, by its name there.
std::vector<Fields> SpecializationView::Locals(const std::vector<Fields>& stages,
                                               const std::string& line) const {
  std::vector<std::pair<std::string, std::string>> locals;
  for (const StepMember& member : step_) {
    const bool mentioned = Mentions(stages, member.name) || Mentions(line, member.name);
    if (!mentioned || member.by_parts) continue;
    const std::string of_step = "step." + member.name;
    const std::string value = member.view.empty() ? of_step : member.view + "(" + of_step + ")";
    locals.emplace_back(LocalType(member), member.name + " = " + value);
  }
  return Declarations(locals);
}

}  // namespace kiln::render
