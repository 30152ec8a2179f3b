// Every spec of docs/cookbook.md at its golden sizes: it is what its reference says, and all
// engines compute what the interpreter does. The kernels are compiled at once.
#include <regex>

#include "generator/cli/golden/golden.h"
#include "generator/cli/run/reference.h"
#include "generator/interpret/interpret.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"
#include "tests/random/batch.h"

namespace kiln::cookbook_test {
namespace {

using Outputs = std::map<std::string, Array>;

/// A spec of the page: NAME.yaml in `folder`.
struct Idiom {
  std::string name;
  std::vector<std::unique_ptr<cli::GoldenEntry>> entries;
  std::unique_ptr<Generated> text;
};

/// Writes the page's blocks "```yaml NAME" as files.
std::vector<std::string> WriteSpecs(const test::Folder& folder) {
  static const std::regex begin(R"(```yaml (\w+)\.yaml)");
  std::istringstream page(test::ReadText(test::fs::path(KILN_SOURCE_DIR) / "docs/cookbook.md"));
  std::vector<std::string> names;
  std::smatch match;
  for (std::string line; std::getline(page, line);) {
    if (!std::regex_match(line, match, begin)) continue;
    const std::string name = match[1];
    std::string text;
    while (std::getline(page, line) && line != "```") text += line + "\n";
    test::WriteText(folder / (name + ".yaml"), text);
    names.push_back(name);
  }
  return names;
}

Idiom Read(const test::Folder& folder, const std::string& name) {
  INFO(name);
  Idiom idiom{name, {}, std::make_unique<Generated>()};
  cli::SpecOptions options;
  options.spec = folder / (name + ".yaml");
  int status = 0;
  auto entries = cli::GoldenEntries(options, &status);
  REQUIRE(entries);
  REQUIRE_FALSE(entries->empty());
  idiom.entries = std::move(*entries);
  Diagnostics found;
  const Kernel& kernel = *idiom.entries[0]->whole;
  CHECK(Generate(kernel, name + ".yaml", found, idiom.text.get()));
  CHECK(Render(found, *kernel.source) == "");
  return idiom;
}

void HoldReference(const cli::GoldenEntry& entry, const Outputs& outputs) {
  Diagnostics found;
  const auto verdicts = cli::CompareWithReference(*entry.binding, entry.inputs, outputs, {}, found);
  REQUIRE(verdicts);
  cli::ReportVerdicts(*verdicts, found);
  CHECK(Render(found, *entry.loaded.source) == "");
}

Outputs Call(const KernelInterface& kernel, const cli::GoldenEntry& entry, bool emulate,
             int cores) {
  CallOptions how;
  how.emulate = emulate;
  how.cores = cores;
  CallResult result = CallKernel(kernel, *entry.binding, entry.inputs.arrays, how);
  CHECK(result.message == "");
  return std::move(result.outputs);
}

void Hold(const KernelInterface& kernel, const cli::GoldenEntry& entry) {
  Diagnostics found;
  const Outputs want = Interpret(*entry.binding, entry.inputs.arrays, {}, found).outputs;
  REQUIRE(Render(found, *entry.loaded.source) == "");
  HoldReference(entry, want);
  const Outputs first = Call(kernel, entry, /*emulate=*/false, 1);
  for (const Ref& ref : entry.binding->kernel->refs) {
    if (ref.role != Role::kOutput) continue;
    INFO(ref.name);
    CHECK(Compare(first.at(ref.name), want.at(ref.name), ToleranceOf(*entry.binding, ref))
              .description == "");
  }
  for (const auto& [emulate, cores] : {std::pair(false, 2), {true, 1}, {true, 2}}) {
    for (const auto& [name, array] : Call(kernel, entry, emulate, cores)) {
      INFO(name << (emulate ? ", emulated on " : ", direct on ") << cores);
      CHECK(array.bytes == first.at(name).bytes);
    }
  }
}

TEST_CASE("the cookbook's idioms are right on every engine") {
  const test::Folder folder;
  std::vector<Idiom> idioms;
  for (const std::string& name : WriteSpecs(folder)) idioms.push_back(Read(folder, name));
  CHECK(idioms.size() >= 20);

  std::string why;
  const auto tools = FindToolchain(&why);
  REQUIRE(tools);
  const soak::Flavour flavour = soak::Flavours()[0];
  soak::Precompile(folder.path().string(), *tools, flavour);
  const std::string kernels = folder / "kernels";
  soak::Batch batch(kernels, *tools, flavour);
  std::vector<std::string> names;
  for (const Idiom& idiom : idioms) {
    soak::Batch::WriteKernel(kernels, *idiom.entries[0]->whole, *idiom.text);
    names.push_back(idiom.name);
  }
  std::map<std::string, std::string> refused;
  batch.Compile(names, &refused);
  for (const auto& [name, reason] : refused) FAIL_CHECK(name << ": " << reason);
  for (const Idiom& idiom : idioms) {
    const KernelInterface kernel = batch.Find(idiom.name);
    INFO(idiom.name);
    REQUIRE(kernel.call);
    for (const auto& entry : idiom.entries) Hold(kernel, *entry);
  }
}

}  // namespace
}  // namespace kiln::cookbook_test
