// Random kernels on every engine.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "generator/render/render.h"
#include "tests/random/batch.h"
#include "tests/random/child.h"
#include "tests/random/judge.h"
#include "tests/random/maker.h"

namespace kiln::soak {
namespace {

int Main(int argc, char** argv) {
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 40;
  std::string why;
  const auto tools = FindToolchain(&why);
  const Flavour flavour = Flavours()[0];
  const std::string folder = "build/soak";
  Precompile(folder, *tools, flavour);
  std::map<std::string, int> kinds;
  Batch batch(folder + "/batch", *tools, flavour);
  std::vector<std::string> names;
  std::map<std::string, uint64_t> seeds;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string name = "k" + std::to_string(seed);
    const Outcome outcome = RunInChild(20, [&]() -> std::string {
      Draft draft = MakeDraft(seed, {});
      draft.name = name;
      const auto of = Prepare(draft);
      if (!of->binding || of->found.HasErrors()) return "refused " + FirstRule(of->found) + "\n" + Render(of->found, *of->source) + of->text;
      Generated text;
      if (!Render(*of->kernel, name + ".yaml", of->found, &text)) return "not rendered\n" + Render(of->found, *of->source) + of->text;
      Batch::WriteKernel(folder + "/batch", *of->kernel, text);
      return "";
    });
    const Verdict verdict = outcome.died.empty() ? ToVerdict(outcome.text) : Verdict{"died in the generator", outcome.died};
    if (verdict.kind.empty()) {
      names.push_back(name);
      seeds[name] = seed;
      continue;
    }
    if (kinds[verdict.kind]++ < 3) std::cout << "seed " << seed << ": " << verdict.kind << "\n" << verdict.detail << "\n";
  }
  std::map<std::string, std::string> refused;
  batch.Compile(names, &refused);
  for (const auto& [name, log] : refused) {
    ++kinds["does not compile"];
    std::cout << name << " does not compile: " << log << "\n";
  }
  for (const std::string& name : names) {
    if (refused.count(name)) continue;
    const Outcome outcome = RunInChild(30, [&]() -> std::string {
      Draft draft = MakeDraft(seeds[name], {});
      draft.name = name;
      const auto of = Prepare(draft);
      return ToText(Judge(draft, *of, batch.Find(name)));
    });
    const Verdict verdict = outcome.died.empty() ? ToVerdict(outcome.text) : Verdict{"died in a kernel", outcome.died};
    if (kinds[verdict.kind]++ < 3 && !verdict.kind.empty()) {
      Draft draft = MakeDraft(seeds[name], {});
      std::cout << "seed " << seeds[name] << ": " << verdict.kind << "\n" << verdict.detail << "\n" << Write(draft) << "\n";
    }
  }
  for (const auto& [kind, number] : kinds) std::cout << number << "  " << (kind.empty() ? "fine" : kind) << "\n";
  return 0;
}

}  // namespace
}  // namespace kiln::soak

int main(int argc, char** argv) { return kiln::soak::Main(argc, argv); }
