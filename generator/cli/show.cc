#include <iostream>

#include "generator/cli/command.h"
#include "generator/planner/make_plan.h"
#include "generator/spec/fields.h"

namespace kiln::cli {
namespace {

struct ShowCommand {
  SpecOptions spec;
  std::string stage = "kernel";

  int Run() const {
    const bool check = stage != "spec";
    auto loaded = Load(spec, check ? Depth::kCheck : Depth::kParse);
    if (!loaded) return kUsage;
    const int status = Report(*loaded, "text");
    if (status != kFine) return status;
    if (stage == "plan") return ShowPlan(*loaded);
    std::cout << (check ? ToString(*loaded->kernel) : ToString(*loaded->spec));
    return kFine;
  }

  static int ShowPlan(const Loaded& loaded) {
    Diagnostics diagnostics;
    const auto plan = MakePlan(*loaded.kernel, diagnostics);
    if (!plan) {
      std::cerr << Render(diagnostics, *loaded.kernel->source);
      return kFindings;
    }
    std::cout << ToString(*plan);
    return kFine;
  }
};

}  // namespace

void AddShow(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<ShowCommand>();
  command->spec.Add(app);
  app.add_option("--stage", command->stage,
                 "spec: as read; kernel: resolved and typed; plan: every decision about the "
                 "generated text")
      ->check(CLI::IsMember({"spec", "kernel", "plan"}));
  app.footer("Example:\n  kiln show --stage=kernel specs/matmul.yaml:matmul_f32");
  run = [command] {
    std::vector<std::string> none;
    command->spec.Untangle(none);
    return command->Run();
  };
}

void AddSchema(CLI::App& app, std::function<int()>& run) {
  auto reference = std::make_shared<bool>(false);
  auto lock = std::make_shared<bool>(false);
  app.add_flag("--reference", *reference,
               "the same table as Markdown, as in docs/spec-language.md");
  app.add_flag("--lock", *lock, "of lock files, which `kiln tune` writes");
  app.footer(
      "Editors check and complete specs with it. With the YAML language server:\n"
      "  kiln schema > kiln.schema.json\n"
      "  # yaml-language-server: $schema=kiln.schema.json      (first line of the spec)");
  run = [reference, lock] {
    std::cout << (*reference ? FieldReference() : *lock ? LockSchema() : JsonSchema()) << "\n";
    return kFine;
  };
}

}  // namespace kiln::cli
