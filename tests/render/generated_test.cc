// generated/ is what the generator makes of specs/. With KILN_UPDATE set this rewrites it instead.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "generator/check/check_spec.h"
#include "generator/generate/generate.h"
#include "generator/system/write_file.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

using test::fs::path;
using Files = std::map<std::string, std::string>;

std::vector<path> Paths(const path& folder, const std::vector<std::string>& extensions) {
  std::vector<path> paths;
  for (const auto& entry : test::fs::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (std::find(extensions.begin(), extensions.end(), extension) != extensions.end())
      paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// What the language has and generated code has not is left out, and nothing else.
bool NotYet(const Diagnostics& found) {
  const auto all = found.Sorted();
  return std::any_of(all.begin(), all.end(), [](const Diagnostic& diagnostic) {
    return diagnostic.message.find("not supported yet") != std::string::npos;
  });
}

struct Registry {
  std::string includes;
  std::string kernels;
};

void GenerateInstance(const Spec& spec, const std::string& instance, Files& files,
                      Registry& registry) {
  Diagnostics found;
  CheckOptions options;
  options.instance = instance;
  const auto kernel = CheckSpec(spec, options, found);
  INFO(kiln::Render(found, *spec.source));
  REQUIRE(kernel);
  const std::string file = path(spec.source->path()).filename().string();
  Generated text;
  if (!Generate(*kernel, file, found, &text)) {
    INFO(kiln::Render(found, *spec.source));
    REQUIRE(NotYet(found));
    return;
  }
  const std::string& name = GeneratedName(*kernel);
  INFO(name << " comes from two specs");
  REQUIRE(files.emplace(name + ".h", text.header).second);
  files.emplace(name + ".cc", text.source);
  registry.includes += "#include \"" + name + ".h\"\n";
  registry.kernels += "KILN_KERNEL(" + name + ", \"" + file + "\", \"" + instance + "\")\n";
}

Files Generate() {
  Files files;
  Registry registry;
  for (const path& spec_path : Paths(path(KILN_SOURCE_DIR) / "specs", {".yaml"})) {
    const auto source =
        std::make_shared<const Source>(spec_path.string(), test::ReadText(spec_path));
    Diagnostics found;
    const auto spec = ParseSpec(source, found);
    INFO(kiln::Render(found, *source));
    REQUIRE(spec);
    std::vector<std::string> instances;
    for (const InstanceSpec& instance : spec->instances) instances.push_back(instance.name.name);
    if (instances.empty()) instances.push_back("");
    for (const std::string& instance : instances)
      GenerateInstance(*spec, instance, files, registry);
  }
  files["kernels.h"] =
      "// All kernels of this folder; ./dev regenerate writes it.\n#pragma once\n\n" +
      registry.includes;
  files["kernels.inc"] =
      "// KILN_KERNEL(name, spec, instance) of all kernels of this folder; ./dev regenerate writes "
      "it.\n" +
      registry.kernels;
  return files;
}

void Rewrite(const path& folder, const Files& files) {
  for (const path& old : Paths(folder, {".h", ".cc", ".inc"})) {
    if (files.count(old.filename().string())) continue;
    test::fs::remove(old);
    std::cout << "removed   " << old.filename().string() << "\n";
  }
  for (const auto& [name, text] : files) {
    std::string why;
    const Written written = WriteIfChanged((folder / name).string(), text, &why);
    INFO(why);
    REQUIRE(written != Written::kFailed);
    if (written == Written::kWritten) std::cout << "wrote     " << name << "\n";
  }
}

/// Where two texts part.
std::string FirstDifference(const std::string& a, const std::string& b) {
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const auto line = std::count(a.begin(), a.begin() + at, '\n') + 1;
  const size_t start = a.rfind('\n', static_cast<size_t>(std::max<ptrdiff_t>(at - 1, 0))) + 1;
  return "line " + std::to_string(line) + ": " + a.substr(start, a.find('\n', start) - start);
}

TEST_CASE("generated/ is what the generator makes") {
  const path folder = path(KILN_SOURCE_DIR) / "generated";
  const Files files = Generate();
  if (std::getenv("KILN_UPDATE")) return Rewrite(folder, files);

  INFO("./dev regenerate rewrites generated/");
  for (const path& old : Paths(folder, {".h", ".cc", ".inc"})) {
    INFO(old.filename().string() << " is left over");
    CHECK(files.count(old.filename().string()) == 1);
  }
  for (const auto& [name, text] : files) {
    const std::string committed = test::ReadText(folder / name);
    if (committed == text) continue;
    FAIL_CHECK(name << ", " << FirstDifference(text, committed));
  }
}

TEST_CASE("what is generated depends on nothing but the spec") { CHECK(Generate() == Generate()); }

}  // namespace
}  // namespace kiln
