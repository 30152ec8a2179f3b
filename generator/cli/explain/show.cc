#include <iostream>

#include "generator/cli/command/command.h"
#include "generator/planner/make_plan.h"
#include "generator/spec/fields.h"

namespace kiln::cli {
namespace {

struct ShowCommand {
  SpecOptions spec;
  std::string stage = "kernel", after;

  int Run() const {
    const bool check = stage != "spec";
    auto loaded = Load(spec, check ? Depth::kCheck : Depth::kParse);
    if (!loaded) return kUsage;
    const int status = ReportErrors(*loaded, spec.format);
    if (status != kFine) return status;
    if (stage == "plan" || !after.empty()) return ShowPlan(*loaded);
    std::cout << (check ? ToString(*loaded->kernel) : ToString(*loaded->spec));
    return kFine;
  }

  int ShowPlan(const Loaded& loaded) const {
    Diagnostics diagnostics;
    const auto plan = MakePlan(*loaded.kernel, diagnostics, after);
    if (!plan) {
      Complain(diagnostics, *loaded.kernel->source);
      return kDiagnosed;
    }
    std::cout << ToString(*plan);
    return kFine;
  }
};

}  // namespace

void AddShow(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<ShowCommand>();
  command->spec.Add(list);
  list.Add("--stage", command->stage,
           "spec: as read; kernel: resolved and typed; plan: every decision about the "
           "generated text")
      .OneOf({"spec", "kernel", "plan"});
  std::vector<std::string> names;
  std::string passes;
  for (const Pass& pass : Passes()) {
    names.push_back(pass.name);
    passes += std::string("  ") + pass.name + std::string(11 - std::string(pass.name).size(), ' ') +
              pass.does + "\n";
  }
  list.Add("--after", command->after, "the plan as it is after one of the passes below")
      .Takes("PASS")
      .OneOf(names);
  list.Footer("A plan is made by these passes, in this order:\n" + passes +
              "\nExamples:\n"
              "  kiln show --stage=kernel specs/matmul.yaml:matmul_f32\n"
              "  kiln show --after=fuse specs/matmul.yaml:matmul_f32");
  run = [command] {
    std::vector<std::string> none;
    command->spec.Untangle(none);
    return command->Run();
  };
}

void AddSchema(const OptionList& list, std::function<int()>& run) {
  auto reference = std::make_shared<bool>(false);
  auto lock = std::make_shared<bool>(false);
  list.Flag("--reference", *reference, "the same table as Markdown, as in docs/spec-language.md");
  list.Flag("--lock", *lock, "of lock files, which `kiln tune` writes");
  list.Footer(
      "Editors check and complete specs with it. With the YAML language server:\n"
      "  kiln schema > kiln.schema.json\n"
      "  # yaml-language-server: $schema=kiln.schema.json      (first line of the spec)");
  run = [reference, lock] {
    std::cout << (*reference ? FieldReference() : *lock ? LockSchema() : JsonSchema()) << "\n";
    return kFine;
  };
}

}  // namespace kiln::cli
